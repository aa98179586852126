//! Scenes drawn as points or ellipsoids, or with other sizes: renderers of changed Gaussians.

use crate::protocol::{Look, Style};
use splatcore_core::Gaussians;
use splatcore_core::backend::{Backend, BackendError, Renderer};

/// Logit of an opacity that hides what is behind.
const OPAQUE: f32 = 8.0;
/// A point's standard deviation as a share of the scene's median Gaussian.
const POINT: f32 = 0.15;
/// An ellipsoid's standard deviation as a share of its Gaussian's. With an opacity near 1 a splat
/// looks solid out to about two of its standard deviations.
const ELLIPSOID: f32 = 0.5;

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
        if wanted == (Style::Splats, 1.0) {
            return Ok(&mut *self.plain);
        }
        let renderer = match self.changed.take() {
            Some((made, renderer)) if made == wanted => renderer,
            _ => self.backend.renderer(&changed(&self.scene, wanted))?,
        };
        Ok(&mut *self.changed.insert((wanted, renderer)).1)
    }
}

fn changed(scene: &Gaussians, (style, scale): (Style, f32)) -> Gaussians {
    let mut scene = scene.clone();
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
