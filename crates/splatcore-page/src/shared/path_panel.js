// The part of the panel about keyframes: the list, and buttons to add, play, save and load. What the
// page does is told by `on`: pose() is where the camera is, goTo(pose) moves it, changed() follows a
// change of the list, failed(text) shows what went wrong.

const CONTENT = `
    <div>
      <button id="add">Add keyframe</button> <button id="play">Play</button>
      <button id="save">Save</button>
      <label class="button">Load<input id="load" type="file" accept=".json,application/json"></label>
    </div>
    <ol id="keyframes"></ol>`;

export class PathPanel {
  constructor(section, keyframes, on) {
    Object.assign(this, { keyframes, on, playing: 0 });
    section.innerHTML = CONTENT;
    const find = (id) => section.querySelector(`#${id}`);
    this.items = find('keyframes');
    find('add').onclick = () => { this.keyframes.add(on.pose()); this.list(); };
    find('play').onclick = () => this.play();
    find('save').onclick = () =>
      offer(new Blob([this.keyframes.toFile()], { type: 'application/json' }), 'camera-path.json');
    find('load').onchange = async (event) => {
      try {
        this.keyframes.fromFile(await event.target.files[0].text());
        this.list();
      } catch (error) {
        on.failed(`${error.message}; choose a file that Save wrote`);
      }
    };
  }

  // Other keyframes take the place of these.
  show(keyframes) {
    this.keyframes = keyframes;
    this.list();
  }

  list() {
    this.items.replaceChildren(...this.keyframes.list.map((key, i) => {
      const item = document.createElement('li');
      const go = document.createElement('button');
      go.textContent = 'go';
      go.onclick = () => this.on.goTo(key);
      const remove = document.createElement('button');
      remove.textContent = 'remove';
      remove.onclick = () => { this.keyframes.remove(i); this.list(); };
      item.append(go, ' ', remove);
      return item;
    }));
    this.on.changed();
  }

  stop() {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
  }

  play() {
    if (this.playing || this.keyframes.list.length < 2) {
      this.stop();
      return;
    }
    const begun = performance.now();
    const step = (now) => {
      const seconds = (now - begun) / 1000;
      this.on.goTo(this.keyframes.at(seconds));
      this.playing = seconds < this.keyframes.seconds ? requestAnimationFrame(step) : 0;
    };
    this.playing = requestAnimationFrame(step);
  }
}

// Has the browser save a file.
export function offer(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
