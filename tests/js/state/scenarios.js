/**
 * What every kind of state promises. Each scenario is given `open`, which returns one more state on the same storage,
 * empty at first, as another tab or process would have it; it throws if a promise is broken. They run anywhere.
 */
import { debit, standing } from "../../../client/js/src/reporting/ledger.js";
import { empty, renewed } from "../../../client/js/src/state/data.js";
import { THEME, TODAY } from "../metrics.js";

const equal = (found, wanted) => {
  const [left, right] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (left !== right) throw new Error(`found ${left}, not ${right}`);
};

const errorOf = async (promise) => {
  try {
    await promise;
  } catch (error) {
    return error.name;
  }
  throw new Error("it did not reject");
};

const answer = (data) => {
  if (standing(data, THEME, TODAY, Infinity) !== "open") return false;
  debit(data, THEME, TODAY);
  return true;
};

export const scenarios = {
  "it begins empty": async (open) => equal(await open().read(), empty()),

  "an update is kept, and others see it": async (open) => {
    equal(await open().update((data) => ((data.last.theme = 7), "result")), "result");
    equal((await open().read()).last, { theme: 7 });
  },

  "reading returns a copy": async (open) => {
    const state = open();
    await state.update((data) => void (data.last.theme = 7));
    (await state.read()).last.theme = 8;
    equal((await state.read()).last, { theme: 7 });
  },

  "the result of an update gives no access to the stored data": async (open) => {
    const state = open();
    const data = await state.update((data) => data);
    data.last.theme = 8;
    equal((await state.read()).last, {});
  },

  "if a change throws, nothing is kept, and the next one is": async (open) => {
    const state = open();
    const fails = (data) => {
      data.last.theme = 7;
      throw new RangeError("not this one");
    };
    equal(await errorOf(state.update(fails)), "RangeError");
    equal(await state.read(), empty());
    await state.update((data) => void (data.last.theme = 8));
    equal((await open().read()).last, { theme: 8 });
  },

  "updates take turns": async (open) => {
    const states = [open(), open(), open()];
    const count = (data) => ++data.totals.sent;
    const seen = await Promise.all(Array.from({ length: 15 }, (_, index) => states[index % 3].update(count)));
    equal(seen.sort((a, b) => a - b), Array.from({ length: 15 }, (_, index) => index + 1));
    equal((await open().read()).totals.sent, 15);
  },

  "two at once make one report a period": async (open) => {
    const states = [open(), open(), open(), open()];
    const made = await Promise.all(Array.from({ length: 12 }, (_, index) => states[index % 4].update(answer)));
    equal(made.filter(Boolean).length, 1);
    equal((await open().read()).accounts[THEME.version].reports, 1);
  },

  "it is erased, and begins again": async (open) => {
    const state = open();
    await state.update((data) => void (data.last.theme = 7));
    const other = open();
    await other.erase();
    equal(await state.read(), empty());
    await state.erase();
    await state.update((data) => void (data.last.theme = 9));
    equal((await other.read()).last, { theme: 9 });
  },

  "an outbox of 500,000 bytes is kept": async (open) => {
    const report = (batch) => ({ batch: `${batch}`, metric: "theme", day: TODAY, local: false, body: "x".repeat(500) });
    await open().update((data) => data.outbox.push(...Array.from({ length: 1000 }, (_, batch) => report(batch))));
    const { outbox } = await open().read();
    equal([outbox.length, outbox[999]], [1000, report(999)]);
  },

  "damaged data are neither believed nor overwritten, until someone starts afresh": async (open) => {
    const state = open();
    await state.update((data) => void (data.last = "damaged"));
    equal(await errorOf(state.read()), "DataError");
    equal(await errorOf(state.update(() => {})), "DataError");
    equal(await errorOf(open().read()), "DataError");
    await state.update((data) => void (data.totals.sent = 3), () => renewed([THEME.name], TODAY));
    const data = await open().read();
    equal(data, { ...empty(), last: { theme: TODAY }, totals: { sent: 3, dropped: 0 }, events: null });
    equal(await state.update(answer), false);
  },

  "data on which a change throws are damaged, too, if someone starts afresh": async (open) => {
    const state = open();
    await state.update((data) => void (data.outbox = [null]));
    const change = (data) => data.outbox.map(({ batch }) => batch);
    equal(await errorOf(state.update(change)), "TypeError");
    equal((await state.read()).outbox, [null]);
    equal(await state.update(change, () => renewed([THEME.name], TODAY)), []);
    equal(await open().read(), { ...empty(), last: { theme: TODAY }, events: null });
  },

  "data of a later version stay as they are until they are erased, even if someone starts afresh": async (open) => {
    const state = open();
    await state.update((data) => void Object.assign(data, { format: 2, accounts: { later: 1 } }));
    for (const renew of [undefined, () => renewed([THEME.name], TODAY)])
      equal(await errorOf(state.update(() => {}, renew)), "VersionError");
    equal(await errorOf(open().read()), "VersionError");
    await state.update((data) => void data, undefined).catch(() => {});
    await open().erase();
    equal(await state.read(), empty());
  },

  "damaged data can be erased": async (open) => {
    const state = open();
    await state.update((data) => void (data.format = 2));
    await state.erase();
    equal(await state.read(), empty());
  },

  "data that are in order are not replaced": async (open) => {
    const state = open();
    await state.update((data) => void (data.last.theme = 7));
    await state.update(() => {}, () => renewed(["other"], TODAY));
    equal((await state.read()).last, { theme: 7 });
  },
};
