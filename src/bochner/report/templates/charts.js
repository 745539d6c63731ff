"use strict";
// Charts as SVG: lines with marks and error bars, bars, and maps of colours; values under the
// pointer, a frame to look closer, a double click for the whole. Texts may hold <b>, <sup> and <br>.
const Charts = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const NEAR = 24; // pixels from the pointer to a mark that it means
  const DASHES = { solid: "none", dash: "6 4", dot: "2 3", dashdot: "7 3 2 3", longdash: "10 4" };
  const CIRCLE = "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z";
  const SCALES = { Cividis: ["#00204d", "#31446b", "#666970", "#958f78", "#cab969", "#ffe945"].map((c, i) => [i / 5, c]) };

  const make = (parent, tag, attributes = {}) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    parent.append(element);
    return element;
  };
  const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
  const short = (value, digits = 3) => String(Number(value.toPrecision(digits)));

  // ---- text: lines of words, some bold, some raised; never read as HTML

  const unescaped = (text) => text.replace(/&(lt|gt|amp);/g, (_, name) => ({ lt: "<", gt: ">", amp: "&" })[name]);
  const write = (text, words, x, y, step) => {
    let bold = false;
    let raised = false;
    words.split("<br>").forEach((line, i) => {
      let start = { x, y: y + i * step };
      for (const part of line.split(/(<\/?(?:b|sup)>)/)) {
        if (part === "<b>" || part === "</b>") bold = part === "<b>";
        else if (part === "<sup>" || part === "</sup>") raised = part === "<sup>";
        else if (part) {
          const look = { ...start, ...(bold && { "font-weight": 600 }), ...(raised && { dy: "-.4em", "font-size": "75%" }) };
          make(text, "tspan", look).textContent = unescaped(part);
          start = {};
        }
      }
    });
    return text;
  };
  const ruler = document.createElement("canvas").getContext("2d");
  const widthOf = (words, font) => {
    ruler.font = `${font.size}px ${font.family}`;
    return Math.max(...words.split("<br>").map((line) => ruler.measureText(unescaped(line.replace(/<[^>]*>/g, ""))).width));
  };

  // ---- axes: values to places from 0 to 1, by their logarithm where that is asked for

  const niceTicks = (low, high, most) => {
    const rough = (high - low) / most;
    const unit = 10 ** Math.floor(Math.log10(rough));
    const step = unit * ([1, 2, 5, 10].find((f) => f * unit >= rough) ?? 10);
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-12) + 1e-300; k++) ticks.push(Number((k * step).toPrecision(12)));
    return ticks;
  };
  const logTicks = (low, high, most) => {
    const decades = [];
    for (let k = Math.floor(Math.log10(low)); k <= Math.log10(high); k++) decades.push(k);
    for (const factors of [[1, 2, 5], [1]]) {
      const ticks = decades.flatMap((k) => factors.map((f) => f * 10 ** k)).filter((tick) => tick >= low && tick <= high);
      if (ticks.length < 2) break;
      if (ticks.length <= most) return ticks;
    }
    return decades.length > most ? decades.filter((_, i) => i % Math.ceil(decades.length / most) === 0).map((k) => 10 ** k) : niceTicks(low, high, most);
  };
  const tickText = (value) => {
    if (value === 0 || (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e6)) return String(value);
    const exponent = Math.floor(Math.log10(Math.abs(value)) + 1e-9);
    const factor = short(value / 10 ** exponent);
    return `${factor === "1" ? "" : `${factor}·`}10<sup>${exponent}</sup>`;
  };
  const axisOf = (given, values, zoom, most, pad) => {
    const isLog = given.type === "log";
    const place = (value) => (isLog ? Math.log10(value) : value);
    const usable = values.filter((value) => isNumber(value) && (!isLog || value > 0)).map(place);
    let [low, high] = given.range ?? [Math.min(...usable), Math.max(...usable)];
    if (!isNumber(low) || !isNumber(high)) [low, high] = [0, 1];
    if (low === high) [low, high] = [low - (isLog ? 0.25 : Math.abs(low) / 10 || 1), high + (isLog ? 0.25 : Math.abs(high) / 10 || 1)];
    if (!given.range) [low, high] = [low - pad * (high - low), high + pad * (high - low)];
    if (given.rangemode === "tozero") low = 0;
    const own = given.tickvals && !zoom;
    if (zoom) [low, high] = zoom;
    let ticks = own ? given.tickvals : [];
    if (!own) {
      const [first, last] = isLog ? [10 ** low, 10 ** high] : [low, high];
      ticks = isLog ? logTicks(first, last, most) : niceTicks(first, last, most);
    }
    const texts = own ? given.ticktext : ticks.map(tickText);
    const flip = given.autorange === "reversed";
    const at = (value) => {
      const share = (place(value) - low) / (high - low);
      return flip ? 1 - share : share;
    };
    const shown = ticks.map((tick, i) => [at(tick), texts[i]]).filter(([share]) => share > -1e-6 && share < 1 + 1e-6);
    return { at, ticks: shown, back: (share) => low + share * (high - low), own: Boolean(own), isLog };
  };

  // ---- colours of numbers

  const channels = (colour) => {
    ruler.fillStyle = colour;
    return [1, 3, 5].map((i) => parseInt(ruler.fillStyle.slice(i, i + 2), 16));
  };
  const colourScale = (scale) => {
    const stops = (SCALES[scale] ?? scale).map(([share, colour]) => [share, channels(colour)]);
    return (share) => {
      const s = Math.min(1, Math.max(0, share));
      let i = 0;
      while (i < stops.length - 2 && stops[i + 1][0] <= s) i++;
      const [[a, from], [b, to]] = [stops[i], stops[i + 1]];
      return from.map((v, k) => Math.round(v + (b > a ? (s - a) / (b - a) : 0) * (to[k] - v)));
    };
  };
  const pixels = (rows, columns, colour) => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [columns, rows];
    const context = canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    for (let i = 0; i < rows * columns; i++) {
      const found = colour(rows - 1 - Math.floor(i / columns), i % columns); // the first row is the lowest
      if (found) image.data.set([...found, 255], 4 * i);
    }
    context.putImageData(image, 0, 0);
    return canvas.toDataURL();
  };
  const limitsOf = (trace) => {
    const values = trace.z.flat().filter(isNumber);
    return [trace.zmin ?? Math.min(...values), trace.zmax ?? Math.max(...values)];
  };

  // ---- a chart

  const valuesOf = (data, name) =>
    data.flatMap((trace) => {
      const error = name === "y" && trace.error_y ? trace.error_y.array : [];
      const bars = error.flatMap((e, i) => (isNumber(e) && isNumber(trace.y[i]) ? [trace.y[i] - e, trace.y[i] + e] : []));
      return [...trace[name], ...bars, ...(trace.type === "bar" && name === "x" ? [0] : [])];
    });

  const draw = (place, data, layout) => {
    const font = layout.font;
    if (layout.height) place.style.height = `${layout.height}px`;
    const width = layout.width ?? place.clientWidth;
    const height = layout.height ?? place.clientHeight;
    const seen = data.filter((trace) => trace.visible !== false);
    const state = place.chart ?? {};
    const { zoom } = state;
    const bar = data.find((trace) => trace.type === "heatmap" && trace.showscale !== false);
    const tickFont = { size: layout.yaxis.tickfont.size, family: font.family };
    const tall = height - layout.margin.t - layout.margin.b;
    const pad = data.some((trace) => trace.type === "bar") ? 0 : 0.05;
    const most = layout.yaxis.nticks ?? Math.max(2, Math.floor(tall / 45));
    const y = axisOf(layout.yaxis, valuesOf(data, "y"), zoom?.y, most, data.some((t) => t.type === "bar") ? 0.03 : pad);
    const left = Math.max(layout.margin.l, 12 + Math.max(0, ...y.ticks.map(([, text]) => widthOf(text, tickFont))));
    const box = { left, top: layout.margin.t, right: width - layout.margin.r - (bar ? 56 : 0), bottom: height - layout.margin.b };
    const wide = Math.max(10, box.right - box.left);
    const across = layout.xaxis.nticks ?? Math.max(2, Math.floor(wide / 80));
    const x = axisOf(layout.xaxis, valuesOf(data, "x"), zoom?.x, across, pad);
    const px = (value) => box.left + x.at(value) * wide;
    const py = (value) => box.bottom - y.at(value) * (box.bottom - box.top);

    const svg = document.createElementNS(SVG, "svg");
    const size = { width, height, viewBox: `0 0 ${width} ${height}` };
    for (const [name, value] of Object.entries({ class: "main-svg", ...size, "font-family": font.family })) svg.setAttribute(name, value);
    const frame = { x: box.left, y: box.top, width: wide, height: Math.max(0, box.bottom - box.top) };
    make(make(make(svg, "defs"), "clipPath", { id: `inside-${place.id}` }), "rect", frame);
    drawAxes(svg, layout, x, y, box, wide, width, font);
    make(svg, "rect", { class: "nsewdrag", ...frame, fill: "transparent" });
    const inside = make(svg, "g", { "clip-path": `url(#inside-${place.id})`, "pointer-events": "none" });
    const marks = [];
    for (const trace of seen.filter((one) => one.type === "heatmap")) drawHeat(make(inside, "g", { class: "hm" }), trace, px, py);
    for (const trace of seen.filter((one) => one.type === "bar")) drawBars(make(inside, "g", { class: "bars" }), trace, px, py, marks);
    const layer = make(inside, "g", { class: "scatterlayer" });
    for (const trace of seen.filter((one) => one.type === "scatter")) drawLine(layer, trace, px, py, marks);
    if (bar) drawBar(svg, bar, box, width, tickFont);
    const heat = seen.find((one) => one.type === "heatmap" && one.hoverinfo !== "skip");
    const closer = layout.dragmode === "zoom" && !layout.xaxis.fixedrange;
    place.replaceChildren(svg);
    place.chart = { zoom, width, closer, ticks: x.own ? "given" : "found", ink: font.color };
    listen(place, svg, { data, layout, box, x, y, marks, heat, px, py, closer });
  };

  const drawAxes = (svg, layout, x, y, box, wide, width, font) => {
    const text = (parent, words, at, look) => write(make(parent, "text", { fill: look.color, "font-size": look.size, ...at }), words, at.x, at.y, 16);
    for (const [share, words] of y.ticks) {
      const at = box.bottom - share * (box.bottom - box.top);
      const tick = make(svg, "g", { class: "ytick" });
      if (layout.yaxis.showgrid !== false) make(tick, "line", { x1: box.left, x2: box.right, y1: at, y2: at, stroke: layout.yaxis.gridcolor });
      text(tick, words, { x: box.left - 6, y: at + 4, "text-anchor": "end" }, layout.yaxis.tickfont);
    }
    make(svg, "line", { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, stroke: layout.xaxis.linecolor });
    for (const [share, words] of x.ticks) {
      const at = box.left + share * wide;
      const tick = make(svg, "g", { class: "xtick" });
      make(tick, "line", { x1: at, x2: at, y1: box.bottom, y2: box.bottom + 4, stroke: layout.xaxis.tickcolor });
      text(tick, words, { x: at, y: box.bottom + 17, "text-anchor": "middle" }, layout.xaxis.tickfont);
    }
    const title = layout.xaxis.title;
    if (title?.text) text(svg, title.text, { x: box.left + wide / 2, y: box.bottom + 38, "text-anchor": "middle" }, title.font);
    if (layout.title?.text) text(svg, layout.title.text, { x: 4, y: 18 }, layout.title.font);
  };

  const drawLine = (layer, trace, px, py, marks) => {
    const group = make(layer, "g", { class: "trace", opacity: trace.opacity ?? 1, style: `opacity:${trace.opacity ?? 1}` });
    const points = trace.x.map((v, i) => (isNumber(v) && isNumber(trace.y[i]) ? [px(v), py(trace.y[i])] : null));
    const given = points.map((point) => point && point.every(Number.isFinite));
    if (trace.mode.includes("lines")) {
      const path = points.map((p, i) => (given[i] ? `${i && given[i - 1] ? "L" : "M"}${p[0].toFixed(2)} ${p[1].toFixed(2)}` : "")).join("");
      const { color, width, dash } = trace.line;
      make(group, "path", { class: "js-line", d: path, fill: "none", stroke: color, "stroke-width": width, "stroke-dasharray": DASHES[dash] ?? "none" });
    }
    const bars = trace.error_y;
    points.forEach((point, i) => {
      if (!given[i]) return;
      if (bars && isNumber(bars.array[i])) {
        const [low, high] = [py(trace.y[i] - bars.array[i]), py(trace.y[i] + bars.array[i])];
        const cap = (at) => `M${point[0] - bars.width} ${at}h${2 * bars.width}`;
        const d = `M${point[0]} ${low}V${high}${cap(low)}${cap(high)}`;
        make(group, "path", { class: "errorbar", d, stroke: bars.color, "stroke-width": bars.thickness, fill: "none" });
      }
      if (trace.mode.includes("markers")) drawMark(group, trace, i, point);
      if (trace.hovertemplate) marks.push({ trace, i, x: point[0], y: point[1] });
    });
  };

  const drawMark = (group, trace, i, [x, y]) => {
    const { marker } = trace;
    const size = (Array.isArray(marker.size) ? marker.size[i] : marker.size) / 8;
    let colour = marker.color;
    if (Array.isArray(colour)) {
      const share = (colour[i] - marker.cmin) / (marker.cmax - marker.cmin || 1);
      colour = isNumber(colour[i]) ? `rgb(${colourScale(marker.colorscale)(share)})` : "none";
    }
    const open = (marker.symbol ?? "").endsWith("-open");
    const edge = open ? { stroke: colour, fill: "none" } : { stroke: marker.line?.color ?? "none", fill: colour };
    const look = { "stroke-width": (marker.line?.width ?? 0) / size, transform: `translate(${x} ${y}) scale(${size})` };
    make(group, "path", { class: "point", d: trace.meta?.mark ?? CIRCLE, ...edge, ...look });
  };

  const drawBars = (group, trace, px, py, marks) => {
    const thick = Math.abs(py(1) - py(0)) * 0.8;
    trace.x.forEach((value, i) => {
      const at = { x: px(0), y: py(trace.y[i]) - thick / 2, width: Math.max(0, px(value) - px(0)), height: thick };
      make(group, "rect", { class: "point", ...at, fill: trace.marker.color });
      marks.push({ trace, i, x: px(value), y: py(trace.y[i]), from: px(0), thick });
    });
  };

  const drawHeat = (group, trace, px, py) => {
    const [low, high] = limitsOf(trace);
    const scale = colourScale(trace.colorscale);
    const [rows, columns] = [trace.z.length, trace.z[0].length];
    const url = pixels(rows, columns, (i, j) => (isNumber(trace.z[i][j]) ? scale((trace.z[i][j] - low) / (high - low || 1)) : null));
    const half = (values) => (values.length > 1 ? (values[1] - values[0]) / 2 : 0.5);
    const [dx, dy] = [half(trace.x), half(trace.y)];
    const [x0, x1] = [px(trace.x[0] - dx), px(trace.x[columns - 1] + dx)];
    const [y0, y1] = [py(trace.y[0] - dy), py(trace.y[rows - 1] + dy)];
    const at = { x: x0, y: y1, width: x1 - x0, height: y0 - y1, opacity: trace.opacity ?? 1 };
    make(group, "image", { href: url, ...at, preserveAspectRatio: "none", style: "image-rendering:pixelated" });
  };

  const drawBar = (svg, trace, box, width, font) => {
    const [low, high] = limitsOf(trace);
    const scale = colourScale(trace.colorscale);
    const tall = box.bottom - box.top;
    const group = make(svg, "g", { class: "colorbar" });
    const at = { x: box.right + 12, y: box.top, width: trace.colorbar.thickness, height: tall };
    make(group, "image", { href: pixels(64, 1, (i) => scale(i / 63)), ...at, preserveAspectRatio: "none" });
    for (const tick of high > low ? niceTicks(low, high, trace.colorbar.nticks) : []) {
      const y = box.bottom - ((tick - low) / (high - low)) * tall + 4;
      const look = { fill: trace.colorbar.tickfont.color, "font-size": trace.colorbar.tickfont.size };
      write(make(group, "text", { x: box.right + 25, y, ...look }), tickText(tick), box.right + 25, y, 14);
    }
  };

  // ---- pointer

  const filled = (template, values) =>
    template.replace("<extra></extra>", "").replace(/%\{(\w+)(:[^}]*)?\}/g, (_, name) => {
      const value = values[name];
      return typeof value === "number" ? short(value) : value ?? "";
    });
  const nearest = (marks, x, y) => {
    let found = null;
    let least = NEAR;
    for (const mark of marks) {
      const inBar = mark.thick && Math.abs(mark.y - y) <= mark.thick / 2 && x >= mark.from;
      const away = inBar ? 0 : Math.hypot(mark.x - x, mark.y - y);
      if (away < least) [found, least] = [mark, away];
    }
    return found;
  };
  const closest = (values, value) => values.reduce((best, v, i) => (Math.abs(v - value) < Math.abs(values[best] - value) ? i : best), 0);

  const listen = (place, svg, chart) => {
    const { layout, box, x, y } = chart;
    const at = (event) => {
      const { left, top } = svg.getBoundingClientRect();
      return [event.clientX - left, event.clientY - top];
    };
    const share = ([px, py]) => [(px - box.left) / (box.right - box.left), (box.bottom - py) / (box.bottom - box.top)];
    const isInside = ([px, py]) => px >= box.left && px <= box.right && py >= box.top && py <= box.bottom;
    let from = null;
    let frame = null;
    const hide = () => svg.querySelectorAll(".hovertext").forEach((one) => one.remove());
    const show = (here) => {
      hide();
      const mark = nearest(chart.marks, ...here);
      if (mark) {
        const { trace, i } = mark;
        const values = { text: trace.text?.[i], x: trace.x[i], y: trace.y[i] };
        label(svg, filled(trace.hovertemplate, values), mark.x, mark.y, layout);
      } else if (chart.heat && isInside(here)) {
        const { heat } = chart;
        const [sx, sy] = share(here);
        const [j, i] = [closest(heat.x, x.back(sx)), closest(heat.y, y.back(sy))];
        label(svg, filled(heat.hovertemplate, { x: heat.x[j], y: heat.y[i], z: heat.z[i][j] }), ...here, layout);
      }
    };
    svg.addEventListener("pointermove", (event) => {
      const here = at(event);
      if (!from) return show(here);
      const [[ax, ay], [bx, by]] = [from, here];
      const look = { x: Math.min(ax, bx), y: Math.min(ay, by), width: Math.abs(ax - bx), height: Math.abs(ay - by) };
      for (const [name, value] of Object.entries(look)) frame.setAttribute(name, value);
    });
    svg.addEventListener("pointerleave", hide);
    if (!chart.closer) return;
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !isInside(at(event))) return;
      from = at(event);
      svg.setPointerCapture(event.pointerId);
      frame = make(svg, "rect", { fill: layout.xaxis.linecolor, "fill-opacity": 0.4, stroke: layout.xaxis.tickfont.color });
      event.preventDefault();
    });
    svg.addEventListener("pointerup", (event) => {
      if (!from) return;
      const ends = [share(from), share(at(event))];
      const [moved, risen] = at(event).map((v, i) => Math.abs(v - from[i]));
      from = null;
      frame.remove();
      if (Math.max(moved, risen) < 6) return;
      const cut = (i, axis) => ends.map((end) => axis.back(Math.min(1, Math.max(0, end[i])))).sort((a, b) => a - b);
      const whole = (axis) => [axis.back(0), axis.back(1)];
      place.chart.zoom = { x: moved < 6 ? whole(x) : cut(0, x), y: risen < 6 ? whole(y) : cut(1, y) };
      draw(place, chart.data, layout);
    });
    svg.addEventListener("dblclick", () => {
      place.chart.zoom = undefined;
      draw(place, chart.data, layout);
    });
  };

  const label = (svg, words, x, y, layout) => {
    const look = layout.hoverlabel;
    const font = { size: look.font.size, family: layout.font.family };
    const lines = words.split("<br>").length;
    const [wide, tall] = [1.06 * widthOf(words, font) + 20, 18 * lines + 10];
    const room = svg.width.baseVal.value;
    const left = Math.max(2, Math.min(x + 10 + wide > room ? x - 10 - wide : x + 10, room - wide - 2));
    const top = Math.min(Math.max(2, y - tall / 2), svg.height.baseVal.value - tall - 2);
    const group = make(svg, "g", { class: "hovertext", "pointer-events": "none" });
    make(group, "rect", { x: left, y: top, width: wide, height: tall, rx: 3, fill: look.bgcolor, stroke: look.bordercolor });
    const text = make(group, "text", { fill: look.font.color, "font-size": look.font.size });
    write(text, words, left + 9, top + 19, 18);
  };

  const save = (place, name) => {
    const text = new XMLSerializer().serializeToString(place.querySelector("svg"));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    link.download = `${name}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  return { draw, save };
})();
