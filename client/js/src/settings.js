/**
 * Settings: check an app's arguments before they are used, so that a mistake is reported where it is made.
 */
import { MECHANISMS } from "./mechanisms/index.js";
import { KINDS } from "./questions/index.js";
import { FIRST_DAY } from "./reporting/ledger.js";

const NAMES =
  /^(app|background|endpoint|entropy|events|fetch|lifetimeCap|locks|log|now|spread|state|strata|strict|surroundings|today|token|uniform)$/;

/** @param {unknown} holds @param {string} mistake */
function need(holds, mistake) {
  if (!holds) throw new TypeError(mistake);
}

/**
 * Return the settings of a client, with metrics by name; throw a TypeError that names the invalid one. The
 * sender checks `endpoint` and `token`; a state in a folder checks that the app's name can be a folder's
 * name.
 * @param {any} compiled What was compiled.
 * @param {import("./client.js").Options} options
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
  return { ...options, app, spread, lifetimeCap, strata, metrics };
}
