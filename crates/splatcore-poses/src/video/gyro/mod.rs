//! The gyroscope of a video: what the camera wrote of its turns into the file.
//!
//! | question | file |
//! | --- | --- |
//! | what does it say | `values.rs` |
//! | which bytes are its, and when were they written | `track.rs` |
//! | what do GoPro's bytes say | `gpmf.rs` |
//! | what do the bytes of CAMM say | `camm.rs` |
//! | how do its axes and its clock lie to those of the photos | `align.rs` |

mod align;
mod camm;
mod gpmf;
mod track;
mod values;

pub use align::{Aligned, Misfit, align};
pub use track::Source;
pub use values::Gyro;
