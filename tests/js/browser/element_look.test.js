/** How `<dither-consent>` looks: as much weight on No as on Yes, wide enough for fingers, narrow enough for phones. */
import assert from "node:assert/strict";
import test from "node:test";
import { browser, compiled, site, slow } from "./harness.js";

const TOML = `
[metrics.theme]
description = "Which <b>theme</b>?"
why = "${"a-reason-without-any-space-".repeat(12)}"
type = "choice"
values = ["light", "dark"]
epsilon = 2.0

[metrics.translated]
type = "boolean"
epsilon = 1.0
`;

/** Open a page with the element. @param {import("node:test").TestContext} t @param {() => void} [first] Runs before. */
async function opened(t, first = () => {}) {
  const pages = {};
  const origin = await site(t, pages);
  const [chromium, metrics] = await Promise.all([browser(t), compiled(TOML)]);
  pages["/metrics.json"] = JSON.stringify(metrics);
  const page = await chromium.newPage();
  await page.addInitScript(first);
  await page.goto(origin);
  await page.evaluate(async () => {
    const [{ Client }, answer] = await Promise.all([import("/client/js/src/index.js"), fetch("/metrics.json")]);
    await import("/client/js/src/element.js");
    const element = document.createElement("dither-consent");
    element.client = new Client(await answer.json(), { app: "tests", endpoint: "http://127.0.0.1:9" });
    document.querySelector("main").append(element);
  });
  return page;
}

/** Measure the shown element. */
const measured = () => {
  const root = document.querySelector("dither-consent").shadowRoot;
  for (const details of root.querySelectorAll("details")) details.open = true;
  const targets = [...root.querySelectorAll("button, summary")].map((one) => one.getBoundingClientRect());
  const buttons = [...root.querySelectorAll('[part~="yes"], [part~="no"]')].map((one) => {
    const { width, height } = one.getBoundingClientRect();
    const { color, backgroundColor, border, font, opacity, outline } = getComputedStyle(one);
    return JSON.stringify({ width, height, color, backgroundColor, border, font, opacity, outline });
  });
  return {
    buttons,
    least: Math.min(...targets.flatMap(({ width, height }) => [width, height])),
    wide: document.documentElement.scrollWidth - innerWidth,
    markup: root.querySelectorAll("b").length,
    headings: [...root.querySelectorAll("h2, h3")].map(({ localName, textContent }) => `${localName} ${textContent}`),
  };
};

test("the element", async (t) => {
  const page = await opened(t);
  await page.locator("dither-consent").getByRole("button", { name: "No", exact: true }).waitFor();
  for (const colorScheme of /** @type {const} */ (["light", "dark"]))
    for (const width of [320, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      const { buttons, least, wide, markup, headings } = await page.evaluate(measured);
      assert.equal(buttons.length, 2);
      assert.equal(buttons[0], buttons[1]);
      assert.ok(least >= 24, `a target of ${least} pixels`);
      assert.ok(wide <= 0, `${wide} pixels beyond a screen of ${width}`);
      assert.equal(markup, 0);
      assert.deepEqual(headings, ["h2 May this app ask you?", "h3 theme", "h3 translated"]);
    }
});

slow("the element does not ask if the browser has decided", async (t) => {
  const page = await opened(t, () => Object.defineProperty(navigator, "globalPrivacyControl", { value: true }));
  const element = page.locator("dither-consent");
  await element.getByText("Global Privacy Control").waitFor();
  assert.equal(await element.getByRole("button", { name: /Yes|No|Withdraw/ }).count(), 0);
});
