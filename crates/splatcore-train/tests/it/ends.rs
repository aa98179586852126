//! Runs that end on time, or once they are good enough. The clock is the mock's: only steps and
//! rounds of pruning take time on it.

use crate::common::{Event as Told, Mock, StopAt, points, views};
use splatcore_core::backend::Refine;
use splatcore_train::config::{
    Config, DensifyGrowth, Interval, ResolutionSchedule, Strategy, WallTime,
};
use splatcore_train::trainer::Residuals;
use splatcore_train::{
    Checkpoint, Event, Observer, Outcome, Planned, ResolvedConfig, TrainError, Trainer, init,
};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

/// Seconds of a step at a size of photos with so many Gaussians.
type Machine = fn(u32, usize) -> f64;

/// As a card: most of a step does not depend on the Gaussians.
fn card(scale: u32, gaussians: usize) -> f64 {
    1e-3 * [0.0, 1.0, 0.7, 0.0, 0.6][scale as usize] + 1e-6 * gaussians as f64
}

/// As a processor on small photos: the Gaussians take the time.
fn processor(scale: u32, gaussians: usize) -> f64 {
    0.02 / f64::from(scale * scale) + 1e-3 * gaussians as f64
}

struct Run {
    mock: Mock,
    time: Arc<Mutex<f64>>,
    trainer: Trainer,
}

fn begin(config: &Config, machine: Machine, pruning: f64, checkpoint: Option<Checkpoint>) -> Run {
    let time = Arc::new(Mutex::new(0.0));
    let mock = Mock {
        clock: Some((Arc::clone(&time), machine, pruning)),
        ..Mock::default()
    };
    let config: ResolvedConfig = config.resolve().unwrap();
    let mut trainer = match checkpoint {
        Some(checkpoint) => Trainer::resume(&config, &mock, views(9), checkpoint).unwrap(),
        None => {
            let start = init::from_points(&points(60), &[], &config, 1.0).gaussians;
            Trainer::new(&config, &mock, views(9), start).unwrap()
        }
    };
    let clock = Arc::clone(&time);
    trainer.set_clock(Arc::new(move || *clock.lock().unwrap()));
    Run {
        mock,
        time,
        trainer,
    }
}

fn budget(seconds: f64) -> Config {
    Config {
        budget: WallTime::from_seconds(seconds),
        sh_degree: Some(1),
        max_gaussians: Some(500),
        ..Config::UNSET
    }
}

#[derive(Default)]
struct Notes {
    planned: Vec<Planned>,
    reached: Vec<(u32, f64, u32)>,
}

impl Observer for Notes {
    fn note(&mut self, event: &Event<'_>) {
        match event {
            Event::Planned(planned) => self.planned.push(*planned),
            Event::Reached { step, psnr, end } => self.reached.push((*step, *psnr, *end)),
            _ => {}
        }
    }
}

/// Rates of means fall to a hundredth. Of the default strategy, plans before growth begins make
/// them higher where they expect few steps: 7000 over one of these numbers, up to 4 times.
fn assert_fallen(name: &str, config: &Config, plans: &[u32], rates: &[f32]) {
    let [first, last] = [rates[0], rates[rates.len() - 1]].map(f64::from);
    let share = last / first / 0.01;
    let haste = |steps: &u32| match config.strategy {
        Some(Strategy::Adc | Strategy::Mcmc) => 1.0,
        _ => (7000.0 / f64::from(*steps)).clamp(1.0, 4.0),
    };
    let near = |steps| (share / haste(steps) - 1.0).abs() < 0.06;
    assert!(plans.iter().any(near), "{name}: {first} {last}");
    let highest = rates.iter().copied().fold(0.0, f32::max);
    let from = rates.iter().position(|&rate| rate == highest).unwrap();
    assert!(rates[from..].is_sorted_by(|a, b| a >= b), "{name}");
    assert!(from <= 200, "{name}: {from}");
}

/// The steps with their rates, and the last step of growth and of a reset.
fn course(mock: &Mock) -> (Vec<f32>, u32, u32) {
    let log = mock.log.lock().unwrap();
    let (mut rates, mut grown, mut reset) = (Vec::new(), 0, 0);
    for told in log.iter() {
        match told {
            Told::Step(plan) => rates.push(plan.rates.means),
            Told::Refine(step, Refine::Adc { .. } | Refine::Mcmc { .. }) => grown = *step,
            Told::Refine(step, Refine::ResetOpacity { .. } | Refine::FadeOpacity { .. }) => {
                reset = *step;
            }
            Told::Refine(..) => {}
        }
    }
    (rates, grown, reset)
}

#[test]
fn a_run_ends_on_time_with_its_schedules_complete() {
    let adc = Config {
        strategy: Some(Strategy::Adc),
        ..Config::UNSET
    };
    let mcmc = Config {
        strategy: Some(Strategy::Mcmc),
        resolution_schedule: Some(ResolutionSchedule::CoarseToFine),
        ..Config::UNSET
    };
    let by_budget = Config {
        densify_growth: Some(DensifyGrowth::Budget),
        opacity_halving_every: Some(Interval::Epochs(12)),
        lr_final_share: Some(0.1),
        ..Config::UNSET
    };
    for (name, machine, seconds, pruning, more) in [
        ("card, splatcore", card as Machine, 4.0, 0.02, Config::UNSET),
        ("card, adc", card, 4.0, 0.02, adc.clone()),
        ("card, mcmc", card, 4.0, 0.0, mcmc.clone()),
        ("card, budget", card, 3.0, 0.05, by_budget.clone()),
        ("processor, splatcore", processor, 60.0, 0.3, Config::UNSET),
        ("processor, adc", processor, 60.0, 0.3, adc.clone()),
        ("processor, mcmc", processor, 200.0, 0.0, mcmc),
        ("processor, budget", processor, 90.0, 0.5, by_budget),
        ("a few steps", processor, 2.0, 0.5, adc),
    ] {
        let config = more.over(&budget(seconds));
        let mut run = begin(&config, machine, pruning, None);
        run.trainer.has_spent(0.1 * seconds);
        run.trainer
            .keep_time_for(Box::new(move |_, _, _| 0.05 * seconds));
        let mut notes = Notes::default();
        assert_eq!(run.trainer.run(&mut notes).unwrap(), Outcome::Finished);
        let spent = *run.time.lock().unwrap();
        let share = spent / (0.85 * seconds);
        let steps = run.trainer.step();
        println!(
            "{name}: {steps} steps, {:?}, {share:.4} of the time",
            notes.planned
        );
        assert!((0.96..=1.02).contains(&share), "{name}: {share}");
        // Told again only where it changed by more than a tenth.
        for told in notes.planned.windows(2) {
            let [before, after] = [told[0].iterations, told[1].iterations];
            assert!(before.abs_diff(after) > before / 10, "{name}");
        }
        let last = notes.planned.last().unwrap().iterations;
        assert!(
            last.abs_diff(steps) <= last / 8,
            "{name}: {last} told of {steps}"
        );
        // The first plan was near.
        let planned = f64::from(notes.planned[0].iterations) / f64::from(steps);
        assert!((0.5..2.0).contains(&planned), "{name}: {planned}");
        let (rates, grown, reset) = course(&run.mock);
        assert_eq!(rates.len(), steps as usize);
        let plans = notes.planned.iter().take(3).map(|told| told.iterations);
        assert_fallen(name, &config, &plans.collect::<Vec<_>>(), &rates);
        if steps > 1000 {
            let [grown, reset] = [grown, reset].map(|at| f64::from(at) / f64::from(steps));
            assert!(
                (0.4..0.9).contains(&grown) && reset < 0.85,
                "{name}: {grown} {reset}"
            );
        }
        let metrics = run.trainer.config();
        assert_eq!(metrics.iterations, steps, "{name}");
    }
}

/// What a new machine does: its first steps wait for kernels to be compiled.
#[test]
fn slow_first_steps_do_not_shorten_the_schedules() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    static SLOW: AtomicU32 = AtomicU32::new(0);
    fn machine(_: u32, gaussians: usize) -> f64 {
        let call = CALLS.fetch_add(1, Relaxed);
        let waits = if call == 0 { 0.9 } else { 0.15 };
        0.2 * card(1, gaussians)
            + if call < SLOW.load(Relaxed) {
                waits
            } else {
                0.0
            }
    }
    let run = |slow: u32, seconds: f64| {
        CALLS.store(0, Relaxed);
        SLOW.store(slow, Relaxed);
        let mut run = begin(&budget(seconds), machine, 0.002, None);
        run.trainer.run(&mut ()).unwrap();
        let spent = *run.time.lock().unwrap();
        assert!((0.96..=1.02).contains(&(spent / seconds)), "{spent}");
        let (_, grown, _) = course(&run.mock);
        let steps = run.trainer.step();
        let most = run.trainer.config().scene.max_gaussians;
        (f64::from(grown) / f64::from(steps), f64::from(steps), most)
    };
    let warm = run(0, 5.0);
    for (slow, lost) in [(1, 0.9), (2, 1.05), (8, 1.95), (40, 6.75)] {
        let cold = run(slow, 5.0 + lost);
        println!("{slow} slow steps: {cold:?}, none: {warm:?}");
        assert!((cold.0 - warm.0).abs() < 0.02 && (cold.1 / warm.1 - 1.0).abs() < 0.02);
        assert_eq!(cold.2, warm.2);
    }
}

#[test]
fn time_that_is_over_is_not_overdrawn_much() {
    // Two seconds pass in one step, as when a laptop sleeps; the time is over when it wakes, 3.6 s
    // after the start.
    fn stalls(_: u32, gaussians: usize) -> f64 {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        let calls = CALLS.fetch_add(1, Relaxed);
        card(1, gaussians) + if calls == 1200 { 2.0 } else { 0.0 }
    }
    let mut run = begin(&budget(3.0), stalls, 0.02, None);
    run.trainer.run(&mut ()).unwrap();
    let spent = *run.time.lock().unwrap();
    assert!(spent < 3.75, "{spent}");
    let (rates, ..) = course(&run.mock);
    let plans = [rates.len() as u32, 1700];
    assert_fallen("stalls", &budget(3.0), &plans, &rates);
    // Nothing is left after loading: the run says so and comes to its end.
    let mut run = begin(&budget(1.0), card, 0.02, None);
    run.trainer.has_spent(2.0);
    let mut notes = Notes::default();
    run.trainer.run(&mut notes).unwrap();
    assert!(run.trainer.step() < 20 && notes.planned[0].before == 2.0);
}

#[test]
fn iterations_bound_a_budget() {
    let config = Config {
        iterations: Some(700),
        ..budget(10.0)
    };
    let mut run = begin(&config, card, 0.02, None);
    run.trainer.run(&mut ()).unwrap();
    assert_eq!(run.trainer.step(), 700);
    assert!(*run.time.lock().unwrap() < 2.0);
    assert_fallen("700 steps", &config, &[700], &course(&run.mock).0);
}

#[test]
fn a_resumed_run_spends_what_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let config = budget(4.0);
    let mut first = begin(&config, card, 0.02, None);
    first.trainer.has_spent(0.5);
    first.trainer.save_to(&path);
    let outcome = first.trainer.run(&mut StopAt::new(&[1300])).unwrap();
    assert_eq!(outcome, Outcome::Interrupted { step: 1300 });
    let planned = first.trainer.config().clone();
    let spent = *first.time.lock().unwrap();
    drop(first);

    let checkpoint = Checkpoint::load(&path).unwrap();
    assert!((checkpoint.spending.seconds - 0.5 - spent).abs() < 1e-9);
    // As the program does: the settings are those of the run's file.
    let text = planned.to_toml().unwrap();
    assert!(
        !text.contains("\niterations =") && text.contains("budget = \"4s\""),
        "{text}"
    );
    let read = Config::from_toml(&text, "file".as_ref()).unwrap();
    let mut second = begin(&read, card, 0.02, Some(checkpoint));
    let resumed = second.trainer.config();
    assert_eq!(resumed.iterations, planned.iterations);
    assert_eq!(resumed.densify, planned.densify);
    second.trainer.has_spent(0.3);
    second.trainer.run(&mut ()).unwrap();
    let all = 0.8 + spent + *second.time.lock().unwrap();
    assert!((3.9..4.05).contains(&all), "{all}");
}

#[test]
fn a_run_ends_soon_after_it_is_good_enough() {
    // What the mock renders never changes: the target is reached as soon as anybody looks.
    let black = splatcore_core::Image::filled(12, 8, [0.0; 3]);
    let mean: f64 = views(9)
        .iter()
        .map(|view| splatcore_core::metrics::psnr(&black, &view.photo) / 9.0)
        .sum();
    let target = |psnr: f64| Config {
        quality_target: Some(psnr),
        iterations: Some(4000),
        strategy: Some(Strategy::Adc),
        max_gaussians: Some(100),
        ..Config::UNSET
    };
    let mut run = begin(&target(mean - 0.01), card, 0.02, None);
    let error = run.trainer.run(&mut ()).unwrap_err();
    assert!(matches!(error, TrainError::NothingHeldOut), "{error}");
    run.trainer.hold_out(views(9));
    let mut notes = Notes::default();
    assert_eq!(run.trainer.run(&mut notes).unwrap(), Outcome::Finished);
    let [(step, psnr, end)] = notes.reached[..] else {
        panic!("{:?}", notes.reached)
    };
    assert!((psnr - mean).abs() < 1e-9 && run.trainer.reached() == Some((step, psnr)));
    assert!(step <= 100 && end <= step + 6, "{step} {end}");
    assert_eq!(run.trainer.step(), end);
    let (rates, ..) = course(&run.mock);
    let ratio = rates[rates.len() - 1] / rates[0];
    assert!((ratio - 0.01).abs() < 1e-4, "{ratio}");
    // A target that is not reached changes nothing.
    let mut run = begin(&target(mean + 0.01), card, 0.02, None);
    run.trainer.hold_out(views(9));
    run.trainer.run(&mut ()).unwrap();
    assert_eq!((run.trainer.step(), run.trainer.reached()), (4000, None));
    let (with, ..) = course(&run.mock);
    let plain = Config {
        quality_target: None,
        ..target(1.0)
    };
    let mut run = begin(&plain, card, 0.02, None);
    run.trainer.run(&mut ()).unwrap();
    assert_eq!(course(&run.mock).0, with);
}

#[test]
fn a_budget_ends_the_comparison_with_photos_trained_on() {
    let seen = |seconds_a_look: f64| {
        let mut run = begin(&budget(2.0), card, 0.0, None);
        run.trainer.run(&mut ()).unwrap();
        let time = Mutex::new(100.0);
        run.trainer.set_clock(Arc::new(move || {
            *time.lock().unwrap() += seconds_a_look;
            *time.lock().unwrap()
        }));
        let one = rayon::ThreadPoolBuilder::new().num_threads(1);
        let found = one.build().unwrap().install(|| run.trainer.residuals());
        found.unwrap().psnr.len()
    };
    assert_eq!(seen(0.0), 9);
    // A fiftieth of the budget is over at once; a few photos are looked at in any run.
    assert_eq!(seen(1.0), Residuals::FEWEST);
}
