/** Days without a network, clocks that jump, and pages that are left. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { slow, until } from "./harness.js";
import { DAY, scene } from "./scene.js";

const dark = () => client.record("theme", "dark");
const status = () => client.status();

/** A page whose user has agreed. */
async function agreed(t, enter, options) {
  const set = await enter(t);
  const context = await set.person();
  const page = await set.open(context, options);
  await page.evaluate(() => client.consent("on"));
  return { ...set, context, page };
}

describe("days, clocks and leaving", () => {
  const enter = scene();

  slow("an answer given without a network arrives a day later", async (t) => {
    const { reports, context, page, again } = await agreed(t, enter);
    await context.setOffline(true);
    assert.equal(await page.evaluate(dark), "kept");
    await until(() => page.evaluate(status), (shown) => shown.lastAttempt !== null);
    assert.equal((await page.evaluate(status)).queued, 1);
    await context.setOffline(false);
    await again(page, { ahead: DAY });
    await until(() => page.evaluate(status), (shown) => shown.sent === 1);
    assert.equal(await page.evaluate(dark), "kept");
    await until(() => page.evaluate(status), (shown) => shown.sent === 2);
    assert.equal(await reports("theme"), 2);
  });

  slow("a clock that is moved to and fro opens a day, and after it is put right another, and no more", async (t) => {
    const { reports, page } = await agreed(t, enter);
    const outcomes = [];
    for (const days of [0, 400, 0, 400, 0, 400, 0]) {
      await page.evaluate((ms) => (window.ahead = ms), days * DAY);
      outcomes.push(await page.evaluate(dark));
    }
    assert.deepEqual(outcomes, ["kept", "kept", "answered", "kept", "answered", "answered", "answered"]);
    await page.evaluate(() => client.flush(60_000));
    assert.ok((await reports("theme")) <= 3);
  });

  slow("a report that is not due when a page is left waits for the next page", async (t) => {
    const { reports, context, page, open } = await agreed(t, enter, { spread: 300 });
    assert.equal(await page.evaluate(dark), "kept");
    await page.goto("about:blank");
    const next = await open(context, { background: false });
    const { queued, sent } = await next.evaluate(status);
    assert.deepEqual([queued, sent, await reports("theme")], [1, 0, 0]);
  });

  test("a hidden page sends the reports that are due", async (t) => {
    const { reports, page } = await agreed(t, enter, { spread: 300 });
    assert.equal(await page.evaluate(dark), "kept");
    const planned = async () => {
      const { IndexedDBState } = await import("/client/js/src/index.js");
      return Object.keys((await new IndexedDBState("tests").read()).held).length;
    };
    await until(() => page.evaluate(planned), (count) => count === 1);
    await page.evaluate(() => {
      window.ahead = 600_000;
      Object.defineProperty(document, "hidden", { value: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await until(() => reports("theme"), (count) => count === 1);
  });
});
