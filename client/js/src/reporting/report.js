import { mechanismOf } from "../mechanisms/index.js";
import { bernoulli } from "../randomness/draws.js";

/** @typedef {Pick<import("../types.js").Queued, "batch" | "metric" | "body">} Enclosed */

export const BATCH_BYTES = 16;

/**
 * Draw one report of an answer, and return it as the body of its upload, byte for byte what the Python client would
 * send.
 *
 * The rounding of a number, the cohort, the payload and the 16 bytes of the batch id are drawn in this order: two
 * reports share nothing. No draw depends on the stratum, which is sent in the clear.
 * @param {Pick<import("../types.js").Metric, "name" | "version" | "law">} metric
 * @param {Pick<import("../types.js").Encoded, "item" | "rest">} answer What `encode` returned.
 * @param {string | null} stratum The label of the metric's cell.
 * @param {import("../types.js").Entropy} entropy
 * @returns {Promise<Enclosed>}
 */
export const buildReport = async (metric, { item, rest }, stratum, entropy) => {
  const { cohort, row } = mechanismOf(metric.law);
  const rounded = rest == null ? item : /** @type {number} */ (item) + +bernoulli(entropy, rest);
  const reports = await row(entropy, rounded, cohort(entropy));
  const batch = [...entropy.take(BATCH_BYTES)].map((byte) => hexOf(byte, 2)).join("");
  return enclosed(metric, batch, reports, stratum);
};

/**
 * Return a row as the body of its upload; `buildReport` says the rest.
 * @param {Pick<import("../types.js").Metric, "name" | "version">} metric
 * @param {string} batch
 * @param {string} reports In base64.
 * @param {string | null} stratum
 * @returns {Enclosed}
 */
export const enclosed = ({ name, version }, batch, reports, stratum) => {
  const body = JSON.stringify({ batch, metric: name, version, stratum: stratum ?? undefined, reports });
  return { batch, metric: name, body: ascii(body) };
};

/**
 * Escape what is not printable ASCII, as Python's json.dumps does.
 * @param {string} json
 */
const ascii = (json) => json.replace(/[^ -~]/g, (unit) => `\\u${hexOf(unit.charCodeAt(0), 4)}`);

/**
 * @param {number} number
 * @param {number} digits
 */
export const hexOf = (number, digits) => number.toString(16).padStart(digits, "0");
