//! What the tests of scene files share: real data, random Gaussians, small writers of foreign
//! layouts.

pub mod glb;
pub mod ksplat;
pub mod sog;

use splatcore_core::{Gaussians, gaussians::sigmoid, random::Rng};
use splatcore_data::scene;
pub use splatcore_test_support::{shared, shared_all};
use std::path::Path;

/// Sound Gaussians with random parameters.
pub fn random(count: usize, sh_degree: u8, seed: u64) -> Gaussians {
    let mut rng = Rng::new(seed, 0);
    let mut g = Gaussians::zeros(count, sh_degree);
    g.means
        .iter_mut()
        .for_each(|m| *m = std::array::from_fn(|_| rng.normal() * 10.0));
    g.log_scales
        .iter_mut()
        .for_each(|s| *s = std::array::from_fn(|_| rng.normal() - 4.0));
    g.rotations
        .iter_mut()
        .for_each(|q| *q = std::array::from_fn(|_| rng.normal()));
    g.opacity_logits
        .iter_mut()
        .for_each(|o| *o = rng.normal() * 3.0);
    g.sh.iter_mut()
        .for_each(|c| *c = std::array::from_fn(|_| rng.normal() * 0.3));
    g
}

/// Gaussians of any bits of an f32, as many as the bits fill.
pub fn of_bits(bits: &[u32], sh_degree: u8) -> Gaussians {
    let mut scene = Gaussians::empty(sh_degree);
    for row in bits.chunks_exact(11 + 3 * scene.coefficients()) {
        let f: Vec<f32> = row.iter().map(|&b| f32::from_bits(b)).collect();
        scene.means.push([f[0], f[1], f[2]]);
        scene.log_scales.push([f[3], f[4], f[5]]);
        scene.rotations.push([f[6], f[7], f[8], f[9]]);
        scene.opacity_logits.push(f[10]);
        scene.sh.extend_from_slice(f[11..].as_chunks::<3>().0);
    }
    scene
}

/// At unit length.
pub fn normalised(q: [f32; 4]) -> [f64; 4] {
    let q = q.map(f64::from);
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    q.map(|v| v / length)
}

/// The names in a folder, sorted.
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Names of INRIA's properties in INRIA's order, without normals.
pub fn names(sh_degree: u8) -> Vec<String> {
    let rest = 3 * ((sh_degree as usize + 1).pow(2) - 1);
    let mut names: Vec<String> = ["x", "y", "z"].map(String::from).into();
    names.extend((0..3).map(|i| format!("f_dc_{i}")));
    names.extend((0..rest).map(|i| format!("f_rest_{i}")));
    names.push("opacity".into());
    names.extend((0..3).map(|i| format!("scale_{i}")));
    names.extend((0..4).map(|i| format!("rot_{i}")));
    names
}

/// One parameter of Gaussian `i` by its PLY name.
pub fn value(g: &Gaussians, i: usize, name: &str) -> f32 {
    let number = |prefix: &str| {
        name.strip_prefix(prefix)
            .map(|n| n.parse::<usize>().unwrap())
    };
    let higher = g.coefficients() - 1;
    match name {
        "x" => g.means[i][0],
        "y" => g.means[i][1],
        "z" => g.means[i][2],
        "opacity" => g.opacity_logits[i],
        _ => number("f_dc_")
            .map(|c| g.sh_of(i)[0][c])
            .or_else(|| number("f_rest_").map(|n| g.sh_of(i)[1 + n % higher][n / higher]))
            .or_else(|| number("scale_").map(|c| g.log_scales[i][c]))
            .or_else(|| number("rot_").map(|c| g.rotations[i][c]))
            .unwrap_or_else(|| panic!("no property {name}")),
    }
}

/// A small binary little-endian PLY in INRIA's order, made without the writer under test.
pub fn plain_ply(g: &Gaussians) -> Vec<u8> {
    let names = names(g.sh_degree);
    let mut file = format!(
        "ply\nformat binary_little_endian 1.0\nelement vertex {}\n",
        g.len()
    )
    .into_bytes();
    for name in &names {
        file.extend(format!("property float {name}\n").bytes());
    }
    file.extend(b"end_header\n");
    for i in 0..g.len() {
        for name in &names {
            file.extend(value(g, i, name).to_le_bytes());
        }
    }
    file
}

/// The bytes of an SPZ file's attributes before compression.
pub struct Spz {
    pub version: u32,
    pub count: u32,
    pub sh_degree: u8,
    pub flags: u8,
    pub streams: [Vec<u8>; 6],
    pub extensions: Vec<u8>,
}

impl Spz {
    /// Random bytes in all attributes.
    pub fn random(version: u32, count: u32, sh_degree: u8, seed: u64) -> Self {
        let mut rng = Rng::new(seed, 1);
        let position = if version == 1 { 6 } else { 9 };
        let rotation = if version < 3 { 3 } else { 4 };
        let higher = 3 * ((sh_degree as usize + 1).pow(2) - 1);
        let streams = [position, 1, 3, 3, rotation, higher].map(|stride| {
            (0..stride * count as usize)
                .map(|_| rng.next_u32() as u8)
                .collect()
        });
        Self {
            version,
            count,
            sh_degree,
            flags: 0,
            streams,
            extensions: Vec::new(),
        }
    }

    fn header(&self) -> Vec<u8> {
        let mut header = b"NGSP".to_vec();
        header.extend(self.version.to_le_bytes());
        header.extend(self.count.to_le_bytes());
        header.extend([self.sh_degree, 12, self.flags, 0]);
        header
    }

    /// The file, compressed as its version asks.
    pub fn file(&self) -> Vec<u8> {
        if self.version < 4 {
            self.gzip()
        } else {
            self.zstd()
        }
    }

    pub fn gzip(&self) -> Vec<u8> {
        let mut bytes = self.header();
        bytes.extend(self.streams.iter().flatten());
        bytes.extend(&self.extensions);
        gzip(&bytes)
    }

    pub fn zstd(&self) -> Vec<u8> {
        let streams: Vec<&Vec<u8>> = self.streams.iter().filter(|s| !s.is_empty()).collect();
        let mut file = self.header();
        file[15] = streams.len() as u8;
        file.extend((32 + self.extensions.len() as u32).to_le_bytes());
        file.extend([0; 12]);
        file.extend(&self.extensions);
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let frames: Vec<Vec<u8>> = streams
            .iter()
            .map(|s| ruzstd::encoding::compress_to_vec(&s[..], level))
            .collect();
        for (frame, stream) in frames.iter().zip(streams) {
            file.extend((frame.len() as u64).to_le_bytes());
            file.extend((stream.len() as u64).to_le_bytes());
        }
        file.extend(frames.iter().flatten());
        file
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Compares Gaussians 0, 50, 100, ... with what a peer decoded from the same file, to float
/// rounding.
pub fn agrees_with_peer(all: &Gaussians, expected: &Path) {
    let want = scene::read(expected).unwrap().gaussians;
    assert_eq!(
        (want.len(), want.sh_degree),
        (all.len().div_ceil(50), all.sh_degree)
    );
    let close = |what: &str, i: usize, a: &[f32], b: &[f32]| {
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            assert!(
                (a - b).abs() <= 1e-6 * b.abs().max(1.0),
                "Gaussian {i}, {what}: {a}, expected {b}"
            );
        }
    };
    for (row, i) in (0..all.len()).step_by(50).enumerate() {
        close("mean", i, &all.means[i], &want.means[row]);
        close("log scale", i, &all.log_scales[i], &want.log_scales[row]);
        close(
            "sh",
            i,
            all.sh_of(i).as_flattened(),
            want.sh_of(row).as_flattened(),
        );
        let alphas = [all.opacity_logits[i], want.opacity_logits[row]].map(sigmoid);
        close("alpha", i, &alphas[..1], &alphas[1..]);
        let dot: f32 = (0..4)
            .map(|c| all.rotations[i][c] * want.rotations[row][c])
            .sum();
        close(
            "rotation",
            i,
            &all.rotations[i],
            &want.rotations[row].map(|q| q * dot.signum()),
        );
    }
}

/// Compares a real file with what a peer decoded from it ([`agrees_with_peer`]). It must have this
/// format and degree, all Gaussians, and nothing to note.
pub fn decodes_as_a_peer(name: &str, format: &str, sh_degree: u8) {
    let Some([path, expected]) = shared_all([
        &format!("formats/splat22k/{name}"),
        &format!("formats/expected/{name}.every50.ply"),
    ]) else {
        return;
    };
    let file = scene::read(&path).unwrap();
    assert_eq!(file.format, format);
    assert!(
        file.dropped == 0 && file.notes.is_empty(),
        "{:?}",
        file.notes
    );
    let found = (file.gaussians.len(), file.gaussians.sh_degree);
    assert_eq!(found, (22_575, sh_degree));
    let bytes = std::fs::metadata(&path).unwrap();
    assert!(bytes.is_dir() || file.bytes == bytes.len());
    agrees_with_peer(&file.gaussians, &expected);
}

/// Compares a real file with the model that it was made of: the largest errors of means, log scales
/// and opacities, and the root mean square of the harmonics' above degree 0.
pub fn is_near_the_model(name: &str, [means, log_scales, opacities]: [f32; 3], sh: f64) {
    let Some([path, model]) = shared_all([
        &format!("formats/splat22k/{name}"),
        "formats/splat22k/model.ply",
    ]) else {
        return;
    };
    let [got, want] = [path, model].map(|path| scene::read(&path).unwrap().gaussians);
    let mut square = 0.0;
    for i in 0..want.len() {
        for c in 0..3 {
            assert!((got.means[i][c] - want.means[i][c]).abs() < means);
            assert!((got.log_scales[i][c] - want.log_scales[i][c]).abs() < log_scales);
        }
        let [a, b] = [&got, &want].map(|scene| sigmoid(scene.opacity_logits[i]));
        assert!((a - b).abs() < opacities);
        for (a, b) in got.sh_of(i)[1..].iter().zip(&want.sh_of(i)[1..]) {
            square += (0..3).map(|c| f64::from(a[c] - b[c]).powi(2)).sum::<f64>();
        }
    }
    let rms = (square / (want.len() * 45) as f64).sqrt();
    assert!((rms - sh).abs() < 1e-4, "{rms}");
}

/// The message for a broken file: one line that starts with the file's name.
pub fn error_of(name: &str, bytes: &[u8]) -> String {
    let error = scene::parse(bytes, Path::new(name)).unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with(name) && !message.contains('\n'),
        "{message}"
    );
    message
}

/// The file with the first `from` in it replaced.
pub fn edited(file: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut windows = file.windows(from.len());
    let at = windows.position(|w| w == from.as_bytes()).unwrap();
    [&file[..at], to.as_bytes(), &file[at + from.len()..]].concat()
}

/// A compressed PLY of given words; `bounds` are 12 a chunk, `colours` 6 a chunk, `sh` bytes a
/// Gaussian.
pub fn compressed_ply(
    bounds: &[f32],
    colours: Option<&[f32]>,
    words: &[[u32; 4]],
    sh: &[Vec<u8>],
    big: bool,
) -> Vec<u8> {
    let mut header = format!(
        "ply\nformat binary_{}_endian 1.0\n",
        if big { "big" } else { "little" }
    );
    header += &format!("element chunk {}\n", bounds.len() / 12);
    for (prefix, axes) in [("", "xyz"), ("scale_", "xyz"), ("", "rgb")] {
        if axes == "rgb" && colours.is_none() {
            continue;
        }
        for end in ["min", "max"] {
            axes.chars()
                .for_each(|axis| header += &format!("property float {end}_{prefix}{axis}\n"));
        }
    }
    header += &format!("element vertex {}\n", words.len());
    for name in ["position", "rotation", "scale", "color"] {
        header += &format!("property uint packed_{name}\n");
    }
    if let Some(row) = sh.first() {
        header += &format!("element sh {}\n", sh.len());
        (0..row.len()).for_each(|i| header += &format!("property uchar f_rest_{i}\n"));
    }
    header += "end_header\n";
    let mut file = header.into_bytes();
    let mut word = |bits: u32| {
        file.extend(if big {
            bits.to_be_bytes()
        } else {
            bits.to_le_bytes()
        })
    };
    for (chunk, bounds) in bounds.chunks(12).enumerate() {
        bounds.iter().for_each(|v| word(v.to_bits()));
        if let Some(colours) = colours {
            colours[6 * chunk..6 * chunk + 6]
                .iter()
                .for_each(|v| word(v.to_bits()));
        }
    }
    words.as_flattened().iter().for_each(|&v| word(v));
    file.extend(sh.iter().flatten());
    file
}

/// Writes a scene; the file's bytes and the writer's notes.
pub fn write_rows(
    name: &str,
    rows: &dyn scene::Rows,
    options: &scene::WriteOptions,
) -> (Vec<u8>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let written = scene::write(&path, rows, options, &|_, _, _| ()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(written.bytes, bytes.len() as u64);
    // No temporary file stays.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    (bytes, written.notes)
}

/// Writes a scene and reads it with all its degrees; the file and the writer's notes.
pub fn written(
    name: &str,
    rows: &dyn scene::Rows,
    options: &scene::WriteOptions,
) -> (scene::SceneFile, Vec<String>) {
    let (bytes, notes) = write_rows(name, rows, options);
    let all = scene::ReadOptions {
        sh_degree_limit: 4,
        ..scene::ReadOptions::default()
    };
    let file = scene::parse_with(&bytes, Path::new(name), &all).unwrap();
    (file, notes)
}
