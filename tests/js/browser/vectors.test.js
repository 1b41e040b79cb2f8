import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import * as vectors from "../vectors/index.js";
import { browser, site, slow } from "./harness.js";

const load = async (name) => JSON.parse(await readFile(new URL(`../../vectors/${name}.json`, import.meta.url), "utf8"));

// Node computes them in each run, with the same engine.
slow("Chromium computes every vector that Node does", async (t) => {
  const page = await (await browser(t)).newPage();
  await page.goto(await site(t));
  for (const [name, check] of Object.entries(vectors)) {
    const there = await page.evaluate(async (which) => {
      const { [which]: examine } = await import("/tests/js/vectors/index.js");
      return examine(async (file) => (await fetch(`/tests/vectors/${file}.json`)).json());
    }, name);
    assert.deepEqual(there.failures, [], name);
    assert.deepEqual(there, await check(load), name);
    assert.ok(there.checked > 0, name);
    t.diagnostic(`${name}: ${there.checked} checked`);
  }
});
