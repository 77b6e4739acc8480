// One plot as SVG, drawn with D3: axes, marks, direct labels, a readout under the pointer or by the
// keyboard, a stretch of its x axis at will. Colours come from the style sheet, so themes and print
// need no second drawing.
import { durationTick, plain, size } from "./units.js";

export const shown = { hidden: new Set(), hot: null, several: false };
const panels = [];
const stretches = new Map(); // of figures: the part of the x axis that is shown
const FONT = getComputedStyle(document.documentElement).getPropertyValue("--sans");
const ruler = document.createElement("canvas").getContext("2d");
const NARROW_PX = 430;
const REACH_PX = 28;      // how far from a point the pointer still means it
const CELL_REACH_PX = 6;  // and where there is a cell under it
const LINE_PX = 26;       // between labels of a y axis
const CHOSEN_PX = 8;      // a shorter drag is a click
const KEY_ZOOM = 2;

function textWidth(text, weight = 400) {
  ruler.font = `${weight} 12px ${FONT}`;
  return ruler.measureText(text).width;
}

const widest = (texts, weight) => Math.max(0, ...texts.map((text) => textWidth(text, weight)));

// An axis: {log, min, max, base?, format, title, ticks?, spacing?, zooms?}; `ticks` are the only places
// for labels, `zooms` lets a reader choose a stretch of it.
export function linearAxis(min, max, options = {}) {
  const top = max > min ? max : min + 1;
  return { log: false, min, max: top, format: plain, title: "", ...options };
}

// Limits at 1, 2 or 5 times a power of ten around the positive values.
export function logAxis(values, options = {}) {
  const [low, high] = d3.extent(values.filter((v) => v > 0 && Number.isFinite(v)));
  let min = 1, max = 10;
  if (low !== undefined) {
    [min, max] = [roundStep(low, -1), roundStep(high, 1)];
    if (max / min < 9) [min, max] = [roundStep(min / 2, -1), roundStep(max * 2, 1)];
  }
  return { log: true, min, max, base: 10, format: plain, title: "", ...options };
}

// From zero to a round number above the value.
export const roundUp = (value) => (value > 0 ? d3.nice(0, value, 8)[1] : 1);

function roundStep(value, direction) {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const steps = [1, 2, 5, 10];
  const fits = direction > 0
    ? steps.find((m) => m * power >= value * 0.9999)
    : steps.findLast((m) => m * power <= value * 1.0001);
  return (fits ?? 10) * power;
}

function scaleOf(axis, range) {
  const scale = axis.log ? d3.scaleLog().base(axis.base ?? 10) : d3.scaleLinear();
  return scale.domain([axis.min, axis.max]).range(range);
}

// Ticks with labels, and lighter grid lines between the powers of ten.
function ticksOf(axis, scale, spacingPx) {
  const [from, to] = scale.range();
  const lengthPx = Math.abs(to - from);
  const room = Math.max(2, Math.floor(lengthPx / spacingPx));
  const [low, high] = d3.extent(scale.domain());
  const powers = () => d3.range(Math.ceil(Math.log2(low) - 1e-9), Math.log2(high) + 1e-9).map((e) => 2 ** e);
  const places = axis.ticks ?? (axis.log && axis.base === 2 ? powers() : null);
  if (places) {
    const inside = places.filter((v) => v >= low && v <= high);
    const every = [1, 2, 3, 4, 6, 8, 12, 24, 48].find((n) => inside.length / n <= room) ?? 96;
    return { major: inside.filter((_, i) => i % every === 0), minor: [] };
  }
  if (!axis.log && axis.base === 2) { // bytes
    const step = 2 ** Math.ceil(Math.log2((high - low) / room));
    return { major: d3.range(Math.ceil(low / step) * step, high + step / 1e6, step), minor: [] };
  }
  if (!axis.log) return { major: scale.ticks(room), minor: [] };
  const decadePx = lengthPx / Math.abs(Math.log10(high / low));
  const every = Math.max(1, Math.ceil(spacingPx / decadePx));
  const labels = decadePx > spacingPx * 4 ? [1, 2, 5] : decadePx > spacingPx * 2.6 ? [1, 3] : [1];
  const exponent = (v) => Math.floor(Math.log10(v) + 1e-9);
  const first = exponent(low);
  const all = d3.range(first, exponent(high) + 1).flatMap((e) => d3.range(1, 10).map((m) => Number(`${m}e${e}`)))
    .filter((v) => v >= low * 0.9999 && v <= high * 1.0001);
  const major = all.filter((v) => labels.includes(Math.round(v / 10 ** exponent(v))) && (exponent(v) - first) % every === 0);
  if (major.length < 2) return { major: d3.ticks(low, high, Math.min(room, 5)), minor: [] };
  return { major, minor: decadePx > 36 ? all.filter((v) => !major.includes(v)) : [] };
}

// A panel draws what `make` returns: {x, y, right?, marks, height, title, describe, readout};
// `right` is a second axis with the same zero or ratio as y, `silent` leaves room for names only.
// Marks: {drive, series?, points: [[x, y, extra]], kind, dash?, label?, plain?, whiskers?: [[x, low, high]],
// over?, at?} of the kinds "line", "markers", "dots", "model" (a line that is not measured), "band" (points
// [x, low, high]) and "cells" (points [x0, x1, y0, y1, shade]; `at(x, y)` gives the point to read out there). `drive` gives colour and shape, unless a
// line or band stands `over` cells or dots of that colour; `series`, where given, is what stands out together with it
// in other plots.
export class Panel {
  constructor(host, make) {
    this.host = host;
    this.make = make;
    this.read = null; // {mark, at}: the point that the keyboard is at
    panels.push(this);
    host.tabIndex = 0;
    host.setAttribute("role", "application");
    host.setAttribute("aria-roledescription", "plot");
    host.addEventListener("pointermove", (event) => this.point(event));
    host.addEventListener("pointerleave", () => this.leave());
    host.addEventListener("keydown", (event) => this.key(event));
    host.addEventListener("blur", () => this.leave());
  }

  draw() {
    const width = this.host.clientWidth;
    if (!width) return;
    this.spec = this.make();
    this.tree = null;
    const { spec } = this;
    this.whole = d3.extent([spec.x.min, spec.x.max]);
    const chosen = spec.x.zooms && stretches.get(this.host.closest("figure"));
    if (chosen) spec.x = narrowed(spec.x, Math.max(chosen[0], this.whole[0]), Math.min(chosen[1], this.whole[1]));
    const labels = spec.marks.filter((m) => m.label && m.points.length);
    this.direct = width >= NARROW_PX && !spec.right && labels.length > 0;
    const rows = [spec.height - 60, 0];
    const yTicks = ticksOf(spec.y, scaleOf(spec.y, rows), LINE_PX);
    const rightTicks = spec.right ? ticksOf(spec.right, scaleOf(spec.right, rows), LINE_PX).major : [];
    const margin = {
      top: 26, bottom: spec.x.title ? 40 : 24,
      left: Math.max(14 + widest(yTicks.major.map(spec.y.format)), spec.left ?? 0),
      right: spec.right ? 12 + widest([spec.right.title, ...rightTicks.map(spec.right.format)])
        : this.direct ? 14 + widest(labels.map((m) => shortened(m.label)), 600)
          : Math.max(14, textWidth(spec.x.format(spec.x.max)) / 2),
    };
    const frame = { left: margin.left, right: width - margin.right, top: margin.top, bottom: spec.height - margin.bottom, width };
    this.frame = frame;
    this.x = scaleOf(spec.x, [frame.left, frame.right]);
    this.y = scaleOf(spec.y, [frame.bottom, frame.top]);
    const svg = d3.create("svg").attr("viewBox", `0 0 ${width} ${spec.height}`).attr("width", width).attr("height", spec.height)
      .attr("role", "img").attr("aria-label", `${spec.title}. ${spec.describe}`);
    this.host.setAttribute("aria-label", `${spec.title}. Left and right read its points, up and down change the line${spec.x.zooms ? ", plus and minus zoom" : ""}.`);
    this.axes(svg, yTicks, rightTicks);
    const clip = `clip-${panels.indexOf(this)}`;
    svg.append("defs").append("clipPath").attr("id", clip).append("rect")
      .attr("x", frame.left - 7).attr("y", frame.top - 7)
      .attr("width", Math.max(0, frame.right - frame.left + 14)).attr("height", frame.bottom - frame.top + 14);
    const area = svg.append("g").attr("clip-path", `url(#${clip})`);
    for (const mark of spec.marks) this.mark(area, mark);
    if (this.direct && !spec.silent) this.labels(svg, labels);
    if (spec.x.zooms) this.zoomable(svg);
    this.halo = svg.append("circle").attr("r", 7).attr("class", "halo").attr("cx", -20).attr("cy", -20);
    this.host.replaceChildren(svg.node());
    applyDrives(this.host);
  }

  axes(svg, yTicks, rightTicks) {
    const { spec, frame } = this;
    const draw = (make, scale, ticks, { kind, length, format, move, pad = 7 }) => {
      const axis = make(scale).tickValues(ticks).tickSizeOuter(0).tickSizeInner(length).tickPadding(pad).tickFormat(format);
      const group = svg.append("g").attr("class", kind).attr("transform", move).call(axis);
      group.select(".domain").remove();
      return group;
    };
    const toLeft = `translate(${frame.left},0)`, toBottom = `translate(0,${frame.bottom})`;
    const across = frame.left - frame.right, up = frame.top - frame.bottom;
    draw(d3.axisLeft, this.y, yTicks.minor, { kind: "minor", length: across, format: () => "", move: toLeft });
    draw(d3.axisLeft, this.y, yTicks.major, { kind: "ticks", length: across, format: spec.y.format, move: toLeft })
      .selectAll(".tick").classed("zero", (v) => v === spec.zero);
    // Names of rarer and rarer I/Os grow longer: 99.99999 needs more room than 90.
    const named = spec.x.ticks ? 12 + widest(spec.x.ticks.filter((v) => v >= d3.min([spec.x.min, spec.x.max])).map(spec.x.format)) : 0;
    draw(d3.axisBottom, this.x, ticksOf(spec.x, this.x, Math.max(spec.x.spacing ?? 64, named)).major,
      { kind: "ticks", length: up, format: spec.x.format, move: toBottom, pad: 9 });
    if (spec.right) {
      draw(d3.axisRight, scaleOf(spec.right, [frame.bottom, frame.top]), rightTicks,
        { kind: "ticks", length: 4, format: spec.right.format, move: `translate(${frame.right},0)`, pad: 4 });
    }
    svg.append("line").attr("class", "base").attr("x1", frame.left).attr("x2", frame.right).attr("y1", frame.bottom).attr("y2", frame.bottom);
    const title = (text, x, y, anchor) => text && svg.append("text").attr("class", "title").attr("x", x).attr("y", y).attr("text-anchor", anchor).text(text);
    title(spec.y.title, 0, 12, "start");
    title(spec.right?.title, frame.width, 12, "end");
    title(spec.x.title, frame.right, frame.bottom + 35, "end");
  }

  mark(area, mark) {
    const px = (p) => this.x(p[0]), py = (p) => this.y(p[1]);
    const group = area.append("g").attr("class", `series d${mark.drive % 8} ${mark.kind}${mark.over ? " over" : ""}`)
      .attr("data-series", seriesOf(mark)).attr("data-drive", mark.series === undefined ? mark.drive : null);
    const path = (d, kind) => d && group.append("path").attr("d", d).attr("class", kind);
    const good = mark.points.filter((p) => this.drawable(p[0], p[1]));
    if (mark.kind === "dots") {
      path(good.map((p) => `M${px(p).toFixed(1)} ${py(p).toFixed(1)}h0`).join(""), good.length > 600 ? "cloud" : "cloud sparse");
      const missing = mark.points.filter((p) => p[1] === 0 && this.spec.y.log && this.drawable(p[0], this.spec.y.min));
      path(missing.map((p) => `M${px(p).toFixed(1)} ${this.y(this.spec.y.min) - 5}v10`).join(""), "stalled");
      return;
    }
    if (mark.kind === "cells") {
      for (const [level, cells] of d3.group(mark.points, (p) => p[4])) {
        path(cells.map(([x0, x1, y0, y1]) => {
          const [left, right, top, bottom] = [this.x(x0), this.x(x1), this.y(y1), this.y(y0)].map((v) => v.toFixed(1));
          return `M${left} ${top}H${right}V${bottom}H${left}z`;
        }).join(""), `level-${level}`);
      }
      return;
    }
    if (mark.kind === "band") {
      path(d3.area().digits(1).defined((p) => this.drawable(p[0], p[1]) && this.drawable(p[0], p[2]))
        .x(px).y0(py).y1((p) => this.y(p[2]))(mark.points), "between");
      return;
    }
    if (mark.kind !== "markers") {
      path(d3.line().digits(1).defined((p) => this.drawable(p[0], p[1])).x(px).y(py)(mark.points), "stroke")
        ?.attr("stroke-dasharray", mark.dash ?? null);
    }
    const floor = Math.min(...this.y.domain()); // zero has no place on a log axis
    const whiskers = (mark.whiskers ?? []).map(([x, low, high]) => [x, Math.max(low, floor), high])
      .filter(([x, low, high]) => this.drawable(x, low) && this.drawable(x, high));
    path(whiskers.map(([x, low, high]) => {
      const [at, bottom, top] = [this.x(x), this.y(low), this.y(high)].map((v) => v.toFixed(1));
      return `M${at} ${bottom}V${top}m-4 0h8M${at} ${bottom}m-4 0h8`;
    }).join(""), "whiskers");
    if (mark.plain || mark.kind === "model") return;
    group.selectAll("use").data(good).join("use").attr("href", `#marker-${mark.drive % 8}`)
      .attr("x", (p) => px(p) - 5).attr("y", (p) => py(p) - 5).attr("width", 10).attr("height", 10);
  }

  drawable(x, y) {
    const ok = (axis, v) => v !== null && v !== undefined && Number.isFinite(v) && (!axis.log || v > 0);
    return ok(this.spec.x, x) && ok(this.spec.y, y);
  }

  // The points of a mark that can be seen: a chosen stretch leaves others out.
  inside(mark) {
    const [low, high] = d3.extent(this.x.domain());
    return mark.points.filter(([x, y]) => x >= low && x <= high && this.drawable(x, y));
  }

  // Names at the ends of their lines, pushed apart where they would overlap.
  labels(svg, marks) {
    const { frame } = this;
    const spots = [];
    for (const mark of marks) {
      const last = this.inside(mark).at(-1);
      if (last) spots.push({ mark, y: this.y(last[1]), end: this.x(last[0]) });
    }
    spots.sort((a, b) => a.y - b.y || marks.indexOf(b.mark) - marks.indexOf(a.mark));
    spots.forEach((spot, i) => { spot.at = Math.max(spot.y, frame.top, i ? spots[i - 1].at + 15 : -Infinity); });
    for (let i = spots.length - 1, limit = frame.bottom; i >= 0; i--, limit = spots[i + 1].at - 15) {
      spots[i].at = Math.min(spots[i].at, limit);
    }
    for (const { mark, at, end } of spots) {
      // A line that ends early has its name where it ends, but not over a map.
      const beside = mark.over ? frame.right + 8 : Math.min(frame.right + 8, end + 9);
      svg.append("text").attr("x", beside).attr("y", at + 4).attr("class", `name series d${mark.drive % 8}${mark.over ? " over" : ""}`)
        .attr("data-series", seriesOf(mark)).attr("data-drive", mark.series === undefined ? mark.drive : null)
        .text(shortened(mark.label)).append("title").text(mark.label);
    }
  }

  // A drag over the plot chooses a stretch of the x axis, for all panels of the figure.
  zoomable(svg) {
    const { frame } = this;
    const brush = d3.brushX().extent([[frame.left, frame.top], [frame.right, frame.bottom]]).touchable(false);
    const group = svg.append("g").attr("class", "brush");
    brush.on("end", ({ selection, sourceEvent }) => {
      if (!sourceEvent || !selection) return;
      if (selection[1] - selection[0] < CHOSEN_PX) group.call(brush.move, null);
      else this.choose(d3.extent(selection, (v) => this.x.invert(v)));
    });
    group.call(brush);
  }

  choose(range) {
    stretch(this.host.closest("figure"), range);
  }

  visible() {
    return this.spec.marks.filter((m) => !["model", "band", "cells"].includes(m.kind)
      && !(m.series === undefined && shown.hidden.has(m.drive)) && this.inside(m).length);
  }

  point(event) {
    if (!this.spec || event.buttons) return;
    this.tree ??= d3.quadtree(
      this.visible().flatMap((mark) => this.inside(mark).map((p) => ({ mark, p }))),
      ({ p }) => this.x(p[0]), ({ p }) => this.y(p[1]),
    );
    const [px, py] = d3.pointer(event, this.host);
    const cell = this.cell(px, py);
    const best = this.tree.find(px, py, cell ? CELL_REACH_PX : REACH_PX) ?? cell;
    if (best) this.tell(best.mark, best.p);
    else this.leave();
  }

  // What a map has under the pointer.
  cell(px, py) {
    const { frame } = this;
    if (px < frame.left || px > frame.right || py < frame.top || py > frame.bottom) return null;
    for (const mark of this.spec.marks) {
      const p = mark.at?.(this.x.invert(px), this.y.invert(py));
      if (p) return { mark, p };
    }
    return null;
  }

  // The keyboard walks along the points of a line, and from line to line.
  key(event) {
    const marks = this.spec ? this.visible() : [];
    if (event.ctrlKey || event.metaKey || event.altKey || !marks.length) return;
    const zoom = this.spec.x.zooms && { "+": 1 / KEY_ZOOM, "-": KEY_ZOOM }[event.key];
    if (event.key === "Escape") {
      this.leave();
      this.choose(null);
    } else if (zoom) {
      this.zoomBy(zoom);
    } else if (["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) {
      this.walk(marks, event.key);
    } else return;
    event.preventDefault();
  }

  walk(marks, key) {
    let mark = marks.find((m) => this.read && seriesOf(m) === seriesOf(this.read.mark) && m.label === this.read.mark.label) ?? marks[0];
    let at = this.read ? this.read.at : -1;
    if (key === "ArrowDown" || key === "ArrowUp") {
      mark = marks[(marks.indexOf(mark) + (key === "ArrowDown" ? 1 : marks.length - 1)) % marks.length];
      at = Math.max(at, 0);
    } else {
      at = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: Infinity }[key];
    }
    const points = this.inside(mark);
    at = Math.min(Math.max(at, 0), points.length - 1);
    this.read = { mark, at };
    this.tell(mark, points[at], "polite");
  }

  zoomBy(factor) {
    const [from, to] = this.x.range();
    const point = this.read && this.inside(this.read.mark)[this.read.at];
    const centre = point ? this.x(point[0]) : (from + to) / 2;
    const [low, high] = d3.extent([from, to].map((v) => this.x.invert(centre + (v - centre) * factor)));
    this.read = null;
    this.choose(low <= this.whole[0] && high >= this.whole[1] ? null : [low, high]);
  }

  // `aloud`: whether a screen reader is to say it; not of whatever the pointer passes.
  tell(mark, p, aloud = "off") {
    const x = this.x(p[0]), y = this.y(p[1]);
    this.halo.attr("cx", x).attr("cy", y);
    const tip = document.getElementById("tip");
    const box = this.host.getBoundingClientRect();
    tip.setAttribute("aria-live", aloud);
    tip.textContent = this.spec.readout(mark, p);
    tip.hidden = false;
    const left = Math.min(box.left + x + 12, document.documentElement.clientWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(8, left) + window.scrollX}px`;
    tip.style.top = `${box.top + y + window.scrollY - tip.offsetHeight - 12}px`;
    if (mark.series !== undefined || shown.several) heat(seriesOf(mark));
  }

  leave() {
    this.halo?.attr("cx", -20);
    document.getElementById("tip").hidden = true;
    heat(null);
  }
}

// The axis between two of its values, in its direction: that of rare I/Os falls to the right.
function narrowed(axis, low, high) {
  if (!(high > low)) return axis;
  return { ...axis, ...(axis.min < axis.max ? { min: low, max: high } : { min: high, max: low }) };
}

const seriesOf = (mark) => String(mark.series ?? mark.drive);

function shortened(label) {
  return label.length > 20 ? `${label.slice(0, 19)}…` : label;
}

// What is under the pointer stands out in every plot.
export function heat(series) {
  if (shown.hot === series) return;
  shown.hot = series;
  applyDrives(document);
}

export function applyDrives(root) {
  for (const node of root.querySelectorAll("[data-drive]:not(button)")) {
    node.classList.toggle("off", shown.hidden.has(Number(node.dataset.drive)));
  }
  for (const node of root.querySelectorAll("[data-series]")) {
    node.classList.toggle("faded", shown.hot !== null && shown.hot !== node.dataset.series);
  }
}

// Shows or hides a drive in every plot.
export function showDrive(drive, visible) {
  if (visible) shown.hidden.delete(drive);
  else shown.hidden.add(drive);
  for (const panel of panels) panel.tree = null;
  applyDrives(document);
}

export function drawAll(within = document) {
  for (const panel of panels) if (within.contains(panel.host)) panel.draw();
}

// Shows a stretch of the x axis in all panels of a figure; null shows all of it.
export function stretch(figure, range) {
  if (range === null) stretches.delete(figure);
  else stretches.set(figure, range);
  drawAll(figure);
  figure.dispatchEvent(new CustomEvent("stretch", { detail: range }));
}

// The marker of a drive or series, for keys.
export function glyph(drive) {
  const svg = d3.create("svg:svg").attr("class", `glyph d${drive % 8}`).attr("aria-hidden", "true");
  svg.append("use").attr("href", `#marker-${drive % 8}`);
  return svg.node();
}
