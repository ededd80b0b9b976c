// Numbers as people write and read them.

const minus = (text) => text.replace("-", "−");

// What the figures of a row are called, as in the tables that people publish.
export const NAMES = { naive: "as predicted", estimate: "corrected", lower: "from", upper: "to", mean: "mean", sd: "sd" };

// A figure that the server wrote.
export const figure = (text) => (text === null || text === undefined ? "–" : minus(text));

// What stands for the groups in rows of the whole: "all", unless a group is called so.
export const wholeName = (rows, by) => (rows.some((row) => by.some((name) => String(row[name]).toLowerCase() === "all")) ? "all groups" : "all");

// Making a format takes milliseconds, so each is made once.
const FORMATS = Object.fromEntries([0, 1, 2, 4].map((digits) =>
  [digits, new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })]));

// One number of decimals for a whole table, by its largest figure.
export function formatter(values) {
  const largest = Math.max(0, ...values.filter((x) => x !== null).map(Math.abs));
  const digits = largest >= 1000 ? 0 : largest >= 10 ? 1 : largest >= 1 ? 2 : 4;
  const plain = FORMATS[digits];
  return (x) => (x === null || x === undefined ? "–"
    : largest >= 1e15 ? minus(x.toPrecision(5)) : minus(plain.format(x)));
}

// "1,234" and "1 234" are 1234; anything else that is no number is null.
export function parse(text) {
  const bare = text.trim().replace(/[\s\u00a0\u202f']/g, "").replace("−", "-");
  const joined = /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(bare) ? bare.replaceAll(",", "") : bare;
  return /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(joined) ? Number(joined) : null;
}

// A block from a spreadsheet as rows of text cells, or null if it is just one cell.
export function block(text) {
  const lines = text.replace(/\r\n?/g, "\n").replace(/\n+$/, "").split("\n");
  const sign = ["\t", ";", ","].find((s) => lines.every((line) => line.includes(s)));
  if (lines.length === 1 && !sign) return null;
  const rows = lines.map((line) => (sign ? line.split(sign) : [line]).map((cell) => cell.trim()));
  const width = Math.max(...rows.map((row) => row.length));
  return rows.map((row) => [...row, ...Array(width - row.length).fill("")]);
}
