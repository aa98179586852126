//! What to type in place of what people type by habit: flags of other trainers and of earlier
//! versions, where the flag that looks most like one does something else, and numbers that are not
//! written in digits.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error;
use std::num::ParseIntError;

const INRIA: &str = "from-inria.md";
const GSPLAT: &str = "from-gsplat.md";
const NERFSTUDIO: &str = "from-nerfstudio.md";
const SMALLER: &str = "smaller.md";

const DATASET: &str = "the dataset is the first argument, `splatcore train DIR -o OUT`";
const OUTPUT: &str = "-o OUT names the folder of the results";
const SIZE: &str = "--max-size PX scales photos down, --images images_4 takes smaller ones";
const STEPS: &str = "--iterations is the number of steps";
const PRUNE: &str = "it is gone; splatcore prune removes what photos hardly show";
const SCENE: &str = "leave it out; scene.ply is written at the end";

/// Flags of other trainers and of earlier versions, what is typed here, and the page of the guide
/// that says more.
const FLAGS: [(&str, &str, &str); 30] = [
    ("-s", DATASET, INRIA),
    ("--source_path", DATASET, INRIA),
    ("-m", OUTPUT, INRIA),
    ("--model_path", OUTPUT, INRIA),
    ("-i", "--images names the folder of the photos", INRIA),
    ("-r", SIZE, INRIA),
    ("--resolution", SIZE, INRIA),
    (
        "--eval",
        "leave it out; every 8th photo is held out, unless --test-every says otherwise",
        INRIA,
    ),
    ("-w", "--background white", INRIA),
    ("--white_background", "--background white", INRIA),
    ("--random_background", "--background random", INRIA),
    (
        "--test_iterations",
        "--eval-every measures while it trains",
        INRIA,
    ),
    ("--save_iterations", SCENE, INRIA),
    (
        "--start_checkpoint",
        "--resume goes on with the run in -o",
        INRIA,
    ),
    (
        "--data_device",
        "leave it out; photos lie where there is room",
        INRIA,
    ),
    ("--lambda_dssim", "--ssim-weight", INRIA),
    ("--percent_dense", "--split-scale", INRIA),
    ("--densification_interval", "--densify-every", INRIA),
    ("--data_dir", DATASET, GSPLAT),
    ("--result_dir", OUTPUT, GSPLAT),
    ("--data_factor", SIZE, GSPLAT),
    ("--max_steps", STEPS, GSPLAT),
    ("--random_bkgd", "--background random", GSPLAT),
    ("--save_ply", SCENE, GSPLAT),
    ("--data", DATASET, NERFSTUDIO),
    ("--max-num-iterations", STEPS, NERFSTUDIO),
    ("--densify-score", PRUNE, SMALLER),
    ("--prune-importance", PRUNE, SMALLER),
    ("--prune-bad-share", PRUNE, SMALLER),
    (
        "--sh-regulariser",
        "it is gone; with --sh-degree 1 or 2 colours depend less on the direction",
        "training.md",
    ),
];

/// An error about the arguments of `command`, with what to type in place of such a flag, or of a
/// number that is not written in digits.
pub fn explained(mut error: clap::Error, command: Option<&str>) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let [flag, value] = [ContextKind::InvalidArg, ContextKind::InvalidValue].map(text);
    let is_number = error
        .source()
        .is_some_and(|source| source.is::<ParseIntError>());
    if error.kind() == ErrorKind::ValueValidation && is_number {
        let typed = match in_digits(&value) {
            Some(number) => format!("write {number}"),
            None => "write a whole number".into(),
        };
        let line = format!("invalid value '{value}' for '{flag}': {typed}\n");
        return clap::Error::raw(ErrorKind::ValueValidation, line);
    }
    let known = FLAGS.iter().find(|(name, ..)| *name == flag);
    let unknown = error.kind() == ErrorKind::UnknownArgument;
    if let (true, Some("train" | "make"), Some((_, typed, page))) = (unknown, command, known) {
        let tip = StyledStr::from(format!("{typed} (docs/guide/{page})"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        // They are of a flag that only looks alike.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
    }
    error
}

/// The whole number that 30k, 1.5M, 1e6 or 30,000 mean.
fn in_digits(text: &str) -> Option<u64> {
    let (number, factor) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1e3),
        None => match text.strip_suffix(['m', 'M']) {
            Some(number) => (number, 1e6),
            None => (text, 1.0),
        },
    };
    let value = number.replace([',', '_'], "").parse::<f64>().ok()? * factor;
    let is_whole = value >= 0.0 && value.fract() == 0.0 && value < 1e15;
    is_whole.then_some(value as u64)
}
