//! Cameras that a run has refined: which photos are measured with them, and what the files say.

use super::facts::write_cameras;
use super::job::Job;
use super::photos::Photos;
use crate::output::{self, counted};
use crate::progress::Progress;
use crate::report::{
    LensRow, MeasuredCameras, MeasuredIntrinsics, MeasuredMotion, MeasuredPoses, PoseRow,
    Reprojection,
};
use crate::scene_source::{Files, relative};
use anyhow::{Context, Result};
use splatcore_core::{Backend, Camera, View};
use splatcore_data::dataset::{Dataset, Entry, colmap, transforms};
use splatcore_train::intrinsics::LensChange;
use splatcore_train::poses::{PoseChange, ROUNDS, mean_errors};
use splatcore_train::{Evaluation, Trainer, evaluate};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

/// A photo is out of line that changed by so many times what half of the photos did at most ...
const TIMES: f64 = 4.0;
/// ... and by more than this: degrees, and share of the extent.
const LITTLE: [f64; 2] = [0.1, 0.002];
/// A photo shows worse with its pose of now that has lost more than this, dB.
const WORSE: f64 = 0.1;

/// The cameras of a run that refines poses, intrinsics or both, at its end.
pub struct Refined {
    train: Vec<Camera>,
    test: Vec<Camera>,
    /// The held-out photos' poses were fitted.
    fitted: bool,
    /// What was found of the lenses, if they were refined.
    lenses: Vec<LensChange>,
}

impl Refined {
    /// Of a run that is at its end; fits the poses of the held-out photos if it refines poses. None
    /// if the run refines no cameras.
    pub fn of(trainer: &mut Trainer, backend: &dyn Backend, photos: &Photos) -> Option<Self> {
        let (poses, lenses) = (trainer.config().poses.refine, trainer.lenses());
        let motion = trainer.config().poses.motion.is_some();
        if !poses && !motion && lenses.is_empty() {
            return None;
        }
        let through = |view: &View| LensChange::of(&lenses, &view.camera);
        let mut test: Vec<Camera> = photos.test.iter().map(through).collect();
        let mut fitted = false;
        if poses && !photos.test.is_empty() {
            let held_out = counted(photos.test.len(), "held-out photo");
            eprintln!("fitting the poses of {held_out} to the scene");
            let progress = Progress::new("fitting poses, rounds", ROUNDS.into());
            let done = |rounds: u32| progress.update(rounds.into(), String::new);
            let found = trainer.fit_poses(backend, &photos.test, &photos.test_tracks, &done);
            progress.finish();
            match found {
                Ok(found) => {
                    test = found.into_iter().map(|of| of.camera).collect();
                    fitted = true;
                }
                Err(error) => {
                    eprintln!("warning: held-out photos keep the dataset's poses: {error}");
                }
            }
        }
        if motion && !photos.test.is_empty() {
            eprintln!(
                "fitting the motions of {} to the scene",
                counted(photos.test.len(), "held-out photo")
            );
            let posed = photos.test.iter().zip(&test);
            let posed: Vec<View> = posed
                .map(|(view, camera)| with_camera(view, camera))
                .collect();
            let progress = Progress::new("fitting motions", posed.len() as u64);
            let done = |photos: usize| progress.update(photos as u64, String::new);
            let found = trainer.fit_motions(&posed, &done);
            progress.finish();
            match found {
                Ok(found) => test = found,
                Err(error) => {
                    eprintln!("warning: held-out photos keep the dataset's motions: {error}");
                }
            }
        }
        Some(Self {
            train: trainer.cameras(),
            test,
            fitted,
            lenses,
        })
    }

    /// The cameras of all photos, those trained on first.
    fn cameras(&self) -> impl Iterator<Item = &Camera> {
        self.train.iter().chain(&self.test)
    }

    /// The views that are measured, with the poses that they have now.
    pub fn views(&self, photos: &Photos) -> Vec<View> {
        let all = photos.train.iter().chain(photos.test.iter());
        let all = all.zip(self.cameras());
        let all = all.map(|(view, camera)| with_camera(view, camera));
        match photos.test.is_empty() {
            true => all.collect(),
            false => all.skip(photos.train.len()).collect(),
        }
    }

    /// Measures what the poses were good for, photo by photo; `found` is what those of
    /// [`Refined::views`] have.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn measure(
        &self,
        trainer: &mut Trainer,
        photos: &Photos,
        found: &Evaluation,
    ) -> Result<MeasuredCameras> {
        let (extent, limits) = (trainer.extent(), trainer.config().poses.clone());
        let (refines_poses, finds_motion) = (limits.refine, limits.motion.is_some());
        let (renderer, options) = trainer.renderer()?;
        let plain = match photos.test.is_empty() {
            true => &photos.train,
            false => &photos.test,
        };
        let plain = evaluate(renderer, plain, &options, &|_, _, _, _| ())?;
        let intrinsics = (!self.lenses.is_empty()).then(|| MeasuredIntrinsics {
            psnr_plain: plain.psnr,
            lenses: self.lens_rows(photos),
        });
        let motion = finds_motion.then(|| MeasuredMotion::new(&self.train, plain.psnr));
        if !refines_poses {
            return Ok(MeasuredCameras {
                poses: None,
                motion,
                intrinsics,
            });
        }
        // Those of the measured photos are known, and 0 where a mask leaves no pixel.
        let known = |evaluation: &Evaluation, name: &str| {
            let mut views = evaluation.views.iter();
            let view = views.find(|view| view.name == name);
            view.map_or(0.0, |view| view.psnr)
        };
        let train = photos.train.iter().map(|view| (view, false));
        let all = train.chain(photos.test.iter().map(|view| (view, true)));
        let mut rows = Vec::new();
        for ((view, held_out), camera) in all.zip(self.cameras()) {
            let is_measured = held_out || photos.test.is_empty();
            let mut psnr = |camera: &Camera, evaluation: &Evaluation| -> Result<f64> {
                if is_measured || view.photo.counted_pixels() == 0 {
                    return Ok(known(evaluation, &view.name));
                }
                let image = renderer.render(camera, &options)?.image;
                Ok(evaluate::psnr(view, &image)?)
            };
            let change = PoseChange::between(&view.camera, camera, extent, &limits);
            let (before, after) = (psnr(&view.camera, &plain)?, psnr(camera, found)?);
            rows.push(PoseRow {
                name: view.name.clone(),
                held_out,
                degrees: change.degrees,
                share: change.share,
                out_of_line: false,
                at_limit: change.at_limit,
                worse: after < before - WORSE,
                psnr_before: before,
                psnr_after: after,
            });
        }
        sort(&mut rows);
        let poses = Some(MeasuredPoses {
            headline: match (photos.test.is_empty(), self.fitted) {
                (true, _) => "refined",
                (false, true) => "fitted",
                (false, false) => "plain",
            },
            psnr_plain: plain.psnr,
            ssim_plain: plain.ssim,
            reprojection: self.reprojection(photos),
            photos: rows,
        });
        Ok(MeasuredCameras {
            poses,
            motion,
            intrinsics,
        })
    }

    /// How well the cameras of the training photos fit the points of the dataset's model.
    fn reprojection(&self, photos: &Photos) -> Option<Reprojection> {
        let given: Vec<Camera> = photos
            .train
            .iter()
            .map(|view| view.camera.clone())
            .collect();
        let [before, after] = mean_errors(&photos.tracks, &given, &self.train)?;
        Some(Reprojection { before, after })
    }

    fn lens_rows(&self, photos: &Photos) -> Vec<LensRow> {
        let name = |lens: &LensChange| {
            let first = lens.photos.first().and_then(|&view| photos.train.get(view));
            first.map_or_else(String::new, |view| view.name.clone())
        };
        let row = |lens: &LensChange| LensRow {
            photo: name(lens),
            photos: lens.photos.len(),
            at_limit: lens.at_limit,
            numbers: LensRow::numbers(&lens.before, &lens.after),
        };
        self.lenses.iter().map(row).collect()
    }

    /// The camera of a photo as it lies in the dataset, with the intrinsics that were found; `None`
    /// if it was trained on in a form through another lens.
    fn original(&self, view: &View, entry: &Entry) -> Option<Camera> {
        let known = |lens: &&LensChange| lens.before.same_intrinsics(&view.camera);
        let Some(lens) = self.lenses.iter().find(known) else {
            return Some(entry.camera.clone());
        };
        (lens.before.lens == entry.camera.lens).then(|| lens.of_original(&entry.camera))
    }

    /// Writes cameras.json anew, and transforms.json with the photos as they lie in the dataset.
    ///
    /// # Errors
    /// If the disk does not take them.
    pub fn write(
        &self,
        files: &Files,
        folder: &Path,
        dataset: &Dataset,
        of: &Photos,
    ) -> Result<()> {
        write_cameras(files, of, self.cameras().cloned())?;
        let entries: HashMap<&str, &Entry> = dataset
            .entries
            .iter()
            .map(|entry| (entry.name.as_str(), entry))
            .collect();
        let train = of.train.iter().map(|view| (view, false));
        let views = train.chain(of.test.iter().map(|view| (view, true)));
        let mut resampled = false;
        let photo = |((view, held_out), camera): ((&View, bool), &Camera)| {
            let entry = entries.get(view.name.as_str())?;
            let original = self.original(view, entry);
            resampled |= original.is_none();
            let photo = transforms::PosedPhoto {
                file_path: path_from(folder, &entry.image),
                // The photo is not resampled here.
                camera: Camera {
                    rotation: camera.rotation,
                    translation: camera.translation,
                    shutter: camera.shutter,
                    ..original?
                },
                held_out,
            };
            Some((view.name.clone(), photo))
        };
        let photos = views.zip(self.cameras()).filter_map(photo);
        let (names, photos): (Vec<String>, Vec<transforms::PosedPhoto>) = photos.unzip();
        if resampled {
            eprintln!(
                "warning: {} is not written, nor a COLMAP model: photos were undistorted, so what \
                 was found is not of their own lenses; add --lens as-taken",
                files.transforms.display()
            );
            return Ok(());
        }
        // All else knows the cameras by cameras.json.
        if let Err(error) = transforms::write(&files.transforms, &photos) {
            eprintln!("warning: {error}");
        }
        if let Err(error) = write_model(files, dataset, &names, &photos) {
            eprintln!("warning: {}", output::one_line(&error));
        }
        Ok(())
    }
}

/// A view with another camera.
fn with_camera(view: &View, camera: &Camera) -> View {
    View {
        camera: camera.clone(),
        ..view.clone()
    }
}

/// Writes a COLMAP model of the photos with these names.
fn write_model(
    files: &Files,
    dataset: &Dataset,
    names: &[String],
    photos: &[transforms::PosedPhoto],
) -> Result<()> {
    std::fs::create_dir_all(&files.colmap).with_context(|| files.colmap.display().to_string())?;
    let cameras = photos.iter().map(|photo| &photo.camera);
    let photos: Vec<_> = names.iter().map(String::as_str).zip(cameras).collect();
    Ok(colmap::write(&files.colmap, &photos, &dataset.points)?)
}

/// The photos to measure: with the poses of now, if there are others.
pub fn measured<'a>(
    refined: Option<&Refined>,
    photos: &Photos,
    given: &'a [View],
) -> Cow<'a, [View]> {
    match refined {
        Some(refined) => Cow::Owned(refined.views(photos)),
        None => Cow::Borrowed(given),
    }
}

/// Writes the cameras that were refined, if so, and measures and tells what that was good for.
///
/// # Errors
/// What the backend or the disk report.
pub fn conclude(
    refined: Option<&Refined>,
    trainer: &mut Trainer,
    job: &Job,
    dataset: &Dataset,
    photos: &Photos,
    found: &Evaluation,
) -> Result<MeasuredCameras> {
    let Some(refined) = refined else {
        return Ok(MeasuredCameras::default());
    };
    refined.write(&Files::of(&job.folder), &job.folder, dataset, photos)?;
    let measured = refined.measure(trainer, photos, found)?;
    if let Some(poses) = &measured.poses {
        tell(poses);
    }
    if let Some(motion) = &measured.motion {
        eprintln!("{}", motion.told());
    }
    if let Some(intrinsics) = &measured.intrinsics {
        tell_intrinsics(intrinsics);
    }
    Ok(measured)
}

/// Says on stderr what the poses did.
fn tell(poses: &MeasuredPoses) {
    let trained: Vec<&PoseRow> = poses.photos.iter().filter(|row| !row.held_out).collect();
    let count = trained.len().max(1) as f64;
    let mean =
        |value: fn(&PoseRow) -> f64| trained.iter().map(|row| value(row)).sum::<f64>() / count;
    eprintln!(
        "poses: changed by {:.2} degrees and {:.2} % of the extent on average; PSNR {} dB with the \
         dataset's",
        mean(|row| row.degrees),
        100.0 * mean(|row| row.share),
        output::decibels(poses.psnr_plain)
    );
    if let Some(reprojection) = &poses.reprojection {
        eprintln!("mean error of reprojection: {}", reprojection.told());
    }
    for line in poses.out_of_line() {
        eprintln!("warning: {line}");
    }
}

/// Says on stderr what was found of the lens of most photos.
fn tell_intrinsics(intrinsics: &MeasuredIntrinsics) {
    let Some(lens) = intrinsics.lenses.iter().max_by_key(|lens| lens.photos) else {
        return;
    };
    let numbers = lens.numbers.iter();
    let numbers: Vec<String> = numbers
        .map(|(name, before, after)| format!("{name} {before:.4} -> {after:.4}"))
        .collect();
    let others = match intrinsics.lenses.len() {
        1 => String::new(),
        n => format!(" ({} more in report.html)", counted(n - 1, "lens")),
    };
    eprintln!("intrinsics: {}{others}", numbers.join(", "));
}

/// Marks who is out of line; puts them first, then the others, each by how far they are.
fn sort(rows: &mut [PoseRow]) {
    let middle = |value: fn(&PoseRow) -> f64| {
        let mut values: Vec<f64> = rows.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let usual = [
        middle(|row| row.degrees).max(LITTLE[0] / TIMES),
        middle(|row| row.share).max(LITTLE[1] / TIMES),
    ];
    let far = |row: &PoseRow| (row.degrees / usual[0]).max(row.share / usual[1]);
    for row in rows.iter_mut() {
        row.out_of_line = row.at_limit || row.worse || far(row) > TIMES;
    }
    rows.sort_by(|a, b| {
        let by_line = b.out_of_line.cmp(&a.out_of_line);
        by_line.then(far(b).total_cmp(&far(a)))
    });
}

/// The way from a folder to a photo, with `/`; from the root if it is far.
fn path_from(folder: &Path, image: &Path) -> String {
    let absolute = |path: &Path| {
        let found = path.canonicalize().or_else(|_| std::path::absolute(path));
        found.unwrap_or_else(|_| path.into())
    };
    let (image, folder) = (absolute(image), absolute(folder));
    let path = relative(&image, &folder).unwrap_or(image);
    path.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, degrees: f64, share: f64) -> PoseRow {
        PoseRow {
            name: name.into(),
            held_out: false,
            degrees,
            share,
            out_of_line: false,
            at_limit: false,
            worse: false,
            psnr_before: 20.0,
            psnr_after: 25.0,
        }
    }

    #[test]
    fn who_is_out_of_line_comes_first() {
        let mut rows = vec![
            row("a", 0.5, 0.01),
            row("far", 0.4, 0.09),
            row("b", 0.6, 0.012),
            row("turned", 4.0, 0.01),
            row("c", 0.5, 0.011),
            PoseRow {
                at_limit: true,
                ..row("held", 0.5, 0.01)
            },
            PoseRow {
                worse: true,
                ..row("astray", 0.4, 0.01)
            },
        ];
        sort(&mut rows);
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names[..4], ["far", "turned", "held", "astray"], "{names:?}");
        assert_eq!(rows.iter().filter(|row| row.out_of_line).count(), 4);
        // Next to nothing is in line, whatever the others do.
        let mut still = vec![
            row("a", 0.0, 0.0),
            row("b", 0.0, 0.0),
            row("c", 0.05, 0.001),
        ];
        sort(&mut still);
        assert!(still.iter().all(|row| !row.out_of_line));
    }
}
