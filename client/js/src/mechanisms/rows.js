import { bitLength, lanesWhere, rowOf } from "../randomness/draws.js";

/** @typedef {import("../types.js").Law} Law */

/**
 * Return numbers packed from the lowest bit on, each in as many bits as the numbers below `bound` need.
 * @param {number[]} numbers
 * @param {number} bound
 */
function packed(numbers, bound) {
  const width = bitLength(bound - 1);
  const all = numbers.length * width;
  return rowOf(lanesWhere(all, (lane) => (numbers[(lane / width) | 0] >> lane % width) & 1), all);
}

/**
 * Return an array's only number in as few bytes, big-endian, as hold every number below `bound`: for a
 * symbol, and for a cohort, which takes none if it is the only one.
 * @param {number[]} number
 * @param {number} bound
 */
export const bigEndian = (number, bound) => packed(number, bound).reverse();

/**
 * The payloads that report given cells, by the shape of a law (dither_shared/rows.py).
 * @type {Record<Law["shape"], (cells: number[], bound: number) => Uint8Array>}
 */
export const PAYLOADS = {
  symbol: bigEndian,
  bits: rowOf,
  list: (cells, bound) => packed(cells.sort((one, two) => one - two), bound),
};
