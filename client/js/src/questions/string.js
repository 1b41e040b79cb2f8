import { encoded, LONGEST_TEXT, textOf } from "./plain.js";

/**
 * Any text: its first 1,024 bytes in UTF-8. A surrogate without its pair becomes "?"; a mistake is the empty
 * text.
 * @param {import("../types.js").Question} _question
 * @param {unknown} value
 */
export const string = (_question, value) => {
  const text = textOf(value);
  const mistake = text === undefined;
  // One unit more than the bytes needed, so that no pair of surrogates that counts is split.
  const whole = (text ?? "").slice(0, LONGEST_TEXT + 1).replace(/\p{Cs}/gu, "?");
  return encoded(new TextEncoder().encode(whole).slice(0, LONGEST_TEXT), mistake, mistake);
};
