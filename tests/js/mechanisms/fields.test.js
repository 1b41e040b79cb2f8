import assert from "node:assert/strict";
import { test } from "node:test";

import { fieldOf, vectorOf } from "../../../client/js/src/mechanisms/fields.js";
import { lowerOf } from "../primitive.js";

for (const order of [2, 8, 121, 251, 256]) {
  const { dot, multiply } = fieldOf(order, lowerOf(order));
  const add = (one, two) => dot([one], [1], two);
  const elements = [...Array(order).keys()];
  // All pairs of a large field take seconds: there the laws of two are checked for some of the first elements.
  const sample = new Set(elements.filter((one) => order < 32 || one % 10 === 3 || one === order - 1));

  test(`GF(${order}) is a field`, () => {
    for (const one of elements) {
      assert.deepEqual([add(one, 0), multiply(one, 0), multiply(one, 1)], [one, 0, one]);
      // Each row of either table, but that of the products with 0, is a permutation.
      assert.equal(new Set(elements.map((two) => add(one, two))).size, order);
      if (one) assert.equal(new Set(elements.map((two) => multiply(one, two))).size, order);
      if (!sample.has(one)) continue;
      const lawless = elements.filter((two) => {
        const three = (7 * one + 5 * two + 3) % order;
        return !(
          add(one, two) === add(two, one) &&
          multiply(one, two) === multiply(two, one) &&
          multiply(one, multiply(two, three)) === multiply(multiply(one, two), three) &&
          add(one, add(two, three)) === add(add(one, two), three) &&
          multiply(one, add(two, three)) === add(multiply(one, two), multiply(one, three))
        );
      });
      assert.deepEqual(lawless, [], `with ${one}`);
    }
  });

  test(`in GF(${order}) an inner product can be taken from a sum`, () => {
    for (const one of elements) assert.equal(dot([one, 1], [1, 0], one, order - 1), 0);
  });
}

test("elements of large prime fields multiply exactly", () => {
  const order = 1_048_573;
  const { multiply } = fieldOf(order, null);
  for (const [one, two] of [[order - 1, order - 1], [1_048_571, 1_000_003]])
    assert.equal(multiply(one, two), Number((BigInt(one) * BigInt(two)) % BigInt(order)));
});

test("a vector has the digits of a number, least significant first", () => {
  assert.deepEqual(vectorOf(2 ** 24 + 5, 2 ** 12, 3), [5, 0, 1]);
});
