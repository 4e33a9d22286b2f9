// Lines of equal height by marching squares.

/** Call `line(x0, y0, x1, y1)`, in cells from the top left, wherever side x side heights from `start` on pass `level`. */
export function contour(side, heights, start, level, line) {
  const between = (a, b) => (level - a) / (b - a);
  for (let row = 0; row + 1 < side; row++) {
    for (let column = 0; column + 1 < side; column++) {
      const k = start + row * side + column;
      const a = heights[k];
      const b = heights[k + 1];
      const c = heights[k + side + 1];
      const d = heights[k + side];
      const kind = (a >= level) | ((b >= level) << 1) | ((c >= level) << 2) | ((d >= level) << 3);
      if (kind === 0 || kind === 15) continue;
      const [x, y] = [column + 0.5, row + 0.5];
      const top = () => [x + between(a, b), y];
      const right = () => [x + 1, y + between(b, c)];
      const bottom = () => [x + between(d, c), y + 1];
      const left = () => [x, y + between(a, d)];
      const cross = (from, to) => line(...from(), ...to());
      switch (kind) {
        case 1: case 14: cross(left, top); break;
        case 2: case 13: cross(top, right); break;
        case 3: case 12: cross(left, right); break;
        case 4: case 11: cross(right, bottom); break;
        case 6: case 9: cross(top, bottom); break;
        case 7: case 8: cross(left, bottom); break;
        case 5: cross(left, top); cross(right, bottom); break;
        case 10: cross(top, right); cross(left, bottom); break;
      }
    }
  }
}

/** By how much each of several heights, one after the other in an array, is above the highest of the others. */
export function margins(heights, count, cells) {
  const found = new Float32Array(count * cells);
  for (let k = 0; k < cells; k++) {
    let [first, second, top] = [-1, -1, 0];
    for (let c = 0; c < count; c++) {
      const height = heights[c * cells + k];
      if (height > first) [second, first, top] = [first, height, c];
      else if (height > second) second = height;
    }
    for (let c = 0; c < count; c++) found[c * cells + k] = heights[c * cells + k] - (c === top ? second : first);
  }
  return found;
}
