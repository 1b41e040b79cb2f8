import { fieldOf } from "../../../client/js/src/mechanisms/fields.js";
import { checkAll } from "./cases.js";
import { lowerOf } from "../primitive.js";

/** @param {import("./cases.js").Load} load */
export async function check(load) {
  return checkAll((await load("fields")).cases, ({ order }) => {
    const { dot, minus, multiply } = fieldOf(order, lowerOf(order));
    const elements = [...Array(order).keys()];
    const table = (operation) => elements.map((one) => elements.map((two) => operation(one, two)));
    // The sum as an inner product, and once more by way of the difference.
    const sums = table((one, two) => dot([one, 1], [1, two]));
    const again = table((one, two) => minus(one, minus(0, two)));
    return { sums: JSON.stringify(sums) === JSON.stringify(again) ? sums : again, products: table(multiply) };
  });
}
