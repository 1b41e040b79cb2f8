import { holdOf, LONGEST_HOLD, NETWORK, REFUSED, windowOf } from "./retry.js";

/**
 * Return a schedule: it says when each report leaves, so that uploads of one device cannot be joined by their moments.
 * The rules and the reasons are those of `client/dither/upload/schedule.py`. Each waits for a random time of its own,
 * uniform in [0, spread] from when it is first seen. Nothing that happens to one report moves another. Moments are
 * milliseconds since 1970, and are kept: a page lives for seconds. One that is further away than any can be comes
 * from another clock, and is drawn again.
 *
 * @import { Data, Hold, Queued } from "../types.js"
 * @import { RetryWindow } from "./retry.js"
 *
 * @param {number} spread Milliseconds.
 * @param {() => number} uniform Return a random number in [0, 1).
 * @param {() => number} now
 */
export function scheduleOf(spread, uniform, now) {
  let pausedUntil = 0;
  const drawn = () => {
    if (pausedUntil > now() + NETWORK[1]) pausedUntil = 0;
    return Math.max(now(), pausedUntil) + uniform() * spread;
  };
  /**
   * Draw new times for what became due while it could not leave.
   * @param {Data} data
   */
  const redraw = ({ held }, until = now()) => {
    for (const hold of Object.values(held)) if (hold.moment <= until) hold.moment = drawn();
  };
  return {
    redraw,
    /**
     * Draw the times of new reports; forget reports that no longer wait.
     * @param {Data} data
     * @param {Queued[]} waiting
     */
    plan(data, waiting) {
      const latest = now() + LONGEST_HOLD + REFUSED[1] + spread;
      const kept = (/** @type {Hold} */ hold) =>
        hold?.moment <= latest ? hold : { failures: hold?.failures ?? 0, moment: drawn(), notBefore: 0 };
      data.held = Object.fromEntries(waiting.map(({ batch }) => [batch, kept(data.held[batch])]));
    },
    /**
     * Let nothing leave for a random delay, after this many failures to reach anybody; draw new times for
     * what was due in it.
     * @param {Data} data
     * @param {number} failures
     */
    pause(data, failures) {
      pausedUntil = now() + uniform() * windowOf(NETWORK, failures);
      redraw(data, pausedUntil);
    },
    /**
     * Postpone a report that failed; not even a flush sends it sooner than the collector asked for.
     * @param {Hold} hold
     * @param {RetryWindow} window
     * @param {string | null} [retryAfter]
     */
    putOff(hold, window, retryAfter) {
      const span = holdOf(retryAfter, now());
      hold.notBefore = now() + span;
      hold.moment = hold.notBefore + uniform() * Math.max(spread, span, windowOf(window, hold.failures - 1));
    },
  };
}

/**
 * Return which of `waiting`, oldest first, leaves next. A flush sends one that has not failed yet or, if
 * there is none, one that is not held.
 * @param {Data} data
 * @param {Queued[]} waiting
 * @param {number} now
 * @param {Set<string>} [tried] The batches that this flush has tried; none if there is no flush.
 */
export function nextOf({ held }, waiting, now, tried) {
  const free = waiting.filter(({ batch }) => tried && !tried.has(batch) && held[batch].notBefore <= now);
  const next = free.find(({ batch }) => !held[batch].failures) ?? free[0];
  if (next) held[next.batch].moment = 0;
  return next ?? [...waiting].sort((a, b) => held[a.batch].moment - held[b.batch].moment)[0];
}
