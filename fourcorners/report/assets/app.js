// Starts the page: figures, switches, drive buttons, theme, tables, print.
import { applyDrives, drawAll, glyph, heat, shown } from "./plot.js";

const SHOWN_ROWS = 2500; // of a table in the page; the copied CSV always has all
const PRINT_WIDTH_PX = 700;

// `makeFigures(data, state)` gives figures by name: {draws, keyed, build, caption, table, drives?};
// `drives` are the indices of those that a figure shows, if not all.
export function start(makeFigures) {
  const data = JSON.parse(document.getElementById("payload").textContent);
  const state = {
    "depth-rate": "linear", "depth-latency": "log", "transfer-size": "log", consistency: "review", drive: 0,
  };
  const figures = makeFigures(data, state);
  for (const [name, figure] of Object.entries(figures)) {
    const node = document.querySelector(`figure[data-figure="${name}"]`);
    if (node && figure.draws) {
      node.hidden = false;
      figure.build(node.querySelector(".panels"));
      if (figure.keyed && data.drives.length > 1) key(node.querySelector(".key"), data.drives, figure.drives);
      caption(node, figure);
    }
    const table = document.querySelector(`.data[data-for="${name}"]`);
    if (table) offerTable(table, name, figure);
  }
  consistencyDrives(figures.consistency, data, state);
  switches(figures, state);
  driveButtons();
  theme();
  drawAll();
  redrawWithWidth();
  printing(figures.consistency, state);
}

function caption(node, figure) {
  node.querySelector("figcaption").textContent = figure.caption();
}

// Which marker is which drive, for plots too narrow for names at their lines, and for print.
function key(node, names, drives = names.map((_, drive) => drive)) {
  for (const drive of drives) {
    const item = document.createElement("span");
    item.append(glyph(drive), names[drive]);
    node.append(item);
  }
}

function switches(figures, state) {
  for (const button of document.querySelectorAll("[data-switch]")) {
    const name = button.dataset.switch;
    const press = () => button.setAttribute("aria-pressed", String(state[name] === button.dataset.value));
    press();
    button.addEventListener("click", () => {
      state[name] = button.dataset.value;
      for (const other of document.querySelectorAll(`[data-switch="${name}"]`)) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      const node = button.closest("figure");
      drawAll(node);
      caption(node, figures[node.dataset.figure]);
    });
  }
}

function consistencyDrives(figure, data, state) {
  const node = document.querySelector(".drives-switch");
  if (!figure.draws || !node) return;
  const figureNode = node.closest("figure");
  const choose = (drive) => {
    state.drive = drive;
    for (const button of node.children) button.setAttribute("aria-pressed", String(Number(button.dataset.drive) === drive));
    for (const box of figureNode.querySelectorAll(".one-drive")) {
      box.classList.toggle("chosen", Number(box.dataset.consistencyDrive) === drive);
    }
    drawAll(figureNode);
    caption(figureNode, figure);
  };
  node.hidden = figure.runs.length < 2;
  for (const run of figure.runs) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.drive = run.drive;
    button.append(glyph(run.drive), data.drives[run.drive]);
    button.addEventListener("click", () => choose(run.drive));
    node.append(button);
  }
  choose(figure.runs[0].drive);
}

// The bar of drives: press to hide a drive in every plot, point to see it stand out.
function driveButtons() {
  for (const button of document.querySelectorAll(".drives button")) {
    const drive = Number(button.dataset.drive);
    button.addEventListener("click", () => {
      const visible = shown.hidden.delete(drive);
      if (!visible) shown.hidden.add(drive);
      button.setAttribute("aria-pressed", String(visible));
      applyDrives(document);
    });
    button.addEventListener("pointerenter", () => heat(drive));
    button.addEventListener("pointerleave", () => heat(null));
  }
}

function theme() {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", dark() ? "Use light colours" : "Use dark colours");
  };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    show();
  });
  system.addEventListener("change", show);
  show();
}

function offerTable(node, name, figure) {
  const details = node.closest("details");
  details.addEventListener("toggle", () => {
    if (!details.open || node.childElementCount) return;
    const { columns, rows } = figure.table();
    if (!rows.length) return;
    const bar = document.createElement("p");
    const copy = document.createElement("button");
    const save = document.createElement("a");
    const csv = () => [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n");
    copy.type = "button";
    copy.textContent = "Copy as CSV";
    copy.addEventListener("click", async () => { copy.textContent = (await copyText(csv())) ? "Copied" : "Copying is not allowed here"; });
    save.textContent = "Save CSV";
    save.download = `${name}.csv`;
    save.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    const count = document.createElement("span");
    count.className = "quiet";
    count.textContent = rows.length > SHOWN_ROWS ? `the first ${SHOWN_ROWS} of ${rows.length} rows` : `${rows.length} rows`;
    bar.append(copy, save, count);
    node.append(bar, table(columns, rows.slice(0, SHOWN_ROWS)));
  });
}

function cell(value) {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function table(columns, rows) {
  const scroll = document.createElement("div");
  const node = document.createElement("table");
  scroll.className = "scroll tall";
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Data");
  const head = node.createTHead().insertRow();
  for (const column of columns) {
    const th = document.createElement("th");
    th.scope = "col";
    th.textContent = column;
    head.append(th);
  }
  const body = node.createTBody();
  for (const row of rows) {
    const tr = body.insertRow();
    for (const value of row) tr.insertCell().textContent = typeof value === "number" ? Number(value.toPrecision(6)) : value ?? "";
  }
  scroll.append(node);
  return scroll;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function redrawWithWidth() {
  let width = document.body.clientWidth;
  new ResizeObserver(() => {
    if (document.body.clientWidth === width) return;
    width = document.body.clientWidth;
    drawAll();
  }).observe(document.body);
}

// On paper: closed disclosures, plots drawn for the width of a page, every drive's scatter plots.
function printing(figure, state) {
  const main = document.getElementById("report");
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details[open]")];
    for (const details of opened) details.open = false;
    main.style.width = `${PRINT_WIDTH_PX}px`;
    main.classList.add("printing");
    drawAll();
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = true;
    main.style.width = "";
    main.classList.remove("printing");
    drawAll();
  });
}
