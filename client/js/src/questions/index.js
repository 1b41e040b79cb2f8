import { boolean } from "./boolean.js";
import { choice } from "./choice.js";
import { cross } from "./cross.js";
import { discovery } from "./discovery.js";
import { number } from "./number.js";
import { attempt } from "./plain.js";
import { selection } from "./selection.js";
import { string } from "./string.js";

/** @type {{ [kind: string]: (question: any, value?: unknown) => import("../types.js").Encoded }} */
const KINDS = { boolean, choice, cross, discovery, number, selection, string };

/**
 * Return what the mechanism randomizes for an answer. Every value has an item, a mistake too, and none throws: leaving
 * it out would be worse than useless, because then the absence of a report is an answer.
 * @param {import("../types.js").Question} question One that `python -m dither compile` wrote.
 * @param {unknown} value
 */
export const encode = (question, value) => {
  const answers = KINDS[question.kind];
  return attempt(() => answers(question, value)) ?? answers(question); // what throws is no answer
};
