/**
 * Visit the demo's page with many people, each in a Chromium context of their own, which has its own storage; each agrees,
 * answers by the page's form, and leaves when the page says that all three reports were sent.
 *
 * Reads {"page": URL, "chromium": path, "jobs": so many at a time, "visitors": [{"theme", "translated", "tabs"}]} from
 * standard input; prints a line for each visitor that is done. Ends with status 1 if one could not report.
 */
import { json } from "node:stream/consumers";
import { chromium } from "playwright-core";

const { page: url, chromium: executablePath, jobs, visitors } = await json(process.stdin);
// A browser that says it is steered by a program is asked nothing: here it stands for a person's.
const args = ["--disable-blink-features=AutomationControlled"];
const browser = await chromium.launch({ executablePath, args });

/** @param {{ theme: string, translated: boolean, tabs: number }} visitor */
async function visit({ theme, translated, tabs }) {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(url);
    await page.locator("dither-consent").getByRole("button", { name: "Yes", exact: true }).click();
    await page.locator(`input[name=theme][value=${theme}]`).check();
    await page.locator(`input[name=translated][value=${translated ? "yes" : "no"}]`).check();
    await page.locator("input[name=tabs]").fill(String(tabs));
    await page.getByRole("status").filter({ hasText: "kept" }).waitFor();
    await page.getByRole("button", { name: "Answer" }).click();
    await page.locator('#status[data-sent="3"]').waitFor({ timeout: 60_000 });
  } finally {
    await context.close();
  }
  console.log("done");
}

const waiting = visitors.values();
const worker = async () => {
  for (const visitor of waiting) await visit(visitor);
};
try {
  await Promise.all(Array.from({ length: jobs }, worker));
} catch (error) {
  console.error(`A visitor could not report: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
} finally {
  await browser.close();
}
