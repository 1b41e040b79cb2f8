import { boolean } from "./boolean.js";
import { choice } from "./choice.js";
import { attempt } from "./plain.js";

/**
 * How each kind of question reads an answer; all.js adds the other kinds.
 * @type {{ [kind: string]: (question: any, value?: unknown) => import("../types.js").Encoded }}
 */
export const KINDS = { boolean, choice };

/**
 * Return what the mechanism randomizes for an answer. Every value has an item, even a mistake, and none
 * throws: leaving it out would be worse than useless, because then the absence of a report is an answer.
 * @param {import("../types.js").Question} question One that `python -m dither compile` wrote.
 * @param {unknown} value
 */
export const encode = (question, value) => {
  const answers = KINDS[question.kind];
  return attempt(() => answers(question, value)) ?? answers(question); // an object that throws is not an answer
};
