//! What a user can do about an error: the only place that turns what the libraries' errors depend
//! on into flags.

use crate::output::quote;
use splatcore_core::{BackendError, Choice};
use splatcore_data::DataError;
use splatcore_poses::PosesError;
use splatcore_train::config::{ConfigError, Setting};
use splatcore_train::{Difference, TrainError};
use splatcore_video::{HAS_AV1, VideoError};
use std::path::Path;

/// What can be done about an error, if one of its causes tells.
pub fn of(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<TrainError>() {
            of_training(error)
        } else if let Some(error) = cause.downcast_ref::<BackendError>() {
            of_backend(error)
        } else if let Some(error) = cause.downcast_ref::<DataError>() {
            of_data(error)
        } else if let Some(error) = cause.downcast_ref::<PosesError>() {
            of_poses(error)
        } else if let Some(error) = cause.downcast_ref::<VideoError>() {
            of_video(error)
        } else {
            cause.downcast_ref::<ConfigError>().and_then(of_config)
        }
    })
}

/// A backend's error with what can be done about it.
pub fn explained(error: &BackendError) -> String {
    match of_backend(error) {
        Some(remedy) => format!("{error}; {remedy}"),
        None => error.to_string(),
    }
}

fn of_video(error: &VideoError) -> Option<String> {
    let remedy = match error {
        VideoError::NoFfmpeg { .. } if HAS_AV1 => {
            "or write a .mp4 with --codec built-in, or a folder of frames"
        }
        VideoError::NoFfmpeg { .. } => {
            "or write a folder of frames, or build splatcore with `--features av1`"
        }
        VideoError::NoAv1 => {
            "leave --codec out where ffmpeg is installed, or build splatcore with `--features av1`"
        }
        _ => return None,
    };
    Some(remedy.to_owned())
}

fn of_training(error: &TrainError) -> Option<String> {
    let remedy = match error {
        TrainError::Backend(error @ BackendError::Device { .. }) => {
            let resume = "if the run has saved a checkpoint, --resume goes on from it";
            return Some(match of_backend(error) {
                Some(remedy) => format!("{remedy}; {resume}"),
                None => resume.to_owned(),
            });
        }
        TrainError::Backend(error) => return of_backend(error),
        TrainError::Data(error) => return of_data(error),
        TrainError::Config(error) => return of_config(error),
        TrainError::Saved { source, .. } => {
            let remedy = of_backend(source).map(|remedy| format!("; {remedy}"));
            let remedy = remedy.unwrap_or_default();
            return Some(format!("--resume goes on from it{remedy}"));
        }
        TrainError::NoViews => {
            "check the dataset with `splatcore info`, its masks, and that --test-every does not \
             hold out every view"
        }
        TrainError::NothingHeldOut => {
            "--test-every 8 holds out every eighth photo, or leave --quality-target out"
        }
        TrainError::Batch { .. } => "choose a smaller --batch",
        TrainError::Empty { .. } => {
            "check the poses and the starting points (`splatcore info`), or lower --min-opacity"
        }
        TrainError::Mismatch { what, .. } => match what {
            Difference::Setting(_) => "set it back, or start anew without --resume",
            Difference::Backend => {
                "choose the same one with --backend, or start anew without --resume"
            }
            Difference::Photos => "give the same dataset, or start anew without --resume",
            Difference::Cameras | Difference::Pixels | Difference::Depths => {
                "the dataset has changed since: put it back, or start anew without --resume \
                 (--init goes on from the scene of a run)"
            }
        },
        _ => return None,
    };
    Some(remedy.to_owned())
}

fn of_backend(error: &BackendError) -> Option<String> {
    match error {
        BackendError::OutOfMemory { depends_on, .. }
        | BackendError::Unsupported { depends_on, .. }
        | BackendError::TooLarge { depends_on, .. } => of_choices(depends_on),
        BackendError::Input(_) | BackendError::Photo(_) | BackendError::Device { .. } => None,
    }
}

fn of_data(error: &DataError) -> Option<String> {
    if error.depends_on == Some(Choice::Poses) {
        return Some(pose_first(&error.path));
    }
    error.depends_on.and_then(|choice| of_choices(&[choice]))
}

/// The commands that lead from photos or a video to a scene.
fn pose_first(input: &Path) -> String {
    let plain = match input.is_file() {
        true => input.with_extension(""),
        false => input.components().collect(),
    };
    let posed = match plain.file_name() {
        Some(name) => plain.with_file_name(format!("{}-posed", name.to_string_lossy())),
        None => "posed".into(),
    };
    let [input, posed] = [input, &posed].map(|path| quote(&path.to_string_lossy()));
    format!("type `splatcore poses {input} -o {posed}`, then `splatcore train {posed} -o OUT`")
}

/// What can be done about poses that were not found.
fn of_poses(error: &PosesError) -> Option<String> {
    Some(match error {
        PosesError::Data(error) => return of_data(error),
        PosesError::NoProgram { .. } => {
            "or name one with --colmap PROGRAM or --python PYTHON".to_owned()
        }
        PosesError::Occupied { .. } => "add --overwrite to begin anew, or choose another folder \
            with -o"
            .to_owned(),
        PosesError::Stopped { .. } => "the same command goes on".to_owned(),
        _ => return None,
    })
}

fn of_config(error: &ConfigError) -> Option<String> {
    match error {
        ConfigError::NotAccepted { .. } => {
            Some("`splatcore train --help` lists what is accepted".to_owned())
        }
        _ => None,
    }
}

/// `use this, that, or the other`.
fn of_choices(choices: &[Choice]) -> Option<String> {
    let flags: Vec<&str> = choices.iter().map(|choice| flag(*choice)).collect();
    match flags.as_slice() {
        [] => None,
        [one] => Some(format!("use {one}")),
        [one, other] => Some(format!("use {one} or {other}")),
        [others @ .., last] => Some(format!("use {}, or {last}", others.join(", "))),
    }
}

/// How the command line makes a choice that may help.
fn flag(choice: Choice) -> &'static str {
    match choice {
        Choice::PhotoSize => "smaller photos (--max-size)",
        Choice::ImageSize => "a smaller size (--max-size; for pictures --size)",
        Choice::GaussianCount => "fewer Gaussians (--max-gaussians when training)",
        Choice::ShDegree => "a lower --sh-degree when training",
        Choice::Lens => "photos that are undistorted (--lens undistort)",
        Choice::Depths => "another --depths or --depth-kind, or --depths none",
        Choice::Normals => "another --normals, or --normals none",
        Choice::Sky => "another --sky-masks, or none",
        Choice::Pipeline => "--pipeline auto",
        Choice::GradientStatistic => "--densify-statistic mean",
        Choice::HalfScene => "the full scene: leave out --half-scene",
        Choice::Backend => "--backend cpu",
        Choice::Poses => "`splatcore poses` to find the cameras",
        Choice::CardMemory => "a larger --memory, if the card has more",
        Choice::PhotoFolder => "--images for the name of their folder",
        Choice::Resume => "`splatcore train` with --resume to end the run",
        Choice::StartAnew => "no --resume",
    }
}

/// A setting as it is typed.
pub fn typed(setting: Setting<'_>) -> String {
    match setting.value {
        Some(value) => format!("--{} {value}", setting.key),
        None => format!("--{}", setting.key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remedy(error: impl Into<anyhow::Error>) -> String {
        of(&error.into()).unwrap_or_default()
    }

    fn out_of_memory(depends_on: &'static [Choice]) -> BackendError {
        BackendError::OutOfMemory {
            backend: "cuda",
            buffer: "photos".into(),
            bytes: 9,
            free: Some(3),
            depends_on,
        }
    }

    #[test]
    fn what_helps_is_a_flag() {
        let error = out_of_memory(&[Choice::ImageSize, Choice::GaussianCount, Choice::Pipeline]);
        assert_eq!(
            explained(&error),
            "cuda ran out of memory: photos needs 9 bytes, 3 bytes are free; use a smaller size \
             (--max-size; for pictures --size), fewer Gaussians (--max-gaussians when training), \
             or --pipeline auto"
        );
        assert_eq!(
            remedy(out_of_memory(&[Choice::PhotoSize])),
            "use smaller photos (--max-size)"
        );
        assert_eq!(remedy(out_of_memory(&[])), "");
        let halves = BackendError::Unsupported {
            backend: "cuda",
            what: "gradients of a scene in half precision".into(),
            depends_on: &[Choice::HalfScene],
        };
        assert!(explained(&halves).ends_with("leave out --half-scene"));
        let large = BackendError::TooLarge {
            what: "too large".into(),
            depends_on: &[Choice::GradientStatistic, Choice::Pipeline],
        };
        let wanted = "use --densify-statistic mean or --pipeline auto";
        assert_eq!(remedy(large), wanted);
    }

    #[test]
    fn a_training_is_gone_on_with() {
        let saved = TrainError::Saved {
            step: 3,
            source: out_of_memory(&[Choice::PhotoSize]),
        };
        let line = remedy(saved);
        assert!(line.starts_with("--resume goes on"), "{line}");
        assert_contains!(line, "--max-size");
        let lost = TrainError::Backend(BackendError::Device {
            backend: "cuda",
            message: "the card is gone".into(),
        });
        assert!(remedy(lost).contains("--resume"));
        assert!(remedy(TrainError::NoViews).contains("--test-every"));
        assert!(remedy(TrainError::Empty { step: 1 }).contains("--min-opacity"));
        for (what, flag) in [
            (Difference::Setting("seed".into()), "set it back"),
            (Difference::Backend, "--backend"),
            (Difference::Photos, "the same dataset"),
        ] {
            let error = TrainError::Mismatch {
                what,
                checkpoint: "1".into(),
                now: "2".into(),
            };
            let line = remedy(error);
            assert!(line.contains(flag) && line.contains("--resume"), "{line}");
        }
    }

    #[test]
    fn files_have_remedies_too() {
        let file = || DataError::new(Path::new("file"), "is odd", "look at it");
        assert_eq!(remedy(file()), "");
        for (choice, wanted) in [
            (Choice::PhotoFolder, "--images"),
            (Choice::Resume, "--resume"),
            (Choice::StartAnew, "--resume"),
        ] {
            let error = anyhow::Error::new(file().depending_on(choice)).context("while testing");
            let line = of(&error).unwrap_or_default();
            assert_contains!(line, wanted);
        }
    }
}
