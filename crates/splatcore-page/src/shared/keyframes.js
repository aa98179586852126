// Keyframes: kept in the browser for each scene, played, saved as and loaded from JSON.
import { length, mul, sub } from './camera.js';

const SECONDS_APART = 2;

export class Keyframes {
  // `given`: the list of a scene of which the browser keeps none. Without a title nothing is kept.
  constructor(title, given = []) {
    this.key = `keyframes ${title}`;
    this.list = given;
    if (title === null) return;
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

  // The pose at a time, as splatcore-path/src/curve.rs has it; a test there compares the two.
  // Positions lie on a centripetal Catmull-Rom spline, a monotone cubic says which of its knots is
  // reached when; quaternions on a Catmull-Rom spline over time, logarithms of the fields of view on
  // a monotone cubic. At a key that rests nothing moves; from one that holds the camera jumps on.
  at(seconds) {
    const last = this.list.length - 1;
    if (last < 1) return this.list[0];
    const following = this.list.findIndex(({ time }) => time > seconds);
    if (following === 0) return this.list[0];
    if (following < 0) return this.list[last];
    const i = following - 1;
    const { positions, gaps, knots, turns, fovs, steps } = this.splines();
    const u = (seconds - this.list[i].time) / steps[i];
    if (u === 0 || this.list[i].easing === 'hold') return this.list[i];
    const piece = (points, tangents, step, v) =>
      hermite(points[i], points[i + 1], tangents[i], tangents[i + 1], step, v);
    const rests = (j) => this.list[j].easing === 'rest';
    const slopes = (values) => monotone(values, steps).map((slope, j) => (rests(j) ? [0] : slope));
    const [knot] = piece(knots.map((v) => [v]), slopes(knots), steps[i], u);
    const position = gaps[i] > 0
      ? piece(positions, catmullRom(positions, gaps), gaps[i], (knot - knots[i]) / gaps[i])
      : positions[i];
    const same = (j, k) => turns[j].every((v, c) => v === turns[k][c]);
    const still = (j) => rests(j) || (j > 0 && same(j, j - 1)) || (j < last && same(j, j + 1));
    const spins = catmullRom(turns, steps).map((spin, j) => (still(j) ? [0, 0, 0, 0] : spin));
    const [fov] = piece(fovs.map((v) => [v]), slopes(fovs), steps[i], u);
    return {
      position,
      rotation: axes(piece(turns, spins, steps[i], u)),
      fov: Math.exp(fov),
    };
  }

  splines() {
    const positions = this.list.map((pose) => pose.position);
    const gaps = positions.slice(1).map((p, i) => Math.sqrt(length(sub(p, positions[i]))));
    const knots = [0];
    for (const gap of gaps) knots.push(knots[knots.length - 1] + gap);
    const turns = [];
    for (const pose of this.list) {
      const q = quaternion(pose.rotation);
      const before = turns[turns.length - 1] || q;
      turns.push(sum(q.map((v, c) => v * before[c])) < 0 ? mul(q, -1) : q);
    }
    const fovs = this.list.map((pose) => Math.log(pose.fov));
    const steps = this.list.slice(1).map(({ time }, i) => time - this.list[i].time);
    return { positions, gaps, knots, turns, fovs, steps };
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

const sum = (values) => values.reduce((a, b) => a + b, 0);

function hermite(a, b, ta, tb, step, u) {
  const v = 1 - u;
  return a.map((_, k) => a[k] * (1 + 2 * u) * v * v + b[k] * u * u * (3 - 2 * u)
    + (ta[k] * v - tb[k] * u) * u * v * step);
}

// Tangents at points that lie steps apart; those of a step of 0 are equal.
function catmullRom(points, steps) {
  const slope = (i) => mul(sub(points[i + 1], points[i]), 1 / steps[i]);
  const inner = (i) => {
    if (!(steps[i - 1] > 0 && steps[i] > 0)) return null;
    const [a, b] = [slope(i - 1), slope(i)];
    return a.map((v, k) => (steps[i] * v + steps[i - 1] * b[k]) / (steps[i - 1] + steps[i]));
  };
  const end = (i, neighbour) => {
    const [step, other] = [slope(Math.min(i, neighbour)), inner(neighbour)];
    return other ? step.map((v, k) => 2 * v - other[k]) : step;
  };
  return points.map((point, i) => inner(i) || (steps[i] > 0 && end(i, i + 1))
    || (steps[i - 1] > 0 && end(i, i - 1)) || point.map(() => 0));
}

// Slopes, each in a list of its own, of a curve that does not overshoot.
function monotone(values, steps) {
  const slope = (i) => (values[i + 1] - values[i]) / steps[i];
  return values.map((_, i) => {
    if (i === 0) return [slope(0)];
    if (i === values.length - 1) return [slope(i - 1)];
    const [a, b] = [slope(i - 1), slope(i)];
    const [wa, wb] = [2 * steps[i] + steps[i - 1], steps[i] + 2 * steps[i - 1]];
    return [a * b <= 0 ? 0 : (wa + wb) / (wa / a + wb / b)];
  });
}

// w, x, y, z of a rotation in rows, and back; the largest of the four is computed first.
export function quaternion(r) {
  const trace = r[0][0] + r[1][1] + r[2][2];
  const squares = [1 + trace, ...[0, 1, 2].map((k) => 1 + 2 * r[k][k] - trace)];
  const [plus, minus] = [(i, j) => r[i][j] + r[j][i], (i, j) => r[i][j] - r[j][i]];
  const q = [
    [squares[0], minus(2, 1), minus(0, 2), minus(1, 0)],
    [minus(2, 1), squares[1], plus(0, 1), plus(2, 0)],
    [minus(0, 2), plus(0, 1), squares[2], plus(1, 2)],
    [minus(1, 0), plus(2, 0), plus(1, 2), squares[3]],
  ][squares.indexOf(Math.max(...squares))];
  return mul(q, 1 / Math.hypot(...q));
}

export function axes(q) {
  const [w, x, y, z] = mul(q, 1 / Math.hypot(...q));
  return [
    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
  ];
}

const EASINGS = ['through', 'rest', 'hold'];

// Keyframes without times are evenly spaced, those without an easing are passed through.
function checked(list) {
  const numbers = (a, n) => Array.isArray(a) && a.length === n && a.every(Number.isFinite);
  const good = ({ position, rotation, fov }) => numbers(position, 3) && Number.isFinite(fov)
    && Array.isArray(rotation) && rotation.length === 3 && rotation.every((r) => numbers(r, 3));
  if (!Array.isArray(list) || !list.every(good)) throw new Error('the file holds no camera path');
  const rising = list.every(({ time }, i) => Number.isFinite(time) && (i === 0 || time > list[i - 1].time));
  return list.map(({ time, position, rotation, fov, easing }, i) => ({
    time: rising ? time : i * SECONDS_APART, position, rotation, fov,
    ...(EASINGS.includes(easing) && { easing }),
  }));
}
