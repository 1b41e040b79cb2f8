/** What can go wrong with IndexedDB: each is given the class of its states, and throws if one hangs or forgets. */
import { empty } from "../../../client/js/src/state/data.js";

const PATIENT = 30_000;
const IMPATIENT = 300;

const equal = (found, wanted) => {
  const [left, right] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (left !== right) throw new Error(`found ${left}, not ${right}`);
};

const errorOf = (promise) => promise.then(() => "none", (error) => error.name);

const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

const mark = (data) => void (data.last.theme = 7);

export const faults = {
  "an open that is blocked has an end, and the next one is not": async (State) => {
    await new State("blocked").update(mark);
    const other = await done(indexedDB.open("dither blocked", 1)); // which does not close when it is asked to
    const gone = done(indexedDB.deleteDatabase("dither blocked"));
    const state = new State("blocked", IMPATIENT);
    equal(await errorOf(state.read()), "TimeoutError");
    equal(await errorOf(state.update(mark)), "TimeoutError");
    other.close();
    await gone;
    equal(await new State("blocked", PATIENT).read(), empty());
    equal(await state.read(), empty());
  },

  "a tab waits for a limited time for its turn; an update that came too late is not done later": async (State) => {
    const state = new State("held", IMPATIENT);
    await state.update(mark);
    const other = await done(indexedDB.open("dither held", 1));
    const store = other.transaction("state", "readwrite").objectStore("state");
    let held = true;
    const spin = () => {
      if (held) store.get(0).onsuccess = spin;
    };
    spin();
    equal(await errorOf(state.update((data) => void (data.last.theme = 8))), "TimeoutError");
    held = false;
    equal((await new State("held", PATIENT).read()).last, { theme: 7 });
    equal((await state.read()).last, { theme: 7 });
  },

  "the database may be deleted while it is open, and is made again": async (State) => {
    const state = new State("deleted", PATIENT);
    await state.update(mark);
    await done(indexedDB.deleteDatabase("dither deleted"));
    equal(await state.read(), empty());
    await state.update(mark);
    equal((await state.read()).last, { theme: 7 });
  },

  "a database of a later version, or of somebody else, rejects": async (State) => {
    (await done(indexedDB.open("dither later", 7))).close();
    (await done(indexedDB.open("dither other", 1))).close();
    for (const [app, name] of [["later", "VersionError"], ["other", "NotFoundError"]]) {
      const state = new State(app, PATIENT);
      for (const step of [state.read(), state.update(mark), state.erase()]) equal(await errorOf(step), name);
    }
  },

  "without IndexedDB, or where it is denied, it rejects": async (State) => {
    const property = Object.getOwnPropertyDescriptor(globalThis, "indexedDB");
    const denied = () => {
      throw new DOMException("denied", "SecurityError");
    };
    const state = new State("none", PATIENT);
    try {
      for (const [get, name] of [[() => undefined, "TypeError"], [denied, "SecurityError"]]) {
        Object.defineProperty(globalThis, "indexedDB", { get, configurable: true });
        for (const step of [state.read(), state.update(mark)]) equal(await errorOf(step), name);
      }
    } finally {
      Object.defineProperty(globalThis, "indexedDB", property);
    }
    await state.update(mark);
    equal((await state.read()).last, { theme: 7 });
  },

  "an update that cannot be stored rejects, and the earlier data stay": async (State) => {
    const state = new State("unclonable", PATIENT);
    await state.update(mark);
    equal(await errorOf(state.update((data) => void data.sent.push(() => {}))), "DataCloneError");
    equal(await state.read(), { ...empty(), last: { theme: 7 } });
  },
};

/** Fill what `Storage.overrideQuotaForOrigin` leaves of the disk. */
export const overflow = async (State) => {
  const state = new State("quota", PATIENT);
  await state.update(mark);
  const fill = (data) => void data.sent.push(...Array.from({ length: 30 }, () => crypto.randomUUID() + "x".repeat(2e6)));
  equal(await errorOf(state.update(fill)), "QuotaExceededError");
  equal(await state.read(), { ...empty(), last: { theme: 7 } });
};
