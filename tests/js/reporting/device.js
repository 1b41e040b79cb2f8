/** A device for tests of the recorder. */
import "../../../client/js/src/all.js";
import { decide } from "../../../client/js/src/consent/rules.js";
import { Diagnostics } from "../../../client/js/src/diagnostics.js";
import { SystemEntropy } from "../../../client/js/src/randomness/entropy.js";
import { Recorder } from "../../../client/js/src/reporting/recorder.js";
import { empty } from "../../../client/js/src/state/data.js";
import { MemoryState } from "../../../client/js/src/state/memory.js";
import { choice, metric, THEME, TODAY, WEEKLY } from "../metrics.js";

export const SPLIT = metric("split", { strata: [["platform", ["linux", "other"]], ["channel", ["beta", "other"]]] });
export const CHOICE = metric("size", { question: { kind: "choice", values: ["small", "large", "other"], other: 2 } });
CHOICE.law = { ...THEME.law, cells: 3, listed: 3 };

/** A device: a recorder, what it stands on, and how often it was looked at. */
export const device = ({ metrics = [THEME, WEEKLY, SPLIT, CHOICE], mode = "on", accepted = metrics, state, surroundings = {}, ...parts } = {}) => {
  const made = { day: TODAY, logged: [], reads: 0, updates: 0, taken: 0 };
  const data = { ...empty(), choice: mode && choice(mode, accepted) };
  made.state = state ?? new MemoryState(data);
  made.diagnostics = new Diagnostics((message) => made.logged.push(message));
  const system = new SystemEntropy();
  const watched = {
    read: () => (made.reads++, made.state.read()),
    update: (...given) => (made.updates++, made.state.update(...given)),
  };
  made.recorder = new Recorder({
    metrics: new Map(metrics.map((one) => [one.name, one])),
    state: watched,
    consent: ({ choice }) => decide(surroundings, choice),
    entropy: { take: (count) => ((made.taken += count), system.take(count)) },
    today: () => made.day,
    diagnostics: made.diagnostics,
    ...parts,
  });
  made.record = (...given) => made.recorder.record(...given);
  made.outbox = async () => (await made.state.read()).outbox;
  return made;
};
