import assert from "node:assert/strict";
import { test } from "node:test";

import "../../../client/js/src/all.js";
import { encode } from "../../../client/js/src/questions/index.js";
import { NO_ANSWERS } from "./hostile.js";

const question = { kind: "number", low: 0, high: 4, borders: [0.5, 1.5, 2.5, 3.5] };

test("a number has the point whose borders it reached", () => {
  const expected = [
    [-Infinity, 0, true], [-5e-324, 0, true], [-0, 0, false], [0, 0, false], [0.49999999999999994, 0, false],
    [0.5, 1, false], [2, 2, false], [3.4999999999999996, 3, false], [3.5, 4, false], [4, 4, false],
    [4.000000000000001, 4, true], [Infinity, 4, true], [2n, 2, false], [-1n, 0, true], [10n ** 400n, 4, true],
  ]; // prettier-ignore
  for (const [value, item, outside] of expected)
    assert.deepEqual(encode(question, value), { item, outside, mistake: false }, String(value));
});

test("a BigInt counts as the double nearest to it", () => {
  const wide = { kind: "number", low: 0, high: 2 ** 54, borders: [2 ** 53 + 2] };
  assert.deepEqual(encode(wide, 2n ** 53n + 1n), { item: 0, outside: false, mistake: false });
  assert.deepEqual(encode(wide, 2n ** 53n + 3n), { item: 1, outside: false, mistake: false });
  assert.deepEqual(encode(wide, 2n ** 54n + 1n), { item: 1, outside: false, mistake: false });
});

test("what is no number is a mistake, and the lowest point", () => {
  for (const value of [NaN, "2", "", true, false, [2], ...NO_ANSWERS])
    assert.deepEqual(encode(question, value), { item: 0, outside: true, mistake: true });
});

test("a grid of two points, and of 262,144, is searched", () => {
  assert.equal(encode({ kind: "number", low: 0, high: 1, borders: [0.5] }, 0.5).item, 1);
  const borders = Array.from({ length: 262_143 }, (_, place) => place + 0.5);
  for (const value of [0, 1, 131_072, 262_142, 262_143])
    assert.equal(encode({ kind: "number", low: 0, high: 262_143, borders }, value).item, value);
});
