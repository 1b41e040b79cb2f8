import { boolean } from "./boolean.js";
import { choice } from "./choice.js";
import { encoded, members, namesOf } from "./plain.js";

const MOST_NAMES = 16;

/**
 * Two questions answered together, as an object or a Map by name, or an array of both answers: the first axis
 * is the slower one. An answer that an axis does not list goes to its own catch-all; so does an axis that is
 * left out, which is a mistake, and so is a name that is not an axis. An object with more than 16 names is
 * not an answer.
 * @param {import("../types.js").Question} question
 * @param {unknown} value
 */
export const cross = ({ axes }, value) => {
  const pairs = named(value, axes);
  const given = new Map(pairs.length > MOST_NAMES ? [] : pairs);
  const [first, second] = axes.map((/** @type {[string, any]} */ [name, question]) =>
    (question.values ? choice : boolean)(question, given.get(name)),
  );
  return encoded(
    first.item * (axes[1][1].values?.length ?? 2) + second.item,
    first.outside || second.outside,
    first.mistake || second.mistake || given.size > 2,
  );
};

/**
 * @param {any} value
 * @param {[string, any][]} axes
 * @returns {[unknown, unknown][]}
 */
const named = (value, axes) =>
  Array.isArray(value)
    ? value.length === 2
      ? axes.map(([name], place) => [name, value[place]])
      : []
    : (members(Map, value) ?? namesOf(value).map((name) => [name, value[name]]));
