import assert from "node:assert/strict";
import { test } from "node:test";

import "../../../client/js/src/all.js";
import { encode } from "../../../client/js/src/questions/index.js";
import { NO_ANSWERS } from "./hostile.js";

const question = { kind: "string" };
const textIn = (value) => Buffer.from(encode(question, value).item).toString("latin1");

test("a text is its first 1,024 bytes of UTF-8", () => {
  assert.equal(textIn("Zo\u00eb"), "Zo\xc3\xab");
  assert.equal(textIn("\u{1f600}"), "\xf0\x9f\x98\x80");
  assert.equal(textIn("x".repeat(2000)), "x".repeat(1024));
  assert.equal(textIn("x".repeat(1 << 24)), "x".repeat(1024));
  assert.equal(textIn("x".repeat(1023) + "\u{1f600}"), "x".repeat(1023) + "\xf0");
  assert.equal(textIn("x".repeat(1022) + "\u{1f600}"), "x".repeat(1022) + "\xf0\x9f");
  assert.equal(textIn("x".repeat(1024) + "\u{1f600}"), "x".repeat(1024));
});

test("a surrogate that stands alone is a question mark", () => {
  assert.equal(textIn("\ud83d"), "?");
  assert.equal(textIn("a\udc00\ud83db"), "a??b");
  assert.equal(textIn("\ud83d\u{1f600}"), "?\xf0\x9f\x98\x80");
  assert.equal(textIn("\ud800".repeat(1025)), "?".repeat(1024));
});

test("numbers and booleans are texts, and no answer is an empty one", () => {
  assert.deepEqual([1, 1e-5, true, 2n].map(textIn), ["1", "1e-05", "true", "2"]);
  assert.deepEqual(encode(question, ""), { item: new Uint8Array(0), outside: false, mistake: false });
  for (const value of [...NO_ANSWERS, ["a"], {}, new Set()])
    assert.deepEqual(encode(question, value), { item: new Uint8Array(0), outside: true, mistake: true });
});
