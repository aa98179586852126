//! What is compared: the photos, or the views of photos of 360 degrees.

use crate::photos::Found;
use crate::track::Track;
use crate::{Cameras, Job, PosesError, panoramas};
use std::path::{Path, PathBuf};

/// The photos, and the views that are compared in place of photos of 360 degrees.
pub struct Taken {
    pub photos: Vec<Found>,
    pub views: Option<Vec<Found>>,
}

impl Taken {
    /// Cuts photos of 360 degrees in this phase.
    ///
    /// # Errors
    /// As [`panoramas::are_all`] and [`panoramas::cut`].
    pub fn of(
        job: &Job,
        photos: Vec<Found>,
        (phase, track): (usize, &mut Track<'_>),
    ) -> Result<Self, PosesError> {
        if !panoramas::are_all(&photos, job)? {
            let views = None;
            return Ok(Self { photos, views });
        }
        track.note(&format!(
            "photos twice as wide as high are taken for 360 degrees, and cut into {} views each \
             (if they are not, name their --camera-model)",
            panoramas::VIEWS
        ));
        let views = Some(panoramas::cut(&photos, job, (phase, track))?);
        Ok(Self { photos, views })
    }

    /// What is compared.
    pub fn compared(&self) -> &[Found] {
        self.views.as_ref().unwrap_or(&self.photos)
    }

    /// The names of what is compared.
    pub fn names(&self) -> Vec<String> {
        let names = self.compared().iter().map(|photo| photo.name.clone());
        names.collect()
    }

    /// The folder of what is compared, given that of the photos.
    pub fn folder(&self, images: PathBuf) -> PathBuf {
        match (&self.views, images.parent()) {
            (Some(_), Some(dataset)) => dataset.join(panoramas::FOLDER).join("images"),
            _ => images,
        }
    }

    /// The model of what is compared.
    pub fn model(&self, dataset: &Path) -> PathBuf {
        match self.views {
            Some(_) => dataset.join(panoramas::FOLDER).join("sparse/0"),
            None => dataset.join("sparse/0"),
        }
    }

    /// Which of them share a camera.
    pub fn cameras(&self, job: &Job) -> Cameras {
        match self.views {
            // One camera for each size of photos.
            Some(_) => Cameras::Auto,
            None => job.cameras,
        }
    }
}
