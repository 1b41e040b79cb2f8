/** The style of the element: the page's colours, unless its custom properties say otherwise; nothing moves. */
export const STYLE = `
:host {
  display: block;
  box-sizing: border-box;
  max-width: 44rem;
  padding: 1rem;
  border: 1px solid var(--dither-border, GrayText);
  border-radius: var(--dither-radius, 0.5rem);
  background: var(--dither-background, Canvas);
  color: var(--dither-text, CanvasText);
  font: var(--dither-font, 1rem / 1.5 system-ui, sans-serif);
  overflow-wrap: anywhere;
}
:host([hidden]) { display: none; }
.hidden { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; white-space: nowrap; }
ul { list-style: none; margin: 0; padding: 0; }
* { box-sizing: border-box; }
[part="heading"] { margin: 0 0 0.5rem; line-height: 1.25; font-size: 1.25rem; }
[part="question"] { padding: 0.75rem 0; border-top: 1px solid var(--dither-border, GrayText); }
[part="name"] { margin: 0; font-size: 1rem; line-height: 1.5; }
p { margin: 0 0 0.75rem; }
p[part="description"] { margin: 0; }
summary { min-height: 1.75rem; padding: 0.125rem 0; cursor: pointer; }
dl { margin: 0.5rem 0; }
dt { font-weight: bold; }
dd { margin: 0 0 0.5rem; }
ol { margin: 0.5rem 0; padding-inline-start: 1.5rem; }
[part="bytes"] { display: block; font-family: ui-monospace, monospace; font-size: 0.875rem; white-space: pre-wrap; }
table { width: 100%; border-collapse: collapse; margin: 0 0 0.75rem; }
th, td { padding: 0.25rem 0.5rem 0.25rem 0; text-align: start; vertical-align: top; font-weight: normal; }
thead th { font-weight: bold; }
tbody tr { border-top: 1px solid var(--dither-border, GrayText); }
[part="choices"] { display: flex; flex-wrap: wrap; gap: 0.75rem; margin: 0.75rem 0 0; }
button {
  flex: 1 1 8rem;
  min-height: 2.75rem;
  padding: 0.5rem 1rem;
  border: 2px solid var(--dither-accent, currentcolor);
  border-radius: var(--dither-radius, 0.5rem);
  background: transparent;
  color: inherit;
  font: inherit;
  font-weight: bold;
  cursor: pointer;
}
button:hover { text-decoration: underline; }
:focus-visible { outline: 3px solid var(--dither-focus, currentcolor); outline-offset: 2px; }
[part="status"]:not(:empty) { margin: 0.75rem 0 0; }
@media (max-width: 30rem) {
  thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  tr, th, td { display: block; padding-inline-end: 0; }
  td::before { content: attr(data-label) ": "; }
  tbody th { font-weight: bold; }
}
`;
