//! One test for each thing that went wrong when somebody used the program.

use crate::common::{
    Arguments, ends, fails, json, photos, save, some_photos, succeeds, text, write_scene,
};

/// Runs, must exit 2 with one line that begins with `error: ` first on stderr; returns all of
/// stderr.
fn is_wrong_usage(args: &(impl Arguments + ?Sized)) -> String {
    let stderr = ends(args, 2);
    assert!(stderr.starts_with("error: "), "{args:?}: {stderr}");
    stderr
}

/// Runs, must exit 1 whatever else is said on the way; returns the last line of stderr, the error.
fn ends_in_error(args: &(impl Arguments + ?Sized)) -> String {
    let stderr = ends(args, 1);
    let last = stderr.lines().last().unwrap_or_default().to_owned();
    assert!(last.starts_with("error: "), "{args:?}: {stderr}");
    last
}

/// It ended well, with a scene in which nothing was finite.
#[test]
fn a_diverged_training_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let rates = "--lr-means 1e38 --lr-sh-base 1e38 --lr-opacity 1e38";
    let args = format!(
        "train {} -o {} --backend cpu --iterations 60",
        photos(),
        text(&out)
    );
    let line = ends_in_error(&format!("{args} {rates}"));
    assert!(
        line.contains("diverged") || line.contains("the loss is"),
        "{line}"
    );
    assert_contains!(line, "learning rates");
    assert!(!out.join("scene.ply").exists() && !out.join("checkpoint.safetensors").exists());
}

/// It spent minutes on starting them.
#[test]
fn thousands_of_threads_are_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let out = folder.path().join("out");
    let args = format!(
        "render {} -o {} --backend cpu --threads 65535",
        text(&scene),
        text(&out)
    );
    let said = ends(&format!("{args} --orbit 1 --size 32x24"), 0);
    assert_contains!(said, "--threads 65535: ");
    assert!(!said.contains("65535 threads"), "{said}");
}

/// It walked through all of them before the first one.
#[test]
fn four_billion_steps_begin_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for strategy in ["adc", "mcmc"] {
        let out = folder.path().join(strategy);
        let args = format!(
            "train {} -o {} --backend cpu --strategy {strategy}",
            photos(),
            text(&out)
        );
        succeeds(&format!("{args} --iterations 4294967295 --time-limit 0.1"));
        let metrics = std::fs::read_to_string(out.join("metrics.json")).unwrap();
        assert_eq!(json(&metrics)["stopped"], "time limit");
    }
}

/// Some values exited with 1 and some with 2, and a negative one was "an unexpected argument".
#[test]
fn values_that_make_no_sense_are_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let train = format!("train {} -o {}", photos(), text(&out));
    for [flag, value] in [
        ["--iterations", "0"],
        ["--iterations", "-1"],
        ["--threads", "0"],
        ["--ssim-weight", "2"],
        ["--lr-means", "-1"],
        ["--lr-means", "nan"],
        ["--test-every", "1"],
        ["--seed", "-1"],
    ] {
        let said = is_wrong_usage(&format!("{train} {flag} {value}"));
        let lower = said.to_lowercase();
        assert!(lower.contains(flag) && lower.contains(value), "{said}");
        assert!(!said.contains("unexpected"), "{said}");
    }
    let said = is_wrong_usage(&format!("{train} --device 1 --backend cpu"));
    assert_contains!(said, "--device 1 names an NVIDIA card");
    // In a file it is the file that is wrong.
    let config = folder.path().join("c.toml");
    std::fs::write(&config, "ssim-weight = 2.0\n").unwrap();
    let line = fails(&format!("{train} --config {}", text(&config)));
    assert_contains!(line, "ssim-weight = 2");
    assert!(!out.exists());
}

/// They were taken and had no effect.
#[test]
fn flags_of_other_cameras_are_wrong_usage() {
    for (flags, named) in [
        ("--orbit 2 --split train", "--split"),
        ("--orbit 2 --test-every 3", "--test-every"),
        ("--cameras c.json --max-size 9", "--max-size"),
        ("--orbit 2 --images images_4", "--images"),
        ("--dataset photos --up z", "--up"),
        ("--cameras c.json --distance 2", "--distance"),
        ("--orbit 2 --background random", "random"),
    ] {
        let said = is_wrong_usage(&format!("render scene.ply -o out {flags}"));
        assert!(said.contains(named), "{said}");
    }
    let eval = "eval scene.ply --dataset photos --background random";
    assert!(is_wrong_usage(eval).contains("for training"));
}

/// `eval` of a run's scene gave lower numbers than its metrics.json, without a word.
#[test]
fn eval_says_when_the_run_measured_at_another_size() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    std::fs::write(folder.path().join("config.toml"), "max-size = 32\n").unwrap();
    let eval = format!("eval {} --dataset {}", text(&scene), photos());
    let said = ends(&eval, 0);
    assert_contains!(said, "--max-size 32", "64 pixels");
    let said = ends(&format!("{eval} --max-size 32"), 0);
    assert!(!said.contains("warning"), "{said}");
    // The file is somebody else's, or was edited badly: its settings were left out in silence.
    std::fs::write(folder.path().join("config.toml"), "[package]\n").unwrap();
    let said = ends(&eval, 0);
    assert_contains!(
        said,
        "warning: the settings beside the scene",
        "config.toml"
    );
}

/// "0 photos to train on, up to 0x0", and advice that did not help.
#[test]
fn one_photo_can_be_trained_on() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, out) = (folder.path().join("photos"), folder.path().join("out"));
    some_photos(&dataset, 1);
    let args = format!(
        "train {} -o {} --backend cpu --iterations 2",
        text(&dataset),
        text(&out)
    );
    let line = ends_in_error(&args);
    assert_contains!(line, "1 photo,", "--test-every 0");
    let stdout = succeeds(&format!("{args} --test-every 0"));
    assert_contains!(stdout, "on 1 training photo\n", " 2 steps in");
}

/// One was named at a time, after all had been read; `info` had nothing to say of any.
#[test]
fn all_unusable_photos_are_named_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, out) = (folder.path().join("my photos é"), folder.path().join("out"));
    let names = some_photos(&dataset, 9);
    let photo = |i: usize| dataset.join("images").join(&names[i]);
    std::fs::write(photo(2), []).unwrap();
    std::fs::write(
        photo(4),
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
    )
    .unwrap();
    save(image::RgbImage::new(48, 64), photo(6));
    let info = json(&succeeds(&["info", text(&dataset), "--json"]));
    let warnings = info["warnings"].as_array().unwrap();
    assert_eq!((warnings.len(), &info["images"]), (3, &9.into()), "{info}");
    for ((warning, i), what) in
        warnings
            .iter()
            .zip([2, 4, 6])
            .zip(["0 bytes", "git lfs pull", "48x64"])
    {
        let warning = warning.as_str().unwrap();
        assert!(
            warning.contains(&names[i]) && warning.contains(what),
            "{warning}"
        );
    }
    let line = ends_in_error(&["train", text(&dataset), "-o", text(&out)]);
    assert!(
        line.contains("0 bytes") && names.iter().filter(|name| line.contains(*name)).count() == 3,
        "{line}"
    );
}

/// It was told to change permissions, and -o, where neither was the matter.
#[test]
fn a_place_that_cannot_be_written_is_told_with_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let line = fails(&["render", text(&scene), "-o", text(&scene), "--orbit", "1"]);
    assert_contains!(line, "a file is in the way", "-o");
    let below = scene.join("b.json");
    let line = fails(&format!(
        "bench {} --orbit 1 --json {}",
        text(&scene),
        text(&below)
    ));
    assert!(
        line.contains("with --json") && !line.contains("-o "),
        "{line}"
    );
    let line = fails(&format!(
        "bench {} --orbit 1 --json {}",
        text(&scene),
        text(folder.path())
    ));
    assert_contains!(line, "is a folder", "--json");
}

/// They were "in no known scene format", or held "neither a COLMAP model".
#[test]
fn what_is_given_in_place_of_a_scene_is_recognised() {
    let folder = tempfile::tempdir().unwrap();
    write_scene(folder.path());
    // The folder of a run stands for its scene.
    let said = succeeds(&["info", text(folder.path())]);
    assert_contains!(said, "Gaussians    50");
    let lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
    let mut checkpoint = 2u64.to_le_bytes().to_vec();
    checkpoint.extend(b"{\"a\":1}");
    for (name, bytes, wanted) in [
        ("lfs.ply", &lfs[..], "git lfs pull"),
        (
            "page.spz",
            b"\n<!DOCTYPE html><title>404</title>",
            "web page",
        ),
        ("c.safetensors", &checkpoint, "scene.ply"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let line = fails(&["info", text(&path)]);
        assert_contains!(line, name, wanted);
    }
}
