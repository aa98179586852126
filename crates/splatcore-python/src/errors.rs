//! Which Python exception an error becomes: [`Error`] for what the libraries report, `ValueError`
//! and `TypeError` for arguments. The messages are the libraries'; a remedy names arguments of
//! Python where the command line names flags.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::prelude::*;
use splatcore::core::{BackendError, Choice};
use splatcore::data::DataError;
use splatcore::train::TrainError;
use splatcore::train::config::ConfigError;

create_exception!(
    splatcore,
    Error,
    PyException,
    "What splatcore reports: a file that cannot be read, a backend that cannot be had, a training \
     run that diverged. One line: what is wrong, where, what to do."
);
create_exception!(
    splatcore,
    TrainingInterrupted,
    PyKeyboardInterrupt,
    "Ctrl-C in the middle of a training run. Its attribute ``run`` is the TrainedRun so far."
);

/// A file's error.
pub fn data(error: &DataError) -> PyErr {
    let choices: Vec<Choice> = error.depends_on.into_iter().collect();
    Error::new_err(with_remedy(error.to_string(), &choices))
}

/// A backend's error.
pub fn backend(error: &BackendError) -> PyErr {
    match error {
        BackendError::Input(message) => PyValueError::new_err(message.clone()),
        other => Error::new_err(of_backend(other)),
    }
}

/// A training run's error.
pub fn training(error: &TrainError) -> PyErr {
    match error {
        TrainError::Backend(error) => backend(error),
        TrainError::Data(error) => data(error),
        TrainError::Config(error) => config(error),
        TrainError::Saved { step, source } => Error::new_err(format!(
            "{}; the state after step {step} is in the checkpoint, resume=True goes on from it",
            of_backend(source)
        )),
        other => Error::new_err(other.to_string()),
    }
}

/// What is wrong with the settings of a run.
pub fn config(error: &ConfigError) -> PyErr {
    let argument = |key: &str| key.replace('-', "_");
    match error {
        // Settings come from keyword arguments, never from a file.
        ConfigError::File {
            problem, remedy, ..
        } => PyTypeError::new_err(
            argument(&format!("{problem}; {remedy}")).replace("key", "setting"),
        ),
        ConfigError::NotAccepted { key, problem, .. } => {
            let key = key.as_deref().map_or("a setting".into(), argument);
            let message = format!("{key}: {problem}");
            match problem.starts_with("invalid type") {
                true => PyTypeError::new_err(message),
                false => PyValueError::new_err(message),
            }
        }
        other => PyValueError::new_err(other.spelled(&|setting| match setting.value {
            Some(value) => format!("{}={value}", argument(setting.key)),
            None => argument(setting.key),
        })),
    }
}

/// A panic: a defect of splatcore, which the interpreter survives.
pub fn panicked(payload: &(dyn std::any::Any + Send)) -> PyErr {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    Error::new_err(format!(
        "internal error: {}; this is a defect of splatcore, please report it",
        text.unwrap_or("a panic without a message")
    ))
}

fn of_backend(error: &BackendError) -> String {
    match error {
        BackendError::OutOfMemory { depends_on, .. }
        | BackendError::Unsupported { depends_on, .. }
        | BackendError::TooLarge { depends_on, .. } => with_remedy(error.to_string(), depends_on),
        BackendError::Input(_) | BackendError::Photo(_) | BackendError::Device { .. } => {
            error.to_string()
        }
    }
}

fn with_remedy(message: String, choices: &[Choice]) -> String {
    let words: Vec<&str> = choices.iter().map(|choice| in_python(*choice)).collect();
    match words.is_empty() {
        true => message,
        false => format!("{message}; use {}", words.join(" or ")),
    }
}

/// How Python makes a choice that may help.
fn in_python(choice: Choice) -> &'static str {
    match choice {
        Choice::PhotoSize => "smaller photos (max_size=)",
        Choice::ImageSize => "a smaller camera (for training max_size=)",
        Choice::GaussianCount => "fewer Gaussians (max_gaussians= when training)",
        Choice::ShDegree => "a lower sh_degree= when training",
        Choice::Lens => "photos that are undistorted (lens=\"undistort\")",
        Choice::Pipeline => "pipeline=\"auto\"",
        Choice::GradientStatistic => "densify_statistic=\"mean\"",
        Choice::HalfScene => "the full scene",
        Choice::Backend => "backend=\"cpu\"",
        Choice::Poses => "the command `splatcore poses` to find the cameras",
        Choice::CardMemory => "a card with more memory",
        Choice::PhotoFolder => "images= for the name of their folder",
        Choice::Resume => "resume=True to end the run",
        Choice::Depths => "depths=\"none\"",
        Choice::Normals => "normals=\"none\"",
        Choice::Sky => "another sky_masks, or none",
        Choice::StartAnew => "resume=False",
    }
}
