//! How much memory a learner needs.

use crate::ops::adam::moments::Moments;
use crate::ops::blend_backward::{CHECKPOINT_BYTES, SUM_BYTES};
use crate::ops::constants::PART;
use crate::ops::offload::{self, Headroom};
use crate::ops::shards::Shards;
use crate::passes::capacity;
use splatcore_core::backend::MemoryPlan;
use splatcore_core::semantics::TILE;
use splatcore_core::{BackendError, Choice, View};

/// Bytes of keys, order and index that every frame has for each Gaussian, in view or not, with the
/// states of the sort.
const A_GAUSSIAN: u64 = 14;
/// Bytes of the statistics.
const STATISTICS: u64 = 8;
/// Bytes for each pixel of the largest photo: planes of image, gradient and the loss's derivatives.
const A_PIXEL: u64 = 4 * (3 + 1 + 3 + 6);
/// What a step needs for each splat: splats and how many pairs they have (48 + 5), keys, orders and
/// indices of the sort (32), sums (48).
const A_SPLAT: u64 = 48 + 5 + 32 + 48;
/// And for each pair: keys, orders and splats (20), a row of sums (48), its part of the states of
/// pixels that are left behind every so many pairs (8).
const A_PAIR: u64 = 20 + 48 + (CHECKPOINT_BYTES / PART) as u64;
/// Gaussians that cover a pixel of a trained scene, in f32's fragments: 66 to 116 in
/// docs/log/training-recipe.md. Their size follows from it.
const COVER: f64 = 100.0;
/// When memory is short, room is at first kept for one splat of so many Gaussians.
const GAUSSIANS_A_SPLAT: usize = 16;
/// And at least for so many.
const MIN_SPLATS: usize = 64;

/// What is left free when a state is uploaded, if it may lie in the host's memory in part: there
/// is room for twice the splats that a frame is at first expected to have.
pub(crate) fn headroom(pixels: u64) -> Headroom {
    Headroom {
        a_gaussian: A_GAUSSIAN + STATISTICS + 2 * (A_SPLAT + 6 * A_PAIR) / GAUSSIANS_A_SPLAT as u64,
        fixed: pixels * A_PIXEL,
    }
}

/// Bytes of a learner of so many Gaussians whose largest photo has this width and height; `free`
/// bytes of the device are there if it may offload, and so many ranks if they may divide the state.
pub(crate) fn plan(
    gaussians: usize,
    sh_degree: u8,
    largest_view: [u32; 2],
    moments: Moments,
    (free, ranks): (Option<u64>, usize),
) -> MemoryPlan {
    let pixels = largest_view[0] as u64 * largest_view[1] as u64;
    let headroom = headroom(pixels).of(gaussians);
    let rows = offload::row_bytes(sh_degree, moments);
    let free = free.map(|free| free.saturating_sub(headroom));
    let leaving = |own| free.map_or(0, |free| offload::leaving(rows, (gaussians, own), free));
    let own = match leaving(gaussians) {
        0 => gaussians,
        _ => Shards::new(gaussians, ranks).rows(0),
    };
    let host = offload::host_bytes(rows, own, leaving(own));
    let [_, _, _, _, [sh, ..]] = rows;
    let parameters: usize = rows.iter().map(|[parameters, ..]| parameters).sum();
    let parameters = ((parameters - sh) * gaussians + sh * own) as u64;
    MemoryPlan {
        parameters,
        moments: offload::bytes_of(rows, (gaussians, own)) - parameters,
        working: match leaving(gaussians) {
            0 => working_bytes(gaussians, pixels),
            _ => headroom,
        },
        host,
    }
}

/// Splats that there is room for once memory is short, until frames show more.
pub(crate) fn first_splats(gaussians: usize) -> usize {
    (gaussians / GAUSSIANS_A_SPLAT).max(MIN_SPLATS)
}

/// What a step needs besides the state and the photos, if its photo shows every Gaussian of a scene
/// that is trained: with room for a splat of each, and for their pairs.
pub(crate) fn working_bytes(gaussians: usize, pixels: u64) -> u64 {
    // Sides of a splat in tiles: it lies in one more than that each way.
    let area = COVER * pixels as f64 / (gaussians.max(1) as f64);
    let pairs = gaussians as f64 * (1.0 + area.sqrt() / TILE as f64).powi(2);
    let pairs = capacity::roomy(pairs as u64).max(capacity::roomy(capacity::guess(gaussians)));
    // Where there are few pairs the sums still have a row a splat.
    let rows = pairs.max(gaussians as u64);
    gaussians as u64 * A_SPLAT
        + pairs * (A_PAIR - SUM_BYTES as u64)
        + rows * SUM_BYTES as u64
        + pixels * A_PIXEL
}

/// Pixels of the largest photo.
pub(super) fn most_pixels(views: &[View]) -> u64 {
    let pixels = views
        .iter()
        .map(|view| view.camera.width as u64 * view.camera.height as u64);
    pixels.max().unwrap_or(0)
}

/// Refuses a device that has too little memory even if all that can leave it does.
///
/// # Errors
/// [`BackendError::OutOfMemory`] with what is needed.
pub(super) fn check_least(
    (gaussians, sh_degree): (usize, u8),
    moments: Moments,
    pixels: u64,
    all: u64,
) -> Result<(), BackendError> {
    let a_row = offload::staying(offload::row_bytes(sh_degree, moments)) + A_GAUSSIAN + STATISTICS;
    let bytes = a_row * gaussians as u64 + pixels * A_PIXEL;
    if bytes <= all {
        return Ok(());
    }
    Err(BackendError::OutOfMemory {
        backend: "cuda",
        buffer: format!(
            "what of {gaussians} Gaussians and of the largest photo must lie on the card"
        ),
        bytes,
        free: Some(all),
        depends_on: &[Choice::CardMemory, Choice::GaussianCount, Choice::PhotoSize],
    })
}
