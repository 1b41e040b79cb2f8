import assert from "node:assert/strict";
import { browser, site, slow } from "./harness.js";

slow("a page of the site is a person's, as far as it can tell, and loads the client's files", async (t) => {
  const origin = await site(t, { "/said.json": '{"a":1}' });
  const page = await (await browser(t)).newPage();
  await page.goto(origin);
  const seen = await page.evaluate(async () => ({
    webdriver: navigator.webdriver,
    secure: isSecureContext,
    subtle: typeof crypto.subtle,
    said: await (await fetch("/said.json")).json(),
    source: (await import("/client/js/src/diagnostics.js")).Diagnostics.name,
    secret: (await fetch("/client/js/../../.git")).status,
    package: (await fetch("/client/js/package.json")).status,
  }));
  const wanted = { webdriver: false, secure: true, subtle: "object", said: { a: 1 }, source: "Diagnostics" };
  assert.deepEqual(seen, { ...wanted, secret: 404, package: 404 });
});
