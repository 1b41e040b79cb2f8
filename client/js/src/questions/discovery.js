import { encoded, textOf } from "./plain.js";

/**
 * Any text of up to `length` of the `characters`, as `length` symbols of a byte each. Character i is i + 1, 0
 * is the end, and the number above the last character's is the mark: it replaces the last symbol of a text
 * that is too long, and a text with another character is the mark alone. Both are outside. With `fold` A to Z
 * count as a to z.
 * @param {import("../types.js").Question} question
 * @param {unknown} value
 */
export const discovery = ({ characters, length, fold }, value) => {
  const text = textOf(value);
  const alphabet = [...characters];
  const mark = alphabet.length + 1;
  // So many units hold one character more than is spelled, whatever is parted behind it. No alphabet has U+0000.
  const given = [...(text ?? "\0").slice(0, 2 * length + 2)];
  const cut = given.length > length;
  const symbols = given
    .slice(0, cut ? length - 1 : length)
    // Below "[" only A to Z have small letters: all programs agree on these.
    .map((each) => alphabet.indexOf(fold && each < "[" ? each.toLowerCase() : each) + 1);
  const other = symbols.includes(0);
  if (cut) symbols.push(mark);
  const item = new Uint8Array(length);
  item.set(other ? [mark] : symbols);
  return encoded(item, other || cut, text === undefined);
};
