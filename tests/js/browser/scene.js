/** A scene: a site whose pages have the client, a real collector on another origin, and a clock that a test may set. */
import { after, before } from "node:test";
import { browser, collector, compiled, shared, site } from "./harness.js";

const TOML = `
[metrics.theme]
type = "choice"
values = ["light", "dark"]
epsilon = 2.0

[metrics.translated]
type = "boolean"
truth = 0.75

[metrics.city]
type = "string"
candidates = ["Bern", "Zürich"]
epsilon = 2.0
`;

const ASKED = ["theme", "translated", "city"];

export const DAY = 86_400_000;

/** By how much the clock of all pages is ahead at first, so that it is noon there, and no day ends amid a test. */
const TO_NOON = DAY / 2 - (Date.now() % DAY);

/** The site, the collector and Chromium. */
const surroundings = shared(async (t) => {
  const pages = {};
  const origin = await site(t, pages);
  const [server, metrics, chromium] = await Promise.all([collector(t, TOML, [origin]), compiled(TOML), browser(t)]);
  pages["/metrics.json"] = JSON.stringify(metrics);
  return { origin, pages, server, chromium };
});

/**
 * Set a scene for the tests of a suite, which it is called in; return what enters it in each of them.
 *
 * All tests share Chromium, a site and a collector, which lists the site's origin. Each counts its own reports alone, and
 * everyone whom it brought in has left when it ends.
 */
export function scene() {
  const leaving = [];
  const suite = { after: (leave) => leaving.push(leave) };
  let set;
  before(async () => {
    set = await surroundings(suite);
  });
  after(() => Promise.all(leaving.map((leave) => leave())));

  /** @param {import("node:test").TestContext} t */
  return async (t) => {
    const { origin, server, chromium } = set;
    const earlier = Object.fromEntries(await Promise.all(ASKED.map(async (name) => [name, await server.reports(name)])));
    return {
      ...set,
      /** How many reports of a metric this test's people have made. */
      reports: async (name) => (await server.reports(name)) - earlier[name],
      /** A new person: storage of their own. */
      async person() {
        const context = await chromium.newContext();
        t.after(() => context.close());
        return context;
      },
      /** Open a page of the site, or of another place `at`, whose client has these options. */
      async open(context, { at = origin, ...options } = {}) {
        const page = await context.newPage();
        await page.goto(at);
        await start(page, { endpoint: server.url, ...options });
        return page;
      },
      /** Load a page again, with a client that has these options. */
      async again(page, options = {}) {
        await page.reload();
        await start(page, { endpoint: server.url, ...options });
      },
    };
  };
}

/**
 * Make a page's `client`, as the app would when the page is loaded; `ahead` are the milliseconds that its clock is ahead.
 * @param {import("playwright-core").Page} page
 * @param {{ [option: string]: any }} options Of the client; and `ahead`.
 */
async function start(page, { ahead = 0, ...options }) {
  await page.evaluate(
    async ([shift, noon, given]) => {
      const [{ Client }, answer] = await Promise.all([import("/client/js/src/index.js"), fetch("/metrics.json")]);
      window.ahead = shift;
      const now = () => Date.now() + noon + window.ahead;
      window.noon = now;
      window.client = new Client(await answer.json(), { app: "tests", spread: 0, now, ...given });
    },
    [ahead, TO_NOON, options],
  );
}
