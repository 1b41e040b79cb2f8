import { encoded, LONGEST_TEXT } from "./plain.js";

/** @type {unknown[][]} */
const MEANINGS = [
  [false, 0, 0n, "false"],
  [true, 1, 1n, "true"],
];

// White space as Python strips it: \s has U+FEFF besides, and not these controls.
const WORD = /^(?:[^\S\ufeff]|[\x1c-\x1f\x85])*(true|false)(?:[^\S\ufeff]|[\x1c-\x1f\x85])*$/i;

/**
 * Yes or no: item 1 for true, 1, 1n and "true", 0 for false, 0, 0n and "false"; neither case nor white space around a
 * string matters. What is neither is a mistake, and reported as no.
 * @param {import("../types.js").Question} _question
 * @param {unknown} value
 */
export const boolean = (_question, value) => {
  const word = typeof value === "string" ? WORD.exec(value.slice(0, LONGEST_TEXT))?.[1].toLowerCase() : value;
  const item = MEANINGS.findIndex((each) => each.includes(word));
  return item < 0 ? encoded(0, true, true) : encoded(item);
};
