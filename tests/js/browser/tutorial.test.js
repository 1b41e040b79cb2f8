/** The tutorial of the web app, walked by a visitor: its Flask app, its page and its collector, as they stand there. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { browser, keptPorts, PYTHON, ROOT, slow, until } from "./harness.js";

/** Write the files that the tutorial names into a folder, with ports of our own in place of its two. */
async function written(folder, ports) {
  const text = await readFile(`${ROOT}docs/tutorials/web-app.md`, "utf8");
  await mkdir(join(folder, "static"));
  for (const [, block, name] of text.matchAll(/^```\w+\n((?:#|<!--) ([\w./]+\.\w+)(?: -->)?\n.*?)^```$/gms)) {
    const own = Object.entries(ports).reduce((all, [theirs, ours]) => all.replaceAll(theirs, ours), block);
    await writeFile(join(folder, name), own.replace("spread: 1,", "spread: 0.1,"));
  }
  await cp(`${ROOT}client/js/src`, join(folder, "static", "dither"), { recursive: true });
  await promisify(execFile)(PYTHON, ["-m", "dither", "compile", "metrics.toml", "-o", "static/metrics.json"], { cwd: folder });
}

/** Run a program of Python in the folder until the test ends. */
function running(t, folder, command) {
  const child = spawn(PYTHON, command, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  t.after(async () => {
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  return child;
}

slow("a visitor of the tutorial's page agrees, and each question has one report of them", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "dither-tutorial-"));
  t.after(() => rm(folder, { recursive: true }));
  const [site, collector] = await keptPorts(t, 2);
  await written(folder, { 5001: site, 8000: collector });
  const server = running(t, folder, ["-m", "dither_server", "run", "--open", "report,read"]);
  running(t, folder, ["-m", "flask", "--app", "app", "run", "--port", site]);
  await once(server.stdout, "data"); // its address: it listens
  const reports = async (metric) => (await (await fetch(`http://127.0.0.1:${collector}/v1/metrics/${metric}/estimate`)).json()).reports;
  await until(() => fetch(`http://127.0.0.1:${site}/`).then((answer) => answer.ok, () => false), (ok) => ok);

  const page = await (await browser(t)).newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  await page.goto(`http://127.0.0.1:${site}/`);
  await page.getByLabel("Theme").selectOption("dark");
  const consent = page.locator("dither-consent");
  await consent.getByText("In which theme do you read recipes?").waitFor();
  assert.deepEqual([await reports("theme"), await reports("slow")], [0, 0], "nothing before consent");
  await consent.locator("[part~=yes]").click();
  await until(async () => [await reports("theme"), await reports("slow")].join(), (counts) => counts === "1,1");

  await page.reload();
  await consent.getByText("Reports that were sent last (2)").waitFor();
  assert.equal(await page.getByLabel("Theme").inputValue(), "dark");
  assert.deepEqual([await reports("theme"), await reports("slow")], [1, 1], "one report a week");
  assert.deepEqual(complaints, []);
});
