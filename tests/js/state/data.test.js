import assert from "node:assert/strict";
import test from "node:test";
import { checked, empty, renewed } from "../../../client/js/src/state/data.js";

const full = () => ({
  format: 1,
  choice: { mode: "on", accepted: { abc: { name: "theme", day: 20_779 } } },
  accounts: { "0011223344556677": { name: "theme", reports: 2, epsilon: 1.5, day: 20_779 } },
  last: { theme: 20_779 },
  disabled: { "0011223344556677": 20_779 },
  corrected: [20_779],
  outbox: [{ batch: "ab", metric: "theme", day: 20_779, local: false, body: "{}" }],
  held: { ab: { moment: 1.8e12, notBefore: 0, failures: 1 } },
  sent: ["{}"],
  totals: { sent: 1, dropped: 0 },
  attempt: { at: 1.8e12, endpoint: "https://example.org", accepted: false, result: "503", failures: 1 },
});

test("nothing stored is empty data", () => assert.deepEqual(checked(undefined), empty()));

test("what a client keeps is believed as it is", () => {
  for (const data of [empty(), full(), renewed(["theme"], 5)]) assert.equal(checked(data), data);
  assert.deepEqual(checked(JSON.parse(JSON.stringify(full()))), full());
});

test("a value that is no data at all is damaged", () => {
  for (const stored of [null, 0, "", "{}", [], {}, true, [empty()], { ...empty(), format: 0 }, { ...empty(), format: NaN }]) {
    assert.throws(() => checked(stored), { name: "DataError" });
  }
});

test("data of a later version are not damaged", () => {
  for (const stored of [{ ...empty(), format: 2 }, { format: 1e9 }])
    assert.throws(() => checked(stored), { name: "VersionError" });
});

test("a field that is missing, or of another type, is damage", () => {
  for (const name of Object.keys(full())) {
    for (const junk of [undefined, null, Symbol.iterator, [[]], -0.5, { x: {} }, "\0", NaN]) {
      const like = Object.prototype.toString.call(junk) === Object.prototype.toString.call(full()[name]);
      if (name === "choice" || name === "attempt" || (like && name !== "format")) continue;
      assert.throws(() => checked({ ...full(), [name]: junk }), { name: "DataError" }, `${name}: ${String(junk)}`);
    }
  }
});

test("tables may have entries that objects know, too", () => {
  for (const name of ["constructor", "toString", "valueOf"]) checked({ ...full(), last: { [name]: 5 } });
});

test("damaged data are replaced by fresh ones: every metric answered, and events lost", () => {
  const data = renewed(new Map([["theme", 1], ["constructor", 2]]).keys(), 20_779);
  assert.deepEqual(data, { ...empty(), events: null, last: { theme: 20_779, constructor: 20_779 } });
});
