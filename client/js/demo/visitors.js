/**
 * Visit the demo's page as many people, each in a separate Chromium context with separate storage; each agrees,
 * answers with the page's form, and leaves when the page says that all three reports were sent.
 *
 * Reads {"page": URL, "chromium": path, "jobs": visitors at a time, "visitors": [{"theme", "translated", "tabs"}]}
 * from standard input; prints a line for each visitor that is done. Ends with status 1 if one could not report.
 */
import { json } from "node:stream/consumers";
import { chromium } from "playwright-core";

const { page: url, chromium: executablePath, jobs, visitors } = await json(process.stdin);
/**
 * @param {import("playwright-core").Browser} browser
 * @param {{ theme: string, translated: boolean, tabs: number }} visitor
 */
async function visit(browser, { theme, translated, tabs }) {
  const context = await browser.newContext();
  context.setDefaultTimeout(60_000);
  try {
    const page = await context.newPage();
    await page.goto(url);
    await page.locator("dither-consent").getByRole("button", { name: "Yes", exact: true }).click();
    await page.locator(`input[name=theme][value=${theme}]`).check();
    await page.locator(`input[name=translated][value=${translated ? "yes" : "no"}]`).check();
    await page.locator("input[name=tabs]").fill(String(tabs));
    await page.getByRole("status").filter({ hasText: "kept" }).waitFor();
    await page.getByRole("button", { name: "Answer" }).click();
    await page.locator('#status[data-sent="3"]').waitFor();
  } finally {
    await context.close();
  }
  console.log("done");
}

/** Let everyone visit. */
async function visitAll() {
  // A browser that says it is steered by a program is asked nothing: here it stands for a person's.
  const args = ["--disable-blink-features=AutomationControlled"];
  const browser = await chromium.launch({ executablePath, args });
  const waiting = visitors.values();
  const next = async () => {
    for (const visitor of waiting) await visit(browser, visitor);
  };
  try {
    await Promise.all(Array.from({ length: jobs }, next));
  } finally {
    await browser.close();
  }
}

await visitAll().catch((error) => {
  console.error(`A visitor could not report: ${error.message}`);
  process.exitCode = 1;
});
