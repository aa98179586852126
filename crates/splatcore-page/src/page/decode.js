// A scene of SOG version 2: meta.json and lossless WebP images, which the browser decodes. In a page
// it is base64 of a zip archive of these files, stored; a site has folders of them. Whatever is wrong
// with it is an Error whose message is for people.

const damaged = (what) => new Error(`the scene in this page is damaged: ${what}; ask for it again`);

// Bytes of base64 text.
export function bytesOf(text) {
  try {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
  } catch {
    throw damaged('it is no base64');
  }
}

// The stored files of a zip archive by name, their checksums compared.
export function unzip(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw damaged('it is no zip archive, or its end is missing');
  const files = new Map();
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left--) {
    if (at + 46 > end || view.getUint32(at, true) !== 0x02014b50) throw damaged('its list of files is broken');
    const [method, crc, size] = [view.getUint16(at + 10, true), view.getUint32(at + 16, true), view.getUint32(at + 24, true)];
    const [name, extra, comment] = [28, 30, 32].map((field) => view.getUint16(at + field, true));
    const label = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + name));
    const local = view.getUint32(at + 42, true);
    if (method !== 0 || local + 30 > end) throw damaged(`${label} is not stored as it should be`);
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    if (start + size > end) throw damaged(`${label} is cut off`);
    const content = bytes.subarray(start, start + size);
    if (checksum(content) !== crc) throw damaged(`${label} has a wrong checksum`);
    files.set(label, content);
    at += 46 + name + extra + comment;
  }
  return files;
}

const CRC = new Uint32Array(256).map((_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  return rest;
});

function checksum(bytes) {
  let crc = -1;
  for (let i = 0; i < bytes.length; i++) crc = CRC[(crc ^ bytes[i]) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

// An image with its bytes as they were put in: not premultiplied, no colours converted.
async function image(read, name) {
  const bytes = await read(name);
  if (!bytes) throw damaged(`${name} is missing`);
  try {
    const blob = new Blob([bytes], { type: 'image/webp' });
    return await createImageBitmap(blob, { premultiplyAlpha: 'none', colorSpaceConversion: 'none' });
  } catch {
    throw damaged(`the browser cannot decode ${name}`);
  }
}

// What meta.json says, and the images: means (low and high bytes), quats, scales, sh0, and of a
// scene with higher harmonics centroids and labels.
//
// `read(name)` gives a file's bytes, or a promise of them.
export async function decode(read) {
  const text = await read('meta.json');
  let meta;
  try {
    meta = JSON.parse(new TextDecoder().decode(text));
  } catch {
    throw damaged('meta.json is missing or no JSON');
  }
  const { version, count, means, quats, scales, sh0, shN } = meta;
  const numbers = (list, length) => Array.isArray(list) && list.length === length && list.every(Number.isFinite);
  const sound = version === 2 && Number.isInteger(count) && count >= 0
    && numbers(means?.mins, 3) && numbers(means?.maxs, 3)
    && numbers(scales?.codebook, 256) && numbers(sh0?.codebook, 256)
    && (!shN || (numbers(shN.codebook, 256) && [1, 2, 3].includes(shN.bands)));
  if (!sound) throw damaged('meta.json does not say what it should');
  const names = [...means.files, ...quats.files, ...scales.files, ...sh0.files, ...(shN?.files ?? [])];
  const [low, high, rotation, scale, colour, centroids, labels] = await Promise.all(names.map((name) => image(read, name)));
  const { width, height } = low;
  for (const other of [high, rotation, scale, colour, labels]) {
    if (other && (other.width !== width || other.height !== height)) throw damaged('its images differ in size');
  }
  if (width * height < count) throw damaged('its images are too small');
  const higher = shN ? (shN.bands + 1) ** 2 - 1 : 0;
  if (shN && (centroids.width !== 64 * higher || centroids.height * 64 < shN.count)) {
    throw damaged('the palette has a wrong size');
  }
  return { meta, width, height, higher, low, high, rotation, scale, colour, centroids, labels };
}

// Coordinates from the two bytes of each, x, y, z after one another: the inverse of
// sign(x) ln(1 + |x|).
export function coordinates({ mins, maxs }, low, high, count) {
  const out = new Float32Array(3 * count);
  for (let i = 0; i < count; i++) {
    for (let c = 0; c < 3; c++) {
      const share = (low[4 * i + c] + 256 * high[4 * i + c]) / 65535;
      const value = mins[c] + (maxs[c] - mins[c]) * share;
      out[3 * i + c] = Math.sign(value) * Math.expm1(Math.abs(value));
    }
  }
  return out;
}

// The bits of a half-precision number.
export function half(value) {
  const bits = new Uint32Array(new Float32Array([value]).buffer)[0];
  const sign = (bits >>> 16) & 0x8000;
  const size = Math.abs(value);
  if (!(size < 65520)) return sign | 0x7bff;
  if (size < 2 ** -14) return sign | Math.round(size * 2 ** 24);
  // Rounded to the nearest; a carry goes into the exponent, where it belongs.
  return sign | (((bits & 0x7fffffff) - (112 << 23) + 0x1000) >>> 13);
}
