/** A scene: a page with the client, a real collector on another origin, and a clock that a test may set. */
import { browser, collector, compiled, site } from "./harness.js";

export const TOML = `
[metrics.theme]
type = "choice"
values = ["light", "dark"]
epsilon = 2.0

[metrics.translated]
type = "boolean"
truth = 0.75

[metrics.city]
type = "string"
epsilon = 2.0
`;

export const DAY = 86_400_000;

/**
 * Set a scene; all of it ends with the test.
 * @param {import("node:test").TestContext} t
 * @param {{ toml?: string, flags?: string[], elsewhere?: boolean }} [given] `elsewhere`: the collector lists another
 * origin than the page's.
 */
export async function scene(t, { toml = TOML, flags = [], elsewhere = false } = {}) {
  const pages = {};
  const origin = await site(t, pages);
  const [server, metrics, chromium] = await Promise.all([
    collector(t, toml, [elsewhere ? "http://127.0.0.1:9" : origin]),
    compiled(toml),
    browser(t, flags),
  ]);
  pages["/metrics.json"] = JSON.stringify(metrics);
  return {
    origin,
    pages,
    server,
    chromium,
    /** A new person: storage of their own. */
    person: () => chromium.newContext(),
    /** @param {import("playwright-core").BrowserContext} context */
    open: (context, options = {}) => open(context, origin, { endpoint: server.url, ...options }),
  };
}

/**
 * Open a page in which `client` is a client with these options and `ahead` the milliseconds that its clock is ahead.
 * @param {import("playwright-core").BrowserContext} context
 * @param {string} origin
 * @param {{ [option: string]: any }} options Of the client; and `ahead`.
 */
export async function open(context, origin, options) {
  const page = await context.newPage();
  await page.goto(origin);
  await start(page, options);
  return page;
}

/**
 * Make the page's client, as the app would when the page is loaded.
 * @param {import("playwright-core").Page} page
 * @param {{ [option: string]: any }} options
 */
export async function start(page, { ahead = 0, ...options }) {
  await page.evaluate(
    async ([shift, given]) => {
      const [{ Client }, answer] = await Promise.all([import("/client/js/src/index.js"), fetch("/metrics.json")]);
      window.ahead = shift;
      const now = () => Date.now() + window.ahead;
      window.client = new Client(await answer.json(), { app: "tests", spread: 0, now, ...given });
    },
    [ahead, options],
  );
}
