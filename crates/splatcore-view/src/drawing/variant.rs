//! Scenes drawn as points or ellipsoids, with other sizes, or edited: renderers of changed
//! Gaussians.

use crate::edit::{Mask, State};
use crate::protocol::{Look, Style};
use rayon::prelude::*;
use splatcore_core::backend::{Backend, BackendError, Learner, RenderOptions, Renderer};
use splatcore_core::{Camera, Gaussians, sh};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Logit of an opacity that hides what is behind.
const OPAQUE: f32 = 8.0;
/// A point's standard deviation as a share of the scene's median Gaussian.
const POINT: f32 = 0.15;
/// An ellipsoid's standard deviation as a share of its Gaussian's. With an opacity near 1 a splat
/// looks solid out to about two of its standard deviations.
const ELLIPSOID: f32 = 0.5;
/// Colour that selected Gaussians are given, 0 to 1, and its share.
const HIGHLIGHT: [f32; 3] = [1.0, 0.75, 0.1];
const HIGHLIGHT_SHARE: f32 = 0.65;
/// A Gaussian is shown where at least this share of the light reaches the eye, on average over the
/// pixels that it covers: what lies behind a surface gets less.
const MIN_LIGHT: f64 = 0.1;
/// Longest side of the picture that tells which Gaussians are shown, pixels.
const SIGHT: u32 = 640;
/// How old a copy of a scene in training may be while the camera moves: to make one takes long.
const STALE: Duration = Duration::from_secs(1);
/// A copy that nobody has looked at for so long is given back.
const UNUSED: Duration = Duration::from_secs(10);

/// What a scene's own renderer draws.
const PLAIN: (Style, f32) = (Style::Splats, 1.0);

/// The renderers of one scene: the scene itself, and the change of it that was asked for last.
pub struct Variants<'a> {
    backend: &'a dyn Backend,
    scene: Arc<Gaussians>,
    plain: Box<dyn Renderer>,
    changed: Option<(Change, Box<dyn Renderer>)>,
}

/// How a scene is drawn other than as it is.
#[derive(PartialEq)]
struct Change {
    style: (Style, f32),
    deleted: Mask,
    /// What is highlighted.
    selected: Mask,
}

impl<'a> Variants<'a> {
    /// Uploads a scene.
    ///
    /// # Errors
    /// As [`Backend::renderer`].
    pub fn new(backend: &'a dyn Backend, scene: Arc<Gaussians>) -> Result<Self, BackendError> {
        Ok(Self {
            plain: backend.renderer(&scene)?,
            backend,
            scene,
            changed: None,
        })
    }

    /// The renderer that draws a view of what is left of the scene, with what is selected
    /// highlighted or not.
    ///
    /// # Errors
    /// As [`Backend::renderer`].
    pub fn of(
        &mut self,
        look: &Look,
        edits: &State,
        highlight: bool,
    ) -> Result<&mut dyn Renderer, BackendError> {
        let style = (look.style, look.scale);
        let selected = match highlight {
            true => edits.selected.clone(),
            false => Mask::none(edits.selected.len()),
        };
        if style == PLAIN && selected.is_empty() && edits.deleted.is_empty() {
            return Ok(&mut *self.plain);
        }
        let wanted = Change {
            style,
            deleted: edits.deleted.clone(),
            selected,
        };
        let renderer = match self.changed.take() {
            Some((made, renderer)) if made == wanted => renderer,
            old => {
                // Two copies on a device may be more than it holds.
                drop(old);
                let left = left_of(&self.scene, &wanted.deleted, &wanted.selected);
                self.backend.renderer(&changed(left, style))?
            }
        };
        Ok(&mut *self.changed.insert((wanted, renderer)).1)
    }

    /// The Gaussians that a camera sees, and that nothing hides from it.
    ///
    /// # Errors
    /// As [`Renderer::render`].
    pub fn shown(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        edits: &State,
    ) -> Result<Mask, BackendError> {
        let longest = camera.width.max(camera.height);
        let side = |pixels: u32| match longest > SIGHT {
            true => (u64::from(pixels) * u64::from(SIGHT) / u64::from(longest)).max(1) as u32,
            false => pixels,
        };
        let camera = camera.resized(side(camera.width), side(camera.height));
        // Colours do not matter, so what is drawn already will do.
        let order: Vec<usize> = edits.deleted.inverse().indices().collect();
        let renderer = match &mut self.changed {
            Some((made, renderer)) if made.style == PLAIN && made.deleted == edits.deleted => {
                renderer
            }
            _ if edits.deleted.is_empty() => &mut self.plain,
            changed => {
                *changed = None;
                let none = Mask::none(self.scene.len());
                let left = left_of(&self.scene, &edits.deleted, &none);
                let change = Change {
                    style: PLAIN,
                    deleted: edits.deleted.clone(),
                    selected: none,
                };
                &mut changed.insert((change, self.backend.renderer(&left)?)).1
            }
        };
        let seen = renderer.visibility(&camera, options)?;
        let lit = |row: usize| {
            let fragments = seen.fragments[row];
            fragments > 0 && seen.transmittances[row] >= MIN_LIGHT * fragments as f64
        };
        let rows = order.iter().enumerate().filter(|(row, _)| lit(*row));
        Ok(Mask::from_indices(self.scene.len(), rows.map(|(_, &i)| i)))
    }
}

/// What is not deleted of a scene, in order, with what is selected in the highlight's colour.
fn left_of(scene: &Gaussians, deleted: &Mask, selected: &Mask) -> Gaussians {
    let order: Vec<u32> = deleted.inverse().indices().map(|i| i as u32).collect();
    let mut left = scene.in_order(&order);
    if selected.is_empty() {
        return left;
    }
    let k = left.coefficients();
    let tint = HIGHLIGHT.map(|v| HIGHLIGHT_SHARE * (v - 0.5) / sh::C0 as f32);
    let rows = left.sh.par_chunks_exact_mut(k).zip(&order);
    rows.filter(|(_, i)| selected.contains(**i as usize))
        .for_each(|(coefficients, _)| {
            for v in coefficients.iter_mut().flatten() {
                *v *= 1.0 - HIGHLIGHT_SHARE;
            }
            (0..3).for_each(|c| coefficients[0][c] += tint[c]);
        });
    left
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

    /// What is deleted is drawn as if it had never been; the highlight goes when it is not wanted.
    #[test]
    fn an_edited_scene_is_drawn_as_what_is_left() {
        let backend = CpuBackend::new(Some(1));
        let scene = Arc::new(scene(1));
        let mut variants = Variants::new(&backend, Arc::clone(&scene)).unwrap();
        let look = look(Style::Splats, true);
        let mut state = State::new(50);
        let whole = render(variants.of(&look, &state, true).unwrap());
        state.deleted = Mask::of(50, |i| i % 2 == 0);
        let odd: Vec<u32> = (1..50).step_by(2).collect();
        let want = render(&mut *backend.renderer(&scene.in_order(&odd)).unwrap());
        assert!(render(variants.of(&look, &state, true).unwrap()) == want);
        state.selected = Mask::of(50, |i| i == 7);
        let highlighted = render(variants.of(&look, &state, true).unwrap());
        assert!(highlighted != want);
        assert_eq!(highlighted.transmittance, want.transmittance);
        assert!(render(variants.of(&look, &state, false).unwrap()) == want);
        assert!(render(variants.of(&look, &State::new(50), true).unwrap()) == whole);
    }

    /// A wall of Gaussians in front of another: the camera sees one, and the other once it is gone.
    #[test]
    fn what_is_hidden_is_not_shown() {
        let mut walls = Gaussians::zeros(200, 0);
        for i in 0..200 {
            let (row, column) = (i % 100 / 10, i % 10);
            let z = if i < 100 { 0.0 } else { 2.0 };
            walls.means[i] = [row as f32 - 4.5, column as f32 - 4.5, z];
            walls.log_scales[i] = [0.8f32.ln(), 0.8f32.ln(), 0.05f32.ln()];
            walls.rotations[i] = [1.0, 0.0, 0.0, 0.0];
            walls.opacity_logits[i] = 5.0;
        }
        let backend = CpuBackend::new(Some(1));
        let mut variants = Variants::new(&backend, Arc::new(walls)).unwrap();
        let (camera, options) = (look(Style::Splats, true).camera, RenderOptions::default());
        let mut state = State::new(200);
        let shown = variants.shown(&camera, &options, &state).unwrap();
        assert!(shown.count() > 10 && shown.indices().all(|i| i < 100));
        state.deleted = shown;
        let shown = variants.shown(&camera, &options, &state).unwrap();
        assert!(shown.indices().any(|i| i >= 100));
        assert!(shown.and(&state.deleted).is_empty());
    }
}
