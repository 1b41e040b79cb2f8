/** Node's client and a real collector: an answer is asked, drawn, sent and counted. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Client, FileState, MemoryState } from "../../client/js/src/node.js";
import { collector, compiled, slow } from "./browser/harness.js";

const TOML = `
[metrics.theme]
type = "choice"
values = ["light", "dark"]
epsilon = 2.0

[metrics.load]
type = "number"
low = 0
high = 60
epsilon = 2.0
`;

test("reports of Node's client are counted, and its state outlives it", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "dither-js-"));
  t.after(() => rm(folder, { recursive: true }));
  const [server, metrics] = await Promise.all([collector(t, TOML, []), compiled(TOML)]);
  const make = () => {
    const options = { app: "notes", endpoint: server.url, state: new FileState(folder, "notes") };
    return new Client(metrics, { ...options, background: false, surroundings: {}, strict: true });
  };
  const client = make();
  await client.consent("on");
  assert.deepEqual([await client.record("theme", "dark"), await client.record("load", 12.5)], ["kept", "kept"]);
  client.close();
  const later = make();
  assert.equal(await later.record("theme", "dark"), "answered");
  const waiting = await later.preview();
  assert.equal(await later.flush(60_000), true);
  assert.deepEqual((await later.sent()).sort(), waiting.sort());
  assert.deepEqual([await server.reports("theme"), await server.reports("load")], [1, 1]);
  assert.deepEqual(await readdir(folder), ["notes"]);
});

slow("a collector of this computer takes reports of Node's client without a token, as it does of Python's", async (t) => {
  const [server, metrics] = await Promise.all([collector(t, TOML, [], "read"), compiled(TOML)]);
  const state = new MemoryState();
  const client = new Client(metrics, { app: "notes", endpoint: server.url, state, background: false, surroundings: {} });
  await client.consent("on");
  await client.record("theme", "dark");
  assert.equal(await client.flush(60_000), true);
  assert.equal(await server.reports("theme"), 1);
});

test("a program whose collector never answers ends when its flush does", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "dither-js-"));
  const silent = createServer((socket) => socket.resume()).listen(0, "127.0.0.1");
  t.after(() => Promise.all([rm(folder, { recursive: true }), silent.close()]));
  await once(silent, "listening");
  const endpoint = `http://127.0.0.1:${/** @type {any} */ (silent.address()).port}`;
  const options = { app: "notes", endpoint, state: new FileState(folder, "notes"), surroundings: {}, background: false };
  /** @type {any} */
  let signal;
  const fetch = (/** @type {any} */ url, /** @type {any} */ init) => globalThis.fetch(url, { ...init, ...({ signal } = init) });
  const logged = new Promise((log) => Object.assign(options, { log }));
  const client = new Client(await compiled(TOML), { ...options, fetch, strict: true });
  await client.consent("on");
  await client.record("theme", "dark");
  // The flush ends once there is a connection, however long that takes.
  let end = () => {};
  t.mock.method(globalThis, "setTimeout", (/** @type {any} */ call) => (end = call));
  const connected = once(silent, "connection").finally(() => end());
  const [[socket], arrived] = await Promise.all([connected, client.flush(5_000)]);
  t.mock.restoreAll();
  assert.deepEqual([arrived, signal.aborted], [false, true]);
  await Promise.all([once(socket, "close"), logged]);
  assert.equal((await client.preview()).length, 1);
  assert.equal((await client.status()).lastAttempt?.result, "no answer");
});

test("Node's client is off by default in a test", async (t) => {
  const { NODE_TEST_CONTEXT } = process.env; // which Node sets for a suite that it runs by itself
  process.env.NODE_TEST_CONTEXT = "child";
  t.after(() => NODE_TEST_CONTEXT ?? delete process.env.NODE_TEST_CONTEXT);
  const client = new Client(await compiled(TOML), { app: "notes", endpoint: "https://example.org", background: false });
  const { mode, decidedBy } = await client.status();
  assert.equal(mode, "off");
  assert.match(decidedBy, /in the environment/);
  assert.deepEqual(await client.pending(), []);
});
