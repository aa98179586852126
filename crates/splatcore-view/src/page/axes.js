// The scene's axes in the corner: how the view is turned; a click looks along one.
import { dot } from './camera.js';

const AXES = [['x', '#ff6b6b'], ['y', '#7ddc8b'], ['z', '#6aa9ff']];
const REACH = 14; // pixels from an end

// The ends of the axes on a square of so many pixels, the farthest first.
function ends(pose, side) {
  const [right, down, forward] = pose.rotation;
  const length = side / 2 - 13;
  const all = AXES.flatMap(([name, colour], axis) => [1, -1].map((sign) => {
    const direction = [0, 0, 0];
    direction[axis] = sign;
    const [x, y] = [right, down].map((v) => side / 2 + length * dot(v, direction));
    return { name, colour, sign, direction, x, y, depth: dot(forward, direction) };
  }));
  return all.sort((a, b) => b.depth - a.depth);
}

export class Axes {
  // `look` is told the direction to look along.
  constructor(canvas, look) {
    this.canvas = canvas;
    canvas.addEventListener('pointerdown', (event) => event.stopPropagation());
    canvas.addEventListener('dblclick', (event) => event.stopPropagation());
    canvas.addEventListener('click', ({ offsetX, offsetY }) => {
      const near = ends(this.pose, canvas.clientWidth).filter(({ x, y }) =>
        Math.hypot(x - offsetX, y - offsetY) < REACH);
      // From the side of the end that was clicked on.
      if (near.length) look(near.at(-1).direction.map((v) => -v));
    });
  }

  draw(pose) {
    this.pose = pose;
    const { canvas } = this;
    const side = canvas.clientWidth;
    const ratio = Math.min(devicePixelRatio, 2);
    canvas.width = canvas.height = side * ratio;
    const context = canvas.getContext('2d');
    context.scale(ratio, ratio);
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.font = 'bold 11px system-ui, sans-serif';
    for (const { name, colour, sign, x, y } of ends(pose, side)) {
      context.fillStyle = context.strokeStyle = colour;
      context.lineWidth = 2;
      context.globalAlpha = sign > 0 ? 1 : 0.55;
      context.beginPath();
      if (sign > 0) {
        context.moveTo(side / 2, side / 2);
        context.lineTo(x, y);
        context.stroke();
        context.beginPath();
      }
      context.arc(x, y, sign > 0 ? 9 : 6, 0, 2 * Math.PI);
      context.fill();
      context.fillStyle = '#10131a';
      if (sign > 0) context.fillText(name, x, y);
    }
  }
}
