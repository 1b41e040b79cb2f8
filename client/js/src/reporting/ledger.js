/**
 * The ledger: what the device has spent, and whether a metric may report today; functions over `Data`.
 *
 * A metric, of whatever version, reports at most once in each period that the clock shows. A clock that is behind
 * opens nothing. One that was ahead has left marks with future days; marks beyond tomorrow are set to today, at most
 * once in any 30 days of the calendar, past or future, and never before the day on which this program was written.
 * The reasons are in client/dither/reporting/ledger.py. What was spent stays spent.
 * @typedef {import("../types.js").Data} Data
 * @typedef {import("../types.js").Metric} Metric
 */
import { retain } from "../state/data.js";

/** No honest clock shows a day before 2026-11-01. */
export const WRITTEN = 20_758;
/**
 * In days: minimum between corrections, silence after a collector disabled a metric, maximum wait of a
 * report.
 */
export const MONTH = 30;
const MAX_REPORTS = 1_000;
export const MAX_BYTES = 500_000;

/**
 * Return whether `day` was written by a clock that was ahead, judged by `today`.
 * @param {number} day
 * @param {number} today
 */
export const isAhead = (day, today) => day > today + 1 && today >= WRITTEN;

/**
 * By period, return its first day for a positive day that lies in it; a week begins on Monday. events.js adds months.
 * @type {{ [period: string]: (day: number) => number }}
 */
export const FIRST_DAY = { day: (day) => day, week: (day) => day - ((day + 3) % 7) };

/**
 * Return a privacy loss in units of 2^-80, rounded up; exact from 2^-27 on.
 * @param {number} epsilon
 */
const units = (epsilon) => BigInt(Math.ceil(epsilon * 2 ** 80));

/**
 * Return whether a metric may report today, and if not, why. A clock before 1970, or with no number, opens
 * nothing.
 * @param {Data} data
 * @param {Metric} metric
 * @param {number} today
 * @param {number} lifetimeCap The most that all reports of all metrics may cost together; Infinity for no cap.
 * @returns {"open" | "answered" | "spent" | "disabled"}
 */
export function standing({ accounts, last, disabled }, metric, today, lifetimeCap) {
  const { name, version, reports, epsilon, period } = metric;
  if (today <= disabled[version] + MONTH) return "disabled";
  if (!(today > 0) || (Object.hasOwn(last, name) && !(last[name] < FIRST_DAY[period](today)))) return "answered";
  if ((accounts[version]?.reports ?? 0) >= (reports ?? Infinity)) return "spent";
  let total = units(epsilon);
  for (const each of Object.values(accounts)) total += BigInt(each.reports) * units(each.epsilon);
  return total <= lifetimeCap * 2 ** 80 ? "open" : "spent"; // an integer and a double are compared exactly
}

/**
 * Charge a metric that is open for one more report.
 * @param {Data} data
 * @param {Metric} metric
 * @param {number} today
 */
export function debit({ accounts, last }, { name, version, epsilon }, today) {
  accounts[version] = { name, reports: (accounts[version]?.reports ?? 0) + 1, epsilon, day: today };
  last[name] = today;
}

/**
 * Return the privacy loss of all reports of this version of a metric, rounded up to a double.
 * @param {Data} data
 * @param {Metric} metric
 */
export function spent({ accounts }, { version }) {
  const { reports = 0, epsilon = 0 } = accounts[version] ?? {};
  const nearest = reports * epsilon;
  const least = BigInt(reports) * units(epsilon);
  return units(nearest) < least ? nearest + nearest * 1.2e-16 : nearest; // the next double
}

/**
 * Make marks of days beyond tomorrow today's, if there are any and the rule allows it.
 * @param {Data} data
 * @param {number} today
 * @returns {boolean} Whether that was done.
 */
export function correct(data, today) {
  const { last, disabled, corrected } = data;
  if (corrected.some((day) => Math.abs(today - day) < MONTH)) return false;
  let found = false;
  for (const days of [last, disabled])
    for (const key of Object.keys(days))
      if (isAhead(days[key], today)) {
        days[key] = today;
        found = true;
      }
  if (found) corrected.push(today);
  return found;
}

/**
 * Drop, and count, the reports that are too many, too large together, too old, or of a day to come: the oldest first.
 * @param {Data} data
 * @param {number} today
 */
export function trim(data, today) {
  let count = 0;
  let bytes = 0;
  const timely = data.outbox.filter(({ day }) => today - day <= MONTH && !isAhead(day, today));
  const newest = timely.reverse().filter(({ body }) => ++count <= MAX_REPORTS && (bytes += body.length) <= MAX_BYTES);
  retain(data, newest.reverse(), "dropped");
}
