import { below, bernoulli, thresholdOf } from "../randomness/draws.js";
import { fieldOf } from "./fields.js";
import { bigEndian } from "./rows.js";

/**
 * @typedef {import("../types.js").Law} Law
 * @typedef {import("./index.js").Family} Family
 */

/**
 * Return the family whose values mark one symbol each, which is reported with the probability `truth`, and otherwise one
 * of the others.
 * @param {(law: Law) => (item: any, cohort: number) => number} marking
 * @returns {Family}
 */
const symbols = (marking) => (law) => {
  const marked = marking(law);
  const truth = thresholdOf(law.truth);
  return {
    randomize(item, cohort, entropy) {
      let symbol = marked(item, cohort);
      if (!bernoulli(entropy, truth)) {
        const other = below(entropy, law.cells - 1);
        symbol = other + (other < symbol ? 0 : 1);
      }
      return bigEndian(symbol, law.cells);
    },
  };
};

/** The answer itself (Warner 1965; Kairouz, Bonawitz and Ramage 2016). */
export const randomizedResponse = symbols(() => (item) => item);

/** The inner product of the answer and the cohort, as vectors over a field (Wang, Blocki, Li and Jha 2017). */
export const localHashing = symbols(({ order, lower, length }) => {
  const { dot, vector } = fieldOf(order, lower);
  return (item, cohort) => dot(vector(cohort, length), vector(item, length));
});

/** The cell of a wide grid into which a point falls, the cohort being the phase of the grid. */
export const ditheredResponse = symbols(({ cohorts }) => (item, cohort) => Math.floor((item + cohort) / cohorts));

/** The pattern of a set in a window of the circle of all values, which the cohort begins. */
export const setResponse = symbols(({ cohorts, window }) => (item, cohort) => {
  let pattern = 0;
  for (const value of item) {
    const place = (value - cohort + cohorts) % cohorts;
    if (place < window) pattern |= 1 << place;
  }
  return pattern;
});

/**
 * Hadamard response (Acharya, Sun and Zhang 2019): with probability `inside` one of the symbols that share an even number
 * of binary digits with the answer's row of the Hadamard matrix, otherwise one of the others.
 * @type {Family}
 */
export const hadamardResponse = (law) => {
  const inside = thresholdOf(law.inside);
  return {
    randomize(item, _cohort, entropy) {
      const row = item + 1;
      const odd = bernoulli(entropy, inside) ? 0 : 1;
      const symbol = below(entropy, law.cells);
      let shared = symbol & row;
      for (let half = 16; half; half >>= 1) shared ^= shared >> half;
      return bigEndian((shared & 1) === odd ? symbol : symbol ^ (row & -row), law.cells);
    },
  };
};
