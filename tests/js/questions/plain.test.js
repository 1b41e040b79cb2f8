import assert from "node:assert/strict";
import { test } from "node:test";

import { members, namesOf, textOf } from "../../../client/js/src/questions/plain.js";
import { NO_ANSWERS, endlessSet, trap } from "./hostile.js";

test("a number is written as Python writes it", () => {
  const written = {
    "0": [0, -0, 0n, -0n],
    "1": [1, 1.0, 1n],
    "-15": [-15, -15n],
    "9007199254740993": [2n ** 53n + 1n],
    "1152921504606846976": [2 ** 60, 2n ** 60n],
    "10000000000000000": [1e16],
    "1000000000000000000000": [1e21],
    "1.5": [1.5],
    "-0.1": [-0.1],
    "0.30000000000000004": [0.1 + 0.2],
    "4503599627370495.5": [2 ** 52 - 0.5],
    "0.0001": [1e-4],
    "0.00012345": [1.2345e-4],
    "1e-05": [1e-5],
    "-1e-06": [-1e-6],
    "9.9e-05": [9.9e-5],
    "1.5e-10": [1.5e-10],
    "5e-324": [5e-324],
    nan: [NaN],
    inf: [Infinity],
    "-inf": [-Infinity],
  };
  for (const [text, values] of Object.entries(written)) for (const value of values) assert.equal(textOf(value), text);
});

test("an integer has all its digits, up to 2,048 bits", () => {
  assert.equal(textOf(Number.MAX_VALUE), String(BigInt(Number.MAX_VALUE)));
  assert.equal(textOf(2n ** 2047n - 1n), String(2n ** 2047n - 1n));
  assert.equal(textOf(-(2n ** 2047n)), String(-(2n ** 2047n)));
  assert.equal(textOf(2n ** 2047n), undefined);
  assert.equal(textOf(1n << 20_000_000n), undefined); // whose digits would take minutes
});

test("texts and booleans are taken as they are, and nothing else has a text", () => {
  assert.deepEqual([textOf(""), textOf("\ud800 A"), textOf(true), textOf(false)], ["", "\ud800 A", "true", "false"]);
  for (const value of NO_ANSWERS) assert.equal(textOf(value), undefined);
});

test("members are read by built-in methods alone, up to a limit", () => {
  assert.deepEqual(members(Set, endlessSet), ["a"]);
  assert.deepEqual(members(Uint8Array, Float64Array.of(1.5)), [1.5]);
  assert.equal(members(Set, new Set(Array(100_000).keys()))?.length, 65_536);
  assert.equal(members(Set, new Map()), undefined);
  assert.equal(members(Array, trap), undefined);
});

test("the names of an object are its own, and a non-object has none", () => {
  assert.deepEqual(namesOf({ a: 1, b: 2, [Symbol("c")]: 3 }), ["a", "b"]);
  for (const value of [null, undefined, "text", 1, () => 1, trap, new Uint8Array(1 << 24)])
    assert.deepEqual(namesOf(value), []);
});
