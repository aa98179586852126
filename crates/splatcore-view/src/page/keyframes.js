// Keyframes: kept in the browser for each scene, played, saved as and loaded from JSON.
import { cross, dot, mul, add, unit } from './camera.js';

const SECONDS_APART = 2;

export class Keyframes {
  constructor(title) {
    this.key = `keyframes ${title}`;
    this.list = [];
    try {
      this.list = checked(JSON.parse(localStorage.getItem(this.key) || '[]'));
    } catch { /* a browser without storage, or what is no list: begin anew */ }
  }

  add(pose) {
    this.list.push({ position: pose.position, rotation: pose.rotation, fov: pose.fov });
    this.keep();
  }

  remove(index) {
    this.list.splice(index, 1);
    this.keep();
  }

  keep() {
    try {
      localStorage.setItem(this.key, JSON.stringify(this.list));
    } catch { /* no storage: the list lives as long as the page */ }
  }

  get seconds() {
    return SECONDS_APART * Math.max(0, this.list.length - 1);
  }

  // The pose at a time: positions on a Catmull-Rom spline, axes and field of view between.
  at(seconds) {
    const last = this.list.length - 1;
    const time = Math.max(0, Math.min(last, seconds / SECONDS_APART));
    const i = Math.min(Math.floor(time), Math.max(0, last - 1));
    const t = time - i;
    const [p0, p1, p2, p3] = [i - 1, i, i + 1, i + 2]
      .map((k) => this.list[Math.max(0, Math.min(last, k))]);
    const position = [0, 1, 2].map((c) => {
      const [a, b, d, e] = [p0, p1, p2, p3].map((p) => p.position[c]);
      return 0.5 * (2 * b + (d - a) * t + (2 * a - 5 * b + 4 * d - e) * t * t
        + (3 * b - a - 3 * d + e) * t * t * t);
    });
    const blend = (row) => unit(add(mul(p1.rotation[row], 1 - t), mul(p2.rotation[row], t)));
    const forward = blend(2);
    const down = blend(1);
    const straight = unit(add(down, mul(forward, -dot(down, forward))));
    return {
      position,
      rotation: [cross(straight, forward), straight, forward],
      fov: p1.fov + (p2.fov - p1.fov) * t,
    };
  }

  path() {
    const steps = Math.max(0, this.list.length - 1) * 20;
    return [...Array(steps + 1).keys()]
      .slice(0, this.list.length > 1 ? undefined : 0)
      .map((i) => this.at((i / 20) * SECONDS_APART).position);
  }

  toFile() {
    const keyframes = this.list.map((pose, i) => ({ time: i * SECONDS_APART, ...pose }));
    const content = { splatcore: 'camera path 1', seconds: this.seconds, keyframes };
    return JSON.stringify(content, null, 1);
  }

  fromFile(text) {
    const { keyframes } = JSON.parse(text);
    this.list = checked(keyframes);
    this.keep();
  }
}

function checked(list) {
  const numbers = (a, n) => Array.isArray(a) && a.length === n && a.every(Number.isFinite);
  const good = ({ position, rotation, fov }) => numbers(position, 3) && Number.isFinite(fov)
    && Array.isArray(rotation) && rotation.length === 3 && rotation.every((r) => numbers(r, 3));
  if (!Array.isArray(list) || !list.every(good)) throw new Error('the file holds no camera path');
  return list.map(({ position, rotation, fov }) => ({ position, rotation, fov }));
}
