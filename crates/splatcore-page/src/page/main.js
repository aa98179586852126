// The page: what the sender chose, what the user does, when a frame is drawn.
import { Camera } from './camera.js';
import { decode } from './decode.js';
import { listen } from './input.js';
import { Keyframes } from './keyframes.js';
import { PathPanel, offer } from './path_panel.js';
import { Renderer } from './renderer.js';
import { Sorting } from './sorting.js';

const STILL_AFTER = 150; // ms without a move
const SLOW = 50; // ms a frame: draw fewer pixels while moving
const QUICK = 25;
const SMALLEST = 0.35;
// Cosine of 10 degrees. If the order at hand is of a direction further away, the frame waits.
const CLOSE = 0.985;

const element = (id) => document.getElementById(id);
const settings = JSON.parse(element('settings').textContent);
const stage = element('stage');
const canvas = element('view');
const camera = new Camera();
const keyframes = new Keyframes(settings.key, settings.path);
let renderer = null;
let sorting = null;
let asked = false; // a frame of the browser
let moved = 0; // time of the last move
let share = 1; // of the full size, while moving
let last = 0; // time of the last frame
let interval = 0; // ms between frames, smoothed
let shown = -1; // view

const number = (n) => Math.round(n).toLocaleString('en');
const say = (text) => { element('message').textContent = text; };
const tell = (text) => {
  say(text);
  setTimeout(() => say(''), 4000);
};

// What is drawn: of a view that is wider than the canvas the whole width.
function pose() {
  const now = camera.pose();
  const aspect = camera.exact?.aspect;
  const narrow = aspect ? (canvas.height * aspect) / canvas.width : 1;
  if (narrow <= 1) return now;
  const half = Math.tan((now.fov * Math.PI) / 360) * narrow;
  return { ...now, fov: (Math.atan(half) * 360) / Math.PI };
}

function look() {
  const colour = element('background').value;
  const typed = settings.background.map((v) => Math.round(v * 255));
  const chosen = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  // A colour field has 8 bits.
  const own = chosen.every((v, i) => v === typed[i]);
  return {
    background: own ? settings.background : chosen.map((v) => v / 255),
    degree: Number(element('sh').value),
  };
}

function fit() {
  const ratio = Math.min(devicePixelRatio, 2);
  canvas.width = Math.max(1, Math.round(stage.clientWidth * ratio));
  canvas.height = Math.max(1, Math.round(stage.clientHeight * ratio));
}

// Something changed.
function change() {
  moved = performance.now();
  draw();
}

function draw() {
  if (asked || !renderer) return;
  asked = true;
  requestAnimationFrame(frame);
}

function frame(now) {
  asked = false;
  const what = pose();
  const forward = what.rotation[2];
  sorting.want(forward);
  // The order that was asked for draws again when it arrives.
  if (sorting.agreement(forward) < CLOSE) return;
  const still = performance.now() - moved >= STILL_AFTER;
  const { adapt } = window.splatcore;
  renderer.draw(what, look(), still || !adapt ? 1 : share);
  const gap = now - last;
  last = now;
  if (adapt && gap > 0 && gap < 500) {
    interval = interval ? interval + 0.15 * (gap - interval) : gap;
    if (interval > SLOW) share = Math.max(SMALLEST, share * 0.97);
    else if (interval < QUICK) share = Math.min(1, share * 1.02);
    showTimes();
  }
  if (!still) setTimeout(draw, STILL_AFTER);
}

function showTimes() {
  const size = share < 1 ? `, ${Math.round(100 * share)} % size while moving` : '';
  element('times').textContent = `${Math.round(1000 / interval)} frames/s, sorted in ${sorting.ms.toFixed(0)} ms${size}`;
}

function goTo(target) {
  camera.goTo(target);
  camera.exact.aspect = target.aspect;
  element('fov').value = camera.fov;
  change();
}

function chooseView(index) {
  shown = index;
  element('views').value = index;
  goTo(settings.views[index]);
}

function frameAll() {
  camera.frame(settings.bounds);
  change();
}

const path = new PathPanel(element('path'), keyframes, {
  pose: () => camera.pose(),
  goTo,
  changed() {},
  failed: tell,
});

// A PNG of what is seen, of the canvas's size or another.
async function picture(width = canvas.width, height = canvas.height) {
  await sorting.sorted(pose().rotation[2]);
  [canvas.width, canvas.height] = [width, height];
  renderer.draw(pose(), look());
  const blob = await new Promise((done) => canvas.toBlob(done, 'image/png'));
  fit();
  change();
  return blob;
}

function connect() {
  listen(stage, camera, {
    moved() {
      path.stop();
      change();
    },
    click() {},
    clickedTwice(x, y) {
      const point = renderer.pointAt(pose(), x / stage.clientWidth, y / stage.clientHeight);
      if (point) camera.focus(point);
      change();
    },
    key(key) {
      const views = settings.views.length;
      const keys = {
        f: frameAll,
        n: () => views && chooseView((shown + 1) % views),
        b: () => views && chooseView((Math.max(shown, 0) + views - 1) % views),
        k: () => element('add').click(),
        p: () => path.play(),
        h: () => element('menu').click(),
      };
      keys[key]?.();
    },
  });
  for (const id of ['sh', 'background']) element(id).oninput = change;
  element('fov').oninput = () => {
    camera.release();
    camera.fov = Number(element('fov').value);
    change();
  };
  element('up').oninput = () => {
    const value = element('up').value;
    camera.release();
    camera.setUp(value === 'scene' ? settings.up : value.split(',').map(Number));
    change();
  };
  element('views').onchange = () => chooseView(Number(element('views').value));
  element('frame').onclick = frameAll;
  element('picture').onclick = async () => offer(await picture(), 'picture.png');
  canvas.addEventListener('webglcontextlost', () => say('the graphics card was reset; load the page again'));
  addEventListener('resize', () => { fit(); change(); });
}

function begin() {
  element('title').textContent = settings.title;
  const degree = Math.sqrt(renderer.higher + 1) - 1;
  element('facts').textContent = `${number(renderer.count)} Gaussians`;
  element('sh').max = element('sh').value = degree;
  const byte = (v) => Math.round(v * 255).toString(16).padStart(2, '0');
  element('background').value = `#${settings.background.map(byte).join('')}`;
  element('view-list').hidden = settings.views.length === 0;
  element('views').replaceChildren(...settings.views.map(({ name }, i) => new Option(name, i)));
  path.list();
  camera.setUp(settings.up);
  camera.frame(settings.bounds);
  fit();
  if (settings.start) goTo(settings.start);
  else if (settings.views.length) chooseView(0);
  else if (keyframes.list.length) goTo(keyframes.at(0));
}

// When what was ready, in ms since the page began to load.
const times = {};

async function open() {
  const scene = await decode(element('scene').textContent);
  element('scene').remove();
  times.decoded = performance.now();
  renderer = new Renderer(canvas, scene);
  await new Promise((done, failed) => {
    sorting = new Sorting(element('sorter').textContent, renderer.means, (order) => {
      renderer.setOrder(order);
      draw();
      done();
    }, failed);
    begin();
    sorting.want(pose().rotation[2]);
  });
  connect();
  renderer.draw(pose(), look());
  times.drawn = performance.now();
  say('');
  change();
}

const ready = open();
ready.catch((error) => say(error.message));
if (innerWidth < 700) element('menu').ariaExpanded = !element('panel').classList.toggle('closed');
element('menu').onclick = () => {
  element('menu').ariaExpanded = !element('panel').classList.toggle('closed');
};

// For scripts: docs/guide/sharing.md.
window.splatcore = {
  ready, times, adapt: true, pose: () => camera.pose(), goTo, picture,
  get drawn() { return renderer?.drawn ?? 0; },
  get sorted() { return sorting?.ms ?? 0; },
  get resting() { return !asked && performance.now() - moved > 2 * STILL_AFTER; },
};
