/**
 * `<dither-consent>`: ask a person, show what is collected, and let them withdraw and delete.
 *
 *     import "dither-client/consent";
 *     document.querySelector("dither-consent").client = client;
 *
 * It shows the questions that are pending, with all that is to be known of them; otherwise the present choice, what was
 * spent and what was sent. With the attribute `all` it shows all questions. `level` is the level of its first heading
 * (2). After each choice it fires `dither-consent` with `detail: { mode, kept }`, which bubbles.
 */
import { UNASKED } from "./consent/rules.js";
import { LABELS } from "./element/labels.js";
import { button, costs, h, questionOf, reportsOf } from "./element/parts.js";
import { STYLE } from "./element/style.js";

/** @typedef {import("./client.js").Client} Client */
/** @typedef {import("./types.js").Mode} Mode */

/** Identifiers of what decides a mode. */
const BY = new Map([
  [UNASKED, "unasked"],
  ["the user's choice", "user"],
  ["webdriver", "browser"],
]);

const Host = /** @type {typeof HTMLElement} */ (globalThis.HTMLElement ?? Object); // Node has none

/** Asks a person for consent, and shows them what came of it. */
export class DitherConsent extends Host {
  /** @type {Partial<typeof LABELS>} */
  #own = {};
  /** @type {Client | undefined} */
  #client;
  #live = h("p", { part: "status", role: "status" });
  #page = h("div", {});
  #turn = 0;
  /** Whether the person wants to be asked again, and whether they have decided on what was shown last. */
  #again = false;
  #declined = false;
  #look = () => {
    if (document.visibilityState === "visible" && !this.matches(":focus-within")) this.refresh();
  };

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet(); // no CSP forbids one that a script makes
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    root.append(h("div", { part: "panel" }, this.#page, this.#live));
  }

  /** The client whose questions are shown. */
  get client() {
    return this.#client;
  }

  set client(client) {
    this.#client = client;
    this.refresh();
  }

  /** What it says: in the language of the client's metrics.json, but what an app sets here, some or all of it. */
  get labels() {
    return { ...LABELS, ...this.#sentences("element."), ...this.#own };
  }

  set labels(labels) {
    this.#own = labels;
  }

  /**
   * Return the client's sentences whose identifiers begin with `prefix`, by the rest.
   * @param {string} prefix
   */
  #sentences(prefix) {
    const all = Object.entries(this.#client?.compiled?.sentences ?? {});
    return Object.fromEntries(all.filter(([key]) => key.startsWith(prefix)).map(([key, text]) => [key.slice(prefix.length), text]));
  }

  connectedCallback() {
    for (const name of /** @type {const} */ (["labels", "client"])) {
      if (!Object.hasOwn(this, name)) continue;
      const set = /** @type {any} */ (this[name]); // before this class was known
      delete (/** @type {any} */ (this)[name]);
      this[name] = set;
    }
    document.addEventListener("visibilitychange", this.#look);
    this.refresh();
  }

  disconnectedCallback() {
    document.removeEventListener("visibilitychange", this.#look);
  }

  /** Show what holds now; for an app that has called the client itself. */
  async refresh() {
    const client = this.#client;
    const turn = ++this.#turn;
    if (!client || !this.isConnected) return;
    const [pending, status] = await Promise.all([client.pending(), client.status()]);
    const fresh = status.decidedBy === UNASKED || this.#again;
    const asking = (pending.length && !this.#declined) || this.#again;
    const names = fresh || this.hasAttribute("all") ? undefined : asking ? pending : [];
    const [questions, text] = await Promise.all([client.questions(names), client.consentText(names)]);
    const bodies = await Promise.all([client.preview(), client.sent()]);
    if (turn !== this.#turn) return; // a newer one is under way
    this.lang ||= client.compiled?.language ?? "en";
    const list = h("ul", { part: "questions", role: "list" });
    list.append(...questions.map((one) => questionOf(one, this.labels, this.#level + 1)));
    const page = asking ? this.#asking(text, list, questions, fresh) : this.#state(status, bodies, list);
    this.#page.replaceChildren(...page);
  }

  get #level() {
    return Math.min(Math.max(Number(this.getAttribute("level")) || 2, 1), 5);
  }

  /** @param {string} label */
  #heading(label) {
    return h(`h${this.#level}`, { part: "heading", tabindex: "-1" }, label);
  }

  /**
   * Ask: the questions, and two answers of the same weight.
   * @param {string} text
   * @param {HTMLElement} list
   * @param {import("./consent/text.js").Shown[]} questions
   * @param {boolean} fresh Whether no yes holds: else a no leaves what the person agreed to before.
   */
  #asking(text, list, questions, fresh) {
    const { ask, askMore, yes, no } = this.labels;
    const names = questions.map(({ name }) => name);
    const agree = async () => this.#choose((await this.#mode()) === "local" ? "local" : "on", names);
    const decline = async () => (fresh ? this.#choose("off") : this.#choose(await this.#mode(), []));
    return [
      this.#heading(fresh ? ask : askMore),
      h("p", { part: "intro" }, text.split("\n\n")[0].replaceAll("\n", " ")),
      list,
      h("div", { part: "choices" }, button("yes", yes, agree), button("no", no, decline)),
    ];
  }

  /**
   * Show the present choice, what came of it, and how to change it.
   * @param {import("./transparency/status.js").Status} status
   * @param {string[][]} bodies Of reports that wait, and that were sent.
   * @param {HTMLElement} list
   */
  #state({ mode, decidedBy, metrics }, [waiting, sent], list) {
    const { labels } = this;
    const by = this.#sentences("by.")[BY.get(decidedBy) ?? ""] ?? decidedBy;
    const free = decidedBy === UNASKED || decidedBy.startsWith("the user"); // else a choice would change nothing
    const allow = () => {
      this.#again = true;
      this.#show("");
    };
    const withdraw = button("withdraw", labels.withdraw, () => this.#choose("off"));
    const change = mode !== "off" ? [withdraw] : free ? [button("allow", labels.allow, allow)] : [];
    return [
      this.#heading(labels.state),
      h("p", { part: "mode" }, labels[mode], h("br", {}), `${labels.decidedBy}: ${by}`),
      ...(metrics.length ? [costs(metrics, labels, this.#sentences("state."))] : []),
      reportsOf(labels.preview, waiting, labels),
      reportsOf(labels.sent, sent, labels),
      ...(list.childElementCount ? [list] : []),
      h("details", {}, h("summary", {}, labels.forget), h("p", {}, labels.forgetting), this.#forgetting()),
      h("div", { part: "choices" }, ...change),
    ];
  }

  #forgetting() {
    return button("forget", this.labels.forgetNow, async () => {
      const kept = (await this.#client?.forget()) ?? false;
      this.#done("off", kept, kept ? this.labels.deleted : this.labels.failed);
    });
  }

  /** Return the mode that holds now: the person may have chosen in another tab since they were asked here. */
  async #mode() {
    return (await this.#client?.status())?.mode ?? "off";
  }

  /** @param {Mode} mode @param {string[]} [names] */
  async #choose(mode, names) {
    const kept = (await this.#client?.consent(mode, names)) ?? false;
    this.#done(mode, kept, kept ? this.labels.kept : this.labels.failed);
  }

  /** @param {Mode} mode @param {boolean} kept @param {string} message */
  #done(mode, kept, message) {
    this.#again = false;
    this.#declined = true;
    this.dispatchEvent(new CustomEvent("dither-consent", { bubbles: true, composed: true, detail: { mode, kept } }));
    return this.#show(message);
  }

  /** Show what holds now, say so, and go on at the heading: what had the focus is gone. @param {string} message */
  async #show(message) {
    await this.refresh();
    this.#live.textContent = message;
    /** @type {HTMLElement | null} */ (this.#page.firstElementChild)?.focus();
  }
}

// A second script of the page may have brought this file, too: to define it again would end that script.
const { customElements } = globalThis;
if (!customElements?.get("dither-consent")) customElements?.define("dither-consent", DitherConsent);
