// The camera: an orbit around a target, in the scene's axes. Views are OpenCV's: x right, y down,
// z forward.

export const add = (a, b) => a.map((v, i) => v + b[i]);
export const sub = (a, b) => a.map((v, i) => v - b[i]);
export const mul = (a, s) => a.map((v) => v * s);
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) =>
  [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const length = (a) => Math.sqrt(dot(a, a));
export const unit = (a) => mul(a, 1 / (length(a) || 1));

const STEEPEST = Math.PI / 2 - 0.01;
const MARGIN = 1.05; // around what is framed
// Angles, in degrees, up to which a window widens a view of another shape to show all of it, a high
// one upwards and a wide one sideways: more would bend what is near the edges.
const HIGHEST = 75;
const WIDEST = 90;
const SAME = 1.001; // ratio of shapes that are one: addresses have rounded numbers

// A view for a window of another shape, `aspect` wide for its height. The window shows all of the
// view as far as the angle remains a usual one; for the rest a camera that looks at the box from
// outside stands back, and one inside it shows less.
function fitted(view, aspect, box) {
  const tangent = (degrees) => Math.tan((degrees * Math.PI) / 360);
  const high = tangent(view.fov);
  const across = high * view.aspect;
  const whole = view.aspect > SAME * aspect ? across / aspect : high;
  const most = Math.min(Math.max(high, tangent(HIGHEST)), Math.max(across, tangent(WIDEST)) / aspect);
  const half = Math.min(whole, most);
  const ahead = dot(sub(mul(add(box[0], box[1]), 0.5), view.position), view.rotation[2]);
  const outside = view.position.some((v, k) => v < box[0][k] || v > box[1][k]);
  const back = outside && ahead > 0 ? ahead * (whole / half - 1) : 0;
  return {
    position: sub(view.position, mul(view.rotation[2], back)),
    fov: (Math.atan(half) * 360) / Math.PI,
    back,
  };
}

export class Camera {
  constructor() {
    this.fov = 50; // vertical, degrees
    this.target = [0, 0, 0];
    this.distance = 1;
    this.yaw = 0;
    this.pitch = -0.2; // above 0 looks up
    this.exact = null; // a photo's camera, until the user moves
    this.setUp([0, -1, 0]);
  }

  // Keeps the direction of view, as far as the new up allows.
  setUp(up) {
    const forward = this.forward0 && this.axes()[2];
    this.up = unit(up);
    const least = this.up.map(Math.abs).reduce((best, v, i, all) => (v < all[best] ? i : best), 0);
    const other = [0, 0, 0];
    other[least] = 1;
    this.side0 = unit(cross(this.up, other));
    this.forward0 = cross(this.side0, this.up);
    if (forward) this.lookAlong(forward);
  }

  lookAlong(forward) {
    this.pitch = Math.asin(Math.max(-1, Math.min(1, dot(forward, this.up))));
    this.yaw = Math.atan2(dot(forward, this.side0), dot(forward, this.forward0));
    this.limit();
  }

  limit() {
    this.pitch = Math.max(-STEEPEST, Math.min(STEEPEST, this.pitch));
  }

  // Right, down, forward.
  axes() {
    if (this.exact) return this.exact.rotation;
    const level = add(mul(this.forward0, Math.cos(this.yaw)), mul(this.side0, Math.sin(this.yaw)));
    const forward = add(mul(level, Math.cos(this.pitch)), mul(this.up, Math.sin(this.pitch)));
    const right = unit(cross(forward, this.up));
    return [right, cross(forward, right), forward];
  }

  position() {
    if (this.exact) return this.exact.position;
    return sub(this.target, mul(this.axes()[2], this.distance));
  }

  pose() {
    return { position: this.position(), rotation: this.axes(), fov: this.fov };
  }

  // From a photo's camera or a keyframe back to the orbit that looks nearly the same.
  release() {
    if (!this.exact) return;
    const { position, rotation } = this.exact;
    this.distance += this.exact.back;
    this.exact = null;
    this.lookAlong(rotation[2]);
    this.target = add(position, mul(this.axes()[2], this.distance));
  }

  // `aspect`, if there is one: width over height of what is to be seen.
  goTo({ position, rotation, fov, aspect }) {
    if (fov) this.fov = fov;
    this.exact = { position, rotation, back: 0, view: { position, rotation, fov: this.fov, aspect } };
  }

  // Shows the view that the camera went to in a window of this shape; see `fitted`.
  fit(aspect, box) {
    if (!this.exact?.view.aspect) return;
    const { position, fov, back } = fitted(this.exact.view, aspect, box);
    Object.assign(this.exact, { position, back });
    this.fov = fov;
  }

  // Moves back until a box is seen whole, in the direction of view. `aspect`: width over height of
  // what is drawn.
  frame(box, aspect) {
    this.release();
    const axes = this.axes();
    this.target = mul(add(box[0], box[1]), 0.5);
    const high = Math.tan((this.fov * Math.PI) / 360);
    const tangents = [high * aspect, high];
    let distance = 0;
    for (let corner = 0; corner < 8; corner++) {
      const offset = this.target.map((v, k) => box[(corner >> k) & 1][k] - v);
      const depth = dot(axes[2], offset);
      tangents.forEach((tangent, k) => {
        const aside = Math.abs(dot(axes[k], offset));
        distance = Math.max(distance, (MARGIN * aside) / tangent - depth);
      });
    }
    this.distance = distance || 1;
  }

  orbit(dx, dy) {
    this.release();
    this.yaw += dx * 0.006;
    this.pitch -= dy * 0.006;
    this.limit();
  }

  look(dx, dy) {
    this.release();
    const eye = this.position();
    this.yaw += dx * 0.004;
    this.pitch -= dy * 0.004;
    this.limit();
    this.target = add(eye, mul(this.axes()[2], this.distance));
  }

  pan(dx, dy, height) {
    this.release();
    const size = (2 * this.distance * Math.tan((this.fov * Math.PI) / 360)) / height;
    const [right, down] = this.axes();
    this.target = sub(this.target, add(mul(right, dx * size), mul(down, dy * size)));
  }

  dolly(factor) {
    this.release();
    this.distance = Math.max(1e-4, this.distance * factor);
  }

  // Along right, down and forward, in shares of the distance to the target.
  fly(by) {
    this.release();
    const axes = this.axes();
    for (let i = 0; i < 3; i++) {
      this.target = add(this.target, mul(axes[i], by[i] * this.distance));
    }
  }

  focus(point) {
    this.release();
    const eye = this.position();
    this.distance = Math.max(1e-4, length(sub(point, eye)) * 0.6);
    this.target = point;
  }
}

// The pixel of a world point, or nothing if it is behind the camera.
export function project(pose, point, width, height) {
  const d = sub(point, pose.position);
  const [x, y, z] = pose.rotation.map((axis) => dot(axis, d));
  if (z < 1e-6) return null;
  const focal = height / (2 * Math.tan((pose.fov * Math.PI) / 360));
  return [width / 2 + (focal * x) / z, height / 2 + (focal * y) / z];
}
