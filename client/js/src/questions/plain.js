/**
 * Read what an app recorded.
 *
 * An answer is a string, a number, a BigInt or a boolean. Anything else is a mistake of the app's developer:
 * undefined, null, a symbol, a function, an object, and also a boxed `new String("x")`, `new Number(1)`, `new
 * Boolean(true)`. An answer with several values is an array or a typed array, whose order counts, or a Set, whose
 * order does not. An iterator is not accepted, because it is code of the app, and may never end. No code of the app
 * is run except a getter or a proxy behind a member that is read. If that throws, the object is not an answer.
 */

/** Maximum bytes of a text in UTF-8; the rest is cut off. */
export const LONGEST_TEXT = 1024;

const MOST_MEMBERS = 1 << 16;

/**
 * @param {any} item
 * @returns {import("../types.js").Encoded}
 */
export const encoded = (item, outside = false, mistake = false) => ({ item, outside, mistake });

/**
 * Return what `make` returns, or undefined if it throws.
 * @template T
 * @param {() => T} make
 * @returns {T | undefined}
 */
export const attempt = (make) => {
  try {
    return make();
  } catch {}
};

/** @type {{ [type: string]: (value: any) => string | undefined }} */
const WRITTEN = {
  string: (value) => value,
  boolean: String,
  bigint: (value) => (BigInt.asIntN(2048, value) === value ? String(value) : undefined),
  number: (value) =>
    Number.isInteger(value)
      ? String(BigInt(value))
      : Math.abs(value) < 1e-4
        ? value.toExponential().replace(/-(\d)$/, "-0$1")
        : String(value).toLowerCase().replace("inity", ""),
};

/**
 * Return an answer as text, or undefined if it is not an answer.
 *
 * A boolean is "true" or "false". A number is written as in Python: an integer as its digits (1, 1.0 and 1n are "1",
 * -0 is "0", 1e21 has all its 22), any other as the shortest decimal that reads as it, with an exponent of two
 * digits below 0.0001 ("1e-05"), and "nan", "inf", "-inf". A BigInt of more than 2,048 bits is not an answer,
 * because writing it may take long.
 * @param {unknown} value
 */
export const textOf = (value) => WRITTEN[typeof value]?.(value);

/**
 * Return the first members of a collection with the iterator of a built-in class, whatever its own one is;
 * undefined if it is not such a collection, or throws. The iterator of Uint8Array is that of all typed
 * arrays.
 * @param {{ prototype: any }} type Set, Map, Uint8Array; or Array, for what is known to be one.
 * @param {unknown} value
 */
export const members = (type, value) =>
  attempt(() => {
    /** @type {any[]} */
    const found = [];
    for (const each of type.prototype[Symbol.iterator].call(value)) if (found.push(each) === MOST_MEMBERS) break;
    return found;
  });

/**
 * Return the names of an object's properties: none if it is not an object, throws, or is a typed array.
 * @param {any} value
 */
export const namesOf = (value) =>
  (typeof value === "object" && !ArrayBuffer.isView(value) && attempt(() => Object.keys(value))) || [];
