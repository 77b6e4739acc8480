// The charts that tests ask for: lines, dots, seconds, percentiles, rounds with their window.
// Heat maps are tables and need no script.
import { duration, durationTick, plain, significant, size } from "./units.js";
import { Panel, glyph, linearAxis, logAxis, roundUp } from "./plot.js";
import { finite, highest, host, lineWords } from "./figures.js";

const CHART_HEIGHT = 280;
const CHART_LEFT = 62;
const isBytes = (key) => key.endsWith("_bytes");
const isPosition = (key) => key.endsWith("position_bytes");
const isTime = (key) => key.startsWith("latency");

export function makeCharts(data) {
  const figures = {};
  for (const [name, chart] of Object.entries(data.charts)) {
    figures[name] = chart.kind === "rounds" ? rounds(chart) : curves(data, chart);
  }
  return figures;
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

function yAxis(axis, values) {
  const options = { title: axis.title, ...(isTime(axis.key) ? { format: durationTick } : {}) };
  return axis.log ? logAxis(finite(values), options) : linearAxis(0, roundUp(highest(values)), options);
}

function xAxis(chart, values) {
  const { x, kind } = chart;
  const ordered = [...new Set(values)].sort((a, b) => a - b);
  const [low, high] = [ordered[0], ordered[ordered.length - 1]];
  if (kind === "percentiles") return percentAxis(chart, low);
  if (isPosition(x.key)) return linearAxis(0, high, { title: `${x.title}, GB`, format: (v) => plain(Number((v / 1e9).toPrecision(3))), spacing: 70 });
  const format = isBytes(x.key) ? size : plain;
  if (x.log) {
    return { log: true, base: 2, min: low / 1.2, max: high * 1.2, format, title: x.title, ticks: ordered, spacing: isBytes(x.key) ? 60 : 40 };
  }
  if (x.key.startsWith("round")) return linearAxis(0.5, high + 0.5, { title: x.title, ticks: ordered, spacing: 34 });
  const from = kind === "seconds" ? low : Math.min(0, low);
  return linearAxis(from, high, { title: x.title, format, spacing: 70 });
}

function percentAxis(chart, rarest) {
  const decades = [1];
  for (let e = 1; 10 ** -e >= rarest * 0.999; e++) decades.push(10 ** -e);
  const format = (tail) => (tail >= 0.9999 ? "0" : `${Number((100 * (1 - tail)).toFixed(Math.max(0, Math.ceil(-Math.log10(tail) - 1e-9) - 2)))}`);
  return { log: true, min: 1, max: Math.min(rarest, 0.5), format, title: chart.x.title, ticks: decades, spacing: 44 };
}

// One run: one panel, a colour for each series. Several: a panel for each series, the drives' colours.
function curves(data, chart) {
  const several = data.drives.length > 1;
  const labels = [...new Set(chart.series.map((s) => s.label))];
  const apart = several || chart.apart;
  const groups = apart ? labels.map((label) => [label, chart.series.filter((s) => s.label === label)]) : [["", chart.series]];
  const dotted = ["dots", "seconds", "ios"].includes(chart.kind);
  const every = chart.series.flatMap((s) => [...s.points, ...(s.lines ?? []).flatMap((l) => l.points)]);
  const style = (series) => (several ? series.drive : labels.indexOf(series.label));
  const named = (series) => [several ? data.drives[series.drive] : "", series.label].filter(Boolean).join(", ");
  const y = words(chart.y);
  const share = (tail) => (tail >= 0.1 ? `${significant(100 * (1 - tail))} %` : `${(100 * (1 - tail)).toFixed(Math.ceil(-Math.log10(tail)))} %`);
  const x = chart.kind === "percentiles" ? share : chart.kind === "seconds" ? (v) => `second ${plain(v)}` : chart.kind === "ios" ? duration : place(chart.x);

  function panel(panels, label, series) {
    const heading = [chart.title, label].filter(Boolean).join(": ");
    const { plot } = host(panels, heading, CHART_HEIGHT);
    if (!several && !apart && labels.length > 1) plot.before(legend(labels, labels.map((_, i) => i), dotted));
    new Panel(plot, () => ({
      x: xAxis(chart, every.map((p) => p[0])), y: yAxis(chart.y, every.map((p) => p[1])),
      height: CHART_HEIGHT, left: CHART_LEFT, title: heading,
      marks: series.flatMap((s) => [{
        drive: style(s), points: s.points, kind: dotted ? "dots" : "line", plain: chart.kind === "percentiles", series: s,
        label: dotted || (!several && labels.length < 2) ? null : several ? data.drives[s.drive] : s.label,
      }, ...(s.lines ?? []).map((line, i) => ({
        drive: style(s), points: line.points, kind: "line", plain: true, dash: ["none", "6 3", "2 3"][i],
        series: { ...s, label: [s.label, line.label].filter(Boolean).join(", ") }, label: several ? null : line.label,
      }))]),
      describe: series.map((s) => lineWords(named(s) || chart.title, s.points, x, y)).join(" "),
      readout: (mark, [px, py]) => `${[named(mark.series), x(px)].filter(Boolean).join("\n")}: ${y(py)}`,
    }));
  }

  return {
    draws: every.length > 0,
    keyed: several,
    build(panels) {
      if (groups.length === 1) panels.classList.add("wide");
      for (const [label, series] of groups) panel(panels, label, series);
    },
    caption: () => [chart.caption, apart && groups.length > 1 ? "All panels share their scales." : ""].filter(Boolean).join(" "),
    table: () => ({
      columns: ["drive", "series", chart.x.title, chart.y.title],
      rows: chart.series.flatMap((s) => s.points.map((p) => [data.drives[s.drive], s.label, p[0], p[1]])),
    }),
  };
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

// SNIA's plot of the measurement window: the variable, its average, 110 % and 90 % of it, the slope.
function rounds(chart) {
  const { window: w } = chart;
  const y = words(chart.y);
  const flat = (value) => [[w.first, value], [w.last, value]];
  const lines = w === null ? [] : [
    { drive: 1, kind: "line", plain: true, label: "average", points: flat(w.average) },
    { drive: 6, kind: "line", plain: true, dash: "2 3", label: "110 %", points: flat(1.1 * w.average) },
    { drive: 6, kind: "line", plain: true, dash: "2 3", label: "90 %", points: flat(0.9 * w.average) },
    { drive: 2, kind: "line", plain: true, dash: "6 3", label: "slope", points: [[w.first, w.slope[0]], [w.last, w.slope[1]]] },
  ];
  const values = [...chart.points.map((p) => p[1]), ...lines.flatMap((l) => l.points.map((p) => p[1]))];
  const last = highest(chart.points.map((p) => p[0]));
  return {
    draws: chart.points.length > 0,
    keyed: false,
    build(panels) {
      panels.classList.add("wide");
      const { plot } = host(panels, chart.title, CHART_HEIGHT);
      new Panel(plot, () => ({
        x: linearAxis(0.5, last + 0.5, { title: "round", ticks: chart.points.map((p) => p[0]), spacing: 34 }),
        y: yAxis(chart.y, values), height: CHART_HEIGHT, left: CHART_LEFT, title: chart.title,
        marks: [{ drive: 0, kind: "line", points: chart.points }, ...lines],
        describe: chart.text,
        readout: (mark, [px, py]) => `${mark.label ?? `round ${px}`}: ${y(py)}`,
      }));
    },
    caption: () => chart.text,
    table: () => ({ columns: ["round", chart.y.title], rows: chart.points }),
  };
}
