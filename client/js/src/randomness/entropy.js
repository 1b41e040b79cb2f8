const PAGE = 4096;
const MOST = 65536; // bytes of one request, by the Web Cryptography API

/** @param {Uint8Array<ArrayBuffer>} bytes */
function filled(bytes) {
  for (let at = 0; at < bytes.length; at += MOST) crypto.getRandomValues(bytes.subarray(at, at + MOST));
  return bytes;
}

/** The system's generator, by pages: no byte is handed out twice, and none is kept once it is. */
export class SystemEntropy {
  page = new Uint8Array(PAGE);
  used = PAGE;

  /**
   * Return the next `count` uniformly random bytes, which are the caller's. Throws where the system has no generator.
   * @param {number} count
   */
  take(count) {
    if (count > PAGE) return filled(new Uint8Array(count));
    if (this.used + count > PAGE) {
      filled(this.page);
      this.used = 0;
    }
    const taken = this.page.slice(this.used, this.used + count);
    this.page.fill(0, this.used, (this.used += count));
    return taken;
  }
}
