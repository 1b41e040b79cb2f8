/** Days without a network, clocks that jump, and pages that are left. */
import assert from "node:assert/strict";
import test from "node:test";
import { until } from "./harness.js";
import { DAY, scene, start } from "./scene.js";

const dark = () => client.record("theme", "dark");
const status = () => client.status();

/** A page whose user has agreed. */
async function agreed(t, options) {
  const set = await scene(t);
  const context = await set.person();
  const page = await set.open(context, options);
  await page.evaluate(() => client.consent("on"));
  return { ...set, context, page };
}

test("what was answered without a network arrives a day later", async (t) => {
  const { server, context, page } = await agreed(t);
  await context.setOffline(true);
  assert.equal(await page.evaluate(dark), "kept");
  await until(() => page.evaluate(status), (told) => told.lastAttempt !== null);
  assert.equal((await page.evaluate(status)).queued, 1);
  await context.setOffline(false);
  await page.reload();
  await start(page, { endpoint: server.url, ahead: DAY });
  await until(() => page.evaluate(status), (told) => told.sent === 1);
  assert.equal(await page.evaluate(dark), "kept");
  await until(() => page.evaluate(status), (told) => told.sent === 2);
  assert.equal(await server.reports("theme"), 2);
});

test("a clock that jumps ahead and back reports no more often than a clock that is right", async (t) => {
  const { server, page } = await agreed(t);
  assert.equal(await page.evaluate(dark), "kept");
  const outcomes = [];
  for (const days of [400, 0, 0, 400, 0]) {
    await page.evaluate((ms) => (window.ahead = ms), days * DAY);
    outcomes.push(await page.evaluate(dark));
  }
  // The jump ahead is a day of its own. Back again, the mark that lies ahead is put right, and today counts as answered.
  assert.deepEqual(outcomes, ["kept", "answered", "answered", "kept", "answered"]);
  await page.evaluate(() => client.flush(10_000));
  assert.ok((await server.reports("theme")) <= 3);
});

test("what is due leaves with the page, and what is not waits for the next", async (t) => {
  const { server, context, page } = await agreed(t, { spread: 300 });
  assert.equal(await page.evaluate(dark), "kept");
  // Its moment is drawn, by whoever looks first.
  await until(() => page.evaluate(status), (told) => told.queued === 1);
  await page.goto("about:blank");
  const next = await context.newPage();
  await next.goto(new URL("/", server.url).href);
  assert.equal(await server.reports("theme"), 0);
});

test("a page that is hidden sends what is due", async (t) => {
  const { server, origin, page } = await agreed(t, { spread: 300 });
  assert.equal(await page.evaluate(dark), "kept");
  await page.evaluate(() => (window.ahead = 600_000));
  await page.goto(`${origin}/other`);
  await until(() => server.reports("theme"), (count) => count === 1);
});
