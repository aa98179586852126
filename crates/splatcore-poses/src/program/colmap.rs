//! COLMAP's command line. Options changed their names between 3.8 and 4.x, so what a program takes
//! is read from its own help.

use super::request::{Extract, Pairs, VOCABULARY};
use crate::PosesError;
use crate::child::{self, Call};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a program may take to print its help.
const HELP_LIMIT: Duration = Duration::from_secs(60);

/// A vocabulary of photos: words, how the tree of them branches, rounds of clustering, and leaves
/// that are looked at for a feature.
const WORDS: usize = 1024;
const BRANCHING: usize = 32;
const ITERATIONS: usize = 5;
const CHECKS: usize = 32;

/// Its name in the folder of work.
const VOCABULARY_FILE: &str = "vocabulary.bin";

/// A program `colmap`.
#[derive(Debug)]
pub struct Colmap {
    pub path: PathBuf,
    pub version: String,
    /// Built with CUDA.
    pub cuda: bool,
    commands: HashSet<String>,
    extractor: HashSet<String>,
    exhaustive: HashSet<String>,
    sequential: HashSet<String>,
    /// Of what makes a vocabulary, and of what matches by one; empty if there are none.
    vocabulary: HashSet<String>,
    similar: HashSet<String>,
}

impl Colmap {
    /// Asks a program what it is and which options it takes.
    pub fn probe(path: &Path) -> Result<Self, PosesError> {
        let help = |args: &[&str]| {
            let mut call = Call::new(path);
            call.args.extend(args.iter().map(Into::into));
            child::output(&call, HELP_LIMIT).map(|(_, text)| text)
        };
        let text = help(&["help"])?;
        let not_colmap = |what: String| PosesError::Program {
            program: path.to_path_buf(),
            problem: format!("{what}; name COLMAP 3.8 or later"),
        };
        let version = version(&text)
            .ok_or_else(|| not_colmap("does not say which version of COLMAP it is".into()))?;
        let commands: HashSet<String> = text.lines().map(|line| line.trim().to_owned()).collect();
        for needed in [
            "feature_extractor",
            "exhaustive_matcher",
            "sequential_matcher",
            "mapper",
        ] {
            if !commands.contains(needed) {
                return Err(not_colmap(format!(
                    "COLMAP {version} has no command {needed}"
                )));
            }
        }
        let options_of = |command: &str| help(&[command, "--help"]).map(|text| options(&text));
        let optional = |command: &str| match commands.contains(command) {
            true => options_of(command),
            false => Ok(HashSet::new()),
        };
        Ok(Self {
            path: path.to_path_buf(),
            version,
            cuda: text.contains("with CUDA"),
            extractor: options_of("feature_extractor")?,
            exhaustive: options_of("exhaustive_matcher")?,
            sequential: options_of("sequential_matcher")?,
            vocabulary: optional("vocab_tree_builder")?,
            similar: optional("vocab_tree_matcher")?,
            commands,
        })
    }

    /// Its version, and whether it was built with CUDA, if it is COLMAP.
    pub fn version(path: &Path) -> Option<(String, bool)> {
        let call = Call::new(path).arg("help");
        let (_, text) = child::output(&call, HELP_LIMIT).ok()?;
        Some((version(&text)?, text.contains("with CUDA")))
    }

    pub fn has_command(&self, name: &str) -> bool {
        self.commands.contains(name)
    }

    pub fn extract(&self, what: &Extract<'_>, gpu: bool) -> Call {
        let takes = |name: &&&str| self.extractor.contains(**name);
        let mut call = Call::new(&self.path)
            .args(["feature_extractor", "--database_path"])
            .arg(what.database)
            .arg("--image_path")
            .arg(what.images)
            .arg("--image_list_path")
            .arg(what.list)
            .args(["--ImageReader.camera_model", what.camera_model]);
        let sharing = match what.camera_each {
            true => "--ImageReader.single_camera_per_image",
            false => "--ImageReader.single_camera",
        };
        call = call.args([sharing, "1"]);
        if let Some(parameters) = what.parameters {
            call = call.args(["--ImageReader.camera_params", parameters]);
        }
        if let Some(id) = what.camera_id {
            call = call.args(["--ImageReader.existing_camera_id", &id.to_string()]);
        }
        let use_gpu = ["--FeatureExtraction.use_gpu", "--SiftExtraction.use_gpu"];
        if let Some(option) = use_gpu.iter().find(takes) {
            call = call.args([option, flag(gpu)]);
        }
        let max_size = [
            "--FeatureExtraction.max_image_size",
            "--SiftExtraction.max_image_size",
        ];
        if let (Some(size), Some(option)) = (what.max_size, max_size.iter().find(takes)) {
            call = call.args([option, &size.to_string()]);
        }
        call
    }

    /// Whether it makes vocabularies and matches photos by them.
    pub fn finds_similar(&self) -> bool {
        !self.vocabulary.is_empty() && !self.similar.is_empty()
    }

    /// Makes a vocabulary of features in the folder of work, for [`Pairs::Similar`]. A small one
    /// tells photos of one place apart, in a fraction of the time of a large one.
    pub fn vocabulary(&self, database: &Path, work: &Path) -> Call {
        let mut call = Call::new(&self.path)
            .args(["vocab_tree_builder", "--database_path"])
            .arg(database)
            .arg("--vocab_tree_path")
            .arg(work.join(VOCABULARY_FILE));
        for (option, value) in [
            ("--num_visual_words", WORDS),
            ("--branching", BRANCHING),
            ("--num_iterations", ITERATIONS),
            ("--max_num_images", VOCABULARY),
        ] {
            if self.vocabulary.contains(option) {
                call = call.args([option, &value.to_string()]);
            }
        }
        call
    }

    pub fn pair(&self, database: &Path, pairs: &Pairs<'_>, work: &Path, gpu: bool) -> Call {
        let (command, options) = match pairs {
            Pairs::Exhaustive(_) => ("exhaustive_matcher", &self.exhaustive),
            Pairs::Sequential(_) => ("sequential_matcher", &self.sequential),
            Pairs::Similar(_) => ("vocab_tree_matcher", &self.similar),
        };
        let mut call = Call::new(&self.path)
            .args([command, "--database_path"])
            .arg(database);
        let use_gpu = ["--FeatureMatching.use_gpu", "--SiftMatching.use_gpu"];
        if let Some(option) = use_gpu.iter().find(|name| options.contains(**name)) {
            call = call.args([option, flag(gpu)]);
        }
        if let Pairs::Similar(each) = pairs {
            let named = |name: &str| {
                let names = ["Matching", "Pairing"].map(|kind| format!("--VocabTree{kind}.{name}"));
                names.into_iter().find(|name| options.contains(name))
            };
            for (name, value) in [("num_images", *each), ("num_checks", CHECKS)] {
                if let Some(option) = named(name) {
                    call = call.args([&option, &value.to_string()]);
                }
            }
            if let Some(option) = named("vocab_tree_path") {
                call = call.args([&option]).arg(work.join(VOCABULARY_FILE));
            }
        }
        if let Pairs::Exhaustive(block) = pairs {
            let names = [
                "--ExhaustiveMatching.block_size",
                "--ExhaustivePairing.block_size",
            ];
            if let Some(option) = names.iter().find(|name| options.contains(**name)) {
                call = call.args([option, &block.to_string()]);
            }
        }
        if let Pairs::Sequential(vocabulary) = pairs {
            call = call.args([
                "--SequentialMatching.loop_detection",
                flag(vocabulary.is_some()),
            ]);
            if let Some(file) = vocabulary {
                call = call.arg("--SequentialMatching.vocab_tree_path").arg(*file);
            }
        }
        call
    }
}

fn flag(on: bool) -> &'static str {
    if on { "1" } else { "0" }
}

/// The version in `COLMAP 3.8 -- Structure-from-Motion ...`.
fn version(help: &str) -> Option<String> {
    let word = |line: &str| {
        let rest = line.trim().strip_prefix("COLMAP ")?;
        let word = rest.split_whitespace().next()?;
        word.starts_with(|c: char| c.is_ascii_digit())
            .then(|| word.to_owned())
    };
    help.lines().find_map(word)
}

/// The options that a command's help lists, with their hyphens.
fn options(help: &str) -> HashSet<String> {
    let words = help
        .split_whitespace()
        .filter(|word| word.starts_with("--"));
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_tells_version_and_options() {
        let help = "COLMAP 3.8 -- Structure-from-Motion\n  (Commit x without CUDA)\n";
        assert_eq!(version(help).unwrap(), "3.8");
        assert_eq!(version("COLMAP is not here"), None);
        let options = options("  -h [ --help ] \n  --SiftExtraction.use_gpu arg (=1)\n");
        assert!(options.contains("--SiftExtraction.use_gpu"));
    }
}
