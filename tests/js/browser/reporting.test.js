/** From a page to a real collector on another origin: what arrives, how often, and what does not. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { site, slow, until } from "./harness.js";
import { scene } from "./scene.js";

const agree = () => client.consent("on");
const dark = () => client.record("theme", "dark");
const status = () => client.status();

/** Wait until a page's client has sent `count` reports. */
const sent = (page, count) => until(() => page.evaluate(status), (shown) => shown.sent === count);

describe("from a page to a collector on another origin", () => {
  const enter = scene();

  test("a report arrives, after consent and not before", async (t) => {
    const { reports, person, open } = await enter(t);
    const page = await open(await person());
    assert.deepEqual(await page.evaluate(() => client.pending()), ["theme", "translated", "city"]);
    assert.equal(await page.evaluate(dark), "off");
    assert.equal(await page.evaluate(agree), true);
    assert.equal(await page.evaluate(dark), "kept");
    assert.equal(await page.evaluate(() => client.record("city", "Zürich")), "kept");
    assert.equal(await page.evaluate(dark), "answered");
    assert.equal(await page.evaluate(() => client.record("nothing", 1)), "unknown");
    const shown = await sent(page, 2);
    assert.deepEqual([shown.mode, shown.queued, shown.dropped], ["on", 0, 0]);
    assert.deepEqual([await reports("theme"), await reports("city")], [1, 1]);
    const bodies = await page.evaluate(() => client.sent());
    assert.deepEqual(bodies.map((body) => JSON.parse(body).metric).sort(), ["city", "theme"]);
  });

  test("a request carries nothing that identifies its sender", async (t) => {
    const { server, person, open } = await enter(t);
    const page = await open(await person());
    const asked = [];
    page.on("request", (request) => request.url().startsWith(server.url) && asked.push(request));
    await page.evaluate(() => {
      document.cookie = "who=me";
      return client.consent("on");
    });
    await page.evaluate(dark);
    await sent(page, 1);
    assert.deepEqual(asked.map((request) => [request.method(), new URL(request.url()).pathname]), [["POST", "/v1/reports"]]);
    const headers = await asked[0].allHeaders();
    assert.equal(headers["content-type"], "text/plain;charset=UTF-8");
    assert.equal(headers.cookie, undefined);
    assert.equal(headers.referer, undefined);
  });

  test("two tabs at once make one report a period", async (t) => {
    const { reports, person, open } = await enter(t);
    const context = await person();
    const tabs = await Promise.all([open(context), open(context)]);
    await tabs[0].evaluate(agree);
    const outcomes = await Promise.all(tabs.map((tab) => tab.evaluate(dark)));
    assert.deepEqual(outcomes.sort(), ["answered", "kept"]);
    await sent(tabs[0], 1);
    await Promise.all(tabs.map((tab) => tab.evaluate(() => client.flush(60_000))));
    assert.equal(await reports("theme"), 1);
  });

  slow("a reload keeps consent, and does not report twice", async (t) => {
    const { reports, person, open, again } = await enter(t);
    const page = await open(await person());
    await page.evaluate(agree);
    assert.equal(await page.evaluate(dark), "kept");
    await sent(page, 1);
    await again(page);
    assert.deepEqual(await page.evaluate(() => client.pending()), []);
    assert.equal(await page.evaluate(dark), "answered");
    assert.equal(await page.evaluate(() => client.flush(60_000)), true);
    assert.equal(await reports("theme"), 1);
  });

  slow("consent is asked again after storage was cleared", async (t) => {
    const { origin, person, open, again } = await enter(t);
    const context = await person();
    const page = await open(context);
    await page.evaluate(agree);
    const devtools = await context.newCDPSession(page);
    await devtools.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
    await again(page);
    assert.deepEqual(await page.evaluate(() => client.pending()), ["theme", "translated", "city"]);
    assert.equal(await page.evaluate(dark), "off");
  });

  slow("a page of an origin that is not listed counts nothing", async (t) => {
    const { pages, server, reports, person, open } = await enter(t);
    const other = await site(t, { "/metrics.json": pages["/metrics.json"] });
    const page = await open(await person(), { at: other });
    await page.evaluate(agree);
    await page.evaluate(dark);
    await until(() => page.evaluate(status), (shown) => shown.lastAttempt !== null);
    assert.equal(await reports("theme"), 0);
    const prometheus = String(await server.get("/metrics"));
    const refused = prometheus.split("\n").filter((line) => /origin/i.test(line) && !line.startsWith("#"));
    assert.ok(refused.some((line) => Number(line.split(" ").at(-1)) >= 1), prometheus);
  });

  slow("a report that a collector answers late, or not at all, is sent again when it is back", async (t) => {
    const { server, reports, person, open } = await enter(t);
    const page = await open(await person());
    await page.evaluate(agree);
    await server.stop();
    await page.evaluate(dark);
    await until(() => page.evaluate(status), (shown) => shown.lastAttempt !== null);
    assert.equal((await page.evaluate(status)).queued, 1);
    await server.resume();
    assert.equal(await page.evaluate(() => client.flush(60_000)), true);
    assert.equal(await reports("theme"), 1);
  });
});
