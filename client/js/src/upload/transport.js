/**
 * One exchange with a collector that may be hostile, by `fetch`: a body is sent, the status and Retry-After are
 * received.
 *
 * One deadline covers all of it. Redirects are not followed, and the body of the answer is not read. Neither cookies
 * nor the address of the page are sent, and nothing is cached, because an entity tag would identify the client.
 */

import { UNANSWERED, UNREACHED } from "./retry.js";

/** Milliseconds from the look-up of the name to the head of the answer. */
export const DEADLINE = 20e3;

/** Browsers limit the bodies of all requests that outlive their page to 64 KiB in total. */
const MOST_KEPT_ALIVE = 6e4;

/**
 * Return the address for reports: `endpoint` and "/v1/reports". The endpoint is an http or https URL, or in a
 * page a path of its own site ("/telemetry"). Throws Error, which does not quote what was given, for anything
 * else, and for one with a user name, a query or a fragment.
 * @param {string} endpoint
 */
export function addressOf(endpoint) {
  if (!/^(https?:\/)?\/[^?#@]*$/.test(endpoint)) throw new Error("endpoint: no plain http or https URL");
  return new URL(endpoint, globalThis.location?.href).href.replace(/\/*$/, "/v1/reports");
}

/**
 * Return the headers of every upload. A page needs none: `fetch` sends a string as text/plain, which takes no
 * preflight. Elsewhere there is no Origin, and the collector takes JSON only; and each upload has a connection of its own.
 * @param {string} [token] The app's, the same for all its users. Throws Error if it cannot stand in a header.
 * @returns {{ [name: string]: string }}
 */
export function headersOf(token) {
  if (!token && globalThis.location) return {};
  if (/[^!-~]/.test(/** @type {string} */ (token))) throw new Error("token: not for a header");
  return { "content-type": "application/json", connection: "close", ...(token && { authorization: `Bearer ${token}` }) };
}

/**
 * POST a body; resolve to the result: the status in digits, or UNANSWERED or UNREACHED.
 *
 * A browser does not distinguish an answer that it hides from us (a wrong origin) from no answer, so nobody was
 * reached only if the device is offline, or the platform says that there was no connection.
 * @param {typeof globalThis.fetch} fetch
 * @param {string} address
 * @param {{ [name: string]: string }} headers
 * @param {string} body
 * @returns {Promise<{ result: string, retryAfter?: string | null }>}
 */
export async function exchange(fetch, address, headers, body) {
  try {
    const answer = await fetch(address, {
      method: "POST",
      body,
      headers,
      keepalive: body.length < MOST_KEPT_ALIVE,
      credentials: "omit",
      referrerPolicy: "no-referrer",
      cache: "no-store",
      redirect: "manual",
      signal: AbortSignal.timeout(DEADLINE),
    });
    answer.body?.cancel().catch(() => {});
    return { result: `${answer.status || 300}`, retryAfter: answer.headers.get("retry-after") };
  } catch (error) {
    const early = /** @type {any} */ (error)?.unreached; // as the client for Node says (node.js)
    return { result: early || globalThis.navigator?.onLine === false ? UNREACHED : UNANSWERED };
  }
}
