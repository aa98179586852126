//! Gradients of a scalar with respect to what a frame gives.

use super::error::BackendError;
use super::frame::Rendered;
use crate::{Camera, Image};

/// Gradients of a scalar with respect to each part of [`super::Rendered`]; `None` is a gradient of
/// zero. Planes are `[height * width]`, in the camera's size.
///
/// A loss of alpha or depth follows by the chain rule: [`Cotangents::add_alpha`],
/// [`Cotangents::add_depth`].
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
    /// Adds dL/d(alpha), `[height * width]`, alpha being 1 - transmittance.
    pub fn add_alpha(&mut self, gradient: &[f32]) {
        let pixels = gradient.len();
        let plane = self.transmittance.get_or_insert_with(|| vec![0.0; pixels]);
        for (to, gradient) in plane.iter_mut().zip(gradient) {
            *to -= gradient;
        }
    }

    /// Adds dL/d(depth), `[height * width]`, of [`Rendered::depth`]: alpha over inverse depth, and
    /// 0 where there is nothing. `rendered` is the frame.
    ///
    /// # Errors
    /// [`BackendError::Input`] if the frame was rendered without inverse depth.
    pub fn add_depth(&mut self, rendered: &Rendered, gradient: &[f32]) -> Result<(), BackendError> {
        let Some(inverse_depth) = &rendered.inverse_depth else {
            let problem = "a gradient of depth for a frame without inverse depth";
            return Err(BackendError::Input(problem.into()));
        };
        let frame = inverse_depth.iter().zip(&rendered.transmittance);
        let mut of_alpha = vec![0.0; gradient.len()];
        let mut of_inverse = vec![0.0; gradient.len()];
        for (i, ((&sum, &left), g)) in frame.zip(gradient).enumerate() {
            let alpha = 1.0 - left;
            if alpha > 0.0 && sum > 0.0 {
                (of_alpha[i], of_inverse[i]) = (g / sum, -g * alpha / (sum * sum));
            }
        }
        self.add_alpha(&of_alpha);
        match &mut self.inverse_depth {
            Some(plane) => plane
                .iter_mut()
                .zip(of_inverse)
                .for_each(|(to, g)| *to += g),
            none => *none = Some(of_inverse),
        }
        Ok(())
    }

    /// Whether anything but the image matters.
    pub fn beyond_image(&self) -> bool {
        self.transmittance.is_some() || self.inverse_depth.is_some()
    }

    /// The gradient of a second image, `[height * width]` of three channels: the same splats with
    /// the colours (1/z, 1, 0), blended on black. Its channels are inverse depth, 1 -
    /// transmittance, and an unused one.
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
