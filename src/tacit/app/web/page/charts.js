// Charts in plain SVG: differences by query, measures over versions, the learning curve, sparklines.

export function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes ?? {})) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const label = (text, attributes) => svg("text", { "font-size": 12, fill: "currentColor", ...attributes }, String(text));

// Points {at, name, mean, interval} with intervals as whiskers. `scaled`: distances on the axis are those of `at`.
export function intervals(points, { title, scaled = false, height = 220 }) {
  const width = 480, left = 46, right = 16, top = 12, bottom = 28;
  const low = Math.max(0, Math.min(...points.map((p) => p.interval[0]))), high = Math.min(1, Math.max(...points.map((p) => p.interval[1])));
  const span = high - low || 1, most = Math.max(...points.map((p) => p.at), 1);
  const x = (point, place) => left + 24 + (width - left - right - 48) * (scaled ? point.at / most : points.length > 1 ? place / (points.length - 1) : 0.5);
  const y = (value) => top + (height - top - bottom) * (high - Math.min(Math.max(value, low), high)) / span;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${points.map((p) => `${p.name} ${p.mean.toFixed(3)}`).join(", ")}` });
  for (const value of [low, (low + high) / 2, high]) {
    picture.append(svg("path", { d: `M${left} ${y(value)}H${width - right}`, class: "grid" }), label(value.toFixed(2), { x: left - 6, y: y(value) + 4, "text-anchor": "end" }));
  }
  picture.append(svg("path", { d: points.map((p, i) => `${i ? "L" : "M"}${x(p, i)} ${y(p.mean)}`).join(""), class: "curve" }));
  points.forEach((point, i) => {
    const at = x(point, i), [from, to] = point.interval.map(y);
    picture.append(svg("path", { d: `M${at - 4} ${from}H${at + 4}M${at} ${from}V${to}M${at - 4} ${to}H${at + 4}`, class: "interval" }),
      svg("circle", { cx: at, cy: y(point.mean), r: point.strong ? 6 : 4, class: "point" }),
      ...(points[i + 1] && x(points[i + 1], i + 1) - at < 5 * String(point.name).length + 10 ? [] : [label(point.name, { x: at, y: height - 8, "text-anchor": "middle" })]));
  });
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
