/**
 * Settings: check an app's arguments before they are used, so that a mistake is reported where it is made.
 *
 * @typedef {object} Options
 * @property {string} endpoint The collector's http or https URL; in a page it may be a path of the page's own site.
 * @property {string} app A name that no other app has, such as "org.example.notes".
 * @property {import("./types.js").State} [state]
 * @property {{ [attribute: string]: unknown }} [strata] Attributes of this device, sent in the clear with the reports
 * of metrics that declare them.
 * @property {number} [lifetimeCap] The most epsilon that all metrics together may ever cost this device.
 * @property {number} [spread] Seconds within which each report leaves, at a random moment: 300.
 * @property {string} [token] The app's, for a collector that asks for one; not for pages of other sites.
 * @property {boolean} [background] false: upload nothing but on `flush`.
 * @property {boolean} [strict] For tests: mistakes of the app's developer throw, or reject.
 * @property {(message: string) => void} [log] console.warn, if left out.
 * @property {import("./types.js").Entropy} [entropy]
 * @property {() => number} [now] Milliseconds since 1970.
 * @property {() => number} [today] Days since 1970.
 * @property {typeof globalThis.fetch} [fetch]
 * @property {() => number} [uniform] A random number in [0, 1), for the moments at which reports leave.
 * @property {typeof import("./events.js").events} [events] What "dither-client/events"
 * exports, for definitions with `of`, `after` or a month as their period.
 * @property {any} [locks] A LockManager, so that tabs take turns in uploading.
 * @property {import("./consent/rules.js").Surroundings} [surroundings] In which signs against consent are looked for.
 */
import { MECHANISMS } from "./mechanisms/index.js";
import { KINDS } from "./questions/index.js";
import { FIRST_DAY } from "./reporting/ledger.js";

const NAMES =
  /^(app|background|endpoint|entropy|events|fetch|lifetimeCap|locks|log|now|spread|state|strata|strict|surroundings|today|token|uniform)$/;

/** @param {unknown} holds @param {string} mistake */
export function need(holds, mistake) {
  if (!holds) throw new TypeError(mistake);
}

/**
 * Return the settings of a client, with metrics by name; throw a TypeError that names the invalid one. The
 * sender checks `endpoint` and `token`; a state in a folder checks that the app's name can be a folder's
 * name.
 * @param {any} compiled What was compiled.
 * @param {Options} options
 */
export function checked(compiled, options) {
  const { app, spread = 300, lifetimeCap = Infinity, strata = {}, events } = options;
  for (const name of Object.keys(options)) need(NAMES.test(name), name + ": no such option"); // lifetime_cap caps nothing
  need(compiled?.format === "dither-compiled-1", "metrics: not compiled");
  need(typeof app === "string" && app.trim(), "app: no name, such as org.example.notes");
  need(spread >= 0, "spread: not a number from 0");
  need(lifetimeCap >= 0, "lifetimeCap: not a number from 0");
  const metrics = new Map();
  for (const metric of compiled.metrics) {
    const { name, question, law, of, after, period } = metric;
    need(KINDS[question.kind] && MECHANISMS[law.mechanism], `metrics.${name}: import "dither-client" for it`);
    need(events || (FIRST_DAY[period] && !of && !after), `metrics.${name}: import "dither-client/events" for it`);
    metrics.set(name, metric);
  }
  return { ...options, app, spread, lifetimeCap, strata, metrics, compiled };
}
