/** What an app may pass by mistake, or to do harm: no answer to any question. */

const throws = () => {
  throw new Error("the app's own");
};

/** A proxy all of whose traps throw. */
export const trap = new Proxy([], new Proxy({}, { get: () => throws }));

const revoked = Proxy.revocable([], {});
revoked.revoke();

const endless = { [Symbol.iterator]: () => ({ next: () => ({ done: false, value: "a" }) }), length: Infinity };

class Endless extends Set {
  *[Symbol.iterator]() {
    for (;;) yield "a";
  }
}

/** A set that has an endless iterator of its own; its content is "a". */
export const endlessSet = new Endless().add("a");

/** @type {unknown[]} */
export const NO_ANSWERS = [
  undefined,
  null,
  Symbol("a"),
  () => "a",
  class {},
  new String("a"),
  new Number(1),
  new Boolean(true),
  new Date(0),
  /a/,
  new Error("a"),
  new WeakSet(),
  new ArrayBuffer(8),
  new DataView(new ArrayBuffer(8)),
  Promise.resolve("a"),
  (function* () {
    for (;;) yield "a";
  })(),
  ["a"].values(),
  endless,
  revoked.proxy,
  trap,
  new Proxy(new Set(["a"]), {}),
  globalThis,
  { toString: throws, valueOf: throws, [Symbol.toPrimitive]: throws, toJSON: throws },
  Object.create(null),
  Object.defineProperty({}, "theme", { enumerable: true, get: throws }),
];
