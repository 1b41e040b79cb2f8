/**
 * The state in a file, for Node and Electron's main process; its folder and it are for its owner only.
 *
 *     FOLDER/APP/state.json                  the data in one line, and the SHA-256 of it in another
 *     FOLDER/APP/state.json.HOST.PID.RANDOM  the claim of a process that is about to replace it
 *
 * **Taking turns.** A process that wants to write makes a file of its own, its claim, and only then looks for others. If
 * there are none, it has the turn; otherwise it withdraws and tries again. It writes the data into the claim, makes that
 * durable and renames it, which replaces the file at once and ends the turn. A claim whose process is gone, or that is
 * older than a minute, is deleted by the process that finds it. A process that slept so long can do no harm: it has
 * nothing to rename.
 */
import { createHash, randomBytes, randomInt } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { BaseState } from "./base.js";

const NAME = "state.json";
/**
 * Maximum bytes of the file: the reports that wait or are shown take 1.5 million, and each account takes 100.
 */
const LARGEST = 1 << 21;
const OLDEST = 60_000;
const HOST = encodeURIComponent(hostname()).replaceAll(".", "%2E");
const CLAIM = /^state\.json\.([^.]*)\.(\d+)\.[0-9a-f]{8}$/;

/** A name that a folder can have on every system, as in Python's `check_app_name`. */
const FOLDER = /^(?!(?:aux|con|nul|prn|(?:com|lpt)\d) *(?:\.|$))(?:[^\p{C}\p{Z}/\\:*?"<>|]| )+(?<![ .])$/iu;

/** Symbolic links are not followed, and opening a pipe does not block. */
const PLAIN = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** A state in a folder, one for each app. System errors reject; so does a turn that does not come in time. */
export class FileState extends BaseState {
  /**
   * @param {string} folder
   * @param {string} app
   * @param {number} [patience] Milliseconds to wait for a turn.
   */
  constructor(folder, app, patience = 5_000) {
    if (!FOLDER.test(app)) throw new TypeError("app: a folder cannot have this name; one like org.example.notes can");
    const own = join(folder, app);
    let last = Promise.resolve(); // done in this process, whatever became of it
    super((writes, work) => {
      const deadline = performance.now() + patience;
      const done = writes
        ? last.then(() => write(own, work, deadline))
        : stored(join(own, NAME)).then((found) => work(found, () => {}));
      if (writes) last = done.then(nothing, nothing);
      return done.catch(named);
    });
  }
}

/**
 * Return what `work` returns, with what is stored in a folder, and keep what it puts.
 * @template T
 * @param {string} folder
 * @param {(stored: any, put: (data: unknown) => void) => T} work
 * @param {number} deadline When to wait no longer for a turn.
 */
async function write(folder, work, deadline) {
  const file = join(folder, NAME);
  const claim = await claimed(folder, deadline);
  try {
    let text = "";
    const result = work(await stored(file), (data) => {
      text = data ? JSON.stringify(data) : "";
      if (Buffer.byteLength(text) > LARGEST - 99) throw new DOMException("too large", "QuotaExceededError");
    });
    if (text) await replace(file, claim, text);
    else await unlink(file).catch(unlessMissing);
    await sync(folder);
    return result;
  } finally {
    await unlink(claim).catch(unlessMissing);
  }
}

/**
 * Return the path of our claim, once nobody else has one.
 * @param {string} folder
 * @param {number} deadline
 */
async function claimed(folder, deadline) {
  const made = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (made) await sync(dirname(made));
  for (;;) {
    const name = `${NAME}.${HOST}.${process.pid}.${randomBytes(4).toString("hex")}`;
    const path = join(folder, name);
    let ours = false;
    await (await open(path, "wx", 0o600)).close();
    try {
      ours = !(await isContested(folder, name));
      if (ours) return path;
    } finally {
      if (!ours) await unlink(path).catch(unlessMissing);
    }
    if (performance.now() > deadline) throw new DOMException("another process holds the state", "TimeoutError");
    await sleep(randomInt(1, 11));
  }
}

/**
 * Return whether another living process has a claim; delete the claims of dead ones.
 * @param {string} folder
 * @param {string} ours
 */
async function isContested(folder, ours) {
  let found = false;
  for (const name of await readdir(folder)) {
    const [, host, pid] = CLAIM.exec(name) ?? [];
    if (!pid || name === ours) continue;
    const path = join(folder, name);
    if (!(await isOld(path)) && (host !== HOST || runs(Number(pid)))) found = true;
    else await unlink(path).catch(unlessMissing);
  }
  return found;
}

/**
 * Return what the file holds: undefined if there is none, null if it is damaged.
 * @param {string} file
 * @returns {Promise<unknown>}
 */
async function stored(file) {
  const handle = await open(file, PLAIN).catch(unlessMissing);
  if (!handle) return undefined;
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size > LARGEST) return null;
    const bytes = Buffer.alloc(found.size); // what is appended while it is read does not belong to it
    const { bytesRead } = await handle.read(bytes, 0, found.size, 0);
    const [text, sum] = bytes.toString("utf8", 0, bytesRead).split("\n");
    return sum === sumOf(text) ? JSON.parse(text) : null;
  } finally {
    await handle.close();
  }
}

/**
 * Replace a file by our claim, with a text and its sum, durably; raise ENOENT if somebody has deleted the claim.
 * @param {string} file
 * @param {string} claim
 * @param {string} text
 */
async function replace(file, claim, text) {
  const handle = await open(claim, "r+");
  try {
    await handle.writeFile(`${text}\n${sumOf(text)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(claim, file);
}

/**
 * Make the names of the files in a folder durable; Windows has no such call, and needs none.
 * @param {string} folder
 */
async function sync(folder) {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** @param {string} text */
const sumOf = (text) => createHash("sha256").update(text).digest("hex");

/**
 * Return whether a file is older than any claim should be, or not there.
 * @param {string} path
 */
async function isOld(path) {
  const found = await stat(path).catch(unlessMissing);
  return !found || Math.abs(Date.now() - found.mtimeMs) > OLDEST;
}

/**
 * Return whether a process of this computer runs, whichever user started it.
 * @param {number} pid
 */
function runs(pid) {
  try {
    return process.kill(pid, 0);
  } catch (/** @type {any} */ error) {
    return error.code === "EPERM";
  }
}

/**
 * Throw an error, by the system's name for it if it is one of the system.
 * @param {any} error
 * @returns {never}
 */
function named(error) {
  if (typeof error.code === "string") error.name = error.code;
  throw error;
}

/**
 * @param {NodeJS.ErrnoException} error
 * @returns {undefined}
 */
function unlessMissing(error) {
  if (error.code !== "ENOENT") throw error;
}

const nothing = () => {};
