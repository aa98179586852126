//! Which splats count at which pixel.

use super::call::Side::{Is, Named};
use super::call::{Call, Object, Output, for_float, run, size};
use super::rasterize::{ListArguments, Sizes};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splatcore::cuda::tensors::rasterize as on_card;
use splatcore::tensors::rasterize::{self, Steps};

/// Adds the functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(rasterize_to_indices_count, module)?)?;
    module.add_function(wrap_pyfunction!(rasterize_to_indices_fill, module)?)
}

/// Writes how many fragments each pixel has, ``[I * H * W]``, in the steps of ``tile_size ** 2``
/// splats of a tile from ``range_start`` to before ``range_end``.
#[pyfunction]
#[pyo3(signature = (
    range_start, range_end, transmittances, means2d, conics, opacities, width, height, tile_size,
    tile_offsets, flatten_ids, alpha_max, counts, *, stream=0
))]
fn rasterize_to_indices_count(
    py: Python<'_>,
    range_start: i64,
    range_end: i64,
    transmittances: Object<'_, '_>,
    means2d: Object<'_, '_>,
    conics: Object<'_, '_>,
    opacities: Object<'_, '_>,
    width: i64,
    height: i64,
    tile_size: i64,
    tile_offsets: Object<'_, '_>,
    flatten_ids: Object<'_, '_>,
    alpha_max: f64,
    counts: Object<'_, '_>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let sizes = Sizes::new(width, height, tile_size)?;
    let lists = [means2d, conics, opacities, tile_offsets, flatten_ids];
    let lists = ListArguments::read(&mut call, lists)?;
    let light = call.floats("transmittances", transmittances, &sizes.image())?;
    let pixels = pixels(&call, sizes)?;
    let mut counts: Output<'_> = call.values_out::<i32>("counts", counts, &[Is(pixels)])?;
    if let Some(card) = call.card(stream)? {
        let raster = lists.on_card(&call, &card, sizes, &None, alpha_max);
        let [range_start, range_end] = steps(range_start, range_end)?;
        let range = on_card::IndexRange {
            range_start,
            range_end,
            transmittances: light.on(&card),
        };
        let counts = counts.on(&card);
        return card.run(py, |on| on_card::count_indices(on, &raster, &range, counts));
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let lists = lists.lists::<F>(&call, &checked, sizes, alpha_max);
        let [start, end] = steps(range_start, range_end)?;
        let steps = Steps {
            start,
            end,
            transmittances: light.slice(&checked),
        };
        let counts = counts.slice(&checked);
        run(py, &checked, || rasterize::count_indices(&lists, &steps, counts))
    })
}

/// The first step of a tile's splats, and the one behind the last.
fn steps(range_start: i64, range_end: i64) -> PyResult<[usize; 2]> {
    Ok([
        size("range_start", range_start)? as usize,
        size("range_end", range_end)? as usize,
    ])
}

/// How many pixels all images have.
fn pixels(call: &Call, sizes: Sizes) -> PyResult<usize> {
    let area = sizes.width.checked_mul(sizes.height);
    let all = area.and_then(|area| area.checked_mul(call.side("I")));
    all.ok_or_else(|| PyValueError::new_err("width and height must fit into memory"))
}

/// Writes the fragments that ``rasterize_to_indices_count`` counted, pixel by pixel and front to
/// back: Gaussian and pixel. ``starts`` is the exclusive cumulative sum of the counts.
#[pyfunction]
#[pyo3(signature = (
    range_start, range_end, transmittances, means2d, conics, opacities, width, height, tile_size,
    tile_offsets, flatten_ids, alpha_max, starts, gaussian_ids, pixel_ids, *, stream=0
))]
fn rasterize_to_indices_fill(
    py: Python<'_>,
    range_start: i64,
    range_end: i64,
    transmittances: Object<'_, '_>,
    means2d: Object<'_, '_>,
    conics: Object<'_, '_>,
    opacities: Object<'_, '_>,
    width: i64,
    height: i64,
    tile_size: i64,
    tile_offsets: Object<'_, '_>,
    flatten_ids: Object<'_, '_>,
    alpha_max: f64,
    starts: Object<'_, '_>,
    gaussian_ids: Object<'_, '_>,
    pixel_ids: Object<'_, '_>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let sizes = Sizes::new(width, height, tile_size)?;
    let lists = [means2d, conics, opacities, tile_offsets, flatten_ids];
    let lists = ListArguments::read(&mut call, lists)?;
    let light = call.floats("transmittances", transmittances, &sizes.image())?;
    let pixels = pixels(&call, sizes)?;
    let starts = call.values::<i64>("starts", starts, &[Is(pixels)])?;
    let found = Named("fragments");
    let mut gaussian_ids = call.values_out::<i64>("gaussian_ids", gaussian_ids, &[found])?;
    let mut pixel_ids = call.values_out::<i64>("pixel_ids", pixel_ids, &[found])?;
    if let Some(card) = call.card(stream)? {
        let raster = lists.on_card(&call, &card, sizes, &None, alpha_max);
        let [range_start, range_end] = steps(range_start, range_end)?;
        let range = on_card::IndexRange {
            range_start,
            range_end,
            transmittances: light.on(&card),
        };
        let out = on_card::Indices {
            starts: starts.on(&card),
            gaussian_ids: gaussian_ids.on(&card),
            pixel_ids: pixel_ids.on(&card),
        };
        return card.run(py, |on| on_card::fill_indices(on, &raster, &range, &out));
    }
    let (checked, float) = call.check()?;
    let gaussians = call.side("M") / call.side("I").max(1);
    for_float!(float, F => {
        let lists = lists.lists::<F>(&call, &checked, sizes, alpha_max);
        let [start, end] = steps(range_start, range_end)?;
        let steps = Steps {
            start,
            end,
            transmittances: light.slice(&checked),
        };
        let starts = starts.slice(&checked);
        let (ids, pixels) = (gaussian_ids.slice(&checked), pixel_ids.slice(&checked));
        run(py, &checked, || {
            rasterize::fill_indices(&lists, &steps, gaussians, starts, ids, pixels)
        })
    })
}
