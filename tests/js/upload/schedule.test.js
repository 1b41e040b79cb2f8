import assert from "node:assert/strict";
import { test } from "node:test";

import { empty } from "../../../client/js/src/state/data.js";
import { BUSY, holdOf, REFUSED, uniform } from "../../../client/js/src/upload/retry.js";
import { nextOf, scheduleOf } from "../../../client/js/src/upload/schedule.js";
import { report, START } from "./device.js";

const REPORTS = Array.from({ length: 1000 }, (_, number) => report(number));

/** Return a schedule on a clock that a test moves, with data and short words. */
function scheduled({ spread = 100e3, draws = [], one = 0.5 } = {}) {
  const clock = { now: START };
  const schedule = scheduleOf(spread, () => draws.shift() ?? one, () => clock.now);
  const data = empty();
  const first = (waiting, tried = null) => {
    schedule.plan(data, waiting);
    const entry = nextOf(data, waiting, clock.now, tried);
    return [entry, Math.max(0, data.held[entry.batch].moment - clock.now)];
  };
  const fail = (entry, patience, wish) => {
    const hold = data.held[entry.batch];
    hold.failures++;
    schedule.putOff(hold, patience, wish);
  };
  return { clock, schedule, data, first, fail };
}

test("each report waits for a time of its own with full jitter", () => {
  const data = empty();
  scheduleOf(300e3, uniform, () => START).plan(data, REPORTS);
  const moments = REPORTS.map(({ batch }) => data.held[batch].moment - START);
  const waits = [...moments].sort((a, b) => a - b);
  assert.ok(waits[0] >= 0 && waits[999] <= 300e3);
  // Kolmogorov-Smirnov against the uniform law: P[D > 0.09] <= 2 exp(-2 · 1000 · 0.09²) < 2e-7
  assert.ok(Math.max(...waits.map((wait, rank) => Math.abs(wait / 300e3 - rank / 1000))) < 0.09);
  assert.notDeepEqual(waits, moments, "their order does not show in which they were made");
});

test("planned times stay when other reports come, and asking changes none", () => {
  const { clock, data, first } = scheduled({ draws: [0.4, 0.2, 0.9] });
  assert.deepEqual(first(REPORTS.slice(0, 2)), [REPORTS[1], 20e3]);
  clock.now += 5e3;
  assert.deepEqual(first(REPORTS.slice(0, 3)), [REPORTS[1], 15e3]);
  assert.deepEqual(Object.values(data.held).map(({ moment }) => moment - START), [40e3, 20e3, 95e3]);
  assert.deepEqual(first(REPORTS.slice(0, 1)), [REPORTS[0], 35e3]);
  assert.deepEqual(Object.keys(data.held), [REPORTS[0].batch], "what waits no more is forgotten");
});

test("reports that became due together do not leave together", () => {
  const { clock, schedule, data, first } = scheduled({ draws: [0.1, 0.2, 0.3, 0.5, 0.25] });
  first(REPORTS.slice(0, 3));
  clock.now += 1000e3;
  assert.deepEqual(first(REPORTS.slice(0, 3)), [REPORTS[0], 0]);
  first(REPORTS.slice(1, 3));
  schedule.redraw(data);
  assert.deepEqual(first(REPORTS.slice(1, 3)), [REPORTS[2], 25e3]);
});

test("a pause draws the times again of reports that would have left", () => {
  const { schedule, data, first } = scheduled({ draws: [0.1, 0.8, 0.5, 0.3, 0.5] });
  first(REPORTS.slice(0, 2));
  schedule.pause(data, 0);
  assert.deepEqual(first(REPORTS.slice(0, 3)), [REPORTS[1], 80e3]);
  assert.deepEqual(Object.values(data.held).map(({ moment }) => moment - START), [90e3, 80e3, 110e3]);
});

test("a clock that is set back does not silence a device", () => {
  const { clock, schedule, data, first, fail } = scheduled();
  clock.now = 1e14;
  first(REPORTS.slice(0, 2));
  schedule.pause(data, 9);
  fail(REPORTS[0], REFUSED, "3600");
  clock.now = START;
  assert.equal(first(REPORTS.slice(0, 3))[1], 50e3);
  assert.equal(data.held[REPORTS[0].batch].failures, 1);
  assert.deepEqual(first(REPORTS.slice(0, 1), new Set()), [REPORTS[0], 0], "not in a flush either");
});

for (const moment of [1e300, Number.MAX_VALUE, 0])
  test(`a moment that cannot be, ${moment}, puts nothing off`, () => {
    const { data, first } = scheduled();
    data.held[REPORTS[0].batch] = { moment, notBefore: moment, failures: 1e9 };
    assert.ok(first(REPORTS.slice(0, 1))[1] <= 100e3);
  });

for (const spread of [0, 300e3, 5000e3])
  for (const wish of [null, "10", "3000", "1000000000"])
    test(`a failed report leaves after its hold, and anywhere in a window as long: ${spread}, ${wish}`, () => {
      const hold = holdOf(wish, START);
      const window = Math.max(spread, hold, BUSY[0]);
      const waits = [0, 0.5, 1].map((one) => {
        const { first, fail, data } = scheduled({ spread, one });
        first(REPORTS.slice(0, 2));
        const other = { ...data.held[REPORTS[1].batch] };
        fail(REPORTS[0], BUSY, wish);
        assert.deepEqual(data.held[REPORTS[1].batch], other, "and moves no other");
        return first(REPORTS.slice(0, 1))[1];
      });
      assert.deepEqual(waits, [hold, hold + window / 2, hold + window]);
    });

test("each failure of a report doubles its window up to a cap", () => {
  const { first, fail } = scheduled({ spread: 0, one: 1 });
  first(REPORTS.slice(0, 1));
  const waits = Array.from({ length: 7 }, () => {
    fail(REPORTS[0], BUSY);
    return first(REPORTS.slice(0, 1))[1] / 1e3;
  });
  assert.deepEqual(waits, [900, 1800, 3600, 7200, 14400, 21600, 21600]);
});

test("a flush sends fresh reports first, then those that failed, but no held one", () => {
  const { clock, first, fail } = scheduled();
  const waiting = REPORTS.slice(0, 3);
  first(waiting);
  fail(REPORTS[0], BUSY, "60");
  fail(REPORTS[1], BUSY);
  const tried = new Set();
  assert.deepEqual(first(waiting, tried), [REPORTS[2], 0]);
  tried.add(REPORTS[2].batch);
  assert.deepEqual(first(waiting, tried), [REPORTS[1], 0]);
  tried.add(REPORTS[1].batch);
  clock.now += 899e3;
  assert.ok(first(waiting.slice(0, 1), tried)[1] > 0);
  clock.now += 1e3;
  assert.deepEqual(first(waiting.slice(0, 1), tried), [REPORTS[0], 0]);
});

test("without a spread all are due", () => {
  const { first } = scheduled({ spread: 0 });
  for (const start of [0, 1, 2]) assert.deepEqual(first(REPORTS.slice(start)), [REPORTS[start], 0]);
});

test("random numbers are uniform, and not of Math.random", (context) => {
  context.mock.method(Math, "random", () => assert.fail());
  const drawn = Array.from({ length: 4000 }, uniform);
  assert.ok(drawn.every((number) => number >= 0 && number < 1));
  const mean = drawn.reduce((sum, number) => sum + number) / 4000;
  assert.ok(Math.abs(mean - 0.5) < 0.025); // five and a half standard errors of 0.00456
});
