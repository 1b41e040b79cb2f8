import "../../../client/js/src/all.js";
import { encode } from "../../../client/js/src/questions/index.js";
import { checkAll, hexOf } from "./cases.js";

const LABELS = ["light", "dark", "1", "1.5", "true", "Zo\u00eb", "\u{1f600}", " dark", "other"];

/**
 * The questions that answers.json speaks of, by their kinds.
 * @type {{ [kind: string]: import("../../../client/js/src/types.js").Question }}
 */
const QUESTIONS = {
  boolean: { kind: "boolean" },
  choice: { kind: "choice", values: LABELS, other: 8 },
  cross: {
    kind: "cross",
    axes: [
      ["theme", { kind: "choice", values: ["light", "dark", "other"], other: 2 }],
      ["failed", { kind: "boolean" }],
    ],
  },
  discovery: { kind: "discovery", characters: "abcdefghijklmnopqrstuvwxyz\u00eb", length: 6, fold: true },
  number: { kind: "number", low: -1, high: 11, log: false, points: 13 },
  selection: { kind: "selection", values: LABELS.slice(0, 6), at_most: 3 },
  string: { kind: "string" },
};

/** @param {import("./cases.js").Load} load */
export async function check(load) {
  return checkAll((await load("answers")).cases, ({ type, given }) => {
    const { item, outside, mistake } = encode(QUESTIONS[type], given);
    return { item: item instanceof Uint8Array ? hexOf(item) : item, outside, mistake };
  });
}
