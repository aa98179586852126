//! `--prune-floaters` on a model that has them: fox_220k, trained with adc by INRIA's program,
//! shows a veil in the one held-out view that looks from outside the range of the training views
//! (docs/log/training-view-0110.md).

use splatcore_core::View;
use splatcore_core::backend::{Backend, Learner, Refine, RenderOptions};
use splatcore_cpu::CpuBackend;
use splatcore_data::dataset::{Dataset, LoadOptions, OpenOptions, Split};
use splatcore_data::scene;
use splatcore_test_support::shared_all;
use splatcore_train::evaluate;
use std::path::Path;
use std::sync::Arc;

fn views(dataset: &Path, split: Split) -> Vec<View> {
    let dataset = Dataset::open(dataset, &OpenOptions::default()).unwrap();
    let options = LoadOptions {
        max_size: Some(240),
        ..LoadOptions::default()
    };
    let chosen = dataset.select(split, 8);
    dataset.load_views(&chosen, &options, &|_, _| {}).unwrap()
}

/// PSNR of the view with the veil, and the mean of the others.
fn quality(learner: &mut dyn Learner, held_out: &[View]) -> (f64, f64) {
    let found = evaluate(
        learner,
        held_out,
        &RenderOptions::default(),
        &|_, _, _, _| (),
    )
    .unwrap();
    let (veiled, others): (Vec<_>, Vec<_>) = found
        .views
        .iter()
        .partition(|view| view.name.contains("0110"));
    let sum: f64 = others.iter().map(|view| view.psnr).sum();
    (veiled[0].psnr, sum / others.len() as f64)
}

#[test]
fn a_veil_goes_and_the_scene_stays() {
    let Some([model, dataset]) = shared_all(["models/fox_220k.spz", "posed/fox_colmap"]) else {
        return;
    };
    let gaussians = scene::read(&model).unwrap().gaussians;
    let training = Arc::new(views(&dataset, Split::Train));
    let held_out = views(&dataset, Split::Test);
    let mut learner = CpuBackend::new(None).learner(&gaussians, training).unwrap();
    let before = quality(learner.as_mut(), &held_out);
    let refine = Refine::PruneFloaters {
        render: RenderOptions::default(),
        depth_share: 0.8,
    };
    let pruned = learner.refine(&refine).unwrap().pruned;
    let after = quality(learner.as_mut(), &held_out);
    eprintln!(
        "{pruned} of {} removed; 0110 and the others have {before:.2?} dB before, {after:.2?} dB \
         after",
        gaussians.len()
    );
    assert!(pruned > 0 && pruned * 50 < gaussians.len());
    assert!(after.0 > before.0 + 4.0 && after.1 > before.1 - 0.1);
}
