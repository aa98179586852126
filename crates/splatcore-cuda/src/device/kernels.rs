//! Programs, compiled and loaded.

use crate::device::{Device, DeviceError, Kernel, Program, Replacements, Tuned};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Loaded kernels, shared by all renderers and learners of a backend.
pub struct Kernels {
    device: Arc<dyn Device>,
    /// Or why they cannot be had, which the first program that is asked for tells.
    replacements: Result<Replacements, String>,
    loaded: Mutex<Loaded>,
}

#[derive(Default)]
struct Loaded {
    kernels: HashMap<String, Vec<Kernel>>,
    programs: Vec<Program>,
}

fn name_of(program: &Program) -> String {
    let constants = program
        .constants
        .iter()
        .map(|(name, value)| format!(" {name}={value}"));
    format!("{}{}", program.name(), constants.collect::<String>())
}

impl Kernels {
    /// Nothing loaded yet, of the built-in files.
    pub fn new(device: Arc<dyn Device>) -> Self {
        Self::replaced(device, Ok(Replacements::default()))
    }

    /// Nothing loaded yet, with other texts in the place of files; an error is told by
    /// [`Kernels::get`].
    pub fn replaced(device: Arc<dyn Device>, replacements: Result<Replacements, String>) -> Self {
        Self {
            device,
            replacements,
            loaded: Mutex::default(),
        }
    }

    /// The device that they run on.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// What takes the place of built-in files.
    ///
    /// # Errors
    /// If it cannot be had.
    pub fn replacements(&self) -> Result<&Replacements, &str> {
        self.replacements.as_ref().map_err(String::as_str)
    }

    /// The kernels of a program, compiled if this is the first time.
    ///
    /// # Errors
    /// If there is no compiler or it refuses; if a file of the user's takes the place of none.
    pub fn get(&self, program: &Program) -> Result<Vec<Kernel>, DeviceError> {
        let name = name_of(program);
        let lock = || self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernels) = lock().kernels.get(&name) {
            return Ok(kernels.clone());
        }
        let replacements = self.replacements.clone().map_err(DeviceError::Failed)?;
        let program = program.clone().replaced(replacements);
        let kernels = self.device.load(&program)?;
        let mut loaded = lock();
        if loaded.kernels.insert(name, kernels.clone()).is_none() {
            loaded.programs.push(program);
        }
        Ok(kernels)
    }

    /// The programs that were asked for so far, each once, in the order in which they were loaded.
    pub fn loaded(&self) -> Vec<Program> {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.programs.clone()
    }

    /// The values of a program's tunables, without compiling it. For a few calls: they are kept for
    /// the life of the process.
    ///
    /// # Errors
    /// If its text declares them wrongly, or a file of the user's takes the place of none.
    pub fn tuned(&self, program: Program) -> Result<Tuned, DeviceError> {
        let replacements = self.replacements.clone().map_err(DeviceError::Failed)?;
        Tuned::of(&program.replaced(replacements)).map_err(DeviceError::Failed)
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
