import { holdOf, LONGEST_HOLD, NETWORK, REFUSED, windowOf } from "./retry.js";

/**
 * Return a schedule: it says when each report leaves, so that uploads of one device cannot be joined by their moments.
 * The rules and the reasons are those of `client/dither/upload/schedule.py`. Each waits for a random time of its own,
 * uniform in [0, spread] from when it is first seen. Nothing that happens to one report moves another. Moments are
 * milliseconds since 1970, and are kept: a page lives for seconds. One that is further away than any can be is of
 * another clock, and is drawn anew.
 *
 * @import { Data, Hold, Queued } from "../types.js"
 * @import { Patience } from "./retry.js"
 *
 * @param {number} spread Milliseconds.
 * @param {() => number} uniform Return a random number in [0, 1).
 * @param {() => number} now
 */
export function scheduleOf(spread, uniform, now) {
  let restsUntil = 0;
  const drawn = () => {
    if (restsUntil > now() + NETWORK[1]) restsUntil = 0;
    return Math.max(now(), restsUntil) + uniform() * spread;
  };
  /** Draw anew what became due while it could not leave. @param {Data} data */
  const redraw = ({ held }, until = now()) => {
    for (const hold of Object.values(held)) if (hold.moment <= until) hold.moment = drawn();
  };
  return {
    redraw,
    /**
     * Draw the moments of what is seen first; forget what waits no more.
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
     * Let nothing leave for a while, after so many failures before this one; what would have left is drawn anew.
     * @param {Data} data
     * @param {number} failures
     */
    rest(data, failures) {
      restsUntil = now() + uniform() * windowOf(NETWORK, failures);
      redraw(data, restsUntil);
    },
    /**
     * Put off a report that failed, not even in haste sooner than the collector asked for.
     * @param {Hold} hold
     * @param {Patience} patience
     * @param {string | null} [retryAfter]
     */
    putOff(hold, patience, retryAfter) {
      const span = holdOf(retryAfter, now());
      hold.notBefore = now() + span;
      hold.moment = hold.notBefore + uniform() * Math.max(spread, span, windowOf(patience, hold.failures - 1));
    },
  };
}

/**
 * Return which of `waiting`, oldest first, leaves next. In haste one leaves at once that has not failed yet, or else
 * one that was not put off.
 * @param {Data} data
 * @param {Queued[]} waiting
 * @param {number} now
 * @param {Set<string>} [tried] The batches that were tried in this haste.
 */
export function nextOf({ held }, waiting, now, tried) {
  const free = waiting.filter(({ batch }) => tried && !tried.has(batch) && held[batch].notBefore <= now);
  const hasty = free.find(({ batch }) => !held[batch].failures) ?? free[0];
  if (hasty) held[hasty.batch].moment = 0;
  return hasty ?? [...waiting].sort((a, b) => held[a.batch].moment - held[b.batch].moment)[0];
}
