//! Streamed SOG in.

use crate::scene_support::sog::{Sog, zip};
use crate::scene_support::{names_in, random, shared};
use proptest::prelude::*;
use serde_json::{Value, json};
use splatcore_core::Gaussians;
use splatcore_data::scene::{self, ReadOptions, SceneFile};
use std::path::Path;

fn read(path: &Path, level: u32) -> Result<SceneFile, String> {
    let options = ReadOptions {
        lod: Some(level),
        ..ReadOptions::default()
    };
    scene::read_with(path, &options).map_err(|e| e.to_string())
}

/// Two chunks for level 0 of 30 and 20 Gaussians, one for level 1, an environment of another
/// degree.
fn chunks() -> Vec<(&'static str, Sog)> {
    vec![
        ("0_0", Sog::random(2, 30, 2, 1)),
        ("0_1", Sog::random(2, 20, 2, 2)),
        ("1_0", Sog::random(2, 25, 2, 3)),
        ("env", Sog::random(2, 5, 1, 4)),
    ]
}

fn part(file: u32, offset: u32, count: u32) -> Value {
    json!({ "file": file, "offset": offset, "count": count })
}

/// A tree whose leaves do not visit the chunks in order.
fn meta() -> Value {
    let bound = json!({ "min": [0, 0, 0], "max": [1, 1, 1] });
    json!({
        "lodLevels": 2,
        "environment": "env/meta.json",
        "filenames": ["0_0/meta.json", "0_1/meta.json", "1_0/meta.json"],
        "tree": { "bound": bound, "children": [
            { "bound": bound, "lods": { "0": part(1, 0, 8), "1": part(2, 0, 25) } },
            { "bound": bound, "children": [
                { "bound": bound, "lods": { "0": part(0, 0, 30), "1": part(2, 0, 0) } },
                { "bound": bound, "lods": { "0": part(1, 8, 12) } },
            ] },
        ] },
    })
}

fn files(meta: &Value) -> Vec<(String, Vec<u8>)> {
    let mut files = vec![("lod-meta.json".to_string(), meta.to_string().into_bytes())];
    for (folder, chunk) in chunks() {
        let inside = chunk.files().into_iter();
        files.extend(inside.map(|(name, bytes)| (format!("{folder}/{name}"), bytes)));
    }
    files
}

fn unpack(files: &[(String, Vec<u8>)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

/// The level's Gaussians, from the chunks read one by one.
fn joined(level: u32) -> Gaussians {
    let read = |at: usize| {
        let (_, chunk) = &chunks()[at];
        scene::parse(&chunk.bundle(), Path::new("chunk"))
            .unwrap()
            .gaussians
    };
    let mut all = Gaussians::empty(2);
    let mut push = |from: &Gaussians, range: std::ops::Range<usize>| {
        let from = from.with_sh_degree(2);
        range.for_each(|i| all.push_from(&from, i));
    };
    if level == 0 {
        push(&read(1), 0..8);
        push(&read(0), 0..30);
        push(&read(1), 8..20);
    } else {
        push(&read(2), 0..25);
    }
    push(&read(3), 0..5);
    all
}

#[test]
fn a_level_is_its_parts_in_the_tree_s_order_and_the_environment() {
    let files = files(&meta());
    let folder = unpack(&files);
    let archive = folder.path().join("scene.zip");
    std::fs::write(&archive, zip(&files, true)).unwrap();
    let nested: Vec<_> = files
        .iter()
        .map(|(name, bytes)| (format!("a/{name}"), bytes.clone()))
        .collect();
    let nested_archive = folder.path().join("nested.zip");
    std::fs::write(&nested_archive, zip(&nested, false)).unwrap();
    for path in [
        folder.path().to_path_buf(),
        folder.path().join("lod-meta.json"),
        archive,
        nested_archive,
    ] {
        for level in [0, 1] {
            let scene = read(&path, level).unwrap();
            assert_eq!(scene.gaussians, joined(level), "{}", path.display());
            assert_eq!(scene.format, format!("streamed SOG, level {level} of 2"));
            assert!(scene.antialiased);
            assert_eq!(
                scene.notes,
                [format!(
                    "levels of detail: 0 has 50, 1 has 25 Gaussians; level {level} is read"
                )]
            );
        }
        assert_eq!(scene::read(&path).unwrap().gaussians, joined(0));
        let message = read(&path, 2).unwrap_err();
        assert_contains!(message, "has no level 2, its levels are 0 to 1; choose one");
    }
    assert!(scene::is_unbundled(folder.path()));
    assert!(scene::is_unbundled(&folder.path().join("lod-meta.json")));
}

/// An environment, or a chunk, that is a bundled SOG.
#[test]
fn chunks_may_be_bundled() {
    let mut meta = meta();
    meta["environment"] = json!("env.sog");
    meta["filenames"][0] = json!("./c/first.sog");
    let mut files = files(&meta);
    files.push(("env.sog".into(), chunks()[3].1.bundle()));
    files.push(("c/first.sog".into(), chunks()[0].1.bundle()));
    let folder = unpack(&files);
    assert_eq!(read(folder.path(), 0).unwrap().gaussians, joined(0));
    let archive = folder.path().join("scene.zip");
    std::fs::write(&archive, zip(&files, false)).unwrap();
    assert_eq!(read(&archive, 0).unwrap().gaussians, joined(0));
}

#[test]
fn a_real_tree_is_its_chunks() {
    let Some(path) = shared("formats/lod_tree/env_15k") else {
        return;
    };
    for (level, count) in [(0, 7887), (1, 3851), (2, 3239)] {
        let scene = read(&path, level).unwrap();
        let chunk = scene::read(&path.join(format!("{level}_0"))).unwrap();
        assert_eq!(scene.gaussians.len(), count);
        assert_eq!(scene.gaussians, chunk.gaussians);
        assert_contains!(scene.notes[0], "0 has 7887, 1 has 3851, 2 has 3239");
    }
    let info = scene::info(&path).unwrap();
    assert_eq!(
        (info.gaussians, info.format.as_str()),
        (7887, "streamed SOG, level 0 of 3")
    );
}

/// One change each, and what the message must say.
#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let far = u64::from(u32::MAX);
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 19] = [
        (
            |m| m["filenames"][0] = json!("../0_0/meta.json"),
            "not below its own folder",
        ),
        (
            |m| m["filenames"][0] = json!("/etc/passwd"),
            "not below its own folder",
        ),
        (
            |m| m["filenames"][0] = json!("C:/x/meta.json"),
            "not below its own folder",
        ),
        (
            |m| m["filenames"][0] = json!("a\\..\\..\\meta.json"),
            "not below its own folder",
        ),
        (
            |m| m["filenames"][0] = json!("0_0/../../meta.json"),
            "not below its own folder",
        ),
        (
            |m| m["filenames"][0] = json!(""),
            "not below its own folder",
        ),
        (
            |m| m["environment"] = json!("../env/meta.json"),
            "not below its own folder",
        ),
        (|m| m["filenames"][0] = json!("none/meta.json"), "none"),
        (|m| m["filenames"][0] = json!("lod-meta.json"), "is no SOG"),
        (|m| m["filenames"][0] = json!("./0_1/meta.json"), "twice"),
        (|m| m["lodLevels"] = json!(0), "has 0 levels"),
        (|m| m["lodLevels"] = json!(u64::MAX), "levels, 1 to 64"),
        (|m| m["lodLevels"] = json!(1), "which it does not declare"),
        (
            |m| m["tree"]["children"][0]["lods"]["0"]["file"] = json!(3),
            "file 3 of 3",
        ),
        (
            |m| m["tree"]["children"][0]["lods"]["0"]["count"] = json!(9),
            "twice in level 0",
        ),
        (
            |m| m["tree"]["children"][0]["lods"]["0"]["count"] = json!(-1),
            "is no streamed SOG",
        ),
        (
            |m| m["tree"]["children"][0]["lods"]["1"]["count"] = json!(26),
            "wants Gaussians 0 and 26",
        ),
        (
            |m| m["tree"]["children"][0]["lods"]["1"]["offset"] = json!(u32::MAX),
            "wants Gaussians",
        ),
        (|m| m["tree"] = json!(7), "is no streamed SOG"),
    ];
    for (change, want) in cases {
        let mut meta = meta();
        change(&mut meta);
        let level = u32::from(want.contains("wants"));
        let folder = unpack(&files(&meta));
        let archive = folder.path().join("scene.zip");
        std::fs::write(&archive, zip(&files(&meta), false)).unwrap();
        for path in [folder.path().to_path_buf(), archive] {
            let message = read(&path, level).unwrap_err();
            assert!(message.contains(want), "{want}: {message}");
            assert!(!message.contains('\n') && message.len() < 400, "{message}");
        }
    }
    // A tree of 100,000 levels, and a part that leaves nothing of 32 bits.
    let deep = "{\"children\":[".repeat(100_000);
    let text = format!("{{\"lodLevels\":1,\"filenames\":[\"0_0/meta.json\"],\"tree\":{deep}");
    let folder = unpack(&[("lod-meta.json".into(), text.into_bytes())]);
    let message = scene::read(folder.path()).unwrap_err().to_string();
    assert!(!message.contains('\n') && message.len() < 400, "{message}");
    let mut meta = meta();
    meta["tree"]["children"][0]["lods"]["1"] = json!({ "file": 2, "offset": 1, "count": far });
    let message = read(unpack(&files(&meta)).path(), 1).unwrap_err();
    assert_contains!(message, "wants Gaussians 1 and 4294967295");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any byte of lod-meta.json may be anything: a scene or one line, never a panic.
    #[test]
    fn mutated_trees_are_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        digits in any::<bool>(),
    ) {
        let mut files = files(&meta());
        let text = &mut files[0].1;
        for (at, byte) in changes {
            let at = at.index(text.len());
            // Digits keep the text JSON more often.
            text[at] = if digits && text[at].is_ascii_digit() { b'0' + byte % 10 } else { byte };
        }
        let archive = zip(&files, false);
        match scene::parse(&archive, Path::new("mutated.zip")) {
            // A part may come to another level, but none twice: all chunks together are the most.
            Ok(scene) => prop_assert!(scene.gaussians.len() <= 80),
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
    }
}

/// Writes levels in small chunks; the options' sizes are what the test below expects.
fn write(path: &Path, scene: &Gaussians) -> scene::Written {
    let options = scene::WriteOptions {
        antialiased: true,
        sog: scene::SogOptions {
            levels: 3,
            chunk_gaussians: 1000,
            chunk_extent: 40.0,
            ..scene::SogOptions::default()
        },
        ..scene::WriteOptions::default()
    };
    scene::write(path, scene, &options, &|_, _, _| ()).unwrap()
}

/// All leaves of a tree: bounds and parts.
fn leaves(node: &Value, to: &mut Vec<Value>) {
    match node.get("children") {
        Some(children) => children
            .as_array()
            .unwrap()
            .iter()
            .for_each(|child| leaves(child, to)),
        None => to.push(node.clone()),
    }
}

fn sorted_means(scene: &Gaussians) -> Vec<[f32; 3]> {
    let mut means = scene.means.clone();
    means.sort_by(|a, b| a[0].total_cmp(&b[0]));
    means
}

#[test]
fn levels_are_written_in_chunks_below_a_tree() {
    let scene = random(3000, 1, 6);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/lod-meta.json");
    let written = write(&path, &scene);
    assert_eq!(written.notes, [""; 0]);
    let meta: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(
        (&meta["lodLevels"], &meta["environment"]),
        (&json!(3), &json!(null))
    );
    let mut all = Vec::new();
    leaves(&meta["tree"], &mut all);
    assert!(all.len() > 4);
    for leaf in &all {
        let parts = leaf["lods"].as_object().unwrap().values();
        let count: u64 = parts.map(|part| part["count"].as_u64().unwrap()).sum();
        assert!(count > 0 && count <= 1000, "{leaf}");
    }
    let names: Vec<&str> = meta["filenames"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    for (level, count) in [(0, 3000), (1, 1500), (2, 750)] {
        let back = read(&path, level).unwrap();
        assert!(back.antialiased);
        assert_eq!((back.gaussians.len(), back.gaussians.sh_degree), (count, 1));
        // Each leaf's Gaussians lie in its box, to the precision of 16 bits.
        for leaf in &all {
            let part = &leaf["lods"][level.to_string()];
            let Some(file) = part["file"].as_u64() else {
                continue;
            };
            let name = names[file as usize];
            assert!(name.starts_with(&format!("{level}_")), "{name}");
            let chunk = scene::read(&path.with_file_name(name)).unwrap().gaussians;
            assert!(chunk.len() <= 1000);
            let offset = part["offset"].as_u64().unwrap() as usize;
            for i in offset..offset + part["count"].as_u64().unwrap() as usize {
                for c in 0..3 {
                    let at = f64::from(chunk.means[i][c]);
                    let bound = |end: &str| leaf["bound"][end][c].as_f64().unwrap();
                    assert!(bound("min") - 0.01 <= at && at <= bound("max") + 0.01);
                }
            }
        }
    }
    let back = read(&path, 0).unwrap();
    assert_eq!(back.bytes, {
        let level_0 = names.iter().filter(|name| name.starts_with("0_"));
        let of = |folder: &Path| -> u64 {
            let files = std::fs::read_dir(folder).unwrap();
            files
                .map(|file| file.unwrap().metadata().unwrap().len())
                .sum()
        };
        let chunks: u64 = level_0
            .map(|name| of(path.with_file_name(name).parent().unwrap()))
            .sum();
        chunks + path.metadata().unwrap().len()
    });
    for (a, b) in sorted_means(&scene)
        .iter()
        .zip(sorted_means(&back.gaussians))
    {
        assert!((a[0] - b[0]).abs() < 0.01, "{a:?} {b:?}");
    }
}

#[test]
fn an_older_streamed_scene_is_replaced_and_other_files_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lod-meta.json");
    write(&path, &random(3000, 1, 6));
    std::fs::write(folder.path().join("0_0/notes.txt"), "mine").unwrap();
    assert!(folder.path().join("0_2").is_dir());
    write(&path, &random(600, 0, 7));
    let names = names_in(folder.path());
    assert_eq!(names, ["0_0", "1_0", "2_0", "lod-meta.json"]);
    assert_eq!(
        std::fs::read(folder.path().join("0_0/notes.txt")).unwrap(),
        b"mine"
    );
    assert!(!folder.path().join("0_0/shN_labels.webp").exists());
    assert_eq!(scene::read(&path).unwrap().gaussians.len(), 600);
}

#[test]
fn scenes_at_the_edges_are_streamed() {
    let folder = tempfile::tempdir().unwrap();
    for (count, levels) in [(0, 1), (1, 1), (2, 2), (5, 3)] {
        let path = folder.path().join(format!("{count}/lod-meta.json"));
        let mut scene = random(count + 1, 4, 6);
        scene.means[count][0] = f32::NAN;
        if count > 1 {
            scene.means[0] = [f32::MAX, f32::MIN, 0.0];
            scene.log_scales[1] = [f32::MAX; 3];
        }
        let notes = write(&path, &scene).notes;
        assert!(
            notes.len() == 2 && notes[1].starts_with("1 Gaussians with values"),
            "{notes:?}"
        );
        let back = scene::read(&path).unwrap();
        assert_eq!(back.gaussians.len(), count);
        assert_eq!(back.format, format!("streamed SOG, level 0 of {levels}"));
    }
}
