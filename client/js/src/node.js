/** The client for Node and Electron's main process. */
import "./all.js";
import { Client as Base } from "./client.js";
import { environment } from "./consent/node_environment.js";
import { attempt } from "./questions/plain.js";
import { FileState } from "./state/files.js";
import { appsFolder } from "./state/places.js";
import { fetchAlone, telling } from "./upload/alone.js";

export { FileState };
export { MemoryState } from "./state/memory.js";

/**
 * @typedef {import("./settings.js").Options} Options
 * @typedef {import("./consent/text.js").Shown} Shown
 * @typedef {import("./transparency/status.js").Status} Status
 * @typedef {import("./types.js").Mode} Mode
 * @typedef {import("./types.js").Outcome} Outcome
 * @typedef {import("./types.js").State} State
 */

/** A client that keeps its state in the user's own folder for the app, and respects the environment. */
export class Client extends Base {
  #upload;

  /**
   * @param {object} compiled What `python -m dither compile` wrote, parsed.
   * @param {Options} options
   */
  constructor(compiled, options) {
    /** @type {{ last?: AbortController }} */
    const upload = {};
    const carrier = (/** @type {any} */ fetch) => (/** @type {any} */ url, /** @type {any} */ init) => {
      upload.last = new AbortController(); // an open connection keeps the program from ending
      return telling(fetch)(url, { ...init, signal: AbortSignal.any([init.signal, upload.last.signal]) });
    };
    const given = attempt(() => ({ ...options, fetch: carrier(options?.fetch ?? fetchAlone) })) ?? options;
    const surroundings = { environment: () => environment(process.env) };
    super(compiled, given, { open: (app) => new FileState(appsFolder(), app), surroundings });
    this.#upload = upload;
  }

  /**
   * See `Client.flush`. When the time is over, the upload that is under way is given up, so that the program can end.
   * @param {number} [timeout]
   * @returns {Promise<boolean>}
   */
  async flush(timeout) {
    const arrived = await super.flush(timeout);
    if (!arrived) this.#upload.last?.abort();
    return arrived;
  }
}
