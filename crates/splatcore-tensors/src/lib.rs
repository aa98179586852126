//! The operations of Gaussian splatting as stateless functions on slices, each with its gradient,
//! for `f32` and `f64`.
//!
//! Their results are those of gsplat 1.5.3, function by function, so that programs written for it
//! (and, with other arguments, for INRIA's rasterizer) get the same images and gradients. An
//! operation takes a struct of plain slices in C order, whose shapes its documentation gives; it
//! fills its outputs wholly. Nothing is kept between calls. Work runs on rayon's current pool, or
//! with [`on_this_thread`] without one, and results have the same bits on any number of threads.
//!
//! | question | file |
//! | --- | --- |
//! | covariances from quaternions and scales | `quat_scale.rs` |
//! | camera models, radii, culling, compensations | `projection/` |
//! | colours from spherical harmonics, in which directions | `harmonics.rs`, `directions.rs` |
//! | which tiles a splat touches, in which order | `intersect.rs` |
//! | pixels, their gradients, who contributes to a pixel | `rasterize/` |
//! | Adam, nearest neighbours | `adam.rs`, `neighbours.rs` |
//! | structural similarity | `ssim.rs` |
//! | rows of packed tensors | `rows.rs` |
//!
//! In the shapes, B is a batch, C a camera of the batch, N a Gaussian; I = B C an image; M a
//! projected splat, of which there are I N, or fewer if they are packed; D a channel.

pub mod adam;
pub mod directions;
mod error;
pub mod harmonics;
pub mod intersect;
mod linear;
pub mod neighbours;
mod parallel;
pub mod projection;
pub mod quat_scale;
pub mod rasterize;
mod real;
pub mod rows;
pub mod ssim;

pub use error::{ArgumentError, Result};
pub use parallel::on_this_thread;
pub use real::Real;
