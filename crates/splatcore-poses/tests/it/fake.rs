//! A program that pretends to be COLMAP: it notes how it is called, prints lines that real ones
//! printed, and fails or hangs on demand.

use crate::model;
use splatcore_data::picture;
use splatcore_poses::{Job, Observer, Progress};
use std::cell::{Cell, RefCell};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What it prints and does. `$here/fail_COMMAND` and the like are files that tests put there.
const SCRIPT: &str = r#"#!/bin/sh
here=$(dirname "$0")
command=$1
for word in "$@"; do [ "$word" = --help ] && { cat "$here/options"; exit 0; }; done
[ "$command" = help ] && { cat "$here/help"; exit 0; }
echo "$@" >> "$here/calls"
while [ $# -gt 0 ]; do
    [ "$1" = --output_path ] && output=$2
    [ "$1" = --input_path ] && input=$2
    [ "$1" = --database_path ] && echo "$command" >> "$2"
    [ "$1" = --image_list_path ] && cp "$2" "$here/list"
    shift
done
[ -e "$here/log_$command" ] && cat "$here/log_$command"
if [ -e "$here/hang_$command" ]; then sleep 1000 & echo $! > "$here/sleeper"; wait; fi
[ -e "$here/slow_$command" ] && sleep $(cat "$here/slow_$command")
[ -e "$here/kill_$command" ] && kill -9 $$
if [ -e "$here/fail_$command" ]; then cat "$here/fail_$command"; exit 1; fi
[ "$command" = bundle_adjuster ] && cp "$input"/* "$output/"
for model in "$here/models_$command"/*; do
    [ -d "$model" ] && cp -r "$model" "$output/"
done
exit 0
"#;

const COMMANDS: &str =
    "  feature_extractor\n  exhaustive_matcher\n  sequential_matcher\n  mapper\n";

/// The pretender, photos, and a place for the dataset.
pub struct Fake {
    folder: tempfile::TempDir,
}

impl Fake {
    /// Pretends to be version 3.8, with a model of all photos.
    pub fn old(photos: &[&str]) -> Self {
        let help = "COLMAP 3.8 -- Structure-from-Motion and Multi-View Stereo\n\
                    (Commit Unknown on Unknown without CUDA)\n";
        let options = "--SiftExtraction.use_gpu arg (=1)\n--SiftExtraction.max_image_size arg\n\
                       --SiftMatching.use_gpu arg (=1)\n--SequentialMatching.overlap arg\n\
                       --ExhaustiveMatching.block_size arg (=50)\n";
        let fake = Self::new(help, "", options, photos);
        fake.put(
            "log_feature_extractor",
            "Feature extraction\n\nProcessed file [1/2]\n  Name:            a b.jpg\n  \
             Camera:          #3 - SIMPLE_RADIAL\nProcessed file [2/2]\n",
        );
        fake.put(
            "log_exhaustive_matcher",
            "Matching block [1/1, 1/1] in 17.432s\n",
        );
        fake.put(
            "log_mapper",
            "Registering image #5 (3)\n\n  => Image sees 1 / 2 points\n",
        );
        model::write(&fake.at("models_mapper/0"), photos, 50, 0.5);
        fake
    }

    /// Pretends to be version 4, with a model of all photos by both mappers.
    pub fn new_version(photos: &[&str]) -> Self {
        let help = "COLMAP 4.2.1 -- Structure-from-Motion and Multi-View Stereo\n\
                    (Commit 1 on 2026-01-01 without CUDA)\n";
        let options = "--FeatureExtraction.use_gpu arg (=1)\n--FeatureExtraction.max_image_size\n\
                       --FeatureMatching.use_gpu arg (=1)\n";
        let more = "  global_mapper\n  view_graph_calibrator\n";
        let fake = Self::new(help, more, options, photos);
        let line = |text: &str| format!("I20261124 12:37:28.464716 1397 a.cc:498] {text}\n");
        fake.put("log_feature_extractor", &line("Processed file [2/2]"));
        fake.put(
            "log_exhaustive_matcher",
            &line("Processing block [1/1, 1/1]"),
        );
        fake.put(
            "log_mapper",
            &line("Registering image #10 (num_reg_frames=1)"),
        );
        fake.put(
            "log_global_mapper",
            &line("=== Running global positioning ==="),
        );
        model::write(&fake.at("models_mapper/0"), photos, 50, 0.5);
        model::write(&fake.at("models_global_mapper/0"), photos, 70, 0.25);
        fake
    }

    fn new(help: &str, more_commands: &str, options: &str, photos: &[&str]) -> Self {
        let fake = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fake.put("help", &format!("{help}{COMMANDS}{more_commands}"));
        fake.put("options", options);
        fake.put("colmap", SCRIPT);
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(fake.at("colmap"), executable).unwrap();
        for name in photos {
            photo(&fake.at("my photos").join(name));
        }
        fake
    }

    /// A path beside the pretender.
    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file beside the pretender.
    pub fn put(&self, name: &str, text: &str) {
        std::fs::write(self.at(name), text).unwrap();
    }

    /// The pretender's notes: a line for each call. They are forgotten.
    pub fn calls(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.at("calls")).unwrap_or_default();
        let _ = std::fs::remove_file(self.at("calls"));
        text.lines().map(str::to_owned).collect()
    }

    /// The commands that were called, in order.
    pub fn commands(&self) -> Vec<String> {
        let calls = self.calls();
        calls
            .iter()
            .filter_map(|call| call.split(' ').next())
            .map(str::to_owned)
            .collect()
    }

    /// The photos to a dataset whose name needs care.
    pub fn job(&self) -> Job {
        Job {
            input: self.at("my photos"),
            dataset: self.at("süd ausgang"),
            colmap: Some(self.at("colmap")),
            ..Job::default()
        }
    }
}

/// A small grey JPEG.
pub fn photo(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let grey = image::ExtendedColorType::L8;
    let bytes = picture::jpeg(&[0; 64 * 48], [64, 48], grey, 75).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// Notes what it hears, and asks for a stop when a file exists.
#[derive(Default)]
pub struct Ear {
    pub stop_when: Option<PathBuf>,
    pub heard: RefCell<Vec<String>>,
    /// Estimated seconds left, with each progress.
    pub left: RefCell<Vec<Option<f64>>>,
    /// A file that is read with each progress.
    pub watched: Option<PathBuf>,
    pub states: RefCell<Vec<String>>,
    pub asked: Cell<usize>,
}

impl Observer for Ear {
    fn stop(&self) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.stop_when.as_ref().is_some_and(|path| path.exists())
    }

    fn progress(&mut self, p: &Progress) {
        let Progress {
            phase,
            phases,
            name,
            done,
            total,
            detail,
            seconds_left_in_all,
            ..
        } = p;
        let line = format!("{phase}/{phases} {name} {done}/{total} {detail}");
        self.heard.borrow_mut().push(line.trim_end().to_owned());
        self.left.borrow_mut().push(*seconds_left_in_all);
        if let Some(path) = &self.watched {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            self.states.borrow_mut().push(text);
        }
    }

    fn note(&mut self, line: &str) {
        self.heard.borrow_mut().push(format!("note: {line}"));
    }
}
