// Backpropagation on one example, step by step: values go up, gradients come down.
import { cut, draw, inputName, make, of, short, watchEdges } from "./dom.js";
import { isEmpty, PAINT_FIRST } from "./store.js";

const MAX_DRAWN = 16; // inputs drawn unless all are requested; layers have no more units
const MAX_UNITS_WIDE_GAPS = 10; // units of a column drawn with wide gaps
const SIZE = { width: 96, height: 44, gap: 14, column: 176 };
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

  /** Ask again about the same row: the network may have changed. */
  renew() {
    if (this.isActive && !this.asked) this.#ask(this.row);
  }

  /** Drop the values shown: the network has changed. */
  forget() {
    this.found = null;
    this.asked = false;
  }

  /** Take the row and step of a link. */
  take({ row, place }) {
    if (row === this.row && place === this.place) return;
    [this.row, this.place] = [row, place];
    this.renew();
  }

  #ask(row) {
    const facts = window.playground.facts;
    if (!facts) return;
    if (isEmpty(this.store.state)) {
      this.#blank();
      return;
    }
    this.asked = true;
    this.link.send("explain", { row: row % (facts.rows[0] + facts.rows[1]) });
  }

  /** Show nothing: there is no example yet. */
  #blank() {
    this.forget();
    of("backprop-step").textContent = PAINT_FIRST;
    of("back").disabled = of("forth").disabled = true;
    for (const id of ["backprop-graph", "backprop-formula"]) of(id).replaceChildren();
  }

  show(message) {
    this.asked = false;
    if (isEmpty(this.store.state)) return;
    this.found = message;
    this.row = message.row;
    this.store.set({ row: this.row });
    this.steps = this.#steps(message.layers.length);
    of("backprop-place").max = this.steps.length - 1;
    this.place = Math.min(this.place, this.steps.length - 1);
    this.unit = Math.min(this.unit ?? 0, this.#columns()[this.steps[this.place].layer + 1].length - 1);
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
    const { row, target, own, held, loss } = this.found;
    const of_ = `Step ${this.place + 1} of ${this.steps.length}. `;
    if (kind === "inputs") return `${of_}Row ${row}${held ? " (held out)" : ""} enters the network. Its target is ${typeof target === "number" ? number(target) : target}${own && ` (${own})`}.`;
    if (kind === "forward") return `${of_}Forward: ${this.#name(layer)} computes the weighted sums of its inputs, and applies its activation.`;
    if (kind === "loss") return `${of_}The output is compared with the target: the loss is ${number(loss)}.`;
    return layer === this.found.layers.length - 1
      ? `${of_}Backward: the derivatives of the loss by the output, and by the weights of the output layer.`
      : `${of_}Backward: the derivatives reach ${this.#name(layer)} through the weights above it.`;
  }

  // ---- the graph ----

  /** How many inputs are drawn. */
  get #drawn() {
    const { length } = this.found.x;
    return this.all || length <= MAX_DRAWN ? length : MAX_DRAWN - 1;
  }

  /** All units of all layers, and the inputs, of which the last ones may wait behind a button. */
  #columns() {
    const { layers, inputs, x } = this.found;
    const last = layers.length - 1;
    const outputs = this.found.classes.length > 2 ? this.found.classes : null;
    return [
      x.slice(0, this.#drawn).map((value, k) => ({ name: inputName(inputs[k]), value, slope: layers[0].dx[k] })),
      ...layers.map((layer, l) => layer.h.map((value, k) => ({ name: l === last ? outputs?.[k] ?? "output" : `h${k + 1}`, value, slope: layer.dz[k] }))),
    ];
  }

  /** Up to which column values are known, and down to which gradients are. */
  #known({ kind, layer }) {
    const last = this.found.layers.length;
    if (kind === "inputs") return [0, Infinity];
    if (kind === "forward") return [layer + 1, Infinity];
    if (kind === "loss") return [last, Infinity];
    return [last, layer === 0 ? 0 : layer + 1]; // the last step goes on to the inputs
  }

  #graph(step) {
    const columns = this.#columns();
    const box = of("backprop-graph").parentElement;
    const parent = box.clientWidth || 900;
    const size = (this.size = parent < 560 ? SMALL : SIZE);
    const hasMore = this.found.x.length > MAX_DRAWN;
    const counts = columns.map((column, c) => column.length + (hasMore && c === 0));
    const most = Math.max(...counts);
    const row = size.height + (most > MAX_UNITS_WIDE_GAPS ? 5 : size.gap);
    const height = most * row + 34;
    const middle = 35 + (Math.min(most, MAX_DRAWN) * row) / 2; // of the units; inputs beyond go on below
    const wide = Math.max(size.column * (columns.length - 1) + size.width + 8, Math.min(parent, 1100));
    const x = (column) => size.width / 2 + 4 + (column * (wide - size.width - 8)) / Math.max(1, columns.length - 1);
    const y = (column, k) => middle + (k - Math.min(counts[column], MAX_DRAWN) / 2 + 0.5) * row;
    const [forward, back] = this.#known(step);
    const parts = [];
    columns.slice(1).forEach((column, layer) => {
      const isNow = step.layer === layer && step.kind !== "loss" && step.kind !== "inputs";
      const values = step.kind === "back" && isNow ? this.found.layers[layer].dw : this.found.layers[layer].w;
      const top = Math.max(1e-9, ...values.flat().map(Math.abs));
      columns[layer].forEach((_, i) => column.forEach((_, j) => {
        const [x1, y1, x2, y2] = [x(layer) + size.width / 2, y(layer, i), x(layer + 1) - size.width / 2, y(layer + 1, j)];
        const bend = (x2 - x1) * 0.4;
        const value = values[i][j];
        const chosen = isNow && j === this.unit;
        const path = draw("path", {
          class: `wire ${!isNow || !value ? "quiet-wire" : value < 0 ? "negative" : "positive"}`, d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
          "stroke-width": isNow ? (0.6 + (4.5 * Math.abs(value)) / top).toFixed(2) : 1, "stroke-opacity": isNow ? (chosen ? 0.95 : 0.35) : 0.8,
        }, draw("title", {}, `${step.kind === "back" && isNow ? "∂L/∂w" : "w"} = ${number(value)}`));
        parts.push(path);
      }));
    });
    columns.forEach((column, c) => column.forEach((unit, k) => parts.push(this.#node(step, unit, c, k, x(c), y(c, k), c <= forward, c >= back))));
    if (hasMore) parts.push(this.#more(x(0), y(0, columns[0].length)));
    const title = (name) => (size === SMALL ? name.replace("hidden ", "").replace("output layer", "output") : name);
    ["inputs", ...this.found.layers.map((_, l) => this.#name(l).replace("the ", ""))].forEach((name, c) => parts.push(draw("text", { x: x(c), y: 14 }, title(name))));
    const svg = of("backprop-graph");
    svg.setAttribute("viewBox", `0 0 ${wide} ${height + 26}`);
    svg.setAttribute("width", wide);
    svg.setAttribute("height", height + 26);
    svg.replaceChildren(...parts);
    if (step !== this.looked) box.scrollLeft = x(step.layer + 1) - parent / 2; // bring the active column into view
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
      ...this.#press(choose),
    }, draw("title", {}, unit.name), this.#box());
    if (hasSlope) {
      group.append(draw("text", { class: "value", y: -4 }, number(unit.value)), draw("text", { class: "slope", y: 13 }, `∂ ${number(unit.slope)}`));
    } else group.append(draw("text", { class: "value", y: hasValue ? -3 : 4 }, hasValue ? number(unit.value) : "?"), hasValue ? draw("text", { y: 13 }, cut(unit.name, Math.floor(this.size.width / 8))) : "");
    return group;
  }

  /** The button that draws the remaining inputs, or removes them again. */
  #more(x, y) {
    const text = this.all ? "fewer" : `… ${this.found.x.length - this.#drawn} more`;
    const toggle = () => {
      this.all = !this.all;
      this.unit = 0;
      this.#render();
      of("backprop-graph").querySelector(".more").focus({ preventScroll: true }); // it may be far below now
    };
    const label = this.all ? "Draw fewer inputs" : `Draw all ${this.found.x.length} inputs`;
    return draw("g", { class: "stop more", transform: `translate(${x} ${y})`, tabindex: 0, role: "button", "aria-label": label, ...this.#press(toggle) }, this.#box(), draw("text", { class: "value", y: 4 }, text));
  }

  #box() {
    const { width, height } = this.size;
    return draw("rect", { x: -width / 2, y: -height / 2, width, height, rx: 9 });
  }

  #press(act) {
    return { onclick: act, onkeydown: (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), act()) };
  }

  // ---- formulas ----

  #formulas(step) {
    const box = (title, lines) => make("div", {}, make("h3", {}, title), ...lines);
    const general = (text) => make("p", { class: "formula" }, text);
    const numbers = (text) => make("p", { class: "formula numbers-line" }, text);
    const { layers, x, formula, parameter } = this.found;
    const spread = parameter ? `, dispersion ${parameter.symbol} = ${number(parameter.value)}` : "";
    const layer = layers[Math.max(0, step.layer)];
    const below = step.layer > 0 ? layers[step.layer - 1].h : x;
    const j = Math.min(this.unit, layer.h.length - 1);
    const last = step.layer === layers.length - 1;
    const sum = (terms) => terms.slice(0, 8).join(" + ").replaceAll("+ −", "− ") + (terms.length > 8 ? ` + … (${terms.length - 8} more)` : "");
    if (step.kind === "inputs") {
      return [box("Formula", [general("x = (x₁, …, x_d)")]), box("Values", [numbers(x.slice(0, this.#drawn).map((value, k) => `${inputName(this.found.inputs[k])} = ${number(value)}`).join(",  ") + (x.length > this.#drawn ? `, … (${x.length - this.#drawn} more)` : ""))])];
    }
    if (step.kind === "forward") {
      const terms = below.map((value, i) => `${number(layer.w[i][j])}·${number(value)}`);
      return [
        box("Formula", [general("z = Σᵢ wᵢ xᵢ + b"), general(`h = ${last ? "mean" : "a"}(z) = ${layer.formula[0]}`)]),
        box(`Values of ${last && layer.h.length === 1 ? "the output" : `unit ${j + 1}`}`, [numbers(`z = ${sum(terms)} + ${number(layer.b[j])} = ${number(layer.z[j])}`.replaceAll("+ −", "− ")), numbers(`h = ${number(layer.h[j])}`)]),
      ];
    }
    if (step.kind === "loss") {
      return [box("Formula", [general(`L = ${formula[0]}`)]), box("Values", [numbers(`z = ${layer.z.map(number).join(", ")}${spread}`), numbers(`L = ${number(this.found.loss)}`)])];
    }
    const slopes = below.slice(0, 8).map((value, i) => `${number(value)}·${number(layer.dz[j])} = ${number(layer.dw[i][j])}`);
    const weights = [numbers(`∂L/∂w = ${slopes.join(",  ")}${below.length > 8 ? ", …" : ""}`), numbers(`∂L/∂b = ${number(layer.dz[j])}`)];
    const down = step.layer === 0 ? [general("∂L/∂x = Σₖ wₖ · ∂L/∂zₖ   (over the units of this layer)")] : [];
    if (last) {
      return [box("Formula", [general(`∂L/∂z = ${formula[1]}`), general("∂L/∂w = x · ∂L/∂z,   ∂L/∂b = ∂L/∂z"), ...down]), box(`Values of ${layer.h.length === 1 ? "the output" : `unit ${j + 1}`}`, [numbers(`∂L/∂z = ${number(layer.dz[j])}${spread}`), ...weights])];
    }
    const above = layers[step.layer + 1];
    const flow = above.dz.map((value, k) => `${number(above.w[j][k])}·${number(value)}`);
    return [
      box("Formula", [general("∂L/∂h = Σₖ wₖ · ∂L/∂zₖ   (over the units above)"), general(`∂L/∂z = a′(z) · ∂L/∂h,   a′ = ${layer.formula[1]}`), general("∂L/∂w = x · ∂L/∂z,   ∂L/∂b = ∂L/∂z"), ...down]),
      box(`Values of unit ${j + 1}`, [numbers(`∂L/∂h = ${sum(flow)} = ${number(above.dx[j])}`), numbers(`∂L/∂z = ${number(layer.dz[j])}`), ...weights]),
    ];
  }
}
