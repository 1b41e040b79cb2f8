import assert from "node:assert/strict";
import test from "node:test";
import { choice, metric, THEME, TODAY, WEEKLY } from "../metrics.js";
import { device } from "./device.js";

test("an answer is kept: its debit, and its report", async () => {
  const one = device();
  assert.equal(await one.record("theme", true), "kept");
  const data = await one.state.read();
  const [queued] = data.outbox;
  assert.deepEqual([queued.metric, queued.day, queued.local], ["theme", TODAY, false]);
  assert.equal(JSON.parse(queued.body).version, THEME.version);
  assert.deepEqual(data.accounts, { [THEME.version]: { name: "theme", reports: 1, epsilon: 1, day: TODAY } });
  assert.deepEqual(data.last, { theme: TODAY });
  assert.equal(one.updates, 1);
});

test("the first answer of a day counts; the next one looks at no state, and draws nothing", async () => {
  const one = device();
  await one.record("theme", true);
  const { reads, updates, taken } = one;
  for (let times = 0; times < 3; times++) assert.equal(await one.record("theme", false), "answered");
  assert.deepEqual([one.reads, one.updates, one.taken], [reads, updates, taken]);
  assert.equal(one.recorder.counts.ignored, 3);
  assert.equal((await one.outbox()).length, 1);
  one.day++;
  assert.equal(await one.record("theme", false), "kept");
});

test("a thousand answers at once draw, look and write as one does, and a failing one holds up no other", async () => {
  const many = device();
  const outcomes = await Promise.all(Array.from({ length: 1000 }, () => many.record("theme", true)));
  assert.deepEqual([outcomes[0], ...new Set(outcomes.slice(1))], ["kept", "answered"]);
  assert.deepEqual([many.reads, many.updates], [1, 1]);
  assert.ok(many.taken <= 8 + 8 + 16); // whether it is the truth, if not which other, and the batch
  const { read } = many.state;
  many.day++;
  many.state.read = () => ((many.state.read = read), Promise.reject(new DOMException("no", "UnknownError")));
  assert.deepEqual(await Promise.all([many.record("theme", true), many.record("theme", true)]), ["failed", "kept"]);
});

test("another program on the same state finds the answer, and remembers", async () => {
  const one = device();
  await one.record("theme", true);
  const other = device({ state: one.state });
  assert.equal(await other.record("theme", true), "answered");
  assert.equal(await other.record("theme", true), "answered");
  assert.deepEqual([other.reads, other.updates, other.taken], [1, 0, 0]);
});

test("many at once, in many programs, make one report", async () => {
  const one = device();
  const devices = [one, device({ state: one.state }), device({ state: one.state })];
  const outcomes = await Promise.all(Array.from({ length: 30 }, (_, index) => devices[index % 3].record("theme", true)));
  assert.equal(outcomes.filter((outcome) => outcome === "kept").length, 1);
  assert.equal(outcomes.filter((outcome) => outcome === "answered").length, 29);
  assert.equal((await one.outbox()).length, 1);
  assert.equal((await one.state.read()).accounts[THEME.version].reports, 1);
});

test("a week is answered for all of its days", async () => {
  const one = device();
  one.day = TODAY - 6;
  assert.equal(await one.record("weekly", true), "kept");
  for (one.day++; one.day <= TODAY; one.day++) assert.equal(await one.record("weekly", true), "answered");
  assert.equal(await one.record("weekly", true), "kept");
});

test("without consent nothing is drawn, and nothing written", async () => {
  for (const mode of [null, "off"]) {
    const one = device({ mode });
    assert.equal(await one.record("theme", true), "off");
    assert.deepEqual([one.updates, one.taken, one.recorder.counts.withheld], [0, 0, 0]);
  }
});

test("consent that does not cover the metric withholds it", async () => {
  const changed = { ...THEME, terms: "of another text" };
  const over = metric("over", { expires: "2026-11-21" });
  const last = metric("last", { expires: "2026-11-22" });
  const one = device({ metrics: [changed, over, last], accepted: [THEME, over, last] });
  assert.equal(await one.record("theme", true), "off");
  assert.equal(await one.record("over", true), "off");
  assert.deepEqual([one.updates, one.taken, one.recorder.counts.withheld], [0, 0, 2]);
  assert.equal(await one.record("last", true), "kept", "its last day is not over");
});

test("signs against consent hold, whatever was chosen", async () => {
  const one = device({ surroundings: { navigator: { globalPrivacyControl: true } } });
  assert.equal(await one.record("theme", true), "off");
  assert.equal(one.taken, 0);
});

test("consent that ends, or a report of another, while the report is drawn, leaves nothing of it", async () => {
  for (const [change, outcome, counter] of [
    [(data) => void (data.choice = choice("off", [])), "off", null],
    [(data) => void (data.choice = choice("on", [WEEKLY])), "off", "withheld"],
    [(data) => void (data.last.theme = TODAY), "answered", "ignored"],
    [(data) => void (data.disabled[THEME.version] = TODAY), "off", "ignored"],
  ]) {
    const one = device();
    const read = one.state.read.bind(one.state);
    one.state.read = async () => {
      const data = await read();
      await one.state.update(change);
      return data;
    };
    assert.equal(await one.record("theme", true), outcome);
    assert.ok(one.taken > 0, "it was drawn");
    const { outbox, accounts } = await read();
    assert.deepEqual([outbox, accounts], [[], {}]);
    const { ignored, withheld } = one.recorder.counts;
    assert.deepEqual({ ignored, withheld }, { ignored: 0, withheld: 0, ...(counter && { [counter]: 1 }) });
  }
});

for (const late of ["read", "update"])
  test(`a page that is frozen for days before it can ${late} undoes no report of other tabs`, async () => {
    const frozen = device();
    const shared = frozen.state;
    const other = device({ state: shared });
    const call = shared[late].bind(shared);
    shared[late] = async (...given) => {
      shared[late] = call;
      frozen.day = other.day = TODAY + 5;
      assert.equal(await other.record("theme", true), "kept");
      return call(...given);
    };
    assert.equal(await frozen.record("theme", true), "answered");
    const { last, corrected, outbox } = await shared.read();
    assert.deepEqual([last, corrected, outbox.map(({ day }) => day)], [{ theme: TODAY + 5 }, [], [TODAY + 5]]);
  });

test("in the mode local reports are for the user's eyes, also if it was chosen while one was drawn", async () => {
  const one = device({ mode: "local" });
  await one.record("theme", true);
  assert.deepEqual((await one.outbox()).map(({ local }) => local), [true]);
  const other = device();
  const read = other.state.read.bind(other.state);
  other.state.read = async () => {
    const data = await read();
    await other.state.update((data) => void (data.choice.mode = "local"));
    return data;
  };
  assert.equal(await other.record("theme", true), "kept");
  assert.deepEqual((await read()).outbox.map(({ local }) => local), [true]);
});

test("a cap, and the lifetime cap, are spent for good", async () => {
  const one = device({ metrics: [metric("theme", { reports: 2 })] });
  const two = device({ lifetimeCap: 2 });
  for (const each of [one, two]) {
    for (const outcome of ["kept", "kept", "spent", "spent"]) {
      assert.equal(await each.record("theme", true), outcome);
      each.day++;
    }
    assert.equal(each.recorder.counts.ignored, 2);
  }
});

test("the error of an unknown metric names the known ones, never the argument", async () => {
  const one = device();
  for (const name of ["secret answer", undefined, {}, Symbol("secret"), "constructor"]) {
    assert.equal(await one.record(name, "theme"), "unknown");
  }
  assert.deepEqual(one.diagnostics.counts, { "unknown metric": 5 });
  assert.deepEqual(one.logged, ["dither: unknown metric: there are theme,weekly,split,size"]);
});

test("a mistake is reported under the catch-all label, and logged by its type, once", async () => {
  const one = device();
  for (const value of [{ secret: 1 }, { secret: 2 }]) await one.record("size", value);
  assert.equal((await one.outbox()).length, 1);
  assert.equal(one.recorder.counts.mistakes, 2);
  assert.deepEqual(one.logged, ["dither: wrong value for metrics.size: object"]);
  assert.deepEqual(one.diagnostics.counts, { "wrong value for metrics.size": 2 });
});

test("an answer outside the domain is counted when it is reported", async () => {
  const one = device();
  await one.record("theme", true);
  for (let times = 0; times < 2; times++) await one.record("size", "enormous");
  assert.deepEqual([one.recorder.counts.outside, one.recorder.counts.mistakes], [1, 0]);
});

test("attributes of the answer come first; unlisted and missing ones are counted", async () => {
  const one = device({ strata: { platform: "linux", channel: "beta" } });
  await one.record("split", true, { channel: "nightly" });
  const [{ body }] = await one.outbox();
  assert.equal(JSON.parse(body).stratum, "linux/other");
  assert.deepEqual(one.recorder.counts.unlisted, { "metrics.split.strata.channel": 1 });
  assert.deepEqual(one.logged, []);
  const other = device();
  for (const outcome of ["kept", "answered"]) assert.equal(await other.record("split", true, { channel: "beta" }), outcome);
  assert.deepEqual(other.recorder.counts.unlisted, { "metrics.split.strata.platform": 1 });
  assert.deepEqual(other.logged, ["dither: metrics.split.strata.platform is not given"]);
});

test("attributes that the metric does not have are a mistake, and left out", async () => {
  const one = device();
  for (const given of [{ plattform: "linux" }, null, undefined, "text", 5]) await one.record("theme", true, given);
  assert.deepEqual(one.logged, ["dither: unknown attribute in metrics.theme.strata: plattform"]);
  assert.equal((await one.outbox()).length, 1);
});

test("a failure leaves nothing and is logged without the value; the next answer is tried again", async () => {
  const one = device();
  const { update, read } = one.state;
  const failures = { QuotaExceededError: "update", TimeoutError: "update", DataError: "read", InvalidStateError: "read" };
  for (const [name, place] of Object.entries(failures)) {
    one.state[place] = async () => {
      throw new DOMException("secret", name);
    };
    assert.equal(await one.record("theme", true), "failed");
    Object.assign(one.state, { update, read });
    assert.equal(one.diagnostics.counts[`record failed: ${name}`], 1);
    assert.deepEqual(await one.outbox(), []);
  }
  for (const junk of [null, undefined, 7]) {
    one.state.update = () => Promise.reject(junk);
    assert.equal(await one.record("theme", true), "failed");
  }
  one.state.update = update;
  assert.ok(!one.logged.join().includes("secret"));
  assert.equal(await one.record("theme", true), "kept");
});

test("a draw that fails costs nothing", async () => {
  const entropy = { take: () => { throw new RangeError("secret"); } };
  const one = device({ entropy });
  assert.equal(await one.record("theme", true), "failed");
  assert.equal(one.updates, 0);
  assert.deepEqual((await one.state.read()).accounts, {});
  assert.deepEqual(one.logged, ["dither: record failed: RangeError"]);
});

test("if strict, mistakes reject, and nothing is drawn", async () => {
  const one = device({ strict: true });
  await assert.rejects(one.record("other", 1), /unknown metric/);
  await assert.rejects(one.record("size", {}), /wrong value for metrics.size: object/);
  await assert.rejects(one.record("theme", true, { plattform: 1 }), /plattform/);
  assert.equal(one.taken, 0);
  assert.equal(await one.record("theme", true), "kept");
});

test("a clock that was ahead: the correction is kept, whatever becomes of the answer", async () => {
  const one = device();
  one.day = TODAY + 400;
  assert.equal(await one.record("theme", true), "kept");
  one.day = TODAY;
  assert.equal(await one.record("theme", true), "answered");
  const corrected = await one.state.read();
  assert.deepEqual([corrected.corrected, corrected.outbox, corrected.totals.dropped], [[TODAY], [], 1]);
  one.day = TODAY + 1;
  assert.equal(await one.record("theme", true), "kept");
  const { outbox, totals } = await one.state.read();
  assert.deepEqual([outbox.map(({ day }) => day), totals.dropped], [[TODAY + 1], 1]);
});

test("a clock that was ahead: the correction is kept with another metric's report, too", async () => {
  const one = device();
  await one.state.update((data) => void (data.last.weekly = TODAY + 400));
  assert.equal(await one.record("theme", true), "kept");
  const { corrected, last } = await one.state.read();
  assert.deepEqual([corrected, last], [[TODAY], { weekly: TODAY, theme: TODAY }]);
  assert.equal(one.updates, 1);
});

test("a clock that jumps gains no report of a period that it showed, but by a correction in 30 days", async () => {
  let seed = 7;
  const draw = (bound) => (seed = (seed * 48_271) % 2_147_483_647) % bound;
  for (let round = 0; round < 10; round++) {
    const one = device();
    const kept = [];
    for (let step = 0; step < 60; step++) {
      one.day = TODAY + [draw(5), draw(60), draw(4000) - 1000][draw(3)];
      const before = (await one.state.read()).corrected.length;
      const outcome = await one.record("theme", true);
      const { corrected } = await one.state.read();
      if (corrected.length > before) kept.splice(0, kept.length, ...kept.filter((day) => day <= one.day));
      if (outcome !== "kept") continue;
      assert.ok(!kept.includes(one.day));
      kept.push(one.day);
    }
    const { corrected, accounts } = await one.state.read();
    assert.ok(corrected.every((day, index) => corrected.every((other, at) => at === index || Math.abs(day - other) >= 30)));
    assert.ok(accounts[THEME.version].reports >= kept.length);
  }
});

test("storage that was cleared is empty: nobody consented", async () => {
  const one = device();
  await one.record("theme", true);
  await one.state.erase();
  one.day++;
  assert.equal(await one.record("theme", true), "off");
});
