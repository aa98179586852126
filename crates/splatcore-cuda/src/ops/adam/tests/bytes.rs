//! What a Gaussian takes of a card's memory, in training and in a refinement.

use super::backend;
use crate::Moments;
use crate::device::Device;
use crate::ops::densify::Densify;
use crate::ops::state::State;
use crate::tests::support::watched::Watched;
use splatcore_core::backend::{Backend, LearnerState, Refine};
use splatcore_reference::conformance::scenes::random_scene;
use std::sync::Arc;

/// Issue: at most 450 bytes a Gaussian while training at degree 3, and in a refinement at most 1.2
/// times that.
#[test]
fn at_most_450_bytes_a_gaussian() {
    let Some(watched) = Watched::new() else {
        return;
    };
    let device: Arc<dyn Device> = watched.clone();
    let n = 6000;
    let mut scene = random_scene(1, n, 3);
    // A few are dead.
    for logit in scene.opacity_logits.iter_mut().step_by(40) {
        *logit = -9.0;
    }
    for (moments, bytes) in [
        (Moments::Full, 716),
        (Moments::Compact, 432),
        (Moments::Second, 314),
        (Moments::Small, 218),
    ] {
        let fresh = LearnerState::fresh(scene.clone());
        let state = State::upload_as(&device, &fresh, moments, None, None).unwrap();
        // And empty arrays of filters, of masks (3), of moments that are not kept (5), and the
        // count.
        let empty = 4 + if moments.keeps_first() { 0 } else { 5 };
        assert_eq!(state.bytes(), bytes * n as u64 + 4 * empty + 4);
        let plan = backend(&device, moments).memory_plan(n, 3, [1, 1]);
        assert_eq!(plan.parameters + plan.moments, (bytes - 8) * n as u64);
    }
    watched.watch().said_free = Some(0);
    let mut densify = Densify::new(&crate::device::Kernels::new(device.clone())).unwrap();
    let mcmc = Refine::Mcmc {
        min_opacity: 0.005,
        growth: 0.05,
        max_gaussians: n + n / 20,
        region: None,
        seed: 1,
        step: 1,
    };
    let adc = Refine::Adc {
        gradient_threshold: 1e9,
        split_scale: 1.0,
        min_opacity: 0.005,
        max_scale: None,
        max_gaussians: n,
        budget: None,
        region: None,
        seed: 1,
        step: 1,
    };
    for refine in [mcmc, adc] {
        let mut state = State::upload_as(
            &device,
            &LearnerState::fresh(scene.clone()),
            Moments::Compact,
            None,
            None,
        )
        .unwrap();
        watched.watch().forget_peak();
        let count = densify.refine(&mut state, &refine, None).unwrap().count;
        let (after, peak) = (
            state.bytes() as f64 / count as f64,
            watched.watch().peak as f64 / count as f64,
        );
        eprintln!(
            "{count} Gaussians: {after:.0} bytes each, {peak:.0} at the peak of the refinement"
        );
        assert!(after <= 450.0 && peak <= 1.2 * 450.0);
    }
}
