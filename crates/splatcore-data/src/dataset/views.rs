//! From entries to views: decode, remove distortion, scale.

use super::as_needed::{Decode, Holding};
use super::depth::{self, DepthOptions, DepthValues, NormalOptions, Unfit};
use super::finding::{self, Finding, others_too};
use super::{Dataset, Entry, Points, photo, resize, undistort};
use crate::{DataError, Place};
use image::imageops::{self, FilterType};
use image::metadata::Orientation;
use image::{GrayImage, RgbImage};
use rayon::prelude::*;
use splatcore_core::depth::DepthMap;
use splatcore_core::{Camera, Lens, Photo, View, panorama};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How photos are loaded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadOptions {
    /// The longer side is at most this many pixels; smaller photos stay as they are.
    pub max_size: Option<u32>,
    /// Straight alpha is composited on this colour, sRGB values from 0 to 1.
    pub background: [f32; 3],
    /// Alpha is kept with the photo, which stands on black then, so that another colour can be put
    /// behind it in every step; `background` is not used. A third more memory for photos with
    /// alpha.
    pub keep_alpha: bool,
    /// Photos stay as they were taken, and their cameras have the lens; otherwise they are
    /// resampled to pinholes, but for those of a rolling shutter. Pixels that the lens cannot have
    /// imaged are masked.
    pub keep_lens: bool,
    /// Also what depth maps know of the photos; `None` for none.
    pub depths: Option<DepthOptions>,
    /// Also what maps of normals know of the photos; `None` for none.
    pub normals: Option<NormalOptions>,
    /// Also which pixels show the sky, by masks in this folder below the dataset's; `None` for
    /// none.
    pub sky_masks: Option<PathBuf>,
    /// Pixels, masks, alpha, depths and normals of all photos take at most so many bytes: where
    /// that is too little, some photos are decoded again whenever they are needed
    /// ([`Photo::elsewhere`]), a few of them ahead. `None` holds all.
    pub memory: Option<u64>,
}

impl Dataset {
    /// Loads the photos of some entries, in that order, on all threads. Each view is a pinhole's
    /// unless lenses are kept: lens distortion is removed by resampling; a pinhole photo that fits
    /// already keeps its pixels as they are. The camera and the mask are scaled with the photo. A
    /// panorama of 360 degrees is several views, one after another and named after what they show:
    /// its parts ([`panorama`]), or the six faces of a cube if lenses are not kept.
    /// `progress` is called with (done, total), from any thread.
    ///
    /// # Errors
    /// The first photo in the given order that cannot be read or decoded, or whose shape
    /// contradicts its camera; how many others there are, and which, is said too. The same of depth
    /// maps and of masks of the sky, if they are asked for; also if there is none, or none that has
    /// a scale.
    ///
    /// # Panics
    /// If an index is not below `entries.len()`.
    pub fn load_views(
        &self,
        indices: &[usize],
        options: &LoadOptions,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Vec<View>, DataError> {
        let (views, unfit) = self.decode(indices, options, progress)?;
        refuse(unfit)?;
        self.check_known(&views, options)?;
        Ok(views)
    }

    /// As [`Dataset::load_views`], but photos are used without maps of depths or normals that have
    /// another shape, unless half of the photos have such a map. Also returns what to say of them.
    ///
    /// # Errors
    /// As [`Dataset::load_views`].
    ///
    /// # Panics
    /// If an index is not below `entries.len()`.
    pub fn load_fitting(
        &self,
        indices: &[usize],
        options: &LoadOptions,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<(Vec<View>, Vec<String>), DataError> {
        let (views, mut unfit) = self.decode(indices, options, progress)?;
        if 2 * unfit.len() >= indices.len() {
            refuse(std::mem::take(&mut unfit))?;
        }
        self.check_known(&views, options)?;
        let findings: Vec<Finding> = unfit.into_iter().map(|map| map.finding).collect();
        Ok((views, finding::lines(&findings)))
    }

    /// The views, and maps that do not fit them.
    fn decode(
        &self,
        indices: &[usize],
        options: &LoadOptions,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Loaded, DataError> {
        if let Some(depths) = &options.depths {
            depth::check(self, depths)?;
        }
        let done = AtomicUsize::new(0);
        let holding = options.memory.map(|limit| {
            let entries = indices.iter().map(|&index| self.entries[index].clone());
            Holding::new(entries.collect(), self.decode_again(options), limit)
        });
        let loaded: Vec<Result<Loaded, DataError>> = indices
            .par_iter()
            .enumerate()
            .map(|(place, &index)| {
                let loaded = load(self, &self.entries[index], options);
                progress(done.fetch_add(1, Ordering::Relaxed) + 1, indices.len());
                let (views, unfit) = loaded?;
                let views = match &holding {
                    Some(holding) => holding.keep(place, views),
                    None => views,
                };
                Ok((views, unfit))
            })
            .collect();
        let views = indices.iter().zip(&loaded);
        let failed = views.filter_map(|(&index, views)| {
            let error = views.as_ref().err()?;
            Some((self.entries[index].name.as_str(), error))
        });
        let others = others_too(&failed.collect::<Vec<_>>());
        let views: Result<Vec<_>, DataError> = loaded.into_iter().collect();
        let views = views.map_err(|mut error| {
            error.remedy.push_str(&others);
            error
        })?;
        let (views, unfit): (Vec<_>, Vec<_>) = views.into_iter().unzip();
        let views = match holding {
            Some(holding) => holding.settle(views),
            None => views.into_iter().flatten().collect(),
        };
        Ok((views, unfit.concat()))
    }

    /// Decodes photos again as these options say.
    fn decode_again(&self, options: &LoadOptions) -> Decode {
        // Depths without a scale get it from the points.
        let scaled = |depths: &DepthOptions| depths.values != DepthValues::Metric;
        let dataset = Self {
            entries: Vec::new(),
            points: match options.depths.as_ref().is_some_and(scaled) {
                true => self.points.clone(),
                false => Points::default(),
            },
            ..self.clone()
        };
        let with_depths = options.clone();
        let without = LoadOptions {
            depths: None,
            normals: None,
            sky_masks: None,
            ..options.clone()
        };
        Box::new(move |entry, depths| {
            let options = if depths { &with_depths } else { &without };
            Ok(load(&dataset, entry, options)?.0)
        })
    }

    /// Refuses views of which nothing is known that was asked for.
    fn check_known(&self, views: &[View], options: &LoadOptions) -> Result<(), DataError> {
        if let Some(normals) = &options.normals {
            depth::check_normals(self, normals, views)?;
        }
        match (&options.depths, &options.sky_masks) {
            (Some(depths), _) if !views.iter().any(knows_depths) => {
                Err(depth::none_found(self, depths))
            }
            (_, Some(folder)) => depth::check_sky(self, folder, views),
            (_, None) => Ok(()),
        }
    }

    /// How many views [`Dataset::load_views`] makes of a photo: one, or of a panorama its parts.
    ///
    /// # Panics
    /// If the index is not below `entries.len()`.
    pub fn view_count(&self, index: usize, options: &LoadOptions) -> usize {
        let camera = &self.entries[index].camera;
        match panorama::is_whole(camera) {
            true => parts(&shrunk(camera.clone(), options.max_size), options).len(),
            false => 1,
        }
    }

    /// The cameras that [`Dataset::load_views`] gives the views of some entries, in its order, from
    /// the headers of the photos alone: decodes no pixel.
    ///
    /// # Errors
    /// The first photo in the given order whose header cannot be read, or whose shape contradicts
    /// its camera.
    ///
    /// # Panics
    /// If an index is not below `entries.len()`.
    pub fn cameras(
        &self,
        indices: &[usize],
        options: &LoadOptions,
    ) -> Result<Vec<Camera>, DataError> {
        let camera = |&index: &usize| {
            let entry = &self.entries[index];
            let (width, height) = photo::size(&entry.image)?;
            let (source, _) = fitted(entry, width, height)?;
            if panorama::is_whole(&source) {
                let parts = parts(&shrunk(source, options.max_size), options);
                return Ok(parts.into_iter().map(|(_, camera)| camera).collect());
            }
            Ok(vec![shrunk(
                view_camera(entry, &source, options)?,
                options.max_size,
            )])
        };
        let cameras: Result<Vec<Vec<Camera>>, DataError> = indices.par_iter().map(camera).collect();
        Ok(cameras?.into_iter().flatten().collect())
    }

    /// Photos that [`Dataset::load_views`] would refuse, as far as headers and ends of the files
    /// tell, a line each: no images, cut short, or of another shape than their cameras; or with
    /// such a mask. Decodes no pixel.
    pub fn unusable_photos(&self) -> Vec<String> {
        let fits = |entry: &Entry| {
            let (width, height) = photo::size(&entry.image)?;
            let (source, _) = fitted(entry, width, height)?;
            photo::check_end(&entry.image)?;
            let mask = entry.mask.as_deref();
            mask.map_or(Ok(()), |mask| {
                photo::check_mask(mask, (source.width, source.height))
            })
        };
        let defect = |entry: &Entry| fits(entry).err().map(|error| error.to_string());
        self.entries.par_iter().filter_map(defect).collect()
    }
}

/// The error of the first of some maps, which names the others.
fn refuse(unfit: Vec<Unfit>) -> Result<(), DataError> {
    let errors = unfit.iter().map(|map| {
        let photo = map.finding.photo.as_deref();
        (photo.unwrap_or_default(), &map.error)
    });
    let others = others_too(&errors.collect::<Vec<_>>());
    let Some(mut first) = unfit.into_iter().next() else {
        return Ok(());
    };
    first.error.remedy.push_str(&others);
    Err(first.error)
}

/// Views, and maps that do not fit them.
type Loaded = (Vec<View>, Vec<Unfit>);

fn knows_depths(view: &View) -> bool {
    view.photo.known_depths().is_some_and(|map| map.known() > 0)
}

fn load(dataset: &Dataset, entry: &Entry, options: &LoadOptions) -> Result<Loaded, DataError> {
    let mut unfit = Vec::new();
    let (mut rgb, mut alpha) = match options.keep_alpha {
        true => photo::decode_with_alpha(&entry.image)?,
        false => (photo::decode(&entry.image, options.background)?, None),
    };
    let (source, turn) = fitted(entry, rgb.width(), rgb.height())?;
    if let Some(turn) = turn {
        rgb = photo::turned(rgb, turn);
        alpha = alpha.map(|alpha| photo::turned(alpha, turn));
    }
    let mask_of = |path| photo::decode_mask(path, rgb.width(), rgb.height());
    let mut mask = entry.mask.as_deref().map(mask_of).transpose()?;
    let sky = match &options.sky_masks {
        Some(folder) => depth::sky_of(dataset, entry, &source, folder)?,
        None => None,
    };
    let depths = match &options.depths {
        Some(depths) => depth::measured(dataset, entry, &source, depths, &mut unfit)?,
        None => None,
    };
    if panorama::is_whole(&source) {
        let pixels = (rgb, alpha, mask);
        let views = load_parts(entry, options, source, pixels, [depths, sky]);
        return Ok((views, unfit));
    }
    let camera = view_camera(entry, &source, options)?;
    if source.lens != camera.lens {
        alpha = alpha.map(|alpha| undistort::undistort(&source, &camera, &alpha, None).0);
        (rgb, mask) = undistort::undistort(&source, &camera, &rgb, mask.as_ref());
    }
    let (camera, (rgb, alpha, mask)) = shrink(camera, (rgb, alpha, mask), options.max_size);
    let mask = undistort::imaged(&camera, mask);
    let mut view = view(entry.name.clone(), camera, (rgb, alpha, mask));
    let guides = options.depths.is_some() || options.normals.is_some();
    if guides || sky.is_some() {
        let loaded = depth::Loaded {
            source: &source,
            view: &view.camera,
            mask: view.photo.mask.as_deref(),
        };
        let known = depths.and_then(|depths| depth::seen(depths, &loaded));
        let known = match &options.normals {
            Some(normals) => {
                depth::with_normals(dataset, entry, &loaded, normals, known, &mut unfit)?
            }
            None => known,
        };
        let known = match sky {
            Some(sky) => depth::with_sky(sky, &loaded, known),
            None => known,
        };
        view.photo.depth = known.map(Arc::new);
    }
    Ok((vec![view], unfit))
}

/// Colours, transparency (in each channel) and mask of a photo.
type Pixels = (RgbImage, Option<RgbImage>, Option<GrayImage>);

/// The views of a panorama, with its depths and its sky.
fn load_parts(
    entry: &Entry,
    options: &LoadOptions,
    whole: Camera,
    pixels: Pixels,
    [depths, sky]: [Option<DepthMap>; 2],
) -> Vec<View> {
    let (source, (rgb, alpha, mask)) = shrink(whole.clone(), pixels, options.max_size);
    let part = |(part, camera): (&str, Camera)| {
        let alpha = alpha.as_ref();
        let alpha = alpha.map(|alpha| undistort::part(&source, &camera, alpha, None).0);
        let (rgb, mask) = undistort::part(&source, &camera, &rgb, mask.as_ref());
        let name = panorama::part_name(&entry.name, part);
        let mut view = view(name, camera, (rgb, alpha, mask));
        let loaded = depth::Loaded {
            source: &whole,
            view: &view.camera,
            mask: view.photo.mask.as_deref(),
        };
        let known = depths.clone().and_then(|map| depth::seen(map, &loaded));
        let known = match sky.clone() {
            Some(sky) => depth::with_sky(sky, &loaded, known),
            None => known,
        };
        view.photo.depth = known.map(Arc::new);
        view
    };
    parts(&source, options).into_iter().map(part).collect()
}

/// The cameras of a panorama's views, and what they show: as it was taken its parts, or the
/// pinholes of a cube.
fn parts(source: &Camera, options: &LoadOptions) -> Vec<(&'static str, Camera)> {
    match panorama::parts(source).filter(|_| options.keep_lens) {
        Some(parts) => panorama::PARTS.into_iter().zip(parts).collect(),
        None => panorama::FACES
            .into_iter()
            .zip(panorama::faces(source))
            .collect(),
    }
}

/// A photo whose longer side is at most `max_size`, and its camera.
fn shrink(camera: Camera, pixels: Pixels, max_size: Option<u32>) -> (Camera, Pixels) {
    let full = (camera.width, camera.height);
    let camera = shrunk(camera, max_size);
    let (width, height) = (camera.width, camera.height);
    if (width, height) == full {
        return (camera, pixels);
    }
    let (rgb, alpha, mask) = pixels;
    let smaller = |photo: &RgbImage| resize::shrink(photo, width, height);
    let pixels = (
        smaller(&rgb),
        alpha.as_ref().map(smaller),
        mask.map(|mask| imageops::resize(&mask, width, height, FilterType::Triangle)),
    );
    (camera, pixels)
}

fn view(name: String, camera: Camera, (rgb, alpha, mask): Pixels) -> View {
    View {
        name,
        photo: Photo {
            width: camera.width,
            height: camera.height,
            rgb: rgb.into_raw(),
            mask: mask.map(|mask| mask.into_raw().iter().map(|&m| (m >= 128) as u8).collect()),
            alpha: alpha.map(|alpha| alpha.pixels().map(|pixel| pixel.0[0]).collect()),
            ..Photo::default()
        },
        camera,
    }
}

/// The camera of a view: the photo's own, or a pinhole if its lens distortion is removed, which it
/// never is of a photo that was read line by line.
fn view_camera(entry: &Entry, source: &Camera, options: &LoadOptions) -> Result<Camera, DataError> {
    // Resampled, pixels would no longer be in the rows in which they were read.
    let keeps = options.keep_lens || source.shutter.is_some();
    match source.lens {
        Lens::Pinhole => Ok(source.clone()),
        lens if !keeps && !lens.has_pinhole_view() => Err(DataError::new(
            &entry.image,
            format!(
                "its lens is {}: no pinhole shows what it shows",
                lens.name()
            ),
            "let photos stay as they were taken, or leave this one out",
        )
        .at(Place::Part(format!("image '{}'", entry.name)))),
        _ if !keeps => Ok(undistort::pinhole_for(source)),
        lens if lens.polynomial().is_some() => Ok(source.clone()),
        lens => Err(DataError::new(
            &entry.image,
            format!(
                "its lens is of the model '{}', through which nothing is rendered",
                lens.name()
            ),
            "let photos be undistorted as they are loaded, or find the cameras again with another \
             model (OPENCV, OPENCV_FISHEYE)",
        )
        .at(Place::Part(format!("image '{}'", entry.name)))),
    }
}

/// The camera of a photo that is scaled.
fn shrunk(camera: Camera, max_size: Option<u32>) -> Camera {
    let (width, height) = scaled(camera.width, camera.height, max_size);
    match (width, height) == (camera.width, camera.height) {
        true => camera,
        false => camera.resized(width, height),
    }
}

/// Size at which the longer side is at most `max_size`: each side times `max_size / longer`,
/// rounded, at least 1.
fn scaled(width: u32, height: u32, max_size: Option<u32>) -> (u32, u32) {
    let longer = width.max(height);
    match max_size {
        Some(max_size) if longer > max_size.max(1) => {
            let share = max_size.max(1) as f64 / longer as f64;
            let side = |side: u32| ((side as f64 * share).round() as u32).max(1);
            (side(width), side(height))
        }
        _ => (width, height),
    }
}

/// The entry's camera at the size of its file, which may be a scaled version of the declared image.
/// If only a quarter turn, which EXIF asks for, makes the shapes agree, what was posed is the
/// turned photo: then also the turn, and the camera has the turned size.
fn fitted(
    entry: &Entry,
    width: u32,
    height: u32,
) -> Result<(Camera, Option<Orientation>), DataError> {
    let camera = &entry.camera;
    let declared = (camera.width, camera.height);
    if (width, height) == declared {
        return Ok((entry.camera.clone(), None));
    }
    if photo::same_shape((width, height), declared) {
        return Ok((entry.camera.resized(width, height), None));
    }
    let turn = match photo::same_shape((height, width), declared) {
        true => photo::quarter_turn(&entry.image),
        false => None,
    };
    if turn.is_some() {
        return Ok((entry.camera.resized(height, width), turn));
    }
    Err(DataError::new(
        &entry.image,
        format!(
            "the photo is {width}x{height} pixels but its camera is {}x{}, which is another shape",
            declared.0, declared.1
        ),
        "use the photos that were posed, or scaled versions of them (rotated or cropped ones do \
         not fit)",
    )
    .at(Place::Part(format!("image '{}'", entry.name))))
}
