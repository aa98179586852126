//! How much memory a learner needs.

use crate::ops::adam::moments::Moments;
use crate::ops::offload::{self, Headroom};
use crate::ops::shards::Shards;
use splatcore_core::backend::MemoryPlan;
use splatcore_core::{BackendError, Choice, View};

/// Bytes of keys, order and index that every frame has for each Gaussian, in view or not, with the
/// states of the sort.
const A_GAUSSIAN: u64 = 14;
/// Bytes of the statistics.
const STATISTICS: u64 = 8;
/// Bytes for each pixel of the largest photo: planes of image, gradient and the loss's derivatives.
const A_PIXEL: u64 = 4 * (3 + 1 + 3 + 6);
/// What a step needs for each splat: splats, sums; some 6 pairs with keys, orders and sums.
const A_SPLAT: u64 = 54 + 36 + 54 + 6 * (20 + 48);
/// When memory is short, room is at first kept for one splat of so many Gaussians.
const GAUSSIANS_A_SPLAT: usize = 16;
/// And at least for so many.
const MIN_SPLATS: usize = 64;

/// What is left free when a state is uploaded, if it may lie in the host's memory in part: there
/// is room for twice the splats that a frame is at first expected to have.
pub(crate) fn headroom(pixels: u64) -> Headroom {
    Headroom {
        a_gaussian: A_GAUSSIAN + STATISTICS + 2 * A_SPLAT / GAUSSIANS_A_SPLAT as u64,
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

/// What a step needs besides the state and the photos, with room for a splat of each Gaussian.
pub(crate) fn working_bytes(gaussians: usize, pixels: u64) -> u64 {
    gaussians as u64 * A_SPLAT + pixels * A_PIXEL
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
