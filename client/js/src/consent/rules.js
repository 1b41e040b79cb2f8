/**
 * Consent: decide whether anything may be drawn and sent, and name who decided it. The first of these that applies decides:
 *
 * 1. Global Privacy Control or Do Not Track in the browser, or a browser that a program drives (webdriver): off;
 * 2. the environment of a Node process, see node_environment.js;
 * 3. the user's own choice, stored on the device, pinned to the terms that were shown; one that cannot be read counts as off;
 * 4. otherwise: off.
 *
 * @typedef {[mode: string, by: string]} Verdict Of who decides in the user's place, for all metrics.
 * @typedef {{ globalPrivacyControl?: unknown, doNotTrack?: unknown, webdriver?: unknown }} Signals
 * @typedef {{ navigator?: Signals, environment?: () => Verdict | undefined }} Surroundings
 * @typedef {import("../types.js").Mode} Mode
 * @typedef {{ [terms: string]: { name: string, day: number } }} Accepted
 * @typedef {{ mode: string, accepted: Accepted } | null} Choice null: nobody was asked.
 * @typedef {{ mode: Mode, decidedBy: string, accepted: Accepted | null }} Consent
 * A mode, what decided it in words, and the metrics that it covers, by their terms (null: all of them).
 */
import { retain } from "../state/data.js";

export const UNASKED = "default: the user has not been asked";

/** Return whether a mode can be chosen. @param {unknown} mode @returns {mode is Mode} */
export const isMode = (mode) => mode === "off" || mode === "local" || mode === "on";

/** @param {Signals} [signals] @returns {Verdict | undefined} */
function signalled({ globalPrivacyControl, doNotTrack, webdriver } = {}) {
  const by = globalPrivacyControl
    ? "Global Privacy Control"
    : doNotTrack === "1" || doNotTrack === "yes"
      ? "Do Not Track"
      : webdriver
        ? "webdriver"
        : "";
  if (by) return ["off", by];
}

/**
 * Return the consent that holds, given the user's choice.
 * @param {Surroundings} surroundings
 * @param {Choice} choice
 * @returns {Consent}
 */
export function decide(surroundings, choice) {
  /** @type {Verdict | undefined} */
  let verdict = ["", "the surroundings"]; // what cannot be read may be a no
  try {
    verdict = signalled(surroundings.navigator) ?? surroundings.environment?.();
  } catch {}
  const [mode, by] = verdict ?? (choice ? [choice.mode, "the user's choice"] : ["off", UNASKED]);
  const known = isMode(mode);
  return {
    mode: known ? mode : "off",
    decidedBy: known ? by : by + ", which cannot be read",
    accepted: verdict ? null : (choice?.accepted ?? {}),
  };
}

/**
 * Return whether a metric's last day is over.
 * @param {import("../types.js").Metric} metric
 * @param {number} today Days since 1970.
 */
export const isOver = ({ expires }, today) => Date.parse(/** @type {string} */ (expires)) < today * 864e5; // NaN if it has none

/**
 * Return in a word whether answers to a metric are collected, and if not, why.
 * @param {Consent} consent
 * @param {import("../types.js").Metric} metric
 * @param {number} today Days since 1970.
 * @returns {"collected" | "not accepted" | "off" | "expired"}
 */
export function permission({ mode, accepted }, metric, today) {
  if (isOver(metric, today)) return "expired";
  if (mode === "off") return "off";
  return !accepted || Object.hasOwn(accepted, metric.terms) ? "collected" : "not accepted";
}

/**
 * Store the user's choice in the data, and drop reports that will never be sent or shown: with "off" all
 * waiting ones, with "on" those that were made only to be shown. A yes keeps what was accepted before.
 * @param {import("../types.js").Data} data
 * @param {Mode} mode
 * @param {Iterable<import("../types.js").Metric>} metrics What the user was shown.
 * @param {number} today Days since 1970.
 * @param {Surroundings} surroundings
 */
export function choose(data, mode, metrics, today, surroundings) {
  /** @type {Accepted} */
  const accepted = { ...data.choice?.accepted }; // an off has left none
  for (const { name, terms } of metrics) accepted[terms] ??= { name, day: today };
  data.choice = { mode, accepted: mode === "off" ? {} : accepted };
  const holds = decide(surroundings, data.choice).mode;
  if (holds === "off") delete data.events;
  const kept = data.outbox.filter(({ local }) => holds === "local" || (holds === "on" && !local));
  retain(data, kept, "dropped");
}
