import assert from "node:assert/strict";
import { test } from "node:test";

import { empty } from "../../../client/js/src/state/data.js";
import { MemoryState } from "../../../client/js/src/state/memory.js";
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

test("a body too large for keepalive is sent without it", async (context) => {
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
  test(`a report that would always be refused is dropped, and the rest goes on: ${status}`, async (context) => {
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
  test(`other refusals keep the reports and end the flush: ${status}`, async (context) => {
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

test("all reports of a disabled version are dropped, and no others", async (context) => {
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

test("without permission reports are neither sent nor looked at", async (context) => {
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

test("a yes that another tab takes back just before a report is claimed holds nothing up to be sent", async (context) => {
  const device = deviceOf({ clock: new Clock().fake(context), reports: 2 });
  const update = device.state.update.bind(device.state);
  device.state.update = (...given) => ((device.permitted = false), update(...given));
  assert.equal(await device.sender.flush(5e3), false);
  assert.deepEqual([device.sent, (await device.state.read()).held], [[], {}]);
});

for (const frozen of [20e3, 3 * 864e5, -864e5])
  test(`a page that is frozen for ${frozen} ms between claim and upload asks for consent again`, async (context) => {
    const clock = new Clock().fake(context);
    const device = deviceOf({ clock });
    const update = device.state.update.bind(device.state);
    device.state.update = async (...given) => {
      const result = await update(...given);
      clock.now += frozen;
      device.permitted = false;
      return result;
    };
    assert.equal(await device.sender.flush(5e3), false);
    assert.deepEqual(device.sent, []);
    Object.assign(device, { permitted: true });
    device.state.update = update;
    clock.now = START + 4 * 864e5;
    assert.equal(await device.sender.flush(5e3), true, "it is not lost");
    assert.deepEqual(device.sent, [1]);
  });

test("local and old reports are not sent", async (context) => {
  const reports = [report(1, { day: TODAY - 31 }), report(2, { local: true }), report(3, { day: TODAY - 30 })];
  const device = deviceOf({ clock: new Clock().fake(context), reports });
  assert.equal(await device.sender.flush(5e3), false);
  assert.deepEqual(device.sent, [3]);
  assert.deepEqual((await device.state.read()).totals, { sent: 1, dropped: 1 });
});

test("the last sent reports are shown, and take no more room than the waiting ones", async (context) => {
  const long = (number) => {
    const body = JSON.stringify({ ...JSON.parse(report(number).body), reports: "A".repeat(60_000) });
    return { ...report(number), body };
  };
  const state = new MemoryState(empty());
  const device = deviceOf({ clock: new Clock().fake(context), state });
  for (let number = 1; number <= 20; number++) {
    await state.update((data) => void data.outbox.push(long(number)));
    assert.ok(await device.sender.flush(5e3));
  }
  const { sent, totals } = await state.read();
  assert.deepEqual([sent.length, sent.at(-1), totals.sent], [8, long(20).body, 20]);
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

test("a report that the user wants forgotten while it is on its way is not remembered", async (context) => {
  let answer;
  const device = deviceOf({ clock: new Clock().fake(context), answers: [new Promise((resolve) => (answer = resolve))] });
  const flushed = device.sender.flush(5e3);
  await idle();
  await device.state.erase();
  answer(202);
  await flushed;
  assert.equal(device.state.stored, undefined);
});

test("a flush waits no longer than its limit, and the upload goes on", async (context) => {
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
  assert.deepEqual([await one, await other], [false, true]);
  assert.deepEqual(device.sent, [1, 2, 1], "the second haste tries the fresh one, and then the other again");
});

test("a failing state is reported in status, throws nowhere, and nothing is sent again and again", async (context) => {
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

test("a report whose answer cannot be stored is sent again after a drawn pause of at least a quarter of an hour", async (context) => {
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
  device.sender.wake();
  await idle();
  assert.deepEqual(device.sent, [1], "due reports leave when the page is hidden");
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

test("the memory that a hostile collector can use is bounded", async (context) => {
  const clock = new Clock().fake(context);
  const device = deviceOf({ clock, reports: 60 });
  assert.ok(await device.sender.flush(5e3));
  const { sent, held, totals } = await device.state.read();
  assert.deepEqual([sent.length, Object.keys(held).length, totals.sent], [30, 0, 60]);
  assert.equal(JSON.parse(sent.at(-1)).batch, report(60).batch);
});

test("a flush of any length sets no timer that overflows", async (context) => {
  const clock = new Clock().fake(context);
  let answer;
  const device = deviceOf({ clock, answers: [new Promise((resolve) => (answer = resolve))] });
  const flushed = device.sender.flush(Infinity);
  await idle();
  assert.ok(clock.wait < 2 ** 31, `${clock.wait}`);
  answer(202);
  assert.ok(await flushed);
});

test("a flush waits for another tab's turn, and a wake does not", async (context) => {
  const asked = [];
  const locks = { request: async (_, { ifAvailable }, work) => (asked.push(ifAvailable), work({})) };
  const device = deviceOf({ clock: new Clock().fake(context), reports: 0, locks });
  await device.sender.wake();
  await device.sender.flush(5e3);
  assert.deepEqual(asked, [true, false]);
});
