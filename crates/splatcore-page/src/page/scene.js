// The scene of a page that holds it: one chunk, there at once. stream.js has the same methods for a
// site.
import { bytesOf, decode, unzip } from './decode.js';

export class Source {
  // `holder`: the element with the scene's text.
  constructor(settings, holder) {
    this.holder = holder;
  }

  // Decodes the scene. Returns how many indices it has, of how many Gaussians of which degree.
  async open(renderer) {
    const files = unzip(bytesOf(this.holder.textContent));
    this.holder.remove();
    const scene = await decode((name) => files.get(name));
    const capacity = renderer.reserve(scene.width, scene.height);
    this.chunk = renderer.add(scene, 0);
    return { capacity, count: this.chunk.count, degree: Math.sqrt(this.chunk.higher + 1) - 1 };
  }

  start(sorting) {
    const { chunk } = this;
    sorting.place(0, chunk.means);
    sorting.show([{ chunk, offset: 0, count: chunk.count }]);
  }

  // Nothing depends on the view, or on what is drawn.
  look() {}
  ordered() {}
}
