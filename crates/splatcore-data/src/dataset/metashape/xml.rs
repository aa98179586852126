//! What a Metashape XML says, as written.

use super::calibration::{self, Calibration};
use crate::dataset::plausible::values;
use crate::words::{one_line, quoted};
use crate::{DataError, Place};
use roxmltree::{Document, Node};
use std::path::Path;

const REMEDY: &str = "export the cameras again: File, Export, Export Cameras, Agisoft XML";

/// The upper three rows of a 4x4 matrix.
pub type Affine = [[f64; 4]; 3];

/// A file's first chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// How many chunks the file has.
    pub chunks: usize,
    /// The cameras' models.
    pub sensors: Vec<Sensor>,
    /// The photos.
    pub cameras: Vec<Photo>,
    /// Ids and transformations (to the world) of the parts that were aligned separately.
    pub components: Vec<(String, Option<Affine>)>,
    /// From the chunk's own axes to the world.
    pub transform: Option<Affine>,
    /// Poses of the first and the last row of a photo differ.
    pub rolling_shutter: bool,
}

/// A camera's model.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensor {
    /// As photos refer to it.
    pub id: String,
    /// `frame`, `fisheye`, `spherical`, ...
    pub kind: String,
    /// Size, intrinsics and lens, or what is wrong with them.
    pub calibration: Result<Calibration, String>,
}

/// A photo.
#[derive(Clone, Debug, PartialEq)]
pub struct Photo {
    /// The file's name, mostly without its ending.
    pub label: String,
    /// Id of its sensor.
    pub sensor: String,
    /// Id of the part that it was aligned in.
    pub component: Option<String>,
    /// The user wants to use it.
    pub enabled: bool,
    /// It hangs on another camera of a rig.
    pub in_rig: bool,
    /// Camera (x right, y down, z forward) to chunk; nothing if it was not aligned.
    pub transform: Option<Affine>,
    /// The last row of that 4x4 matrix: 0 0 0 1.
    pub last_row: [f64; 4],
}

/// Whether the bytes begin as such a file does.
pub(in crate::dataset) fn is_metashape(bytes: &[u8]) -> bool {
    let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    has(b"<document") && has(b"<chunk")
}

/// Reads the file. `path` is for messages only.
///
/// # Errors
/// No XML, or another document; a matrix or a number that is none.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Chunk, DataError> {
    let wrong = |problem: String| DataError::new(path, problem, REMEDY);
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|_| wrong("not UTF-8 text".into()))?;
    let document = Document::parse(text).map_err(|e| {
        let line = e.pos().row as usize;
        wrong(format!("no sound XML ({})", one_line(&e))).at(Place::Line(line))
    })?;
    let root = document.root_element();
    let chunks: Vec<Node> = match root.has_tag_name("document") {
        true => children(root, "chunk").collect(),
        false => Vec::new(),
    };
    let Some(&chunk) = chunks.first() else {
        return Err(wrong("holds no chunk of a Metashape document".into()));
    };
    let at = |node: Node, problem: String| {
        let line = document.text_pos_at(node.range().start).row as usize;
        wrong(problem).at(Place::Line(line))
    };
    let transform_in = |node: Node| match child(node, "transform") {
        None => Ok(None),
        Some(own) => placement(own).map(Some).map_err(|e| at(own, e)),
    };
    let mut components = Vec::new();
    for component in nested(chunk, "components", "component") {
        components.push((attribute(component, "id"), transform_in(component)?));
    }
    let mut cameras = Vec::new();
    for camera in nested(chunk, "cameras", "camera") {
        cameras.push(photo(camera).map_err(|e| at(camera, e))?);
    }
    Ok(Chunk {
        chunks: chunks.len(),
        sensors: nested(chunk, "sensors", "sensor").map(sensor).collect(),
        cameras,
        components,
        transform: transform_in(chunk)?,
        rolling_shutter: chunk.descendants().any(has_rolling_shutter),
    })
}

fn children<'a, 'b>(node: Node<'a, 'b>, name: &'a str) -> impl Iterator<Item = Node<'a, 'b>> {
    node.children()
        .filter(move |child| child.has_tag_name(name))
}

fn child<'a, 'b>(node: Node<'a, 'b>, name: &str) -> Option<Node<'a, 'b>> {
    node.children().find(|child| child.has_tag_name(name))
}

/// The elements of a name anywhere (groups of cameras) in a list of the chunk.
fn nested<'a, 'b>(
    chunk: Node<'a, 'b>,
    list: &'a str,
    name: &'a str,
) -> impl Iterator<Item = Node<'a, 'b>> {
    children(chunk, list)
        .flat_map(|list| list.descendants())
        .filter(move |node| node.has_tag_name(name))
}

fn attribute(node: Node, name: &str) -> String {
    node.attribute(name).unwrap_or("").to_owned()
}

fn sensor(node: Node) -> Sensor {
    let kind = node.attribute("type").unwrap_or("frame");
    Sensor {
        id: attribute(node, "id"),
        kind: kind.to_owned(),
        calibration: calibration::read(node, kind),
    }
}

fn photo(node: Node) -> Result<Photo, String> {
    let label = attribute(node, "label");
    let transform = match child(node, "transform") {
        None => None,
        Some(own) => Some(matrix(own).map_err(|e| format!("camera '{label}': {e}"))?),
    };
    let last_row = child(node, "transform").map_or(Ok([0.0, 0.0, 0.0, 1.0]), last_row);
    Ok(Photo {
        last_row: last_row.map_err(|e| format!("camera '{label}': {e}"))?,
        sensor: attribute(node, "sensor_id"),
        component: node.attribute("component_id").map(str::to_owned),
        enabled: !matches!(node.attribute("enabled"), Some("0" | "false")),
        in_rig: node.attribute("master_id").is_some(),
        label,
        transform,
    })
}

/// Whether a node says that rolling shutter was compensated.
fn has_rolling_shutter(node: Node) -> bool {
    if !node.has_tag_name("rolling_shutter") {
        return false;
    }
    let text = node.text().unwrap_or("").trim();
    !["", "0", "false", "disabled", "none"].contains(&text)
}

/// Numbers separated by space; exactly so many.
fn numbers<const N: usize>(node: Node) -> Result<[f64; N], String> {
    let name = node.tag_name().name();
    let mut values = [0.0; N];
    let mut words = node.text().unwrap_or("").split_ascii_whitespace();
    for value in &mut values {
        let word = words
            .next()
            .ok_or(format!("{name} has fewer than {N} numbers"))?;
        *value = word.parse().map_err(|_| {
            let word = quoted(word);
            format!("{name} has {word}, not a number")
        })?;
    }
    match words.next() {
        None => Ok(values),
        Some(_) => Err(format!("{name} has more than {N} numbers")),
    }
}

/// 16 numbers, a 4x4 matrix by rows.
fn matrix(node: Node) -> Result<Affine, String> {
    let values: [f64; 16] = numbers(node)?;
    Ok(std::array::from_fn(|i| {
        std::array::from_fn(|j| values[4 * i + j])
    }))
}

/// The last four of 16 numbers.
fn last_row(node: Node) -> Result<[f64; 4], String> {
    let [.., a, b, c, d] = numbers::<16>(node)?;
    Ok([a, b, c, d])
}

/// A matrix; or a rotation, a translation and a scale, each of which may be left out.
fn placement(node: Node) -> Result<Affine, String> {
    let parts = ["rotation", "translation", "scale"].map(|name| child(node, name));
    if parts.iter().all(Option::is_none) && node.text().is_some_and(|t| !t.trim().is_empty()) {
        values::last_row("transform", &last_row(node)?).map_err(|wrong| wrong.to_string())?;
        return matrix(node);
    }
    let [rotation, translation, scale] = parts;
    let unit = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let rotation: [f64; 9] = rotation.map_or(Ok(unit), numbers)?;
    let translation: [f64; 3] = translation.map_or(Ok([0.0; 3]), numbers)?;
    let [scale]: [f64; 1] = scale.map_or(Ok([1.0]), numbers)?;
    Ok(std::array::from_fn(|i| {
        std::array::from_fn(|j| match j {
            3 => translation[i],
            _ => scale * rotation[3 * i + j],
        })
    }))
}
