//! How good a scene is: PSNR and SSIM against photos, and LPIPS if there are weights for it.

mod region;

pub use region::RegionScore;

use crate::lpips::Lpips;
use rayon::prelude::*;
use serde::Serialize;
use splatcore_core::backend::{BackendError, RenderOptions, Renderer};
use splatcore_core::depth::DepthError;
use splatcore_core::spread::in_order;
use splatcore_core::with_depth::render_with_depth;
use splatcore_core::{Image, Region, View, metrics};
use std::sync::OnceLock;

/// The highest PSNR reported, in dB. An image equal to its photo has an infinite one, which JSON
/// cannot hold and which would swallow every other view in the mean; 100 dB is a root mean square
/// error of 1e-5, far below the 8 bits of a photo.
pub const MAX_PSNR: f64 = 100.0;

/// How wrong depths are ([`DepthError`]), in the words of metrics.json.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DepthScore {
    /// Mean of |z - known| / known.
    #[serde(rename = "depth_absolute_relative")]
    pub absolute_relative: f64,
    /// Root of the mean of (z - known)², world units.
    #[serde(rename = "depth_rmse")]
    pub root_mean_square: f64,
}

impl From<DepthError> for DepthScore {
    fn from(error: DepthError) -> Self {
        Self {
            absolute_relative: error.absolute_relative,
            root_mean_square: error.root_mean_square,
        }
    }
}

/// Scores of one view.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ViewScore {
    /// Name of the view.
    pub name: String,
    /// In dB over the pixels that count, at most [`MAX_PSNR`]; 0 if the image is not finite.
    pub psnr: f64,
    /// Structural similarity, at most 1; 0 if the image is not finite.
    pub ssim: f64,
    /// PSNR after the affine transform of colours that fits best (see [`metrics::psnr_aligned`]),
    /// if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub psnr_aligned: Option<f64>,
    /// LPIPS ([`Lpips::distance`]), if asked for: 0 is equal; 1 if the image is not finite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lpips: Option<f64>,
    /// How wrong its depths are, where the photo knows them.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub depth: Option<DepthScore>,
    /// Of the pixels that show a region, if asked for, and if the view shows it.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub region: Option<RegionScore>,
}

/// Scores of a scene. Serialises as `{"psnr","ssim","gaussians","views":[{"name","psnr","ssim"}]}`,
/// with `psnr_aligned` and `lpips` beside each `ssim` if they were asked for,
/// `depth_absolute_relative` and `depth_rmse` where depths are known, and `psnr_region` and
/// `region_share` where a region is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// Mean over the views.
    pub psnr: f64,
    /// Mean over the views.
    pub ssim: f64,
    /// Mean over the views, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub psnr_aligned: Option<f64>,
    /// Mean over the views, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lpips: Option<f64>,
    /// Name of the network that gave `lpips`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lpips_network: Option<&'static str>,
    /// Mean over the views of which depths are known, if there are any.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub depth: Option<DepthScore>,
    /// Mean over the views that show the region that was asked for, if there are any.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub region: Option<RegionScore>,
    /// Gaussians in the scene.
    pub gaussians: usize,
    /// One entry a view, in the order given.
    pub views: Vec<ViewScore>,
}

/// What to measure besides PSNR and SSIM.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras<'a> {
    /// PSNR of images whose colours were fitted to their photos.
    pub align_colour: bool,
    /// LPIPS, with these weights.
    pub lpips: Option<&'a Lpips>,
    /// PSNR of the pixels that show this region.
    pub region: Option<Region>,
}

/// What [`evaluate`] calls for every view: its number among the scored ones, the view, its image,
/// its score.
pub type Each<'a> = &'a (dyn Fn(usize, &View, &Image, &ViewScore) + Sync);

/// Renders every view and scores it. Views of which the mask leaves no pixel are left out. `each`
/// gets every scored view with its image (for a report, or to save it), on the thread that scored
/// it, several at once and in any order.
///
/// Renders one view after the other (a backend uses the whole machine for one) and scores batches
/// of them, one view for each of rayon's current threads, some rows at a time; two images more are
/// held.
///
/// # Errors
/// What the renderer reports, or [`BackendError::Input`] when there is no view to score.
pub fn evaluate(
    renderer: &mut dyn Renderer,
    views: &[View],
    options: &RenderOptions,
    each: Each<'_>,
) -> Result<Evaluation, BackendError> {
    evaluate_with(renderer, views, options, Extras::default(), each)
}

/// As [`evaluate`], with more measures.
///
/// # Errors
/// As [`evaluate`], and a view that is too small for the network of LPIPS.
pub fn evaluate_with(
    renderer: &mut dyn Renderer,
    views: &[View],
    options: &RenderOptions,
    extras: Extras<'_>,
    each: Each<'_>,
) -> Result<Evaluation, BackendError> {
    evaluate_over(&mut [renderer], views, options, extras, each)
}

/// As [`evaluate_with`], with the views spread over several renderers of the same scene.
///
/// # Errors
/// As [`evaluate_with`].
pub fn evaluate_over(
    renderers: &mut [&mut dyn Renderer],
    views: &[View],
    options: &RenderOptions,
    extras: Extras<'_>,
    each: Each<'_>,
) -> Result<Evaluation, BackendError> {
    let scored: Vec<&View> = views
        .iter()
        .filter(|view| view.photo.counted_pixels() > 0)
        .collect();
    let render = |renderer: &mut &mut dyn Renderer, view: &&View| {
        let known = view.photo.depths()?;
        let wanted = known.is_some() || extras.region.is_some();
        let rendered = render_with_depth(*renderer, &view.camera, options, wanted)?;
        let error = known
            .as_ref()
            .and_then(|map| DepthError::of(&rendered, map));
        let geometry = Geometry {
            depth: error,
            region: match extras.region {
                Some(region) => RegionScore::of(&rendered, &*view.held()?, region, MAX_PSNR),
                None => None,
            },
        };
        Ok((rendered.image, geometry))
    };
    // So many images are held at a time.
    let held = rayon::current_num_threads().max(1) * renderers.len().max(1);
    let mut scores: Vec<ViewScore> = Vec::with_capacity(scored.len());
    let mut measured = Vec::with_capacity(scored.len());
    for views in scored.chunks(held) {
        let images: Vec<OnceLock<(Image, Geometry)>> = vec![OnceLock::new(); views.len()];
        let batch = Batch {
            views,
            first: scores.len(),
            images: &images,
            extras,
            each,
        };
        scores.extend(batch.score(renderers, render)?);
        let geometries = images.iter().filter_map(OnceLock::get);
        measured.extend(geometries.map(|(_, geometry)| *geometry));
    }
    if scores.is_empty() {
        return Err(BackendError::Input(
            "no view to evaluate: the split is empty, or its masks leave no pixel".into(),
        ));
    }
    let mean =
        |value: fn(&ViewScore) -> f64| scores.iter().map(value).sum::<f64>() / scores.len() as f64;
    Ok(Evaluation {
        psnr: mean(|s| s.psnr),
        ssim: mean(|s| s.ssim),
        psnr_aligned: extras
            .align_colour
            .then(|| mean(|s| s.psnr_aligned.unwrap_or(0.0))),
        lpips: extras.lpips.map(|_| mean(|s| s.lpips.unwrap_or(1.0))),
        lpips_network: extras.lpips.map(|lpips| lpips.network().name()),
        depth: DepthError::mean(&all(&measured, |g| g.depth)).map(DepthScore::from),
        region: RegionScore::mean(&all(&measured, |g| g.region)),
        gaussians: renderers.first().map_or(0, |renderer| renderer.count()),
        views: scores,
    })
}

/// What was measured of a frame by its depths.
#[derive(Clone, Copy)]
struct Geometry {
    depth: Option<DepthError>,
    region: Option<RegionScore>,
}

fn all<T>(measured: &[Geometry], of: fn(&Geometry) -> Option<T>) -> Vec<T> {
    measured.iter().filter_map(of).collect()
}

/// Views whose images are held at the same time.
struct Batch<'a> {
    views: &'a [&'a View],
    /// The number of the first.
    first: usize,
    /// Each is set once it is rendered.
    images: &'a [OnceLock<(Image, Geometry)>],
    extras: Extras<'a>,
    each: Each<'a>,
}

impl Batch<'_> {
    /// Renders the views. Each is scored while others are still being rendered, but for LPIPS.
    fn score(
        &self,
        renderers: &mut [&mut dyn Renderer],
        render: impl Fn(&mut &mut dyn Renderer, &&View) -> Result<(Image, Geometry), BackendError>
        + Sync,
    ) -> Result<Vec<ViewScore>, BackendError> {
        let found: Vec<OnceLock<_>> = self.views.iter().map(|_| OnceLock::new()).collect();
        let score = |i: usize, lpips: Option<f64>| {
            let _ = found[i].set(self.score_one(i, lpips));
        };
        let score = &score;
        rayon::in_place_scope(|scope| {
            let mut numbers = 0..;
            in_order(renderers, self.views, render, |_, rendered| {
                if let Some(i) = numbers.next() {
                    let _ = self.images[i].set(rendered);
                    if self.extras.lpips.is_none() {
                        scope.spawn(move |_| score(i, None));
                    }
                }
                Ok(())
            })
        })?;
        if let Some(lpips) = self.extras.lpips {
            let distances = self.distances(lpips)?;
            let numbered = distances.into_par_iter().enumerate();
            numbered.for_each(|(i, distance)| score(i, Some(distance)));
        }
        found.into_iter().filter_map(OnceLock::into_inner).collect()
    }

    fn score_one(&self, i: usize, lpips: Option<f64>) -> Result<ViewScore, BackendError> {
        let view = &*self.views[i].held()?;
        let Some((image, geometry)) = self.images[i].get() else {
            return Err(BackendError::Input(format!(
                "view '{}' has no image",
                view.name
            )));
        };
        let found = ViewScore {
            lpips,
            depth: geometry.depth.map(DepthScore::from),
            region: geometry.region,
            ..score(view, image, self.extras.align_colour)?
        };
        (self.each)(self.first + i, view, image, &found);
        Ok(found)
    }

    /// LPIPS of each image. One view after the other: a network's features take much memory, and
    /// it uses all threads for one view.
    fn distances(&self, lpips: &Lpips) -> Result<Vec<f64>, BackendError> {
        let images = self.images.iter().filter_map(OnceLock::get);
        let pairs = self.views.iter().zip(images);
        pairs
            .map(|(view, (image, _))| {
                let score = lpips.score(image, &*view.photo.held()?);
                score.map_err(|error| error.of_view(&view.name))
            })
            .collect()
    }
}

/// PSNR of one image against its view's photo, dB over the pixels that count, at most
/// [`MAX_PSNR`]; 0 if the image is not finite. For many photos: SSIM, which [`score`] also has,
/// takes most of its time.
///
/// # Errors
/// [`BackendError::Input`] when their sizes differ; if the photo is not held and cannot be read.
pub fn psnr(view: &View, image: &Image) -> Result<f64, BackendError> {
    let view = &*view.held()?;
    check_size(view, image)?;
    Ok(decibels(metrics::psnr(image, &view.photo)))
}

/// Scores one image against its view's photo, without LPIPS; with `align_colour` also with its
/// colours fitted to it.
///
/// # Errors
/// As [`psnr`].
pub fn score(view: &View, image: &Image, align_colour: bool) -> Result<ViewScore, BackendError> {
    let view = &*view.held()?;
    let photo = &view.photo;
    let psnr = psnr(view, image)?;
    let parts = (0..metrics::ssim_parts(image)).into_par_iter();
    let parts: Vec<f64> = parts
        .map(|part| metrics::ssim_of_part(image, photo, part))
        .collect();
    let ssim = metrics::ssim_of_parts(parts.into_iter(), photo);
    Ok(ViewScore {
        name: view.name.clone(),
        psnr,
        ssim: if ssim.is_nan() { 0.0 } else { ssim },
        psnr_aligned: align_colour.then(|| decibels(metrics::psnr_aligned(image, photo))),
        lpips: None,
        depth: None,
        region: None,
    })
}

fn check_size(view: &View, image: &Image) -> Result<(), BackendError> {
    let photo = &view.photo;
    let pixels = photo.width as usize * photo.height as usize;
    if (image.width, image.height) != (photo.width, photo.height)
        || image.data.len() != pixels
        || photo.rgb.len() != 3 * pixels
    {
        return Err(BackendError::Input(format!(
            "view '{}': the image is {}x{}, the photo {}x{}; camera and photo must have the same \
             size",
            view.name, image.width, image.height, photo.width, photo.height
        )));
    }
    Ok(())
}

/// A PSNR as it is reported.
fn decibels(psnr: f64) -> f64 {
    match psnr.is_nan() {
        true => 0.0,
        false => psnr.min(MAX_PSNR),
    }
}
