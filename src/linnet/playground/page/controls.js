// Data sets and settings.
import { css, listed, numberColour } from "./paint.js";
import { make, of, select, slider, toast } from "./dom.js";

const NAMES = {
  circle: "Circle", xor: "Xor", gaussians: "Gaussians", spirals: "Spirals", moons: "Moons", blobs: "Blobs", pinwheels: "Pinwheels",
  plane: "Plane (regression)", multi_gauss: "Hills (regression)", counts: "Counts", bursts: "Counts in bursts", drawn: "Draw", digits: "Digits", table: "Table",
};
const RATES = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.02, 0.03, 0.1, 0.3, 1, 3, 10];
const PENALTIES = [0, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3];
const BATCHES = [1, 2, 5, 10, 20, 32, 50, 100, 250, 1000];
const MOST_SEED = 2 ** 32 - 1;
const withOwn = (values, own) => (values.includes(own) ? values : [...values, own].sort((a, b) => a - b));

export class Controls {
  constructor(store, hello, surface) {
    this.store = store;
    this.choices = hello.choices;
    this.thumbnails = hello.thumbnails;
    this.table = hello.table;
    this.surface = surface;
    this.#sets();
  }

  #sets() {
    const buttons = this.choices.data.map((name) => {
      const canvas = this.thumbnails[name] ? make("canvas", { width: 88, height: 88 }) : make("span", { class: "word" }, NAMES[name]);
      return make("button", {
        type: "button", role: "radio", "data-set": name, title: NAMES[name], "aria-label": NAMES[name],
        onclick: () => this.choose(name), onkeydown: (event) => this.#arrow(event),
      }, canvas);
    });
    of("sets").replaceChildren(...buttons);
  }

  /** Draw the small pictures again, in the colours of the theme. */
  paintSets() {
    for (const brush of of("drawing").querySelectorAll("[data-brush]:not(.word)")) brush.style.background = css(listed(Number(brush.dataset.brush)));
    for (const button of of("sets").children) {
      const found = this.thumbnails[button.dataset.set];
      if (!found) continue;
      const context = button.firstChild.getContext("2d");
      context.clearRect(0, 0, 88, 88);
      const [low, high] = [Math.min(...found.values), Math.max(...found.values)];
      found.points.forEach(([x, y], k) => {
        context.beginPath();
        context.arc(44 + x * 6.4, 44 - y * 6.4, 3, 0, 2 * Math.PI);
        const number = () => numberColour((found.values[k] - low) / (high - low), { range: found.task === "counts" ? [0, high] : [low, high] });
        context.fillStyle = css(found.task.endsWith("classes") ? listed(found.values[k]) : number());
        context.fill();
      });
    }
  }

  #arrow(event) {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!move) return null;
    event.preventDefault();
    const all = [...event.currentTarget.parentElement.querySelectorAll("[role=radio]")];
    const next = all[(all.indexOf(event.currentTarget) + move + all.length) % all.length];
    next.focus();
    return next;
  }

  choose(name) {
    const changes = { data: name, head: "task", shown: 0, threshold: 0.5 };
    if (name === "table") {
      if (!this.table) return this.#openFile();
      changes.target = this.store.state.target || this.table.targets.at(-1);
    }
    if (name === "digits") changes.batch = Math.max(32, this.store.state.batch);
    return this.store.set(changes);
  }

  /** Show the controls that a state has. */
  draw(state, facts) {
    for (const button of of("sets").children) {
      const on = button.dataset.set === state.data;
      button.setAttribute("aria-checked", String(on));
      button.tabIndex = on ? 0 : -1;
    }
    this.#drawing(state);
    this.#drawTable(state);
    const set = (name) => (value) => this.store.set({ [name]: value });
    const isToy = !["drawn", "digits", "table"].includes(state.data);
    this.#fill("data-controls", [
      isToy && slider("Noise", { min: 0, max: 1, step: 0.05, text: (v) => v.toFixed(2) }, state.noise, set("noise")),
      ["blobs", "pinwheels"].includes(state.data) && slider("Classes", { min: 2, max: this.choices.classes, step: 1 }, state.classes, (classes) => this.store.set({ classes, head: "task", shown: 0 })),
      slider("Training rows", { min: 0.1, max: 0.9, step: 0.1, text: (v) => `${Math.round(100 * v)}%` }, state.ratio, set("ratio")),
      this.#seed(state),
    ]);
    const known = facts?.heads ?? [];
    const heads = [["task", known.length ? `by task: ${known[0][1]}` : "by task"], ...known];
    this.#fill("training-controls", [
      select("Optimizer", this.choices.optimizer, state.optimizer, set("optimizer")),
      select("Learning rate", withOwn(RATES, state.rate), state.rate, (value) => this.store.set({ rate: Number(value) })),
      select("Batch size", withOwn(BATCHES, state.batch), state.batch, (value) => this.store.set({ batch: Number(value) })),
      select("L1 penalty", withOwn(PENALTIES, state.l1), state.l1, (value) => this.store.set({ l1: Number(value) })),
      select("L2 penalty", withOwn(PENALTIES, state.l2), state.l2, (value) => this.store.set({ l2: Number(value) })),
      select("Initial weights", this.choices.initialiser, state.initialiser, set("initialiser")),
      select("Head", heads, state.head, set("head")),
    ]);
    for (const control of of("training-controls").children) {
      const wide = ["Optimizer", "Initial weights", "Head"].includes(control.querySelector("select").ariaLabel);
      control.style.gridColumn = wide ? "1 / -1" : "";
    }
  }

  /** Replace the controls of a card; the focused one keeps the focus, and is not replaced if its value is right. */
  #fill(id, controls) {
    const place = of(id);
    const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    const wanted = controls.filter(Boolean);
    const now = [...place.children];
    wanted.forEach((control, k) => {
      const label = (element) => element?.querySelector("[aria-label]")?.getAttribute("aria-label");
      const shows = (element) => element.querySelector("[aria-label]").value;
      const isFocused = now[k] && focused && label(now[k]) === focused && label(control) === focused && now.length === wanted.length;
      if (isFocused && shows(now[k]) === shows(control)) return;
      if (now[k]) now[k].replaceWith(control);
      else place.append(control);
    });
    now.slice(wanted.length).forEach((element) => element.remove());
    if (focused && !place.contains(document.activeElement)) place.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
  }

  #seed(state) {
    const input = make("input", {
      type: "number", min: 0, max: MOST_SEED, step: 1, "aria-label": "Seed",
      onchange: () => {
        const seed = Math.min(MOST_SEED, Math.max(0, Math.floor(Number(input.value)) || 0));
        input.value = seed;
        this.store.set({ seed });
      },
    });
    input.value = state.seed;
    return make("label", {}, make("span", {}, "Seed"), input);
  }

  // ---- painting ----

  #drawing(state) {
    const place = of("drawing");
    place.hidden = state.data !== "drawn";
    if (place.hidden || place.childElementCount) return;
    const brushes = Array.from({ length: this.choices.classes }, (_, kind) => this.#brush(kind, `Class ${"ABCDEF"[kind]}`));
    const eraser = this.#brush(-1, "Eraser", "Eraser");
    eraser.className = "word";
    place.append(
      make("span", {}, "Paint points on the plane, of at least two classes."),
      make("div", { class: "brushes", role: "radiogroup", "aria-label": "Class to paint" }, ...brushes, eraser,
        make("button", { type: "button", class: "word", onclick: () => {
          this.surface.points = [];
          this.store.set({ points: [] });
          this.surface.changed();
        } }, "Clear")));
    this.#take(0, brushes[0]);
  }

  #brush(kind, name, text = "") {
    const button = make("button", {
      type: "button", role: "radio", "aria-label": name, title: name, "data-brush": kind,
      onclick: () => this.#take(kind, button), onkeydown: (event) => this.#arrow(event)?.click(),
    }, text);
    return button;
  }

  #take(kind, button) {
    this.surface.brush = kind;
    for (const other of of("drawing").querySelectorAll("[role=radio]")) {
      other.setAttribute("aria-checked", String(other === button));
      other.tabIndex = other === button ? 0 : -1;
    }
  }

  // ---- tables ----

  #drawTable(state) {
    const place = of("table-controls");
    place.hidden = state.data !== "table" || !this.table;
    if (place.hidden) return;
    const axes = ["", ...this.table.axes.filter((name) => name !== state.target)].map((name) => [name, name || "principal components"]);
    const axis = (place_) => (name) => {
      const other = state.axes[1 - place_] ?? axes.find(([value]) => value && value !== name)?.[0];
      const pair = place_ ? [other, name] : [name, other];
      this.store.set({ axes: name && other ? pair : [] });
    };
    this.#fill("table-controls", [
      make("label", {}, make("span", {}, `${this.table.name}: ${this.table.rows.toLocaleString("en-US")} rows`), make("button", { type: "button", "aria-label": "Open another file", onclick: () => this.#openFile() }, "Open another file")),
      select("Predict", this.table.targets, state.target, (target) => this.store.set({ target, axes: state.axes.includes(target) ? [] : state.axes, head: "task", shown: 0, threshold: 0.5 })),
      select("x axis", axes, state.axes[0] ?? "", axis(0)),
      select("y axis", axes, state.axes[1] ?? "", axis(1)),
    ]);
  }

  #openFile() {
    const input = make("input", { type: "file", "aria-label": "A table to open", hidden: true, onchange: () => this.upload(input.files[0]) });
    document.body.append(input);
    input.click();
    input.remove();
  }

  async upload(file) {
    if (!file) return;
    const answer = await fetch(`/table?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file }).then((response) => response.json(), () => ({ message: "the file could not be sent" }));
    if (answer.is !== "table") {
      toast(answer.message);
      return;
    }
    this.table = answer;
    const changes = { data: "table", target: answer.targets.at(-1) ?? "", axes: [], head: "task", shown: 0, threshold: 0.5 };
    this.store.set(this.store.state.data === "table" ? { ...changes, seed: this.store.state.seed } : changes);
    this.store.opened();
  }
}
