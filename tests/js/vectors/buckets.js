import { bucketDigest, bucketIn } from "../../../client/js/src/mechanisms/sketches.js";
import { bytesOf, checkAll, hexOf } from "./cases.js";

/** @param {import("./cases.js").Load} load */
export async function check(load) {
  return checkAll((await load("buckets")).cases, async ({ value, level }) => {
    const digest = await bucketDigest(bytesOf(value), level);
    const rows = (buckets) => [0, 1].map((row) => bucketIn(digest, row, buckets));
    return { digest: hexOf(digest), buckets: rows(1 << 16), fewer: rows(1 << 5) };
  });
}
