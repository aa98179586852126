//! How well the finished scene shows the photos that it was trained on.

use super::Trainer;
use crate::error::TrainError;
use crate::evaluate::{self, MAX_PSNR, RegionScore};
use rayon::prelude::*;
use splatcore_core::backend::{BackendError, RenderOptions, Rendered};
use splatcore_core::colour::{Look, cameras_of};
use splatcore_core::image::to_bytes;
use splatcore_core::with_depth::render_with_depth;
use splatcore_core::{Camera, Region, View};
use std::sync::Arc;

/// What sides may be divided by, and how many photos are then rendered and compared in the time of
/// a step at most.
const DIVISORS: [(u32, usize); 3] = [(1, 1), (2, 2), (4, 4)];
/// The shortest side that shows whether a photo is out of line: larger photos are divided, as a
/// card takes a step in less time than the processor a large photo.
const ENOUGH: u32 = 270;
/// No side gets shorter than this.
const MIN_SIDE: u32 = 32;
/// Photos are taken in the order of the multiples of this, but for their whole part: the first few
/// are from everywhere.
const STRIDE: f64 = 0.618_033_988_749_895;

/// How well the scene shows photos.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Residuals {
    /// Each side of photos and renders was divided by this.
    pub reduced_by: u32,
    /// Photos that were looked at, by their places among [`Trainer::views`], and their PSNR in dB.
    pub psnr: Vec<(usize, f64)>,
}

impl Residuals {
    /// The share of the run's time in which photos are looked at, at most.
    pub const SHARE: f64 = 0.02;
    /// So many photos are looked at in any run.
    pub const FEWEST: usize = 4;
}

/// What one photo is compared by.
struct Compared<'a> {
    reduced_by: u32,
    look: Option<Look>,
    options: &'a RenderOptions,
    region: Option<Region>,
}

impl Trainer {
    /// PSNR of photos that were trained on, with what was learned of their cameras and colours; of
    /// a run with a region in the region alone. All photos are looked at unless they are many for
    /// the steps of the run, at a size at which that takes little of its time. A run with a budget
    /// looks at photos for [`Residuals::SHARE`] of its time, but at [`Residuals::FEWEST`].
    ///
    /// # Errors
    /// What the backend reports.
    pub fn residuals(&mut self) -> Result<Residuals, TrainError> {
        let views = Arc::clone(&self.views);
        let (cameras, colours) = (self.cameras(), self.colours()?);
        let takers = cameras_of(views.iter());
        let steps = f64::from(self.step) * f64::from(self.config().batch.views);
        let all = spread(self.order.order.iter().map(|&view| view as usize).collect());
        let smallest = all.iter().map(|&view| shortest(&cameras[view])).min();
        let (reduced_by, count) = extent(steps, all.len(), smallest.unwrap_or(1));
        let region = self.region();
        let limit = self.config().budget.as_ref();
        let limit = limit.map(|budget| Residuals::SHARE * budget.time.seconds());
        let now = Arc::clone(&self.now);
        let (renderer, options) = self.renderer()?;
        let options = RenderOptions {
            // What was trained at the photos' size would be blurred at a smaller one.
            antialias: options.antialias || reduced_by > 1,
            ..options
        };
        let mut psnr = Vec::with_capacity(count);
        let until = limit.map(|seconds| now() + seconds);
        for some in all[..count].chunks(rayon::current_num_threads().max(1)) {
            if psnr.len() >= Residuals::FEWEST && until.is_some_and(|until| now() >= until) {
                break;
            }
            let render = |&view: &usize| {
                let camera = cameras[view].reduced(reduced_by);
                let rendered = render_with_depth(renderer, &camera, &options, region.is_some())?;
                Ok((view, rendered))
            };
            let rendered: Vec<_> = some
                .iter()
                .map(render)
                .collect::<Result<_, BackendError>>()?;
            let compare = |(view, rendered)| {
                let look = (colours.model).map(|of| Look::of(of, &colours, view, takers[view]));
                let by = Compared {
                    reduced_by,
                    look,
                    options: &options,
                    region,
                };
                Ok(by.psnr(&views[view], rendered)?.map(|psnr| (view, psnr)))
            };
            let found = rendered.into_par_iter().map(compare);
            let found: Vec<_> = found.collect::<Result<_, BackendError>>()?;
            psnr.extend(found.into_iter().flatten());
        }
        psnr.sort_by_key(|(view, _)| *view);
        Ok(Residuals { reduced_by, psnr })
    }
}

impl Compared<'_> {
    /// `None` where no pixel counts.
    fn psnr(&self, view: &View, mut rendered: Rendered) -> Result<Option<f64>, BackendError> {
        let mut photo = view.photo.held()?.reduced(self.reduced_by);
        let mut behind = self.options.background;
        if let Some(look) = &self.look {
            rendered.image = look.image(&rendered.image);
            behind = look.entry().of_colour(look.factors(), behind);
        }
        if photo.alpha.is_some() {
            photo = photo.on(to_bytes(behind));
        }
        if photo.counted_pixels() == 0 {
            return Ok(None);
        }
        let small = View {
            name: view.name.clone(),
            camera: view.camera.reduced(self.reduced_by),
            photo,
        };
        Ok(match self.region {
            None => Some(evaluate::psnr(&small, &rendered.image)?),
            Some(region) => {
                RegionScore::of(&rendered, &small, region, MAX_PSNR).map(|score| score.psnr)
            }
        })
    }
}

fn shortest(camera: &Camera) -> u32 {
    camera.width.min(camera.height)
}

/// By what to divide the sides of so many photos, and at how many to look, in a run of so many
/// steps; `side` is the shortest of all photos.
fn extent(steps: f64, photos: usize, side: u32) -> (u32, usize) {
    let first = DIVISORS.iter().position(|(by, _)| side <= by * ENOUGH);
    let first = first.unwrap_or(DIVISORS.len() - 1);
    let fits = |&(by, _): &(u32, usize)| by == 1 || side >= by * MIN_SIDE;
    let possible = DIVISORS[first..].iter().copied().filter(fits);
    let mut possible =
        possible.map(|(by, speed)| (by, (Residuals::SHARE * steps) as usize * speed));
    let most = possible.clone().next_back().unwrap_or((1, 0));
    let (by, count) = possible.find(|(_, count)| *count >= photos).unwrap_or(most);
    (by, photos.min(count.max(Residuals::FEWEST)))
}

/// The same, so that each beginning of it is spread over all.
fn spread(mut all: Vec<usize>) -> Vec<usize> {
    all.sort_by(|&a, &b| {
        let place = |view: usize| (view as f64 * STRIDE).fract();
        place(a).total_cmp(&place(b))
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_time_is_spent() {
        // All at full size, at a half of it, then some.
        assert_eq!(extent(7000.0, 140, 270), (1, 140));
        assert_eq!(extent(7000.0, 280, 270), (2, 280));
        assert_eq!(extent(1000.0, 300, 270), (4, 80));
        assert_eq!(extent(7000.0, 140, 1080), (4, 140));
        assert_eq!(extent(1000.0, 300, 4000), (4, 80));
        // Small photos stay large enough; a few are looked at in any run.
        assert_eq!(extent(1000.0, 300, 63), (1, 20));
        assert_eq!(extent(60.0, 300, 48), (1, 4));
        assert_eq!(extent(0.0, 3, 48), (1, 3));
    }

    #[test]
    fn the_first_few_are_from_everywhere() {
        let all = spread((0..100).collect());
        let mut some = all[..10].to_vec();
        some.sort_unstable();
        let gaps = some.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(gaps.max().unwrap() <= 15, "{some:?}");
        let mut back = all;
        back.sort_unstable();
        assert_eq!(back, (0..100).collect::<Vec<_>>());
    }
}
