//! Tile lists.

use super::call::Side::{Folded, Is, Named};
use super::call::{Call, Checked, Input, Object, Side, for_float, maybe, maybe_on, run, size};
use super::card::Card;
use super::element::Value;
use pyo3::prelude::*;
use splatcore::cuda::tensors::tile_pairs;
use splatcore::tensors::Real;
use splatcore::tensors::intersect::{self, Boxes, Reach, Splats, Tiles};

const M: Side = Folded("M");
const PAIRS: Side = Named("total");

/// Adds the functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(intersect_count, module)?)?;
    module.add_function(wrap_pyfunction!(intersect_fill, module)?)?;
    module.add_function(wrap_pyfunction!(intersect_offset, module)?)
}

/// How images are cut into tiles.
pub fn tiles(images: usize, side: i64, width: i64, height: i64) -> PyResult<Tiles> {
    Ok(Tiles {
        images,
        size: size("tile_size", side)?,
        width: size("tile_width", width)?,
        height: size("tile_height", height)?,
    })
}

/// The same on a card.
pub fn on_card(tiles: &Tiles) -> tile_pairs::Tiles {
    tile_pairs::Tiles {
        images: tiles.images,
        size: tiles.size as usize,
        width: tiles.width as usize,
        height: tiles.height as usize,
    }
}

/// Splats and their boxes, and with conics and opacities what they reach.
struct BoxArguments<'a> {
    means2d: Input<'a>,
    radii: Input<'a>,
    shape: Option<[Input<'a>; 2]>,
}

impl<'a> BoxArguments<'a> {
    fn read(
        call: &mut Call,
        [means2d, radii]: [Object<'a, '_>; 2],
        [conics, opacities]: [Option<Object<'a, '_>>; 2],
    ) -> PyResult<Self> {
        let means2d = call.floats("means2d", means2d, &[M, Is(2)])?;
        let radii = call.values::<i32>("radii", radii, &[M, Is(2)])?;
        let conics = call.maybe_floats("conics", conics, &[M, Is(3)])?;
        let opacities = call.maybe_floats("opacities", opacities, &[M])?;
        let shape = conics.zip(opacities).map(<[_; 2]>::from);
        Ok(Self {
            means2d,
            radii,
            shape,
        })
    }

    fn on_card(&self, card: &Card) -> tile_pairs::Splats {
        tile_pairs::Splats {
            means2d: self.means2d.on(card),
            radii: self.radii.on(card),
            reach: self
                .shape
                .as_ref()
                .map(|[conics, opacities]| tile_pairs::Reach {
                    conics: conics.on(card),
                    opacities: opacities.on(card),
                    cameras: 0,
                    factors: None,
                }),
        }
    }

    fn boxes<'b, F: Real + Value>(&'b self, checked: &'b Checked) -> Boxes<'b, F> {
        Boxes {
            means2d: self.means2d.slice(checked),
            radii: self.radii.slice(checked),
            reach: self.shape.as_ref().map(|[conics, opacities]| Reach {
                conics: conics.slice(checked),
                opacities: opacities.slice(checked),
                cameras: 0,
                factors: None,
            }),
        }
    }
}

/// Writes how many tiles each splat touches, ``[M]``: all of its box or, with ``conics`` and
/// ``opacities``, those where it may count at some pixel.
#[pyfunction]
#[pyo3(signature = (
    means2d, radii, tile_size, tile_width, tile_height, tiles_per_gauss, conics=None,
    opacities=None, *, stream=0
))]
fn intersect_count(
    py: Python<'_>,
    means2d: Object<'_, '_>,
    radii: Object<'_, '_>,
    tile_size: i64,
    tile_width: i64,
    tile_height: i64,
    tiles_per_gauss: Object<'_, '_>,
    conics: Option<Object<'_, '_>>,
    opacities: Option<Object<'_, '_>>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let splats = BoxArguments::read(&mut call, [means2d, radii], [conics, opacities])?;
    let mut counts = call.values_out::<i32>("tiles_per_gauss", tiles_per_gauss, &[M])?;
    if let Some(card) = call.card(stream)? {
        let tiles = on_card(&tiles(1, tile_size, tile_width, tile_height)?);
        let splats = splats.on_card(&card);
        let counts = counts.on(&card);
        return card.run(py, |on| tile_pairs::count(on, &tiles, &splats, counts));
    }
    let (checked, float) = call.check()?;
    let tiles = tiles(1, tile_size, tile_width, tile_height)?;
    for_float!(float, F => {
        let boxes = splats.boxes::<F>(&checked);
        let counts = counts.slice(&checked);
        run(py, &checked, || intersect::count(&tiles, &boxes, counts))
    })
}

/// Writes the ids of all pairs of tile and splat, and their splats, each ``[total]``. ``ends`` is
/// the inclusive cumulative sum of what ``intersect_count`` wrote for the same ``conics`` and
/// ``opacities``.
#[pyfunction]
#[pyo3(signature = (
    means2d, radii, depths, image_ids, I, tile_size, tile_width, tile_height, ends, sort,
    isect_ids, flatten_ids, conics=None, opacities=None, *, stream=0
))]
#[expect(non_snake_case, reason = "gsplat's name")]
fn intersect_fill(
    py: Python<'_>,
    means2d: Object<'_, '_>,
    radii: Object<'_, '_>,
    depths: Object<'_, '_>,
    image_ids: Option<Object<'_, '_>>,
    I: i64,
    tile_size: i64,
    tile_width: i64,
    tile_height: i64,
    ends: Object<'_, '_>,
    sort: bool,
    isect_ids: Object<'_, '_>,
    flatten_ids: Object<'_, '_>,
    conics: Option<Object<'_, '_>>,
    opacities: Option<Object<'_, '_>>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let boxes = BoxArguments::read(&mut call, [means2d, radii], [conics, opacities])?;
    let depths = call.floats("depths", depths, &[M])?;
    let image_ids = call.maybe_values::<i64>("image_ids", image_ids, &[M])?;
    let ends = call.values::<i64>("ends", ends, &[M])?;
    let mut isect_ids = call.values_out::<i64>("isect_ids", isect_ids, &[PAIRS])?;
    let mut flatten_ids = call.values_out::<i32>("flatten_ids", flatten_ids, &[PAIRS])?;
    if let Some(card) = call.card(stream)? {
        let images = size("I", I)? as usize;
        let tiles = on_card(&tiles(images, tile_size, tile_width, tile_height)?);
        let pairs = tile_pairs::Pairs {
            splats: boxes.on_card(&card),
            depths: depths.on(&card),
            image_ids: maybe_on(&image_ids, &card),
            touched: tile_pairs::Touched::Ends(ends.on(&card)),
            sort,
            order: None,
        };
        let out = tile_pairs::PairsOut {
            isect_ids: isect_ids.on(&card),
            flatten_ids: flatten_ids.on(&card),
        };
        return card.run(py, |on| tile_pairs::fill(on, &tiles, &pairs, &out));
    }
    let (checked, float) = call.check()?;
    let tiles = tiles(size("I", I)? as usize, tile_size, tile_width, tile_height)?;
    for_float!(float, F => {
        let splats = Splats::<F> {
            boxes: boxes.boxes(&checked),
            depths: depths.slice(&checked),
            image_ids: maybe(&image_ids, &checked),
            ends: ends.slice(&checked),
        };
        let (ids, flat) = (isect_ids.slice(&checked), flatten_ids.slice(&checked));
        run(py, &checked, || intersect::fill(&tiles, &splats, sort, ids, flat))
    })
}

/// Writes where each tile's pairs begin in sorted ids, ``[I, tile_height, tile_width]``.
#[pyfunction]
#[pyo3(signature = (isect_ids, I, tile_width, tile_height, offsets, *, stream=0))]
#[expect(non_snake_case, reason = "gsplat's name")]
fn intersect_offset(
    py: Python<'_>,
    isect_ids: Object<'_, '_>,
    I: i64,
    tile_width: i64,
    tile_height: i64,
    offsets: Object<'_, '_>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let isect_ids = call.values::<i64>("isect_ids", isect_ids, &[PAIRS])?;
    let tiles = tiles(size("I", I)? as usize, 1, tile_width, tile_height)?;
    call.bind("I", tiles.images);
    let [rows, columns] = [tiles.height, tiles.width].map(|side| Is(side as usize));
    let sides = [Folded("I"), rows, columns];
    let mut offsets = call.values_out::<i32>("offsets", offsets, &sides)?;
    if let Some(card) = call.card(stream)? {
        let (tiles, ids) = (on_card(&tiles), isect_ids.on(&card));
        let offsets = offsets.on(&card);
        return card.run(py, |on| tile_pairs::offsets(on, &tiles, ids, offsets));
    }
    let (checked, _) = call.check()?;
    let (ids, offsets) = (isect_ids.slice(&checked), offsets.slice(&checked));
    run(py, &checked, || intersect::offsets(&tiles, ids, offsets))
}
