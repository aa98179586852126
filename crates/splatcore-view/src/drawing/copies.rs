//! A scene in training drawn as points or ellipsoids, or with other sizes: a renderer of a changed
//! copy.

use super::variant::{PLAIN, draw_as};
use crate::protocol::{Look, Style};
use splatcore_core::backend::{Backend, BackendError, Learner, Renderer};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How old a copy of a scene in training may be while the camera moves: to make one takes long.
const STALE: Duration = Duration::from_secs(1);
/// A copy that nobody has looked at for so long is given back.
const UNUSED: Duration = Duration::from_secs(10);

/// A copy of a scene in training, changed as was asked for last. The scene that trains is not
/// touched.
pub struct Copies {
    backend: Arc<dyn Backend>,
    made: Option<Made>,
}

struct Made {
    wanted: (Style, f32),
    step: u32,
    at: Instant,
    used: Instant,
    renderer: Box<dyn Renderer>,
}

impl Copies {
    /// None yet; `backend` will hold them.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self {
            backend,
            made: None,
        }
    }

    /// The renderer that draws a view of what `learner` has learned at a step, and the step that
    /// it shows: a view that moves may be of one a second ago.
    ///
    /// # Errors
    /// As [`Learner::scene`] and [`Backend::renderer`].
    pub fn of<'a>(
        &'a mut self,
        look: &Look,
        learner: &'a mut dyn Learner,
        step: u32,
    ) -> Result<(&'a mut dyn Renderer, u32), BackendError> {
        let wanted = (look.style, look.scale);
        if wanted == PLAIN {
            self.made.take_if(|made| made.used.elapsed() > UNUSED);
            return Ok((learner, step));
        }
        let good = |made: &Made| {
            let new = made.step == step || !look.still && made.at.elapsed() < STALE;
            made.wanted == wanted && new
        };
        let made = match self.made.take().filter(good) {
            Some(made) => made,
            None => Made {
                wanted,
                step,
                renderer: {
                    let mut copy = learner.scene()?;
                    draw_as(&mut copy, wanted);
                    self.backend.renderer(&copy)?
                },
                at: Instant::now(),
                used: Instant::now(),
            },
        };
        let made = self.made.insert(made);
        made.used = Instant::now();
        Ok((&mut *made.renderer, made.step))
    }
}

#[cfg(test)]
mod tests {
    use super::super::variant::tests::{look, render, scene};
    use super::*;
    use crate::drawing::Variants;
    use crate::edit::State;
    use splatcore_core::backend::LearnerState;
    use splatcore_cpu::CpuBackend;

    /// What training draws is what a finished scene of the same Gaussians is drawn as; a copy lasts
    /// for views that move, and the scene in training stays as it was.
    #[test]
    fn a_scene_in_training_is_drawn_in_every_style() {
        let backend = CpuBackend::new(Some(1));
        let mut learner = backend.learner(&scene(1), Arc::default()).unwrap();
        let mut copies = Copies::new(Arc::new(CpuBackend::new(Some(1))));
        let finished = |seed: u64, style: Style| {
            let mut variants = Variants::new(&backend, Arc::new(scene(seed))).unwrap();
            let found = variants.of(&look(style, true), &State::new(50), true);
            render(found.unwrap())
        };
        let mut drawn = |learner: &mut dyn Learner, style, still, step| {
            let found = copies.of(&look(style, still), learner, step);
            let (renderer, step) = found.unwrap();
            (render(renderer), step)
        };
        let points = finished(1, Style::Points);
        let ellipsoids = finished(1, Style::Ellipsoids);
        assert!(points != ellipsoids);
        assert!(drawn(&mut *learner, Style::Points, false, 7) == (points.clone(), 7));
        assert!(learner.scene().unwrap() == scene(1));

        learner.restore(&LearnerState::fresh(scene(2))).unwrap();
        assert!(drawn(&mut *learner, Style::Points, false, 8) == (points, 7));
        let newer = finished(2, Style::Points);
        assert!(drawn(&mut *learner, Style::Points, true, 8) == (newer, 8));
        let plain = finished(2, Style::Splats);
        assert!(drawn(&mut *learner, Style::Splats, false, 9) == (plain, 9));
        let other = finished(2, Style::Ellipsoids);
        assert!(drawn(&mut *learner, Style::Ellipsoids, false, 9) == (other, 9));
    }
}
