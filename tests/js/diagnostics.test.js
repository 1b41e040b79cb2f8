import assert from "node:assert/strict";
import { test } from "node:test";

import { Diagnostics } from "../../client/js/src/diagnostics.js";

test("each kind is counted, and logged the first time", () => {
  /** @type {string[]} */
  const logged = [];
  const diagnostics = new Diagnostics((message) => logged.push(message));
  diagnostics.note("no space", "delete something");
  diagnostics.note("no space", "delete more");
  diagnostics.note("no network");
  assert.deepEqual(diagnostics.counts, { "no space": 2, "no network": 1 });
  assert.deepEqual(logged, ["dither: no space: delete something", "dither: no network"]);
});

test("a log that fails makes nothing fail", () => {
  const diagnostics = new Diagnostics(() => {
    throw new Error("no");
  });
  diagnostics.note("no space");
  assert.deepEqual(diagnostics.counts, { "no space": 1 });
});

test("without a log it warns on the console", (context) => {
  const warn = context.mock.method(console, "warn", () => {});
  new Diagnostics().note("no space");
  assert.deepEqual(warn.mock.calls[0].arguments, ["dither: no space"]);
});
