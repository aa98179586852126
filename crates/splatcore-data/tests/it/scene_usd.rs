//! USD out.

use crate::scene_support::random;
use splatcore_core::{Gaussians, gaussians::sigmoid, sh};
use splatcore_data::scene::{self, WriteOptions, Written};
use std::io::Read;
use std::path::Path;

fn write(name: &str, scene: &Gaussians, options: &WriteOptions) -> (Vec<u8>, Written) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let written = scene::write(&path, scene, options, &|_, _, _| ()).unwrap();
    (std::fs::read(path).unwrap(), written)
}

/// The numbers of an array, by its declaration.
fn array(text: &str, declaration: &str) -> Vec<f32> {
    let opening = format!("    {declaration} = [");
    let array = &text[text.find(&opening).unwrap() + opening.len()..];
    let array = &array[..array.find(']').unwrap()];
    array
        .split(|c: char| "(), \n".contains(c))
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().unwrap())
        .collect()
}

#[test]
fn the_layer_holds_the_scene() {
    for degree in 0..=4 {
        let scene = random(70, degree, 9);
        let (bytes, written) = write("a.usda", &scene, &WriteOptions::default());
        assert_eq!(
            (written.bytes, written.notes.len()),
            (bytes.len() as u64, 0)
        );
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("#usda 1.0\n("));
        for line in [
            "    upAxis = \"Y\"",
            "    metersPerUnit = 1",
            "def ParticleField3DGaussianSplat \"Splats\"",
            "    uniform token projectionModeHint = \"perspective\"",
            "    uniform token sortingModeHint = \"zDepth\"",
            &format!("    uniform int radiance:sphericalHarmonicsDegree = {degree}"),
        ] {
            assert!(text.lines().any(|l| l == line), "{line}");
        }
        let positions = array(&text, "point3f[] positions");
        let rotations = array(&text, "quatf[] orientations");
        let scales = array(&text, "float3[] scales");
        let opacities = array(&text, "float[] opacities");
        let coefficients = array(&text, "float3[] radiance:sphericalHarmonicsCoefficients");
        assert_eq!(array(&text, "float3[] extent").len(), 6);
        assert_eq!(coefficients.len(), 70 * 3 * scene.coefficients());
        let half_turn = sh::Rotation::new([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]);
        for i in 0..70 {
            let [x, y, z] = scene.means[i];
            assert_eq!(positions[3 * i..3 * i + 3], [-x, -y, z]);
            // A half turn about z before: (0, 0, 0, 1) times the quaternion.
            let [w, x, y, z] = scene.rotations[i];
            let length = (w * w + x * x + y * y + z * z).sqrt();
            for (got, want) in rotations[4 * i..4 * i + 4].iter().zip([-z, -y, x, w]) {
                assert!((got - want / length).abs() < 2e-7);
            }
            for c in 0..3 {
                let scale = scene.log_scales[i][c].exp();
                assert!((scales[3 * i + c] / scale - 1.0).abs() < 1e-6);
            }
            assert!((opacities[i] - sigmoid(scene.opacity_logits[i])).abs() < 1e-7);
            let mut want = scene.sh_of(i).to_vec();
            half_turn.apply(&mut want);
            let row = 3 * scene.coefficients();
            let got = &coefficients[i * row..(i + 1) * row];
            for (got, want) in got.iter().zip(want.as_flattened()) {
                assert!((got - want).abs() < 1e-6);
            }
        }
    }
}

#[test]
fn an_empty_scene_has_empty_arrays() {
    let (bytes, _) = write("a.usda", &Gaussians::empty(2), &WriteOptions::default());
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("positions = []") && !text.contains("extent"));
}

/// A package is an archive with the layer alone, stored, at a multiple of 64 bytes.
#[test]
fn a_package_holds_the_layer() {
    let scene = random(70, 3, 9);
    let (layer, _) = write("a.usda", &scene, &WriteOptions::default());
    let (package, written) = write(
        "a.usdz",
        &scene,
        &WriteOptions {
            antialiased: true,
            ..WriteOptions::default()
        },
    );
    assert_eq!(written.bytes, package.len() as u64);
    assert!(written.notes[0].contains("2D filter"));
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&package)).unwrap();
    assert_eq!(archive.len(), 1);
    let mut file = archive.by_index(0).unwrap();
    assert_eq!(file.compression(), zip::CompressionMethod::Stored);
    assert!(file.name().unwrap().ends_with(".usda"));
    let start = file.data_start().unwrap() as usize;
    assert_eq!(start % 64, 0);
    let mut content = Vec::new();
    file.read_to_end(&mut content).unwrap();
    assert_eq!(content, layer);
    assert_eq!(&package[start..start + layer.len()], layer);
    // No descriptor behind the data, and no encryption: bits of the flags.
    assert_eq!(u16::from_le_bytes([package[6], package[7]]) & 0b1001, 0);
}

#[test]
fn usd_is_not_read_and_says_so() {
    let scene = random(3, 0, 1);
    let (layer, _) = write("a.usda", &scene, &WriteOptions::default());
    let (package, _) = write("a.usdz", &scene, &WriteOptions::default());
    for bytes in [&layer[..], &package, b"PXR-USDC\0\0\0\0"] {
        let message = scene::parse(bytes, Path::new("a.bin")).unwrap_err();
        assert_contains!(message, "USD, which is written but not read");
    }
}
