// A navigator.xr for tests. The session's frames are called by the test; its framebuffer has two
// eyes side by side.
window.fake = { frames: [], ended: false, sticks: [] };
(() => {
  const [width, height] = [240, 160];
  class Session extends EventTarget {
    get inputSources() { return fake.sticks; }
    requestAnimationFrame(draw) { fake.frames.push(draw); }
    async updateRenderState({ baseLayer }) { fake.layer = baseLayer; }
    async requestReferenceSpace() { return {}; }
    async end() {
      fake.ended = true;
      this.dispatchEvent(new Event('end'));
    }
  }
  window.XRWebGLLayer = class {
    constructor(session, gl) {
      const texture = gl.createTexture();
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, 2 * width, height);
      this.gl = gl;
      this.framebuffer = gl.createFramebuffer();
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.framebuffer);
      gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    }
    getViewport({ eye }) { return { x: eye * width, y: 0, width, height }; }
  };
  WebGL2RenderingContext.prototype.makeXRCompatible = async () => {};
  Object.defineProperty(navigator, 'xr', {
    value: {
      isSessionSupported: async (kind) => kind === 'immersive-vr',
      requestSession: async () => new Session(),
    },
  });
  const at = (x) => ({ matrix: new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, x, 0, 0, 1]) });
  fake.stick = (axes) => { fake.sticks = [{ handedness: 'left', gamepad: { axes } }]; };
  fake.frame = (eyes, [across, down]) => {
    const projectionMatrix = new Float32Array([1 / across, 0, 0, 0, 0, 1 / down, 0, 0, 0, 0, -1, -1, 0, 0, -0.2, 0]);
    const views = eyes.map((x, eye) => ({ eye, transform: at(x), projectionMatrix }));
    const [draw] = fake.frames.splice(0);
    draw(performance.now(), { getViewerPose: () => ({ transform: at(0), views }) });
    return true;
  };
  fake.eye = (eye) => {
    const { gl, framebuffer } = fake.layer;
    const bytes = new Uint8Array(4 * width * height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer);
    gl.readPixels(eye * width, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    let text = '';
    for (const byte of bytes) text += String.fromCharCode(byte);
    return btoa(text);
  };
})();
