import { bitLength } from "../randomness/draws.js";

/** @typedef {import("../types.js").Law} Law */

/**
 * Return a number in as few bytes, big-endian, as hold every number below `bound`: a symbol, and also a cohort, which
 * takes none if it is the only one.
 * @param {number} number
 * @param {number} bound
 */
export function bigEndian(number, bound) {
  const bytes = new Uint8Array((bitLength(bound - 1) + 7) >> 3);
  for (let at = bytes.length; at--; number >>= 8) bytes[at] = number;
  return bytes;
}

/**
 * Return a row of `width` lanes, lane i being bit i % 8 of byte i >> 3, of which these are 1.
 * @param {number} width
 * @param {number[]} lanes
 */
export function rowOf(width, lanes) {
  const row = new Uint8Array((width + 7) >> 3);
  for (const lane of lanes) row[lane >> 3] |= 1 << (lane & 7);
  return row;
}

/**
 * Return the list of these cells, ascending: their numbers one behind the other from the lowest bit on, little-endian.
 * @param {Law} law
 * @param {number[]} cells
 */
function listOf(law, cells) {
  const width = bitLength(law.cells - 1);
  const lanes = [];
  for (let lane = 0; lane < law.listed * width; lane++) if ((cells[(lane / width) | 0] >> lane % width) & 1) lanes.push(lane);
  return rowOf(law.listed * width, lanes);
}

/**
 * The payload that reports these cells, ascending, by the shape of a law (dither_shared/rows.py).
 * @type {Record<Law["shape"], (law: Law, cells: number[]) => Uint8Array>}
 */
const SHAPES = {
  symbol: (law, cells) => bigEndian(cells[0], law.cells),
  bits: (law, cells) => rowOf(law.cells, cells),
  list: listOf,
};

/**
 * Return the payload that reports these cells, ascending (dither_shared/rows.py).
 * @param {Law} law
 * @param {number[]} cells
 */
export const payload = (law, cells) => SHAPES[law.shape](law, cells);
