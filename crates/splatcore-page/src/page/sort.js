// The worker: puts Gaussians in order, back to front, by the view-space z of their means; of equal
// ones the later first, so that seen from the front the order is that of the renderer. A radix sort
// of all 32 bits of z in two passes: no two Gaussians share a bin unless their z are equal.

let means = new Float32Array(0); // x, y, z of each index
let chosen = new Uint32Array(0); // indices that are sorted
let keys = new Uint32Array(0);
let depths = new Float32Array(0);
let halfway = new Uint32Array(0);
const low = new Uint32Array(65536);
const high = new Uint32Array(65536);

// Takes ranges of indices: begin and number, one after the other.
function choose(ranges) {
  let count = 0;
  for (let r = 1; r < ranges.length; r += 2) count += ranges[r];
  chosen = new Uint32Array(count);
  let at = 0;
  for (let r = 0; r < ranges.length; r += 2) {
    for (let i = 0; i < ranges[r + 1]; i++) chosen[at++] = ranges[r] + i;
  }
  if (depths.length < count) {
    halfway = new Uint32Array(count);
    depths = new Float32Array(count);
    keys = new Uint32Array(depths.buffer);
  }
}

function sort([x, y, z], order) {
  const count = chosen.length;
  low.fill(0);
  high.fill(0);
  for (let i = 0; i < count; i++) {
    const at = 3 * chosen[i];
    depths[i] = x * means[at] + y * means[at + 1] + z * means[at + 2];
  }
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
    const place = halfway[i];
    order[high[keys[place] >>> 16]++] = chosen[place];
  }
  // No index: the rest of the last row.
  order.fill(0xffffffff, count);
  return count;
}

onmessage = ({ data }) => {
  if (data.capacity !== undefined) means = new Float32Array(3 * data.capacity);
  else if (data.means) means.set(data.means, 3 * data.first);
  else {
    const { forward, order, ranges, number } = data;
    if (ranges) choose(ranges);
    const begun = performance.now();
    const count = sort(forward, order);
    postMessage({ forward, order, count, number, ms: performance.now() - begun }, [order.buffer]);
  }
};
