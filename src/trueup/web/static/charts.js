// Charts: Vega-Lite from the server, drawn here without eval. Each has its numbers as a table too.

import { el, table } from "./dom.js";
import { figure, NAMES, wholeName } from "./format.js";

// `ast`: expressions are interpreted, so that the page needs no eval. `aria`: a screen reader gets the
// label and the table, not two thousand dots.
const OPTIONS = { mode: "vega-lite", ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: false, config: { aria: false } };

let library = null;

// Loads the drawing library once, from this server.
export function loadVega() {
  library ??= new Promise((resolve, reject) => {
    const script = el("script", { src: "/vega.js" });
    script.addEventListener("load", () => resolve(window.vegaEmbed));
    script.addEventListener("error", () => { library = null; reject(new Error("vega.js")); });
    document.head.append(script);
  });
  return library;
}

// Draws into `place`; figures that are there already are reused, so that nothing jumps.
export async function drawCharts(place, specs, answer, isCurrent) {
  const embed = await loadVega().catch(() => null);
  if (!isCurrent()) return;
  const kinds = Object.keys(specs);
  for (const old of [...place.children]) if (!kinds.includes(old.dataset.kind)) old.remove();
  for (const kind of kinds) {
    const figure = [...place.children].find((node) => node.dataset.kind === kind) ?? place.appendChild(makeFigure(kind));
    const drawing = figure.querySelector(".drawing");
    const { title, ...spec } = specs[kind];
    const [heading, words] = [[title?.text ?? title ?? kind].flat().join(" "), [title?.subtitle ?? []].flat().join(" ")];
    figure.querySelector("h3").textContent = heading;
    figure.querySelector("figcaption p").textContent = words;
    figure.querySelector(".numbers-of").replaceChildren(numbersOf(kind, answer));
    drawing.setAttribute("aria-label", `Chart. ${heading}. ${words} The same is in the table below.`);
    if (!embed) {
      drawing.textContent = "The chart cannot be drawn; its numbers are in the table below.";
      continue;
    }
    const fresh = el("div");
    try {
      const view = await embed(fresh, spec, OPTIONS);
      if (!isCurrent()) { view.finalize(); return; }
      figure.finalize?.();
      figure.finalize = () => view.finalize();
      drawing.replaceChildren(fresh);
      drawing.querySelectorAll("svg, svg *").forEach((node) => node.removeAttribute("tabindex"));
    } catch (error) {
      console.error(error);
      drawing.textContent = "The chart cannot be drawn; its numbers are in the table below.";
    }
  }
}

function makeFigure(kind) {
  return el("figure", { "data-kind": kind },
    el("figcaption", {}, el("h3"), el("p")),
    el("div", { class: "drawing", role: "img" }),
    el("details", {}, el("summary", {}, "The same in numbers"), el("div", { class: "numbers-of scroller" })));
}

function numbersOf(kind, answer) {
  if (kind === "chains") {
    return table(["measure", "value"], ["ess", "rhat", "acceptance"].filter((name) => answer.info[name] !== undefined && answer.info[name] !== null)
      .map((name) => [{ ess: "effective draws", rhat: "R̂ (1: the chains agree)", acceptance: "share of draws accepted" }[name], show(answer.info[name])]));
  }
  if (kind === "test_set" || kind === "plane") {
    const { test, classes, predicted } = answer;
    const share = kind === "plane";
    return table([share ? "true class; share predicted as" : "true class; predicted as", ...predicted], classes.map((name, g) => [name, ...test[g].map((n) => {
      const all = test[g].reduce((a, b) => a + b, 0);
      return share ? (all ? `${((100 * n) / all).toFixed(1)}%` : "–") : String(n);
    })]));
  }
  const wanted = kind === "density" ? ["mean", "sd", "lower", "estimate", "upper"] : ["naive", "estimate", "lower", "upper"];
  const by = kind === "groups" ? answer.by : []; // the other charts are of the whole
  const whole = wholeName(answer.written, by);
  return table([...by, "class", ...wanted.map((name) => NAMES[name])],
    answer.written.filter((row) => by.length || row.part === "whole").map((row) => [...by.map((name) => (row.part === "whole" ? whole : String(row[name] ?? "(none)"))), String(row.class), ...wanted.map((name) => figure(row[name]))]));
}

const show = (x) => (typeof x === "number" ? String(Number(x.toPrecision(4))) : Array.isArray(x) ? x.map(show).join(", ") : JSON.stringify(x));
