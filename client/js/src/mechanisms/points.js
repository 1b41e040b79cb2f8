import { below, bernoulli, thresholdOf } from "../randomness/draws.js";
import { fieldOf } from "./fields.js";

/**
 * @typedef {import("../types.js").Entropy} Entropy
 * @typedef {import("../types.js").Law} Law
 * @typedef {import("./fields.js").Field} Field
 */

/**
 * Return the projective point of an index, as the vector of that length whose first entry that is not 0 is 1. Points are
 * numbered by the number that their entries make: by how many stand behind the leading 1, and then by these.
 * @param {Field} field
 * @param {number} index
 * @param {number} length
 */
export function pointOf({ order }, index, length) {
  /** @type {number[]} */
  const entries = [];
  for (; index; index = Math.floor((index - 1) / order)) entries.unshift((index - 1) % order);
  return [...Array(length - 1 - entries.length).fill(0), 1, ...entries];
}

/**
 * Return the index of the point on which a vector, not 0, lies.
 * @param {Field} field
 * @param {number[]} vector
 */
export function indexOf({ order, inverse, multiply }, vector) {
  const lead = vector.findIndex(Boolean);
  const scale = inverse(vector[lead]);
  return vector.slice(lead + 1).reduce((index, entry) => index * order + 1 + multiply(scale, entry), 0);
}

/**
 * Return what draws a point that a point owns, with the law's probability `inside`, or else one of the others, uniformly
 * on its side. A point owns those of its hyperplane: the vectors whose product with it is 0.
 * @param {Law} law
 * @returns {(point: number, entropy: Entropy) => number}
 */
export function pointChannel({ order, lower, length, inside }) {
  const field = fieldOf(order, lower);
  const threshold = thresholdOf(inside);
  const free = order ** (length - 1);
  return (point, entropy) => {
    const value = pointOf(field, point, length);
    const owned = bernoulli(entropy, threshold);
    const drawn = owned ? 1 + below(entropy, free - 1) : below(entropy, free * (order - 1));
    const product = owned ? 0 : 1 + Math.floor(drawn / free);
    // All entries are uniform but the one at the leading 1 of the value, which they and the product determine.
    const vector = field.vector(drawn % free, length - 1);
    const lead = value.indexOf(1);
    vector.splice(lead, 0, 0);
    vector[lead] = field.minus(product, field.dot(vector, value));
    return indexOf(field, vector);
  };
}
