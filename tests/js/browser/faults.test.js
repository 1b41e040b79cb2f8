/** What the state in IndexedDB does where IndexedDB fails. */
import { test } from "node:test";
import { faults, overflow } from "../state/faults.js";
import { browser, site, slow } from "./harness.js";

/** Open a page that has the states, on a site that keeps nothing yet. */
async function opened(t) {
  const page = await (await browser(t)).newPage();
  const origin = await site(t);
  await page.goto(origin);
  await page.evaluate(async () => {
    Object.assign(window, await import("/tests/js/state/faults.js"));
    window.State = (await import("/client/js/src/state/indexeddb.js")).IndexedDBState;
  });
  return { page, origin };
}

test("faults of IndexedDB", async (t) => {
  const { page } = await opened(t);
  for (const name of Object.keys(faults)) await t.test(name, () => page.evaluate((which) => faults[which](State), name));
});

slow("an exhausted quota rejects the update, and the earlier data stay", async (t) => {
  const { page, origin } = await opened(t);
  const session = await page.context().newCDPSession(page);
  await session.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: 5e6 });
  await page.evaluate(() => overflow(State));
});
