import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { truncateSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import test from "node:test";
import { empty, renewed } from "../../../client/js/src/state/data.js";
import { FileState } from "../../../client/js/src/state/files.js";
import { THEME, TODAY } from "../metrics.js";
import { scenarios } from "./scenarios.js";

const CONTENDER = join(import.meta.dirname, "contender.js");

/** Return a new folder, which is deleted after the test. */
const folderFor = (context) => {
  const folder = mkdtempSync(join(tmpdir(), "dither-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

const child = (...options) => spawn(process.execPath, [CONTENDER, ...options], { stdio: ["pipe", "pipe", "inherit"] });

const output = async (process) => {
  let text = "";
  for await (const piece of process.stdout) text += piece;
  return text.trim();
};

const files = (folder) => readdirSync(join(folder, "app")).sort();

/** Return the name of the claim that this process makes in a turn. */
const claimOf = (state, folder) => state.update(() => files(folder).find((name) => name.startsWith("state.json.")));

const put = (folder, claim, { pid, host, age = 0 }) => {
  const [, , ours, , random] = claim.split(".");
  const path = join(folder, "app", `state.json.${host ?? ours}.${pid}.${random}`);
  writeFileSync(path, "");
  utimesSync(path, Date.now() / 1000 - age, Date.now() / 1000 - age);
  return path;
};

for (const [name, scenario] of Object.entries(scenarios)) {
  test(name, (context) => {
    const folder = folderFor(context);
    return scenario(() => new FileState(folder, "app", 60_000));
  });
}

test("to read makes nothing", async (context) => {
  const folder = folderFor(context);
  assert.deepEqual(await new FileState(folder, "app").read(), empty());
  assert.deepEqual(readdirSync(folder), []);
});

test("file and folder are for their owner only, and nothing else is left", async (context) => {
  const folder = folderFor(context);
  const before = process.umask(0);
  context.after(() => process.umask(before));
  await new FileState(join(folder, "deep"), "app").update(() => {});
  assert.equal(statSync(join(folder, "deep", "app")).mode & 0o777, 0o700);
  assert.equal(statSync(join(folder, "deep", "app", "state.json")).mode & 0o777, 0o600);
  assert.deepEqual(files(join(folder, "deep")), ["state.json"]);
});

test("an update makes durable the file, then its name, and at first the folder's, too", async (context) => {
  const folder = folderFor(context);
  const handle = await open(folder);
  const prototype = Object.getPrototypeOf(handle);
  await handle.close();
  const { sync } = prototype;
  const synced = [];
  prototype.sync = async function () {
    const found = await this.stat();
    synced.push(found.isDirectory() ? found.ino : found.size > 0 && "file");
    return sync.call(this);
  };
  context.after(() => (prototype.sync = sync));
  const state = new FileState(folder, "app");
  for (let times = 0; times < 2; times++) await state.update(() => {});
  const [outer, inner] = [statSync(folder).ino, statSync(join(folder, "app")).ino];
  assert.deepEqual(synced, [outer, "file", inner, "file", inner]);
});

test("apps have states of their own", async (context) => {
  const folder = folderFor(context);
  await new FileState(folder, "one").update((data) => void (data.last.theme = 7));
  assert.deepEqual(await new FileState(folder, "two").read(), empty());
});

test("several processes at once make one report a period", async (context) => {
  const folder = folderFor(context);
  const made = await Promise.all(Array.from({ length: 3 }, () => output(child("answer", folder, 15))));
  assert.equal(made.map(Number).reduce((sum, one) => sum + one), 15);
  assert.equal((await new FileState(folder, "app").read()).accounts[THEME.version].reports, 15);
  assert.deepEqual(files(folder), ["state.json"]);
});

test("a process that is killed while it writes leaves the old data or the new", async (context) => {
  const folder = folderFor(context);
  const state = new FileState(folder, "app");
  let before = 0;
  for (let round = 1; round <= 2; round++) {
    const writer = child("write", folder);
    let reached = 0;
    for await (const line of createInterface(writer.stdout)) {
      reached = Number(line);
      if (reached === round) writer.kill("SIGKILL"); // as soon as it begins the next one
    }
    const { totals, outbox } = await state.read();
    assert.ok(totals.sent === before + reached || totals.sent === before + reached + 1, `${before} ${reached} ${totals.sent}`);
    assert.ok(outbox.length === 300 && outbox.every(({ day }) => day === totals.sent));
    await state.update((data) => void (before = data.totals.sent)); // whatever the other has left
    assert.deepEqual(files(folder), ["state.json"]);
  }
});

test("the turn of a process that was killed is taken over", async (context) => {
  const folder = folderFor(context);
  const dead = child("die", folder);
  await once(dead, "exit");
  assert.equal(files(folder).length, 1, "its claim is left");
  await new FileState(folder, "app", 0).update((data) => void (data.last.theme = 7));
  assert.deepEqual(files(folder), ["state.json"]);
});

test("the turn of a process that lives is not, and waiting has an end", async (context) => {
  const folder = folderFor(context);
  const state = new FileState(folder, "app", 50);
  await state.update((data) => void (data.last.theme = 7));
  const holder = child("stay", folder);
  const end = once(holder, "exit");
  await once(holder.stdout, "data");
  await assert.rejects(state.update(() => assert.fail()), { name: "TimeoutError" });
  await assert.rejects(state.erase(), { name: "TimeoutError" });
  assert.equal((await state.read()).last.theme, 7, "to read, nobody waits");
  const late = new FileState(folder, "app", 60_000).update((data) => data.last.theme);
  holder.stdin.write("go\n");
  assert.equal(await late, 7);
  await end;
  assert.deepEqual(files(folder), ["state.json"]);
});

test("a claim counts by its process, on another computer by its age", async (context) => {
  const folder = folderFor(context);
  const state = new FileState(folder, "app", 0);
  const name = await claimOf(state, folder);
  const gone = child("answer", folder, 0);
  await once(gone, "exit");
  for (const [claim, holds] of [
    [{ pid: gone.pid }, false],
    [{ pid: process.pid }, true],
    [{ pid: 1 }, true], // of any process
    [{ pid: process.pid, age: 3600 }, false], // its number is another's now
    [{ pid: process.pid, age: -3600 }, false],
    [{ pid: gone.pid, host: "elsewhere" }, true],
    [{ pid: gone.pid, host: "elsewhere", age: 3600 }, false],
  ]) {
    const path = put(folder, name, claim);
    if (holds) await assert.rejects(state.update(() => {}), { name: "TimeoutError" });
    else await state.update(() => {});
    assert.equal(existsSync(path), holds, JSON.stringify(claim));
    if (holds) unlinkSync(path);
  }
});

test("files of others are let be", async (context) => {
  const folder = folderFor(context);
  const state = new FileState(folder, "app", 0);
  await state.update(() => {});
  writeFileSync(join(folder, "app", "state.json.bak"), "");
  await state.update(() => {});
  assert.deepEqual(files(folder), ["state.json", "state.json.bak"]);
});

test("a process that lost its turn cannot replace the data", async (context) => {
  const folder = folderFor(context);
  const state = new FileState(folder, "app");
  await state.update((data) => void (data.last.theme = 7));
  const slept = state.update((data) => {
    data.last.theme = 8;
    unlinkSync(join(folder, "app", files(folder).find((name) => name !== "state.json")));
  });
  await assert.rejects(slept, { name: "ENOENT" });
  assert.equal((await state.read()).last.theme, 7);
});

test("damage to a byte anywhere is noticed, and nothing is overwritten", async (context) => {
  const folder = folderFor(context);
  const state = new FileState(folder, "app");
  const file = join(folder, "app", "state.json");
  await state.update((data) => void (data.last.theme = TODAY));
  const sound = readFileSync(file);
  for (let place = 0; place < sound.length - 1; place += 5) {
    const bytes = Buffer.from(sound);
    bytes[place] ^= 1;
    writeFileSync(file, bytes);
    await assert.rejects(state.read(), { name: "DataError" }, `byte ${place}`);
  }
  await assert.rejects(state.update(() => assert.fail()), { name: "DataError" });
  for (let length = 0; length < sound.length - 1; length += 5) {
    writeFileSync(file, sound);
    truncateSync(file, length);
    await assert.rejects(state.read(), { name: "DataError" }, `${length} bytes`);
  }
  await state.update(() => {}, () => renewed(["theme"], TODAY));
  assert.deepEqual((await state.read()).last, { theme: TODAY });
});

test("a file that is larger than any of ours is damaged, and not read", async (context) => {
  const folder = folderFor(context);
  const state = new FileState(folder, "app");
  await state.update(() => {});
  const file = join(folder, "app", "state.json");
  const forged = JSON.stringify({ ...empty(), sent: ["x".repeat(2 ** 21)] });
  writeFileSync(file, `${forged}\n${createHash("sha256").update(forged).digest("hex")}\n`);
  await assert.rejects(state.read(), { name: "DataError" });
  truncateSync(file, 2 ** 40);
  await assert.rejects(state.read(), { name: "DataError" });
});

test("a file that grows while it is read is read as it was", async (context) => {
  const folder = folderFor(context);
  const state = new FileState(folder, "app");
  await state.update((data) => void (data.last.theme = 7));
  const handle = await open(folder);
  const prototype = Object.getPrototypeOf(handle);
  await handle.close();
  const { stat } = prototype;
  context.after(() => (prototype.stat = stat));
  prototype.stat = async function () {
    const found = await stat.call(this);
    truncateSync(join(folder, "app", "state.json"), 2 ** 40);
    return found;
  };
  assert.equal((await state.read()).last.theme, 7);
});

test("no file is written that is too large to be read", async (context) => {
  const folder = folderFor(context);
  const state = new FileState(folder, "app");
  await state.update((data) => void (data.last.theme = 7));
  const grow = (data) => void data.sent.push("ü".repeat(2 ** 20));
  await assert.rejects(state.update(grow), { name: "QuotaExceededError" });
  assert.deepEqual(await state.read(), { ...empty(), last: { theme: 7 } });
  assert.deepEqual(files(folder), ["state.json"]);
});

test("a full disk rejects the update, and the earlier data stay", async (context) => {
  const folder = folderFor(context);
  const state = new FileState(folder, "app");
  await state.update((data) => void (data.last.theme = 7));
  const script = `trap '' XFSZ; ulimit -f 100; exec "$0" "$@"`; // SIGXFSZ ignored, such a write fails as on a full disk
  const { stdout } = spawnSync("bash", ["-c", script, process.execPath, CONTENDER, "fill", folder], { encoding: "utf8" });
  assert.equal(stdout.trim(), "EFBIG");
  assert.equal((await state.read()).last.theme, 7);
  assert.deepEqual(files(folder), ["state.json"]);
});

test("a symbolic link, a pipe or a folder in its place is not followed, read or replaced", async (context) => {
  const folder = folderFor(context);
  const state = new FileState(folder, "app");
  await state.update(() => {});
  const file = join(folder, "app", "state.json");
  const makers = {
    link: () => symlinkSync(join(folder, "elsewhere"), file),
    pipe: () => spawnSync("mkfifo", [file]),
    folder: () => mkdirSync(file),
  };
  writeFileSync(join(folder, "elsewhere"), readFileSync(file));
  for (const [kind, make] of Object.entries(makers)) {
    rmSync(file, { recursive: true });
    make();
    const { ino } = statSync(file);
    await assert.rejects(state.read(), kind);
    await assert.rejects(state.update(() => assert.fail()), kind);
    assert.equal(statSync(file).ino, ino);
  }
});

test("a folder that cannot be made, or written, rejects by the system's name for it", async (context) => {
  const folder = folderFor(context);
  writeFileSync(join(folder, "file"), "");
  await assert.rejects(new FileState(join(folder, "file"), "app").update(() => {}), { name: "ENOTDIR" });
  await assert.rejects(new FileState(join(folder, "file"), "app").read(), { name: "ENOTDIR" });
  if (process.getuid?.() === 0) return; // for whom everything can be written
  await new FileState(folder, "app").update(() => {});
  chmodSync(join(folder, "app"), 0o500);
  await assert.rejects(new FileState(folder, "app").update(() => {}), { name: "EACCES" });
});

test("an app whose name no folder can have is refused", () => {
  for (const name of ["../notes", ". .", "", "notes.", "Con .notes", "a\u0000"])
    assert.throws(() => new FileState(tmpdir(), name), /^TypeError: app: a folder cannot have this name/);
});
