// Lines of equal height by marching squares.

/** Call `line(x0, y0, x1, y1)`, in cells from the top left, wherever `height(k)` passes `level` on side x side points. */
export function contour(side, height, level, line) {
  const between = (a, b) => (level - a) / (b - a);
  for (let row = 0; row + 1 < side; row++) {
    for (let column = 0; column + 1 < side; column++) {
      const k = row * side + column;
      const [a, b, c, d] = [height(k), height(k + 1), height(k + side + 1), height(k + side)];
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
