//! Commands that write one file, stopped in the middle: by a kill, by Ctrl-C, by a full disk.

use crate::common::{is_writing, program, succeeds, text, write_scene};
use splatcore::core::Gaussians;
use splatcore::core::random::Rng;
use splatcore::data::scene::write_ply;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A scene whose text takes a second to write.
fn large_scene(folder: &Path) -> PathBuf {
    let mut rng = Rng::new(4, 0);
    let mut scene = Gaussians::zeros(150_000, 0);
    for i in 0..scene.len() {
        scene.means[i] = [0; 3].map(|_| rng.normal());
        scene.log_scales[i] = [0; 3].map(|_| rng.normal());
        scene.rotations[i] = [1.0, rng.normal(), rng.normal(), rng.normal()];
    }
    let path = folder.join("large.ply");
    write_ply(&path, &scene, false).unwrap();
    path
}

fn started(args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// Converts to text and returns when the file is being written.
fn converting(scene: &Path, to: &Path) -> Child {
    let mut child = started(&["convert", text(scene), "-o", text(to)])
        .spawn()
        .unwrap();
    let folder = to.parent().unwrap();
    let start = Instant::now();
    while !is_writing(child.id(), folder) {
        assert!(child.try_wait().unwrap().is_none(), "it ended before");
        assert!(start.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_micros(200));
    }
    child
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Whether files may have no name while they are written, here.
fn has_nameless_files(folder: &Path) -> bool {
    let nameless = tempfile::tempfile_in(folder).is_ok();
    nameless && cfg!(target_os = "linux")
}

#[test]
fn killed_a_conversion_leaves_nothing_for_long() {
    let folder = tempfile::tempdir().unwrap();
    let scene = large_scene(folder.path());
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let mut child = converting(&scene, &out.join("a.usda"));
    child.kill().unwrap();
    child.wait().unwrap();
    if has_nameless_files(&out) {
        assert_eq!(names(&out), Vec::<String>::new());
    }
    // What was left where files need names, and an older version's.
    std::fs::write(out.join(".splatcore-Ab12Cd"), "half").unwrap();
    std::fs::create_dir_all(out.join(".splatcore-Ef34Gh/0_0")).unwrap();
    let small = write_scene(folder.path());
    succeeds(&["convert", text(&small), "-o", text(&out.join("b.spz"))]);
    assert_eq!(names(&out), ["b.spz"]);
}

#[test]
fn ctrl_c_says_that_nothing_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let scene = large_scene(folder.path());
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let child = converting(&scene, &out.join("a.usda"));
    let process = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &process]).status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(
        said.ends_with("interrupted; nothing was written\n"),
        "{said}"
    );
    assert_eq!(names(&out), Vec::<String>::new());
}

/// Every format says in one line, in our words, that there is no room.
#[test]
fn a_full_disk_is_one_line_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let scene = large_scene(folder.path());
    for name in [
        "a.usdz",
        "a.usda",
        "a.ply",
        "a.glb",
        "a.spz",
        "a.splat",
        "a.compressed.ply",
    ] {
        let out = folder.path().join(name);
        // Writing beyond so many blocks fails, and its signal is ignored.
        let output = Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 200; exec \"$0\" \"$@\""])
            .arg(program())
            .args(["convert", text(&scene), "-o", text(&out)])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        let ours = said.starts_with("error: ") && said.contains("cannot be written");
        assert!(ours && said.lines().count() == 1, "{name}: {said}");
        assert!(!out.exists(), "{name}");
    }
}
