//! One process at a time writes a folder of results, and a process that dies leaves it free.

use crate::common::{Arguments, fails, photos, program, succeeds, text, write_scene};
use splatcore::data::lock::FolderLock;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const IN_USE: &str = "another splatcore process works in this folder";

fn training(out: &Path, steps: &str, more: &str) -> String {
    let train = format!(
        "train {} -o {} --backend cpu --threads 1",
        photos(),
        text(out)
    );
    format!("{train} --iterations {steps} --checkpoint-every 1 {more}")
}

/// A run that has saved a checkpoint and goes on.
fn begun(out: &Path) -> Child {
    let mut child = Command::new(program())
        .args(training(out, "100000", "").list())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !out.join("checkpoint.safetensors").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended");
        assert!(start.elapsed() < Duration::from_secs(60), "no checkpoint");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn a_second_run_in_a_folder_is_refused_and_a_killed_one_holds_nobody_back() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut first = begun(&out);
    let config = std::fs::read(out.join("config.toml")).unwrap();
    let process = format!("(`train`, process {})", first.id());
    for more in ["--overwrite", "--resume", ""] {
        let said = fails(&training(&out, "5", more));
        assert!(said.contains(IN_USE), "{said}");
        // Windows lets nobody read a file that is locked.
        assert!(cfg!(windows) || said.contains(&process), "{said}");
    }
    assert_eq!(std::fs::read(out.join("config.toml")).unwrap(), config);
    first.kill().unwrap();
    first.wait().unwrap();
    let said = fails(&training(&out, "5", ""));
    assert_contains!(said, "add --resume");
    succeeds(&training(&out, "5", "--overwrite"));
    let hidden = |name: &String| name.starts_with('.') && cfg!(unix);
    assert_eq!(names(&out).into_iter().find(hidden), None);
}

#[test]
fn whatever_writes_many_files_into_a_folder_that_is_in_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let lock = FolderLock::take(&out, "test").unwrap();
    let scene = write_scene(folder.path());
    let path: Vec<&str> = "--path orbit --fps 2 --seconds 1 --size 8x8"
        .split(' ')
        .collect();
    let film = ["render", text(&scene), "-o", text(&out), "--backend", "cpu"];
    let film = [&film[..], &path].concat();
    let demo = ["demo", "--photos-only", "-o", text(&out)];
    let pictures = ["render", text(&scene), "-o", text(&out), "--orbit", "2"];
    let pictures = [&pictures[..], &["--size", "8x8", "--backend", "cpu"]].concat();
    let site = ["export", text(&scene), "--site", "-o", text(&out)];
    let files = ["meta.json", "lod-meta.json"].map(|name| out.join(name));
    let [unbundled, streamed] = files.each_ref().map(|file| {
        let args = ["convert", text(&scene), "-o", text(file)];
        args.map(str::to_owned)
    });
    let [unbundled, streamed] =
        [&unbundled, &streamed].map(|args| args.iter().map(String::as_str).collect::<Vec<_>>());
    for args in [&film[..], &demo, &pictures, &site, &unbundled, &streamed] {
        let said = fails(args);
        assert!(said.contains(IN_USE), "{said}");
    }
    drop(lock);
    assert!(!out.exists(), "nothing was written");
    succeeds(&film);
    assert!(out.join("000001.png").exists());
    succeeds(&unbundled);
    let hidden = |name: &String| name.starts_with('.') && cfg!(unix);
    assert_eq!(names(&out).into_iter().find(hidden), None);
}

/// A folder that a run refuses is as it was: the lock leaves no trace, and is no content.
#[test]
fn a_lock_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new");
    let said = fails(&training(&out, "5", "--resume"));
    assert_contains!(said, "no checkpoint to resume from");
    assert!(!out.exists());
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("mine"), "").unwrap();
    let said = fails(&training(&out, "5", ""));
    assert_contains!(said, "is not empty");
    let left: Vec<String> = names(&out);
    assert!(left.contains(&"mine".into()));
    assert!(left.len() == 1 || cfg!(not(unix)), "{left:?}");
}
