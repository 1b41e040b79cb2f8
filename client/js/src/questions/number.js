import { encoded } from "./plain.js";

/**
 * A number: the count of `borders` that it reaches. `borders[i]` is the least double that belongs to point i + 1, so a
 * number on a boundary belongs to the upper point, and what is beyond an end has the point of that end, and is outside.
 * A BigInt counts as the double nearest to it. NaN and what is no number are mistakes, and point 0.
 * @param {import("../types.js").Question} question
 * @param {unknown} value
 */
export const number = ({ low, high, borders }, value) => {
  const double = typeof value === "number" || typeof value === "bigint" ? Number(value) : NaN;
  let least = 0;
  let most = borders.length;
  while (least < most) {
    const middle = (least + most) >> 1;
    if (borders[middle] <= double) least = middle + 1; // NaN reaches none
    else most = middle;
  }
  return encoded(least, !(double >= low && double <= high), Number.isNaN(double));
};
