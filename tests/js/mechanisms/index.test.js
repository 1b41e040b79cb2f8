import assert from "node:assert/strict";
import { test } from "node:test";

import "../../../client/js/src/all.js";
import { mechanismOf } from "../../../client/js/src/mechanisms/index.js";
import { FixedEntropy } from "../fixed_entropy.js";
import { SeededEntropy, words } from "../seeded_entropy.js";

const HALF = "8000000000000000";
const symbols = (mechanism, cells, rest) => ({ mechanism, shape: "symbol", cohorts: 1, cells, listed: 0, ...rest });
/** Return a function that draws the payload of a report by a law, whose cohort takes no byte or one. */
const randomizerOf = (law) => {
  const { row } = mechanismOf(law);
  return async (item, cohort, entropy) =>
    Uint8Array.from(atob(await row(entropy, item, cohort)), (byte) => byte.charCodeAt(0)).slice(law.cohorts > 1 ? 1 : 0);
};
const SKETCH = { inside: HALF, order: 2, lower: null, length: 3, rows: 2, buckets: 4 };

test("a law that cannot be drawn by is refused when it is read", () => {
  assert.throws(() => mechanismOf(symbols("rappor", 8, {})), TypeError);
  assert.throws(() => mechanismOf(symbols("constructor", 8, {})), Error);
  assert.throws(() => mechanismOf(symbols("randomized-response", 2, {})), SyntaxError);
  assert.throws(() => mechanismOf(symbols("randomized-response", 2, { truth: "0.5" })), SyntaxError);
});

test("cohorts are uniform where there are no levels, and take nothing where there is one", () => {
  const none = new FixedEntropy(new Uint8Array(0));
  assert.equal(mechanismOf(symbols("randomized-response", 2, { truth: HALF })).cohort(none), 0);
  const dithered = mechanismOf(symbols("dithered-response", 2, { truth: HALF, cohorts: 64 }));
  const entropy = new FixedEntropy(words(0, 63, 64, 130));
  assert.deepEqual([1, 2, 3, 4].map(() => dithered.cohort(entropy)), [0, 63, 0, 2]);
});

test("levels have the cohorts that their weights say, row by row", () => {
  const levels = { cohorts: 6, lengths: [1, 2, 2], weights: [30_000, 30_000, 5_536] };
  const law = symbols("prefix-sketch", 7, { ...SKETCH, ...levels });
  const { cohort } = mechanismOf(law);
  const places = [0, 29_999, 30_000, 59_999, 60_000, 65_535];
  const entropy = new FixedEntropy(words(...places, ...places.map((place) => 65_536 + place)));
  assert.deepEqual(Array.from({ length: 12 }, () => cohort(entropy)), [0, 0, 2, 2, 4, 4, 1, 1, 3, 3, 5, 5]);
});

test("a sketch rejects where the page cannot digest", async (context) => {
  const randomize = randomizerOf(symbols("projective-count-mean-sketch", 7, { ...SKETCH, cohorts: 2 }));
  const entropy = new SeededEntropy("sketch");
  assert.equal((await randomize(new Uint8Array([97]), 1, entropy)).length, 1);
  context.mock.getter(globalThis.crypto, "subtle", () => undefined);
  const named = { name: "the page needs https" }; // which the client logs, without the message
  await assert.rejects(async () => randomize(new Uint8Array([97]), 1, entropy), named);
});

test("an item stays as it is", async () => {
  const item = [1, 3];
  const sizes = { inside: HALF, subset: 2, at_most: 2, size: 8 };
  const law = { ...symbols("privset", 10, sizes), shape: "list", listed: 2 };
  const randomize = randomizerOf(law);
  for (let report = 0; report < 20; report++) await randomize(item, 0, new SeededEntropy(`set ${report}`));
  assert.deepEqual(item, [1, 3]);
});

test("a set of more values than are allowed is not reported", async () => {
  const randomize = randomizerOf(symbols("privset", 10, { inside: HALF, subset: 1, at_most: 2, size: 8 }));
  assert.equal((await randomize([1, 3], 0, new SeededEntropy("two"))).length, 1);
  await assert.rejects(randomize([1, 3, 5], 0, new SeededEntropy("three")), RangeError);
});

test("a list ascends, and has as many cells as it should", async () => {
  const law = { ...symbols("subset-selection", 4096, { inside: HALF, subset: 75 }), shape: "list", listed: 75 };
  const randomize = randomizerOf(law);
  for (let report = 0; report < 10; report++) {
    const payload = await randomize(4095, 0, new SeededEntropy(`list ${report}`));
    assert.equal(payload.length, 113); // 75 numbers of 12 bits
    const number = payload.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
    const cells = Array.from({ length: 75 }, (_, place) => Number((number >> BigInt(12 * place)) & 4095n));
    assert.ok(cells.every((cell, place) => !place || cells[place - 1] < cell));
  }
});

test("rows of 4,096 bits report the true answer and the others as often as they should", async () => {
  const law = symbols("optimized-unary", 4096, { high: HALF, low: "4000000000000000" });
  const randomize = randomizerOf({ ...law, shape: "bits" });
  const entropy = new SeededEntropy("rows");
  let own = 0;
  let others = 0;
  for (let report = 0; report < 60; report++) {
    const row = await randomize(4094, 0, entropy);
    assert.equal(row.length, 512);
    const bits = row.reduce((text, byte) => text + byte.toString(2).padStart(8, "0"), "");
    own += (row[511] >> 6) & 1;
    others += bits.replaceAll("0", "").length;
  }
  others -= own;
  assert.ok(Math.abs(own - 30) <= 24); // of 60 coins: 6 standard deviations
  assert.ok(Math.abs(others - 60 * 1023.75) < 6 * Math.sqrt(60 * 4095 * 3 / 16));
});
