// The answer: a headline, what to beware of, a table, a sentence to copy, the charts.

import { copyButton, el, table } from "./dom.js";
import { drawCharts } from "./charts.js";
import { figure, formatter, NAMES, wholeName } from "./format.js";

const percent = ({ interval }) => `${Number((100 * interval).toPrecision(4))}%`;

// What is not corrected has no such column.
const figures = ({ method }) => (method === "naive" ? ["naive"] : ["naive", "estimate", "lower", "upper"]);

// Makes the parts once; `show` and `charts` fill them, so that a new answer replaces an old one in place.
export function makeAnswer(section, actions) {
  const parts = {
    busy: el("p", { class: "busy", hidden: true }),
    headline: el("div", { class: "headline", role: "status", "aria-live": "polite" }),
    notes: el("div"),
    rows: el("div", { class: "scroller rows", tabindex: "0", role: "group", "aria-label": "table of the answer" }),
    accuracy: el("div"),
    words: el("div", { class: "words" }),
    actions: el("p", { class: "row actions" }, ...actions),
    charts: el("div", { class: "charts" }),
    again: el("div"),
  };
  const body = el("div", { hidden: true }, parts.headline, parts.notes, parts.rows, parts.accuracy, parts.words, parts.actions, parts.charts, parts.again);
  section.append(parts.busy, body);
  const empty = section.querySelector(".empty");
  const usual = empty.textContent;
  let about = 0;
  let current = 0;

  function show(answer) {
    const mine = ++current;
    empty.hidden = true;
    body.hidden = false;
    section.classList.remove("stale");
    parts.headline.replaceChildren(...headline(answer));
    parts.notes.replaceChildren(...notes(answer));
    parts.rows.replaceChildren(rowsTable(answer));
    parts.accuracy.replaceChildren(...accuracy(answer));
    about = Math.min(about, answer.sentences.length - 1);
    parts.words.replaceChildren(...sentence(answer));
    parts.again.replaceChildren(...again(answer));
    return { charts: (specs) => drawCharts(parts.charts, specs, answer, () => mine === current) };
  }

  function sentence(answer) {
    const quote = el("blockquote", { id: `${section.id}-sentence` }, answer.sentences[about]);
    const pick = el("select", { "aria-label": "sentence about class" }, ...answer.classes.map((name, k) =>
      el("option", { value: k, selected: k === about }, name)));
    pick.addEventListener("change", () => { about = Number(pick.value); quote.textContent = answer.sentences[about]; });
    return [el("h3", {}, "A sentence for your text"), quote, el("p", { class: "row" }, pick, copyButton("Copy the sentence", () => quote.textContent))];
  }

  return {
    show,
    clear(words) {
      current += 1;
      empty.hidden = false;
      empty.textContent = words ?? usual;
      body.hidden = true;
    },
    stale(on) { section.classList.toggle("stale", on); },
    busy(words) { parts.busy.hidden = !words; parts.busy.replaceChildren(...(words ? [].concat(words) : [])); },
    parts,
  };
}

function headline({ headlines, info }) {
  const minus = (text) => text.replace("-", "−");
  const corrected = info.method !== "naive";
  const cards = headlines.slice(0, 3).map((row) => {
    const value = el("p", { class: "value" }, minus(row.estimate));
    value.style.setProperty("--signs", row.estimate.length); // a long number is smaller, never cut in two
    return el("div", { class: "figure" }, el("p", { class: "of" }, row.class), value,
      el("p", { class: "range" }, !corrected ? "not corrected" : row.lower === null ? "no interval" : `${percent(info)} interval ${minus(row.lower)} to ${minus(row.upper)}`),
      corrected ? el("p", { class: "was" }, `as predicted ${minus(row.naive)}`) : null);
  });
  const more = headlines.length - cards.length;
  if (more > 0) cards.push(el("p", { class: "others" }, `and ${more} more ${more === 1 ? "class" : "classes"} in the table`));
  return cards;
}

function notes(answer) {
  const found = [];
  if (answer.inversion && !answer.inversion.permissible) {
    found.push(el("p", { class: "callout bad", id: "refused" }, el("b", {}, "Plain inversion refused. "),
      `Inverting the test set’s error rates ${answer.inversion.words}. The corrected figures take only possible values.`));
  }
  for (const words of answer.info.warnings) found.push(el("p", { class: "callout warn" }, el("b", {}, "Beware. "), words));
  return found;
}

function rowsTable(answer) {
  const by = answer.by ?? [];
  const inverse = answer.inversion?.values;
  const whole = wholeName(answer.written, by);
  const format = formatter(answer.rows.flatMap((row) => [row.naive, row.estimate, row.upper]));
  const shown = figures(answer.info);
  const header = [...by, "class", ...shown.map((name) => (name === "lower" ? `${percent(answer.info)} from` : NAMES[name])), ...(inverse ? ["plain inversion"] : [])];
  const rows = answer.written.map((row, k) => [
    ...by.map((name) => (row.part === "whole" ? whole : String(row[name] ?? "(none)"))), String(row.class),
    ...shown.map((name) => figure(row[name])),
    ...(inverse ? [inverse[k] < 0 && !answer.inversion.permissible ? `${format(inverse[k])} refused` : format(inverse[k])] : [])]);
  const made = table(header, rows, answer.totals ? "Totals per class" : "Units per class");
  const hidden = (answer.all_rows ?? rows.length) - rows.length;
  if (hidden > 0) made.append(el("tfoot", {}, el("tr", {}, el("td", { colspan: header.length }, `${hidden.toLocaleString("en")} more rows are in the table that you can download.`))));
  return made;
}

// How good the classifier is in the whole population, and the table for a text.
function accuracy(answer) {
  const copy = answer.markdown
    ? el("p", { class: "row" }, copyButton("Copy the table as Markdown", () => answer.markdown)) : null;
  if (!answer.accuracy) return copy ? [copy] : [];
  const names = { recall: "recall (producer’s)", precision: "precision (user’s)", f1: "F1", accuracy: "accuracy" };
  const rows = answer.accuracy.map((row) => [row.measure === "accuracy" ? "all classes" : String(row.class),
    names[row.measure], ...["mean", "lower", "upper"].map((name) => figure(row[name]))]);
  const tables = [table(["class", "measure", "mean", "from", "to"], rows, "Accuracy in the population"),
    table(["true class; predicted as", ...answer.predicted], answer.error_matrix.map((row, g) => [answer.classes[g], ...row]), "Share of the population in %")];
  return [...(copy ? [copy] : []), el("details", { class: "accuracy" }, el("summary", {}, "How good is the classifier in the population?"),
    el("p", {}, "Estimated for the population: the raw shares in the test set depend on how it was drawn."),
    ...tables.map((made) => el("div", { class: "scroller", tabindex: "0", role: "group", "aria-label": made.caption.textContent }, made)))];
}

function again(answer) {
  const { info } = answer;
  const made = `Method ${info.method}, design ${info.design}, prior ${info.prior}, ${info.draws.toLocaleString("en")} draws, seed ${info.seed}.`;
  const parts = [el("h3", {}, "How it was made"), el("p", {}, made)];
  if (answer.command) {
    const code = el("code", { tabindex: "0" }, answer.command);
    parts.push(el("p", {}, "The same in a terminal:"), el("pre", {}, code), el("p", { class: "row" }, copyButton("Copy the command", () => answer.command)));
  }
  return parts;
}
