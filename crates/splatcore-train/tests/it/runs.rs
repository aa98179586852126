//! Runs of the mock, and how they are compared.

use crate::common::{Mock, points, views};
use splatcore_core::{Gaussians, LearnerState};
use splatcore_train::config::{Background, Config, Strategy};
use splatcore_train::{Checkpoint, Outcome, Trainer, init};

pub fn config(strategy: Strategy) -> Config {
    Config {
        iterations: Some(400),
        strategy: Some(strategy),
        sh_degree: Some(1),
        densify_from: Some(50),
        densify_until: Some(300),
        densify_every: Some(25),
        opacity_reset_every: Some(90),
        checkpoint_every: Some(0),
        max_gaussians: Some(300),
        background: Some(Background::White),
        seed: Some(5),
        ..Config::UNSET
    }
}

pub fn start(config: &Config) -> Gaussians {
    init::from_points(&points(60), &[], &config.complete(), 1.0).gaussians
}

pub fn trainer(config: &Config, mock: &Mock) -> Trainer {
    Trainer::new(&config.complete(), mock, views(9), start(config)).unwrap()
}

pub fn end_of(mut trainer: Trainer) -> Checkpoint {
    assert_eq!(trainer.run(&mut ()).unwrap(), Outcome::Finished);
    trainer.checkpoint().unwrap()
}

pub fn assert_same(a: &Checkpoint, b: &Checkpoint) {
    let bits = |set: &Gaussians| -> Vec<u32> {
        let rows = [
            set.means.as_flattened(),
            set.log_scales.as_flattened(),
            set.rotations.as_flattened(),
        ];
        let rest = [&set.opacity_logits[..], set.sh.as_flattened()];
        rows.concat()
            .iter()
            .chain(&rest.concat())
            .map(|v| v.to_bits())
            .collect()
    };
    let LearnerState {
        gaussians,
        first,
        second,
        gradient_sum,
        seen,
        colours,
        sky,
        columns,
    } = &a.state;
    assert_eq!(bits(gaussians), bits(&b.state.gaussians));
    assert_eq!(bits(first), bits(&b.state.first));
    assert_eq!(bits(second), bits(&b.state.second));
    assert_eq!((gradient_sum, seen), (&b.state.gradient_sum, &b.state.seen));
    assert_eq!(colours, &b.state.colours);
    assert_eq!(sky, &b.state.sky);
    assert_eq!(columns, &b.state.columns);
    assert_eq!(
        (a.step, &a.order, a.smoothed_loss, a.samples),
        (b.step, &b.order, b.smoothed_loss, b.samples)
    );
    let curve = |c: &Checkpoint| {
        c.curve
            .iter()
            .map(|p| (p.step, p.loss.to_bits(), p.gaussians))
            .collect::<Vec<_>>()
    };
    assert_eq!(curve(a), curve(b));
    assert_eq!((&a.config, &a.photos), (&b.config, &b.photos));
    assert_eq!(a.poses, b.poses);
    assert_eq!(a.intrinsics, b.intrinsics);
    assert_eq!(a.motion, b.motion);
}
