/**
 * Exact draws from uniformly random bytes, each with exactly the law that it states. They take the same bytes, in the same
 * order, as those of Python (dither_shared/primitives/entropy.py), which has the proofs.
 *
 * A threshold is an integer in [0, 2^64], and the probability that a uniform word of 64 bits is below it. Lanes are
 * numbers of bits; a row of them is bytes, lane i being bit i % 8 of byte i >> 3.
 *
 * @typedef {import("../types.js").Entropy} Entropy
 */

/**
 * Return the 32 bits at `at`, big-endian.
 * @param {Uint8Array} bytes
 * @param {number} at
 */
export const word32 = (bytes, at) => viewOf(bytes).getUint32(at);

/** @param {Entropy} entropy */
const word64 = (entropy) => viewOf(entropy.take(8)).getBigUint64(0);

/** @param {Uint8Array} bytes */
const viewOf = ({ buffer, byteOffset }) => new DataView(buffer, byteOffset);

/**
 * Return the threshold written as hex digits; throw SyntaxError if it is not written that way.
 * @param {string} digits
 */
export const hex = (digits) => BigInt("0x" + digits);

/**
 * Return how many binary digits a number below 2^32 has; 0 for 0.
 * @param {number} number
 */
export const bitLength = (number) => 32 - Math.clz32(number);

/**
 * Return a row of `width` lanes in which the given ones are 1.
 * @param {number[]} lanes
 * @param {number} width
 */
export function rowOf(lanes, width) {
  const row = new Uint8Array((width + 7) >> 3);
  for (const lane of lanes) row[lane >> 3] |= 1 << (lane & 7);
  return row;
}

/**
 * Return the lanes among `width` for which `wanted` holds, ascending.
 * @param {number} width
 * @param {(lane: number) => number} wanted
 */
export function lanesWhere(width, wanted) {
  const lanes = [];
  for (let lane = 0; lane < width; lane++) if (wanted(lane)) lanes.push(lane);
  return lanes;
}

/**
 * Return whether a lane is 1, as a number.
 * @param {Uint8Array} row
 * @param {number} lane
 */
const has = (row, lane) => (row[lane >> 3] >> (lane & 7)) & 1;

/**
 * Return a uniform integer in [0, bound), for 1 <= bound <= 2^64, by rejection.
 * @param {Entropy} entropy
 * @param {bigint} bound
 */
export function belowWide(entropy, bound) {
  for (;;) {
    const word = word64(entropy);
    const rest = word % bound;
    if (word - rest + bound <= 2n ** 64n) return rest;
  }
}

/**
 * Return a uniform integer in [0, bound), for 1 <= bound <= 2^53.
 * @param {Entropy} entropy
 * @param {number} bound
 */
export const below = (entropy, bound) => Number(belowWide(entropy, BigInt(bound)));

/**
 * Yield independent uniform integers in [0, bound), for 1 <= bound <= 2^32, from words of 32 bits, 16 of them at a
 * time.
 * @param {Entropy} entropy
 * @param {number} bound
 * @returns {Generator<number, never>}
 */
export function* eachBelow(entropy, bound) {
  for (;;) {
    const words = entropy.take(64);
    for (let at = 0; at < 64; at += 4) {
      const word = word32(words, at);
      if (word < 2 ** 32 - (2 ** 32 % bound)) yield word % bound;
    }
  }
}

/**
 * Return true with probability threshold/2^64.
 * @param {Entropy} entropy
 * @param {bigint} threshold
 */
export const bernoulli = (entropy, threshold) => word64(entropy) < threshold;

/**
 * Return which of `width` lanes are 1, ascending. They are independent: one that is `marked` is 1 with
 * probability high/2^64, any other with low/2^64. Each compares its own uniform word with its threshold,
 * digit by digit until they differ, and all do so at once.
 * @param {Entropy} entropy
 * @param {number} width
 * @param {number[]} marked
 * @param {bigint} high
 * @param {bigint} low
 */
export function bernoulliBits(entropy, width, marked, high, low) {
  const marks = rowOf(marked, width);
  const row = rowOf([], width);
  const open = row.map(() => 255); // the lanes whose words are so far those of their thresholds
  const [ones, others] = [high, low].map((threshold) => threshold.toString(2).padStart(65, "0"));
  const last = Math.max(ones.lastIndexOf("1"), others.lastIndexOf("1")); // behind it, a lane can gain nothing
  for (let step = 0, top = width; step <= last; ) {
    while (top && !has(open, top - 1)) top--;
    if (!top) break;
    // As many slices as are likely to be used; but digit 0, which only 2^64 has, is 0 in every word.
    const slices = Math.min(last + 1 - step, bitLength(top) + 2);
    const drawn = step ? entropy.take(row.length * slices) : rowOf([], width);
    for (let at = 0; at < drawn.length; step++) {
      const one = -ones[step];
      const other = -others[step];
      for (let i = 0; i < row.length; i++, at++) {
        const threshold = (marks[i] & one) | (~marks[i] & other);
        row[i] |= open[i] & threshold & ~drawn[at];
        open[i] &= ~(threshold ^ drawn[at]);
      }
    }
  }
  return lanesWhere(width, (lane) => has(row, lane));
}

/**
 * Return `lanes` by their numbers among all lanes, if so far they are numbered without the `skipped` ones, which
 * ascend.
 * @param {number[]} lanes
 * @param {number[]} skipped
 */
export const past = (lanes, skipped) =>
  lanes.map((lane) => skipped.reduce((moved, one) => (one > moved ? moved : moved + 1), lane));

/**
 * Return `size` of `width` lanes, each such set with the same probability: independent bits of about the right density,
 * and then uniform lanes added or taken away until the size is right.
 * @param {Entropy} entropy
 * @param {number} width
 * @param {number} size
 */
export function subset(entropy, width, size) {
  const coarse = BigInt(62 - (bitLength(width) >> 1)); // finer would cost as much in drawing as it saves in mending
  const density = ((BigInt(size) << 64n) / BigInt(width) >> coarse) << coarse;
  const lanes = new Set(bernoulliBits(entropy, width, [], 0n, density));
  const chosen = eachBelow(entropy, width);
  while (lanes.size < size) lanes.add(chosen.next().value);
  while (lanes.size > size) lanes.delete(chosen.next().value);
  return [...lanes];
}

/**
 * Return `size` of `width` lanes of which a given one, alone in an array, is one, each such set with the same
 * probability.
 * @param {Entropy} entropy
 * @param {number} width
 * @param {number} size
 * @param {number[]} lane
 */
export const subsetWith = (entropy, width, size, lane) => [
  ...lane,
  ...past(subset(entropy, width - 1, size - 1), lane),
];

/**
 * Return `size` of `width` lanes that have some of the `marked` ones among them, each such set with the same
 * probability: a marked lane and a subset of the others are drawn. A set with h marked lanes can be drawn in h
 * ways, so it is kept with probability 1/h. For 1 <= size <= width, 2 <= width, and some lane marked.
 * @param {Entropy} entropy
 * @param {number} width
 * @param {number} size
 * @param {number[]} marked
 */
export function subsetMeeting(entropy, width, size, marked) {
  for (;;) {
    const chosen = subsetWith(entropy, width, size, [marked[below(entropy, marked.length)]]);
    const ways = chosen.filter((lane) => marked.includes(lane)).length;
    if (ways < 2 || !below(entropy, ways)) return chosen;
  }
}
