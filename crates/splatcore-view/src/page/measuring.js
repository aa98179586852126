// Distances between picked points, the scale from one, and up from a plane.
import { cross, dot, length, mul, sub, unit } from './camera.js';

const element = (id) => document.getElementById(id);

// `page` as Selecting has it.
export class Measuring {
  constructor(page, tools) {
    Object.assign(this, { page, tools, status: {}, line: [], plane: [] });
    element('set-scale').onclick = () => this.setScale();
    element('real-length').onkeydown = (event) => { if (event.key === 'Enter') this.setScale(); };
    element('reset-scale').onclick = () => this.edit({ do: 'metric', points: null });
    element('level-selection').onclick = () =>
      this.edit({ do: 'up-from-selection', towards: page.camera.position() });
    element('flip-up').onclick = () =>
      this.status.up && this.edit({ do: 'up', direction: mul(this.status.up, -1) });
    element('reset-up').onclick = () => this.edit({ do: 'up', direction: null });
  }

  edit(edit) {
    this.page.send({ type: 'edit', edit });
  }

  show(status) {
    const before = JSON.stringify(this.status.up ?? null);
    this.status = status;
    const may = Boolean(status.enabled && this.page.mayEdit());
    element('scale-row').hidden = !may;
    element('reset-scale').hidden = !(may && status.scale !== 1 && status.scale);
    for (const id of ['flip-up', 'reset-up']) element(id).hidden = !status.up;
    element('level-selection').disabled = !status.selected;
    const up = JSON.stringify(status.up ?? null);
    if (up !== before) this.page.setUp(status.up);
    this.draw();
  }

  // Another tool was chosen.
  choose(tool) {
    this.line = this.plane = [];
    if (tool !== 'measure' && tool !== 'level') this.page.overlay.marks = [];
    this.draw();
  }

  place(point) {
    if (this.tools.current === 'measure') {
      this.line = this.line.length === 2 ? [point] : [...this.line, point];
    } else {
      this.plane = this.plane.length === 3 ? [point] : [...this.plane, point];
      if (this.plane.length === 3) this.setPlane();
    }
    this.draw();
  }

  // The side that the camera is on is up.
  setPlane() {
    const [a, b, c] = this.plane;
    const normal = cross(unit(sub(b, a)), unit(sub(c, a)));
    if (length(normal) < 0.01) {
      this.page.say('the three points lie on a line; choose other points');
      return;
    }
    const above = dot(normal, sub(this.page.camera.position(), a)) > 0;
    this.edit({ do: 'up-from-plane', points: above ? [a, b, c] : [a, c, b] });
  }

  setScale() {
    const real = Number(element('real-length').value);
    if (this.line.length < 2 || !(real > 0)) {
      this.page.say('measure a distance first, then type how long it really is');
      return;
    }
    this.edit({ do: 'metric', points: this.line, length: real });
  }

  draw() {
    const scale = this.status.scale || 1;
    const { overlay } = this.page;
    const tool = this.tools.current;
    if (tool === 'measure') {
      const done = this.line.length === 2;
      const distance = done ? scale * length(sub(...this.line)) : 0;
      const text = done ? `${Number(distance.toPrecision(5))}` : '';
      overlay.marks = [{ points: this.line, text, closed: false }];
      element('distance').textContent = done ? `${text} ${scale === 1 ? 'scene units' : 'units (scale set)'}`
        : this.line.length ? 'click on the second point' : 'click on two points';
    } else if (tool === 'level') {
      overlay.marks = [{ points: this.plane, text: '', closed: true }];
      const left = 3 - this.plane.length;
      element('level-hint').textContent = this.status.up ? 'Up is set, and is written on saving.'
        : `Click on ${left === 3 ? 'three points' : left === 2 ? 'two more points' : 'one more point'} `
          + 'of a floor or a table.';
    }
    overlay.draw(this.page.camera.pose());
  }
}
