// What each figure shows: its panels, key, caption and table, from the payload's numbers.
import { duration, durationTick, percent, plain, significant, size } from "./units.js";
import { Panel, linearAxis, logAxis, roundUp } from "./plot.js";

const REVIEW_TAIL_S = 1400;      // where the reviews' second and third scatter plots begin
const REVIEW_TAIL_MIN_S = 60;    // fewer seconds than this after it are no picture of it
const TAIL_SHARE = 0.3;          // what a shorter run shows in its place
const REVIEW_TOP_IOPS = 40000;
const LOG_FROM_RATIO = 100;      // rates further apart than this start on a log axis
const DASHES = ["none", "6 3", "2 3", "8 3 2 3"];
const OPERATIONS = ["read", "write"];
const CORNER_NAMES = {
  "random-read": "Random read", "random-write": "Random write",
  "sequential-read": "Sequential read", "sequential-write": "Sequential write",
};
const LATENCY_COLUMNS = [
  ["min", "min"], ["mean", "mean"], ["p50", "p50"], ["p90", "p90"], ["p99", "p99"], ["p999", "p99.9"],
  ["p9999", "p99.99"], ["p99999", "p99.999"], ["max", "max"],
];

export function makeFigures(data, state) {
  return {
    headline: headline(data),
    corners: { draws: false, table: () => cornersTable(data) },
    "queue-depth": queueDepth(data, state),
    "transfer-size": transferSize(data, state),
    consistency: threeViews(data, state, data.consistency, "consistency"),
    latency: latency(data, state),
  };
}

export const finite = (values) => values.filter((v) => v !== null && v !== undefined && Number.isFinite(v));
export const highest = (values) => finite(values).reduce((a, b) => Math.max(a, b), 0);
const named = (data, drive) => (data.drives.length > 1 ? data.drives[drive] : null);

export function host(panels, title, height, operation = "") {
  const box = document.createElement("div");
  box.className = "panel";
  box.dataset.operation = operation; // one column shows all of reads before all of writes
  const heading = document.createElement("h3");
  const plot = document.createElement("div");
  plot.className = "plot";
  plot.style.minHeight = `${height}px`;
  heading.textContent = title;
  if (title === null) box.classList.add("strip"); // it belongs to the panel above
  else box.append(heading);
  box.append(plot);
  panels.append(box);
  return { plot, heading };
}

// Switches of an axis between logarithmic and linear; a figure lists those of its axes.
export const LOG_OR_LINEAR = [["log", "log"], ["linear", "linear"]];

export function scaleSwitch(state, key, label, first) {
  state[key] = first;
  return { key, label, options: LOG_OR_LINEAR };
}

// An axis of values from zero or, logarithmic, around them.
export const valueAxis = (how, values, options) => (how === "log"
  ? logAxis(finite(values), options) : linearAxis(0, roundUp(highest(values)), options));

const relative = (p, value, interval) => (interval && value !== null ? [p.x, value * interval[0], value * interval[1]] : null);
const whiskersOf = (points, value) => points.map((p) => relative(p, value(p), p.rateInterval)).filter(Boolean);
const latencyWhiskers = (points, key) => points.filter((p) => p.latencyInterval[key]).map((p) => [p.x, ...p.latencyInterval[key]]);
const anyInterval = (lines) => lines.some((line) => line.points.some((p) => p.rateInterval));
const NO_INTERVALS = "No point has an interval: the recordings do not show how certain they are.";
const WHISKERS = "Strokes through points are 90 % intervals; a point without one has too few I/Os or no series by the second.";

// What the bands around percentile curves are.
export const bandWords = (bands) => (bands.some((band) => band?.length)
  ? "Bands are 90 % intervals, computed from batches of seconds because slow I/Os come together. They end where too few I/Os lie beyond."
  : "No curve has an interval: that needs 20 s or more, and latencies by the second.");

// One sentence with a line's main numbers, for those who do not see the plot.
export function lineWords(name, points, x, y) {
  const good = points.filter((p) => Number.isFinite(p[1]) && p[1] !== null);
  if (!good.length) return `${name}: no usable points.`;
  const top = good.reduce((a, b) => (b[1] > a[1] ? b : a));
  const [first, last] = [good[0], good[good.length - 1]];
  return `${name}: ${y(first[1])} at ${x(first[0])}, ${y(last[1])} at ${x(last[0])}, highest ${y(top[1])} at ${x(top[0])}.`;
}

function queueDepth(data, state) {
  const lines = data.queueDepth;
  const all = lines.flatMap((line) => line.points);
  const blocks = new Set(all.map((p) => p.block));
  const block = blocks.size === 1 ? [...blocks][0] : null;
  const depths = [...new Set(all.map((p) => p.x))].sort((a, b) => a - b);
  const xAxis = () => (state["queue-depth:x"] === "log"
    ? { log: true, base: 2, min: depths[0] / 1.1, max: highest(depths) * 1.1, format: plain, title: "queue depth", spacing: 34 }
    : linearAxis(0, highest(depths) + 0.5, { title: "queue depth", ticks: depths, spacing: 34 }));
  const of = (operation) => lines.filter((line) => line.operation === operation);
  const title = (line, what) => `${block ? `${size(block)} ` : ""}${line?.pattern ?? ""} ${what}`.trim();
  const mbs = (v) => `${significant(v)} MB/s`;
  const depth = (v) => `queue depth ${v}`;

  function panel(panels, operation, spec) {
    const { plot } = host(panels, spec.heading, 270, operation);
    new Panel(plot, () => ({
      x: xAxis(), height: 270, title: spec.heading,
      describe: of(operation).map((line) => lineWords(data.drives[line.drive], line.points.map((p) => [p.x, spec.value(p)]), depth, spec.words)).join(" "),
      ...spec.make(of(operation)),
    }));
  }

  const value = (p) => (p.bps === null ? null : p.bps / 1e6);
  const axis = (which, values, options) => valueAxis(state[which], values, options);
  const slowest = Math.min(...all.map((p) => highest([p.bps])).filter((v) => v > 0));
  const apart = highest(all.map((p) => p.bps)) > slowest * LOG_FROM_RATIO;
  const switches = [
    scaleSwitch(state, "queue-depth:rate", "Throughput", apart ? "log" : "linear"),
    scaleSwitch(state, "queue-depth:latency", "Latency", "log"),
    scaleSwitch(state, "queue-depth:x", "Queue depth", "linear"),
  ];

  // With one block size IOPS are MB/s on another scale: one plot shows both.
  function rateAxes() {
    const y = axis("queue-depth:rate", all.map(value), { title: "MB/s" });
    if (!block) return { y };
    const factor = 1e6 / block;
    return { y, right: { ...y, min: y.min * factor, max: y.max * factor, title: "IOPS" } };
  }

  function throughput(panels, operation) {
    panel(panels, operation, {
      heading: `${title(of(operation)[0], operation)}: throughput`, value, words: mbs,
      make: (mine) => ({
        ...rateAxes(),
        marks: mine.map((line) => ({ drive: line.drive, kind: "line", label: named(data, line.drive), points: line.points.map((p) => [p.x, value(p), p]), whiskers: whiskersOf(line.points, value) })),
        readout: (mark, [x, y, p]) => `${data.drives[mark.drive]}\n${depth(x)}: ${mbs(y)}, ${significant(p.iops)} IOPS`,
      }),
    });
  }

  function rates(panels, operation) {
    panel(panels, operation, {
      heading: `${title(of(operation)[0], operation)}: IOPS`, value: (p) => p.iops, words: (v) => `${significant(v)} IOPS`,
      make: (mine) => ({
        y: axis("queue-depth:rate", all.map((p) => p.iops), { title: "IOPS" }),
        marks: mine.map((line) => ({ drive: line.drive, kind: "line", label: named(data, line.drive), points: line.points.map((p) => [p.x, p.iops]), whiskers: whiskersOf(line.points, (p) => p.iops) })),
        readout: (mark, [x, y]) => `${data.drives[mark.drive]}\n${depth(x)}: ${significant(y)} IOPS`,
      }),
    });
  }

  function waiting(panels, operation) {
    const mean = (p) => p.latency.mean;
    panel(panels, operation, {
      heading: `${title(of(operation)[0], operation)}: latency`, value: mean, words: duration,
      make: (mine) => {
        const values = all.flatMap((p) => [p.latency.mean, p.latency.p99]);
        return {
          y: axis("queue-depth:latency", values, { title: "mean (solid) and p99 (dashed)", format: durationTick }),
          marks: mine.flatMap((line) => [
            { drive: line.drive, kind: "line", plain: true, dash: "4 3", points: line.points.map((p) => [p.x, p.latency.p99, "p99"]), whiskers: latencyWhiskers(line.points, "p99") },
            { drive: line.drive, kind: "line", label: named(data, line.drive), points: line.points.map((p) => [p.x, mean(p), "mean"]), whiskers: latencyWhiskers(line.points, "mean") },
          ]),
          readout: (mark, [x, y, what]) => `${data.drives[mark.drive]}\n${depth(x)}: ${what} ${duration(y)}`,
        };
      },
    });
  }

  return {
    draws: all.length > 0,
    keyed: "always",
    switches,
    build(panels) {
      for (const row of block ? [throughput, waiting] : [throughput, rates, waiting]) {
        for (const operation of OPERATIONS) if (of(operation).length) row(panels, operation);
      }
    },
    caption: () => `Reads and writes share their scales${data.drives.length > 1 ? ", and so do all drives" : ""}. ${anyInterval(lines) ? WHISKERS : NO_INTERVALS}`,
    table: () => pointsTable(data, lines, "queue depth"),
  };
}

function pointsTable(data, lines, x) {
  return {
    columns: ["drive", "operation", x, "block bytes", "MB/s", "IOPS", ...LATENCY_COLUMNS.map(([, name]) => `latency ${name} (s)`), "I/Os", "errors", "recording", "IOPS from (90 %)", "IOPS to (90 %)", "mean from (90 %, s)", "mean to (90 %, s)", "p99 from (90 %, s)", "p99 to (90 %, s)"],
    rows: lines.flatMap((line) => line.points.map((p) => [
      data.drives[line.drive], line.operation, p.x, p.block, p.bps === null ? null : p.bps / 1e6, p.iops,
      ...LATENCY_COLUMNS.map(([key]) => p.latency[key]), p.ios, p.errors, p.id,
      ...(p.rateInterval ?? [null, null]).map((factor) => (factor === null ? null : factor * p.iops)),
      ...["mean", "p99"].flatMap((key) => p.latencyInterval[key] ?? [null, null]),
    ])),
  };
}

export function transferSize(data, state) {
  const lines = data.transferSize;
  const all = lines.flatMap((line) => line.points);
  const sizes = [...new Set(all.map((p) => p.x))].sort((a, b) => a - b);
  const log = (which) => state[`transfer-size:${which}`] === "log";
  const switches = [
    scaleSwitch(state, "transfer-size:x", "Transfer size", "log"),
    scaleSwitch(state, "transfer-size:rate", "Throughput", "log"),
    scaleSwitch(state, "transfer-size:time", "Time per I/O", "log"),
  ];
  const of = (list, operation) => list.filter((line) => line.operation === operation);
  const modelled = data.models.filter((m) => m.block.length);
  const hasModel = (line) => modelled.some((m) => m.drive === line.drive && m.operation === line.operation);
  const top = highest(sizes);
  const LEFT = 62;

  const xAxis = (title) => (log("x")
    ? { log: true, base: 2, min: sizes[0] / 1.3, max: top * 1.3, format: size, title, spacing: 54, ticks: sizes.filter((v) => Math.log2(v) % 3 === 0) }
    : linearAxis(0, top * 1.02, { base: 2, format: size, title, spacing: 70 }));
  const measured = (operation, value, whiskers) => of(lines, operation).map((line) => ({
    drive: line.drive, kind: hasModel(line) ? "markers" : "line", label: named(data, line.drive),
    points: line.points.map((p) => [p.x, value(p)]), whiskers: whiskers(line.points, value),
  }));
  const predicted = (operation, value) => of(modelled, operation).flatMap((model) => [
    { drive: model.drive, kind: "band", points: (model.band ?? []).map(([low, high], i) => [model.block[i], value(model.block[i], low), value(model.block[i], high)]) },
    { drive: model.drive, kind: "model", points: model.block.map((block, i) => [block, value(block, model.predicted[i])]) },
  ]);

  function curve(panels, operation, which, what, title, value, whiskers, fromModel, words, options) {
    const heading = `Random ${operation}: ${what}`;
    const { plot } = host(panels, heading, 280, operation);
    const values = all.map(value);
    new Panel(plot, () => ({
      x: xAxis("transfer size"), left: LEFT, height: 280, title: heading,
      y: valueAxis(state[`transfer-size:${which}`], values, { title, ...options }),
      marks: [...predicted(operation, fromModel), ...measured(operation, value, whiskers)],
      describe: of(lines, operation).map((line) => lineWords(data.drives[line.drive], line.points.map((p) => [p.x, value(p)]), size, words)).join(" "),
      readout: (mark, [x, y]) => `${data.drives[mark.drive]}\n${size(x)}: ${words(y)}`,
    }));
  }

  function misfit(panels, operation) {
    const mine = of(modelled, operation);
    const { plot } = host(panels, null, 150, operation);
    const worst = highest(modelled.flatMap((m) => m.misfit.map((v) => (v === null ? null : Math.abs(v)))));
    const limit = worst > 0.05 ? roundUp(worst) : 0.05;
    new Panel(plot, () => ({
      x: xAxis(""), left: LEFT, height: 150, zero: 0, silent: true, title: `Misfit of the access model, random ${operation}`,
      y: linearAxis(-limit, limit, { title: "misfit", format: (v) => (v > 0 ? `+${percent(v)}` : percent(v)), ticks: [-limit, 0, limit] }),
      marks: mine.map((m) => ({ drive: m.drive, kind: "line", label: named(data, m.drive), points: m.block.map((b, i) => [b, m.misfit[i] ?? null]) })),
      describe: mine.map((m) => `${data.drives[m.drive]}: largest misfit ${percent(highest(m.misfit.map((v) => Math.abs(v ?? 0))))}.`).join(" "),
      readout: (mark, [x, y]) => `${data.drives[mark.drive]}\n${size(x)}: ${y > 0 ? "+" : ""}${percent(y)}`,
    }));
  }

  return {
    draws: all.length > 0,
    keyed: true,
    switches,
    build(panels) {
      const operations = OPERATIONS.filter((operation) => of(lines, operation).length);
      for (const operation of operations) {
        curve(panels, operation, "rate", "throughput", "MB/s", (p) => (p.bps === null ? null : p.bps / 1e6), whiskersOf,
          (block, bps) => (bps ? bps / 1e6 : null), (v) => `${significant(v)} MB/s`, {});
      }
      for (const operation of operations) {
        if (of(modelled, operation).length) misfit(panels, operation);
        else if (modelled.length) panels.append(document.createElement("div"));
      }
      for (const operation of operations) {
        curve(panels, operation, "time", "time per I/O", "mean time", (p) => p.latency.mean, (points) => latencyWhiskers(points, "mean"),
          (block, bps) => (bps ? block / bps : null), duration, { format: durationTick });
      }
    },
    caption: () => [(anyInterval(lines) ? WHISKERS : NO_INTERVALS), modelled.length ? `Misfit is measured over predicted throughput, minus one: above zero the drive is faster than the model. ${modelled.some((m) => m.band) ? "The shaded band is the 90 % interval of the access penalty; the rate has no interval." : "The analysis has no interval of the access penalty here."}` : ""].join(" ").trim(),
    table() {
      const table = pointsTable(data, lines, "transfer size (bytes)");
      table.columns.push("predicted MB/s", "misfit");
      for (const row of table.rows) {
        const model = modelled.find((m) => data.drives[m.drive] === row[0] && m.operation === row[1]);
        const at = model ? model.block.indexOf(row[2]) : -1;
        const bps = at >= 0 ? model.predicted[at] : null;
        row.push(bps ? bps / 1e6 : null, at >= 0 ? model.misfit[at] ?? null : null);
      }
      return table;
    },
  };
}

// The reviews' three pictures of a run, one drive at a time: all of it with a log axis, its end with a
// log axis, its end with a linear axis. `runs`: {drive, label, ios: [of every second], cut, steady?}.
export function threeViews(data, state, recorded, id, title = "") {
  const runs = recorded.filter((run) => run.ios.length);
  const longest = highest(runs.map((run) => run.ios.length));
  const shortest = runs.reduce((least, run) => Math.min(least, run.ios.length), Infinity);
  const asReviewed = shortest >= REVIEW_TAIL_S + REVIEW_TAIL_MIN_S;
  const from = asReviewed ? REVIEW_TAIL_S : Math.floor(shortest * (1 - TAIL_SHARE));
  const since = asReviewed ? `from ${plain(from)} s` : `last 30 % (from ${plain(from)} s)`;
  const tails = runs.flatMap((run) => run.ios.slice(from));
  const tailTop = highest(tails);
  const everything = runs.flatMap((run) => run.ios);
  const drives = [...new Set(runs.map((run) => run.drive))];
  const labels = [...new Set(runs.map((run) => run.label))];
  const top = `${id}:top`, variant = `${id}:variant`;
  state[top] = tailTop * 10 < REVIEW_TOP_IOPS ? "fit" : "review";
  state[variant] = labels[0];
  state.drive ??= drives[0];
  const iops = (v) => `${significant(v)} IOPS`;
  const linearTop = () => (state[top] === "review" ? REVIEW_TOP_IOPS : roundUp(tailTop));
  const chosen = (run) => run.drive === (drives.includes(state.drive) ? state.drive : drives[0]) && run.label === state[variant];
  const boxes = [];

  function describe(run, start) {
    const part = run.ios.slice(start);
    const sorted = [...part].sort((a, b) => a - b);
    if (!part.length) return `${data.drives[run.drive]}: nothing recorded here.`;
    const stalled = part.filter((n) => n === 0).length;
    return `${data.drives[run.drive]}: between ${iops(sorted[0])} and ${iops(sorted[sorted.length - 1])}, half of the seconds above ${iops(sorted[Math.floor(sorted.length / 2)])}${stalled ? `, ${stalled} seconds without a completed I/O` : ""}.`;
  }

  function scatter(panels, run, heading, start, height, yAxis) {
    const { plot, heading: h3 } = host(panels, heading(), height);
    const points = run.ios.map((n, second) => [second, n]).slice(start);
    const band = run.steady ? [Math.max(run.steady.from, start), run.ios.length - 1].map((x) => [x, ...run.steady.interval]) : [];
    new Panel(plot, () => {
      h3.textContent = heading();
      return {
        x: linearAxis(start, longest, { title: "second", spacing: 70, zooms: true }), y: yAxis(), height, left: 62,
        title: `${heading()}: IOPS each second`, describe: describe(run, start),
        marks: [{ drive: run.drive, kind: "dots", points }, { drive: run.drive, kind: "band", points: band, over: true }],
        readout: (mark, [x, y]) => `${[data.drives[mark.drive], run.label].filter(Boolean).join(", ")}\nsecond ${plain(x)}: ${iops(y)}`,
      };
    });
  }

  return {
    draws: runs.length > 0,
    keyed: false,
    title,
    drives,
    oneByOne: true,
    switches: [
      ...(labels.length > 1 ? [{ key: variant, label: "Run", options: labels.map((label) => [label, label]) }] : []),
      { key: top, label: "Linear plot", options: [["review", "to 40,000 IOPS"], ["fit", "to the highest"]] },
    ],
    build(panels) {
      panels.classList.add("wide");
      for (const run of runs) {
        const box = document.createElement("div");
        box.className = "one-drive";
        boxes.push([run, box]);
        panels.append(box);
        const name = [data.drives.length > 1 ? data.drives[run.drive] : "", run.label].filter(Boolean).join(", ");
        if (name) box.append(Object.assign(document.createElement("h3"), { className: "print-only", textContent: name }));
        const log = { title: "IOPS" };
        const part = `${since[0].toUpperCase()}${since.slice(1)}`;
        scatter(box, run, () => "Whole run, log axis", 0, 330, () => logAxis(everything, log));
        scatter(box, run, () => `${part}, log axis`, from, 300, () => logAxis(tails, log));
        scatter(box, run, () => `${part}, linear axis to ${plain(linearTop())} IOPS`, from, 300, () => linearAxis(0, linearTop(), log));
      }
    },
    choose() {
      for (const [run, box] of boxes) box.classList.toggle("chosen", chosen(run));
    },
    caption() {
      const run = runs.find(chosen);
      if (!run) return "The chosen drive has no such run.";
      const above = run.ios.slice(from).filter((n) => n > linearTop()).length;
      const stalled = run.ios.filter((n) => n === 0).length;
      return [
        runs.length > 1 ? "All runs are drawn on the same scales." : "",
        asReviewed ? "" : "The run is shorter than the reviews' 2000 s: the last 30 % stand for “from 1400 s”.",
        above ? `${plain(above)} of ${plain(run.ios.length - from)} seconds lie above the linear axis.` : "",
        stalled ? `${plain(stalled)} seconds without a completed I/O stand as strokes on the floor of the log axes.` : "",
        run.steady ? "The band is the 90 % interval of the steady rate." : "",
        run.cut ? "The last second was cut short by the end of the run and is left out." : "",
      ].filter(Boolean).join(" ");
    },
    table: () => ({
      columns: ["second", ...runs.map((run) => `${[data.drives[run.drive], run.label].filter(Boolean).join(", ")} (IOPS)`)],
      rows: Array.from({ length: longest }, (_, s) => [s, ...runs.map((run) => run.ios[s] ?? null)]),
    }),
  };
}

// The picture that stands beside the verdict: the consistency test by the second, which shows in one
// look what a drive is like when it is new and when it is not; else how it answers to a deeper queue.
function headline(data) {
  const runs = data.consistency.filter((run) => run.ios.length);
  const label = (drive) => (data.drives.length > 1 ? data.drives[drive] : null);
  const height = 340;
  const seconds = () => ({
    x: linearAxis(0, highest(runs.map((run) => run.ios.length)), { title: "second", spacing: 70 }),
    y: logAxis(runs.flatMap((run) => run.ios), { title: "IOPS" }),
    height, title: "Random writes by the second",
    describe: runs.map((run) => `${data.drives[run.drive]}: from ${significant(run.ios[0])} IOPS in the first second to ${significant(run.ios[run.ios.length - 1])} in the last.`).join(" "),
    marks: runs.map((run) => ({ drive: run.drive, kind: "dots", label: label(run.drive), points: run.ios.map((n, second) => [second, n]) })),
    readout: (mark, [x, y]) => `${data.drives[mark.drive]}\nsecond ${plain(x)}: ${significant(y)} IOPS`,
  });
  const lines = data.queueDepth.filter((line) => line.points.length > 1);
  const points = (line) => line.points.map((p) => [p.x, p.iops]);
  const depths = () => ({
    x: linearAxis(0, highest(lines.flatMap((line) => line.points.map((p) => p.x))), { title: "queue depth", spacing: 70 }),
    y: linearAxis(0, roundUp(highest(lines.flatMap((line) => line.points.map((p) => p.iops)))), { title: "IOPS" }),
    height, title: "IOPS by queue depth",
    describe: lines.map((line) => `${data.drives[line.drive]}, ${line.operation}s: up to ${significant(highest(line.points.map((p) => p.iops)))} IOPS.`).join(" "),
    marks: lines.map((line) => ({ drive: line.drive, kind: "line", dash: DASHES[OPERATIONS.indexOf(line.operation)], label: [label(line.drive), `${line.operation}s`].filter(Boolean).join(", "), points: points(line) })),
    readout: (mark, [x, y]) => `${mark.label}\nqueue depth ${plain(x)}: ${significant(y)} IOPS`,
  });
  const drawn = runs.length ? seconds : lines.length ? depths : null;
  return {
    draws: drawn !== null,
    keyed: false,
    build(panels) {
      panels.classList.add("wide");
      const { plot } = host(panels, runs.length ? "4 KiB random writes on a full drive, by the second" : "4 KiB random I/O by queue depth", height);
      new Panel(plot, drawn);
    },
    caption: () => "",
  };
}

// The axis of rarer and rarer I/Os, 1-x: "99.9" stands at 0.001.
export function percentAxis(rarest, title = "% of I/Os that are at most this slow") {
  const decades = [1];
  for (let e = 1; 10 ** -e >= rarest * 0.999; e++) decades.push(10 ** -e);
  const format = (tail) => (tail >= 0.9999 ? "0" : `${Number((100 * (1 - tail)).toFixed(Math.max(0, Math.ceil(-Math.log10(tail) - 1e-9) - 2)))}`);
  return { log: true, min: 1, max: Math.min(rarest, 0.5), format, title, ticks: decades, spacing: 44 };
}

export const share = (tail) => (tail >= 0.1 ? `${significant(100 * (1 - tail))} %` : `${(100 * (1 - tail)).toFixed(Math.ceil(-Math.log10(tail)))} %`);

function latency(data, state) {
  const entries = data.corners.filter((entry) => entry.curve.ns.length);
  const variant = (e) => [e.point.queue_depth ? `queue depth ${e.point.queue_depth}` : "", e.point.content ?? ""].filter(Boolean).join(", ");
  const rarest = entries.flatMap((e) => e.curve.tail).reduce((a, b) => Math.min(a, b), 1);
  const switches = [scaleSwitch(state, "latency:y", "Latency", "log")];
  const crowded = data.drives.length > 2;
  const notes = new Set();

  function panel(panels, corner) {
    const mine = entries.filter((e) => e.corner === corner);
    if (!mine.length) return;
    const variants = [...new Set(mine.map(variant))];
    const used = crowded ? variants.slice(0, 1) : variants;
    if (crowded && variants.length > 1) notes.add("With more than two drives only the first variant of each corner is drawn; the table has all.");
    const block = mine[0].point.block_bytes;
    const { plot, heading } = host(panels, "", 290);
    heading.textContent = `${block ? `${size(block)} ` : ""}${CORNER_NAMES[corner].toLowerCase()}`;
    if (used.length === 1) heading.append(Object.assign(document.createElement("span"), { className: "quiet", textContent: `, ${used[0]}` }));
    if (used.length > 1 && data.drives.length > 1) {
      const key = document.createElement("p");
      key.className = "dash-key";
      key.textContent = used.map((name, i) => `${["solid", "dashed", "dotted", "dash-dot"][i % 4]}: ${name}`).join("; ");
      plot.after(key);
    }
    new Panel(plot, () => ({
      x: percentAxis(rarest),
      y: valueAxis(state["latency:y"], entries.flatMap((e) => e.curve.ns).map((ns) => ns / 1e9), { title: "latency", format: durationTick }),
      height: 290, title: `Latency percentiles, ${CORNER_NAMES[corner].toLowerCase()}`,
      marks: mine.filter((e) => used.includes(variant(e))).flatMap((e) => [{
        drive: e.drive, kind: "band", points: e.curve.band.map(([t, low, high]) => [t, low / 1e9, high / 1e9]),
      }, {
        drive: e.drive, kind: "line", plain: true, dash: DASHES[used.indexOf(variant(e)) % 4], entry: e,
        label: data.drives.length > 1 ? (variant(e) === used[0] ? data.drives[e.drive] : null)
          : used.length > 1 ? `QD ${e.point.queue_depth ?? "?"} ${e.point.content ?? ""}` : null,
        points: e.curve.tail.map((t, i) => [t, e.curve.ns[i] / 1e9]),
      }]),
      describe: mine.map((e) => `${data.drives[e.drive]}, ${variant(e)}: mean ${duration(e.latency.mean)}, p99 ${duration(e.latency.p99)}, p99.9 ${duration(e.latency.p999)}, max ${duration(e.latency.max)}.`).join(" "),
      readout: (mark, [x, y]) => `${data.drives[mark.drive]}, ${variant(mark.entry)}\n${share(x)} within ${duration(y)}`,
    }));
  }

  return {
    draws: entries.length > 0,
    keyed: true,
    switches,
    build(panels) {
      for (const corner of Object.keys(CORNER_NAMES)) panel(panels, corner);
    },
    caption: () => [...notes, "Each curve ends at the slowest single I/O. All corners share one latency scale.", bandWords(entries.map((e) => e.curve.band))].join(" "),
    table: () => ({
      columns: ["drive", "recording", "share within", "latency (s)", "from (90 %, s)", "to (90 %, s)"],
      rows: entries.flatMap((e) => {
        const band = new Map(e.curve.band.map(([t, ...bounds]) => [t, bounds.map((ns) => ns / 1e9)]));
        return e.curve.tail.map((t, i) => [data.drives[e.drive], e.id, 1 - t, e.curve.ns[i] / 1e9, ...(band.get(t) ?? [null, null])]);
      }),
    }),
  };
}

function cornersTable(data) {
  return {
    columns: ["drive", "corner", "block bytes", "queue depth", "content", "MB/s", "IOPS", ...LATENCY_COLUMNS.map(([, name]) => `latency ${name} (s)`), "I/Os", "errors", "recording"],
    rows: data.corners.map((e) => [
      data.drives[e.drive], e.corner, e.point.block_bytes, e.point.queue_depth, e.point.content, e.bps === null ? null : e.bps / 1e6, e.iops,
      ...LATENCY_COLUMNS.map(([key]) => e.latency[key]), e.ios, e.errors, e.id,
    ]),
  };
}
