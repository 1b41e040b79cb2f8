import assert from "node:assert/strict";
import { test } from "node:test";

import "../../../client/js/src/all.js";
import { encode } from "../../../client/js/src/questions/index.js";
import { NO_ANSWERS } from "./hostile.js";

const question = { kind: "discovery", characters: "-abz\u00eb\u{1f600}", length: 3, fold: true };
const spelled = (item, outside = false, mistake = false) => ({ item: Uint8Array.from(item), outside, mistake });

test("a text is spelled, one symbol a character", () => {
  assert.deepEqual(encode(question, ""), spelled([0, 0, 0]));
  assert.deepEqual(encode(question, "a"), spelled([2, 0, 0]));
  assert.deepEqual(encode(question, "-Bz"), spelled([1, 3, 4]));
  assert.deepEqual(encode(question, "\u{1f600}\u{1f600}\u00eb"), spelled([6, 6, 5]));
});

test("a longer text is cut, and the mark takes the last place", () => {
  assert.deepEqual(encode(question, "abza"), spelled([2, 3, 7], true));
  assert.deepEqual(encode(question, "ab" + "\u2026".repeat(1e6)), spelled([2, 3, 7], true));
  assert.deepEqual(encode(question, "\u{1f600}".repeat(4)), spelled([6, 6, 7], true));
  assert.deepEqual(encode({ ...question, length: 1 }, "?a"), spelled([7], true));
});

test("a text with an unlisted character is the mark alone", () => {
  for (const text of ["c", "a\u0000", "ab?", "a?bbbb", "\ud83d", "a\udc00b", "\u00cb", "\u212a", 1, true])
    assert.deepEqual(encode(question, text), spelled([7, 0, 0], true));
  assert.deepEqual(encode({ ...question, fold: false }, "A"), spelled([7, 0, 0], true));
  for (const value of [...NO_ANSWERS, ["a"], {}]) assert.deepEqual(encode(question, value), spelled([7, 0, 0], true, true));
});

test("the longest text of the largest alphabet is spelled", () => {
  const characters = String.fromCodePoint(...Array.from({ length: 254 }, (_, place) => 0x20000 + place));
  const item = encode({ kind: "discovery", characters, length: 64, fold: false }, characters.slice(-128)).item;
  assert.deepEqual(item, Uint8Array.from({ length: 64 }, (_, place) => 191 + place));
});
