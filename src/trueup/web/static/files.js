// Way 2: two files in, the check, the estimates, files out.

import { makeAnswer } from "./answer.js";
import { events, send } from "./ask.js";
import { copyChoices, readChoices } from "./choices.js";
import { $, el, save, showError, table, theme } from "./dom.js";
import { parse } from "./format.js";
import { startGuide } from "./guide.js";

const ROLES = ["predictions", "test_set"];
const COLUMNS = [
  ["predicted", "Predicted class", "in both files; if you choose an id, only in the predictions", "predictions"],
  ["true", "True class", "in the test set", "test_set"],
  ["value", "Value to total", "such as turnover or area; if none, units are counted", "predictions"],
  ["id", "Id of a unit", "in both files, to match the audited units", "predictions"],
  ["by", "Report per", "a group, such as a region", "predictions"],
  ["period", "Period", "such as a month: a series, in both files", "predictions"],
];
const MORE = [
  ["strata", "Error rates differ by", "such as a size class, in both files", "predictions"],
  ["drawn_within", "Drawn within", "groups from which the test set was drawn with different chances, in both files", "predictions"],
  ["probability", "Chance to be drawn", "of each audited unit, if these differ", "test_set"],
  ["cluster", "Drawn together", "such as documents of one author", "test_set"],
  ["score", "Score", "how sure the model was, in both files", "predictions"],
  ["count", "Units in a row", "if a row of the predictions stands for many units; the value is then their total", "predictions"],
  ["squares", "Sum of squares", "of the values of these units", "predictions"],
];
const LISTS = ["by", "strata", "drawn_within", "score"];
const NEEDED = ["predicted", "true", "draw-predicted", "draw-id"];

export function startFiles(limit) {
  const tables = {};
  let session = null;
  let running = null;
  const headers = () => ({ "X-Trueup-Session": session });
  const downloads = [["table", "Download the table", "trueup-table.csv"], ["report", "Download the report", "trueup-report.html"]].map(([what, words, name]) => {
    const button = el("button", { type: "button", disabled: true, id: `download-${what}` }, words);
    button.addEventListener("click", async () => {
      try {
        const response = await send("GET", `/api/files/${what}`, { headers: headers() });
        save(await response.blob(), name);
      } catch (problem) { showError($("files-error"), problem); }
    });
    return [what, button];
  });
  const ready = Object.fromEntries(downloads);
  const answer = makeAnswer($("files-answer"), downloads.map(([, button]) => button));
  const check = el("div", { class: "check-list" });
  $("files-title").after(check);
  copyChoices($("files-options"), "files-");
  startGuide("files-");
  $("max-upload").textContent = `at most ${size(limit)}`;

  for (const role of ROLES) {
    const input = $(`file-${role}`);
    const drop = input.closest(".drop");
    drop.querySelector("button").addEventListener("click", () => {
      const text = $(`rows-${role}`).value;
      if (text.trim()) upload(role, new File([text], "pasted rows"));
    });
    input.addEventListener("change", () => { if (input.files[0]) upload(role, input.files[0]); });
    for (const name of ["dragover", "dragenter"]) drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
    for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      const file = event.dataTransfer.files[0];
      if (!file) return;
      input.value = "";
      upload(role, file);
    });
  }

  async function upload(role, file) {
    const about = $(`about-${role}`);
    showError($("files-error"), null);
    $("choose").hidden = true;
    if (role === "predictions") $("draw").hidden = true;
    delete tables[role];
    if (file.size > limit) {
      about.replaceChildren(el("p", { class: "error" }, `${file.name} is ${size(file.size)}; the limit is ${size(limit)}. Hint: start with “trueup serve --max-upload ${size(2 * file.size).replace(" ", "")}”, or use “trueup correct”.`));
      return;
    }
    about.replaceChildren(el("p", {}, el("progress", { "aria-label": "sending" }), ` reading ${file.name}…`));
    try {
      session ??= (await (await send("POST", "/api/session")).json()).session;
      const found = await (await send("PUT", `/api/files/${role}`, { body: file, headers: headers() })).json();
      tables[role] = found.table;
      about.replaceChildren(el("p", { class: "file" }, `${file.name}, ${size(file.size)}, ${found.table.columns.length} columns`), preview(found.table));
      if (role === "predictions") offerDraw(found.guess);
      if (ROLES.every((name) => tables[name])) choose(found.guess);
    } catch (problem) {
      if (problem.error?.includes("session has ended")) session = null;
      about.replaceChildren(el("p", { class: "error", role: "alert" }, [problem.error, problem.hint && `Hint: ${problem.hint}`].filter(Boolean).join(" ")));
    }
  }

  function preview(found) {
    const names = found.columns.map((column) => column.name);
    return el("details", {}, el("summary", {}, "The first rows"),
      el("div", { class: "scroller" }, table(names, found.rows.map((row) => row.map((cell) => cell ?? "–")))));
  }

  // A label and a choice between the columns of a file.
  function pick([name, words, hint, role], guessed) {
    const id = `column-${name}`;
    const chosen = el("select", { id, "aria-describedby": `${id}-hint` },
      el("option", { value: "" }, NEEDED.includes(name) ? "choose…" : "none"),
      ...tables[role].columns.map((column) => el("option", { value: column.name, selected: column.name === guessed }, column.name)));
    return [el("label", { for: id }, words), el("div", {}, chosen, el("p", { class: "hint", id: `${id}-hint` }, hint))];
  }

  function choose(guess) {
    $("columns").replaceChildren(...COLUMNS.flatMap((column) => pick(column, guess[column[0]])));
    $("more-columns").replaceChildren(...MORE.flatMap((column) => pick(column)));
    const workList = tables.test_set.work_list;
    $("files-design-field").hidden = workList;
    $("work-list").hidden = !workList;
    $("choose").hidden = false;
  }

  function offerDraw(guess) {
    $("draw-columns").replaceChildren(...[
      ["draw-predicted", "Its predicted class", "a column of the predictions", "predictions"],
      ["draw-id", "Its id", "names each unit once", "predictions"],
      ["draw-of", "Its group or size", "for the last two ways to draw", "predictions"],
    ].flatMap((column) => pick(column, guess[column[0].slice(5)])));
    $("draw").hidden = false;
  }

  $("draw-button").addEventListener("click", async () => {
    const [way, of] = [$("draw-way").value, $("column-draw-of").value || null];
    const given = { n: parse($("draw-n").value), seed: parse($("draw-seed").value), decimal: $("decimal").value || null,
      predicted: $("column-draw-predicted").value || null, id: $("column-draw-id").value || null,
      by_prediction: way === "by_prediction", within: way === "within" ? of : null, size: way === "size" ? of : null };
    showError($("draw-error"), null);
    try {
      if ((way === "within" || way === "size") && !of) throw { error: "Choose the column of the group or the size." };
      save(await (await send("POST", "/api/files/draw", { body: given, headers: headers() })).blob(), "trueup-work-list.csv");
    } catch (problem) { showError($("draw-error"), problem); }
  });

  function request() {
    const chosen = readChoices("files-");
    const columns = Object.fromEntries([...COLUMNS, ...MORE].map(([name]) => [name, $(`column-${name}`).value || null]));
    for (const name of LISTS) if (columns[name]) columns[name] = [columns[name]];
    if (tables.test_set.work_list) delete chosen.design; // it is in the file
    const classes = $("true-classes").value.split(",").map((name) => name.trim()).filter(Boolean);
    return { ...columns, ...chosen, classes: classes.length ? classes : null, decimal: $("decimal").value || null, overlap: chosen.overlap === "" ? null : chosen.overlap === "true",
      interval: Number(chosen.interval), draws: parse(chosen.draws), seed: parse(chosen.seed), theme: theme() };
  }

  $("files-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    if ($("choose").hidden) return;
    running?.abort();
    const mine = new AbortController();
    running = mine;
    $("cancel").hidden = false;
    showError($("files-error"), null);
    mark(null);
    check.replaceChildren();
    for (const button of Object.values(ready)) button.disabled = true;
    answer.clear("");
    answer.busy([el("progress", { "aria-label": "progress" }), " reading and checking…"]);
    let shown = null;
    const said = new Set(); // what the check says is not said again, even with other numbers
    const first = (words) => words.split(". ")[0];
    try {
      await events("/api/files/correct", request(), { signal: mine.signal, headers: headers(), on: (event) => {
        if (event.check?.length) check.replaceChildren(...findings(event.check));
        for (const finding of event.check ?? []) if (finding.doubt) said.add(first(finding.words));
        if (event.answer) event.answer.info.warnings = event.answer.info.warnings.filter((words) => !said.has(first(words)));
        if (event.progress !== undefined) answer.busy([el("progress", { max: 1, value: event.progress, "aria-label": "progress" }), " computing…"]);
        if (event.answer) { shown = answer.show(event.answer); answer.busy([el("progress", { "aria-label": "progress" }), " writing the report…"]); }
        if (event.charts) shown?.charts(event.charts);
        if (event.ready) ready[event.ready].disabled = false;
      } });
      answer.busy(null);
    } catch (problem) {
      if (running !== mine) return;
      answer.busy(null);
      if (problem.name === "AbortError") answer.clear("Cancelled.");
      else { if (!shown) answer.clear("There is no answer yet."); showError($("files-error"), problem); mark(problem.field); }
    }
    if (running === mine) { running = null; $("cancel").hidden = true; }
  });
  $("cancel").addEventListener("click", () => running?.abort());

  function mark(field) {
    document.querySelectorAll("#files-form [aria-invalid]").forEach((node) => node.removeAttribute("aria-invalid"));
    ($(`column-${field}`) ?? $(`files-${field}`))?.setAttribute("aria-invalid", "true");
  }

  // Closing the page removes the files.
  window.addEventListener("pagehide", () => {
    if (session) send("DELETE", "/api/session", { headers: headers(), keepalive: true }).catch(() => {});
    session = null;
  });
}

function findings(found) {
  const doubts = found.filter((finding) => finding.doubt);
  const list = (some) => el("ul", {}, ...some.map((finding) => el("li", { class: finding.doubt ? "doubt" : "fine" },
    el("b", {}, `${finding.doubt ? "Look at this: " : ""}${finding.question}: `), finding.words)));
  const others = found.length - doubts.length;
  return [el("h3", {}, "The check"),
    el("p", { role: "status" }, doubts.length ? `Look at ${doubts.length} of ${found.length} answers before publishing.` : `${found.length} questions asked; nothing gives reason to doubt.`),
    ...(doubts.length ? [list(doubts)] : []),
    el("details", {}, el("summary", {}, doubts.length ? `The other ${others}` : "What was asked"), list(found.filter((finding) => !finding.doubt)))];
}

function size(bytes) {
  for (const [unit, name] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) if (bytes >= unit) return `${Number((bytes / unit).toPrecision(3))} ${name}`;
  return `${bytes} bytes`;
}
