/** The client for booleans and choices alone; it runs in a process of its own, because index.js adds the other kinds. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";

const SOURCE = new URL("../../client/js/src/", import.meta.url);
const METRICS = new URL("./metrics.js", import.meta.url);
const PROGRAM = `
  import { Client, MemoryState } from "${SOURCE}choices.js";
  import { metric, THEME } from "${METRICS}";
  const open = (metrics) => new Client({ format: "dither-compiled-1", metrics }, {
    app: "notes", endpoint: "http://127.0.0.1:9", state: new MemoryState(), background: false, log: console.log, surroundings: {},
  });
  const client = open([THEME]);
  await client.consent("on");
  console.log(await client.record("theme", true), (await client.preview()).length);
  console.log(await open([metric("late", { period: "month" })]).record("late", true));
  console.log(await open([THEME, metric("load", { question: { kind: "number", low: 0, high: 1, borders: [0.5] } })]).record("theme", true));
`;

test("a client for choices reports them, and names a question that it cannot ask", () => {
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", PROGRAM], { encoding: "utf8" });
  const mistake = 'dither: a mistake: TypeError: metrics.load: import "dither-client" for it';
  const late = 'dither: a mistake: TypeError: metrics.late: import "dither-client/events" for it';
  assert.deepEqual(printed.trim().split("\n"), ["kept 1", late, "failed", mistake, "failed"]);
});
