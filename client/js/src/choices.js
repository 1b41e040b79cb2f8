/** The client for pages that ask only booleans and choices: smaller, because it has only their mechanisms. */
import { Client as Base } from "./client.js";
import { IndexedDBState } from "./state/indexeddb.js";

export { IndexedDBState };
export { MemoryState } from "./state/memory.js";

/**
 * @typedef {import("./settings.js").Options} Options
 * @typedef {import("./consent/text.js").Shown} Shown
 * @typedef {import("./transparency/status.js").Status} Status
 * @typedef {import("./types.js").Mode} Mode
 * @typedef {import("./types.js").Outcome} Outcome
 * @typedef {import("./types.js").State} State
 */

/** A client that keeps its state in the page's own IndexedDB, and respects the signals of the browser. */
export class Client extends Base {
  /**
   * @param {object} compiled What `python -m dither compile` wrote, parsed.
   * @param {Options} options
   */
  constructor(compiled, options) {
    const surroundings = { navigator: globalThis.navigator };
    super(compiled, options, { open: (app) => new IndexedDBState(app), surroundings });
  }
}
