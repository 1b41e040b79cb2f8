import assert from "node:assert/strict";
import { test } from "node:test";

import { fieldOf } from "../../../client/js/src/mechanisms/fields.js";
import { indexOf, pointOf, points } from "../../../client/js/src/mechanisms/points.js";
import { FixedEntropy } from "../fixed_entropy.js";
import { lowerOf } from "../primitive.js";
import { SeededEntropy, words } from "../seeded_entropy.js";

const HALF = 2n ** 63n;

const channel = (order, length, inside = "8000000000000000") =>
  points({ order, lower: lowerOf(order), length }, BigInt(`0x${inside}`));

const SPACES = [[2, 2], [2, 4], [3, 3], [4, 3], [5, 2], [8, 2], [9, 2]];

for (const [order, length] of SPACES) {
  const field = fieldOf(order, lowerOf(order));
  const count = (order ** length - 1) / (order - 1);
  const free = order ** (length - 1);
  const draw = channel(order, length);

  test(`points of ${length} entries over GF(${order}) are numbered, whatever their scale`, () => {
    for (let index = 0; index < count; index++)
      for (let scale = 1; scale < order; scale++) {
        const vector = pointOf(index, order).map((entry) => field.multiply(scale, entry));
        assert.equal(indexOf([...vector, 0, 0], order, field), index);
      }
  });

  test(`points of ${length} entries over GF(${order}) are drawn uniformly on either side: all draws enumerated`, () => {
    for (let point = 0; point < count; point++) {
      const value = pointOf(point, order);
      const tallyOf = (coin, draws) => {
        const counts = new Map();
        for (let drawn = 0; drawn < draws; drawn++) {
          const [at] = draw(new FixedEntropy(words(coin, drawn)), [point]);
          counts.set(at, (counts.get(at) ?? 0) + 1);
        }
        return counts;
      };
      const product = (at) => field.dot(value, [...pointOf(at, order), ...Array(length).fill(0)]);
      const owned = tallyOf(0, free - 1);
      const others = tallyOf(HALF, free * (order - 1));
      assert.ok([...owned.keys()].every((at) => product(at) === 0));
      assert.ok([...others.keys()].every((at) => product(at) !== 0));
      assert.equal(owned.size + others.size, count);
      assert.ok([...owned.values(), ...others.values()].every((times) => times === order - 1));
    }
  });
}

test("points are drawn from the largest spaces", () => {
  for (const [order, length] of [[2, 20], [101, 3], [256, 3], [1009, 2], [1_048_573, 2]]) {
    const field = fieldOf(order, lowerOf(order));
    const count = (order ** length - 1) / (order - 1);
    const entropy = new SeededEntropy(`large ${order}`);
    for (const point of [0, 1, Math.floor(count / 2), count - 1])
      for (const inside of ["0", "10000000000000000"]) {
        const [drawn] = channel(order, length, inside)(entropy, [point]);
        assert.ok(drawn >= 0 && drawn < count);
        const other = [...pointOf(drawn, order), ...Array(length).fill(0)];
        assert.equal(field.dot(pointOf(point, order), other) === 0, inside !== "0");
      }
  }
});
