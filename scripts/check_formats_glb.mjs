// Checks .glb files with programs of others: Khronos' gltf-validator, and three.js, whose reader of
// glTF must find the same Gaussians as its reader of PLY finds in the model, a half turn about z away.
//
// Usage: node check_formats_glb.mjs FOLDER MODEL.ply FILE.glb...
//
// FOLDER holds node_modules with gltf-validator and three (0.187 or newer). Needs Node 20 or newer.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, model, ...files] = process.argv.slice(2);
const require = createRequire(resolve(folder, "package.json"));
const validator = require("gltf-validator");
const addon = (path) =>
  import(pathToFileURL(resolve(folder, "node_modules/three/examples/jsm", path)));
// The loaders want a browser's globals for textures, of which there are none.
globalThis.self ??= globalThis;

const read = (path) => {
  const bytes = readFileSync(path);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
};

// The validator does not know the extension, and so none of its attributes.
const isOwn = (m) =>
  m.code === "UNSUPPORTED_EXTENSION" ||
  (m.code === "MESH_PRIMITIVE_INVALID_ATTRIBUTE" && m.pointer.includes("/KHR_gaussian_splatting:"));

async function issues(data) {
  const report = await validator.validateBytes(new Uint8Array(data), { maxIssues: 0 });
  return report.issues.messages.filter((m) => !isOwn(m) && m.severity < 2);
}

async function ofGltf(data) {
  const { GLTFLoader } = await addon("loaders/GLTFLoader.js");
  const { GLTFGaussianSplatLoaderExtension } = await addon(
    "loaders/GLTFGaussianSplatLoaderExtension.js",
  );
  const loader = new GLTFLoader();
  loader.register((parser) => new GLTFGaussianSplatLoaderExtension(parser));
  const { scene } = await loader.parseAsync(data, "");
  let geometry;
  scene.traverse((object) => {
    if (object.isGaussianSplat) geometry = object.splatGeometry;
  });
  return geometry;
}

async function ofPly(data) {
  const { GaussianSplatPLYLoader } = await addon("loaders/GaussianSplatPLYLoader.js");
  return new GaussianSplatPLYLoader().parse(data);
}

// The signs of a Gaussian's values under the half turn: of x, y, z, of xx, xy, xz, yy, yz, zz, and of
// the harmonics of each degree, which change if their order is odd.
const SIGNS = { position: [-1, -1, 1], covariance: [1, 1, -1, 1, -1, 1] };

// The largest difference of floats, relative to the largest value of the Gaussian.
function difference(got, want, signs) {
  let largest = 0;
  for (let i = 0; i < want.length; i += signs.length) {
    const row = want.slice(i, i + signs.length);
    const size = Math.max(...row.map(Math.abs));
    signs.forEach((sign, c) => {
      largest = Math.max(largest, Math.abs(got[i + c] - sign * row[c]) / size);
    });
  }
  return largest;
}

// The largest difference of bytes around 128, of so many a Gaussian.
function byteDifference(got, want, degree) {
  const bytes = (a) => new Uint8Array(a.array.buffer, a.array.byteOffset, a.array.byteLength);
  const [a, b] = [bytes(got), bytes(want)];
  const stride = 4 * got.itemSize;
  let largest = 0;
  for (let i = 0; i < b.length; i++) {
    const coefficient = Math.floor((i % stride) / 3);
    if (coefficient > 2 * degree) continue;
    const isOdd = Math.abs(coefficient - degree) % 2 === 1;
    const value = isOdd ? Math.min(256 - b[i], 255) : b[i];
    largest = Math.max(largest, Math.abs(a[i] - value));
  }
  return largest;
}

let failed = false;
const want = await ofPly(read(model));
for (const file of files) {
  const data = read(file);
  const found = await issues(data);
  const got = await ofGltf(data);
  const errors = {};
  for (const [name, signs] of Object.entries(SIGNS)) {
    errors[name] = difference(got.attributes[name].array, want.attributes[name].array, signs);
  }
  const colours = got.attributes.color.array;
  errors.colour = colours.reduce(
    (most, v, i) => Math.max(most, Math.abs(v - want.attributes.color.array[i])),
    0,
  );
  for (const degree of [1, 2, 3]) {
    const name = `sphericalHarmonics${degree}`;
    if (!want.attributes[name] || !got.attributes[name]) continue;
    errors[`degree ${degree}`] = byteDifference(got.attributes[name], want.attributes[name], degree);
  }
  // Floats to rounding, bytes to one step.
  const isWrong = ([name, error]) => error > (name in SIGNS ? 1e-5 : 1);
  const wrong = Object.entries(errors).filter(isWrong).map(([name]) => name);
  failed ||= found.length > 0 || wrong.length > 0;
  for (const m of found) console.log(`${basename(file)}: ${m.code} at ${m.pointer}: ${m.message}`);
  const measured = Object.entries(errors).map(([name, e]) => `${name} ${+e.toPrecision(2)}`);
  console.log(`${basename(file)}: gltf-validator finds ${found.length} issues`);
  console.log(
    `${basename(file)}: three.js reads ${colours.length / 4} Gaussians, ${measured.join(", ")}: ` +
      (wrong.length ? `${wrong.join(", ")} wrong` : "right"),
  );
}
process.exit(failed ? 1 : 0);
