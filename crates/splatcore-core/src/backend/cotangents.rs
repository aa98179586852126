//! Gradients of a scalar with respect to what a frame gives.

use super::error::BackendError;
use crate::{Camera, Image};

/// Gradients of a scalar with respect to each part of [`super::Rendered`]; a part that is `None`
/// does not matter. Planes are `[height * width]`, in the camera's size.
///
/// A loss of other things follows by the chain rule: with A = 1 - transmittance, dL/dA is minus
/// `transmittance`; of the expected inverse depth D = `inverse_depth` / A, dL/d`inverse_depth` is
/// dL/dD / A, and dL/dA gains -dL/dD D / A.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cotangents {
    /// dL/d(image), r, g, b.
    pub image: Image,
    /// dL/d(transmittance).
    pub transmittance: Option<Vec<f32>>,
    /// dL/d(inverse depth), of the sum of 1/z by the weights of the colours.
    pub inverse_depth: Option<Vec<f32>>,
}

impl Cotangents {
    /// Whether anything but the image matters.
    pub fn beyond_image(&self) -> bool {
        self.transmittance.is_some() || self.inverse_depth.is_some()
    }

    /// What [`super::Rendered`] has beyond the image, as an image of two channels: the image that
    /// splats with the colours (1/z, 1, 0) make on black has inverse depth and 1 - transmittance
    /// for its first two. Returns dL/d of the three, `[height * width]`.
    pub fn of_channels(&self) -> Vec<[f32; 3]> {
        let plane = |plane: &Option<Vec<f32>>, i: usize| plane.as_ref().map_or(0.0, |p| p[i]);
        let pixels = 0..self.image.data.len();
        let channels = pixels.map(|i| {
            [
                plane(&self.inverse_depth, i),
                -plane(&self.transmittance, i),
                0.0,
            ]
        });
        channels.collect()
    }

    /// Refuses parts of another size than the camera.
    ///
    /// # Errors
    /// [`BackendError::Input`] with the part and the sizes.
    pub fn check(&self, camera: &Camera) -> Result<(), BackendError> {
        let pixels = camera.width as usize * camera.height as usize;
        let image = &self.image;
        if [image.width, image.height] != [camera.width, camera.height]
            || image.data.len() != pixels
        {
            return Err(BackendError::Input(format!(
                "the image gradient is {}x{}, the camera {}x{}",
                image.width, image.height, camera.width, camera.height
            )));
        }
        for (name, plane) in [
            ("transmittance", &self.transmittance),
            ("inverse depth", &self.inverse_depth),
        ] {
            if let Some(plane) = plane.as_ref().filter(|plane| plane.len() != pixels) {
                return Err(BackendError::Input(format!(
                    "the gradient of the {name} has {} values, the camera {}x{} pixels",
                    plane.len(),
                    camera.width,
                    camera.height
                )));
            }
        }
        Ok(())
    }
}

impl From<Image> for Cotangents {
    /// Of the image alone.
    fn from(image: Image) -> Self {
        Self {
            image,
            ..Self::default()
        }
    }
}
