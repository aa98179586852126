//! Settings of a run from keyword arguments: those of the command `train`, with `_` for `-`.

use crate::dataset::{Dataset, background_of};
use crate::errors;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use splatcore::train::config::ConfigError;
use splatcore::train::{Config, ResolvedConfig};
use std::path::Path;
use toml::{Table, Value};

/// The settings that keyword arguments give, those of the dataset among them.
///
/// # Errors
/// A setting that there is not, or a value that it does not take; settings that contradict each
/// other or the dataset.
pub fn resolved(
    dataset: &Dataset,
    preset: Option<&str>,
    iterations: Option<u32>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<ResolvedConfig> {
    let mut table = Table::new();
    if let Some(preset) = preset {
        table.insert("preset".into(), preset.into());
    }
    if let Some(iterations) = iterations {
        table.insert("iterations".into(), i64::from(iterations).into());
    }
    for (key, value) in settings.into_iter().flatten() {
        let key: String = key.extract()?;
        if key == "eval_every" {
            return Err(PyTypeError::new_err(
                "eval_every is for the command line; measure in callback=, or when the run is done",
            ));
        }
        if key == "quality_target" {
            return Err(PyTypeError::new_err(
                "quality_target is for the command line; measure in callback=, which can end the \
                 run",
            ));
        }
        let name = key.replace('_', "-");
        match value.is_none() {
            true => check_known(&name)?,
            false => drop(table.insert(name, value_of(&key, &value)?)),
        }
    }
    let given = Config::from_toml(&table.to_string(), Path::new("train"))
        .map_err(|error| errors::config(&error))?;
    agree(&given, &dataset.given)?;
    ResolvedConfig::from_layers(None, &given.over(&dataset.given))
        .map_err(|error| errors::config(&error))
}

/// Refuses the name of no setting, whose value cannot tell.
fn check_known(name: &str) -> PyResult<()> {
    let probe = Table::from_iter([(name.to_owned(), Value::from(0))]);
    match Config::from_toml(&probe.to_string(), Path::new("train")) {
        // Any other error is of the value.
        Err(error @ ConfigError::File { .. }) => Err(errors::config(&error)),
        _ => Ok(()),
    }
}

/// Refuses a value that differs from what the dataset was loaded with.
fn agree(given: &Config, loaded: &Config) -> PyResult<()> {
    fn differs<T: PartialEq>(given: &Option<T>, loaded: &Option<T>) -> bool {
        given.is_some() && loaded.is_some() && given != loaded
    }
    let name = match () {
        _ if differs(&given.max_size, &loaded.max_size) => "max_size",
        _ if differs(&given.test_every, &loaded.test_every) => "test_every",
        _ if differs(&given.background, &loaded.background) => "background",
        _ if differs(&given.seed, &loaded.seed) => "seed",
        _ if differs(&given.lens, &loaded.lens) => "lens",
        // The dataset is open, and its cameras moved or did not.
        _ if given.readout_time.is_some() && given.readout_time != loaded.readout_time => {
            "readout_time"
        }
        _ if differs(&given.readout_direction, &loaded.readout_direction) => "readout_direction",
        _ => return Ok(()),
    };
    Err(PyValueError::new_err(format!(
        "{name} is another one than the dataset was loaded with; give it once, to Dataset.load"
    )))
}

/// A value as a file of settings would hold it.
fn value_of(key: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if key == "background" {
        return Ok(background_of(value)?.to_string().into());
    }
    // Of Python or NumPy.
    if let Ok(flag) = value.extract::<bool>() {
        return Ok(flag.into());
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_cow()?.into_owned().into());
    }
    match value.extract::<i64>() {
        Ok(number) => return Ok(number.into()),
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            return Err(PyValueError::new_err(format!(
                "{key} must be an integer from -2**63 to 2**63 - 1, found {value}"
            )));
        }
        Err(_) => {}
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(number.into());
    }
    Err(PyTypeError::new_err(format!(
        "{key} must be a number, a string or a bool, found {}",
        value.get_type().name()?
    )))
}
