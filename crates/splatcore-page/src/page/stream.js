// A scene that arrives in chunks while it is looked at: the coarsest level first, whole, then what
// matters most in the view. The files are a streamed SOG (lod-meta.json, a folder for each chunk).
import { choose, coarsest, keepFiner, leavesOf, spacing } from './levels.js';
import { decode, unzip } from './decode.js';

const ROW_LENGTH = 2048; // splats in a row of the renderer's texture
const AT_ONCE = 4; // chunks under way
const PAUSE = 150; // ms between plans
const RETRY = 500; // ms after the first failure; doubles with each
const TRIES = 7;
// Room for Gaussians, as a multiple of the budget: chunks also hold parts that are not shown.
const ROOM = 2.6;
// Of the budget, on phones and tablets.
const SMALL_DEVICE = 1 / 3;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export class Source {
  // `index`: where lod-meta.json is. `on` has progress(source) and failed(text).
  constructor({ stream: { index, budget } }, holder, on) {
    this.address = new URL(index, document.baseURI);
    this.on = on;
    this.budget = budget * (matchMedia('(pointer: coarse)').matches ? SMALL_DEVICE : 1);
    this.detail = 1; // of the budget, as the user likes
    this.chunks = new Map(); // by file, with `used`: when it was wanted last
    this.loading = new Map(); // AbortController by file
    this.failures = new Map(); // by file: how often, not before when
    this.held = new Map(); // by file its images that came, while others failed
    this.refused = new Set(); // files for which there was no room in this view
    this.bytes = 0;
    this.cancelled = 0;
    this.wanted = new Map(); // importance by file
    this.shown = '';
    this.timer = 0;
    this.view = null;
  }

  async open(renderer) {
    this.renderer = renderer;
    if (location.protocol === 'file:') {
      throw new Error('this page loads its scene in pieces, which browsers do not allow from a file: put the '
        + 'folder on a web server, or run "python3 -m http.server" in it and open http://localhost:8000');
    }
    const meta = await this.insistently(async () => JSON.parse(new TextDecoder().decode(await this.get(this.address))));
    this.names = meta.filenames;
    this.leaves = leavesOf(meta);
    this.count = 0;
    let all = 0;
    for (const { lods } of this.leaves) {
      this.count += lods.find(Boolean).count;
      for (const part of lods) all += part?.count ?? 0;
    }
    this.base = new Set(this.leaves.map((leaf) => leaf.lods[coarsest(leaf)].file));
    // A chunk may leave a row unfinished.
    const most = Math.ceil(all / ROW_LENGTH) + this.names.length;
    const least = Math.ceil(this.leaves.reduce((sum, leaf) => sum + leaf.lods[coarsest(leaf)].count, 0) / ROW_LENGTH) + this.base.size;
    this.rows = Math.min(renderer.largest, most, Math.max(2 * least, Math.ceil((ROOM * this.budget) / ROW_LENGTH)));
    const capacity = renderer.reserve(ROW_LENGTH, this.rows);
    const files = [...this.base];
    await Promise.all(files.map(async (file) => {
      this.keep(file, await this.insistently(() => this.fetchChunk(file)));
      this.on.progress(this);
    }));
    const [{ higher }] = this.chunks.values();
    return { capacity, count: this.count, degree: Math.sqrt(higher + 1) - 1 };
  }

  start(sorting) {
    this.sorting = sorting;
    for (const { first, means } of this.chunks.values()) sorting.place(first, means);
    this.show(this.leaves.map(coarsest));
  }

  // The camera looks from here; `size` is the canvas's.
  look({ position, rotation, fov }, size) {
    const tangent = Math.tan((fov * Math.PI) / 360);
    const focal = size[1] / (2 * tangent);
    const cone = Math.atan(tangent * Math.hypot(1, size[0] / size[1]));
    this.view = { position, forward: rotation[2], focal, cone };
    this.soon(PAUSE);
  }

  soon(ms) {
    if (this.timer || !this.sorting) return;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.plan();
    }, ms);
  }

  // Shows the best of what is there, and asks for what is better.
  plan() {
    if (!this.view) return;
    const { leaves, view } = this;
    const budget = Math.min(this.budget * this.detail, (this.rows * ROW_LENGTH) / 1.3);
    const there = (file) => this.chunks.has(file);
    const { levels } = keepFiner(leaves, choose(leaves, view, budget), budget, there);
    const now = performance.now();
    const wanted = new Map();
    const best = leaves.map((leaf, i) => {
      const level = levels[i];
      const { file } = leaf.lods[level];
      const shown = this.bestThere(leaf, level);
      const importance = spacing(leaf, shown, view);
      wanted.set(file, Math.max(wanted.get(file) ?? 0, importance));
      if (there(file)) this.chunks.get(file).used = now;
      return shown;
    });
    // Another view may have room for what did not fit.
    if ([...wanted.keys()].some((file) => !this.wanted.has(file))) this.refused.clear();
    this.wanted = wanted;
    for (const [file, abort] of this.loading) {
      if (wanted.has(file)) continue;
      abort.abort();
      this.loading.delete(file);
      this.held.delete(file);
      this.cancelled++;
    }
    this.show(best);
    this.request(now);
    this.on.progress(this);
  }

  // The level of a leaf that is shown while another is wanted: a finer one before a coarser one.
  bestThere(leaf, wanted) {
    const there = (level) => leaf.lods[level] && this.chunks.has(leaf.lods[level].file);
    for (let level = wanted; level >= 0; level--) if (there(level)) return level;
    for (let level = wanted + 1; level < leaf.lods.length; level++) if (there(level)) return level;
    return coarsest(leaf);
  }

  show(levels) {
    const parts = levels
      .map((level, i) => this.leaves[i].lods[level])
      .map(({ file, offset, count }) => ({ chunk: this.chunks.get(file), offset, count }))
      .sort((a, b) => a.chunk.first - b.chunk.first || a.offset - b.offset);
    const joined = [];
    for (const part of parts) {
      const last = joined.at(-1);
      if (last?.chunk === part.chunk && last.offset + last.count === part.offset) last.count += part.count;
      else joined.push({ ...part });
    }
    const text = joined.map(({ chunk, offset, count }) => [chunk.number, offset, count]).join();
    if (text === this.shown) return;
    this.shown = text;
    this.sorting.show(joined);
  }

  // Starts what matters most of what is missing.
  request(now) {
    const missing = [...this.wanted].filter(([file]) => !this.chunks.has(file) && !this.loading.has(file)
      && !this.refused.has(file));
    missing.sort(([, a], [, b]) => b - a);
    for (const [file] of missing) {
      const { after = 0 } = this.failures.get(file) ?? {};
      if (after > now) this.soon(after - now + 1);
      else if (this.loading.size < AT_ONCE) this.load(file);
    }
  }

  async load(file) {
    const abort = new AbortController();
    this.loading.set(file, abort);
    try {
      const scene = await this.fetchChunk(file, abort.signal);
      if (abort.signal.aborted) return;
      if (this.keep(file, scene)) this.sorting.place(this.chunks.get(file).first, this.chunks.get(file).means);
      else this.refused.add(file);
      this.failures.delete(file);
    } catch (error) {
      if (abort.signal.aborted) return;
      const times = (this.failures.get(file)?.times ?? 0) + 1;
      this.failures.set(file, { times, after: performance.now() + RETRY * 2 ** Math.min(times - 1, TRIES) });
      if (times === TRIES) this.on.failed(`a part of the scene cannot be loaded (${error.message}); it stays coarse for now`);
    }
    this.loading.delete(file);
    this.soon(0);
  }

  async fetchChunk(file, signal) {
    const address = new URL(this.names[file], this.address);
    if (address.pathname.endsWith('.sog')) {
      const files = unzip(await this.get(address, signal));
      return decode((name) => files.get(name));
    }
    if (!this.held.has(file)) this.held.set(file, new Map());
    const images = this.held.get(file);
    const scene = await decode(async (name) => {
      if (!images.has(name)) images.set(name, await this.get(new URL(name, address), signal));
      return images.get(name);
    });
    this.held.delete(file);
    return scene;
  }

  async get(address, signal) {
    const response = await fetch(address, { signal });
    if (!response.ok) throw new Error(`the server answers ${response.status} for ${address.pathname.split('/').at(-1)}`);
    const bytes = new Uint8Array(await response.arrayBuffer());
    this.bytes += bytes.length;
    return bytes;
  }

  // For what nothing can be shown without.
  async insistently(action) {
    for (let times = 1; ; times++) {
      try {
        return await action();
      } catch (error) {
        if (times === TRIES) throw new Error(`the scene cannot be loaded (${error.message}); load the page again later`);
        await pause(RETRY * 2 ** (times - 1));
      }
    }
  }

  // Gives a chunk rows of the renderer's texture, those of what was wanted least lately if there are
  // no others. Returns whether there was room.
  keep(file, scene) {
    const rows = Math.ceil(scene.meta.count / ROW_LENGTH);
    let row = this.freeRow(rows);
    const old = [...this.chunks].filter(([other, chunk]) => !this.base.has(other) && !this.wanted.has(other)
      && !this.sorting?.needs(chunk, this.renderer.parts));
    old.sort(([, a], [, b]) => a.used - b.used);
    while (row < 0 && old.length) {
      const [other, chunk] = old.shift();
      this.renderer.remove(chunk);
      this.chunks.delete(other);
      row = this.freeRow(rows);
    }
    if (row < 0) return false;
    const chunk = this.renderer.add(scene, row * ROW_LENGTH);
    this.chunks.set(file, Object.assign(chunk, { rows, used: performance.now(), number: file }));
    return true;
  }

  // The begin of so many free rows, or -1.
  freeRow(rows) {
    const taken = [...this.chunks.values()].map(({ first, rows: length }) => [first / ROW_LENGTH, length]);
    taken.sort(([a], [b]) => a - b);
    let at = 0;
    for (const [first, length] of taken) {
      if (first - at >= rows) return at;
      at = first + length;
    }
    return this.rows - at >= rows ? at : -1;
  }

  // An order was drawn.
  ordered() {
    this.on.progress(this);
  }

  // Of the chunks that the view wants, how many are there.
  get state() {
    const files = [...this.wanted.keys()].filter((file) => !this.refused.has(file));
    return {
      there: files.filter((file) => this.chunks.has(file)).length, wanted: files.length, bytes: this.bytes,
      cancelled: this.cancelled, shown: this.renderer.count, budget: this.budget * this.detail,
      settled: Boolean(this.sorting?.fresh) && this.loading.size === 0,
    };
  }
}
