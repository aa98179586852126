//! What the Gaussians of drawn scenes are like.

/// What the Gaussians of a drawn scene are like. World units are those before [`super::world`]
/// gives the scene its place: the camera is some 4 of them away from the origin.
#[derive(Clone, Copy)]
pub struct Kind {
    /// For messages.
    pub name: &'static str,
    /// At least; up to half as many again are drawn.
    pub gaussians: usize,
    /// Opacities, least and most.
    pub opacity: [f32; 2],
    /// Standard deviations in world units, least and most, drawn by their logarithms.
    pub scale: [f32; 2],
    /// Half the side of the cube of means, world units.
    pub spread: f32,
    /// How far the cube lies behind the origin, world units.
    pub beyond: f32,
    /// Of spherical harmonics.
    pub degree: u8,
    /// The largest coefficient of a colour; 0.8 gives colours up to 3.5.
    pub colour: f32,
    /// Whether every second Gaussian lies nearly where the one before it does, so that the lower
    /// bits of depths decide their order.
    pub is_paired: bool,
    /// Of images, pixels.
    pub sizes: &'static [[u32; 2]],
}

/// What most kinds are like.
pub const PLAIN: Kind = Kind {
    name: "plain",
    gaussians: 240,
    opacity: [0.1, 0.95],
    scale: [0.02, 0.4],
    spread: 1.5,
    beyond: 0.0,
    degree: 3,
    colour: 0.8,
    is_paired: false,
    sizes: &[[70, 45], [33, 17]],
};

/// Lists shorter than a batch, longer than several, of thousands; lists that end early, and that
/// never do; near and far, small and large Gaussians, some of thousands of pixels or of hundreds of
/// tiles; Gaussians of many blocks; equal depths but for the last bits; every degree of spherical
/// harmonics, and colours far above 1; images that are no multiple of a tile, of many tiles both
/// ways, or of more than 128 a side.
pub const KINDS: [Kind; 14] = [
    PLAIN,
    Kind {
        name: "long faint lists",
        gaussians: 1100,
        opacity: [0.005, 0.03],
        scale: [0.1, 0.3],
        spread: 0.4,
        degree: 1,
        sizes: &[[48, 32]],
        ..PLAIN
    },
    Kind {
        name: "lists that end early",
        gaussians: 700,
        opacity: [0.6, 0.999],
        scale: [0.05, 0.3],
        spread: 0.8,
        degree: 2,
        sizes: &[[48, 49]],
        ..PLAIN
    },
    Kind {
        name: "needles and sheets",
        gaussians: 200,
        opacity: [0.2, 0.99],
        scale: [0.0005, 3.0],
        degree: 0,
        sizes: &[[64, 64]],
        ..PLAIN
    },
    Kind {
        name: "one Gaussian",
        gaussians: 1,
        opacity: [0.5, 0.9],
        scale: [0.2, 0.5],
        spread: 0.3,
        sizes: &[[17, 16], [1, 1]],
        ..PLAIN
    },
    Kind {
        name: "crowded in one tile",
        gaussians: 600,
        opacity: [0.02, 0.5],
        scale: [0.005, 0.05],
        spread: 0.1,
        degree: 1,
        sizes: &[[80, 16]],
        ..PLAIN
    },
    Kind {
        name: "far and large",
        gaussians: 160,
        opacity: [0.1, 0.9],
        scale: [1.0, 20.0],
        spread: 60.0,
        beyond: 150.0,
        degree: 2,
        sizes: &[[40, 24]],
        ..PLAIN
    },
    Kind {
        name: "thousands in one tile",
        gaussians: 4500,
        opacity: [0.0045, 0.006],
        scale: [0.2, 0.4],
        spread: 0.2,
        degree: 0,
        sizes: &[[9, 7]],
        ..PLAIN
    },
    Kind {
        name: "bright",
        gaussians: 150,
        opacity: [0.05, 0.95],
        scale: [0.05, 0.4],
        spread: 1.2,
        colour: 6.0,
        sizes: &[[37, 41]],
        ..PLAIN
    },
    Kind {
        name: "thousands of pixels across",
        gaussians: 90,
        opacity: [0.02, 0.6],
        scale: [0.3, 400.0],
        spread: 1.0,
        beyond: 1.5,
        degree: 1,
        sizes: &[[64, 40]],
        ..PLAIN
    },
    Kind {
        name: "more than 128 tiles in a row",
        gaussians: 120,
        opacity: [0.2, 0.9],
        scale: [0.02, 0.2],
        spread: 1.9,
        degree: 0,
        sizes: &[[2200, 9]],
        ..PLAIN
    },
    Kind {
        name: "a large image",
        gaussians: 24,
        scale: [0.02, 2.0],
        degree: 1,
        sizes: &[[390, 276]],
        ..PLAIN
    },
    Kind {
        name: "many",
        gaussians: 9_000,
        opacity: [0.05, 0.9],
        scale: [0.002, 0.02],
        degree: 0,
        sizes: &[[40, 29]],
        ..PLAIN
    },
    Kind {
        name: "nearly equal depths",
        gaussians: 200,
        opacity: [0.6, 0.99],
        scale: [0.05, 0.3],
        degree: 0,
        is_paired: true,
        sizes: &[[47, 33]],
        ..PLAIN
    },
];
