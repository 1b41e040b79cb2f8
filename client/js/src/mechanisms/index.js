import { hex, subsetWith } from "../randomness/draws.js";
import { subsets, symbol } from "./channels.js";
import { itself } from "./markings.js";
import { PAYLOADS, bigEndian } from "./rows.js";

/**
 * @typedef {import("../types.js").Entropy} Entropy
 * @typedef {import("../types.js").Law} Law
 * @typedef {(law: Law, entropy: Entropy) => number} Cohort
 */

/**
 * Each mechanism: what an item marks, the channel that reports it, and how a cohort is drawn, if there is
 * more than one. These two are what `auto` chooses for booleans and choices of few values; all.js adds the
 * others.
 * @type {{ [name: string]: [import("./markings.js").Marking, import("./channels.js").Channel, Cohort?] }}
 */
export const MECHANISMS = {
  "randomized-response": [itself, symbol],
  "subset-selection": [itself, subsets(subsetWith)],
};

/**
 * Return the randomizer of a law, ready for many reports. Throws TypeError if its mechanism is not one of
 * these, SyntaxError if a threshold is not written in hex digits.
 * @param {Law} law
 */
export function mechanismOf(law) {
  const [marking, reporting, cohort] = MECHANISMS[law.mechanism];
  const marked = marking(law);
  const channel = reporting(law, hex(law.truth ?? law.inside ?? law.high));
  return {
    /**
     * Draw a cohort, which is public and does not depend on the item.
     * @param {Entropy} entropy
     */
    cohort: (entropy) => cohort?.(law, entropy) ?? 0,

    /**
     * Draw the row of one report, in base64: the cohort, and the payload. It is there at once, but a promise of it for
     * what needs a digest. Throws, or rejects, if something is missing: randomness, or a digest on a page that is not
     * secure.
     * @param {Entropy} entropy
     * @param {any} item Of those that the mechanism takes (types.js).
     * @param {number} cohort
     * @returns {string | Promise<string>}
     */
    row: (entropy, item, cohort) => {
      const row = (/** @type {number[]} */ marks) =>
        btoa(String.fromCharCode(...bigEndian([cohort], law.cohorts), ...PAYLOADS[law.shape](channel(entropy, marks), law.cells)));
      const marks = /** @type {any} */ (marked(item, cohort));
      return marks.then?.(row) ?? row(marks);
    },
  };
}
