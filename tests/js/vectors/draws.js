import {
  bernoulli, bernoulliBits, below, belowWide, eachBelow, subset, subsetMeeting,
} from "../../../client/js/src/randomness/draws.js";
import { FixedEntropy } from "../fixed_entropy.js";
import { Skip, bytesOf, checkAll } from "./cases.js";

const LAST = 2n ** 53n;

const lanesOf = (row) => [...row.toString(2)].reverse().flatMap((bit, lane) => (bit === "1" ? [lane] : []));

const rowOf = (lanes) => lanes.reduce((row, lane) => row | (1n << BigInt(lane)), 0n);

const DRAWS = {
  below: (entropy, { bound }) =>
    BigInt(bound) > LAST ? belowWide(entropy, BigInt(bound)) : below(entropy, Number(bound)),
  each_below(entropy, { bound, count }) {
    const drawn = eachBelow(entropy, Number(bound));
    return Array.from({ length: Number(count) }, () => String(drawn.next().value));
  },
  bernoulli: (entropy, given) => Number(bernoulli(entropy, BigInt(given.threshold))),
  bernoulli_bits(entropy, { width, marked, high, low }) {
    return rowOf(bernoulliBits(entropy, Number(width), lanesOf(BigInt(marked)), BigInt(high), BigInt(low)));
  },
  subset: (entropy, { width, size }) => rowOf(subset(entropy, Number(width), Number(size))),
  subset_meeting: (entropy, { width, size, marked }) =>
    rowOf(subsetMeeting(entropy, Number(width), Number(size), lanesOf(BigInt(marked)))),
  choice() {
    throw new Skip("choice: no compiled law draws by a table");
  },
};

/** @param {import("./cases.js").Load} load */
export async function check(load) {
  return checkAll((await load("draws")).cases, ({ draw, arguments: given, entropy: bytes }) => {
    const entropy = new FixedEntropy(bytesOf(bytes));
    const result = DRAWS[draw](entropy, given);
    return { result: Array.isArray(result) ? result : String(result), used: entropy.used };
  });
}
