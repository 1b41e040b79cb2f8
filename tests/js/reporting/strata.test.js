import assert from "node:assert/strict";
import { test } from "node:test";

import { labelOf, outsideOf, undeclared } from "../../../client/js/src/reporting/strata.js";
import { NO_ANSWERS } from "../questions/hostile.js";

const two = { strata: [["beta", ["true", "false", "other"]], ["major", ["1", "2", "other"]]] }; // prettier-ignore

test("a label joins the values, of which each counts by its text", () => {
  assert.equal(labelOf(two, { major: 2, beta: true }), "true/2");
  assert.equal(labelOf(two, { beta: "false", major: 1n }), "false/1");
  assert.equal(labelOf(two, { beta: false, major: "3", channel: "x" }), "false/other");
  assert.equal(labelOf(two, { beta: "other" }), "other/other");
  assert.equal(labelOf({ strata: [] }, { beta: true }), null);
});

test("attributes without a listed value are named, and so are unknown ones", () => {
  assert.deepEqual(outsideOf(two, { beta: true, major: 3 }), ["major"]);
  assert.deepEqual(outsideOf(two, { beta: "other", major: 1 }), []);
  assert.deepEqual(outsideOf(two, undefined), ["beta", "major"]);
  assert.deepEqual(undeclared(two, { beta: 1, channel: "x", Major: 2 }), ["channel", "Major"]);
  assert.deepEqual(undeclared({ strata: [] }, { beta: 1 }), ["beta"]);
});

test("whatever is given has a label", () => {
  const throwing = {
    major: 1,
    get beta() {
      throw new Error();
    },
  };
  assert.equal(labelOf(two, throwing), "other/1");
  for (const value of NO_ANSWERS) {
    assert.equal(labelOf(two, value), "other/other");
    assert.equal(labelOf(two, { beta: value, major: value }), "other/other");
    assert.deepEqual(outsideOf(two, value), ["beta", "major"]);
    assert.ok(Array.isArray(undeclared(two, value)));
  }
  for (const value of ["linux", 1, true, new Uint8Array(1 << 24)]) assert.deepEqual(undeclared(two, value), []);
});

test("16 cells have a label each", () => {
  const values = (prefix) => ["a", "b", "c", "other"].map((value) => (value === "other" ? value : prefix + value));
  const strata = [["one", values("x")], ["two", values("y")]]; // prettier-ignore
  const labels = values("x").flatMap((one) => values("y").map((two) => labelOf({ strata }, { one, two })));
  assert.equal(new Set(labels).size, 16);
  assert.ok(labels.includes("xc/yb") && labels.includes("other/other"));
});
