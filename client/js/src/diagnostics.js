import { attempt } from "./questions/plain.js";

/**
 * Return a thrown value as text, undefined if it has none, because an app may throw anything.
 * @param {unknown} error
 */
export const told = (error) => attempt(() => `${error}`);

/** Counts what went wrong by kind, and logs each kind once. */
export class Diagnostics {
  /** @param {(message: string) => void} [log] */
  constructor(log = (message) => console.warn(message)) {
    this.log = log;
    /** @type {{ [kind: string]: number }} */
    this.counts = {};
  }

  /**
   * Count one more of `kind`, and log the first with what to do about it.
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
