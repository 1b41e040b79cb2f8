import { fieldOf } from "../../../client/js/src/mechanisms/fields.js";
import { indexOf, pointOf } from "../../../client/js/src/mechanisms/points.js";
import { lowerOf } from "../primitive.js";
import { checkAll } from "./cases.js";

/** @param {import("./cases.js").Load} load */
export async function check(load) {
  return checkAll((await load("points")).cases, ({ order, index, other, point: { length } }) => {
    const field = fieldOf(order, lowerOf(order));
    const point = pointOf(field, index, length);
    const scaled = point.map((entry) => field.multiply(order - 1, entry));
    return {
      point,
      scaled,
      scaled_index: indexOf(field, scaled),
      other: pointOf(field, indexOf(field, other), length),
      product: field.dot(point, other),
    };
  });
}
