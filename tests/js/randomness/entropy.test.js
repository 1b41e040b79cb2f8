import assert from "node:assert/strict";
import { test } from "node:test";

import { SystemEntropy } from "../../../client/js/src/randomness/entropy.js";

/** Let the system hand out the numbers 1, 2, 3, … in 4 bytes each; return the sizes of what it was asked for. */
function count(context) {
  const asked = [];
  let last = 0;
  context.mock.method(globalThis.crypto, "getRandomValues", (bytes) => {
    asked.push(bytes.length);
    new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4).forEach((_, place, all) => (all[place] = ++last));
    return bytes;
  });
  return asked;
}

test("no byte is handed out twice, whatever the requests", (context) => {
  const asked = count(context);
  const entropy = new SystemEntropy();
  const seen = new Set();
  let total = 0;
  const small = [8, 4, 64, 1536, 2480, 8, 4096, 4096, 12, 4092, 8, ...Array(2000).fill(8)];
  for (const size of [...small, 4100, 8, 65536, 65540, 200_000, ...small]) {
    const taken = entropy.take(size);
    assert.equal(taken.length, size);
    for (const word of new Uint32Array(taken.buffer)) seen.add(word);
    total += size / 4;
  }
  assert.equal(seen.size, total);
  assert.ok(!seen.has(0));
  assert.ok(asked.every((size) => size <= 65536));
});

test("nothing is drawn ahead, and large requests come in pieces of 65,536 bytes", (context) => {
  const asked = count(context);
  const entropy = new SystemEntropy();
  entropy.take(8).fill(255); // the bytes are the caller's alone
  assert.deepEqual([...new Uint32Array(entropy.take(8).buffer)], [3, 4]);
  entropy.take(140_000);
  assert.deepEqual(asked, [8, 8, 65536, 65536, 8928]);
});

test("without the system's generator nothing is handed out", (context) => {
  const entropy = new SystemEntropy();
  const broken = context.mock.method(globalThis.crypto, "getRandomValues", () => {
    throw new Error("none");
  });
  assert.throws(() => entropy.take(8), /none/);
  assert.throws(() => entropy.take(5000), /none/);
  broken.mock.restore();
  assert.ok(entropy.take(8).some((byte) => byte));
});
