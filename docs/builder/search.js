// The search box: finds the parts of pages that have all words asked for. The index is loaded when it is first needed.
const box = document.getElementById("search");
const list = document.getElementById("found");
const up = document.body.dataset.up;
const most = 12;
let at = -1; // the option the arrow keys are on

box.parentElement.hidden = false;

function load() {
  if (document.getElementById("places")) return;
  const script = document.createElement("script");
  script.id = "places";
  script.src = up + "search-index.js";
  script.onload = show;
  document.head.append(script);
}

function score([, title, heading, text], words) {
  const [inTitle, inHeading, inText] = [title, heading, text].map((part) => part.toLowerCase());
  const phrase = words.join(" ");
  let total = (inHeading.includes(phrase) ? 15 : 0) + (inText.includes(phrase) ? 10 : 0);
  for (const word of words) {
    const points =
      (inHeading === word ? 100 : 0) + (inHeading.includes(word) ? 20 : 0) +
      (inTitle.includes(word) ? 5 : 0) + Math.min(3, inText.split(word).length - 1);
    if (!points) return 0;
    total += points;
  }
  return total;
}

function around(text, words) { // a part of the text, with the words marked; text nodes only
  const whole = text.toLowerCase().indexOf(words.join(" "));
  const places = whole >= 0 ? [whole] : words.map((word) => text.toLowerCase().indexOf(word)).filter((place) => place >= 0);
  const first = Math.max(0, Math.min(...places, text.length) - 40);
  const cut = (first ? "… " : "") + text.slice(first, first + 130) + (text.length > first + 130 ? " …" : "");
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  const line = document.createElement("small");
  cut.split(new RegExp(`(${pattern})`, "gi")).forEach((piece, number) => {
    if (number % 2) line.append(Object.assign(document.createElement("mark"), { textContent: piece }));
    else line.append(piece);
  });
  return line;
}

function show() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const open = words.length > 0 && typeof linnetPlaces !== "undefined";
  list.replaceChildren();
  at = -1;
  box.removeAttribute("aria-activedescendant");
  list.hidden = !open;
  box.setAttribute("aria-expanded", open);
  if (!open) return;
  const found = linnetPlaces.map((place) => [score(place, words), place]).filter(([points]) => points);
  found.sort(([a], [b]) => b - a); // equal ones stay in reading order
  for (const [number, [, [path, title, heading, text]]] of found.slice(0, most).entries()) {
    const link = Object.assign(document.createElement("a"), { href: up + path, id: `found-${number}`, tabIndex: -1 });
    link.setAttribute("role", "option");
    link.append(heading === title ? title : `${title}: ${heading}`, around(text, words));
    list.append(link);
  }
  const told = found.length > most ? `${found.length} places; more words find fewer` : "Nothing has all of these words";
  if (found.length === 0 || found.length > most) {
    list.append(Object.assign(document.createElement("p"), { textContent: told }));
  }
}

function move(by) {
  const options = list.querySelectorAll("a");
  if (options.length === 0) return;
  options[at]?.removeAttribute("aria-selected");
  at = (at + by + options.length + (at < 0 && by < 0)) % options.length;
  options[at].setAttribute("aria-selected", "true");
  options[at].scrollIntoView({ block: "nearest" });
  box.setAttribute("aria-activedescendant", options[at].id);
}

function close() {
  list.hidden = true;
  box.setAttribute("aria-expanded", "false");
}

box.addEventListener("focus", () => { load(); show(); });
box.addEventListener("input", show);
box.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
  else if (event.key === "Enter") list.querySelectorAll("a")[Math.max(at, 0)]?.click();
  else if (event.key === "Escape") { box.value = ""; close(); }
  else return;
  event.preventDefault();
});
list.addEventListener("click", close);
document.addEventListener("pointerdown", (event) => { if (!event.target.closest(".search")) close(); });
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, textarea")) return;
  event.preventDefault();
  box.focus();
});
