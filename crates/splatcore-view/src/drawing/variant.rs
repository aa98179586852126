//! A finished scene drawn as points or ellipsoids, with other sizes, or edited: a renderer of
//! changed Gaussians.

use crate::edit::{Mask, Sight, State, Stroke};
use crate::protocol::{Look, Style};
use rayon::prelude::*;
use splatcore_core::backend::{Backend, BackendError, RenderOptions, Renderer};
use splatcore_core::ranked::median;
use splatcore_core::{Camera, Gaussians, sh};
use std::sync::Arc;

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
/// Logit of an opacity that no backend draws.
const GONE: f32 = -30.0;
/// What a scene's own renderer draws.
pub(super) const PLAIN: (Style, f32) = (Style::Splats, 1.0);

/// The renderer of one scene, drawn as was asked for last.
pub struct Variants<'a> {
    backend: &'a dyn Backend,
    scene: Arc<Gaussians>,
    /// What the renderer draws; none after an error.
    drawn: Option<(Change, Box<dyn Renderer>)>,
    /// What the view of a stroke that has begun shows of what was not deleted then.
    seen: Option<Seen>,
}

/// What a whole view shows.
struct Seen {
    view: Camera,
    deleted: Mask,
    sight: Arc<Sight>,
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
        let none = Mask::none(scene.len());
        let plain = Change {
            style: PLAIN,
            deleted: none.clone(),
            selected: none,
        };
        Ok(Self {
            drawn: Some((plain, backend.renderer(&scene)?)),
            seen: None,
            backend,
            scene,
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
        let selected = match highlight {
            true => edits.selected.clone(),
            false => Mask::none(edits.selected.len()),
        };
        self.drawn_as(Change {
            style: (look.style, look.scale),
            deleted: edits.deleted.clone(),
            selected,
        })
    }

    /// Sees what a view shows, while a stroke over it is painted: [`Variants::sight`] then only has
    /// to say so.
    ///
    /// # Errors
    /// As [`Renderer::render`].
    pub fn look(
        &mut self,
        view: &Camera,
        options: &RenderOptions,
        edits: &State,
    ) -> Result<(), BackendError> {
        let sight = self.rendered(Sight::whole(view), options, edits)?;
        self.seen = Some(Seen {
            view: view.clone(),
            deleted: edits.deleted.clone(),
            sight: Arc::new(sight),
        });
        Ok(())
    }

    /// What a stroke's view shows.
    ///
    /// # Errors
    /// As [`Renderer::render`].
    pub fn sight(
        &mut self,
        stroke: &Stroke,
        options: &RenderOptions,
        edits: &State,
    ) -> Result<Arc<Sight>, BackendError> {
        if let Some(seen) = &self.seen
            && seen.view == stroke.camera
            && seen.deleted == edits.deleted
        {
            return Ok(Arc::clone(&seen.sight));
        }
        Ok(Arc::new(self.rendered(
            Sight::camera(stroke),
            options,
            edits,
        )?))
    }

    fn rendered(
        &mut self,
        camera: Camera,
        options: &RenderOptions,
        edits: &State,
    ) -> Result<Sight, BackendError> {
        let options = RenderOptions {
            // Colours do not matter, so what is highlighted now may stay so.
            sh_degree: 0,
            ..options.clone().with_inverse_depth(true)
        };
        let drawn = self.drawn.as_ref();
        let selected = drawn.map(|(drawn, _)| drawn.selected.clone());
        let renderer = self.drawn_as(Change {
            style: PLAIN,
            deleted: edits.deleted.clone(),
            selected: selected.unwrap_or_else(|| Mask::none(self.scene.len())),
        })?;
        let rendered = renderer.render(&camera, &options)?;
        Ok(Sight::new(camera, &rendered))
    }

    fn drawn_as(&mut self, wanted: Change) -> Result<&mut dyn Renderer, BackendError> {
        let renderer = match self.drawn.take() {
            Some((drawn, renderer)) if drawn == wanted => renderer,
            Some((drawn, mut renderer)) => {
                let scene = &self.scene;
                match renderer.change(&mut |copy| turn(copy, scene, Some(&drawn), &wanted))? {
                    true => renderer,
                    false => {
                        // Two copies on a device may be more than it holds.
                        drop(renderer);
                        self.uploaded(&wanted)?
                    }
                }
            }
            None => self.uploaded(&wanted)?,
        };
        Ok(&mut *self.drawn.insert((wanted, renderer)).1)
    }

    fn uploaded(&self, wanted: &Change) -> Result<Box<dyn Renderer>, BackendError> {
        let mut copy = Gaussians::clone(&self.scene);
        turn(&mut copy, &self.scene, None, wanted);
        self.backend.renderer(&copy)
    }
}

/// Turns a copy of a scene that was changed in one way, or not at all, into one that is changed in
/// another.
fn turn(copy: &mut Gaussians, scene: &Gaussians, from: Option<&Change>, to: &Change) {
    let none = Mask::none(scene.len());
    let (style, selected) = match from {
        Some(from) => (from.style, &from.selected),
        None => (PLAIN, &none),
    };
    if style != to.style {
        copy.log_scales.copy_from_slice(&scene.log_scales);
        copy.opacity_logits.copy_from_slice(&scene.opacity_logits);
        draw_as(copy, to.style);
    }
    let opaque = to.style.0 != Style::Splats;
    let opacities = copy.opacity_logits.par_iter_mut().enumerate();
    opacities.for_each(|(i, opacity)| {
        *opacity = match (to.deleted.contains(i), opaque) {
            (true, _) => GONE,
            (false, true) => OPAQUE,
            (false, false) => scene.opacity_logits[i],
        }
    });
    let k = copy.coefficients();
    let tint = HIGHLIGHT.map(|v| HIGHLIGHT_SHARE * (v - 0.5) / sh::C0 as f32);
    let rows = (copy.sh.par_chunks_exact_mut(k)).zip(scene.sh.par_chunks_exact(k));
    rows.enumerate().for_each(|(i, (row, own))| {
        let highlight = to.selected.contains(i);
        if selected.contains(i) == highlight {
            return;
        }
        row.copy_from_slice(own);
        if highlight {
            for v in row.iter_mut().flatten() {
                *v *= 1.0 - HIGHLIGHT_SHARE;
            }
            (0..3).for_each(|c| row[0][c] += tint[c]);
        }
    });
}

/// Changes Gaussians so that they are drawn in a style and of another size.
pub(super) fn draw_as(scene: &mut Gaussians, (style, scale): (Style, f32)) {
    match style {
        Style::Splats => {}
        Style::Points => {
            let size = |s: &[f32; 3]| f64::from(s.iter().sum::<f32>() / 3.0);
            if let Some(usual) = median(scene.log_scales.iter().map(size)) {
                scene.log_scales.fill([usual as f32 + POINT.ln(); 3]);
            }
            scene.opacity_logits.fill(OPAQUE);
        }
        Style::Ellipsoids => {
            let sizes = scene.log_scales.iter_mut().flatten();
            sizes.for_each(|s| *s += ELLIPSOID.ln());
            scene.opacity_logits.fill(OPAQUE);
        }
    }
    if scale != 1.0 {
        let sizes = scene.log_scales.iter_mut().flatten();
        sizes.for_each(|s| *s += scale.ln());
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::edit::Region;
    use splatcore_core::backend::{RenderOptions, Rendered};
    use splatcore_core::random::Rng;
    use splatcore_cpu::CpuBackend;
    use std::time::Instant;

    pub(in crate::drawing) fn scene(seed: u64) -> Gaussians {
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

    pub(in crate::drawing) fn look(style: Style, still: bool) -> Look {
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

    pub(in crate::drawing) fn render(renderer: &mut dyn Renderer) -> Rendered {
        let camera = look(Style::Splats, true).camera;
        renderer.render(&camera, &RenderOptions::default()).unwrap()
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

    /// However a scene was drawn before, it is drawn as a fresh copy is.
    #[test]
    fn a_change_leaves_nothing_of_the_last_one() {
        let scene = scene(1);
        let mut rng = Rng::new(7, 0);
        let mut copy = scene.clone();
        let mut last: Option<Change> = None;
        for i in 0..40 {
            let style = [Style::Splats, Style::Points, Style::Ellipsoids][i / 2 % 3];
            let chosen: Vec<bool> = (0..100).map(|_| rng.normal() > 0.3).collect();
            let next = Change {
                style: (style, if i % 5 == 0 { 0.5 } else { 1.0 }),
                deleted: Mask::of(50, |i| chosen[i]),
                selected: Mask::of(50, |i| chosen[50 + i]),
            };
            turn(&mut copy, &scene, last.as_ref(), &next);
            let mut fresh = scene.clone();
            turn(&mut fresh, &scene, None, &next);
            assert!(copy == fresh, "{i}");
            last = Some(next);
        }
        let plain = Change {
            style: PLAIN,
            deleted: Mask::none(50),
            selected: Mask::none(50),
        };
        turn(&mut copy, &scene, last.as_ref(), &plain);
        assert!(copy == scene);
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
        let scene = Arc::new(walls);
        let mut variants = Variants::new(&backend, Arc::clone(&scene)).unwrap();
        let options = RenderOptions::default();
        let stroke = Stroke {
            camera: look(Style::Splats, true).camera,
            points: vec![[5.0, 5.0], [43.0, 27.0]],
            radius: 5.0,
            through: false,
        };
        let mut state = State::new(200);
        let mut taken = |state: &State| {
            let sight = variants.sight(&stroke, &options, state).unwrap();
            let region = Region::Stroke(Box::new(stroke.clone()));
            region.of(&scene, Some(&sight)).without(&state.deleted)
        };
        let shown = taken(&state);
        assert!(shown.count() > 10 && shown.indices().all(|i| i < 100));
        let deleted = Mask::of(200, |i| i < 100);
        state.deleted = deleted.clone();
        let behind = taken(&state);
        assert!(behind.count() > 10 && behind.indices().all(|i| i >= 100));
        // What was seen as the stroke began is what it takes, until something else is deleted.
        state.deleted = Mask::none(200);
        variants.look(&stroke.camera, &options, &state).unwrap();
        let mut taken = |state: &State| {
            let mut sight = || variants.sight(&stroke, &options, state).unwrap();
            let (sight, again) = (sight(), sight());
            let region = Region::Stroke(Box::new(stroke.clone()));
            let taken = region.of(&scene, Some(&sight)).without(&state.deleted);
            (taken, Arc::ptr_eq(&sight, &again))
        };
        assert!(taken(&state) == (shown, true));
        state.deleted = deleted;
        assert!(taken(&state) == (behind, false));
    }

    /// Run by hand in the crate's folder: `cargo test --release a_stroke_of_a_million -- --ignored
    /// --nocapture`. The goal is 100 ms.
    #[test]
    #[ignore = "measures"]
    fn a_stroke_of_a_million() {
        let file = std::path::Path::new("../../../shared/data/models/fox_mcmc_1m.sog");
        let Ok(read) = splatcore_data::scene::read(file) else {
            eprintln!("skipped: no {}", file.display());
            return;
        };
        let scene = Arc::new(read.gaussians);
        let backend = CpuBackend::new(None);
        let mut variants = Variants::new(&backend, Arc::clone(&scene)).unwrap();
        let options = RenderOptions::default();
        let camera = Camera::look_at(
            [2.6, -4.2, 0.2],
            [0.3, 0.1, -0.4],
            [0.0, 0.0, 1.0],
            0.87,
            1280,
            720,
        );
        let look = Look {
            camera: camera.clone(),
            ..look(Style::Splats, true)
        };
        let mut state = State::new(scene.len());
        let short = vec![[500.0, 300.0], [560.0, 340.0]];
        let long = vec![
            [200.0, 100.0],
            [1100.0, 650.0],
            [200.0, 650.0],
            [1100.0, 100.0],
        ];
        let mut times = [const { Vec::new() }; 8];
        for round in 0..12 {
            for (which, points) in [&short, &long].into_iter().enumerate() {
                let begun = Instant::now();
                let renderer = variants.of(&look, &state, true).unwrap();
                renderer.render(&camera, &options).unwrap();
                times[3 * which].push(begun.elapsed());
                let stroke = Stroke {
                    camera: camera.clone(),
                    points: points.clone(),
                    radius: 30.0 + f64::from(round),
                    through: false,
                };
                let begun = Instant::now();
                let sight = variants.sight(&stroke, &options, &state).unwrap();
                times[3 * which + 1].push(begun.elapsed());
                let region = Region::Stroke(Box::new(stroke));
                state.selected = region.of(&scene, Some(&sight)).without(&state.deleted);
                times[3 * which + 2].push(begun.elapsed());
                assert!(state.selected.count() > 100);
                let Region::Stroke(stroke) = &region else {
                    continue;
                };
                variants.look(&camera, &options, &state).unwrap();
                let begun = Instant::now();
                let sight = variants.sight(stroke, &options, &state).unwrap();
                region.of(&scene, Some(&sight)).without(&state.deleted);
                times[6 + which].push(begun.elapsed());
                variants.seen = None;
            }
        }
        for (which, times) in times.iter_mut().enumerate() {
            times.sort_unstable();
            let what = match which {
                6.. => "stroke over what was looked at",
                _ => ["frame", "its sight", "stroke"][which % 3],
            };
            let (least, middle) = (times[0].as_secs_f64(), times[6].as_secs_f64());
            eprintln!("{what}: {:.0} ms, at best {:.0}", 1e3 * middle, 1e3 * least);
        }
    }
}
