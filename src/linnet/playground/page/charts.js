// Curves by epoch, precision and recall, and the confusion matrix.
import { colour, css } from "./paint.js";
import { draw, make, of, short } from "./dom.js";

const PINNED_POINTS = 80; // of a pinned curve

/** About four round numbers from low to high. */
function ticks(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(Math.abs(value) < step * 1e-9 ? 0 : value);
  return found;
}

/** A number in at most six characters. */
function brief(value) {
  const size = Math.abs(value);
  if (size >= 1e9 || (size < 1e-3 && size > 0)) return value.toExponential(1).replace("e+", "e").replace(".0e", "e");
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  return size >= 1e4 ? `${Number((value / 1e3).toPrecision(3))}k` : String(Number(value.toPrecision(4)));
}

/** The next round number: axes that grow with every epoch would need new labels in every frame. */
function rounded(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((factor) => factor * power).find((size) => size >= value * 0.999999);
}

/** Make the axes of a chart, or keep unchanged ones, and remove everything else. A unit is a pixel. */
function frameOf(svg, [low, high], [bottom, top]) {
  const [wide, tall] = [svg.clientWidth || 340, svg.clientHeight || 180];
  const levels = ticks(bottom, top);
  const left = Math.max(36, 10 + 6.5 * Math.max(...levels.map((value) => brief(value).length))); // room for the labels
  const box = { left, top: 8, width: wide - left - 12, height: tall - 8 - 22 };
  const x = (value) => box.left + ((value - low) / (high - low)) * box.width;
  const y = (value) => box.top + (1 - (value - bottom) / (top - bottom)) * box.height;
  const limits = [low, high, bottom, top, wide, tall].join();
  if (svg.limits === limits) {
    while (svg.childNodes.length > svg.axes) svg.lastChild.remove();
    return { x, y, box };
  }
  svg.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
  const parts = [];
  for (const value of levels) {
    parts.push(draw("line", { class: "grid", x1: box.left, x2: box.left + box.width, y1: y(value), y2: y(value) }));
    parts.push(draw("text", { x: box.left - 6, y: y(value) + 4, "text-anchor": "end" }, brief(value)));
  }
  for (const value of ticks(low, high)) parts.push(draw("text", { x: x(value), y: box.top + box.height + 16, "text-anchor": "middle" }, brief(value)));
  svg.replaceChildren(...parts);
  [svg.limits, svg.axes] = [limits, parts.length];
  return { x, y, box };
}

/** A path through values, by at most some hundred points. */
function path(xs, ys, x, y, top) {
  const step = Math.max(1, Math.floor(xs.length / 400));
  let d = "";
  for (let k = 0; k < xs.length; k += step) {
    const at = k + step >= xs.length ? xs.length - 1 : k;
    if (ys[at] === null || !Number.isFinite(ys[at])) continue;
    d += `${d ? "L" : "M"}${x(xs[at]).toFixed(1)} ${y(Math.min(top, ys[at])).toFixed(1)}`;
  }
  return d;
}

/** A run that is pinned, as text for the link: place, name and metric, then epochs, losses and metrics. */
function packed(place, name, metric, run) {
  const last = run.epoch.length - 1;
  const kept = [...new Set(Array.from({ length: PINNED_POINTS }, (_, k) => Math.round(last * (k / (PINNED_POINTS - 1)) ** 2)))]; // curves turn early
  const text = (values) => kept.map((k) => (values[k] === null ? "" : Number(values[k].toPrecision(5)))).join("_");
  return [place, name, metric, ...[run.epoch, ...run.loss, ...run.metric].map(text)].join("*");
}

/** The run that `packed` wrote; null for anything else. */
function unpacked(pin) {
  if (typeof pin !== "string") return null;
  const [place, name, metric, ...texts] = pin.split("*");
  const [epoch, ...curves] = texts.map((text) => text.split("_").map((value) => (value === "" ? null : Number(value))));
  const isWhole = ["0", "1", "2", "3"].includes(place) && curves.length === 4 && curves.every((values) => values.length === epoch.length);
  if (!isWhole || !epoch.every(Number.isFinite) || !curves.flat().every((value) => value === null || Number.isFinite(value))) return null;
  return { place: Number(place), name, metric, run: { epoch, loss: curves.slice(0, 2), metric: curves.slice(2) } };
}

export class Curves {
  constructor(store) {
    this.store = store;
    this.take(store.state);
    this.clear();
  }

  /** Show the runs that a state has pinned. */
  take({ pins }) {
    this.pins = pins.map(unpacked).filter(Boolean);
  }

  clear() {
    this.run = { epoch: [], loss: [[], []], metric: [[], []] };
  }

  /** Take note of a frame. */
  add(frame) {
    const { run } = this;
    const at = frame.epoch + frame.step / frame.steps;
    if (run.epoch.length && run.epoch.at(-1) >= at) this.#drop(at);
    run.epoch.push(at);
    for (const which of [0, 1]) {
      run.loss[which].push(frame.loss[which]);
      run.metric[which].push(frame.metric[which]);
    }
    if (run.epoch.length > 3000) this.#thin();
  }

  #drop(at) {
    while (this.run.epoch.length && this.run.epoch.at(-1) >= at) this.#each((values) => values.pop());
  }

  #thin() {
    this.#each((values) => {
      const kept = values.filter((_, k) => k % 2 === 0 || k === values.length - 1);
      values.splice(0, values.length, ...kept);
    });
  }

  #each(change) {
    [this.run.epoch, ...this.run.loss, ...this.run.metric].forEach(change);
  }

  /** Keep this run's curves for comparison, replacing the oldest if necessary; return a message for the user, or "". */
  pin(name, metric) {
    if (this.run.epoch.length < 2) return "Train first: there is no curve to pin yet.";
    const free = [0, 1, 2, 3].find((place) => !this.pins.some((pin) => pin.place === place));
    const [oldest] = this.pins;
    const place = free ?? oldest.place;
    this.store.set({ pins: [...this.#without(place), packed(place, name, metric, this.run)] });
    return free === undefined ? `At most four runs can be pinned: the oldest, ${oldest.name}, was removed.` : "";
  }

  #without(place) {
    return this.store.state.pins.filter((pin) => unpacked(pin) && unpacked(pin).place !== place);
  }

  draw(metric) {
    this.#chart(of("loss-chart"), "loss", () => true);
    this.#chart(of("metric-chart"), "metric", (pin) => pin.metric === metric);
  }

  #chart(svg, what, fits) {
    const pins = this.pins.filter(fits);
    const runs = [this.run, ...pins.map((pin) => pin.run)];
    const last = rounded(Math.max(1, ...runs.map((run) => run.epoch.at(-1) ?? 0)));
    const values = runs.flatMap((run) => run[what].flat()).filter((value) => value !== null && Number.isFinite(value));
    const first = runs.flatMap((run) => run[what].map((side) => side[0])).filter(Number.isFinite);
    let low = Math.min(0, ...values);
    let high = what === "loss" ? Math.min(Math.max(...values, -Infinity), Math.max(...first, 0.01) * 2) : 1;
    if (what === "metric") low = Math.max(-0.2, Math.min(0, ...values));
    if (!(high > low)) high = low + 1;
    if (what === "loss") [low, high] = [low < 0 ? -rounded(-low) : 0, high > 0 ? rounded(high) : 0];
    const { x, y } = frameOf(svg, [0, last], [low, high]);
    const cut = (ys) => ys.map((value) => (value === null ? null : Math.max(low, value)));
    for (const pin of pins) {
      for (const [which, side] of ["train", "test"].entries()) {
        svg.append(draw("path", { class: `line pinned ${side} pin${pin.place}`, d: path(pin.run.epoch, cut(pin.run[what][which]), x, y, high) }));
      }
    }
    for (const [which, side] of ["train", "test"].entries()) {
      svg.append(draw("path", { class: `line ${side}`, d: path(this.run.epoch, cut(this.run[what][which]), x, y, high) }));
    }
  }

  listPins() {
    of("pins").replaceChildren(...["train", "test"].map((side) => make("span", {}, make("i", { class: `key ${side}` }), side)),
      ...this.pins.map((pin) => make("span", { class: "pin", title: pin.name },
        draw("svg", { viewBox: "0 0 16 8" }, draw("line", { x1: 0, x2: 16, y1: 4, y2: 4, "stroke-width": 3, class: `pin${pin.place}` })),
        make("span", {}, pin.name),
        make("button", { type: "button", "aria-label": `Remove ${pin.name}`, onclick: () => this.store.set({ pins: this.#without(pin.place) }) }, "×"))));
  }
}

export class PrecisionRecall {
  /** `moved(threshold)` is called when the mark is dragged. */
  constructor(svg, moved) {
    this.svg = svg;
    this.moved = moved;
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      this.#drag(event);
    });
    svg.addEventListener("pointermove", (event) => event.buttons === 1 && this.#drag(event));
  }

  draw(frame, threshold) {
    const { thresholds, tp, fp } = frame.arrays;
    const positives = tp[tp.length - 1];
    const total = positives + fp[fp.length - 1];
    const { x, y, box } = frameOf(this.svg, [0, 1], [0, 1]);
    this.box = box;
    this.points = Array.from(thresholds, (cut, k) => ({ cut, recall: positives ? tp[k] / positives : 0, precision: tp[k] / (tp[k] + fp[k]) }));
    const d = this.points.map((point, k) => `${k ? "L" : "M"}${x(point.recall).toFixed(1)} ${y(point.precision).toFixed(1)}`).join("");
    let at = -1;
    while (at + 1 < this.points.length && this.points[at + 1].cut >= threshold) at++;
    const now = this.points[at] ?? { recall: 0, precision: 1 };
    this.svg.append(
      draw("line", { class: "grid", "stroke-dasharray": "3 4", x1: box.left, x2: box.left + box.width, y1: y(positives / total), y2: y(positives / total) }),
      draw("path", { class: "line train", d }),
      draw("circle", { class: "mark", cx: x(now.recall), cy: y(now.precision), r: 7 }));
    const f1 = now.recall + now.precision > 0 ? (2 * now.recall * now.precision) / (now.recall + now.precision) : 0;
    const metrics = { precision: now.precision, recall: now.recall, F1: f1 };
    of("pr-says").replaceChildren(...Object.entries(metrics).map(([name, value]) => make("span", {}, `${name} `, make("b", {}, value.toFixed(2)))));
  }

  #drag(event) {
    if (!this.points?.length) return;
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    const { left, top, width, height } = this.box;
    const [recall, precision] = [(place.x - left) / width, 1 - (place.y - top) / height];
    const near = (point) => (point.recall - recall) ** 2 + ((point.precision - precision) / 2) ** 2;
    const best = this.points.reduce((found, point) => (near(point) < near(found) ? point : found));
    this.moved(Math.min(1, Math.max(0, Math.round(best.cut * 1000) / 1000)));
  }
}

/** One row per actual class, one column per predicted class. */
export function drawConfusion(table, counts, classes) {
  const now = JSON.stringify([counts, classes, document.documentElement.dataset.theme]);
  if (table.shown === now) return;
  table.shown = now;
  const many = classes.length > 6;
  table.classList.toggle("many", many);
  const head = make("tr", {}, make("th", { "aria-label": "actual class by predicted class" }, ""), ...classes.map((name) => make("th", { scope: "col", title: name }, name)));
  const rows = counts.map((row, actual) => {
    const sum = row.reduce((total, value) => total + value, 0);
    return make("tr", {}, make("th", { scope: "row", title: classes[actual] }, classes[actual]), ...row.map((value, predicted) => {
      const cell = make("td", { title: `actual ${classes[actual]}, predicted ${classes[predicted]}: ${value}` }, String(value));
      const share = sum ? value / sum : 0;
      if (share) cell.style.background = css(colour(actual === predicted ? "s1" : "s2"), 0.12 + 0.5 * share);
      return cell;
    }));
  });
  table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
}

export { brief, frameOf, short };
