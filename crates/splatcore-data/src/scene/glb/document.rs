//! The parts of glTF's JSON that splats need.

use super::wrong::Wrong;
use crate::words::{one_line, quoted};
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// An empty node is three bytes of JSON: no more of them than this, whatever the file's size.
const MAX_NODES: usize = 1 << 16;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub struct Document {
    pub scene: Option<u32>,
    pub scenes: Vec<Scene>,
    #[serde(deserialize_with = "nodes")]
    pub nodes: Vec<Node>,
    pub meshes: Vec<Mesh>,
    pub accessors: Vec<Accessor>,
    pub buffer_views: Vec<BufferView>,
    pub buffers: Vec<Buffer>,
    pub extensions_required: Vec<String>,
}

#[derive(Deserialize)]
pub struct Scene {
    #[serde(default)]
    pub nodes: Vec<u32>,
}

/// Either a matrix, column by column, or translation, rotation `x, y, z, w` and scale.
#[derive(Deserialize)]
pub struct Node {
    pub mesh: Option<u32>,
    #[serde(default)]
    pub children: Vec<u32>,
    pub matrix: Option<Box<[f64; 16]>>,
    pub translation: Option<Box<[f64; 3]>>,
    pub rotation: Option<Box<[f64; 4]>>,
    pub scale: Option<Box<[f64; 3]>>,
}

#[derive(Deserialize)]
pub struct Mesh {
    pub primitives: Vec<Primitive>,
}

#[derive(Deserialize)]
pub struct Primitive {
    pub attributes: BTreeMap<String, u32>,
    pub mode: Option<u32>,
    pub indices: Option<u32>,
    pub extensions: Option<Box<PrimitiveExtensions>>,
}

#[derive(Deserialize)]
pub struct PrimitiveExtensions {
    #[serde(rename = "KHR_gaussian_splatting")]
    pub splatting: Option<Splatting>,
    /// The first draft's.
    #[serde(rename = "KHR_spz_gaussian_splats_compression")]
    pub spz: Option<Inner>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Splatting {
    pub kernel: Option<String>,
    pub color_space: Option<String>,
    pub projection: Option<String>,
    pub sorting_method: Option<String>,
    #[serde(default)]
    pub extensions: BTreeMap<String, Inner>,
}

/// An extension of the extension.
#[derive(Deserialize)]
pub struct Inner {
    #[serde(rename = "bufferView")]
    pub buffer_view: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Accessor {
    pub buffer_view: Option<u32>,
    #[serde(default)]
    pub byte_offset: u64,
    pub component_type: u32,
    #[serde(default)]
    pub normalized: bool,
    pub count: u64,
    #[serde(rename = "type")]
    pub kind: String,
    pub sparse: Option<Sparse>,
}

/// That it is there is all that matters.
#[derive(Deserialize)]
pub struct Sparse {}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BufferView {
    pub buffer: u32,
    #[serde(default)]
    pub byte_offset: u64,
    pub byte_length: u64,
    pub byte_stride: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Buffer {
    pub uri: Option<String>,
    pub byte_length: u64,
}

impl Document {
    /// Reads the JSON, whose nesting serde_json limits.
    pub fn parse(json: &[u8]) -> Result<Self, Wrong> {
        let document: Self = serde_json::from_slice(json)
            .map_err(|e| Wrong::new("JSON", format!("is not glTF's ({})", one_line(&e))))?;
        // Geometry in another coding; SPZ is an extension of the splats' own.
        let coded = |name: &&String| {
            let name = name.to_lowercase();
            name.contains("compression") && !name.contains("spz")
        };
        match document.extensions_required.iter().find(coded) {
            None => Ok(document),
            Some(name) => {
                let name = quoted(name);
                Err(Wrong::with(
                    "",
                    format!("is compressed with {name}, which is not read"),
                    "export it again without that compression",
                ))
            }
        }
    }
}

fn nodes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Node>, D::Error> {
    struct Nodes;

    impl<'de> Visitor<'de> for Nodes {
        type Value = Vec<Node>;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            write!(f, "at most {MAX_NODES} nodes")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Node>, A::Error> {
            let mut nodes = Vec::new();
            while let Some(node) = list.next_element()? {
                if nodes.len() == MAX_NODES {
                    return Err(A::Error::custom(format!("more than {MAX_NODES} nodes")));
                }
                nodes.push(node);
            }
            Ok(nodes)
        }
    }

    from.deserialize_seq(Nodes)
}
