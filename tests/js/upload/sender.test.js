import assert from "node:assert/strict";
import { test } from "node:test";

import { Clock, deviceOf, idle, report, START, unreachable } from "./device.js";

const TODAY = Math.floor(START / 864e5);
const MINUTE = 60e3;

test("each report leaves at a moment of its own, and nothing is left to do then", async (context) => {
  const clock = new Clock().fake(context);
  const draws = [0.3, 0.1, 0.8];
  const device = deviceOf({ clock, reports: 3, uniform: () => draws.shift() ?? 0.5 });
  device.sender.wake();
  await clock.pass(9.9e3);
  assert.deepEqual(device.sent, []);
  await clock.pass(0.2e3);
  assert.deepEqual(device.sent, [2]);
  await clock.pass(20e3);
  assert.deepEqual(device.sent, [2, 1]);
  await clock.pass(50e3);
  assert.deepEqual(device.sent, [2, 1, 3]);
  assert.equal(clock.wait, undefined);
  const data = await device.state.read();
  assert.deepEqual([data.outbox, data.held, data.totals], [[], {}, { sent: 3, dropped: 0 }]);
  assert.deepEqual(data.sent, device.requests.map(({ body }) => body));
  const endpoint = "https://collector.example/v1/reports";
  assert.deepEqual(data.attempt, { at: START + 80e3, endpoint, accepted: true, result: "202", failures: 0 });
  assert.deepEqual(device.diagnostics.counts, {});
});

test("a request is that of a stranger, and outlives its page", async (context) => {
  const device = deviceOf({ clock: new Clock().fake(context), endpoint: "https://collector.example/of/us/" });
  assert.ok(await device.sender.flush(5e3));
  const [{ signal, body, headers, ...request }] = device.requests;
  assert.ok(signal instanceof AbortSignal);
  assert.deepEqual(request, {
    ...{ url: "https://collector.example/of/us/v1/reports", method: "POST", keepalive: true, credentials: "omit" },
    ...{ referrerPolicy: "no-referrer", cache: "no-store", redirect: "manual" },
  });
  assert.equal(body, report(1).body);
});

test("a body that no request may outlive its page with goes without", async (context) => {
  const long = { ...report(1), body: JSON.stringify({ ...JSON.parse(report(1).body), reports: "A".repeat(70_000) }) };
  const device = deviceOf({ clock: new Clock().fake(context), reports: [long] });
  assert.ok(await device.sender.flush(5e3));
  assert.equal(device.requests[0].keepalive, false);
});

for (const failure of [429, 502, 503, 504, new TypeError("Failed to fetch"), unreachable()])
  test(`every retry sends identical bytes: ${failure}`, async (context) => {
    const device = deviceOf({ clock: new Clock().fake(context), answers: [failure] });
    assert.equal(await device.sender.flush(5e3), false);
    assert.ok(await device.sender.flush(5e3));
    assert.deepEqual(device.requests.map(({ body }) => body), [report(1).body, report(1).body]);
    assert.equal((await device.state.read()).totals.sent, 1);
  });

for (const status of [400, 413, 415, 422])
  test(`what would be refused for ever is dropped, and the rest goes on: ${status}`, async (context) => {
    const device = deviceOf({ clock: new Clock().fake(context), reports: 2, answers: [status] });
    assert.equal(await device.sender.flush(5e3), false, "not all has arrived");
    assert.ok(await device.sender.flush(5e3), "nothing is left that could");
    assert.deepEqual(device.sent, [1, 2]);
    assert.deepEqual((await device.state.read()).totals, { sent: 1, dropped: 1 });
  });

for (const status of [404, 409])
  test(`a metric that the collector does not know holds up no other: ${status}`, async (context) => {
    const device = deviceOf({ clock: new Clock().fake(context), reports: 2, answers: [status] });
    assert.equal(await device.sender.flush(5e3), false);
    assert.deepEqual((await device.state.read()).totals, { sent: 1, dropped: 0 });
    assert.ok(await device.sender.flush(5e3), "until it is upgraded");
    assert.deepEqual(device.sent, [1, 2, 1]);
  });

for (const status of [0, 204, 301, 307, 401, 403, 405, 407, 451, 500, 501, 505, 511])
  test(`what may be mended keeps the reports and ends the haste: ${status}`, async (context) => {
    const clock = new Clock().fake(context);
    const device = deviceOf({ clock, reports: 2, answers: [status], spread: 1e6 });
    assert.equal(await device.sender.flush(5e3), false);
    assert.deepEqual(device.sent, [1], "the other must expect the same");
    assert.equal((await device.state.read()).attempt.failures, 1);
    assert.deepEqual(device.diagnostics.counts, { [`upload: ${status || 300}`]: 1 });
    assert.ok(await device.sender.flush(5e3));
  });

test("a flush asks once for reports that were refused before", async (context) => {
  const device = deviceOf({ clock: new Clock().fake(context), reports: 4, answers: [404, 404, 404, 404, 404] });
  assert.equal(await device.sender.flush(5e3), false);
  assert.equal(device.sent.length, 4);
  assert.equal(await device.sender.flush(5e3), false);
  assert.equal(device.sent.length, 5, "the first was refused again, so the others would be");
  assert.ok(await device.sender.flush(5e3));
});

test("of a version that is disabled all is dropped, and nothing else", async (context) => {
  const other = "b".repeat(16);
  const reports = [report(1), report(2), report(3, { version: other }), report(4, { local: true })];
  const device = deviceOf({ clock: new Clock().fake(context), reports, answers: [410] });
  assert.equal(await device.sender.flush(5e3), false, "not all has arrived");
  assert.deepEqual(device.sent, [1, 3]);
  const data = await device.state.read();
  assert.deepEqual([data.disabled, data.totals], [{ ["a".repeat(16)]: TODAY }, { sent: 1, dropped: 2 }]);
  assert.deepEqual(data.outbox.map(({ local }) => local), [true]);
});

for (const wish of ["1", "900", new Date(START + 5e3).toUTCString()])
  test(`not even a flush overrides Retry-After: ${wish}`, async (context) => {
    const clock = new Clock().fake(context);
    const device = deviceOf({ clock, reports: 2, answers: [[503, wish]], spread: 0, uniform: () => 0 });
    assert.equal(await device.sender.flush(5e3), false);
    await clock.pass(899e3);
    assert.equal(await device.sender.flush(5e3), false);
    assert.deepEqual(device.sent, [1, 2], "the other goes, and this one does not");
    await clock.pass(1e3);
    assert.deepEqual(device.sent, [1, 2, 1]);
  });

test("while nobody is reached the device rests, and then each leaves at its own moment", async (context) => {
  const clock = new Clock().fake(context);
  // 1 leaves at 10; the claim, and the rest of 60 s draw; 10 + 60 + 20
  const draws = [0.1, 0.95, 0.01, 0.5, 0.2];
  const device = deviceOf({ clock, reports: 2, answers: [unreachable()], uniform: () => draws.shift() ?? 0.5 });
  device.sender.wake();
  await clock.pass(10e3);
  assert.deepEqual(device.sent, [1]);
  await clock.pass(79e3);
  assert.deepEqual(device.sent, [1]);
  await clock.pass(1e3);
  assert.deepEqual(device.sent, [1, 1]);
  await clock.pass(5e3);
  assert.deepEqual(device.sent, [1, 1, 2], "that of the other is after the rest, and stays");
  assert.deepEqual(device.diagnostics.counts, { "upload: not reached": 1 });
});

test("the rests of a device that reaches nobody grow up to ten minutes", async (context) => {
  const clock = new Clock().fake(context);
  const device = deviceOf({ clock, answers: Array.from({ length: 6 }, unreachable), spread: 0, uniform: () => 1 - 2 ** -32 });
  const moments = [];
  const { fetch } = device;
  device.sender.wake();
  for (let tick = 0; tick < 3000; tick++) {
    await clock.pass(1e3);
    while (moments.length < device.sent.length) moments.push(Math.round((clock.now - START) / 1e3));
  }
  const pauses = moments.slice(1).map((moment, number) => moment - moments[number]);
  assert.deepEqual(pauses, [119, 240, 480, 600, 600, 600]);
  assert.ok(fetch);
});

test("offline is a network failure, whatever fetch says", async (context) => {
  const clock = new Clock().fake(context);
  const described = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { value: { onLine: false }, configurable: true, writable: true });
  context.after(() => (described ? Object.defineProperty(globalThis, "navigator", described) : delete globalThis.navigator));
  const device = deviceOf({ clock, answers: [new TypeError("Failed to fetch")] });
  assert.equal(await device.sender.flush(5e3), false);
  assert.equal((await device.state.read()).attempt.result, "not reached");
});

test("an answer that never comes moves no other report", async (context) => {
  const clock = new Clock().fake(context);
  let reject;
  const stuck = new Promise((_, fail) => (reject = fail));
  const draws = [0, 0.9];
  const device = deviceOf({ clock, reports: 2, answers: [stuck], uniform: () => draws.shift() ?? 0.5 });
  device.sender.wake();
  await clock.pass(20e3);
  reject(new DOMException("late", "TimeoutError"));
  await clock.pass(69e3);
  assert.deepEqual(device.sent, [1]);
  await clock.pass(1e3);
  assert.deepEqual(device.sent, [1, 2]);
  assert.deepEqual(device.diagnostics.counts, { "upload: no answer": 1 });
});

test("what became due while another was on its way does not leave when the answer comes", async (context) => {
  const clock = new Clock().fake(context);
  let answer;
  const slow = new Promise((resolve) => (answer = resolve));
  const draws = [0, 0.1, 0.5, 0.4];
  const device = deviceOf({ clock, reports: 2, answers: [slow], uniform: () => draws.shift() ?? 0.7 });
  device.sender.wake();
  await clock.pass(19e3);
  answer(202);
  await idle();
  assert.deepEqual(device.sent, [1]);
  await clock.pass(39e3);
  assert.deepEqual(device.sent, [1]);
  await clock.pass(32e3);
  assert.deepEqual(device.sent, [1, 2], "anew within the spread");
});

test("of what an earlier run left, one goes at once, and the others wait anew", async (context) => {
  const clock = new Clock().fake(context);
  const earlier = deviceOf({ clock, reports: 3 });
  earlier.sender.wake();
  await idle();
  earlier.sender.stop();
  clock.now += 864e5;
  const device = deviceOf({ clock, state: earlier.state });
  device.sender.wake();
  await idle();
  assert.deepEqual([earlier.sent, device.sent], [[], [1]]);
  await clock.pass(49e3);
  assert.deepEqual(device.sent, [1]);
});

test("what a page left a moment ago keeps its moment in the next", async (context) => {
  const clock = new Clock().fake(context);
  const state = deviceOf({ clock }).state;
  for (let page = 0; page < 5; page++) {
    const { sender, sent } = deviceOf({ clock, state });
    sender.wake();
    await clock.pass(9.9e3);
    sender.stop();
    assert.deepEqual(sent, []);
  }
  const last = deviceOf({ clock, state });
  last.sender.wake();
  await clock.pass(0.5e3);
  assert.deepEqual(last.sent, [1], "at 50 s");
});

test("a page that does not live to see the answer has put the report off", async (context) => {
  const clock = new Clock().fake(context);
  const page = deviceOf({ clock, reports: 2, answers: [new Promise(() => {})], spread: 0 });
  page.sender.wake();
  await idle();
  page.sender.stop();
  const { attempt, held } = await page.state.read();
  assert.deepEqual([attempt.result, attempt.failures, attempt.accepted], ["no answer", 1, false]);
  assert.deepEqual(held[report(1).batch], { moment: START + 450e3, notBefore: START + 20e3, failures: 1 });
  const next = deviceOf({ clock, state: page.state });
  next.sender.wake();
  await clock.pass(450e3);
  assert.deepEqual(next.sent, [2, 1], "then the same bytes go again");
  assert.deepEqual(next.requests[1].body, page.requests[0].body);
});

test("two tabs do not send the same report, with locks or without", async (context) => {
  const clock = new Clock().fake(context);
  const state = deviceOf({ clock, reports: 5 }).state;
  let free = true;
  const locks = {
    async request(name, { ifAvailable }, call) {
      assert.equal(name, "https://collector.example/v1/reports");
      if (!free && ifAvailable) return call(null);
      while (!free) await new Promise((resolve) => setImmediate(resolve));
      free = false;
      try {
        return await call({});
      } finally {
        free = true;
      }
    },
  };
  for (const lock of [null, locks]) {
    const tabs = [0, 1].map(() => deviceOf({ clock, state, locks: lock, reports: 0 }));
    for (const { sender } of tabs) sender.wake();
    await clock.pass(lock ? MINUTE * 10 : 30e3);
    const flushed = await Promise.all(tabs.map(({ sender }) => sender.flush(5e3)));
    assert.equal(flushed.at(-1), true);
    assert.deepEqual(tabs.flatMap(({ sent }) => sent).sort(), lock ? [6, 7] : [1, 2, 3, 4, 5]);
    await state.update((data) => void data.outbox.push(report(6), report(7)));
  }
  assert.equal((await state.read()).totals.sent, 7);
});

test("a tab waits while another sends, and what became due meanwhile is drawn anew", async (context) => {
  const clock = new Clock().fake(context);
  const device = deviceOf({ clock, locks: { request: async (_name, _options, call) => call(null) } });
  device.sender.wake();
  await clock.pass(MINUTE);
  assert.deepEqual([device.sent, clock.wait], [[], 1e3]);
});

test("nothing is sent while it is not permitted, nor looked at", async (context) => {
  const clock = new Clock().fake(context);
  const device = deviceOf({ clock, spread: 0 });
  device.permitted = false;
  device.sender.wake();
  assert.equal(await device.sender.flush(5e3), false);
  assert.deepEqual([device.sent, clock.wait], [[], undefined]);
  assert.deepEqual((await device.state.read()).held, {});
  device.permitted = true;
  device.sender.wake();
  await idle();
  assert.deepEqual(device.sent, [1]);
});

test("what is for the user's eyes, or too old, is not sent", async (context) => {
  const reports = [report(1, { day: TODAY - 31 }), report(2, { local: true }), report(3, { day: TODAY - 30 })];
  const device = deviceOf({ clock: new Clock().fake(context), reports });
  assert.equal(await device.sender.flush(5e3), false);
  assert.deepEqual(device.sent, [3]);
  assert.deepEqual((await device.state.read()).totals, { sent: 1, dropped: 1 });
});

test("stop lets the upload under way end, and begins no other", async (context) => {
  const clock = new Clock().fake(context);
  let answer;
  const device = deviceOf({ clock, reports: 2, answers: [new Promise((resolve) => (answer = resolve))], spread: 0 });
  device.sender.wake();
  await idle();
  device.sender.stop();
  answer(202);
  await clock.pass(10 * MINUTE);
  assert.deepEqual(device.sent, [1]);
  assert.deepEqual([clock.wait, (await device.state.read()).totals.sent], [undefined, 1]);
  assert.equal(await device.sender.flush(5e3), false);
  assert.deepEqual(device.sent, [1]);
});

test("what the user wants forgotten while it is on its way is not remembered", async (context) => {
  let answer;
  const device = deviceOf({ clock: new Clock().fake(context), answers: [new Promise((resolve) => (answer = resolve))] });
  const flushed = device.sender.flush(5e3);
  await idle();
  await device.state.erase();
  answer(202);
  await flushed;
  assert.equal(device.state.stored, undefined);
});

test("a flush waits no longer than it is told, and the upload goes on", async (context) => {
  const clock = new Clock().fake(context);
  let answer;
  const device = deviceOf({ clock, answers: [new Promise((resolve) => (answer = resolve))] });
  const flushed = device.sender.flush(5e3);
  await clock.pass(5e3);
  assert.equal(await flushed, false);
  answer(202);
  await idle();
  assert.equal((await device.state.read()).totals.sent, 1);
});

test("a flush that comes while another ends is not lost", async (context) => {
  const clock = new Clock().fake(context);
  let answer;
  const device = deviceOf({ clock, reports: 2, answers: [new Promise((resolve) => (answer = resolve))], spread: 1e6 });
  const one = device.sender.flush(5e3);
  await idle();
  const other = device.sender.flush(5e3);
  await idle();
  answer(401);
  assert.deepEqual([await one, await other], [true, true]);
  assert.deepEqual(device.sent, [1, 2, 1], "the second haste tries the fresh one, and then the other again");
});

test("a state that fails is told, reaches nobody, and nothing is sent over and over", async (context) => {
  const clock = new Clock().fake(context);
  const device = deviceOf({ clock, spread: 0 });
  const { update } = device.state;
  device.state.update = async () => {
    throw new Error("no space left");
  };
  for (let time = 0; time < 3; time++) assert.equal(await device.sender.flush(5e3), false);
  assert.deepEqual([device.sent, clock.wait], [[], undefined]);
  assert.deepEqual(device.diagnostics.counts, { "upload failed: Error: no space left": 3 });
  device.state.update = update;
  assert.ok(await device.sender.flush(5e3));
});

test("an answer that cannot be kept is asked for again in a quarter of an hour at the soonest that it draws", async (context) => {
  const clock = new Clock().fake(context);
  const device = deviceOf({ clock, spread: 0 });
  const { update } = device.state;
  let updates = 0;
  device.state.update = (change) => (++updates === 2 ? Promise.reject(new Error("no space left")) : update.call(device.state, change));
  device.sender.wake();
  await idle();
  for (let time = 0; time < 10; time++) await device.sender.wake();
  assert.deepEqual(device.sent, [1]);
  await clock.pass(450e3);
  assert.deepEqual(device.sent, [1, 1]);
});

test("a timer keeps no process alive, and looks again every quarter of an hour", async (context) => {
  const clock = new Clock().fake(context);
  const device = deviceOf({ clock, spread: 1e5 });
  await device.sender.wake();
  const [{ timer }] = clock.timers.values();
  assert.deepEqual([timer.free, clock.wait], [true, 900e3]);
  clock.now += 864e5; // the computer slept, and its timers, too
  device.sender.leave();
  await idle();
  assert.deepEqual(device.sent, [1], "what is due leaves when the page is hidden");
});

for (const jump of [-20 * 864e5, -MINUTE, 20 * 864e5])
  test(`a clock that jumps by ${jump} ms puts nothing off for long`, async (context) => {
    const clock = new Clock().fake(context);
    const device = deviceOf({ clock, reports: 0 });
    await device.state.update((data) => void data.outbox.push(report(1, { day: TODAY + Math.min(0, Math.floor(jump / 864e5)) })));
    await device.sender.wake();
    clock.now += jump;
    for (const waiting of clock.timers.values()) waiting.at += jump; // they count by another clock
    await clock.pass(1000e3);
    assert.deepEqual(device.sent, [1]);
  });

test("what is remembered of a hostile collector is bounded", async (context) => {
  const clock = new Clock().fake(context);
  const device = deviceOf({ clock, reports: 60 });
  assert.ok(await device.sender.flush(5e3));
  const { sent, held, totals } = await device.state.read();
  assert.deepEqual([sent.length, Object.keys(held).length, totals.sent], [30, 0, 60]);
  assert.equal(JSON.parse(sent.at(-1)).batch, report(60).batch);
});
