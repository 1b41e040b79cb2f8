/**
 * The state in a file, for Node and Electron's main process; its folder and it are for its owner only.
 *
 *     FOLDER/APP/state.json                  the data in one line, and the SHA-256 of it in another
 *     FOLDER/APP/state.json.HOST.PID.RANDOM  the claim of a process that is about to replace it
 *
 * **Taking turns.** Whoever wants to write makes a file of its own, its claim, and only then looks for others: who finds
 * none has the turn, the rest withdraw and try again. The data are written into the claim, which is made durable and
 * renamed: that replaces the file at once, and ends the turn. A claim whose process is gone, or that is older than a
 * minute, is deleted by whoever finds it. A process that slept so long cannot do harm, for it has nothing to rename.
 */
import { createHash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { checked } from "./data.js";

/** @typedef {import("../types.js").Data} Data */

const NAME = "state.json";
const LARGEST = 1 << 24;
const OLDEST = 60_000;
const HOST = encodeURIComponent(hostname()).replaceAll(".", "%2E");
const CLAIM = /^state\.json\.([^.]*)\.(\d+)\.[0-9a-f]{8}$/;

/** No symbolic link is followed, and nobody waits for the end of a pipe. */
const PLAIN = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** A state in a folder, one for each app. Faults of the system reject; so does a turn that does not come in time. */
export class FileState {
  /**
   * @param {string} folder
   * @param {string} app
   * @param {number} [patience] Milliseconds to wait for a turn.
   */
  constructor(folder, app, patience = 5_000) {
    this.folder = join(folder, app);
    this.file = join(this.folder, NAME);
    this.patience = patience;
    /** @type {Promise<unknown>} The last thing to do in this process. */
    this.last = Promise.resolve();
  }

  /** Return what is kept. Nothing is made if there is nothing. */
  async read() {
    return checked(await stored(this.file));
  }

  /**
   * Let `change` alter the data, and keep what it left.
   * @template T
   * @param {(data: Data) => T} change
   * @param {() => Data} [anew] Gives what takes the place of damaged data.
   * @returns {Promise<T>}
   */
  update(change, anew) {
    return this.turn(async (claim) => {
      const data = checked(await stored(this.file), anew);
      const result = change(data);
      await write(claim, JSON.stringify(data));
      await rename(claim, this.file);
      await sync(this.folder);
      return result;
    });
  }

  /** Delete all of it. */
  erase() {
    return this.turn(async () => {
      await unlink(this.file).catch(unlessMissing);
      await sync(this.folder);
    });
  }

  /**
   * Return what `work` returns, called with our claim when nobody else has one.
   * @template T
   * @param {(claim: string) => Promise<T>} work
   * @returns {Promise<T>}
   */
  turn(work) {
    const deadline = performance.now() + this.patience;
    const run = async () => {
      const claim = await this.claim(deadline);
      try {
        return await work(claim);
      } finally {
        await unlink(claim).catch(unlessMissing);
      }
    };
    const result = this.last.then(run, run);
    this.last = result.catch(() => {});
    return result;
  }

  /**
   * Return the path of our claim, once nobody else has one.
   * @param {number} deadline
   */
  async claim(deadline) {
    const made = await mkdir(this.folder, { recursive: true, mode: 0o700 });
    if (made) await sync(dirname(made));
    for (;;) {
      const name = `${NAME}.${HOST}.${process.pid}.${randomBytes(4).toString("hex")}`;
      const path = join(this.folder, name);
      await (await open(path, "wx", 0o600)).close();
      try {
        if (!(await this.contested(name))) return path;
      } catch (error) {
        await unlink(path).catch(unlessMissing);
        throw error;
      }
      await unlink(path).catch(unlessMissing);
      if (performance.now() > deadline) throw new DOMException("another process holds the state", "TimeoutError");
      await sleep(1 + Math.random() * 10);
    }
  }

  /**
   * Return whether a process that lives has a claim beside ours; delete those of others.
   * @param {string} ours
   */
  async contested(ours) {
    let found = false;
    for (const name of await readdir(this.folder)) {
      const [, host, pid] = CLAIM.exec(name) ?? [];
      if (!pid || name === ours) continue;
      const path = join(this.folder, name);
      if (!(await isOld(path)) && (host !== HOST || runs(Number(pid)))) found = true;
      else await unlink(path).catch(unlessMissing);
    }
    return found;
  }
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
    if ((await handle.stat()).size > LARGEST) return null;
    const [text, sum] = (await handle.readFile("utf8")).split("\n");
    return sum === sumOf(text) ? JSON.parse(text) : null;
  } finally {
    await handle.close();
  }
}

/**
 * Write a text and its sum, durably, into a claim that is there; raise ENOENT if somebody has deleted it.
 * @param {string} claim
 * @param {string} text
 */
async function write(claim, text) {
  const handle = await open(claim, "r+");
  try {
    await handle.writeFile(`${text}\n${sumOf(text)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
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
 * Return whether a process of this computer runs, whoever's it is.
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
 * @param {NodeJS.ErrnoException} error
 * @returns {undefined}
 */
function unlessMissing(error) {
  if (error.code !== "ENOENT") throw error;
}
