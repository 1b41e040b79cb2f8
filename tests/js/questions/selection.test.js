import assert from "node:assert/strict";
import { test } from "node:test";

import "../../../client/js/src/all.js";
import { encode } from "../../../client/js/src/questions/index.js";
import { NO_ANSWERS, endlessSet } from "./hostile.js";

const question = { kind: "selection", values: ["a", "b", "1", "0"], at_most: null };
const limited = { ...question, at_most: 2 };

const fine = (...item) => ({ item, outside: false, mistake: false });

test("arrays, typed arrays and Sets answer, in whatever order", () => {
  assert.deepEqual(encode(question, []), fine());
  assert.deepEqual(encode(question, ["1", "b", "b", "a"]), fine(0, 1, 2));
  assert.deepEqual(encode(question, new Set([0n, "a"])), fine(0, 3));
  assert.deepEqual(encode(question, Uint8Array.of(1, 0, 1)), fine(2, 3));
  assert.deepEqual(encode(question, BigInt64Array.of(1n)), fine(2));
  assert.deepEqual(encode(question, endlessSet), fine(0));
  assert.deepEqual(encode(question, new Proxy(["b"], {})), fine(1));
});

test("of too many the first count: of an array the first given, of a Set the first listed", () => {
  assert.deepEqual(encode(limited, ["0", "b", "a"]), { item: [1, 3], outside: true, mistake: false });
  assert.deepEqual(encode(limited, new Set(["0", "b", "a"])), { item: [0, 1], outside: true, mistake: false });
  assert.deepEqual(encode(limited, ["0", "x", "b"]), { item: [1, 3], outside: true, mistake: false });
  assert.deepEqual(encode(limited, ["0", "b", "0"]), fine(1, 3));
});

test("members that are no answers are left out, and are mistakes", () => {
  assert.deepEqual(encode(question, ["a", null]), { item: [0], outside: true, mistake: true });
  assert.deepEqual(encode(question, [["a"], "b", ...NO_ANSWERS]), { item: [1], outside: true, mistake: true });
  assert.deepEqual(encode(question, Array(10)), { item: [], outside: true, mistake: true });
});

test("an answer that is no collection is a mistake; a single string is reported", () => {
  assert.deepEqual(encode(question, "a"), { item: [0], outside: false, mistake: true });
  assert.deepEqual(encode(question, "ab"), { item: [], outside: true, mistake: true });
  const throwing = Object.defineProperty(["a", "b"], 1, {
    get: () => {
      throw new Error();
    },
  });
  for (const value of [1, 0n, true, {}, new Map([["a", "b"]]), throwing, ...NO_ANSWERS])
    assert.deepEqual(encode(question, value), { item: [], outside: true, mistake: true });
});

test("65,536 members are read", () => {
  const distinct = Array.from({ length: 100_000 }, (_, place) => `v${place}`);
  const many = { kind: "selection", values: [...distinct.slice(0, 1023), "v65535", "v65536"], at_most: null };
  const items = [...Array(1024).keys()];
  for (const value of [distinct, new Set(distinct)])
    assert.deepEqual(encode(many, value), { item: items, outside: true, mistake: false });
  assert.deepEqual(encode(question, Array(1e6).fill("a")), fine(0));
  assert.deepEqual(encode(question, new Uint8Array(1 << 28)), fine(3));
  assert.deepEqual(encode(question, [...Array(65_536).fill("a"), "b"]), fine(0));
});
