/**
 * Finite fields. The elements of GF(p^m) are the integers below its order, whose base-p digits are the coefficients
 * of a polynomial, least significant first, modulo x^m + that of the digits of `lower`
 * (dither_shared/primitives/galois.py).
 */

/**
 * Return the arithmetic of GF(order), without tables, which would not pay off for the few draws of a device.
 * @param {number} order At most 2^20.
 * @param {number | null} lower The lower coefficients of the primitive polynomial; null, which counts as 0, in a prime field.
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
      // x^m = -lower, taken as many times as the highest digit says.
      product = plus((product % top) * prime, /** @type {number} */ (lower), ((product / top) | 0) * (prime - 1));
      product = plus(product, two, ((one / place) | 0) % prime);
    }
    return product;
  };

  return {
    multiply,

    /**
     * Return sum + times · the inner product of two vectors; as many entries count as `one` has.
     * @param {number[]} one
     * @param {number[]} two
     * @param {number} [sum]
     * @param {number} [times] Of the prime field; order - 1 stands for -1.
     */
    dot: (one, two, sum = 0, times = 1) =>
      one.reduce((total, entry, place) => plus(total, multiply(entry, two[place]), times), sum),
  };
}

/**
 * Return the digits of a number below 2^31 as a vector, least significant first.
 * @param {number} number
 * @param {number} order
 * @param {number} length
 */
export function vectorOf(number, order, length) {
  const entries = [];
  for (; length--; number = (number / order) | 0) entries.push(number % order);
  return entries;
}
