//! mkkellogg's .ksplat in.

use crate::scene_support::ksplat::{Ksplat, row};
use crate::scene_support::{decodes_as_a_peer, error_of, shared_all};
use splatcore_core::gaussians::sigmoid;
use splatcore_data::scene::{self, SceneFile};
use std::path::Path;

fn parse(bytes: &[u8]) -> SceneFile {
    scene::parse(bytes, Path::new("no.name")).unwrap()
}

fn error(bytes: &[u8]) -> String {
    error_of("test.ksplat", bytes)
}

#[test]
fn real_files_decode_as_a_peer_decodes_them() {
    for level in 0..3 {
        let format = format!(".ksplat version 0.1, level {level}");
        decodes_as_a_peer(&format!("model.l{level}-sh2.ksplat"), &format, 2);
    }
}

/// The same scene before it was rounded. The writer sorted it into buckets, so Gaussians are
/// matched by their positions; level 0 keeps all but colours and opacities to the bit.
#[test]
fn a_real_file_of_level_0_holds_the_model_in_another_order() {
    let Some([path, model]) = shared_all([
        "formats/splat22k/model.l0-sh2.ksplat",
        "formats/splat22k/model.ply",
    ]) else {
        return;
    };
    let got = scene::read(&path).unwrap().gaussians;
    let want = scene::read(&model).unwrap().gaussians;
    let key = |g: &splatcore_core::Gaussians, i: usize| {
        let scales = g.log_scales[i].map(|s| (s * 1e3).round() as i32);
        (g.means[i].map(f32::to_bits), scales)
    };
    let mut at: std::collections::HashMap<_, Vec<usize>> = std::collections::HashMap::new();
    (0..want.len()).for_each(|i| at.entry(key(&want, i)).or_default().push(i));
    let mut matched = 0;
    for i in 0..got.len() {
        let Some([j]) = at.get(&key(&got, i)).map(Vec::as_slice) else {
            continue;
        };
        matched += 1;
        for (a, b) in got.sh_of(i)[1..].iter().zip(&want.sh_of(*j)[1..9]) {
            assert_eq!(a, b);
        }
        let alphas = [got.opacity_logits[i], want.opacity_logits[*j]].map(sigmoid);
        assert!((alphas[0] - alphas[1]).abs() < 0.004, "{alphas:?}");
    }
    // Rounded logs of scales differ for a few.
    assert!(matched > 20_000, "{matched}");
}

/// A level-1 section by hand: buckets, halves, and harmonics channel by channel in each degree.
#[test]
fn buckets_halves_and_harmonics() {
    let mut file = Ksplat::random(1, 40, 2, 1);
    let half = |v: f32| match v {
        1.0 => 0x3c00u16,
        2.0 => 0x4000,
        -0.5 => 0xb800,
        _ => 0,
    };
    let section = &mut file.sections[2];
    // Gaussian 20 is in the second partial bucket: behind 2 full ones of 8, and one of 1.
    let words: Vec<u16> = [32767, 32767 + 13107, 0]
        .into_iter()
        .chain([1.0, 2.0, 1.0, 1.0, 2.0, -0.5, 0.0].map(half))
        .collect();
    let mut bytes: Vec<u8> = words.iter().flat_map(|v| v.to_le_bytes()).collect();
    bytes.extend([255, 0, 51, 51]);
    for i in 0..24u16 {
        // 1, 1 + 1/1024, 1 + 2/1024, ...
        bytes.extend((0x3c00 + i).to_le_bytes());
    }
    assert_eq!(bytes.len(), row(1, 2));
    section.rows[20] = bytes;
    let scene = parse(&file.file());
    assert_eq!((scene.gaussians.len(), scene.gaussians.sh_degree), (120, 2));
    assert_eq!(scene.dropped, 0);
    let (g, i) = (scene.gaussians, 80 + 20);
    let [x, y, z] = g.means[i];
    // Bucket 3; 13107 steps of 2.5 / 32767 are 1; 0 is 2.5 below the centre.
    assert!((x - 3.0).abs() < 1e-6 && (y - (-1.0 + 1.0)).abs() < 1e-4 && (z + 0.5).abs() < 1e-6);
    assert_eq!(g.log_scales[i], [0.0, 2.0f32.ln(), 0.0]);
    assert_eq!(g.rotations[i], [1.0, 2.0, -0.5, 0.0]);
    assert!((sigmoid(g.opacity_logits[i]) - 0.2).abs() < 1e-6);
    for (k, want) in [
        (1, [0, 3, 6]),
        (3, [2, 5, 8]),
        (4, [9, 14, 19]),
        (8, [13, 18, 23]),
    ] {
        assert_eq!(g.sh_of(i)[k], want.map(|n| 1.0 + n as f32 / 1024.0), "{k}");
    }
    // Sections of a lower degree have zeros above it.
    assert!(g.sh_of(0)[1..].iter().all(|c| *c == [0.0; 3]));
    assert!(g.sh_of(40)[1] != [0.0; 3] && g.sh_of(40)[4..].iter().all(|c| *c == [0.0; 3]));
}

#[test]
fn bytes_of_harmonics_span_the_range_that_the_header_names() {
    let mut file = Ksplat::random(2, 16, 1, 1).file();
    let coefficient = |file: &[u8]| parse(file).gaussians.sh_of(16)[1][0];
    // The row's byte 24 has the value 24; without a range it is -1.5 to 1.5.
    assert!((coefficient(&file) - (24.0 / 255.0 * 3.0 - 1.5)).abs() < 1e-6);
    file[36..40].copy_from_slice(&(-1.0f32).to_le_bytes());
    file[40..44].copy_from_slice(&4.0f32.to_le_bytes());
    assert!((coefficient(&file) - (24.0 / 255.0 * 5.0 - 1.0)).abs() < 1e-6);
}

#[test]
fn what_headers_declare_must_be_there() {
    let file = Ksplat::random(1, 40, 0, 1).file();
    assert_eq!(parse(&file).gaussians.len(), 40);
    let word = |at: usize, value: u32| {
        let mut file = file.clone();
        file[at..at + 4].copy_from_slice(&value.to_le_bytes());
        error(&file)
    };
    let section = 4096;
    for (at, value, words) in [
        (0, 0x0200, "version 0.2"),
        (4, 1000, "declares 1000 sections"),
        (4, u32::MAX, "sections"),
        (16, 41, "declares 41 Gaussians, its sections 40"),
        (20, 3, "compression level is 3"),
        (section, 41, "holds 41 Gaussians in room for 40"),
        (section + 4, 1_000_000, "its Gaussians end at byte"),
        (section + 12, 1, "its buckets do not hold"),
        (section + 12, u32::MAX, "its buckets end at byte"),
        (section + 20, 8, "a bucket has 8 bytes"),
        (section + 32, u32::MAX, "its buckets do not hold"),
        (section + 36, u32::MAX, "its buckets' lengths end"),
        (section + 40, 3, "SH degree 3 is above 2"),
    ] {
        let message = word(at, value);
        assert!(message.contains(words), "{at} {value}: {message}");
    }
    assert!(error(&file[..file.len() - 1]).contains("end at byte"));
    assert!(error(&file[..4000]).contains("fewer than the 4096"));
    assert!(error(&[0]).contains("fewer than the 4096"));
    // Without the name, what cannot be one is not taken for one.
    let other = scene::parse(&file[..4000], Path::new("a.bin")).unwrap_err();
    assert!(other.to_string().contains("no known scene format"));
}
