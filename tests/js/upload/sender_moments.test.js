/** When the sender lets reports leave: rests, holds, haste and other tabs. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Clock, deviceOf, idle, report, START, unreachable } from "./device.js";

const MINUTE = 60e3;

test("while no collector is reached the device pauses, and then each report leaves at its own moment", async (context) => {
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

test("the pauses of a device that reaches nobody grow up to ten minutes", async (context) => {
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

test("a collector that was not reached has refused nothing, and any answer ends the row of failures", async (context) => {
  const clock = new Clock().fake(context);
  const answers = [unreachable(), unreachable(), 503, unreachable()];
  const device = deviceOf({ clock, answers, spread: 0, uniform: () => 1 - 2 ** -32 });
  const { batch } = report(1);
  const course = [];
  for (const pause of [0, 120e3, 240e3, 900e3]) {
    await clock.pass(pause);
    await device.sender.wake();
    const { held } = await device.state.read();
    course.push([device.sent.length, held[batch].failures, Math.ceil((held[batch].moment - clock.now) / 1e3)]);
  }
  assert.deepEqual(course, [[1, 0, 120], [2, 0, 240], [3, 1, 900], [4, 1, 120]]);
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

test("a report that became due while another was on its way does not leave when the answer comes", async (context) => {
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
  assert.deepEqual(device.sent, [1, 2], "at a new moment within the spread");
});

test("of the reports of an earlier run one goes at once, and the others draw new moments", async (context) => {
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

test("a report that a page left a moment ago keeps its moment in the next page", async (context) => {
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

test("a report that is due with another does not leave from a second tab during the upload", async (context) => {
  const clock = new Clock().fake(context);
  const one = deviceOf({ clock, reports: 2, answers: [new Promise(() => {})] });
  await one.sender.wake();
  clock.now += 864e5; // the computer slept
  one.sender.wake();
  await idle();
  const other = deviceOf({ clock, state: one.state });
  await other.sender.wake();
  assert.deepEqual([one.sent, other.sent], [[1], []]);
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

test("a tab waits while another sends, and reports that become due draw new moments", async (context) => {
  const clock = new Clock().fake(context);
  const device = deviceOf({ clock, locks: { request: async (_name, _options, call) => call(null) } });
  device.sender.wake();
  await clock.pass(MINUTE);
  assert.deepEqual([device.sent, clock.wait], [[], 1e3]);
});
