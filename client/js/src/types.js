/**
 * Types that several folders share.
 *
 * There is no code here.
 * @typedef {object} Entropy
 * @property {(count: number) => Uint8Array} take Return the next `count` uniformly random bytes, which are the
 * caller's.
 * @typedef {number | number[] | Uint8Array} Item
 * What a mechanism randomizes: the index of a listed answer or the point of a number; the indices of a set, ascending;
 * the bytes of a string, or its symbols where it is spelled.
 * @typedef {object} Encoded
 * @property {Item} item
 * @property {boolean} outside Whether the answer is outside the domain.
 * @property {boolean} mistake Whether it is no answer at all.
 * @property {bigint} [rest] How far a number is from the point `item` to the next, in 2^-64 steps.
 * @typedef {{ mechanism: string, shape: "symbol" | "bits" | "list", cohorts: number, cells: number, listed: number,
 *   [parameter: string]: any }} Law
 * A mechanism in integers, as `python -m dither compile` writes it. Thresholds over 2^64 are 16 hex digits.
 * @typedef {{ kind: string, [key: string]: any }} Question
 * @typedef {object} Metric
 * @property {string} name
 * @property {string} version 16 hex digits.
 * @property {string} terms 16 hex digits of what consent is pinned to.
 * @property {"day" | "week" | "month"} period
 * @property {"any" | "count" | "days" | "furthest" | "max" | "set" | "sum" | "weeks-since-first-use"} [of] What the
 * device forms the answer of, if the app does not give it.
 * @property {number} [after] For how many days the device must have been in use before the first report.
 * @property {string | null} expires The last day on which it is asked, as 2027-06-30.
 * @property {number} epsilon The privacy loss of one report.
 * @property {number | null} reports How many reports its cap allows, if it has one.
 * @property {Question} question
 * @property {Law} law
 * @property {[string, string[]][]} strata Attributes sent in the clear, each with its values; [] if there are none.
 * @property {unknown} example An answer, to show what a report looks like.
 * @property {string} description
 * @property {[string, string][]} words What a person reads before consent: names of facts, and the facts, in order.
 * @typedef {{ [identifier: string]: string }} Sentences What people are shown, in the language of `compile`.
 * @typedef {{ format: "dither-compiled-1", language: string, sentences: Sentences, metrics: Metric[] }} Compiled
 * @typedef {"off" | "local" | "on"} Mode
 * @typedef {"kept" | "answered" | "off" | "spent" | "too new" | "unknown" | "failed" | "noted"} Outcome
 * What became of an answer: a report was made; the period has its report; there is no consent, or no more, to it; its
 * cap is reached; the device has been in use for fewer days than its `after`; no such metric is defined; it could not be
 * kept. An event is noted, or off: nothing is collected of it in this period.
 * @typedef {object} Drawn A report of `any` or `set` that may be drawn again.
 * @property {string} batch Its batch id, 32 hex digits.
 * @property {number} cohort
 * @property {string} row In base64, the cohort with it.
 * @typedef {{ begun: number, state: any, local?: boolean }} Kept The first day of a period, and the answer so far
 * (events.js): a `Drawn`, a number, the days of events, or "lost"; and whether some of it is of the mode local.
 * @typedef {object} Queued A report that waits.
 * @property {string} batch 32 hex digits.
 * @property {string} metric
 * @property {number} day Days since 1970-01-01, in UTC; so are all days.
 * @property {boolean} local Whether it is for the user's eyes only.
 * @property {string} body ASCII, the same at every try.
 * @typedef {object} Hold When a report leaves that waits. Moments are milliseconds since 1970.
 * @property {number} moment When it leaves next.
 * @property {number} notBefore Before when not even a flush sends it; 0 if the collector named none.
 * @property {number} failures How often it has failed.
 * @typedef {object} Data All that a client keeps, as JSON.
 * @property {1} format
 * @property {{ mode: Mode, accepted: { [terms: string]: { name: string, day: number } } } | null} choice
 * @property {{ [version: string]: { name: string, reports: number, epsilon: number, day: number } }} accounts
 * What each version has spent: how many reports, of what epsilon.
 * @property {{ [name: string]: number }} last The last day on which a metric, of whatever version, reported.
 * @property {{ [version: string]: number }} disabled The day on which the collector wanted no more of a version.
 * @property {number[]} corrected Days on which marks that lay ahead were corrected.
 * @property {Queued[]} outbox Oldest first.
 * @property {{ [batch: string]: Hold }} held
 * @property {string[]} sent The last bodies that were accepted, oldest first.
 * @property {{ sent: number, dropped: number }} totals
 * @property {{ at: number, endpoint: string, accepted: boolean, result: string, failures: number } | null} attempt
 * @property {{ [version: string]: Kept } | null} [events] Of the current periods; null if they were lost. Data of clients
 * that know none have neither these nor the next.
 * @property {number} [firstUse] The day of first use, if it is known and a metric depends on it.
 * @typedef {object} State
 * @property {() => Promise<Data>} read
 * @property {<T>(change: (data: Data) => T, anew?: () => Data) => Promise<T>} update Let `change` alter the data, at
 * once, and keep what it left, durably. One at a time, for all tabs and processes; if `change` throws, nothing is kept.
 * Damaged data make it reject, unless `anew` returns what replaces them: for a person who has just made a new choice.
 * @property {() => Promise<void>} erase Delete all of it.
 */

export {};
