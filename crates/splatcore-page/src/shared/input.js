// Mouse, touch and keys become moves of the camera.

// `on` has: moved(), clickedTwice(x, y), click(x, y), key(name), and perhaps grab(event): what takes
// a drag in place of the camera (move(event), end(), and cancel() for a second finger), or null.
export function listen(stage, camera, on) {
  const pointers = new Map();
  let travelled = 0;
  let mode = 'orbit';
  let grabbed = null;

  const spread = () => {
    const [a, b] = [...pointers.values()];
    return { size: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
  };

  stage.addEventListener('pointerdown', (event) => {
    if (event.target.tagName === 'INPUT') return;
    stage.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    travelled = 0;
    if (pointers.size === 1) grabbed = on.grab?.(event) ?? null;
    else if (grabbed) {
      grabbed.cancel();
      grabbed = null;
    }
    const pans = event.button === 2 || event.button === 1 || event.shiftKey;
    mode = pans ? 'pan' : event.altKey ? 'look' : 'orbit';
  });

  stage.addEventListener('pointermove', (event) => {
    const last = pointers.get(event.pointerId);
    if (!last) return;
    const before = pointers.size === 2 ? spread() : null;
    const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    travelled += Math.abs(dx) + Math.abs(dy);
    if (grabbed) {
      grabbed.move(event);
      return;
    }
    if (before) {
      const after = spread();
      camera.dolly(before.size / Math.max(after.size, 1));
      camera.pan(after.x - before.x, after.y - before.y, stage.clientHeight);
    } else if (travelled > 3) {
      if (mode === 'pan') camera.pan(dx, dy, stage.clientHeight);
      else camera[mode](dx, dy);
    } else return;
    on.moved();
  });

  const released = (event) => {
    if (grabbed && pointers.delete(event.pointerId)) {
      if (event.type === 'pointerup') grabbed.end();
      else grabbed.cancel();
      grabbed = null;
      return;
    }
    if (pointers.delete(event.pointerId) && travelled <= 3 && event.type === 'pointerup') {
      on.click(event.clientX, event.clientY);
    }
  };
  stage.addEventListener('pointerup', released);
  stage.addEventListener('pointercancel', released);
  stage.addEventListener('contextmenu', (event) => event.preventDefault());
  stage.addEventListener('dblclick', (event) => on.clickedTwice(event.clientX, event.clientY));
  stage.addEventListener('wheel', (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 30 : 1;
    camera.dolly(Math.exp(Math.max(-200, Math.min(200, event.deltaY * lines)) * 0.0015));
    on.moved();
  }, { passive: false });

  // Keys that fly: right, down, forward.
  const flights = { a: [-1, 0, 0], d: [1, 0, 0], q: [0, 1, 0], e: [0, -1, 0], w: [0, 0, 1], s: [0, 0, -1] };
  const held = new Set();
  let last = 0;
  const fly = (now) => {
    if (held.size === 0) return;
    const seconds = Math.min(0.1, (now - last) / 1000);
    last = now;
    const speed = seconds * (held.has('shift') ? 2 : 0.5);
    const by = [0, 0, 0];
    for (const key of held) (flights[key] || by).forEach((v, i) => (by[i] += v * speed));
    if (by.some((v) => v)) {
      camera.fly(by);
      on.moved();
    }
    requestAnimationFrame(fly);
  };
  const typing = (event) => ['INPUT', 'SELECT', 'TEXTAREA'].includes(event.target.tagName);
  addEventListener('keydown', (event) => {
    if (typing(event) || event.ctrlKey || event.metaKey) return;
    const key = event.key.toLowerCase();
    if (flights[key] || key === 'shift') {
      if (held.size === 0) {
        last = performance.now();
        requestAnimationFrame(fly);
      }
      held.add(key);
    } else on.key(key);
  });
  addEventListener('keyup', (event) => held.delete(event.key.toLowerCase()));
  addEventListener('blur', () => held.clear());
}
