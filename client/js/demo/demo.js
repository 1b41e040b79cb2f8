/** The demo's page: it asks three questions, and shows what happens to the answers. */
import { Client } from "../src/index.js";
import "../src/element.js";

const json = async (/** @type {string} */ path) => (await fetch(path)).json();
const [compiled, { endpoint }] = await Promise.all([json("metrics.json"), json("endpoint.json")]);

// An app lets reports leave at a random time within five minutes, so that they cannot be linked by their
// times. Visitors of a demo would not wait for that.
const client = new Client(compiled, { endpoint, app: "dither-demo", spread: 1 });
const form = document.forms[0];

const consent = document.querySelector("dither-consent");
consent.client = client;

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const given = new FormData(form);
  const outcomes = await Promise.all([
    client.record("theme", given.get("theme")),
    client.record("translated", given.get("translated") === "yes"),
    client.record("tabs", Number(given.get("tabs"))),
  ]);
  form.outcome.value = SAID[outcomes.find((outcome) => outcome !== "kept") ?? "kept"];
});

const SAID = {
  kept: "Thank you.",
  answered: "You have answered today.",
  off: "Nothing was drawn: you have not agreed.",
  spent: "You have answered as often as may be.",
  unknown: "There is no such question.",
  failed: "Nothing was drawn: this browser keeps nothing.",
};

/** Show what waits, what was sent, byte for byte, and who decided that. */
async function show() {
  const { mode, decidedBy, queued, sent } = await client.status();
  const status = document.querySelector("#status");
  const text = `Reports are ${mode} (${decidedBy}): ${queued} wait, ${sent} were sent.`;
  if (status.textContent !== text) {
    status.textContent = text;
    document.querySelector("#sent").textContent = (await client.sent()).join("\n\n");
    status.dataset.sent = String(sent);
    if (!consent.matches(":focus-within")) consent.refresh();
  }
  setTimeout(show, 250);
}
show();
