/** The client for web pages, service workers and Electron's renderers. */
import "./all.js";

export { Client, IndexedDBState, MemoryState } from "./choices.js";

/**
 * @typedef {import("./settings.js").Options} Options
 * @typedef {import("./consent/text.js").Shown} Shown
 * @typedef {import("./transparency/status.js").Status} Status
 * @typedef {import("./types.js").Mode} Mode
 * @typedef {import("./types.js").Outcome} Outcome
 * @typedef {import("./types.js").State} State
 */
