// Small helpers for the document. Data become text nodes: nothing is ever parsed as markup.

export const $ = (id) => document.getElementById(id);

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// A table from a header and rows of text; the first column heads each row.
export function table(header, rows, caption) {
  const numeric = (text) => /^[−–\d.,%\s]+(refused)?$/.test(text);
  const cell = (text, i) => i === 0
    ? el("th", { scope: "row" }, text)
    : el("td", { class: numeric(text) ? "number" : null }, text);
  return el("table", {},
    caption ? el("caption", {}, caption) : null,
    el("thead", {}, el("tr", {}, ...header.map((text, i) =>
      el("th", { scope: "col", class: i && rows.length && numeric(rows[0][i]) ? "number" : null }, text)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map(cell)))));
}

export function copyButton(words, text) {
  const button = el("button", { type: "button" }, words);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Copying is not allowed here";
    }
    setTimeout(() => { button.textContent = words; }, 2000);
  });
  return button;
}

export function save(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function showError(node, problem) {
  const words = problem ? [problem.error, problem.hint && `Hint: ${problem.hint}`].filter(Boolean).join(" ") : "";
  if (node.textContent === words && node.hidden === !problem) return; // the page need not be laid out again
  node.hidden = !problem;
  node.textContent = words;
}

export const theme = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
