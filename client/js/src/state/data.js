/** The data that a client stores: its initial form, and what it must look like to be trusted. */

/** @typedef {import("../types.js").Data} Data */

/**
 * Return the data of a client that has stored nothing.
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
 * Return the data that replace damaged ones: every metric counts as answered in its present period, because
 * it may have been. Used when a person has just made a new choice.
 * @param {Iterable<string>} names Of all metrics.
 * @param {number} today
 * @returns {Data}
 */
export const renewed = (names, today) => ({
  ...empty(),
  last: Object.fromEntries(Array.from(names, (name) => [name, today])),
  events: null,
});

/**
 * Keep only these reports waiting, and count what happened to the others.
 * @param {Data} data
 * @param {import("../types.js").Queued[]} kept
 * @param {"sent" | "dropped"} fate
 */
export function retain(data, kept, fate) {
  for (const one of data.outbox)
    if (!kept.includes(one)) {
      data.totals[fate]++;
      delete data.held[one.batch];
    }
  data.outbox = kept;
}

/** @param {unknown} value */
const kindOf = (value) => ({}).toString.call(value);

/**
 * Return what was stored, or empty data if that is undefined. Damage within a field is not detected here:
 * browsers and `FileState` have checksums for that, and what the ledger cannot count with opens nothing.
 * @param {any} stored
 * @returns {Data}
 * @throws {DOMException} DataError, if it is damaged; VersionError, if a later version of this program wrote it.
 */
export function checked(stored) {
  const blank = empty();
  if (stored === undefined) return blank;
  const fits = (/** @type {[string, unknown]} */ [name, value]) => !value || kindOf(stored[name]) === kindOf(value);
  if (stored?.format === 1 && Object.entries(blank).every(fits)) return stored;
  throw new DOMException("unreadable", Number.isInteger(stored?.format) && stored.format > 1 ? "VersionError" : "DataError");
}
