//! How much of each Gaussian a view shows, and how many each tile takes.

use super::error::BackendError;
use super::frame::{FrameCounts, RenderOptions};
use crate::{Camera, Gaussians};

/// Sums over the fragments of each Gaussian: a *fragment* is a (pixel, Gaussian) that is blended,
/// with an alpha and the transmittance T in front of it. Pruning scores are made from these sums
/// (docs/methods/prune.md).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Visibility {
    /// Sum of alpha T, which is the Gaussian's share of the image in pixels, `[n]`.
    pub weights: Vec<f64>,
    /// Sum of T, `[n]`.
    pub transmittances: Vec<f64>,
    /// Number of fragments, `[n]`.
    pub fragments: Vec<u64>,
}

impl Visibility {
    /// Of `count` Gaussians, none of which is seen.
    pub fn unseen(count: usize) -> Self {
        Self {
            weights: vec![0.0; count],
            transmittances: vec![0.0; count],
            fragments: vec![0; count],
        }
    }

    /// Adds the sums of another view of the same scene.
    pub fn add(&mut self, view: &Self) {
        let sums = self.weights.iter_mut().zip(&view.weights);
        let transmittances = self.transmittances.iter_mut().zip(&view.transmittances);
        sums.chain(transmittances)
            .for_each(|(sum, more)| *sum += more);
        let fragments = self.fragments.iter_mut().zip(&view.fragments);
        fragments.for_each(|(sum, more)| *sum += more);
    }
}

/// How many Gaussians each tile's list of a view holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileCounts {
    /// Tiles of [`crate::semantics::TILE`] pixels a side in a row, and rows of them; those at the
    /// right and lower edge may stand out of the image.
    pub tiles: [usize; 2],
    /// Lengths of the lists, row by row from the top left, `[tiles[1] * tiles[0]]`.
    pub counts: Vec<u32>,
}

/// A scene whose Gaussians can be told apart by how much a view shows of them, and by where they
/// cost something, and be changed one by one.
pub trait Scored {
    /// Sums over the fragments of one view, in the order of the scene's Gaussians. Which fragments
    /// there are is decided as by [`crate::pipeline::Blend::Scalar`] with the intersect of
    /// `options.pipeline`, whatever its blend. The same call gives the same bits.
    ///
    /// # Errors
    /// As [`super::Renderer::render`].
    fn visibility(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Visibility, BackendError>;

    /// The lengths of one view's lists by tile, of the intersect of `options.pipeline`, whatever
    /// its blend. The same call gives the same counts.
    ///
    /// # Errors
    /// As [`super::Renderer::render`].
    fn tile_counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<TileCounts, BackendError>;

    /// How much there is to do in one view, by the kernels of `options.pipeline`. Slower than
    /// rendering.
    ///
    /// # Errors
    /// As [`super::Renderer::render`].
    fn counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<FrameCounts, BackendError>;

    /// Lets `change` change the Gaussians where they lie, but not how many there are. `false` where
    /// they lie on a device and nothing was changed: upload the changed scene instead.
    ///
    /// # Errors
    /// If the arrays do not belong together any more; the scene is empty then.
    fn change(&mut self, _change: &mut dyn FnMut(&mut Gaussians)) -> Result<bool, BackendError> {
        Ok(false)
    }
}
