// Draws the scene with WebGL 2. shaders.js says what the passes do.
//
// A scene is one chunk or several, each with textures of its own. All chunks share one texture of
// splats: a chunk has some of its rows, and a Gaussian's index is its place there, row by row.
import { coordinates, half } from './decode.js';
import { add, dot, mul } from './camera.js';
import { ROW } from './sorting.js';
import { BLEND, COVER, FINISH, PROJECT, SPLAT } from './shaders.js';

const NO_SKY = new Array(48).fill(0);

export class Renderer {
  constructor(canvas) {
    this.canvas = canvas;
    const gl = canvas.getContext('webgl2', {
      alpha: false, antialias: false, depth: false, powerPreference: 'high-performance',
    });
    if (!gl) throw new Error('this browser has no WebGL 2, or it is switched off; try another browser');
    this.gl = gl;
    // Without either the sum has 8 bits, and many faint layers lose some of their colour.
    this.precise = gl.getExtension('EXT_color_buffer_float') || gl.getExtension('EXT_color_buffer_half_float');
    this.drawn = 0;
    this.count = 0; // Gaussians that the order at hand has
    this.parts = []; // those that it is of
    this.largest = gl.getParameter(gl.MAX_TEXTURE_SIZE);
    this.programs = {
      project: this.program(COVER, PROJECT),
      splat: this.program(SPLAT, BLEND),
      finish: this.program(COVER, FINISH),
    };
    this.nothing = gl.createVertexArray();
    this.blank = this.texture(gl.RGBA8, 1, 1);
    this.look = this.cube(1, new Uint8Array(3));
    this.hasLook = false;
    this.quads = gl.createVertexArray();
    gl.bindVertexArray(this.quads);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    const corners = Uint16Array.from({ length: 6 * ROW }, (_, i) => 4 * Math.floor(i / 6) + [0, 1, 2, 2, 1, 3][i % 6]);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, corners, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
  }

  // Makes room for rows of splats, once. Returns the number of indices.
  reserve(width, rows) {
    const { gl } = this;
    this.check(width, rows);
    this.splats = this.target(width, rows, [gl.RGBA32UI, gl.RGBA32UI]);
    // The order, a row of splats for each instance: an instance for each splat would leave most of
    // a card idle.
    this.order = this.texture(gl.R32UI, ROW, Math.max(1, Math.ceil((width * rows) / ROW)));
    return width * rows;
  }

  check(...sides) {
    if (Math.max(...sides) > this.largest) {
      throw new Error(`the scene is too large for this graphics card, which holds textures of ${this.largest} pixels`);
    }
  }

  program(vertex, fragment) {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
      const logs = gl.getAttachedShaders(program).map((shader) => gl.getShaderInfoLog(shader));
      throw new Error(`the graphics driver rejects a shader: ${[...logs, gl.getProgramInfoLog(program)].join(' ')}`);
    }
    const uniforms = new Map();
    for (let i = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) - 1; i >= 0; i--) {
      const { name, type } = gl.getActiveUniform(program, i);
      uniforms.set(name, { place: gl.getUniformLocation(program, name), type });
    }
    return { program, uniforms };
  }

  // A texture without filter; `source` is an image, an array, or nothing.
  texture(format, width, height, source, layout, type) {
    const { gl } = this;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, format, width, height);
    const filter = format === gl.RGBA16F || format === gl.RGBA8 ? gl.LINEAR : gl.NEAREST;
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, filter);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    if (source) gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, height, layout, type, source);
    return texture;
  }

  // A cube of colours, between which a shader interpolates.
  cube(side, bytes) {
    const { gl } = this;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_3D, texture);
    gl.texStorage3D(gl.TEXTURE_3D, 1, gl.RGB8, side, side, side);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_3D, name, gl.LINEAR);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T, gl.TEXTURE_WRAP_R]) gl.texParameteri(gl.TEXTURE_3D, name, gl.CLAMP_TO_EDGE);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texSubImage3D(gl.TEXTURE_3D, 0, 0, 0, 0, side, side, side, gl.RGB, gl.UNSIGNED_BYTE, bytes);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 4);
    return texture;
  }

  // From now on every picture is in a look, the bytes of a cube of colours.
  setLook(bytes) {
    this.look = this.cube(Math.round(Math.cbrt(bytes.length / 3)), bytes);
    this.hasLook = true;
  }

  // An image's bytes as a texture, exactly.
  imageTexture(image) {
    const { gl } = this;
    gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
    gl.pixelStorei(gl.UNPACK_COLORSPACE_CONVERSION_WEBGL, gl.NONE);
    return this.texture(gl.RGBA8, image.width, image.height, image, gl.RGBA, gl.UNSIGNED_BYTE);
  }

  // The bytes of such a texture.
  read(texture, width, height) {
    const { gl } = this;
    const frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    const bytes = new Uint8Array(4 * width * height);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    gl.deleteFramebuffer(frame);
    return bytes;
  }

  // Takes what decode() gives as the splats from `first` on, which begins a row. Returns the chunk.
  add(scene, first) {
    const { gl } = this;
    const { width, height, meta, higher } = scene;
    this.check(width, height, scene.centroids?.width ?? 0);
    const [low, high] = [scene.low, scene.high].map((image) => {
      const texture = this.imageTexture(image);
      const bytes = this.read(texture, width, height);
      gl.deleteTexture(texture);
      return bytes;
    });
    const means = coordinates(meta.means, low, high, meta.count);
    const rgba = new Float32Array(4 * width * height);
    for (let i = 0; i < meta.count; i++) rgba.set(means.subarray(3 * i, 3 * i + 3), 4 * i);
    const codes = new Float32Array(1024);
    for (let i = 0; i < 256; i++) {
      codes[4 * i] = Math.exp(meta.scales.codebook[i]);
      codes[4 * i + 1] = meta.sh0.codebook[i];
    }
    const textures = {
      means: this.texture(gl.RGBA32F, width, height, rgba, gl.RGBA, gl.FLOAT),
      rotations: this.imageTexture(scene.rotation),
      scales: this.imageTexture(scene.scale),
      colours: this.imageTexture(scene.colour),
      codebook: this.texture(gl.RGBA32F, 256, 1, codes, gl.RGBA, gl.FLOAT),
      labels: scene.labels ? this.imageTexture(scene.labels) : this.blank,
      palette: scene.centroids ? this.paletteTexture(scene.centroids, meta.shN.codebook, higher) : this.blank,
    };
    for (const name of ['low', 'high', 'rotation', 'scale', 'colour', 'labels', 'centroids']) scene[name]?.close();
    return { first, count: meta.count, higher, antialias: Boolean(meta.antialias), means, textures };
  }

  // Frees a chunk's memory; no order that is drawn may have its splats.
  remove({ textures }) {
    for (const texture of Object.values(textures)) if (texture !== this.blank) this.gl.deleteTexture(texture);
  }

  // The palette with its codebook applied, as halves.
  paletteTexture(image, codebook) {
    const { gl } = this;
    const { width, height } = image;
    const texture = this.imageTexture(image);
    const codes = this.read(texture, width, height);
    gl.deleteTexture(texture);
    const halves = Uint16Array.from(codebook, half);
    const values = Uint16Array.from(codes, (code) => halves[code]);
    return this.texture(gl.RGBA16F, width, height, values, gl.RGBA, gl.HALF_FLOAT);
  }

  target(width, height, formats) {
    const { gl } = this;
    const frame = gl.createFramebuffer();
    const textures = formats.map((format) => this.texture(format, width, height));
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    const places = textures.map((texture, i) => {
      gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0 + i, gl.TEXTURE_2D, texture, 0);
      return gl.COLOR_ATTACHMENT0 + i;
    });
    gl.drawBuffers(places);
    return { frame, textures, width, height };
  }

  // Indices of the Gaussians of `parts` ({ chunk, offset, count }), back to front, filled up with
  // NONE to whole rows.
  setOrder(order, count, parts) {
    const { gl } = this;
    this.count = count;
    this.parts = parts;
    const rows = Math.ceil(count / ROW);
    if (rows === 0) return;
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.order);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, ROW, rows, gl.RED_INTEGER, gl.UNSIGNED_INT, order.subarray(0, rows * ROW));
  }

  // Uses a program with textures and values, by the names in its shaders.
  use({ program, uniforms }, textures, values) {
    const { gl } = this;
    gl.useProgram(program);
    Object.entries(textures).forEach(([name, texture], unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.uniform1i(uniforms.get(name).place, unit);
    });
    for (const [name, value] of Object.entries(values)) {
      const { place, type } = uniforms.get(name);
      if (type === gl.FLOAT_MAT3) gl.uniformMatrix3fv(place, true, value);
      else if (type === gl.FLOAT_VEC3) gl.uniform3fv(place, value);
      else if (type === gl.FLOAT_VEC2) gl.uniform2fv(place, value);
      else if (type === gl.FLOAT) gl.uniform1f(place, value);
      else gl.uniform1i(place, value);
    }
  }

  // Draws at `share` of the canvas's size. `pose` has position, rotation (rows: right, down,
  // forward) and fov (vertical, degrees); `look` has background and degree, and a sky or none.
  draw(pose, look, share = 1) {
    const screen = [this.canvas.width, this.canvas.height];
    const size = screen.map((side) => Math.max(1, Math.round(side * share)));
    this.drawInto(null, [0, 0, ...screen], lens(pose, size), look);
    this.drawn++;
  }

  // Draws what a camera as of lens() sees into a part (x, y, width, height) of a framebuffer.
  drawInto(frame, part, camera, look) {
    const { gl } = this;
    this.project(camera, look.degree, false);
    this.blend(camera.size);
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.viewport(...part);
    const { rotation, size, focal, centre } = camera;
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_3D, this.look);
    this.use(this.programs.finish, { image: this.sum.textures[0] }, {
      colourOf: 1,
      hasLook: this.hasLook,
      corner: part.slice(0, 2),
      screen: part.slice(2),
      background: look.background,
      hasSky: Boolean(look.sky),
      'sky[0]': look.sky?.flat() ?? NO_SKY,
      toView: rotation.flat(),
      size,
      focal,
      centre,
    });
    gl.bindVertexArray(this.nothing);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  // The splats that a camera sees.
  project({ position, rotation, focal, centre, size }, degree, showDepth) {
    const { gl } = this;
    const { width } = this.splats;
    gl.bindVertexArray(this.nothing);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.splats.frame);
    let last = null;
    for (const { chunk, offset, count } of this.parts) {
      if (chunk !== last) {
        this.use(this.programs.project, chunk.textures, {
          toView: rotation.flat(),
          translation: rotation.map((axis) => -dot(axis, position)),
          eye: position,
          size,
          focal,
          centre,
          antialias: chunk.antialias,
          degree: Math.min(degree, Math.sqrt(chunk.higher + 1) - 1),
          higher: chunk.higher,
          showDepth,
          rowLength: width,
          firstRow: chunk.first / width,
          count: chunk.count,
        });
      }
      last = chunk;
      const rows = [offset, offset + count - 1].map((index) => Math.floor((chunk.first + index) / width));
      gl.viewport(0, rows[0], width, rows[1] - rows[0] + 1);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
  }

  // The sum of all splats, premultiplied, into this.sum.
  blend(size) {
    const { gl } = this;
    if (!this.sum || this.sum.width !== size[0] || this.sum.height !== size[1]) {
      if (this.sum) {
        gl.deleteTexture(this.sum.textures[0]);
        gl.deleteFramebuffer(this.sum.frame);
      }
      this.sum = this.target(...size, [this.precise ? gl.RGBA16F : gl.RGBA8]);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.sum.frame);
    gl.viewport(0, 0, ...size);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (this.count === 0) return;
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const [places, shapes] = this.splats.textures;
    this.use(this.programs.splat, { order: this.order, places, shapes }, { size });
    gl.bindVertexArray(this.quads);
    gl.drawElementsInstanced(gl.TRIANGLES, 6 * ROW, gl.UNSIGNED_SHORT, 0, Math.ceil(this.count / ROW));
    gl.bindVertexArray(null);
    gl.disable(gl.BLEND);
  }

  // The depths that are seen at places of the canvas (0 to 1 from the left and from the top);
  // nothing where there is little.
  depthsAt(pose, places) {
    const { gl, canvas } = this;
    if (!this.precise) return places.map(() => null);
    const size = [canvas.width, canvas.height];
    this.project(lens(pose, size), 0, true);
    gl.enable(gl.SCISSOR_TEST);
    const depths = places.map((place) => {
      const at = place.map((share, i) => Math.floor(share * size[i]));
      gl.scissor(...at, 1, 1);
      this.blend(size);
      const sum = new Float32Array(4);
      gl.readPixels(...at, 1, 1, gl.RGBA, gl.FLOAT, sum);
      return sum[3] > 0.1 && sum[0] > 0 ? sum[3] / sum[0] : null;
    });
    gl.disable(gl.SCISSOR_TEST);
    return depths;
  }

  // The point that is seen at a place, or nothing where there is little.
  pointAt(pose, x, y) {
    const { width, height } = this.canvas;
    const [depth] = this.depthsAt(pose, [[x, y]]);
    if (!depth) return null;
    const tangent = Math.tan((pose.fov * Math.PI) / 360);
    const ray = [(2 * x - 1) * tangent * (width / height), (2 * y - 1) * tangent, 1];
    return ray.reduce((point, part, i) => add(point, mul(pose.rotation[i], part * depth)), pose.position);
  }
}

// A pose's camera for an image of this size in pixels: focal lengths, and where the axis meets it.
export function lens({ position, rotation, fov }, size) {
  const focal = size[1] / (2 * Math.tan((fov * Math.PI) / 360));
  return { position, rotation, size, focal: [focal, focal], centre: [size[0] / 2, size[1] / 2] };
}
