import { attempt } from "./questions/plain.js";

/** Return what was thrown as text; undefined if it has none: an app may throw anything. @param {unknown} error */
export const told = (error) => attempt(() => `${error}`);

/** What went wrong: counted by kind, and logged once for each. */
export class Diagnostics {
  /** @param {(message: string) => void} [log] */
  constructor(log = (message) => console.warn(message)) {
    this.log = log;
    /** @type {{ [kind: string]: number }} */
    this.counts = {};
  }

  /**
   * Count one more of `kind`, and log the first with what is to be done.
   * @param {string} kind
   * @param {string} [message]
   */
  note(kind, message = "") {
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    if (this.counts[kind] > 1) return;
    try {
      this.log(`dither: ${kind}${message && `: ${message}`}`);
    } catch {
      // A log that fails is no reason to fail.
    }
  }
}
