// Starts the page: the tabs and the two ways in.

import { loadVega } from "./charts.js";
import { $, el } from "./dom.js";
import { startFiles } from "./files.js";
import { startNumbers } from "./numbers.js";

const TABS = ["numbers", "files"];

function select(name, focus = false) {
  for (const other of TABS) {
    const on = other === name;
    $(`tab-${other}`).setAttribute("aria-selected", on);
    $(`tab-${other}`).tabIndex = on ? 0 : -1;
    $(other).hidden = !on;
  }
  if (focus) $(`tab-${name}`).focus();
}

for (const [i, name] of TABS.entries()) {
  $(`tab-${name}`).addEventListener("click", () => select(name));
  $(`tab-${name}`).addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) select(TABS[(i + step + TABS.length) % TABS.length], true);
  });
}

try {
  const about = await (await fetch("/api/about")).json();
  $("version").textContent = about.version;
  startNumbers(about.examples);
  startFiles(about.max_upload);
  loadVega().catch(() => {});
} catch (error) {
  console.error(error);
  $("main").prepend(el("p", { class: "callout bad", role: "alert" }, "The page could not start. Is “trueup serve” still running?"));
}
