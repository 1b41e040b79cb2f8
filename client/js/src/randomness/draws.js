/**
 * Exact draws from uniformly random bytes, each with just the law that it states. They take the same bytes, in the same
 * order, as those of Python (dither_shared/primitives/entropy.py), where the proofs stand.
 *
 * A threshold t over 2^64 is its two halves of 32 bits, the high one first; certainty is [2^32, 0]. Rows of lanes are
 * bytes, lane i being bit i % 8 of byte i >> 3.
 *
 * @typedef {import("../types.js").Entropy} Entropy
 * @typedef {[high: number, low: number]} Threshold
 */

const WORD = 2 ** 32;

/**
 * Return the 32 bits at `at`, big-endian.
 * @param {Uint8Array} bytes
 * @param {number} at
 */
export const word32 = (bytes, at) =>
  ((bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]) >>> 0;

/**
 * Return how many binary digits a number below 2^32 has; 0 for 0.
 * @param {number} number
 */
export const bitLength = (number) => 32 - Math.clz32(number);

/**
 * Return a threshold that is written as 16 hex digits; throw SyntaxError if it is not of such.
 * @param {string} hex
 * @returns {Threshold}
 */
export function thresholdOf(hex) {
  const whole = BigInt("0x" + hex);
  return [Number(whole >> 32n), Number(whole % 2n ** 32n)];
}

/**
 * Return a uniform integer in [0, bound), for 1 <= bound <= 2^64, by rejection.
 * @param {Entropy} entropy
 * @param {bigint} bound
 */
export function belowWide(entropy, bound) {
  for (;;) {
    const bytes = entropy.take(8);
    const word = (BigInt(word32(bytes, 0)) << 32n) | BigInt(word32(bytes, 4));
    const rest = word % bound;
    if (word - rest + bound <= 2n ** 64n) return rest;
  }
}

/**
 * Return a uniform integer in [0, bound), for 1 <= bound <= 2^53, by rejection.
 * @param {Entropy} entropy
 * @param {number} bound
 */
export function below(entropy, bound) {
  if (bound > 2 ** 21) return Number(belowWide(entropy, BigInt(bound)));
  for (;;) {
    const bytes = entropy.take(8);
    const high = word32(bytes, 0);
    const low = word32(bytes, 4);
    const rest = ((high % bound) * WORD + low) % bound; // of numbers below 2^53
    // A word is taken if none is missing of those up to the next multiple of the bound: only the last few are not.
    if (high < WORD - 1 || WORD - low >= bound - rest) return rest;
  }
}

/**
 * Return what draws independent uniform integers in [0, bound), for 1 <= bound <= 2^32, from words of 32 bits, 16 of
 * them at a time.
 * @param {Entropy} entropy
 * @param {number} bound
 */
export function eachBelow(entropy, bound) {
  const limit = WORD - (WORD % bound);
  /** @type {Uint8Array} */
  let bytes;
  let at = 64;
  return () => {
    for (;;) {
      if (at > 60) {
        bytes = entropy.take(64);
        at = 0;
      }
      const word = word32(bytes, at);
      at += 4;
      if (word < limit) return word % bound;
    }
  };
}

/**
 * Return true with probability threshold/2^64.
 * @param {Entropy} entropy
 * @param {Threshold} threshold
 */
export function bernoulli(entropy, [high, low]) {
  const bytes = entropy.take(8);
  const word = word32(bytes, 0);
  return word < high || (word === high && word32(bytes, 4) < low);
}

/**
 * Return digit `place` of a threshold, the highest being digit 0.
 * @param {Threshold} threshold
 * @param {number} place
 */
const digit = (threshold, place) => (threshold[place >> 5] >>> ~place) & 1; // shifts are modulo 32

/**
 * Return `width` independent bits: a lane that is set in `marked` is 1 with probability high/2^64, any other with
 * low/2^64. Each lane compares a uniform word of its own with its threshold, digit by digit until they differ, and all
 * do so at once.
 * @param {Entropy} entropy
 * @param {number} width
 * @param {Uint8Array} marked
 * @param {Threshold} high
 * @param {Threshold} low
 */
export function bernoulliBits(entropy, width, marked, high, low) {
  const size = (width + 7) >> 3;
  const result = new Uint8Array(size);
  const open = new Uint8Array(size).fill(255); // the lanes whose words are so far those of their thresholds
  open[size - 1] >>= -width & 7;
  /** @param {number} one @param {number} other */
  const thresholds = (one, other) => (/** @type {number} */ i) => (marked[i] & -one) | (~marked[i] & -other);
  const certain = thresholds((high[0] / WORD) | 0, (low[0] / WORD) | 0);
  for (let i = 0; i < size; i++) open[i] ^= result[i] = open[i] & certain(i);
  let steps = 64; // digits up to the last that is not 0: a lane that is open behind it can gain nothing
  while (steps && !(digit(high, steps - 1) | digit(low, steps - 1))) steps--;
  for (let step = 0, top = size; step < steps; ) {
    while (top && !open[top - 1]) top--;
    if (!top) break;
    // As many slices as are likely to be used.
    const slices = Math.min(steps - step, bitLength(8 * (top - 1) + bitLength(open[top - 1])) + 2);
    const drawn = entropy.take(size * slices);
    for (let at = 0; at < drawn.length; step++) {
      const threshold = thresholds(digit(high, step), digit(low, step));
      for (let i = 0; i < size; i++, at++) {
        result[i] |= open[i] & threshold(i) & ~drawn[at];
        open[i] &= ~(threshold(i) ^ drawn[at]);
      }
    }
  }
  return result;
}

/**
 * Return which lanes of a row are 1, ascending.
 * @param {Uint8Array} row
 */
export function lanesOf(row) {
  const lanes = [];
  for (let lane = 0; lane < 8 * row.length; lane++) if ((row[lane >> 3] >> (lane & 7)) & 1) lanes.push(lane);
  return lanes;
}

/**
 * Return those of `lanes` by their numbers among all lanes, if so far they were numbered without the `skipped` ones.
 * Both ascend.
 * @param {number[]} lanes
 * @param {number[]} skipped
 */
export function past(lanes, skipped) {
  let passed = 0;
  return lanes.map((lane) => {
    while (skipped[passed] <= lane + passed) passed++;
    return lane + passed;
  });
}

/**
 * Return `lanes`, so far numbered without `lane`, and it with them, ascending.
 * @param {number[]} lanes
 * @param {number} lane
 */
export const joined = (lanes, lane) => [...past(lanes, [lane]), lane].sort((one, two) => one - two);

/**
 * Return `size` of `width` lanes, ascending, each such set with the same probability: independent bits of about the
 * right density, and then uniform lanes added or taken away until the size is right.
 * @param {Entropy} entropy
 * @param {number} width
 * @param {number} size
 */
export function subset(entropy, width, size) {
  const digits = (bitLength(width) >> 1) + 2; // more would cost as much in drawing as it saves in mending
  const density = Math.floor((size * 2 ** digits) / width) * 2 ** (32 - digits);
  const row = bernoulliBits(entropy, width, new Uint8Array((width + 7) >> 3), [0, 0], [density, 0]);
  let missing = size - lanesOf(row).length;
  const turned = missing < 0 ? 1 : 0; // what a lane is that is turned
  const chosen = eachBelow(entropy, width);
  while (missing) {
    const lane = chosen();
    if (((row[lane >> 3] >> (lane & 7)) & 1) !== turned) continue;
    row[lane >> 3] ^= 1 << (lane & 7);
    missing += 2 * turned - 1;
  }
  return lanesOf(row);
}

/**
 * Return `size` of `width` lanes that have some of the `marked` ones among them, ascending, each such set with the same
 * probability: a marked lane and a subset of the others, which come in as many ways as the set has marked lanes, and so
 * are kept once in so many times. For 1 <= size <= width, 2 <= width, and some lane marked.
 * @param {Entropy} entropy
 * @param {number} width
 * @param {number} size
 * @param {number[]} marked
 */
export function subsetMeeting(entropy, width, size, marked) {
  const among = new Set(marked);
  for (;;) {
    const lane = marked[below(entropy, marked.length)];
    const chosen = joined(subset(entropy, width - 1, size - 1), lane);
    const ways = chosen.filter((one) => among.has(one)).length;
    if (ways === 1 || !below(entropy, ways)) return chosen;
  }
}
