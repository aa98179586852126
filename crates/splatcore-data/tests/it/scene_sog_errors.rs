//! What is said of SOG that is broken or another format.

use crate::scene_support::sog::{Sog, codebook, zip};
use serde_json::json;
use splatcore_data::scene;
use std::path::Path;

#[test]
fn broken_scenes_are_explained() {
    let error = |change: &dyn Fn(&mut Sog)| {
        let mut sog = Sog::random(2, 300, 2, 5);
        change(&mut sog);
        let message = scene::parse(&sog.bundle(), Path::new("test.sog"))
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with("test.sog, ") && !message.contains('\n'),
            "{message}"
        );
        message
    };
    let meta = |part: &'static str, key: &'static str, value: serde_json::Value| {
        error(&move |sog| match key {
            "" => sog.meta[part] = value.clone(),
            _ => sog.meta[part][key] = value.clone(),
        })
    };
    for (message, expected) in [
        (
            meta("version", "", json!(3)),
            "meta.json: SOG version 3 is unknown",
        ),
        (meta("count", "", json!(null)), "count is missing"),
        (
            meta("count", "", json!(2000)),
            "means_l.webp: is 18x17 pixels for 2000 Gaussians",
        ),
        (
            meta("count", "", json!(5_000_000)),
            "declares 5000000 Gaussians in files of",
        ),
        (
            meta("count", "", json!(u64::MAX)),
            "declares 18446744073709551615 Gaussians",
        ),
        (
            meta("count", "", json!(-1)),
            "meta.json: is no SOG (invalid value",
        ),
        (
            meta("means", "", json!(null)),
            "meta.json: is no SOG (invalid type",
        ),
        (
            meta("means", "files", json!(["a.webp"])),
            "means names 1 files in place of 2",
        ),
        (
            meta("means", "files", json!(["means_l.webp", "../b"])),
            "\"../b\", which is not beside meta.json",
        ),
        (
            meta("means", "files", json!(["means_l.webp", "/etc/b"])),
            "which is not beside meta.json",
        ),
        (
            meta("means", "files", json!(["means_l.webp", "b\nc"])),
            "b\\nc: is missing in the archive",
        ),
        (
            meta("means", "mins", json!([1, 2])),
            "means needs 3 numbers as mins",
        ),
        (
            meta("scales", "codebook", json!([1, 2])),
            "scales needs a codebook of 256 numbers",
        ),
        (
            meta("sh0", "codebook", json!(vec![json!(null); 256])),
            "sh0 needs a codebook",
        ),
        (
            meta("shN", "codebook", codebook(0.0, 1e300)),
            "shN needs a codebook",
        ),
        (meta("shN", "bands", json!(4)), "shN has 4 bands"),
        (
            meta("shN", "bands", json!(3)),
            "shN_centroids.webp: the palette is 512 pixels wide in place of 960",
        ),
        (
            meta("shN", "count", json!(129)),
            "is 2 rows high, which do not make a palette of 129",
        ),
        (meta("shN", "count", json!(65537)), "shN needs a count"),
        (
            meta("quats", "files", json!(["meta.json"])),
            "meta.json: is neither a WebP nor a PNG",
        ),
    ] {
        assert!(message.contains(expected), "{message}: {expected}");
    }
    let small = error(&|sog| {
        let image = sog.image("scales.webp");
        (image.width, image.pixels) = (10, vec![[0; 4]; 100]);
    });
    assert_contains!(small, "scales.webp: is 10x10 pixels for 300 Gaussians");
    let large = error(&|sog| {
        let image = sog.image("scales.webp");
        (image.width, image.pixels) = (1000, vec![[0; 4]; 1_000_000]);
    });
    assert_contains!(large, "scales.webp: is 1000x1000 pixels for 300");
}

#[test]
fn broken_folders_and_archives_are_explained() {
    let sog = Sog::random(2, 300, 0, 5);
    let folder = tempfile::tempdir().unwrap();
    sog.write_folder(folder.path());
    let error = || scene::read(folder.path()).unwrap_err().to_string();
    std::fs::write(folder.path().join("quats.webp"), b"RIFF....WEBPVP8L").unwrap();
    assert_contains!(error(), "quats.webp: cannot be decoded");
    std::fs::remove_file(folder.path().join("quats.webp")).unwrap();
    assert_contains!(error(), "quats.webp: cannot be read");
    std::fs::write(folder.path().join("meta.json"), b"{\"frames\": []}").unwrap();
    assert_contains!(error(), "seems to be JSON");
    let meta = folder.path().join("meta.json");
    let text = sog.meta.to_string();
    std::fs::write(&meta, &text[..text.len() / 2]).unwrap();
    assert_contains!(error(), "meta.json: is JSON that is cut short or damaged");
    assert!(scene::is_unbundled(&meta), "the file alone, too");

    let error = |bytes: &[u8]| {
        scene::parse(bytes, Path::new("test.sog"))
            .unwrap_err()
            .to_string()
    };
    let text = sog.meta.to_string();
    assert!(error(text.as_bytes()).contains("give it by its path, or give its folder"));
    assert!(
        error(&zip(&[("a.ply".into(), b"ply\n".to_vec())], false)).contains("without a meta.json")
    );
    assert!(
        error(&zip(&[("meta.json".into(), b"{".to_vec())], false)).contains("meta.json: is no SOG")
    );
    // A changed byte is caught by the archive's checksum.
    let mut file = sog.bundle();
    let at = file.windows(4).position(|w| w == b"VP8L").unwrap() + 200;
    file[at] ^= 1;
    assert_contains!(error(&file), "means_l.webp: cannot be unpacked");
}
