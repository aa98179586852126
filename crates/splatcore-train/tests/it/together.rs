//! Several processes, here threads, whose clocks differ: what rank 0 decides holds for all, and all
//! take the steps that one process takes.

use crate::common::{Event as Told, Mock, points, views};
use splatcore_train::config::{Config, Strategy, WallTime};
use splatcore_train::{
    Decision, End, Outcome, ResolvedConfig, Together, TrainError, Trainer, init,
};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

/// What rank 0 says, and after which step.
#[derive(Clone, Copy, Debug)]
enum Said {
    Decision(u32, Decision),
    End(u32, End),
}

/// Rank 0 has an ear of every other one.
struct Rank {
    others: Vec<Sender<Said>>,
    first: Option<Receiver<Said>>,
}

impl Rank {
    fn all(count: usize) -> Vec<Self> {
        let (senders, receivers): (Vec<_>, Vec<_>) = (1..count).map(|_| channel()).unzip();
        let first = Rank {
            others: senders,
            first: None,
        };
        let other = |receiver| Rank {
            others: Vec::new(),
            first: Some(receiver),
        };
        let others = receivers.into_iter().map(other);
        std::iter::once(first).chain(others).collect()
    }

    fn say(&self, said: Said) -> Option<Said> {
        let hear = self.first.as_ref().map(|first| first.recv().unwrap());
        self.others
            .iter()
            .for_each(|other| other.send(said).unwrap());
        hear
    }
}

impl Together for Rank {
    fn leads(&self) -> bool {
        self.first.is_none()
    }
    fn decide(&mut self, step: u32, own: Decision) -> Result<Decision, TrainError> {
        match self.say(Said::Decision(step, own)) {
            None => Ok(own),
            Some(Said::Decision(at, decision)) if at == step => Ok(decision),
            other => panic!("{other:?} where a decision at step {step} was wanted"),
        }
    }
    fn end(&mut self, step: u32, own: End) -> Result<End, TrainError> {
        match self.say(Said::End(step, own)) {
            None => Ok(own),
            Some(Said::End(at, end)) if at == step => Ok(end),
            other => panic!("{other:?} where an end at step {step} was wanted"),
        }
    }
}

/// As a card; and a clock by which the same steps take no time, or too much.
fn card(scale: u32, gaussians: usize) -> f64 {
    1e-3 * [0.0, 1.0, 0.7, 0.0, 0.6][scale as usize] + 1e-6 * gaussians as f64
}
fn stands(_: u32, _: usize) -> f64 {
    0.0
}
fn hurries(scale: u32, gaussians: usize) -> f64 {
    7.0 * card(scale, gaussians)
}

/// What a rank did: its steps and refinements, how often it fetched the loss, steps in the end.
type Course = (Vec<Told>, u32, u32);

fn run(config: &ResolvedConfig, rank: usize, together: Option<Rank>) -> Course {
    let time = Arc::new(Mutex::new(0.0));
    let machine = [card, stands, hurries][if rank == 0 { 0 } else { 1 + rank % 2 }];
    let mock = Mock {
        clock: Some((Arc::clone(&time), machine, 0.02)),
        ..Mock::default()
    };
    let start = init::from_points(&points(60), &[], config, 1.0).gaussians;
    let mut trainer = Trainer::new(config, &mock, views(9), start).unwrap();
    let clock = Arc::clone(&time);
    trainer.set_clock(Arc::new(move || *clock.lock().unwrap()));
    trainer.hold_out(views(9));
    trainer.keep_time_for(Box::new(|_, _, _| 0.05));
    if let Some(together) = together {
        trainer.train_together(Box::new(together));
    }
    assert_eq!(trainer.run(&mut ()).unwrap(), Outcome::Finished);
    let log = mock.log.lock().unwrap().clone();
    assert_eq!(trainer.config().iterations, trainer.step());
    (log, mock.losses.load(Ordering::Relaxed), trainer.step())
}

fn all_do_as_one(config: &Config) -> u32 {
    let config: ResolvedConfig = config.resolve().unwrap();
    let alone = run(&config, 0, None);
    for count in [2, 3, 4, 7] {
        let ranks = Rank::all(count).into_iter().enumerate();
        let threads = ranks.map(|(rank, together)| {
            let config = config.clone();
            thread::spawn(move || run(&config, rank, Some(together)))
        });
        let threads: Vec<_> = threads.collect();
        for (rank, thread) in threads.into_iter().enumerate() {
            let course = thread.join().unwrap();
            assert_eq!(course.2, alone.2, "steps of rank {rank} of {count}");
            assert!(course == alone, "rank {rank} of {count}");
        }
    }
    alone.2
}

#[test]
fn a_budget_is_that_of_rank_0() {
    for strategy in [Strategy::Adc, Strategy::Mcmc] {
        let steps = all_do_as_one(&Config {
            budget: WallTime::from_seconds(2.0),
            sh_degree: Some(1),
            max_gaussians: Some(300),
            strategy: Some(strategy),
            ..Config::UNSET
        });
        assert!((1000..3000).contains(&steps), "{steps}");
    }
}

#[test]
fn a_quality_target_is_reached_by_all_at_once() {
    let black = splatcore_core::Image::filled(12, 8, [0.0; 3]);
    let psnr = |view: &splatcore_core::View| splatcore_core::metrics::psnr(&black, &view.photo);
    let mean = views(9).iter().map(psnr).sum::<f64>() / 9.0;
    let target = |psnr: f64| Config {
        quality_target: Some(psnr),
        iterations: Some(1500),
        max_gaussians: Some(100),
        ..Config::UNSET
    };
    let steps = all_do_as_one(&target(mean - 0.01));
    assert!(steps < 150, "{steps}");
    assert_eq!(all_do_as_one(&target(mean + 0.01)), 1500);
    // With both the budget plans the end, and the quality moves it.
    let both = Config {
        budget: WallTime::from_seconds(3.0),
        iterations: None,
        ..target(mean - 0.01)
    };
    assert!(all_do_as_one(&both) < 300);
}
