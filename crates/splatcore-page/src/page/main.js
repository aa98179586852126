// The page: what the sender chose, what the user does, when a frame is drawn.
import { addressedView, embedded, setAddress, viewText } from './address.js';
import { Camera, length, sub } from './camera.js';
import { bytesOf } from './decode.js';
import { Headset } from './headset.js';
import { Hotspots } from './hotspots.js';
import { listen } from './input.js';
import { Keyframes } from './keyframes.js';
import { PathPanel, offer } from './path_panel.js';
import { Renderer } from './renderer.js';
import { connectFullscreen, connectSharing, showTouchHelp } from './share.js';
import { Sorting } from './sorting.js';
import { Source } from './source.js';
import { theme } from './theme.js';
import { Turn, calm, fly } from './turn.js';

const STILL_AFTER = 150; // ms without a move
const SLOW = 50; // ms a frame: draw fewer pixels while moving
const QUICK = 25;
const MIN = 0.35;
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
let addressed = null; // text of the view that the address has, or that the page began with
let landing = () => {}; // ends a flight

const number = (n) => Math.round(n).toLocaleString('en');
const say = (text) => { element('message').textContent = text; };
const tell = (text) => {
  say(text);
  setTimeout(() => say(''), 4000);
};

// What is drawn.
function pose() {
  camera.fit(canvas.width / canvas.height, settings.bounds);
  return camera.pose();
}

function look() {
  const colour = element('background').value;
  const typed = settings.background.map((v) => Math.round(v * 255));
  const chosen = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  // A colour field has 8 bits.
  const own = chosen.every((v, i) => v === typed[i]);
  return {
    background: own ? settings.background : chosen.map((v) => v / 255),
    // Another colour stands in place of the sky.
    sky: own ? settings.sky : null,
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
  if (asked || !renderer || headset.session) return;
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
  hotspots.place(what, stage.clientWidth, stage.clientHeight);
  source.look(what, [canvas.width, canvas.height]);
  if (still) rested(what);
  const gap = now - last;
  last = now;
  if (adapt && gap > 0 && gap < 500) {
    interval = interval ? interval + 0.15 * (gap - interval) : gap;
    if (interval > SLOW) share = Math.max(MIN, share * 0.97);
    else if (interval < QUICK) share = Math.min(1, share * 1.02);
    showTimes();
  }
  if (!still) setTimeout(draw, STILL_AFTER);
}

// The camera rests: what can wait until then.
function rested(what) {
  hotspots.dim(what, stage.clientWidth, stage.clientHeight, (places) => renderer.depthsAt(what, places));
  const text = viewNow();
  if (text !== addressed) setAddress(text);
  addressed = text;
}

// What others shall see who open the address: the whole width of this window.
const viewNow = () => viewText(pose(), camera.distance, canvas.width / canvas.height);

function showTimes() {
  const size = share < 1 ? `, ${Math.round(100 * share)} % size while moving` : '';
  element('times').textContent = `${Math.round(1000 / interval)} frames/s, sorted in ${sorting.ms.toFixed(0)} ms${size}`;
}

function goTo(target) {
  camera.goTo(target);
  element('fov').value = pose().fov;
  change();
}

// What the user chose in place of what moves by itself.
function settle() {
  turn.stop();
  path.stop();
  landing();
}

function chooseView(index) {
  settle();
  shown = index;
  element('views').value = index;
  goTo(settings.views[index]);
}

function stepView(by) {
  const count = settings.views.length;
  if (count) chooseView((Math.max(shown, by < 0 ? 0 : -1) + by + count) % count);
}

function frameAll() {
  settle();
  camera.frame(settings.bounds, canvas.width / canvas.height);
  change();
}

const path = new PathPanel(element('path'), keyframes, {
  pose: () => camera.pose(),
  goTo,
  changed() {},
  failed: tell,
});

const source = new Source(settings, element('scene'), { progress: showProgress, failed: tell });

function showProgress({ count, state: { there, wanted, bytes, shown: drawn } }) {
  const bar = element('loading');
  bar.hidden = there === wanted;
  bar.value = wanted ? there / wanted : 0;
  element('facts').textContent = `${number(drawn)} of ${number(count)} Gaussians, ${(bytes / 1e6).toFixed(1)} MB loaded`;
}

const turn = new Turn({
  pose,
  up: () => camera.up,
  bounds: settings.bounds,
  goTo,
  changed(running) {
    const button = element('turn');
    button.ariaPressed = running;
    button.title = button.ariaLabel = running ? 'Stop turning (T)' : 'Turn slowly (T)';
  },
});

const hotspots = new Hotspots(settings.hotspots, element('markers'), element('card'), ({ position, view }) => {
  settle();
  if (!view) return;
  camera.distance = Math.max(1e-4, length(sub(position, view.position)));
  landing = fly(camera.pose(), view, goTo);
});

const headset = new Headset(element('headset'), {
  renderer: () => renderer,
  sorting: () => sorting,
  look,
  pose: () => camera.pose(),
  up: () => camera.up,
  distance: () => camera.distance,
  small: () => window.splatcore.adapt,
  moved: (seen, size) => source.look(seen, size),
  ended: change,
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
      settle();
      change();
    },
    click() {},
    clickedTwice(x, y) {
      settle();
      const point = renderer.pointAt(pose(), x / stage.clientWidth, y / stage.clientHeight);
      if (point) {
        camera.focus(point);
        // The numbers that a hotspot's position takes.
        tell(`centred on ${point.map((v) => Number(v.toPrecision(4))).join(', ')}`);
      }
      change();
    },
    key(key) {
      const keys = {
        f: frameAll,
        n: () => stepView(1),
        b: () => stepView(-1),
        k: () => element('add').click(),
        p: () => { turn.stop(); path.play(); },
        t: () => element('turn').click(),
        h: () => element('menu').click(),
        escape: () => hotspots.close(),
      };
      if (/^[1-9]$/.test(key)) hotspots.show(Number(key) - 1);
      else keys[key]?.();
    },
  });
  // The first touch of the scene stops what moves, before the touch is a move.
  for (const event of ['pointerdown', 'wheel']) stage.addEventListener(event, settle, { capture: true, passive: true });
  for (const id of ['sh', 'background']) element(id).oninput = change;
  element('detail').oninput = () => {
    source.detail = Number(element('detail').value);
    change();
  };
  element('fov').oninput = () => {
    settle();
    camera.release();
    camera.fov = Number(element('fov').value);
    change();
  };
  element('up').oninput = () => {
    settle();
    const value = element('up').value;
    camera.release();
    camera.setUp(value === 'scene' ? settings.up : value.split(',').map(Number));
    change();
  };
  const clicks = {
    frame: frameAll,
    before: () => stepView(-1),
    after: () => stepView(1),
    turn() {
      const running = turn.running;
      settle();
      if (!running) turn.start();
    },
    async picture() { offer(await picture(), 'picture.png'); },
  };
  for (const [id, click] of Object.entries(clicks)) element(id).onclick = click;
  element('views').onchange = () => chooseView(Number(element('views').value));
  canvas.addEventListener('webglcontextlost', () => say('the graphics card was reset; load the page again'));
  addEventListener('resize', () => { fit(); change(); });
  addEventListener('hashchange', () => goToAddress());
}

// Whether the address named a view.
function goToAddress() {
  const view = addressedView();
  if (!view) return false;
  settle();
  camera.distance = view.distance;
  goTo(view);
  return true;
}

function begin(count, degree) {
  element('title').textContent = settings.title;
  element('facts').textContent = `${number(count)} Gaussians`;
  const names = ['none', 'soft', 'more', 'all'];
  names[degree] = degree ? 'all' : 'none';
  element('sh').replaceChildren(...names.slice(0, degree + 1).map((name, i) => new Option(`${name} (degree ${i})`, i)));
  element('sh').value = degree;
  element('shine').hidden = degree === 0;
  const byte = (v) => Math.round(v * 255).toString(16).padStart(2, '0');
  element('background').value = `#${settings.background.map(byte).join('')}`;
  for (const id of ['view-list', 'before', 'after']) element(id).hidden = settings.views.length === 0;
  element('views').replaceChildren(...settings.views.map(({ name }, i) => new Option(name, i)));
  element('detail-label').hidden = !settings.stream;
  if (settings.stream) element('origin').textContent = 'The scene arrives in parts from where this page is; nothing else is loaded or sent.';
  path.list();
  camera.setUp(settings.up);
  fit();
  camera.frame(settings.bounds, canvas.width / canvas.height);
  if (goToAddress()) return;
  if (settings.start) goTo(settings.start);
  else if (settings.views.length) chooseView(0);
  else if (keyframes.list.length) goTo(keyframes.at(0));
}

// When what was ready, in ms since the page began to load.
const times = {};

async function open() {
  renderer = new Renderer(canvas);
  if (settings.look) renderer.setLook(bytesOf(settings.look));
  const { capacity, count, degree } = await source.open(renderer);
  times.decoded = performance.now();
  await new Promise((done, failed) => {
    sorting = new Sorting(element('sorter').textContent, capacity, (...order) => {
      renderer.setOrder(...order);
      source.ordered();
      draw();
      done();
    }, failed);
    source.start(sorting);
    begin(count, degree);
    sorting.want(pose().rotation[2]);
  });
  connect();
  renderer.draw(pose(), look());
  times.drawn = performance.now();
  say('');
  addressed = viewNow();
  change();
  showTouchHelp();
  if (settings.turn && !calm() && !addressedView()) turn.start();
}

const ready = open();
ready.catch((error) => say(error.message));
document.body.classList.toggle('embed', embedded());
connectSharing(settings.title, viewNow);
connectFullscreen();
theme(element('theme'));
element('menu').onclick = () => {
  element('menu').ariaExpanded = !element('panel').classList.toggle('closed');
};

// For scripts: docs/guide/sharing.md.
window.splatcore = {
  ready, times, adapt: true, pose: () => camera.pose(), goTo, picture,
  // To what the camera turns about.
  get distance() { return camera.distance; },
  get stream() { return source.state ?? null; },
  get drawn() { return renderer?.drawn ?? 0; },
  get sorted() { return sorting?.ms ?? 0; },
  get resting() { return !asked && performance.now() - moved > 2 * STILL_AFTER; },
};
