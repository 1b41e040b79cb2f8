/**
 * A number: its place on a grid of `points` from `low` to `high`, even in the logarithm with `log`. The item
 * is the point below it, and the rest is the distance from there to the next point, in 2^-64 steps. A number
 * beyond an end has the place of that end, and is outside. A BigInt counts as the nearest double. NaN and
 * anything but a number are mistakes, at `low`.
 * @param {import("../types.js").Question} question
 * @param {unknown} value
 */
export const number = ({ low, high, log, points }, value) => {
  const double = typeof value === "number" || typeof value === "bigint" ? Number(value) : NaN;
  const inside = Math.min(Math.max(double, low), high);
  const [x, start, end] = [inside, low, high].map(log ? Math.log : Number);
  // NaN counts as low; a logarithm may be rounded past an end, and below 0 there is no chance to be rounded up
  const steps = Math.min((x - start) / (end - start) || 0, 1) * (points - 1);
  const item = steps | 0;
  const rest = BigInt(Math.floor((steps - item) * 2 ** 64));
  return { item, outside: inside !== double, mistake: double !== double, rest };
};
