/** What a client keeps: how it begins, and what it must look like to be believed. */

/** @typedef {import("../types.js").Data} Data */
/** @typedef {(value: any) => boolean} Check */

/** @type {Check} */
const isText = (value) => typeof value === "string";
/** @type {Check} */
const isDay = Number.isSafeInteger;
/** @type {Check} */
const isCount = (value) => isDay(value) && value >= 0;
/** @type {Check} */
const isAmount = (value) => Number.isFinite(value) && value >= 0;
/** @type {Check} */
const isObject = (value) => typeof value === "object" && !Array.isArray(value) && value !== null;
/** @type {(check: Check) => Check} */
const listOf = (check) => (value) => Array.isArray(value) && value.every(check);
/** @type {(check: Check) => Check} */
const tableOf = (check) => (value) => isObject(value) && Object.values(value).every(check);
/** @type {(fields: { [name: string]: Check }) => Check} */
const recordOf = (fields) => (value) => isObject(value) && Object.keys(fields).every((name) => fields[name](value[name]));
/** @type {(check: Check) => Check} */
const orNull = (check) => (value) => value === null || check(value);

const isData = recordOf({
  format: (value) => value === 1,
  choice: orNull(
    recordOf({
      mode: (value) => ["off", "local", "on"].includes(value),
      accepted: tableOf(recordOf({ name: isText, day: isDay })),
    }),
  ),
  accounts: tableOf(recordOf({ name: isText, reports: isCount, epsilon: isAmount, day: isDay })),
  last: tableOf(isDay),
  disabled: tableOf(isDay),
  corrected: listOf(isDay),
  outbox: listOf(
    recordOf({ batch: isText, metric: isText, day: isDay, local: (value) => typeof value === "boolean", body: isText }),
  ),
  held: tableOf(recordOf({ moment: isAmount, notBefore: isAmount, failures: isCount })),
  sent: listOf(isText),
  totals: recordOf({ sent: isCount, dropped: isCount }),
  attempt: orNull(isObject),
});

/**
 * Return the data of a client that has kept nothing.
 * @returns {Data}
 */
export const empty = () => ({
  format: 1,
  choice: null,
  accounts: {},
  last: {},
  disabled: {},
  corrected: [],
  outbox: [],
  held: {},
  sent: [],
  totals: { sent: 0, dropped: 0 },
  attempt: null,
});

/**
 * Return the data to begin with in place of what was damaged: every metric has answered in its present period, for it
 * may have. It is for a person who has just chosen anew.
 * @param {Iterable<string>} names Of all metrics.
 * @param {number} today
 * @returns {Data}
 */
export const renewed = (names, today) => ({
  ...empty(),
  last: Object.fromEntries([...names].map((name) => [name, today])),
});

/**
 * Return what was stored, or empty data if that is undefined.
 * @param {unknown} stored
 * @param {() => Data} [anew] Gives what takes the place of damaged data.
 * @returns {Data}
 * @throws {DOMException} DataError, if it is damaged or of another format, and `anew` is not given.
 */
export function checked(stored, anew) {
  if (stored === undefined) return empty();
  if (isData(stored)) return /** @type {Data} */ (stored);
  if (anew) return anew();
  throw new DOMException("what was kept is damaged", "DataError");
}
