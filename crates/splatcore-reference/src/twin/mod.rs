//! The reference, written to be read: one file an op, f64, sequential, nothing clever.
//!
//! Every backend and every pipeline is checked against this module, and this module's gradients are
//! checked against finite differences. The semantics are INRIA's rasterizer (Kerbl et al. 2023),
//! with three notes on derivatives, all of which make the gradient the true derivative of the image
//! as rendered:
//!
//! * a fragment whose alpha is capped (at 0.99) passes no gradient to opacity, position or shape,
//!   only to colour (INRIA's code lets it through as if there were no cap; gsplat stops it as done
//!   here);
//! * where x/z or y/z is clamped to 1.3 tan(half field of view) for the Jacobian, that ratio passes
//!   no gradient to the mean (INRIA zeroes it for x and y; its derivative with respect to z, which
//!   there is twice too large, is the true one here);
//! * a colour channel clamped at 0 passes no gradient.
//!
//! [`render`] and [`gradients`] are the two entry points; both honour `options.pipeline.intersect`
//! (the 3-sigma square of `aabb` cuts fragments that `exact` keeps) and a blend of other fragments
//! ([`blend::shared_point`], [`blend::sub_tile`]) or in another order ([`ray_order`]) by design.
//! Other blends and the backward method must not change the result.

pub mod adam;
pub mod along_ray;
pub mod antialias;
pub mod blend;
pub mod blend_backward;
pub mod colour;
mod cut_offs;
pub mod densify;
pub mod depth_loss;
mod frame;
pub mod intersect;
pub mod intrinsics;
pub mod learned_masks;
mod lists;
pub mod loss;
pub mod matrix;
pub mod project;
pub mod project_backward;
pub mod ray_order;
mod render;
mod scene;
pub mod sky;
pub mod smoothing;
pub mod sort;
mod unscented;
pub mod visibility;

#[cfg(test)]
mod finite_difference_tests;
#[cfg(test)]
mod intrinsics_tests;
#[cfg(test)]
mod lens_tests;

pub use cut_offs::{CutOffs, Doubt};
pub use frame::{TwinFrame, TwinGradients};
pub use lists::{Lists, visible_splats};
pub use render::{gradients, gradients_scene, render, render_scene};
pub use scene::{Group, Scene};
