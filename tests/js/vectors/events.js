import "../../../client/js/src/all.js";
import { events } from "../../../client/js/src/events.js";
import { empty } from "../../../client/js/src/state/data.js";
import { MemoryState } from "../../../client/js/src/state/memory.js";
import { FixedEntropy } from "../fixed_entropy.js";
import { bytesOf, bytesOfBase64, checkAll, hexOf } from "./cases.js";

const dayOf = (date) => Date.parse(date) / 864e5;
const dateOf = (day) => new Date(day * 864e5).toISOString().slice(0, 10);

/** Return the stored data in terms that every implementation has. */
function stateOf({ of }, kept) {
  if (!kept) return null;
  const begun = dateOf(kept.begun);
  const { state } = kept;
  if (of === "any" || of === "set") return { begun, batch: state.batch, row: hexOf(bytesOfBase64(state.row)) };
  return of === "days" ? { begun, days: [...state].sort((one, two) => one - two).map(dateOf) } : { begun, number: state };
}

/** @param {import("./cases.js").Load} load */
export async function check(load) {
  return checkAll((await load("events")).cases, async ({ compiled, steps }) => {
    const metric = JSON.parse(compiled);
    const state = new MemoryState(empty());
    const now = { entropy: new FixedEntropy(bytesOf(steps[0].entropy)), day: dayOf(steps[0].day) };
    const recorder = new events({
      metrics: new Map([[metric.name, metric]]),
      state,
      consent: () => ({ mode: "on", decidedBy: "", accepted: null }),
      entropy: { take: (count) => now.entropy.take(count) },
      today: () => now.day,
      diagnostics: { note: () => {} },
      strict: true,
    });
    const computed = [];
    for (const step of steps) {
      if (step !== steps[0]) Object.assign(now, { entropy: new FixedEntropy(bytesOf(step.entropy)), day: dayOf(step.day) });
      const before = (await state.read()).outbox.map(({ batch }) => batch);
      await (step.event === null ? recorder.review() : recorder.add(metric.name, step.event));
      const { outbox, events: kept } = await state.read();
      const bodies = outbox.filter(({ batch }) => !before.includes(batch)).map(({ body }) => body);
      computed.push({ ...step, used: now.entropy.used, state: stateOf(metric, kept?.[metric.version]), bodies });
    }
    return { steps: computed };
  });
}
