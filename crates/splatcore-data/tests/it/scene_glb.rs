//! glTF with Gaussians, in and out.

use crate::scene_support::glb::{Glb, pack};
use crate::scene_support::{Spz, random, shared_all};
use base64::Engine as _;
use proptest::prelude::*;
use serde_json::{Value, json};
use splatcore_core::gaussians::sigmoid;
use splatcore_core::{Gaussians, sh};
use splatcore_data::scene::{self, Rows, SceneFile, WriteOptions, Written};
use std::path::Path;

fn parse(bytes: &[u8]) -> SceneFile {
    scene::parse(bytes, Path::new("no.name")).unwrap()
}

fn write(rows: &dyn Rows, options: &WriteOptions) -> (Vec<u8>, Written) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.glb");
    let written = scene::write(&path, rows, options, &|_, _, _| ()).unwrap();
    (std::fs::read(path).unwrap(), written)
}

/// The JSON and the binary chunk, read as the format says.
fn unpack(file: &[u8]) -> (Value, &[u8]) {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(
        (&file[..4], word(4), word(8)),
        (&b"glTF"[..], 2, file.len())
    );
    let length = word(12);
    assert!(length.is_multiple_of(4));
    assert_eq!(&file[16..20], b"JSON");
    let json = serde_json::from_slice(&file[20..20 + length]).unwrap();
    assert_eq!(word(20 + length), file.len() - 28 - length);
    assert_eq!(&file[24 + length..28 + length], b"BIN\0");
    (json, &file[28 + length..])
}

/// A half turn about z on a rotation and back costs nothing; a unit length rounds.
fn same(got: &Gaussians, want: &Gaussians) {
    assert_eq!(got.len(), want.len());
    assert_eq!(got.means, want.means);
    assert_eq!(got.sh, want.sh);
    for i in 0..got.len() {
        for c in 0..3 {
            // The f32 nearest the standard deviation is 6e-8 of it off, its log as much absolutely.
            let (a, b) = (got.log_scales[i][c], want.log_scales[i][c]);
            assert!((a - b).abs() <= 1e-7 + 6e-8 * b.abs(), "{a} {b}");
        }
        let length = want.rotations[i].iter().map(|q| q * q).sum::<f32>().sqrt();
        for c in 0..4 {
            let (a, b) = (got.rotations[i][c], want.rotations[i][c] / length);
            assert!((a - b).abs() <= 2e-7, "{a} {b}");
        }
        let alphas = [got.opacity_logits[i], want.opacity_logits[i]].map(sigmoid);
        assert!((alphas[0] - alphas[1]).abs() <= 2e-7, "{alphas:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_written_reads_back(count in 1usize..300, degree in 0u8..4, seed: u64) {
        let scene = random(count, degree, seed);
        let (file, written) = write(&scene, &WriteOptions::default());
        prop_assert_eq!(written.bytes, file.len() as u64);
        prop_assert_eq!(written.notes.len(), 0);
        let back = parse(&file);
        prop_assert_eq!((back.dropped, back.notes.len()), (0, 0));
        same(&back.gaussians, &scene);
        // A second time, nothing moves but by one rounding.
        let (again, _) = write(&back.gaussians, &WriteOptions::default());
        same(&parse(&again).gaussians, &back.gaussians);
    }
}

/// More than one piece: each part of a column lands at its place.
#[test]
fn pieces_are_joined() {
    let count = scene::rows::PIECE + 1000;
    let scene = random(count, 1, 7);
    let (file, _) = write(&scene, &WriteOptions::default());
    same(&parse(&file).gaussians, &scene);
}

/// The values in the file, column by column, by the formulas of the extension.
#[test]
fn the_file_is_as_the_extension_says() {
    let scene = random(50, 3, 3);
    let (file, _) = write(&scene, &WriteOptions::default());
    let (json, buffer) = unpack(&file);
    assert_eq!(json["asset"]["version"], "2.0");
    assert_eq!(json["extensionsUsed"], json!(["KHR_gaussian_splatting"]));
    assert_eq!(json["buffers"], json!([{ "byteLength": buffer.len() }]));
    let primitive = &json["meshes"][0]["primitives"][0];
    assert_eq!(primitive["mode"], 0);
    let properties = &primitive["extensions"]["KHR_gaussian_splatting"];
    assert_eq!(properties["kernel"], "ellipse");
    assert_eq!(properties["colorSpace"], "srgb_rec709_display");
    let attributes = primitive["attributes"].as_object().unwrap();
    assert_eq!(attributes.len(), 5 + 16);
    let bytes = |name: &str, kind: &str, component: u32, size: usize| {
        let accessor = &json["accessors"][attributes[name].as_u64().unwrap() as usize];
        assert_eq!(accessor["type"], kind, "{name}");
        assert_eq!(accessor["componentType"], component, "{name}");
        assert_eq!(accessor["count"], 50, "{name}");
        let view = &json["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
        let offset = view["byteOffset"].as_u64().unwrap() as usize;
        assert_eq!(
            (offset % 4, view["byteLength"].as_u64()),
            (0, Some(50 * size as u64))
        );
        &buffer[offset..offset + 50 * size]
    };
    let floats = |name: &str, kind: &str, width: usize| -> Vec<f32> {
        let bytes = bytes(
            &format!("KHR_gaussian_splatting:{name}"),
            kind,
            5126,
            4 * width,
        );
        bytes
            .as_chunks()
            .0
            .iter()
            .map(|b| f32::from_le_bytes(*b))
            .collect()
    };
    let positions = bytes("POSITION", "VEC3", 5126, 12).as_chunks::<12>().0;
    let position = |i: usize| -> [f32; 3] {
        std::array::from_fn(|c| {
            f32::from_le_bytes(positions[i][4 * c..4 * c + 4].try_into().unwrap())
        })
    };
    let (scales, opacities) = (floats("SCALE", "VEC3", 3), floats("OPACITY", "SCALAR", 1));
    let rotations = floats("ROTATION", "VEC4", 4);
    let accessor = &json["accessors"][attributes["POSITION"].as_u64().unwrap() as usize];
    let half_turn = sh::Rotation::new([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]);
    for i in 0..50 {
        let [x, y, z] = scene.means[i];
        assert_eq!(position(i), [-x, -y, z]);
        for c in 0..3 {
            let bounds = [&accessor["min"], &accessor["max"]].map(|b| b[c].as_f64().unwrap());
            assert!((bounds[0]..=bounds[1]).contains(&f64::from(position(i)[c])));
            assert!((scales[3 * i + c] / scene.log_scales[i][c].exp() - 1.0).abs() < 1e-6);
        }
        assert!((opacities[i] - sigmoid(scene.opacity_logits[i])).abs() < 1e-7);
        let length: f32 = rotations[4 * i..4 * i + 4].iter().map(|q| q * q).sum();
        assert!((length - 1.0).abs() < 1e-6);
        let mut want = scene.sh_of(i).to_vec();
        half_turn.apply(&mut want);
        for (degree, n, k) in [
            (0, 0, 0),
            (1, 2, 3),
            (2, 0, 4),
            (2, 3, 7),
            (3, 0, 9),
            (3, 6, 15),
        ] {
            let got = floats(&format!("SH_DEGREE_{degree}_COEF_{n}"), "VEC3", 3);
            for c in 0..3 {
                assert!((got[3 * i + c] - want[k][c]).abs() < 1e-6);
            }
        }
        let colour = &bytes("COLOR_0", "VEC4", 5123, 8)[8 * i..8 * i + 8];
        let alpha = u16::from_le_bytes([colour[6], colour[7]]);
        assert_eq!(alpha, (opacities[i] * 65535.0).round() as u16);
    }
}

#[test]
fn what_the_format_cannot_keep_is_told() {
    let mut scene = random(10, 4, 5);
    scene.log_scales[3] = [-200.0, 0.0, 120.0];
    let (file, written) = write(
        &scene,
        &WriteOptions {
            antialiased: true,
            ..WriteOptions::default()
        },
    );
    assert_eq!(written.notes.len(), 3, "{:?}", written.notes);
    for words in ["degree 4 are cut to 3", "2D filter", "2 scales"] {
        assert!(
            written.notes.iter().any(|note| note.contains(words)),
            "{words}"
        );
    }
    let back = parse(&file).gaussians;
    assert_eq!((back.sh_degree, back.len()), (3, 10));
    assert_eq!(back.sh_of(4), &scene.sh_of(4)[..16]);
}

/// A file by splat-transform 2.7.1, against the model that it was made from.
#[test]
fn a_peers_file_holds_the_model() {
    let Some([path, model]) = shared_all([
        "formats/splat22k/model.sh0.glb",
        "formats/splat22k/model.ply",
    ]) else {
        return;
    };
    let scene = scene::read(&path).unwrap();
    assert_eq!(scene.format, "glTF, KHR_gaussian_splatting");
    assert_eq!((scene.dropped, scene.notes.len()), (0, 0));
    let want = scene::read(&model).unwrap().gaussians.with_sh_degree(0);
    same(&scene.gaussians, &want);
}

/// An independent writer's values: of our own test writer, in glTF's axes.
#[test]
fn nodes_place_and_repeat_meshes() {
    let one = random(20, 1, 1);
    let mut glb = Glb::of(&one);
    let other = glb.primitive(&random(5, 0, 2));
    glb.json["meshes"][0]["primitives"]
        .as_array_mut()
        .unwrap()
        .push(other);
    glb.json["meshes"][0]["primitives"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "attributes": {} }));
    glb.json["nodes"] = json!([
        { "mesh": 0, "translation": [1, 2, 3] },
        { "children": [0, 2], "scale": [2, 2, 2] },
        { "mesh": 0 },
    ]);
    glb.json["scenes"][0]["nodes"] = json!([1]);
    let scene = parse(&glb.file());
    assert_eq!((scene.gaussians.len(), scene.gaussians.sh_degree), (50, 1));
    assert_eq!(
        scene.notes,
        ["meshes and points beside the splats are left out"]
    );
    let g = scene.gaussians;
    for i in 0..20 {
        let [x, y, z] = one.means[i];
        // PLY's axes are a half turn about z away.
        let close = |a: [f32; 3], b: [f32; 3]| (0..3).all(|c| (a[c] - b[c]).abs() < 2e-5);
        assert!(close(
            g.means[i],
            [-2.0 * (x + 1.0), -2.0 * (y + 2.0), 2.0 * (z + 3.0)]
        ));
        assert!(close(g.means[20 + i], [-2.0 * x, -2.0 * y, 2.0 * z]));
        assert!(close(
            g.log_scales[i],
            one.log_scales[i].map(|s| s + 2.0f32.ln())
        ));
    }
    // The primitive of degree 0 has zeros above.
    assert!(g.sh_of(45)[1..].iter().all(|c| *c == [0.0; 3]));
}

#[test]
fn components_may_be_normalised_integers_with_a_stride() {
    let mut glb = Glb::of(&random(2, 0, 1));
    let rotation = glb.accessor("VEC4", 5120, 2, &[0, 0, 0, 127, 0, 0, 0, 0, 129, 0, 0, 128]);
    let view = glb.json["accessors"][rotation]["bufferView"]
        .as_u64()
        .unwrap() as usize;
    glb.json["bufferViews"][view]["byteStride"] = 8.into();
    glb.json["accessors"][rotation]["normalized"] = true.into();
    let scale = glb.accessor("VEC3", 5121, 2, &[255, 51, 0, 255, 255, 1]);
    glb.json["accessors"][scale]["normalized"] = true.into();
    let plain = glb.accessor("VEC3", 5123, 2, &[2, 0, 1, 0, 0, 1, 7, 0, 7, 0, 7, 0]);
    let opacity = glb.accessor("SCALAR", 5123, 2, &[255, 255, 0x33, 0x33]);
    glb.json["accessors"][opacity]["normalized"] = true.into();
    let position = glb.accessor("VEC3", 5122, 2, &[1, 0, 0xff, 0xff, 0, 1, 0, 0, 0, 0, 0, 0]);
    let attributes = &mut glb.first()["attributes"];
    attributes["POSITION"] = position.into();
    attributes["KHR_gaussian_splatting:ROTATION"] = rotation.into();
    attributes["KHR_gaussian_splatting:SCALE"] = scale.into();
    attributes["KHR_gaussian_splatting:OPACITY"] = opacity.into();
    let g = parse(&glb.file()).gaussians;
    assert_eq!(g.means[0], [-1.0, 1.0, 256.0]);
    // Rotations x, y, z, w of glTF's axes, (0, 0, 0, 1) and (-1, 0, 0, -1).
    assert_eq!(g.rotations, [[0.0, 0.0, 0.0, -1.0], [0.0, 0.0, 1.0, 1.0]]);
    assert_eq!(g.log_scales[0][..2], [0.0, 0.2f32.ln()]);
    assert_eq!(g.log_scales[0][2], f32::MIN_POSITIVE.ln());
    assert_eq!(g.opacity_logits[0], 16.0);
    assert!((sigmoid(g.opacity_logits[1]) - 0.2).abs() < 1e-6);
    glb.first()["attributes"]["KHR_gaussian_splatting:SCALE"] = plain.into();
    let g = parse(&glb.file()).gaussians;
    assert_eq!(g.log_scales[0], [2.0f32.ln(), 0.0, 256.0f32.ln()]);
}

/// Names without the extension's, and colours and opacities in COLOR_0.
#[test]
fn drafts_are_read() {
    let scene = random(10, 1, 4);
    let mut glb = Glb::of(&scene);
    let alphas = scene.opacity_logits.iter().map(|&o| sigmoid(o));
    let colours: Vec<f32> = (0..10)
        .zip(alphas)
        .flat_map(|(i, alpha)| {
            let [r, g, b] = scene.sh_of(i)[0].map(sh::to_colour);
            [r, g, b, alpha]
        })
        .collect();
    let bytes: Vec<u8> = colours.iter().flat_map(|v| v.to_le_bytes()).collect();
    let colour = glb.accessor("VEC4", 5126, 10, &bytes);
    let attributes = glb.first()["attributes"].as_object().unwrap();
    let mut drafts: serde_json::Map<String, Value> = attributes
        .iter()
        .filter(|(name, _)| !name.contains("OPACITY") && !name.contains("DEGREE_0"))
        .map(|(name, value)| (name.replace("KHR_gaussian_splatting:", "_"), value.clone()))
        .collect();
    drafts.insert("COLOR_0".into(), colour.into());
    let original = parse(&glb.file()).gaussians;
    glb.first()["attributes"] = drafts.into();
    glb.first()["extensions"]["KHR_gaussian_splatting"] = json!({});
    let draft = parse(&glb.file());
    assert_eq!(draft.notes.len(), 1);
    assert!(draft.notes[0].contains("COLOR_0"));
    let mut draft = draft.gaussians;
    assert_eq!(draft.opacity_logits, original.opacity_logits);
    for i in 0..10 {
        for c in 0..3 {
            assert!((draft.sh_of(i)[0][c] - original.sh_of(i)[0][c]).abs() < 1e-6);
        }
        draft.sh[4 * i] = original.sh_of(i)[0];
    }
    assert_eq!(draft, original);
}

/// SPZ in a buffer view: what the SPZ reader gives is already in PLY's axes.
#[test]
fn spz_data_is_read() {
    let spz = Spz::random(2, 30, 1, 6).file();
    let want = scene::parse(&spz, Path::new("a.spz")).unwrap().gaussians;
    let mut glb = Glb::default();
    let view = glb.view(&spz);
    let inner = json!({ "bufferView": view });
    for extensions in [
        json!({ "KHR_gaussian_splatting": { "extensions":
            { "KHR_gaussian_splatting_compression_spz_2": inner } } }),
        json!({ "KHR_gaussian_splatting": { "extensions":
            { "KHR_gaussian_splatting_compression_spz": inner } } }),
        json!({ "KHR_spz_gaussian_splats_compression": inner }),
    ] {
        glb.json["meshes"][0]["primitives"] =
            json!([{ "attributes": {}, "mode": 0, "extensions": extensions }]);
        let scene = parse(&glb.file());
        assert_eq!(scene.gaussians, want);
        assert!(scene.notes[0].contains("SPZ"), "{:?}", scene.notes);
    }
}

#[test]
fn a_buffer_may_be_in_its_uri() {
    let scene = random(10, 0, 4);
    let mut glb = Glb::of(&scene);
    let want = parse(&glb.file()).gaussians;
    let text = base64::engine::general_purpose::STANDARD.encode(&glb.buffer);
    glb.json["buffers"] = json!([{
        "byteLength": glb.buffer.len(),
        "uri": format!("data:application/octet-stream;base64,{text}"),
    }]);
    let file = pack(glb.json.to_string().as_bytes(), None);
    assert_eq!(parse(&file).gaussians, want);
}
