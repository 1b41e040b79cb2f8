/** What every kind of state promises, of the one in IndexedDB; and what it alone promises. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { scenarios } from "../state/scenarios.js";
import { browser, site } from "./harness.js";

describe("a state in IndexedDB", () => {
  const leaving = [];
  let page;
  before(async () => {
    const suite = { after: (leave) => leaving.push(leave) };
    page = await (await browser(suite)).newPage();
    await page.goto(await site(suite));
    await page.evaluate(async () => {
      window.scenarios = (await import("/tests/js/state/scenarios.js")).scenarios;
      window.IndexedDBState = (await import("/client/js/src/index.js")).IndexedDBState;
    });
  });
  after(() => Promise.all(leaving.map((leave) => leave())));

  for (const name of Object.keys(scenarios)) {
    test(name, () => page.evaluate((which) => scenarios[which](() => new IndexedDBState(which)), name));
  }

  test("a worker of the page shares its state", async () => {
    const seen = await page.evaluate(async () => {
      const state = new IndexedDBState("worker");
      await state.update((data) => void (data.last.theme = 7));
      const code = `
        import { IndexedDBState } from "${location.origin}/client/js/src/index.js";
        new IndexedDBState("worker").update((data) => data.last.theme++).then((theme) => postMessage(theme));`;
      const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
      const worker = new Worker(address, { type: "module" });
      const before = await new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = reject;
      });
      return [before, (await state.read()).last.theme];
    });
    assert.deepEqual(seen, [7, 8]);
  });

  test("reading makes no database, not even while somebody begins to write", async () => {
    const found = await page.evaluate(async () => {
      const names = async () => (await indexedDB.databases()).map(({ name }) => name);
      const state = new IndexedDBState("unmade");
      const before = [(await state.read()).choice, (await names()).includes("dither unmade")];
      const reads = [state.read(), state.read()];
      const written = [state.update((data) => void (data.last.a = 1)), state.update((data) => void (data.last.b = 2))];
      await Promise.all([...reads, ...written, state.read()]);
      return [...before, (await state.read()).last, (await names()).includes("dither unmade")];
    });
    assert.deepEqual(found, [null, false, { a: 1, b: 2 }, true]);
  });

  test("a database that somebody deletes is made again", async () => {
    const found = await page.evaluate(async () => {
      const state = new IndexedDBState("deleted");
      await state.update((data) => void (data.last.theme = 7));
      await new Promise((resolve, reject) => {
        const request = indexedDB.deleteDatabase("dither deleted");
        request.onsuccess = resolve;
        request.onerror = request.onblocked = reject;
      });
      return (await state.read()).last;
    });
    assert.deepEqual(found, {});
  });
});
