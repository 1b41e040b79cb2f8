import "../../../client/js/src/all.js";
import { encode } from "../../../client/js/src/questions/index.js";
import { buildReport } from "../../../client/js/src/reporting/report.js";
import { labelOf } from "../../../client/js/src/reporting/strata.js";
import { FixedEntropy } from "../fixed_entropy.js";
import { Skip, bytesOf, checkAll } from "./cases.js";

/** @param {import("./cases.js").Load} load */
export async function check(load) {
  const compiled = new Map((await load("compiled")).cases.map((one) => [one.name + one.definition, one]));
  return checkAll((await load("bodies")).cases, async ({ name, definition, value, given, entropy: bytes }) => {
    const { compiled: line, refused } = compiled.get(name + definition) ?? {};
    if (!line) throw new Skip(`not compiled, because of its ${refused.join(", ")}`);
    const metric = JSON.parse(line);
    const entropy = new FixedEntropy(bytesOf(bytes));
    const stratum = labelOf(metric, given);
    const answer = encode(metric.question, value);
    const { body } = await buildReport(metric, answer, stratum, entropy);
    return { ...(stratum && { stratum }), used: entropy.used, body };
  });
}
