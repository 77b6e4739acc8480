// The charts that tests ask for: lines, dots, seconds, percentiles, single I/Os and how many there were
// over time, rounds with their window. Heat maps of two parameters are tables in the page.
import { duration, durationTick, percent, plain, significant, size } from "./units.js";
import { Panel, glyph, linearAxis, roundUp } from "./plot.js";
import { bandWords, finite, highest, host, lineWords, percentAxis, scaleSwitch, share, threeViews, valueAxis } from "./figures.js";

const CHART_HEIGHT = 280;
const CHART_LEFT = 62;
const STRIP_HEIGHT = 150;
const LOG_RATIO_MIN = 8;  // places closer together than this have no use for a log axis
const LEVELS = 8;           // shades of a map
const LINE_DASHES = [null, "6 3", "2 3"];
const isBytes = (key) => key.endsWith("_bytes");
const isPosition = (key) => key.endsWith("position_bytes") || key === "offset_bytes";
const isTime = (key) => key.startsWith("latency");
const OVER_TIME = ["seconds", "ios", "density"];
const NEVER_LOG = /position|offset|percent|^round|^turn$|^number$|^second$|^minute$/; // places in a row, not sizes

export function makeCharts(data, state) {
  const make = { rounds, heat: heatMap, density, views, model };
  return Object.fromEntries(Object.entries(data.charts).map(([id, chart]) => [id, (make[chart.kind] ?? curves)(data, chart, state, id)]));
}

const words = (axis) => (v) => {
  if (isTime(axis.key)) return duration(v);
  if (axis.key === "mbps") return `${significant(v)} MB/s`;
  if (axis.key === "iops") return `${significant(v)} IOPS`;
  return significant(v);
};

const place = (axis) => (v) => {
  if (isPosition(axis.key)) return `${significant(v / 1e9)} GB`;
  if (isBytes(axis.key)) return size(v);
  return `${axis.title} ${plain(v)}`;
};

function yAxis(chart, values, how) {
  return valueAxis(how, values, { title: chart.y.title, ...(isTime(chart.y.key) ? { format: durationTick } : {}) });
}

function xAxis(chart, values, how) {
  const { x, kind } = chart;
  const ordered = [...new Set(values)].sort((a, b) => a - b);
  const [low, high] = [ordered[0], ordered[ordered.length - 1]];
  if (kind === "percentiles") return percentAxis(low, x.title);
  if (isPosition(x.key)) return linearAxis(0, high, { title: `${x.title}, GB`, format: (v) => plain(Number((v / 1e9).toPrecision(3))), spacing: 70, zooms: true });
  const format = isBytes(x.key) ? size : plain;
  const base = isBytes(x.key) ? 2 : undefined;
  if (how === "log") {
    const few = ordered.length <= 12 ? { ticks: ordered.filter((v) => v > 0) } : {};
    return { log: true, base: 2, min: Math.min(...ordered.filter((v) => v > 0)) / 1.2, max: high * 1.2, format, title: x.title, spacing: isBytes(x.key) ? 60 : 40, ...few };
  }
  if (x.key.startsWith("round")) return linearAxis(0.5, high + 0.5, { title: x.title, ticks: ordered, spacing: 34 });
  const over = OVER_TIME.includes(kind);
  return linearAxis(kind === "seconds" ? low : Math.min(0, low), high, { title: x.title, format, base, spacing: 70, zooms: over || ordered.length > 40 });
}

// How a chart's axes may be shown: what its test asked for first, and the other way where it makes sense.
function scaleSwitches(chart, state, id, xs, ys) {
  const switches = [];
  const positive = (values) => finite(values).filter((v) => v > 0);
  if (chart.kind === "density") state[`${id}:y`] = "log"; // its cells are steps of a factor
  else if (positive(ys).length) switches.push(scaleSwitch(state, `${id}:y`, chart.y.title, chart.y.log ? "log" : "linear"));
  const places = positive(xs);
  const wide = places.length && highest(places) / places.reduce((a, b) => Math.min(a, b)) >= LOG_RATIO_MIN;
  if (!OVER_TIME.includes(chart.kind) && chart.kind !== "percentiles" && wide && !NEVER_LOG.test(chart.x.key)) {
    switches.push(scaleSwitch(state, `${id}:x`, chart.x.title, chart.x.log ? "log" : "linear"));
  } else state[`${id}:x`] = "linear";
  return switches;
}

// One run: one panel, a colour for each series. Several: a panel for each series, the drives' colours.
function curves(data, chart, state, id) {
  const several = data.drives.length > 1;
  const labels = [...new Set(chart.series.map((s) => s.label))];
  const apart = several || chart.apart;
  const named = (series) => [several ? data.drives[series.drive] : "", series.label].filter(Boolean).join(", ");
  const map = chart.kind === "density" ? chart.map : null;
  // Of maps each has a panel of its own: one over another would hide it.
  const groups = map ? labels.flatMap((label) => chart.series.filter((s) => s.label === label)).map((s) => [named(s), [s]]) : apart ? labels.map((label) => [label, chart.series.filter((s) => s.label === label)]) : [["", chart.series]];
  const dotted = ["dots", "seconds", "ios"].includes(chart.kind);
  const xs = chart.series.flatMap((s) => [...s.points, ...(s.lines ?? []).flatMap((l) => l.points)].map((p) => p[0]));
  const ys = map ? map.rows.flat() : chart.series.flatMap((s) => [...s.points, ...(s.lines ?? []).flatMap((l) => l.points)].map((p) => p[1]));
  const switches = scaleSwitches(chart, state, id, xs, ys);
  // Colour and shape of a series, and what stands out together with it.
  const style = (s) => (several ? { drive: s.drive } : { drive: labels.indexOf(s.label), series: s.label });
  const y = words(chart.y);
  const x = { percentiles: share, seconds: (v) => (chart.x.key === "written" ? `${plain(v)} GB written` : `second ${plain(v)}`), ios: duration, density: (v) => `${plain(v)} s` }[chart.kind] ?? place(chart.x);
  const axes = () => {
    const across = xAxis(chart, xs, state[`${id}:x`]);
    if (!map) return { x: across, y: yAxis(chart, ys, state[`${id}:y`]) };
    return { x: { ...across, min: 0, max: map.to_s }, y: yAxis(chart, map.rows.flat(), "log") };
  };

  function panel(panels, label, series) {
    const heading = [chart.title, label].filter(Boolean).join(": ");
    const { plot } = host(panels, label, CHART_HEIGHT);
    if (map && several) plot.parentNode.dataset.drive = series[0].drive; // hidden with its drive
    // Beside a line there is room for a short name only: where one is cut there, the key says them all.
    const cut = labels.some((one) => shortened(one) !== one);
    if (!several && !apart && labels.length > 1) plot.before(legend(labels, labels.map((_, i) => i), dotted || cut));
    if (map) plot.after(shades(style(series[0]).drive));
    new Panel(plot, () => ({
      ...axes(), height: CHART_HEIGHT, left: CHART_LEFT, title: heading,
      marks: series.flatMap((s) => [
        ...(s.band?.length ? [{ ...style(s), kind: "band", points: s.band }] : []),
        ...(map ? [{ ...style(s), kind: "cells", points: cells(map, s), of: s, at: (px, py) => cellAt(map, s, px, py) }] : [{
          ...style(s), points: s.points, kind: dotted ? "dots" : "line", plain: chart.kind === "percentiles", of: s,
          whiskers: s.points.filter((p) => p[3]).map((p) => [p[0], ...p[3]]),
          label: dotted || (!several && labels.length < 2) ? null : several ? data.drives[s.drive] : s.label,
        }]),
        ...(s.lines ?? []).map((line, i) => ({
          ...style(s), points: line.points, kind: "line", plain: true, dash: LINE_DASHES[i],
          of: { ...s, label: [s.label, line.label].filter(Boolean).join(", ") }, label: several && !map ? null : line.label, over: Boolean(map),
        })),
      ]),
      describe: series.flatMap((s) => (map ? s.lines : [s]).map((line) => (
        lineWords([named(s) || chart.title, map ? line.label : ""].filter(Boolean).join(", "), line.points, x, y)))).join(" "),
      readout: (mark, [px, py, said]) => (mark.kind === "cells" ? [named(mark.of), said] : [named(mark.of), `${x(px)}: ${y(py)}`]).filter(Boolean).join("\n"),
    }));
  }

  return {
    draws: ys.length > 0,
    keyed: several && !map && (dotted ? "always" : true), // dots have no names beside them
    title: chart.title,
    switches,
    build(panels) {
      if (groups.length === 1) panels.classList.add("wide");
      for (const [label, series] of groups) panel(panels, label, series);
    },
    caption: () => [
      chart.caption, apart && groups.length > 1 ? "All panels share their scales." : "",
      chart.series.some((s) => s.points?.some((p) => p[3])) ? "Strokes through points are 90 % intervals, computed from batches of seconds, or from the single I/Os if there are too few seconds." : "",
      chart.kind === "percentiles" ? bandWords(chart.series.map((s) => s.band)) : "",
    ].filter(Boolean).join(" "),
    table: () => ({
      columns: ["drive", "series", chart.x.title, chart.y.title, "from (90 %)", "to (90 %)"],
      rows: chart.series.flatMap((s) => {
        const band = new Map((s.band ?? []).map(([at, ...bounds]) => [at, bounds]));
        return s.points.map((p) => [data.drives[s.drive], s.label, p[0], p[1], ...(p[3] ?? band.get(p[0]) ?? [null, null])]);
      }),
    }),
  };
}

// What share of the I/Os took how long, by the time of their completion, under percentiles of them.
function density(data, chart, state, id) {
  const drawn = curves(data, { ...chart, series: chart.series.map((s) => ({ ...s, points: [] })) }, state, id);
  return {
    ...drawn,
    table: () => ({
      columns: ["drive", "series", "from (s)", "to (s)", "latency from (s)", "latency to (s)", "I/Os"],
      rows: chart.series.flatMap((s) => s.columns.flatMap((packed, column) => held(packed).map(([row, count]) => [
        data.drives[s.drive], s.label, ...edges(chart.map, column), ...chart.map.rows[row], count,
      ]))),
    }),
  };
}

const edges = (map, column) => [column * map.column_s, Math.min((column + 1) * map.column_s, map.to_s)];

// Rows and counts of a column, which is packed as its lowest row and the counts from there up.
const held = ([lowest, ...counts]) => counts.map((count, i) => [lowest + i, count]).filter(([, count]) => count);

const total = (packed) => packed.slice(1).reduce((a, b) => a + b, 0);

// Shades are steps of about three: over 30 %, over 10 %, over 3 % ...
const level = (part) => Math.max(1, LEVELS + Math.floor(2 * Math.log10(part) + 1e-9));

// Rectangles of one shade, each as many columns long as it stays the same.
function cells(map, series) {
  const rectangles = [];
  const open = new Map(); // by row: [shade, first column]
  const close = (row, end) => {
    const [shade, first] = open.get(row);
    open.delete(row);
    rectangles.push([edges(map, first)[0], edges(map, end - 1)[1], ...map.rows[row], shade]);
  };
  [...series.columns, []].forEach((packed, column) => {
    const all = total(packed);
    const now = new Map(held(packed).map(([row, count]) => [row, level(count / all)]));
    for (const [row, [shade]] of [...open]) if (now.get(row) !== shade) close(row, column);
    for (const [row, shade] of now) if (!open.has(row)) open.set(row, [shade, column]);
  });
  return rectangles;
}

// The cell of a map at a time and latency, as a point of its own: [second, latency, words].
function cellAt(map, series, second, latency_s) {
  const column = Math.floor(second / map.column_s);
  const row = map.rows.findIndex(([low, high]) => latency_s >= low && latency_s < high);
  const packed = series.columns[column] ?? [];
  const count = row < packed[0] ? 0 : packed[row - packed[0] + 1] ?? 0;
  if (!count) return null;
  const [from, to] = edges(map, column);
  const [low, high] = map.rows[row];
  const part = count / total(packed);
  const text = `${duration(low)} to ${duration(high)}: ${part < 1e-4 ? "under 0.01 %" : percent(part)} of the I/Os (${plain(count)} of ${plain(total(packed))})`;
  return [(from + to) / 2, Math.sqrt(low * high), `${plain(from)} to ${plain(to)} s\n${text}`];
}

// What the shades of a map mean.
function shades(drive) {
  const node = document.createElement("p");
  node.className = "shades";
  const strip = document.createElement("span");
  strip.className = `strip series d${drive % 8}`;
  for (let i = 1; i <= LEVELS; i++) strip.append(Object.assign(document.createElement("i"), { className: `level-${i}` }));
  node.append("under 0.03 %", strip, "over 30 % of the I/Os of a column");
  return node;
}

function legend(labels, styles, always) {
  const node = document.createElement("p");
  node.className = always ? "key always" : "key";
  labels.forEach((label, i) => {
    const item = document.createElement("span");
    item.append(glyph(styles[i]), label);
    node.append(item);
  });
  return node;
}

function views(data, chart, state, id) {
  return threeViews(data, state, chart.series.map((s) => ({ ...s, ios: s.points.map((p) => p[1] ?? 0) })), id, chart.title);
}

// What a model says a request of each size takes, what it took, and by how much they differ.
function model(data, chart, state, id) {
  const points = chart.series.flatMap((s) => s.points);
  const labels = [...new Set(chart.series.map((s) => s.label))];
  const several = data.drives.length > 1;
  const misfit = ([size_, measured, predicted]) => [size_, predicted / measured - 1];
  const worst = highest(points.map((p) => Math.abs(misfit(p)[1])));
  const limit = worst > 0.05 ? roundUp(worst) : 0.05;
  const signed = (v) => `${v > 0 ? "+" : ""}${percent(v)}`;
  const style = (s) => (several ? { drive: s.drive } : { drive: labels.indexOf(s.label), series: s.label });
  const x = () => ({ ...xAxis(chart, points.map((p) => p[0]), state[`${id}:x`]), zooms: true });
  return {
    draws: points.length > 0,
    keyed: several,
    title: chart.title,
    switches: scaleSwitches(chart, state, id, points.map((p) => p[0]), points.map((p) => p[1])),
    build(panels) {
      for (const label of labels) {
        const mine = chart.series.filter((s) => s.label === label);
        const column = document.createElement("div");
        panels.append(column);
        const over = host(column, label, CHART_HEIGHT).plot;
        const under = host(column, null, STRIP_HEIGHT).plot;
        const name = (s) => (several ? data.drives[s.drive] : label);
        new Panel(over, () => ({
          x: x(), y: yAxis(chart, points.flatMap((p) => [p[1], p[2]]), state[`${id}:y`]), height: CHART_HEIGHT, left: CHART_LEFT,
          title: `${chart.title}: ${label}`,
          marks: mine.flatMap((s) => [
            { ...style(s), kind: "model", points: s.points.map((p) => [p[0], p[2]]) },
            { ...style(s), kind: "markers", points: s.points },
          ]),
          describe: mine.map((s) => lineWords(name(s), s.points, size, duration)).join(" "),
          readout: (mark, [at, measured, predicted]) => `${several ? `${data.drives[mark.drive]}\n` : ""}${size(at)}: ${duration(measured)}\nthe model says ${duration(predicted)}`,
        }));
        new Panel(under, () => ({
          x: { ...x(), title: "" }, left: CHART_LEFT, height: STRIP_HEIGHT, zero: 0, title: `Misfit: ${label}`,
          y: linearAxis(-limit, limit, { title: "misfit", format: signed, ticks: [-limit, 0, limit] }),
          marks: mine.map((s) => ({ ...style(s), kind: "line", points: s.points.map(misfit) })),
          describe: mine.map((s) => `${name(s)}: largest misfit ${percent(highest(s.points.map((p) => Math.abs(misfit(p)[1]))))}.`).join(" "),
          readout: (mark, [at, y]) => `${several ? `${data.drives[mark.drive]}\n` : ""}${size(at)}: ${signed(y)}`,
        }));
      }
    },
    caption: () => "Markers are measured, lines are the model. Misfit is predicted over measured time, minus one: above zero the drive is faster than the model. All panels share their scales.",
    table: () => ({
      columns: ["drive", "series", "block size (bytes)", "measured (s)", "predicted (s)", "misfit"],
      rows: chart.series.flatMap((s) => s.points.map((p) => [data.drives[s.drive], s.label, ...p, misfit(p)[1]])),
    }),
  };
}

// The cells are in the page; the numbers are here for the table.
function heatMap(data, chart) {
  return {
    draws: false,
    table: () => ({
      columns: ["drive", "series", chart.row.title, chart.column.title, chart.y.title],
      rows: chart.values.map(([row, column, value]) => [data.drives[chart.drive], chart.label, row, column, value]),
    }),
  };
}

// SNIA's plot of the measurement window: the variable, its average, 110 % and 90 % of it, the slope.
function rounds(data, chart, state, id) {
  const { window: w } = chart;
  const y = words(chart.y);
  const flat = (value) => [[w.first, value], [w.last, value]];
  const line = (drive, series, points, dash) => ({ drive, series, kind: "line", plain: true, dash, label: series, points });
  const lines = w === null ? [] : [
    line(1, "average", flat(w.average)),
    line(6, "110 %", flat(1.1 * w.average), "2 3"),
    line(6, "90 %", flat(0.9 * w.average), "2 3"),
    line(2, "slope", [[w.first, w.slope[0]], [w.last, w.slope[1]]], "6 3"),
  ];
  const values = [...chart.points.map((p) => p[1]), ...lines.flatMap((l) => l.points.map((p) => p[1]))];
  const last = highest(chart.points.map((p) => p[0]));
  return {
    draws: chart.points.length > 0,
    keyed: false,
    title: chart.title,
    switches: [scaleSwitch(state, `${id}:y`, chart.y.title, "linear")],
    build(panels) {
      panels.classList.add("wide");
      const { plot } = host(panels, "", CHART_HEIGHT);
      new Panel(plot, () => ({
        x: linearAxis(0.5, last + 0.5, { title: "round", ticks: chart.points.map((p) => p[0]), spacing: 34 }),
        y: yAxis(chart, values, state[`${id}:y`]), height: CHART_HEIGHT, left: CHART_LEFT, title: chart.title,
        marks: [{ drive: 0, series: "measured", kind: "line", points: chart.points }, ...lines],
        describe: chart.text,
        readout: (mark, [px, py]) => `${mark.label ?? `round ${px}`}: ${y(py)}`,
      }));
    },
    caption: () => chart.text,
    table: () => ({ columns: ["round", chart.y.title], rows: chart.points }),
  };
}
