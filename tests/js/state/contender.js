/** A process of its own, for files.test.js: `node contender.js TASK FOLDER`. It prints what it has done to its parent. */
import { spawnSync } from "node:child_process";
import { writeSync } from "node:fs";
import { debit, standing } from "../../../client/js/src/reporting/ledger.js";
import { FileState } from "../../../client/js/src/state/files.js";
import { THEME, TODAY } from "../metrics.js";

const [task, folder, ...days] = process.argv.slice(2);
const state = new FileState(folder, "app", 60_000);

const tasks = {
  /** Try to report once on each of several days. */
  async answer() {
    let made = 0;
    for (let day = TODAY; day < TODAY + Number(days[0]); day++) {
      made += await state.update((data) => {
        const open = standing(data, THEME, day, Infinity) === "open";
        if (open) debit(data, THEME, day);
        return Number(open);
      });
    }
    console.log(made);
  },

  /** Write one long outbox after the other, and say so, without end. */
  async write() {
    for (let count = 1; ; count++) {
      await state.update((data) => {
        data.totals.sent++;
        data.outbox = Array.from({ length: 300 }, () => ({ batch: "", metric: "", day: data.totals.sent, local: false, body: "x".repeat(500) }));
      });
      console.log(count);
    }
  },

  /** Stop for good in the middle of a turn, as a process that is killed there. */
  async die() {
    await state.update(() => process.kill(process.pid, "SIGKILL"));
  },

  /** Keep a turn until a line comes in. */
  async stay() {
    await state.update(() => {
      writeSync(1, "mine\n");
      spawnSync("head", ["-n", "1"], { stdio: ["inherit", "ignore", "inherit"] });
    });
  },

  /** Write more than the system lets this process write. */
  async fill() {
    try {
      await state.update((data) => void data.sent.push("x".repeat(1e6)));
      console.log("kept");
    } catch (error) {
      console.log(error.name);
    }
  },
};

await tasks[task]();
process.exit();
