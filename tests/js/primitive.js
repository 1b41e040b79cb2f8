import { fieldOf } from "../../client/js/src/mechanisms/fields.js";

/**
 * Return the least lower coefficients of a primitive polynomial of GF(order), as a number whose base-p digits they are;
 * null if the order is prime. It is the one by which the powers of x, which is the element p, are all that are not 0.
 * @param {number} order
 */
export function lowerOf(order) {
  let prime = 2;
  while (order % prime) prime++;
  if (prime === order) return null;
  for (let lower = 1; ; lower++) {
    const { multiply } = fieldOf(order, lower);
    const powers = new Set();
    for (let power = 1; power && !powers.has(power); power = multiply(power, prime)) powers.add(power);
    if (powers.size === order - 1) return lower;
  }
}
