import "../../../client/js/src/all.js";
import { encode } from "../../../client/js/src/questions/index.js";
import { checkAll } from "./cases.js";

/** @typedef {[bigint, bigint]} Ratio A numerator and its denominator, which is positive. */

/**
 * Answer the cases by exact arithmetic: where a question has a border that a number reaches, it finds one below all
 * numbers here, and else one above. So only the search is the client's.
 * @param {import("./cases.js").Load} load
 */
export async function check(load) {
  /** @type {Map<string, ReturnType<typeof gridOf>>} */
  const grids = new Map();
  return checkAll((await load("numbers")).cases, (one) => {
    const key = [one.low, one.high, one.log, one.points].join();
    const grid = grids.get(key) ?? gridOf(one);
    grids.set(key, grid);
    const double = doubleOf(one.double);
    const { item, outside } = encode({ kind: "number", ...grid.ends, borders: grid.borders(double) }, double);
    return { point: item, outside: outside ? (double < grid.ends.low ? -1 : 1) : 0 };
  });
}

/** @param {import("./cases.js").Case} one */
function gridOf({ low, high, log, points }) {
  const [least, greatest] = [ratioOf(low), ratioOf(high)];
  const reached = (log ? logarithmic : linear)(least, greatest, BigInt(2 * points - 2));
  /** @param {number} double */
  const borders = (double) => {
    const reaches = Number.isFinite(double) ? reached(exact(double)) : () => double > 0;
    const get = (/** @type {any} */ _, /** @type {string} */ name) =>
      name === "length" ? points - 1 : reaches(BigInt(name)) ? -Infinity : Infinity;
    return new Proxy([], { get });
  };
  return { ends: { low: decimalOf(least), high: decimalOf(greatest) }, borders };
}

/**
 * Whether x >= low + (high - low) (2i + 1)/2n, of n steps.
 * @param {Ratio} low
 * @param {Ratio} high
 * @param {bigint} halves 2n.
 */
function linear([a, b], [c, d], halves) {
  return (/** @type {Ratio} */ [m, q]) =>
    (/** @type {bigint} */ i) => m * b * d * halves >= q * (a * d * halves + (c * b - a * d) * (2n * i + 1n));
}

/**
 * Whether x > 0 and (x/low)^2n >= (high/low)^(2i + 1), of n steps.
 * @param {Ratio} low
 * @param {Ratio} high
 * @param {bigint} halves 2n.
 */
function logarithmic([a, b], [c, d], halves) {
  const above = powers(c * b);
  const below = powers(d * a);
  return (/** @type {Ratio} */ [m, q]) => {
    const [x, y] = m > 0n ? [(m * b) ** halves, (q * a) ** halves] : [0n, 1n];
    return (/** @type {bigint} */ i) => x * below(2n * i + 1n) >= y * above(2n * i + 1n);
  };
}

/** @param {bigint} base */
function powers(base) {
  /** @type {Map<bigint, bigint>} */
  const known = new Map();
  return (/** @type {bigint} */ exponent) => {
    const power = known.get(exponent) ?? base ** exponent;
    known.set(exponent, power);
    return power;
  };
}

/**
 * @param {string} text
 * @returns {Ratio}
 */
function ratioOf(text) {
  const [numerator, denominator = "1"] = text.split("/");
  return [BigInt(numerator), BigInt(denominator)];
}

/**
 * Return the double nearest to a decimal.
 * @param {Ratio} ratio Its denominator divides a power of ten.
 */
function decimalOf([numerator, denominator]) {
  let places = 0n;
  while (10n ** places % denominator) places++;
  return Number(`${(numerator * 10n ** places) / denominator}e-${places}`);
}

/**
 * Return the double of these bits.
 * @param {string} hex
 */
function doubleOf(hex) {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(`0x${hex}`));
  return view.getFloat64(0);
}

/**
 * Return the number that a finite double is.
 * @param {number} double
 * @returns {Ratio}
 */
function exact(double) {
  let halvings = 0;
  // Halving and doubling are exact here: what is below 2^-1022 is only doubled.
  for (; !Number.isInteger(double); halvings++) double *= 2;
  return [BigInt(double), 1n << BigInt(halvings)];
}
