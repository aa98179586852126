//! Reads the runs that `bench --paper ... --trainings DIR` puts into the paper's table.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use splatcore_papers::Training;
use splatcore_train::Config;
use std::path::{Path, PathBuf};

/// What a run's metrics.json says, as far as it matters here.
#[derive(Deserialize)]
struct Metrics {
    psnr: f64,
    ssim: f64,
    gaussians: u64,
    split: String,
    seconds: f64,
    steps: u64,
    stopped: Option<String>,
}

/// Every run in `DIR/DATASET/RUN`, in the order of the names. A folder without metrics.json is
/// none, for example one whose training was interrupted; a line on stderr names it.
///
/// # Errors
/// If there is no run, or one cannot be read.
pub fn read(folder: &Path) -> Result<Vec<Training>> {
    let mut found = Vec::new();
    for dataset in folders(folder)? {
        let name = dataset.file_name().unwrap_or(dataset.as_os_str());
        let name = name.to_string_lossy();
        for run in folders(&dataset)? {
            match run.join("metrics.json").is_file() {
                true => found.push(training(&run, &name)?),
                false => eprintln!("{}: is left out, it has no metrics.json", run.display()),
            }
        }
    }
    if found.is_empty() {
        bail!(
            "{}: holds no training; give a folder with DATASET/RUN, each RUN as `splatcore train \
             -o` leaves it",
            folder.display()
        );
    }
    Ok(found)
}

fn training(run: &Path, dataset: &str) -> Result<Training> {
    let file = run.join("metrics.json");
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("{}: cannot be read", file.display()))?;
    let metrics: Metrics = serde_json::from_str(&text).with_context(|| {
        format!(
            "{}: is not the metrics of a training; take the folder away",
            file.display()
        )
    })?;
    if metrics.split != "test" {
        bail!(
            "{}: was not measured on held-out photos; train with --test-every, or take the folder \
             away",
            file.display()
        );
    }
    let config = Config::from_file(&run.join("config.toml"))?.complete();
    Ok(Training {
        dataset: dataset.to_owned(),
        pipeline: config.compute.pipeline,
        psnr: metrics.psnr,
        ssim: metrics.ssim,
        gaussians: metrics.gaussians,
        steps: metrics.steps,
        seconds: metrics.seconds,
        out_of_time: metrics.stopped.is_some(),
    })
}

/// The folders in a folder, by name.
fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("{}: cannot be read; give a folder", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(run: &Path, stopped: &str, pipeline: &str) {
        std::fs::create_dir_all(run).unwrap();
        let metrics = format!(
            r#"{{"psnr": 27.5, "ssim": 0.9, "gaussians": 50, "views": [], "split": "test",
                "seconds": 300.1, "steps": 1234{stopped}}}"#
        );
        std::fs::write(run.join("metrics.json"), metrics).unwrap();
        std::fs::write(
            run.join("config.toml"),
            format!("pipeline = \"{pipeline}\"\n"),
        )
        .unwrap();
    }

    #[test]
    fn runs_are_found_below_their_datasets() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        write(&at("fox/b"), "", "vanilla");
        write(
            &at("fox/a"),
            r#", "stopped": "time limit""#,
            "exact+scalar+warp-reduce-skip",
        );
        write(&at("bonsai/a"), "", "vanilla");
        std::fs::create_dir_all(at("fox/unfinished")).unwrap();
        std::fs::write(at("readme.txt"), "not a folder").unwrap();
        let found = read(folder.path()).unwrap();
        let names: Vec<(&str, String)> = found
            .iter()
            .map(|t| (t.dataset.as_str(), t.pipeline.to_string()))
            .collect();
        let name = |dataset, pipeline: &str| (dataset, pipeline.to_owned());
        assert_eq!(
            names,
            [
                name("bonsai", "aabb+scalar+atomic"),
                name("fox", "exact+scalar+warp-reduce-skip"),
                name("fox", "aabb+scalar+atomic"),
            ]
        );
        assert_eq!((found[1].psnr, found[1].steps), (27.5, 1234));
        assert!(found[1].out_of_time && !found[2].out_of_time);
    }

    #[test]
    fn what_is_no_training_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = read(folder.path()).unwrap_err();
        assert!(error.to_string().contains("holds no training"), "{error}");
        assert!(read(&folder.path().join("missing")).is_err());
        let run = folder.path().join("fox/a");
        write(&run, "", "vanilla");
        std::fs::write(run.join("metrics.json"), "{}").unwrap();
        assert_contains!(read(folder.path()).unwrap_err(), "metrics.json");
        write(&run, "", "fancy");
        assert!(read(folder.path()).is_err());
    }
}
