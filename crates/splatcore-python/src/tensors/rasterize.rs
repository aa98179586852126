//! Pixels.

use super::call::Side::{Folded, Is, Named};
use super::call::{Call, Checked, Input, Object, Output, Side, for_float, maybe, maybe_out};
use super::call::{maybe_on, maybe_out_on, run, size};
use super::card::Card;
use super::element::Value;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splatcore::cuda::tensors::rasterize as on_card;
use splatcore::tensors::Real;
use splatcore::tensors::rasterize::{self, Backward, Drawn, Gradients, Lists, Pixels, Steps};

pub const M: Side = Folded("M");
pub const D: Side = Named("D");
pub const I: Side = Folded("I");
pub const PAIRS: Side = Named("n_isects");
pub const TILES: [Side; 3] = [I, Named("tile_height"), Named("tile_width")];

/// Adds the functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(rasterize_fwd, module)?)?;
    module.add_function(wrap_pyfunction!(rasterize_bwd, module)?)?;
    module.add_function(wrap_pyfunction!(rasterize_to_indices_count, module)?)?;
    module.add_function(wrap_pyfunction!(rasterize_to_indices_fill, module)?)
}

/// An image's size and a tile's side.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub width: usize,
    pub height: usize,
    pub tile: usize,
}

impl Sizes {
    /// Refuses what is negative or too large.
    pub fn new(width: i64, height: i64, tile_size: i64) -> PyResult<Self> {
        Ok(Self {
            width: size("width", width)? as usize,
            height: size("height", height)? as usize,
            tile: size("tile_size", tile_size)? as usize,
        })
    }

    /// The shape of images of one value a pixel.
    pub fn image(self) -> [Side; 3] {
        [I, Is(self.height), Is(self.width)]
    }

    /// That of images of so many.
    pub fn channels(self, channels: Side) -> [Side; 4] {
        let [images, height, width] = self.image();
        [images, height, width, channels]
    }
}

/// What all functions here read.
struct ListArguments<'a> {
    means2d: Input<'a>,
    conics: Input<'a>,
    opacities: Input<'a>,
    tile_offsets: Input<'a>,
    flatten_ids: Input<'a>,
}

impl<'a> ListArguments<'a> {
    fn read(
        call: &mut Call,
        [means2d, conics, opacities, tile_offsets, flatten_ids]: [Object<'a, '_>; 5],
    ) -> PyResult<Self> {
        Ok(Self {
            means2d: call.floats("means2d", means2d, &[M, Is(2)])?,
            conics: call.floats("conics", conics, &[M, Is(3)])?,
            opacities: call.floats("opacities", opacities, &[M])?,
            tile_offsets: call.values::<i32>("tile_offsets", tile_offsets, &TILES)?,
            flatten_ids: call.values::<i32>("flatten_ids", flatten_ids, &[PAIRS])?,
        })
    }

    fn on_card(
        &self,
        call: &Call,
        card: &Card,
        sizes: Sizes,
        masks: &Option<Input<'a>>,
        alpha_max: f64,
    ) -> on_card::Raster {
        on_card::Raster {
            means2d: self.means2d.on(card),
            conics: self.conics.on(card),
            opacities: self.opacities.on(card),
            lists: on_card::Lists {
                tile_offsets: self.tile_offsets.on(card),
                flatten_ids: self.flatten_ids.on(card),
                masks: maybe_on(masks, card),
            },
            images: call.side("I"),
            width: sizes.width,
            height: sizes.height,
            tile_size: sizes.tile,
            tile_width: call.side("tile_width"),
            tile_height: call.side("tile_height"),
            alpha_max: alpha_max as f32,
        }
    }

    fn lists<'b, F: Real + Value>(
        &'b self,
        call: &Call,
        checked: &Checked,
        sizes: Sizes,
        alpha_max: f64,
    ) -> Lists<'b, F> {
        Lists {
            images: call.side("I"),
            width: sizes.width,
            height: sizes.height,
            tile_size: sizes.tile,
            tile_width: call.side("tile_width"),
            tile_height: call.side("tile_height"),
            means2d: self.means2d.slice(checked),
            conics: self.conics.slice(checked),
            opacities: self.opacities.slice(checked),
            tile_offsets: self.tile_offsets.slice(checked),
            flatten_ids: self.flatten_ids.slice(checked),
            alpha_max: F::of(alpha_max),
        }
    }
}

/// What pixels are made of.
pub struct ColorArguments<'a> {
    pub colors: Input<'a>,
    pub backgrounds: Option<Input<'a>>,
    pub masks: Option<Input<'a>>,
}

impl<'a> ColorArguments<'a> {
    /// Reads them.
    pub fn read(
        call: &mut Call,
        colors: Object<'a, '_>,
        [backgrounds, masks]: [Option<Object<'a, '_>>; 2],
    ) -> PyResult<Self> {
        Ok(Self {
            colors: call.floats("colors", colors, &[M, D])?,
            backgrounds: call.maybe_floats("backgrounds", backgrounds, &[I, D])?,
            masks: call.maybe_values::<u8>("masks", masks, &TILES)?,
        })
    }

    fn drawn<'b, F: Real + Value>(
        &'b self,
        call: &Call,
        checked: &Checked,
        lists: Lists<'b, F>,
    ) -> Drawn<'b, F> {
        Drawn {
            lists,
            channels: call.side("D"),
            colors: self.colors.slice(checked),
            backgrounds: maybe(&self.backgrounds, checked),
            masks: maybe(&self.masks, checked),
        }
    }

    /// As a card takes them.
    pub fn on_card(&self, call: &Call, card: &Card) -> on_card::Colors {
        on_card::Colors {
            channels: call.side("D"),
            colors: self.colors.on(card),
            backgrounds: maybe_on(&self.backgrounds, card),
        }
    }
}

/// What a forward pass writes.
pub struct ImageOutputs<'a> {
    colors: Output<'a>,
    alphas: Output<'a>,
    last_ids: Output<'a>,
}

impl<'a> ImageOutputs<'a> {
    /// Reads render_colors, render_alphas and last_ids.
    pub fn read(
        call: &mut Call,
        sizes: Sizes,
        [colors, alphas, last_ids]: [Object<'a, '_>; 3],
    ) -> PyResult<Self> {
        Ok(Self {
            colors: call.floats_out("render_colors", colors, &sizes.channels(D))?,
            alphas: call.floats_out("render_alphas", alphas, &sizes.channels(Is(1)))?,
            last_ids: call.values_out::<i32>("last_ids", last_ids, &sizes.image())?,
        })
    }

    /// To be written.
    pub fn slices<F: Real + Value>(&mut self, checked: &Checked) -> Pixels<'_, F> {
        Pixels {
            colors: self.colors.slice(checked),
            alphas: self.alphas.slice(checked),
            last_ids: self.last_ids.slice(checked),
        }
    }

    /// To be written on a card.
    pub fn on_card(&self, card: &Card) -> on_card::Images {
        on_card::Images {
            render_colors: self.colors.on(card),
            render_alphas: self.alphas.on(card),
            last_ids: self.last_ids.on(card),
        }
    }
}

/// Writes images ``[I, H, W, D]``, their alphas ``[I, H, W, 1]`` and where in ``flatten_ids`` each
/// pixel's last splat stands, ``[I, H, W]``.
#[pyfunction]
#[pyo3(signature = (
    means2d, conics, colors, opacities, backgrounds, masks, width, height, tile_size, tile_offsets,
    flatten_ids, alpha_max, render_colors, render_alphas, last_ids, *, stream=0
))]
fn rasterize_fwd(
    py: Python<'_>,
    means2d: Object<'_, '_>,
    conics: Object<'_, '_>,
    colors: Object<'_, '_>,
    opacities: Object<'_, '_>,
    backgrounds: Option<Object<'_, '_>>,
    masks: Option<Object<'_, '_>>,
    width: i64,
    height: i64,
    tile_size: i64,
    tile_offsets: Object<'_, '_>,
    flatten_ids: Object<'_, '_>,
    alpha_max: f64,
    render_colors: Object<'_, '_>,
    render_alphas: Object<'_, '_>,
    last_ids: Object<'_, '_>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let sizes = Sizes::new(width, height, tile_size)?;
    let lists = [means2d, conics, opacities, tile_offsets, flatten_ids];
    let lists = ListArguments::read(&mut call, lists)?;
    let colors = ColorArguments::read(&mut call, colors, [backgrounds, masks])?;
    let images = [render_colors, render_alphas, last_ids];
    let mut images = ImageOutputs::read(&mut call, sizes, images)?;
    if let Some(card) = call.card(stream)? {
        let raster = lists.on_card(&call, &card, sizes, &colors.masks, alpha_max);
        let colors = colors.on_card(&call, &card);
        let out = images.on_card(&card);
        return card.run(py, |on| on_card::forward(on, &raster, &colors, &out));
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let lists = lists.lists(&call, &checked, sizes, alpha_max);
        let drawn = colors.drawn::<F>(&call, &checked, lists);
        let out = images.slices(&checked);
        run(py, &checked, || rasterize::forward(&drawn, out))
    })
}

/// Writes the gradients of splats. That of ``backgrounds`` is the sum over pixels of
/// ``v_render_colors * (1 - render_alphas)``. The CPU does not read ``render_alphas``: it draws
/// again.
#[pyfunction]
#[pyo3(signature = (
    means2d, conics, colors, opacities, backgrounds, masks, width, height, tile_size, tile_offsets,
    flatten_ids, alpha_max, render_alphas, last_ids, v_render_colors, v_render_alphas, v_means2d,
    v_means2d_abs, v_conics, v_colors, v_opacities, *, stream=0
))]
fn rasterize_bwd(
    py: Python<'_>,
    means2d: Object<'_, '_>,
    conics: Object<'_, '_>,
    colors: Object<'_, '_>,
    opacities: Object<'_, '_>,
    backgrounds: Option<Object<'_, '_>>,
    masks: Option<Object<'_, '_>>,
    width: i64,
    height: i64,
    tile_size: i64,
    tile_offsets: Object<'_, '_>,
    flatten_ids: Object<'_, '_>,
    alpha_max: f64,
    render_alphas: Object<'_, '_>,
    last_ids: Object<'_, '_>,
    v_render_colors: Object<'_, '_>,
    v_render_alphas: Option<Object<'_, '_>>,
    v_means2d: Object<'_, '_>,
    v_means2d_abs: Option<Object<'_, '_>>,
    v_conics: Object<'_, '_>,
    v_colors: Object<'_, '_>,
    v_opacities: Object<'_, '_>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let sizes = Sizes::new(width, height, tile_size)?;
    let lists = [means2d, conics, opacities, tile_offsets, flatten_ids];
    let lists = ListArguments::read(&mut call, lists)?;
    let colors = ColorArguments::read(&mut call, colors, [backgrounds, masks])?;
    let alphas = call.floats("render_alphas", render_alphas, &sizes.channels(Is(1)))?;
    let last_ids = call.values::<i32>("last_ids", last_ids, &sizes.image())?;
    let v_images = call.floats("v_render_colors", v_render_colors, &sizes.channels(D))?;
    let v_alphas = call.maybe_floats("v_render_alphas", v_render_alphas, &sizes.channels(Is(1)))?;
    let mut v_means2d = call.floats_out("v_means2d", v_means2d, &[M, Is(2)])?;
    let mut v_abs = call.maybe_floats_out("v_means2d_abs", v_means2d_abs, &[M, Is(2)])?;
    let mut v_conics = call.floats_out("v_conics", v_conics, &[M, Is(3)])?;
    let mut v_colors = call.floats_out("v_colors", v_colors, &[M, D])?;
    let mut v_opacities = call.floats_out("v_opacities", v_opacities, &[M])?;
    if let Some(card) = call.card(stream)? {
        let raster = lists.on_card(&call, &card, sizes, &colors.masks, alpha_max);
        let colors = colors.on_card(&call, &card);
        let input = on_card::ImageGradients {
            render_alphas: alphas.on(&card),
            last_ids: last_ids.on(&card),
            v_render_colors: v_images.on(&card),
            v_render_alphas: maybe_on(&v_alphas, &card),
        };
        let out = on_card::SplatGradients {
            v_means2d: v_means2d.on(&card),
            v_means2d_abs: maybe_out_on(&v_abs, &card),
            v_conics: v_conics.on(&card),
            v_colors: v_colors.on(&card),
            v_opacities: v_opacities.on(&card),
        };
        return card.run(py, |on| {
            on_card::backward(on, &raster, &colors, &input, &out)
        });
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let lists = lists.lists(&call, &checked, sizes, alpha_max);
        let drawn = colors.drawn::<F>(&call, &checked, lists);
        let input = Backward {
            last_ids: last_ids.slice(&checked),
            v_colors: v_images.slice(&checked),
            v_alphas: maybe(&v_alphas, &checked),
        };
        let out = Gradients {
            v_means2d: v_means2d.slice(&checked),
            v_means2d_abs: maybe_out(&mut v_abs, &checked),
            v_conics: v_conics.slice(&checked),
            v_colors: v_colors.slice(&checked),
            v_opacities: v_opacities.slice(&checked),
        };
        run(py, &checked, || rasterize::backward(&drawn, &input, out))
    })
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
        let range = on_card::IndexRange {
            range_start: size("range_start", range_start)? as usize,
            range_end: size("range_end", range_end)? as usize,
            transmittances: light.on(&card),
        };
        let counts = counts.on(&card);
        return card.run(py, |on| on_card::count_indices(on, &raster, &range, counts));
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let lists = lists.lists::<F>(&call, &checked, sizes, alpha_max);
        let steps = Steps {
            start: size("range_start", range_start)? as usize,
            end: size("range_end", range_end)? as usize,
            transmittances: light.slice(&checked),
        };
        let counts = counts.slice(&checked);
        run(py, &checked, || rasterize::count_indices(&lists, &steps, counts))
    })
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
        let range = on_card::IndexRange {
            range_start: size("range_start", range_start)? as usize,
            range_end: size("range_end", range_end)? as usize,
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
        let steps = Steps {
            start: size("range_start", range_start)? as usize,
            end: size("range_end", range_end)? as usize,
            transmittances: light.slice(&checked),
        };
        let starts = starts.slice(&checked);
        let (ids, pixels) = (gaussian_ids.slice(&checked), pixel_ids.slice(&checked));
        run(py, &checked, || {
            rasterize::fill_indices(&lists, &steps, gaussians, starts, ids, pixels)
        })
    })
}
