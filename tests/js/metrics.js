/** Metrics, choices and days for tests, as `python -m dither compile` writes them. */

export const TODAY = 20_779; // 2026-11-22, a Sunday
export const WRITTEN = 20_758; // 2026-11-01

/** Return a metric, asked each day, of the mechanism that is drawn quickest. */
export const metric = (name, changes = {}) => ({
  name,
  version: [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 2 ** 40, 7).toString(16).padStart(16, "0"),
  terms: `terms of ${name}`,
  period: "day",
  expires: null,
  epsilon: 1,
  reports: null,
  question: { kind: "boolean" },
  law: { mechanism: "randomized-response", shape: "symbol", cohorts: 1, cells: 2, listed: 2, truth: "bb26a6e5d6c2b000" },
  strata: [],
  example: true,
  description: "",
  words: [],
  ...changes,
});

/** Sentences that a client says, as `compile` writes them. */
export const SENTENCES = {
  "ask.one": "{app} asks {count} question.",
  "ask.many": "{app} asks {count} questions.",
  "ask.clear": "Some is sent in the clear.",
  "fact.example": "For example",
  "missing.description": "no description",
};

export const THEME = metric("theme");
export const WEEKLY = metric("weekly", { period: "week" });

/** Return the choice of a user who was shown `metrics`. */
export const choice = (mode, metrics) => ({
  mode,
  accepted: Object.fromEntries(metrics.map(({ name, terms }) => [terms, { name, day: TODAY }])),
});
