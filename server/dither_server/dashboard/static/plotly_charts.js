// Draws the tables of a page as charts that answer the pointer, where Plotly is there. The page is whole without it.
"use strict";

const ROW = 30;
const CONFIG = { displayModeBar: false, responsive: true, scrollZoom: false };
const coarse = matchMedia("(pointer: coarse)").matches;
const phone = matchMedia("(max-width: 40rem)");
const dark = matchMedia("(prefers-color-scheme: dark)");

// Plotly reads a few tags in texts: no label may have any. Ours are line breaks only, for others take inline styles.
const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
// Without its middle: labels may begin alike.
const short = (text, length) =>
  text.length > length ? `${text.slice(0, Math.ceil(length * 0.6) - 1)}…${text.slice(-Math.floor(length * 0.4))}` : text;
const said = (cell) => plain(cell.textContent.trim().replace(/\s+/g, " "));
const numbers = (cell) => [...cell.querySelectorAll("data")].map((data) => Number(data.value));
const rowsOf = (figure) => [...figure.querySelectorAll("tbody tr")].map((row) => [...row.cells]);
// A long label has its whole text in the last of two elements.
const named = (cell) => [...cell.querySelectorAll("bdi")].at(-1).textContent;
const verdict = (cells) => cells.slice(5).map(said).join(", ");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function bars(rows) {
  const places = rows.map((_, place) => place);
  const shares = rows.map((cells) => numbers(cells[1])[0] ?? null);
  const texts = rows.map((cells) =>
    [plain(short(named(cells[0]), 80)), said(cells[1]), `interval ${said(cells[2])}`,
      `noise alone ${said(cells[4])}`, verdict(cells)].join("<br>"));
  const spans = (column) => {
    const line = { x: [], y: [] };
    rows.forEach((cells, place) => {
      line.x.push(...(numbers(cells[column]).length ? numbers(cells[column]) : [null, null]), null);
      line.y.push(place, place, null);
    });
    return line;
  };
  const line = { type: "scatter", mode: "lines", hoverinfo: "skip" };
  const ends = rows.flatMap((cells) => [1, 2, 4].flatMap((column) => numbers(cells[column])));
  const range = [Math.max(-0.1, Math.min(0, ...ends)) * 1.05, Math.min(1, Math.max(0.01, ...ends)) * 1.05];
  const axis = { tickvals: places, range: [rows.length - 0.4, -0.6], fixedrange: true, automargin: true, zeroline: false };
  return {
    height: ROW * rows.length + 50,
    data: [
      { type: "bar", orientation: "h", x: shares, y: places, hovertext: texts, hoverinfo: "text",
        marker: { color: colour("--bar") }, width: 0.7 },
      { ...line, ...spans(2), line: { color: colour("--ink"), width: 1.5 } },
      { ...line, ...spans(4), line: { color: colour("--ink"), width: 6 }, opacity: 0.4, yaxis: "y2" },
    ],
    layout: {
      hovermode: "y",
      xaxis: { tickformat: ",~%", nticks: 8, range, zeroline: true, zerolinecolor: colour("--muted"), gridcolor: colour("--rule") },
      yaxis: { ...axis, ticktext: rows.map((cells) => plain(short(named(cells[0]), 40))), ticklabelstandoff: 8 },
      yaxis2: { ...axis, overlaying: "y", side: "right", showgrid: false,
        ticktext: rows.map((cells) => `${said(cells[1])}   ${verdict(cells)}`), tickfont: { color: colour("--muted") } },
    },
  };
}

// A tick a day where there are few: between days there is nothing.
function dated(rows) {
  const span = Date.parse(rows.at(-1)[0].textContent) - Date.parse(rows[0][0].textContent);
  return { type: "date", tickformat: "%b %-d", showgrid: false, ...(span < 8 * 864e5 ? { dtick: 864e5 } : {}) };
}

function days(rows) {
  return {
    height: 160,
    data: [{ type: "bar", x: rows.map((cells) => cells[0].textContent), y: rows.map((cells) => numbers(cells[1])[0]),
      marker: { color: colour("--bar") }, hovertemplate: "%{x|%Y-%m-%d}: %{y:,}<extra></extra>" }],
    layout: { xaxis: dated(rows), yaxis: { tickformat: ",.3~s", rangemode: "tozero", gridcolor: colour("--rule"), automargin: true } },
  };
}

function course(rows) {
  const x = rows.map((cells) => cells[0].textContent);
  const end = (side) => rows.map((cells) => numbers(cells[2])[side] ?? null);
  const line = { type: "scatter", mode: "lines", x };
  return {
    height: 150,
    data: [
      { ...line, y: end(1), line: { width: 0 }, hoverinfo: "skip" },
      { ...line, y: end(0), line: { width: 0 }, hoverinfo: "skip", fill: "tonexty", fillcolor: colour("--band") },
      { ...line, mode: rows.length < 40 ? "lines+markers" : "lines", y: rows.map((cells) => numbers(cells[1])[0] ?? null),
        line: { color: colour("--bar"), width: 2 }, marker: { size: 5 },
        text: rows.map((cells) => `${said(cells[0])}: ${said(cells[1])}<br>${said(cells[2])}`), hovertemplate: "%{text}<extra></extra>" },
    ],
    layout: { hovermode: "x", xaxis: dated(rows),
      yaxis: { tickformat: ",.0%", rangemode: "tozero", gridcolor: colour("--rule"), automargin: true } },
  };
}

const DRAWN = { bars, days, course };

function draw(figure) {
  const plot = figure.querySelector(".plot");
  const { data, layout, height } = DRAWN[figure.dataset.chart](rowsOf(figure));
  const font = { family: getComputedStyle(document.body).fontFamily, size: 14, color: colour("--ink") };
  const common = {
    height, showlegend: false, margin: { l: 8, r: 8, t: 8, b: 28 }, dragmode: coarse ? false : "zoom",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font, hoverlabel: { bgcolor: colour("--paper"), bordercolor: colour("--muted"), font, align: "left" },
  };
  plot.dataset.drawn = "";
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", `${figure.getAttribute("aria-label")}, as a chart; the table below says the same`);
  return Plotly.react(plot, data, { ...common, ...layout }, CONFIG);
}

const isBars = (figure) => figure.dataset.chart === "bars";
const isDrawn = (figure) => "drawn" in figure.querySelector(".plot").dataset;

// A phone has no room for labels, bars and verdicts side by side: there the table, which holds bars, is the chart.
function asTable(figure) {
  const plot = figure.querySelector(".plot");
  if (isDrawn(figure)) Plotly.purge(plot);
  for (const name of ["data-drawn", "role", "aria-label", "style"]) plot.removeAttribute(name);
  figure.querySelector("details").open = true;
}

function start(figures) {
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) {
        seen.unobserve(target);
        draw(target);
      }
    }
  }, { rootMargin: "300px" });
  const show = (figure) => {
    seen.unobserve(figure);
    if (isBars(figure) && phone.matches) return asTable(figure);
    if (isBars(figure)) {
      figure.querySelector("details").open = false;
      figure.querySelector(".plot").style.minHeight = `${ROW * rowsOf(figure).length + 50}px`;
    }
    seen.observe(figure);
  };
  figures.forEach(show);
  phone.addEventListener("change", () => figures.filter(isBars).forEach(show));
  dark.addEventListener("change", () => figures.filter(isDrawn).forEach(draw));
}

// On paper are the still charts and every table. The style sheet opens these, and this where it cannot.
function openForPrint() {
  const shut = [];
  addEventListener("beforeprint", () => {
    shut.push(...document.querySelectorAll("details:not([open])"));
    for (const one of shut) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of shut.splice(0)) one.open = false;
  });
}

openForPrint();
if (window.Plotly) start([...document.querySelectorAll("[data-chart]")]);
