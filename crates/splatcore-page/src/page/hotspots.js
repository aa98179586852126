// Numbered markers in the scene, and the card with the text of one. Texts are never HTML.
import { dot, project, sub } from './camera.js';

// Of a marker's distance: what is seen nearer than that hides it.
const HIDING = 0.97;

export class Hotspots {
  // `list`: position, title, text and maybe view of each. `chosen(hotspot)` follows a choice.
  constructor(list, box, card, chosen) {
    Object.assign(this, { list, card, chosen, shown: -1 });
    const find = (name) => card.querySelector(`.${name}`);
    [this.title, this.text, this.number] = ['title', 'text', 'number'].map(find);
    this.markers = list.map(({ title }, i) => {
      const marker = document.createElement('button');
      marker.className = 'marker';
      marker.textContent = i + 1;
      marker.title = title;
      marker.ariaLabel = `${i + 1}: ${title}`;
      marker.onclick = () => (this.shown === i ? this.close() : this.show(i));
      return marker;
    });
    box.replaceChildren(...this.markers);
    find('close').onclick = () => this.close();
    for (const [name, step] of [['before', -1], ['after', 1]]) {
      find(name).hidden = list.length < 2;
      find(name).onclick = () => this.show((this.shown + step + list.length) % list.length);
    }
  }

  show(index) {
    if (!this.list[index]) return;
    this.shown = index;
    const { title, text } = this.list[index];
    this.number.textContent = `${index + 1} of ${this.list.length}`;
    this.title.textContent = title;
    this.text.textContent = text;
    this.card.hidden = false;
    this.mark();
    this.chosen(this.list[index]);
  }

  close() {
    if (this.shown < 0) return;
    const marker = this.markers[this.shown];
    this.shown = -1;
    this.card.hidden = true;
    this.mark();
    if (this.card.contains(document.activeElement) || document.activeElement === document.body) marker.focus();
  }

  mark() {
    this.markers.forEach((marker, i) => { marker.ariaPressed = i === this.shown; });
  }

  // Moves the markers to where a pose sees them, in a window of this size.
  place(pose, width, height) {
    this.list.forEach(({ position }, i) => {
      const at = project(pose, position, width, height);
      const inside = at && at[0] > -20 && at[1] > -20 && at[0] < width + 20 && at[1] < height + 20;
      const { style } = this.markers[i];
      style.visibility = inside ? 'visible' : 'hidden';
      if (inside) style.transform = `translate(${at[0].toFixed(1)}px, ${at[1].toFixed(1)}px)`;
    });
  }

  // Dims the markers that the scene hides; `depthsAt(places)` says how deep it is there.
  dim(pose, width, height, depthsAt) {
    const seen = this.list.flatMap(({ position }, i) => {
      const at = project(pose, position, width, height);
      const inside = at && at[0] >= 0 && at[1] >= 0 && at[0] < width && at[1] < height;
      return inside ? [{ i, place: [at[0] / width, at[1] / height], z: dot(pose.rotation[2], sub(position, pose.position)) }] : [];
    });
    const depths = seen.length ? depthsAt(seen.map(({ place }) => place)) : [];
    seen.forEach(({ i, z }, k) => {
      this.markers[i].classList.toggle('behind', depths[k] !== null && depths[k] < HIDING * z);
    });
  }
}
