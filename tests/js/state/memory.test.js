import assert from "node:assert/strict";
import test from "node:test";
import { MemoryState } from "../../../client/js/src/state/memory.js";
import { empty } from "../../../client/js/src/state/data.js";
import { scenarios } from "./scenarios.js";

for (const [name, scenario] of Object.entries(scenarios)) {
  test(name, () => {
    const state = new MemoryState();
    return scenario(() => state);
  });
}

test("it may begin with data, which stay the giver's", async () => {
  const given = { ...empty(), last: { theme: 7 } };
  const state = new MemoryState(given);
  await state.update((data) => void (data.last.theme = 8));
  assert.deepEqual([given.last.theme, (await state.read()).last.theme], [7, 8]);
});
