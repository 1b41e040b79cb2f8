/** The parts of the element: each function returns one piece of its page. */

/** @typedef {typeof import("./labels.js").LABELS} Labels */
/** @typedef {import("../consent/text.js").Shown} Shown */

/** Maximum reports that are shown; older ones are only counted. */
const MOST_SHOWN = 20;

/**
 * Return an element with attributes and children; text is inserted as text, never as markup.
 * @param {string} tag
 * @param {{ [attribute: string]: string }} attributes
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/**
 * Return a button.
 * @param {string} part
 * @param {string} label
 * @param {() => void} press
 */
export function button(part, label, press) {
  const made = h("button", { type: "button", part: `button ${part}` }, label);
  made.addEventListener("click", press);
  return made;
}

/** @param {string} body */
const bytes = (body) => h("code", { part: "bytes" }, body);

/**
 * Return one question, with all its facts.
 * @param {Shown} question
 * @param {Labels} labels
 * @param {number} level Of its heading.
 */
export function questionOf({ name, description, facts, example }, labels, level) {
  const list = h("dl", { part: "facts" });
  for (const [fact, text] of facts) list.append(h("dt", {}, fact), h("dd", {}, text));
  list.append(h("dt", {}, labels.example), h("dd", {}, bytes(example)));
  const about = h("summary", {}, labels.about, h("span", { class: "hidden" }, `: ${name}`));
  return h(
    "li",
    { part: "question" },
    h(`h${level}`, { part: "name" }, name),
    h("p", { part: "description" }, description),
    h("details", {}, about, list),
  );
}

/**
 * Return a table of what each question has cost.
 * @param {import("../transparency/status.js").MetricStatus[]} metrics
 * @param {Labels} labels
 * @param {{ [state: string]: string }} states In another language than English.
 */
export function costs(metrics, labels, states) {
  const columns = [labels.collected, labels.spent, labels.reports];
  const head = [labels.question, ...columns].map((label) => h("th", { scope: "col", role: "columnheader" }, label));
  const rows = metrics.map(({ name, state, spent, reports }) => {
    const cells = [states[state === "not accepted" ? "accepted" : state] ?? state, spent.toPrecision(3), `${reports}`];
    const shown = cells.map((text, place) => h("td", { role: "cell", "data-label": columns[place] }, text));
    return h("tr", { role: "row" }, h("th", { scope: "row", role: "rowheader" }, name), ...shown);
  });
  const row = h("tr", { role: "row" }, ...head);
  return h(
    "table",
    { part: "costs", role: "table" }, // explicit, because on narrow screens browsers do not take its parts for a table
    h("thead", { role: "rowgroup" }, row),
    h("tbody", { role: "rowgroup" }, ...rows),
  );
}

/**
 * Return the bodies of reports, the newest first, behind a summary.
 * @param {string} label
 * @param {string[]} bodies Oldest first.
 * @param {Labels} labels
 */
export function reportsOf(label, bodies, labels) {
  const newest = bodies.slice(-MOST_SHOWN).reverse();
  const rest = bodies.length - newest.length;
  const list = bodies.length
    ? h("ol", {}, ...newest.map((body) => h("li", {}, bytes(body))))
    : h("p", {}, labels.none);
  const more = rest ? [h("p", {}, `${rest} ${labels.more}`)] : [];
  return h("details", {}, h("summary", {}, `${label} (${bodies.length})`), list, ...more);
}
