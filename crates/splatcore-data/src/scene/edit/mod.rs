//! Edits of scenes: rows made of other rows.
//!
//! An edit holds the rows it is made of and changes Gaussians as they are read, so that a scene
//! need not fit in memory: [`Moved`] (translation, rotation, scale), [`Selected`] (which Gaussians,
//! in which order), [`Merged`] (scenes one after the other), [`WithDegree`] (of the spherical
//! harmonics). [`Shape`] and [`Condition`] say which Gaussians to keep; [`stats`] describes rows.

mod condition;
mod crop;
mod degree;
mod merged;
mod moved;
mod plane;
mod selected;
mod shape;
mod similarity;
mod stats;

pub use condition::Condition;
pub use crop::ProposedCrop;
pub use degree::WithDegree;
pub use merged::Merged;
pub use moved::Moved;
pub use plane::{normal_of, normal_of_three};
pub use selected::{Selected, matching};
pub use shape::Shape;
pub use similarity::Similarity;
pub use stats::{Percentiles, PropertyStats, Stats, stats};
