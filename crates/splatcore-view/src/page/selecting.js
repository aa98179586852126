// Selecting by brush, box and sphere, and what is done with a selection.
import { sub } from './camera.js';
import { dragged, handleAt } from './handles.js';

const element = (id) => document.getElementById(id);
const MAX_POINTS = 1000; // of a stroke

// `page` has: camera, overlay, stage, info(), view(), send(message), pick(x, y), redraw().
export class Selecting {
  constructor(page, tools) {
    Object.assign(this, { page, tools, join: 'replace', status: {} });
    for (const name of ['replace', 'add', 'remove']) {
      element(`join-${name}`).onclick = () => this.setJoin(name);
    }
    for (const name of ['invert', 'clear', 'delete', 'keep', 'undo', 'redo']) {
      element(name).onclick = () => this.edit({ do: name });
    }
    element('brush-size').oninput = () => this.showBrush();
    element('sphere-radius').oninput = () => {
      this.radius = this.size * 10 ** Number(element('sphere-radius').value);
      if (this.tools.current === 'sphere') this.showVolume();
    };
    element('select-box').onclick = () => this.selectVolume();
    element('select-sphere').onclick = () => this.selectVolume();
    page.stage.addEventListener('pointermove', (event) => this.hover(event));
    page.stage.addEventListener('pointerleave', () => { page.overlay.brush = null; this.draw(); });
    addEventListener('keydown', (event) => this.shortcut(event));
  }

  // The scene is there, perhaps another one.
  begin() {
    const { bounds } = this.page.info();
    this.box = bounds.map((corner) => [...corner]);
    this.centre = bounds[0].map((low, axis) => (low + bounds[1][axis]) / 2);
    this.size = Math.max(...sub(bounds[1], bounds[0])) || 1;
    this.radius = this.size * 10 ** Number(element('sphere-radius').value);
    this.sliders();
  }

  edit(edit) {
    this.page.send({ type: 'edit', edit });
  }

  setJoin(name) {
    this.join = name;
    for (const other of ['replace', 'add', 'remove']) {
      element(`join-${other}`).ariaPressed = String(other === name);
    }
  }

  // Shift adds, alt removes, whatever the buttons say.
  joinOf(event) {
    if (event?.altKey) return 'remove';
    return event?.shiftKey ? 'add' : this.join;
  }

  show(status) {
    this.status = status;
    const number = (n) => n.toLocaleString('en');
    const some = status.selected > 0;
    element('selected').textContent = some ? `${number(status.selected)} selected` : 'nothing selected';
    for (const id of ['delete', 'keep', 'clear']) element(id).disabled = !some;
    element('undo').disabled = !(status.enabled && this.page.mayEdit() && status.undo);
    element('redo').disabled = !(status.enabled && this.page.mayEdit() && status.redo);
  }

  shortcut(event) {
    const key = event.key.toLowerCase();
    const typing = event.target.tagName === 'INPUT' && !['range', 'checkbox'].includes(event.target.type);
    if (typing || !(event.ctrlKey || event.metaKey) || !this.page.mayEdit()) return;
    const name = key === 'y' || (key === 'z' && event.shiftKey) ? 'redo' : key === 'z' ? 'undo' : '';
    if (!name) return;
    event.preventDefault();
    this.edit({ do: name });
  }

  key(key) {
    if (key === '[' || key === ']') this.resize(key === ']' ? 1 : -1);
    const names = { delete: 'delete', backspace: 'delete', i: 'invert' };
    if (names[key] && !element(names[key]).disabled && this.page.mayEdit()) element(names[key]).click();
  }

  // Makes the brush or the sphere larger or smaller.
  resize(sign) {
    const slider = element(this.tools.current === 'sphere' ? 'sphere-radius' : 'brush-size');
    slider.value = Number(slider.value) + (sign * (slider.max - slider.min)) / 25;
    slider.oninput();
  }

  // A stroke begins, or a handle is dragged: what the pointer does until it is released. Nothing
  // where the drag is the camera's.
  grab(event) {
    if (event.button !== 0) return null;
    if (this.tools.current === 'brush') return this.paint(event);
    const handle = this.handle(event);
    return handle && this.drag(handle, event);
  }

  // The handle of the box or the sphere that the pointer is on.
  handle(event) {
    const { stage, overlay, camera } = this.page;
    return handleAt(overlay, camera.pose(), [stage.clientWidth, stage.clientHeight], event);
  }

  drag(handle, { clientX, clientY }) {
    const { stage, overlay, camera } = this.page;
    const before = { box: overlay.box, sphere: overlay.sphere };
    const [pose, size] = [camera.pose(), [stage.clientWidth, stage.clientHeight]];
    const show = ({ box, sphere }) => {
      if (box) this.box = box;
      if (sphere) Object.assign(this, sphere);
      this.showSliders();
      this.showVolume();
    };
    const hold = (held) => {
      overlay.held = held;
      this.draw();
    };
    hold(handle);
    let moved = false;
    return {
      move: (event) => {
        const to = [event.clientX, event.clientY];
        moved ||= Math.hypot(to[0] - clientX, to[1] - clientY) > 3;
        if (moved) show(dragged(before, handle, pose, size, [clientX, clientY], to));
      },
      // A click on a handle is one on the scene behind it.
      end: () => {
        hold(null);
        if (!moved) this.page.place(clientX, clientY);
      },
      cancel: () => { show(before); hold(null); },
    };
  }

  paint(event) {
    const { stage, overlay } = this.page;
    const join = this.joinOf(event);
    const radius = Number(element('brush-size').value);
    const points = [[event.clientX, event.clientY]];
    overlay.stroke = { points, radius, join };
    this.draw();
    // What hides what is found out while the stroke is painted.
    if (!element('through').checked) this.page.send({ type: 'sight', view: this.page.view() });
    const end = () => { overlay.stroke = null; this.draw(); };
    return {
      move: ({ clientX, clientY }) => {
        const [x, y] = points.at(-1);
        overlay.brush = { x: clientX, y: clientY, radius };
        const far = Math.hypot(clientX - x, clientY - y) > radius / 4;
        if (far && points.length < MAX_POINTS) points.push([clientX, clientY]);
        this.draw();
      },
      end: () => {
        const view = this.page.view();
        const scale = view.height / stage.clientHeight;
        this.edit({
          do: 'select-stroke', view, points: points.map((p) => p.map((v) => v * scale)),
          radius: radius * scale, through: element('through').checked, join,
        });
        end();
      },
      cancel: end,
    };
  }

  hover(event) {
    if (event.pointerType === 'touch') return;
    if (['box', 'sphere'].includes(this.tools.current) && event.buttons === 0) this.point(event);
    if (this.tools.current !== 'brush') return;
    this.page.overlay.brush = { x: event.clientX, y: event.clientY };
    this.showBrush();
  }

  // Shows that a handle can be dragged.
  point(event) {
    const handle = this.handle(event);
    const before = this.page.overlay.held;
    this.page.overlay.held = handle;
    this.page.stage.classList.toggle('grab', Boolean(handle));
    if (handle || before) this.draw();
  }

  showBrush() {
    const radius = Number(element('brush-size').value);
    if (this.page.overlay.brush) this.page.overlay.brush.radius = radius;
    this.draw();
  }

  // Another tool was chosen.
  choose(tool) {
    const { overlay } = this.page;
    overlay.brush = overlay.stroke = overlay.held = null;
    this.page.stage.classList.remove('grab');
    overlay.box = tool === 'box' ? this.box : null;
    overlay.sphere = null;
    if (tool === 'box' || tool === 'sphere') this.showVolume();
    this.draw();
  }

  // A point of the scene was clicked on: the box or the sphere goes there.
  place(point) {
    if (this.tools.current === 'sphere') this.centre = point;
    else {
      const half = sub(this.box[1], this.box[0]).map((v) => v / 2);
      const whole = sub(...[...this.page.info().bounds].reverse());
      // A box around the whole scene becomes one that can be seen.
      const size = half.map((v, axis) => (v > 0.45 * whole[axis] ? whole[axis] / 8 : v));
      this.box = [0, 1].map((end) => point.map((v, axis) => v + (end ? 1 : -1) * size[axis]));
      this.sliders();
    }
    this.showVolume();
  }

  // Two sliders for each side of the box.
  sliders() {
    const { bounds } = this.page.info();
    element('box').replaceChildren(...['x', 'y', 'z'].flatMap((name, axis) => {
      const [low, high] = bounds.map((corner) => corner[axis]);
      const room = (high - low) / 4 || 1;
      const sliders = [0, 1].map((end) => {
        const slider = document.createElement('input');
        Object.assign(slider, { type: 'range', min: low - room, max: high + room, step: 'any' });
        slider.value = this.box[end][axis];
        slider.ariaLabel = `${end ? 'largest' : 'smallest'} ${name}`;
        slider.oninput = () => {
          this.box[end][axis] = Number(slider.value);
          this.showVolume();
        };
        return slider;
      });
      return [document.createTextNode(name), ...sliders];
    }));
  }

  // The sliders stand where the box and the sphere are.
  showSliders() {
    const sliders = element('box').querySelectorAll('input');
    sliders.forEach((slider, i) => { slider.value = this.box[i % 2][i >> 1]; });
    element('sphere-radius').value = Math.log10(this.radius / this.size);
  }

  showVolume() {
    const { overlay } = this.page;
    const numbers = (list) => list.map((v) => Number(v.toFixed(4))).join(',');
    if (this.tools.current === 'box') {
      overlay.box = this.box;
      element('command').value = `--crop box:${numbers(this.corners().flat())}`;
    } else {
      overlay.sphere = { centre: this.centre, radius: this.radius };
      element('command').value = `--crop sphere:${numbers([...this.centre, this.radius])}`;
    }
    this.draw();
  }

  selectVolume() {
    const { join } = this;
    if (this.tools.current === 'sphere') {
      this.edit({ do: 'select-sphere', centre: this.centre, radius: this.radius, join });
      return;
    }
    const [min, max] = this.corners();
    this.edit({ do: 'select-box', min, max, join });
  }

  // The smallest and the largest coordinates of the box, however its sliders stand.
  corners() {
    return [Math.min, Math.max].map((end) => this.box[0].map((v, axis) => end(v, this.box[1][axis])));
  }

  draw() {
    this.page.overlay.draw(this.page.camera.pose());
  }
}
