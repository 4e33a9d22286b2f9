// Backpropagation on one example, step by step: values go up, gradients come down.
import { draw, make, of, short, watchEdges } from "./dom.js";

const MOST = 10; // units of a column that are drawn
const SIZE = { width: 84, height: 44, gap: 14, column: 176 };
const SMALL = { width: 66, height: 44, gap: 10, column: 86 }; // on a phone
const number = (value) => short(value, 3).replaceAll("-", "−");

export class Backprop {
  constructor(link, store) {
    this.link = link;
    this.store = store;
    this.row = store.state.row;
    this.place = store.state.place;
    of("forth").onclick = () => this.#go(this.place + 1);
    of("back").onclick = () => this.#go(this.place - 1);
    of("other-row").onclick = () => this.#ask(this.row + 1);
    watchEdges(of("backprop-graph").parentElement);
    of("backprop-place").oninput = (event) => this.#go(Number(event.target.value));
  }

  set active(on) {
    this.isActive = on;
    this.renew();
  }

  /** Ask again about the same row: the network may have learned. */
  renew() {
    if (this.isActive && !this.asked) this.#ask(this.row);
  }

  /** The network has changed: what is shown is no longer true. */
  forget() {
    this.found = null;
    this.asked = false;
  }

  /** Take what a link says. */
  take({ row, place }) {
    if (row === this.row && place === this.place) return;
    [this.row, this.place] = [row, place];
    this.renew();
  }

  #ask(row) {
    const facts = window.playground.facts;
    if (!facts) return;
    this.asked = true;
    this.link.send("explain", { row: row % (facts.rows[0] + facts.rows[1]) });
  }

  show(message) {
    this.found = message;
    this.asked = false;
    this.row = message.row;
    this.store.set({ row: this.row });
    this.steps = this.#steps(message.layers.length);
    of("backprop-place").max = this.steps.length - 1;
    this.place = Math.min(this.place, this.steps.length - 1);
    this.unit = Math.min(this.unit ?? 0, MOST - 1);
    this.#render();
  }

  #steps(count) {
    const layers = Array.from({ length: count }, (_, k) => k);
    return [
      { kind: "inputs", layer: -1 },
      ...layers.map((layer) => ({ kind: "forward", layer })),
      { kind: "loss", layer: count - 1 },
      ...layers.toReversed().map((layer) => ({ kind: "back", layer })),
    ];
  }

  #go(place) {
    if (!this.found) return;
    this.link.send("pause");
    this.place = Math.max(0, Math.min(this.steps.length - 1, place));
    this.store.set({ place: this.place });
    this.unit = 0;
    this.#render();
  }

  #render() {
    const step = this.steps[this.place];
    const focused = of("backprop-graph").contains(document.activeElement);
    of("backprop-place").value = this.place;
    of("back").disabled = this.place === 0;
    of("forth").disabled = this.place === this.steps.length - 1;
    of("backprop-step").textContent = this.#says(step);
    this.#graph(step);
    of("backprop-formula").replaceChildren(...this.#formulas(step));
    if (focused) of("backprop-graph").querySelectorAll(".now")[this.unit]?.focus();
  }

  #name(layer) {
    return layer === this.found.layers.length - 1 ? "the output layer" : `hidden layer ${layer + 1}`;
  }

  #says({ kind, layer }) {
    const { row, target, held, loss } = this.found;
    const of_ = `Step ${this.place + 1} of ${this.steps.length}. `;
    if (kind === "inputs") return `${of_}Row ${row}${held ? " (held out)" : ""} enters the network. Its target is ${typeof target === "number" ? number(target) : target}.`;
    if (kind === "forward") return `${of_}Forward: ${this.#name(layer)} adds up its inputs times its weights, and bends the sum.`;
    if (kind === "loss") return `${of_}The answer is compared with the target: the loss is ${number(loss)}.`;
    return layer === this.found.layers.length - 1
      ? `${of_}Backward: how the loss changes with the output, and so with the weights below it.`
      : `${of_}Backward: what ${this.#name(layer)} has to answer for comes down the weights above it.`;
  }

  // ---- the graph ----

  #columns() {
    const { layers, inputs, x } = this.found;
    const last = layers.length - 1;
    const outputs = this.found.classes.length > 2 ? this.found.classes : null;
    return [
      x.slice(0, MOST).map((value, k) => ({ name: inputs[k], value, slope: layers[0].dx[k] })),
      ...layers.map((layer, l) => layer.h.slice(0, MOST).map((value, k) => ({ name: l === last ? outputs?.[k] ?? "output" : `h${k + 1}`, value, slope: layer.dz[k] }))),
    ];
  }

  /** Up to which column values are known, and down to which gradients are. */
  #known({ kind, layer }) {
    const last = this.found.layers.length;
    if (kind === "inputs") return [0, Infinity];
    if (kind === "forward") return [layer + 1, Infinity];
    if (kind === "loss") return [last, Infinity];
    return [last, layer + 1];
  }

  #graph(step) {
    const columns = this.#columns();
    const box = of("backprop-graph").parentElement;
    const parent = box.clientWidth || 900;
    const size = (this.size = parent < 560 ? SMALL : SIZE);
    const most = Math.max(...columns.map((column) => column.length));
    const height = most * (size.height + size.gap) + 34;
    const wide = Math.max(size.column * (columns.length - 1) + size.width + 8, Math.min(parent, 1100));
    const x = (column) => size.width / 2 + 4 + (column * (wide - size.width - 8)) / Math.max(1, columns.length - 1);
    const y = (column, k) => 26 + height / 2 - 8 + (k - columns[column].length / 2 + 0.5) * (size.height + size.gap);
    const [forward, back] = this.#known(step);
    const parts = [];
    columns.slice(1).forEach((column, layer) => {
      const isNow = step.layer === layer && step.kind !== "loss" && step.kind !== "inputs";
      const values = step.kind === "back" && isNow ? this.found.layers[layer].dw : this.found.layers[layer].w;
      const top = Math.max(1e-9, ...values.slice(0, MOST).flatMap((row) => row.slice(0, MOST).map(Math.abs)));
      columns[layer].forEach((_, i) => column.forEach((_, j) => {
        const [x1, y1, x2, y2] = [x(layer) + size.width / 2, y(layer, i), x(layer + 1) - size.width / 2, y(layer + 1, j)];
        const bend = (x2 - x1) * 0.4;
        const value = values[i][j];
        const chosen = isNow && j === this.unit;
        const path = draw("path", {
          class: `wire ${!isNow ? "quiet-wire" : value < 0 ? "negative" : "positive"}`, d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
          "stroke-width": isNow ? (0.6 + (4.5 * Math.abs(value)) / top).toFixed(2) : 1, "stroke-opacity": isNow ? (chosen ? 0.95 : 0.35) : 0.8,
        }, draw("title", {}, `${step.kind === "back" && isNow ? "∂L/∂w" : "w"} = ${number(value)}`));
        parts.push(path);
      }));
    });
    columns.forEach((column, c) => column.forEach((unit, k) => parts.push(this.#node(step, unit, c, k, x(c), y(c, k), c <= forward, c >= back))));
    const title = (name) => (size === SMALL ? name.replace("hidden ", "").replace("output layer", "output") : name);
    ["inputs", ...this.found.layers.map((_, l) => this.#name(l).replace("the ", ""))].forEach((name, c) => parts.push(draw("text", { x: x(c), y: 14 }, title(name))));
    const svg = of("backprop-graph");
    svg.setAttribute("viewBox", `0 0 ${wide} ${height + 26}`);
    svg.setAttribute("width", wide);
    svg.setAttribute("height", height + 26);
    svg.replaceChildren(...parts);
    if (step !== this.looked) box.scrollLeft = x(step.layer + 1) - parent / 2; // what is at work is to be seen
    this.looked = step;
  }

  #node(step, unit, column, k, x, y, hasValue, hasSlope) {
    const isNow = column === step.layer + 1;
    const choose = () => {
      if (!isNow) return;
      this.unit = k;
      this.#render();
    };
    const group = draw("g", {
      class: `stop ${isNow ? "now" : ""} ${isNow && k === this.unit ? "chosen" : ""} ${hasValue ? "" : "later"}`,
      transform: `translate(${x} ${y})`, tabindex: isNow ? 0 : -1, role: "button", "aria-label": `${unit.name}: ${hasValue ? number(unit.value) : "not known yet"}`,
      onclick: choose, onkeydown: (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), choose()),
    }, draw("rect", { x: -this.size.width / 2, y: -this.size.height / 2, width: this.size.width, height: this.size.height, rx: 9 }));
    if (hasSlope) {
      group.append(draw("text", { class: "value", y: -4 }, number(unit.value)), draw("text", { class: "slope", y: 13 }, `∂ ${number(unit.slope)}`));
    } else group.append(draw("text", { class: "value", y: hasValue ? -3 : 4 }, hasValue ? number(unit.value) : "?"), hasValue ? draw("text", { y: 13 }, unit.name.slice(0, 11)) : "");
    return group;
  }

  // ---- formulas ----

  #formulas(step) {
    const box = (title, lines) => make("div", {}, make("h3", {}, title), ...lines);
    const general = (text) => make("p", { class: "formula" }, text);
    const numbers = (text) => make("p", { class: "formula numbers-line" }, text);
    const { layers, x, formula } = this.found;
    const layer = layers[Math.max(0, step.layer)];
    const below = step.layer > 0 ? layers[step.layer - 1].h : x;
    const j = Math.min(this.unit, layer.h.length - 1);
    const last = step.layer === layers.length - 1;
    const sum = (terms) => terms.slice(0, 8).join(" + ").replaceAll("+ −", "− ") + (terms.length > 8 ? ` + … (${terms.length - 8} more)` : "");
    if (step.kind === "inputs") {
      return [box("Formula", [general("x = (x₁, …, x_d)")]), box("Numbers", [numbers(x.slice(0, 12).map((value, k) => `${this.found.inputs[k]} = ${number(value)}`).join(",  "))])];
    }
    if (step.kind === "forward") {
      const terms = below.map((value, i) => `${number(layer.w[i][j])}·${number(value)}`);
      return [
        box("Formula", [general("z = Σᵢ wᵢ xᵢ + b"), general(`h = ${last ? "mean" : "a"}(z) = ${layer.formula[0]}`)]),
        box(`Numbers of ${last && layer.h.length === 1 ? "the output" : `unit ${j + 1}`}`, [numbers(`z = ${sum(terms)} + ${number(layer.b[j])} = ${number(layer.z[j])}`.replaceAll("+ −", "− ")), numbers(`h = ${number(layer.h[j])}`)]),
      ];
    }
    if (step.kind === "loss") {
      return [box("Formula", [general(`L = ${formula[0]}`)]), box("Numbers", [numbers(`z = ${layer.z.map(number).join(", ")}`), numbers(`L = ${number(this.found.loss)}`)])];
    }
    const slopes = below.slice(0, 8).map((value, i) => `${number(value)}·${number(layer.dz[j])} = ${number(layer.dw[i][j])}`);
    const weights = [numbers(`∂L/∂w = ${slopes.join(",  ")}${below.length > 8 ? ", …" : ""}`), numbers(`∂L/∂b = ${number(layer.dz[j])}`)];
    if (last) {
      return [box("Formula", [general(`∂L/∂z = ${formula[1]}`), general("∂L/∂w = x · ∂L/∂z,   ∂L/∂b = ∂L/∂z")]), box(`Numbers of ${layer.h.length === 1 ? "the output" : `unit ${j + 1}`}`, [numbers(`∂L/∂z = ${number(layer.dz[j])}`), ...weights])];
    }
    const above = layers[step.layer + 1];
    const flow = above.dz.map((value, k) => `${number(above.w[j][k])}·${number(value)}`);
    return [
      box("Formula", [general("∂L/∂h = Σₖ wₖ · ∂L/∂zₖ   (over the units above)"), general(`∂L/∂z = a′(z) · ∂L/∂h,   a′ = ${layer.formula[1]}`), general("∂L/∂w = x · ∂L/∂z,   ∂L/∂b = ∂L/∂z")]),
      box(`Numbers of unit ${j + 1}`, [numbers(`∂L/∂h = ${sum(flow)} = ${number(above.dx[j])}`), numbers(`∂L/∂z = ${number(layer.dz[j])}`), ...weights]),
    ];
  }
}
