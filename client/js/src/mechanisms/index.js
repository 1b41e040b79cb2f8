import { below, subsetMeeting, subsetWith } from "../randomness/draws.js";
import { hadamard, subsets, symbol, unary } from "./channels.js";
import { bucket, hash, itself, padded, pattern, step } from "./markings.js";
import { points } from "./points.js";
import { PAYLOADS } from "./rows.js";

/**
 * @typedef {import("../types.js").Entropy} Entropy
 * @typedef {import("../types.js").Law} Law
 */

/**
 * Each mechanism: what an item marks, and the channel by which that is reported.
 * @type {{ [name: string]: [import("./markings.js").Marking, import("./channels.js").Channel] }}
 */
const MECHANISMS = {
  "randomized-response": [itself, symbol],
  "local-hashing": [hash, symbol],
  "dithered-response": [step, symbol],
  "set-response": [pattern, symbol],
  "optimized-unary": [itself, unary],
  "symmetric-unary": [itself, unary],
  "subset-selection": [itself, subsets(subsetWith)],
  privset: [padded, subsets(subsetMeeting)],
  "hadamard-response": [itself, hadamard],
  "projective-geometry": [itself, points],
  "projective-count-mean-sketch": [bucket, points],
  "prefix-sketch": [bucket, points],
};

/**
 * Return the randomizer of a law, ready for many reports. Throws Error if its mechanism is not one of these,
 * SyntaxError if a threshold is none.
 * @param {Law} law
 */
export function mechanismOf(law) {
  const found = MECHANISMS[law.mechanism];
  if (!found) throw Error("mechanism " + law.mechanism);
  const marked = found[0](law);
  const channel = found[1](law);
  const { cohorts, rows = cohorts, weights = [1] } = law;
  return {
    /**
     * Draw a cohort, which is public and does not depend on the item: a row, and if there are levels one by its weight.
     * @param {Entropy} entropy
     */
    cohort(entropy) {
      if (cohorts < 2) return 0;
      const whole = weights.reduce((/** @type {number} */ sum, /** @type {number} */ weight) => sum + weight);
      const drawn = below(entropy, rows * whole);
      let place = drawn % whole;
      let level = 0;
      while (place >= weights[level]) place -= weights[level++];
      return level * rows + ((drawn / whole) | 0);
    },

    /**
     * Resolve to the payload of one report. Rejects where something is missing: randomness, or a digest on a page
     * that is not secure.
     * @param {any} item Of those that the mechanism takes (types.js).
     * @param {number} cohort
     * @param {Entropy} entropy
     */
    randomize: async (item, cohort, entropy) =>
      PAYLOADS[law.shape](channel(entropy, await marked(item, cohort)), law.cells),
  };
}
