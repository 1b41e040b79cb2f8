/** Settings: check what an app gives before it is used, so that a mistake is reported where it is made. */

const APP = /^(?=.*[^ .])(?:[^\p{C}\p{Z}/\\:*?"<>|]| )+$/u;

/** A year, in seconds. */
const LONGEST = 366 * 86400;

/** @param {unknown} holds @param {string} mistake */
function need(holds, mistake) {
  if (!holds) throw new TypeError(mistake);
}

/** @param {unknown} value @param {number} most */
const isUpTo = (value, most) => typeof value === "number" && value >= 0 && value <= most;

/**
 * Return the collector's address without a slash at its end; in a page it may be relative to the page.
 * @param {unknown} given
 */
function endpointOf(given) {
  const { href, origin, pathname } = new URL(String(given || ":"), globalThis.location?.href);
  need(/^http/.test(href) && href === origin + pathname, "without name, query and fragment");
  return href.replace(/\/+$/, "");
}

/**
 * Return the settings of a client, with metrics by name; throw a TypeError that names the one that cannot be.
 * An app's name is as Python's `check_app_name` has it.
 * @param {import("./types.js").Compiled} compiled
 * @param {import("./client.js").Options} options
 */
export function checked(compiled, options) {
  const { app, endpoint, spread = 300, lifetimeCap = Infinity, strata = {} } = options;
  need(compiled?.format === "dither-compiled-1", "metrics: not what `python -m dither compile` wrote");
  need(typeof app === "string" && APP.test(app), "app: no name; letters, digits, - _ . and spaces are");
  need(isUpTo(spread, LONGEST), "spread: no seconds from 0 to a year");
  need(isUpTo(lifetimeCap, Infinity), "lifetimeCap: no number from 0");
  need(strata && typeof strata === "object", "strata: no attributes by name");
  const metrics = new Map(compiled.metrics.map((metric) => [metric.name, metric]));
  try {
    return { ...options, app, spread, lifetimeCap, strata, metrics, endpoint: endpointOf(endpoint) };
  } catch {
    throw new TypeError("endpoint: no URL with http or https, without name, query and fragment");
  }
}
