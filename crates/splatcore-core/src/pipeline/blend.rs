//! The blend methods by name. What there is to know of each is in one table, `methods.rs`.

use serde::{Deserialize, Serialize};

/// An enum and the list of all its variants, which cannot lack one.
macro_rules! listed {
    ($(#[$of_enum:meta])* pub enum $kind:ident { $($(#[$of:meta])* $variant:ident,)+ }) => {
        $(#[$of_enum])*
        pub enum $kind { $($(#[$of])* $variant,)+ }

        impl $kind {
            /// Every variant.
            pub const ALL: &'static [$kind] = &[$($kind::$variant),+];
        }
    };
}

listed! {
    /// How a tile's list is blended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(into = "String", try_from = "String")]
    pub enum Blend {
        /// Every pixel walks the tile's whole list (INRIA's 3DGS).
        Scalar,
        /// As [`Blend::Scalar`], as INRIA's 3DGS publishes it and without what later work gained:
        /// an exact exponential, colours from global memory, a counter of contributors. Where
        /// searches for faster kernels begin.
        Literal,
        /// As [`Blend::Scalar`], but the exponent is compared with log2(1/255) before it is raised
        /// (TC-GS, Liao et al. 2025, section 4.1).
        EarlyCull,
        /// Exponents of 16 pixels and 8 Gaussians as one product in half precision, in coordinates
        /// of the tile, every one of them raised (TC-GS, sections 4.2 and 4.3 without 4.1: the
        /// ablation of its table 5).
        Frag2Mat,
        /// [`Blend::EarlyCull`] and [`Blend::Frag2Mat`] together (TC-GS, section 4).
        TcGs,
        /// As [`Blend::TcGs`], but a pixel's transmittance is a half, as in the authors' code.
        TcGsHalf,
        /// As [`Blend::TcGs`], but in coordinates of the image: half precision overflows (the
        /// ablation of its table 6).
        TcGsGlobalFp16,
        /// As [`Blend::TcGsGlobalFp16`] in TF32: no overflow, but as few digits (likewise).
        TcGsGlobalTf32,
        /// As [`Blend::TcGs`] in the arithmetic of the code that its authors released: an
        /// exponential in halves, transmittance, weights and sums in halves, a look at the
        /// transmittance once every 16 Gaussians, no votes of a warp.
        TcGsReleased,
        /// As [`Blend::TcGsReleased`] with the exponential in f32.
        TcGsReleasedExpF32,
        /// As [`Blend::TcGsReleased`] with transmittance, weights and sums in f32.
        TcGsReleasedBlendF32,
        /// As [`Blend::TcGsReleased`] with a look at the transmittance in front of each fragment.
        TcGsReleasedStopEach,
        /// As [`Blend::TcGsReleased`] with a warp's votes on what it may pass over.
        TcGsReleasedVote,
        /// Exponents of a tile as one product on the matrix units, 256 Gaussians a batch, 16 a
        /// mini-batch, in a three-stage pipeline with two buffers (GEMM-GS, Li et al. 2026, section
        /// 3).
        GemmGs,
        /// As [`Blend::GemmGs`] with batches of 32 (its section 4.3, figure 7).
        GemmGs32,
        /// As [`Blend::GemmGs`] with batches of 64 (likewise).
        GemmGs64,
        /// As [`Blend::GemmGs`] with batches of 128 (likewise).
        GemmGs128,
        /// As [`Blend::GemmGs`] with batches of 512 (likewise).
        GemmGs512,
        /// Exponents of 16 Gaussians and 16 pixels as one product on the matrix units, tile by
        /// tile: TensorGS's naive tensorization (sections 4.2 and 4.3). Each coefficient is the sum
        /// of two halves, the second of which holds what the first leaves.
        TensorGs1x1,
        /// As [`Blend::TensorGs1x1`], but macro-tiles of 2x2 tiles share one list, each Gaussian
        /// with a mask of the tiles that it touches (TensorGS, section 4.4; its default).
        TensorGs2x2,
        /// As [`Blend::TensorGs2x2`] with macro-tiles of 4x4 tiles (its section 5.4, table 6).
        TensorGs4x4,
        /// As [`Blend::TensorGs1x1`], but a coefficient is one half. The paper's are of three terms
        /// about each Gaussian (section 4.2.3), these are of six about the tile's middle.
        TensorGs1x1Half,
        /// As [`Blend::TensorGs2x2`] with coefficients of one half (likewise).
        TensorGs2x2Half,
        /// As [`Blend::TensorGs4x4`] with coefficients of one half (likewise).
        TensorGs4x4Half,
        /// Sub-tile culling in f32: each small block of pixels walks only the Gaussians whose
        /// ellipse touches it.
        Subtile,
        /// A group of 4x2 pixels blends the Gaussians whose alpha at the group's centre is 1/255 or
        /// more, and no others (Seele, Huang et al. 2025, section 4).
        Seele,
        /// The pixels of a sub-tile, 8x8 of a tile, blend the Gaussians whose 3-sigma box along the
        /// ellipse's axes touches it (GSCore, Lee et al. 2024, subtile skipping). Its lists are
        /// those of [`super::Intersect::Obb`].
        GsCore,
        /// Pixels blend by depth along their own ray, which windows of a tile, of 4x4, of 2x2 and
        /// of one pixel put in order one after the other (StopThePop, Radl et al. 2024).
        StopThePop,
        /// The backend's fastest that blends every pixel. On CUDA sub-tile culling with scores and
        /// colours as products on the matrix units; on the CPU the same as [`Blend::Subtile`].
        Splatcore,
    }
}

read_and_shown_by_name!(Blend, "blend");

crate::kept_as_text!(Blend, String);
