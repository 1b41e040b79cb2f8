/** What tests in a browser share: Chromium, a site for its pages, and a real collector on another origin. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const SERVED = ["client/js/src/", "client/js/demo/", "tests/js/", "tests/vectors/"];
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".json": "application/json", ".css": "text/css" };
const PATIENCE = 120_000;
export const PYTHON = process.env.DITHER_PYTHON ?? (existsSync(`${ROOT}.venv/bin/python`) ? `${ROOT}.venv/bin/python` : "python3");

/** A name of this machine to which Chromium gives no secure context, as to any host without https. */
export const INSECURE = "insecure.example";

/** Register a test that `make test` leaves out: it sets DITHER_QUICK, and runs all suites for browsers in one process. */
export const slow = process.env.DITHER_QUICK ? () => {} : test;

const LINGER = 500;

/**
 * Share what `start` makes among all tests of this process: starting Chromium or a collector takes longer than most
 * tests. It ends soon after its last user has left, unless another comes.
 * @template T
 * @param {(leaving: { after: (leave: () => any) => void }) => Promise<T>} start
 * @returns {(t: { after: (leave: () => any) => void }) => Promise<T>}
 */
export function shared(start) {
  let users = 0;
  let made, leaving, timer;
  const end = () => {
    made = undefined;
    for (const leave of leaving) leave();
  };
  return (t) => {
    users++;
    clearTimeout(timer);
    if (!made) {
      const last = (leaving = []);
      made = start({ after: (leave) => last.push(leave) });
    }
    t.after(() => {
      if (--users === 0) timer = setTimeout(end, LINGER);
    });
    return made;
  };
}

/** Return Chromium; a page that a test opens in it is a new person's. */
export const browser = shared(launched);

/**
 * @param {{ after: (leave: () => any) => void }} t
 * @returns {Promise<import("playwright-core").Browser>}
 */
async function launched(t) {
  const { chromium } = createRequire(`${ROOT}client/js/package.json`)("playwright-core");
  const executablePath = process.env.DITHER_CHROMIUM ?? "/usr/bin/chromium";
  // A browser that says it is steered by a program is asked nothing: here it stands for a person's.
  const rules = `--host-resolver-rules=MAP ${INSECURE} 127.0.0.1`;
  const args = ["--disable-blink-features=AutomationControlled", rules];
  const started = await chromium.launch({ executablePath, args, timeout: PATIENCE });
  t.after(() => started.close());
  return patient(started);
}

/**
 * Let what pages wait for take as long as it may on a machine that does much else.
 * @param {import("playwright-core").Browser} browser
 */
function patient(browser) {
  for (const open of /** @type {const} */ (["newContext", "newPage"])) {
    const opened = browser[open].bind(browser);
    browser[open] = async (/** @type {any[]} */ ...options) => {
      const one = await opened(...options);
      one.setDefaultTimeout(PATIENCE);
      return one;
    };
  }
  return browser;
}

/**
 * Return ports of this machine that nobody else is given before the test ends (tests/ports.py).
 * @param {import("node:test").TestContext} t
 * @param {number} count
 * @returns {Promise<string[]>}
 */
export async function keptPorts(t, count) {
  const keep = `import sys, ports\nwith ports.kept_ports(${count}) as kept: print(*kept, flush=True), sys.stdin.read()`;
  const child = spawn(PYTHON, ["-c", keep], { cwd: `${ROOT}tests`, stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.stdin.end());
  return (await new Promise((resolve) => createInterface(child.stdout).once("line", resolve))).split(" ");
}

/**
 * Serve the client's sources, the tests and the vectors, and what else `pages` holds by path, on an origin of its own.
 * @param {import("node:test").TestContext} t
 * @param {{ [path: string]: string }} [pages] May be changed while it is served.
 * @returns {Promise<string>} The origin.
 */
export async function site(t, pages = {}) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://site");
    const type = TYPES[extname(pathname)] ?? "text/html";
    const headers = { "Content-Type": `${type}; charset=utf-8`, "Cache-Control": "no-store", "Service-Worker-Allowed": "/" };
    const content = pages[pathname] ?? (pathname === "/" ? BLANK : await source(pathname));
    response.writeHead(content === null ? 404 : 200, headers).end(content ?? "");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (server.address()).port}`;
}

const BLANK = '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>A page</title><main></main>';

/** @param {string} pathname */
async function source(pathname) {
  const place = normalize(decodeURIComponent(pathname)).slice(1);
  if (!SERVED.some((folder) => place.startsWith(folder))) return null;
  return readFile(join(ROOT, place)).catch(() => null);
}

/**
 * Run a real collector on SQLite, which ends with the test; it takes reports of pages of `origins`.
 * @param {import("node:test").TestContext} t
 * @param {string} toml What it asks.
 * @param {string[]} origins
 * @param {string} [open] What takes no token.
 */
export async function collector(t, toml, origins, open = "report,read") {
  const folder = await mkdtemp(join(tmpdir(), "dither-js-"));
  await writeFile(join(folder, "metrics.toml"), toml);
  const options = ["--metrics", `${folder}/metrics.toml`, "--db", `sqlite:///${folder}/dither.db`, "--config", "/dev/null"];
  const access = ["--open", open, "--origins", origins.join(",")];
  const [port] = await keptPorts(t, 1);
  const start = () => started(["-m", "dither_server", "run", "--port", port, ...options, ...access]);
  let running = await start();
  t.after(async () => {
    await running.stop();
    await rm(folder, { recursive: true });
  });
  return {
    url: running.url,
    /** End it, and its database stays; `resume` starts it again at the same address. */
    stop: () => running.stop(),
    async resume() {
      running = await start();
    },
    /** @param {string} metric */
    async reports(metric) {
      return (await this.get(`/v1/metrics/${metric}/estimate`)).reports;
    },
    /** @param {string} path */
    async get(path) {
      const answer = await fetch(this.url + path);
      const text = await answer.text();
      return answer.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text;
    },
  };
}

/** @param {string[]} command */
async function started(command) {
  const child = spawn(PYTHON, command, { stdio: ["ignore", "pipe", "pipe"] });
  const complaints = [];
  child.stderr.on("data", (data) => complaints.push(data));
  const url = await new Promise((resolve, reject) => {
    createInterface(child.stdout).once("line", resolve);
    child.once("exit", () => reject(new Error(`the collector did not start: ${Buffer.concat(complaints)}`)));
  });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  };
  return { url, stop };
}

const compilations = new Map();

/**
 * Return what `python -m dither compile` makes of definitions.
 * @param {string} toml
 * @returns {Promise<any>}
 */
export async function compiled(toml, language = "en") {
  const key = language + toml;
  if (!compilations.has(key)) compilations.set(key, compile(toml, language));
  return structuredClone(await compilations.get(key));
}

/** @param {string} toml @param {string} language */
async function compile(toml, language) {
  const folder = await mkdtemp(join(tmpdir(), "dither-js-"));
  try {
    await writeFile(join(folder, "metrics.toml"), toml);
    const output = ["-o", `${folder}/metrics.json`, "--language", language];
    const child = spawn(PYTHON, ["-m", "dither", "compile", `${folder}/metrics.toml`, ...output]);
    const complaints = [];
    child.stderr.on("data", (data) => complaints.push(data));
    const [status] = await once(child, "close");
    if (status !== 0) throw new Error(`compile: ${Buffer.concat(complaints)}`);
    return JSON.parse(await readFile(join(folder, "metrics.json"), "utf8"));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * Ask again until an answer is as wanted, and return it; an error says what it was at last.
 * @template T
 * @param {() => Promise<T> | T} ask
 * @param {(answer: T) => boolean} wanted
 * @returns {Promise<T>}
 */
export async function until(ask, wanted) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    if (Date.now() > end) throw new Error(`it stayed ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
