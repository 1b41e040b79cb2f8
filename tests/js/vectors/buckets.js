import { bucketOf } from "../../../client/js/src/mechanisms/markings.js";
import { bytesOf, checkAll } from "./cases.js";

/** @param {import("./cases.js").Load} load */
export async function check(load) {
  return checkAll((await load("buckets")).cases, async ({ value, level }) => {
    const rows = (buckets, count) =>
      Promise.all([...Array(count).keys()].map((row) => bucketOf(bytesOf(value), level, row, buckets)));
    const words = await rows(2 ** 32, 8); // which make the digest
    const digest = words.map((word) => word.toString(16).padStart(8, "0")).join("");
    return { digest, buckets: await rows(1 << 16, 2), fewer: await rows(1 << 5, 2) };
  });
}
