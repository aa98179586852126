//! The Python package `splatcore`: scenes, cameras, datasets, rendering and training as Python
//! classes, and the command line in the same module. `python/splatcore` holds what Python adds.
//!
//! | question | file |
//! | --- | --- |
//! | how arrays come in and go out, what is copied | `arrays.rs` |
//! | which exception an error becomes | `errors.rs` |
//! | which threads work, what a fork does to them | `process.rs` |
//! | what a class does | the file of its name |
//! | functions on tensors, for drop-ins | `tensors/` |
//! | how the command line starts itself again | `cli.rs` |
//!
//! Every call that can take long lets go of Python's global lock (`process::detached`), and a
//! panic in it becomes an exception.

mod arrays;
mod camera;
mod cli;
mod dataset;
mod errors;
mod metrics;
mod process;
mod render;
mod rendering;
mod scene;
mod settings;
mod tensors;
mod train;
mod watch;

use pyo3::prelude::*;

#[pymodule]
fn _splatcore(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", py.get_type::<errors::Error>())?;
    module.add(
        "TrainingInterrupted",
        py.get_type::<errors::TrainingInterrupted>(),
    )?;
    module.add_class::<scene::Scene>()?;
    module.add_class::<camera::Camera>()?;
    module.add_class::<render::Renderer>()?;
    module.add_class::<rendering::Rendering>()?;
    module.add_class::<rendering::Gradients>()?;
    module.add_class::<dataset::Dataset>()?;
    module.add_class::<train::TrainedRun>()?;
    module.add_class::<watch::TrainingState>()?;
    module.add_function(wrap_pyfunction!(render::render, module)?)?;
    module.add_function(wrap_pyfunction!(train::train, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::psnr, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::ssim, module)?)?;
    tensors::add(module)?;
    module.add_function(wrap_pyfunction!(cli::command_line, module)?)
}
