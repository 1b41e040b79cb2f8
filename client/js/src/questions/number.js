import { encoded } from "./plain.js";

/**
 * A number: its place on a grid of `points` from `low` to `high`, even in the logarithm with `log`. The item is the
 * point below it, and the rest how far it is from there to the next point, in 2^-64 steps. What is beyond an end has the
 * place of that end, and is outside. A BigInt counts as the double nearest to it. NaN and what is no number are
 * mistakes, at `low`.
 * @param {import("../types.js").Question} question
 * @param {unknown} value
 */
export const number = ({ low, high, log, points }, value) => {
  const double = typeof value === "number" || typeof value === "bigint" ? Number(value) : NaN;
  const mistake = Number.isNaN(double);
  const inside = mistake ? low : Math.min(Math.max(double, low), high);
  const start = log ? Math.log(low) : low;
  const part = ((log ? Math.log(inside) : inside) - start) / ((log ? Math.log(high) : high) - start);
  const steps = Math.min(Math.max(part, 0), 1) * (points - 1); // a logarithm may be rounded past that of an end
  const item = Math.floor(steps);
  return { ...encoded(item, inside !== double, mistake), rest: BigInt(Math.floor((steps - item) * 2 ** 64)) };
};
