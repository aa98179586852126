//! SOG in.

use crate::scene_support::sog::{Image, Sog, zip};
use crate::scene_support::{decodes_as_a_peer, is_near_the_model, shared};
use image::ExtendedColorType;
use serde_json::json;
use splatcore_core::gaussians::sigmoid;
use splatcore_data::picture;
use splatcore_data::scene::{self, SceneFile};
use std::path::Path;

fn parse(bytes: &[u8]) -> SceneFile {
    scene::parse(bytes, Path::new("test.sog")).unwrap()
}

#[test]
fn real_files_decode_as_a_peer_decodes_them() {
    decodes_as_a_peer("model.sog", "SOG version 2", 3);
    decodes_as_a_peer("model.sog_dir", "SOG version 2, unbundled", 3);
    decodes_as_a_peer("model.sh2.sog", "SOG version 2", 2);
    decodes_as_a_peer("model.sh0.sog", "SOG version 2", 0);
}

/// Errors as shared/data's README measured them.
#[test]
fn a_real_file_is_near_the_unrounded_model() {
    is_near_the_model("model.sog", [5.3e-4, 0.043, 0.004], 0.0005);
}

#[test]
fn trained_models_are_read() {
    for (name, version, count, degree) in [
        ("hon_sui_sen_2500k.sog", 2, 2_500_000, 3),
        ("fox_mcmc_1m.sog", 2, 1_000_000, 2),
        ("rock_186k_sog_v1", 1, 185_761, 3),
        ("playbot_125k.sog", 2, 125_000, 2),
        ("massa_59k.sog", 2, 58_649, 0),
    ] {
        let Some(path) = shared(&format!("models/{name}")) else {
            return;
        };
        let start = std::time::Instant::now();
        let scene = scene::read(&path).unwrap();
        eprintln!("{name}: {:.2} s", start.elapsed().as_secs_f64());
        let g = &scene.gaussians;
        assert_eq!(
            (g.len(), g.sh_degree, scene.dropped, scene.notes.len()),
            (count, degree, 0, 0),
            "{name}"
        );
        assert!(
            scene.format.starts_with(&format!("SOG version {version}")),
            "{}",
            scene.format
        );
        assert!((0..g.len()).all(|i| g.is_sound(i)), "{name}");
        let unit = |q: &[f32; 4]| (q.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-5;
        // Rounding may leave less than nothing for the largest component; no other rotation is off.
        let off = g.rotations.iter().filter(|q| !unit(q)).count();
        assert!(
            off * 1000 <= count,
            "{name}: {off} rotations are not of unit length"
        );
    }
}

/// Where the README says that nearly all of it lies.
#[test]
fn a_trained_model_lies_where_it_should() {
    let Some(path) = shared("models/hon_sui_sen_2500k.sog") else {
        return;
    };
    let g = scene::read(&path).unwrap().gaussians;
    let (low, high) = ([-0.62, -1.18, -0.73], [0.61, -0.97, 0.51]);
    let inside = g
        .means
        .iter()
        .filter(|m| (0..3).all(|c| (low[c]..=high[c]).contains(&m[c])))
        .count();
    assert!(inside * 100 > g.len() * 95, "{inside}");
    assert!(inside < g.len());
}

/// One pixel of each image, by hand, in both versions.
#[test]
fn pixels_become_parameters() {
    for version in [1, 2] {
        let mut sog = Sog::random(version, 4, 1, 1);
        let mut set = |name: &str, pixel| sog.image(name).pixels[2] = pixel;
        set("means_l.webp", [0x00, 0xff, 0x34, 9]);
        set("means_u.webp", [0x00, 0xff, 0x12, 9]);
        // The largest is x (253); w, y, z.
        set("quats.webp", [255, 51, 102, 253]);
        set("scales.webp", [0, 255, 51, 77]);
        set("sh0.webp", [0, 255, 51, 102]);
        set("shN_labels.webp", [65, 0, 3, 255]);
        let centroids = sog.image("shN_centroids.webp");
        // Entry 65 is the second of the second row.
        centroids.pixels[64 * 3 + 3..][..3].copy_from_slice(&[
            [0, 255, 51, 1],
            [1, 1, 1, 2],
            [2, 2, 2, 0],
        ]);
        let scene = parse(&sog.bundle());
        assert_eq!(scene.antialiased, version == 2);
        let g = scene.gaussians;
        assert_eq!((g.len(), g.sh_degree), (4, 1));
        let close = |got: &[f32], want: &[f64]| {
            assert_eq!(got.len(), want.len());
            let near = |(a, b): (&f32, &f64)| (f64::from(*a) - b).abs() < 2e-6 * b.abs().max(1.0);
            assert!(got.iter().zip(want).all(near), "{got:?} {want:?}");
        };
        // Bounds -1.5, -1 and 0 to 1, 2 and 3 of sign(x) ln(1 + |x|).
        let third = 3.0 * f64::from(0x1234) / 65535.0;
        close(
            &g.means[2],
            &[1.0 - 1.5f64.exp(), 2.0f64.exp() - 1.0, third.exp() - 1.0],
        );
        let [w, y, z] = [1.0, -0.6, -0.2].map(|v: f64| v * 0.5f64.sqrt());
        close(
            &g.rotations[2],
            &[w, (1.0 - w * w - y * y - z * z).sqrt(), y, z],
        );
        match version {
            1 => {
                close(&g.log_scales[2], &[-9.0, -1.0, -5.6]);
                close(&g.sh_of(2)[0], &[-1.0, 2.0, -1.8]);
                // Version 1 keeps the logit.
                close(&[g.opacity_logits[2]], &[-4.0 + 12.0 * 0.4]);
                close(&g.sh_of(2)[1], &[-0.25, 0.5, -0.1]);
            }
            _ => {
                close(&g.log_scales[2], &[-9.0, -1.0, -7.4]);
                close(&g.sh_of(2)[0], &[-2.0, 3.0, -1.0]);
                close(&[sigmoid(g.opacity_logits[2])], &[0.4]);
                close(&g.sh_of(2)[1], &[-0.5, 0.5, -0.3]);
            }
        }
        assert_ne!(g.sh_of(2)[1], g.sh_of(2)[2]);
    }
}

#[test]
fn alpha_keeps_the_colour_of_invisible_gaussians() {
    let mut sog = Sog::random(2, 9, 0, 1);
    sog.image("sh0.webp").pixels[3] = [255, 0, 128, 0];
    let g = parse(&sog.bundle()).gaussians;
    assert_eq!(g.sh_of(3)[0][..2], [3.0, -2.0]);
    assert!(sigmoid(g.opacity_logits[3]) < 1e-6);
}

#[test]
fn packing_does_not_matter() {
    let sog = Sog::random(2, 50, 2, 3);
    let want = parse(&sog.bundle()).gaussians;
    assert_eq!(parse(&zip(&sog.files(), true)).gaussians, want);
    let in_folder: Vec<_> = sog
        .files()
        .into_iter()
        .map(|(name, bytes)| (format!("a/b/{name}"), bytes))
        .collect();
    assert_eq!(parse(&zip(&in_folder, false)).gaussians, want);

    let folder = tempfile::tempdir().unwrap();
    sog.write_folder(folder.path());
    for path in [folder.path().to_path_buf(), folder.path().join("meta.json")] {
        assert!(scene::is_unbundled(&path));
        let scene = scene::read(&path).unwrap();
        assert_eq!(scene.gaussians, want);
        let files = std::fs::read_dir(folder.path()).unwrap();
        let bytes: u64 = files
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum();
        assert_eq!(scene.bytes, bytes);
        let info = scene::info(&path).unwrap();
        assert_eq!(
            (info.format.as_str(), info.sh_degree, info.bytes),
            ("SOG version 2, unbundled", 2, bytes)
        );
    }
    assert!(!scene::is_unbundled(&folder.path().join("sh0.webp")));
    assert!(!scene::is_unbundled(&folder.path().join("none")));

    // PNG is another lossless format; an image without alpha is opaque.
    let mut files = sog.files();
    for (name, bytes) in &mut files {
        if name == "means_l.webp" {
            let image = image::load_from_memory(bytes).unwrap().into_rgb8();
            let (size, rgb) = ([image.width(), image.height()], ExtendedColorType::Rgb8);
            *bytes = picture::png(&image, size, rgb).unwrap();
        }
    }
    assert_eq!(parse(&zip(&files, false)).gaussians, want);
}

#[test]
fn oddities_are_read_or_noted() {
    // An early writer's null.
    let mut sog = Sog::random(2, 50, 1, 3);
    sog.meta["scales"]["codebook"][0] = json!(null);
    sog.image("scales.webp").pixels[0] = [0, 1, 255, 255];
    let g = parse(&sog.bundle()).gaussians;
    let [first, next, last] = g.log_scales[0];
    assert!(
        (first - (next + (next - last) / 255.0)).abs() < 1e-6,
        "{first} {next} {last}"
    );
    // Labels beyond the palette.
    let mut sog = Sog::random(2, 50, 1, 3);
    sog.image("shN_labels.webp").pixels[7] = [100, 0, 0, 255];
    sog.image("shN_labels.webp").pixels[8] = [0, 1, 0, 255];
    let scene = parse(&sog.bundle());
    assert!(
        scene.notes.len() == 1 && scene.notes[0].starts_with("2 Gaussians name"),
        "{:?}",
        scene.notes
    );
    assert_eq!(scene.gaussians.sh_of(8)[1..], [[0.0; 3]; 3]);
    assert_ne!(scene.gaussians.sh_of(9)[1..], [[0.0; 3]; 3]);
    // No such rotation.
    let mut sog = Sog::random(2, 50, 0, 3);
    sog.image("quats.webp").pixels[7][3] = 251;
    assert_eq!(parse(&sog.bundle()).dropped, 1);
    // Nothing in it; bands of 0.
    let mut empty = Sog::random(2, 0, 1, 3);
    empty.meta["shN"]["bands"] = json!(0);
    let scene = parse(&empty.bundle());
    assert_eq!((scene.gaussians.len(), scene.gaussians.sh_degree), (0, 0));
    // Larger images than needed, version 1 with its number.
    let mut wide = Sog::random(1, 50, 1, 3);
    wide.meta["version"] = json!(1);
    for image in &mut wide.images {
        if image.name != "shN_centroids.webp" {
            (image.width, image.pixels) = (256, {
                image.pixels.resize(1024, [0; 4]);
                image.pixels.clone()
            });
        }
    }
    assert_eq!(
        parse(&wide.bundle()).gaussians,
        parse(&Sog::random(1, 50, 1, 3).bundle()).gaussians
    );
}

/// Colours under alpha 0 too, which some encoders throw away: else the tests above test less.
#[test]
fn the_writer_here_is_lossless() {
    let image = Image {
        name: "a",
        width: 2,
        pixels: vec![[1, 2, 3, 0], [4, 5, 6, 7]],
    };
    let back = image::load_from_memory(&image.webp()).unwrap().into_rgba8();
    assert_eq!(back.into_raw(), image.pixels.as_flattened());
}
