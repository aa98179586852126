// The slow turn of a scene that nobody has touched, and flights from view to view.
import { add, cross, dot, mul, sub } from './camera.js';
import { Keyframes } from './keyframes.js';

const SPEED = (6 * Math.PI) / 180; // radians a second
const FLIGHT = 0.8; // seconds

export const calm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

// Rotates a vector about a unit axis.
function rotated(v, axis, angle) {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  return add(add(mul(v, c), mul(cross(axis, v), s)), mul(axis, dot(axis, v) * (1 - c)));
}

// The point of the view's axis that is nearest to the scene's middle; if that is behind the camera
// or close to it, the camera itself: it looks around.
export function pivotOf({ position, rotation }, [low, high]) {
  const ahead = dot(sub(mul(add(low, high), 0.5), position), rotation[2]);
  const small = 0.1 * Math.hypot(...sub(high, low));
  return ahead > small ? add(position, mul(rotation[2], ahead)) : position;
}

export class Turn {
  // `on` has: pose(), up(), bounds, goTo(pose), changed(whether it turns).
  constructor(on) {
    Object.assign(this, { on, request: 0 });
  }

  get running() {
    return this.request !== 0;
  }

  start() {
    if (this.running) return;
    const from = this.on.pose();
    const pivot = pivotOf(from, this.on.bounds);
    const axis = this.on.up();
    let [angle, last] = [0, performance.now()];
    const step = (now) => {
      angle += SPEED * Math.min(0.1, Math.max(0, now - last) / 1000);
      last = now;
      this.request = requestAnimationFrame(step);
      this.on.goTo({
        ...from,
        position: add(pivot, rotated(sub(from.position, pivot), axis, angle)),
        rotation: from.rotation.map((v) => rotated(v, axis, angle)),
      });
    };
    this.request = requestAnimationFrame(step);
    this.on.changed(true);
  }

  stop() {
    if (!this.running) return;
    cancelAnimationFrame(this.request);
    this.request = 0;
    this.on.changed(false);
  }

  toggle() {
    if (this.running) this.stop();
    else this.start();
  }
}

// Moves from one pose to another, at once for those who want little motion. Returns what stops it.
export function fly(from, to, goTo) {
  if (calm()) {
    goTo(to);
    return () => {};
  }
  const path = new Keyframes(null, [{ ...from, time: 0, easing: 'rest' }, { ...to, time: FLIGHT, easing: 'rest' }]);
  const begun = performance.now();
  let request = 0;
  const step = (now) => {
    const seconds = (now - begun) / 1000;
    goTo(seconds < FLIGHT ? { ...path.at(Math.max(0, seconds)), aspect: to.aspect } : to);
    if (seconds < FLIGHT) request = requestAnimationFrame(step);
  };
  request = requestAnimationFrame(step);
  return () => cancelAnimationFrame(request);
}
