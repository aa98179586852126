//! What every other splatcore crate agrees on: Gaussians, cameras, images, spherical harmonics,
//! metrics, the choice of pipeline, and the traits a backend implements. No algorithm that a
//! backend could do differently lives here, and nothing here reads or writes files.

pub mod backend;
pub mod camera;
pub mod checks;
mod choice;
pub mod colour;
pub mod columns;
pub mod depth;
pub mod expression;
pub mod floaters;
pub mod gaussians;
pub mod heat;
pub mod image;
mod intrinsics_gradient;
pub mod lens;
pub mod linear;
pub mod metrics;
pub mod panorama;
pub mod pipeline;
mod pose_gradient;
pub mod precision;
mod projection_kind;
pub mod random;
pub mod ranked;
pub mod reduce;
mod region;
pub mod scale_limit;
pub mod semantics;
pub mod sh;
pub mod shutter;
pub mod sky;
pub mod spread;
mod tracks;
pub mod tunables;
pub mod with_depth;

pub use backend::{Backend, BackendError, Learner, LearnerState, Renderer};
pub use camera::Camera;
pub use choice::Choice;
pub use gaussians::Gaussians;
pub use image::{Image, Photo, View};
pub use intrinsics_gradient::IntrinsicsGradient;
pub use lens::Lens;
pub use pipeline::Pipeline;
pub use pose_gradient::{PoseGradient, PoseRow, PoseSums, pose_gradient};
pub use precision::Precision;
pub use projection_kind::ProjectionKind;
pub use region::Region;
pub use tracks::{TrackedPoint, Tracks};
