import { fieldOf } from "../../../client/js/src/mechanisms/fields.js";
import { indexOf, pointOf } from "../../../client/js/src/mechanisms/points.js";
import { lowerOf } from "../primitive.js";
import { checkAll } from "./cases.js";

/** @param {import("./cases.js").Load} load */
export async function check(load) {
  return checkAll((await load("points")).cases, ({ order, index, other, point: { length } }) => {
    const field = fieldOf(order, lowerOf(order));
    // The vectors of the client stand the other way round, and end with their 1.
    const padded = (point) => [...point, ...Array(length - point.length).fill(0)].reverse();
    const point = pointOf(index, order);
    const reversed = [...other].reverse();
    const scaled = point.map((entry) => field.multiply(order - 1, entry));
    return {
      point: padded(point),
      scaled: padded(scaled),
      scaled_index: indexOf(scaled, order, field),
      other: padded(pointOf(indexOf(reversed, order, field), order)),
      product: field.dot(point, reversed),
    };
  });
}
