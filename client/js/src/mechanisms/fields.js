/**
 * Finite fields. The elements of GF(p^m) are the integers below its order, whose base-p digits are the coefficients of
 * a polynomial, least significant first, modulo x^m + that of the digits of `lower` (dither_shared/primitives/galois.py).
 */

/** @typedef {ReturnType<typeof fieldOf>} Field */

/**
 * Return the arithmetic of GF(order), without tables: a device draws too seldom to be paid back for them.
 * @param {number} order At most 2^20.
 * @param {number | null} lower The lower coefficients of the primitive polynomial; null in a prime field.
 */
export function fieldOf(order, lower) {
  let prime = lower ? 2 : order;
  while (order % prime) prime++;
  const top = order / prime;

  /**
   * Return one + times · two, digit by digit.
   * @param {number} one
   * @param {number} two
   * @param {number} times
   */
  const plus = (one, two, times) => {
    let total = 0;
    for (let place = 1; place < order; place *= prime) {
      total += ((one + two * times) % prime) * place;
      one = (one / prime) | 0;
      two = (two / prime) | 0;
    }
    return total;
  };

  /**
   * Return the product of two elements, by Horner's rule.
   * @param {number} one
   * @param {number} two
   */
  const multiply = (one, two) => {
    let product = 0;
    for (let place = top; place; place = (place / prime) | 0) {
      const carry = (product / top) | 0; // x^m = -lower, taken so many times
      product = plus(plus((product % top) * prime, lower ?? 0, (prime - 1) * carry), two, ((one / place) | 0) % prime);
    }
    return product;
  };

  return {
    order,
    multiply,

    /**
     * Return one - two.
     * @param {number} one
     * @param {number} two
     */
    minus: (one, two) => plus(one, two, order - 1), // which is -1 modulo the prime

    /**
     * Return the inner product of two vectors.
     * @param {number[]} one
     * @param {number[]} two
     */
    dot: (one, two) => one.reduce((sum, entry, place) => plus(sum, multiply(entry, two[place]), 1), 0),

    /**
     * Return the inverse of an element that is not 0: its power of order - 2.
     * @param {number} element
     */
    inverse: (element) => {
      let power = 1;
      for (let exponent = order - 2; exponent; exponent >>= 1, element = multiply(element, element))
        if (exponent & 1) power = multiply(power, element);
      return power;
    },

    /**
     * Return the vector of so many entries whose base-q digits a number has, most significant first.
     * @param {number} number
     * @param {number} length
     */
    vector: (number, length) => {
      /** @type {number[]} */
      const entries = [];
      for (; entries.length < length; number = Math.floor(number / order)) entries.unshift(number % order);
      return entries;
    },
  };
}
