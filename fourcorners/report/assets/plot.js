// One plot as SVG: axes, lines, markers, dots, direct labels and a readout under the pointer.
// Colours come from the style sheet, so themes and print need no second drawing.
import { plain } from "./units.js";

export const shown = { hidden: new Set(), hot: null };
const panels = [];
const NAMESPACE = "http://www.w3.org/2000/svg";
const FONT = getComputedStyle(document.documentElement).getPropertyValue("--sans");
const ruler = document.createElement("canvas").getContext("2d");
const NARROW_PX = 430;

function element(name, attributes, parent, text) {
  const node = document.createElementNS(NAMESPACE, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

function textWidth(text, weight = 400) {
  ruler.font = `${weight} 12px ${FONT}`;
  return ruler.measureText(text).width;
}

const widest = (texts, weight) => Math.max(0, ...texts.map((text) => textWidth(text, weight)));

// An axis: {log, min, max, base?, format, title, ticks?}. Position 0..1 of a value.
function position(axis, value) {
  if (axis.log) return Math.log(value / axis.min) / Math.log(axis.max / axis.min);
  return (value - axis.min) / (axis.max - axis.min);
}

export function linearAxis(min, max, options = {}) {
  const top = max > min ? max : min + 1;
  return { log: false, min, max: top, format: plain, title: "", ...options };
}

// Limits at 1, 2 or 5 times a power of ten around the positive values.
export function logAxis(values, options = {}) {
  const positive = values.filter((v) => v > 0 && Number.isFinite(v));
  let min = 1, max = 10;
  if (positive.length) {
    min = roundStep(positive.reduce((a, b) => Math.min(a, b)), -1);
    max = roundStep(positive.reduce((a, b) => Math.max(a, b)), 1);
    if (max / min < 9) [min, max] = [roundStep(min / 2, -1), roundStep(max * 2, 1)];
  }
  return { log: true, min, max, base: 10, format: plain, title: "", ...options };
}

export function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((m) => m * power >= value * 0.9999) * power;
}

function roundStep(value, direction) {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const steps = [1, 2, 5, 10];
  const fits = direction > 0
    ? steps.find((m) => m * power >= value * 0.9999)
    : steps.findLast((m) => m * power <= value * 1.0001);
  return (fits ?? 10) * power;
}

// Ticks with labels, and lighter grid lines between the powers of ten.
function ticksOf(axis, lengthPx, spacingPx) {
  if (axis.ticks) return thinned(axis.ticks, lengthPx / spacingPx);
  const room = Math.max(2, Math.floor(lengthPx / spacingPx));
  if (!axis.log) return { major: linearTicks(axis, room), minor: [] };
  if (axis.base === 2) {
    const all = [];
    for (let v = 2 ** Math.ceil(Math.log2(axis.min)); v <= axis.max; v *= 2) all.push(v);
    return thinned(all, room);
  }
  const powers = [], between = [];
  const first = Math.floor(Math.log10(axis.min) + 1e-9);
  for (let e = first; 10 ** e <= axis.max * 1.0001; e++) {
    for (let m = 1; m < 10; m++) {
      const v = Number(`${m}e${e}`);
      if (v < axis.min * 0.9999 || v > axis.max * 1.0001) continue;
      (m === 1 ? powers : between).push(v);
    }
  }
  const decadePx = lengthPx / Math.log10(axis.max / axis.min);
  const labelled = between.filter((v) => {
    const m = Math.round(v / 10 ** Math.floor(Math.log10(v) + 1e-9));
    return decadePx > spacingPx * 4 ? m === 2 || m === 5 : decadePx > spacingPx * 2.6 && m === 3;
  });
  const every = Math.max(1, Math.ceil(spacingPx / decadePx));
  return {
    major: powers.filter((_, i) => i % every === 0).concat(labelled),
    minor: decadePx > 36 ? between : [],
  };
}

function thinned(ticks, room) {
  const every = [1, 2, 3, 4, 6, 8, 12].find((n) => ticks.length / n <= room) ?? 12;
  return { major: ticks.filter((_, i) => i % every === 0), minor: [] };
}

function linearTicks(axis, room) {
  const span = axis.max - axis.min;
  let step;
  if (axis.base === 2) {
    step = 2 ** Math.ceil(Math.log2(span / room));
  } else {
    const power = 10 ** Math.floor(Math.log10(span / room));
    step = [1, 2, 2.5, 5, 10].find((m) => m * power >= span / room) * power;
  }
  const ticks = [];
  for (let i = Math.ceil(axis.min / step - 1e-9); i * step <= axis.max * 1.000001; i++) ticks.push(i * step);
  return ticks;
}

// A panel draws what `make` returns: {x, y, right?, marks, height, title, describe, readout};
// `right` is a second axis with the same zero or ratio as y, `silent` leaves room for names only.
// Marks: {drive, points: [[x, y, extra]], kind: "line" | "dots" | "markers", dash?, label?}.
export class Panel {
  constructor(host, make) {
    this.host = host;
    this.make = make;
    panels.push(this);
    host.addEventListener("pointermove", (event) => this.point(event));
    host.addEventListener("pointerleave", () => this.leave());
  }

  draw() {
    const width = this.host.clientWidth;
    if (!width) return;
    this.spec = this.make();
    const { spec } = this;
    const labels = spec.marks.filter((m) => m.label && m.points.length);
    this.direct = width >= NARROW_PX && !spec.right && labels.length > 0;
    const yTicks = ticksOf(spec.y, spec.height - 60, 26);
    this.rightTicks = spec.right ? ticksOf(spec.right, spec.height - 60, 26).major : [];
    const margin = {
      top: 26, bottom: spec.x.title ? 40 : 24,
      left: 14 + widest(yTicks.major.map(spec.y.format)),
      right: spec.right ? 12 + widest([spec.right.title, ...this.rightTicks.map(spec.right.format)])
        : this.direct ? 14 + widest(labels.map((m) => shortened(m.label)), 600) : 14,
    };
    margin.left = Math.max(margin.left, spec.left ?? 0);
    const inner = { w: width - margin.left - margin.right, h: spec.height - margin.top - margin.bottom };
    this.margin = margin;
    this.toX = (v) => margin.left + inner.w * position(spec.x, v);
    this.toY = (v) => margin.top + inner.h * (1 - position(spec.y, v));
    const svg = element("svg", {
      viewBox: `0 0 ${width} ${spec.height}`, width, height: spec.height, role: "img",
      "aria-label": `${spec.title}. ${spec.describe}`,
    });
    this.axes(svg, inner, yTicks);
    const clip = `clip-${panels.indexOf(this)}`;
    element("rect", { x: margin.left - 7, y: margin.top - 7, width: inner.w + 14, height: inner.h + 14 },
      element("clipPath", { id: clip }, element("defs", {}, svg)));
    const area = element("g", { "clip-path": `url(#${clip})` }, svg);
    for (const mark of spec.marks) this.mark(area, mark);
    if (this.direct && !spec.silent) this.labels(svg, labels, width - margin.right + 8, inner);
    this.halo = element("circle", { r: 7, class: "halo", cx: -20, cy: -20 }, svg);
    this.host.replaceChildren(svg);
    applyDrives(this.host);
  }

  axes(svg, inner, yTicks) {
    const { spec, margin } = this;
    const grid = element("g", { class: "grid" }, svg);
    const text = element("g", { class: "ticks" }, svg);
    const right = margin.left + inner.w, bottom = margin.top + inner.h;
    const xTicks = ticksOf(spec.x, inner.w, spec.x.spacing ?? 64);
    const lineAt = (v, y, kind) => element("line", y
      ? { x1: margin.left, x2: right, y1: this.toY(v), y2: this.toY(v), class: kind }
      : { x1: this.toX(v), x2: this.toX(v), y1: margin.top, y2: bottom, class: kind }, grid);
    for (const v of yTicks.minor) lineAt(v, true, "minor");
    for (const v of yTicks.major) {
      lineAt(v, true, v === spec.zero ? "zero" : "major");
      element("text", { x: margin.left - 7, y: this.toY(v) + 4, "text-anchor": "end" }, text, spec.y.format(v));
    }
    for (const v of this.rightTicks) {
      const y = margin.top + inner.h * (1 - position(spec.right, v));
      element("line", { x1: right, x2: right + 4, y1: y, y2: y, class: "base" }, grid);
      element("text", { x: right + 8, y: y + 4 }, text, spec.right.format(v));
    }
    for (const v of xTicks.major) {
      lineAt(v, false, "major");
      const at = this.toX(v), label = spec.x.format(v);
      const half = textWidth(label) / 2;
      const anchor = at + half > right + margin.right ? "end" : at - half < 0 ? "start" : "middle";
      element("text", { x: at, y: bottom + 17, "text-anchor": anchor }, text, label);
    }
    element("line", { x1: margin.left, x2: right, y1: bottom, y2: bottom, class: "base" }, grid);
    const titles = element("g", { class: "titles" }, svg);
    element("text", { x: 0, y: 12 }, titles, spec.y.title);
    if (spec.right) element("text", { x: right + margin.right, y: 12, "text-anchor": "end" }, titles, spec.right.title);
    if (spec.x.title) element("text", { x: right, y: bottom + 35, "text-anchor": "end" }, titles, spec.x.title);
  }

  mark(area, mark) {
    const points = mark.points.filter(([x, y]) => this.drawable(x, y));
    const group = element("g", { class: `series d${mark.drive % 8} ${mark.kind}`, "data-drive": mark.drive }, area);
    if (mark.kind === "dots") {
      const d = points.map(([x, y]) => `M${this.toX(x).toFixed(1)} ${this.toY(y).toFixed(1)}h0`).join("");
      element("path", { d, class: points.length > 600 ? "cloud" : "cloud sparse" }, group);
      const missing = mark.points.filter(([, y]) => y === 0 && this.spec.y.log);
      const floor = this.toY(this.spec.y.min);
      element("path", { d: missing.map(([x]) => `M${this.toX(x).toFixed(1)} ${floor - 5}v10`).join(""), class: "stalled" }, group);
      return;
    }
    if (mark.kind !== "markers") {
      let d = "", pen = "M";
      for (const [x, y] of mark.points) {
        if (!this.drawable(x, y)) { pen = "M"; continue; }
        d += `${pen}${this.toX(x).toFixed(1)} ${this.toY(y).toFixed(1)}`;
        pen = "L";
      }
      element("path", { d, class: "stroke", "stroke-dasharray": mark.dash ?? "none" }, group);
    }
    if (mark.kind === "line" && mark.plain) return;
    if (mark.kind === "model") return;
    for (const [x, y] of points) {
      element("use", { href: `#marker-${mark.drive % 8}`, x: this.toX(x) - 5, y: this.toY(y) - 5, width: 10, height: 10 }, group);
    }
  }

  drawable(x, y) {
    const ok = (axis, v) => v !== null && v !== undefined && Number.isFinite(v) && (!axis.log || v > 0);
    return ok(this.spec.x, x) && ok(this.spec.y, y);
  }

  // Names at the ends of their lines, pushed apart where they would overlap.
  labels(svg, marks, x, inner) {
    const spots = [];
    for (const mark of marks) {
      const last = mark.points.findLast(([px, py]) => this.drawable(px, py));
      if (last) spots.push({ mark, y: this.toY(last[1]), end: this.toX(last[0]) });
    }
    spots.sort((a, b) => a.y - b.y);
    const bottom = this.margin.top + inner.h;
    for (let i = 0; i < spots.length; i++) {
      spots[i].at = Math.max(spots[i].y, this.margin.top, i ? spots[i - 1].at + 15 : -Infinity);
    }
    for (let i = spots.length - 1, limit = bottom; i >= 0; i--, limit = spots[i + 1].at - 15) {
      spots[i].at = Math.min(spots[i].at, limit);
    }
    for (const { mark, at, end } of spots) {
      const beside = Math.min(x, end + 9); // a line that ends early has its name where it ends
      const text = element("text", { x: beside, y: at + 4, class: `name series d${mark.drive % 8}`, "data-drive": mark.drive }, svg, shortened(mark.label));
      element("title", {}, text, mark.label);
    }
  }

  point(event) {
    if (!this.spec || !this.toX) return;
    const box = this.host.getBoundingClientRect();
    const px = event.clientX - box.left, py = event.clientY - box.top;
    let best = null, least = 28 ** 2;
    for (const mark of this.spec.marks) {
      if (shown.hidden.has(mark.drive) || mark.kind === "model") continue;
      for (const p of mark.points) {
        if (!this.drawable(p[0], p[1])) continue;
        const away = (this.toX(p[0]) - px) ** 2 + (this.toY(p[1]) - py) ** 2;
        if (away < least) [least, best] = [away, { mark, p }];
      }
    }
    if (!best) return this.leave();
    const x = this.toX(best.p[0]), y = this.toY(best.p[1]);
    this.halo.setAttribute("cx", x);
    this.halo.setAttribute("cy", y);
    const tip = document.getElementById("tip");
    tip.textContent = this.spec.readout(best.mark, best.p);
    tip.hidden = false;
    const left = Math.min(box.left + x + 12, document.documentElement.clientWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(8, left) + window.scrollX}px`;
    tip.style.top = `${box.top + y + window.scrollY - tip.offsetHeight - 12}px`;
    heat(best.mark.drive);
  }

  leave() {
    if (this.halo) this.halo.setAttribute("cx", -20);
    document.getElementById("tip").hidden = true;
    heat(null);
  }
}

function shortened(label) {
  return label.length > 20 ? `${label.slice(0, 19)}…` : label;
}

// The drive under the pointer stands out in every plot.
export function heat(drive) {
  if (shown.hot === drive) return;
  shown.hot = drive;
  applyDrives(document);
}

export function applyDrives(root) {
  for (const node of root.querySelectorAll(".series[data-drive]")) {
    const drive = Number(node.dataset.drive);
    node.classList.toggle("off", shown.hidden.has(drive));
    node.classList.toggle("faded", shown.hot !== null && shown.hot !== drive);
  }
}

export function drawAll(within = document) {
  for (const panel of panels) if (within.contains(panel.host)) panel.draw();
}

// The marker of a drive or series, for keys.
export function glyph(drive) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  svg.setAttribute("class", `glyph d${drive % 8}`);
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#marker-${drive % 8}`);
  svg.append(use);
  return svg;
}
