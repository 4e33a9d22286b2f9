// Colours: those of classes, of weights and of numbers, read from the style sheet; and small pictures made of them.

let palette = {};

function rgb(text) {
  const value = parseInt(text.trim().slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** Read the colours again, after the theme has changed. */
export function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "card", "ink", "quiet", "rule", ...Array.from({ length: 10 }, (_, k) => `s${k + 1}`)];
  palette = Object.fromEntries(names.map((name) => [name, rgb(style.getPropertyValue(`--${name}`))]));
}

export const colour = (name) => palette[name];
export const css = ([r, g, b], alpha = 1) => `rgb(${r} ${g} ${b} / ${alpha})`;
const mix = (one, other, part) => one.map((value, k) => value + (other[k] - value) * part);

/** The colours of classes, one after the other: orange, blue, green, ... */
export const listed = (place) => palette[["s2", "s1"][place] ?? `s${(place % 10) + 1}`];

/** The colour of a class of a data set; of points that were painted, that of the brush. */
export function classColour(k, facts) {
  return listed(facts.state.data === "drawn" ? "ABCDEF".indexOf(facts.classes[k]) : k);
}

/** From orange by way of paper to blue, for a number from -1 to 1. */
export function diverging(value, strength = 0.85) {
  return mix(palette.card, value < 0 ? palette.s2 : palette.s1, Math.min(1, Math.abs(value)) * strength);
}

const rising = (value) => mix(palette.card, palette.s1, 0.05 + 0.85 * value);

/** The colour of a target or an answer, scaled to 0..1 within the range of the data. */
export function numberColour(part, facts) {
  return facts.range[0] < 0 ? diverging((facts.range[0] + part * (facts.range[1] - facts.range[0])) / Math.max(-facts.range[0], facts.range[1])) : rising(part);
}

const scratch = document.createElement("canvas");

/** Draw side x side colours, smoothly, all over a canvas. */
export function drawCells(canvas, side, colourAt, smooth = true) {
  scratch.width = scratch.height = side;
  const small = scratch.getContext("2d", { willReadFrequently: true });
  const image = small.createImageData(side, side);
  for (let k = 0, at = 0; k < side * side; k++, at += 4) {
    const found = colourAt(k);
    image.data[at] = found[0];
    image.data[at + 1] = found[1];
    image.data[at + 2] = found[2];
    image.data[at + 3] = 255;
  }
  small.putImageData(image, 0, 0);
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = smooth;
  context.drawImage(scratch, 0, 0, canvas.width, canvas.height);
}

/** A table of colours for bytes: how a unit's output from -scale (0) to scale (255) looks. */
export function byteColours() {
  return Array.from({ length: 256 }, (_, byte) => diverging((byte - 127.5) / 127.5));
}

/** A function from a cell to its colour, for the surface of a frame. */
export function surfaceColours(surface, facts) {
  const cells = surface.shape[1] * surface.shape[2];
  if (!facts.classes.length) {
    const table = Array.from({ length: 256 }, (_, part) => numberColour(part / 255, facts));
    return (k) => table[surface[k] >> 8];
  }
  if (facts.classes.length === 2) {
    const last = (surface.shape[0] - 1) * cells;
    const ends = [0, 1].map((k) => classColour(k, facts));
    const blend = (value) => mix(palette.card, ends[value < 0 ? 0 : 1], 0.62 * Math.abs(value));
    const table = Array.from({ length: 256 }, (_, part) => blend((part / 255) * 2 - 1));
    return (k) => table[surface[last + k] >> 8];
  }
  const colours = facts.classes.map((_, k) => mix(palette.card, classColour(k, facts), 0.62));
  return (k) => {
    let [r, g, b, sum] = [0, 0, 0, 1e-9];
    for (let c = 0; c < colours.length; c++) {
      const part = surface[c * cells + k];
      r += part * colours[c][0];
      g += part * colours[c][1];
      b += part * colours[c][2];
      sum += part;
    }
    return [r / sum, g / sum, b / sum];
  };
}
