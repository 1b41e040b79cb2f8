import { checked } from "./data.js";

/** @typedef {import("../types.js").Data} Data */

/** A state that lasts as long as the object; for tests, and for clients that are to keep nothing. */
export class MemoryState {
  /** @param {unknown} [stored] What it begins with. */
  constructor(stored) {
    this.stored = stored;
  }

  /** Return a copy of what is kept. */
  async read() {
    return checked(structuredClone(this.stored));
  }

  /**
   * Let `change` alter the data, and keep what it left.
   * @template T
   * @param {(data: Data) => T} change
   * @param {() => Data} [anew] Gives what takes the place of damaged data.
   * @returns {Promise<T>}
   */
  async update(change, anew) {
    const data = checked(structuredClone(this.stored), anew);
    const result = change(data);
    this.stored = structuredClone(data);
    return result;
  }

  /** Delete all of it. */
  async erase() {
    this.stored = undefined;
  }
}
