//! The work of several functions in one call, so that arguments are read once: what lies in front
//! of the number of pairs, which a program needs to make room for them, and what lies behind it.

use super::call::Side::{Folded, Is};
use super::call::{Call, Checked, Input, Object, Output, for_float, run, size};
use super::call::{maybe, maybe_on, maybe_out, maybe_out_on};
use super::cameras::ModelArgument;
use super::card::{Card, exception};
use super::element::Value;
use super::intersect as lists;
use super::projection::{B, C, Limits, N, SceneArguments, SplatOutputs};
use super::rasterize::{ColorArguments, ImageOutputs, M, PAIRS, Sizes, TILES};
use crate::process::detached;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use splatcore::cuda::tensors::{
    projection as project_on_card, rasterize as draw_on_card, tile_pairs,
};
use splatcore::tensors::intersect::{self, Boxes, Reach, Tiles};
use splatcore::tensors::projection::Splats;
use splatcore::tensors::rasterize::{self, Drawn, Lists};
use splatcore::tensors::{Real, projection, rows};
use std::sync::{Mutex, PoisonError};

/// Adds the functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(all_finite, module)?)?;
    module.add_class::<Totals>()?;
    module.add_function(wrap_pyfunction!(splats_fwd, module)?)?;
    module.add_function(wrap_pyfunction!(draw_fwd, module)?)
}

/// Whether all values are finite, of contiguous float tensors on the CPU; False for others. Those
/// that are None are left out.
#[pyfunction]
#[pyo3(signature = (*tensors))]
fn all_finite(py: Python<'_>, tensors: &Bound<'_, PyTuple>) -> PyResult<bool> {
    for tensor in tensors.iter().filter(|tensor| !tensor.is_none()) {
        let mut call = Call::default();
        let Ok(values) = call.floats("a tensor", &tensor, &[Folded("n")]) else {
            return Ok(false);
        };
        let Ok((checked, float)) = call.check() else {
            return Ok(false);
        };
        let finite = for_float!(float, F => {
            let values = values.slice::<F>(&checked);
            // A sum is finite if all are, unless it overflows: then every value is looked at.
            let look = || {
                let sum: F = values.iter().copied().sum();
                sum.is_finite() || values.iter().all(|value| value.is_finite())
            };
            match values.len() < 1 << 16 {
                true => look(),
                false => detached(py, || Ok(look()))?,
            }
        });
        if !finite {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The tiles of images of this size.
fn tiles_of(images: usize, [width, height]: [u32; 2], tile_size: i64) -> PyResult<Tiles> {
    let side = size("tile_size", tile_size)?.max(1);
    let [columns, rows] = [width, height].map(|length| i64::from(length.div_ceil(side)));
    lists::tiles(images, tile_size, columns, rows)
}

/// Splats in space, and what is written of their images.
struct SplatsArguments<'a> {
    scene: SceneArguments<'a>,
    sizes: [u32; 2],
    eps2d: f64,
    camera_model: ModelArgument,
    limits: Limits<'a>,
    opacities: Option<Input<'a>>,
    cameras: usize,
    tiles: Tiles,
    exact_tiles: bool,
    out: SplatOutputs<'a>,
    counts: Output<'a>,
    order: Option<Output<'a>>,
}

impl SplatsArguments<'_> {
    fn on_card(&self, py: Python<'_>, call: &Call, card: &Card) -> PyResult<tile_pairs::Totals> {
        let model = self.camera_model.on_card()?;
        let scene = self
            .scene
            .on_card(call, card, self.sizes, self.eps2d, model)?;
        let opacities = maybe_on(&self.opacities, card);
        let culling = self.limits.on_card(opacities)?;
        let (out, counts) = (self.out.on_card(card), self.counts.on(card));
        let tiles = lists::on_card(&self.tiles);
        let reach = opacities.map(|opacities| tile_pairs::Reach {
            conics: out.conics,
            opacities,
            cameras: self.cameras,
            factors: out.compensations,
        });
        let splats = tile_pairs::Splats {
            means2d: out.means2d,
            radii: out.radii,
            reach: reach.filter(|_| self.exact_tiles),
        };
        let order = maybe_out_on(&self.order, card).map(tile_pairs::Order::halves);
        card.run(py, |on| {
            project_on_card::forward(on, &scene, &culling, &out)?;
            let totals = tile_pairs::count_and_sum(on, &tiles, &splats, counts)?;
            if let Some(order) = order {
                let touched = tile_pairs::Touched::Counts(counts);
                tile_pairs::order(on, out.depths, touched, &order)?;
            }
            Ok(totals)
        })
    }

    /// Returns the numbers of pairs and of drawn splats.
    fn on_cpu<F: Real + Value>(
        &mut self,
        py: Python<'_>,
        call: &Call,
        checked: &Checked,
    ) -> PyResult<(u64, u64)> {
        let model = self.camera_model.on_cpu()?;
        let scene = self
            .scene
            .scene::<F>(call, checked, self.sizes, self.eps2d, model)?;
        let culling = self.limits.culling::<F>()?;
        let opacities = maybe(&self.opacities, checked);
        let splats = self.out.slices::<F>(checked);
        let counts = self.counts.slice(checked);
        let order = maybe_out::<i32>(&mut self.order, checked);
        let (tiles, cameras, exact_tiles) = (&self.tiles, self.cameras, self.exact_tiles);
        let mut drawn = 0;
        run(py, checked, || {
            let Splats {
                radii,
                means2d,
                depths,
                conics,
                mut compensations,
            } = splats;
            let part = Splats {
                radii: &mut *radii,
                means2d: &mut *means2d,
                depths: &mut *depths,
                conics: &mut *conics,
                compensations: compensations.as_deref_mut(),
            };
            projection::forward(&scene, opacities, &culling, part)?;
            let reach = opacities.map(|opacities| Reach {
                conics,
                opacities,
                cameras,
                factors: compensations.as_deref(),
            });
            drawn = rows::count_drawn(radii);
            let boxes = Boxes {
                means2d,
                radii,
                reach: reach.filter(|_| exact_tiles),
            };
            intersect::count(tiles, &boxes, counts)?;
            let Some(order) = order else {
                return Ok(());
            };
            let (order, sums) = order.split_at_mut(counts.len());
            intersect::order(depths, counts, order, sums)
        })?;
        let pairs = counts.iter().map(|&count| u64::from(count.max(0) as u32));
        Ok((pairs.sum(), drawn as u64))
    }
}

/// The numbers of pairs of tile and splat and of drawn splats, on their way from a card.
#[pyclass(frozen, module = "splatcore._splatcore.tensors")]
struct Totals(Mutex<Option<tile_pairs::Totals>>);

#[pymethods]
impl Totals {
    /// Waits for the numbers, but not for what was put into the stream since. To be called once.
    fn wait(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let totals = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(totals) = totals else {
            let words = "the numbers were read before; keep them";
            return Err(PyValueError::new_err(words));
        };
        let waited = detached(py, || totals.wait().map_err(exception))?;
        Ok((waited.pairs, waited.drawn))
    }
}

/// The numbers of pairs of tile and splat and of drawn splats.
#[derive(IntoPyObject)]
enum Counted {
    Known((u64, u64)),
    OnTheirWay(Totals),
}

/// ``projection_fwd`` and ``intersect_count``, with conics and opacities (times compensations) if
/// ``exact_tiles``. Returns the numbers of pairs of tile and splat and of splats whose radii are
/// positive, or what waits for them on a card. ``order``, int32 ``[2, B * C * N]``, gets the splats
/// in the order of their depths, those without tiles last, and inclusive sums of the numbers of
/// their tiles in that order.
#[pyfunction]
#[pyo3(signature = (
    means, covars, quats, scales, opacities, viewmats, Ks, width, height, eps2d, near_plane,
    far_plane, radius_clip, camera_model, radius_rule, tile_size, exact_tiles, radii, means2d,
    depths, conics, compensations, tiles_per_gauss, order=None, *, stream=0
))]
#[expect(non_snake_case, reason = "gsplat's name")]
fn splats_fwd(
    py: Python<'_>,
    means: Object<'_, '_>,
    covars: Option<Object<'_, '_>>,
    quats: Option<Object<'_, '_>>,
    scales: Option<Object<'_, '_>>,
    opacities: Option<Object<'_, '_>>,
    viewmats: Object<'_, '_>,
    Ks: Object<'_, '_>,
    width: i64,
    height: i64,
    eps2d: f64,
    near_plane: f64,
    far_plane: f64,
    radius_clip: f64,
    camera_model: ModelArgument,
    radius_rule: &str,
    tile_size: i64,
    exact_tiles: bool,
    radii: Object<'_, '_>,
    means2d: Object<'_, '_>,
    depths: Object<'_, '_>,
    conics: Object<'_, '_>,
    compensations: Option<Object<'_, '_>>,
    tiles_per_gauss: Object<'_, '_>,
    order: Option<Object<'_, '_>>,
    stream: usize,
) -> PyResult<Counted> {
    let mut call = Call::default();
    let sizes = [size("width", width)?, size("height", height)?];
    let scene = SceneArguments::read(&mut call, [means, viewmats, Ks], [covars, quats, scales])?;
    let cameras = call.side("C");
    let images = call.side("B") * cameras;
    let order_sides = [Is(2), Is(images * call.side("N"))];
    let tiles = tiles_of(images, sizes, tile_size)?;
    let splats = [radii, means2d, depths, conics];
    let mut arguments = SplatsArguments {
        scene,
        sizes,
        eps2d,
        camera_model,
        limits: Limits {
            near_plane,
            far_plane,
            radius_clip,
            radius_rule,
        },
        opacities: call.maybe_floats("opacities", opacities, &[B, N])?,
        cameras,
        tiles,
        exact_tiles,
        out: SplatOutputs::read(&mut call, splats, compensations)?,
        counts: call.values_out::<i32>("tiles_per_gauss", tiles_per_gauss, &[B, C, N])?,
        order: call.maybe_values_out::<i32>("order", order, &order_sides)?,
    };
    if let Some(card) = call.card(stream)? {
        let totals = arguments.on_card(py, &call, &card)?;
        return Ok(Counted::OnTheirWay(Totals(Mutex::new(Some(totals)))));
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => arguments.on_cpu::<F>(py, &call, &checked).map(Counted::Known))
}

/// Splats in images, and what is written of them.
struct DrawArguments<'a> {
    means2d: Input<'a>,
    radii: Input<'a>,
    depths: Input<'a>,
    conics: Input<'a>,
    opacities: Input<'a>,
    exact_tiles: bool,
    colors: ColorArguments<'a>,
    image_ids: Option<Input<'a>>,
    counts: Input<'a>,
    order: Option<Input<'a>>,
    isect_ids: Output<'a>,
    flatten_ids: Output<'a>,
    offsets: Output<'a>,
    images: ImageOutputs<'a>,
}

impl DrawArguments<'_> {
    fn on_card(
        &self,
        py: Python<'_>,
        call: &Call,
        card: &Card,
        (tiles, sizes, alpha_max): (&Tiles, Sizes, f64),
    ) -> PyResult<()> {
        let tiles = lists::on_card(tiles);
        let reach = tile_pairs::Reach {
            conics: self.conics.on(card),
            opacities: self.opacities.on(card),
            cameras: 0,
            factors: None,
        };
        let pairs = tile_pairs::Pairs {
            splats: tile_pairs::Splats {
                means2d: self.means2d.on(card),
                radii: self.radii.on(card),
                reach: self.exact_tiles.then_some(reach),
            },
            depths: self.depths.on(card),
            image_ids: maybe_on(&self.image_ids, card),
            touched: tile_pairs::Touched::Counts(self.counts.on(card)),
            sort: true,
            order: maybe_on(&self.order, card).map(tile_pairs::Order::halves),
        };
        let lists = tile_pairs::PairsOut {
            isect_ids: self.isect_ids.on(card),
            flatten_ids: self.flatten_ids.on(card),
        };
        let offsets = self.offsets.on(card);
        let raster = draw_on_card::Raster {
            means2d: self.means2d.on(card),
            conics: self.conics.on(card),
            opacities: self.opacities.on(card),
            lists: draw_on_card::Lists {
                tile_offsets: offsets,
                flatten_ids: lists.flatten_ids,
                masks: None,
            },
            images: tiles.images,
            width: sizes.width,
            height: sizes.height,
            tile_size: sizes.tile,
            tile_width: tiles.width,
            tile_height: tiles.height,
            alpha_max: alpha_max as f32,
        };
        let colors = self.colors.on_card(call, card);
        let out = self.images.on_card(card);
        card.run(py, |on| {
            tile_pairs::fill(on, &tiles, &pairs, &lists)?;
            tile_pairs::offsets(on, &tiles, lists.isect_ids, offsets)?;
            out.draw(on, &raster, &colors)
        })
    }

    fn on_cpu<F: Real + Value>(
        &mut self,
        py: Python<'_>,
        call: &Call,
        checked: &Checked,
        (tiles, sizes, alpha_max): (&Tiles, Sizes, f64),
    ) -> PyResult<()> {
        let ends: Vec<i64> = running_sum(self.counts.slice(checked));
        let (conics, opacities) = (self.conics.slice(checked), self.opacities.slice(checked));
        let reach = Reach {
            conics,
            opacities,
            cameras: 0,
            factors: None,
        };
        let splats = intersect::Splats::<F> {
            boxes: Boxes {
                means2d: self.means2d.slice(checked),
                radii: self.radii.slice(checked),
                reach: self.exact_tiles.then_some(reach),
            },
            depths: self.depths.slice(checked),
            image_ids: maybe(&self.image_ids, checked),
            ends: &ends,
        };
        let ids = self.isect_ids.slice(checked);
        let flatten_ids = self.flatten_ids.slice(checked);
        let offsets = self.offsets.slice(checked);
        let channels = call.side("D");
        let colors = self.colors.colors.slice(checked);
        let backgrounds = maybe(&self.colors.backgrounds, checked);
        let out = self.images.slices(checked)?;
        run(py, checked, || {
            intersect::fill(tiles, &splats, true, ids, flatten_ids)?;
            intersect::offsets(tiles, ids, offsets)?;
            let lists = Lists {
                images: tiles.images,
                width: sizes.width,
                height: sizes.height,
                tile_size: sizes.tile,
                tile_width: tiles.width as usize,
                tile_height: tiles.height as usize,
                means2d: splats.boxes.means2d,
                conics,
                opacities,
                tile_offsets: offsets,
                flatten_ids,
                alpha_max: F::of(alpha_max),
            };
            let drawn = Drawn {
                lists,
                channels,
                colors,
                backgrounds,
                masks: None,
            };
            rasterize::forward(&drawn, out)
        })
    }
}

/// The inclusive cumulative sum.
fn running_sum(counts: &[i32]) -> Vec<i64> {
    let mut end = 0;
    let ends = counts.iter().map(|&count| {
        end += i64::from(count);
        end
    });
    ends.collect()
}

/// ``intersect_fill`` with ``sort``, ``intersect_offset`` and ``rasterize_fwd``.
/// ``tiles_per_gauss`` and ``order`` are what ``splats_fwd`` wrote with the same ``exact_tiles``.
/// Without ``order`` a card finds that order here; the CPU takes none. ``kept`` and ``halves`` are
/// as in ``rasterize_fwd``.
#[pyfunction]
#[pyo3(signature = (
    means2d, radii, depths, conics, colors, opacities, backgrounds, image_ids, tiles_per_gauss,
    width, height, tile_size, alpha_max, exact_tiles, isect_ids, flatten_ids, offsets,
    render_colors, render_alphas, kept, order=None, halves=false, *, stream=0
))]
fn draw_fwd(
    py: Python<'_>,
    means2d: Object<'_, '_>,
    radii: Object<'_, '_>,
    depths: Object<'_, '_>,
    conics: Object<'_, '_>,
    colors: Object<'_, '_>,
    opacities: Object<'_, '_>,
    backgrounds: Option<Object<'_, '_>>,
    image_ids: Option<Object<'_, '_>>,
    tiles_per_gauss: Object<'_, '_>,
    width: i64,
    height: i64,
    tile_size: i64,
    alpha_max: f64,
    exact_tiles: bool,
    isect_ids: Object<'_, '_>,
    flatten_ids: Object<'_, '_>,
    offsets: Object<'_, '_>,
    render_colors: Object<'_, '_>,
    render_alphas: Object<'_, '_>,
    kept: Option<Object<'_, '_>>,
    order: Option<Object<'_, '_>>,
    halves: bool,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let sizes = Sizes::new(width, height, tile_size)?;
    let mut draw = DrawArguments {
        means2d: call.floats("means2d", means2d, &[M, Is(2)])?,
        radii: call.values::<i32>("radii", radii, &[M, Is(2)])?,
        depths: call.floats("depths", depths, &[M])?,
        conics: call.floats("conics", conics, &[M, Is(3)])?,
        opacities: call.floats("opacities", opacities, &[M])?,
        exact_tiles,
        image_ids: call.maybe_values::<i64>("image_ids", image_ids, &[M])?,
        counts: call.values::<i32>("tiles_per_gauss", tiles_per_gauss, &[M])?,
        order: {
            let sides = [Is(2), Is(call.side("M"))];
            call.maybe_values::<i32>("order", order, &sides)?
        },
        isect_ids: call.values_out::<i64>("isect_ids", isect_ids, &[PAIRS])?,
        flatten_ids: call.values_out::<i32>("flatten_ids", flatten_ids, &[PAIRS])?,
        offsets: call.values_out::<i32>("offsets", offsets, &TILES)?,
        colors: ColorArguments::read(&mut call, colors, [backgrounds, None])?,
        images: {
            let images = [render_colors, render_alphas];
            ImageOutputs::read(&mut call, sizes, images, (kept, halves))?
        },
    };
    let [columns, rows] = ["tile_width", "tile_height"].map(|side| call.side(side) as i64);
    let tiles = lists::tiles(call.side("I"), tile_size, columns, rows)?;
    let how = (&tiles, sizes, alpha_max);
    if let Some(card) = call.card(stream)? {
        return draw.on_card(py, &call, &card, how);
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => draw.on_cpu::<F>(py, &call, &checked, how))
}
