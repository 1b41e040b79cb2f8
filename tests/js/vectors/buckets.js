import { bucket } from "../../../client/js/src/mechanisms/markings.js";
import { bytesOf, checkAll } from "./cases.js";

/** @param {import("./cases.js").Load} load */
export async function check(load) {
  return checkAll((await load("buckets")).cases, ({ value, level }) => bucketsOf(bytesOf(value), level));
}

/**
 * Resolve to the fields of a case. A level of 8 rows has the 8 words of the digest.
 * @param {Uint8Array} value
 * @param {number} level
 */
async function bucketsOf(value, level) {
  const rows = async (buckets) => {
    const mark = bucket(/** @type {any} */ ({ rows: 8, buckets }));
    return (await Promise.all([...Array(8).keys()].map((row) => mark(value, 8 * level + row)))).flat();
  };
  const words = await rows(2 ** 32);
  return {
    digest: words.map((word) => word.toString(16).padStart(8, "0")).join(""),
    buckets: (await rows(1 << 16)).slice(0, 2),
    fewer: (await rows(1 << 5)).slice(0, 2),
  };
}
