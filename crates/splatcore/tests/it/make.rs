//! `splatcore make`: from photos to a page in one command, which goes on wherever it was killed.
#![cfg(unix)]

use crate::common::{ends, fails, photos, program, save, splatcore, succeeds, text};
use crate::fake_colmap::FakeColmap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A short training; nothing of it is left to choose.
pub const SHORT: [&str; 12] = [
    "--backend",
    "cpu",
    "--threads",
    "1",
    "--max-size",
    "64",
    "--max-gaussians",
    "900",
    "--iterations",
    "40",
    "--checkpoint-every",
    "1",
];

#[test]
fn photos_become_a_page_and_the_second_call_does_nothing() {
    let fake = FakeColmap::new("0");
    let out = fake.at("my out");
    let arguments = fake.make(&out, &SHORT);
    let run = splatcore(&arguments).output().unwrap();
    let stderr = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(0), "{stderr}");
    let stdout = String::from_utf8(run.stdout).unwrap();
    for line in ["PSNR ", "photos   ", "scene    ", "report   ", "page     "] {
        assert!(stdout.contains(line), "{line}: {stdout}");
    }
    let next = format!("next     splatcore view '{}'", text(&out.join("run")));
    assert!(stdout.contains(&next), "{stdout}");
    let first = stderr.lines().next().unwrap();
    assert!(first.starts_with("about "), "an estimate first: {stderr}");
    assert_contains!(first, "(10 photos by COLMAP 3.8, features at 1000 px)");
    // Forty steps of small photos take no minutes, and it knows so before it begins.
    assert!(!first.contains(" min"), "{first}");
    assert_contains!(
        first,
        "(photos of at most 64 pixels, 40 steps, at most 900 Gaussians)"
    );
    assert_contains!(stderr, "poses 2/3 matching", " left");
    for file in ["dataset/sparse/0/images.bin", "run/scene.ply", "page.html"] {
        assert!(out.join(file).is_file(), "{file}");
    }
    assert_eq!(
        fake.calls(),
        ["feature_extractor", "exhaustive_matcher", "mapper"]
    );
    let written = |name: &str| {
        std::fs::metadata(out.join(name))
            .unwrap()
            .modified()
            .unwrap()
    };
    let before = ["run/scene.ply", "run/report.html", "page.html"].map(written);
    let again = splatcore(&arguments).output().unwrap();
    let stderr = String::from_utf8(again.stderr).unwrap();
    assert_eq!(again.status.code(), Some(0), "{stderr}");
    assert_contains!(stderr, "nothing is left to do");
    assert_eq!(String::from_utf8(again.stdout).unwrap(), stdout);
    assert_eq!(fake.calls(), Vec::<String>::new());
    let after = ["run/scene.ply", "run/report.html", "page.html"].map(written);
    assert_eq!(before, after);
    // What is missing is made, and nothing else.
    std::fs::remove_file(out.join("page.html")).unwrap();
    succeeds(&arguments);
    assert!(out.join("page.html").is_file());
    assert_eq!(written("run/scene.ply"), after[0]);
}

#[test]
fn what_changed_is_said_and_made_anew_on_request() {
    let fake = FakeColmap::new("0");
    let out = fake.at("out");
    succeeds(&fake.make(&out, &SHORT));
    fake.calls();
    let mut more = SHORT;
    more[9] = "30";
    let line = fails(&fake.make(&out, &more));
    assert_contains!(
        line,
        "was made with iterations 40, not 30; add --overwrite to train anew"
    );
    // The photos: one is copied again.
    let first = std::fs::read_dir(fake.at("photos")).unwrap().next();
    let photo = first.unwrap().unwrap().path();
    let before = std::fs::metadata(&photo).unwrap().modified().unwrap();
    let file = std::fs::File::options().append(true).open(&photo).unwrap();
    file.set_modified(before + Duration::from_secs(9)).unwrap();
    let line = fails(&fake.make(&out, &SHORT));
    assert_contains!(line, "was changed since", "--overwrite to begin anew");
    file.set_modified(before).unwrap();
    let page = std::fs::read(out.join("page.html")).unwrap();
    let anew: Vec<&str> = more.iter().copied().chain(["--overwrite"]).collect();
    succeeds(&fake.make(&out, &anew));
    assert_eq!(fake.calls(), Vec::<String>::new(), "the cameras are kept");
    assert!(std::fs::read(out.join("page.html")).unwrap() != page);
    // The input.
    let line = fails(&["make", photos(), "-o", text(&out)]);
    assert_contains!(line, "was made from", "--overwrite to begin anew");
    // A folder of something else.
    let other = fake.at("other");
    std::fs::create_dir_all(other.join("run")).unwrap();
    let line = fails(&["make", photos(), "-o", text(&other)]);
    assert_contains!(line, "is not of this command");
}

/// A call that ended before it trained binds nobody to its settings.
#[test]
fn settings_may_change_as_long_as_there_is_no_run() {
    let fake = FakeColmap::new("0");
    let out = fake.at("out");
    let mut without_colmap = fake.make(&out, &SHORT);
    without_colmap[5] = "no-such-program".to_owned();
    fails(&without_colmap);
    assert!(out.join("make.json").is_file());
    let mut more = SHORT;
    more[9] = "30";
    let stderr = ends(&fake.make(&out, &more), 0);
    assert_contains!(stderr, "30 steps");
    assert!(out.join("run/scene.ply").is_file());
}

/// Masks that are put into the dataset after a training are seen by the next call.
#[test]
fn masks_that_come_later_are_noticed() {
    let fake = FakeColmap::new("0");
    let out = fake.at("out");
    let with_sky = [SHORT.as_slice(), &["--sky", "--sky-masks", "sky"]].concat();
    for (folder, flags) in [("masks", SHORT.as_slice()), ("sky", &with_sky)] {
        let anew = [flags, &["--overwrite"]].concat();
        let put = |level: u8| {
            let folder = out.join("dataset").join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            for entry in std::fs::read_dir(fake.at("photos")).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                let mut mask = image::GrayImage::from_pixel(64, 48, image::Luma([level]));
                mask.put_pixel(3, 3, image::Luma([255 - level]));
                save(mask, folder.join(format!("{name}.png")));
            }
        };
        if folder == "sky" {
            // Without one the run is refused.
            put(0);
        }
        succeeds(&fake.make(&out, &anew));
        fake.calls();
        put(255);
        let line = fails(&fake.make(&out, flags));
        let wanted = "the photos' masks are others than those that the run is of; add --overwrite";
        assert_contains!(line, wanted);
        succeeds(&fake.make(&out, &anew));
        assert_eq!(fake.calls(), Vec::<String>::new(), "the cameras are kept");
        let stderr = ends(&fake.make(&out, flags), 0);
        assert_contains!(stderr, "nothing is left to do");
    }
}

/// What finds no cameras, or takes no frames, refuses flags about that.
#[test]
fn flags_without_effect_are_refused() {
    let fake = FakeColmap::new("0");
    let out = fake.at("out");
    let refused = |arguments: &[String], wanted: &str| {
        let stderr = ends(arguments, 2);
        assert_contains!(stderr, wanted);
        assert!(!out.exists());
    };
    refused(
        &fake.make(&out, &["--frames", "20"]),
        "--frames has no effect here: it is about a video",
    );
    let posed = |flags: &[&str]| {
        let words = [&["make", photos(), "-o", text(&out)], flags].concat();
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    for flags in [
        ["--every", "3"],
        ["--matching", "sequential"],
        ["--feature-size", "500"],
    ] {
        refused(&posed(&flags), "it is about finding cameras");
    }
}

/// A call that is refused leaves the earlier one as it was, and that goes on.
#[test]
fn what_is_refused_changes_nothing() {
    let fake = FakeColmap::new("0");
    let out = fake.at("out");
    let (tree, gone) = (fake.at("slow"), fake.at("gone"));
    let anew = "add --overwrite to begin anew";
    let of_tree = |file, matching| {
        let size = ["--feature-size", "500", "--vocabulary", file];
        [&size[..], &["--matching", matching]].concat()
    };
    let said = |flags: &[&str]| {
        let flags = [SHORT.as_slice(), flags].concat();
        let run = splatcore(&fake.make(&out, &flags)).output().unwrap();
        String::from_utf8(run.stderr).unwrap()
    };
    succeeds(&fake.make(&out, &[&SHORT[..], &["--every", "2"]].concat()));
    for (flags, wanted) in [
        (vec!["--every", "3"], anew),
        (vec!["--feature-size", "500"], anew),
        (vec!["--every", "100"], "of its 10 photos one is taken"),
        (
            of_tree(text(&tree), "exhaustive"),
            "a vocabulary tree is for",
        ),
        (of_tree(text(&gone), "sequential"), "there is no such file"),
    ] {
        let refused = said(&flags);
        assert!(refused.contains(wanted), "{refused}");
        assert!(!refused.contains("this goes on"), "{refused}");
        let again = said(&[]);
        assert!(again.contains("nothing is left to do"), "{again}");
    }
}

/// Results of earlier calls lie beside the photos, which are taken without them.
#[test]
fn photos_of_earlier_results_are_not_taken() {
    let fake = FakeColmap::new("0");
    let results = fake.at("photos").join("old");
    let put = |name: &str| {
        let file = results.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    };
    put("run/scene.ply");
    put("dataset/sparse/0/cameras.bin");
    put("dataset/sparse/0/images.bin");
    for copy in ["run/picture.png", "dataset/images/0.png"] {
        put(copy);
        let pixels = image::RgbImage::from_pixel(64, 48, image::Rgb([9, 90, 200]));
        save(pixels, results.join(copy));
    }
    let out = fake.at("out");
    let run = splatcore(&fake.make(&out, &SHORT)).output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert!(
        said.lines().next().unwrap().contains("(10 photos by"),
        "{said}"
    );
    let left_out = "what lies in other datasets and runs is left out: old/dataset, old/run";
    assert!(said.contains(left_out), "{said}");
    assert!(!out.join("dataset/images/old").exists());
}

/// A call that ended before it made anything keeps nobody from giving another input.
#[test]
fn what_made_nothing_is_not_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for name in ["first", "second"] {
        let input = folder.path().join(name);
        std::fs::create_dir(&input).unwrap();
        for photo in ["a.jpg", "b.jpg"] {
            let pixels = image::RgbImage::from_pixel(8, 8, image::Rgb([9, 90, 200]));
            save(pixels, input.join(photo));
        }
        let mut call = splatcore(&["make", text(&input), "-o", text(&out)]);
        let run = call.env("PATH", folder.path()).output().unwrap();
        let said = String::from_utf8(run.stderr).unwrap();
        assert_contains!(said, "no program `colmap` on PATH");
        assert!(!out.join("dataset").exists() && out.join("make.json").is_file());
    }
}

/// A state that cannot be read is in the way, but not of who replaces everything.
#[test]
fn a_broken_state_is_begun_anew_by_overwrite() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("make.json"), "{").unwrap();
    let flags = "--backend cpu --iterations 5 --max-size 32";
    let make = format!("make {} -o {} {flags}", photos(), text(&out));
    assert_contains!(ends(&make, 1), "make.json");
    let said = ends(&format!("{make} --overwrite"), 0);
    assert_contains!(said, "begun anew", "make.json");
    assert!(out.join("run/scene.ply").is_file());
}

/// So many photos that no processor compares each with each in ten minutes: fewer are used, also by
/// the calls that go on, until all are asked for.
#[test]
fn of_many_photos_as_many_are_used_as_ten_minutes_allow() {
    let fake = FakeColmap::new("0");
    fake.more_photos(990);
    let out = fake.at("out");
    let first_line = |more: &[&str]| {
        let arguments = [&SHORT[..], more].concat();
        let run = splatcore(&fake.make(&out, &arguments)).output().unwrap();
        let stderr = String::from_utf8(run.stderr).unwrap();
        stderr.lines().next().unwrap().to_owned()
    };
    std::fs::write(fake.at("fail_mapper"), "").unwrap();
    let first = first_line(&[]);
    let (used, _) = first
        .split_once(" of 1,000 photos, all with --every 1,")
        .unwrap();
    let used: usize = used.rsplit('(').next().unwrap().parse().unwrap();
    assert!((40..=500).contains(&used), "{first}");
    let taken = || {
        std::fs::read_dir(out.join("dataset/images"))
            .unwrap()
            .count()
    };
    assert_eq!(taken(), used);
    let again = first_line(&[]);
    assert_contains!(again, format!("({used} of 1,000 photos"));
    assert_eq!(
        fake.calls()
            .iter()
            .filter(|call| *call == "feature_extractor")
            .count(),
        1
    );
    let all = first_line(&["--every", "1"]);
    assert_contains!(all, "(1,000 photos by");
    assert_eq!(taken(), 1000);
}

/// Each with each they take longer than all may take, and a line says what does not.
#[test]
fn many_photos_may_be_compared_with_similar_ones() {
    let fake = FakeColmap::new("0");
    fake.more_photos(150);
    let out = fake.at("out");
    let stderr = ends(&fake.make(&out, &SHORT), 1);
    let first = stderr.lines().next().unwrap();
    assert_contains!(
        first,
        "--matching similar, which may find fewer cameras (cameras "
    );
    assert!(fake.calls().contains(&"exhaustive_matcher".to_owned()));
    let out = fake.at("similar");
    let similar = [&SHORT[..], &["--matching", "similar"]].concat();
    let stderr = ends(&fake.make(&out, &similar), 1);
    let first = stderr.lines().next().unwrap();
    assert_contains!(first, "each compared with the 12 most similar)");
    let minutes = first.strip_prefix("about ").unwrap().split(' ').next();
    let minutes: f64 = minutes.unwrap().parse().unwrap();
    assert!(minutes < 10.0, "{first}");
    // The pretender places too few of them.
    assert_contains!(stderr, "only 10 of 160 photos have a pose");
    let calls = [
        "feature_extractor",
        "vocab_tree_builder",
        "vocab_tree_matcher",
        "mapper",
    ];
    assert_eq!(fake.calls(), calls);
    // What helps is said, and uses what is done.
    let said = "compare each photo with each (--matching exhaustive, which takes longer)";
    assert!(stderr.contains(said), "{stderr}");
    let each = [&SHORT[..], &["--matching", "exhaustive"]].concat();
    ends(&fake.make(&out, &each), 1);
    assert_eq!(fake.calls(), ["exhaustive_matcher", "mapper"]);
}

#[test]
fn a_phase_that_fails_says_how_to_go_on() {
    let fake = FakeColmap::new("0");
    let out = fake.at("out");
    std::fs::write(fake.at("fail_exhaustive_matcher"), "").unwrap();
    let arguments = fake.make(&out, &SHORT);
    let stderr = ends(&arguments, 1);
    assert_contains!(stderr, "error: matching failed");
    let on = format!("this goes on: splatcore {}", arguments.join(" "));
    assert!(stderr.contains(&on), "{stderr}");
    std::fs::remove_file(fake.at("fail_exhaustive_matcher")).unwrap();
    fake.calls();
    succeeds(&arguments);
    assert_eq!(fake.calls(), ["exhaustive_matcher", "mapper"]);
}

#[test]
fn a_dataset_needs_no_cameras_and_a_size_is_chosen_for_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let arguments = format!(
        "make {} -o {} --backend cpu --iterations 20",
        photos(),
        text(&out)
    );
    let run = splatcore(&arguments).output().unwrap();
    let stderr = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(0), "{stderr}");
    assert_contains!(stderr, "chosen for this processor: ", " ms a step");
    assert!(!out.join("dataset").exists());
    let settings = std::fs::read_to_string(out.join("run/config.toml")).unwrap();
    assert!(settings.contains("iterations = 20\n"), "what was typed");
}

/// Waits for something, for half a minute at most.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// While it looks at what is to be done, no phase has begun that would end by itself: the other
/// program does not answer until the signal was seen.
#[test]
fn ctrl_c_outside_of_a_phase_says_what_goes_on() {
    let fake = FakeColmap::new("0");
    let out = fake.at("out");
    std::fs::write(fake.at("hold"), "").unwrap();
    let arguments = fake.make(&out, &SHORT);
    let child = Command::new(program())
        .args(&arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("COLMAP is asked what it can do", || {
        fake.at("held").is_file()
    });
    let pid = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(killed.success());
    let ended = child.wait_with_output().unwrap();
    std::fs::remove_file(fake.at("hold")).unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    let on = format!("this goes on: splatcore {}", arguments.join(" "));
    assert!(stderr.contains(&on), "{stderr}");
    assert_eq!(ended.status.code(), Some(130), "{stderr}");
    succeeds(&arguments);
}

#[test]
fn the_scene_is_turned_upright_on_request_and_no_run_changes_it_in_silence() {
    let fake = FakeColmap::new("0");
    let out = fake.at("out");
    let upright: Vec<&str> = SHORT.iter().copied().chain(["--upright"]).collect();
    succeeds(&fake.make(&out, &upright));
    let facts = std::fs::read_to_string(out.join("run/run.json")).unwrap();
    let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
    let up: Vec<f64> = serde_json::from_value(facts["up"]["direction"].clone()).unwrap();
    assert!(up[1] < -0.999_999, "{up:?}");
    assert!(facts["turned"].is_array(), "{facts}");
    let line = fails(&fake.make(&out, &SHORT));
    assert_contains!(
        line,
        "was made with --upright, not without; add --overwrite"
    );
    succeeds(&fake.make(&out, &upright));
}
