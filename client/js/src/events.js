/**
 * Events: answers that the device forms itself, of what happened in a period (`of` in `metrics.toml`), and what a
 * definition with `after`, or with a month as its period, asks of the device. A client has them if it is given them:
 *
 *     import { events } from "dither-client/events";
 *     const client = new Client(metrics, { endpoint, app, events });
 *
 * `client.add` notes an event. At the first call in a later period the answer of the ended one is reported; a period in
 * which a client was made and nothing was added counts, too, because otherwise a report would say that something was. A
 * period in which none was made gives no report, and one that ended more than 30 days ago is dropped.
 *
 * What is kept until then stands in `data.events`, by metric version, with the first day of the period:
 *
 *     any, set          the report itself, as it would be sent now. It was drawn for "no" (for the empty set) when the
 *                       period was opened, and is drawn again for "yes" after each event that is part of the answer. So
 *                       the row that is sent has exactly the mechanism's law for the true answer, and one copy of the
 *                       data reveals no more than one report. It is paid for when the period is opened.
 *     count, sum, max   a number of the current period, and `furthest` a place in the list; deleted once reported
 *     days              the days of the last 28 on which there was an event
 *
 * `weeks-since-first-use` needs only `data.firstUse`: it is reported at once, in the weeks that are listed. Everything is
 * drawn and changed in one update of the data, so that nothing of it can be kept without the rest, and tabs take turns.
 * The same rules, with the reasons: client/dither/reporting/events.py.
 *
 * @typedef {import("./types.js").Data} Data
 * @typedef {import("./types.js").Metric} Metric
 * @typedef {import("./types.js").Kept} Kept
 * @typedef {import("./types.js").Drawn} Drawn
 * @typedef {import("./reporting/recorder.js").Parts} Parts
 */
import { permission } from "./consent/rules.js";
import { encode } from "./questions/index.js";
import { LOST, STATES, WEEKS, answerOf, built, drawn, eventOf, isPrivate, isTooNew, lastDay, redrawn } from "./reporting/formed.js";
import { FIRST_DAY, MONTH, WRITTEN, correct, debit, isAhead, trim } from "./reporting/ledger.js";
import { Recorder } from "./reporting/recorder.js";
import { enclosed } from "./reporting/report.js";
import { labelOf, outsideOf } from "./reporting/strata.js";

FIRST_DAY.month = (day) => day + 1 - new Date(day * 864e5).getUTCDate();

const LONGEST_PERIOD = 31;

/** A recorder that forms answers of events, too. */
export class events extends Recorder {
  #parts;
  #ages;
  #reviewed = 0; // the last day on which that succeeded, with consent
  /** The previous review or event, for which each waits. @type {Promise<any>} */
  #last = Promise.resolve();

  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.#parts = parts;
    this.#ages = [...parts.metrics.values()].some(({ of, after }) => after || of === WEEKS);
    this.review().catch(() => {}); // if strict, the next call rejects
  }

  /**
   * Make a report of an answer if one is due, and review; see `Recorder.record`.
   * @param {string} name
   * @param {unknown} value
   * @param {{ [attribute: string]: unknown }} [given]
   */
  async record(name, value, given) {
    if (this.#parts.metrics.get(name)?.of) return this.#mistaken(`metrics.${name}: formed of events; use add, not record`);
    // The value is read at once, before the app can change it.
    return (await Promise.all([super.record(name, value, given), this.review()]))[0];
  }

  /**
   * Note an event, and review. It rejects only if `strict`.
   * @param {string} name
   * @param {unknown} value
   * @returns {Promise<import("./types.js").Outcome>} "noted" if the period has it, or it changes nothing.
   */
  async add(name, value) {
    const metric = this.#parts.metrics.get(name);
    if (!metric) return super.record(name, value); // says which there are
    if (!metric.of) return this.#mistaken(`metrics.${name}: not formed of events; use record, not add`);
    if (metric.of === WEEKS) return this.#mistaken(`metrics.${name}: answered by itself`);
    const { item, mistake } = eventOf(metric, value); // at once, likewise
    this.counts.mistakes += +mistake;
    if (mistake) return this.#mistaken("wrong value for metrics." + name, typeof value);
    const data = await this.#do(metric, item);
    if (!data) return "failed";
    const kept = this.#covers(data, metric) && data.events?.[metric.version];
    return kept && kept.state !== LOST ? "noted" : "off";
  }

  /**
   * Report the periods that have ended, and open the current ones. Looks at nothing after the first call of a day that
   * succeeded. It rejects only if `strict`.
   * @param {boolean} [again] Look all the same, because the person has chosen.
   */
  async review(again) {
    if (again) this.#reviewed = 0;
    await this.#do();
  }

  /**
   * Return whether a metric may report today; not before the device has been in use for as many days as `after` says.
   * @param {Data} data
   * @param {Metric} metric
   * @param {number} today
   */
  standing(data, metric, today) {
    const word = super.standing(data, metric, today);
    return /^[ao]/.test(word) && isTooNew(data, metric, today) ? "too new" : word; // "answered" by a clock that was ahead, too
  }

  /**
   * Tell the app's developer of a mistake.
   * @param {string} kind
   * @param {string} [what] It never holds the value.
   * @returns {"unknown"}
   */
  #mistaken(kind, what = "") {
    if (this.#parts.strict) throw new TypeError(`${kind}: ${what}`);
    this.#parts.diagnostics.note(kind, what);
    return "unknown";
  }

  /**
   * Review, and note an event if one is given, after what was begun before; resolve to the data, or to nothing if that
   * was not possible.
   * @param {Metric} [metric]
   * @param {unknown} [item]
   * @returns {Promise<Data | undefined>}
   */
  #do(metric, item) {
    const { diagnostics, strict } = this.#parts;
    const done = this.#last.then(() => this.#update(metric, item));
    this.#last = done.catch(() => {});
    return done.catch((/** @type {any} */ error) => {
      if (strict) throw error;
      diagnostics.note("events failed: " + error?.name); // a message may quote the value
      return undefined;
    });
  }

  /** @param {Metric} [metric] @param {unknown} [item] */
  async #update(metric, item) {
    const { state, today, background, sender, consent } = this.#parts;
    const day = today();
    if (!metric && this.#reviewed === day) return;
    let data = await state.read();
    const newest = data.outbox.at(-1)?.batch;
    // Nothing is written if there is nothing to change, as before the person has chosen.
    if (!this.#changes(data, metric, item).next().done)
      data = await state.update((data) => {
        for (const change of this.#changes(data, metric, item)) change();
        if (consent(data).mode === "local") for (const kept of Object.values(data.events ?? {})) kept.local = true;
        return data;
      });
    this.#reviewed = consent(data).mode === "off" ? 0 : day;
    if (background && data.outbox.at(-1)?.batch !== newest) sender?.wake();
    return data;
  }

  /**
   * Yield the changes that are due, each to be made before the next is asked for.
   * @param {Data} data
   * @param {Metric} [metric] With an event.
   * @param {unknown} [item]
   * @returns {Generator<() => void, void>}
   */
  *#changes(data, metric, item) {
    const { metrics, consent, entropy, today: clock, diagnostics } = this.#parts;
    const today = clock();
    if (consent(data).mode === "off") {
      if (data.events) yield () => delete data.events;
      return;
    }
    if (correct(data, today)) yield () => {}; // which is done
    if (isAhead(data.firstUse ?? 0, today) || (this.#ages && !data.firstUse && today >= WRITTEN))
      yield () => (data.firstUse = today);
    const formed = [...metrics.values()].filter(({ of }) => of && of !== WEEKS);
    const { events: before = {} } = data;
    if (Object(before) !== before)
      yield () => {
        diagnostics.note("the events of the current periods could not be read");
        const lost = formed.map(({ version, period }) => [version, { begun: FIRST_DAY[period](today), state: LOST }]);
        data.events = Object.fromEntries(lost);
      };
    for (const [version, { begun, local }] of Object.entries(data.events ?? {})) {
      const known = formed.find((each) => each.version === version);
      const shown = consent(data).mode === "local";
      // Whoever has ended the mode local, what it covered is never sent, also without an event in it: silence would tell.
      if ((local && !shown) || isAhead(begun, today) || !(known ? this.#covers(data, known) : today - begun <= LONGEST_PERIOD))
        yield () => delete data.events?.[version];
      else if (shown && !local) yield () => {}; // which #update marks
    }
    for (const each of metrics.values()) if (each.of && this.#covers(data, each)) yield* this.#due(data, each, today);
    const kept = metric && data.events?.[metric.version];
    if (!kept || kept.state === LOST || item === undefined || !this.#covers(data, metric)) return;
    if (!isPrivate(metric)) {
      const after = /** @type {any} */ (STATES[/** @type {string} */ (metric.of)])[1](kept.state, item, today);
      if (after !== kept.state) yield () => (kept.state = after);
    } else if (metric.of === "any" || /** @type {any} */ (item).includes(kept.state.cohort))
      yield () => (kept.state = redrawn(metric, kept.state, item, entropy));
  }

  /**
   * Yield the changes that are due for one metric: its ended period is reported, and the present one opened.
   * @param {Data} data
   * @param {Metric} metric
   * @param {number} today
   * @returns {Generator<() => void, void>}
   */
  *#due(data, metric, today) {
    const { version, period, of = "" } = metric;
    if (of === WEEKS) {
      const { firstUse } = data;
      if (!firstUse || this.standing(data, metric, today) !== "open") return;
      const answer = encode(metric.question, String((FIRST_DAY.week(today) - FIRST_DAY.week(firstUse)) / 7));
      if (!answer.outside) yield () => this.#report(data, metric, answer, today);
      return;
    }
    const begun = FIRST_DAY[period](today);
    const kept = data.events?.[version];
    if (kept && kept.begun >= begun) return;
    if (kept)
      yield () => {
        delete data.events?.[version];
        this.#end(data, metric, kept, today);
      };
    if (isPrivate(metric)) {
      if (this.standing(data, metric, today) !== "open") return;
      yield () => {
        debit(data, metric, today);
        (data.events ??= {})[version] = { begun, state: drawn(metric, of === "set" ? [] : 0, this.#parts.entropy) };
      };
    } else if (!isTooNew(data, metric, today)) {
      const state = of === "days" && kept && kept.state !== LOST ? kept.state : STATES[of][0];
      yield () => ((data.events ??= {})[version] = { begun, state });
    }
  }

  /**
   * Report the answer of a period that has ended.
   * @param {Data} data
   * @param {Metric} metric
   * @param {Kept} kept
   * @param {number} today
   */
  #end(data, metric, { begun, state }, today) {
    const end = lastDay(begun, metric);
    if (today - end > MONTH || state === LOST)
      this.#parts.diagnostics.note("the events of an ended period were dropped: they were lost, or ended long ago");
    else if (isPrivate(metric)) this.#queue(data, metric, state, today);
    else if (this.standing(data, metric, today) === "open") this.#report(data, metric, answerOf(metric, state, end), today);
    else this.counts.ignored++;
  }

  /**
   * Draw a report of an answer, and charge the metric, which is open, for it.
   * @param {Data} data
   * @param {Metric} metric
   * @param {import("./types.js").Encoded} answer
   * @param {number} today
   */
  #report(data, metric, answer, today) {
    debit(data, metric, today);
    this.#queue(data, metric, built(metric, answer, this.#parts.entropy), today);
    this.counts.outside += +answer.outside;
  }

  /**
   * Let a row wait to be sent.
   * @param {Data} data
   * @param {Metric} metric
   * @param {Pick<Drawn, "batch" | "row">} drawn
   * @param {number} today
   */
  #queue(data, metric, { batch, row }, today) {
    const { consent, diagnostics, strata } = this.#parts;
    const local = consent(data).mode === "local";
    data.outbox.push({ ...enclosed(metric, batch, row, labelOf(metric, strata)), day: today, local });
    trim(data, today);
    const { unlisted } = this.counts;
    for (const name of outsideOf(metric, strata)) {
      const key = `metrics.${metric.name}.strata.${name}`;
      unlisted[key] = (unlisted[key] ?? 0) + 1;
      if (strata?.[name] == null) diagnostics.note(`${key} is not given`);
    }
  }

  /** @param {Data} data @param {Metric} metric */
  #covers(data, metric) {
    return permission(this.#parts.consent(data), metric, this.#parts.today()) === "collected";
  }
}
