/**
 * The ledger: what the device has spent, and whether a metric may report today; functions over `Data`.
 *
 * A metric, of whatever version, reports at most once in each period that the clock shows. A clock that is behind opens
 * nothing. One that was ahead has left marks of days to come; those beyond tomorrow are made today's, at most once in
 * any 30 days of the calendar, past or to come, and never before the day on which this program was written. The reasons
 * are in client/dither/reporting/ledger.py. What was spent stays spent.
 */

/** @typedef {import("../types.js").Data} Data */
/** @typedef {import("../types.js").Metric} Metric */

/** No honest clock shows a day before 2026-11-01. */
const WRITTEN = 20_758;
/** Days: between corrections, of silence after a collector wanted no more, and that a report waits. */
const MONTH = 30;
const MAX_REPORTS = 1_000;
const MAX_BYTES = 500_000;

/**
 * Return whether `day` was written by a clock that was ahead, for all that is known `today`.
 * @param {number} day
 * @param {number} today
 */
const isAhead = (day, today) => day > today + 1 && today >= WRITTEN;

/**
 * Return the first day of the period that a day lies in; a week begins on Monday. A clock before 1970 opens nothing, for
 * a metric that never reported has 0 as its last day.
 * @param {number} day
 * @param {Metric} metric
 */
export const firstDay = (day, { period }) => day - (period === "week" ? (day + 3) % 7 : 0);

/**
 * Return the last day on which a metric, of whatever version, reported; 0 if it never did.
 * @param {Data} data
 * @param {Metric} metric
 */
export const lastDay = ({ last }, { name }) => (Object.hasOwn(last, name) ? last[name] : 0);

/**
 * Return a privacy loss in units of 2^-80, rounded up; exact from 2^-27 on.
 * @param {number} epsilon
 */
const units = (epsilon) => BigInt(Math.ceil(epsilon * 2 ** 80));

/**
 * Return whether a metric may report today, and if not, why.
 * @param {Data} data
 * @param {Metric} metric
 * @param {number} today
 * @param {number} lifetimeCap The most that all reports of all metrics may cost together; Infinity for no cap.
 * @returns {"open" | "answered" | "spent" | "disabled"}
 */
export function standing(data, metric, today, lifetimeCap) {
  if (today <= data.disabled[metric.version] + MONTH) return "disabled";
  if (!(firstDay(today, metric) > lastDay(data, metric))) return "answered";
  let total = units(metric.epsilon);
  for (const { reports, epsilon } of Object.values(data.accounts)) total += BigInt(reports) * units(epsilon);
  const capped = (data.accounts[metric.version]?.reports ?? 0) >= (metric.reports ?? Infinity);
  return capped || !(total <= lifetimeCap * 2 ** 80) ? "spent" : "open"; // an integer and a double, compared exactly
}

/**
 * Charge a metric for one more report.
 * @param {Data} data
 * @param {Metric} metric
 * @param {number} today
 */
export function debit(data, metric, today) {
  const { name, version, epsilon } = metric;
  const { reports = 0, day = 0 } = data.accounts[version] ?? {};
  data.accounts[version] = { name, reports: reports + 1, epsilon, day: Math.max(day, today) };
  data.last[name] = Math.max(lastDay(data, metric), today);
}

/**
 * Return the privacy loss of all reports of this version of a metric, rounded up.
 * @param {Data} data
 * @param {Metric} metric
 */
export function spent(data, { version }) {
  const { reports = 0, epsilon = 0 } = data.accounts[version] ?? {};
  const product = reports * epsilon;
  return BigInt(reports) * units(epsilon) > product * 2 ** 80 ? product * (1 + Number.EPSILON) : product;
}

/**
 * Make marks of days beyond tomorrow today's, if there are any and the rule allows it.
 * @param {Data} data
 * @param {number} today
 * @returns {boolean} Whether that was done.
 */
export function correct(data, today) {
  const marks = [data.last, data.disabled];
  if (!marks.some((days) => Object.values(days).some((day) => isAhead(day, today)))) return false;
  if (data.corrected.some((day) => Math.abs(today - day) < MONTH)) return false;
  data.corrected.push(today);
  for (const days of marks) for (const key in days) if (isAhead(days[key], today)) days[key] = today;
  for (const account of Object.values(data.accounts)) if (isAhead(account.day, today)) account.day = today;
  return true;
}

/**
 * Drop, and count, the reports that are too many, too large together, too old, or of a day to come: the oldest first.
 * @param {Data} data
 * @param {number} today
 */
export function trim(data, today) {
  let count = 0;
  let bytes = 0;
  const fits = (/** @type {import("../types.js").Queued} */ { batch, day, body }) => {
    const timely = today - day <= MONTH && !isAhead(day, today);
    if (timely && ++count <= MAX_REPORTS && (bytes += body.length) <= MAX_BYTES) return true;
    data.totals.dropped++;
    return !(delete data.held[batch]);
  };
  data.outbox = data.outbox.reverse().filter(fits).reverse();
}
