// Pictures that the browser saves, and scenes that the program saves.
import { offer } from './path_panel.js';

const element = (id) => document.getElementById(id);
const ENDINGS = ['.ply', '.compressed.ply', '.sog', '.spz', '.splat', '.glb', '.usdz', '.usda'];
const FOLDERS = [['/meta.json', 'folder of SOG'], ['/lod-meta.json', 'folder of streamed SOG']];

export class Saving {
  constructor(page) {
    this.page = page;
    this.proposed = false;
    element('save-ending').replaceChildren(...ENDINGS.map((ending) => new Option(ending, ending)),
      ...FOLDERS.map(([ending, name]) => new Option(name, ending)));
    // The browser asks before it leaves the page.
    addEventListener('beforeunload', (event) => {
      if (this.unsaved && page.isOpen()) event.preventDefault();
    });
    element('save-scene').onclick = () => this.save(false);
    element('save-name').onkeydown = (event) => { if (event.key === 'Enter') this.save(false); };
    element('picture').onclick = () => this.askPicture();
    element('picture-size').onchange = () => {
      element('picture-own').hidden = element('picture-size').value !== 'own';
    };
  }

  show(status) {
    const can = Boolean(status.enabled && status.proposal && this.page.mayEdit());
    element('save-group').hidden = !can;
    this.unsaved = can ? status.unsaved : 0;
    if (!can) return;
    if (!this.proposed) {
      const longest = [...ENDINGS].sort((a, b) => b.length - a.length);
      const ending = longest.find((end) => status.proposal.endsWith(end)) ?? '.ply';
      element('save-name').value = status.proposal.slice(0, -ending.length);
      element('save-ending').value = ending;
      this.proposed = true;
    }
    element('moves-row').hidden = !status.command;
    element('moves').value = status.command;
    element('unsaved').hidden = !status.unsaved;
    element('unsaved').textContent = status.unsaved === 1 ? '1 edit is not saved'
      : `${status.unsaved} edits are not saved`;
    element('save-facts').textContent = `${status.left.toLocaleString('en')} Gaussians`
      + (status.deleted ? `, ${status.deleted.toLocaleString('en')} deleted` : '');
  }

  save(replace) {
    const name = `${element('save-name').value.trim()}${element('save-ending').value}`;
    this.name = name;
    this.tell(`saving ${name} ...`);
    this.page.send({ type: 'save', name, replace });
  }

  tell(text) {
    element('save-result').textContent = text;
  }

  // The program's answer to a save.
  hear(reply) {
    if (reply.type === 'saved') {
      const size = reply.bytes < 2 ** 20 ? `${Math.ceil(reply.bytes / 1024)} KiB`
        : `${(reply.bytes / 2 ** 20).toFixed(1)} MiB`;
      const notes = reply.notes.length ? ` (${reply.notes.join('; ')})` : '';
      this.tell(`Saved: ${reply.name}, ${reply.gaussians.toLocaleString('en')} Gaussians, ${size}${notes}`);
    } else if (reply.type === 'exists') {
      this.tell('');
      const which = reply.opened ? `${reply.name} is the file that you opened` : `${reply.name} exists`;
      element('replace-text').textContent = `${which}. Replace it?`;
      const dialog = element('replace');
      dialog.onclose = () => { if (dialog.returnValue === 'yes') this.save(true); };
      dialog.returnValue = '';
      dialog.showModal();
    } else if (element('save-result').textContent.startsWith('saving')) {
      this.tell(`Not saved: ${reply.message}`);
    }
  }

  askPicture() {
    const view = this.page.view();
    const size = element('picture-size').value;
    if (size !== 'screen') {
      const [width, height] = size === 'own' ? ['picture-width', 'picture-height']
        .map((id) => Number(element(id).value)) : size.split('x').map(Number);
      Object.assign(view, { width, height });
    }
    element('picture').disabled = true;
    this.page.send({ type: 'picture', view });
  }

  havePicture(header, blob) {
    element('picture').disabled = false;
    const title = this.page.info().title.replace(/[^\p{L}\p{N}._-]+/gu, '-');
    offer(blob, `${title}-${header.width}x${header.height}.png`);
  }

  failed() {
    element('picture').disabled = false;
  }
}
