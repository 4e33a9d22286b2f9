// Making elements. Text is always text: names from data are never read as HTML.
const SVG = "http://www.w3.org/2000/svg";
export const of = (id) => document.getElementById(id);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "hidden" || name === "disabled" || name === "checked") element[name] = value;
    else if (value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const make = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
export const draw = (tag, attributes = {}, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

/** A number in few characters. */
export function short(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value !== 0 && (Math.abs(value) >= 1e4 || Math.abs(value) < 1e-3)) return value.toExponential(1);
  return value.toFixed(Math.abs(value) >= 100 ? 1 : digits);
}

const INPUT_NAMES = { "x1^2": "x1²", "x2^2": "x2²", "x1*x2": "x1·x2" };

/** The name of an input as it is shown. */
export const inputName = (name) => INPUT_NAMES[name] ?? name;

/** A text cut to `most` characters, in the middle: the end matters more, such as the level of a category. */
export const cut = (text, most) => (text.length <= most ? text : `${text.slice(0, 3)}…${text.slice(4 - most)}`);

/** A labelled select. `choices` are values or [value, text]. */
export function select(label, choices, value, change) {
  const options = choices.map((choice) => {
    const [name, text] = Array.isArray(choice) ? choice : [choice, String(choice).replaceAll("_", " ")];
    const option = make("option", { value: name }, text);
    option.selected = String(name) === String(value);
    return option;
  });
  const found = make("select", { "aria-label": label, onchange: (event) => change(event.target.value) }, ...options);
  return make("label", {}, make("span", {}, label), found);
}

/** A labelled slider that shows its value. */
export function slider(label, { min, max, step, text = String }, value, change) {
  const shown = make("output", {}, text(value));
  const input = make("input", {
    type: "range", min, max, step, "aria-label": label,
    oninput: (event) => {
      shown.textContent = text(Number(event.target.value));
      change(Number(event.target.value));
    },
  });
  input.value = value;
  return make("label", {}, make("span", {}, label, shown), input);
}

/** Mark a box that scrolls sideways where there is more to see. */
export function watchEdges(box) {
  const mark = () => {
    const rest = box.scrollWidth - box.clientWidth;
    box.classList.toggle("more-left", box.scrollLeft > 4);
    box.classList.toggle("more-right", rest > 4 && box.scrollLeft < rest - 4);
  };
  box.addEventListener("scroll", mark, { passive: true });
  const seen = new ResizeObserver(mark);
  for (const element of [box, ...box.children]) seen.observe(element);
}

let hiding = 0;
export function toast(text) {
  const place = of("toast");
  place.textContent = text;
  place.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => (place.hidden = true), 9000);
}

export function tip(text, event) {
  const place = of("tip");
  place.hidden = !text;
  if (!text) return;
  place.textContent = text;
  place.style.left = `${Math.min(event.clientX + 14, innerWidth - place.offsetWidth - 8)}px`;
  place.style.top = `${Math.min(event.clientY + 16, innerHeight - place.offsetHeight - 8)}px`;
}
