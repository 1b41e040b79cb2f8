/**
 * The client that an app embeds: it keeps every promise to the host, and delegates to its parts.
 *
 * The promise to the host: nothing throws or rejects (but see `strict`), nothing is stored or sent that the user did
 * not agree to, nothing grows without bound. What goes wrong is counted in `status()` and logged once for each kind.
 *
 * @typedef {import("./types.js").Metric} Metric
 * @typedef {import("./types.js").Mode} Mode
 * @typedef {import("./types.js").Data} Data
 * @typedef {import("./types.js").Outcome} Outcome
 * @typedef {import("./settings.js").Options} Options
 */
import { UNASKED, choose, decide, isMode, isOver, permission } from "./consent/rules.js";
import { shown, textOf } from "./consent/text.js";
import { Diagnostics, told } from "./diagnostics.js";
import { SystemEntropy } from "./randomness/entropy.js";
import { Recorder } from "./reporting/recorder.js";
import { checked, need } from "./settings.js";
import { empty, renewed } from "./state/data.js";
import { overview } from "./transparency/status.js";
import { Sender } from "./upload/sender.js";

/**
 * @typedef {Recorder & Partial<InstanceType<typeof import("./events.js").events>>} AnyRecorder
 * @param {ReturnType<typeof checked> & { state: import("./types.js").State, sender: Sender, recorder: AnyRecorder }} settings
 * The last two are made here.
 * @param {Diagnostics} diagnostics
 */
function partsOf(settings, diagnostics) {
  const {
    now = Date.now, today = () => Math.floor(now() / 864e5),
    entropy = new SystemEntropy(), surroundings = {}, background = true,
  } = settings;
  const look = async () => {
    try {
      return await settings.state.read();
    } catch (error) {
      diagnostics.note("the state cannot be read", told(error));
      return { ...empty(), choice: { mode: /** @type {Mode} */ (""), accepted: {} } }; // which counts as off
    }
  };
  // After a no, until a choice is stored; and after "forget", when no environment may stand for a yes.
  const refusal = { holds: false, gone: false };
  const consent = (/** @type {Data} */ { choice }) => {
    if (refusal.holds) choice = { mode: "off", accepted: {} };
    const found = decide(surroundings, choice);
    return refusal.gone && found.mode !== "off" ? decide({}, choice) : found;
  };
  const shared = { ...settings, now, today, entropy, surroundings, background, consent, refusal, diagnostics, look };
  shared.sender = new Sender(shared);
  shared.recorder = new (settings.events ?? Recorder)(shared);
  return shared;
}

/**
 * Return the metrics of these names, or all; throw TypeError for a name that none has.
 * @param {Map<string, Metric>} metrics
 * @param {Iterable<string>} [names]
 */
const chosen = (metrics, names) =>
  Array.from(names ?? metrics.keys(), (name) => {
    need(metrics.has(name), `no metric ${name}`);
    return /** @type {Metric} */ (metrics.get(name));
  });

/** Return those of them whose last day is not over. @param {ReturnType<typeof partsOf>} parts @param {Iterable<string>} [names] */
const asked = (parts, names) => chosen(parts.metrics, names).filter((metric) => !isOver(metric, parts.today()));

/** Telemetry of one app on one device, under local differential privacy; see docs/reference/javascript.md. */
export class Client {
  /** @type {ReturnType<typeof partsOf> | undefined} */
  #parts;
  #silence = "";
  #unrecorded = 0;
  #lost = false;
  /** Settles when all answers given so far are kept, or lost. @type {Promise<unknown>} */
  #recorded = Promise.resolve();
  #strict = false;
  #diagnostics = new Diagnostics();
  #hide = () => {
    if (document.hidden) this.#parts?.sender.wake();
  };

  /**
   * @param {object} compiled What `python -m dither compile` wrote, parsed.
   * @param {Options} options
   * @param {{ open?: (app: string) => import("./types.js").State, surroundings?: object }} [host] What stands for
   * options that are left out.
   */
  constructor(compiled, options, { open, surroundings } = {}) {
    try {
      this.#strict = !!options.strict;
      this.#diagnostics = new Diagnostics(options.log);
      const settings = checked(compiled, { surroundings, ...options });
      settings.state ??= open?.(settings.app);
      const { background, sender } = (this.#parts = partsOf(/** @type {any} */ (settings), this.#diagnostics));
      if (!background) return;
      globalThis.document?.addEventListener("visibilitychange", this.#hide);
      sender.wake();
    } catch (error) {
      this.#silence = "a mistake: " + told(error);
      if (this.#strict) throw error;
      this.#diagnostics.note(this.#silence);
    }
  }

  /**
   * Answer a metric, if the user consents and it was not answered in this period yet. The first answer of a period
   * counts. One outside the metric's domain is reported under the catch-all label, or as the end of its range.
   * @param {string} name
   * @param {unknown} value
   * @param {{ [attribute: string]: unknown }} [strata] In place of those of the client.
   * @returns {Promise<Outcome>}
   */
  record(name, value, strata) {
    return this.#answer("record", name, value, strata);
  }

  /**
   * Note an event of a metric that has `of`, of which the device forms the answer; only with `dither-client/events`.
   * @param {string} name
   * @param {unknown} [value] A number for "sum" and "max", one of the listed values for "set" and "furthest", whether it
   * is an event at all for "any"; of no meaning for "count" and "days".
   * @returns {Promise<Outcome>}
   */
  add(name, value = 1) {
    return this.#answer("add", name, value);
  }

  /** @param {"record" | "add"} how @param {any[]} given @returns {Promise<Outcome>} */
  async #answer(how, ...given) {
    if (this.#silence) {
      this.#unrecorded++;
      return this.#parts ? "off" : "failed";
    }
    const before = this.#recorded;
    /** @type {Promise<Outcome>} */
    const work = this.#try(how, "failed", ({ recorder }) => /** @type {any} */ (recorder)[how](...given));
    this.#recorded = work.catch(() => {}).then(() => before);
    if ((await work) === "kept") this.#wake();
    this.#lost ||= (await work) === "failed";
    return work;
  }

  /**
   * Upload now, for at most `timeout` milliseconds; return whether all that waited has arrived and no answer was lost.
   * It begins when the answers given so far are kept: nobody has to await `record`.
   * @param {number} [timeout]
   * @returns {Promise<boolean>}
   */
  flush(timeout = 5000) {
    return this.#try("flush", false, async ({ sender, recorder }) => {
      const arrived = await sender.flush(timeout, this.#recorded.then(() => recorder.review?.()));
      const whole = arrived && !this.#lost && !this.#silence;
      this.#lost = false;
      return whole;
    });
  }

  /**
   * Return the names of the metrics to ask the user about: all, or those that are new or changed; none after "off".
   * @returns {Promise<string[]>}
   */
  pending() {
    return this.#try("pending", /** @type {string[]} */ ([]), async ({ metrics, consent, look, today }) => {
      const holds = consent(await look());
      if (holds.mode === "off" && holds.decidedBy !== UNASKED) return [];
      const isNew = (/** @type {any} */ metric) => /o[ft]/.test(permission(holds, metric, today())); // off, not accepted
      return [...metrics.keys()].filter((name) => isNew(metrics.get(name)));
    });
  }

  /**
   * Return what to show before `consent` is called: each question with its facts, and an upload, for example.
   * @param {Iterable<string>} [names] All that are not over, if left out; so below.
   * @returns {Promise<import("./consent/text.js").Shown[]>}
   */
  questions(names) {
    return this.#try("questions", [], (parts) =>
      Promise.all(asked(parts, names).map((metric) => shown(metric, parts.entropy, parts.strata, parts.compiled.sentences))),
    );
  }

  /**
   * Return the same as text, line by line that of Python's `consent_text`.
   * @param {Iterable<string>} [names]
   * @returns {Promise<string>}
   */
  consentText(names) {
    return this.#try("consentText", "", async (parts) => {
      return textOf(parts.app, await this.questions(names), asked(parts, names), parts.compiled.sentences);
    });
  }

  /** What was compiled, for the element: the language and its sentences; undefined if this client could not be made. */
  get compiled() { return this.#parts?.compiled; }

  /**
   * Keep the user's choice for metrics as they were shown; return whether it is kept. With "off", reports that wait are
   * dropped; with "on", those that were made for the user's eyes only. An "off" that cannot be kept holds in this client.
   * @param {Mode} mode
   * @param {Iterable<string>} [names] All, if left out.
   * @returns {Promise<boolean>}
   */
  consent(mode, names) {
    return this.#try("consent", false, async ({ metrics, state, today, surroundings, refusal, recorder }) => {
      need(isMode(mode), "not off, local or on");
      const meant = chosen(metrics, names);
      refusal.holds ||= mode === "off";
      const change = (/** @type {Data} */ data) => choose(data, mode, meant, today(), surroundings);
      await state.update(change, () => renewed(metrics.keys(), today()));
      refusal.holds = false;
      refusal.gone &&= mode === "off";
      await recorder.review?.(true);
      this.#wake();
      return true;
    });
  }

  /**
   * Return the exact bodies of the next uploads, oldest first; in the mode local, those that would have been.
   * @returns {Promise<string[]>}
   */
  preview() {
    return this.#try("preview", /** @type {string[]} */ ([]), async ({ consent, look }) => {
      const data = await look();
      const mine = consent(data).mode === "local";
      return data.outbox.filter(({ local }) => local === mine).map(({ body }) => body);
    });
  }

  /** Return the exact bodies of the last uploads that the collector accepted, oldest first. */
  sent() {
    return this.#try("sent", /** @type {string[]} */ ([]), async ({ look }) => (await look()).sent);
  }

  /**
   * Return the mode and what decided it, what each metric costs and has spent, and what became of reports.
   * @returns {Promise<import("./transparency/status.js").Status>}
   */
  async status() {
    const parts = this.#parts;
    const data = (await parts?.look()) ?? empty();
    /** @type {import("./consent/rules.js").Consent} */
    const silent = { mode: "off", decidedBy: this.#silence, accepted: {} };
    const holds = parts && !this.#silence ? parts.consent(data) : silent;
    /** @param {Data} seen @param {typeof parts} [of] */
    const view = (seen, of) =>
      overview(seen, holds, of, { unrecorded: this.#unrecorded, trouble: { ...this.#diagnostics.counts } });
    return (await this.#try("status", undefined, async () => view(data, parts))) ?? view(empty());
  }

  /**
   * Turn telemetry off, and delete the ledger and the outbox; return whether that was possible. What was sent carries
   * no identity: it cannot be found again, and not be recalled.
   * @returns {Promise<boolean>}
   */
  forget() {
    return this.#try("forget", false, async ({ state, today, recorder, refusal }) => {
      refusal.holds = refusal.gone = true;
      try {
        await state.erase();
      } finally {
        await state.update((data) => choose(data, "off", [], today(), {}));
      }
      recorder.answered.clear();
      refusal.holds = false;
      return true;
    });
  }

  /** Stop. What is not sent stays for the next run; what is recorded from now on is ignored. */
  close() {
    this.#silence ||= "the app: it is closed";
    this.#parts?.sender.stop();
    globalThis.document?.removeEventListener("visibilitychange", this.#hide);
  }

  #wake() {
    if (this.#parts?.background && !this.#silence) this.#parts.sender.wake();
  }

  /**
   * Return what `work` returns, or `fallback` if it fails, or the client could not be made.
   * @template T
   * @param {string} place
   * @param {T} fallback
   * @param {(parts: ReturnType<typeof partsOf>) => Promise<T>} work
   * @returns {Promise<T>}
   */
  async #try(place, fallback, work) {
    try {
      if (this.#parts) return await work(this.#parts);
    } catch (error) {
      if (this.#strict) throw error;
      this.#diagnostics.note(place + " failed", told(error));
    }
    return fallback;
  }
}
