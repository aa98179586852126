//! Says how good the poses are, and what to photograph again.

mod geometry;
mod ranges;

use crate::PosesError;
use geometry::Shape;
use serde::Serialize;
use splatcore_data::DataError;
use splatcore_data::dataset::colmap::{self, ColmapImage, Observations};
use std::collections::BTreeMap;
use std::path::Path;

/// Below this share of the photos, poses are not worth training on.
const HALF: f64 = 0.5;
/// Below this share, something is worth saying.
const MAX: f64 = 0.9;
/// A mean reprojection error above this, in pixels, is worth saying something. COLMAP's results
/// on sharp photos are mostly below 1.
const LARGE_ERROR: f64 = 1.5;
/// A photo with fewer points than this share of the median has few.
const FEW: f64 = 0.2;
/// So many names are listed.
const LISTED: usize = 10;

/// What was found. Serialised as the command's JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Photos that were given.
    pub photos: usize,
    /// Photos with a pose.
    pub registered: usize,
    /// Mean reprojection error of the points, in pixels of the photos.
    pub mean_error: f64,
    /// Number of points.
    pub points: u64,
    /// How many photos show a point, on average.
    pub observations_per_point: f64,
    /// How many points a photo with a pose shows, on average.
    pub observations_per_photo: f64,
    /// How many cameras (focal length and lens) the photos have.
    pub cameras: usize,
    /// Number of photos of each model that the mapper made, the largest first. The dataset holds
    /// the first.
    pub models: Vec<usize>,
    /// Photos without a pose, in order.
    pub unregistered: Vec<String>,
    /// Photos with a pose that show few points: name and number, in order.
    pub few_points: Vec<(String, u64)>,
    /// Whether the poses are worth training on: at least half of the photos have one.
    pub usable: bool,
    /// What is not as it should be, and what to do about it; a line each.
    pub advice: Vec<String>,
}

/// What a model says of its photos.
pub struct Found {
    /// The photos with a pose.
    pub images: Vec<ColmapImage>,
    /// How well it fits them.
    pub seen: Observations,
    /// Number of cameras.
    pub cameras: usize,
}

impl Found {
    /// Reads the model in a folder (`cameras.bin`, `images.bin`, `points3D.bin`).
    ///
    /// # Errors
    /// A file of the model cannot be read.
    pub fn read(model: &Path) -> Result<Self, PosesError> {
        let file = |name: &str| {
            let path = model.join(name);
            let bytes = std::fs::read(&path).map_err(|e| DataError::read(&path, &e));
            bytes.map(|bytes| (bytes, path))
        };
        let (bytes, path) = file("cameras.bin")?;
        let cameras = colmap::parse_cameras_bin(&bytes, &path)?;
        let (bytes, path) = file("images.bin")?;
        let images = colmap::parse_images_bin(&bytes, &path)?;
        let (bytes, path) = file("points3D.bin")?;
        let seen = colmap::parse_observations_bin(&bytes, &path)?;
        Ok(Self {
            images,
            seen,
            cameras: cameras.len(),
        })
    }
}

impl Report {
    /// Of a model. `photos` are the names of all photos in order; `models` the sizes of all models.
    pub fn of(model: &Found, photos: &[String], models: &[usize]) -> Self {
        Self::new(photos, &model.images, &model.seen, model.cameras, models)
    }

    fn new(
        photos: &[String],
        images: &[ColmapImage],
        found: &Observations,
        cameras: usize,
        models: &[usize],
    ) -> Self {
        let placed: BTreeMap<&str, u64> = images
            .iter()
            .map(|i| {
                (
                    i.name.as_str(),
                    found.of_images.get(&i.id).copied().unwrap_or(0),
                )
            })
            .collect();
        let registered: Vec<bool> = photos.iter().map(|p| placed.contains_key(&**p)).collect();
        let observations: u64 = found.of_images.values().sum();
        let per = |count: usize| match count {
            0 => 0.0,
            count => observations as f64 / count as f64,
        };
        let few = few_points(photos, &placed);
        let count = registered.iter().filter(|r| **r).count();
        let mut models = models.to_vec();
        models.sort_unstable_by(|a, b| b.cmp(a));
        let mut report = Self {
            photos: photos.len(),
            registered: count,
            mean_error: found.mean_error,
            points: found.points,
            observations_per_point: per(found.points as usize),
            observations_per_photo: per(images.len()),
            cameras,
            models,
            unregistered: photos
                .iter()
                .zip(&registered)
                .filter(|(_, registered)| !**registered)
                .map(|(name, _)| name.clone())
                .collect(),
            few_points: few,
            usable: count as f64 >= HALF * photos.len() as f64 && count > 1,
            advice: Vec::new(),
        };
        report.advise(photos, &registered, &Shape::of(images));
        report
    }

    /// The share of the photos that have a pose.
    pub fn share(&self) -> f64 {
        self.registered as f64 / self.photos.max(1) as f64
    }

    fn advise(&mut self, photos: &[String], registered: &[bool], shape: &Shape) {
        let mut advice = Vec::new();
        if self.share() < MAX {
            advice.push(format!(
                "{} of {} photos have no pose",
                self.photos - self.registered,
                self.photos
            ));
        }
        advice.extend(ranges::advice(photos, registered));
        if let Some(other) = self.models.get(1) {
            let other = match other * 10 >= self.registered {
                true => format!("the next has {other} photos"),
                false => "the others are small".to_owned(),
            };
            advice.push(format!(
                "the photos fall into {} groups that do not overlap, of which the largest is \
                 used; {other}: take photos that lead from one to the other",
                self.models.len()
            ));
        }
        if !self.few_points.is_empty() {
            let first = self.few_points.iter().take(LISTED);
            let mut names: Vec<String> = first
                .map(|(name, points)| format!("{name} ({points})"))
                .collect();
            if self.few_points.len() > LISTED {
                names.push(format!("and {} more", self.few_points.len() - LISTED));
            }
            advice.push(format!(
                "few points in {}: if these photos are blurred or show little but a plain \
                 surface, take them again or remove them",
                names.join(", ")
            ));
        }
        if self.mean_error > LARGE_ERROR {
            advice.push(format!(
                "the mean reprojection error of {:.2} px is large: were all photos taken with the \
                 same lens and zoom, and did nothing move?",
                self.mean_error
            ));
        }
        advice.extend(shape.advice().map(str::to_owned));
        self.advice = advice;
    }
}

/// Photos that show far fewer points than the median of those with a pose.
fn few_points(photos: &[String], placed: &BTreeMap<&str, u64>) -> Vec<(String, u64)> {
    let mut counts: Vec<u64> = placed.values().copied().collect();
    counts.sort_unstable();
    let median = counts.get(counts.len() / 2).copied().unwrap_or(0);
    photos
        .iter()
        .filter_map(|name| placed.get(&**name).map(|count| (name.clone(), *count)))
        .filter(|(_, count)| (*count as f64) < FEW * median as f64)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Photos around a circle that look at its centre; those of `missing` have no pose.
    fn report(missing: &[usize], models: &[usize]) -> Report {
        let photos: Vec<String> = (0..40).map(|i| format!("{i:04}.jpg")).collect();
        let placed = (0..40).filter(|i| !missing.contains(i));
        let images: Vec<ColmapImage> = placed
            .map(|i| {
                let half = i as f64 * std::f64::consts::TAU / 80.0;
                ColmapImage {
                    id: i as u32 + 1,
                    name: photos[i].clone(),
                    camera: 1,
                    // About y; the camera stands 5 behind the origin along its own axis.
                    quaternion: [half.cos(), 0.0, half.sin(), 0.0],
                    translation: [0.0, 0.0, 5.0],
                }
            })
            .collect();
        let of_images = images
            .iter()
            .map(|i| (i.id, if i.id == 8 { 10 } else { 300 }));
        let found = Observations {
            points: 4000,
            mean_error: 0.5,
            of_images: of_images.collect(),
        };
        Report::new(&photos, &images, &found, 1, models)
    }

    #[test]
    fn complete_models_get_no_advice_but_on_single_photos() {
        let report = report(&[], &[40]);
        assert_eq!(
            (report.registered, report.share(), report.usable),
            (40, 1.0, true)
        );
        assert_eq!(report.observations_per_photo, (39 * 300 + 10) as f64 / 40.0);
        assert_eq!(
            report.observations_per_point,
            (39 * 300 + 10) as f64 / 4000.0
        );
        assert_eq!(report.few_points, [("0007.jpg".to_owned(), 10)]);
        assert_eq!(report.advice.len(), 1);
        assert!(report.advice[0].starts_with("few points in 0007.jpg (10): "));
    }

    #[test]
    fn gaps_and_other_models_are_told() {
        let gap: Vec<usize> = (31..=35).collect();
        let found = report(&gap, &[3, 35]);
        assert_eq!(found.models, [35, 3]);
        assert!(found.usable);
        assert_eq!(found.advice[0], "5 of 40 photos have no pose");
        assert!(found.advice[1].starts_with("0031.jpg to 0035.jpg are not connected"));
        assert!(found.advice[2].contains("2 groups"), "{:?}", found.advice);
        let gap: Vec<usize> = (0..21).collect();
        assert!(!report(&gap, &[19]).usable);
        assert_eq!(report(&gap, &[19]).unregistered.len(), 21);
    }
}
