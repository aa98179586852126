//! The written settings: `config.toml`, which is also the text in a checkpoint, byte for byte as
//! the files under `golden/` have it. Runs that exist are resumed by comparing these texts.

use clap::{Args, FromArgMatches};
use splatcore_train::config::{Flags, ResolvedConfig};
use std::path::{Path, PathBuf};

/// Name of the golden file, the settings file that is read, the flags that are typed.
const CASES: [(&str, &str, &str); 10] = [
    ("defaults", "", ""),
    ("mcmc", "", "--strategy mcmc"),
    ("short", "", "--iterations 7000"),
    (
        "one_step",
        "",
        "--iterations 1 --strategy mcmc --densify-every 7",
    ),
    ("fast", "", "--preset fast"),
    ("balanced", "", "--preset balanced --strategy adc"),
    (
        "quality",
        "preset = \"fast\"\nseed = 3\n",
        "--preset quality --checkpoint-every 0",
    ),
    (
        "file_and_flags",
        "iterations = 9000\nseed = 4\nbackground = \"0.1,0.2,0.3\"\nlr-scales = 1e-2\n",
        "--seed 9223372036854775807 --max-size 480 --lr-means 1.234567890123e-4 --antialias",
    ),
    (
        "every_flag_adc",
        "",
        "--preset fast --iterations 12000 --strategy adc --max-gaussians 5000 --sh-degree 2 \
         --max-size 640 --test-every 0 --seed 7 --background random --backend cpu --threads 3 \
         --deterministic --pipeline vanilla --moments full --antialias --optimizer sparse-adam \
         --resolution-schedule coarse-to-fine --coarse-until 777 --checkpoint-every 250 \
         --eval-every 500 --lr-means 2e-4 --lr-means-final 3e-6 --lr-sh-base 3e-3 \
         --lr-sh-rest 2e-4 --lr-opacity 0.03 --lr-scales 6e-3 --lr-rotations 2e-3 \
         --lr-exposure 0.02 --lr-exposure-final 0.002 --lr-masks 0.03 --ssim-weight 0.3 --exposure \
         --opacity-regulariser 0.02 --scale-regulariser 0.03 --learned-masks 2e-4 \
         --sh-every 321 --densify-from 123 --densify-until 4567 --densify-every 50 \
         --densify-gradient 1e-4 --densify-statistic absolute \
         --prune-floaters 0.6 --max-scale 0 --prune-every 999 --split-scale \
         0.02 --prune-scale 0.2 --min-opacity 0.006 --opacity-reset-every 888 --opacity-reset-to \
         0.02 --init-opacity 0.2 --init-scale 0.5 --readout-time 0.02 --readout-direction \
         left-to-right",
    ),
    (
        "every_flag_mcmc",
        "",
        "--strategy mcmc --max-gaussians 4000 --sh-degree 1 --background white --noise-rate 0 \
         --growth 0.1 --prune-floaters 0.7 --max-scale 0.5 --prune-every 400 --lr-opacity 0 \
         --opacity-regulariser 0 --densify-until 0 --init-scale 2 --eval-every 1",
    ),
];

fn golden(name: &str) -> PathBuf {
    Path::new("tests/golden").join(name).with_extension("toml")
}

fn written(file: &str, line: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.toml");
    std::fs::write(&path, file).unwrap();
    let command = Flags::augment_args(clap::Command::new("train").no_binary_name(true));
    let matches = command
        .try_get_matches_from(line.split_whitespace())
        .unwrap();
    let Flags(typed) = Flags::from_arg_matches(&matches).unwrap();
    let config = ResolvedConfig::from_layers(Some(&path), &typed).unwrap();
    config.to_toml().unwrap()
}

#[test]
fn files_are_written_byte_for_byte() {
    for (name, file, line) in CASES {
        let text = written(file, line);
        let wanted = std::fs::read_to_string(golden(name)).unwrap();
        assert!(text == wanted, "{name}:\n{text}");
    }
}

/// Such a file, read without any flag, is the same run.
#[test]
fn files_repeat_themselves() {
    for (name, ..) in CASES {
        let text = std::fs::read_to_string(golden(name)).unwrap();
        assert!(written(&text, "") == text, "{name}");
    }
}
