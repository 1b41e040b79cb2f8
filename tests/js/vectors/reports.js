import "../../../client/js/src/all.js";
import { mechanismOf } from "../../../client/js/src/mechanisms/index.js";
import { FixedEntropy } from "../fixed_entropy.js";
import { Skip, bytesOf, bytesOfBase64, checkAll, hexOf } from "./cases.js";

/** @param {import("./cases.js").Load} load */
export async function check(load) {
  const laws = new Map((await load("laws")).cases.map((one) => [one.mechanism, one]));
  return checkAll((await load("reports")).cases, async (one) => {
    const { law, refused } = laws.get(one.mechanism) ?? {};
    if (!law) throw new Skip(`${one.mechanism.split(" ")[0]} is not compiled, because of its ${refused}`);
    const entropy = new FixedEntropy(bytesOf(one.entropy));
    const item = typeof one.item === "string" ? bytesOf(one.item) : one.item;
    const row = await mechanismOf(law).row(entropy, item, one.cohort);
    return { row: hexOf(bytesOfBase64(row)), used: entropy.used };
  });
}
