/**
 * How answers are formed of events: what is kept for each `of`, and what becomes of it at the end of a period. The
 * table is in events.js.
 * @typedef {import("../types.js").Data} Data
 * @typedef {import("../types.js").Metric} Metric
 * @typedef {import("../types.js").Drawn} Drawn
 * @typedef {import("../types.js").Entropy} Entropy
 */
import { mechanismOf } from "../mechanisms/index.js";
import { encode } from "../questions/index.js";
import { bernoulli } from "../randomness/draws.js";
import { FIRST_DAY } from "./ledger.js";
import { BATCH_BYTES, hexOf } from "./report.js";

export const WEEKS = "weeks-since-first-use";
const WINDOW = 28;
const LARGEST = 1e300;

/** The state of a period whose events were lost: it is not reported. */
export const LOST = "lost";

/** @param {Metric} metric */
export const isPrivate = ({ of }) => of === "any" || of === "set";

/**
 * By `of`, the state of a period without an event, and the state after one more. The largest number of no number is
 * null, which JSON can hold.
 * @type {{ [of: string]: [begin: any, after: (state: any, item: any, today: number) => any] }}
 */
export const STATES = {
  count: [0, (state) => state + 1],
  sum: [0, (state, item) => Math.min(Math.max(state + item, -LARGEST), LARGEST)],
  max: [null, (state, item) => Math.max(state ?? -Infinity, item)],
  furthest: [-1, (state, item) => Math.max(state, item)],
  days: [
    [],
    (state, _, today) =>
      state.includes(today) ? state : [...state, today].filter((day) => day > Math.max(today, ...state) - WINDOW),
  ],
};

/**
 * Return whether the device has been in use for fewer days than `after` of a metric.
 * @param {Data} data
 * @param {Metric} metric
 * @param {number} today
 */
export const isTooNew = ({ firstUse }, { after }, today) => !!after && !(firstUse && today - firstUse >= after);

/**
 * Return an event of a metric, or no item if it changes no answer.
 * @param {Metric} metric
 * @param {any} value
 * @returns {{ item?: unknown, mistake: boolean }}
 */
export function eventOf({ of, question }, value) {
  if (of === "count" || of === "days") return { item: 1, mistake: false };
  if (of === "sum" || of === "max") {
    const item = /^(number|bigint)$/.test(typeof value) ? Number(value) : NaN;
    return { item, mistake: !Number.isFinite(item) };
  }
  const { item, outside, mistake } = encode(question, of === "set" ? [value] : value);
  return outside || (of === "any" && !item) ? { mistake } : { item, mistake };
}

/**
 * Return the answer of a period that ended with this state on the day `end`.
 * @param {Metric} metric
 * @param {any} state
 * @param {number} end
 */
export function answerOf({ of, question }, state, end) {
  if (of === "furthest") return state < 0 ? encode(question, "") : { item: state, outside: false, mistake: false };
  const days = (/** @type {number} */ day) => day <= end && day > end - WINDOW;
  return encode(question, of === "days" ? state.filter(days).length : (state ?? -Infinity));
}

/**
 * Return the last day of the period that began on a day.
 * @param {number} begun
 * @param {Metric} metric
 */
export function lastDay(begun, { period }) {
  let end = begun;
  while (FIRST_DAY[period](end + 1) <= begun) end++;
  return end;
}

/**
 * Draw a batch id, and then a report.
 * @param {Metric} metric
 * @param {any} item
 * @param {Entropy} entropy
 * @returns {Drawn}
 */
export const drawn = (metric, item, entropy) => ({ batch: batchOf(entropy), ...rowOf(metric, item, entropy) });

/**
 * Return a report of `any` or `set` after an event: drawn again, but under its batch id. That of a set is about one value,
 * in public, and stays so.
 * @param {Metric} metric
 * @param {Drawn} before
 * @param {any} item
 * @param {Entropy} entropy
 * @returns {Drawn}
 */
export const redrawn = (metric, { batch, cohort }, item, entropy) => ({
  batch,
  ...rowOf(metric, item, entropy, metric.of === "set" ? cohort : undefined),
});

/**
 * Draw a report of an answer, and then its batch id, as `buildReport` does.
 * @param {Metric} metric
 * @param {import("../types.js").Encoded} answer
 * @param {Entropy} entropy
 * @returns {Drawn}
 */
export function built(metric, { item, rest }, entropy) {
  const rounded = rest == null ? item : /** @type {number} */ (item) + +bernoulli(entropy, rest);
  return { ...rowOf(metric, rounded, entropy), batch: batchOf(entropy) };
}

/** @param {Entropy} entropy */
const batchOf = (entropy) => [...entropy.take(BATCH_BYTES)].map((byte) => hexOf(byte, 2)).join("");

/**
 * @param {Metric} metric Of a mechanism without a digest, so that its row is there at once.
 * @param {any} item
 * @param {Entropy} entropy
 * @param {number} [given] The cohort, if it is not to be drawn.
 */
function rowOf({ law }, item, entropy, given) {
  const { cohort: draw, row } = mechanismOf(law);
  const cohort = given ?? draw(entropy);
  return { cohort, row: /** @type {string} */ (row(entropy, item, cohort)) };
}
