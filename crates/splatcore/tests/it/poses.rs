//! `splatcore poses`, and what other commands say of photos without cameras. The way from photos to
//! poses is tested in the crate splatcore-poses; here a program only pretends.

use crate::common::{ends, fails, save, splatcore, text};
use std::path::Path;

fn photos(folder: &Path, names: &[&str]) {
    std::fs::create_dir_all(folder).unwrap();
    for name in names {
        save(image::GrayImage::new(64, 48), folder.join(name));
    }
}

#[test]
fn train_and_info_name_the_command_for_photos_without_cameras() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("my photos");
    photos(&plain, &["1.jpg"]);
    let inner = folder.path().join("inner");
    photos(&inner.join("images"), &["1.png"]);
    let video = folder.path().join("walk.mp4");
    std::fs::write(&video, b"ftyp").unwrap();
    let out = folder.path().join("out");
    for (input, posed) in [
        (text(&plain).to_owned(), format!("'{}-posed'", text(&plain))),
        (text(&inner).to_owned(), format!("{}-posed", text(&inner))),
        (
            text(&video).to_owned(),
            format!("{}-posed", text(&video.with_extension(""))),
        ),
    ] {
        let typed = if input.contains(' ') {
            format!("'{input}'")
        } else {
            input.clone()
        };
        for args in [&["info", &input][..], &["train", &input, "-o", text(&out)]] {
            let line = fails(args);
            let wanted = format!(
                "type `splatcore poses {typed} -o {posed}`, then `splatcore train {posed} -o OUT`"
            );
            assert!(line.contains(&wanted), "{line}");
        }
    }
    assert!(!out.exists());
}

#[test]
fn without_a_program_it_says_how_to_install_one() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("photos");
    photos(&input, &["1.jpg", "2.jpg"]);
    let out = folder.path().join("out");
    let args = format!("poses {} -o {}", text(&input), text(&out));
    let run = splatcore(&args)
        .env("PATH", folder.path())
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(1));
    let line = String::from_utf8(run.stderr).unwrap();
    for part in [
        "apt install colmap",
        "brew install",
        "conda",
        "pip install pycolmap",
        "--colmap",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert_eq!(line.lines().count(), 1, "{line}");
}

#[test]
fn wrong_usage_of_poses() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("photos");
    photos(&input, &["1.jpg", "2.jpg"]);
    for flags in [
        "",
        "--in-place",
        "-o out --matching some",
        "-o out --camera-model ROUND",
        "-o out --frames 1",
    ] {
        let args = format!("poses {} {flags}", text(&input));
        ends(&args, 2);
    }
}

#[cfg(unix)]
#[test]
fn the_report_comes_as_text_and_as_json() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("place/images");
    photos(&input, &["1.jpg", "2.jpg", "3.jpg"]);
    // A model of the first photo alone: cameras, images and points, each with its count.
    let model = folder.path().join("model");
    std::fs::create_dir(&model).unwrap();
    let mut cameras = 1u64.to_le_bytes().to_vec();
    cameras.extend([1u32, 1].into_iter().flat_map(u32::to_le_bytes));
    cameras.extend([64u64, 48].into_iter().flat_map(u64::to_le_bytes));
    cameras.extend(
        [60.0f64, 60.0, 32.0, 24.0]
            .into_iter()
            .flat_map(f64::to_le_bytes),
    );
    let mut images = 1u64.to_le_bytes().to_vec();
    images.extend(1u32.to_le_bytes());
    images.extend(
        [1.0f64, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
            .into_iter()
            .flat_map(f64::to_le_bytes),
    );
    images.extend(1u32.to_le_bytes());
    images.extend(b"1.jpg\0");
    images.extend(0u64.to_le_bytes());
    for (name, bytes) in [
        ("cameras", cameras),
        ("images", images),
        ("points3D", vec![0; 8]),
    ] {
        std::fs::write(model.join(format!("{name}.bin")), bytes).unwrap();
    }
    let program = folder.path().join("colmap");
    let script = format!(
        "#!/bin/sh\necho 'COLMAP 3.8 -- x'\nprintf 'feature_extractor\\nexhaustive_matcher\\n\
         sequential_matcher\\nmapper\\n'\nif [ $1 = mapper ]; then while [ $# -gt 1 ]; do \
         [ $1 = --output_path ] && cp -r '{}' \"$2/0\"; shift; done; fi\nexit 0\n",
        text(&model)
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let call = |more: &[&str]| {
        let args = [
            "poses",
            text(&input),
            "--in-place",
            "--colmap",
            text(&program),
        ];
        splatcore(&[&args[..], more].concat()).output().unwrap()
    };
    let run = call(&[]);
    let (stdout, stderr) = (
        String::from_utf8(run.stdout).unwrap(),
        String::from_utf8(run.stderr).unwrap(),
    );
    assert_eq!(run.status.code(), Some(1), "{stderr}");
    assert_contains!(stderr, "error: only 1 of 3 photos have a pose");
    assert_contains!(
        stdout,
        "registered   1 of 3 photos (33 %), by COLMAP 3.8 (incremental",
        "2.jpg and 3.jpg are not connected: take photos between"
    );
    assert!(!stdout.contains("next "), "{stdout}");
    let run = call(&["--json"]);
    let json: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(
        (json["registered"].as_u64(), json["photos"].as_u64()),
        (Some(1), Some(3))
    );
    assert_eq!(json["already"], true);
    assert_eq!(json["unregistered"][1], "3.jpg");
    assert!(folder.path().join("place/sparse/0/images.bin").is_file());
}

#[cfg(unix)]
#[test]
fn doctor_names_the_programs_that_are_there_and_how_to_get_the_others() {
    let fake = crate::fake_colmap::FakeColmap::new("0");
    let folder = fake.at("colmap").parent().unwrap().to_owned();
    // `/bin` for the shell that the pretender runs in, and what that needs.
    let path = format!("{}:/bin", text(&folder));
    let run = splatcore(&["doctor", "--json"])
        .env("PATH", path)
        .output()
        .unwrap();
    let json: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let tools = json["tools"].as_array().unwrap();
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    let colmap = tool("COLMAP");
    assert_eq!(
        (&colmap["found"], &colmap["version"]),
        (&true.into(), &"3.8".into())
    );
    let of_lab: &[&str] = match cfg!(feature = "lab") {
        true => &["landlock", "ncu"],
        false => &[],
    };
    for name in ["pycolmap", "ffmpeg", "C++ compiler"].iter().chain(of_lab) {
        let tool = tool(name);
        assert!(tool["found"].is_boolean(), "{tool}");
        for key in ["purpose", "remedy"] {
            assert!(
                tool[key].as_str().is_some_and(|text| !text.is_empty()),
                "{tool}"
            );
        }
    }
}
