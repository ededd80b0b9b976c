// Way 1: numbers in, the answer as one types.

import { makeAnswer } from "./answer.js";
import { events, send } from "./ask.js";
import { readChoices, showChoices } from "./choices.js";
import { $, copyButton, el, save, showError, theme } from "./dom.js";
import { makeGrid } from "./grid.js";
import { startGuide } from "./guide.js";
import { blank, fromExample, fromLink, labelsOf, relabel, resize, toLink, toRequest } from "./state.js";

const PATIENCE = 250; // milliseconds after which a computation that is out of date is stopped

export function startNumbers(examples) {
  const state = blank();
  const grid = makeGrid(state, changed);
  const answer = makeAnswer($("numbers-answer"), [
    copyButton("Copy a link to these numbers", () => `${location.href.split("#")[0]}#${toLink(state)}`),
    fileButton("Download the table", "table", "trueup-table.csv"),
    fileButton("Download the report", "report", "trueup-report.html"),
  ]);

  // At most one question at a time: what is typed meanwhile waits for the answer, and stops the
  // question if that takes long.
  let asking = null;
  let next = null;

  function changed() {
    const { request, problem, waiting } = toRequest(state);
    if (request) ask(request); // first of all: the rest can be done while the answer is made
    mark(problem);
    keepLink();
    if (request) return;
    next = null;
    asking?.abort();
    if (problem) answer.clear("Correct the marked field to get an answer.");
    else answer.clear([state.test, state.counts].flat(2).some(Boolean) ? `Still missing: ${waiting}.` : null);
  }

  // Keeps the link in the address bar, at most a few times a second: browsers allow no more.
  let keeping = null;
  function keepLink() {
    clearTimeout(keeping);
    keeping = setTimeout(() => history.replaceState(null, "", `#${toLink(state)}`), 150);
  }

  function ask(request) {
    if (asking) {
      next = request;
      const old = asking;
      setTimeout(() => { if (asking === old && next) old.abort(); }, PATIENCE);
      return;
    }
    run(request);
  }

  async function run(request) {
    const mine = new AbortController();
    asking = mine;
    const slow = setTimeout(() => { answer.stale(true); working(mine, null); }, PATIENCE);
    let shown = null;
    try {
      await events("/api/numbers", { ...request, theme: theme() }, { signal: mine.signal, on: (event) => {
        if (event.progress !== undefined) working(mine, event.progress);
        if (event.answer && !mine.signal.aborted) {
          clearTimeout(slow);
          answer.busy(null);
          shown = answer.show(event.answer);
        }
        if (event.charts && !next) shown?.charts(event.charts);
      } });
    } catch (problem) {
      if (problem.name !== "AbortError" && !next) refuse(problem);
    }
    clearTimeout(slow);
    if (asking === mine) {
      asking = null;
      answer.busy(null);
      answer.stale(false);
      const waiting = next;
      next = null;
      if (waiting) run(waiting);
    }
  }

  function working(mine, fraction) {
    answer.busy([
      el("progress", { max: 1, value: fraction, "aria-label": "progress" }), " computing… ",
      el("button", { type: "button", onclick: () => { next = null; mine.abort(); answer.clear("Cancelled. Change a number to start again."); } }, "Cancel"),
    ]);
  }

  function refuse(problem) {
    const name = { predicted_counts: "counts-0", predicted_sums: "sums-0", predicted_squares: "squares-0", test: "test-0-0", classes: "class-0", predicted_classes: "label-0" }[problem.field];
    mark({ place: name ? name.split("-") : [problem.field ?? "test"], error: problem.error, hint: problem.hint });
    answer.clear("There is no answer to these numbers.");
  }

  // Shows a problem beside the field it belongs to.
  function mark(problem) {
    document.querySelectorAll("#numbers-form [aria-invalid]").forEach((node) => node.removeAttribute("aria-invalid"));
    const place = problem?.place ?? [];
    const own = ["draws", "seed"].includes(place[0]) ? $(place[0]) : null;
    showError($("grid-error"), own ? null : problem);
    for (const name of ["draws", "seed"]) showError($(`${name}-error`), own?.id === name ? problem : null);
    const field = own ?? document.querySelector(`[data-place="${place.join("-")}"]`);
    field?.setAttribute("aria-invalid", "true");
    if (own) $("more").open = true;
  }

  function fileButton(words, what, name) {
    const button = el("button", { type: "button" }, words);
    button.addEventListener("click", async () => {
      const { request } = toRequest(state);
      if (!request) return;
      button.disabled = true;
      button.textContent = "Preparing…";
      try {
        const response = await send("POST", `/api/numbers/${what}`, { body: request });
        save(await response.blob(), name);
      } catch (problem) {
        refuse(problem);
      }
      button.disabled = false;
      button.textContent = words;
    });
    return button;
  }

  function load(fresh, about = null) {
    Object.assign(state, fresh);
    $("with-sums").checked = state.sums !== null;
    $("with-squares").checked = state.squares !== null;
    $("with-labels").checked = state.labels !== null;
    showChoices(state);
    $("example-about").hidden = !about;
    $("example-about").replaceChildren(...(about ? [el("p", {}, about.about), el("p", { class: "source" }, "Source: ", about.source)] : []));
    grid.draw();
    changed();
  }

  $("add-class").addEventListener("click", () => {
    resize(state, state.classes.length + 1);
    grid.draw();
    changed();
    grid.focus(["class", state.classes.length - 1]);
  });
  $("add-label").addEventListener("click", () => {
    resize(state, state.classes.length, state.labels.length + 1);
    grid.draw();
    changed();
    grid.focus(["label", state.labels.length - 1]);
  });
  $("with-labels").addEventListener("change", () => {
    relabel(state, $("with-labels").checked ? [...state.classes] : null);
    grid.draw();
    changed();
  });
  for (const [id, name] of [["with-sums", "sums"], ["with-squares", "squares"]]) {
    $(id).addEventListener("change", () => {
      state[name] = $(id).checked ? labelsOf(state).map(() => "") : null;
      if (name === "squares" && state.squares && !state.sums) { state.sums = labelsOf(state).map(() => ""); $("with-sums").checked = true; }
      if (name === "sums" && !state.sums) { state.squares = null; $("with-squares").checked = false; }
      grid.draw();
      changed();
    });
  }
  $("numbers-form").addEventListener("submit", (event) => event.preventDefault());
  const choose = (event) => {
    if (event.target.closest("#design-field, #more") && !event.target.id.startsWith("with-")) {
      Object.assign(state, readChoices());
      changed();
    }
  };
  $("numbers-form").addEventListener("input", choose);
  startGuide();
  examples.forEach((example, i) => $("example").append(el("option", { value: i }, example.name)));
  $("example").addEventListener("change", () => {
    const example = examples[$("example").value];
    if (example) load(fromExample(example), example);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);

  const linked = () => fromLink(location.hash.slice(1));
  window.addEventListener("hashchange", () => { const found = linked(); if (found) load(found); });
  load(linked() ?? blank());
}
