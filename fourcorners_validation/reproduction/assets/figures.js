// The reviews' own plots: those that the report has too, and the profile, link and depth sweeps.
import { duration, plain, significant, size } from "./units.js";
import { Panel, linearAxis, roundUp } from "./plot.js";
import { finite, highest, host, lineWords, scaleSwitch, threeViews, transferSize, valueAxis } from "./figures.js";
import { start } from "./app.js";

const mbs = (v) => `${significant(v)} MB/s`;
const depthWords = (v) => `queue depth ${v}`;

const drivesOf = (lines) => [...new Set(lines.map((line) => line.drive))].sort((a, b) => a - b);

function profiles(data) {
  const top = roundUp(highest(data.profiles.flatMap((p) => [...p.read, ...p.write].map(([, v]) => v))));
  const slowest = roundUp(highest(data.profiles.flatMap((p) => p.access.map(([, v]) => v))) * 1e3);
  const scaled = (s) => (s * 1e3 * top) / slowest; // the dots have the axis on the right

  return {
    draws: data.profiles.length > 0,
    build(panels) {
      for (const profile of data.profiles) {
        const name = data.drives[profile.drive];
        const { plot, heading } = host(panels, name, 290);
        const key = document.createElement("p");
        key.className = "dash-key";
        key.textContent = "solid: reads; dashed: writes; dots: access time of single reads";
        heading.after(key);
        new Panel(plot, () => ({
          x: linearAxis(0, 100, { title: "position (% of the drive)", zooms: true }), height: 290, left: 44,
          y: linearAxis(0, top, { title: "MB/s" }), right: linearAxis(0, slowest, { title: "ms" }),
          title: `${name}: sequential rate and access time by position`,
          describe: lineWords("Reads", profile.read, (v) => `${plain(Math.round(v))} %`, mbs),
          marks: [
            { drive: profile.drive, kind: "dots", points: profile.access.map(([x, s]) => [x, scaled(s), `access: ${duration(s)}`]) },
            { drive: profile.drive, kind: "line", plain: true, dash: "4 3", points: profile.write.map(([x, y]) => [x, y, `write: ${mbs(y)}`]) },
            { drive: profile.drive, kind: "line", plain: true, points: profile.read.map(([x, y]) => [x, y, `read: ${mbs(y)}`]) },
          ],
          readout: (mark, [x, , words]) => `${name}\n${plain(Math.round(x))} % in, ${words}`,
        }));
      }
    },
    caption: () => "Both drives are drawn on the same scales.",
    table: () => ({
      columns: ["drive", "what", "position (%)", "MB/s", "access time (s)"],
      rows: data.profiles.flatMap((p) => [
        ...["read", "write"].flatMap((what) => p[what].map(([x, y]) => [data.drives[p.drive], what, x, y, null])),
        ...p.access.map(([x, s]) => [data.drives[p.drive], "access", x, null, s]),
      ]),
    }),
  };
}

// One panel for each group of lines or dots, on equal scales. `options`: {kind, unit, log (rates),
// x: {title, words, axis}, caption}.
function panelsOf(data, state, id, all, options) {
  const groups = all.filter((group) => group.lines.length);
  const values = groups.flatMap((group) => group.lines.flatMap((line) => line.points.map(([, y]) => y)));
  const places = [...new Set(groups.flatMap((g) => g.lines.flatMap((l) => l.points.map(([x]) => x))))].sort((a, b) => a - b);
  const scale = `${id}:y`;
  const switches = [scaleSwitch(state, scale, options.unit, options.log ? "log" : "linear")];
  const words = (v) => `${significant(v)} ${options.unit}`;
  const { x } = options;
  return {
    draws: groups.length > 0,
    keyed: true,
    switches,
    drives: drivesOf(groups.flatMap((group) => group.lines)),
    build(panels) {
      for (const group of groups) {
        const { plot } = host(panels, group.title, 300, group.operation);
        const label = (line) => (options.kind === "line" ? data.drives[line.drive] : undefined);
        new Panel(plot, () => ({
          x: x.axis(places), y: valueAxis(state[scale], values, { title: options.unit }), height: 300, left: 50, title: group.title,
          describe: group.lines.map((line) => lineWords(data.drives[line.drive], line.points, x.words, words)).join(" "),
          marks: group.lines.map((line) => ({ drive: line.drive, kind: options.kind, label: label(line), points: line.points })),
          readout: (mark, [at, y]) => `${data.drives[mark.drive]}\n${x.words(at)}: ${words(y)}`,
        }));
      }
    },
    caption: () => options.caption,
    table: () => ({
      columns: ["panel", "series", x.title, options.unit],
      rows: groups.flatMap((g) => g.lines.flatMap((l) => l.points.map(([at, y]) => [g.title, data.drives[l.drive], at, y]))),
    }),
  };
}

const depthsLog = {
  title: "queue depth", words: depthWords,
  axis: (depths) => ({ log: true, base: 2, min: depths[0] / 1.15, max: depths[depths.length - 1] * 1.15, format: plain, title: "queue depth", ticks: depths, spacing: 30 }),
};
const depthsLinear = {
  title: "queue depth", words: depthWords,
  axis: (depths) => linearAxis(0, highest(depths) + 0.5, { title: "queue depth", ticks: depths, spacing: 34 }),
};
const sizes = {
  title: "block size (bytes)", words: size,
  axis: (all) => ({ log: true, base: 2, min: all[0] / 1.3, max: all[all.length - 1] * 1.3, format: size, title: "block size", spacing: 54, ticks: all.filter((v) => Math.log2(v) % 2 === 1) }),
};
const seconds = {
  title: "second", words: (s) => `second ${plain(s)}`,
  axis: (all) => linearAxis(0, all[all.length - 1] + 1, { title: "second", spacing: 70, zooms: true }),
};

start((data, state) => ({
  profile: profiles(data),
  "transfer-size": { ...transferSize(data, state), drives: drivesOf(data.transferSize) },
  depth: panelsOf(data, state, "depth", data.depths, { kind: "line", x: depthsLog, log: true, unit: "IOPS", caption: "64 KiB requests at random. Both plots share their scales." }),
  links: panelsOf(data, state, "links", data.links, { kind: "line", x: depthsLinear, log: false, unit: "MB/s", caption: "All four plots share their scales." }),
  atto: panelsOf(data, state, "atto", data.atto, { kind: "line", x: sizes, log: false, unit: "MB/s", caption: "Both plots share their scales." }),
  filled: panelsOf(data, state, "filled", data.filled, { kind: "dots", x: seconds, log: true, unit: "IOPS", caption: "All drives share their scales. A dot is the mean of five seconds." }),
  recovery: panelsOf(data, state, "recovery", data.recovery, { kind: "dots", x: seconds, log: true, unit: "IOPS", caption: "All drives share their scales. Strokes on the floor are seconds without a completed I/O." }),
  consistency: threeViews(data, state, data.consistency, "consistency"),
}));
