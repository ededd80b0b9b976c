// The confusion matrix as a table of fields that grows with the number of classes.

import { $, el } from "./dom.js";
import { block, parse } from "./format.js";
import { MOST, remove, resize } from "./state.js";

const FOOT = [
  ["counts", "units predicted", (name) => `units in the population predicted ${name}`],
  ["sums", "their total", (name) => `total value of the units predicted ${name}`],
  ["squares", "their squares", (name) => `sum of squared values of the units predicted ${name}`],
];

// `changed(true)` when a name, a number or the size is other than before.
export function makeGrid(state, changed) {
  const K = () => state.classes.length;
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
    labels.forEach(([node, label]) => node.setAttribute("aria-label", label()));
  }

  function draw() {
    labels = [];
    const names = state.classes;
    const head = names.map((name, h) => el("th", { scope: "col", "data-name": h }, name));
    const body = names.map((name, g) => el("tr", {},
      el("th", { scope: "row" }, el("span", { class: "named" },
        field(["class", g], name, () => `name of class ${g + 1}`, (text) => rename(g, text),
          { class: "name", maxlength: 300, spellcheck: "false" }),
        K() > 2 ? called(() => `remove ${state.classes[g]}`, el("button", { type: "button", class: "remove", title: "remove this class",
          onclick: () => { remove(state, g); draw(); changed(); focus(["class", Math.min(g, K() - 1)]); } }, "×")) : null)),
      ...names.map((_, h) => el("td", { class: g === h ? "agree" : null },
        number(["test", g, h], state.test[g][h], () => `test units truly ${state.classes[g]}, predicted ${state.classes[h]}`,
          (text) => { state.test[g][h] = text; }, "0")))));
    const foot = FOOT.filter(([key]) => state[key]).map(([key, words, label]) => el("tr", {},
      el("th", { scope: "row" }, words),
      ...names.map((_, h) => el("td", {},
        number([key, h], state[key][h], () => label(state.classes[h]), (text) => { state[key][h] = text; })))));
    const across = (words) => el("tr", { class: "across" }, el("td", {}), el("th", { colspan: K(), scope: "colgroup" }, words));
    $("grid").replaceChildren(el("table", { class: "grid" },
      el("caption", { class: "unseen" }, "Test set: true classes down, predicted classes across. Below: the population."),
      el("thead", {}, across("predicted class"),
        el("tr", {}, el("th", { scope: "col" }, "true class"), ...head)),
      el("tbody", {}, ...body),
      el("tbody", { class: "foot" }, across("in the population"), ...foot)));
    $("grid").closest(".columns").classList.toggle("wide", K() > 5);
    $("add-class").disabled = K() >= MOST;
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
    if (place[0] === "class") {
      fill(rows.map((row) => [row[0]]), (g, _, text) => { state.classes[place[1] + g] = text; }, place[1], 0);
    } else if (place[0] === "test") {
      rows = named(rows);
      const corner = place[1] === 0 && place[2] === 0;
      const square = rows.length === rows[0].length || rows.length === rows[0].length + 1;
      if (corner && square && rows[0].length >= 2 && rows[0].length <= MOST) {
        while (K() > rows[0].length) remove(state, K() - 1);
      }
      fill(rows, (g, h, text) => {
        if (place[1] + g < K()) state.test[place[1] + g][place[2] + h] = text;
        else if (place[1] + g === K()) state.counts[place[2] + h] = text;
      }, place[1], place[2], corner && rows.length === rows[0].length + 1);
    } else {
      fill([rows.flat()], (_, h, text) => { state[place[0]][place[1] + h] = text; }, 0, place[1]);
    }
    draw();
    changed();
    focus(place);
  }

  // Takes labels off a block and makes them the class names.
  function named(rows) {
    const numeric = (text) => text === "" || parse(text) !== null;
    const top = rows.length > 1 && rows[0].slice(1).some((text) => !numeric(text));
    const side = rows.slice(top ? 1 : 0).some((row) => !numeric(row[0]));
    const labels = top ? rows[0].slice(side ? 1 : 0) : side ? rows.map((row) => row[0]) : [];
    const inner = rows.slice(top ? 1 : 0).map((row) => row.slice(side ? 1 : 0));
    if (labels.length >= 2 && labels.length <= MOST) {
      if (labels.length > K()) resize(state, labels.length);
      labels.forEach((label, k) => { if (label) state.classes[k] = label; });
    }
    return inner;
  }

  function fill(rows, set, top, left, countsLast = false) {
    const need = Math.max(left + rows[0].length, top + rows.length - (countsLast ? 1 : 0));
    if (need > K()) resize(state, Math.min(need, MOST));
    rows.forEach((row, g) => row.forEach((text, h) => {
      if (left + h < K() && top + g < K() + (countsLast ? 1 : 0)) set(g, h, text);
    }));
  }

  return { draw, focus };
}
