import { below } from "../randomness/draws.js";
import { prefixSketch, projectiveGeometry, projectiveSketch } from "./sketches.js";
import { privSet, subsetSelection, unary } from "./subsets.js";
import { ditheredResponse, hadamardResponse, localHashing, randomizedResponse, setResponse } from "./symbols.js";

/**
 * @typedef {import("../types.js").Entropy} Entropy
 * @typedef {import("../types.js").Law} Law
 *
 * @typedef {object} Mechanism
 * @property {(entropy: Entropy) => number} cohort Draw a cohort, which is public and does not depend on the item.
 * @property {(item: any, cohort: number, entropy: Entropy) => Uint8Array | Promise<Uint8Array>} randomize Draw the payload
 * of one report. Items are those that the law's mechanism takes (types.js).
 *
 * @typedef {(law: Law) => Pick<Mechanism, "randomize"> & Partial<Mechanism>} Family
 */

/** @type {{ [name: string]: Family | undefined }} */
const FAMILIES = {
  "randomized-response": randomizedResponse,
  "local-hashing": localHashing,
  "dithered-response": ditheredResponse,
  "set-response": setResponse,
  "optimized-unary": unary,
  "symmetric-unary": unary,
  "subset-selection": subsetSelection,
  privset: privSet,
  "hadamard-response": hadamardResponse,
  "projective-geometry": projectiveGeometry,
  "projective-count-mean-sketch": projectiveSketch,
  "prefix-sketch": prefixSketch,
};

/**
 * Return the randomizer of a law, ready for many reports: thresholds are read once. Throws Error if its mechanism is not
 * one of these, SyntaxError if a threshold is none.
 * @param {Law} law
 * @returns {Mechanism}
 */
export function mechanismOf(law) {
  const family = FAMILIES[law.mechanism];
  if (!family) throw new Error(`unknown mechanism ${law.mechanism}`);
  return { cohort: (entropy) => (law.cohorts > 1 ? below(entropy, law.cohorts) : 0), ...family(law) };
}
