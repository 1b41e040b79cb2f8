import { below, word32 } from "../randomness/draws.js";
import { fieldOf, vectorOf } from "./fields.js";

/**
 * The markings: what an item marks in a cohort, by a law: one symbol or point, or some cells, ascending.
 * @typedef {import("../types.js").Law} Law
 * @typedef {(law: Law) => (item: any, cohort: number) => number[] | Promise<number[]>} Marking
 */

/**
 * Draw one of the cohorts: a row and, if there are levels, one of them by its weight.
 * @type {import("./index.js").Cohort}
 */
export const cohort = ({ cohorts, rows = cohorts, weights = [1] }, entropy) => {
  if (cohorts < 2) return 0;
  const whole = weights.reduce((/** @type {number} */ sum, /** @type {number} */ weight) => sum + weight);
  const drawn = below(entropy, rows * whole);
  let place = drawn % whole;
  let level = 0;
  while (place >= weights[level]) place -= weights[level++];
  return level * rows + ((drawn / whole) | 0);
};

/** The item itself. @type {Marking} */
export const itself = () => (item) => [item];

/** The product of item and cohort, as vectors over a field (Wang, Blocki, Li and Jha 2017). @type {Marking} */
export const hash = ({ order, lower, length }) => {
  const { dot } = fieldOf(order, lower);
  return (item, cohort) => [dot(vectorOf(cohort, order, length), vectorOf(item, order, length))];
};

/**
 * The step of a wide grid that contains a point; the cohort is the phase of the grid.
 * @type {Marking}
 */
export const step = ({ cohorts }) => (item, cohort) => [((item + cohort) / cohorts) | 0];

/**
 * The pattern of a set in a window on the circle of all values; the cohort is the start of the window.
 * @type {Marking}
 */
export const pattern = ({ cohorts, window }) => (item, cohort) => {
  let bits = 0;
  for (let place = 0; place < window; place++) if (item.includes((cohort + place) % cohorts)) bits |= 1 << place;
  return [bits];
};

/**
 * The values of a set, and the first dummies after all values, up to `at_most` (Wang et al. 2018). Throws
 * RangeError if the set has more, because its report would reveal more than epsilon.
 * @type {Marking}
 */
export const padded = ({ size, at_most }) => (item) => [
  ...item,
  ...Array.from(Array(at_most - item.length), (_, dummy) => size + dummy),
];

/**
 * The bucket of a string in the cohort's row, or of the prefix of its level; the last level uses the whole
 * string. It is the row's word of SHA-256 of a name, the level in one byte, and the string
 * (dither_shared/primitives/buckets.py). Rejects if the page is not secure (https), because browsers compute
 * no digests there.
 * @type {Marking}
 */
export const bucket = ({ rows, buckets, lengths = [] }) => async (item, cohort) => {
  const { subtle } = crypto;
  if (!subtle) throw new DOMException("", "the page needs https"); // its name is what the client logs
  const level = (cohort / rows) | 0;
  const prefix = item.slice(0, lengths.slice(0, -1)[level]);
  const message = new Uint8Array([...new TextEncoder().encode("dither-sketch-1"), level, ...prefix]);
  return [word32(new Uint8Array(await subtle.digest("SHA-256", message)), 4 * (cohort % rows)) % buckets];
};
