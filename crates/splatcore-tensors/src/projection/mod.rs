//! Gaussians to splats in the image: [`forward`] and [`backward`] from world space with everything
//! that gsplat's fused projections do, [`simple_forward`] and [`simple_backward`] from camera space
//! to means and covariances alone.

mod backward;
mod camera;
mod eyes;
mod forward;
mod scene;
mod simple;
mod unscented;

pub use backward::{Backward, Gradients, backward};
pub use camera::CameraModel;
pub use forward::{Splats, forward};
pub use scene::{Culling, Model, RadiusRule, Scene};
pub use simple::{Simple, simple_backward, simple_forward};
