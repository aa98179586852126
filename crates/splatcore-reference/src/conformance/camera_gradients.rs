//! What is asked of the gradients of cameras, of their poses and of their intrinsics alike.

use super::bits::state_bits;
use super::outcome::{Outcome, ensure, said};
use super::step::scene_and_views;
use splatcore_core::backend::{Backend, BackendError, LearnerState, Refine, StepPlan};
use splatcore_core::columns::Column;
use splatcore_core::{Gaussians, Learner, View};
use std::sync::Arc;

/// A scene and the photos to learn from.
pub(super) type SceneAndViews = (Gaussians, Arc<Vec<View>>);

/// Gradients, each with its view.
type OfViews<T> = Vec<(usize, T)>;

/// A kind of gradient.
pub(super) struct Kind<T: 'static, const N: usize> {
    /// Of what, for messages.
    pub of: &'static str,
    /// Asks for it in a plan, or not.
    pub ask: fn(&mut StepPlan, bool),
    /// Takes what a learner has.
    pub take: fn(&mut dyn Learner) -> Result<OfViews<T>, BackendError>,
    /// Its numbers.
    pub numbers: fn(&T) -> [f64; N],
}

impl<T, const N: usize> Kind<T, N> {
    /// The state before a step, and the gradients that it gives: one for each view, in their order.
    pub fn of_step(
        &self,
        backend: &dyn Backend,
        (scene, views): &SceneAndViews,
        plan: &StepPlan,
        smoothed: bool,
    ) -> Result<(LearnerState, OfViews<T>), String> {
        let mut learner = backend.learner(scene, views.clone()).map_err(said)?;
        if smoothed {
            learner
                .refine(&Refine::ComputeColumn(Column::Filter))
                .map_err(said)?;
        }
        let state = learner.snapshot().map_err(said)?;
        learner.step(plan).map_err(said)?;
        let found = (self.take)(&mut *learner).map_err(said)?;
        let order: Vec<usize> = found.iter().map(|(view, _)| *view).collect();
        ensure(order == plan.views, || {
            format!("gradients of the views {order:?} for {:?}", plan.views)
        })?;
        Ok((state, found))
    }

    /// A step that also gives gradients is the same step, and gives the same bits every time, once.
    pub fn leaves_the_step_alone(
        &self,
        backend: &dyn Backend,
        seed: u64,
        plan: fn(u32, &[usize]) -> StepPlan,
    ) -> Outcome {
        let start = &scene_and_views(seed);
        let run = |asked: bool| -> Result<_, String> {
            let mut learner = backend.learner(&start.0, start.1.clone()).map_err(said)?;
            for step in 1..=4u32 {
                let views: &[usize] = if step == 3 { &[1, 0] } else { &[2] };
                let mut plan = plan(step, views);
                (self.ask)(&mut plan, asked && step > 1);
                learner.step(&plan).map_err(said)?;
            }
            let state = state_bits(&learner.snapshot().map_err(said)?);
            let found = (self.take)(&mut *learner).map_err(said)?;
            let again = (self.take)(&mut *learner).map_err(said)?;
            ensure(again.is_empty(), || "gradients were given twice".into())?;
            let bits =
                |(view, gradient): &(usize, T)| (*view, (self.numbers)(gradient).map(f64::to_bits));
            Ok((state, found.iter().map(bits).collect::<Vec<_>>()))
        };
        let (without, with, again) = (run(false)?, run(true)?, run(true)?);
        ensure(without.1.is_empty(), || {
            format!("gradients of {} that nobody asked for", self.of)
        })?;
        ensure(without.0 == with.0, || {
            format!("gradients of {} change the step", self.of)
        })?;
        let order: Vec<usize> = with.1.iter().map(|(view, _)| *view).collect();
        ensure(order == [2, 1, 0, 2], || format!("the order is {order:?}"))?;
        ensure(with == again, || "two runs differ".into())
    }
}
