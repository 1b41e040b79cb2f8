import { mechanismOf } from "../mechanisms/index.js";
import { bigEndian } from "../mechanisms/rows.js";
import { bernoulli } from "../randomness/draws.js";

const BATCH_BYTES = 16;

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
 * @param {number} day
 * @param {boolean} local
 * @returns {Promise<import("../types.js").Queued>}
 */
export const buildReport = async ({ name, version, law }, { item, rest }, stratum, entropy, day, local) => {
  const mechanism = mechanismOf(law);
  const rounded = rest == null ? item : /** @type {number} */ (item) + +bernoulli(entropy, rest);
  const cohort = mechanism.cohort(entropy);
  const payload = await mechanism.randomize(rounded, cohort, entropy);
  const batch = [...entropy.take(BATCH_BYTES)].map((byte) => hexOf(byte, 2)).join("");
  const row = [...bigEndian([cohort], law.cohorts), ...payload];
  const reports = btoa(row.map((byte) => String.fromCharCode(byte)).join(""));
  const body = JSON.stringify({ batch, metric: name, version, stratum: stratum ?? undefined, reports });
  return { batch, metric: name, day, local, body: ascii(body) };
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
const hexOf = (number, digits) => number.toString(16).padStart(digits, "0");
