/** A device whose clock, timers and network a test moves; nothing here waits for real time. */
import { Diagnostics } from "../../../client/js/src/diagnostics.js";
import { empty } from "../../../client/js/src/state/data.js";
import { MemoryState } from "../../../client/js/src/state/memory.js";
import { Sender } from "../../../client/js/src/upload/sender.js";

export const START = 1.8e12;
const DAY = 864e5;

/** A clock, and the timers of this process while it is `faked`. */
export class Clock {
  now = START;
  timers = new Map();
  #number = 0;

  /** Put its timers in place of the real ones, until the test is over. */
  fake(context) {
    const { setTimeout, clearTimeout } = globalThis;
    context.after(() => Object.assign(globalThis, { setTimeout, clearTimeout }));
    globalThis.setTimeout = (call, ms) => {
      const timer = { number: ++this.#number, unref: () => (timer.free = true) };
      this.timers.set(timer.number, { timer, call, at: this.now + ms });
      return timer;
    };
    globalThis.clearTimeout = (timer) => this.timers.delete(timer?.number);
    return this;
  }

  /** Let time pass, and call the timers that end in it, each at its moment. */
  async pass(ms) {
    const end = this.now + ms;
    await idle();
    for (;;) {
      const [next] = [...this.timers.values()].sort((one, other) => one.at - other.at);
      if (!next || next.at > end) break;
      this.timers.delete(next.timer.number);
      this.now = Math.max(this.now, next.at);
      next.call();
      await idle();
    }
    this.now = end;
  }

  /** Return in how many milliseconds the next timer ends; undefined if there is none. */
  get wait() {
    return this.timers.size ? Math.min(...[...this.timers.values()].map(({ at }) => at)) - this.now : undefined;
  }
}

/** Resolve when everything has run that waits for no timer. */
export const idle = async () => {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
};

export const report = (number, { metric = "theme", version = "a".repeat(16), local = false, day = START / DAY } = {}) => {
  const batch = number.toString(16).padStart(32, "0");
  return { batch, metric, day: Math.floor(day), local, body: JSON.stringify({ batch, metric, version, reports: "AQ==" }) };
};

/** Answers like `fetch`: a status, [status, Retry-After], an Error to reject with, or a promise of one of them. */
export const networkOf = (answers) => {
  const requests = [];
  const fetch = async (url, init) => {
    requests.push({ url, ...init });
    const answer = await (answers.shift() ?? 202);
    if (answer instanceof Error) throw answer;
    const [status, wish] = [answer].flat();
    return { status, body: null, headers: new Headers(wish == null ? {} : { "retry-after": `${wish}` }) };
  };
  return { requests, fetch };
};

export const unreachable = () => Object.assign(new TypeError("fetch failed"), { unreached: true });

/** A device with reports that wait, and the answers that it will get. */
export function deviceOf({ clock, reports = 1, answers = [], state, ...options }) {
  const outbox = Array.isArray(reports) ? reports : Array.from({ length: reports }, (_, number) => report(number + 1));
  const network = networkOf(answers);
  const diagnostics = new Diagnostics(() => {});
  const device = {
    ...network,
    diagnostics,
    permitted: true,
    state: state ?? new MemoryState({ ...empty(), outbox }),
    get sent() {
      return network.requests.map(({ body }) => parseInt(JSON.parse(body).batch, 16));
    },
  };
  device.sender = new Sender({
    ...{ state: device.state, endpoint: "https://collector.example", diagnostics, fetch: network.fetch, spread: 100 },
    ...{ now: () => clock.now, today: () => Math.floor(clock.now / DAY), consent: () => ({ mode: device.permitted ? "on" : "off" }) },
    ...{ uniform: () => 0.5, locks: null },
    ...options,
  });
  return device;
}
