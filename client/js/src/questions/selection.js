import { encoded, members, textOf } from "./plain.js";

/**
 * Any of `values`: the indices of the given ones, ascending. A value that is not listed is outside, and left
 * out. If there are more than `at_most`, the first ones count, in the order of an array, or of the list for a
 * Set. Anything but a collection is a mistake, and counts as the empty set; so is a string, but it is
 * reported as a set of one.
 * @param {import("../types.js").Question} question
 * @param {unknown} value
 */
export const selection = ({ values, at_most: most }, value) => {
  const row = members(Array.isArray(value) ? Array : Uint8Array, value);
  const given = row ?? members(Set, value);
  const told = new Set((given ?? [typeof value === "string" ? value : undefined]).map(textOf));
  const listed = new Set(values);
  const known = (row ? [...told] : values).filter((/** @type {string} */ text) => told.has(text) && listed.has(text));
  const kept = new Set(known.slice(0, most ?? known.length));
  return encoded(
    values.flatMap((/** @type {string} */ text, /** @type {number} */ place) => (kept.has(text) ? place : [])),
    kept.size < told.size,
    !given || told.has(undefined),
  );
};
