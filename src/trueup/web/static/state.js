// What was entered, and the link that restores it. The link keeps it behind the #, which no browser
// sends to a server.

import { parse } from "./format.js";

export const MOST = 60;
const LISTS = ["counts", "sums", "squares"];
const CHOICES = { design: "random", prior: "perks", interval: "0.95", method: "auto", overlap: "", draws: "4000", seed: "1" };

export const blank = (K = 2) => ({
  classes: Array.from({ length: K }, (_, k) => `class ${k + 1}`),
  test: Array.from({ length: K }, () => Array(K).fill("")),
  labels: null, counts: Array(K).fill(""), sums: null, squares: null, noise: true, ...CHOICES,
});

// The predicted labels: the classes, unless they differ from them.
export const labelsOf = (state) => state.labels ?? state.classes;

export function resize(state, K, L = state.labels ? state.labels.length : K) {
  const fit = (list, size, fill) => Array.from({ length: size }, (_, k) => (k < list.length ? list[k] : fill(k)));
  state.classes = fit(state.classes, K, (k) => freeName(state.classes, "class", k));
  if (state.labels) state.labels = fit(state.labels, L, (h) => freeName(state.labels, "label", h));
  state.test = fit(state.test, K, () => []).map((row) => fit(row, L, () => ""));
  for (const name of LISTS) if (state[name]) state[name] = fit(state[name], L, () => "");
}

// Predicted labels with names of their own, or the classes again; columns follow their names.
export function relabel(state, labels) {
  const old = labelsOf(state);
  const from = (labels ?? state.classes).map((name, h) => (old.includes(name) ? old.indexOf(name) : labels ? h : -1));
  const pick = (list) => from.map((h) => list[h] ?? "");
  state.labels = labels;
  state.test = state.test.map(pick);
  for (const name of LISTS) if (state[name]) state[name] = pick(state[name]);
}

function freeName(taken, word, k) {
  let i = k + 1;
  while (taken.includes(`${word} ${i}`)) i += 1;
  return `${word} ${i}`;
}

export function remove(state, k) {
  const without = (list) => list.filter((_, i) => i !== k);
  state.classes = without(state.classes);
  state.test = without(state.test);
  if (!state.labels) removeLabel(state, k);
}

export function removeLabel(state, h) {
  const without = (list) => list.filter((_, i) => i !== h);
  if (state.labels) state.labels = without(state.labels);
  state.test = state.test.map(without);
  for (const name of LISTS) if (state[name]) state[name] = without(state[name]);
}

export function fromExample(example) {
  const text = (list) => list && list.map(String);
  return { ...blank(example.classes.length), classes: [...example.classes], test: example.test.map(text),
    counts: text(example.predicted_counts), sums: text(example.predicted_sums) ?? null,
    squares: text(example.predicted_squares) ?? null, design: example.design };
}

export function toLink(state) {
  const link = new URLSearchParams();
  link.set("test", state.test.map((row) => row.join(",")).join(";"));
  for (const name of LISTS) if (state[name]) link.set(name, state[name].join(","));
  for (const name of state.classes) link.append("class", name);
  for (const name of state.labels ?? []) link.append("label", name);
  for (const [name, usual] of Object.entries(CHOICES)) if (state[name] !== usual) link.set(name, state[name]);
  if (!state.noise) link.set("noise", "no");
  return link.toString();
}

export function fromLink(text) {
  const link = new URLSearchParams(text);
  if (!link.has("test")) return null;
  const test = link.get("test").split(";").map((row) => row.split(","));
  const K = test.length;
  const labels = link.getAll("label").slice(0, MOST);
  const L = labels.length || K;
  if (K < 2 || K > MOST || L < 2 || test.some((row) => row.length !== L)) return null;
  const state = { ...blank(K), test, labels: labels.length ? labels : null, counts: Array(L).fill("") };
  const names = link.getAll("class").slice(0, K);
  names.forEach((name, k) => { state.classes[k] = name; });
  for (const name of LISTS) {
    if (!link.has(name)) continue;
    const list = link.get(name).split(",");
    if (list.length === L) state[name] = list;
  }
  for (const name of Object.keys(CHOICES)) if (link.has(name)) state[name] = link.get(name);
  state.noise = link.get("noise") !== "no";
  return state;
}

// Whether the last row is the sum of the others, as in a table with its totals.
export const endsInSums = (rows) => rows.length > 2 && rows.flat().some(Boolean)
  && rows[0].every((_, h) => rows.slice(0, -1).reduce((sum, row) => sum + row[h], 0) === rows.at(-1)[h]);
const turned = (rows) => rows[0].map((_, h) => rows.map((row) => row[h]));
const TOTALS = "Classes only, please: leave out the row and the column of totals.";

// What to send, or what is wrong and in which cell, or {} while something is still missing.
export function toRequest(state) {
  const bad = (place, error) => ({ problem: { place, error } });
  for (const [word, names] of [["class", state.classes], ["label", state.labels ?? []]]) {
    for (const [k, name] of names.entries()) {
      if (!name.trim()) return bad([word, k], `Every ${word} needs a name.`);
      if (/^((grand )?total|totals|sum)$/i.test(name.trim())) return bad([word, k], TOTALS);
      if (names.indexOf(name) < k) return bad([word, k], `Two ${word === "class" ? "classes" : "labels"} have the name “${name}”.`);
    }
  }
  const whole = (text) => { const x = parse(text); return x !== null && x >= 0 && Number.isInteger(x) ? x : null; };
  const test = [];
  for (const [g, row] of state.test.entries()) {
    test.push([]);
    for (const [h, text] of row.entries()) {
      const x = text.trim() === "" ? 0 : whole(text);
      if (x === null) return bad(["test", g, h], `The test set holds counts, whole numbers of at least 0; got “${text}”.`);
      test[g].push(x);
    }
  }
  if (!state.labels && endsInSums(test) && endsInSums(turned(test))) return bad(["test", test.length - 1, test.length - 1], TOTALS);
  const lists = {};
  for (const [name, reads, what] of [["counts", whole, "Units are counts, whole numbers of at least 0"], ["sums", parse, "Totals are numbers"], ["squares", parse, "Sums of squares are numbers"]]) {
    if (!state[name]) continue;
    lists[name] = state[name].map(reads);
    const k = state[name].findIndex((text, i) => text.trim() !== "" && lists[name][i] === null);
    if (k >= 0) return bad([name, k], `${what}; got “${state[name][k]}”.`);
  }
  const missing = Object.keys(lists).find((name) => lists[name].includes(null));
  if (missing) return { waiting: missing === "counts" ? "the units per predicted class" : missing === "sums" ? "the totals per predicted class" : "the sums of squares" };
  if (!test.flat().some((x) => x > 0)) return { waiting: "the test set" };
  for (const name of ["draws", "seed"]) if (whole(state[name]) === null) return bad([name], `${name === "seed" ? "The seed" : "The number of draws"} is a whole number; got “${state[name]}”.`);
  return { request: {
    test, predicted_counts: lists.counts, predicted_sums: lists.sums, predicted_squares: lists.sums && lists.squares,
    classes: state.classes, predicted_classes: state.labels, design: state.design, method: state.method, prior: state.prior,
    overlap: state.overlap === "" ? null : state.overlap === "true", noise: state.noise,
    draws: whole(state.draws), interval: Number(state.interval), seed: whole(state.seed),
  } };
}
