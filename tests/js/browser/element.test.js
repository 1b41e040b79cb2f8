/** `<dither-consent>` in a page: asked, answered and withdrawn by the keyboard alone. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LABELS } from "../../../client/js/src/element/labels.js";
import { compiled, slow, until } from "./harness.js";
import { scene } from "./scene.js";

/** Show the element, and note what it fires. */
const show = async () => {
  await import("/client/js/src/element.js");
  await import("/client/js/src/element.js?of-another-script"); // which may bring it, too
  window.fired = [];
  document.addEventListener("dither-consent", ({ detail }) => window.fired.push(detail));
  const element = document.createElement("dither-consent");
  element.client = window.client;
  document.querySelector("main").append(element);
};

/** The focused element, as a screen reader describes it. */
const focused = () => {
  let { activeElement } = document;
  while (activeElement?.shadowRoot?.activeElement) activeElement = activeElement.shadowRoot.activeElement;
  return activeElement?.textContent ?? "";
};

/** Press Tab until something that is called `text` has the focus, and then a key. */
async function press(page, text, key) {
  const passed = [];
  for (let step = 0; step < 60; step++) {
    await page.keyboard.press("Tab");
    passed.push(await page.evaluate(focused));
    if (passed.at(-1) === text) return page.keyboard.press(key);
  }
  throw new Error(`Tab never came to ${text}, but to ${passed.join(" | ")}`);
}

/** Wait until a choice is shown: its heading has the focus then, and what stood before it is gone. */
const shown = (page, heading) => until(() => page.evaluate(focused), (text) => text === heading);

const modeOf = async (page) => (await page.evaluate(() => client.status())).mode;

describe("a person at the element", () => {
  const enter = scene();

  test("a person agrees, looks, withdraws, agrees again and deletes, without a pointer", async (t) => {
    const { person, open } = await enter(t);
    const page = await open(await person());
    await page.evaluate(show);
    const element = page.locator("dither-consent");
    await element.getByRole("heading", { name: "theme" }).waitFor();

    await press(page, `${LABELS.about}: theme`, "Enter");
    assert.ok(await element.getByText("Privacy loss").first().isVisible());
    await press(page, LABELS.yes, "Enter");
    await shown(page, LABELS.state);
    await element.getByRole("status").filter({ hasText: LABELS.kept }).waitFor();
    assert.equal(await modeOf(page), "on");
    assert.equal(await page.evaluate(() => client.record("theme", "dark")), "kept");

    await press(page, LABELS.withdraw, "Space");
    await shown(page, LABELS.state);
    assert.equal(await modeOf(page), "off");
    assert.equal(await page.evaluate(() => client.record("translated", true)), "off");

    await press(page, LABELS.allow, "Enter");
    await shown(page, LABELS.ask);
    await press(page, LABELS.yes, "Enter");
    await shown(page, LABELS.state);
    assert.equal(await modeOf(page), "on");

    await press(page, LABELS.forget, "Enter");
    await press(page, LABELS.forgetNow, "Enter");
    await shown(page, LABELS.state);
    assert.equal(await modeOf(page), "off");
    const modes = await page.evaluate(() => window.fired);
    assert.deepEqual(modes.map(({ mode, kept }) => [mode, kept]), ["on", "off", "on", "off"].map((mode) => [mode, true]));
  });

  slow("the element speaks the compiled language, and an app can change its words", async (t) => {
    const { person, open } = await enter(t);
    const page = await open(await person());
    const german = await compiled('[metrics.theme]\ntype = "boolean"\nepsilon = 1.0\n', "de");
    await page.evaluate(async (metrics) => {
      const { Client } = await import("/client/js/src/index.js");
      window.client = new Client(metrics, { endpoint: "http://127.0.0.1:9", app: "tests", background: false, surroundings: {} });
    }, german);
    await page.evaluate(show);
    const element = page.locator("dither-consent");
    await element.getByRole("heading", { name: "Darf diese App Sie etwas fragen?" }).waitFor();
    assert.equal(await element.getAttribute("lang"), "de");
    assert.ok(await element.getByText("tests möchte Ihnen 1 Frage stellen.").isVisible());
    await page.evaluate(async () => {
      const shown = document.querySelector("dither-consent");
      shown.labels = { yes: "Gern" };
      await shown.refresh();
    });
    await element.getByRole("button", { name: "Gern" }).click();
    await element.getByText("Entschieden durch: Ihre eigene Wahl").waitFor();
    assert.ok(await element.getByText("wird erhoben").isVisible());
    assert.ok(await element.getByRole("button", { name: "Zustimmung widerrufen" }).isVisible());
  });

  slow("a no is kept, and no one is asked again", async (t) => {
    const { person, open } = await enter(t);
    const context = await person();
    const page = await open(context);
    await page.evaluate(show);
    await page.locator("dither-consent").getByRole("button", { name: "No", exact: true }).click();
    await page.locator("dither-consent").getByRole("status").filter({ hasText: "kept" }).waitFor();
    const later = await open(context);
    assert.deepEqual(await later.evaluate(() => client.pending()), []);
    assert.equal(await later.evaluate(() => client.record("theme", "dark")), "off");

    await later.evaluate(() => client.consent("on", ["theme"]));
    const asked = await open(context);
    await asked.evaluate(show);
    const no = asked.locator("dither-consent").getByRole("button", { name: "No", exact: true });
    await no.waitFor();
    await later.evaluate(() => client.consent("off"));
    await no.click();
    await asked.locator("dither-consent").getByRole("status").filter({ hasText: "kept" }).waitFor();
    assert.equal(await modeOf(asked), "off", "a no to more questions leaves what was chosen in another tab since");
  });
});
