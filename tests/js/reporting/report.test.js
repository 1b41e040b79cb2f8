import assert from "node:assert/strict";
import { test } from "node:test";

import "../../../client/js/src/all.js";
import { buildReport } from "../../../client/js/src/reporting/report.js";
import { FixedEntropy } from "../fixed_entropy.js";

const entropyOf = (count) => new FixedEntropy(Uint8Array.from({ length: count }, (_, place) => (37 * place) % 256));
const truth = { mechanism: "randomized-response", shape: "symbol", cohorts: 1, cells: 2, listed: 0, truth: "c000000000000000" };
const metric = { name: "mobile", version: "f707b3198e580080", law: truth };

test("a report has a batch id, and its body has nothing of the day or the user", async () => {
  const entropy = entropyOf(64);
  const queued = await buildReport(metric, { item: 1 }, null, entropy);
  assert.deepEqual(Object.keys(queued).sort(), ["batch", "body", "metric"]);
  assert.equal(queued.metric, "mobile");
  const last = Buffer.from(entropyOf(64).bytes.slice(entropy.used - 16, entropy.used)).toString("hex");
  assert.equal(queued.batch, last);
  assert.match(queued.body, /^\{"batch":"[0-9a-f]{32}","metric":"mobile","version":"f707b3198e580080","reports":"A[AQ]=="\}$/);
  assert.equal(JSON.parse(queued.body).batch, queued.batch);
});

test("the stratum follows the version, and characters other than printable ASCII are escaped as in Python", async () => {
  const stratum = "Zo\u00eb/\u{1f600}\u007f\u2028";
  const { body } = await buildReport(metric, { item: 0 }, stratum, entropyOf(64));
  assert.ok(body.includes('"version":"f707b3198e580080","stratum":"Zo\\u00eb/\\ud83d\\ude00\\u007f\\u2028","reports":"'));
  const named = { ...metric, name: '"\\\b\t\n\f\r\u0001' };
  assert.ok((await buildReport(named, { item: 0 }, null, entropyOf(64))).body.includes('"\\"\\\\\\b\\t\\n\\f\\r\\u0001"'));
});

test("a row is the cohort in as few bytes as all take, and the payload", async () => {
  const rows = { 1: 1, 2: 2, 256: 2, 257: 3, 65_536: 3, 65_537: 4 };
  for (const [cohorts, bytes] of Object.entries(rows)) {
    const law = { ...truth, cohorts: Number(cohorts) };
    const { body } = await buildReport({ ...metric, law }, { item: 0 }, null, entropyOf(200));
    assert.equal(Buffer.from(JSON.parse(body).reports, "base64").length, bytes);
  }
});

test("entropy that runs out keeps no report", async () => {
  await assert.rejects(buildReport(metric, { item: 0 }, null, entropyOf(10)), /out of entropy/);
});

test("the widest row is written whole", async () => {
  const law = { mechanism: "symmetric-unary", shape: "bits", cohorts: 1, cells: 65_536, listed: 0, high: "c000000000000000", low: "4000000000000000" };
  const { body } = await buildReport({ ...metric, law }, { item: 3 }, null, entropyOf(4_000_000));
  assert.equal(Buffer.from(JSON.parse(body).reports, "base64").length, 8192);
});

test("a number is rounded up as often as it is near the next point, by the first draw", async () => {
  const law = { mechanism: "dithered-response", shape: "symbol", cohorts: 1, cells: 3, listed: 0, truth: "ffffffffffffffff" };
  const symbolOf = async (/** @type {bigint} */ rest, /** @type {number[]} */ first) => {
    const entropy = new FixedEntropy(Uint8Array.from([...first, ...Array(64).fill(0)]));
    const { body } = await buildReport({ ...metric, law }, { item: 1, rest }, null, entropy);
    return [Buffer.from(JSON.parse(body).reports, "base64")[0], entropy.used];
  };
  const half = [128, 0, 0, 0, 0, 0, 0, 0];
  assert.deepEqual(await symbolOf(2n ** 63n, half), [1, 32], "a coin, the symbol's coin, and the batch id");
  assert.deepEqual(await symbolOf(2n ** 63n + 1n, half), [2, 32]);
  assert.deepEqual(await symbolOf(0n, Array(8).fill(0)), [1, 32], "a number at a point stays there");
});
