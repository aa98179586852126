// Lines over the picture: cameras of photos, the path of keyframes, what tools show.
import { add, mul, project } from './camera.js';
import { handles } from './handles.js';

const EDGES = [[0, 1], [1, 3], [3, 2], [2, 0], [4, 5], [5, 7], [7, 6], [6, 4], [0, 4], [1, 5], [2, 6], [3, 7]];

export class Overlay {
  constructor(canvas) {
    this.canvas = canvas;
    this.cameras = [];
    this.chosen = -1;
    this.size = 0.1; // of a frustum, world units
    this.path = [];
    this.box = null;
    this.sphere = null; // centre, radius
    this.held = null; // the handle that the pointer is on
    this.brush = null; // x, y, radius in pixels
    this.stroke = null; // points in pixels, radius, join
    this.marks = []; // points in the world, text, whether they are a closed outline
    this.showCameras = false;
    this.hidden = false; // the picture is none of a camera without distortion
  }

  draw(pose) {
    const { canvas } = this;
    const ratio = Math.min(devicePixelRatio, 2);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    if (this.hidden) {
      canvas.dataset.handles = '[]';
      return;
    }
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
    if (this.sphere) stroke('#ff0', () => circles(this.sphere).forEach(([a, b]) => line(a, b)));
    this.drawHandles(context, pose, [width, height]);
    for (const mark of this.marks) this.drawMark(context, mark, (p) => project(pose, p, width, height));
    this.drawBrush(context);
  }

  drawHandles(context, pose, size) {
    const same = (a, b) => b && a.does === b.does && a.axis === b.axis && a.end === b.end;
    const drawn = [];
    for (const handle of handles(this, pose)) {
      const place = project(pose, handle.at, ...size);
      if (!place) continue;
      const radius = same(handle, this.held) ? 10 : 7;
      context.beginPath();
      context.arc(...place, radius, 0, 2 * Math.PI);
      context.fillStyle = handle.colour;
      context.strokeStyle = '#000c';
      context.lineWidth = 2;
      context.fill();
      context.stroke();
      drawn.push([`${handle.does}${'xyz'[handle.axis] ?? ''}${handle.end ?? ''}`, ...place.map(Math.round)]);
    }
    context.lineWidth = 1;
    this.canvas.dataset.handles = JSON.stringify(drawn);
  }

  drawMark(context, { points, text, closed }, at) {
    const places = points.map(at);
    if (places.some((place) => !place)) return;
    for (const [colour, width] of [['#000a', 4], ['#ffd23c', 2]]) {
      context.strokeStyle = context.fillStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      places.forEach((place) => context.lineTo(...place));
      if (closed) context.closePath();
      context.stroke();
      for (const [x, y] of places) {
        context.beginPath();
        context.arc(x, y, width + 2, 0, 2 * Math.PI);
        context.fill();
      }
    }
    context.lineWidth = 1;
    if (!text) return;
    const [x, y] = [0, 1].map((axis) => places.reduce((sum, place) => sum + place[axis], 0) / places.length);
    context.font = 'bold 14px system-ui, sans-serif';
    context.textAlign = 'center';
    context.lineWidth = 4;
    context.strokeStyle = '#000c';
    context.strokeText(text, x, y - 10);
    context.fillText(text, x, y - 10);
    context.lineWidth = 1;
  }

  drawBrush(context) {
    if (this.stroke) {
      const { points, radius, join } = this.stroke;
      context.strokeStyle = join === 'remove' ? '#f556' : '#ffd23c66';
      context.lineWidth = 2 * radius;
      context.lineCap = context.lineJoin = 'round';
      context.beginPath();
      context.moveTo(...points[0]);
      points.forEach((point) => context.lineTo(...point));
      context.stroke();
      context.lineWidth = 1;
    }
    if (this.brush) {
      const { x, y, radius } = this.brush;
      for (const [colour, more] of [['#000', 1], ['#fff', 0]]) {
        context.strokeStyle = colour;
        context.beginPath();
        context.arc(x, y, radius + more, 0, 2 * Math.PI);
        context.stroke();
      }
    }
  }

  // The camera whose place is shown within 14 pixels, or -1.
  cameraAt(pose, x, y) {
    if (!this.showCameras || this.hidden) return -1;
    let [best, nearest] = [-1, 14];
    this.cameras.forEach((camera, i) => {
      const at = project(pose, camera.position, this.canvas.clientWidth, this.canvas.clientHeight);
      const distance = at ? Math.hypot(at[0] - x, at[1] - y) : Infinity;
      if (distance < nearest) [best, nearest] = [i, distance];
    });
    return best;
  }
}

// Three great circles, as lines.
function circles({ centre, radius }) {
  const steps = 48;
  const point = (axis, i) => {
    const angle = (i / steps) * 2 * Math.PI;
    const offset = [0, 0, 0];
    offset[(axis + 1) % 3] = radius * Math.cos(angle);
    offset[(axis + 2) % 3] = radius * Math.sin(angle);
    return add(centre, offset);
  };
  return [0, 1, 2].flatMap((axis) =>
    [...Array(steps).keys()].map((i) => [point(axis, i), point(axis, i + 1)]));
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
