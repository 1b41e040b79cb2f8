import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import * as vectors from "./vectors/index.js";

const load = async (name) => JSON.parse(await readFile(new URL(`../vectors/${name}.json`, import.meta.url), "utf8"));

for (const [name, check] of Object.entries(vectors)) {
  test(`${name}.json is computed byte for byte`, async (context) => {
    const { checked, skipped, failures } = await check(load);
    context.diagnostic(`${name}: ${checked} checked; skipped: ${JSON.stringify(skipped)}`);
    assert.equal(failures.length, 0, failures.slice(0, 3).join("\n"));
    assert.ok(checked > 0);
  });
}
