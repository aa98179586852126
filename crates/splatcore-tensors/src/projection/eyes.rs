//! How a scene's cameras project.

use super::camera::CameraModel;
use super::scene::{Model, Scene};
use super::unscented::Through;
use crate::error::{check_len, wrong};
use crate::linear::Mat3;
use crate::quat_scale::Shapes;
use crate::{Real, Result};

/// A [`Model`] that is checked.
pub(super) enum Eyes {
    Ewa(CameraModel),
    Unscented(Vec<Through>),
}

impl Eyes {
    /// Of a scene, whose lengths and cameras it checks.
    ///
    /// # Errors
    /// A length that does not fit, or a camera that cannot be.
    pub fn of<F: Real>(scene: &Scene<'_, F>) -> Result<Self> {
        let (b, c, n) = (scene.batches, scene.cameras, scene.gaussians);
        check_len("means", scene.means, &[b, n, 3])?;
        scene.shapes.check(b, n)?;
        check_len("viewmats", scene.viewmats, &[b, c, 4, 4])?;
        check_len("Ks", scene.ks, &[b, c, 3, 3])?;
        match scene.model {
            Model::Ewa(model) => Ok(Self::Ewa(model)),
            Model::Unscented(cameras) => {
                check_len("cameras", cameras, &[b, c])?;
                if let Shapes::Covars(_) = scene.shapes {
                    return wrong("covars", "None with the unscented transform", "covariances");
                }
                let lenses = cameras.iter().map(Through::new).collect::<Result<_>>()?;
                Ok(Self::Unscented(lenses))
            }
        }
    }

    /// The gradient of what is given of a Gaussian's shape, from the sum of
    /// `Of::shape`.
    pub fn shape<F: Real>(&self, shapes: &Shapes<'_, F>, gaussian: usize, sum: &Mat3<F>) -> [F; 7] {
        match self {
            Self::Ewa(_) => shapes.backward(gaussian, sum),
            Self::Unscented(_) => shapes.factor_backward(gaussian, sum),
        }
    }
}
