//! SPZ in.

use crate::scene_support::{Spz, error_of, gzip, shared};
use splatcore_core::gaussians::sigmoid;
use splatcore_data::scene::{self, SceneFile, spz};
use std::path::Path;

/// What is said of a file that does not name its axes.
const UNNAMED: &str = "the file does not name its axes: x right, y up, z back assumed; if the \
                       scene is upside down, read its axes as rdf (x right, y down, z front)";

fn parse(bytes: &[u8]) -> SceneFile {
    spz::parse(bytes, Path::new("test.spz")).unwrap()
}

fn error(bytes: &[u8]) -> String {
    error_of("test.spz", bytes)
}

/// Files by Niantic's library and by splat-transform, against what splat-transform decodes from
/// them.
#[test]
fn real_files_decode_as_a_peer_decodes_them() {
    for (name, version, degree) in [
        ("model.niantic-v2", 2, 3),
        ("model.niantic-v3", 3, 3),
        ("model.niantic-v4", 4, 3),
        ("model.st-v4", 4, 3),
        ("model.sh0.niantic-v3", 3, 0),
        ("model.sh1.niantic-v3", 3, 1),
        ("model.sh2.niantic-v3", 3, 2),
    ] {
        let Some(path) = shared(&format!("formats/splat22k/{name}.spz")) else {
            return;
        };
        let Some(expected) = shared(&format!("formats/expected/{name}.spz.every50.ply")) else {
            return;
        };
        let scene = scene::read(&path).unwrap();
        assert_eq!(scene.format, format!("SPZ version {version}"));
        assert_eq!(scene.notes, [UNNAMED], "{name}");
        assert!(scene.dropped == 0 && !scene.antialiased, "{name}");
        let (all, want) = (scene.gaussians, scene::read(&expected).unwrap().gaussians);
        assert_eq!(
            (all.len(), all.sh_degree, want.len()),
            (22_575, degree, 452),
            "{name}"
        );
        assert_eq!(want.sh_degree, degree);
        let close = |a: &[f32], b: &[f32], bound: f32| {
            a.iter()
                .zip(b)
                .all(|(a, b)| (a - b).abs() <= bound * b.abs().max(1.0))
        };
        for (row, i) in (0..all.len()).step_by(50).enumerate() {
            assert!(
                close(&all.means[i], &want.means[row], 1e-6),
                "{name} {i} mean"
            );
            assert!(
                close(&all.log_scales[i], &want.log_scales[row], 1e-6),
                "{name} {i} scale"
            );
            assert!(
                close(
                    all.sh_of(i).as_flattened(),
                    want.sh_of(row).as_flattened(),
                    1e-6
                ),
                "{name} {i} sh"
            );
            let alphas = [all.opacity_logits[i], want.opacity_logits[row]].map(sigmoid);
            assert!(
                (alphas[0] - alphas[1]).abs() < 1e-6,
                "{name} {i} alpha {alphas:?}"
            );
            let dot: f32 = (0..4)
                .map(|c| all.rotations[i][c] * want.rotations[row][c])
                .sum();
            let same = want.rotations[row].map(|q| q * dot.signum());
            assert!(close(&all.rotations[i], &same, 1e-6), "{name} {i} rotation");
        }
    }
}

/// The same scene before it was rounded, within the errors that shared/data's README measured;
/// alphas almost exactly, because the model was made from bytes.
#[test]
fn real_files_are_near_the_unrounded_model() {
    let Some(model) = shared("formats/splat22k/model.ply") else {
        return;
    };
    let Some(path) = shared("formats/splat22k/model.niantic-v4.spz") else {
        return;
    };
    let (want, got) = (
        scene::read(&model).unwrap().gaussians,
        scene::read(&path).unwrap().gaussians,
    );
    let mut square = 0.0;
    for i in 0..want.len() {
        for c in 0..3 {
            assert!((got.means[i][c] - want.means[i][c]).abs() < 1.3e-4);
            assert!((got.log_scales[i][c] - want.log_scales[i][c]).abs() < 0.032);
        }
        let (a, b) = (
            sigmoid(got.opacity_logits[i]),
            sigmoid(want.opacity_logits[i]),
        );
        assert!((a - b).abs() < 1e-5, "{a} {b}");
        let length = |q: [f32; 4]| q.iter().map(|v| v * v).sum::<f32>().sqrt();
        let dot: f32 = (0..4)
            .map(|c| got.rotations[i][c] * want.rotations[i][c])
            .sum();
        let cosine = dot.abs() / length(got.rotations[i]) / length(want.rotations[i]);
        // 0.21 degrees, and what an f32 near 1 can tell.
        assert!(
            2.0 * cosine.min(1.0).acos().to_degrees() < 0.3,
            "{i}: {cosine}"
        );
        for (a, b) in got.sh_of(i)[1..].iter().zip(&want.sh_of(i)[1..]) {
            square += (0..3).map(|c| f64::from(a[c] - b[c]).powi(2)).sum::<f64>();
        }
    }
    let rms = (square / (want.len() * 45) as f64).sqrt();
    assert!((rms - 0.0254).abs() < 1e-4, "{rms}");
}

#[test]
fn trained_models_are_read() {
    for (name, count, degree) in [("biker_153k", 152_746, 0), ("fox_220k", 220_135, 3)] {
        let Some(path) = shared(&format!("models/{name}.spz")) else {
            return;
        };
        let scene = scene::read(&path).unwrap();
        assert_eq!(
            (scene.gaussians.len(), scene.gaussians.sh_degree),
            (count, degree),
            "{name}"
        );
        assert_eq!((scene.dropped, scene.notes), (0, vec![UNNAMED.into()]));
        if name == "fox_220k" {
            let full = scene
                .gaussians
                .opacity_logits
                .iter()
                .filter(|&&o| o == spz::MAX_LOGIT)
                .count();
            assert_eq!(full, 5337);
        }
    }
}

/// One Gaussian of known bytes in every version: each number worked out by hand.
#[test]
fn known_bytes_become_known_numbers() {
    for version in 1..=4 {
        let position = match version {
            // Halves: 1.5, -2, 0.25.
            1 => vec![0x00, 0x3e, 0x00, 0xc0, 0x00, 0x34],
            // Twelve fractional bits: 1.5, -2, 0.25.
            _ => [0x1800, -0x2000, 0x400]
                .iter()
                .flat_map(|v: &i32| v.to_le_bytes()[..3].to_vec())
                .collect(),
        };
        let rotation = match version {
            // x 0.6, y 0, z -0.8 as near as bytes get; w from the length.
            1 | 2 => vec![204, 127, 25],
            // Largest z (index 2); x, y, w are the fields from the top: 511, -256, 0.
            _ => (2u32 << 30 | 511 << 20 | (512 | 256) << 10)
                .to_le_bytes()
                .to_vec(),
        };
        let sh: Vec<u8> = (0..45)
            .map(|i| if i % 3 == 0 { 128 + i } else { 64 })
            .collect();
        let file = Spz {
            version,
            count: 1,
            sh_degree: 3,
            flags: 1,
            streams: [
                position,
                vec![204],
                vec![0, 255, 51],
                vec![160, 0, 255],
                rotation,
                sh,
            ],
            extensions: Vec::new(),
        };
        let scene = parse(&file.file());
        assert_eq!(scene.format, format!("SPZ version {version}"));
        assert!(scene.antialiased);
        let g = scene.gaussians;
        assert_eq!(g.means, [[1.5, 2.0, -0.25]], "version {version}");
        assert_eq!(g.log_scales, [[0.0, -10.0, 5.9375]]);
        assert!((g.opacity_logits[0] - 4.0f32.ln()).abs() < 1e-6);
        let root = 0.5f32.sqrt();
        let want = match version {
            1 | 2 => {
                let [x, y, z] = [0.6, -0.5 / 127.5, 25.0 / 127.5 - 1.0];
                [(1.0f32 - x * x - y * y - z * z).max(0.0).sqrt(), x, -y, -z]
            }
            _ => {
                let [x, y] = [root, -root * 256.0 / 511.0];
                [0.0, x, -y, -(1.0 - x * x - y * y).sqrt()]
            }
        };
        for c in 0..4 {
            assert!(
                (g.rotations[0][c] - want[c]).abs() < 1e-6,
                "version {version}: {:?}",
                g.rotations[0]
            );
        }
        for (c, want) in [-0.5 / 0.15, 0.5 / 0.15, -0.3 / 0.15]
            .into_iter()
            .enumerate()
        {
            assert!((g.sh[0][c] - want).abs() < 1e-6);
        }
        // Odd in (y, z) and so negated: functions 1, 2, 4, 7, 9, 11, 12, 14.
        for k in 1..16 {
            let sign = if [1, 2, 4, 7, 9, 11, 12, 14].contains(&k) {
                -1.0
            } else {
                1.0
            };
            let red = 3.0 * (k as f32 - 1.0) / 128.0;
            assert_eq!(
                g.sh[k],
                [sign * red, -0.5 * sign, -0.5 * sign],
                "coefficient {k}"
            );
        }
    }
}

#[test]
fn opacities_of_0_and_1_become_large_finite_logits() {
    let mut file = Spz::random(3, 3, 0, 1);
    file.streams[1] = vec![0, 255, 128];
    let scene = parse(&file.file());
    assert_eq!(scene.dropped, 0);
    assert_eq!(scene.gaussians.opacity_logits[..2], [-16.0, 16.0]);
    assert!((sigmoid(scene.gaussians.opacity_logits[2]) - 128.0 / 255.0).abs() < 1e-6);
}

#[test]
fn random_bytes_of_every_version_and_degree_are_sound() {
    for version in 1..=4 {
        for degree in 0..=4 {
            let mut file = Spz::random(version, 500, degree, 9);
            if version == 1 {
                // No infinite positions.
                file.streams[0]
                    .iter_mut()
                    .skip(1)
                    .step_by(2)
                    .for_each(|high| *high &= 0xbb);
            }
            let scene = parse(&file.file());
            assert_eq!(
                (scene.gaussians.len(), scene.dropped),
                (500, 0),
                "version {version} degree {degree}"
            );
            assert_eq!(scene.gaussians.sh_degree, degree);
            assert_eq!(scene.notes, [UNNAMED]);
            let rendered = scene::parse(&file.file(), Path::new("test.spz")).unwrap();
            assert_eq!(rendered.gaussians.sh_degree, degree.min(3));
            assert_eq!(rendered.notes.len(), 1 + usize::from(degree == 4));
            // A degree more or less does not move the coefficients below.
            let low = parse(
                &Spz {
                    sh_degree: 0,
                    streams: cut(&file, 0),
                    ..file
                }
                .file(),
            );
            assert!(low.gaussians == scene.gaussians.with_sh_degree(0));
        }
    }
}

/// The streams of a file with the higher harmonics cut to a degree.
fn cut(file: &Spz, degree: usize) -> [Vec<u8>; 6] {
    let [from, to] = [file.sh_degree as usize, degree].map(|d| 3 * ((d + 1).pow(2) - 1));
    let mut streams = file.streams.clone();
    if from > 0 {
        streams[5] = streams[5]
            .chunks(from)
            .flat_map(|row| row[..to].to_vec())
            .collect();
    }
    streams
}

#[test]
fn infinite_half_positions_are_dropped() {
    let mut file = Spz::random(1, 2, 0, 1);
    file.streams[0] = vec![0, 0x7c, 0, 0, 0, 0, 0, 0x3c, 0, 0, 0, 0];
    let scene = parse(&file.file());
    assert_eq!(
        (scene.dropped, scene.gaussians.means),
        (1, vec![[1.0, 0.0, 0.0]])
    );
}

#[test]
fn empty_scenes_and_extensions_are_no_trouble() {
    for version in [2, 4] {
        assert!(
            parse(&Spz::random(version, 0, 2, 1).file())
                .gaussians
                .is_empty()
        );
        let mut file = Spz::random(version, 5, 1, 1);
        file.flags = 2;
        file.extensions = [
            2u32.to_le_bytes(),
            4u32.to_le_bytes(),
            [9; 4],
            0xadbe0002u32.to_le_bytes(),
        ]
        .concat();
        file.extensions.extend(0u32.to_le_bytes());
        let scene = parse(&file.file());
        assert_eq!(scene.gaussians.len(), 5);
        assert_eq!(
            scene.notes,
            ["extensions were ignored: 0x00000002, 0xadbe0002", UNNAMED]
        );
    }
}

#[test]
fn broken_files_get_a_line_that_says_what_and_where() {
    let old = Spz::random(3, 400, 1, 1);
    let new = Spz {
        version: 4,
        streams: old.streams.clone(),
        ..Spz::random(4, 400, 1, 1)
    };
    let (gz, zst) = (old.file(), new.file());
    for cut in [8, 40, 1000, gz.len() - 3] {
        assert!(error(&gz[..cut]).contains("gzip data ends too early"));
    }
    for (cut, says) in [
        (20, "ends inside the 32-byte header"),
        (60, "ends inside the table of contents"),
        (140, "ends inside the positions"),
        (zst.len() - 1, "ends inside the spherical harmonics"),
    ] {
        let message = error(&zst[..cut]);
        assert!(
            message.contains(says) && message.contains(&format!("byte {cut}:")),
            "{cut}: {message}"
        );
    }
    // Damage that only gzip's checksum shows.
    let mut damaged = gz.clone();
    let checksum = damaged.len() - 8;
    damaged[checksum] ^= 1;
    assert!(error(&damaged).contains("gzip data is broken"));
    for (byte, value, says) in [
        (4, 5, "byte 4: SPZ version 5 is unknown"),
        (
            4,
            3,
            "byte 4: an SPZ header of version 3 that is not inside gzip",
        ),
        (
            8,
            0x91,
            "401 Gaussians are 3609 bytes, the table of contents says 3600",
        ),
        (
            12,
            5,
            "byte 12: the header declares spherical harmonics of degree 5",
        ),
        (
            12,
            2,
            "spherical harmonics of 400 Gaussians are 9600 bytes, the table of contents says 3600",
        ),
        (13, 25, "byte 13: the header declares 25 fractional bits"),
        (
            15,
            5,
            "byte 15: the header declares 5 streams, its attributes are 6",
        ),
        (
            16,
            31,
            "byte 16: the table of contents is declared at byte 31",
        ),
        (11, 0xff, "byte 8: the header declares 4278190480 Gaussians"),
        (32 + 7, 1, "ends inside the positions"),
        (128, 0, "positions: the zstd data is broken"),
    ] {
        let mut file = zst.clone();
        file[byte] = value;
        let message = error(&file);
        assert!(message.contains(says), "{byte} = {value}: {message}");
    }
    // More in a stream than the header and the table of contents say.
    let mut longer = Spz {
        streams: new.streams.clone(),
        ..Spz::random(4, 400, 1, 1)
    };
    longer.streams[0].extend([0; 9]);
    let mut file = longer.file();
    file[32 + 8..32 + 16].copy_from_slice(&3600u64.to_le_bytes());
    let message = error(&file);
    assert_contains!(
        message,
        "positions: 3600 bytes were declared, there are more"
    );
    // Headers inside gzip.
    assert!(error(&Spz { version: 4, ..old }.gzip()).contains("version 4 inside gzip"));
    assert!(
        error(&gzip(b"ply\nformat binary_little_endian 1.0\n"))
            .contains("gzip data inside is not SPZ")
    );
    assert!(error(&gzip(b"short")).contains("ends too early"));
    let more = Spz {
        version: 3,
        count: 401,
        ..Spz::random(3, 400, 1, 1)
    };
    assert!(error(&more.file()).contains("bytes were declared, the data ends after"));
}
