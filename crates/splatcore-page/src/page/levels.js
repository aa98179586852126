// Levels of detail of a streamed scene: which level each leaf of its tree gets in a view. Pure
// functions; stream.js loads what they choose.
import { add, dot, length, mul, sub } from './camera.js';

// Gaussians that lie closer than so many pixels need no finer level.
const FINE_ENOUGH = 1;
// What is out of view may be as much coarser.
const UNSEEN = 0.2;

// The leaves of lod-meta.json: centre, radius, and `lods`: by level the file, offset and count, or
// nothing where the level has no Gaussian.
export function leavesOf(meta) {
  const leaves = [];
  const whole = (n) => Number.isInteger(n) && n >= 0;
  const visit = ({ bound, children = [], lods = {} }) => {
    children.forEach(visit);
    const there = Object.entries(lods).filter(([, part]) => part.count > 0);
    if (!there.length) return;
    const list = Array(meta.lodLevels).fill(null);
    for (const [level, { file, offset, count }] of there) {
      if (!(level in list) || ![file, offset, count].every(whole) || !meta.filenames[file]) throw new Error();
      list[level] = { file, offset, count };
    }
    const [low, high] = [bound.min, bound.max];
    if (![...low, ...high].every(Number.isFinite)) throw new Error();
    leaves.push({ centre: mul(add(low, high), 0.5), radius: length(sub(high, low)) / 2, lods: list });
  };
  try {
    visit(meta.tree);
  } catch {
    throw new Error('the scene of this page is damaged: lod-meta.json does not say what it should');
  }
  return leaves;
}

export const coarsest = (leaf) => leaf.lods.findLastIndex(Boolean);

// Pixels between neighbouring Gaussians of a leaf at a level, by its size and distance; smaller
// where it is out of view. `view` has position, forward, focal (pixels) and cone (radians from the
// middle of the picture to its corner).
export function spacing(leaf, level, view) {
  const to = sub(leaf.centre, view.position);
  const distance = length(to);
  const near = Math.max(distance - leaf.radius, 0.1 * leaf.radius, 1e-9);
  const size = distance > leaf.radius ? Math.asin(leaf.radius / distance) : Math.PI;
  const aside = distance > 0 ? Math.acos(Math.max(-1, Math.min(1, dot(to, view.forward) / distance))) : 0;
  const seen = aside - size < view.cone ? 1 : UNSEEN;
  return (seen * view.focal * leaf.radius) / (near * Math.sqrt(leaf.lods[level].count));
}

// A level for each leaf, so that all together have at most `budget` Gaussians, the same number of
// pixels between them wherever they are, and no fewer than are needed. The coarsest levels are
// always allowed.
export function choose(leaves, view, budget) {
  const grid = leaves.map((leaf) => leaf.lods.map((part, level) => part && spacing(leaf, level, view)));
  // The coarsest level of each that is fine enough, and how many Gaussians that makes.
  const at = (limit) => {
    let total = 0;
    const levels = leaves.map((leaf, i) => {
      let level = coarsest(leaf);
      for (let finer = level; finer >= 0 && grid[i][level] > limit; finer--) if (leaf.lods[finer]) level = finer;
      total += leaf.lods[level].count;
      return level;
    });
    return { levels, total };
  };
  let best = at(FINE_ENOUGH);
  if (best.total <= budget) return best;
  let [low, high] = [FINE_ENOUGH, 1e6];
  best = at(Infinity);
  for (let i = 0; i < 24; i++) {
    const middle = Math.sqrt(low * high);
    const found = at(middle);
    if (found.total <= budget) [high, best] = [middle, found];
    else low = middle;
  }
  return best;
}

// Where finer levels are there already and the budget allows it, they stay.
export function keepFiner(leaves, chosen, budget, isThere) {
  let { total } = chosen;
  const levels = chosen.levels.map((level, i) => {
    const { lods } = leaves[i];
    for (let finer = 0; finer < level; finer++) {
      const more = lods[finer] ? lods[finer].count - lods[level].count : 0;
      if (lods[finer] && isThere(lods[finer].file) && total + more <= budget) {
        total += more;
        return finer;
      }
    }
    return level;
  });
  return { levels, total };
}
