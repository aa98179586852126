//! In which look rendered images are shown.

use super::controller::Controlled;
use super::files::Looks;
use crate::scene_source::SceneSource;
use anyhow::{Result, bail};
use splatcore_core::Image;
use splatcore_core::colour::Look;
use splatcore_page::LOOK_SIDE;
use std::sync::Arc;

/// In which look pictures are.
#[derive(Clone, clap::Args)]
pub struct LookArgs {
    /// Colours as the photo of this name shows them, of a run with --appearance: its exposure,
    /// white balance, vignetting; mean are the scene's own, which all photos share; controller are
    /// those that the camera would have chosen for each view, as the photos of like views say
    #[arg(long, value_name = "mean|controller|PHOTO", default_value = "mean")]
    look: String,
}

impl LookArgs {
    /// As it was typed.
    pub fn name(&self) -> &str {
        &self.look
    }

    /// The look that was typed, of the run that the scene is of; none if that is the scene's own.
    pub fn find(&self, source: Option<&SceneSource>) -> Result<Option<Shown>> {
        if self.look == "mean" {
            return Ok(None);
        }
        let folder = source.map(SceneSource::folder);
        let looks = folder.map(Looks::read).transpose()?.flatten();
        let (Some(folder), Some(looks)) = (folder, looks) else {
            bail!(
                "--look {}: beside the scene there is no appearance.json or exposures.json, which \
                 `splatcore train` with --appearance writes",
                self.look
            );
        };
        if self.look == "controller" {
            let controlled = Controlled::read(folder, &looks)?;
            return Ok(Some(Shown::Controller(Arc::new(controlled))));
        }
        Ok(Some(Shown::Photo(looks.look(&self.look)?)))
    }

    /// As [`LookArgs::find`], for pages, which have one look for all views.
    pub fn find_one(&self, source: &SceneSource) -> Result<Option<Look>> {
        match self.find(Some(source))? {
            None => Ok(None),
            Some(Shown::Photo(look)) => Ok(Some(look)),
            Some(Shown::Controller(_)) => bail!(
                "--look controller: a page has one look for all views; name a photo, or take mean"
            ),
        }
    }
}

/// How rendered images are shown.
#[derive(Clone)]
pub enum Shown {
    /// As one photo shows the scene.
    Photo(Look),
    /// As photos of like views do.
    Controller(Arc<Controlled>),
}

impl Shown {
    /// A rendered image in this look.
    pub fn image(&self, image: &Image) -> Image {
        match self {
            Self::Photo(look) => look.image(image),
            Self::Controller(controlled) => controlled.look(image).image(image),
        }
    }
}

/// What a look makes of colours at the image's centre, as pages have it: of a page's free view
/// neither a photo's frame nor its vignetting is left.
pub fn cube(look: &Look) -> Vec<u8> {
    let value = |i: usize| i as f32 / (LOOK_SIDE - 1) as f32;
    let places = 0..LOOK_SIDE * LOOK_SIDE * LOOK_SIDE;
    let colours = places.map(|i| {
        let place = [i, i / LOOK_SIDE, i / (LOOK_SIDE * LOOK_SIDE)];
        let colour = place.map(|at| value(at % LOOK_SIDE));
        look.image(&Image::filled(1, 1, colour)).to_bytes()
    });
    colours.flatten().collect()
}
