/** A run of bytes that is taken from the front; it throws when they run out. */
export class FixedEntropy {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.used = 0;
  }

  /**
   * Return the next `count` bytes.
   * @param {number} count
   */
  take(count) {
    const end = this.used + count;
    if (end > this.bytes.length) throw new Error(`out of entropy: ${end} of ${this.bytes.length} bytes`);
    const taken = this.bytes.slice(this.used, end);
    this.used = end;
    return taken;
  }
}
