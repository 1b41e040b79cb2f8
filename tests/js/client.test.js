/** The client of an app, with all its parts, in memory; nothing here waits for a clock. */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { before, test } from "node:test";

import "../../client/js/src/all.js";
import { Client } from "../../client/js/src/client.js";
import { empty } from "../../client/js/src/state/data.js";
import { MemoryState } from "../../client/js/src/state/memory.js";
import { compiled } from "./browser/harness.js";

const TOML = `
[metrics.theme]
type = "choice"
values = ["light", "dark"]
epsilon = 2.0
strata = { platform = ["linux", "windows"] }

[metrics.again]
type = "boolean"
epsilon = 1.0
cap = 2.0

[metrics.load]
type = "number"
low = 0
high = 60
epsilon = 1.0
expires = 2027-06-30
`;
const DAY = Date.UTC(2027, 4, 1) / 864e5; // a Saturday
const ENDPOINT = "https://telemetry.example.org/";

/** @type {any} */
let metrics;
before(async () => void (metrics = await compiled(TOML)));

/** A client and what it meets. @param {object} [given] */
function scene(given = {}) {
  /** @type {any} */
  const met = { day: DAY, status: 202, posts: [], logged: [], state: new MemoryState() };
  const fetch = async (/** @type {string} */ url, /** @type {any} */ init) => {
    met.posts.push({ url, ...init });
    if (!met.status) throw new TypeError("fetch failed");
    return new Response(null, { status: met.status });
  };
  const options = { app: "notes", endpoint: ENDPOINT, state: met.state, background: false, fetch, locks: undefined };
  const times = { today: () => met.day, now: () => met.day * 864e5 + 1000, uniform: () => 0.5 };
  met.client = new Client(metrics, /** @type {any} */ ({ ...options, ...times, log: (/** @type {string} */ text) => met.logged.push(text), ...given }));
  return met;
}

test("nothing is drawn, kept or sent unless asked", async () => {
  const { client, state, posts } = scene();
  assert.equal(await client.record("theme", "dark"), "off");
  assert.deepEqual(await client.pending(), ["theme", "again", "load"]);
  assert.equal((await client.status()).decidedBy, "default: the user has not been asked");
  assert.equal(await client.flush(), true);
  assert.deepEqual([posts, await state.read()], [[], empty()]);
});

test("preview shows the bytes that are sent, once a period", async () => {
  const { client, posts } = scene({ strata: { platform: "linux" } });
  assert.equal(await client.consent("on"), true);
  assert.deepEqual(await client.pending(), []);
  assert.equal(await client.record("theme", "dark"), "kept");
  assert.equal(await client.record("theme", "light"), "answered");
  const [body] = await client.preview();
  assert.equal(await client.flush(), true);
  assert.deepEqual(await client.preview(), []);
  assert.deepEqual(await client.sent(), [body]);
  assert.equal(posts.length, 1);
  const { url, method, credentials, referrerPolicy, redirect } = posts[0];
  assert.deepEqual([url, posts[0].body, method], ["https://telemetry.example.org/v1/reports", body, "POST"]);
  assert.deepEqual([credentials, referrerPolicy, redirect], ["omit", "no-referrer", "manual"]);
  const { metric, version, stratum } = JSON.parse(body);
  assert.deepEqual([metric, version, stratum], ["theme", metrics.metrics[0].version, "linux"]);
  const status = await client.status();
  assert.deepEqual([status.mode, status.queued, status.sent, status.counts.ignored], ["on", 0, 1, 1]);
  const { state, since, spent, reports, reported } = status.metrics[0];
  assert.deepEqual([state, since, reports, reported], ["collected", "2027-05-01", 1, true]);
  assert.ok(spent >= metrics.metrics[0].epsilon && spent < 2.001);
});

test("consent covers the metrics that were shown, as they were shown", async () => {
  const first = scene();
  await first.client.consent("on", ["theme"]);
  assert.deepEqual(await first.client.pending(), ["again", "load"]);
  assert.equal(await first.client.record("again", true), "off");
  assert.equal((await first.client.status()).metrics[1].state, "not accepted");
  await first.client.consent("on", ["again"]);
  assert.equal(await first.client.record("again", true), "kept");
  assert.equal(await first.client.record("theme", "dark"), "kept");
  const later = { ...metrics, metrics: metrics.metrics.map((/** @type {any} */ one) => ({ ...one, terms: "0".repeat(16) })) };
  const changed = new Client(later, { app: "notes", endpoint: ENDPOINT, state: first.state, background: false });
  assert.deepEqual(await changed.pending(), ["theme", "again", "load"]);
});

test("local is for the user's eyes only; on and off drop what must not be sent", async () => {
  const { client, posts } = scene();
  await client.consent("local");
  assert.equal(await client.record("theme", "dark"), "kept");
  assert.equal((await client.preview()).length, 1);
  assert.deepEqual([await client.flush(), posts.length], [true, 0]);
  await client.consent("on");
  assert.deepEqual(await client.preview(), []);
  assert.equal(await client.record("theme", "dark"), "answered"); // spent ε stays spent
  assert.equal(await client.record("again", true), "kept");
  await client.consent("off");
  const { queued, dropped, mode, decidedBy } = await client.status();
  assert.deepEqual([queued, dropped, mode, decidedBy], [0, 2, "off", "the user's choice"]);
  assert.deepEqual(await client.pending(), []);
  assert.deepEqual([await client.flush(), posts.length], [true, 0]);
});

test("another tab's choice holds at once, and two tabs make one report", async () => {
  const one = scene();
  const two = scene({ state: one.state });
  await one.client.consent("on");
  const outcomes = await Promise.all([one.client.record("theme", "dark"), two.client.record("theme", "dark")]);
  assert.deepEqual(outcomes.sort(), ["answered", "kept"]);
  await two.client.consent("off");
  assert.equal(await one.client.record("again", true), "off");
});

test("caps, last days and the collector's 410 end a metric", async () => {
  const met = scene();
  const { client } = met;
  await client.consent("on");
  const fates = [];
  for (; met.day < DAY + 3; met.day++) fates.push(await client.record("again", true));
  assert.deepEqual(fates, ["kept", "kept", "spent"]);
  met.day = Date.UTC(2027, 6, 1) / 864e5;
  assert.equal(await client.record("load", 5), "off");
  met.status = 410;
  assert.equal(await client.record("theme", "dark"), "kept");
  await client.flush();
  const { metrics: statuses } = await client.status();
  assert.deepEqual(statuses.map((/** @type {any} */ { state }) => state), ["disabled", "spent", "expired"]);
});

test("a flush takes along the answers given before it, also those whose promise nobody awaited", async () => {
  const { client, posts, state } = scene();
  await client.consent("on");
  const update = state.update.bind(state);
  state.update = (/** @type {any[]} */ ...change) => new Promise((resolve) => setImmediate(() => resolve(update(...change))));
  const outcomes = ["load", "theme"].map((name) => client.record(name, 5));
  assert.deepEqual([await client.flush(), posts.length], [true, 2]);
  assert.deepEqual(await Promise.all(outcomes), ["kept", "kept"]);
});

test("a flush reports an answer that is lost while it begins", async () => {
  const { client, state } = scene();
  await client.consent("on");
  state.update = () => Promise.reject(new Error("full"));
  const outcome = client.record("theme", "dark");
  assert.deepEqual([await client.flush(), await outcome], [false, "failed"]);
  state.update = () => new Promise(() => {});
  client.record("theme", "dark");
  assert.equal(await client.flush(1), false, "an answer that is never kept holds up no flush");
});

test("a flush that fails says so, and the report waits", async () => {
  const met = scene();
  await met.client.consent("on");
  await met.client.record("theme", "dark");
  met.status = 503;
  assert.equal(await met.client.flush(), false);
  const { queued, lastAttempt } = await met.client.status();
  assert.deepEqual([queued, lastAttempt.accepted, lastAttempt.failures], [1, false, 1]);
});

test("forget deletes all, and stays off, even if the environment says on", async () => {
  const { client, state } = scene({ surroundings: { environment: () => ["on", "DITHER"] } });
  await client.consent("on");
  await client.record("theme", "dark");
  assert.equal(await client.forget(), true);
  const { mode, sent, queued, metrics: statuses } = await client.status();
  assert.deepEqual([mode, sent, queued, statuses[0].reports], ["off", 0, 0, 0]);
  assert.deepEqual(await client.pending(), []);
  assert.doesNotMatch(JSON.stringify(await state.read()), /theme/);
  await scene({ state }).client.consent("on"); // in another tab
  assert.equal(await client.record("theme", "dark"), "kept", "the ledger was deleted, and the memory of it, too");
});

test("the next flush reports a lost answer, once", async () => {
  const state = new MemoryState();
  let full = false;
  const update = (/** @type {any[]} */ ...given) =>
    full ? Promise.reject(new DOMException("no", "QuotaExceededError")) : state.update(.../** @type {[any]} */ (given));
  const { client } = scene({ state: { read: () => state.read(), update, erase: () => state.erase() } });
  await client.consent("on");
  full = true;
  assert.equal(await client.record("theme", "dark"), "failed");
  full = false;
  assert.deepEqual([await client.flush(), await client.flush()], [false, true]);
});

test("the mode local shows only reports that were made in it", async () => {
  const { client } = scene();
  await client.consent("on");
  await client.record("theme", "dark");
  await client.consent("local");
  await client.record("again", true);
  const [body, ...others] = await client.preview();
  assert.deepEqual([JSON.parse(body).metric, others], ["again", []]);
});

test("the text before consent leaves out ended metrics, and says what is sent in the clear", async () => {
  const met = scene();
  const names = async () => (await met.client.questions()).map((/** @type {any} */ { name }) => name);
  assert.deepEqual(await names(), ["theme", "again", "load"]);
  assert.match(await met.client.consentText(), /\nWhat is sent in the clear/);
  assert.doesNotMatch(await met.client.consentText(["again"]), /\nWhat is sent/);
  met.day = Date.UTC(2027, 6, 1) / 864e5;
  assert.deepEqual(await names(), ["theme", "again"]);
});

/** A client in the background, and the first body that it sends. @param {object} given */
function background(given) {
  /** @type {any} */
  let met;
  const sent = new Promise((resolve) => {
    const fetch = async (/** @type {string} */ _, /** @type {any} */ { body }) => (resolve(body), new Response(null, { status: 202 }));
    met = scene({ background: true, spread: 0, fetch, ...given });
  });
  return { ...met, sent };
}

test("in the background reports leave when they are made, and waiting ones when a client is made", async () => {
  const one = background({});
  await one.client.consent("on");
  await one.client.record("theme", "dark");
  assert.equal(JSON.parse(await one.sent).metric, "theme");
  one.client.close();
  const two = scene();
  await two.client.consent("on");
  await two.client.record("theme", "dark");
  assert.deepEqual(two.posts, [], "but not without a background");
  const three = background({ state: two.state });
  assert.equal(JSON.parse(await three.sent).metric, "theme");
  three.client.close();
});

test("in the background waiting reports leave after a new yes", async () => {
  const one = scene();
  await one.client.consent("on");
  await one.client.record("theme", "dark");
  await one.client.consent("local");
  const { client, sent } = background({ state: one.state });
  await client.consent("on");
  assert.equal(JSON.parse(await sent).metric, "theme");
  client.close();
});

test("the client looks at waiting reports when its page is hidden, and not after it was closed", async (context) => {
  const page = Object.assign(new EventTarget(), { hidden: false });
  const listeners = () => getEventListeners(page, "visibilitychange").length;
  Object.assign(globalThis, { document: page });
  context.after(() => Reflect.deleteProperty(globalThis, "document"));
  let reads = 0;
  const state = new MemoryState();
  const { client } = scene({ background: true, state: { read: () => (reads++, state.read()), update: () => assert.fail() } });
  await client.flush(); // whose turn comes behind that of the start
  // A flush reads before, in its turn, and behind; the page's own look is one more.
  for (const [hidden, looks] of /** @type {[boolean, number][]} */ ([[false, 3], [true, 4]])) {
    const before = reads;
    page.hidden = hidden;
    page.dispatchEvent(new Event("visibilitychange"));
    await client.flush();
    assert.equal(reads - before, looks);
  }
  assert.equal(listeners(), 1);
  client.close();
  assert.equal(listeners(), 0);
  assert.equal(await client.flush(), false, "though nothing waits");
});

test("damaged data are kept as they are until a person chooses again; then today counts as answered", async () => {
  const met = scene({ state: new MemoryState({ format: 1, choice: "?" }) });
  const { client } = met;
  assert.equal(await client.record("theme", "dark"), "failed");
  assert.deepEqual([await client.pending(), await client.preview(), await client.flush()], [[], [], false]);
  assert.equal((await client.status()).decidedBy, "the user's choice, which cannot be read");
  assert.equal(await client.consent("on"), true);
  assert.equal(await client.record("theme", "dark"), "answered");
  met.day++;
  assert.equal(await client.record("theme", "dark"), "kept");
});

test("a state that fails makes nothing fail", async () => {
  const fails = () => Promise.reject(new DOMException("no", "QuotaExceededError"));
  const { client, logged } = scene({ state: { read: fails, update: fails, erase: fails } });
  assert.equal(await client.consent("on"), false);
  assert.ok(["off", "failed"].includes(await client.record("theme", "dark")));
  const rest = [await client.pending(), await client.preview(), await client.sent(), await client.flush(), await client.forget()];
  assert.deepEqual(rest, [[], [], [], false, false]);
  assert.equal((await client.status()).mode, "off");
  assert.ok(logged.length > 0);
});

for (const way of ["consent", "forget"])
  test(`a no that cannot be kept holds in this client until something can be: ${way}`, async () => {
    const { client, state, posts } = scene();
    await client.consent("on");
    await client.record("theme", "dark");
    const { update, erase } = state;
    state.update = state.erase = () => Promise.reject(new DOMException("no", "QuotaExceededError"));
    assert.equal(await client[way]("off"), false);
    Object.assign(state, { update, erase });
    assert.equal(await client.record("again", true), "off");
    assert.equal(await client.flush(), false);
    assert.deepEqual([posts, (await client.status()).mode], [[], "off"]);
    assert.equal(await client.consent("on"), true);
    assert.equal(await client.record("again", true), "kept");
    assert.equal(await client.flush(), true);
    assert.equal(posts.length, 2);
  });

test("hostile arguments return an outcome and never throw", async () => {
  const { client } = scene();
  await client.consent("on");
  const angry = new Proxy({}, { get: () => { throw new Error("no"); }, ownKeys: () => { throw new Error("no"); } });
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const values = [undefined, null, NaN, Symbol("s"), 10n, () => 0, [], angry, revoked.proxy, "x".repeat(1e5)];
  const outcomes = new Set(["kept", "answered", "off", "spent", "unknown", "failed"]);
  for (const one of values) {
    assert.ok(outcomes.has(await client.record(one, "dark")));
    assert.ok(outcomes.has(await client.record("theme", one)));
    assert.ok(outcomes.has(await client.record("load", 3, one)));
    assert.equal(typeof (await client.flush(one)), "boolean");
    assert.equal(typeof (await client.consent(one, one)), "boolean");
    assert.equal(typeof (await client.consentText(one)), "string");
  }
  assert.equal(await client.record("constructor", 1), "unknown");
});

test("an event without the module for events names the module, and loses no answer", async () => {
  const { client, logged } = scene();
  assert.deepEqual([await client.add("again"), await client.flush()], ["unknown", true]);
  assert.deepEqual(logged, ['dither: add: import "dither-client/events" for it']);
});

test("a thrown value without a text makes nothing fail", async () => {
  const unspeakable = { toString: () => { throw new Error("no"); } };
  for (const thrown of [unspeakable, Object.create(null), Symbol("s"), undefined]) {
    const fails = () => { throw thrown; };
    const options = /** @type {any} */ ({ log: () => {}, get app() { return fails(); } });
    const none = new Client(metrics, options);
    assert.equal((await none.status()).mode, "off");
    const { client } = scene();
    assert.equal(await client.consent("on", { [Symbol.iterator]: fails }), false);
    assert.equal(await client.flush({ valueOf: fails }), false);
    assert.equal(await client.record("theme", "dark", { get platform() { return fails(); } }), "failed");
    for (const part of [{ state: { ...client, read: fails } }, { surroundings: { environment: fails } }]) {
      assert.equal((await scene({ ...part, background: true }).client.status()).mode, "off");
    }
  }
});

test("damaged entries hide neither the choice nor the way to change it", async () => {
  const good = scene();
  await good.client.consent("on");
  const kept = await good.state.read();
  const { terms, version } = metrics.metrics[0];
  const far = { mode: "on", accepted: { [terms]: { name: "theme", day: 1e99 } } };
  for (const damage of [{ outbox: [null] }, { choice: far }, { accounts: { [version]: { reports: "x", epsilon: 1 } } }]) {
    const { client } = scene({ state: new MemoryState({ ...kept, ...damage }) });
    assert.equal((await client.status()).mode, "on");
    assert.equal(await client.consent("off"), true);
    assert.equal((await client.status()).mode, "off");
  }
});

test("a mistake in the options makes a client that is silent and says why", async () => {
  const good = { app: "notes", endpoint: ENDPOINT, state: new MemoryState() };
  /** @type {[unknown, object | undefined, RegExp][]} */
  const mistakes = [
    [{}, good, /metrics/],
    [undefined, good, /metrics/],
    [metrics, { ...good, lifetime_cap: 3 }, /lifetime_cap: no such option/],
    [metrics, undefined, /mistake/],
    [metrics, { ...good, app: " " }, /app/],
    [metrics, { ...good, app: 7 }, /app/],
    [metrics, { ...good, endpoint: "ftp://example.org" }, /endpoint/],
    [metrics, { ...good, endpoint: undefined }, /endpoint/],
    [metrics, { ...good, token: "a b" }, /token/],
    [metrics, { ...good, spread: -1 }, /spread/],
    [metrics, { ...good, spread: "soon" }, /spread/],
    [metrics, { ...good, lifetimeCap: NaN }, /lifetimeCap/],
  ];
  for (const [compiledFile, options, why] of mistakes) {
    const log = () => {};
    const client = new Client(/** @type {any} */ (compiledFile), /** @type {any} */ (options && { log, ...options }));
    assert.equal(await client.record("theme", "dark"), "failed");
    assert.equal(await client.consent("on"), false);
    const { mode, decidedBy, unrecorded } = await client.status();
    assert.deepEqual([mode, unrecorded], ["off", 1]);
    assert.match(decidedBy, why);
    assert.throws(() => new Client(/** @type {any} */ (compiledFile), /** @type {any} */ ({ ...options, strict: true })));
    client.close();
  }
  for (const app of ["org.example.notes", "Füße & Hände", "-"]) assert.doesNotThrow(() => new Client(metrics, { ...good, app, strict: true, background: false }));
});

test("a closed client is silent, and shows what there is", async () => {
  const { client } = scene();
  await client.consent("on");
  await client.record("theme", "dark");
  client.close();
  client.close();
  assert.equal(await client.record("again", true), "off");
  assert.equal((await client.preview()).length, 1);
  assert.equal(await client.flush(), false);
  assert.equal((await client.status()).decidedBy, "the app: it is closed");
});

test("a browser that says no is off whatever the user chose", async () => {
  const { client, posts } = scene({ surroundings: { navigator: { globalPrivacyControl: true } } });
  assert.equal(await client.consent("on"), true);
  assert.equal(await client.record("theme", "dark"), "off");
  assert.deepEqual([await client.pending(), posts.length], [[], 0]);
  assert.equal((await client.status()).decidedBy, "Global Privacy Control");
});
