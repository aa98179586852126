//! `--compressed`: models of the scenes, compressed as rows of a paper's tables name them.

use crate::output::{self, WrongUsage};
use anyhow::{Context, Result};
use splatcore_data::scene;
use splatcore_papers::{Compression, Paper};
use std::path::PathBuf;
use std::str::FromStr;

/// What stands for a scene without such a model.
const NONE: &str = "none";

/// `NAME=FILE` or `NAME=none`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compressed {
    compression: Compression,
    file: Option<PathBuf>,
}

impl FromStr for Compressed {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let (name, file) = typed
            .split_once('=')
            .filter(|(_, file)| !file.is_empty())
            .ok_or_else(|| format!("`{typed}` names no file; give NAME=FILE, or NAME={NONE}"))?;
        Ok(Self {
            compression: name.parse()?,
            file: (file != NONE).then(|| file.into()),
        })
    }
}

/// The compressed models of one scene.
pub type Models = Vec<(Compression, PathBuf)>;

/// The models of each scene: those of a name belong to the scenes in order, and scenes that are
/// left over have none.
///
/// # Errors
/// If the paper has no rows of compressed models, or there are more models of a name than scenes.
pub fn of_scenes(typed: &[Compressed], paper: Option<Paper>, scenes: usize) -> Result<Vec<Models>> {
    let mut models = vec![Models::new(); scenes];
    for compression in Compression::ALL {
        let of_name: Vec<_> = typed
            .iter()
            .filter(|t| t.compression == compression)
            .collect();
        let name = compression.name();
        if !of_name.is_empty() && paper.is_none_or(|paper| paper.runs_on(compression).is_empty()) {
            let problem = format!(
                "--compressed {name} goes with --paper gemm-gs, which has rows of such models; \
                 leave it out"
            );
            return Err(WrongUsage(problem).into());
        }
        if of_name.len() > scenes {
            let problem = format!(
                "{} {name} for {}; give --compressed {name}=FILE at most once for each scene, in \
                 the order of the scenes",
                output::counted(of_name.len(), "model"),
                output::counted(scenes, "scene")
            );
            return Err(WrongUsage(problem).into());
        }
        for (models, typed) in models.iter_mut().zip(of_name) {
            models.extend(typed.file.iter().map(|file| (compression, file.clone())));
        }
    }
    Ok(models)
}

/// Reads every model and lets it go, so that what is wrong with one is said before hours of
/// measuring.
///
/// # Errors
/// If one cannot be read, or is no scene.
pub fn check(models: &[Models]) -> Result<()> {
    for (compression, file) in models.iter().flatten() {
        let name = compression.name();
        scene::read(file).with_context(|| {
            format!("--compressed {name}: give a scene file, or {name}={NONE} for a scene without")
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(list: &[&str]) -> Vec<Compressed> {
        list.iter().map(|one| one.parse().unwrap()).collect()
    }

    #[test]
    fn models_belong_to_scenes_in_order() {
        let list = [
            "c3dgs=a.ply",
            "lightgaussian=none",
            "c3dgs=none",
            "lightgaussian=b=c.ply",
            "c3dgs=./none",
        ];
        let found = of_scenes(&typed(&list), Some(Paper::Gemm), 4).unwrap();
        let c3dgs = |file: &str| (Compression::C3dgs, PathBuf::from(file));
        let second = (Compression::LightGaussian, PathBuf::from("b=c.ply"));
        assert_eq!(
            found,
            [
                vec![c3dgs("a.ply")],
                vec![second],
                vec![c3dgs("./none")],
                vec![]
            ]
        );
        assert_eq!(of_scenes(&[], Some(Paper::Tc), 1).unwrap(), [vec![]]);
        assert_eq!(of_scenes(&[], None, 0).unwrap(), Vec::<Models>::new());
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_do() {
        let error = |typed: &str| typed.parse::<Compressed>().unwrap_err();
        assert!(error("zip=a.ply").contains("there are c3dgs, lightgaussian"));
        for nothing in ["c3dgs", "c3dgs=", ""] {
            assert!(error(nothing).contains("give NAME=FILE"), "{nothing}");
        }
        let said = |list: &[&str], paper, scenes| {
            let error = of_scenes(&typed(list), paper, scenes).unwrap_err();
            assert!(error.downcast_ref::<WrongUsage>().is_some(), "{error}");
            error.to_string()
        };
        let two = ["c3dgs=a.ply", "c3dgs=none"];
        let many = said(&two, Some(Paper::Gemm), 1);
        assert!(
            many.starts_with("2 models c3dgs for 1 scene; give"),
            "{many}"
        );
        for paper in [None, Some(Paper::Tc)] {
            let other = said(&two, paper, 2);
            assert_contains!(other, "goes with --paper gemm-gs");
        }
    }

    #[test]
    fn files_are_read_before_anything_is_measured() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("model.ply");
        let models = [vec![(Compression::C3dgs, file.clone())]];
        let missing = format!("{:#}", check(&models).unwrap_err());
        assert_contains!(missing, "model.ply", "c3dgs=none");
        std::fs::write(&file, "no scene").unwrap();
        let wrong = format!("{:#}", check(&models).unwrap_err());
        assert_contains!(wrong, "model.ply");
    }
}
