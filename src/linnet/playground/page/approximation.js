// Universal approximation: a function on an interval, with a network built and a network trained to approximate it.
import { frameOf } from "./charts.js";
import { draw, make, of, select, short, slider } from "./dom.js";

export class Approximation {
  constructor(link, store, { functions, curve }) {
    this.link = link;
    this.store = store;
    this.functions = functions;
    this.defaults = curve;
    this.asked = { ...curve, ...store.state.curve };
    const svg = of("built-chart");
    svg.addEventListener("pointerdown", (event) => this.#draw(event, true));
    svg.addEventListener("pointermove", (event) => event.buttons === 1 && this.#draw(event, false));
    for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => this.#drawn());
    this.#controls();
  }

  set active(on) {
    if (on && !this.found && !this.waiting) this.#ask({});
    else if (on) this.redraw();
  }

  /** Request the curves for the current settings; while a reply is pending, once it has arrived. */
  #ask(changes) {
    Object.assign(this.asked, changes);
    const differs = ([name, value]) => JSON.stringify(value) !== JSON.stringify(this.defaults[name]);
    this.store.set({ curve: Object.fromEntries(Object.entries(this.asked).filter(differs)) });
    this.stale = true;
    if (this.waiting) return;
    this.waiting = true;
    this.stale = false;
    this.link.send("approximate", { curve: this.asked });
  }

  /** Take the settings of a link. */
  take(curve) {
    const wanted = { ...this.defaults, ...curve };
    if (JSON.stringify(wanted) === JSON.stringify(this.asked)) return;
    this.asked = wanted;
    this.#controls();
    if (this.found || this.waiting) this.#ask({});
  }

  /** A reply has arrived, possibly an error. */
  answered() {
    this.waiting = false;
    if (this.stale) this.#ask({});
  }

  #controls() {
    const { asked } = this;
    const limit = (name, label) => {
      const input = make("input", { type: "number", step: 0.5, min: -10, max: 10, "aria-label": label, onchange: () => this.#ask({ [name]: Number(input.value) }) });
      input.value = asked[name];
      return make("label", {}, make("span", {}, label), input);
    };
    this.choice = select("Function", [...this.functions, ["drawn", "drawn by hand"]], asked.points ? "drawn" : asked.function, (name) => name !== "drawn" && this.#ask({ function: name, points: null }));
    const units = slider("Units", { min: 1, max: 64, step: 1 }, asked.units, (value) => this.#ask({ units: value }));
    units.classList.add("long");
    of("approximation-controls").replaceChildren(
      this.choice, limit("low", "From"), limit("high", "To"),
      select("Activation", [["relu", "ReLU"], ["sigmoid", "sigmoid"]], asked.kind, (kind) => this.#ask({ kind })),
      units,
      select("Epochs of training", [0, 100, 500, 2000, 5000, 20000], asked.epochs, (epochs) => this.#ask({ epochs: Number(epochs) })));
  }

  show(found) {
    this.found = found;
    this.answered();
    const all = [...found.f, ...found.built];
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const margin = 0.12 * (high - low) || 1;
    this.range = [low - margin, high + margin];
    const kind = found.kind === "relu" ? "ReLU" : "sigmoid";
    of("built-says").textContent = `${found.units} ${kind} unit${found.units === 1 ? "" : "s"}, sup-norm error ${short(found.error, 4)}`;
    of("trained-says").textContent = `${found.asked} ${kind} unit${found.asked === 1 ? "" : "s"}, ${found.epochs.toLocaleString("en-US")} epochs of Adam, sup-norm error ${short(found.trained_error, 4)}`;
    this.redraw();
  }

  /** Draw both charts in their current size. */
  redraw() {
    if (!this.found || !of("built-chart").clientWidth) return;
    this.#chart(of("built-chart"), this.found.built, true);
    this.#chart(of("trained-chart"), this.found.trained, false);
  }

  #chart(svg, values, built) {
    const { x, f, knots, parts } = this.found;
    const ends = [x[0], x.at(-1)];
    const place = (this.place = frameOf(svg, ends, this.range));
    const { left, top, width, height } = place.box;
    const [low, high] = this.range;
    const inside = (value) => Math.max(low, Math.min(high, value));
    const clip = `inside-${svg.id}`;
    svg.append(draw("clipPath", { id: clip }, draw("rect", { x: left, y: top, width, height })));
    const path = (ys) => ys.map((value, k) => `${k ? "L" : "M"}${place.x(x[k]).toFixed(1)} ${place.y(value).toFixed(1)}`).join("");
    const curve = (kind, ys) => draw("path", { class: `curve ${kind}`, d: path(ys), "clip-path": `url(#${clip})` });
    if (built) svg.append(...parts.map((part) => curve("part", part)));
    svg.append(curve("truth", f), curve("net", values));
    if (!built) return;
    const at = (knot) => values[Math.round(((knot - ends[0]) / (ends[1] - ends[0])) * (x.length - 1))];
    svg.append(...knots.map((knot) => draw("circle", { class: "knot", cx: place.x(knot), cy: place.y(inside(at(knot))), r: 4 })));
  }

  #draw(event, begins) {
    if (!this.found) return;
    const svg = of("built-chart");
    const { x: px, y: py } = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const { left, top, width, height } = this.place.box;
    const [low, high] = [this.found.x[0], this.found.x.at(-1)];
    const x = low + ((px - left) / width) * (high - low);
    const y = this.range[0] + (1 - (py - top) / height) * (this.range[1] - this.range[0]);
    if (begins) {
      svg.setPointerCapture(event.pointerId);
      const { x: xs, f } = this.found;
      this.hand = xs.map((at, k) => [at, f[k]]).filter((_, k) => k % 2 === 0);
      this.last = null;
    }
    const [from, to] = this.last ? [this.last, [x, y]].sort((a, b) => a[0] - b[0]) : [[x, y], [x, y]];
    for (const point of this.hand) {
      if (point[0] < from[0] - 0.02 || point[0] > to[0] + 0.02) continue;
      const part = to[0] > from[0] ? (point[0] - from[0]) / (to[0] - from[0]) : 0;
      point[1] = from[1] + Math.max(0, Math.min(1, part)) * (to[1] - from[1]);
    }
    this.last = [x, y];
    svg.querySelector(".hand")?.remove();
    svg.append(draw("path", { class: "curve hand", d: this.hand.map(([at, value], k) => `${k ? "L" : "M"}${this.place.x(at).toFixed(1)} ${this.place.y(value).toFixed(1)}`).join("") }));
  }

  #drawn() {
    if (!this.hand || !this.last) return;
    this.choice.querySelector("select").value = "drawn";
    this.#ask({ points: this.hand.map((point) => point.map((value) => Math.round(value * 1000) / 1000)) });
    this.last = null;
  }
}
