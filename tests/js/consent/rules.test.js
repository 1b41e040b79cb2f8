import assert from "node:assert/strict";
import { test } from "node:test";

import { UNASKED, choose, decide, isMode, permission } from "../../../client/js/src/consent/rules.js";
import { empty } from "../../../client/js/src/state/data.js";

const YES = { mode: "on", accepted: { aaaa: { name: "theme", day: 20000 } } };
const metric = (/** @type {object} */ other = {}) =>
  /** @type {any} */ ({ name: "theme", terms: "aaaa", expires: null, ...other });

test("nobody was asked: off", () => {
  assert.deepEqual(decide({}, null), { mode: "off", decidedBy: UNASKED, accepted: {} });
});

test("the user's choice holds, pinned to its terms", () => {
  assert.deepEqual(decide({}, YES), { mode: "on", decidedBy: "the user's choice", accepted: YES.accepted });
  assert.equal(decide({ navigator: { doNotTrack: "0", webdriver: false } }, YES).mode, "on");
  assert.equal(decide({ navigator: { doNotTrack: "unspecified" } }, YES).mode, "on");
  assert.equal(decide({ navigator: { doNotTrack: null } }, YES).mode, "on");
});

test("an unreadable choice is off", () => {
  const { mode, decidedBy } = decide({}, { mode: "maybe", accepted: YES.accepted });
  assert.deepEqual([mode, decidedBy], ["off", "the user's choice, which cannot be read"]);
});

for (const navigator of [
  { globalPrivacyControl: true },
  { doNotTrack: "1" },
  { doNotTrack: "yes" },
  { webdriver: true },
  { globalPrivacyControl: true, doNotTrack: "0", webdriver: false },
])
  test(`off whatever was said: ${JSON.stringify(navigator)}`, () => {
    const consent = decide({ navigator, environment: () => ["on", "DITHER"] }, YES);
    assert.equal(consent.mode, "off");
    assert.notEqual(consent.decidedBy, "the user's choice");
  });

test("a metric is collected as it was accepted, until its last day is over", () => {
  const on = decide({}, YES);
  assert.equal(permission(on, metric(), 20001), "collected");
  assert.equal(permission(on, metric({ terms: "bbbb" }), 20001), "not accepted");
  assert.equal(permission(on, metric({ terms: "constructor" }), 20001), "not accepted");
  assert.equal(permission(decide({}, null), metric(), 20001), "off");
  const last = metric({ expires: "2027-06-30" });
  const day = Date.UTC(2027, 5, 30) / 864e5;
  assert.equal(permission(on, last, day), "collected");
  assert.equal(permission(on, last, day + 1), "expired");
  assert.equal(permission(decide({ environment: () => ["on", "DITHER"] }, YES), metric({ terms: "bbbb" }), 20001), "collected");
});

test("there are three modes", () => {
  assert.deepEqual(["off", "local", "on", "", "On", null, {}].filter(isMode), ["off", "local", "on"]);
});

test("a yes keeps the earlier ones and their days; an off keeps none", () => {
  const data = empty();
  const other = metric({ name: "other", terms: "bbbb" });
  const accepted = () => data.choice && Object.entries(data.choice.accepted).map(([terms, { day }]) => [terms, day]);
  choose(data, "on", [metric()], 20000, {});
  choose(data, "on", [metric(), other], 20001, {});
  assert.deepEqual(accepted(), [["aaaa", 20000], ["bbbb", 20001]]);
  choose(data, "off", [other], 20002, {});
  assert.deepEqual(data.choice, { mode: "off", accepted: {} });
  choose(data, "local", [other], 20003, {});
  assert.deepEqual(accepted(), [["bbbb", 20003]]);
});
