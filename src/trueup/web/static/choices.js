// The options that both ways in share: design, prior, interval, method, overlap, draws, seed, noise.

import { $ } from "./dom.js";

export const NAMES = ["prior", "interval", "method", "overlap", "draws", "seed"];

// Copies the options of the first form into another one, under names of its own.
export function copyChoices(place, prefix) {
  for (const id of ["design-field", "more"]) {
    const copy = $(id).cloneNode(true);
    copy.querySelector("#with-squares")?.closest("label").remove();
    for (const node of [copy, ...copy.querySelectorAll("*")]) {
      for (const name of ["id", "for", "name", "aria-describedby"]) {
        if (node.hasAttribute(name)) node.setAttribute(name, prefix + node.getAttribute(name));
      }
    }
    place.append(copy);
  }
}

export function readChoices(prefix = "") {
  const chosen = Object.fromEntries(NAMES.map((name) => [name, $(prefix + name).value]));
  chosen.design = document.querySelector(`input[name="${prefix}design"]:checked`).value;
  chosen.noise = $(`${prefix}noise`).checked;
  return chosen;
}

export function showChoices(state, prefix = "") {
  for (const name of NAMES) {
    const field = $(prefix + name);
    const before = field.value;
    field.value = state[name];
    if (field.value !== state[name]) { field.value = before; state[name] = before; }
  }
  const radio = [...document.querySelectorAll(`input[name="${prefix}design"]`)].find((x) => x.value === state.design);
  if (radio) radio.checked = true;
  else state.design = readChoices(prefix).design;
  $(`${prefix}noise`).checked = state.noise;
}
