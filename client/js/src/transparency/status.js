/**
 * Status: what a user may want to know about the client on this device.
 * @typedef {object} MetricStatus One question: what it costs, and what was spent on it.
 * @property {string} name
 * @property {string} version
 * @property {string} description
 * @property {[string, string][]} words Names of facts, and facts, as they are shown before consent.
 * @property {"collected" | "not accepted" | "off" | "expired" | "disabled" | "spent" | "too new"} state Whether answers
 * are collected, and if not, why: it is new or has changed since the user was asked; all is off; its last day is over; the
 * collector wants no more of it, for a month; its cap, or that of all metrics together, is reached, and nothing more is
 * collected of it; the device has been in use for fewer days than its `after`.
 * @property {string | null} since The day on which the user accepted it, as 2027-06-30; null if somebody else decides.
 * @property {number} epsilon The privacy loss of one report.
 * @property {number} spent The privacy loss of all reports of this version so far.
 * @property {number} reports How many they were.
 * @property {boolean} reported Whether this period's report is drawn already, or must not be drawn.
 * @typedef {object} Status
 * @property {import("../types.js").Mode} mode
 * @property {string} decidedBy What decided the mode, in words.
 * @property {MetricStatus[]} metrics
 * @property {number} queued Reports that wait to be sent.
 * @property {number} shown Reports made in the mode local, which only the user sees.
 * @property {number} sent For ever; the same for `dropped`: no collector can use them, they were too old, gave way to
 * newer ones, or the user withdrew.
 * @property {number} dropped
 * @property {import("../types.js").Data["attempt"]} lastAttempt The last try to upload a report; null if none was made.
 * @property {number} unrecorded Answers that were lost, because this client was disabled or closed.
 * @property {{ [what: string]: any }} counts What became of answers in this page or process: see docs/reference/javascript.md.
 * @property {{ [what: string]: number }} trouble What went wrong, in words, and how often.
 */
import { permission } from "../consent/rules.js";
import { correct, spent } from "../reporting/ledger.js";

/**
 * @param {import("../types.js").Metric} metric
 * @param {import("../consent/rules.js").Consent} consent
 * @param {import("../types.js").Data} data
 * @param {number} today Days since 1970.
 * @param {import("../reporting/recorder.js").Recorder} recorder
 * @returns {MetricStatus}
 */
function statusOf(metric, consent, data, today, recorder) {
  const { name, version, description, words, epsilon, terms } = metric;
  const word = permission(consent, metric, today);
  const stands = recorder.standing(data, metric, today);
  const since = consent.accepted?.[terms]?.day;
  return {
    name,
    version,
    description,
    words,
    epsilon,
    // open and answered are collected
    state: word === "collected" && /^[^ao]/.test(stands) ? /** @type {MetricStatus["state"]} */ (stands) : word,
    since: since == null ? null : new Date(since * 864e5).toISOString().slice(0, 10),
    spent: spent(data, metric),
    reports: data.accounts[version]?.reports ?? 0,
    reported: stands !== "open",
  };
}

/**
 * Return the status of a client; a client that could not be made has no parts.
 * @param {import("../types.js").Data} data
 * @param {import("../consent/rules.js").Consent} consent
 * @param {{ metrics: Map<string, import("../types.js").Metric>, today: () => number,
 *   recorder: import("../reporting/recorder.js").Recorder } | undefined} parts
 * @param {{ unrecorded: number, trouble: { [what: string]: number } }} troubles
 * @returns {Status}
 */
export function overview(data, consent, parts, troubles) {
  const { outbox, totals, attempt } = data;
  const today = parts?.today() ?? 0;
  correct(data, today);
  return {
    mode: consent.mode,
    decidedBy: consent.decidedBy,
    metrics: Array.from(parts?.metrics.values() ?? [], (metric) =>
      statusOf(metric, consent, data, today, /** @type {NonNullable<typeof parts>} */ (parts).recorder),
    ),
    queued: outbox.filter(({ local }) => !local).length,
    shown: outbox.filter(({ local }) => local).length,
    ...totals,
    lastAttempt: attempt,
    counts: { ...parts?.recorder.counts },
    ...troubles,
  };
}
