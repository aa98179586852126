//! A small writer of SOG, made from the format's description.

use image::{ExtendedColorType, codecs::webp::WebPEncoder};
use serde_json::{Value, json};
use splatcore_core::random::Rng;
use std::io::{Cursor, Write};
use std::path::Path;
use zip::write::{SimpleFileOptions, ZipWriter};

/// Pixels of one image, RGBA.
pub struct Image {
    pub name: &'static str,
    pub width: usize,
    pub pixels: Vec<[u8; 4]>,
}

/// A scene before it is packed.
pub struct Sog {
    pub meta: Value,
    pub images: Vec<Image>,
}

/// A codebook that rises from `from` to `to`.
pub fn codebook(from: f64, to: f64) -> Value {
    (0..256)
        .map(|i| from + (to - from) * i as f64 / 255.0)
        .collect()
}

impl Sog {
    /// Random pixels (rotations sound), a palette of 100 entries.
    pub fn random(version: u8, count: usize, sh_degree: u8, seed: u64) -> Self {
        let mut rng = Rng::new(seed, 2);
        let width = (count as f64).sqrt().ceil().max(1.0) as usize;
        let height = count.div_ceil(width).max(1);
        let mut random = |name, width: usize, height: usize| Image {
            name,
            width,
            pixels: (0..width * height)
                .map(|_| rng.next_u32().to_le_bytes())
                .collect(),
        };
        let names = [
            "means_l.webp",
            "means_u.webp",
            "quats.webp",
            "scales.webp",
            "sh0.webp",
        ];
        let mut images: Vec<Image> = names.map(|name| random(name, width, height)).into();
        images[2].pixels.iter_mut().for_each(|p| p[3] |= 252);
        let higher = (sh_degree as usize + 1).pow(2) - 1;
        if higher > 0 {
            images.push(random("shN_centroids.webp", 64 * higher, 2));
            let mut labels = random("shN_labels.webp", width, height);
            labels
                .pixels
                .iter_mut()
                .for_each(|p| *p = [p[0] % 100, 0, 0, 255]);
            images.push(labels);
        }
        let files = json!(["shN_centroids.webp", "shN_labels.webp"]);
        let mut meta = match version {
            1 => json!({
                "means": {
                    "shape": [count, 3], "mins": [-1.5, -1.0, 0.0], "maxs": [1.0, 2.0, 3.0]
                },
                "scales": {
                    "shape": [count, 3], "mins": [-9.0, -8.0, -7.0], "maxs": [-2.0, -1.0, 0.0]
                },
                "quats": { "shape": [count, 4], "encoding": "quaternion_packed" },
                "sh0": { "mins": [-1.0, -2.0, -3.0, -4.0], "maxs": [1.0, 2.0, 3.0, 8.0] },
                "shN": { "mins": -0.25, "maxs": 0.5, "files": files },
            }),
            _ => json!({
                "version": 2, "count": count, "antialias": true,
                "means": { "mins": [-1.5, -1.0, 0.0], "maxs": [1.0, 2.0, 3.0] },
                "scales": { "codebook": codebook(-9.0, -1.0) },
                "quats": {},
                "sh0": { "codebook": codebook(-2.0, 3.0) },
                "shN": {
                    "count": 100, "bands": sh_degree, "codebook": codebook(-0.5, 0.5),
                    "files": files
                },
            }),
        };
        if higher == 0 {
            meta.as_object_mut().unwrap().remove("shN");
        }
        meta["means"]["files"] = json!([names[0], names[1]]);
        for (part, name) in [("quats", names[2]), ("scales", names[3]), ("sh0", names[4])] {
            meta[part]["files"] = json!([name]);
        }
        Self { meta, images }
    }

    pub fn image(&mut self, name: &str) -> &mut Image {
        self.images
            .iter_mut()
            .find(|image| image.name == name)
            .unwrap()
    }

    /// Names and bytes of all files.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files: Vec<_> = self
            .images
            .iter()
            .map(|image| (image.name.to_string(), image.webp()))
            .collect();
        files.push(("meta.json".into(), self.meta.to_string().into_bytes()));
        files
    }

    pub fn bundle(&self) -> Vec<u8> {
        zip(&self.files(), false)
    }

    pub fn write_folder(&self, folder: &Path) {
        for (name, bytes) in self.files() {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
    }
}

impl Image {
    pub fn webp(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let height = self.pixels.len() / self.width;
        WebPEncoder::new_lossless(&mut bytes)
            .encode(
                self.pixels.as_flattened(),
                self.width as u32,
                height as u32,
                ExtendedColorType::Rgba8,
            )
            .unwrap();
        bytes
    }
}

pub fn zip(files: &[(String, Vec<u8>)], deflate: bool) -> Vec<u8> {
    let method = if deflate {
        zip::CompressionMethod::Deflated
    } else {
        zip::CompressionMethod::Stored
    };
    let options = SimpleFileOptions::default().compression_method(method);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer.start_file(name.as_str(), options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}
