import assert from "node:assert/strict";
import { test } from "node:test";

import "../../../client/js/src/all.js";
import { encode } from "../../../client/js/src/questions/index.js";
import { NO_ANSWERS } from "./hostile.js";

const question = { kind: "boolean" };
const NEITHER = { item: 0, outside: true, mistake: true };

test("true and false have numbers, BigInts and words", () => {
  for (const value of [true, 1, 1.0, 1n, "true", "TRUE", " \t\r\n\u3000True\u00a0\x1c\x85"])
    assert.deepEqual(encode(question, value), { item: 1, outside: false, mistake: false });
  for (const value of [false, 0, -0, 0n, "false", "False\u2028"])
    assert.deepEqual(encode(question, value), { item: 0, outside: false, mistake: false });
});

test("an answer that is neither is a mistake, and reported as no", () => {
  for (const value of ["1", "0", "yes", "", "true true", "\ufefftrue", "\u200btrue", "fal\u017fe", 2, -1, NaN, 0.5, 2n, [true]])
    assert.deepEqual(encode(question, value), NEITHER);
  for (const value of NO_ANSWERS) assert.deepEqual(encode(question, value), NEITHER);
});

test("1,024 characters of a text are read", () => {
  assert.equal(encode(question, " ".repeat(1020) + "true" + "x".repeat(9)).item, 1);
  assert.deepEqual(encode(question, " ".repeat(1021) + "true"), NEITHER);
  assert.equal(encode(question, "true" + " ".repeat(10_000_000)).item, 1);
});
