/** Answers that a device forms of its own events: their law, the stored data, and one report per period. */
import assert from "node:assert/strict";
import { before, test } from "node:test";

import "../../client/js/src/all.js";
import { Client } from "../../client/js/src/client.js";
import { events } from "../../client/js/src/events.js";
import { bigEndian } from "../../client/js/src/mechanisms/rows.js";
import { FIRST_DAY } from "../../client/js/src/reporting/ledger.js";
import { empty } from "../../client/js/src/state/data.js";
import { MemoryState } from "../../client/js/src/state/memory.js";
import { compiled, slow } from "./browser/harness.js";
import { words } from "./seeded_entropy.js";

const EXACT = "epsilon = 20.0\n"; // a report differs from the answer with a probability below 1e-6 in all of these tests
const NUMBER = `type = "number"\nlow = -50\nhigh = 50\nperiod = "week"\n${EXACT}`;
const TOML = `
[metrics.exports]
of = "count"
${NUMBER}
[metrics.bytes]
of = "sum"
${NUMBER}
[metrics.longest]
of = "max"
${NUMBER}
[metrics.days]
of = "days"
${NUMBER}
[metrics.crash]
type = "boolean"
of = "any"
period = "week"
${EXACT}
[metrics.used]
type = "selection"
values = ["export", "print", "share"]
of = "set"
period = "week"
${EXACT}
[metrics.step]
type = "choice"
values = ["opened", "edited", "saved"]
of = "furthest"
period = "week"
${EXACT}
[metrics.retention]
type = "choice"
values = ["0", "1", "4"]
of = "weeks-since-first-use"
period = "week"
${EXACT}
[metrics.theme]
type = "choice"
values = ["dark", "light"]
after = "2 days"
${EXACT}
[metrics.monthly]
type = "boolean"
period = "month"
${EXACT}
`;
const MONDAY = Date.UTC(2026, 10, 23) / 864e5;

/** @type {any} */
let all;
before(async () => void (all = await compiled(TOML)));

/** Some of the metrics, all with the same changes. */
const only = (names, changes = {}) => ({
  ...all,
  metrics: all.metrics.filter(({ name }) => names.includes(name)).map((metric) => ({ ...metric, ...changes })),
});

/** A device with a day and a state, and ways to open clients on it. @param {object} [given] Options of all clients. */
function device(given = {}) {
  const met = { day: MONDAY, state: new MemoryState(), logged: [], status: 202, posts: [] };
  const fetch = async (_, { body }) => (met.posts.push(body), new Response(null, { status: met.status }));
  met.open = (metrics = all, more = {}) =>
    new Client(metrics, {
      ...{ app: "notes", endpoint: "https://telemetry.example.org/", state: met.state, background: false, fetch, events },
      ...{ today: () => met.day, now: () => met.day * 864e5, log: (text) => met.logged.push(text), ...given, ...more },
    });
  met.data = () => met.state.read();
  return met;
}

/** What reports say, by metric: for a set, whether its cohort's value is reported, by that value. */
function answersOf(bodies) {
  const found = {};
  for (const { metric: name, reports } of bodies.map((body) => JSON.parse(body))) {
    const { law, question } = all.metrics.find((one) => one.name === name);
    const row = [...atob(reports)].map((byte) => byte.charCodeAt(0));
    const split = bigEndian([0], law.cohorts).length;
    const [cohort, cell] = [row.slice(0, split), row.slice(split)].map((bytes) => bytes.reduce((sum, byte) => 256 * sum + byte, 0));
    const points = { boolean: [false, true], choice: question.values, selection: [{ [cohort]: false }, { [cohort]: true }] }[question.kind];
    // Of a number, the first point of the step of the wide grid that lies at its cohort.
    (found[name] ??= []).push(points ? points[cell] : cell * law.cohorts - cohort);
  }
  return found;
}

/** Assert that a reported step has the number in it, which was rounded to one of two points. */
const near = (name, reported, wanted) => {
  const { law, question } = all.metrics.find((one) => one.name === name);
  const item = ((wanted - question.low) / (question.high - question.low)) * (question.points - 1);
  assert.ok(reported - 1 < item && item < reported + law.cohorts, `${name}: ${reported} for ${item} of ${question.points}`);
};

const settled = async (client) => {
  await client.flush(0); // whose review comes behind that of the start
  return client;
};

/** Consent, and return the client. */
async function consenting(met, metrics, more) {
  const client = met.open(metrics, more);
  await client.consent("on");
  return client;
}

// The law: every sequence of random words is walked, with 8 words for each that stand for all of them. They have each
// value of the upper two bits, which decide a coin of 3/4, with either remainder by 2, which is the cohort.
const WORDS = Array.from({ length: 8 }, (_, place) => (BigInt(place >> 1) << 62n) + BigInt(place & 1));

/** Return the law of what `draw` resolves to, as text, in 8^-10ths. */
async function lawOf(draw) {
  const law = {};
  const walk = async (path) => {
    let at = 0;
    const entropy = {
      take: (count) => {
        if (count !== 8) return new Uint8Array(count); // a batch id
        if (at === path.length) throw new RangeError("more");
        return words(path[at++]);
      },
    };
    let drawn;
    try {
      drawn = await draw(entropy);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      for (const word of WORDS) await walk([...path, word]);
      return;
    }
    law[drawn] = (law[drawn] ?? 0) + 8 ** (10 - path.length);
  };
  await walk([]);
  return law;
}

const TRUTH = { truth: "c000000000000000" };
const CERTAIN = 8 ** 10;

/** The stored data of a metric after some events, in a state that begins as given. */
async function keptAfter(metric, begun, values, entropy) {
  const state = new MemoryState({ ...empty(), choice: null, ...(begun && { events: { [metric.version]: { begun: MONDAY, state: begun } } }) });
  const recorder = new events({
    metrics: new Map([[metric.name, metric]]),
    consent: () => ({ mode: "on", decidedBy: "", accepted: null }),
    diagnostics: { note: () => {} },
    ...{ state, entropy, today: () => MONDAY, strict: true },
  });
  await recorder.review();
  for (const value of values) await recorder.add(metric.name, value);
  return (await state.read()).events[metric.version].state;
}

test("the row of any is that of no when it is opened, and of yes after each event, whatever it was: all draws", async () => {
  const [metric] = only(["crash"]).metrics.map((one) => ({ ...one, law: { ...one.law, ...TRUTH } }));
  const row = (...given) => lawOf(async (entropy) => (await keptAfter(metric, ...given, entropy)).row);
  const [no, yes] = ["\0", "\x01"].map((byte) => btoa(byte));
  assert.deepEqual(await row(null, []), { [no]: CERTAIN * 0.75, [yes]: CERTAIN * 0.25 });
  for (const before of [no, yes])
    for (const values of [[true], ["true"], [1, false]])
      assert.deepEqual(await row({ batch: "b", cohort: 0, row: before }, values), { [yes]: CERTAIN * 0.75, [no]: CERTAIN * 0.25 });
  assert.deepEqual(await row(null, [true]), { [yes]: CERTAIN * 0.75, [no]: CERTAIN * 0.25 });
});

// The vectors of events hold its bytes.
slow("the row of a set is about one value, and drawn again for that alone: all draws", async () => {
  const [one] = only(["used"]).metrics;
  const metric = { ...one, question: { ...one.question, values: ["a", "b"] }, law: { ...one.law, ...TRUTH, cohorts: 2 } };
  const row = (...given) =>
    lawOf(async (entropy) => {
      const { cohort, row } = await keptAfter(metric, ...given, entropy);
      assert.equal(atob(row).charCodeAt(0), cohort);
      return [...atob(row)].map((byte) => byte.charCodeAt(0)).join();
    });
  const half = CERTAIN / 2;
  const opened = { "0,0": half * 0.75, "0,1": half * 0.25, "1,0": half * 0.75, "1,1": half * 0.25 };
  assert.deepEqual(await row(null, []), opened);
  assert.deepEqual(await row(null, ["b"]), { ...opened, "1,0": half * 0.25, "1,1": half * 0.75 });
  for (const cohort of [0, 1])
    for (const cell of [0, 1]) {
      const before = { batch: "b", cohort, row: btoa(String.fromCharCode(cohort, cell)) };
      for (const place of [0, 1]) {
        const distribution = await row(before, [["a", "b"][place], "c"]);
        const fresh = { [`${cohort},1`]: CERTAIN * 0.75, [`${cohort},0`]: CERTAIN * 0.25 };
        assert.deepEqual(distribution, place === cohort ? fresh : { [`${cohort},${cell}`]: CERTAIN });
      }
    }
});

test("the answer of a week is reported once, at the first client of the next", async () => {
  const met = device();
  await consenting(met);
  for (let visit = 0; visit < 3; visit++, met.day += 2) {
    const client = met.open();
    const given = [["exports"], ["bytes", 5], ["bytes", -10], ["longest", 7], ["longest", 3], ["days"], ["days"]];
    given.push(["crash"], ["used", "print"], ["step", "edited"], ["step", "opened"]);
    const outcomes = await Promise.all(given.map((one) => client.add(.../** @type {[string, any]} */ (one))));
    assert.deepEqual(new Set(outcomes), new Set(["noted"]));
    client.close();
  }
  await settled(met.open()); // on Sunday
  assert.deepEqual(answersOf(met.posts), { retention: ["0"] });
  met.day++;
  for (let start = 0; start < 2; start++) {
    const client = await settled(met.open());
    assert.equal(await client.add("exports"), "noted");
    const { exports: one, bytes, longest, days, used, ...rest } = answersOf(met.posts.concat(await client.preview()));
    for (const [name, reported, wanted] of [["exports", one, 3], ["bytes", bytes, -15], ["longest", longest, 7], ["days", days, 3]]) {
      assert.equal(reported.length, 1);
      near(name, reported[0], wanted);
    }
    assert.ok([{ 0: false }, { 1: true }, { 2: false }].some((each) => JSON.stringify([each]) === JSON.stringify(used)), JSON.stringify(used));
    assert.deepEqual(rest, { crash: [true], step: ["edited"], retention: ["0", "1"] });
  }
});

test("a week without an event is reported, too, and one without a client is not", async () => {
  const met = device();
  await consenting(met, only(["exports", "crash", "step"]));
  met.day += 15;
  await settled(met.open(only(["exports", "crash", "step"])));
  const { exports, ...rest } = answersOf(met.posts);
  near("exports", exports[0], 0);
  assert.deepEqual([exports.length, rest], [1, { crash: [false], step: ["other"] }]);
});

test("a page that stays open reports at its first call in the next week, whichever call that is", async () => {
  const calls = {
    add: (client) => client.add("exports"),
    record: (client) => client.record("monthly", true),
    flush: (client) => client.flush(0),
    consent: (client) => client.consent("on"),
  };
  for (const [name, call] of Object.entries(calls)) {
    const met = device({ fetch: () => Promise.reject(new TypeError("down")) });
    const client = await consenting(met, only(["exports", "monthly"]));
    await client.add("exports");
    met.day += 7;
    await call(client);
    const exports = answersOf(await client.preview()).exports;
    assert.equal(exports?.length, 1, name);
    near("exports", exports[0], 1);
  }
});

test("in the background a report of an ended period wakes the sender", async () => {
  const met = device({ spread: 0, background: true });
  (await consenting(met, only(["crash"]))).close();
  met.day += 7;
  const arrived = new Promise((resolve) => {
    met.open(only(["crash"]), { fetch: async (_, { body }) => (resolve(body), new Response(null, { status: 202 })) });
  });
  assert.equal(JSON.parse(await arrived).metric, "crash");
});

test("a month is one period, in leap years too, and its answers are given once", async () => {
  const at = (text) => Date.parse(text) / 864e5;
  for (const [day, first] of [["2028-02-29", "2028-02-01"], ["2028-03-01", "2028-03-01"], ["2027-12-31", "2027-12-01"], ["1970-01-31", "1970-01-01"]])
    assert.equal(FIRST_DAY.month(at(day)), at(first));
  const met = device();
  met.day = at("2028-02-01");
  const client = await consenting(met, only(["monthly"]));
  assert.equal(await client.record("monthly", true), "kept");
  for (const day of ["2028-02-02", "2028-02-29"]) {
    met.day = at(day);
    assert.equal(await client.record("monthly", true), "answered");
  }
  met.day++;
  assert.equal(await client.record("monthly", true), "kept");
});

test("a week that ended more than 30 days ago is dropped, and said", async () => {
  const met = device();
  const metrics = only(["exports", "crash"]);
  await (await consenting(met, metrics)).add("exports");
  met.day += 6 + 31;
  await settled(met.open(metrics));
  assert.deepEqual([met.posts, met.logged.length], [[], 1]);
  assert.match(met.logged[0], /ended long ago/);
  const other = device();
  await consenting(other, metrics);
  other.day += 6 + 30;
  await settled(other.open(metrics));
  assert.equal(other.posts.length, 2);
});

test("any and set are paid for when the period is opened, and the data hold nothing of them but the row", async () => {
  const met = device();
  const metrics = only(["crash", "used"]);
  const client = await consenting(met, metrics);
  const { events: before, ...rest } = await met.data();
  assert.deepEqual(Object.values(rest.accounts).map(({ reports }) => reports), [1, 1]);
  await client.add("crash");
  for (const value of ["share", "print", "export"]) await client.add("used", value);
  const { events: after, ...others } = await met.data();
  assert.deepEqual(others, rest);
  for (const { version, law } of metrics.metrics) {
    const { begun, state } = after[version];
    assert.deepEqual([begun, Object.keys(state)], [MONDAY, ["batch", "cohort", "row"]]);
    assert.equal(state.batch, before[version].state.batch);
    assert.equal(atob(state.row).length, law.cohorts > 1 ? 2 : 1);
  }
});

test("an update that fails keeps nothing of it, and another time all of it is there once", async () => {
  const met = device();
  const metrics = only(["exports", "crash"]);
  const client = await consenting(met, metrics);
  await client.add("exports");
  met.day += 7;
  const { update } = met.state;
  const before = await met.data();
  met.state.update = (change) => Promise.reject(new DOMException(`secret ${change}`, "QuotaExceededError"));
  assert.equal(await client.add("exports"), "failed");
  assert.equal(await client.flush(0), false);
  assert.deepEqual(await met.data(), before);
  // Whatever dies in between: the change is made in memory, and kept with the ledger and the report, or not at all.
  met.state.update = (change) => update.call(met.state, (data) => { change(data); throw new DOMException("secret", "AbortError"); });
  assert.equal(await client.add("exports"), "failed");
  assert.deepEqual(await met.data(), before);
  met.state.update = update;
  assert.equal(await client.add("exports"), "noted");
  assert.equal((await client.preview()).length, 2);
  assert.deepEqual(met.logged, ["dither: events failed: QuotaExceededError", "dither: events failed: AbortError"]);
});

test("two tabs note the events of both, and make one report", async () => {
  const met = device();
  const metrics = only(["exports", "crash"]);
  const tabs = [await consenting(met, metrics), met.open(metrics), met.open(metrics)];
  await Promise.all(Array.from({ length: 30 }, (_, index) => tabs[index % 3].add("exports")));
  const [{ version }] = metrics.metrics;
  assert.deepEqual((await met.data()).events[version], { begun: MONDAY, state: 30 });
  met.day += 7;
  await Promise.all(tabs.map((tab) => tab.add("exports")));
  const answers = answersOf(await tabs[0].preview());
  assert.deepEqual([answers.exports.length, answers.crash], [1, [false]]);
  near("exports", answers.exports[0], 30);
  assert.equal((await met.data()).events[version].state, 3);
});

test("a thousand events at once open the period once, and each counts", async () => {
  const met = device();
  const client = await consenting(met, only(["exports"]));
  await Promise.all(Array.from({ length: 1000 }, () => client.add("exports")));
  assert.equal(Object.values((await met.data()).events)[0].state, 1000);
});

test("clients of other metrics keep the events of each other's while a period lasts", async () => {
  const met = device();
  const [one, other] = [only(["exports"]), only(["longest"])];
  await consenting(met, one);
  const second = await consenting(met, other);
  await second.add("longest", 9);
  await met.open(one).add("exports");
  met.day += 6;
  await settled(met.open(one));
  met.day++;
  await settled(met.open(one));
  await settled(met.open(other));
  const answers = answersOf(met.posts);
  near("exports", answers.exports[0], 1);
  near("longest", answers.longest[0], 9);
  met.day += 40;
  await settled(met.open(one));
  assert.deepEqual(Object.keys((await met.data()).events), [one.metrics[0].version]);
});

test("nothing is read into the data before a yes, and a no deletes the events", async () => {
  for (const way of ["consent", "forget"]) {
    const met = device();
    const client = met.open();
    assert.equal(await client.add("exports"), "off");
    assert.deepEqual(await met.data(), empty());
    await client.consent("on");
    assert.equal(await client.add("exports"), "noted");
    await client[way]("off");
    assert.equal("events" in (await met.data()), false);
    assert.equal(await client.add("exports"), "off");
    assert.equal("events" in (await met.data()), false);
    await client.consent("on");
    assert.equal(await client.add("exports"), "noted");
  }
});

test("signs against consent delete the events, and consent to other metrics notes none", async () => {
  const met = device();
  await (await consenting(met, only(["exports"]))).add("exports");
  await settled(met.open(only(["exports"]), { surroundings: { navigator: { globalPrivacyControl: true } } }));
  assert.equal("events" in (await met.data()), false);
  const client = met.open();
  assert.equal(await client.add("exports"), "noted");
  assert.equal(await client.add("longest", 1), "off");
  const changed = only(["exports"], { terms: "of another text" });
  assert.equal(await met.open(changed).add("exports"), "off");
  assert.deepEqual((await met.data()).events, {});
});

test("a metric whose last day is over has no events any more", async () => {
  const met = device();
  const metrics = only(["exports"], { expires: "2026-11-24" });
  const client = await consenting(met, metrics);
  assert.equal(await client.add("exports"), "noted");
  met.day += 2;
  assert.equal(await client.add("exports"), "off");
  assert.deepEqual((await met.data()).events, {});
});

test("in the mode local the reports are for the person's eyes", async () => {
  const met = device();
  const client = met.open(only(["exports", "crash"]));
  await client.consent("local");
  met.day += 7;
  await client.flush();
  assert.deepEqual([met.posts, (await client.preview()).length], [[], 2]);
});

for (const who of ["the person", "the environment"])
  test(`events of the mode local are never sent: ${who}`, async () => {
    let mode = who === "the environment" ? ["local", "DITHER"] : undefined;
    const met = device({ surroundings: { environment: () => mode } });
    const client = met.open(only(["exports", "crash"]));
    if (!mode) await client.consent("local");
    await client.add("exports");
    if (!mode) await client.add("crash"); // one that is not added is part of the answer, too
    mode = undefined;
    await client.consent("on");
    met.day += 7;
    await client.flush();
    const sent = met.posts.map((body) => JSON.parse(body).metric);
    assert.deepEqual(sent, ["exports"], "none of the row that was drawn for the mode local, and a count from then on");
    near("exports", answersOf(met.posts).exports[0], 0);
  });

test("data of a client without events are read as having none", async () => {
  const met = device();
  const old = { ...empty(), last: { exports: MONDAY - 7 }, accounts: { abc: { name: "exports", reports: 1, epsilon: 1, day: MONDAY - 7 } } };
  met.state = new MemoryState(old);
  const client = await consenting(met);
  assert.equal(await client.add("exports"), "noted");
  const { firstUse, events: kept, ...rest } = await met.data();
  assert.deepEqual([firstUse, rest.format], [MONDAY, 1]);
  assert.equal(Object.keys(kept).length, 7);
});

test("events that were lost with damaged data cost the report of the period, and are said", async () => {
  const met = device();
  met.state = new MemoryState({ format: 1, choice: "?" });
  const metrics = only(["exports", "crash", "days"]);
  const client = await consenting(met, metrics);
  assert.match(met.logged.join(), /could not be read/);
  for (const name of ["exports", "crash", "days"]) assert.equal(await client.add(name), "off");
  met.day += 7;
  for (const name of ["exports", "crash", "days"]) assert.equal(await client.add(name), "noted");
  assert.deepEqual(await client.preview(), []);
  met.day += 7;
  await client.add("exports");
  const answers = answersOf(await client.preview());
  near("exports", answers.exports[0], 1);
  near("days", answers.days[0], 1);
  assert.deepEqual(answers.crash, [true]);
});

test("a clock that was ahead loses its period, and gains no report", async () => {
  const met = device();
  const metrics = only(["exports", "crash"]);
  await (await consenting(met, metrics)).add("exports");
  met.day += 300;
  await met.open(metrics).add("exports");
  met.day -= 300;
  for (let week = 0; week < 4; week++, met.day += 7) for (const name of ["exports", "crash"]) await met.open(metrics).add(name);
  const client = await settled(met.open(metrics));
  for (const { reports } of (await client.status()).metrics) assert.ok(reports <= 1 + 1 + 4, `${reports}`);
  assert.ok(answersOf(met.posts).exports.length <= 4);
});

test("a day of first use that lies ahead becomes today, and a clock that is behind notes none", async () => {
  const met = device();
  met.day = 20_000; // before this program was written
  const client = await consenting(met, only(["theme"]));
  assert.equal((await met.data()).firstUse, undefined);
  met.day = MONDAY + 300;
  assert.equal(await client.record("theme", "dark"), "too new");
  assert.equal((await met.data()).firstUse, MONDAY + 300);
  met.day = MONDAY;
  assert.equal(await client.record("theme", "dark"), "too new");
  assert.equal((await met.data()).firstUse, MONDAY);
});

test("a metric with after waits, for events and for answers of the app, and a device of one day never reports", async () => {
  for (let visit = 0; visit < 5; visit++) {
    const short = device();
    const client = await consenting(short, only(["exports", "crash", "retention"], { after: 7 }));
    for (const name of ["exports", "crash"]) assert.equal(await client.add(name), "off");
    assert.deepEqual(await client.preview(), []);
  }
  const met = device();
  const client = await consenting(met, only(["theme"]));
  for (const [outcome, state, reported] of [["too new", "too new", true], ["too new", "too new", true], ["kept", "collected", true]]) {
    assert.equal(await client.record("theme", "dark"), outcome);
    const { metrics } = await client.status();
    assert.deepEqual([metrics[0].state, metrics[0].reported], [state, reported]);
    met.day++;
  }
  met.day -= 2; // a clock that is behind the report, as in Python
  assert.equal((await client.status()).metrics[0].state, "too new");
});

test("values that are no events change nothing", async () => {
  const met = device();
  const metrics = only(["bytes", "longest", "crash", "used", "step"]);
  const client = await consenting(met, metrics);
  const kept = (await met.data()).events;
  const mistakes = [["bytes", "ten"], ["bytes", NaN], ["bytes", Infinity], ["longest", null], ["crash", {}], ["used", ["print"]], ["step", {}]];
  for (const [name, value] of mistakes) assert.equal(await client.add(name, value), "unknown");
  for (const [name, value] of [["crash", false], ["crash", "false"], ["used", "mail"], ["step", "printed"]])
    assert.equal(await client.add(name, value), "noted");
  assert.deepEqual((await met.data()).events, kept);
  assert.equal((await client.status()).counts.mistakes, mistakes.length);
  assert.deepEqual(met.logged[0], "dither: wrong value for metrics.bytes: string");
  assert.ok(!met.logged.join().includes("ten"));
});

test("mistakes of the developer are named, and reject if strict", async () => {
  const met = device();
  const client = await consenting(met);
  const strict = met.open(all, { strict: true });
  for (const [call, message] of [
    [(one) => one.record("exports", 1), /metrics\.exports: formed of events; use add/],
    [(one) => one.add("theme"), /metrics\.theme: not formed of events; use record/],
    [(one) => one.add("retention"), /metrics\.retention: answered by itself/],
    [(one) => one.add("export"), /unknown metric: there are exports/],
    [(one) => one.add(Symbol("exports")), /unknown metric/],
    [(one) => one.add("bytes", "1"), /wrong value for metrics\.bytes: string/],
  ]) {
    assert.equal(await call(client), "unknown");
    assert.match(met.logged.join("\n"), message);
    await assert.rejects(call(strict), message);
  }
});

test("a client without events says which metric needs them, and reports nothing", async () => {
  // Of months choices.test.js says so, in a process that does not import the module.
  for (const name of ["exports", "retention", "theme"]) {
    const met = device({ events: undefined });
    const client = met.open(only([name]));
    assert.deepEqual(met.logged, [`dither: a mistake: TypeError: metrics.${name}: import "dither-client/events" for it`]);
    assert.deepEqual([await client.consent("on"), await client.add(name)], [false, "failed"]);
    assert.throws(() => met.open(only([name]), { strict: true }), /dither-client\/events/);
  }
});
