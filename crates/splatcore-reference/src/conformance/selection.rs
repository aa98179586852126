//! Which pipelines a backend is checked with.
//!
//! All combinations of an intersect and a blend that the backend has; on emulated kernels, which
//! are some thousand times slower, a selection in which every method occurs: every intersect with
//! scalar and splatcore, every blend with aabb and exact. `SPLATCORE_PIPELINES=all` in the
//! environment asks for all of them there too, `some` for the selection anywhere.

use super::outcome::said;
use splatcore_core::backend::{Backend, BackendError, RenderOptions};
use splatcore_core::pipeline::{Blend, Intersect};
use splatcore_core::{Camera, Gaussians, Pipeline};

/// How much of the product of all methods is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Every pair of methods, every scene.
    Full,
    /// Every method, on few scenes.
    Every,
}

/// How many pipelines a scene is rendered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// `aabb` and `exact` with `scalar` and `splatcore`.
    Common,
    /// Those, and each blend with `exact`.
    Blends,
    /// Those, each blend with `aabb`, and each intersect with `scalar` and `splatcore`.
    Methods,
    /// Each blend with `exact`, whatever the coverage: for images that take long to compare.
    Large,
}

/// The methods of a backend.
#[derive(Clone, Debug)]
pub struct Selection {
    /// How much of the product is run.
    pub coverage: Coverage,
    intersects: Vec<Intersect>,
    blends: Vec<Blend>,
}

impl Selection {
    /// Asks the backend which methods it has.
    ///
    /// # Errors
    /// If it lacks what every backend must have, or says anything but that it lacks a method.
    pub fn new(backend: &dyn Backend) -> Result<Self, String> {
        let wish = std::env::var("SPLATCORE_PIPELINES").unwrap_or_default();
        let coverage = match (wish.as_str(), backend.describe().contains("emulated")) {
            ("all", _) => Coverage::Full,
            ("some", _) | (_, true) => Coverage::Every,
            _ => Coverage::Full,
        };
        let has = |intersect, blend| has(backend, intersect, blend);
        let mut found = Self {
            coverage,
            intersects: Vec::new(),
            blends: Vec::new(),
        };
        for &intersect in Intersect::ALL {
            if has(intersect, Blend::Scalar)? {
                found.intersects.push(intersect);
            }
        }
        for &blend in Blend::ALL {
            if has(Intersect::Exact, blend)? {
                found.blends.push(blend);
            }
        }
        let lacking = |of_intersect: bool| {
            Err(format!(
                "{} lacks {} that every backend must have",
                backend.name(),
                if of_intersect {
                    "an intersect"
                } else {
                    "a blend"
                }
            ))
        };
        if found.intersects != Intersect::ALL {
            return lacking(true);
        }
        if Blend::COMMON
            .iter()
            .any(|blend| !found.blends.contains(blend))
        {
            return lacking(false);
        }
        Ok(found)
    }

    /// One blend alone, for images that no other one makes otherwise.
    pub(super) fn of_blend(mut self, blend: Blend) -> Self {
        self.blends.retain(|&known| known == blend);
        self
    }

    /// Whether the device can afford images of 8k.
    pub fn large(&self, backend: &dyn Backend) -> bool {
        self.coverage == Coverage::Full && backend.name() == "cuda"
    }

    /// Methods that this backend does not have.
    pub fn lacking(&self) -> Vec<Blend> {
        Blend::ALL
            .iter()
            .copied()
            .filter(|blend| !self.blends.contains(blend))
            .collect()
    }

    /// Pipelines to render with, by intersect.
    pub fn pipelines(&self, weight: Weight) -> Vec<Pipeline> {
        let wanted = |p: &Pipeline| {
            let common = Blend::COMMON.contains(&p.blend);
            let usual = matches!(p.intersect, Intersect::Aabb | Intersect::Exact);
            match weight {
                Weight::Large => p.intersect == Intersect::Exact,
                _ if self.coverage == Coverage::Full => true,
                Weight::Common => common && usual,
                Weight::Blends => common && usual || p.intersect == Intersect::Exact,
                Weight::Methods => common || usual,
            }
        };
        Pipeline::combinations(&self.blends)
            .into_iter()
            .filter(wanted)
            .collect()
    }

    /// Pipelines for gradients and steps: the blends that every backend has. splatcore-cuda tests
    /// the gradients behind others (`tests/real_gradients.rs`).
    pub fn training(&self, weight: Weight) -> Vec<Pipeline> {
        let common = |p: &Pipeline| Blend::COMMON.contains(&p.blend);
        self.pipelines(weight).into_iter().filter(common).collect()
    }
}

/// Whether a pipeline exists here, by trying it on next to nothing.
fn has(backend: &dyn Backend, intersect: Intersect, blend: Blend) -> Result<bool, String> {
    let camera = Camera::look_at([0.0, 0.0, -4.0], [0.0; 3], [0.0, -1.0, 0.0], 0.8, 16, 16);
    let options = RenderOptions {
        pipeline: Pipeline {
            intersect,
            blend,
            backward: blend.backward(),
        },
        ..RenderOptions::default()
    };
    let tried = backend
        .renderer(&Gaussians::empty(0))
        .and_then(|mut renderer| renderer.render(&camera, &options));
    match tried {
        Ok(_) => Ok(true),
        Err(BackendError::Unsupported { .. }) => Ok(false),
        Err(error) => Err(format!("{intersect}+{blend} of nothing: {}", said(error))),
    }
}
