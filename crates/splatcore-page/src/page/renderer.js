// Draws the scene with WebGL 2. shaders.js says what the passes do.
import { coordinates, half } from './decode.js';
import { add, dot, mul } from './camera.js';
import { ROW } from './sorting.js';
import { BLEND, COVER, FINISH, PROJECT, SPLAT } from './shaders.js';

export class Renderer {
  // `scene` is what decode() gives.
  constructor(canvas, scene) {
    this.canvas = canvas;
    const gl = canvas.getContext('webgl2', {
      alpha: false, antialias: false, depth: false, powerPreference: 'high-performance',
    });
    if (!gl) throw new Error('this browser has no WebGL 2, or it is switched off; try another browser');
    this.gl = gl;
    // Without either the sum has 8 bits, and many faint layers lose some of their colour.
    this.precise = gl.getExtension('EXT_color_buffer_float') || gl.getExtension('EXT_color_buffer_half_float');
    this.count = scene.meta.count;
    this.higher = scene.higher;
    this.antialias = Boolean(scene.meta.antialias);
    this.drawn = 0;
    const largest = gl.getParameter(gl.MAX_TEXTURE_SIZE);
    if (Math.max(scene.width, scene.height, scene.centroids?.width ?? 0) > largest) {
      throw new Error(`the scene is too large for this graphics card, which holds textures of ${largest} pixels`);
    }
    this.programs = {
      project: this.program(COVER, PROJECT),
      splat: this.program(SPLAT, BLEND),
      finish: this.program(COVER, FINISH),
    };
    this.load(scene);
    this.splats = this.target(scene.width, scene.height, [gl.RGBA32UI, gl.RGBA32UI]);
    this.nothing = gl.createVertexArray();
    // The order, a row of splats for each instance: an instance for each splat would leave most of
    // a card idle.
    this.rows = Math.max(1, Math.ceil(this.count / ROW));
    this.order = this.texture(gl.R32UI, ROW, this.rows);
    this.quads = gl.createVertexArray();
    gl.bindVertexArray(this.quads);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    const corners = Uint16Array.from({ length: 6 * ROW }, (_, i) => 4 * Math.floor(i / 6) + [0, 1, 2, 2, 1, 3][i % 6]);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, corners, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
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

  load(scene) {
    const { gl } = this;
    const { width, height, meta, higher } = scene;
    const [low, high] = [scene.low, scene.high].map((image) => {
      const texture = this.imageTexture(image);
      const bytes = this.read(texture, width, height);
      gl.deleteTexture(texture);
      return bytes;
    });
    this.means = coordinates(meta.means, low, high, this.count);
    const rgba = new Float32Array(4 * width * height);
    for (let i = 0; i < this.count; i++) rgba.set(this.means.subarray(3 * i, 3 * i + 3), 4 * i);
    const codes = new Float32Array(1024);
    for (let i = 0; i < 256; i++) {
      codes[4 * i] = Math.exp(meta.scales.codebook[i]);
      codes[4 * i + 1] = meta.sh0.codebook[i];
    }
    const blank = () => this.texture(gl.RGBA8, 1, 1);
    this.textures = {
      means: this.texture(gl.RGBA32F, width, height, rgba, gl.RGBA, gl.FLOAT),
      rotations: this.imageTexture(scene.rotation),
      scales: this.imageTexture(scene.scale),
      colours: this.imageTexture(scene.colour),
      codebook: this.texture(gl.RGBA32F, 256, 1, codes, gl.RGBA, gl.FLOAT),
      labels: scene.labels ? this.imageTexture(scene.labels) : blank(),
      palette: scene.centroids ? this.paletteTexture(scene.centroids, meta.shN.codebook, higher) : blank(),
    };
    for (const name of ['low', 'high', 'rotation', 'scale', 'colour', 'labels', 'centroids']) scene[name]?.close();
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

  // Indices of all Gaussians, back to front, filled up with NONE to whole rows.
  setOrder(order) {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.order);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, ROW, this.rows, gl.RED_INTEGER, gl.UNSIGNED_INT, order);
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
  // forward) and fov (vertical, degrees); `look` has background and degree.
  draw(pose, look, share = 1) {
    const { gl, canvas } = this;
    const size = [canvas.width, canvas.height].map((side) => Math.max(1, Math.round(side * share)));
    this.project(pose, size, look.degree, false);
    this.blend(size);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, canvas.width, canvas.height);
    const screen = [canvas.width, canvas.height];
    this.use(this.programs.finish, { image: this.sum.textures[0] }, { screen, background: look.background });
    gl.bindVertexArray(this.nothing);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    this.drawn++;
  }

  // The splats of an image of this size.
  project(pose, size, degree, showDepth) {
    const { gl } = this;
    gl.bindVertexArray(this.nothing);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.splats.frame);
    gl.viewport(0, 0, this.splats.width, this.splats.height);
    this.use(this.programs.project, this.textures, {
      toView: pose.rotation.flat(),
      translation: pose.rotation.map((axis) => -dot(axis, pose.position)),
      eye: pose.position,
      size,
      focal: size[1] / (2 * Math.tan((pose.fov * Math.PI) / 360)),
      antialias: this.antialias,
      degree: Math.min(degree, Math.sqrt(this.higher + 1) - 1),
      higher: this.higher,
      showDepth,
    });
    gl.drawArrays(gl.TRIANGLES, 0, 3);
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
    gl.drawElementsInstanced(gl.TRIANGLES, 6 * ROW, gl.UNSIGNED_SHORT, 0, this.rows);
    gl.bindVertexArray(null);
    gl.disable(gl.BLEND);
  }

  // The point that is seen at a place of the canvas (0 to 1 from the left and from the top), or
  // nothing where there is little.
  pointAt(pose, x, y) {
    const { gl, canvas } = this;
    if (!this.precise) return null;
    const size = [canvas.width, canvas.height];
    const at = [Math.floor(x * size[0]), Math.floor(y * size[1])];
    this.project(pose, size, 0, true);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(...at, 1, 1);
    this.blend(size);
    const sum = new Float32Array(4);
    gl.readPixels(...at, 1, 1, gl.RGBA, gl.FLOAT, sum);
    gl.disable(gl.SCISSOR_TEST);
    if (!(sum[3] > 0.1) || !(sum[0] > 0)) return null;
    const depth = sum[3] / sum[0];
    const tangent = Math.tan((pose.fov * Math.PI) / 360);
    const ray = [(2 * x - 1) * tangent * (size[0] / size[1]), (2 * y - 1) * tangent, 1];
    return ray.reduce((point, part, i) => add(point, mul(pose.rotation[i], part * depth)), pose.position);
  }
}
