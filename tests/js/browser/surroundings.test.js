/** Browsers in which nothing may be drawn, or nothing can be kept; and pages of other kinds. */
import assert from "node:assert/strict";
import test from "node:test";
import { until } from "./harness.js";
import { open, scene, start } from "./scene.js";

const dark = () => client.record("theme", "dark");
const status = () => client.status();

const SIGNALS = {
  globalPrivacyControl: [true, "Global Privacy Control"],
  doNotTrack: ["1", "Do Not Track"],
  webdriver: [true, "webdriver"],
};

test("what a browser signals holds, whatever was said", async (t) => {
  const { person, open: visit, server } = await scene(t);
  for (const [name, [value, words]] of Object.entries(SIGNALS)) {
    const context = await person();
    await context.addInitScript(
      ([key, signal]) => Object.defineProperty(Navigator.prototype, key, { get: () => signal }),
      [name, value],
    );
    const page = await visit(context);
    await page.evaluate(() => client.consent("on"));
    assert.equal(await page.evaluate(dark), "off", name);
    const told = await page.evaluate(status);
    assert.equal(told.mode, "off");
    assert.match(told.decidedBy, new RegExp(words));
    assert.deepEqual(await page.evaluate(() => client.pending()), []);
  }
  assert.equal(await server.reports("theme"), 0);
});

test("a service worker reports", async (t) => {
  const { origin, server, person, pages } = await scene(t);
  pages["/worker.js"] = `
    import { Client } from "/client/js/src/index.js";
    const made = fetch("/metrics.json").then(async (answer) =>
      new Client(await answer.json(), { endpoint: ${JSON.stringify(server.url)}, app: "tests", spread: 0 }));
    onmessage = async ({ data, ports }) => {
      const client = await made;
      ports[0].postMessage(await client[data[0]](...data.slice(1)));
    };`;
  const page = await (await person()).newPage();
  await page.goto(origin);
  await page.evaluate(async () => {
    await navigator.serviceWorker.register("/worker.js", { type: "module" });
    const { active } = await navigator.serviceWorker.ready;
    window.ask = (...call) =>
      new Promise((resolve) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = ({ data }) => resolve(data);
        active.postMessage(call, [port2]);
      });
  });
  assert.equal(await page.evaluate(() => ask("consent", "on")), true);
  assert.equal(await page.evaluate(() => ask("record", "city", "Zürich")), "kept");
  assert.equal(await page.evaluate(() => ask("flush", 10_000)), true);
  assert.equal(await server.reports("city"), 1);
});

test("a browser that keeps nothing draws nothing, and status says so", async (t) => {
  const { origin, person, server } = await scene(t);
  const broken = {
    "is absent": () => delete window.indexedDB && Object.defineProperty(window, "indexedDB", { value: undefined }),
    "refuses at once": () => {
      IDBFactory.prototype.open = () => {
        throw new DOMException("no", "SecurityError");
      };
    },
    "refuses later": () => {
      const { transaction } = IDBDatabase.prototype;
      IDBDatabase.prototype.transaction = function (names, mode, options) {
        const made = transaction.call(this, names, mode, options);
        if (mode === "readwrite") made.abort();
        return made;
      };
    },
  };
  for (const [how, spoil] of Object.entries(broken)) {
    const context = await person();
    await context.addInitScript(spoil);
    const page = await open(context, origin, { endpoint: server.url });
    assert.equal(await page.evaluate(() => client.consent("on")), false, how);
    assert.ok(["off", "failed"].includes(await page.evaluate(dark)), how);
    const told = await page.evaluate(status);
    assert.equal(told.mode, "off", how);
    assert.notDeepEqual(told.trouble, {}, how);
  }
  assert.equal(await server.reports("theme"), 0);
});

test("storage that fails after consent loses an answer, and neither throws nor reports", async (t) => {
  const { person, open: visit, server } = await scene(t);
  const page = await visit(await person());
  await page.evaluate(() => client.consent("on"));
  await page.evaluate(() => {
    const { transaction } = IDBDatabase.prototype;
    IDBDatabase.prototype.transaction = function (names, mode, options) {
      const made = transaction.call(this, names, mode, options);
      if (mode === "readwrite") made.abort();
      return made;
    };
  });
  assert.equal(await page.evaluate(dark), "failed");
  assert.equal(await page.evaluate(() => client.flush(10_000)), false);
  assert.equal(await server.reports("theme"), 0);
  assert.notDeepEqual((await page.evaluate(status)).trouble, {});
});

test("an insecure page has no digests: strings say so, other questions work", async (t) => {
  const { origin, server, person } = await scene(t, { flags: ["--host-resolver-rules=MAP insecure.example 127.0.0.1"] });
  const page = await (await person()).newPage();
  await page.goto(origin.replace("127.0.0.1", "insecure.example"));
  assert.equal(await page.evaluate(() => isSecureContext || typeof crypto.subtle !== "undefined"), false);
  await start(page, { endpoint: server.url, background: false });
  await page.evaluate(() => client.consent("on"));
  assert.equal(await page.evaluate(dark), "kept");
  assert.equal(await page.evaluate(() => client.record("city", "Zürich")), "failed");
  const { trouble } = await page.evaluate(status);
  assert.match(JSON.stringify(trouble), /https/);
});

test("a page with a strict policy for content may use it", async (t) => {
  const { origin, server, person, pages } = await scene(t);
  const policy = `default-src 'none'; script-src 'self'; connect-src 'self' ${server.url}`;
  pages["/strict"] = `<!doctype html><meta http-equiv="Content-Security-Policy" content="${policy}"><title>Strict</title>`;
  const page = await (await person()).newPage();
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  await page.goto(`${origin}/strict`);
  await start(page, { endpoint: server.url });
  await page.evaluate(async () => {
    await import("/client/js/src/element.js");
    const element = document.createElement("dither-consent");
    element.client = client;
    document.body.append(element);
    await client.consent("on");
    return client.record("city", "Zürich");
  });
  await until(() => page.evaluate(status), (told) => told.sent === 1);
  assert.deepEqual(complaints.filter((text) => !text.includes("favicon")), []);
});
