//! The loop: what is asked of the learner, when it is saved, and that a resumed run ends where it
//! would have.

use crate::common::{Event, Mock, StopAt, stopped_at, views};
use crate::runs::{assert_same, config, end_of, trainer};
use splatcore_core::backend::{Refine, RenderOptions, Renderer};
use splatcore_train::config::{Config, Strategy};
use splatcore_train::{Checkpoint, Observer, Outcome, Progress, Signal, TrainError, Trainer};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[test]
fn resuming_is_bit_exact_across_refinements_and_resets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    for strategy in [Strategy::Splatcore, Strategy::Adc, Strategy::Mcmc] {
        let config = config(strategy);
        let whole = end_of(trainer(&config, &Mock::default()));
        assert_ne!(whole.state.gaussians.len(), 60, "the set must have changed");
        // Before anything, between, at a refinement, at a reset, at both, after densification, one
        // before the end.
        for stop in [1, 37, 50, 74, 75, 90, 180, 199, 225, 301, 399] {
            let checkpoint = stopped_at(trainer(&config, &Mock::default()), stop, &path);
            assert_eq!(checkpoint.step, stop);
            let second =
                Trainer::resume(&config.complete(), &Mock::default(), views(9), checkpoint)
                    .unwrap();
            assert_same(&end_of(second), &whole);
        }
    }
}

#[test]
fn many_interrupts_and_going_on_in_place_change_nothing() {
    let config = config(Strategy::Adc);
    let whole = end_of(trainer(&config, &Mock::default()));
    let mut trainer = trainer(&config, &Mock::default());
    let mut observer = StopAt::new(&[3, 4, 100, 250]);
    for step in [3, 4, 100, 250] {
        assert_eq!(
            trainer.run(&mut observer).unwrap(),
            Outcome::Interrupted { step }
        );
    }
    assert_same(&end_of(trainer), &whole);
}

#[test]
fn the_learner_is_asked_in_order() {
    let config = config(Strategy::Adc);
    let mock = Mock::default();
    end_of(trainer(&config, &mock));
    let log = mock.log.lock().unwrap();
    let refinements: Vec<(u32, &str)> = log
        .iter()
        .filter_map(|event| match event {
            Event::Refine(step, Refine::Adc { .. }) => Some((*step, "adc")),
            Event::Refine(step, Refine::ResetOpacity { .. }) => Some((*step, "reset")),
            _ => None,
        })
        .collect();
    assert_eq!(
        &refinements[..5],
        &[
            (50, "reset"),
            (75, "adc"),
            (90, "reset"),
            (100, "adc"),
            (125, "adc")
        ]
    );
    assert_eq!(
        refinements
            .iter()
            .filter(|(_, kind)| *kind == "reset")
            .count(),
        4
    );
    assert_eq!(refinements.last(), Some(&(275, "adc")));
    let plans: Vec<_> = log
        .iter()
        .filter_map(|e| {
            if let Event::Step(plan) = e {
                Some(plan)
            } else {
                None
            }
        })
        .collect();
    assert!(plans.iter().zip(1..).all(|(plan, step)| plan.step == step));
    for round in plans.chunks_exact(9) {
        let mut seen: Vec<usize> = round.iter().flat_map(|plan| plan.views.clone()).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..9).collect::<Vec<_>>());
    }
}

#[test]
fn seeds_lead_elsewhere_and_repeat() {
    let one = config(Strategy::Mcmc);
    let other = Config {
        seed: Some(6),
        ..one.clone()
    };
    let a = end_of(trainer(&one, &Mock::default()));
    assert_same(&a, &end_of(trainer(&one, &Mock::default())));
    assert_ne!(a.state, end_of(trainer(&other, &Mock::default())).state);
}

#[test]
fn a_loss_that_is_not_a_number_stops_and_keeps_the_last_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.safetensors");
    let config = Config {
        checkpoint_every: Some(7),
        ..config(Strategy::Adc)
    };
    for (nan_from, error_at, kept) in [(23, 28, 21), (41, 42, 35), (50, 50, 49)] {
        let mock = Mock {
            nan_from: Some(nan_from),
            ..Mock::default()
        };
        let mut trainer = trainer(&config, &mock);
        trainer.save_to(&path);
        let error = trainer.run(&mut ()).unwrap_err();
        let step = |event: &Event| match event {
            Event::Step(plan) => Some(plan.views[0]),
            Event::Refine(..) => None,
        };
        let last_view = mock.log.lock().unwrap().iter().rev().find_map(step);
        let view = format!("{:03}.png", last_view.unwrap());
        let text = error.to_string();
        assert!(
            matches!(error, TrainError::NotFinite { step, .. } if step == error_at),
            "{text}"
        );
        assert!(
            text.contains("NaN") && text.contains(&view) && text.contains("finite at step"),
            "{text}"
        );
        assert_eq!(Checkpoint::load(&path).unwrap().step, kept);
    }
}

#[derive(Default)]
struct Watch {
    progress: Vec<Progress>,
    measured: Vec<u32>,
    saved: Vec<u32>,
}
impl Observer for Watch {
    fn progress(&mut self, progress: &Progress) -> Signal {
        self.progress.push(progress.clone());
        Signal::Continue
    }
    fn measure(&mut self, step: u32, renderer: &mut dyn Renderer, options: &RenderOptions) {
        let views = views(3);
        let result =
            splatcore_train::evaluate(renderer, &views, options, &|_, _, _, _| ()).unwrap();
        assert_eq!(
            (result.views.len(), result.gaussians),
            (3, renderer.count())
        );
        self.measured.push(step);
        std::thread::sleep(std::time::Duration::from_millis(30));
    }
    fn note(&mut self, event: &splatcore_train::Event<'_>) {
        if let splatcore_train::Event::Saved { step } = event {
            self.saved.push(*step);
        }
    }
}

#[test]
fn the_observer_hears_everything_and_measuring_is_not_training_time() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        checkpoint_every: Some(150),
        eval_every: Some(40),
        ..config(Strategy::Mcmc)
    };
    let mock = Mock::default();
    let losses = Arc::clone(&mock.losses);
    let mut trainer = trainer(&config, &mock);
    trainer.save_to(folder.path().join("c"));
    let mut watch = Watch::default();
    let begin = std::time::Instant::now();
    trainer.run(&mut watch).unwrap();
    let wall = begin.elapsed().as_secs_f64();
    // The first step and every 50th; a slow machine is told of steps in between.
    let sampled: Vec<u32> = watch.progress.iter().map(|p| p.step).collect();
    assert!(
        [1, 50, 100, 150, 200, 250, 300, 350, 400]
            .iter()
            .all(|step| sampled.contains(step)),
        "{sampled:?}"
    );
    assert_eq!(watch.measured, (1..=10).map(|i| 40 * i).collect::<Vec<_>>());
    assert_eq!(watch.saved, [150, 300, 400]);
    let last = watch.progress.last().unwrap();
    assert_eq!(
        (last.step, last.iterations, last.seconds_left),
        (400, 400, 0.0)
    );
    assert_eq!(last.last_refine.unwrap().0, 275);
    assert!(last.steps_per_second > 0.0 && last.loss.is_finite());
    // Ten pauses of 30 ms; the last one comes after the last sample.
    assert!(
        wall > 0.3 && trainer.seconds() < wall - 0.26,
        "{wall} {}",
        trainer.seconds()
    );
    let steps: Vec<u32> = trainer.curve().iter().map(|p| p.step).collect();
    assert_eq!((steps[0], steps[1], steps.len()), (1, 50, 9));
    // A sample makes the device wait: nothing else asks for the loss (every checkpoint here is at
    // one).
    assert_eq!(losses.load(Ordering::Relaxed), 9);
}

#[test]
fn wall_time_adds_up_and_a_finished_run_stays_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let config = config(Strategy::Adc);
    let mut first = trainer(&config, &Mock::default());
    first.save_to(&path);
    first.run(&mut StopAt::new(&[200])).unwrap();
    let before = first.seconds();
    let mut second = Trainer::resume(
        &config.complete(),
        &Mock::default(),
        views(9),
        Checkpoint::load(&path).unwrap(),
    )
    .unwrap();
    second.save_to(&path);
    second.run(&mut ()).unwrap();
    assert!(before > 0.0 && second.seconds() > before);
    let done = Checkpoint::load(&path).unwrap();
    assert_eq!(done.step, 400);
    let mut third = Trainer::resume(&config.complete(), &Mock::default(), views(9), done).unwrap();
    assert_eq!(third.run(&mut ()).unwrap(), Outcome::Finished);
    assert_eq!((third.step(), third.seconds()), (400, second.seconds()));
}

#[test]
fn a_time_limit_ends_a_run_that_can_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let config = Config {
        iterations: Some(300),
        ..config(Strategy::Adc)
    };
    let whole = end_of(trainer(&config, &Mock::default()));
    let slow = || Mock {
        step_time: Some(Duration::from_millis(2)),
        ..Mock::default()
    };
    let mut first = trainer(&config, &slow());
    first.save_to(&path);
    first.stop_after(0.1);
    let Outcome::TimeLimit { step } = first.run(&mut ()).unwrap() else {
        panic!("not stopped by the limit");
    };
    // A step takes at least 2 ms, so that there cannot be more than this.
    assert!((1..=51).contains(&step) && first.step() == step, "{step}");
    assert!(first.seconds() >= 0.1 && first.scene().unwrap().len() >= 60);
    let seconds = first.seconds();
    drop(first);

    let resume = |limit: Option<f64>| {
        let checkpoint = Checkpoint::load(&path).unwrap();
        assert_eq!((checkpoint.step, checkpoint.seconds), (step, seconds));
        let mut trainer =
            Trainer::resume(&config.complete(), &Mock::default(), views(9), checkpoint).unwrap();
        if let Some(limit) = limit {
            trainer.stop_after(limit);
        }
        let outcome = trainer.run(&mut ()).unwrap();
        (outcome, trainer.checkpoint().unwrap())
    };
    // The limit counts what was trained before; without it the run ends as if it had never stopped.
    assert_eq!(resume(Some(0.1)).0, Outcome::TimeLimit { step });
    let (outcome, end) = resume(None);
    assert_eq!(outcome, Outcome::Finished);
    assert_same(&end, &whole);
    // Time enough is no limit.
    assert_eq!(resume(Some(1e6)).0, Outcome::Finished);
}

#[test]
fn a_file_is_written_while_the_caller_goes_on_and_is_whole_when_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let mut trainer = trainer(&config(Strategy::Mcmc), &Mock::default());
    trainer.save_to(&path);
    let mut watch = Watch::default();
    assert_eq!(trainer.run_ahead(&mut watch).unwrap(), Outcome::Finished);
    assert!(watch.saved.is_empty());
    trainer.wait_saved(&mut watch).unwrap();
    assert_eq!(watch.saved, [400]);
    assert_same(
        &Checkpoint::load(&path).unwrap(),
        &trainer.checkpoint().unwrap(),
    );
    // Nor does a trainer that is dropped leave half a file.
    std::fs::remove_file(&path).unwrap();
    trainer.run_ahead(&mut ()).unwrap();
    drop(trainer);
    assert_eq!(Checkpoint::load(&path).unwrap().step, 400);
}

#[test]
fn the_scene_may_be_fetched_before_the_end_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let mut trainer = trainer(&config(Strategy::Mcmc), &Mock::default());
    trainer.save_to(&path);
    assert_eq!(trainer.run_unsaved(&mut ()).unwrap(), Outcome::Finished);
    trainer.wait_saved(&mut ()).unwrap();
    assert!(!path.exists());
    let scene = trainer.scene().unwrap();
    trainer.save_end(&mut ()).unwrap();
    trainer.wait_saved(&mut ()).unwrap();
    let saved = Checkpoint::load(&path).unwrap();
    assert_same(&saved, &trainer.checkpoint().unwrap());
    assert_eq!((saved.step, saved.state.gaussians), (400, scene));
}
