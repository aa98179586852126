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
    this.editing = { may: false, why: '' };
    this.blind = ''; // why no tool works in this view
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
    this.editing = { may: editing, why };
    this.enable();
  }

  // Why the picture is none that tools work on, or nothing.
  see(why) {
    this.blind = why;
    this.enable();
  }

  enable() {
    for (const name of NAMES.slice(1)) {
      const button = this.buttons.get(name);
      const { may, why } = EDITS.includes(name) ? this.editing : { may: true };
      const problem = this.blind || (may ? '' : why);
      button.disabled = Boolean(problem);
      button.dataset.title ??= button.title;
      button.title = problem ? `${button.dataset.title}. ${problem}` : button.dataset.title;
      if (problem && name === this.current) this.choose('move');
    }
  }

  show() {
    for (const [name, button] of this.buttons) button.ariaPressed = String(name === this.current);
    this.bar.hidden = this.current === 'move';
    for (const part of this.bar.querySelectorAll('[data-for]')) {
      part.hidden = !part.dataset.for.split(' ').includes(this.current);
    }
  }
}
