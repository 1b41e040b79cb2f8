import assert from "node:assert/strict";
import { test } from "node:test";

import "../../../client/js/src/all.js";
import { encode } from "../../../client/js/src/questions/index.js";
import { NO_ANSWERS } from "./hostile.js";

const question = { kind: "choice", values: ["1", "1.5", "1e-05", "true", "none", "inf"], other: 4 };

test("an answer is the value with its text", () => {
  const items = [1, 1.5, 1e-5, true, "none", Infinity].map((value) => encode(question, value));
  assert.deepEqual(items, [0, 1, 2, 3, 4, 5].map((item) => ({ item, outside: false, mistake: false })));
  assert.equal(encode(question, 1n).item, 0);
});

test("another text goes to the catch-all, and no answer does as a mistake", () => {
  for (const value of ["", "1.0", " 1", "constructor", "__proto__", "4", false, NaN, 10n ** 600n, "x".repeat(1 << 28)])
    assert.deepEqual(encode(question, value), { item: 4, outside: true, mistake: false });
  for (const value of [...NO_ANSWERS, ["1"], new Set([1]), 1n << 4000n])
    assert.deepEqual(encode(question, value), { item: 4, outside: true, mistake: true });
});

test("the most values that are listed have their places", () => {
  const values = Array.from({ length: 2048 }, (_, place) => `v${place}`);
  assert.equal(encode({ kind: "choice", values, other: 0 }, "v2047").item, 2047);
});
