// The threshold slider: numbers, confusion matrix and marks on the curves, from the cut-offs in the page.
(() => {
  "use strict";
  const data = document.getElementById("cutoffs");
  if (!data) return;
  const curves = JSON.parse(data.textContent);
  const of = (id) => document.getElementById(id);
  const all = (selector, change) => document.querySelectorAll(selector).forEach(change);
  const slider = of("threshold"), chosen = of("class"), beta = of("beta");
  let curve = curves[0];

  const ratio = (over, under) => (under > 0 ? over / under : NaN);
  const count = (value) =>
    value.toLocaleString("en-US", { maximumFractionDigits: Number.isInteger(value) ? 0 : 1 });
  const shown = (value) => (Number.isNaN(value) ? "–" : value.toFixed(3));
  const percent = (value) => (Number.isNaN(value) ? "–" : `${(100 * value).toFixed(0)}%`);
  const write = (name, value) => all(`[data-value="${name}"]`, (e) => (e.textContent = value));
  const box = (svg) => svg.dataset.box.split(" ").map(Number);

  function rates(k) {
    const [tp, fp, fn, tn] = [curve.tp[k], curve.fp[k], curve.fn[k], curve.tn[k]];
    const b2 = Number(beta.value) ** 2;
    return {
      tp, fp, fn, tn,
      precision: ratio(tp, tp + fp), recall: ratio(tp, tp + fn), fpr: ratio(fp, fp + tn),
      accuracy: ratio(tp + tn, tp + fp + fn + tn), f: ratio((1 + b2) * tp, tp + fp + b2 * (tp + fn)),
    };
  }

  function place(name, x, y) {
    all(`[data-mark="${name}"]`, (mark) => {
      const [left, top, width, height] = box(mark.ownerSVGElement);
      mark.setAttribute("cx", left + x * width);
      mark.setAttribute("cy", top + (1 - y) * height);
    });
  }

  function path(name, xs, ys) {
    all(`[data-curve="${name}"]`, (line) => {
      const [left, top, width, height] = box(line.ownerSVGElement);
      const points = xs.map((x, k) => `${(left + x * width).toFixed(1)},${(top + (1 - ys[k]) * height).toFixed(1)}`);
      line.setAttribute("d", `M${points.join("L")}`);
    });
  }

  function move() {
    const k = Number(slider.value), now = rates(k), threshold = curve.thresholds[k];
    of("threshold-value").textContent = String(threshold);
    slider.setAttribute("aria-valuetext", String(threshold));
    for (const name of ["precision", "recall", "accuracy", "f"]) write(name, shown(now[name]));
    write("beta", beta.value);
    for (const cell of ["tp", "fp", "fn", "tn"]) {
      write(cell, count(now[cell]));
      const of_actual = cell === "tp" || cell === "fn" ? now.tp + now.fn : now.fp + now.tn;
      write(`${cell}-share`, percent(ratio(now[cell], of_actual)));
    }
    place("pr", now.recall, Number.isNaN(now.precision) ? 1 : now.precision);
    place("roc", now.fpr, now.recall);
    all('[data-mark="cut"]', (line) => {
      const [left, top, width, height] = box(line.ownerSVGElement);
      line.setAttribute("d", `M${left + threshold * width},${top}V${top + height}`);
    });
  }

  function show() {
    curve = curves[chosen ? Number(chosen.value) : 0];
    slider.max = String(curve.thresholds.length - 1);
    slider.value = String(curve.thresholds.indexOf(curve.threshold));
    const all_rates = curve.thresholds.map((_, k) => rates(k));
    path("roc", all_rates.map((r) => r.fpr), all_rates.map((r) => r.recall));
    path("pr", all_rates.map((r) => r.recall), all_rates.map((r) => (Number.isNaN(r.precision) ? 1 : r.precision)));
    const share = ratio(curve.tp[0] + curve.fn[0], curve.tp[0] + curve.fp[0] + curve.fn[0] + curve.tn[0]);
    path("share", [0, 1], [share, share]);
    const most = Math.max(...curve.s1, ...curve.s2, 1e-300);
    all("[data-bar]", (bar) => {
      const [series, index] = bar.dataset.bar.split(" "), [, top, , height] = box(bar.ownerSVGElement);
      const length = (curve[series][Number(index)] / most) * (height / 2.16);
      bar.setAttribute("y", top + height / 2 - (series === "s1" ? length : 0));
      bar.setAttribute("height", length);
    });
    write("roc_auc", curve.roc_auc.toFixed(4));
    write("average_precision", curve.average_precision.toFixed(4));
    write("name", curve.name);
    move();
  }

  function best() {
    let top = 0;
    curve.thresholds.forEach((_, k) => { if (rates(k).f > rates(top).f || Number.isNaN(rates(top).f)) top = k; });
    slider.value = String(top);
    move();
  }

  slider.addEventListener("input", move);
  beta.addEventListener("change", move);
  of("best").addEventListener("click", best);
  if (chosen) chosen.addEventListener("change", show);
  document.documentElement.classList.add("scripted");
  show();
})();
