/** Several tabs and frames of one origin, and what storage, clocks and the browser do to them. */
import assert from "node:assert/strict";
import { describe } from "node:test";
import { slow, until } from "./harness.js";
import { DAY, scene } from "./scene.js";

const ANSWERS = { theme: "dark", translated: true, city: "Bern" };

/** Collect what a page throws; every test expects nothing. */
function thrown(page) {
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  return errors;
}

/** What a page's client keeps, by IndexedDB itself. */
const kept = (page) =>
  page.evaluate(async () => {
    const { IndexedDBState } = await import("/client/js/src/index.js");
    return new IndexedDBState("tests").read();
  });

/** How many reports were paid for. */
const debits = ({ accounts }) => Object.values(accounts).reduce((sum, one) => sum + one.reports, 0);

const status = (page) => page.evaluate(() => client.status());

describe("tabs of one origin", () => {
  const enter = scene();

  slow("tabs and frames that record and send at the same moment make one report of each metric", async (t) => {
    const { person, open, reports, origin, server } = await enter(t);
    const context = await person();
    const tabs = await Promise.all(Array.from({ length: 3 }, () => open(context)));
    const errors = tabs.map(thrown);
    await tabs[0].evaluate(() => client.consent("on"));
    for (const tab of tabs)
      await tab.evaluate(async ([from, endpoint]) => {
        for (let one = 0; one < 2; one++) {
          const frame = document.body.appendChild(document.createElement("iframe"));
          await new Promise((resolve) => Object.assign(frame, { onload: resolve, src: `${from}/` }));
          await frame.contentWindow.eval(`(async () => {
            const { Client } = await import("/client/js/src/index.js");
            const metrics = await (await fetch("/metrics.json")).json();
            window.client = new Client(metrics, { app: "tests", spread: 0, now: parent.client && parent.noon, endpoint: "${endpoint}" });
          })()`);
        }
      }, [origin, server.url]);
    const all = tabs.map((tab) =>
      tab.evaluate(async (answers) => {
        const clients = [window, ...Array.from(frames)].map((one) => one.client);
        const made = clients.flatMap((one) => Object.entries(answers).map(([name, value]) => one.record(name, value)));
        const sent = clients.map((one) => one.flush(60_000));
        return Promise.all([Promise.all(made), Promise.all(sent)]);
      }, ANSWERS),
    );
    const outcomes = (await Promise.all(all)).flatMap(([made]) => made);
    assert.deepEqual([outcomes.length, outcomes.filter((one) => one === "kept").length], [27, 3]);
    assert.ok(outcomes.every((one) => one === "kept" || one === "answered"));
    for (const name of Object.keys(ANSWERS)) await until(() => reports(name), (count) => count === 1);
    const { accounts, outbox, totals } = await kept(tabs[0]);
    assert.deepEqual(Object.values(accounts).map((one) => one.reports), [1, 1, 1]);
    assert.deepEqual([outbox, totals], [[], { sent: 3, dropped: 0 }]);
    assert.deepEqual(errors.flat(), []);
  });

  slow("a tab that dies amid transactions and uploads loses no debit, and no report counts twice", async (t) => {
    const { person, open, server } = await enter(t);
    const context = await person();
    const survivor = await open(context);
    await survivor.evaluate(() => client.consent("on"));
    for (let round = 0; round < 6; round++) {
      const tab = await open(context, { ahead: 40 * DAY * round });
      // Every millisecond another day: some transaction is always under way.
      tab.evaluate(async () => {
        for (; ; window.ahead += 864e5) {
          await Promise.all([client.record("theme", "dark"), client.record("translated", true)]);
          if (Math.random() < 0.2) client.flush(1);
        }
      }).catch(() => {});
      await until(async () => debits(await kept(survivor)), (count) => count > 20 * (round + 1));
      if (round % 2) await tab.close();
      else {
        const session = await context.newCDPSession(tab);
        session.send("Page.crash").catch(() => {});
        await new Promise((resolve) => tab.once("crash", resolve));
      }
      const data = await kept(survivor);
      assert.equal(debits(data), data.outbox.length + data.totals.sent + data.totals.dropped, `round ${round}`);
    }
    const { totals } = await kept(survivor);
    const counted = await Promise.all(["theme", "translated"].map((name) => server.reports(name)));
    assert.ok(counted[0] + counted[1] >= totals.sent, "answered reports are counted");
  });

  slow("a later version of the client in another tab is let in, and what it keeps is not touched", async (t) => {
    const { person, open } = await enter(t);
    const context = await person();
    const [tab, later] = [await open(context), await open(context)];
    const errors = [tab, later].map(thrown);
    await tab.evaluate(() => client.consent("on"));
    await tab.evaluate(() => client.record("theme", "dark"));
    const upgrade = (version, store) =>
      later.evaluate(
        ([version, store]) =>
          new Promise((resolve, reject) => {
            const request = indexedDB.open("dither tests", version);
            request.onupgradeneeded = () => store && request.result.createObjectStore(store);
            request.onblocked = () => reject(new Error("blocked"));
            request.onerror = () => reject(request.error);
            request.onsuccess = () => {
              const put = request.result.transaction("state", "readwrite").objectStore("state").put({ format: 2, accounts: { kept: 1 } }, 0);
              put.onsuccess = () => (request.result.close(), resolve("done"));
            };
          }),
        [version, store],
      );
    const found = () =>
      later.evaluate(
        () =>
          new Promise((resolve) => {
            const request = indexedDB.open("dither tests");
            request.onsuccess = () => {
              const get = request.result.transaction("state").objectStore("state").get(0);
              get.onsuccess = () => (request.result.close(), resolve(get.result));
            };
          }),
      );
    for (const [version, store] of [[1, ""], [2, "more"]]) {
      assert.equal(await upgrade(version, store), "done", "nobody holds it up");
      assert.deepEqual(await tab.evaluate(() => Promise.all([client.record("city", "Bern"), client.consent("on"), client.flush(1000)])), ["failed", false, false]);
      assert.deepEqual(await found(), { format: 2, accounts: { kept: 1 } });
      const { mode, trouble } = await status(tab);
      assert.equal(mode, "off");
      assert.ok(Object.keys(trouble).some((kind) => kind.includes("VersionError") || kind.includes("cannot be read")), JSON.stringify(trouble));
    }
    assert.deepEqual(errors.flat(), []);
  });

  slow("a page that is frozen and resumed reports once, and sends nothing that was withdrawn while it was frozen", async (t) => {
    const { person, open, reports } = await enter(t);
    const context = await person();
    const [tab, other] = [await open(context), await open(context)];
    const errors = [tab, other].map(thrown);
    await tab.evaluate(() => client.consent("on"));
    const session = await context.newCDPSession(tab);
    const lives = (state) => session.send("Page.setWebLifecycleState", { state });
    tab.evaluate(() => Promise.all([client.record("theme", "dark"), client.record("city", "Bern")])).catch(() => {});
    await lives("frozen");
    await other.evaluate(() => client.record("theme", "light")); // fails if the frozen page is amid a transaction
    const withdrawn = await other.evaluate(() => client.consent("off"));
    assert.equal((await status(other)).mode, "off", "it holds in this tab in any case");
    await lives("active");
    if (!withdrawn) assert.equal(await other.evaluate(() => client.consent("off")), true);
    await tab.evaluate(() => client.flush(5000));
    assert.ok((await reports("theme")) <= 1);
    assert.deepEqual((await kept(other)).outbox, []);
    const { accounts } = await kept(tab);
    assert.ok(Object.values(accounts).every((one) => one.reports === 1));
    assert.deepEqual(errors.flat(), []);
  });

  slow("tabs whose clocks differ make a report for each day that they show, and one for each correction", async (t) => {
    const { person, open } = await enter(t);
    const context = await person();
    const tabs = [];
    for (const days of [0, 400, -3, 31, 0, 2]) tabs.push(await open(context, { ahead: days * DAY, background: false }));
    await tabs[0].evaluate(() => client.consent("on"));
    for (let round = 0; round < 3; round++)
      await Promise.all(tabs.map((tab) => tab.evaluate(() => client.record("theme", "dark"))));
    const { accounts, corrected } = await kept(tabs[0]);
    const [{ reports }] = Object.values(accounts);
    assert.ok(reports <= 5 + corrected.length, `${reports} reports of 5 days, corrected on ${corrected}`);
  });
});
