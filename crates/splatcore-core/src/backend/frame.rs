//! How a frame is rendered, and what comes of it.

use crate::semantics::Semantics;
use crate::sky::Sky;
use crate::{Image, Pipeline};
use std::sync::Arc;

/// How to render.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderOptions {
    /// Which kernels run.
    pub pipeline: Pipeline,
    /// Spherical harmonics up to this degree are used, or all that the scene has, whichever is
    /// less.
    pub sh_degree: u8,
    /// Colour behind the scene: image = C + T * background.
    pub background: [f32; 3],
    /// A sky behind the scene, which comes on top of the background: image = C + T * (background +
    /// sky); `None` for none.
    pub sky: Option<Arc<Sky>>,
    /// Constants of the rasterizer.
    pub semantics: Semantics,
    /// Also [`Rendered::inverse_depth`]. Only [`super::Renderer::render`] and what times it look at
    /// this. Backends refuse it of a blend that has no fourth channel:
    /// [`RenderOptions::with_inverse_depth`] chooses one that has.
    pub inverse_depth: bool,
    /// Mip-Splatting's 2D filter (Yu et al. 2024, section 4.2, eq. 10; gsplat's `antialiased`): the
    /// low pass makes a splat larger, and with this fainter by as much, opacity times sqrt(det C /
    /// det (C + 0.3 I)). For scenes trained so.
    pub antialias: bool,
    /// Images of 4 M pixels (2^22) and more of [`crate::pipeline::Blend::Splatcore`] may be
    /// interpolated: one position per four pixels is blended, and the pixels between are
    /// interpolated where that is safe. A pixel may be off by
    /// [`crate::precision::INTERPOLATED`] for it. Only a CUDA backend does so, and not for images
    /// with depth or in training.
    pub interpolate: bool,
}

impl RenderOptions {
    /// The same with inverse depth, if it is `wanted`, and then by a blend that sums depths
    /// ([`crate::pipeline::Blend::with_inverse_depth`]): the image of another one changes by
    /// roundings.
    pub fn with_inverse_depth(mut self, wanted: bool) -> Self {
        self.inverse_depth = wanted;
        if wanted {
            self.pipeline.blend = self.pipeline.blend.with_inverse_depth();
        }
        self
    }
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            pipeline: Pipeline::AUTO,
            sh_degree: 3,
            background: [0.0; 3],
            sky: None,
            semantics: Semantics::default(),
            inverse_depth: false,
            antialias: false,
            interpolate: false,
        }
    }
}

/// A rendered view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    /// Colour, background included.
    pub image: Image,
    /// Transmittance behind the last fragment of each pixel, `[height * width]`.
    pub transmittance: Vec<f32>,
    /// If asked for: the sum of 1/z by the weights of the colours, `[height * width]`, z being the
    /// view-space depth of a Gaussian's mean in world units. Nothing lies behind the scene, so 0
    /// where the transmittance is 1. Divided by `1 - transmittance` it is the expected inverse
    /// depth; [`Rendered::depth`] is the inverse of that.
    pub inverse_depth: Option<Vec<f32>>,
}

impl Rendered {
    /// Depth along the view axis in world units, `[height * width]`: `1 - transmittance` over
    /// `inverse_depth`, and 0 where the transmittance is 1. `None` if inverse depth was not asked
    /// for.
    pub fn depth(&self) -> Option<Vec<f32>> {
        let depth = |(&sum, &left): (&f32, &f32)| match 1.0 - left {
            taken if taken > 0.0 && sum > 0.0 => taken / sum,
            _ => 0.0,
        };
        let sums = self.inverse_depth.as_ref()?;
        Some(sums.iter().zip(&self.transmittance).map(depth).collect())
    }
}

/// What a frame cost, counted rather than timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounts {
    /// Gaussians in view.
    pub visible: u64,
    /// (tile, Gaussian) pairs.
    pub pairs: u64,
    /// Fragments, (pixel, Gaussian), whose alpha the kernel of the frame computes; `None` if that
    /// kernel cannot count them.
    pub fragments_evaluated: Option<u64>,
    /// Fragments that change their pixel; likewise.
    pub fragments_blended: Option<u64>,
    /// See [`StripCounts`]; only of [`crate::pipeline::Blend::Scalar`].
    pub strips: Option<StripCounts>,
}

/// (Strip, Gaussian) pairs of a backward pass that takes the pixels of a strip together. A strip is
/// two rows of a tile, 16x2 pixels; a tile's eight strips take its list in batches of 256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StripCounts {
    /// Walked, until all pixels of the tile have stopped; also by strips outside the image.
    pub visited: u64,
    /// With a fragment that changed its pixel.
    pub blended: u64,
}
