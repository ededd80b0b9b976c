// The confusion matrix as a table of fields that grows with the number of classes.

import { $, el } from "./dom.js";
import { block, parse } from "./format.js";
import { endsInSums, labelsOf, MOST, relabel, remove, removeLabel, resize } from "./state.js";

const FOOT = [
  ["counts", "units predicted", (name) => `units in the population predicted ${name}`],
  ["sums", "their total", (name) => `total value of the units predicted ${name}`],
  ["squares", "their squares", (name) => `sum of squared values of the units predicted ${name}`],
];

const numeric = (text) => text === "" || parse(text) !== null;

// What heads a row of the population rather than a class.
const POPULATION = /^$|popul|units|count|total/i;

// `changed(true)` when a name, a number or the size is other than before.
export function makeGrid(state, changed) {
  const K = () => state.classes.length;
  const L = () => labelsOf(state).length;
  let labels = []; // [element, what it is called], which follows the names of the classes

  function called(label, node) {
    labels.push([node, label]);
    node.setAttribute("aria-label", label());
    return node;
  }

  function field(place, value, label, set, extra = {}) {
    const input = el("input", { value, "data-place": place.join("-"),
      "aria-describedby": "grid-error", autocomplete: "off", ...extra });
    input.addEventListener("input", () => { set(input.value); changed(); fit(); });
    input.addEventListener("paste", (event) => paste(event, place));
    input.addEventListener("keydown", (event) => move(event, place));
    return called(label, input);
  }

  // Fields are as wide as the longest number in the grid, up to a billion or so.
  function fit() {
    const longest = Math.max(...[state.test, state.counts, state.sums ?? [], state.squares ?? []].flat(2).map((text) => text.length));
    const size = Math.min(Math.max(longest, 4), 12);
    document.querySelectorAll("#grid input.number").forEach((input) => { if (input.size !== size) input.size = size; });
  }

  function number(place, value, label, set, placeholder) {
    return field(place, value, label, set, { inputmode: "decimal", class: "number", placeholder });
  }

  function rename(g, text) {
    state.classes[g] = text;
    document.querySelectorAll(`[data-name="${g}"]`).forEach((node) => { node.textContent = text; });
    renamed();
  }

  const renamed = () => labels.forEach(([node, label]) => node.setAttribute("aria-label", label()));

  const remover = (what, title, drop) => called(what, el("button", { type: "button", class: "remove", title,
    onclick: () => { drop(); draw(); changed(); $("add-class").focus(); } }, "×"));

  // A column's heading: the class, or the name of a label that need not be one.
  function heading(name, h) {
    if (!state.labels) return el("th", { scope: "col", "data-name": h }, name);
    return el("th", { scope: "col" }, el("span", { class: "named" },
      field(["label", h], name, () => `name of predicted label ${h + 1}`, (text) => { state.labels[h] = text; renamed(); }, { class: "name", maxlength: 300, spellcheck: "false" }),
      L() > 2 ? remover(() => `remove the column of ${state.labels[h]}`, "remove this label", () => removeLabel(state, h)) : null));
  }

  function draw() {
    labels = [];
    const names = labelsOf(state);
    const head = names.map(heading);
    const agree = (g, h) => state.classes[g] === names[h];
    const body = state.classes.map((name, g) => el("tr", {},
      el("th", { scope: "row" }, el("span", { class: "named" },
        field(["class", g], name, () => `name of class ${g + 1}`, (text) => rename(g, text),
          { class: "name", maxlength: 300, spellcheck: "false" }),
        K() > 2 ? remover(() => `remove ${state.classes[g]}`, "remove this class", () => remove(state, g)) : null)),
      ...names.map((_, h) => el("td", { class: agree(g, h) ? "agree" : null },
        number(["test", g, h], state.test[g][h], () => `test units truly ${state.classes[g]}, predicted ${labelsOf(state)[h]}`,
          (text) => { state.test[g][h] = text; }, "0")))));
    const foot = FOOT.filter(([key]) => state[key]).map(([key, words, label]) => el("tr", {},
      el("th", { scope: "row" }, words),
      ...names.map((_, h) => el("td", {},
        number([key, h], state[key][h], () => label(labelsOf(state)[h]), (text) => { state[key][h] = text; })))));
    const across = (words) => el("tr", { class: "across" }, el("td", {}), el("th", { colspan: L(), scope: "colgroup" }, words));
    $("grid").replaceChildren(el("table", { class: "grid" },
      el("caption", { class: "unseen" }, "Test set: true classes down, predicted classes across. Below: the population."),
      el("thead", {}, across(state.labels ? "predicted label" : "predicted class"),
        el("tr", {}, el("th", { scope: "col" }, "true class"), ...head)),
      el("tbody", {}, ...body),
      el("tbody", { class: "foot" }, across("in the population"), ...foot)));
    $("grid").closest(".columns").classList.toggle("wide", L() > 5);
    $("add-class").disabled = K() >= MOST;
    $("add-label").disabled = L() >= MOST;
    $("add-label").hidden = !state.labels;
    fit();
  }

  function focus(place) {
    document.querySelector(`[data-place="${place.join("-")}"]`)?.focus();
  }

  function move(event, [kind, a, b]) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const step = { ArrowUp: -1, ArrowDown: 1, Enter: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const lists = FOOT.map(([key]) => key).filter((key) => state[key]);
    const rows = kind === "class"
      ? state.classes.map((_, g) => ["class", g])
      : [...state.classes.map((_, g) => ["test", g, b ?? a]), ...lists.map((key) => [key, b ?? a])];
    const name = [kind, a, b].filter((x) => x !== undefined).join();
    const to = rows[rows.findIndex((place) => place.join() === name) + step];
    if (to) focus(to);
  }

  function paste(event, place) {
    let rows = block(event.clipboardData.getData("text"));
    if (!rows) return;
    event.preventDefault();
    if (rows.length > 1 && rows[0].length > 1 && rows.some((row, g) => row.some((text, h) => (g === 0 || h === 0) && !numeric(text)))) {
      place = ["test", 0, 0]; // its names say where it belongs, whichever cell it was pasted into
    }
    if (place[0] === "label") {
      fill([rows.flat()], (_, h, text) => { state.labels[place[1] + h] = text; }, 0, place[1]);
    } else if (place[0] === "class") {
      fill(rows.map((row) => [row[0]]), (g, _, text) => { state.classes[place[1] + g] = text; }, place[1], 0);
    } else if (place[0] === "test") {
      rows = named(rows);
      const corner = place[1] === 0 && place[2] === 0;
      const square = rows.length === rows[0].length || rows.length === rows[0].length + 1;
      if (!state.labels && corner && square && rows[0].length >= 2 && rows[0].length <= MOST) {
        while (K() > rows[0].length) remove(state, K() - 1);
      }
      fill(rows, (g, h, text) => {
        if (place[1] + g < K()) state.test[place[1] + g][place[2] + h] = text;
        else if (place[1] + g === K()) state.counts[place[2] + h] = text;
      }, place[1], place[2], corner && rows.length === (state.labels ? K() : rows[0].length) + 1);
    } else {
      fill([rows.flat()], (_, h, text) => { state[place[0]][place[1] + h] = text; }, 0, place[1]);
    }
    draw();
    changed();
    focus(place);
  }

  // Takes labels off a block and makes them the class names.
  function named(rows) {
    const top = rows.length > 1 && rows[0].slice(1).some((text) => !numeric(text));
    const side = rows.slice(top ? 1 : 0).some((row) => !numeric(row[0]));
    const labels = top ? rows[0].slice(side ? 1 : 0) : side ? rows.map((row) => row[0]) : [];
    const inner = rows.slice(top ? 1 : 0).map((row) => row.slice(side ? 1 : 0));
    const down = top && side ? rows.slice(1).map((row) => row[0]) : top ? state.classes : labels;
    if (top && side && POPULATION.test(down.at(-1)) && down.length > labels.length && !endsInSums(inner.map((row) => row.map((text) => parse(text) ?? 0)))) down.pop();
    if (state.labels || (top && side && down.join("\n") !== labels.join("\n"))) return apart(inner, down, top ? labels : state.labels);
    if (labels.length >= 2 && labels.length <= MOST) {
      if (labels.length > K()) resize(state, labels.length);
      labels.forEach((label, k) => { if (label) state.classes[k] = label; });
    }
    return inner;
  }

  // A block whose predicted labels differ from its true classes.
  function apart(inner, down, across) {
    if (Math.min(down.length, across?.length ?? 0) < 2 || Math.max(down.length, across.length) > MOST) return inner;
    while (K() > down.length) remove(state, K() - 1);
    relabel(state, across);
    resize(state, down.length);
    state.classes = down;
    return inner;
  }

  function fill(rows, set, top, left, countsLast = false) {
    const down = top + rows.length - (countsLast ? 1 : 0);
    const across = left + rows[0].length;
    const most = (...sizes) => Math.min(Math.max(...sizes), MOST);
    if (state.labels) resize(state, most(K(), down), most(L(), across));
    else if (Math.max(down, across) > K()) resize(state, most(down, across));
    rows.forEach((row, g) => row.forEach((text, h) => {
      if (left + h < L() && top + g < K() + (countsLast ? 1 : 0)) set(g, h, text);
    }));
  }

  return { draw, focus };
}
