// Charts in plain SVG: measures over versions, the learning curve, intervals, differences by query, sparklines.

export function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes ?? {})) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const label = (text, attributes) => svg("text", { "font-size": 12, fill: "currentColor", ...attributes }, String(text));

const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2];
const LINES = 4; // maximum number of intervals between lines of the grid

// Round numbers around the values from `low` to `high`.
function ticks(low, high) {
  const step = STEPS.find((one) => Math.ceil(high / one - 1e-9) - Math.floor(low / one + 1e-9) <= LINES) ?? 0.25;
  const first = Math.floor(low / step + 1e-9), last = Math.max(first + 1, Math.ceil(high / step - 1e-9));
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}

// Series of points {at, name, mean, interval} with intervals as whiskers, placed by `at` on an axis that begins at `from`.
// `width` is in pixels, so that labels have their size. Points keep `gap` between them; a second line of labels has `note`.
export function intervals(series, { title, width, from = 0, gap = 0, height = 240 }) {
  const left = 46, right = 16, top = 12, bottom = series[0][0].note ? 44 : 28, all = series.flat(), [first] = series;
  const lines = ticks(Math.max(0, Math.min(...all.map((p) => p.interval[0]))), Math.min(1, Math.max(...all.map((p) => p.interval[1]))));
  const low = lines[0], high = lines.at(-1), span = high - low, most = Math.max(...all.map((p) => p.at)), margin = gap ? 36 : 24;
  const places = first.map((p) => left + margin + (width - left - right - 2 * margin) * (p.at - from) / (most - from || 1));
  const apart = Math.min(most > from ? gap : Infinity, (width - left - right - 2 * margin) / Math.max(first.length - 1, 1));
  for (let i = 1; i < places.length; i++) places[i] = Math.max(places[i], places[i - 1] + apart);
  for (let i = places.length - 1, end = width - right - margin; i >= 0; i--, end -= apart) places[i] = Math.min(places[i], end);
  const y = (value) => top + (height - top - bottom) * (high - Math.min(Math.max(value, low), high)) / span;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${all.map((p) => `${p.name} ${p.mean.toFixed(3)}`).join(", ")}` });
  for (const value of lines) {
    picture.append(svg("path", { d: `M${left} ${y(value)}H${width - right}`, class: "grid" }), label(value.toFixed(2).replace(/^0(?=\.)/, ""), { x: left - 6, y: y(value) + 4, "text-anchor": "end" }));
  }
  series.forEach((points, n) => {
    const kind = n ? "second " : "", shift = series.length > 1 ? (n ? 5 : -5) : 0; // so that whiskers do not cover each other
    picture.append(svg("path", { d: points.map((p, i) => `${i ? "L" : "M"}${places[i] + shift} ${y(p.mean)}`).join(""), class: kind + "curve" }));
    points.forEach((point, i) => {
      const at = places[i] + shift, [from, to] = point.interval.map(y);
      picture.append(svg("path", { d: `M${at - 4} ${from}H${at + 4}M${at} ${from}V${to}M${at - 4} ${to}H${at + 4}`, class: kind + "interval" }),
        svg("circle", { cx: at, cy: y(point.mean), r: point.strong ? 6 : 4, class: kind + "point" }));
      const crowded = points[i + 1] && places[i + 1] - places[i] < 5 * Math.max(String(point.name).length, (point.note ?? "").length) + 10;
      if (n || crowded) return;
      picture.append(label(point.name, { x: places[i], y: height - bottom + 20, "text-anchor": "middle" }));
      if (point.note) picture.append(label(point.note, { x: places[i], y: height - 8, "text-anchor": "middle", class: "note" }));
    });
  });
  return picture;
}

// A mean with its interval as a line with a point, on the axis from `low` to `high`; `zero` marks no difference.
export function forest({ mean, interval }, low, high, { zero = false, name = "meter" } = {}) {
  const x = (value) => 100 * (value - low) / (high - low || 1);
  const picture = svg("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", class: name, "aria-hidden": "true" });
  picture.append(svg("path", { d: "M0 6H100", class: "grid" }), ...(zero ? [svg("path", { d: `M${x(0)} 0V12`, class: "axis" })] : []),
    svg("path", { d: `M${x(interval[0])} 6H${x(interval[1])}M${x(interval[0])} 3V9M${x(interval[1])} 3V9`, class: "interval" }),
    svg("rect", { x: x(mean) - 1.5, y: 2, width: 3, height: 8, class: "point" }));
  return picture;
}

// Queries won, tied and lost, as parts of one bar.
export function tally({ wins, ties, losses }) {
  const all = wins + ties + losses || 1, picture = svg("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" });
  let at = 0;
  for (const [n, name] of [[wins, "plus"], [ties, "tie"], [losses, "minus"]]) {
    picture.append(svg("rect", { x: at, y: 0, width: 100 * n / all, height: 6, class: name }));
    at += 100 * n / all;
  }
  return picture;
}

// Differences of all queries as upright bars, the largest gain on the left.
export function waterfall(values) {
  const gain = Math.max(...values, 0), loss = Math.max(...values.map((value) => -value), 0), scale = 40 / (gain + loss || 1), zero = gain * scale, width = 100 / values.length;
  const picture = svg("svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", class: "waterfall", "aria-hidden": "true" });
  values.forEach((value, i) => picture.append(svg("rect", { x: i * width, y: zero - Math.max(value, 0) * scale, width: 0.8 * width, height: Math.abs(value) * scale, class: value < 0 ? "minus" : "plus" })));
  picture.append(svg("path", { d: `M0 ${zero}H100`, class: "axis" }));
  return picture;
}

// One horizontal bar from the middle: right of it is a gain, left of it a loss.
export function differenceBar(value, largest) {
  const length = 50 * Math.min(1, Math.abs(value) / (largest || 1));
  const picture = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "difference", "aria-hidden": "true" });
  picture.append(svg("rect", { x: value < 0 ? 50 - length : 50, y: 1, width: length, height: 8, class: value < 0 ? "minus" : "plus" }),
    svg("path", { d: "M50 0V10", class: "axis" }));
  return picture;
}

// Values of one query over versions, oldest first.
export function sparkline(values) {
  const x = (i) => 3 + (values.length > 1 ? 54 * i / (values.length - 1) : 27), y = (v) => 15 - 12 * v;
  const picture = svg("svg", { viewBox: "0 0 60 18", class: "spark", role: "img", "aria-label": values.map((v) => v.toFixed(2)).join(", then ") });
  if (values.length > 1) picture.append(svg("path", { d: values.map((v, i) => `${i ? "L" : "M"}${x(i)} ${y(v)}`).join(""), class: "curve" }));
  picture.append(svg("circle", { cx: x(values.length - 1), cy: y(values.at(-1)), r: 2.5, class: "point" }));
  return picture;
}
