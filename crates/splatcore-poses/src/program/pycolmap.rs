//! pycolmap, driven by a small script that this crate brings along.

use super::request::{Extract, Pairs};
use crate::PosesError;
use crate::child::{self, Call};
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use std::time::Duration;

const SCRIPT: &str = include_str!("pycolmap.py");

/// What a pycolmap can do.
#[derive(Deserialize)]
pub struct Found {
    pub version: String,
    pub cuda: bool,
    pub global: bool,
    pub calibrates: bool,
}

/// Asks a Python for its pycolmap.
pub fn probe(python: &Path) -> Result<Found, PosesError> {
    // The first import of a large library may take long.
    let call = step(python, &json!({ "step": "probe" }));
    let (_, text) = child::output(&call, Duration::from_secs(120))?;
    let answer = text
        .lines()
        .find_map(|line| serde_json::from_str(line).ok());
    answer.ok_or_else(|| PosesError::Program {
        program: python.to_path_buf(),
        problem: "has no pycolmap that works; install it with `-m pip install pycolmap`".into(),
    })
}

/// The script with what it shall do. Paths travel as JSON strings: one that is not Unicode cannot.
fn step(python: &Path, what: &serde_json::Value) -> Call {
    Call::new(python)
        .args(["-u", "-X", "utf8", "-c", SCRIPT])
        .arg(what.to_string())
}

pub fn extract(python: &Path, what: &Extract<'_>, gpu: bool) -> Call {
    step(
        python,
        &json!({
            "step": "extract",
            "database": what.database.to_string_lossy(),
            "images": what.images.to_string_lossy(),
            "list": what.list.to_string_lossy(),
            "camera_model": what.camera_model,
            "parameters": what.parameters,
            "camera_each": what.camera_each,
            "camera_id": what.camera_id,
            "max_size": what.max_size,
            "gpu": gpu,
        }),
    )
}

pub fn pair(python: &Path, database: &Path, pairs: &Pairs<'_>, gpu: bool) -> Call {
    let (block, vocabulary) = match pairs {
        Pairs::Exhaustive(block) => (Some(*block), None),
        Pairs::Similar(_) => (None, None),
        Pairs::Sequential(vocabulary) => (None, *vocabulary),
    };
    step(
        python,
        &json!({
            "step": "pair",
            "database": database.to_string_lossy(),
            "block": block,
            "vocabulary": vocabulary.map(Path::to_string_lossy),
            "gpu": gpu,
        }),
    )
}

pub fn calibrate(python: &Path, database: &Path) -> Call {
    step(
        python,
        &json!({ "step": "calibrate", "database": database.to_string_lossy() }),
    )
}

pub fn map(python: &Path, globally: bool, database: &Path, images: &Path, models: &Path) -> Call {
    step(
        python,
        &json!({
            "step": "map",
            "global": globally,
            "database": database.to_string_lossy(),
            "images": images.to_string_lossy(),
            "models": models.to_string_lossy(),
        }),
    )
}

pub fn adjust(python: &Path, model: &Path, adjusted: &Path) -> Call {
    step(
        python,
        &json!({
            "step": "adjust",
            "model": model.to_string_lossy(),
            "adjusted": adjusted.to_string_lossy(),
        }),
    )
}
