// Looking around with a headset, by WebXR. The headset's metres become the scene's units so that
// what the camera turned about stands two metres away.
import { add, cross, dot, mul, sub, unit } from './camera.js';

const DISTANCE = 2; // metres
const SPEED = 1.5; // metres a second
const STEP = Math.PI / 6; // of a turn by the thumbstick
const DEAD = 0.2; // of a thumbstick that is let go
// Of the headset's pixels a side: it draws two pictures, ninety times a second.
const SHARE = 0.75;

// Where the headset's axes (x right, y up, z back) lie in the scene.
class Rig {
  constructor({ position, rotation }, up, distance) {
    const level = sub(rotation[2], mul(up, dot(rotation[2], up)));
    // Whoever looks straight down has the upper edge of the picture ahead.
    const ahead = unit(Math.hypot(...level) > 1e-3 ? level : mul(rotation[1], -1));
    Object.assign(this, { position, up, scale: distance / DISTANCE });
    this.face(ahead);
  }

  face(ahead) {
    this.ahead = ahead;
    this.right = cross(ahead, this.up);
  }

  direction([x, y, z]) {
    return add(add(mul(this.right, x), mul(this.up, y)), mul(this.ahead, -z));
  }

  place(point) {
    return add(this.position, mul(this.direction(point), this.scale));
  }

  // Turns about the head, which stays where it is.
  turn(angle, head) {
    const before = this.place(head);
    this.face(unit(add(mul(this.ahead, Math.cos(angle)), mul(this.right, Math.sin(angle)))));
    this.position = add(this.position, sub(before, this.place(head)));
  }
}

// The scene's camera of a transform (4x4, by columns, of eye to headset's space).
function poseOf(rig, m) {
  const [right, up, back] = [0, 4, 8].map((i) => rig.direction(Array.from(m.slice(i, i + 3))));
  return { position: rig.place(Array.from(m.slice(12, 15))), rotation: [right, mul(up, -1), mul(back, -1)] };
}

// With focal lengths and centre, in pixels, of a projection (4x4, by columns).
function eyeOf(rig, { transform, projectionMatrix: p }, size) {
  return {
    ...poseOf(rig, transform.matrix),
    size,
    focal: [(p[0] * size[0]) / 2, (p[5] * size[1]) / 2],
    centre: [(size[0] / 2) * (1 - p[8]), (size[1] / 2) * (1 + p[9])],
  };
}

export class Headset {
  // `on` has: renderer(), sorting(), look(), pose(), up(), distance(), small() (whether fewer pixels
  // will do), moved(pose, size), ended(), failed(text).
  constructor(button, on) {
    Object.assign(this, { button, on, session: null });
    button.onclick = () => (this.session ? this.session.end() : this.enter());
    navigator.xr?.isSessionSupported('immersive-vr').then((can) => { button.hidden = !can; }, () => {});
  }

  async enter() {
    const { on } = this;
    let session = null;
    try {
      session = await navigator.xr.requestSession('immersive-vr');
      const { gl } = on.renderer();
      await gl.makeXRCompatible();
      const layer = new XRWebGLLayer(session, gl, { alpha: false, antialias: false, depth: false });
      await session.updateRenderState({ baseLayer: layer });
      const space = await session.requestReferenceSpace('local');
      this.begin(session, layer, space);
    } catch (error) {
      session?.end().catch(() => {});
      on.failed(`the headset cannot be used: ${error.message}`);
    }
  }

  begin(session, layer, space) {
    const { on } = this;
    const rig = new Rig(on.pose(), on.up(), on.distance());
    this.session = session;
    this.button.ariaPressed = true;
    let last = null;
    const draw = (now, shown) => {
      session.requestAnimationFrame(draw);
      const head = shown.getViewerPose(space);
      if (!head) return;
      this.move(rig, session, head, last === null ? 0 : Math.min(0.1, (now - last) / 1000));
      last = now;
      on.sorting().want(poseOf(rig, head.transform.matrix).rotation[2]);
      for (const view of head.views) {
        const { x, y, width, height } = layer.getViewport(view);
        const share = on.small() ? SHARE : 1;
        const size = [width, height].map((side) => Math.max(1, Math.round(side * share)));
        const eye = eyeOf(rig, view, size);
        on.renderer().drawInto(layer.framebuffer, [x, y, width, height], eye, on.look());
        on.moved({ ...eye, fov: (Math.atan(size[1] / (2 * eye.focal[1])) * 360) / Math.PI }, size);
      }
      on.renderer().drawn++;
    };
    session.addEventListener('end', () => {
      this.session = null;
      this.button.ariaPressed = false;
      on.ended();
    });
    session.requestAnimationFrame(draw);
  }

  // Left stick: walk where one looks. Right stick: turn by steps, up and down.
  move(rig, session, { transform: { matrix } }, seconds) {
    const { rotation: [right, , forward] } = poseOf(rig, matrix);
    const step = seconds * SPEED * rig.scale;
    for (const { gamepad, handedness } of session.inputSources) {
      if (!gamepad) continue;
      const [x, y] = (gamepad.axes.length > 2 ? gamepad.axes.slice(2, 4) : gamepad.axes)
        .map((v) => (Math.abs(v) > DEAD ? v : 0));
      if (handedness === 'right') {
        rig.position = add(rig.position, mul(rig.up, -y * step));
        if (x && !this.turned) rig.turn(Math.sign(x) * STEP, Array.from(matrix.slice(12, 15)));
        this.turned = x !== 0;
      } else {
        rig.position = add(rig.position, add(mul(right, x * step), mul(forward, -y * step)));
      }
    }
  }
}
