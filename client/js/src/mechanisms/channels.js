import { below, bernoulli, bernoulliBits, hex, past, subset } from "../randomness/draws.js";

/**
 * The channels: each draws the reported cells for the marked ones, by a law.
 * @typedef {import("../types.js").Entropy} Entropy
 * @typedef {import("../types.js").Law} Law
 * @typedef {(law: Law) => (entropy: Entropy, marked: number[]) => number[]} Channel
 */

/** The symbol with probability `truth`, otherwise one of the others (Warner 1965). @type {Channel} */
export const symbol = ({ truth, cells }) => {
  const threshold = hex(truth);
  return (entropy, [marked]) => {
    if (bernoulli(entropy, threshold)) return [marked];
    const other = below(entropy, cells - 1);
    return [other < marked ? other : other + 1];
  };
};

/** The marked cell with probability `high`, each other with `low` (Wang, Blocki, Li and Jha 2017). @type {Channel} */
export const unary = ({ high, low, cells }) => {
  const [one, other] = [high, low].map(hex);
  return (entropy, marked) => bernoulliBits(entropy, cells, marked, one, other);
};

/**
 * A subset that is drawn for the marks with probability `inside`, and otherwise one of the other cells.
 * @param {typeof import("../randomness/draws.js").subsetMeeting} draw
 * @returns {Channel}
 */
export const subsets = (draw) => ({ inside, cells, subset: size }) => {
  const threshold = hex(inside);
  return (entropy, marked) =>
    bernoulli(entropy, threshold)
      ? draw(entropy, cells, size, marked)
      : past(subset(entropy, cells - marked.length, size), marked);
};

/**
 * With probability `inside` one of the symbols that share an even number of binary digits with the item's row of the
 * Hadamard matrix, otherwise one of the others (Acharya, Sun and Zhang 2019). @type {Channel}
 */
export const hadamard = ({ inside, cells }) => {
  const threshold = hex(inside);
  return (entropy, [marked]) => {
    const row = marked + 1;
    let wrong = !bernoulli(entropy, threshold);
    const drawn = below(entropy, cells);
    for (let shared = drawn & row; shared; shared &= shared - 1) wrong = !wrong;
    return [wrong ? drawn ^ (row & -row) : drawn];
  };
};
