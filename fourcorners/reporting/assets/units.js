// Numbers as a person reads them; the same rules as wording.py.

export const NOTHING = "–";

// A hyphen is no minus sign.
const signed = (text) => text.replace(/-/g, "\u2212");

export function significant(x, digits = 3) {
  if (x === null || x === undefined || !Number.isFinite(x)) return NOTHING;
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size < 1e-6 || size >= 1e12) return signed(x.toExponential(digits - 1));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size) + 1e-12));
  const shown = Number(x.toPrecision(Math.max(digits, Math.floor(Math.log10(size)) + 1)));
  const fewer = Math.floor(Math.log10(Math.abs(shown)) + 1e-12) > Math.floor(Math.log10(size) + 1e-12);
  return grouped(shown, fewer ? Math.max(0, decimals - 1) : decimals);
}

// A tick is a round number: no trailing zeros.
export function plain(x) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size < 1e-4 || size >= 1e7) return signed(x.toExponential(0).replace("e+", "e"));
  return grouped(x, Math.max(0, Math.min(6, -Math.floor(Math.log10(size) + 1e-9) + 1))).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

function grouped(x, decimals) {
  const [whole, rest] = x.toFixed(decimals).split(".");
  const spaced = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return signed(rest ? `${spaced}.${rest}` : spaced);
}

const TIMES = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];

export function duration(s, digits = significant) {
  if (s === null || s === undefined || !Number.isFinite(s)) return NOTHING;
  if (s === 0) return "0 s";
  const [scale, unit] = TIMES.find(([limit]) => Math.abs(s) >= limit * 0.9995) ?? TIMES[3];
  return `${digits(s / scale)} ${unit}`;
}

export function durationTick(s) {
  return duration(s, plain);
}

const SIZES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];

export function size(bytes) {
  if (bytes === null || bytes === undefined || !Number.isFinite(bytes)) return NOTHING;
  const [scale, unit] = SIZES.find(([limit]) => Math.abs(bytes) >= limit) ?? SIZES.at(-1);
  const x = bytes / scale;
  return `${Number.isInteger(x) ? grouped(x, 0) : significant(x)} ${unit}`;
}

export function percent(fraction) {
  return `${plain(Math.round(fraction * 1e4) / 100)} %`;
}
