import assert from "node:assert/strict";
import test from "node:test";
import { correct, debit, spent, standing, trim } from "../../../client/js/src/reporting/ledger.js";
import { checked, empty } from "../../../client/js/src/state/data.js";
import { metric, THEME, TODAY, WEEKLY, WRITTEN } from "../metrics.js";

const YEARS = 3650;
const stands = (data, asked, day, cap = Infinity) => standing(data, asked, day, cap);
const report = (batch, changes = {}) => ({ batch: `${batch}`, metric: "theme", day: TODAY, local: false, body: "x", ...changes });
const monday = (day) => day - ((day + 3) % 7);
const periodOf = (asked, day) => (asked.period === "week" ? monday(day) : day);

/** Return a generator of integers below a bound, the same for the same seed (mulberry32). */
const generator = (seed) => (bound) => {
  seed = (seed + 0x6d2b79f5) | 0;
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
};

/** A ledger, and what a device does with it on each day that its clock shows; it checks what holds at every moment. */
class Device {
  data = empty();
  corrected = [];
  reports = { theme: [], weekly: [] };
  shown = { theme: new Set(), weekly: new Set() };

  live(day) {
    const marks = () => JSON.stringify([this.data.last, this.data.disabled]);
    const before = marks();
    if (correct(this.data, day)) {
      assert.ok(day >= WRITTEN, "a clock that is certainly behind shows no day");
      assert.ok(this.corrected.every((other) => Math.abs(day - other) >= 30), `${day} after ${this.corrected}`);
      this.corrected.push(day);
      assert.ok([...Object.values(this.data.last), ...Object.values(this.data.disabled)].every((mark) => mark <= day + 1));
      for (const asked of [THEME, WEEKLY]) {
        const begun = [...this.shown[asked.name]].filter((period) => period <= periodOf(asked, day));
        this.shown[asked.name] = new Set(begun);
      }
    } else assert.equal(marks(), before);
    for (const asked of [THEME, WEEKLY]) {
      const fresh = !this.shown[asked.name].has(periodOf(asked, day));
      this.shown[asked.name].add(periodOf(asked, day));
      if (stands(this.data, asked, day) !== "open") continue;
      assert.ok(fresh, "between two corrections at most once in each period that the clock shows");
      debit(this.data, asked, day);
      assert.equal(stands(this.data, asked, day), "answered");
      this.reports[asked.name].push(day);
    }
    checked(this.data);
  }

  check() {
    for (const asked of [THEME, WEEKLY]) {
      assert.equal(this.data.accounts[asked.version]?.reports ?? 0, this.reports[asked.name].length);
      assert.equal(spent(this.data, asked), this.reports[asked.name].length * asked.epsilon);
    }
  }
}

test("a metric reports once a day, whatever its version", () => {
  const data = empty();
  debit(data, THEME, TODAY);
  assert.equal(stands(data, THEME, TODAY), "answered");
  assert.equal(stands(data, { ...THEME, version: "f".repeat(16) }, TODAY), "answered");
  assert.equal(stands(data, metric("other"), TODAY), "open");
  assert.equal(stands(data, THEME, TODAY + 1), "open");
});

test("a week begins on Monday", () => {
  const sunday = TODAY; // 2026-11-22
  for (let day = sunday - 6; day <= sunday; day++) {
    const data = empty();
    debit(data, WEEKLY, day);
    for (let later = day; later <= sunday; later++) assert.equal(stands(data, WEEKLY, later), "answered");
    for (let later = sunday + 1; later < sunday + 9; later++) assert.equal(stands(data, WEEKLY, later), "open");
  }
  for (let day = 1; day < 40_000; day++) {
    const data = { ...empty(), last: { weekly: day } };
    const isSunday = new Date(day * 864e5).getUTCDay() === 0;
    assert.equal(stands(data, WEEKLY, day + 1), isSunday ? "open" : "answered", `${day}`);
  }
});

test("a clock that is behind opens nothing", () => {
  for (const asked of [THEME, WEEKLY]) {
    const data = empty();
    debit(data, asked, TODAY);
    for (const day of [TODAY - 1, TODAY - 7, TODAY - 300, 20_000, 4, 1, 0, -1, -4, -10_000, NaN, -Infinity]) {
      correct(data, day);
      assert.equal(stands(data, asked, day), "answered", `${asked.name} ${day}`);
    }
    for (const day of [0, -1, -2, -3, -4, -7, -20_000, NaN, undefined]) {
      assert.equal(stands(empty(), asked, day), "answered", `a clock before 1970, or without a day: ${day}`);
    }
  }
});

test("names that objects know are names", () => {
  for (const name of ["constructor", "valueOf", "hasownproperty"]) {
    const data = empty();
    assert.equal(stands(data, metric(name), TODAY), "open");
    debit(data, metric(name), TODAY);
    assert.equal(stands(data, metric(name), TODAY), "answered");
    assert.equal(stands(data, metric(name), TODAY + 1), "open");
  }
});

test("a version falls silent at its cap, another one has its own", () => {
  const data = empty();
  const capped = metric("theme", { reports: 3 });
  for (let day = TODAY; day < TODAY + 6; day++) {
    const word = stands(data, capped, day);
    assert.equal(word, day < TODAY + 3 ? "open" : "spent");
    if (word === "open") debit(data, capped, day);
  }
  assert.equal(spent(data, capped), 3);
  assert.equal(stands(data, { ...capped, version: "f".repeat(16) }, TODAY + 6), "open");
  assert.equal(stands(empty(), metric("theme", { reports: 0 }), TODAY), "spent");
});

/** Return the exact value of a double, times 2^1074. */
const exact = (value) => {
  const bits = new DataView(new Float64Array([value]).buffer).getBigUint64(0, true);
  const exponent = (bits >> 52n) & 0x7ffn;
  const fraction = bits & ((1n << 52n) - 1n);
  return exponent ? (fraction | (1n << 52n)) << (exponent - 1n) : fraction;
};

test("the lifetime cap holds over all metrics, and no rounding admits one too many", () => {
  const draw = generator(16);
  for (let round = 0; round < 400; round++) {
    const metrics = Array.from({ length: 1 + draw(4) }, (_, index) => metric(`m${index}`, { epsilon: (1 + draw(40)) / (1 + draw(40)) }));
    const data = empty();
    let total = 0n;
    const cap = round % 2 ? metrics[0].epsilon * (1 + draw(20)) : (1 + draw(300)) / 10;
    for (let day = TODAY; day < TODAY + 25; day++) {
      for (const asked of metrics) {
        const admitted = stands(data, asked, day, cap) === "open";
        assert.equal(admitted, total + exact(asked.epsilon) <= exact(cap));
        if (!admitted) continue;
        debit(data, asked, day);
        total += exact(asked.epsilon);
      }
    }
  }
});

test("spent ε is never understated, and overstated by less than one rounding", () => {
  const draw = generator(17);
  for (let round = 0; round < 2000; round++) {
    const asked = metric("theme", { epsilon: (1 + draw(80)) / (1 + draw(80)) });
    const { version, epsilon } = asked;
    const reports = 1 + draw(4000);
    const total = spent({ ...empty(), accounts: { [version]: { reports, epsilon } } }, asked);
    const least = BigInt(reports) * exact(epsilon);
    assert.ok(exact(total) >= least, `${reports} of ${epsilon}`);
    assert.ok(exact(total * (1 - 2 ** -53)) < least, `${reports} of ${epsilon}`);
  }
});

test("lifetime caps at the edge of doubles", () => {
  const tenth = metric("tenth", { epsilon: 0.1 });
  const data = { ...empty(), accounts: { a: { name: "a", reports: 2, epsilon: 0.1, day: 1 } } };
  assert.equal(stands(data, tenth, TODAY, 0.3), "spent", "three doubles of 0.1 are more than the double of 0.3");
  assert.equal(stands(data, tenth, TODAY, 0.30000000000000004), "open");
  for (const cap of [0, -1, NaN, 0.09999999999999999]) assert.equal(stands(empty(), tenth, TODAY, cap), "spent");
  for (const cap of [Infinity, Number.MAX_VALUE, 0.1]) assert.equal(stands(empty(), tenth, TODAY, cap), "open");
  const tiny = metric("tiny", { epsilon: 1e-300 });
  assert.equal(stands(empty(), tiny, TODAY, 1e-300), "spent", "an ε below 2^-80 is rounded up");
  assert.equal(stands(empty(), tiny, TODAY, 1e-20), "open");
});

test("what the ledger cannot count with does not open", () => {
  for (const junk of ["x", {}, [1, 2], NaN, undefined]) {
    const account = { name: "theme", reports: 1, epsilon: 1, day: 1 };
    for (const broken of [{ ...account, reports: junk }, { ...account, epsilon: junk }]) {
      let word;
      try {
        word = stands({ ...empty(), accounts: { other: broken } }, THEME, TODAY, 5);
      } catch {
        continue;
      }
      assert.notEqual(word, "open", JSON.stringify(broken));
    }
    assert.equal(stands({ ...empty(), last: { theme: junk } }, THEME, TODAY), "answered");
  }
});

test("what a collector has disabled is silent for 30 days", () => {
  const data = { ...empty(), disabled: { [THEME.version]: TODAY } };
  for (const day of [TODAY - 5, TODAY, TODAY + 1, TODAY + 30]) assert.equal(stands(data, THEME, day), "disabled");
  assert.equal(stands(data, THEME, TODAY + 31), "open");
  assert.equal(stands(data, { ...THEME, version: "f".repeat(16) }, TODAY), "open");
});

test("marks of tomorrow are no sign of a clock that was ahead", () => {
  for (const ahead of [0, 1]) assert.equal(correct({ ...empty(), last: { theme: TODAY + ahead } }, TODAY), false);
  for (const marks of [{ last: { theme: TODAY + 2 } }, { disabled: { v: TODAY + 2 } }]) {
    const data = { ...empty(), ...marks };
    assert.equal(correct(data, TODAY), true);
    assert.deepEqual(data.corrected, [TODAY]);
  }
});

test("a clock that was ahead silences until the next period; a disabled version for 30 days from today", () => {
  const data = { ...empty(), last: { theme: TODAY + YEARS, other: TODAY + 1 }, disabled: { v: TODAY + YEARS } };
  assert.equal(correct(data, WRITTEN - 1), false, "a clock that shows such a day is behind");
  assert.equal(correct(data, TODAY), true);
  assert.deepEqual([data.last, data.disabled], [{ theme: TODAY, other: TODAY + 1 }, { v: TODAY }]);
  assert.equal(stands(data, THEME, TODAY), "answered");
  assert.equal(stands(data, THEME, TODAY + 1), "open");
});

test("marks are corrected from the day on which the program was written, and every 30 days, to come or past", () => {
  const ahead = (corrected) => ({ ...empty(), last: { theme: TODAY + YEARS }, corrected });
  for (const [day, corrects] of [[WRITTEN - 1, false], [WRITTEN, true]]) assert.equal(correct(ahead([]), day), corrects);
  for (const days of [-30, -29, -1, 0, 1, 29, 30, 31]) {
    const data = ahead([TODAY + days]);
    assert.equal(correct(data, TODAY), Math.abs(days) >= 30, `${days}`);
    assert.equal(data.last.theme, Math.abs(days) >= 30 ? TODAY : TODAY + YEARS);
  }
});

test("any walk of the clock", () => {
  for (let seed = 0; seed < 300; seed++) {
    const draw = generator(seed);
    const device = new Device();
    const ranges = [() => WRITTEN + draw(60), () => WRITTEN + draw(20_000), () => draw(WRITTEN + 20_000) - 500];
    for (let step = draw(60); step >= 0; step--) device.live(ranges[draw(3)]());
    device.check();
  }
});

test("any walk of small steps", () => {
  for (let seed = 0; seed < 200; seed++) {
    const draw = generator(seed);
    const device = new Device();
    let day = TODAY + 100;
    for (let step = 0; step < 80; step++) device.live((day += draw(81) - 40));
    device.check();
  }
});

test("a clock that is right at last is heard", () => {
  for (let seed = 0; seed < 60; seed++) {
    const draw = generator(seed);
    const device = new Device();
    for (let step = draw(15); step > 0; step--) device.live(WRITTEN + draw(20_000));
    const right = WRITTEN + draw(5000);
    const patience = 59 * device.corrected.length + 1;
    for (let day = right; day < right + patience + 3; day++) device.live(day);
    assert.deepEqual(device.reports.theme.slice(-3), [0, 1, 2].map((later) => right + patience + later));
  }
});

test("a clock that is moved to and fro gains one report in 30 days", () => {
  for (const ahead of [2, 29, 30, 31, 400, YEARS, 20_000]) {
    const device = new Device();
    const days = 200;
    for (let day = TODAY; day < TODAY + days; day++) {
      for (let times = 0; times < 5; times++) for (const shown of [day + ahead, day]) device.live(shown);
    }
    assert.ok(device.corrected.length <= 2 * (Math.floor(days / 30) + 1));
    const honest = new Set(Array.from({ length: days }, (_, day) => [day, day + ahead]).flat()).size;
    assert.ok(device.reports.theme.length <= honest + device.corrected.length);
  }
});

test("two readings of a clock gain one report", () => {
  const device = new Device();
  for (let times = 0; times < 1000; times++) for (const day of [TODAY, TODAY + YEARS]) device.live(day);
  assert.deepEqual(device.reports.theme, [TODAY, TODAY + YEARS, TODAY + YEARS]);
});

test("the outbox holds 1,000 reports, the newest, and counts the others", () => {
  const data = empty();
  data.outbox = Array.from({ length: 1003 }, (_, batch) => report(batch));
  data.held = { 0: { moment: 0, notBefore: 0, failures: 1 }, 1002: { moment: 0, notBefore: 0, failures: 1 } };
  trim(data, TODAY);
  assert.deepEqual([data.outbox[0].batch, data.outbox.length, data.totals.dropped], ["3", 1000, 3]);
  assert.deepEqual(Object.keys(data.held), ["1002"]);
  trim(data, TODAY);
  assert.deepEqual([data.outbox.length, data.totals.dropped], [1000, 3]);
});

test("it holds 500,000 bytes, and gaps are not filled by older ones", () => {
  const data = empty();
  const sizes = [10, 300_000, 20, 250_000, 249_980];
  data.outbox = sizes.map((size, batch) => report(batch, { body: "x".repeat(size) }));
  trim(data, TODAY);
  assert.deepEqual(data.outbox.map(({ batch }) => batch), ["2", "3", "4"]);
  assert.equal(data.totals.dropped, 2);
});

test("it holds reports for 30 days, and none of a day to come", () => {
  const days = [-31, -30, -1, 0, 1, 2, 400];
  const data = { ...empty(), outbox: days.map((later) => report(later, { day: TODAY + later })) };
  trim(data, TODAY);
  assert.deepEqual(data.outbox.map(({ batch }) => batch), ["-30", "-1", "0", "1"]);
  assert.equal(data.totals.dropped, 3);
  const behind = { ...empty(), outbox: [report(1)] };
  trim(behind, WRITTEN - 1);
  assert.equal(behind.outbox.length, 1, "a clock that is behind drops nothing");
});
