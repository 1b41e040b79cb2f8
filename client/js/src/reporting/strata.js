import { attempt, namesOf, textOf } from "../questions/plain.js";

/** @typedef {Pick<import("../types.js").Metric, "strata">} Stratified A metric, as far as its strata go. */

/**
 * Return the label of the cell for the given attributes, such as "linux/beta"; null if the metric has no strata.
 *
 * A value counts by its text (`textOf`). One that is not listed, not given, or cannot be read, is "other".
 * @param {Stratified} metric
 * @param {unknown} given An object of attributes; anything else has none.
 */
export const labelOf = ({ strata }, given) => strata.map((each) => listed(each, given) ?? "other").join("/") || null;

/**
 * Return the attributes without a listed value.
 * @param {Stratified} metric
 * @param {unknown} given
 */
export const outsideOf = ({ strata }, given) => strata.filter((each) => !listed(each, given)).map(([name]) => name);

/**
 * Return the given names that are not attributes of the metric. They may be many, and long.
 * @param {Stratified} metric
 * @param {unknown} given
 */
export const undeclared = ({ strata }, given) =>
  namesOf(given).filter((name) => !strata.some(([known]) => known === name));

/**
 * @param {[string, string[]]} attribute
 * @param {any} given
 */
const listed = ([name, values], given) => {
  const text = attempt(() => textOf(given[name]));
  return values.find((each) => each === text);
};
