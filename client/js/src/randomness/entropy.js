const PAGE = 4096;
const MOST = 65536; // bytes of one request, by the Web Cryptography API

/** The system's generator, by pages: no byte is handed out twice, and none is kept once it is. */
export class SystemEntropy {
  constructor() {
    this.page = new Uint8Array(PAGE);
    this.used = PAGE;
  }

  /**
   * Return the next `count` uniformly random bytes, which are the caller's. Throws where the system has no generator.
   * @param {number} count
   */
  take(count) {
    if (count > PAGE) {
      const taken = new Uint8Array(count);
      for (let at = 0; at < count; at += MOST) crypto.getRandomValues(taken.subarray(at, at + MOST));
      return taken;
    }
    if (this.used + count > PAGE) {
      crypto.getRandomValues(this.page);
      this.used = 0;
    }
    const taken = this.page.slice(this.used, this.used + count);
    this.page.fill(0, this.used, (this.used += count));
    return taken;
  }
}
