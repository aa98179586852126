//! Gaussians to splats in the image: [`forward`] and [`backward`], with everything that gsplat's
//! fused projections do.

mod backward;
mod camera;
mod eyes;
mod forward;
mod scene;
mod unscented;

pub use backward::{Backward, Gradients, backward};
pub use camera::CameraModel;
pub use forward::{Splats, forward};
pub use scene::{Culling, Model, RadiusRule, Scene};
