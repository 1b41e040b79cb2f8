const MOST = 65536; // bytes of one request, by the Web Cryptography API

/** The system's generator. Nothing is drawn ahead, so no byte is kept that a later report will use. */
export class SystemEntropy {
  /**
   * Return the next `count` uniformly random bytes, which are the caller's. Throws where the system has no generator.
   * @param {number} count
   */
  take(count) {
    const bytes = new Uint8Array(count);
    for (let at = 0; at < count; at += MOST) crypto.getRandomValues(bytes.subarray(at, at + MOST));
    return bytes;
  }
}
