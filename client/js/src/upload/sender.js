import { told } from "../diagnostics.js";
import { MAX_BYTES, trim } from "../reporting/ledger.js";
import { retain } from "../state/data.js";
import { addressOf, DEADLINE, exchange, headersOf } from "./transport.js";
import { BUSY, GONE, UNANSWERED, uniform, UNREACHED, ruleFor } from "./retry.js";
import { nextOf, scheduleOf } from "./schedule.js";

/**
 * @import { Diagnostics } from "../diagnostics.js"
 * @import { Data, Queued, State } from "../types.js"
 *
 * @typedef {object} Options
 * @property {State} state
 * @property {string} endpoint See `addressOf`.
 * @property {string} [token] See `headersOf`.
 * @property {(data: Data) => { mode: string }} consent Return the consent that holds; "on" lets reports leave.
 * @property {Diagnostics} diagnostics
 * @property {number} spread Seconds over which departures are spread.
 * @property {() => number} now Milliseconds since 1970.
 * @property {() => number} today Days since 1970.
 * @property {typeof globalThis.fetch} [fetch]
 * @property {() => number} [uniform] Return a random number in [0, 1).
 * @property {any} [locks] A LockManager. Without one, two tabs may upload at once, but not the same report.
 */

/** Milliseconds to wait for another tab that is sending. */
const PAUSE = 1e3;
/**
 * Milliseconds after which to check for new reports and for a clock that jumped, however long the known
 * reports are postponed.
 */
const LOOK = 900e3;
/** The longest that a timer can be set to. */
const LONGEST_WAIT = 2e9;
/** How many bodies are kept for the user to see. */
const MOST_SHOWN = 30;

/**
 * Takes one report after the other from the outbox to the collector, by the rules of
 * `client/dither/upload/uploader.py`.
 *
 * A report is claimed before its first byte leaves: it is stored as one that got no answer, so that no other tab
 * takes it, and a page that dies before the answer has already postponed it.
 */
export class Sender {
  #options;
  #address;
  #headers;
  #schedule;
  #unreached = 0;
  #stopped = false;
  #running = Promise.resolve();
  /** @type {any} */
  #timer;

  /** @param {Options} options Throws Error for an endpoint or a token that cannot be. */
  constructor(options) {
    this.#options = options;
    this.#address = addressOf(options.endpoint);
    this.#headers = headersOf(options.token);
    this.#schedule = scheduleOf(options.spread * 1e3, options.uniform ?? uniform, options.now);
  }

  /**
   * Check the outbox, and send what is due; each report has its own time. Resolves when nothing more is due.
   * @param {Set<string>} [tried] If given, what waits leaves at once, one after the other, until one fails for all.
   */
  wake(tried) {
    return (this.#running = this.#running.then(() => this.#run(tried)));
  }

  /** Send nothing after the upload that may be under way. */
  stop() {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /**
   * Upload what waits now, and wait up to `timeout` milliseconds until it is gone or expected to fail;
   * resolve to whether all of it has arrived. Rejects if the state cannot be read.
   * @param {number} timeout
   * @param {Promise<unknown>} [ready] Resolves when what must be done first is done, within the same time.
   */
  async flush(timeout, ready) {
    const { state } = this.#options;
    const work = async () => {
      await ready;
      const { dropped } = (await state.read()).totals;
      await this.wake(new Set());
      const { outbox, totals } = await state.read();
      return totals.dropped === dropped && outbox.every(({ local }) => local);
    };
    let timer;
    const ended = new Promise((resolve) => (timer = setTimeout(resolve, Math.min(timeout, LONGEST_WAIT))));
    try {
      return !!(await Promise.race([work(), ended])); // if the time is over, there is no answer
    } finally {
      clearTimeout(timer);
    }
  }

  /** @param {Set<string>} [tried] */
  async #run(tried) {
    const { locks = globalThis.navigator?.locks, diagnostics } = this.#options;
    const step = (/** @type {unknown} */ lock) => (lock ? this.#step(tried) : PAUSE);
    clearTimeout(this.#timer);
    try {
      let pause;
      while ((pause = await (locks ? locks.request(this.#address, { ifAvailable: !tried }, step) : step(1))) === 0);
      if (pause) this.#timer = setTimeout(() => this.wake(), pause);
      this.#timer?.unref?.();
    } catch (error) {
      diagnostics.note("upload failed: " + told(error));
    }
  }

  /**
   * Send a report that is due; return how many milliseconds to wait for the next step, or nothing if none is left.
   * @param {Set<string>} [tried] The batches that this flush has tried; a wait ends it.
   */
  async #step(tried) {
    const { state, fetch = globalThis.fetch, diagnostics, now } = this.#options;
    if (this.#stopped || !this.#waiting(await state.read()).length) return;
    const at = now();
    const { entry, wait, again } = await state.update((data) => this.#claim(data, tried));
    if (!entry) return wait;
    tried?.add(entry.batch);
    if (Math.abs(now() - at) >= DEADLINE) return 0; // the page was frozen, and the user may have said no since
    const { result, retryAfter } = await exchange(fetch, this.#address, this.#headers, entry.body);
    const { fate, own } = ruleFor(result);
    if (fate !== "sent") diagnostics.note(`upload: ${result}`);
    await state.update((data) => this.#settle(data, entry, result, retryAfter));
    return fate || (own && !again) ? 0 : 1;
  }

  /**
   * Return the reports that may leave: none without consent.
   * @param {Data} data
   */
  #waiting(data) {
    return this.#options.consent(data).mode === "on" ? data.outbox.filter(({ local }) => !local) : [];
  }

  /**
   * Take what is due, and note it as one that got no answer.
   * @param {Data} data
   * @param {Set<string>} [tried]
   * @returns {{ entry?: Queued, again?: number, wait?: number }}
   */
  #claim(data, tried) {
    const at = this.#options.now();
    trim(data, this.#options.today());
    const waiting = this.#waiting(data);
    if (!waiting.length) return {};
    this.#schedule.plan(data, waiting);
    const entry = nextOf(data, waiting, at, tried);
    const hold = data.held[entry.batch];
    if (hold.moment > at) return { wait: Math.min(hold.moment - at, LOOK) };
    const again = hold.failures++;
    this.#schedule.putOff(hold, BUSY);
    hold.notBefore += DEADLINE;
    this.#schedule.redraw(data);
    const failures = (data.attempt?.failures ?? 0) + 1;
    data.attempt = { at, endpoint: this.#address, accepted: false, result: UNANSWERED, failures };
    return { entry, again };
  }

  /**
   * Note what became of a report. Throws Error if it is gone, because all was erased or another tab was first.
   * @param {Data} data
   * @param {Queued} entry
   * @param {string} result
   * @param {string | null} [retryAfter]
   */
  #settle(data, { batch, body }, result, retryAfter) {
    const { held, outbox, attempt } = data;
    const { fate, window } = ruleFor(result);
    const hold = held[batch];
    if (!hold || !attempt) throw new Error("it is gone");
    attempt.result = result;
    if (result === UNREACHED) {
      hold.failures--;
      hold.moment = hold.notBefore = 0;
      return this.#schedule.pause(data, this.#unreached++);
    }
    if (result !== UNANSWERED) this.#unreached = 0;
    this.#schedule.putOff(hold, window, retryAfter);
    this.#schedule.redraw(data);
    if (!fate) return;
    const { version } = JSON.parse(body);
    const key = result === GONE ? version : batch;
    // Either is hex digits that stand in no other body.
    retain(data, outbox.filter((other) => other.local || !other.body.includes(key)), fate);
    if (key !== batch) data.disabled[version] = this.#options.today();
    if (fate === "dropped") return;
    data.sent = [...data.sent, body].slice(-MOST_SHOWN);
    while (data.sent.join("").length > MAX_BYTES) data.sent.shift();
    attempt.accepted = true;
    attempt.failures = 0;
  }
}
