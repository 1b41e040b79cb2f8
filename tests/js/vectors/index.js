/** The checks of vectors, each by the name of its file; a line each, sorted. */
export { check as answers } from "./answers.js";
export { check as bodies } from "./bodies.js";
export { check as buckets } from "./buckets.js";
export { check as draws } from "./draws.js";
export { check as events } from "./events.js";
export { check as fields } from "./fields.js";
export { check as numbers } from "./numbers.js";
export { check as points } from "./points.js";
export { check as reports } from "./reports.js";
export { check as verdicts } from "./verdicts.js";
