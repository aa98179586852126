//! Scenes drawn as points or ellipsoids, or with other sizes: renderers of changed Gaussians.

use crate::protocol::{Look, Style};
use splatcore_core::Gaussians;
use splatcore_core::backend::{Backend, BackendError, Learner, Renderer};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Logit of an opacity that hides what is behind.
const OPAQUE: f32 = 8.0;
/// A point's standard deviation as a share of the scene's median Gaussian.
const POINT: f32 = 0.15;
/// An ellipsoid's standard deviation as a share of its Gaussian's. With an opacity near 1 a splat
/// looks solid out to about two of its standard deviations.
const ELLIPSOID: f32 = 0.5;
/// How old a copy of a scene in training may be while the camera moves: to make one takes long.
const STALE: Duration = Duration::from_secs(1);
/// A copy that nobody has looked at for so long is given back.
const UNUSED: Duration = Duration::from_secs(10);

/// What a scene's own renderer draws.
const PLAIN: (Style, f32) = (Style::Splats, 1.0);

/// The renderers of one scene: the scene itself, and the change of it that was asked for last.
pub struct Variants<'a> {
    backend: &'a dyn Backend,
    scene: Gaussians,
    plain: Box<dyn Renderer>,
    changed: Option<((Style, f32), Box<dyn Renderer>)>,
}

impl<'a> Variants<'a> {
    /// Uploads a scene.
    ///
    /// # Errors
    /// As [`Backend::renderer`].
    pub fn new(backend: &'a dyn Backend, scene: Gaussians) -> Result<Self, BackendError> {
        Ok(Self {
            plain: backend.renderer(&scene)?,
            backend,
            scene,
            changed: None,
        })
    }

    /// The renderer that draws a view.
    ///
    /// # Errors
    /// As [`Backend::renderer`].
    pub fn of(&mut self, look: &Look) -> Result<&mut dyn Renderer, BackendError> {
        let wanted = (look.style, look.scale);
        if wanted == PLAIN {
            return Ok(&mut *self.plain);
        }
        let renderer = match self.changed.take() {
            Some((made, renderer)) if made == wanted => renderer,
            _ => self
                .backend
                .renderer(&changed(self.scene.clone(), wanted))?,
        };
        Ok(&mut *self.changed.insert((wanted, renderer)).1)
    }
}

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
                renderer: self.backend.renderer(&changed(learner.scene()?, wanted))?,
                at: Instant::now(),
                used: Instant::now(),
            },
        };
        let made = self.made.insert(made);
        made.used = Instant::now();
        Ok((&mut *made.renderer, made.step))
    }
}

fn changed(mut scene: Gaussians, (style, scale): (Style, f32)) -> Gaussians {
    match style {
        Style::Splats => {}
        Style::Points => {
            let mut sizes: Vec<f32> = scene
                .log_scales
                .iter()
                .map(|s| s.iter().sum::<f32>() / 3.0)
                .collect();
            let middle = sizes.len() / 2;
            if let Some(median) =
                (!sizes.is_empty()).then(|| *sizes.select_nth_unstable_by(middle, f32::total_cmp).1)
            {
                scene.log_scales.fill([median + POINT.ln(); 3]);
            }
            scene.opacity_logits.fill(OPAQUE);
        }
        Style::Ellipsoids => {
            scene
                .log_scales
                .iter_mut()
                .flatten()
                .for_each(|s| *s += ELLIPSOID.ln());
            scene.opacity_logits.fill(OPAQUE);
        }
    }
    scene
        .log_scales
        .iter_mut()
        .flatten()
        .for_each(|s| *s += scale.ln());
    scene
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::backend::{LearnerState, RenderOptions, Rendered};
    use splatcore_core::{Camera, random::Rng};
    use splatcore_cpu::CpuBackend;

    fn scene(seed: u64) -> Gaussians {
        let mut rng = Rng::new(seed, 0);
        let mut scene = Gaussians::zeros(50, 0);
        for i in 0..scene.len() {
            scene.means[i] = [0; 3].map(|_| rng.normal());
            scene.log_scales[i] = [-1.0; 3];
            scene.rotations[i] = [1.0, 0.0, 0.0, 0.0];
            scene.sh[i] = [0; 3].map(|_| rng.normal());
        }
        scene
    }

    fn look(style: Style, still: bool) -> Look {
        Look {
            seq: 1,
            camera: Camera::look_at([0.0, 0.0, -6.0], [0.0; 3], [0.0, -1.0, 0.0], 1.0, 48, 32),
            channel: Default::default(),
            style,
            background: [0.0; 3],
            sh_degree: 3,
            scale: 1.0,
            still,
        }
    }

    fn render(renderer: &mut dyn Renderer) -> Rendered {
        let camera = look(Style::Splats, true).camera;
        renderer.render(&camera, &RenderOptions::default()).unwrap()
    }

    /// What training draws is what a finished scene of the same Gaussians is drawn as; a copy lasts
    /// for views that move, and the scene in training stays as it was.
    #[test]
    fn a_scene_in_training_is_drawn_in_every_style() {
        let backend = CpuBackend::new(Some(1));
        let mut learner = backend.learner(&scene(1), Arc::default()).unwrap();
        let mut copies = Copies::new(Arc::new(CpuBackend::new(Some(1))));
        let finished = |seed: u64, style: Style| {
            let mut variants = Variants::new(&backend, scene(seed)).unwrap();
            render(variants.of(&look(style, true)).unwrap())
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
