import assert from "node:assert/strict";
import { test } from "node:test";

import "../../../client/js/src/all.js";
import { encode } from "../../../client/js/src/questions/index.js";
import { NO_ANSWERS } from "./hostile.js";

const question = { kind: "number", low: 0, high: 4, log: false, points: 5 };

test("a number has its place between two points, and beyond an end that of the end", () => {
  const expected = [
    [-Infinity, 0, 0, true], [-5e-324, 0, 0, true], [-0, 0, 0, false], [0, 0, 0, false], [0.25, 0, 0.25, false],
    [0.5, 0, 0.5, false], [2, 2, 0, false], [3.75, 3, 0.75, false], [4, 4, 0, false],
    [4.000000000000001, 4, 0, true], [Infinity, 4, 0, true], [2n, 2, 0, false], [-1n, 0, 0, true], [10n ** 400n, 4, 0, true],
  ]; // prettier-ignore
  for (const [value, item, rest, outside] of expected)
    assert.deepEqual(
      encode(question, value),
      { item, rest: BigInt(rest * 2 ** 64), outside, mistake: false },
      String(value),
    );
});

test("on a logarithmic grid the place is that of the logarithm", () => {
  const decades = { kind: "number", low: 1, high: 10_000, log: true, points: 3 };
  for (const [value, place] of [[1, 0], [10, 0.5], [1000, 1.5], [10_000, 2], [0, 0], [-5, 0], [1e5, 2]]) {
    const { item, rest, outside } = encode(decades, value);
    assert.ok(Math.abs(Number(item) + Number(rest) / 2 ** 64 - place) < 1e-12, `${value}`);
    assert.equal(outside, value < 1 || value > 10_000);
  }
});

test("a BigInt counts as the double nearest to it", () => {
  const wide = { kind: "number", low: 0, high: 2 ** 54, log: false, points: 2 };
  const places = [2n ** 53n + 1n, 2n ** 54n + 1n].map((value) => encode(wide, value));
  assert.deepEqual(places.map(({ item, rest, outside }) => [item, rest, outside]), [[0, 2n ** 63n, false], [1, 0n, false]]);
});

test("an answer that is no number is a mistake, and the lowest point", () => {
  for (const value of [NaN, "2", "", true, false, [2], ...NO_ANSWERS])
    assert.deepEqual(encode(question, value), { item: 0, rest: 0n, outside: true, mistake: true });
});

test("the ends of any range are its first and last point", () => {
  for (const log of [false, true])
    for (const [low, high] of [[1e-300, 1e300], [0.05, 60], [0.3, 0.30001], [1, 3], [7, 1e9]]) {
      const places = [low, high].map((value) => encode({ kind: "number", low, high, log, points: 262_144 }, value));
      assert.deepEqual(places.map(({ item, rest }) => [item, rest]), [[0, 0n], [262_143, 0n]]);
    }
});
