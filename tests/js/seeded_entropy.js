import { createHash } from "node:crypto";

/** Bytes that follow from a label and look random: SHA-256 of the label and a counter. For Node only. */
export class SeededEntropy {
  /** @param {string} label */
  constructor(label) {
    this.label = label;
    this.blocks = 0;
    this.rest = [];
  }

  /** @param {number} count */
  take(count) {
    while (this.rest.length < count)
      this.rest.push(...createHash("sha256").update(`${this.label}/${this.blocks++}`).digest());
    return Uint8Array.from(this.rest.splice(0, count));
  }
}

/**
 * Return the words as bytes, big-endian, 8 each.
 * @param {(number | bigint)[]} numbers
 */
export function words(...numbers) {
  const view = new DataView(new ArrayBuffer(8 * numbers.length));
  numbers.forEach((number, place) => view.setBigUint64(8 * place, BigInt(number)));
  return new Uint8Array(view.buffer);
}
