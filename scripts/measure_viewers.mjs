// Measures viewers of one scene in one browser, for scripts/measure-viewers, which made the files.
// Usage: node measure_viewers.mjs NAME, in the folder of the files; CHROMIUM, ROUNDS, SECONDS_A and
// SIZE from the environment.
//
// First picture: from the start of the navigation until nine tenths of what is not black at last on
// the middle row and column is not black. Frames: as many as are drawn one after the other while the
// camera swings 15 degrees to either side, each read back before the next begins.
import { createReadStream, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { cpus } from 'node:os';
import { extname, join, normalize } from 'node:path';
import puppeteer from 'puppeteer-core';

const name = process.argv[2];
const rounds = Number(process.env.ROUNDS || 3);
const seconds = Number(process.env.SECONDS_A || 8);
const [width, height] = (process.env.SIZE || '1280x720').split('x').map(Number);
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm' };

// A page of a viewer on three.js: `body` makes `show()`, which draws, and `ready`.
const page = (body) => `<!doctype html><meta charset="utf-8"><title>viewer</title>
<style>body { margin: 0; background: #000 } canvas { display: block }</style>
<script type="importmap">{ "imports": {
  "three": "/node_modules/three/build/three.module.js",
  "three/addons/": "/node_modules/three/examples/jsm/",
  "fflate": "/node_modules/fflate/esm/browser.js",
  "spark": "/node_modules/@sparkjsdev/spark/dist/spark.module.js",
  "gs3d": "/node_modules/@mkkellogg/gaussian-splats-3d/build/gaussian-splats-3d.module.js"
} }</script>
<script type="module">
import * as THREE from 'three';
const renderer = new THREE.WebGLRenderer({ antialias: false });
renderer.setSize(innerWidth, innerHeight);
document.body.append(renderer.domElement);
const scene = new THREE.Scene();
const camera = new THREE.PerspectiveCamera(50, innerWidth / innerHeight, 0.01, 1000);
${body}
const at = ({ position, rotation: [right, down, forward], fov }) => {
  const [x, y, z] = [right, down, forward].map((axis) => new THREE.Vector3(...axis));
  camera.position.set(...position);
  camera.quaternion.setFromRotationMatrix(new THREE.Matrix4().makeBasis(x, y.negate(), z.negate()));
  camera.fov = fov;
  camera.updateProjectionMatrix();
  camera.updateMatrixWorld(true);
};
let running = false;
window.measure = {
  ready,
  step(pose) { running = true; at(pose); show(); },
};
// Until it is told where to look from it draws what the settings of the test say, as a user's page would.
at(JSON.parse(new URL(location).searchParams.get('pose')));
renderer.setAnimationLoop(() => { if (!running) show(); });
</script>`;

const VIEWERS = [
  { key: 'splatcore', version: 'this page', path: `/${name}.html`, reads: 'page with SOG' },
  {
    key: 'spark',
    package: '@sparkjsdev/spark',
    reads: 'SOG',
    html: page(`import { SparkRenderer, SplatMesh } from 'spark';
scene.add(new SparkRenderer({ renderer }));
const splats = new SplatMesh({ url: '/${name}.sog' });
scene.add(splats);
const ready = splats.initialized;
const show = () => renderer.render(scene, camera);`),
  },
  {
    key: 'gaussian-splats-3d',
    package: '@mkkellogg/gaussian-splats-3d',
    reads: 'PLY, harmonics up to degree 2',
    html: page(`import * as GS from 'gs3d';
const viewer = new GS.Viewer({
  selfDrivenMode: false, useBuiltInControls: false, renderer, camera, ignoreDevicePixelRatio: true,
  gpuAcceleratedSort: false, sharedMemoryForWorkers: false, sphericalHarmonicsDegree: 2,
  sceneRevealMode: GS.SceneRevealMode.Instant,
});
const ready = viewer.addSplatScene('/${name}.ply', { showLoadingUI: false, progressiveLoad: false });
const show = () => { viewer.update(); viewer.render(); };`),
  },
];

// Runs in every page before its own scripts.
const harness = () => {
  const { getContext } = HTMLCanvasElement.prototype;
  const contexts = [];
  HTMLCanvasElement.prototype.getContext = function of(kind, options) {
    const kept = kind === 'webgl2' ? { ...options, preserveDrawingBuffer: true } : options;
    const context = getContext.call(this, kind, kept);
    if (kind === 'webgl2' && context && !contexts.includes(context)) contexts.push(context);
    return context;
  };
  const area = ({ canvas }) => canvas.width * canvas.height;
  const largest = () => contexts.reduce((a, b) => (a && area(a) >= area(b) ? a : b), null);
  // Waits for what was drawn last and reads a part of it.
  const read = (x, y, w, h) => {
    const gl = largest();
    const frame = gl.getParameter(gl.READ_FRAMEBUFFER_BINDING);
    const pack = gl.getParameter(gl.PIXEL_PACK_BUFFER_BINDING);
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, null);
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
    const pixels = new Uint8Array(4 * w * h);
    gl.readPixels(x, y, w, h, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, frame);
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, pack);
    return pixels;
  };
  const bright = (pixels) => {
    let count = 0;
    for (let i = 0; i < pixels.length; i += 4) count += pixels[i] + pixels[i + 1] + pixels[i + 2] > 24;
    return count;
  };
  const seen = () => {
    const gl = largest();
    if (!gl) return 0;
    const { width: w, height: h } = gl.canvas;
    return bright(read(0, h >> 1, w, 1)) + bright(read(w >> 1, 0, 1, h));
  };
  const looks = [];
  let watching = true;
  const tick = () => {
    if (!watching) return;
    looks.push([performance.now(), seen()]);
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  window.harness = {
    seen,
    stop() { watching = false; return looks; },
    // Draws until the picture rests.
    async rest(pose) {
      for (let i = 0; i < 6; i++) {
        window.measure.step(pose);
        await drawn();
        seen();
        await new Promise((done) => setTimeout(done, 400));
      }
      return seen();
    },
    async frames(poses, ms) {
      const begun = performance.now();
      let [count, step] = [0, 0];
      while (performance.now() - begun < ms) {
        const before = window.splatcore?.drawn;
        window.measure.step(poses[step++ % poses.length]);
        if (before === undefined) count++;
        else {
          await new Promise(requestAnimationFrame);
          count += window.splatcore.drawn - before;
        }
        seen();
        if (before === undefined) await new Promise(requestAnimationFrame);
      }
      return { count, ms: performance.now() - begun };
    },
    picture() {
      const { width: w, height: h } = largest().canvas;
      const pixels = read(0, 0, w, h);
      let text = '';
      for (let i = 0; i < pixels.length; i += 32768) text += String.fromCharCode(...pixels.subarray(i, i + 32768));
      return { size: [w, h], pixels: btoa(text) };
    },
  };
};

// The page of splatcore, which has no switch for tests but that of its size.
const own = () => {
  window.splatcore.adapt = false;
  window.measure = { ready: window.splatcore.ready, step: (pose) => window.splatcore.goTo(pose) };
  return window.measure.ready;
};

const add = (a, b, s) => a.map((v, i) => v + s * b[i]);
const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);

// A camera that has gone around what it looks at, about its own vertical axis.
function turned({ position, rotation: [right, down, forward], fov }, pivot, angle) {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  const around = (v) => add(add(v.map((x) => x * c), cross(down, v), s), down, dot(down, v) * (1 - c));
  const from = around(position.map((v, i) => v - pivot[i]));
  return { position: add(pivot, from, 1), rotation: [around(right), down, around(forward)], fov };
}
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

function psnr(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) if (i % 4 < 3) sum += (a[i] - b[i]) ** 2;
  return 10 * Math.log10(255 ** 2 / (sum / ((a.length * 3) / 4)));
}

const server = createServer((request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname));
  const viewer = VIEWERS.find(({ key }) => path === `/viewer/${key}`);
  const file = join(process.cwd(), path);
  if (!viewer && !(existsSync(file) && statSync(file).isFile())) {
    response.writeHead(404).end();
    return;
  }
  const type = viewer ? 'text/html' : TYPES[extname(file)] || 'application/octet-stream';
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' });
  if (viewer) response.end(viewer.html);
  else createReadStream(file).pipe(response);
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const address = `http://127.0.0.1:${server.address().port}`;
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM,
  headless: true,
  args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-background-networking'],
  defaultViewport: { width, height, deviceScaleFactor: 1 },
  protocolTimeout: 600_000,
});

let pose = null;
let poses = [];
const pictures = {};
const results = Object.fromEntries(VIEWERS.map(({ key }) => [key, { first_ms: [], fps: [] }]));

async function measure(viewer) {
  const context = await browser.createBrowserContext();
  const tab = await context.newPage();
  const errors = [];
  tab.on('pageerror', (error) => errors.push(String(error)));
  await tab.evaluateOnNewDocument(harness);
  try {
    const path = viewer.path || `/viewer/${viewer.key}?pose=${encodeURIComponent(JSON.stringify(pose))}`;
    await tab.goto(address + path, { waitUntil: 'load', timeout: 300_000 });
    if (viewer.path) await tab.evaluate(own);
    else {
      await tab.waitForFunction('window.measure', { timeout: 60_000 });
      await tab.evaluate(() => window.measure.ready.then(() => true));
    }
    // Time for the first picture to come by itself.
    await tab.waitForFunction('harness.seen() > 50', { timeout: 300_000, polling: 300 });
    await new Promise((done) => setTimeout(done, 2000));
    const looks = await tab.evaluate(() => window.harness.stop());
    if (!pose) {
      pose = await tab.evaluate(() => window.splatcore.pose());
      const bounds = await tab.evaluate(() => JSON.parse(document.getElementById('settings').textContent).bounds);
      const centre = bounds[0].map((v, i) => (v + bounds[1][i]) / 2);
      const ahead = dot(centre.map((v, i) => v - pose.position[i]), pose.rotation[2]);
      const pivot = add(pose.position, pose.rotation[2], Math.max(ahead, 0.1));
      poses = [...Array(120).keys()].map((i) =>
        turned(pose, pivot, (15 * Math.PI / 180) * Math.sin((2 * Math.PI * i) / 120)));
    }
    const last = await tab.evaluate((p) => window.harness.rest(p), pose);
    const first = looks.find(([, count]) => count >= 0.9 * last);
    if (!pictures[viewer.key]) pictures[viewer.key] = await tab.evaluate(() => window.harness.picture());
    const frames = await tab.evaluate((p, ms) => window.harness.frames(p, ms), poses, 1000 * seconds);
    if (!first) throw new Error(`no first picture: ${looks.length} looks, ${last} pixels at last`);
    results[viewer.key].first_ms.push(Math.round(first[0]));
    results[viewer.key].fps.push(Number(((1000 * frames.count) / frames.ms).toFixed(2)));
  } catch (error) {
    results[viewer.key].skipped = `${error.message.split('\n')[0]} ${errors[0] || ''}`.trim();
    console.error(`skipped: ${viewer.key}: ${results[viewer.key].skipped}`);
  }
  await context.close();
}

// What is known so far.
async function write(round) {
  const rows = VIEWERS.map((viewer) => {
    const manifest = viewer.package && `node_modules/${viewer.package}/package.json`;
    const version = manifest && existsSync(manifest) ? JSON.parse(readFileSync(manifest)).version : null;
    const [own, other] = ['splatcore', viewer.key].map((key) =>
      pictures[key] && Buffer.from(pictures[key].pixels, 'base64'));
    const same = viewer.package && own && other && own.length === other.length;
    return {
      viewer: viewer.package || 'splatcore export', version, reads: viewer.reads, ...results[viewer.key],
      psnr_to_splatcore: same ? Number(psnr(own, other).toFixed(1)) : null,
    };
  });
  const report = {
    scene: name, size: [width, height], rounds: round, seconds,
    browser: await browser.version(), cores: cpus().length, rows,
  };
  writeFileSync(`${name}.json`, `${JSON.stringify(report, null, 1)}\n`);
}

for (let round = 1; round <= rounds; round++) {
  for (const viewer of VIEWERS) {
    if (results[viewer.key].skipped) continue;
    await measure(viewer);
    const { first_ms: first, fps } = results[viewer.key];
    console.error(`round ${round}: ${viewer.key}: ${first.at(-1)} ms, ${fps.at(-1)} frames a second`);
  }
  await write(round);
}
await browser.close();
server.close();
