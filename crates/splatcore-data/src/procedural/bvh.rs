//! A tree of boxes over the shapes, so that a ray tests few of them.

use super::shape::{SKIN, Shape};
use super::vector::V;

/// Boxes in depth-first order: a node's left child follows it.
pub(super) struct Tree {
    nodes: Vec<Node>,
}

struct Node {
    bounds: [V; 2],
    kind: Kind,
}

enum Kind {
    /// Index of the shape.
    Leaf(usize),
    /// Index of the right child, and the axis along which the children are split.
    Inner { right: usize, axis: usize },
}

impl Tree {
    /// Builds the tree by splitting at the median along the longest side.
    pub(super) fn new(shapes: &[Shape]) -> Self {
        let mut items: Vec<(usize, [V; 2])> =
            shapes.iter().map(Shape::bounds).enumerate().collect();
        let mut tree = Self { nodes: Vec::new() };
        tree.grow(&mut items);
        tree
    }

    fn grow(&mut self, items: &mut [(usize, [V; 2])]) {
        let Some(&(first, mut bounds)) = items.first() else {
            return;
        };
        for (_, [low, high]) in items.iter() {
            for i in 0..3 {
                bounds[0][i] = bounds[0][i].min(low[i]);
                bounds[1][i] = bounds[1][i].max(high[i]);
            }
        }
        let at = self.nodes.len();
        self.nodes.push(Node {
            bounds,
            kind: Kind::Leaf(first),
        });
        if items.len() == 1 {
            return;
        }
        let side = |i: usize| bounds[1][i] - bounds[0][i];
        let axis = (0..3).fold(0, |best, i| if side(i) > side(best) { i } else { best });
        items.sort_by(|a, b| {
            (a.1[0][axis] + a.1[1][axis]).total_cmp(&(b.1[0][axis] + b.1[1][axis]))
        });
        let (left, right) = items.split_at_mut(items.len() / 2);
        self.grow(left);
        self.nodes[at].kind = Kind::Inner {
            right: self.nodes.len(),
            axis,
        };
        self.grow(right);
    }

    /// Distance and index of the nearest shape before `limit`.
    pub(super) fn nearest(
        &self,
        shapes: &[Shape],
        origin: V,
        direction: V,
        limit: f64,
    ) -> Option<(f64, usize)> {
        let mut best = None;
        let mut end = limit;
        self.walk(
            origin,
            direction,
            |shape| {
                if let Some(t) = shapes[shape].hit(origin, direction).filter(|&t| t < end) {
                    end = t;
                    best = Some((t, shape));
                }
                Some(end)
            },
            limit,
        );
        best
    }

    /// Whether anything lies before `limit`.
    pub(super) fn blocked(&self, shapes: &[Shape], origin: V, direction: V, limit: f64) -> bool {
        let mut blocked = false;
        self.walk(
            origin,
            direction,
            |shape| {
                blocked = shapes[shape]
                    .hit(origin, direction)
                    .is_some_and(|t| t < limit);
                (!blocked).then_some(limit)
            },
            limit,
        );
        blocked
    }

    /// Visits the shapes whose boxes the ray meets before the limit that `visit` last returned,
    /// until `None`.
    fn walk(
        &self,
        origin: V,
        direction: V,
        mut visit: impl FnMut(usize) -> Option<f64>,
        mut limit: f64,
    ) {
        // A direction along an axis would make 0 times infinity below.
        let inverse = direction.map(|d| 1.0 / if d.abs() < 1e-12 { 1e-12 } else { d });
        let mut stack = [0usize; 32];
        let mut depth = usize::from(!self.nodes.is_empty());
        while depth > 0 {
            depth -= 1;
            let at = stack[depth];
            let node = &self.nodes[at];
            let (mut enter, mut leave) = (SKIN, limit);
            for i in 0..3 {
                let a = (node.bounds[0][i] - origin[i]) * inverse[i];
                let b = (node.bounds[1][i] - origin[i]) * inverse[i];
                let (near, far) = if a < b { (a, b) } else { (b, a) };
                enter = if near > enter { near } else { enter };
                leave = if far < leave { far } else { leave };
            }
            if enter > leave {
                continue;
            }
            match node.kind {
                Kind::Leaf(shape) => match visit(shape) {
                    Some(end) => limit = end,
                    None => return,
                },
                Kind::Inner { right, axis } => {
                    // The nearer child is taken first: what it holds may hide the other.
                    let (first, second) = if direction[axis] > 0.0 {
                        (at + 1, right)
                    } else {
                        (right, at + 1)
                    };
                    // The median split keeps the depth near log2 of the number of shapes.
                    stack[depth] = second;
                    stack[depth + 1] = first;
                    depth += 2;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::vector::{scale, sub, unit};
    use super::*;
    use splatcore_core::random::Rng;

    #[test]
    fn the_tree_finds_what_testing_every_shape_finds() {
        let mut rng = Rng::new(8, 0);
        let mut point = || -> V { std::array::from_fn(|_| rng.uniform() as f64 * 2.0 - 1.0) };
        let shapes: Vec<Shape> = (0..60)
            .map(|_| Shape::Sphere {
                centre: scale(point(), 4.0),
                radius: 0.4,
            })
            .collect();
        let tree = Tree::new(&shapes);
        let mut hits = 0;
        for _ in 0..2000 {
            let origin = scale(point(), 6.0);
            let direction = unit(sub(point(), origin));
            let all = (0..shapes.len())
                .filter_map(|i| Some((shapes[i].hit(origin, direction)?, i)))
                .min_by(|a, b| a.0.total_cmp(&b.0));
            assert_eq!(tree.nearest(&shapes, origin, direction, 100.0), all);
            assert_eq!(
                tree.blocked(&shapes, origin, direction, 100.0),
                all.is_some()
            );
            hits += usize::from(all.is_some());
        }
        assert!(hits > 500);
        assert_eq!(
            Tree::new(&[]).nearest(&[], [0.0; 3], [0.0, 0.0, 1.0], 1.0),
            None
        );
    }
}
