//! A small writer of glTF, made from the format's description.

use serde_json::{Value, json};
use splatcore_core::gaussians::sigmoid;
use splatcore_core::{Gaussians, sh};

/// A file before it is packed: JSON and the buffer.
pub struct Glb {
    pub json: Value,
    pub buffer: Vec<u8>,
}

impl Default for Glb {
    /// One scene, whose one node shows mesh 0, which has no primitives.
    fn default() -> Self {
        let json = json!({
            "asset": { "version": "2.0" },
            "scene": 0,
            "scenes": [{ "nodes": [0] }],
            "nodes": [{ "mesh": 0 }],
            "meshes": [{ "primitives": [] }],
            "accessors": [],
            "bufferViews": [],
        });
        Self {
            json,
            buffer: Vec::new(),
        }
    }
}

impl Glb {
    /// Gaussians as they are, axes included, in primitive 0 of mesh 0.
    pub fn of(gaussians: &Gaussians) -> Self {
        let mut glb = Self::default();
        let primitive = glb.primitive(gaussians);
        glb.json["meshes"][0]["primitives"] = json!([primitive]);
        glb
    }

    /// SPZ data as a draft of the extension holds it, below a node that turns it.
    pub fn of_spz(spz: &[u8]) -> Self {
        let mut glb = Self::default();
        let view = glb.view(spz);
        glb.json["nodes"][0]["rotation"] = json!([0.6, 0.0, 0.0, 0.8]);
        glb.json["meshes"][0]["primitives"] = json!([{
            "attributes": {},
            "extensions": { "KHR_gaussian_splatting": { "extensions":
                { "KHR_gaussian_splatting_compression_spz": { "bufferView": view } } } },
        }]);
        glb
    }

    /// Appends a buffer view and returns its index.
    pub fn view(&mut self, bytes: &[u8]) -> usize {
        let offset = self.buffer.len();
        self.buffer.extend(bytes);
        self.buffer.resize(self.buffer.len().next_multiple_of(4), 0);
        let views = self.json["bufferViews"].as_array_mut().unwrap();
        let length = bytes.len();
        views.push(json!({ "buffer": 0, "byteOffset": offset, "byteLength": length }));
        views.len() - 1
    }

    /// Appends an accessor to a view of its own and returns its index.
    pub fn accessor(&mut self, kind: &str, component: u32, count: usize, bytes: &[u8]) -> usize {
        let view = self.view(bytes);
        let accessors = self.json["accessors"].as_array_mut().unwrap();
        accessors.push(json!({
            "bufferView": view, "componentType": component, "count": count, "type": kind,
        }));
        accessors.len() - 1
    }

    fn floats(&mut self, kind: &str, count: usize, values: &[f32]) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.accessor(kind, 5126, count, &bytes)
    }

    /// A primitive with all attributes as f32.
    pub fn primitive(&mut self, g: &Gaussians) -> Value {
        let n = g.len();
        let mut attributes = json!({
            "POSITION": self.floats("VEC3", n, g.means.as_flattened()),
        });
        let scales = g.log_scales.as_flattened().iter().map(|s| s.exp());
        let rotations = g.rotations.iter().flat_map(|&[w, x, y, z]| {
            let length = (w * w + x * x + y * y + z * z).sqrt();
            [x, y, z, w].map(|v| v / length)
        });
        let rotations: Vec<f32> = rotations.collect();
        let scales: Vec<f32> = scales.collect();
        let opacities: Vec<f32> = g.opacity_logits.iter().map(|&o| sigmoid(o)).collect();
        let mut add = |name: &str, accessor: usize| {
            attributes[format!("KHR_gaussian_splatting:{name}")] = accessor.into();
        };
        add("ROTATION", self.floats("VEC4", n, &rotations));
        add("SCALE", self.floats("VEC3", n, &scales));
        add("OPACITY", self.floats("SCALAR", n, &opacities));
        let mut k = 0;
        for degree in 0..=g.sh_degree {
            for coefficient in 0..sh::coefficients(degree) - k {
                let values: Vec<f32> = (0..n).flat_map(|i| g.sh_of(i)[k + coefficient]).collect();
                let accessor = self.floats("VEC3", n, &values);
                add(&format!("SH_DEGREE_{degree}_COEF_{coefficient}"), accessor);
            }
            k = sh::coefficients(degree);
        }
        json!({
            "attributes": attributes,
            "mode": 0,
            "extensions": { "KHR_gaussian_splatting": {
                "kernel": "ellipse", "colorSpace": "srgb_rec709_display",
            } },
        })
    }

    /// Primitive 0 of mesh 0.
    pub fn first(&mut self) -> &mut Value {
        &mut self.json["meshes"][0]["primitives"][0]
    }

    pub fn file(&self) -> Vec<u8> {
        let mut json = self.json.clone();
        if json.get("buffers").is_none() {
            json["buffers"] = json!([{ "byteLength": self.buffer.len() }]);
        }
        pack(json.to_string().as_bytes(), Some(&self.buffer))
    }
}

/// A file of two chunks.
pub fn pack(json: &[u8], binary: Option<&[u8]>) -> Vec<u8> {
    let mut json = json.to_vec();
    json.resize(json.len().next_multiple_of(4), b' ');
    let length = 12 + 8 + json.len() + binary.map_or(0, |binary| 8 + binary.len());
    let mut file = b"glTF".to_vec();
    for word in [2, length, json.len()] {
        file.extend((word as u32).to_le_bytes());
    }
    file.extend(b"JSON");
    file.extend(json);
    if let Some(binary) = binary {
        file.extend((binary.len() as u32).to_le_bytes());
        file.extend(b"BIN\0");
        file.extend(binary);
    }
    file
}
