/**
 * What Node uploads with. Its `fetch` resumes the TLS session of the previous upload, and a session
 * identifies the client: with it a collector could link all the uploads of a process, whatever their
 * connections and addresses. `fetch` also sends Sec-Fetch-Mode, so that a collector on the same computer
 * takes it for a browser.
 */
import http from "node:http";
import https from "node:https";

/** Milliseconds after which a connection attempt fails. */
const PATIENCE = 10e3;

/**
 * POST on a separate connection, in a separate TLS session; resolve to status and headers, as far as
 * `exchange` reads them. Rejects with a TypeError, like `fetch`; its cause says if there was no connection.
 * @param {string} address
 * @param {any} init What `exchange` gives to `fetch`; a method, headers, a body and a signal count here.
 * @returns {Promise<any>}
 */
export const fetchAlone = (address, { method, headers, body, signal }) =>
  new Promise((resolve, reject) => {
    const { request } = address.startsWith("https:") ? https : http;
    const sized = { ...headers, "content-length": Buffer.byteLength(body) };
    const fail = (/** @type {unknown} */ cause) => reject(new TypeError("fetch failed", { cause }));
    const asked = request(address, { method, headers: sized, signal, agent: false, timeout: PATIENCE });
    asked
      .on("response", (answer) => {
        resolve({ status: answer.statusCode, headers: { get: (/** @type {string} */ name) => answer.headers[name] ?? null } });
        answer.on("error", () => {}).destroy(); // its body is not read
      })
      .on("timeout", () => {
        if (asked.socket?.connecting) asked.destroy(new Error("connect timeout"));
      })
      .on("error", fail)
      .on("close", fail) // after an answer it says nothing
      .end(body);
  });

/** What Node says of connections that were never made: refused, no such name, too slow, all addresses tried. */
const NEVER_MADE = /connect |getaddr|Connect T|Aggreg/;

/**
 * Return a function that uploads by `fetch`, and tells `exchange` which failures left nobody who saw the report.
 * @param {any} fetch
 * @returns {any}
 */
export const telling = (fetch) => async (/** @type {string} */ address, /** @type {any} */ init) => {
  try {
    return await fetch(address, init);
  } catch (/** @type {any} */ cause) {
    throw Object.assign(new TypeError("fetch failed", { cause }), { unreached: NEVER_MADE.test(cause?.cause) });
  }
};
