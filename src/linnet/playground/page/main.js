// The playground: wires the socket, the state and the pictures together.
import { Approximation } from "./approximation.js";
import { Backprop } from "./backprop.js";
import { Curves, drawConfusion, PrecisionRecall } from "./charts.js";
import { Controls } from "./controls.js";
import { Diagram } from "./diagram.js";
import { make, of, short, toast } from "./dom.js";
import { Link } from "./link.js";
import { classColour, css, numberColour, readPalette } from "./paint.js";
import { isEmpty, PAINT_FIRST, readLink, Store } from "./store.js";
import { Surface } from "./surface.js";
import { UnitWindow } from "./unit.js";
import { WayOut } from "./wayout.js";

const VIEWS = ["train", "backprop", "approximation"];
const HINT = "Press Play, or the space bar. Point at a unit to see what it has learned; click on it, or on a line, to change weights.";
const SEEN = ["threshold", "speed", "test", "shown", "view", "epochs", "row", "place", "curve", "pins", "past"]; // fields that do not affect a run
const CHART_PAUSE = 90; // milliseconds: curves change slowly, and laying out their labels takes long
const NOTE_PAUSE = 1000; // milliseconds: browsers refuse an address that changes with every frame
const app = { charted: 0, noted: -Infinity, opening: false, frame: null, facts: null, unit: null, playing: false, frames: 0 };
window.playground = app; // for tests, and for the curious

function theme(name) {
  document.documentElement.dataset.theme = name;
  readPalette();
}
const preferred = matchMedia("(prefers-color-scheme: dark)");
theme(localStorage.getItem("theme") ?? (preferred.matches ? "dark" : "light"));
preferred.addEventListener("change", () => {
  theme(localStorage.getItem("theme") ?? (preferred.matches ? "dark" : "light"));
  redraw();
});

const link = new Link({
  hello: begin,
  facts: takeFacts,
  frame: takeFrame,
  status: ({ playing }) => showPlaying(playing),
  error: ({ message }) => {
    toast(message);
    app.approximation?.answered();
  },
  refused: ({ message, state, table }) => { // back to the server's state, or to the defaults if it has none
    toast(message);
    app.controls.table = table;
    app.store.replace(state ?? {});
  },
  explained: (message) => app.backprop.show(message),
  approximated: (message) => app.approximation.show(message),
  "way out": (message) => app.wayOut.show(message),
  file: (message) => app.wayOut.file(message),
  closed: (reason) => {
    showPlaying(false);
    toast(reason || "The playground has ended: start `linnet play` again and open the address that it prints.");
  },
});

function begin(hello) {
  app.hello = hello;
  const given = readLink(location.hash, hello.defaults);
  const store = (app.store = new Store(hello.defaults, Object.keys(given).length ? given : hello.first));
  const surface = (app.surface = new Surface(of("surface"), (points) => store.set({ points: [...points] })));
  surface.most = hello.choices.points;
  surface.changed = () => request();
  surface.points = [...store.state.points];
  app.controls = new Controls(store, hello, surface);
  app.curves = new Curves(store);
  app.pr = new PrecisionRecall(of("pr-chart"), (threshold) => store.set({ threshold }));
  app.weights = new UnitWindow((layer, source, unit, value) => link.send("weight", { layer, source, unit, value }));
  app.wayOut = new WayOut(link, store, () => {
    app.noted = -Infinity;
    noteEpochs();
    return app.frame?.past !== null;
  });
  app.backprop = new Backprop(link, store);
  app.approximation = new Approximation(link, store, hello);
  app.diagram = new Diagram(of("diagram"), hello, {
    units: (layer, units) => setLayer(layer, { units }),
    layer: setLayer,
    feature: (name) => {
      const { features } = store.state;
      const others = features.filter((other) => other !== name);
      const wanted = others.length === features.length ? hello.choices.features.filter((each) => each === name || features.includes(each)) : others;
      if (wanted.length) store.set({ features: wanted });
      else toast("A network needs at least one input.");
    },
    look: (unit) => {
      app.unit = unit;
      request();
    },
    open: (layer, unit, source, near) => app.weights.open(app.facts, app.diagram.blockOf(layer), app.frame.arrays.theta, layer, unit, source, near),
  });
  store.listeners.push(changed);
  store.opened = () => { // the same state may mean another table
    app.sent = null;
    send({ opened: true });
  };
  wire(store);
  showPresets(hello.presets);
  send({ "catch up": true });
  redraw();
}

function setLayer(layer, changes) {
  app.store.set({ layers: app.store.state.layers.map((each, k) => (k === layer ? { ...each, ...changes } : each)) });
}

// ---- state ----

const canPaint = (state) => state.data === "drawn";

function changed(state, names) {
  if (names.includes("points") || names.includes("data")) app.surface.points = [...state.points];
  if (names.some((name) => !SEEN.includes(name))) app.preset = "";
  if (names.includes("data") && canPaint(state)) of("surface").scrollIntoView({ block: "nearest" });
  if (names.includes("curve")) app.approximation.take(state.curve);
  if (names.includes("pins")) app.curves.take(state);
  if (names.includes("row") || names.includes("place")) app.backprop.take(state);
  app.opening = false;
  redraw();
  clearTimeout(app.sending);
  app.sending = setTimeout(send, 30, {}); // a slider that is dragged changes often
}

/** Send the state to the server. `how`: "catch up" to repeat the epochs of a link, "opened" for a new table. */
function send(how) {
  clearTimeout(app.sending);
  const { state } = app.store;
  if (isEmpty(state)) {
    link.send("pause");
    app.frame = null;
    note(0, []);
    if (!app.facts) link.send("state", { state: { ...state, data: app.store.defaults.data } }); // a network to look at
    for (const id of ["at-epoch", "train-loss", "test-loss", "test-metric"]) of(id).textContent = "–";
    request();
    return;
  }
  const text = JSON.stringify({ ...state, epochs: 0, past: [] }); // the server knows what was done
  if (text !== app.sent || how["catch up"]) link.send("state", { state, ...how });
  app.sent = text;
}

/** Start the run of a link or a preset. */
function open(state) {
  app.store.replace(state);
  app.opening = true;
  send({ "catch up": true });
}

function takeFacts(facts) {
  app.facts = facts;
  app.opening = false;
  app.frame = null;
  app.noted = -Infinity;
  app.curves.clear();
  app.diagram.layout(facts, app.store.state);
  app.weights.close();
  app.backprop.forget();
  showFacts();
  redraw();
}

function takeFrame(frame) {
  const isOld = !app.facts || frame.run !== app.facts.run;
  if (isOld || isEmpty(app.store.state)) {
    if (!isOld) app.diagram.paint(frame);
    link.send("seen");
    return;
  }
  app.frame = frame;
  app.curves.add(frame);
  app.backprop.renew();
  app.unseen = (app.unseen ?? 0) + 1;
  noteEpochs();
  request();
}

/** Write the run so far into the link, unless it is too long, or the link's own run is still being repeated. */
function noteEpochs() {
  if (!app.frame || app.frame.behind || app.opening || (app.playing && performance.now() - app.noted < NOTE_PAUSE)) return;
  app.noted = performance.now();
  const { epoch, past } = app.frame;
  note(past ? Math.min(epoch, app.hello.choices.epochs) : 0, past ?? []);
}

function note(epochs, past) {
  Object.assign(app.store.state, { epochs, past });
  app.store.show();
}

// ---- drawing: at most once a frame of the screen ----

function request() {
  app.wanted ??= requestAnimationFrame(() => {
    app.wanted = null;
    render();
  });
}

function render() {
  const { frame, facts, store } = app;
  if (!facts) return;
  const { state } = store;
  const empty = isEmpty(state);
  app.surface.painting = canPaint(state);
  of("output-title").textContent = titleOf(facts, app.unit);
  app.surface.draw(empty || (canPaint(state) && facts.state.data !== "drawn") ? null : frame, facts, state, app.unit);
  if (frame) {
    if (state.view === "train") {
      app.diagram.paint(frame);
      if (!(app.playing || frame.behind) || performance.now() - app.charted > CHART_PAUSE) drawCharts(frame, facts, state);
    }
    of("at-epoch").textContent = frame.epoch.toLocaleString("en-US") + (frame.behind ? ` of ${state.epochs.toLocaleString("en-US")}` : frame.step ? ` ${frame.step}/${frame.steps}` : "");
    if (frame.parameter) of("loss-unit").textContent = `dispersion ${frame.parameter.symbol} = ${short(frame.parameter.value)}`;
    of("train-loss").textContent = short(frame.loss[0], 4);
    of("test-loss").textContent = short(frame.loss[1], 4);
    of("test-metric").textContent = facts.classes.length ? `${(100 * frame.metric[1]).toFixed(1)}%` : short(frame.metric[1]);
    app.frames += 1;
  }
  for (; app.unseen; app.unseen--) link.send("seen");
}

function drawCharts(frame, facts, state) {
  app.charted = performance.now();
  app.curves.draw(facts.metric);
  if (!frame.confusion) return;
  drawConfusion(of("confusion"), frame.confusion, facts.classes);
  app.pr.draw(frame, state.threshold);
}

/** Show the state in all controls. */
function redraw() {
  if (!app.store) return;
  const { state } = app.store;
  app.controls.draw(state, app.facts);
  app.controls.paintSets();
  for (const view of VIEWS) {
    of(view).hidden = view !== state.view;
    const tab = of(`tab-${view}`);
    tab.setAttribute("aria-selected", String(view === state.view));
    tab.tabIndex = view === state.view ? 0 : -1;
  }
  app.backprop.active = state.view === "backprop";
  app.approximation.active = state.view === "approximation";
  document.querySelector(".transport").hidden = state.view === "approximation";
  of("note").hidden = state.view !== "train";
  of("speed").value = state.speed;
  of("show-test").checked = state.test;
  of("threshold").value = state.threshold;
  of("threshold-value").textContent = state.threshold.toFixed(2);
  const count = state.layers.length;
  of("layer-count").textContent = count === 1 ? "1 hidden layer" : `${count || "no"} hidden layers`;
  of("fewer-layers").disabled = count === 0;
  of("more-layers").disabled = count >= app.hello.choices.layers;
  app.curves.listPins();
  request();
}

function showFacts() {
  const { facts } = app;
  const { state } = app.store;
  of("metric-name").textContent = facts.metric;
  of("metric-title").textContent = facts.metric === "accuracy" ? "Accuracy" : facts.metric;
  of("loss-unit").textContent = of("loss-unit").title = facts.unit;
  of("axis-x").textContent = facts.axes[0];
  of("axis-y").textContent = facts.axes[1];
  const parameters = facts.shapes.reduce((sum, [inputs, outputs]) => sum + (inputs + 1) * outputs, 0);
  of("network-says").textContent = `${parameters.toLocaleString("en-US")} parameters, ${facts.loss.replaceAll("_", " ").replace("sparse ", "")}`;
  of("network-says").title = of("network-says").textContent;
  for (const id of ["confusion-card", "pr-card"]) of(id).hidden = !facts.classes.length;
  const many = facts.classes.length > 2;
  of("shown-label").hidden = !many;
  of("shown").replaceChildren(...facts.classes.map((name, k) => make("option", { value: k }, name)));
  of("shown").value = String(Math.min(state.shown, Math.max(0, facts.classes.length - 1)));
  of("legend").replaceChildren(...legend(facts));
  showNote();
}

function legend(facts) {
  if (facts.classes.length) {
    return facts.classes.map((name, k) => {
      const dot = make("i", { class: "dot" });
      dot.style.background = css(classColour(k, facts));
      return make("span", {}, dot, name);
    });
  }
  const canvas = make("canvas", { width: 200, height: 1 });
  const context = canvas.getContext("2d");
  for (let k = 0; k < 200; k++) {
    context.fillStyle = css(numberColour(k / 199, facts));
    context.fillRect(k, 0, 1, 1);
  }
  return [make("span", { class: "ramp" }, short(facts.range[0], 2), canvas, short(facts.range[1], 2))];
}

/** Show the text of the preset, and the notes of the data and the engine. */
function showNote() {
  const sentence = (text) => text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
  const text = [app.preset, ...(app.facts?.notes ?? [])].filter(Boolean).map(sentence).join(" ");
  of("note").textContent = text || HINT;
}

/** The title of the large picture: of the output, or of the unit that is pointed at. */
function titleOf(facts, unit) {
  if (unit !== null && app.diagram.units[unit]) return `Layer ${app.diagram.units[unit].layer + 1}, unit ${app.diagram.units[unit].unit + 1}`;
  if (facts.scores) return facts.classes.length > 2 ? "Softmax output" : "Sigmoid output"; // of scores, which are not probabilities
  if (facts.classes.length) return "Class probabilities";
  return facts.task === "counts" ? "Predicted rate" : "Predicted value";
}

function showPlaying(playing) {
  app.playing = playing;
  if (app.store) noteEpochs();
  of("play").setAttribute("aria-pressed", String(playing));
  of("play").querySelector(".word").textContent = playing ? "Pause" : "Play";
}

function showPresets(presets) {
  of("presets").replaceChildren(...presets.map(({ title, text, state }) => make("button", {
    type: "button",
    onclick: () => {
      of("presets-dialog").close();
      open({ ...state, view: "train", pins: app.store.state.pins });
      app.preset = text;
      showNote();
    },
  }, make("strong", {}, title), make("span", {}, text))));
}

/** A short name of a run, from the settings that distinguish it. */
function runName({ data, optimizer, rate, batch, layers }) {
  const widths = layers.map((layer) => layer.units).join("-") || "linear";
  return `${data}, ${widths}, ${optimizer} ${rate}, batch ${batch}`;
}

// ---- buttons and keys ----

function wire(store) {
  const set = (changes) => store.set(changes);
  const train = (what) => (isEmpty(store.state) ? toast(PAINT_FIRST) : link.send(what));
  const toggle = () => {
    if (isEmpty(store.state)) return train("play");
    showPlaying(!app.playing);
    return link.send(app.playing ? "play" : "pause");
  };
  of("play").onclick = toggle;
  for (const what of ["step", "epoch", "reset"]) of(what).onclick = () => train(what);
  of("speed").onchange = (event) => set({ speed: event.target.value });
  of("show-test").onchange = (event) => set({ test: event.target.checked });
  of("threshold").oninput = (event) => set({ threshold: Number(event.target.value) });
  of("shown").onchange = (event) => set({ shown: Number(event.target.value) });
  of("more-layers").onclick = () => {
    const last = store.state.layers.at(-1);
    set({ layers: [...store.state.layers, { units: Math.min(4, last?.units ?? 4), activation: last?.activation ?? "tanh", dropout: 0 }] });
  };
  of("fewer-layers").onclick = () => set({ layers: store.state.layers.slice(0, -1) });
  of("pin").onclick = () => {
    const message = isEmpty(store.state) ? PAINT_FIRST : app.curves.pin(runName(store.state), app.facts.metric);
    if (message) toast(message);
  };
  of("theme").onclick = () => {
    theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    localStorage.setItem("theme", document.documentElement.dataset.theme);
    showFacts();
    if (app.facts) app.diagram.layout(app.facts, store.state);
    redraw();
  };
  of("show-presets").onclick = () => of("presets-dialog").showModal();
  for (const view of VIEWS) {
    of(`tab-${view}`).onclick = () => set({ view });
    of(`tab-${view}`).onkeydown = (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!move) return;
      const next = VIEWS[(VIEWS.indexOf(view) + move + VIEWS.length) % VIEWS.length];
      set({ view: next });
      of(`tab-${next}`).focus();
    };
  }
  const keys = { s: "step", e: "epoch", r: "reset", p: "pin" };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input, select, button, textarea, summary, [tabindex='0']") && (event.key === " " || event.target.matches("input[type=number], select"))) return;
    if (event.key === " ") {
      event.preventDefault();
      toggle();
    } else if (keys[event.key]) of(keys[event.key]).click();
  });
  addEventListener("hashchange", () => {
    link.send("pause");
    open(readLink(location.hash, store.defaults));
  });
  addEventListener("resize", () => {
    request();
    app.approximation.redraw();
  });
  if (matchMedia("(max-width: 640px)").matches) for (const card of ["data-card", "training-card"]) of(card).open = false;
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    app.controls.upload(event.dataTransfer.files[0]);
  });
}
