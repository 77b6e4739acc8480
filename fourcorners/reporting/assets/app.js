// Starts the page: figures, switches, drive buttons, theme, tables, print.
import { drawAll, glyph, heat, showDrive, shown, stretch } from "./plot.js";

const SHOWN_ROWS = 2500; // of a table in the page; the copied CSV always has all
const PRINT_WIDTH_PX = 680; // of A4 within its margins

// `makeFigures(data, state)` gives figures by name: {draws, keyed, build, caption, table, switches?,
// drives?, oneByOne?, choose?}. `keyed` is whether it has a key of drives, and "always" one on wide
// screens too; `drives` are the indices of those that a figure shows, if not all; `title` stands over
// all its panels; with `oneByOne` a reader chooses one of them. `state` has what the switches are at.
export function start(makeFigures) {
  const data = JSON.parse(document.getElementById("payload").textContent);
  const state = { drive: 0 };
  const drawn = []; // [node, figure]
  shown.several = data.drives.length > 1;
  for (const [name, figure] of Object.entries(makeFigures(data, state))) {
    const node = document.querySelector(`figure[data-figure="${name}"]`);
    if (node && figure.draws) {
      node.hidden = false;
      figure.build(node.querySelector(".panels"));
      if (figure.keyed && shown.several) key(node.querySelector(".key"), data.drives, figure);
      drawn.push([node, figure]);
    }
    const table = document.querySelector(`.data[data-for="${name}"]`);
    if (table) offerTable(table, name, figure);
  }
  for (const [node, figure] of drawn) {
    const tools = toolsOf(node, figure.title);
    if (figure.oneByOne && !figure.drives.includes(state.drive)) state.drive = figure.drives[0];
    if (figure.oneByOne && figure.drives.length > 1) tools.append(driveChoice(drawn, figure, data, state));
    for (const one of figure.switches ?? []) tools.append(switchOf(node, figure, one, state));
    tools.append(wholeRange(node));
    show(node, figure);
  }
  driveButtons();
  theme();
  linksOpen();
  drawAll();
  redrawWithWidth();
  printing();
}

function show(node, figure) {
  figure.choose?.();
  node.querySelector("figcaption").textContent = figure.caption();
}

function redraw(node, figure) {
  show(node, figure);
  drawAll(node);
}

// Which marker is which drive, for plots too narrow for names at their lines, and for print.
function key(node, names, { keyed, drives = names.map((_, drive) => drive) }) {
  node.classList.toggle("always", keyed === "always");
  for (const drive of drives) {
    const item = document.createElement("span");
    item.append(glyph(drive), names[drive]);
    node.append(item);
  }
}

function toolsOf(node, title) {
  const tools = document.createElement("div");
  tools.className = "tools";
  node.prepend(tools);
  if (title) node.prepend(Object.assign(document.createElement("h3"), { className: "over-panels", textContent: title }));
  return tools;
}

function group(label) {
  const node = document.createElement("div");
  node.className = "switch";
  node.setAttribute("role", "group");
  node.setAttribute("aria-label", label);
  return node;
}

function button(content, press) {
  const node = document.createElement("button");
  node.type = "button";
  node.append(...content);
  node.addEventListener("click", press);
  return node;
}

function switchOf(node, figure, { key: name, label, options }, state) {
  const switched = group(label);
  const caption = document.createElement("span");
  caption.className = "quiet";
  caption.textContent = label;
  switched.append(caption);
  const buttons = options.map(([value, text]) => button([text], () => {
    state[name] = value;
    press();
    redraw(node, figure);
  }));
  const press = () => buttons.forEach((one, i) => one.setAttribute("aria-pressed", String(state[name] === options[i][0])));
  press();
  switched.append(...buttons);
  return switched;
}

// One drive at a time: the same one in all figures that show them so.
function driveChoice(drawn, figure, data, state) {
  const choice = group("Drive");
  const press = () => {
    for (const one of document.querySelectorAll(".drives-switch button")) {
      one.setAttribute("aria-pressed", String(Number(one.dataset.drive) === state.drive));
    }
  };
  choice.classList.add("drives-switch");
  for (const drive of figure.drives) {
    const one = button([glyph(drive), data.drives[drive]], () => {
      state.drive = drive;
      press();
      for (const [node, other] of drawn) if (other.oneByOne) redraw(node, other);
    });
    one.dataset.drive = drive;
    one.setAttribute("aria-pressed", String(drive === state.drive));
    choice.append(one);
  }
  return choice;
}

// Appears where a stretch of the x axis was chosen, and takes that back.
function wholeRange(node) {
  const back = button(["Whole range"], () => stretch(node, null));
  back.hidden = true;
  node.addEventListener("stretch", ({ detail }) => { back.hidden = detail === null; });
  return back;
}

// A link to what is closed opens it.
function linksOpen() {
  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener("hashchange", open);
  open();
}

// The bar of drives: press to hide a drive in every plot, point to see it stand out.
function driveButtons() {
  for (const button of document.querySelectorAll(".drives button")) {
    const drive = Number(button.dataset.drive);
    button.addEventListener("click", () => {
      const visible = shown.hidden.has(drive);
      button.setAttribute("aria-pressed", String(visible));
      showDrive(drive, visible);
    });
    button.addEventListener("pointerenter", () => heat(String(drive)));
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
    if (!details.open || node.hasChildNodes()) return;
    const { columns, rows } = figure.table();
    if (!rows.length) {
      node.append("Nothing was recorded.");
      return;
    }
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

// A spreadsheet takes text that begins like a formula for one.
function cell(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
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
function printing() {
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
