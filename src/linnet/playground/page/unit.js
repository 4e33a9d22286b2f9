// The weights of one unit, to read and to edit.
import { diverging, drawCells } from "./paint.js";
import { inputName, make, of, toast } from "./dom.js";

const MAX_WEIGHT = 1000;

export class UnitWindow {
  /** `changed(layer, source, unit, value)`: source null is the bias. */
  constructor(changed) {
    this.changed = changed;
    this.place = of("unit");
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
    document.addEventListener("pointerdown", (event) => !this.place.contains(event.target) && !event.target.closest?.(".node") && this.close());
  }

  open(facts, block, theta, layer, unit, source, near) {
    this.from = document.activeElement;
    const last = layer === facts.shapes.length - 1;
    const names = layer === 0 ? facts.inputs.map(inputName) : Array.from({ length: block.inputs }, (_, k) => `unit ${k + 1} below`);
    const title = last ? (facts.classes.length > 2 ? `Output ${facts.classes[unit]}` : "Output") : `Layer ${layer + 1}, unit ${unit + 1}`;
    const weight = (k) => theta[block.start + k * block.outputs + unit];
    const rows = [[null, "bias", theta[block.bias + unit]], ...names.map((name, k) => [k, name, weight(k)])];
    const picture = layer === 0 && facts.picture ? this.#picture(facts.picture, weight) : null;
    this.place.replaceChildren(
      make("div", { class: "heading" }, make("h3", {}, title), make("button", { type: "button", onclick: () => this.close() }, "Close")),
      ...(picture ? [picture] : []),
      ...rows.map(([k, name, value]) => this.#row(layer, unit, k, name, value)));
    this.place.hidden = false;
    const box = near.getBoundingClientRect();
    this.place.style.left = `${Math.max(8, Math.min(box.left + box.width / 2 + 24, innerWidth - 262))}px`;
    this.place.style.top = `${Math.max(8, Math.min(box.top, innerHeight - this.place.offsetHeight - 12))}px`;
    (this.place.querySelector(`[data-source="${source}"]`) ?? this.place.querySelector("input")).focus();
  }

  #row(layer, unit, source, name, value) {
    let last = Number(value.toPrecision(5));
    const input = make("input", {
      type: "number", step: "any", min: -MAX_WEIGHT, max: MAX_WEIGHT, "data-source": source ?? "bias", "aria-label": `${source === null ? "Bias" : `Weight from ${name}`}`,
      onchange: () => {
        if (input.value !== "" && input.validity.valid) {
          last = Number(input.value);
          this.changed(layer, source, unit, last);
          return;
        }
        toast(`A weight must be a number from −${MAX_WEIGHT} to ${MAX_WEIGHT}.`);
        input.value = last;
      },
    });
    input.value = last;
    return make("label", {}, make("span", { title: name }, name), input);
  }

  #picture(side, weight) {
    const canvas = make("canvas", { width: side * 8, height: side * 8, role: "img", "aria-label": "The weights as a picture" });
    const values = Array.from({ length: side * side }, (_, k) => weight(k));
    const most = Math.max(1e-6, ...values.map(Math.abs));
    drawCells(canvas, side, (k) => diverging(values[k] / most), false);
    return canvas;
  }

  close() {
    if (this.place.hidden) return;
    this.place.hidden = true;
    this.from?.focus?.();
  }
}
