// "How was your test set drawn?": questions to answer with yes or no, which end in a design.

import { $, el } from "./dom.js";

const SHIFTED = "It comes from elsewhere: only how often each class is mistaken for another carries over.";
const UNEQUAL = "Give both files, and choose under “More columns” the groups that it was drawn within, or the column with each unit’s chance. Without these the answer is that of a random test set.";
// For each question: the words, and what follows yes and no: another question, or a design and why.
const QUESTIONS = {
  population: ["Are the audited units from the very population that you want figures of: the same period, register or map?", "chance", ["shifted", SHIFTED]],
  chance: ["Did chance choose them, rather than somebody who took difficult, interesting or convenient units?", "prediction",
    [null, "No design fits. Units that were chosen because they are difficult or convenient have other error rates than the rest. Draw a new test set: “Files” does it."]],
  prediction: ["Was it fixed beforehand how many units of each predicted class to audit?", ["by_prediction", "How many of each predicted class."], "truth"],
  truth: ["Was it fixed how many units of each true class, such as known cases and known controls?", ["by_class", "How many of each true class."], "unequal"],
  unequal: ["Had some units a better chance than others, such as large companies or those of one region?", ["random", UNEQUAL], ["random", "Only its size was fixed."]],
};

export function startGuide(prefix = "") {
  const place = $(`${prefix}guide`);
  const button = (words, next) => el("button", { type: "button", onclick: () => { show(next); place.querySelector("button").focus(); } }, words);

  function show(step) {
    const again = button("Start again", "population");
    if (Array.isArray(step)) {
      const radio = [...document.querySelectorAll(`input[name="${prefix}design"]`)].find((x) => x.value === step[0]);
      if (radio) { radio.checked = true; radio.dispatchEvent(new Event("input", { bubbles: true })); }
      place.replaceChildren(el("p", {}, step[0] ? el("b", {}, `Chosen: ${radio.closest("label").querySelector("b").textContent} `) : null, step[1]), el("p", { class: "row" }, again));
      return;
    }
    const [words, yes, no] = QUESTIONS[step];
    place.replaceChildren(el("p", {}, words), el("p", { class: "row" }, button("Yes", yes), button("No", no), step === "population" ? null : again));
  }
  show("population");
}
