import assert from "node:assert/strict";
import { test } from "node:test";

import {
  bernoulli, bernoulliBits, below, belowWide, eachBelow, past, subset, subsetMeeting, subsetWith,
} from "../../../client/js/src/randomness/draws.js";
import { FixedEntropy } from "../fixed_entropy.js";
import { SeededEntropy, words } from "../seeded_entropy.js";

const ONE = 2n ** 64n;

test("a coin falls just below its threshold, in either half of the word", () => {
  const middle = [2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 63n, 0xbb26a7aead15e6can];
  for (const threshold of [1n, ...middle, ONE - 1n]) {
    const entropy = new FixedEntropy(words(threshold - 1n, threshold, 0, ONE - 1n));
    assert.deepEqual([1, 2, 3, 4].map(() => bernoulli(entropy, threshold)), [true, false, true, false]);
  }
});

test("only words of the last, incomplete run are rejected, and an integer is drawn again for them", () => {
  for (const bound of [3, 5, 100, 2 ** 20 - 1, 2 ** 21 + 1, 10 ** 12 + 39, 2 ** 53 - 1]) {
    const limit = ONE - (ONE % BigInt(bound));
    const entropy = new FixedEntropy(words(limit - 1n, limit, ONE - 1n, BigInt(bound) + 1n, 7));
    assert.deepEqual([below(entropy, bound), below(entropy, bound), entropy.used], [bound - 1, 1, 32]);
  }
  for (const bound of [1, 2, 2 ** 21, 2 ** 53]) {
    const entropy = new FixedEntropy(words(ONE - 1n));
    assert.equal(below(entropy, bound), bound - 1);
  }
  assert.equal(belowWide(new FixedEntropy(words(ONE - 1n)), ONE), ONE - 1n);
});

test("integers that are drawn 16 at a time take nothing before the first", () => {
  const entropy = new FixedEntropy(new Uint8Array(128).fill(255));
  const drawn = eachBelow(entropy, 2 ** 32);
  assert.equal(entropy.used, 0);
  for (let place = 0; place < 17; place++) assert.equal(drawn.next().value, 2 ** 32 - 1);
  assert.equal(entropy.used, 128);
});

/** Yield every run of bytes below 2^bits. */
function* runs(bytes, bits) {
  for (let number = 0; number < 2 ** (bytes * bits); number++)
    yield Uint8Array.from({ length: bytes }, (_, place) => (number >> (place * bits)) & (2 ** bits - 1));
}

test("bits have exactly their law: all entropy enumerated", () => {
  const eighths = (count) => BigInt(count) << 61n;
  for (const [high, low] of [[5, 3], [7, 1], [1, 7], [3, 3]]) {
    const counts = [0, 0, 0, 0];
    for (const run of runs(3, 2)) {
      const lanes = bernoulliBits(new FixedEntropy(run), 2, [1], eighths(high), eighths(low));
      counts[lanes.reduce((row, lane) => row | (1 << lane), 0)]++;
    }
    assert.deepEqual(counts, [(8 - low) * (8 - high), low * (8 - high), (8 - low) * high, low * high]);
  }
});

test("certain bits take no entropy; 4,096 others have their densities", () => {
  const none = new FixedEntropy(new Uint8Array(0));
  assert.deepEqual(bernoulliBits(none, 9, [8], ONE, 0n), [8]);
  assert.deepEqual(bernoulliBits(none, 9, [], 0n, ONE), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  const entropy = new SeededEntropy("wide");
  const lanes = bernoulliBits(entropy, 4096, [4095], ONE - 1n, 2n ** 62n);
  assert.equal(lanes.at(-1), 4095);
  assert.ok(Math.abs(lanes.length - 1024) < 8 * Math.sqrt(768)); // 8 standard deviations
});

/** Return the chi-square of counts that should be alike. */
function scatter(counts) {
  const mean = counts.reduce((sum, count) => sum + count) / counts.length;
  return counts.reduce((sum, count) => sum + (count - mean) ** 2 / mean, 0);
}

function tally(rounds, draw) {
  const counts = new Map();
  for (let round = 0; round < rounds; round++) {
    const name = String(draw().sort((one, two) => one - two));
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts.values()];
}

test("subsets are uniform, also with a lane and with marks", () => {
  const entropy = new SeededEntropy("subsets");
  const all = tally(3500, () => subset(entropy, 7, 3));
  const own = tally(3500, () => subsetWith(entropy, 7, 4, [2]));
  const meeting = tally(3500, () => subsetMeeting(entropy, 7, 3, [1, 4, 5]));
  assert.deepEqual([all.length, own.length, meeting.length], [35, 20, 31]); // C(7,3), C(6,3), C(7,3) - C(4,3)
  for (const counts of [all, own, meeting]) assert.ok(scatter(counts) < 110); // of 34 degrees at most: below 1e-9
});

test("subsets have their size, from none to all, and at many lanes", () => {
  const entropy = new SeededEntropy("sizes");
  for (const [width, size] of [[1, 0], [1, 1], [8, 8], [9, 1], [4096, 1101], [100_000, 26_894]]) {
    const lanes = subset(entropy, width, size);
    assert.equal(new Set(lanes).size, size);
    assert.ok(lanes.every((lane) => lane >= 0 && lane < width));
  }
});

test("lanes move past skipped members", () => {
  assert.deepEqual(past([3, 0, 1, 2], [0, 2, 3]), [6, 1, 4, 5]);
  assert.deepEqual(past([0, 1], []), [0, 1]);
});
