/**
 * The recorder: from an answer to a report, in the order that keeps every promise.
 *
 * Consent is checked first, then the ledger. A report is drawn in memory; then one update of the state checks both
 * again, and stores debit and report together. If anything fails before, nothing at all is left.
 * @typedef {import("../types.js").Data} Data
 * @typedef {import("../types.js").Metric} Metric
 * @typedef {import("../types.js").Outcome} Outcome
 * @typedef {object} Parts
 * @property {Map<string, Metric>} metrics
 * @property {import("../types.js").State} state
 * @property {(data: Data) => import("../consent/rules.js").Consent} consent Return the consent that holds.
 * @property {import("../types.js").Entropy} entropy
 * @property {() => number} today
 * @property {import("../diagnostics.js").Diagnostics} diagnostics
 * @property {{ wake: () => unknown }} [sender] Of which events.js wakes what it made.
 * @property {boolean} [background]
 * @property {{ [attribute: string]: unknown }} [strata] Attributes of all reports.
 * @property {number} [lifetimeCap] The most that all reports of all metrics may cost together.
 * @property {boolean} [strict] Whether what goes wrong rejects; for tests.
 * @typedef {object} Counts Answers that made no report, or not the one that was meant.
 * @property {number} ignored The period had its report, the cap was reached, or the collector wanted no more.
 * @property {number} withheld The consent did not cover the metric, as it is, or its last day was over.
 * @property {number} outside Reported, though outside the domain.
 * @property {number} mistakes No answers at all.
 * @property {{ [place: string]: number }} unlisted Reported as "other" for want of a listed value, by attribute.
 */
import { permission } from "../consent/rules.js";
import { encode } from "../questions/index.js";
import { correct, debit, standing, trim } from "./ledger.js";
import { buildReport } from "./report.js";
import { labelOf, outsideOf, undeclared } from "./strata.js";

/** Makes the reports of one client, and counts the answers that give none. */
export class Recorder {
  /** @type {Counts} */
  counts = { ignored: 0, withheld: 0, outside: 0, mistakes: 0, unlisted: {} };
  /** @type {Map<string, number>} By metric, the last day on which it was found answered. */
  answered = new Map();
  /**
   * The previous answer, for which each waits: otherwise a thousand at once would each draw, and each open a
   * file.
   * @type {Promise<any>}
   */
  #last = Promise.resolve();
  #parts;

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  /**
   * Make a report of an answer if one is due. It rejects only if `strict`.
   * @param {string} name
   * @param {unknown} value
   * @param {{ [attribute: string]: unknown }} [given] Attributes of its stratum.
   * @returns {Promise<Outcome>}
   */
  async record(name, value, given) {
    const { metrics, diagnostics, strict } = this.#parts;
    try {
      const metric = metrics.get(name);
      if (metric) return await this.#answer(metric, value, given);
      return this.#mistake("unknown metric", `there are ${[...metrics.keys()]}`); // the name may be the answer, misplaced
    } catch (/** @type {any} */ error) {
      if (strict) throw error;
      diagnostics.note("record failed: " + error?.name); // a message may quote the value
      return "failed";
    }
  }

  /**
   * Refuse an event; events.js notes them.
   * @param {string} _name
   * @param {unknown} _value
   * @returns {Promise<Outcome>}
   */
  async add(_name, _value) {
    return this.#mistake("add", 'import "dither-client/events" for it');
  }

  /**
   * @param {Metric} metric
   * @param {unknown} value
   * @param {{ [attribute: string]: unknown }} [given]
   * @returns {Promise<Outcome>}
   */
  async #answer(metric, value, given) {
    const { counts } = this;
    const parts = this.#parts;
    const place = `metrics.${metric.name}`;
    const encoded = encode(metric.question, value); // at once, before the app can change it
    if (encoded.mistake) {
      counts.mistakes++;
      this.#mistake("wrong value for " + place, typeof value);
    }
    const unknown = undeclared(metric, given);
    if (unknown[0]) this.#mistake(`unknown attribute in ${place}.strata`, `${unknown}`);
    const attributes = { ...parts.strata, ...given };
    const today = parts.today();
    this.#last = this.#last.catch(() => {}).then(() => this.#report(metric, encoded, attributes, today));
    /** @type {Outcome | "withheld" | "disabled"} */
    const fate = await this.#last;
    if (fate === "kept" || fate === "answered") this.answered.set(metric.name, today);
    if (fate === "kept") {
      counts.outside += +encoded.outside;
      for (const name of outsideOf(metric, attributes)) {
        const key = `${place}.strata.${name}`;
        counts.unlisted[key] = (counts.unlisted[key] ?? 0) + 1;
        if (attributes[name] == null) parts.diagnostics.note(`${key} is not given`); // which is a mistake
      }
    } else if (fate !== "off") counts[fate === "withheld" ? fate : "ignored"]++;
    return fate === "withheld" || fate === "disabled" ? "off" : fate;
  }

  /**
   * Make a report, and return what became of it: an outcome, or for "off" more exactly why.
   *
   * After each wait the day is asked for again: a page may be frozen for days, and other tabs have reported since.
   * @param {Metric} metric
   * @param {import("../types.js").Encoded} answer
   * @param {{ [attribute: string]: unknown }} attributes
   * @param {number} today
   */
  async #report(metric, answer, attributes, today) {
    const { state, entropy, today: day } = this.#parts;
    if (this.answered.get(metric.name) === today) return "answered"; // as the state would say
    const data = await state.read();
    const corrected = correct(data, day());
    const word = this.#standing(data, metric, day());
    if (word === "open") {
      const queued = await buildReport(metric, answer, labelOf(metric, attributes), entropy);
      return state.update((data) => this.#keep(data, metric, queued));
    }
    // If it were not kept, it would be open on no day.
    if (corrected) await state.update((data) => (correct(data, day()), trim(data, day())));
    return word;
  }

  /**
   * Return whether the ledger lets a metric report today, and if not, why; events.js asks for more.
   * @param {Data} data
   * @param {Metric} metric
   * @param {number} today
   * @returns {ReturnType<typeof standing> | "too new"}
   */
  standing(data, metric, today) {
    return standing(data, metric, today, this.#parts.lifetimeCap ?? Infinity);
  }

  /**
   * Return whether a metric may report, and if not, why.
   * @param {Data} data
   * @param {Metric} metric
   * @param {number} today
   */
  #standing(data, metric, today) {
    const holds = this.#parts.consent(data);
    if (holds.mode === "off") return "off";
    return permission(holds, metric, today) === "collected" ? this.standing(data, metric, today) : "withheld";
  }

  /**
   * Put a report behind its debit, if it still may be made.
   * @param {Data} data
   * @param {Metric} metric
   * @param {import("./report.js").Enclosed} queued
   */
  #keep(data, metric, queued) {
    const day = this.#parts.today();
    correct(data, day);
    const word = this.#standing(data, metric, day);
    if (word !== "open") return word;
    debit(data, metric, day);
    const local = this.#parts.consent(data).mode === "local";
    data.outbox.push({ ...queued, day, local });
    trim(data, day);
    return "kept";
  }

  /**
   * Tell the app's developer of a mistake.
   * @param {string} kind
   * @param {string} what It never holds the answer.
   * @returns {"unknown"}
   */
  #mistake(kind, what) {
    if (this.#parts.strict) throw new TypeError(`${kind}: ${what}`);
    this.#parts.diagnostics.note(kind, what);
    return "unknown";
  }
}
