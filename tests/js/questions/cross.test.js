import assert from "node:assert/strict";
import { test } from "node:test";

import "../../../client/js/src/all.js";
import { encode } from "../../../client/js/src/questions/index.js";
import { NO_ANSWERS } from "./hostile.js";

const theme = { kind: "choice", values: ["light", "dark", "other"], other: 2 };
const question = {
  kind: "cross",
  axes: [
    ["theme", theme],
    ["failed", { kind: "boolean" }],
  ],
};
const BOTH_LEFT_OUT = { item: 4, outside: true, mistake: true };
const DARK_TRUE = { item: 3, outside: false, mistake: false };

test("an object, a Map and an array answer both", () => {
  const nameless = Object.assign(Object.create(null), { failed: 1, theme: "dark" });
  const map = new Map(Object.entries({ theme: "dark", failed: "TRUE" }));
  const got = { get theme() { return "dark"; }, failed: true }; // prettier-ignore
  class Answer {
    theme = "dark";
    failed = true;
  }
  for (const value of [{ theme: "dark", failed: true }, nameless, map, ["dark", 1n], got, new Answer()])
    assert.deepEqual(encode(question, value), DARK_TRUE);
});

test("the second axis is the quicker one, whatever its size", () => {
  const axes = [question.axes[1], question.axes[0]];
  assert.equal(encode({ kind: "cross", axes }, { theme: "dark", failed: true }).item, 4);
});

test("a missing axis or an unknown one is a mistake", () => {
  assert.deepEqual(encode(question, { theme: "dark" }), { item: 2, outside: true, mistake: true });
  assert.deepEqual(encode(question, { failed: true, theme: undefined }), { item: 5, outside: true, mistake: true });
  assert.deepEqual(encode(question, { theme: "dark", failed: true, x: 1 }), { ...DARK_TRUE, mistake: true });
  assert.deepEqual(encode(question, { theme: "plaid", failed: true }), { item: 5, outside: true, mistake: false });
});

test("an answer that is no pair leaves both axes out", () => {
  const many = Object.fromEntries(Array.from({ length: 15 }, (_, place) => [`n${place}`, place]));
  const throwing = Object.defineProperty({ theme: "dark" }, "failed", {
    enumerable: true,
    get: () => {
      throw new Error();
    },
  });
  for (const value of [[], ["dark"], ["dark", true, true], Array(1e6), "dark", 1, new Uint8Array(2), throwing, ...NO_ANSWERS])
    assert.deepEqual(encode(question, value), BOTH_LEFT_OUT);
  assert.deepEqual(encode(question, { theme: "dark", failed: true, ...many }), BOTH_LEFT_OUT);
  delete many.n14;
  assert.deepEqual(encode(question, { theme: "dark", failed: true, ...many }), { ...DARK_TRUE, mistake: true });
  assert.equal(encode(question, new Map(Array.from({ length: 1e5 }, (_, place) => [place, place]))).item, 4);
  assert.equal(encode(question, new Uint8Array(1 << 24)).item, 4);
});
