/** The client for web pages, service workers and Electron's renderers. */
import { Client as Base } from "./client.js";
import { IndexedDBState } from "./state/indexeddb.js";

export { IndexedDBState };
export { MemoryState } from "./state/memory.js";

/** A client that keeps its state in the page's own IndexedDB, and minds what the browser signals. */
export class Client extends Base {
  /**
   * @param {import("./types.js").Compiled} compiled What `python -m dither compile` wrote, parsed.
   * @param {import("./client.js").Options} options
   */
  constructor(compiled, options) {
    super(compiled, options, { open: (app) => new IndexedDBState(app), surroundings: { navigator: globalThis.navigator } });
  }
}
