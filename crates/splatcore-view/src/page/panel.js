// What the panel shows: facts, the run, the legend of tiles.
import { drawCurves } from './curves.js';

const element = (id) => document.getElementById(id);
const number = (n) => Math.round(n).toLocaleString('en');

export function showScene(info) {
  document.title = info.title;
  element('title').textContent = info.title;
  element('training').hidden = !info.training;
  element('control').hidden = !(info.training && info.control);
  element('start').hidden = !info.stores_start;
  element('cameras').hidden = info.cameras.length === 0;
  element('sh-label').hidden = info.sh_degree === 0;
  for (const option of element('sh').options) option.hidden = option.value > info.sh_degree;
  element('sh').value = Math.min(info.sh_degree, 3);
  const select = element('camera');
  select.replaceChildren(new Option('no photo', ''));
  info.cameras.forEach(({ name, held_out: held }, i) =>
    select.append(new Option(held ? `${name} (held out)` : name, i)));
}

// How many Gaussians there are, and how many were selected and deleted of them.
export function showFacts(status, edits) {
  const parts = [`${number((status.gaussians || 0) - (edits.deleted || 0))} Gaussians`];
  if (edits.deleted) parts.push(`${number(edits.deleted)} deleted`);
  if (edits.selected) parts.push(`${number(edits.selected)} selected`);
  element('facts').textContent = parts.join(', ');
}

export function showStatus(status, training) {
  if (!training) return;
  element('progress').value = status.iterations ? status.step / status.iterations : 0;
  const parts = [`step ${number(status.step)} of ${number(status.iterations)}`];
  if (status.loss !== null) parts.push(`loss ${status.loss.toFixed(4)}`);
  if (status.ended) parts.push('finished');
  else if (status.paused) parts.push('paused');
  else parts.push(`${status.steps_per_second.toFixed(1)} steps/s`, `${time(status.seconds_left)} left`);
  element('run').textContent = parts.join(', ');
  showPause(status.paused);
  for (const id of ['pause', 'stop']) element(id).disabled = status.ended;
  curves(status);
}

function showPause(paused) {
  const button = element('pause');
  if (button.dataset.paused === String(paused)) return;
  button.dataset.paused = paused;
  button.innerHTML = `<svg class="icon"><use href="#i-${paused ? 'play' : 'pause'}"/></svg>`
    + (paused ? 'Go on' : 'Pause');
}

function time(seconds) {
  const s = Math.round(seconds);
  if (s < 90) return `${s} s`;
  return s < 5400 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`;
}

let drawn = null;

// Draws the curves as they were last, for another size or other colours.
export function redrawCurves() {
  if (drawn) curves(drawn);
}

function curves(status) {
  drawn = status;
  drawCurves(element('curves'), status);
  const { losses, psnr } = status;
  const key = (name, text) => {
    const span = document.createElement('span');
    span.className = `key-${name}`;
    span.textContent = text;
    return span;
  };
  element('legend').replaceChildren(...(losses.length ? [
    key('blue', 'Loss'), ' against the photos, small is good. ',
    ...(psnr.length ? [key('green', 'PSNR'), ' of photos that are not trained on, large is good: '
      + `${psnr.at(-1)[1].toFixed(2)} dB now.`] : []),
  ] : []));
}

// The legend of the colours of tiles, or none.
export function showHeat(scale, visible) {
  element('heat').hidden = !visible;
  if (!visible) return;
  const { colours, most, tile } = scale;
  element('heat').firstElementChild.textContent =
    `Gaussians in the list of each tile of ${tile}x${tile} pixels`;
  const stops = colours.map(([r, g, b]) => `rgb(${r} ${g} ${b})`);
  element('heat-bar').style.background = `linear-gradient(to right, ${stops.join(', ')})`;
  element('heat-ticks').replaceChildren(...colours.map((_, i) => {
    const tick = document.createElement('span');
    const last = i === colours.length - 1;
    tick.textContent = number((1 + most) ** (i / (colours.length - 1)) - 1) + (last ? '+' : '');
    return tick;
  }));
}

export function showTimes(header, trip, share) {
  const ms = (us) => (us / 1000).toFixed(1);
  element('times').textContent = `${header.width}x${header.height}: render ${ms(header.render)} ms, `
    + `encode ${ms(header.encode)} ms, round trip ${trip.toFixed(0)} ms`
    + (share < 1 ? `; ${Math.round(100 * share)} % size while moving` : '');
}

export function say(text) {
  element('message').textContent = text;
}
