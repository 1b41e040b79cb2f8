/**
 * Points of a projective space over a finite field: vectors, least significant entry first, whose last
 * non-zero entry is 1 and the last that is written. They are numbered first by the number of entries before
 * the 1, and then by the number that these entries make (dither_shared/primitives/galois.py and
 * projective.py).
 */

import { below, bernoulli } from "../randomness/draws.js";
import { fieldOf, vectorOf } from "./fields.js";

/** @typedef {ReturnType<typeof fieldOf>} Field */

/**
 * Return the point with an index.
 * @param {number} index
 * @param {number} order
 */
export function pointOf(index, order) {
  const entries = [];
  for (; index; index = ((index - 1) / order) | 0) entries.push((index - 1) % order);
  return [...entries, 1];
}

/**
 * Return the index of the point that a non-zero vector represents.
 * @param {number[]} vector
 * @param {number} order
 * @param {Field} field
 */
export function indexOf(vector, order, { multiply }) {
  let lead = vector.length - 1;
  while (!vector[lead]) lead--;
  let scale = 1; // the inverse of the last entry: its power of order - 2
  for (let rest = order - 2, power = vector[lead]; rest; rest >>= 1, power = multiply(power, power))
    if (rest & 1) scale = multiply(scale, power);
  let index = 0;
  while (lead--) index = index * order + 1 + multiply(scale, vector[lead]);
  return index;
}

/**
 * A point that the marked one owns with probability `inside`, otherwise one of the others (Feldman, Nelson, Nguyen and
 * Talwar 2022), uniformly on its side. A point owns those of its hyperplane: the vectors whose product with it is 0.
 * @type {import("./channels.js").Channel}
 */
export const points = ({ order, lower, length }, inside) => {
  const field = fieldOf(order, lower);
  const free = order ** (length - 1);
  return (entropy, [marked]) => {
    const value = pointOf(marked, order);
    const drawn = bernoulli(entropy, inside)
      ? 1 + below(entropy, free - 1)
      : free + below(entropy, free * (order - 1));
    // All entries are uniform but the one at the 1 of the value, which they and the product determine.
    const vector = vectorOf(drawn % free, order, length - 1);
    value.pop();
    vector.splice(value.length, 0, field.dot(value, vector, (drawn / free) | 0, order - 1));
    return [indexOf(vector, order, field)];
  };
};
