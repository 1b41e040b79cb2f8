import assert from "node:assert/strict";
import { test } from "node:test";

import "../../../client/js/src/all.js";
import { encode } from "../../../client/js/src/questions/index.js";

test("a question of a kind that is not known is refused, not answered", () => {
  assert.throws(() => encode({ kind: "date" }, 1), TypeError);
});

test("an answer that overflows the stack while it is read is a mistake", () => {
  const deep = new Proxy([], { get: (target, name, self) => self[name] });
  assert.deepEqual(encode({ kind: "selection", values: ["a", "b"], at_most: 1 }, deep), {
    item: [],
    outside: true,
    mistake: true,
  });
});
