// The network diagram: units as small maps of the plane, weights as lines whose width and colour show their values.
import { byteColours, classColour, colour, css, drawCells, surfaceColours } from "./paint.js";
import { draw, inputName, make, short, tip, watchEdges } from "./dom.js";

const HEAD = 90; // pixels above the units, for the controls of a layer
const ROOMY = 82; // pixels between columns, with room for the controls of layers
const TIGHT = 54; // pixels between columns, with small controls
const REACH = 7; // pixels from a line within which the pointer selects it
const BEND = 0.45; // share of the way between two columns for which a line stays level

export class Diagram {
  constructor(root, { choices, maps }, on) {
    this.root = root;
    this.choices = choices;
    this.maps = maps; // of the features of toy sets
    this.on = on; // units(layer, count), layer(layer, changes), feature(name), look(unit or null), open(layer, unit, source)
    watchEdges(root.parentElement);
    new ResizeObserver(() => this.facts && this.root.clientWidth !== this.width && this.layout(this.facts, this.state)).observe(root.parentElement);
  }

  /** Build everything for a network; the focused element keeps the focus. */
  layout(facts, state) {
    const focused = this.root.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.facts = facts;
    this.state = state;
    const isToy = facts.inputs.every((name) => this.choices.features.includes(name));
    const names = isToy ? this.choices.features : facts.inputs;
    this.block = !isToy && !facts.maps.length;
    const widths = [this.block ? 1 : names.length, ...facts.shapes.map(([, outputs]) => outputs)];
    const most = Math.max(...widths.slice(1), this.block ? 5 : names.length);
    this.size = most <= 8 ? 35 : most <= 12 ? 25 : 19;
    this.gap = most <= 8 ? 9 : most <= 12 ? 6 : 5;
    const columns = widths.length;
    const room = this.root.parentElement.clientWidth;
    const narrow = room < 480; // a phone
    this.root.classList.toggle("narrow", narrow);
    const labels = isToy ? (narrow ? 54 : 62) : narrow ? 72 : 110;
    const longest = Math.max(0, ...facts.classes.map((name) => name.length));
    this.named = facts.classes.length > 2 ? Math.min(74, 22 + 8 * longest) : 0; // pixels for the names of classes
    const right = this.size / 2 + (this.named || 14);
    this.width = Math.max(room, labels + this.size / 2 + 6 + (columns - 1) * (narrow ? 71 : TIGHT) + right);
    this.height = Math.max(396, HEAD + most * (this.size + this.gap) + 8);
    this.root.style.width = `${this.width}px`;
    this.root.style.height = `${this.height}px`;
    const first = labels + this.size / 2 + 6;
    const last = this.width - right;
    const step = (last - first) / (columns - 1);
    this.root.style.setProperty("--select", `${Math.min(78, step - 4)}px`);
    this.root.classList.toggle("tight", !narrow && step < ROOMY);
    this.columns = widths.map((_, k) => first + ((last - first) * k) / (columns - 1));
    this.svg = draw("svg", {
      width: this.width, height: this.height, "aria-hidden": "true",
      onpointermove: (event) => this.#point(event), onpointerleave: () => this.#point(null),
      onclick: (event) => {
        if (!this.pointed) this.#point(event); // a finger has not moved before
        if (this.pointed) this.on.open(this.pointed.layer, this.pointed.unit, this.pointed.isBlock ? null : this.pointed.source, this.grab);
        this.#point(null); // nor does it leave
      },
    });
    this.grab = this.svg.appendChild(draw("path", { class: "grab" }));
    this.pointed = null;
    tip("");
    this.lines = make("canvas", { class: "lines", "aria-hidden": "true" });
    this.root.replaceChildren(this.lines, this.svg);
    this.places = widths.map((count, column) => this.#places(count, column));
    this.used = isToy ? names.map((name) => facts.inputs.indexOf(name)) : names.map((_, k) => k);
    this.#edges();
    this.#inputs(names, isToy, labels);
    this.units = [];
    facts.shapes.slice(0, -1).forEach(([, outputs], layer) => this.#hidden(layer, outputs));
    this.#outputs();
    if (focused) this.root.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  #places(count, column) {
    const inside = count * this.size + (count - 1) * this.gap;
    const top = HEAD + Math.max(0, (this.height - HEAD - 12 - inside) / 2);
    return Array.from({ length: count }, (_, k) => [this.columns[column], top + k * (this.size + this.gap) + this.size / 2]);
  }

  #node(column, k, attributes, ...children) {
    const [x, y] = this.places[column][k];
    const node = make("button", { type: "button", ...attributes, class: `node ${attributes.class ?? ""}` }, ...children);
    node.style.left = `${x - this.size / 2}px`;
    node.style.top = `${y - this.size / 2}px`;
    node.style.width = node.style.height = `${this.size}px`;
    node.style.borderRadius = `${Math.min(8, this.size / 4)}px`;
    this.root.append(node);
    return node;
  }

  #name(text, column, k, width, right = false) {
    const [x, y] = this.places[column][k];
    const label = make("span", { class: `node-name ${right ? "right" : ""}`, title: text }, text);
    label.style.left = `${right ? x + this.size / 2 + 8 : x - this.size / 2 - 8 - width}px`;
    label.style.top = `${y}px`;
    label.style.width = `${width}px`;
    this.root.append(label);
  }

  #inputs(names, isToy, labels) {
    if (this.block) {
      const node = this.#node(0, 0, { class: "block", disabled: true }, `${names.length} inputs`);
      node.style.left = "8px";
      node.style.width = `${this.columns[0] + this.size / 2 - 8}px`;
      node.style.top = `${HEAD}px`;
      node.style.height = `${this.height - HEAD - 12}px`;
      return;
    }
    names.forEach((name, k) => {
      const on = this.used[k] >= 0;
      const canvas = make("canvas", { width: 32, height: 32 });
      const label = isToy ? `Input ${inputName(name)}, ${on ? "used" : "not used"}` : `Input ${name}`;
      this.#node(0, k, {
        class: on ? "" : "off", "aria-label": label, "aria-pressed": isToy ? String(on) : null, "data-key": `input-${name}`,
        onclick: () => isToy && this.on.feature(name),
      }, canvas);
      this.#name(inputName(name), 0, k, labels - 10);
      const map = isToy ? this.maps[name] : this.facts.maps[k];
      const colours = byteColours();
      drawCells(canvas, Math.sqrt(map.length), (cell) => colours[map[cell]]);
    });
  }

  #hidden(layer, count) {
    const hidden = this.state.layers[layer] ?? { activation: "tanh", dropout: 0 }; // removed, which the server has yet to hear
    const head = make("div", { class: "column-head" },
      make("div", { class: "count" },
        make("button", { type: "button", "aria-label": `Remove a unit from layer ${layer + 1}`, "data-key": `less-${layer}`, disabled: count <= 1, onclick: () => this.on.units(layer, count - 1) }, "−"),
        make("span", {}, String(count)),
        make("button", { type: "button", "aria-label": `Add a unit to layer ${layer + 1}`, "data-key": `more-${layer}`, disabled: count >= this.choices.units, onclick: () => this.on.units(layer, count + 1) }, "+")),
      this.#choice(`Activation of layer ${layer + 1}`, this.choices.activation.map((name) => [name, name.replaceAll("_", " ")]), hidden.activation, (activation) => this.on.layer(layer, { activation })),
      this.#choice(`Dropout of layer ${layer + 1}`, [0, 0.1, 0.2, 0.3, 0.5, 0.7].map((rate) => [rate, `drop ${rate * 100}%`]), hidden.dropout, (dropout) => this.on.layer(layer, { dropout: Number(dropout) })));
    head.style.left = `${this.columns[layer + 1]}px`;
    this.root.append(head);
    for (let unit = 0; unit < count; unit++) {
      const canvas = make("canvas", { width: 32, height: 32 });
      const bias = make("i", { class: "bias" });
      const number = this.units.length;
      const node = this.#node(layer + 1, unit, {
        "aria-label": `Unit ${unit + 1} of layer ${layer + 1}: see and edit its weights`, "data-key": `unit-${layer}-${unit}`,
        onclick: () => this.on.open(layer, unit, null, node),
        onpointerenter: () => this.on.look(number), onpointerleave: () => this.on.look(null),
        onfocus: () => this.on.look(number), onblur: () => this.on.look(null),
      }, canvas, bias);
      this.units.push({ canvas, bias, layer, unit });
    }
  }

  #choice(label, options, value, change) {
    const key = label.replaceAll(" ", "-");
    const found = make("select", { "aria-label": label, "data-key": key, onchange: (event) => change(event.target.value) },
      ...options.map(([name, text]) => make("option", { value: name }, text)));
    found.value = String(value);
    return found;
  }

  #outputs() {
    const column = this.columns.length - 1;
    const layer = column - 1;
    const count = this.facts.shapes[layer][1];
    this.answers = Array.from({ length: count }, (_, k) => {
      const canvas = make("canvas", { width: 32, height: 32 });
      const bias = make("i", { class: "bias" });
      const name = this.facts.classes.length > 2 ? `Output for class ${this.facts.classes[k]}` : "Output";
      const node = this.#node(column, k, {
        "aria-label": `${name}: see and edit its weights`, "data-key": `output-${k}`,
        onclick: () => this.on.open(layer, k, null, node),
      }, canvas, bias);
      if (count > 1) this.#name(this.facts.classes[k], column, k, this.named - 14, true);
      return { canvas, bias };
    });
  }

  #edges() {
    this.edges = [];
    this.facts.shapes.forEach(([inputs, outputs], layer) => {
      const isBlock = layer === 0 && this.block;
      for (let source = 0; source < (isBlock ? 1 : inputs); source++) {
        const from = layer === 0 && !isBlock ? this.used.indexOf(source) : source;
        for (let unit = 0; unit < outputs; unit++) this.#edge(layer, source, unit, from, isBlock);
      }
    });
  }

  #edge(layer, source, unit, from, isBlock) {
    const [x1, y1] = [this.places[layer][from][0] + this.size / 2, isBlock ? this.places[layer + 1][unit][1] : this.places[layer][from][1]];
    const [x0, y0] = [this.places[layer + 1][unit][0] - this.size / 2, this.places[layer + 1][unit][1]];
    const bend = (x0 - x1) * BEND;
    const d = `M${x1} ${y1}C${x1 + bend} ${y1} ${x0 - bend} ${y0} ${x0} ${y0}`;
    this.edges.push({ d, line: new Path2D(d), layer, source, unit, isBlock, y1, y0, value: NaN });
  }

  /** Highlight the line at a pointer, and show its weight. */
  #point(event) {
    const box = this.svg.getBoundingClientRect();
    this.pointer = event;
    this.pointed = event && this.#nearest(event.clientX - box.left, event.clientY - box.top);
    this.grab.setAttribute("d", this.pointed?.d ?? "");
    this.svg.classList.toggle("pointed", Boolean(this.pointed));
    this.#tell();
  }

  #tell() {
    const { isBlock, value } = this.pointed ?? {};
    if (!this.pointed) tip("");
    else if (isBlock) tip(`${this.facts.inputs.length} weights of norm ${short(value)}: click to see them`, this.pointer);
    else tip(`weight ${short(value)}: click to edit`, this.pointer);
  }

  /** The line nearest to a place, if it is within reach. All lines between two columns are equally far along at an x. */
  #nearest(x, y) {
    const half = this.size / 2;
    const layer = this.facts.shapes.findIndex((_, k) => x > this.columns[k] + half && x < this.columns[k + 1] - half);
    if (layer < 0) return null;
    const from = this.columns[layer] + half;
    const width = this.columns[layer + 1] - half - from;
    let [t, below, above] = [0.5, 0, 1];
    for (let k = 0; k < 20; k++) {
      const at = 3 * BEND * t * (1 - t) ** 2 + 3 * (1 - BEND) * t * t * (1 - t) + t ** 3;
      [below, above] = at * width < x - from ? [t, above] : [below, t];
      t = (below + above) / 2;
    }
    const [done, rise] = [t * t * (3 - 2 * t), 6 * t * (1 - t)];
    const run = width * (3 * BEND * ((1 - t) ** 2 + t * t) + 6 * (1 - 2 * BEND) * t * (1 - t));
    let [nearest, least] = [null, REACH];
    for (const edge of this.edges) {
      if (edge.layer !== layer) continue;
      const climb = edge.y0 - edge.y1;
      const distance = Math.abs(y - edge.y1 - climb * done) / Math.hypot(1, (climb * rise) / run);
      if (distance < least) [nearest, least] = [edge, distance];
    }
    return nearest;
  }

  /** Where the parameters of a layer begin in theta, and its shape. */
  blockOf(layer) {
    let start = 0;
    for (const [inputs, outputs] of this.facts.shapes.slice(0, layer)) start += (inputs + 1) * outputs;
    const [inputs, outputs] = this.facts.shapes[layer];
    return { start, inputs, outputs, bias: start + inputs * outputs };
  }

  /** Show the weights and maps of a frame. */
  paint(frame) {
    const { theta, neurons, surface } = frame.arrays;
    if (neurons.shape[0] !== this.units.length || surface.shape[0] !== this.answers.length) return;
    this.colours = byteColours();
    const blocks = this.facts.shapes.map((_, layer) => this.blockOf(layer));
    this.#paintEdges(theta, blocks);
    const side = neurons.shape[1];
    this.units.forEach(({ canvas, bias, layer, unit }, number) => {
      const start = number * side * side;
      drawCells(canvas, side, (k) => this.colours[neurons[start + k]]);
      this.#bias(bias, theta[blocks[layer].bias + unit]);
    });
    this.#paintAnswers(frame, blocks.at(-1));
  }

  /** Draw lines on one canvas: hundreds of elements that change with every frame would take most of the time. */
  #paintEdges(theta, blocks) {
    const scale = Math.min(2, devicePixelRatio);
    if (this.lines.width !== Math.round(this.width * scale)) {
      [this.lines.width, this.lines.height] = [this.width * scale, this.height * scale].map(Math.round);
      this.lines.style.width = `${this.width}px`;
      this.lines.style.height = `${this.height}px`;
    }
    const context = this.lines.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const [above, below, block] = ["s1", "s2", "quiet"].map(colour);
    for (const edge of this.edges) {
      const { start, inputs, outputs } = blocks[edge.layer];
      let value = theta[start + edge.source * outputs + edge.unit];
      if (edge.isBlock) {
        value = 0;
        for (let k = 0; k < inputs; k++) value += theta[start + k * outputs + edge.unit] ** 2;
        value = Math.sqrt(value); // one line for all inputs
      }
      edge.value = value;
      const size = Math.abs(value) / (edge.isBlock ? 5 : 1);
      context.lineWidth = Math.min(7, 0.5 + 2 * size);
      context.strokeStyle = css(edge.isBlock ? block : value < 0 ? below : above, Math.min(0.9, 0.14 + 0.5 * size));
      context.stroke(edge.line);
    }
    if (this.pointed) this.#tell();
  }

  #bias(mark, value) {
    mark.style.background = css(value < 0 ? colour("s2") : colour("s1"), Math.min(1, 0.15 + Math.abs(value)));
  }

  #paintAnswers(frame, { bias }) {
    const { surface, theta } = frame.arrays;
    const [count, side] = surface.shape;
    this.answers.forEach((answer, k) => {
      this.#bias(answer.bias, theta[bias + k]);
      if (count === 1) {
        drawCells(answer.canvas, side, surfaceColours(surface, this.facts));
        return;
      }
      const [full, empty] = [classColour(k, this.facts), colour("card")];
      const table = Array.from({ length: 256 }, (_, part) => empty.map((value, c) => value + ((full[c] - value) * part) / 255));
      const half = side / 2; // every other point of every other row is enough for so small a picture
      drawCells(answer.canvas, half, (cell) => table[surface[(k * side + 2 * Math.floor(cell / half)) * side + 2 * (cell % half)] >> 8]);
    });
  }
}
