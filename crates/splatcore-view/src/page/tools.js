// The tools: which one the pointer has, and the bar of what it can be told.

const NAMES = ['move', 'brush', 'box', 'sphere', 'measure', 'level'];
const KEYS = { escape: 'move', b: 'brush', x: 'box', o: 'sphere', m: 'measure', l: 'level' };
const EDITS = ['brush', 'box', 'sphere', 'level'];

export class Tools {
  // `changed` is told of another tool.
  constructor(changed) {
    this.changed = changed;
    this.bar = document.getElementById('bar');
    this.current = 'move';
    this.buttons = new Map(NAMES.map((name) => [name, document.getElementById(`tool-${name}`)]));
    for (const [name, button] of this.buttons) {
      button.onclick = () => this.choose(name === this.current ? 'move' : name);
    }
    this.show();
  }

  // Takes a key's name; returns whether it stands for a tool.
  key(key) {
    const name = KEYS[key];
    if (name && !this.buttons.get(name).disabled) this.choose(name);
    return Boolean(name);
  }

  choose(name) {
    this.current = name;
    this.show();
    this.changed(name);
  }

  // Whether there is something to edit and this browser may; `why` not.
  allow(editing, why) {
    for (const name of EDITS) {
      const button = this.buttons.get(name);
      button.disabled = !editing;
      button.dataset.title ??= button.title;
      button.title = editing ? button.dataset.title : `${button.dataset.title}. ${why}`;
    }
    if (!editing && EDITS.includes(this.current)) this.choose('move');
  }

  show() {
    for (const [name, button] of this.buttons) button.ariaPressed = String(name === this.current);
    this.bar.hidden = this.current === 'move';
    for (const part of this.bar.querySelectorAll('[data-for]')) {
      part.hidden = !part.dataset.for.split(' ').includes(this.current);
    }
  }
}
