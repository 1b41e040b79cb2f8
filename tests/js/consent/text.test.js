/** The consent text is, line by line, that of Python's client; its example is drawn afresh. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import "../../../client/js/src/all.js";
import { Client } from "../../../client/js/src/client.js";
import { events } from "../../../client/js/src/events.js";
import { shown } from "../../../client/js/src/consent/text.js";
import { SystemEntropy } from "../../../client/js/src/randomness/entropy.js";
import { MemoryState } from "../../../client/js/src/state/memory.js";
import { compiled, slow } from "../browser/harness.js";

const TOML = `
[metrics.theme]
description = "Which colour theme?"
why = "to choose the default"
owner = "the editor's team"
tier = "interaction"
type = "choice"
values = ["light", "dark"]
epsilon = 2.0
strata = { platform = ["linux", "windows"] }

[metrics.again]
type = "boolean"
epsilon = 1.0
period = "week"
expires = 2099-12-31
cap = 5.0

[metrics.load]
type = "number"
low = 0
high = 60
epsilon = 1.0

[metrics.crash]
type = "boolean"
of = "any"
after = "7 days"
epsilon = 1.0

[metrics.exports]
type = "number"
low = 0
high = 50
of = "count"
period = "month"
epsilon = 1.0
strata = { platform = ["linux", "windows"] }

[metrics.tools]
description = "Which are used? <b>\\u00e9</b>"
type = "selection"
values = ["a", "b", "c"]
epsilon = 2.0
`;

const SCRIPT = `
import json, sys, dither
from dither_shared import parse_metrics
from dither.state.state import MemoryState
client = dither.Client(parse_metrics(sys.stdin.read()), "http://127.0.0.1:9", "notes", MemoryState(),
                       background=False, environ={}, language=sys.argv[2])
json.dump([client.consent_text(names or None) for names in json.loads(sys.argv[1])], sys.stdout)
`;

const beside = fileURLToPath(new URL("../../../.venv/bin/python", import.meta.url));
const PYTHON = process.env.DITHER_PYTHON ?? (existsSync(beside) ? beside : "python3");

/** Return Python's text for each list of names. @param {string[][]} lists @param {string} language @returns {string[]} */
function pythons(lists, language) {
  const given = ["-c", SCRIPT, JSON.stringify(lists), language];
  const { stdout, stderr, status } = spawnSync(PYTHON, given, { input: TOML, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

const DRAWN = /^ {4}(An upload, for example|It says|Eine Sendung, zum Beispiel|Sie besagt): /;

/** @param {string} text */
const fixed = (text) => text.split("\n").filter((line) => !DRAWN.test(line));

for (const [language, register] of Object.entries({ en: test, de: slow })) register(`the text is Python's, but for the example: ${language}`, async () => {
  const metrics = await compiled(TOML, language);
  const options = { app: "notes", endpoint: "http://127.0.0.1:9", state: new MemoryState(), background: false, strict: true, events };
  const client = new Client(metrics, options);
  const lists = [[], ["theme"], ["again"], ["load", "tools"], ["crash"], ["exports", "crash"]];
  const wanted = pythons(lists, language);
  for (const [place, names] of lists.entries()) {
    const text = await client.consentText(names.length ? names : undefined);
    assert.deepEqual(fixed(text), fixed(wanted[place]));
    const examples = text.split("\n").filter((line) => DRAWN.test(line));
    assert.equal(examples.length, names.length || 6);
    for (const line of examples) {
      const body = JSON.parse(line.replace(DRAWN, ""));
      const metric = metrics.metrics.find((/** @type {any} */ one) => one.name === body.metric);
      assert.equal(body.version, metric.version);
      assert.equal(body.stratum, ["theme", "exports"].includes(body.metric) ? "linux" : undefined);
    }
  }
  assert.notEqual(await client.consentText(["theme"]), await client.consentText(["theme"])); // another batch id, at least
  assert.deepEqual(await client.preview(), []);
  assert.equal((await client.status()).metrics[0].spent, 0);
});

test("the example shows the attributes of this device, or else the first ones; a failing example says so", async () => {
  const { metrics: [theme], sentences } = await compiled(TOML);
  const entropy = new SystemEntropy();
  const stratum = async (/** @type {object} */ strata) => JSON.parse((await shown(theme, entropy, { ...strata }, sentences)).example).stratum;
  assert.deepEqual([await stratum({ platform: "windows" }), await stratum({})], ["windows", "linux"]);
  const dry = { take: () => { throw new Error("no entropy"); } };
  assert.equal((await shown(theme, dry, {}, sentences)).example, "none: Error: no entropy");
});
