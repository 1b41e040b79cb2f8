/** Microseconds a report, by size: `node tests/js/bench.js`. No test: it is run by hand. */
import "../../client/js/src/all.js";
import { mechanismOf } from "../../client/js/src/mechanisms/index.js";
import { SystemEntropy } from "../../client/js/src/randomness/entropy.js";
import { lowerOf } from "./primitive.js";

const entropy = new SystemEntropy();
const HALF = "8000000000000000";
const TRUTH = "bb26a7aead15e6ca"; // of two answers at epsilon 1
const RAISED = "44d958515295e9d7";
const symbols = (mechanism, cells, rest) => ({ mechanism, shape: "symbol", cohorts: 1, cells, listed: 0, ...rest });
const bits = (mechanism, cells, rest) => ({ ...symbols(mechanism, cells, rest), shape: "bits" });
const points = (order, length) => {
  const field = { order, lower: lowerOf(order), length };
  return symbols("projective-geometry", (order ** length - 1) / (order - 1), { inside: TRUTH, ...field });
};

const LAWS = {
  "randomized response of 2": symbols("randomized-response", 2, { truth: TRUTH }),
  "randomized response of 100": symbols("randomized-response", 100, { truth: HALF }),
  "unary of 128": bits("optimized-unary", 128, { high: HALF, low: RAISED }),
  "unary of 1,024": bits("optimized-unary", 1024, { high: HALF, low: RAISED }),
  "unary of 4,096": bits("optimized-unary", 4096, { high: HALF, low: RAISED }),
  "subset selection of 1,024": bits("subset-selection", 1024, { inside: HALF, subset: 275 }),
  "subset selection of 4,096": bits("subset-selection", 4096, { inside: HALF, subset: 1101 }),
  "points over GF(2), 1,048,575": points(2, 20),
  "points over GF(4), 87,381": points(4, 9),
  "points over GF(101), 10,303": points(101, 3),
  "points over GF(256), 65,793": points(256, 3),
};

/** Processor time, in microseconds: other processes do not count. */
function spent() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

for (const [name, law] of Object.entries(LAWS)) {
  const mechanism = mechanismOf(law);
  const times = [];
  for (let round = 0; round < 15; round++) {
    let reports = 0;
    const start = spent();
    for (; spent() - start < 50_000; reports += 100)
      for (let i = 0; i < 100; i++) await mechanism.row(entropy, 1, 0);
    times.push((spent() - start) / reports);
  }
  times.sort((one, two) => one - two);
  console.log(`${name.padEnd(32)} ${times[7].toFixed(2)} us (${times[0].toFixed(2)} to ${times[14].toFixed(2)})`);
}
