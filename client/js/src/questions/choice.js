import { encoded, textOf } from "./plain.js";

/**
 * One of `values`: the index of the one with the same text. Another text is outside and goes to the catch-all
 * at `other`; so does a mistake.
 * @param {import("../types.js").Question} question
 * @param {unknown} value
 */
export const choice = ({ values, other }, value) => {
  const text = textOf(value);
  const item = values.indexOf(text);
  return item < 0 ? encoded(other, true, text === undefined) : encoded(item);
};
