import "../../../client/js/src/all.js";
import { encode } from "../../../client/js/src/questions/index.js";
import { checkAll } from "./cases.js";

const NEAR = 1n << 40n; // 2^-24 of a step, by which logarithms may move a place

/** @param {import("./cases.js").Load} load */
export async function check(load) {
  return checkAll((await load("numbers")).cases, (one) => {
    const { log, points } = one;
    const [low, high, double] = [one.low, one.high, one.double].map(doubleOf);
    const { item, rest, outside } = encode({ kind: "number", low, high, log, points }, double);
    const off = placeOf(item, rest) - placeOf(one.point, BigInt(`0x${one.rest}`));
    if (log && -NEAR < off && off < NEAR) return { outside };
    return { point: item, rest: rest?.toString(16).padStart(16, "0"), outside };
  });
}

/**
 * @param {any} point
 * @param {bigint} [rest]
 */
const placeOf = (point, rest = 0n) => (BigInt(point) << 64n) + rest;

/**
 * Return the double of these bits.
 * @param {string} hex
 */
function doubleOf(hex) {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(`0x${hex}`));
  return view.getFloat64(0);
}
