//! A program that pretends to be COLMAP 3.8: it takes its time, prints what the real one prints,
//! and "finds" the cameras of the tiny dataset.

use crate::common::{photos, save, text};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// `$here/slow` holds the seconds that each of its units takes. `$here/calls` gets a line for each
/// call, `$here/pid` the process that runs now. `$here/fail_COMMAND` makes a command fail. While
/// `$here/hold` is there, it does not say what it can do, and writes `$here/held`.
const SCRIPT: &str = r#"#!/bin/sh
here=$(dirname "$0")
command=$1
options='--VocabTreeMatching.num_images --VocabTreeMatching.vocab_tree_path'
for word in "$@"; do [ "$word" = --help ] && { echo $options; exit 0; }; done
if [ "$command" = help ]; then
    while [ -e "$here/hold" ]; do touch "$here/held"; sleep 0.02; done
    echo 'COLMAP 3.8 -- Structure-from-Motion'
    printf 'feature_extractor\nexhaustive_matcher\nsequential_matcher\nmapper\n'
    printf 'vocab_tree_builder\nvocab_tree_matcher\n'
    exit 0
fi
echo $$ > "$here/pid"
echo "$command" >> "$here/calls"
while [ $# -gt 0 ]; do
    [ "$1" = --output_path ] && output=$2
    [ "$1" = --database_path ] && echo "$command" >> "$2"
    shift
done
slow=$(cat "$here/slow")
[ -e "$here/fail_$command" ] && { echo 'ERROR: out of luck'; exit 1; }
case $command in
    feature_extractor)
        for i in 1 2 3 4 5; do
            sleep $slow
            printf 'Processed file [%s/5]\n  Camera:          #7 - PINHOLE\n' $i
            echo '  Features:        120'
        done ;;
    *_matcher) sleep $slow; echo 'Matching block [1/2, 1/1] in 0.1s'
               sleep $slow; echo 'Matching block [2/2, 1/1] in 0.1s' ;;
    mapper)
        echo 'Finding good initial image pair'
        sleep $slow
        for i in 3 4 5; do echo "Registering image #$i ($i)"; sleep $slow; done
        cp -r "$here/model" "$output/0" ;;
esac
"#;

/// The pretender, and photos without cameras.
pub struct FakeColmap {
    folder: tempfile::TempDir,
}

impl FakeColmap {
    /// Each unit of its work takes so many seconds.
    pub fn new(slow: &str) -> Self {
        let fake = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::write(fake.at("colmap"), SCRIPT).unwrap();
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(fake.at("colmap"), executable).unwrap();
        std::fs::write(fake.at("slow"), slow).unwrap();
        std::fs::create_dir(fake.at("photos")).unwrap();
        let from = Path::new(photos());
        for entry in std::fs::read_dir(from.join("images")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_owned();
            std::fs::copy(&path, fake.at("photos").join(name)).unwrap();
        }
        model(&from.join("sparse/0"), &fake.at("model"));
        fake
    }

    /// More photos, of which the pretender knows nothing, with names that do not count up.
    pub fn more_photos(&self, count: usize) {
        for i in 0..count {
            let name = format!("{}_{}.png", i * 7919 % 1009, i);
            let image = image::GrayImage::from_pixel(64, 48, image::Luma([i as u8]));
            save(image, self.at("photos").join(name));
        }
    }

    /// A path beside the pretender.
    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The commands that were called since this was last asked.
    pub fn calls(&self) -> Vec<String> {
        let calls = std::fs::read_to_string(self.at("calls")).unwrap_or_default();
        let _ = std::fs::remove_file(self.at("calls"));
        calls.lines().map(str::to_owned).collect()
    }

    /// Whether a command still runs.
    pub fn runs(&self) -> bool {
        let pid = std::fs::read_to_string(self.at("pid")).unwrap_or_default();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        !pid.is_empty()
            && stat.is_ok_and(|stat| stat.contains("(colmap)") && !stat.contains(") Z "))
    }

    /// The arguments of a `make` of its photos into `out`.
    pub fn make<'a>(&'a self, out: &'a Path, more: &[&'a str]) -> Vec<String> {
        let (photos, colmap) = (self.at("photos"), self.at("colmap"));
        let fixed = [
            "make",
            text(&photos),
            "-o",
            text(out),
            "--colmap",
            text(&colmap),
        ];
        let words = fixed.iter().chain(more);
        words.map(|word| (*word).to_owned()).collect()
    }
}

/// A text model as COLMAP's binary files.
fn model(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    let lines = |name: &str| -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(from.join(name)).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let words = lines.map(|line| line.split_whitespace().map(str::to_owned).collect());
        words.collect()
    };
    let f64s = |words: &[String]| -> Vec<u8> {
        let numbers = words.iter().map(|word| word.parse::<f64>().unwrap());
        numbers.flat_map(f64::to_le_bytes).collect()
    };
    let u32_of = |word: &String| word.parse::<u32>().unwrap().to_le_bytes();
    let u64_of = |word: &String| word.parse::<u64>().unwrap().to_le_bytes();
    let count = |n: usize| (n as u64).to_le_bytes().to_vec();

    let cameras = lines("cameras.txt");
    let mut bytes = count(cameras.len());
    for words in &cameras {
        let model: u32 = match words[1].as_str() {
            "SIMPLE_PINHOLE" => 0,
            "PINHOLE" => 1,
            other => panic!("camera model {other}"),
        };
        bytes.extend(u32_of(&words[0]));
        bytes.extend(model.to_le_bytes());
        bytes.extend([u64_of(&words[2]), u64_of(&words[3])].concat());
        bytes.extend(f64s(&words[4..]));
    }
    std::fs::write(to.join("cameras.bin"), bytes).unwrap();

    // Every second line lists points in the image.
    let images: Vec<_> = lines("images.txt").into_iter().step_by(2).collect();
    let mut bytes = count(images.len());
    for words in &images {
        bytes.extend(u32_of(&words[0]));
        bytes.extend(f64s(&words[1..8]));
        bytes.extend(u32_of(&words[8]));
        bytes.extend(words[9].as_bytes());
        bytes.push(0);
        bytes.extend(count(0));
    }
    std::fs::write(to.join("images.bin"), bytes).unwrap();

    let points = lines("points3D.txt");
    let mut bytes = count(points.len());
    for words in &points {
        bytes.extend(u64_of(&words[0]));
        bytes.extend(f64s(&words[1..4]));
        bytes.extend(words[4..7].iter().map(|word| word.parse::<u8>().unwrap()));
        bytes.extend(f64s(&words[7..8]));
        bytes.extend(count(0));
    }
    std::fs::write(to.join("points3D.bin"), bytes).unwrap();
}
