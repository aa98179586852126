//! Pixels.

use super::call::Side::{Folded, Is, Named};
use super::call::{Call, Checked, Input, Object, Output, Side, for_float, maybe, maybe_out};
use super::call::{maybe_on, maybe_out_on, run, size};
use super::card::Card;
use super::element::Value;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use splatcore::core::BackendError;
use splatcore::cuda::tensors::OnStream;
use splatcore::cuda::tensors::rasterize::{self as on_card, halves};
use splatcore::tensors::Real;
use splatcore::tensors::rasterize::{self, Backward, Drawn, Gradients, Lists, Pixels};

pub const M: Side = Folded("M");
pub const D: Side = Named("D");
pub const I: Side = Folded("I");
pub const PAIRS: Side = Named("n_isects");
pub const TILES: [Side; 3] = [I, Named("tile_height"), Named("tile_width")];

/// Adds the functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(rasterize_fwd, module)?)?;
    module.add_function(wrap_pyfunction!(rasterize_bwd, module)?)
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

    /// That of channels one behind the other.
    pub fn planes(self) -> [Side; 4] {
        let [images, height, width] = self.image();
        [images, D, height, width]
    }

    /// That of images of so many.
    pub fn channels(self, channels: Side) -> [Side; 4] {
        let [images, height, width] = self.image();
        [images, height, width, channels]
    }
}

/// What all functions here read.
pub struct ListArguments<'a> {
    means2d: Input<'a>,
    conics: Input<'a>,
    opacities: Input<'a>,
    tile_offsets: Input<'a>,
    flatten_ids: Input<'a>,
}

impl<'a> ListArguments<'a> {
    /// Reads them.
    pub fn read(
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

    /// As a card takes them.
    pub fn on_card(
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

    /// As the CPU takes them.
    pub fn lists<'b, F: Real + Value>(
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

/// What a forward pass leaves for the backward pass besides images.
enum Kept<'a> {
    /// Where in ``flatten_ids`` each pixel's last splat stands, ``[I, H, W]``.
    LastIds(Output<'a>),
    /// The colours once more, ``[I, D, H, W]``, of a pass in halves.
    Planes(Option<Output<'a>>),
}

/// What a forward pass writes.
pub struct ImageOutputs<'a> {
    colors: Output<'a>,
    alphas: Output<'a>,
    kept: Kept<'a>,
}

impl<'a> ImageOutputs<'a> {
    /// Reads render_colors, render_alphas and what is kept.
    pub fn read(
        call: &mut Call,
        sizes: Sizes,
        [colors, alphas]: [Object<'a, '_>; 2],
        (kept, halves): (Option<Object<'a, '_>>, bool),
    ) -> PyResult<Self> {
        Ok(Self {
            colors: call.floats_out("render_colors", colors, &sizes.channels(D))?,
            alphas: call.floats_out("render_alphas", alphas, &sizes.channels(Is(1)))?,
            kept: match (halves, kept) {
                (true, _) => Kept::Planes(call.maybe_floats_out("kept", kept, &sizes.planes())?),
                (false, Some(kept)) => {
                    Kept::LastIds(call.values_out::<i32>("kept", kept, &sizes.image())?)
                }
                (false, None) => {
                    let words = "kept must be a tensor without halves, found None";
                    return Err(PyTypeError::new_err(words));
                }
            },
        })
    }

    /// To be written.
    ///
    /// # Errors
    /// `ValueError` for a pass in halves.
    pub fn slices<F: Real + Value>(&mut self, checked: &Checked) -> PyResult<Pixels<'_, F>> {
        let Kept::LastIds(last_ids) = &mut self.kept else {
            return Err(no_halves());
        };
        Ok(Pixels {
            colors: self.colors.slice(checked),
            alphas: self.alphas.slice(checked),
            last_ids: last_ids.slice(checked),
        })
    }

    /// To be written on a card.
    pub fn on_card(&self, card: &Card) -> ImagesOnCard {
        let (render_colors, render_alphas) = (self.colors.on(card), self.alphas.on(card));
        match &self.kept {
            Kept::LastIds(last_ids) => ImagesOnCard::Single(on_card::Images {
                render_colors,
                render_alphas,
                last_ids: last_ids.on(card),
            }),
            Kept::Planes(planes) => ImagesOnCard::Halves(halves::Images {
                render_colors,
                render_alphas,
                planes: maybe_out_on(planes, card),
            }),
        }
    }
}

/// What a card writes, by what it computes in.
pub enum ImagesOnCard {
    /// f32.
    Single(on_card::Images),
    /// Halves, on matrix units.
    Halves(halves::Images),
}

impl ImagesOnCard {
    /// Draws.
    pub fn draw(
        &self,
        on: &OnStream<'_>,
        raster: &on_card::Raster,
        colors: &on_card::Colors,
    ) -> Result<(), BackendError> {
        match self {
            ImagesOnCard::Single(out) => on_card::forward(on, raster, colors, out),
            ImagesOnCard::Halves(out) => halves::forward(on, raster, colors, out),
        }
    }
}

fn no_halves() -> PyErr {
    PyValueError::new_err("halves must be False for tensors on the CPU")
}

fn refuse(halves: bool) -> PyResult<()> {
    if halves { Err(no_halves()) } else { Ok(()) }
}

/// What a backward pass writes.
struct GradientOutputs<'a> {
    means2d: Output<'a>,
    means2d_abs: Option<Output<'a>>,
    conics: Output<'a>,
    colors: Output<'a>,
    opacities: Output<'a>,
}

impl<'a> GradientOutputs<'a> {
    fn read(
        call: &mut Call,
        [means2d, conics, colors, opacities]: [Object<'a, '_>; 4],
        means2d_abs: Option<Object<'a, '_>>,
    ) -> PyResult<Self> {
        Ok(Self {
            means2d: call.floats_out("v_means2d", means2d, &[M, Is(2)])?,
            means2d_abs: call.maybe_floats_out("v_means2d_abs", means2d_abs, &[M, Is(2)])?,
            conics: call.floats_out("v_conics", conics, &[M, Is(3)])?,
            colors: call.floats_out("v_colors", colors, &[M, D])?,
            opacities: call.floats_out("v_opacities", opacities, &[M])?,
        })
    }

    fn on_card(&self, card: &Card) -> on_card::SplatGradients {
        on_card::SplatGradients {
            v_means2d: self.means2d.on(card),
            v_means2d_abs: maybe_out_on(&self.means2d_abs, card),
            v_conics: self.conics.on(card),
            v_colors: self.colors.on(card),
            v_opacities: self.opacities.on(card),
        }
    }

    fn slices<F: Real + Value>(&mut self, checked: &Checked) -> Gradients<'_, F> {
        Gradients {
            v_means2d: self.means2d.slice(checked),
            v_means2d_abs: maybe_out(&mut self.means2d_abs, checked),
            v_conics: self.conics.slice(checked),
            v_colors: self.colors.slice(checked),
            v_opacities: self.opacities.slice(checked),
        }
    }
}

/// Writes images ``[I, H, W, D]``, their alphas ``[I, H, W, 1]`` and ``kept``, where in
/// ``flatten_ids`` each pixel's last splat stands, ``[I, H, W]``. With ``halves`` a card draws
/// three or four channels on its matrix units, for tiles of 16 pixels; ``kept``, which may be None
/// if no gradient is wanted, then is the colours once more, ``[I, D, H, W]``.
#[pyfunction]
#[pyo3(signature = (
    means2d, conics, colors, opacities, backgrounds, masks, width, height, tile_size, tile_offsets,
    flatten_ids, alpha_max, render_colors, render_alphas, kept, halves=false, *, stream=0
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
    kept: Option<Object<'_, '_>>,
    halves: bool,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let sizes = Sizes::new(width, height, tile_size)?;
    let lists = [means2d, conics, opacities, tile_offsets, flatten_ids];
    let lists = ListArguments::read(&mut call, lists)?;
    let colors = ColorArguments::read(&mut call, colors, [backgrounds, masks])?;
    let images = [render_colors, render_alphas];
    let mut images = ImageOutputs::read(&mut call, sizes, images, (kept, halves))?;
    if let Some(card) = call.card(stream)? {
        let raster = lists.on_card(&call, &card, sizes, &colors.masks, alpha_max);
        let colors = colors.on_card(&call, &card);
        let out = images.on_card(&card);
        return card.run(py, |on| out.draw(on, &raster, &colors));
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let lists = lists.lists(&call, &checked, sizes, alpha_max);
        let drawn = colors.drawn::<F>(&call, &checked, lists);
        let out = images.slices(&checked)?;
        run(py, &checked, || rasterize::forward(&drawn, out))
    })
}

/// Writes the gradients of splats. That of ``backgrounds`` is the sum over pixels of
/// ``v_render_colors * (1 - render_alphas)``. The CPU does not read ``render_alphas``: it draws
/// again. ``kept`` and ``halves`` are those of ``rasterize_fwd``; with ``halves`` ``v_means2d_abs``
/// must be None.
#[pyfunction]
#[pyo3(signature = (
    means2d, conics, colors, opacities, backgrounds, masks, width, height, tile_size, tile_offsets,
    flatten_ids, alpha_max, render_alphas, kept, v_render_colors, v_render_alphas, v_means2d,
    v_means2d_abs, v_conics, v_colors, v_opacities, halves=false, *, stream=0
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
    kept: Object<'_, '_>,
    v_render_colors: Object<'_, '_>,
    v_render_alphas: Option<Object<'_, '_>>,
    v_means2d: Object<'_, '_>,
    v_means2d_abs: Option<Object<'_, '_>>,
    v_conics: Object<'_, '_>,
    v_colors: Object<'_, '_>,
    v_opacities: Object<'_, '_>,
    halves: bool,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let sizes = Sizes::new(width, height, tile_size)?;
    let lists = [means2d, conics, opacities, tile_offsets, flatten_ids];
    let lists = ListArguments::read(&mut call, lists)?;
    let colors = ColorArguments::read(&mut call, colors, [backgrounds, masks])?;
    let alphas = call.floats("render_alphas", render_alphas, &sizes.channels(Is(1)))?;
    let kept = match halves {
        true => call.floats("kept", kept, &sizes.planes())?,
        false => call.values::<i32>("kept", kept, &sizes.image())?,
    };
    let v_images = call.floats("v_render_colors", v_render_colors, &sizes.channels(D))?;
    let v_alphas = call.maybe_floats("v_render_alphas", v_render_alphas, &sizes.channels(Is(1)))?;
    let gradients = [v_means2d, v_conics, v_colors, v_opacities];
    let mut gradients = GradientOutputs::read(&mut call, gradients, v_means2d_abs)?;
    if let Some(card) = call.card(stream)? {
        let raster = lists.on_card(&call, &card, sizes, &colors.masks, alpha_max);
        let colors = colors.on_card(&call, &card);
        let (render_alphas, v_render_colors) = (alphas.on(&card), v_images.on(&card));
        let out = gradients.on_card(&card);
        if halves {
            let input = halves::ImageGradients {
                planes: kept.on(&card),
                render_alphas,
                v_render_colors,
                v_render_alphas: maybe_on(&v_alphas, &card),
            };
            return card.run(py, |on| {
                halves::backward(on, &raster, &colors, &input, &out)
            });
        }
        let input = on_card::ImageGradients {
            render_alphas,
            last_ids: kept.on(&card),
            v_render_colors,
            v_render_alphas: maybe_on(&v_alphas, &card),
        };
        return card.run(py, |on| {
            on_card::backward(on, &raster, &colors, &input, &out)
        });
    }
    let (checked, float) = call.check()?;
    refuse(halves)?;
    for_float!(float, F => {
        let lists = lists.lists(&call, &checked, sizes, alpha_max);
        let drawn = colors.drawn::<F>(&call, &checked, lists);
        let input = Backward {
            last_ids: kept.slice(&checked),
            v_colors: v_images.slice(&checked),
            v_alphas: maybe(&v_alphas, &checked),
        };
        let out = gradients.slices(&checked);
        run(py, &checked, || rasterize::backward(&drawn, &input, out))
    })
}
