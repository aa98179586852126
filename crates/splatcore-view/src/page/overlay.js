// Lines over the picture: cameras of photos, the path of keyframes, the crop box.
import { add, mul, project } from './camera.js';

const EDGES = [[0, 1], [1, 3], [3, 2], [2, 0], [4, 5], [5, 7], [7, 6], [6, 4], [0, 4], [1, 5], [2, 6], [3, 7]];

export class Overlay {
  constructor(canvas) {
    this.canvas = canvas;
    this.cameras = [];
    this.chosen = -1;
    this.size = 0.1; // of a frustum, world units
    this.path = [];
    this.box = null;
    this.showCameras = false;
  }

  draw(pose) {
    const { canvas } = this;
    const ratio = Math.min(devicePixelRatio, 2);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const context = canvas.getContext('2d');
    context.scale(ratio, ratio);
    const line = (a, b) => {
      const [p, q] = [a, b].map((point) => project(pose, point, width, height));
      if (!p || !q) return;
      context.moveTo(...p);
      context.lineTo(...q);
    };
    const stroke = (colour, lines) => {
      context.beginPath();
      context.strokeStyle = colour;
      lines();
      context.stroke();
    };
    if (this.showCameras) {
      this.cameras.forEach((camera, i) => {
        const colour = i === this.chosen ? '#fff' : camera.held_out ? '#f80' : '#4af';
        stroke(colour, () => frustum(camera, this.size).forEach(([a, b]) => line(a, b)));
      });
    }
    if (this.path.length > 1) {
      stroke('#8f8', () => this.path.slice(1).forEach((p, i) => line(this.path[i], p)));
    }
    if (this.box) {
      const corners = [...Array(8).keys()].map((i) =>
        [0, 1, 2].map((axis) => this.box[(i >> axis) & 1][axis]));
      stroke('#ff0', () => EDGES.forEach(([a, b]) => line(corners[a], corners[b])));
    }
  }

  // The camera whose place is shown within 14 pixels, or -1.
  cameraAt(pose, x, y) {
    if (!this.showCameras) return -1;
    let [best, nearest] = [-1, 14];
    this.cameras.forEach((camera, i) => {
      const at = project(pose, camera.position, this.canvas.clientWidth, this.canvas.clientHeight);
      const distance = at ? Math.hypot(at[0] - x, at[1] - y) : Infinity;
      if (distance < nearest) [best, nearest] = [i, distance];
    });
    return best;
  }
}

function frustum(camera, size) {
  const half = size * Math.tan((camera.fov * Math.PI) / 360);
  const [right, down, forward] = camera.rotation;
  const corners = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) =>
    add(camera.position,
      add(mul(forward, size), add(mul(right, x * half * camera.aspect), mul(down, y * half)))));
  const rays = corners.map((corner) => [camera.position, corner]);
  return [...rays, ...corners.map((corner, i) => [corner, corners[(i + 1) % 4]])];
}
