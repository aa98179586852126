// The page: what the user wants to see, what the server is asked, what comes back.
import { Axes } from './axes.js';
import { Camera } from './camera.js';
import { Connection } from './connection.js';
import { listen } from './input.js';
import { Keyframes } from './keyframes.js';
import { Overlay } from './overlay.js';
import { Measuring } from './measuring.js';
import { PathPanel } from './path_panel.js';
import { redrawCurves, say, showFacts, showHeat, showScene, showStatus, showTimes } from './panel.js';
import { Projection } from './projection.js';
import { Saving } from './saving.js';
import { Selecting } from './selecting.js';
import { theme } from './theme.js';
import { Tools } from './tools.js';

const STILL_AFTER = 150; // ms without a move
const SLOW = 80; // ms of round trip: halve the size
const QUICK = 30;
const MIN = 0.25;
const MAX = 2560; // pixels of the longer side

const element = (id) => document.getElementById(id);
const stage = element('stage');
const camera = new Camera();
const overlay = new Overlay(element('overlay'));
const axes = new Axes(element('axes'), (direction) => {
  camera.release();
  camera.lookAlong(direction);
  change();
});
let info = null;
let status = {};
let edits = {};
let seq = 0;
const sent = new Map(); // seq to time
let share = 1; // of the full size, while moving
let moved = false;
let stillTimer = 0;
let photo = null;
let askedAsTaken = false; // how the photo was asked for

function request(still) {
  const ratio = Math.min(devicePixelRatio, 2);
  const full = [stage.clientWidth * ratio, stage.clientHeight * ratio];
  const channel = element('channel').value;
  // A tile is so many pixels of what is drawn: a smaller picture would have other counts.
  const whole = still || channel === 'heat';
  const fit = Math.min(1, MAX / Math.max(...full)) * (whole ? 1 : share);
  const colour = element('background').value;
  const pose = camera.pose();
  return {
    seq: ++seq,
    position: pose.position,
    rotation: pose.rotation,
    ...projection.request(),
    width: Math.max(16, Math.round(full[0] * fit)),
    height: Math.max(16, Math.round(full[1] * fit)),
    channel,
    style: element('style').value,
    scale: 2 ** (element('scale').value / 3),
    sh_degree: Number(element('sh').value),
    background: [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255),
    still,
  };
}

function ask(still) {
  if (!info || !connection.open) return;
  const view = request(still);
  sent.set(view.seq, performance.now());
  if (sent.size > 100) sent.delete(sent.keys().next().value);
  connection.send({ type: 'view', ...view });
}

function showSliders() {
  projection.showAngle();
  const size = 2 ** (element('scale').value / 3);
  element('scale').nextElementSibling.value = `${size.toFixed(2)}\u00d7`;
}

// Something changed: ask once per displayed frame, and without loss when it rests.
function change() {
  if (moved) return;
  moved = true;
  requestAnimationFrame(() => {
    moved = false;
    ask(false);
    overlay.draw(camera.pose());
    axes.draw(camera.pose());
    showSliders();
    clearTimeout(stillTimer);
    stillTimer = setTimeout(() => ask(true), STILL_AFTER);
  });
}

async function show(header, blob) {
  if (header.kind === 3) {
    saving.havePicture(header, blob);
    return;
  }
  const bitmap = await createImageBitmap(blob);
  if (header.kind === 2) {
    // One that was asked for before the projection changed may come last.
    const asTaken = header.step === 1;
    if (asTaken !== projection.asTaken) return;
    photo = { index: header.seq, bitmap, asTaken };
    drawPhoto();
    return;
  }
  connection.send({ type: 'ack', seq: header.seq });
  const view = element('view');
  view.width = bitmap.width;
  view.height = bitmap.height;
  view.getContext('2d').drawImage(bitmap, 0, 0);
  view.dataset.seq = header.seq;
  view.dataset.step = header.step;
  view.dataset.lossless = header.codec === 2;
  const trip = performance.now() - (sent.get(header.seq) || performance.now());
  sent.delete(header.seq);
  if (header.codec === 1) {
    if (trip > SLOW) share = Math.max(MIN, share / 2);
    else if (trip < QUICK) share = Math.min(1, share * 2);
  }
  showTimes(header, trip, share);
  drawPhoto();
}

// The photo over the render: right of the slider, or as a difference.
function drawPhoto() {
  const canvas = element('photo');
  const chosen = overlay.chosen;
  const visible = photo && photo.index === chosen && camera.exact
    && photo.asTaken === projection.asTaken && (projection.isPinhole || projection.asTaken);
  canvas.hidden = !visible;
  element('wipe').style.display = visible && element('compare').value === 'wipe' ? 'block' : 'none';
  if (!visible) return;
  canvas.width = canvas.clientWidth;
  canvas.height = canvas.clientHeight;
  const context = canvas.getContext('2d');
  // The render fills the height with the photo's field of view, or as the photo was taken has its
  // shape.
  const render = element('view');
  const shape = projection.asTaken ? render.width / render.height : info.cameras[chosen].aspect;
  const height = projection.asTaken ? Math.min(canvas.height, canvas.width / shape) : canvas.height;
  const width = height * shape;
  const [left, top] = [(canvas.width - width) / 2, (canvas.height - height) / 2];
  const error = element('compare').value === 'error';
  const from = error ? 0 : (element('wipe').value / 1000) * canvas.width;
  context.beginPath();
  context.rect(from, 0, canvas.width, height);
  context.clip();
  context.drawImage(photo.bitmap, left, top, width, height);
  if (error) {
    context.globalCompositeOperation = 'difference';
    if (projection.asTaken) context.drawImage(render, left, top, width, height);
    else context.drawImage(render, 0, 0, canvas.width, height);
  }
}

function chooseCamera(index) {
  overlay.chosen = index;
  element('camera').value = index < 0 ? '' : index;
  if (index >= 0) {
    camera.goTo(info.cameras[index]);
    askPhoto();
  }
  projection.photoChosen(index);
  drawPhoto();
  change();
}

function askPhoto() {
  if (!info.photos || overlay.chosen < 0) return;
  askedAsTaken = projection.asTaken;
  connection.send({ type: 'photo', index: overlay.chosen, size: 1280, as_taken: askedAsTaken });
}

const projection = new Projection(camera, {
  info: () => info,
  chosen: () => overlay.chosen,
  choose: chooseCamera,
  changed() {
    overlay.hidden = !projection.isPinhole;
    tools.see(projection.why);
    if (projection.kind === 'equirect' && element('channel').value === 'heat') {
      element('channel').value = 'colour';
      showChannel();
    }
    if (projection.asTaken !== askedAsTaken) askPhoto();
    drawPhoto();
    change();
  },
  say: sayFor,
});

const path = new PathPanel(element('path'), new Keyframes(''), {
  pose: () => camera.pose(),
  goTo(pose) {
    camera.goTo(pose);
    change();
  },
  changed() {
    overlay.path = path.keyframes.path();
    change();
  },
  failed: sayFor,
});

// What the tools know of the page.
const page = {
  camera,
  overlay,
  stage,
  info: () => info,
  view: () => {
    const { seq: number, ...view } = request(true);
    return { seq: number, ...view, channel: 'colour' };
  },
  send: (message) => connection.send(message),
  mayEdit: () => Boolean(info?.control),
  // Draws the scene with another direction up; none is the scene's.
  setUp(up) {
    camera.release();
    camera.setUp(up || info.up);
    change();
  },
  say: sayFor,
  place,
  isOpen: () => connection.open,
};
const tools = new Tools((tool) => {
  stage.dataset.tool = tool;
  selecting.choose(tool);
  measuring.choose(tool);
});
const selecting = new Selecting(page, tools);
const measuring = new Measuring(page, tools);
const saving = new Saving(page);

function sayFor(text) {
  say(text);
  setTimeout(() => say(''), 4000);
}

// The point of the world that a pixel shows, when the program has said it; or null.
const picks = new Map();
let tags = 0;
function pick(x, y) {
  const view = page.view();
  // Of the window; the server knows where in it the picture is.
  const scale = view.height / stage.clientHeight;
  tags += 1;
  connection.send({ type: 'pick', view, x: x * scale, y: y * scale, tag: tags });
  return new Promise((done) => picks.set(tags, done));
}

async function place(x, y) {
  const tool = tools.current;
  const point = await pick(x, y);
  if (tools.current !== tool) return;
  if (!point) sayFor('nothing solid is there; choose another place');
  else (tool === 'box' || tool === 'sphere' ? selecting : measuring).place(point);
}

function showEdits(edits) {
  const training = info.training && !edits.enabled;
  const why = training ? 'The scene cannot be edited while it is trained; pictures and measuring work'
    : 'This page may look, not edit: the program was not started with --allow-control';
  const may = edits.enabled && info.control;
  tools.allow(may, why);
  element('edit-note').textContent = may ? '' : `${why}.`;
  for (const part of [selecting, measuring, saving]) part.show(edits);
  showFacts(status, edits);
}

function frameAll() {
  camera.frame(info.frame, stage.clientWidth / stage.clientHeight);
  change();
}

function begin(scene) {
  const first = info === null || info.title !== scene.title;
  info = scene;
  showScene(info);
  selecting.begin();
  overlay.cameras = info.cameras;
  if (first) {
    projection.set(info.projection);
    camera.setUp(info.up);
    camera.frame(info.frame, stage.clientWidth / stage.clientHeight);
    overlay.size = camera.distance / 40;
    const first = info.start ?? info.cameras[0];
    if (first) {
      camera.goTo(first);
      camera.fit(stage.clientWidth / stage.clientHeight, info.frame);
    }
    path.show(new Keyframes(info.title));
  }
  say('');
  change();
}

const connection = new Connection(location.hash.slice(1), {
  reply(reply) {
    if (reply.type === 'scene') begin(reply);
    else if (reply.type === 'status') {
      const step = status.step;
      status = reply;
      showStatus(status, info.training);
      showFacts(status, edits);
      // The scene has changed under a camera that rests.
      if (info.training && step !== status.step && !moved) ask(status.ended || status.paused);
    } else if (reply.type === 'edits') {
      edits = reply;
      showEdits(edits);
      change();
    } else if (reply.type === 'picked') {
      picks.get(reply.tag)?.(reply.point);
      picks.delete(reply.tag);
    } else if (reply.type === 'saved' || reply.type === 'exists') saving.hear(reply);
    else if (reply.type === 'stored') sayFor(reply.message);
    else if (reply.type === 'error') {
      saving.hear(reply);
      saving.failed();
      sayFor(reply.message);
    }
  },
  image: show,
  closed(known) {
    say(known ? 'The program has ended or the connection is lost; trying again ...'
      : 'No connection. Open the address that the program printed, with all that follows the #.');
  },
});

listen(stage, camera, {
  moved: change,
  grab: (event) => selecting.grab(event),
  click(x, y) {
    if (['box', 'sphere', 'measure', 'level'].includes(tools.current)) {
      place(x, y);
      return;
    }
    const index = overlay.cameraAt(camera.pose(), x, y);
    if (index >= 0) chooseCamera(index);
  },
  async clickedTwice(x, y) {
    if (tools.current !== 'move') return;
    const point = await pick(x, y);
    if (point) camera.focus(point);
    change();
  },
  key(key) {
    if (tools.key(key)) return;
    selecting.key(key);
    const keys = {
      f: () => element('frame').click(),
      c: () => element('frusta').click(),
      k: () => element('add').click(),
      p: () => path.play(),
      h: () => element('menu').click(),
    };
    keys[key]?.();
    const channel = ['colour', 'depth', 'alpha', 'heat'][Number(key) - 1];
    if (channel === 'heat' && projection.kind === 'equirect') return;
    if (channel) element('channel').value = channel;
    if (channel) showChannel();
  },
});

function showChannel() {
  showHeat(info.heat, element('channel').value === 'heat');
  change();
}

element('channel').oninput = showChannel;
for (const id of ['style', 'scale', 'sh', 'background']) element(id).oninput = change;
element('up').oninput = () => {
  const value = element('up').value;
  camera.release();
  camera.setUp(value === 'scene' ? info.up : value.split(',').map(Number));
  change();
};
element('frame').onclick = frameAll;
element('start').onclick = () => {
  const view = { ...page.view(), projection: 'pinhole', fov: camera.fov };
  connection.send({ type: 'start', view });
};
element('frusta').onchange = () => { overlay.showCameras = element('frusta').checked; change(); };
element('camera').onchange = () => {
  const value = element('camera').value;
  chooseCamera(value === '' ? -1 : Number(value));
};
element('compare').onchange = element('wipe').oninput = drawPhoto;
element('pause').onclick = () =>
  connection.send({ type: 'control', action: status.paused ? 'resume' : 'pause' });
element('stop').onclick = () => connection.send({ type: 'control', action: 'stop' });
element('menu').onclick = () => {
  const closed = element('panel').classList.toggle('closed');
  element('menu').ariaExpanded = !closed;
  redrawCurves();
};
theme(element('theme'), redrawCurves);
element('training').addEventListener('toggle', redrawCurves);
addEventListener('resize', () => { change(); redrawCurves(); });
if (innerWidth < 700) element('menu').click();
