//! What must not change an image, and what must change it in proportion. No reference is needed, so
//! these hold at the timed size too.

use super::compare::bits;
use super::scenes::TestScene;
use super::{Gate, Rejection};
use crate::worker::{Child, FrameSpec, WorkerError};
use splatcore_core::{Gaussians, Image};

/// Roundings of an image with another background or in another order of Gaussians.
const ROUNDING: f64 = 2e-3;

/// Checks one frame of a scene.
///
/// # Errors
/// A rejection by [`Gate::Metamorphic`], or what the worker fails with, by `blame`.
pub fn check(
    worker: &mut Child,
    test: &TestScene,
    blame: &dyn Fn(WorkerError) -> Rejection,
) -> Result<(), Rejection> {
    let Some(frame) = test.frames.first() else {
        return Ok(());
    };
    let mut of = |scene: &Gaussians, frame: &FrameSpec| -> Result<(Image, Vec<f32>), Rejection> {
        worker.load(scene).map_err(blame)?;
        worker.render(frame).map_err(blame)
    };
    let wrong = |what: &str| {
        let reason = format!("{}: {what}", test.name);
        Err(Rejection::new(Gate::Metamorphic, reason))
    };
    let (image, transmittance) = of(&test.scene, frame)?;
    let (same, _) = of(&with_unseen(&test.scene), frame)?;
    if bits(&same) != bits(&image) {
        return wrong("Gaussians of no opacity change the image");
    }
    let other = FrameSpec {
        background: frame.background.map(|c| 0.25 + 0.5 * c),
        ..frame.clone()
    };
    let (lit, _) = of(&test.scene, &other)?;
    for (i, t) in transmittance.iter().enumerate() {
        for c in 0..3 {
            let wanted = t * (other.background[c] - frame.background[c]);
            let found = lit.data[i][c] - image.data[i][c];
            if apart(found, wanted, ROUNDING) {
                return wrong("the background does not shine through by the transmittance");
            }
        }
    }
    let (turned, _) = of(&reversed(&test.scene), frame)?;
    let pairs = turned
        .data
        .iter()
        .flatten()
        .zip(image.data.iter().flatten());
    let off = pairs.filter(|&(&a, &b)| apart(a, b, super::PIXEL));
    if off.count() > image.data.len() / 500 {
        return wrong("the order in which Gaussians are stored changes the image");
    }
    Ok(())
}

/// Whether two values differ by so much, or one is not a number.
fn apart(a: f32, b: f32, most: f64) -> bool {
    let difference = f64::from(a - b).abs();
    difference.is_nan() || difference > most
}

/// The scene with a few Gaussians more that no pixel can see, each in front of one that may be
/// seen: those behind it have other places in the buffer.
fn with_unseen(scene: &Gaussians) -> Gaussians {
    let mut more = Gaussians::empty(scene.sh_degree);
    for i in 0..scene.len() {
        if i % 7 == 0 {
            more.push_from(scene, i);
            if let Some(logit) = more.opacity_logits.last_mut() {
                *logit = -30.0;
            }
        }
        more.push_from(scene, i);
    }
    more
}

/// The scene with its Gaussians in the opposite order.
fn reversed(scene: &Gaussians) -> Gaussians {
    let mut turned = Gaussians::empty(scene.sh_degree);
    (0..scene.len())
        .rev()
        .for_each(|i| turned.push_from(scene, i));
    turned
}
