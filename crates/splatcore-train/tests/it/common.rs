//! A learner that learns nothing but has all the state of a real one, so that a trainer that
//! forgets or repeats anything ends elsewhere.

use splatcore_core::backend::*;
use splatcore_core::gaussians::{logit, sigmoid};
use splatcore_core::random::{normal3, uniform_at};
use splatcore_core::sky::Sky;
use splatcore_core::{Camera, Choice, Gaussians, Image, Photo, View};
use splatcore_train::config::{Config, Strategy};
use splatcore_train::{Checkpoint, Observer, Outcome, Signal, Trainer, init};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// What a learner was told, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Step(StepPlan),
    Refine(u32, Refine),
}

/// A clock, seconds of a step at a size of photos with so many Gaussians, and of a pruning.
pub type MockClock = (Arc<Mutex<f64>>, fn(u32, usize) -> f64, f64);

/// Makes mock learners; keeps a log of what they are told.
#[derive(Default)]
pub struct Mock {
    pub log: Arc<Mutex<Vec<Event>>>,
    /// The loss is NaN from this step on.
    pub nan_from: Option<u32>,
    /// Memory of the host is used from this step on.
    pub offloads_from: Option<u32>,
    pub name: Option<&'static str>,
    /// Every step takes at least so long.
    pub step_time: Option<std::time::Duration>,
    /// Advances with every step, by what that takes on these photos with so many Gaussians, and
    /// with every pruning.
    pub clock: Option<MockClock>,
    /// This step fails.
    pub out_of_memory_at: Option<u32>,
    /// How often the loss was asked for.
    pub losses: Arc<AtomicU32>,
}

impl Backend for Mock {
    fn name(&self) -> &'static str {
        self.name.unwrap_or("mock")
    }
    fn describe(&self) -> String {
        "mock".into()
    }
    fn renderer(&self, scene: &Gaussians) -> Result<Box<dyn Renderer>, BackendError> {
        Ok(Box::new(self.make(scene)))
    }
    fn learner(
        &self,
        scene: &Gaussians,
        _: Arc<Vec<View>>,
    ) -> Result<Box<dyn Learner>, BackendError> {
        Ok(Box::new(self.make(scene)))
    }
    fn memory_plan(&self, gaussians: usize, _: u8, largest: [u32; 2]) -> MemoryPlan {
        MemoryPlan {
            parameters: gaussians as u64,
            moments: 2 * gaussians as u64,
            working: largest[0] as u64 * largest[1] as u64,
            host: 0,
        }
    }
}

impl Mock {
    fn make(&self, scene: &Gaussians) -> MockLearner {
        MockLearner {
            state: LearnerState::fresh(scene.clone()),
            log: Arc::clone(&self.log),
            nan_from: self.nan_from,
            offloads_from: self.offloads_from,
            step_time: self.step_time,
            clock: self.clock.clone(),
            out_of_memory_at: self.out_of_memory_at,
            losses: Arc::clone(&self.losses),
            skipped: Vec::new(),
            step: 0,
            loss: 0.0,
        }
    }
}

struct MockLearner {
    state: LearnerState,
    log: Arc<Mutex<Vec<Event>>>,
    nan_from: Option<u32>,
    offloads_from: Option<u32>,
    step_time: Option<std::time::Duration>,
    clock: Option<MockClock>,
    out_of_memory_at: Option<u32>,
    losses: Arc<AtomicU32>,
    skipped: Vec<usize>,
    step: u32,
    loss: f64,
}

impl MockLearner {
    fn grow(&mut self, rows: &[usize], seed: u64, step: u32) {
        let state = &mut self.state;
        for &i in rows {
            for set in [&mut state.gaussians, &mut state.first, &mut state.second] {
                let source = set.clone();
                set.push_from(&source, i);
            }
            let moved = normal3(seed, step.into(), i as u64);
            let last = state.gaussians.len() - 1;
            for axis in 0..3 {
                state.gaussians.means[last][axis] += 0.01 * moved[axis];
            }
        }
        let n = state.gaussians.len();
        state.gradient_sum = vec![0.0; n];
        state.seen = vec![0; n];
    }
}

impl Scored for MockLearner {
    fn visibility(&mut self, _: &Camera, _: &RenderOptions) -> Result<Visibility, BackendError> {
        Ok(Visibility::unseen(self.count()))
    }
    fn tile_counts(&mut self, _: &Camera, _: &RenderOptions) -> Result<TileCounts, BackendError> {
        Ok(TileCounts::default())
    }
    fn counts(&mut self, _: &Camera, _: &RenderOptions) -> Result<FrameCounts, BackendError> {
        Ok(FrameCounts::default())
    }
}

impl Renderer for MockLearner {
    fn count(&self) -> usize {
        self.state.gaussians.len()
    }
    fn render(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError> {
        Ok(Rendered {
            image: Image::filled(camera.width, camera.height, options.background),
            transmittance: vec![1.0; camera.width as usize * camera.height as usize],
            inverse_depth: None,
        })
    }
    fn gradients(
        &mut self,
        _: &Camera,
        _: &RenderOptions,
        _: &Cotangents,
    ) -> Result<Gaussians, BackendError> {
        Ok(Gaussians::empty(0))
    }
    fn stage_times(
        &mut self,
        _: &Camera,
        _: &RenderOptions,
        _: Timed,
    ) -> Result<StageTimes, BackendError> {
        Ok(vec![])
    }
}

impl Profiled for MockLearner {
    fn timed_step(&mut self, plan: &StepPlan) -> Result<StageTimes, BackendError> {
        let start = std::time::Instant::now();
        self.step(plan)?;
        Ok(vec![("step", start.elapsed().as_secs_f64())])
    }
    fn host_memory(&mut self) -> Result<HostMemory, BackendError> {
        let offloads = self.offloads_from.is_some_and(|from| self.step >= from);
        let bytes = if offloads { 512 } else { 0 };
        Ok(HostMemory { bytes, moved: 0 })
    }
}

impl Deferred for MockLearner {
    fn queue_refine(&mut self, refine: &Refine) -> Result<Option<RefineReport>, BackendError> {
        self.refine(refine).map(Some)
    }
    fn take_skipped_views(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.skipped)
    }
}

/// What the mock makes of refinements.
impl MockLearner {
    /// Rows that are opaque enough and whose mean gradient is at least `gradient`, as many as there
    /// is room for.
    fn rows_to_clone(&self, gradient: f32, min_opacity: f32, most: usize) -> Vec<usize> {
        let (s, before) = (&self.state, self.count());
        let mean = |i: usize| s.gradient_sum[i] / s.seen[i].max(1) as f32;
        let opaque = |i: usize| sigmoid(s.gaussians.opacity_logits[i]) >= min_opacity;
        (0..before)
            .filter(|&i| opaque(i) && mean(i) >= gradient)
            .take(most.saturating_sub(before))
            .collect()
    }

    /// Clones rows, then removes the others that are below an opacity; statistics are cleared.
    fn clone_and_prune(
        &mut self,
        rows: &[usize],
        min_opacity: f32,
        seed: u64,
        step: u32,
    ) -> RefineReport {
        let (before, cloned) = (self.count(), rows.len());
        let logits = &self.state.gaussians.opacity_logits;
        let keep: Vec<bool> = logits.iter().map(|&o| sigmoid(o) >= min_opacity).collect();
        self.grow(rows, seed, step);
        let s = &mut self.state;
        for set in [&mut s.gaussians, &mut s.first, &mut s.second] {
            set.retain(|i| keep.get(i).copied().unwrap_or(true));
        }
        let count = self.count();
        self.state.gradient_sum = vec![0.0; count];
        self.state.seen = vec![0; count];
        RefineReport {
            cloned,
            pruned: before + cloned - count,
            count,
            ..Default::default()
        }
    }

    /// Caps opacities and clears their first moments.
    fn reset_opacity(&mut self, ceiling: f32) -> RefineReport {
        for (i, o) in self.state.gaussians.opacity_logits.iter_mut().enumerate() {
            *o = o.min(logit(ceiling));
            self.state.first.opacity_logits[i] = 0.0;
        }
        RefineReport {
            count: self.count(),
            ..Default::default()
        }
    }

    /// Copies rows that are drawn, until the set has grown by `growth`.
    fn add_random(&mut self, growth: f32, most: usize, seed: u64, step: u32) -> RefineReport {
        let before = self.count();
        let added = ((before as f32 * growth) as usize).min(most.saturating_sub(before));
        let rows: Vec<usize> = (0..added)
            .map(|lane| (uniform_at(seed, step.into(), 0, lane as u64) * before as f32) as usize)
            .collect();
        self.grow(&rows, seed, step);
        RefineReport {
            added,
            count: self.count(),
            ..Default::default()
        }
    }
}

impl Posed for MockLearner {}

impl Surrounded for MockLearner {
    fn sky(&mut self) -> Result<Option<Sky>, BackendError> {
        Ok(Sky::of(&self.state.sky))
    }
}

impl Learner for MockLearner {
    fn step(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        if self.out_of_memory_at == Some(plan.step) {
            self.skipped.extend(&plan.views);
            return Err(BackendError::OutOfMemory {
                backend: "mock",
                buffer: "a list of pairs".into(),
                bytes: 9,
                free: Some(8),
                depends_on: &[Choice::GaussianCount],
            });
        }
        if let Some(time) = self.step_time {
            std::thread::sleep(time);
        }
        if let Some((clock, time, _)) = &self.clock {
            *clock.lock().unwrap() += time(plan.scale, self.state.gaussians.len());
        }
        let s = &mut self.state;
        self.loss = 0.0;
        for i in 0..s.gaussians.len() {
            let g = normal3(
                plan.views[0] as u64 + 1,
                plan.render.sh_degree.into(),
                i as u64,
            );
            for axis in 0..3 {
                let gradient = g[axis] + s.gaussians.means[i][axis];
                s.first.means[i][axis] = 0.9 * s.first.means[i][axis] + 0.1 * gradient;
                s.second.means[i][axis] =
                    0.999 * s.second.means[i][axis] + 0.001 * gradient * gradient;
                s.gaussians.means[i][axis] -= plan.rates.means * s.first.means[i][axis];
                self.loss += f64::from(gradient * gradient);
            }
            s.gaussians.opacity_logits[i] -=
                plan.rates.opacity_logits * g[0] + 0.001 * plan.opacity_regulariser;
            s.gaussians.log_scales[i][0] -=
                plan.rates.log_scales * g[1] * plan.scale_regulariser.max(0.1);
            if let Some(noise) = plan.noise {
                s.gaussians.means[i][0] +=
                    noise * 1e-3 * normal3(plan.seed, plan.step.into(), i as u64)[0];
            }
            if plan.statistics.is_some() && g[2] > 0.0 {
                s.gradient_sum[i] += 1e-3 * g[2];
                s.seen[i] += 1;
            }
        }
        self.loss /= s.gaussians.len() as f64;
        self.step = plan.step;
        self.log.lock().unwrap().push(Event::Step(plan.clone()));
        Ok(())
    }
    fn last_loss(&mut self) -> Result<f64, BackendError> {
        self.losses.fetch_add(1, Ordering::Relaxed);
        Ok(if self.nan_from.is_some_and(|from| self.step >= from) {
            f64::NAN
        } else {
            self.loss
        })
    }
    fn refine(&mut self, refine: &Refine) -> Result<RefineReport, BackendError> {
        self.log
            .lock()
            .unwrap()
            .push(Event::Refine(self.step, refine.clone()));
        if let (Some((clock, _, time)), Refine::PruneFloaters { .. }) = (&self.clock, refine) {
            *clock.lock().unwrap() += time;
        }
        Ok(match *refine {
            Refine::ComputeColumn(_)
            | Refine::PruneByColumn(_)
            | Refine::PruneFloaters { .. }
            | Refine::LimitScales { .. } => RefineReport {
                count: self.count(),
                ..RefineReport::default()
            },
            Refine::Adc {
                gradient_threshold,
                min_opacity,
                max_gaussians,
                seed,
                step,
                ..
            } => {
                let rows = self.rows_to_clone(3.0 * gradient_threshold, min_opacity, max_gaussians);
                self.clone_and_prune(&rows, min_opacity, seed, step)
            }
            Refine::ResetOpacity { ceiling } => self.reset_opacity(ceiling),
            Refine::FadeOpacity { .. } => RefineReport {
                count: self.count(),
                ..RefineReport::default()
            },
            Refine::Mcmc {
                growth,
                max_gaussians,
                seed,
                step,
                ..
            } => self.add_random(growth, max_gaussians, seed, step),
        })
    }
    fn scene(&mut self) -> Result<Gaussians, BackendError> {
        Ok(self.state.gaussians.clone())
    }
    fn snapshot(&mut self) -> Result<LearnerState, BackendError> {
        Ok(self.state.clone())
    }
    fn restore(&mut self, state: &LearnerState) -> Result<(), BackendError> {
        self.state = state.clone();
        Ok(())
    }
}

/// `n` views on a circle, 12x8 pixels, smooth colours.
pub fn views(n: usize) -> Arc<Vec<View>> {
    let view = |i: usize| {
        let angle = i as f64 * std::f64::consts::TAU / n as f64;
        let eye = [4.0 * angle.cos(), -1.0, 4.0 * angle.sin()];
        View {
            name: format!("{i:03}.png"),
            camera: Camera::look_at(eye, [0.0; 3], [0.0, -1.0, 0.0], 0.8, 12, 8),
            photo: Photo::opaque(
                12,
                8,
                (0..12 * 8 * 3)
                    .map(|p| ((p * 3 + i * 17) % 256) as u8)
                    .collect(),
            ),
        }
    };
    Arc::new((0..n).map(view).collect())
}

/// A small cloud of points.
pub fn points(n: usize) -> Vec<[f32; 3]> {
    (0..n).map(|i| normal3(11, 0, i as u64)).collect()
}

/// A short run with everything in it: growth, resets, all SH degrees.
pub fn config(strategy: Strategy) -> Config {
    Config {
        iterations: Some(240),
        strategy: Some(strategy),
        sh_degree: Some(2),
        densify_from: Some(30),
        densify_until: Some(190),
        densify_every: Some(20),
        opacity_reset_every: Some(70),
        sh_every: Some(60),
        max_gaussians: Some(400),
        checkpoint_every: Some(0),
        seed: Some(3),
        ..Config::UNSET
    }
}

/// Points near the blobs of `points(40)`.
pub fn start(config: &Config) -> Gaussians {
    let positions: Vec<[f32; 3]> = points(40).iter().map(|p| p.map(|v| v + 0.05)).collect();
    init::from_points(&positions, &[], &config.complete(), 1.0).gaussians
}

/// Stops a run after each of some numbers of steps, counted over all runs that it watches.
pub struct StopAt<'a> {
    stops: &'a [u32],
    steps: u32,
}

impl<'a> StopAt<'a> {
    pub fn new(stops: &'a [u32]) -> Self {
        Self { stops, steps: 0 }
    }
}

impl Observer for StopAt<'_> {
    fn signal(&mut self) -> Signal {
        self.steps += 1;
        if self.stops.contains(&self.steps) {
            Signal::Stop
        } else {
            Signal::Continue
        }
    }
}

/// What is left on disk of a run that is stopped after so many steps.
pub fn stopped_at(mut trainer: Trainer, stop: u32, path: &Path) -> Checkpoint {
    trainer.save_to(path);
    let outcome = trainer.run(&mut StopAt::new(&[stop])).unwrap();
    assert_eq!(outcome, Outcome::Interrupted { step: stop });
    drop(trainer);
    Checkpoint::load(path).unwrap()
}
