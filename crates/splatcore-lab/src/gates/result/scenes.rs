//! Scenes that nobody tuned a kernel on: drawn anew from a seed, degenerate, hostile.

use crate::worker::FrameSpec;
use serde::{Deserialize, Serialize};
use splatcore_core::backend::RenderOptions;
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Gaussians, Lens, Pipeline};
use std::f64::consts::PI;

/// A scene with the frames to look at.
#[derive(Clone, Debug)]
pub struct TestScene {
    /// For messages.
    pub name: String,
    /// The Gaussians.
    pub scene: Gaussians,
    /// From where, and how.
    pub frames: Vec<FrameSpec>,
}

/// What the Gaussians of a drawn scene are like.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    gaussians: usize,
    /// Opacities, least and most.
    opacity: [f32; 2],
    /// Standard deviations in world units, least and most, drawn by their logarithms.
    scale: [f32; 2],
    /// Half the side of the cube of means, world units; the camera is 4 away from the origin.
    spread: f32,
    /// How far the cube lies behind the origin, world units.
    beyond: f32,
    /// Of spherical harmonics.
    degree: u8,
    /// The largest coefficient of a colour; 0.8 gives colours up to 3.5.
    colour: f32,
    sizes: &'static [[u32; 2]],
}

/// Lists shorter than a batch, longer than several, of thousands; lists that end early, and that
/// never do; near and far, small and large Gaussians, some of thousands of pixels; every degree of
/// spherical harmonics, and colours far above 1; images that are no multiple of a tile, or have
/// more than 128 tiles a side.
const KINDS: [Kind; 11] = [
    Kind {
        name: "plain",
        gaussians: 240,
        opacity: [0.1, 0.95],
        scale: [0.02, 0.4],
        spread: 1.5,
        beyond: 0.0,
        degree: 3,
        colour: 0.8,
        sizes: &[[70, 45], [33, 17]],
    },
    Kind {
        name: "long faint lists",
        gaussians: 1100,
        opacity: [0.005, 0.03],
        scale: [0.1, 0.3],
        spread: 0.4,
        beyond: 0.0,
        degree: 1,
        colour: 0.8,
        sizes: &[[48, 32]],
    },
    Kind {
        name: "lists that end early",
        gaussians: 700,
        opacity: [0.6, 0.999],
        scale: [0.05, 0.3],
        spread: 0.8,
        beyond: 0.0,
        degree: 2,
        colour: 0.8,
        sizes: &[[48, 49]],
    },
    Kind {
        name: "needles and sheets",
        gaussians: 200,
        opacity: [0.2, 0.99],
        scale: [0.0005, 3.0],
        spread: 1.5,
        beyond: 0.0,
        degree: 0,
        colour: 0.8,
        sizes: &[[64, 64]],
    },
    Kind {
        name: "one Gaussian",
        gaussians: 1,
        opacity: [0.5, 0.9],
        scale: [0.2, 0.5],
        spread: 0.3,
        beyond: 0.0,
        degree: 3,
        colour: 0.8,
        sizes: &[[17, 16], [1, 1]],
    },
    Kind {
        name: "crowded in one tile",
        gaussians: 600,
        opacity: [0.02, 0.5],
        scale: [0.005, 0.05],
        spread: 0.1,
        beyond: 0.0,
        degree: 1,
        colour: 0.8,
        sizes: &[[80, 16]],
    },
    Kind {
        name: "far and large",
        gaussians: 160,
        opacity: [0.1, 0.9],
        scale: [1.0, 20.0],
        spread: 60.0,
        beyond: 150.0,
        degree: 2,
        colour: 0.8,
        sizes: &[[40, 24]],
    },
    Kind {
        name: "thousands in one tile",
        gaussians: 4500,
        opacity: [0.0045, 0.006],
        scale: [0.2, 0.4],
        spread: 0.2,
        beyond: 0.0,
        degree: 0,
        colour: 0.8,
        sizes: &[[9, 7]],
    },
    Kind {
        name: "bright",
        gaussians: 150,
        opacity: [0.05, 0.95],
        scale: [0.05, 0.4],
        spread: 1.2,
        beyond: 0.0,
        degree: 3,
        colour: 6.0,
        sizes: &[[37, 41]],
    },
    Kind {
        name: "thousands of pixels across",
        gaussians: 90,
        opacity: [0.02, 0.6],
        scale: [0.3, 400.0],
        spread: 1.0,
        beyond: 1.5,
        degree: 1,
        colour: 0.8,
        sizes: &[[64, 40]],
    },
    Kind {
        name: "more than 128 tiles in a row",
        gaussians: 120,
        opacity: [0.2, 0.9],
        scale: [0.02, 0.2],
        spread: 1.9,
        beyond: 0.0,
        degree: 0,
        colour: 0.8,
        sizes: &[[2200, 9]],
    },
];

/// Scenes drawn from a seed, each from two cameras at every size.
pub fn random(seed: u64, pipeline: Pipeline) -> Vec<TestScene> {
    let draw = |(number, kind): (usize, &Kind)| {
        let mut rng = Rng::new(seed, number as u64);
        // Up to half as many again, but for a single one.
        let more = kind.gaussians / 2;
        let kind = &Kind {
            gaussians: kind.gaussians + (more as f32 * rng.uniform()) as usize,
            ..*kind
        };
        let scene = gaussians(&mut rng, kind);
        // Wide or high.
        let turned = rng.below(2) == 1;
        // Twice at each size: an image that is kept from one frame to the next shows.
        let frames = kind.sizes.iter().flat_map(|size| [size; 2]);
        let frames = frames.map(|&[w, h]| if turned { [h, w] } else { [w, h] });
        TestScene {
            name: format!("{} (seed {seed})", kind.name),
            scene,
            frames: frames
                .map(|size| FrameSpec {
                    antialias: rng.below(4) == 0,
                    ..frame(&mut rng, size, pipeline)
                })
                .collect(),
        }
    };
    KINDS.iter().enumerate().map(draw).collect()
}

/// A scene whose frame is wider than those of all tests, as timed ones are: a kernel that is right
/// on small images alone is wrong there.
pub fn of_timed_size(seed: u64, pipeline: Pipeline) -> TestScene {
    let mut rng = Rng::new(seed, 400);
    TestScene {
        name: format!("a timed size (seed {seed})"),
        scene: gaussians(&mut rng, &KINDS[0]),
        frames: vec![frame(&mut rng, [256, 96], pipeline)],
    }
}

/// Small pieces for tools that slow a card down a hundredfold: the first kinds of drawn scenes, an
/// image of 96x64 each.
pub fn for_sanitizers(seed: u64, pipeline: Pipeline) -> Vec<TestScene> {
    let draw = |(number, kind): (usize, &Kind)| {
        let mut rng = Rng::new(seed, 500 + number as u64);
        TestScene {
            name: format!("{} (seed {seed})", kind.name),
            scene: gaussians(&mut rng, kind),
            frames: vec![frame(&mut rng, [96, 64], pipeline)],
        }
    };
    KINDS[..3].iter().enumerate().map(draw).collect()
}

/// What somebody says a candidate may fail on; what is not said is drawn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wanted {
    /// For messages.
    pub name: String,
    /// Pixels.
    pub size: Option<[u32; 2]>,
    /// Gaussians in view.
    pub gaussians: Option<usize>,
    /// Least and greatest opacity.
    pub opacity: Option<[f32; 2]>,
    /// Colour behind the scene.
    pub background: Option<[f32; 3]>,
}

/// A scene as wanted, drawn from a seed. Images have at most 256 pixels a side, and scenes 2,000
/// Gaussians, so that an emulator can render them.
pub fn wanted(seed: u64, wanted: &Wanted, pipeline: Pipeline) -> TestScene {
    let mut rng = Rng::new(seed, 200);
    let usual = KINDS[0];
    let inside = |[least, most]: [f32; 2]| {
        let low = least.clamp(0.001, 0.999);
        [low, most.clamp(low, 0.999)]
    };
    let kind = Kind {
        gaussians: wanted.gaussians.map_or(usual.gaussians, |n| n.min(2000)),
        opacity: wanted.opacity.map_or(usual.opacity, inside),
        ..usual
    };
    let scene = gaussians(&mut rng, &kind);
    let size = wanted
        .size
        .unwrap_or([64, 48])
        .map(|side| side.clamp(1, 256));
    let mut frame = frame(&mut rng, size, pipeline);
    if let Some(background) = wanted.background {
        frame.background = background;
    }
    TestScene {
        name: format!("counterexample '{}' (seed {seed})", wanted.name),
        scene,
        frames: vec![frame],
    }
}

/// Scenes at the edge of what a scene may be: nothing in view, behind and across the near plane, a
/// Gaussian larger than the image, opacities of 0 and 1.
pub fn hostile(seed: u64, pipeline: Pipeline) -> Vec<TestScene> {
    let mut rng = Rng::new(seed, 100);
    let kind = Kind {
        gaussians: 120,
        ..KINDS[0]
    };
    let scene = gaussians(&mut rng, &kind);
    let mut changed = |name: &str, change: &dyn Fn(usize, &mut Gaussians)| {
        let mut scene = scene.clone();
        (0..scene.len()).for_each(|i| change(i, &mut scene));
        // Black, as behind most scenes.
        let black = FrameSpec {
            background: [0.0; 3],
            ..frame(&mut rng, [50, 35], pipeline)
        };
        TestScene {
            name: format!("{name} (seed {seed})"),
            scene,
            frames: vec![black],
        }
    };
    vec![
        changed("nothing in view", &|i, s| s.means[i][2] = -20.0),
        changed("across the near plane", &|i, s| {
            s.means[i][2] = -4.0 + i as f32 * 0.02;
        }),
        changed("larger than the image", &|i, s| {
            s.log_scales[i] = [1.5, 1.4, 1.3];
            s.opacity_logits[i] = -3.0;
        }),
        changed("opacities of 0 and 1", &|i, s| {
            s.opacity_logits[i] = if i % 2 == 0 { 30.0 } else { -30.0 };
            // So wide that some pixels have the whole opacity.
            if i % 10 == 0 {
                s.log_scales[i] = [3.5, 3.4, 3.3];
            }
        }),
        with_antialias(changed("filtered as by Mip-Splatting", &|i, s| {
            s.log_scales[i] = [-6.0, -5.0, -4.5];
        })),
        changed("exponents that are no numbers", &|i, s| {
            if i % 4 == 0 {
                s.log_scales[i] = [50.0, 49.0, 48.0];
            }
        }),
        changed("far off the image", &|i, s| {
            if i % 3 != 0 {
                s.means[i][0] += if i % 2 == 0 { 40.0 } else { -40.0 };
            }
        }),
    ]
}

/// The same, with the opacities of Mip-Splatting's 2D filter.
fn with_antialias(mut test: TestScene) -> TestScene {
    test.frames
        .iter_mut()
        .for_each(|frame| frame.antialias = true);
    test
}

fn gaussians(rng: &mut Rng, kind: &Kind) -> Gaussians {
    let mut scene = Gaussians::zeros(kind.gaussians, kind.degree);
    let between = |rng: &mut Rng, [least, most]: [f32; 2]| least + (most - least) * rng.uniform();
    for i in 0..kind.gaussians {
        scene.means[i] = std::array::from_fn(|_| between(rng, [-kind.spread, kind.spread]));
        scene.means[i][2] += kind.beyond;
        let logs = kind.scale.map(f32::ln);
        scene.log_scales[i] = std::array::from_fn(|_| between(rng, logs));
        scene.rotations[i] = std::array::from_fn(|_| rng.normal());
        let opacity = between(rng, kind.opacity);
        scene.opacity_logits[i] = (opacity / (1.0 - opacity)).ln();
    }
    for coefficient in &mut scene.sh {
        *coefficient = std::array::from_fn(|_| between(rng, [-kind.colour, kind.colour]));
    }
    scene
}

/// A camera that looks past the origin from some 4 world units away: off every axis, rolled by any
/// angle, its focal lengths and principal point drawn too.
fn frame(rng: &mut Rng, [width, height]: [u32; 2], pipeline: Pipeline) -> FrameSpec {
    let mut between = |least: f64, most: f64| least + (most - least) * f64::from(rng.uniform());
    let (sy, cy) = between(-0.3, 0.3).sin_cos();
    let (sp, cp) = between(-0.3, 0.3).sin_cos();
    let (sr, cr) = between(-PI, PI).sin_cos();
    let [right, down, ahead] = [
        [cy, 0.0, sy],
        [sp * sy, cp, -sp * cy],
        [-cp * sy, sp, cp * cy],
    ];
    let rolled = |a: f64, b: f64| std::array::from_fn(|k| a * right[k] + b * down[k]);
    let focal = f64::from(width.max(height)) * between(0.7, 1.1);
    let camera = Camera {
        width,
        height,
        fx: focal,
        fy: focal * between(0.6, 1.6),
        cx: f64::from(width) * between(0.4, 0.6),
        cy: f64::from(height) * between(0.4, 0.6),
        rotation: [rolled(cr, sr), rolled(-sr, cr), ahead],
        translation: [between(-0.3, 0.3), between(-0.3, 0.3), between(3.6, 4.4)],
        lens: Lens::Pinhole,
        shutter: None,
    };
    let options = RenderOptions {
        pipeline,
        background: std::array::from_fn(|_| rng.uniform()),
        ..RenderOptions::default()
    };
    FrameSpec::new(&camera, &options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_drawn_within_limits() {
        let asked = Wanted {
            name: "many".into(),
            size: Some([0, 4096]),
            gaussians: Some(1_000_000),
            opacity: Some([2.0, -1.0]),
            background: Some([1.0, 0.0, 0.5]),
        };
        let test = wanted(1, &asked, Pipeline::VANILLA);
        assert_eq!(test.scene.len(), 2000);
        assert_eq!(test.frames[0].size, [1, 256]);
        assert_eq!(test.frames[0].background, [1.0, 0.0, 0.5]);
        assert!(
            test.scene
                .opacity_logits
                .iter()
                .all(|logit| logit.is_finite())
        );
    }

    /// A kernel that knows one of these would tell the lab from life.
    #[test]
    fn scenes_are_not_told_from_others_by_a_constant() {
        let frames: Vec<FrameSpec> = (1..4)
            .flat_map(|seed| random(seed, Pipeline::VANILLA))
            .flat_map(|test| test.frames)
            .collect();
        let spread = |of: &dyn Fn(&FrameSpec) -> f64| {
            let values = || frames.iter().map(of);
            values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min)
        };
        assert!(spread(&|f| f.intrinsics[1] / f.intrinsics[0]) > 0.5);
        assert!(spread(&|f| f.rotation[0][1]) > 1.0, "roll");
        assert!(spread(&|f| f.translation[0]) > 0.3 && spread(&|f| f.translation[2]) > 0.4);
        assert!(frames.iter().any(|f| f.antialias) && frames.iter().any(|f| !f.antialias));
        let tiles = |side: usize| frames.iter().any(|f| f.size[side] > 128 * 16);
        assert!(tiles(0) && tiles(1), "of three seeds");
    }

    #[test]
    fn a_seed_draws_the_same_and_another_does_not() {
        let means = |seed| {
            let scenes = random(seed, Pipeline::VANILLA);
            scenes.iter().map(|s| s.scene.means[0]).collect::<Vec<_>>()
        };
        assert_eq!(means(1), means(1));
        assert_ne!(means(1), means(2));
        let frames: Vec<_> = hostile(3, Pipeline::VANILLA);
        for scene in frames {
            let r = scene.frames[0].camera().rotation;
            let dot: f64 = (0..3).map(|k| r[0][k] * r[1][k]).sum();
            let length: f64 = r[2].iter().map(|v| v * v).sum();
            assert!(dot.abs() < 1e-12 && (length - 1.0).abs() < 1e-12);
        }
    }
}
