/** Events in IndexedDB: pages of one origin note them together, and a page that is closed amid an event keeps no half of it. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { browser, compiled, site } from "./harness.js";

const TOML = `
[metrics.exports]
type = "number"
low = 0
high = 50
of = "count"
epsilon = 1.0

[metrics.crash]
type = "boolean"
of = "any"
period = "month"
epsilon = 1.0
`;

describe("events in pages", () => {
  const leaving = [];
  let origin, chromium;
  before(async () => {
    const suite = { after: (leave) => leaving.push(leave) };
    origin = await site(suite, { "/metrics.json": JSON.stringify(await compiled(TOML)) });
    chromium = await browser(suite);
  });
  after(() => Promise.all(leaving.map((leave) => leave())));

  /** A person's pages, each with its `client`, whose day is `today`. */
  const person = async (t) => {
    const context = await chromium.newContext();
    t.after(() => context.close());
    return async () => {
      const page = await context.newPage();
      await page.goto(origin);
      await page.evaluate(async () => {
        const { Client, IndexedDBState } = await import("/client/js/src/index.js");
        const { events } = await import("/client/js/src/events.js");
        const metrics = await (await fetch("/metrics.json")).json();
        const options = { app: "events", endpoint: "http://127.0.0.1:9", background: false, strict: true, events };
        window.today = 20_788; // 2026-12-01
        window.client = new Client(metrics, { ...options, today: () => window.today });
        window.kept = () => new IndexedDBState("events").read();
        window.version = metrics.metrics[0].version;
      });
      return page;
    };
  };

  test("two tabs note the events of both, and make one report of the day that is over", async (t) => {
    const open = await person(t);
    const tabs = [await open(), await open()];
    assert.equal(await tabs[0].evaluate(() => client.consent("on")), true);
    const add = () => Promise.all(Array.from({ length: 20 }, (_, place) => client.add(place % 4 ? "exports" : "crash")));
    const outcomes = (await Promise.all(tabs.map((tab) => tab.evaluate(add)))).flat();
    assert.deepEqual(new Set(outcomes), new Set(["noted"]));
    assert.deepEqual(await tabs[1].evaluate(async () => (await kept()).events[version]), { begun: 20_788, state: 30 });
    const next = () => ((window.today += 1), client.add("exports"));
    assert.deepEqual(await Promise.all(tabs.map((tab) => tab.evaluate(next))), ["noted", "noted"]);
    const { events, outbox, accounts } = await tabs[0].evaluate(() => kept());
    assert.deepEqual(outbox.map(({ metric }) => metric), ["exports"]);
    assert.deepEqual(Object.values(accounts).map(({ reports }) => reports).sort(), [1, 1]);
    assert.equal(events[await tabs[0].evaluate(() => version)].state, 2);
    assert.equal(await tabs[1].evaluate(() => client.consent("off")), true);
    assert.equal(await tabs[0].evaluate(() => client.add("exports")), "off");
    assert.equal(await tabs[0].evaluate(async () => "events" in (await kept())), false);
  });

  test("a page that is closed amid its events leaves whole ones, and the next page reports them", async (t) => {
    const open = await person(t);
    const [first, second] = [await open(), await open()];
    await first.evaluate(() => client.consent("on"));
    await first.evaluate(async () => {
      await client.add("exports");
      window.today++;
      for (let more = 0; more < 50; more++) client.add("exports");
    });
    await first.close();
    const state = await second.evaluate(async () => {
      window.today += 2;
      await client.add("exports");
      return kept();
    });
    const { outbox, accounts, last } = state;
    const { reports } = accounts[await second.evaluate(() => version)];
    assert.equal(outbox.filter(({ metric }) => metric === "exports").length, reports);
    assert.ok(reports === 1 || reports === 2, `${reports}`); // the second if the first page came to it before it was closed
    assert.equal(last.exports, 20_790);
  });
});
