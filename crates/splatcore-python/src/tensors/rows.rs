//! Which splats are drawn, and rows of packed tensors.

use super::call::Side::{Folded, Is, Named};
use super::call::{Call, Input, Object, Output, for_float, run};
use super::card::Card;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use splatcore::cuda::tensors::rows as on_card;
use splatcore::tensors::{ArgumentError, rows};

/// Adds the functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(list_drawn, module)?)?;
    module.add_function(wrap_pyfunction!(gather_rows, module)?)?;
    module.add_function(wrap_pyfunction!(scatter_rows, module)?)
}

/// Names of the tensors' lengths, which differ.
const LENGTHS: [[&str; 2]; on_card::PARTS] = [
    ["a0", "b0"],
    ["a1", "b1"],
    ["a2", "b2"],
    ["a3", "b3"],
    ["a4", "b4"],
    ["a5", "b5"],
    ["a6", "b6"],
    ["a7", "b7"],
];

/// A tensor and where its rows go.
struct Part<'a> {
    from: Input<'a>,
    to: Output<'a>,
    is_float: bool,
}

struct Parts<'a> {
    call: Call,
    rows: Input<'a>,
    parts: Vec<Part<'a>>,
}

impl<'a> Parts<'a> {
    /// `tensors`: one to read and one to write, in turns; the first `floats` pairs are of floats,
    /// the others int32.
    fn read(
        rows: &'a Bound<'_, PyAny>,
        floats: usize,
        tensors: &'a [Bound<'_, PyAny>],
    ) -> PyResult<Self> {
        let mut call = Call::default();
        let rows = call.values::<i64>("rows", rows, &[Folded("n")])?;
        if !tensors.len().is_multiple_of(2) || tensors.len() > 2 * on_card::PARTS {
            return Err(PyValueError::new_err(format!(
                "tensors must be 0 to {} pairs, found {} tensors",
                on_card::PARTS,
                tensors.len()
            )));
        }
        let mut parts = Vec::with_capacity(on_card::PARTS);
        let pairs = tensors.chunks_exact(2).zip(LENGTHS);
        for (at, (pair, [a, b])) in pairs.enumerate() {
            let (own, other) = ([Folded(a)], [Folded(b)]);
            let is_float = at < floats;
            let (from, to) = match is_float {
                true => (
                    call.floats("from", &pair[0], &own)?,
                    call.floats_out("to", &pair[1], &other)?,
                ),
                false => (
                    call.values::<i32>("from", &pair[0], &own)?,
                    call.values_out::<i32>("to", &pair[1], &other)?,
                ),
            };
            parts.push(Part { from, to, is_float });
        }
        Ok(Self { call, rows, parts })
    }

    fn on_card(&self, card: &Card) -> Vec<on_card::Moved> {
        let moved = |part: &Part<'_>| match part.is_float {
            true => on_card::Moved {
                from: part.from.on::<f32>(card).words(),
                to: part.to.on::<f32>(card).words(),
            },
            false => on_card::Moved {
                from: part.from.on::<i32>(card).words(),
                to: part.to.on::<i32>(card).words(),
            },
        };
        self.parts.iter().map(moved).collect()
    }
}

fn moved(
    rows: &Bound<'_, PyAny>,
    all: usize,
    floats: usize,
    tensors: &Bound<'_, PyTuple>,
    stream: usize,
    scatters: bool,
) -> PyResult<()> {
    let (py, tensors) = (rows.py(), tensors.iter().collect::<Vec<_>>());
    let mut parts = Parts::read(rows, floats, &tensors)?;
    if let Some(card) = parts.call.card(stream)? {
        let (rows, moved) = (parts.rows.on(&card), parts.on_card(&card));
        return card.run(py, |on| match scatters {
            true => on_card::scatter(on, rows, all, &moved),
            false => on_card::gather(on, rows, all, &moved),
        });
    }
    if parts.parts.is_empty() {
        return Ok(());
    }
    let (checked, float) = parts.call.check()?;
    let rows = parts.rows.slice(&checked);
    for_float!(float, F => {
        let mut slices: Vec<Slices<'_, F>> = Vec::with_capacity(on_card::PARTS);
        for Part { from, to, is_float } in &mut parts.parts {
            slices.push(match is_float {
                true => Slices::Floats(from.slice(&checked), to.slice(&checked)),
                false => Slices::Ints(from.slice(&checked), to.slice(&checked)),
            });
        }
        run(py, &checked, || {
            slices.into_iter().try_for_each(|slices| match slices {
                Slices::Floats(from, to) => move_rows(rows, all, from, to, scatters),
                Slices::Ints(from, to) => move_rows(rows, all, from, to, scatters),
            })
        })
    })
}

/// Writes which splats of ``radii`` int32 ``[M, 2]`` are drawn, those whose radii are positive, in
/// ascending order to ``rows`` int64 ``[n]``, and their images, of which each has ``per_image``
/// splats in a row, to ``images`` int64 ``[n]``. Places that are left get 0.
#[pyfunction]
#[pyo3(signature = (radii, per_image, rows, images, *, stream=0))]
fn list_drawn(
    radii: Object<'_, '_>,
    per_image: usize,
    rows: Object<'_, '_>,
    images: Object<'_, '_>,
    stream: usize,
) -> PyResult<()> {
    let (py, mut call) = (radii.py(), Call::default());
    let radii = call.values::<i32>("radii", radii, &[Folded("M"), Is(2)])?;
    let mut rows = call.values_out::<i64>("rows", rows, &[Named("n")])?;
    let mut images = call.values_out::<i64>("images", images, &[Named("n")])?;
    if let Some(card) = call.card(stream)? {
        let (radii, rows, images) = (radii.on(&card), rows.on(&card), images.on(&card));
        return card.run(py, |on| {
            on_card::list_drawn(on, radii, per_image, rows, images)
        });
    }
    let (checked, _) = call.check()?;
    let radii = radii.slice(&checked);
    let (rows, images) = (rows.slice(&checked), images.slice(&checked));
    run(py, &checked, || {
        rows::list_drawn(radii, per_image, rows, images)
    })
}

/// Writes the rows of tensors ``[count, *]`` that ``rows`` ``[n]`` names to packed tensors ``[n,
/// *]``. ``tensors``: one to read and one to write, in turns, at most 8 pairs; the first ``floats``
/// pairs hold floats, the others int32. Each tensor may have any shape with as many values.
#[pyfunction]
#[pyo3(signature = (rows, count, floats, *tensors, stream=0))]
fn gather_rows(
    rows: &Bound<'_, PyAny>,
    count: usize,
    floats: usize,
    tensors: &Bound<'_, PyTuple>,
    stream: usize,
) -> PyResult<()> {
    moved(rows, count, floats, tensors, stream, false)
}

/// As ``gather_rows`` the other way: writes the rows of packed tensors to their places, and zeros
/// to all others.
#[pyfunction]
#[pyo3(signature = (rows, count, floats, *tensors, stream=0))]
fn scatter_rows(
    rows: &Bound<'_, PyAny>,
    count: usize,
    floats: usize,
    tensors: &Bound<'_, PyTuple>,
    stream: usize,
) -> PyResult<()> {
    moved(rows, count, floats, tensors, stream, true)
}

/// The values of a part.
enum Slices<'a, F> {
    Floats(&'a [F], &'a mut [F]),
    Ints(&'a [i32], &'a mut [i32]),
}

/// Moves the rows of one tensor: to the packed one, or back.
fn move_rows<T: Copy + Default + Send + Sync>(
    rows: &[i64],
    all: usize,
    from: &[T],
    to: &mut [T],
    scatters: bool,
) -> splatcore::tensors::Result {
    let other = if scatters { to.len() } else { from.len() };
    if all > 0 && !other.is_multiple_of(all) {
        return Err(ArgumentError {
            argument: "tensors",
            expected: format!("of {all} rows"),
            found: format!("{other} values"),
        });
    }
    let width = other.checked_div(all).unwrap_or(0);
    match scatters {
        true => rows::scatter(rows, width, from, to),
        false => rows::gather(rows, width, from, to),
    }
}
