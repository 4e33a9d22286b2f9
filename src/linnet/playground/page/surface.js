// The plane of inputs: the network's output, the decision boundaries, and the rows.
import { contour, margins } from "./contour.js";
import { classColour, colour, css, diverging, drawCells, listed, numberColour, surfaceColours } from "./paint.js";

const LEVELS = [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875];

export class Surface {
  /** `drawn(points)` is called when points have been painted. */
  constructor(canvas, drawn) {
    this.canvas = canvas;
    this.drawn = drawn;
    this.brush = 0;
    this.points = [];
    this.cursor = null;
    canvas.addEventListener("pointerdown", (event) => this.#paint(event, true));
    canvas.addEventListener("pointermove", (event) => event.buttons === 1 && this.#paint(event, false));
    canvas.addEventListener("pointerup", () => this.painting && this.drawn(this.points));
    canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Whether points can be painted on it. */
  set painting(on) {
    this.canvas.classList.toggle("draws", on);
    if (on) this.canvas.tabIndex = 0;
    else this.canvas.removeAttribute("tabindex");
    if (!on) this.cursor = null;
  }

  get painting() {
    return this.canvas.classList.contains("draws");
  }

  /** Draw a frame, or an empty plane without one; `unit` is a hidden unit to look at instead of the output. */
  draw(frame, facts, state, unit = null) {
    const wanted = Math.round(Math.min(2, devicePixelRatio) * this.canvas.clientWidth) || 340;
    if (this.canvas.width !== wanted) this.canvas.width = this.canvas.height = wanted;
    this.unit = wanted / 680; // sizes are meant for a side of 680
    const context = this.canvas.getContext("2d");
    const [width, height] = [this.canvas.width, this.canvas.height];
    context.fillStyle = css(colour("card"));
    context.fillRect(0, 0, width, height);
    if (frame && unit !== null) this.#drawUnit(frame, unit);
    else if (frame) {
      const surface = frame.arrays.surface;
      drawCells(this.canvas, surface.shape[1], surfaceColours(surface, facts));
      this.#drawLines(context, surface, facts, state);
    }
    if (this.painting) this.#drawPainted(context);
    else this.#drawRows(context, facts, state);
  }

  #drawUnit(frame, unit) {
    const [, side] = frame.arrays.neurons.shape;
    const start = unit * side * side;
    drawCells(this.canvas, side, (k) => diverging((frame.arrays.neurons[start + k] - 127.5) / 127.5, 0.7));
  }

  #drawLines(context, surface, facts, state) {
    const [outputs, side] = surface.shape;
    const cells = side * side;
    const scale = this.canvas.width / side;
    const stroke = (heights, start, level, width, dash = [], alpha = 0.85) => {
      context.beginPath();
      contour(side, heights, start, level, (x0, y0, x1, y1) => {
        context.moveTo(x0 * scale, y0 * scale);
        context.lineTo(x1 * scale, y1 * scale);
      });
      context.setLineDash(dash);
      context.lineWidth = Math.max(1, width * this.unit);
      context.strokeStyle = css(colour("ink"), alpha);
      context.stroke();
      context.setLineDash([]);
    };
    if (!facts.classes.length) {
      for (const level of LEVELS) stroke(surface, 0, level * 65535, 1.25, [], 0.3);
    } else if (facts.classes.length === 2) {
      stroke(surface, (outputs - 1) * cells, state.threshold * 65535, 3);
    } else {
      const above = margins(surface, outputs, cells);
      for (let c = 0; c < outputs; c++) stroke(above, c * cells, 0, 2.25, [], 0.55);
      const shown = Math.min(state.shown, outputs - 1);
      if (state.threshold !== 0.5) stroke(surface, shown * cells, state.threshold * 65535, 2.5, [9, 7]);
    }
  }

  #drawRows(context, facts, state) {
    const [low, high] = facts.range;
    const radius = facts.points.length > 800 ? 4.5 : 6.5;
    facts.points.forEach((point, row) => {
      if (facts.held[row] && !state.test) return;
      const value = facts.values[row];
      const fill = facts.classes.length
        ? classColour(value, facts)
        : numberColour(Math.min(1, Math.max(0, (value - low) / (high - low))), facts);
      const ring = facts.held[row] ? "ink" : facts.classes.length ? "card" : "quiet"; // numbers near 0 are pale
      this.#dot(context, this.#place(point, facts.ranges), fill, radius, ring);
    });
  }

  #drawPainted(context) {
    const ranges = [[-6, 6], [-6, 6]];
    for (const [x, y, kind] of this.points) this.#dot(context, this.#place([x, y], ranges), listed(kind), 7.5, "card");
    if (!this.cursor) return;
    const [x, y] = this.#place(this.cursor, ranges);
    context.strokeStyle = css(colour("ink"));
    context.lineWidth = 2;
    context.strokeRect(x - 8, y - 8, 16, 16);
  }

  #dot(context, [x, y], fill, radius, ring) {
    context.beginPath();
    context.arc(x, y, Math.max(2.5, radius * this.unit * 1.1), 0, 2 * Math.PI);
    context.fillStyle = css(fill);
    context.fill();
    context.lineWidth = Math.max(1, 2 * this.unit);
    context.strokeStyle = css(colour(ring));
    context.stroke();
  }

  #place([x, y], [[left, right], [bottom, top]]) {
    return [((x - left) / (right - left)) * this.canvas.width, ((top - y) / (top - bottom)) * this.canvas.height];
  }

  #paint(event, begins) {
    if (!this.painting) return;
    const box = this.canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * 12 - 6;
    const y = 6 - ((event.clientY - box.top) / box.height) * 12;
    if (begins) this.canvas.setPointerCapture(event.pointerId);
    this.#add(x, y, begins);
  }

  #add(x, y, always) {
    if (Math.abs(x) > 6 || Math.abs(y) > 6) return;
    const near = (distance) => (point) => Math.hypot(point[0] - x, point[1] - y) < distance;
    if (this.brush < 0) this.points = this.points.filter((point) => !near(0.5)(point));
    else if ((always || !this.points.some(near(0.35))) && this.points.length < this.most) {
      this.points.push([Math.round(x * 100) / 100, Math.round(y * 100) / 100, this.brush]);
    }
    this.changed();
  }

  #key(event) {
    if (!this.painting) return;
    const moves = { ArrowLeft: [-0.25, 0], ArrowRight: [0.25, 0], ArrowUp: [0, 0.25], ArrowDown: [0, -0.25] };
    this.cursor ??= [0, 0];
    if (moves[event.key]) {
      this.cursor = this.cursor.map((value, k) => Math.max(-6, Math.min(6, value + moves[event.key][k])));
      this.changed();
    } else if (event.key === " " || event.key === "Enter") {
      this.#add(...this.cursor, true);
      this.drawn(this.points);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
