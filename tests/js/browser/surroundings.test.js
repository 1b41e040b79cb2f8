/** Browsers in which nothing may be drawn, or nothing can be kept; and pages of other kinds. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { INSECURE, slow, until } from "./harness.js";
import { scene } from "./scene.js";

const dark = () => client.record("theme", "dark");
const status = () => client.status();

const SIGNALS = {
  globalPrivacyControl: [true, "Global Privacy Control"],
  doNotTrack: ["1", "Do Not Track"],
  webdriver: [true, "webdriver"],
};

describe("browsers and pages of other kinds", () => {
  const enter = scene();

  test("signals of the browser override the choice of the user", async (t) => {
    const { reports, person, open } = await enter(t);
    const page = await open(await person());
    await page.evaluate(() => client.consent("on"));
    for (const [name, [value, words]] of Object.entries(SIGNALS)) {
      await page.evaluate(
        ([key, signal]) => Object.defineProperty(navigator, key, { get: () => signal, configurable: true }),
        [name, value],
      );
      await page.evaluate(() => client.consent("on"));
      assert.equal(await page.evaluate(dark), "off", name);
      const shown = await page.evaluate(status);
      assert.equal(shown.mode, "off");
      assert.match(shown.decidedBy, new RegExp(words));
      assert.deepEqual(await page.evaluate(() => client.pending()), []);
      await page.evaluate((key) => delete navigator[key], name);
    }
    assert.equal((await page.evaluate(status)).mode, "on", "when nothing is signalled any more");
    assert.equal(await reports("theme"), 0);
  });

  slow("a service worker reports", async (t) => {
    const { origin, pages, server, reports, person } = await enter(t);
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
    assert.equal(await reports("city"), 1);
  });

  slow("a browser that keeps nothing draws nothing, and status says so", async (t) => {
    const { reports, person, open } = await enter(t);
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
      const page = await open(context);
      assert.equal(await page.evaluate(() => client.consent("on")), false, how);
      assert.ok(["off", "failed"].includes(await page.evaluate(dark)), how);
      const shown = await page.evaluate(status);
      assert.equal(shown.mode, "off", how);
      assert.notDeepEqual(shown.trouble, {}, how);
    }
    assert.equal(await reports("theme"), 0);
  });

  slow("storage that fails after consent loses an answer, and neither throws nor reports", async (t) => {
    const { reports, person, open } = await enter(t);
    const page = await open(await person());
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
    assert.equal(await page.evaluate(() => client.flush(60_000)), false);
    assert.equal(await reports("theme"), 0);
    assert.notDeepEqual((await page.evaluate(status)).trouble, {});
  });

  slow("an insecure page has no digests: strings say so, other questions work", async (t) => {
    const { origin, person, open } = await enter(t);
    const page = await open(await person(), { at: origin.replace("127.0.0.1", INSECURE), background: false });
    assert.equal(await page.evaluate(() => isSecureContext || typeof crypto.subtle !== "undefined"), false);
    await page.evaluate(() => client.consent("on"));
    assert.equal(await page.evaluate(dark), "kept");
    assert.equal(await page.evaluate(() => client.record("city", "Zürich")), "failed");
    const { trouble } = await page.evaluate(status);
    assert.match(JSON.stringify(trouble), /https/);
  });

  slow("a page with a strict policy for content may use it", async (t) => {
    const { origin, pages, server, person, open } = await enter(t);
    const policy = `default-src 'none'; script-src 'self'; connect-src 'self' ${server.url}`;
    pages["/strict"] = `<!doctype html><meta http-equiv="Content-Security-Policy" content="${policy}"><title>Strict</title>`;
    const context = await person();
    const complaints = [];
    context.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    const page = await open(context, { at: `${origin}/strict` });
    await page.evaluate(async () => {
      await import("/client/js/src/element.js");
      const element = document.createElement("dither-consent");
      element.client = client;
      document.body.append(element);
      await client.consent("on");
      return client.record("city", "Zürich");
    });
    await until(() => page.evaluate(status), (shown) => shown.sent === 1);
    assert.deepEqual(complaints.filter((text) => !text.includes("favicon")), []);
  });
});
