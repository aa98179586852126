//! A long run takes no more memory than a short one: steps, refinements, checkpoints and
//! measurements leave nothing behind. One test a process: all its threads' memory is counted.
#![allow(clippy::unwrap_used)]

use splatcore_core::backend::{RenderOptions, Renderer};
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Photo, View};
use splatcore_cpu::CpuBackend;
use splatcore_test_support::heap;
use splatcore_train::config::{Config, Strategy};
use splatcore_train::{Event, Observer, Outcome, Progress, Signal, Trainer, evaluate, init};
use std::sync::Arc;

#[global_allocator]
static HEAP: heap::Counted = heap::Counted;

const STEPS: u32 = 6000;
/// The set has its final size after this step, and all that grows has grown.
const SETTLED: u32 = 2000;
/// The curve's points (500 at most, 32 bytes each, in vectors that double) and what a checkpoint in
/// the making or a thread pool holds at one moment and not at another. A leak of 10 bytes a step is
/// more.
const SLACK: usize = 40_000;
const RESIDENT_SLACK: usize = 8 << 20;

fn views() -> Arc<Vec<View>> {
    let mut rng = Rng::new(2, 0);
    let mut view = |i: usize| {
        // Different sizes: buffers must fit all of them.
        let [width, height] = [[24, 20], [33, 17]][i % 2];
        let angle = i as f64;
        let eye = [4.0 * angle.cos(), -1.0, 4.0 * angle.sin()];
        let pixels = width as usize * height as usize;
        View {
            name: format!("{i}.png"),
            camera: Camera::look_at(eye, [0.0; 3], [0.0, -1.0, 0.0], 0.8, width, height),
            photo: Photo::opaque(
                width,
                height,
                (0..3 * pixels)
                    .map(|_| (255.0 * rng.uniform()) as u8)
                    .collect(),
            ),
        }
    };
    Arc::new((0..5).map(&mut view).collect())
}

/// Measures now and then, and notes the memory whenever it is told of progress.
struct Watch {
    views: Arc<Vec<View>>,
    measured: u32,
    saved: u32,
    /// Step, bytes in use, bytes resident.
    levels: Vec<(u32, usize, usize)>,
}

impl Observer for Watch {
    fn progress(&mut self, progress: &Progress) -> Signal {
        let resident = heap::resident().unwrap_or(0);
        // Within its capacity: noting takes no memory.
        if self.levels.len() < self.levels.capacity() {
            self.levels.push((progress.step, heap::in_use(), resident));
        }
        Signal::Continue
    }
    fn measure(&mut self, _: u32, renderer: &mut dyn Renderer, options: &RenderOptions) {
        evaluate(renderer, &self.views, options, &|_, _, _, _| ()).unwrap();
        self.measured += 1;
    }
    fn note(&mut self, event: &Event<'_>) {
        self.saved += u32::from(matches!(event, Event::Saved { .. }));
    }
}

/// The least of a third of the levels: what is held for a moment only does not count.
fn least(levels: &[(u32, usize, usize)], which: impl Fn(&(u32, usize, usize)) -> usize) -> usize {
    levels.iter().map(which).min().unwrap()
}

#[test]
fn a_long_run_takes_no_more_memory_than_a_short_one() {
    let folder = tempfile::tempdir().unwrap();
    let views = views();
    for strategy in [Strategy::Adc, Strategy::Mcmc] {
        let config = Config {
            iterations: Some(STEPS),
            strategy: Some(strategy),
            sh_degree: Some(1),
            max_gaussians: Some(80),
            densify_from: Some(50),
            densify_until: Some(STEPS),
            densify_every: Some(20),
            opacity_reset_every: Some(500),
            sh_every: Some(100),
            checkpoint_every: Some(70),
            eval_every: Some(150),
            ..Config::UNSET
        };
        let points: Vec<[f32; 3]> = (0..40)
            .map(|i| [0.9, 1.3, 2.1].map(|f| (f * i as f32).sin()))
            .collect();
        let start = init::from_points(&points, &[], &config.complete(), 1.0).gaussians;
        let backend = CpuBackend::new(Some(2));
        let before = heap::in_use();
        let mut trainer =
            Trainer::new(&config.complete(), &backend, Arc::clone(&views), start).unwrap();
        trainer.save_to(folder.path().join("checkpoint.safetensors"));
        let mut watch = Watch {
            views: Arc::clone(&views),
            measured: 0,
            saved: 0,
            levels: Vec::with_capacity(1000),
        };
        assert_eq!(trainer.run(&mut watch).unwrap(), Outcome::Finished);
        assert_eq!(watch.measured, STEPS / 150);
        assert!(watch.saved >= STEPS / 70, "{}", watch.saved);

        let settled: Vec<_> = watch
            .levels
            .iter()
            .filter(|level| level.0 > SETTLED)
            .copied()
            .collect();
        let third = settled.len() / 3;
        assert!(third > 20, "{} levels", settled.len());
        let (first, last) = (&settled[..third], &settled[settled.len() - third..]);
        let (from, to) = (least(first, |level| level.1), least(last, |level| level.1));
        let (resident_from, resident_to) =
            (least(first, |level| level.2), least(last, |level| level.2));
        eprintln!(
            "{strategy:?}: heap {from} -> {to} bytes, resident {resident_from} -> {resident_to}"
        );
        assert!(
            to < from + SLACK,
            "{strategy:?}: the heap grew from {from} to {to} bytes"
        );
        assert!(
            resident_to < resident_from + RESIDENT_SLACK,
            "{strategy:?}: the process grew from {resident_from} to {resident_to} bytes"
        );
        drop((trainer, backend, watch));
        let after = heap::in_use();
        assert!(
            after < before + SLACK,
            "{strategy:?}: {before} bytes before the run, {after} after it"
        );
    }
}
