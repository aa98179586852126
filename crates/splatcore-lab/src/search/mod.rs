//! Search without a model: points of a finite space, proposed one by one.
//!
//! | question | place |
//! | --- | --- |
//! | which points are there | [`space`] |
//! | which point is next | [`strategy`], with one file a strategy |
//! | which points does a kernel text span | [`variants`] |
//! | how do points become candidates | [`proposer`] |

mod genetic;
mod local;
mod portfolio;
pub mod proposer;
pub mod space;
pub mod strategy;
mod tpe;
pub mod trials;
pub mod variants;

pub use genetic::Genetic;
pub use local::LocalSearch;
pub use portfolio::Portfolio;
pub use proposer::{CrossoverProposer, SearchProposer};
pub use space::{Axis, Config, Space, SpaceError, Value};
pub use strategy::Strategy;
pub use tpe::Tpe;
pub use trials::{Outcome, Trial};
