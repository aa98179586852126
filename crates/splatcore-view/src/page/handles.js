// Handles of the selection box and sphere: places on the picture that move and resize them.
import { add, dot, mul, project, sub } from './camera.js';

const REACH = { mouse: 12, pen: 16, touch: 26 }; // pixels from a handle that still take it
const LEAST = 1e-3; // thickness of a box at least, of its whole
const COLOURS = ['#ff6b6b', '#7ddc8b', '#6aa9ff']; // x, y, z

// The handles of a box or a sphere: what they do, where they are in the world, their colour.
export function handles({ box, sphere }, pose) {
  if (sphere) {
    return [
      { does: 'move', at: sphere.centre, colour: '#fff' },
      { does: 'radius', at: add(sphere.centre, mul(pose.rotation[0], sphere.radius)), colour: '#ffd23c' },
    ];
  }
  if (!box) return [];
  const centre = mul(add(...box), 0.5);
  const faces = [0, 1, 2].flatMap((axis) => [0, 1].map((end) => {
    const at = [...centre];
    at[axis] = box[end][axis];
    return { does: 'face', axis, end, at, colour: COLOURS[axis] };
  }));
  return [...faces, { does: 'move', at: centre, colour: '#fff' }];
}

export function handleAt(volume, pose, size, event) {
  let [best, nearest] = [null, REACH[event.pointerType] ?? REACH.mouse];
  for (const handle of handles(volume, pose)) {
    const place = project(pose, handle.at, ...size);
    if (!place) continue;
    const distance = Math.hypot(place[0] - event.clientX, place[1] - event.clientY);
    // The last of those at one place is on top.
    if (distance <= nearest) [best, nearest] = [handle, distance];
  }
  return best;
}

// The volume when a handle was dragged from one pixel to another.
export function dragged({ box, sphere }, handle, pose, size, from, to) {
  const [a, b] = [from, to].map((pixel) => onPlane(pose, size, handle.at, pixel));
  const by = sub(b, a);
  if (handle.does === 'move') {
    if (sphere) return { sphere: { ...sphere, centre: add(sphere.centre, by) } };
    return { box: box.map((corner) => add(corner, by)) };
  }
  if (handle.does === 'radius') {
    const along = sphere.radius + dot(by, pose.rotation[0]);
    return { sphere: { ...sphere, radius: Math.max(along, LEAST * sphere.radius) } };
  }
  const { axis, end } = handle;
  const moved = handle.at[axis] + alongAxis(pose, size, handle.at, axis, to)
    - alongAxis(pose, size, handle.at, axis, from);
  const least = LEAST * Math.abs(box[1][axis] - box[0][axis]);
  const corners = box.map((corner) => [...corner]);
  corners[end][axis] = end ? Math.max(moved, box[0][axis] + least) : Math.min(moved, box[1][axis] - least);
  return { box: corners };
}

// The direction of a pixel: 1 along the axis of view.
function ray(pose, [width, height], [x, y]) {
  const focal = height / (2 * Math.tan((pose.fov * Math.PI) / 360));
  const [right, down, forward] = pose.rotation;
  return add(forward, add(mul(right, (x - width / 2) / focal), mul(down, (y - height / 2) / focal)));
}

// Where a pixel's ray meets the plane through a point that is parallel to the picture.
function onPlane(pose, size, point, pixel) {
  const depth = dot(sub(point, pose.position), pose.rotation[2]);
  return add(pose.position, mul(ray(pose, size, pixel), depth));
}

// How far along an axis from a point the place is that is nearest to a pixel's ray; 0 where the
// axis points at the eye.
function alongAxis(pose, size, point, axis, pixel) {
  const direction = ray(pose, size, pixel);
  const offset = sub(point, pose.position);
  const [square, slope] = [dot(direction, direction), direction[axis]];
  const apart = square - slope * slope;
  if (apart < 1e-3 * square) return 0;
  return (slope * dot(direction, offset) - square * offset[axis]) / apart;
}
