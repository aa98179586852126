//! Programs, compiled and loaded.

use crate::device::{Device, DeviceError, Kernel, Program, replaced};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Loaded kernels, shared by all renderers and learners of a backend.
pub struct Kernels {
    device: Arc<dyn Device>,
    loaded: Mutex<HashMap<String, Vec<Kernel>>>,
}

fn name_of(program: &Program) -> String {
    let constants = program
        .constants
        .iter()
        .map(|(name, value)| format!(" {name}={value}"));
    format!("{}{}", program.name(), constants.collect::<String>())
}

impl Kernels {
    /// Nothing loaded yet.
    pub fn new(device: Arc<dyn Device>) -> Self {
        Self {
            device,
            loaded: Mutex::default(),
        }
    }

    /// The kernels of a program, compiled if this is the first time.
    ///
    /// # Errors
    /// If there is no compiler or it refuses; if a file of the user's takes the place of none.
    pub fn get(&self, program: &Program) -> Result<Vec<Kernel>, DeviceError> {
        let name = name_of(program);
        let lock = || self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernels) = lock().get(&name) {
            return Ok(kernels.clone());
        }
        if let Some(folder) = replaced::folder() {
            replaced::files(&folder, program.headers).map_err(DeviceError::Failed)?;
        }
        let kernels = self.device.load(program)?;
        lock().insert(name, kernels.clone());
        Ok(kernels)
    }

    /// Compiles several programs at once, each of them once.
    ///
    /// # Errors
    /// As [`Kernels::get`].
    pub fn prepare(&self, programs: &[Program]) -> Result<(), DeviceError> {
        use rayon::prelude::*;
        let unique: HashMap<String, &Program> = programs
            .iter()
            .map(|program| (name_of(program), program))
            .collect();
        unique
            .into_par_iter()
            .try_for_each(|(_, program)| self.get(program).map(drop))
    }
}
