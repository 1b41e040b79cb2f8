import { fieldOf } from "../../../client/js/src/mechanisms/fields.js";
import { lowerOf } from "../primitive.js";
import { checkAll } from "./cases.js";

/** @param {import("./cases.js").Load} load */
export async function check(load) {
  return checkAll((await load("fields")).cases, ({ order }) => {
    const { dot, multiply } = fieldOf(order, lowerOf(order));
    const elements = [...Array(order).keys()];
    const table = (operation) => elements.map((one) => elements.map((two) => operation(one, two)));
    return { sums: table((one, two) => dot([one], [1], two)), products: table(multiply) };
  });
}
