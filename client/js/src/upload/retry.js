/**
 * Decide by the result of an upload whether a report was sent, is dropped or is kept, and when it is tried again;
 * the same as `client/dither/upload/schedule.py`, which gives the reasons.
 *
 * All times are in milliseconds.
 * @typedef {[base: number, cap: number]} RetryWindow The next try is spread over `base`, doubled each time, at most `cap`.
 * @typedef {object} AnswerRule
 * @property {"sent" | "dropped" | null} fate What becomes of the report; null to keep it.
 * @property {RetryWindow} window
 * @property {boolean} own Whether it says nothing of reports of other metrics.
 */

const STEP = 900e3;

/** The longest time for which a collector can postpone a report. */
export const LONGEST_HOLD = 24 * STEP;

/** The collector is overloaded, down behind its proxy, or hung up. @type {RetryWindow} */
export const BUSY = [STEP, LONGEST_HOLD];

/**
 * Somebody must fix something first: a token, a path, a definition.
 * @type {RetryWindow}
 */
export const REFUSED = [16 * STEP, 96 * STEP];

/** Nobody was reached. @type {RetryWindow} */
export const NETWORK = [120e3, 600e3];

/** The result if the collector may have seen the report, which therefore counts as an answer, too. */
export const UNANSWERED = "no answer";

/** The result if nobody can have seen the report. */
export const UNREACHED = "not reached";

/** The collector takes no more reports of this metric version. */
export const GONE = "410";

/**
 * Return what the result of an upload means for its report.
 * @param {string} result The status in digits, or one of the words above.
 * @returns {AnswerRule}
 */
export function ruleFor(result) {
  // Statuses are three digits, so a pattern of three is the whole; of the words, both and no status have an "n".
  const dropped = /4(00|1[035]|22)/.test(result);
  return {
    fate: /20[02]/.test(result) ? "sent" : dropped ? "dropped" : null,
    window: /n|408|42[59]|50[234]/.test(result) ? BUSY : REFUSED,
    own: dropped || /40[49]/.test(result),
  };
}

/**
 * Return for how long to hold a report: a Retry-After, rounded up to 15 minutes, and 6 hours at most.
 * @param {any} wish The header: a number of seconds, or a date. Anything else is none.
 * @param {number} now Milliseconds since 1970.
 */
export function holdOf(wish, now) {
  const span = /^\d+$/.test(wish) ? wish * 1e3 : Date.parse(wish) - now;
  return Math.min(LONGEST_HOLD, STEP * Math.ceil(Math.max(span || 0, 0) / STEP));
}

/**
 * Return the span over which the next try is spread, after this many earlier failures.
 * @param {RetryWindow} window
 * @param {number} failures
 */
export const windowOf = ([base, cap], failures) => Math.min(cap, base * 2 ** failures);

/** Return a random number in [0, 1). */
export const uniform = () => crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;
