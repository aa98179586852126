//! The scene's nodes: which mesh is shown where.

use super::document::{Document, Node};
use super::wrong::Wrong;
use splatcore_core::camera::rotation_from_quaternion;

/// An affine map: three rows of a linear part and a translation.
pub type Matrix = [[f64; 4]; 3];

/// The map that changes nothing.
pub const IDENTITY: Matrix = [
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0, 0.0],
];

/// The meshes that the default scene shows (the first if none is the default; all nodes without
/// parents if there is no scene), each with the map from its space to the scene's.
pub fn shown_meshes(document: &Document) -> Result<Vec<(u32, Matrix)>, Wrong> {
    let mut seen = vec![false; document.nodes.len()];
    let mut shown = Vec::new();
    // Nodes to visit, the next one last.
    let mut stack: Vec<(u32, Matrix)> = roots(document)?
        .into_iter()
        .rev()
        .map(|node| (node, IDENTITY))
        .collect();
    while let Some((index, parent)) = stack.pop() {
        let place = format!("node {index}");
        let Some(node) = document.nodes.get(index as usize) else {
            return Err(Wrong::new(place, "is named but does not exist"));
        };
        if std::mem::replace(&mut seen[index as usize], true) {
            let problem = "has two parents, or is a part of itself";
            return Err(Wrong::new(place, problem));
        }
        let matrix = product(&parent, &local(node));
        if matrix.as_flattened().iter().any(|v| !v.is_finite()) {
            return Err(Wrong::new(place, "has a transform that is not finite"));
        }
        if let Some(mesh) = node.mesh {
            shown.push((mesh, matrix));
        }
        stack.extend(node.children.iter().rev().map(|&child| (child, matrix)));
    }
    Ok(shown)
}

fn roots(document: &Document) -> Result<Vec<u32>, Wrong> {
    let index = document.scene.unwrap_or(0);
    if let Some(scene) = document.scenes.get(index as usize) {
        return Ok(scene.nodes.clone());
    }
    if document.scene.is_some() {
        let problem = "is named but does not exist";
        return Err(Wrong::new(format!("scene {index}"), problem));
    }
    let mut is_root = vec![true; document.nodes.len()];
    for &child in document.nodes.iter().flat_map(|node| &node.children) {
        if let Some(is_root) = is_root.get_mut(child as usize) {
            *is_root = false;
        }
    }
    let nodes = 0..document.nodes.len() as u32;
    Ok(nodes.filter(|&node| is_root[node as usize]).collect())
}

/// A node's own map. A rotation of length zero is none.
fn local(node: &Node) -> Matrix {
    if let Some(columns) = &node.matrix {
        return std::array::from_fn(|row| std::array::from_fn(|c| columns[4 * c + row]));
    }
    let [x, y, z, w] = node
        .rotation
        .as_deref()
        .copied()
        .unwrap_or([0.0, 0.0, 0.0, 1.0]);
    let rotation = rotation_from_quaternion([w, x, y, z]);
    let scale = node.scale.as_deref().copied().unwrap_or([1.0; 3]);
    let translation = node.translation.as_deref().copied().unwrap_or([0.0; 3]);
    std::array::from_fn(|row| {
        std::array::from_fn(|c| match (c, &rotation) {
            (3, _) => translation[row],
            (_, Some(rotation)) => rotation[row][c] * scale[c],
            (_, None) => IDENTITY[row][c] * scale[c],
        })
    })
}

/// First `b`, then `a`.
pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|row| {
        std::array::from_fn(|c| {
            let linear = (0..3).map(|k| a[row][k] * b[k][c]).sum::<f64>();
            if c == 3 { linear + a[row][3] } else { linear }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str) -> Result<Vec<(u32, Matrix)>, Wrong> {
        shown_meshes(&Document::parse(json.as_bytes()).unwrap())
    }

    #[test]
    fn maps_of_nested_nodes_are_multiplied() {
        // A quarter turn about z and a scale of 2 above a shift by (1, 0, 0).
        let nodes = r#"{"nodes": [
            {"mesh": 3, "translation": [1, 0, 0]},
            {"children": [0, 2], "rotation": [0, 0, 0.70710678118654752, 0.70710678118654752],
             "scale": [2, 2, 2], "translation": [0, 0, 5]},
            {"mesh": 4, "matrix": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,7,0,1]}
        ]}"#;
        let shown = shown(nodes).unwrap();
        assert_eq!(shown.iter().map(|s| s.0).collect::<Vec<_>>(), [3, 4]);
        let want = [
            [
                [0.0, -2.0, 0.0, 0.0],
                [2.0, 0.0, 0.0, 2.0],
                [0.0, 0.0, 2.0, 5.0],
            ],
            [
                [0.0, -2.0, 0.0, -14.0],
                [2.0, 0.0, 0.0, 0.0],
                [0.0, 0.0, 2.0, 5.0],
            ],
        ];
        for ((_, got), want) in shown.iter().zip(want) {
            let pairs = got.as_flattened().iter().zip(want.as_flattened());
            assert!(
                pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-12),
                "{got:?}"
            );
        }
    }

    #[test]
    fn a_scene_shows_its_nodes_only() {
        let json = r#"{"scene": 1, "scenes": [{"nodes": [0]}, {"nodes": [1]}],
            "nodes": [{"mesh": 0}, {"mesh": 1}]}"#;
        assert_eq!(shown(json).unwrap(), [(1, IDENTITY)]);
        let json = json.replace("\"scene\": 1,", "");
        assert_eq!(shown(&json).unwrap(), [(0, IDENTITY)]);
    }

    #[test]
    fn cycles_and_missing_nodes_are_errors() {
        for (json, words) in [
            (
                r#"{"scenes": [{"nodes": [0]}], "nodes": [{"children": [0]}]}"#,
                "itself",
            ),
            (
                r#"{"scenes": [{"nodes": [0, 0]}], "nodes": [{}]}"#,
                "two parents",
            ),
            (
                r#"{"scenes": [{"nodes": [1]}], "nodes": [{}]}"#,
                "does not exist",
            ),
            (
                r#"{"scene": 2, "scenes": [{"nodes": []}]}"#,
                "does not exist",
            ),
            (
                r#"{"nodes": [{"scale": [1e308, 1, 1], "children": [1]},
                {"scale": [1e308, 1, 1]}]}"#,
                "not finite",
            ),
        ] {
            let problem = shown(json).unwrap_err().problem;
            assert!(problem.contains(words), "{problem}");
        }
        // Nodes that are all children of each other show nothing.
        let ring = r#"{"nodes": [{"children": [1]}, {"children": [0]}]}"#;
        assert!(shown(ring).unwrap().is_empty());
    }
}
