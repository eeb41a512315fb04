// Formats numbers and names for display.

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

// A number by its kind, short enough for a headline; digits are the decimal places of a percentage or a ratio.
export function headline(value, kind, digits) {
  if (kind === "percent") return `${(100 * value).toFixed(digits)} %`;
  if (kind === "ratio") return value.toFixed(digits);
  if (kind === "duration") return duration(value);
  if (kind === "count") return compact(value);
  return value >= 1000 ? GROUPED.format(value) : value.toFixed(value < 10 ? 2 : 1);
}

export function grouped(value) {
  return GROUPED.format(value);
}

export function compact(value) {
  for (const [size, name] of [[1e9, " B"], [1e6, " M"], [1e3, " k"]]) {
    if (value >= size) return `${(value / size).toPrecision(3).replace(/\.0+$/, "")}${name}`;
  }
  return String(Math.round(value));
}

export function duration(seconds) {
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  if (hours) return `${hours} h ${minutes} min`;
  if (minutes) return rest ? `${minutes} min ${rest} s` : `${minutes} min`;
  return seconds < 10 ? `${Number(seconds.toFixed(1))} s` : `${whole} s`;
}

// Six significant digits: as exact as anyone needs, and nothing is rounded to zero.
export function exact(value) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return value.toExponential(4).replace("e", " e").replace("e+", "e");
  return String(Number(value.toPrecision(6)));
}

// A tick on an axis.
export function tick(value) {
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-4) return value.toExponential(1).replace(".0e", "e");
  return size >= 1e4 ? compact(value) : String(Number(value.toPrecision(6)));
}

// "fr" -> "French"; other text is returned unchanged.
export function languageName(code) {
  if (!code) return null;
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code) ?? code;
  } catch {
    return code;
  }
}

export function plural(count, noun) {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
}
