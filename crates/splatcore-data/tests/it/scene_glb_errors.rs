//! glTF that is refused, and in which words.

use crate::scene_support::glb::{Glb, pack};
use crate::scene_support::{error_of, random};
use serde_json::{Value, json};
use splatcore_data::scene;
use std::path::Path;

fn error(bytes: &[u8]) -> String {
    error_of("test.glb", bytes)
}

/// The error about a sound file after a change, or an empty text.
fn changed(change: impl FnOnce(&mut Glb)) -> String {
    let mut glb = Glb::of(&random(10, 1, 1));
    change(&mut glb);
    error(&glb.file())
}

#[test]
fn broken_containers() {
    let file = Glb::of(&random(10, 1, 1)).file();
    let word = |at: usize, value: u32| {
        let mut file = file.clone();
        file[at..at + 4].copy_from_slice(&value.to_le_bytes());
        error(&file)
    };
    assert!(error(&file[..8]).contains("ends within the header"));
    assert!(error(&file[..file.len() - 4]).contains("declares"));
    assert!(word(4, 1).contains("binary glTF 1"));
    assert!(word(8, u32::MAX).contains("declares 4294967295 bytes"));
    assert!(word(12, u32::MAX).contains("a chunk declares"));
    assert!(word(16, 0).contains("first chunk is not JSON"));
    assert!(error(&pack(b"{\"nodes\": 3}", None)).contains("is not glTF's"));
    assert!(error(&pack(&b"[".repeat(100_000), None)).contains("is not glTF's"));
    let nodes = format!("{{\"nodes\": [{}{{}}]}}", "{},".repeat(1 << 16));
    assert!(error(&pack(nodes.as_bytes(), None)).contains("more than 65536 nodes"));
}

#[test]
fn what_has_no_splats() {
    assert!(error(&pack(b"{}", None)).contains("shows no Gaussian splats"));
    assert!(error(&Glb::default().file()).contains("shows no Gaussian splats"));
    let hidden = changed(|glb| glb.json["scenes"][0]["nodes"] = json!([]));
    assert!(hidden.contains("shows no Gaussian splats"));
    let mesh = changed(|glb| glb.first()["extensions"] = json!({}));
    assert!(mesh.contains("shows no Gaussian splats"));
    let text = json!({ "asset": { "version": "2.0" }, "meshes": [] }).to_string();
    assert!(error(text.as_bytes()).contains("glTF as text"));
}

#[test]
fn what_is_not_read_is_named() {
    let properties = |key: &str, value: &str| {
        let (key, value) = (key.to_string(), Value::from(value));
        changed(|glb| glb.first()["extensions"]["KHR_gaussian_splatting"][key] = value)
    };
    assert!(properties("kernel", "sphere").contains("kernel \"sphere\""));
    assert!(changed(|glb| glb.first()["mode"] = 4.into()).contains("points without indices"));
    assert!(changed(|glb| glb.first()["indices"] = 0.into()).contains("points without indices"));
    let sparse = changed(|glb| glb.json["accessors"][0]["sparse"] = json!({ "count": 1 }));
    assert_contains!(sparse, "accessor 0 (POSITION): is sparse");
    let elsewhere =
        changed(|glb| glb.json["buffers"] = json!([{ "uri": "a.bin", "byteLength": 9 }]));
    assert_contains!(elsewhere, "another file", "one .glb file");
    let required = json!(["EXT_meshopt_compression"]);
    let meshopt = changed(|glb| glb.json["extensionsRequired"] = required);
    assert_contains!(meshopt, r#"compressed with "EXT_meshopt_compression""#);
    let empty = changed(|glb| {
        glb.json["accessors"][0]
            .as_object_mut()
            .unwrap()
            .remove("bufferView");
    });
    assert_contains!(empty, "has no data");
    let sheared = json!([1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
    let sheared = changed(|glb| glb.json["nodes"][0]["matrix"] = sheared);
    assert_contains!(sheared, "shears");
    let logarithms = changed(|glb| {
        let scales: Vec<u8> = [-3.5f32; 30].iter().flat_map(|v| v.to_le_bytes()).collect();
        let accessor = glb.accessor("VEC3", 5126, 10, &scales);
        glb.first()["attributes"]["KHR_gaussian_splatting:SCALE"] = accessor.into();
    });
    assert_contains!(logarithms, "logarithms");
}

#[test]
fn what_is_declared_must_be_there() {
    let index = |change: fn(&mut Glb)| changed(change);
    for (message, words) in [
        (
            index(|glb| glb.json["nodes"][0]["mesh"] = 3.into()),
            "mesh 3: is named",
        ),
        (
            index(|glb| glb.first()["attributes"]["POSITION"] = 99.into()),
            "accessor 99",
        ),
        (
            index(|glb| glb.json["accessors"][0]["bufferView"] = 99.into()),
            "buffer view 99",
        ),
        (
            index(|glb| glb.json["bufferViews"][0]["buffer"] = 1.into()),
            "names buffer 1",
        ),
        (
            index(|glb| glb.json["bufferViews"][0]["byteLength"] = u64::MAX.into()),
            "wants",
        ),
        (
            index(|glb| glb.json["bufferViews"][0]["byteOffset"] = u64::MAX.into()),
            "wants",
        ),
        (
            index(|glb| glb.json["bufferViews"][0]["byteStride"] = 4.into()),
            "stride of 4",
        ),
        (
            index(|glb| glb.json["bufferViews"][0]["byteStride"] = u64::MAX.into()),
            "declares",
        ),
        (
            index(|glb| glb.json["accessors"][0]["count"] = 11.into()),
            "declares 11 vectors",
        ),
        (
            index(|glb| glb.json["accessors"][0]["count"] = 9.into()),
            "of 9 and of 10",
        ),
        (
            index(|glb| glb.json["accessors"][0]["count"] = 0.into()),
            "counts nothing",
        ),
        (
            index(|glb| glb.json["accessors"][0]["count"] = u64::MAX.into()),
            "unpacks to far more",
        ),
        (
            index(|glb| glb.json["accessors"][0]["byteOffset"] = u64::MAX.into()),
            "declares 10",
        ),
        (
            index(|glb| glb.json["accessors"][0]["byteOffset"] = 4.into()),
            "declares 10",
        ),
        (
            index(|glb| glb.json["accessors"][0]["type"] = "VEC4".into()),
            "is no VEC3",
        ),
        (
            index(|glb| glb.json["accessors"][0]["componentType"] = 5125.into()),
            "type 5125",
        ),
        (
            index(|glb| glb.json["buffers"] = json!([{ "byteLength": 1 << 30 }])),
            "buffer 0",
        ),
        (
            index(|glb| glb.json["buffers"] = json!([{ "byteLength": 4, "uri": "data:,x" }])),
            "no base64",
        ),
        (
            index(|glb| {
                let attributes = glb.first()["attributes"].as_object_mut().unwrap();
                attributes.remove("KHR_gaussian_splatting:SCALE");
            }),
            "has no attribute SCALE",
        ),
    ] {
        assert!(message.contains(words), "{words}: {message}");
    }
}

/// Nodes that show one mesh again and again are no way to fill the memory.
#[test]
fn repeated_meshes_have_a_limit() {
    let message = changed(|glb| {
        glb.json["nodes"] = (0..60_000).map(|_| json!({ "mesh": 0 })).collect();
        glb.json["scenes"][0]["nodes"] = (0..60_000).collect();
        let many = random(1000, 1, 1);
        let primitive = glb.primitive(&many);
        glb.json["meshes"][0]["primitives"] = json!([primitive]);
    });
    assert_contains!(message, "shown 60000 times");
}

/// A degree that lacks a coefficient is left out, and said to be.
#[test]
fn incomplete_degrees_are_left_out() {
    let mut glb = Glb::of(&random(10, 2, 1));
    let attributes = glb.first()["attributes"].as_object_mut().unwrap();
    attributes.remove("KHR_gaussian_splatting:SH_DEGREE_2_COEF_4");
    let scene = scene::parse(&glb.file(), Path::new("a.glb")).unwrap();
    assert_eq!(scene.gaussians.sh_degree, 1);
    assert_contains!(scene.notes[0], "above degree 1");
}

#[test]
fn properties_that_change_the_picture_are_noted() {
    let mut glb = Glb::of(&random(10, 0, 1));
    glb.first()["extensions"]["KHR_gaussian_splatting"] = json!({
        "kernel": "ellipse", "colorSpace": "lin_rec709_display",
        "projection": "fisheye", "sortingMethod": "zDepth",
    });
    let notes = scene::parse(&glb.file(), Path::new("a.glb")).unwrap().notes;
    for words in ["lin_rec709_display", "fisheye", "zDepth"] {
        assert!(notes.iter().any(|note| note.contains(words)), "{notes:?}");
    }
}
