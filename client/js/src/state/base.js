import { checked } from "./data.js";

/**
 * The common part of all kinds of state.
 * @typedef {import("../types.js").Data} Data
 * @typedef {<T>(writes: boolean, work: (stored: any, put: (data: Data | undefined) => void) => T) => Promise<T>} Turn
 * Return what `work` returns, once what it has put is durable. It is given what is stored: undefined if that is
 * nothing, null if it cannot be read. Those that write take turns; if `work` throws, nothing is kept.
 */
export class BaseState {
  /** @param {Turn} turn */
  constructor(turn) {
    this.turn = turn;
  }

  /** Return a copy of the stored data. */
  read() {
    return this.turn(false, (stored) => checked(stored));
  }

  /**
   * Let `change` alter the data, and store the result.
   * @template T
   * @param {(data: Data) => T} change
   * @param {() => Data} [anew] Returns what replaces damaged data; data at which `change` throws are damaged, too.
   * Data of a later version are not damaged, and stay.
   * @returns {Promise<T>}
   */
  update(change, anew) {
    return this.turn(true, (stored, put) => {
      const changed = (/** @type {Data} */ data) => {
        const result = change(data);
        put(data);
        return result;
      };
      try {
        return changed(checked(stored));
      } catch (/** @type {any} */ error) {
        if (!anew || error?.name === "VersionError") throw error;
        return changed(anew());
      }
    });
  }

  /**
   * Delete everything.
   * @returns {Promise<void>}
   */
  erase() {
    return this.turn(true, (_, put) => put(undefined));
  }
}
