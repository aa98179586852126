// Keyframes: kept in the browser for each scene, played, saved as and loaded from JSON.
import { cross, dot, mul, add, sub, unit } from './camera.js';

const SECONDS_APART = 2;

export class Keyframes {
  // `given`: the list of a scene of which the browser keeps none.
  constructor(title, given = []) {
    this.key = `keyframes ${title}`;
    this.list = given;
    try {
      const kept = localStorage.getItem(this.key);
      if (kept) this.list = checked(JSON.parse(kept));
    } catch { /* a browser without storage, or what is no list: begin anew */ }
  }

  add(pose) {
    const time = this.list.length ? this.seconds + SECONDS_APART : 0;
    this.list.push({ time, position: pose.position, rotation: pose.rotation, fov: pose.fov });
    this.keep();
  }

  // What follows comes earlier by as much as the keyframe took.
  remove(index) {
    const [{ time }] = this.list.splice(index, 1);
    const gone = index < this.list.length ? this.list[index].time - time : 0;
    this.list.slice(index).forEach((key) => (key.time -= gone));
    this.keep();
  }

  keep() {
    try {
      localStorage.setItem(this.key, JSON.stringify(this.list));
    } catch { /* no storage: the list lives as long as the page */ }
  }

  get seconds() {
    return this.list.at(-1)?.time ?? 0;
  }

  // The pose at a time: positions on a cubic Hermite spline (evenly spaced: Catmull-Rom), axes and
  // field of view between.
  at(seconds) {
    const { list } = this;
    const last = list.length - 1;
    const following = list.findIndex(({ time }) => time > seconds);
    const i = following < 0 ? Math.max(0, last - 1) : Math.max(0, following - 1);
    const [a, b] = [list[i], list[Math.min(last, i + 1)]];
    const span = b.time - a.time || 1;
    const t = Math.max(0, Math.min(1, (seconds - a.time) / span));
    // Position per span; beyond an end, the end is repeated a span away.
    const slope = (k) => {
      const [before, after] = [list[Math.max(0, k - 1)], list[Math.min(last, k + 1)]];
      const whole = (k > 0 ? list[k].time - before.time : span) + (k < last ? after.time - list[k].time : span);
      return mul(sub(after.position, before.position), span / whole);
    };
    const [m, n] = [slope(i), slope(Math.min(last, i + 1))];
    const position = [0, 1, 2].map((c) => {
      const [p, q] = [a.position[c], b.position[c]];
      const quadratic = 3 * (q - p) - 2 * m[c] - n[c];
      return p + t * (m[c] + t * (quadratic + t * (2 * (p - q) + m[c] + n[c])));
    });
    const blend = (row) => unit(add(mul(a.rotation[row], 1 - t), mul(b.rotation[row], t)));
    const forward = blend(2);
    const down = blend(1);
    const straight = unit(add(down, mul(forward, -dot(down, forward))));
    return {
      position,
      rotation: [cross(straight, forward), straight, forward],
      fov: a.fov + (b.fov - a.fov) * t,
    };
  }

  path() {
    const steps = Math.max(0, this.list.length - 1) * 20;
    return [...Array(steps + 1).keys()]
      .slice(0, this.list.length > 1 ? undefined : 0)
      .map((i) => this.at((i / steps) * this.seconds).position);
  }

  toFile() {
    const content = { splatcore: 'camera path 1', seconds: this.seconds, keyframes: this.list };
    return JSON.stringify(content, null, 1);
  }

  fromFile(text) {
    const { keyframes } = JSON.parse(text);
    this.list = checked(keyframes);
    this.keep();
  }
}

// Keyframes without times are evenly spaced.
function checked(list) {
  const numbers = (a, n) => Array.isArray(a) && a.length === n && a.every(Number.isFinite);
  const good = ({ position, rotation, fov }) => numbers(position, 3) && Number.isFinite(fov)
    && Array.isArray(rotation) && rotation.length === 3 && rotation.every((r) => numbers(r, 3));
  if (!Array.isArray(list) || !list.every(good)) throw new Error('the file holds no camera path');
  const rising = list.every(({ time }, i) => Number.isFinite(time) && (i === 0 || time > list[i - 1].time));
  return list.map(({ time, position, rotation, fov }, i) =>
    ({ time: rising ? time : i * SECONDS_APART, position, rotation, fov }));
}
