import { holdOf, ruleFor, windowOf } from "../../../client/js/src/upload/retry.js";
import { checkAll } from "./cases.js";

/** @param {import("./cases.js").Load} load */
export async function check(load) {
  return checkAll((await load("verdicts")).cases, ({ status, retry_after: wish, base, cap, failures }) => {
    if (wish !== undefined) return { hold: holdOf(wish, Date.now()) / 1e3 };
    if (failures !== undefined) return { window: windowOf([base * 1e3, cap * 1e3], failures) / 1e3 };
    const { fate, window, own } = ruleFor(`${status}`);
    return { fate, base: window[0] / 1e3, cap: window[1] / 1e3, only_its_own: own };
  });
}
