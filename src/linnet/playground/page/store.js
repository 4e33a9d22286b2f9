// The state of everything on screen, and the link that holds it.
import { toast } from "./dom.js";

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const kind = (value) => (Array.isArray(value) ? "list" : value === null ? "nothing" : typeof value);

export const PAINT_FIRST = "Paint some points of two classes first: there is nothing to learn yet.";

/** Whether points must be painted, and there are too few. */
export function isEmpty({ data, points }) {
  return data === "drawn" && (points.length < 4 || new Set(points.map((point) => point[2])).size < 2);
}

/** The fields of a link by name, JSON where they are not text; fields that cannot be read are reported and left out. */
export function readLink(hash, defaults) {
  const found = {};
  const unread = [];
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!Object.hasOwn(defaults, name)) continue;
    try {
      const value = typeof defaults[name] === "string" ? text : JSON.parse(text);
      if (kind(value) !== kind(defaults[name])) throw new SyntaxError();
      found[name] = value;
    } catch {
      unread.push(name);
    }
  }
  if (unread.length) toast(`The link is incomplete: ${unread.join(", ")} cannot be read and will be ignored.`);
  return found;
}

/** The fields of a state that differ from the defaults, as the end of a link. */
export function writeLink(state, defaults) {
  const fields = Object.keys(defaults)
    .filter((name) => !same(state[name], defaults[name]))
    .map((name) => [name, typeof defaults[name] === "string" ? state[name] : JSON.stringify(state[name])]);
  return new URLSearchParams(fields).toString();
}

export class Store {
  constructor(defaults, given) {
    this.defaults = defaults;
    this.state = { ...defaults, ...given };
    this.listeners = [];
  }

  /** Change fields; listeners get the new state and the names of the changed fields. */
  set(changes) {
    const names = Object.keys(changes).filter((name) => !same(this.state[name], changes[name]));
    if (!names.length) return;
    this.state = { ...this.state, ...changes };
    this.show();
    for (const listener of this.listeners) listener(this.state, names);
  }

  /** Take a whole state. */
  replace(state) {
    this.set({ ...this.defaults, ...state });
  }

  show() {
    const end = writeLink(this.state, this.defaults);
    history.replaceState(null, "", end ? `#${end}` : location.pathname);
  }
}
