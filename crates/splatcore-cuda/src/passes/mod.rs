//! The two passes over a scene on the device. Inference: project, tile lists, blend. Training: the
//! same by the training variants, then back from the image's gradient to the sums of each splat,
//! which `adam` or `project_backward` take. Nothing here waits for the device: sizes stay there,
//! launches cover capacities.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `both.rs` | [`Passes`]: both passes and what they share, for one owner |
//! | `inference.rs`, `training.rs` | the passes: their own buffers, programs and launches |
//! | `sorted_lists.rs` | lists by sorting (tile, splat) pairs: training, counting, published methods |
//! | `sort_layout.rs` | what is sorted for a frame, where the sorts have what they need |
//! | `binned_lists.rs` | lists by binning to macro-tiles: inference with `splatcore` |
//! | `tile_lists.rs` | what a list builder hands to a blend |
//! | `work.rs` | queue, kernels, counters, scratch memory, splats |
//! | `kernels.rs` | the kernels of a pass, looked up when its kind changes |
//! | `capacity.rs` | room for pairs and splats: what grows when |
//! | `results.rs` | frames that the host waits for, brought to the host |
//! | `gathered.rs` | the splats of several ranks, as those of a frame |
//! | `gradients.rs` | gradients of a frame for who asks outside of training |
//! | `parts.rs` | the inference pass of a scene in parts on several devices |
//! | `shard.rs` | the training pass of a rank that has a part of the Gaussians |
//! | `strips.rs` | what ranks do that render a frame together |
//! | `visibility.rs` | how much of each Gaussian a view shows, how many each tile takes |

mod binned_lists;
mod both;
pub(crate) mod capacity;
mod gathered;
mod gradients;
mod inference;
mod kernels;
mod parts;
mod results;
mod shard;
mod sort_layout;
mod sorted_lists;
mod splat_sums;
mod strips;
mod tile_lists;
mod training;
mod visibility;
mod work;

pub use both::Passes;
pub use gathered::Gathered;
pub use inference::InferencePass;
pub use parts::PartFrame;
pub use shard::{SHARD_COUNTS, SPLAT_ROWS, ShardSplats};
pub use strips::Strips;
