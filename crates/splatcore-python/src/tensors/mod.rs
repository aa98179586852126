//! The module `splatcore._splatcore.tensors`: functions on torch tensors and NumPy arrays, of which
//! `splatcore.compat` is made. They take outputs as arguments, fill them wholly and return nothing.
//!
//! | question | file |
//! | --- | --- |
//! | how a tensor's memory is found | `view.rs` |
//! | what torch's table for native code says of a tensor | `exchange.rs` |
//! | of which types values are | `element.rs` |
//! | which shapes and types fit each other, what may be written | `call.rs` |
//! | which functions do the work of several in one call | `fused.rs` |
//! | what a function computes on the CPU | `splatcore-tensors`, the file of its name |
//! | which lenses and shutters have cameras | `cameras.rs` |
//! | how a card is found for CUDA tensors, and its stream | `card.rs` |
//! | what a function computes there | `splatcore-cuda`, `tensors/` |

mod call;
mod cameras;
mod card;
mod element;
mod exchange;
mod fused;
mod harmonics;
mod indices;
mod intersect;
mod losses;
mod optimise;
mod projection;
mod quat_scale;
mod rasterize;
mod rows;
mod view;

use pyo3::prelude::*;

/// Adds the module to `parent`.
pub fn add(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = parent.py();
    let module = PyModule::new(py, "splatcore._splatcore.tensors")?;
    quat_scale::add(&module)?;
    cameras::add(&module)?;
    projection::add(&module)?;
    harmonics::add(&module)?;
    intersect::add(&module)?;
    rasterize::add(&module)?;
    indices::add(&module)?;
    fused::add(&module)?;
    rows::add(&module)?;
    optimise::add(&module)?;
    losses::add(&module)?;
    parent.add("tensors", &module)?;
    // So that it can be imported by its full name, though its parent is no package.
    let loaded = py.import("sys")?.getattr("modules")?;
    loaded.set_item("splatcore._splatcore.tensors", module)
}
