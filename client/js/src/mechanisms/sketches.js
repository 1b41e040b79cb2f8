import { below, word32 } from "../randomness/draws.js";
import { pointChannel } from "./points.js";
import { bigEndian } from "./rows.js";

/** @typedef {import("./index.js").Family} Family */

/**
 * Return the digest whose words are the buckets of a value in the rows of a level: SHA-256 of a prefix, the level in one
 * byte, and the value. Rejects where the page is not secure (https), for browsers digest nothing there.
 * @param {Uint8Array} value
 * @param {number} level
 */
export async function bucketDigest(value, level) {
  const message = new Uint8Array([...new TextEncoder().encode("dither-sketch-1"), level, ...value]);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", message));
}

/**
 * Return the bucket that a digest names in a row.
 * @param {Uint8Array} digest
 * @param {number} row
 * @param {number} buckets
 */
export const bucketIn = (digest, row, buckets) => word32(digest, 4 * row) % buckets;

/**
 * Projective geometry response (Feldman, Nelson, Nguyen and Talwar 2022) of an answer.
 * @type {Family}
 */
export const projectiveGeometry = (law) => {
  const draw = pointChannel(law);
  return { randomize: (item, _cohort, entropy) => bigEndian(draw(item, entropy), law.cells) };
};

/**
 * A sketch: projective geometry response of the bucket of a string in the row that the cohort is. Where there are levels,
 * it is that of the level's prefix, and at the last level of all of it.
 * @type {Family}
 */
export const projectiveSketch = (law) => {
  const draw = pointChannel(law);
  const { rows, buckets, lengths = [] } = law;
  return {
    async randomize(item, cohort, entropy) {
      const level = Math.floor(cohort / rows);
      const prefix = item.slice(0, level < lengths.length - 1 ? lengths[level] : item.length);
      const bucket = bucketIn(await bucketDigest(prefix, level), cohort % rows, buckets);
      return bigEndian(draw(bucket, entropy), law.cells);
    },
  };
};

/**
 * A sketch whose levels are drawn by their weights.
 * @type {Family}
 */
export const prefixSketch = (law) => ({
  ...projectiveSketch(law),
  cohort(entropy) {
    const drawn = below(entropy, law.rows * 65536);
    let place = drawn % 65536;
    let level = 0;
    while (place >= law.weights[level]) place -= law.weights[level++];
    return level * law.rows + Math.floor(drawn / 65536);
  },
});
