import { below, bernoulli, bernoulliBits, hex, past, subset } from "../randomness/draws.js";

/**
 * The channels: each draws the reported cells for the marked ones, by a law.
 * @typedef {import("../types.js").Entropy} Entropy
 * @typedef {import("../types.js").Law} Law
 * @typedef {(law: Law, threshold: bigint) => (entropy: Entropy, marked: number[]) => number[]} Channel
 * The threshold is that of the law's first coin, `truth`, `inside` or `high`.
 */

/** The symbol with probability `truth`, otherwise one of the others (Warner 1965). @type {Channel} */
export const symbol = ({ cells }, truth) => (entropy, [marked]) => {
  if (bernoulli(entropy, truth)) return [marked];
  const other = below(entropy, cells - 1);
  return [other < marked ? other : other + 1];
};

/** The marked cell with probability `high`, each other with `low` (Wang, Blocki, Li and Jha 2017). @type {Channel} */
export const unary = ({ low, cells }, high) => {
  const other = hex(low);
  return (entropy, marked) => bernoulliBits(entropy, cells, marked, high, other);
};

/**
 * A subset that is drawn for the marks with probability `inside`, and otherwise one of the other cells.
 * @param {typeof import("../randomness/draws.js").subsetMeeting} draw
 * @returns {Channel}
 */
export const subsets = (draw) => ({ cells, subset: size }, inside) => (entropy, marked) =>
  bernoulli(entropy, inside)
    ? draw(entropy, cells, size, marked)
    : past(subset(entropy, cells - marked.length, size), marked);

/**
 * With probability `inside` one of the symbols that share an even number of binary digits with the item's row of the
 * Hadamard matrix, otherwise one of the others (Acharya, Sun and Zhang 2019). @type {Channel}
 */
export const hadamard = ({ cells }, inside) => (entropy, [marked]) => {
  const row = marked + 1;
  let wrong = !bernoulli(entropy, inside);
  const drawn = below(entropy, cells);
  for (let shared = drawn & row; shared; shared &= shared - 1) wrong = !wrong;
  return [wrong ? drawn ^ (row & -row) : drawn];
};
