// The worker: puts Gaussians in order, back to front, by the view-space z of their means; of equal
// ones the later first, so that seen from the front the order is that of the renderer. A radix sort
// of all 32 bits of z in two passes: no two Gaussians share a bin unless their z are equal.

let keys = new Uint32Array(0);
let depths = new Float32Array(0);
let means = new Float32Array(0); // x, y, z of each
let halfway = new Uint32Array(0);
const low = new Uint32Array(65536);
const high = new Uint32Array(65536);

function sort([x, y, z], order) {
  const count = keys.length;
  low.fill(0);
  high.fill(0);
  for (let i = 0; i < count; i++) depths[i] = x * means[3 * i] + y * means[3 * i + 1] + z * means[3 * i + 2];
  // The bits of a float as an integer that falls as the float grows.
  for (let i = 0; i < count; i++) {
    const bits = keys[i];
    const key = bits >> 31 ? bits : ~bits & 0x7fffffff;
    keys[i] = key;
    low[key & 0xffff]++;
    high[key >>> 16]++;
  }
  let [before, above] = [0, 0];
  for (let bin = 0; bin < 65536; bin++) {
    [low[bin], before] = [before, before + low[bin]];
    [high[bin], above] = [above, above + high[bin]];
  }
  for (let i = count - 1; i >= 0; i--) halfway[low[keys[i] & 0xffff]++] = i;
  for (let i = 0; i < count; i++) {
    const index = halfway[i];
    order[high[keys[index] >>> 16]++] = index;
  }
}

onmessage = ({ data }) => {
  if (data.means) {
    means = data.means;
    halfway = new Uint32Array(means.length / 3);
    depths = new Float32Array(means.length / 3);
    keys = new Uint32Array(depths.buffer);
    return;
  }
  const begun = performance.now();
  sort(data.forward, data.order);
  const ms = performance.now() - begun;
  postMessage({ forward: data.forward, order: data.order, ms }, [data.order.buffer]);
};
