/**
 * What checks of vectors share. They run in Node and in browsers alike, and import nothing of either.
 *
 * @typedef {{ [field: string]: any }} Case
 * @typedef {{ checked: number, skipped: { [reason: string]: number }, failures: string[] }} Outcome
 * @typedef {(name: string) => Promise<{ cases: Case[] }>} Load Resolves to the parsed tests/vectors/NAME.json.
 */

/** Thrown by an examination whose case is for others. */
export class Skip extends Error {}

/**
 * Examine every case, and say how many were checked, were skipped for which reason, and failed how.
 * @param {Case[]} cases
 * @param {(one: Case) => unknown} examine Returns, or resolves to, the fields of the case that it computed itself.
 * @returns {Promise<Outcome>}
 */
export async function checkAll(cases, examine) {
  /** @type {Outcome} */
  const outcome = { checked: 0, skipped: {}, failures: [] };
  for (const [place, one] of cases.entries()) {
    try {
      const computed = /** @type {Case} */ (await examine(one));
      outcome.checked++;
      for (const [field, value] of Object.entries(computed))
        if (JSON.stringify(value) !== JSON.stringify(one[field]))
          outcome.failures.push(`case ${place}: ${field} is ${JSON.stringify(value)} in ${JSON.stringify(one)}`);
    } catch (error) {
      if (error instanceof Skip) outcome.skipped[error.message] = (outcome.skipped[error.message] ?? 0) + 1;
      else outcome.failures.push(`case ${place}: ${error} in ${JSON.stringify(one)}`);
    }
  }
  return outcome;
}

/**
 * Return the bytes that hex digits stand for.
 * @param {string} hex
 */
export const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/**
 * Return the bytes that base64 stands for.
 * @param {string} text
 */
export const bytesOfBase64 = (text) => Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0));

/**
 * Return bytes in hex.
 * @param {Uint8Array} bytes
 */
export const hexOf = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
