/**
 * What a person is shown before consent: each question, its facts, and an example upload.
 * @typedef {import("../types.js").Metric} Metric
 * @typedef {object} Shown One question, as a person is shown it.
 * @property {string} name
 * @property {string} description
 * @property {[string, string][]} facts Names of facts, and facts, in order.
 * @property {string} example The body of an upload, drawn from the example of the question and stored nowhere.
 */
import { encode } from "../questions/index.js";
import { buildReport } from "../reporting/report.js";
import { labelOf } from "../reporting/strata.js";

/**
 * Return a question as it is shown to a person.
 * @param {Metric} metric
 * @param {import("../types.js").Entropy} entropy
 * @param {{ [attribute: string]: unknown }} strata The attributes of this device, which the example shows as they are.
 * @param {import("../types.js").Sentences} sentences
 * @returns {Promise<Shown>}
 */
export async function shown(metric, entropy, strata, sentences) {
  const { name, description, words, question, example } = metric;
  const first = Object.fromEntries(metric.strata.map(([attribute, [value]]) => [attribute, value]));
  const label = labelOf(metric, { ...first, ...strata });
  const built = buildReport(metric, encode(question, example), label, entropy);
  const body = await built.then(
    (report) => report.body,
    (error) => `none: ${error}`,
  );
  return { name, description: description || sentences["missing.description"], facts: words, example: body };
}

/** @param {[string, string]} fact */
const line = (fact) => "    " + fact.join(": ");

/**
 * Return the text to show to a person who is asked for consent, line by line that of Python's `consent_text`.
 * @param {string} app
 * @param {Shown[]} questions
 * @param {Metric[]} metrics What they ask.
 * @param {import("../types.js").Sentences} sentences
 * @returns {string}
 */
export function textOf(app, questions, metrics, sentences) {
  const count = questions.length;
  const kept = metrics.some(({ of }) => of && of !== "any" && of !== "set") ? "kept." : "";
  const ask = sentences[`ask.${kept}${count === 1 ? "one" : "many"}`];
  const clear = metrics.some(({ strata }) => strata[0]) ? "\n" + sentences["ask.clear"] : "";
  const head = ask.replace("{app}", () => app).replace("{count}", `${count}`) + clear;
  const texts = questions.map(({ name, description, facts, example }) =>
    [`${name}: ${description}`, ...facts.map(line), line([sentences["fact.example"], example])].join("\n"),
  );
  return [head, ...texts].join("\n\n");
}
