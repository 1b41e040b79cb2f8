import { below, bernoulli, bernoulliBits, joined, past, subset, subsetMeeting, thresholdOf } from "../randomness/draws.js";
import { payload, rowOf } from "./rows.js";

/** @typedef {import("./index.js").Family} Family */

/**
 * Unary encoding (Wang, Blocki, Li and Jha 2017): a bit for each answer, 1 with probability `high` for the true one and
 * with `low` for another.
 * @type {Family}
 */
export const unary = (law) => {
  const high = thresholdOf(law.high);
  const low = thresholdOf(law.low);
  return {
    randomize: (item, _cohort, entropy) => bernoulliBits(entropy, law.cells, rowOf(law.cells, [item]), high, low),
  };
};

/**
 * Subset selection (Ye and Barg 2018): so many of the answers, the true one among them with probability `inside`.
 * @type {Family}
 */
export const subsetSelection = (law) => {
  const inside = thresholdOf(law.inside);
  return {
    randomize(item, _cohort, entropy) {
      const cells = bernoulli(entropy, inside)
        ? joined(subset(entropy, law.cells - 1, law.subset - 1), item)
        : past(subset(entropy, law.cells - 1, law.subset), [item]);
      return payload(law, cells);
    },
  };
};

/**
 * PrivSet (Wang et al. 2018): so many of the values and of the dummies behind them. A set marks its values, and the first
 * dummies up to `at_most` cells; with probability `inside` some of these are reported, otherwise none.
 * @type {Family}
 */
export const privSet = (law) => {
  const inside = thresholdOf(law.inside);
  return {
    randomize(item, _cohort, entropy) {
      const marked = [...item];
      for (let dummy = law.size; marked.length < law.at_most; dummy++) marked.push(dummy);
      const cells = bernoulli(entropy, inside)
        ? subsetMeeting(entropy, law.cells, law.subset, marked)
        : past(subset(entropy, law.size, law.subset), marked);
      return payload(law, cells);
    },
  };
};
