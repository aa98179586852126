//! Scenes that nobody tuned a kernel on: drawn anew from a seed, degenerate, hostile.

use super::kinds::{KINDS, Kind, PLAIN};
use super::world::World;
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

/// Kinds that are rendered with inverse depth too.
const WITH_DEPTH: [usize; 2] = [1, 2];

/// Scenes drawn from a seed, each from two cameras at every size: a usual one, and one that may be
/// of any kind.
pub fn random(seed: u64, pipeline: Pipeline) -> Vec<TestScene> {
    let draw = |(number, kind): (usize, &Kind)| {
        let mut rng = Rng::new(seed, number as u64);
        // Up to half as many again, but for a single one.
        let more = kind.gaussians / 2;
        let kind = &Kind {
            gaussians: kind.gaussians + (more as f32 * rng.uniform()) as usize,
            ..*kind
        };
        let mut scene = gaussians(&mut rng, kind);
        let world = World::draw(&mut rng, kind.beyond > 100.0);
        world.place(&mut scene);
        // Wide or high.
        let turned = rng.below(2) == 1;
        let mut frames = Vec::new();
        for &size in kind.sizes {
            let [w, h] = drawn_size(&mut rng, size);
            let size = if turned { [h, w] } else { [w, h] };
            let usual = frame(&mut rng, size, pipeline);
            // At the same size: an image that is kept from one frame to the next shows.
            let other = frame(&mut rng, size, pipeline);
            let mut other = unusual(&mut rng, other);
            // While a scene of photos is trained, it has more coefficients than are in use.
            if kind.degree == 3 {
                other.sh_degree = rng.below(4) as u8;
            }
            // One will do where a frame takes long.
            let is_costly = size[0] * size[1] > 20_000 && size[0].min(size[1]) > 16;
            let some = [usual, other]
                .into_iter()
                .take(if is_costly { 1 } else { 2 });
            frames.extend(some.map(|frame| FrameSpec {
                antialias: rng.below(4) == 0,
                ..world.seen(frame)
            }));
        }
        if WITH_DEPTH.contains(&number) && pipeline.blend.method().inverse_depth {
            let last = frames.last().cloned();
            frames.extend(last.map(|frame| FrameSpec {
                inverse_depth: true,
                ..frame
            }));
        }
        TestScene {
            name: format!("{} (seed {seed})", kind.name),
            scene,
            frames,
        }
    };
    KINDS.iter().enumerate().map(draw).collect()
}

/// The size, or one a little larger; small ones stay.
fn drawn_size(rng: &mut Rng, size: [u32; 2]) -> [u32; 2] {
    match rng.below(2) {
        0 => size,
        _ => size.map(|side| side + rng.below(1 + side as usize / 10) as u32),
    }
}

/// A frame as life has them too: by a longer lens, cut out of a larger image, on white or grey,
/// with other constants of the rasterizer.
fn unusual(rng: &mut Rng, mut frame: FrameSpec) -> FrameSpec {
    let mut between = |least: f64, most: f64| least + (most - least) * f64::from(rng.uniform());
    let [width, height] = frame.size.map(f64::from);
    let longer = between(0.0, 1.4).exp();
    let (x, y) = (between(-0.3, 1.3) * width, between(-0.3, 1.3) * height);
    let near = between(-3.0, -0.5);
    let cap = between(0.7, 0.999) as f32;
    match rng.below(3) {
        0 => frame.intrinsics[..2].iter_mut().for_each(|f| *f *= longer),
        1 => frame.intrinsics[2..].copy_from_slice(&[x, y]),
        _ => {}
    }
    match rng.below(3) {
        0 => frame.background = [1.0; 3],
        1 => frame.background = [frame.background[0]; 3],
        _ => {}
    }
    if rng.below(2) == 0 {
        frame.near_plane = 10.0f64.powf(near) as f32;
        frame.alpha_max = cap;
    }
    frame
}

/// A scene whose frame is wider than those of all tests, as timed ones are: a kernel that is right
/// on small images alone is wrong there.
pub fn of_timed_size(seed: u64, pipeline: Pipeline) -> TestScene {
    let mut rng = Rng::new(seed, 400);
    TestScene {
        name: format!("a timed size (seed {seed})"),
        scene: gaussians(&mut rng, &PLAIN),
        frames: vec![frame(&mut rng, [1008, 440], pipeline)],
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
    let usual = PLAIN;
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
/// Gaussian larger than the image, opacities of 0 and 1, opaque specks one behind the other.
pub fn hostile(seed: u64, pipeline: Pipeline) -> Vec<TestScene> {
    let mut rng = Rng::new(seed, 100);
    let kind = Kind {
        gaussians: 120,
        ..PLAIN
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
                let log = 30.0 + i as f32 / 5.0;
                s.log_scales[i] = [log, log - 1.0, log - 2.0];
            }
        }),
        changed("far off the image", &|i, s| {
            if i % 3 != 0 {
                s.means[i][0] += if i % 2 == 0 { 40.0 } else { -40.0 };
            }
        }),
        specks(seed, pipeline),
    ]
}

/// Opaque Gaussians of a fraction of a pixel, two one behind the other at each of some pixels'
/// centres: exponents of 0, which a rounding may lift above it.
fn specks(seed: u64, pipeline: Pipeline) -> TestScene {
    let mut rng = Rng::new(seed, 101);
    let frame = FrameSpec {
        background: [0.0; 3],
        ..frame(&mut rng, [50, 35], pipeline)
    };
    let camera = frame.camera();
    let kind = Kind {
        gaussians: 1600,
        ..PLAIN
    };
    let mut scene = gaussians(&mut rng, &kind);
    let mut pixel = [0.0; 2];
    for i in 0..scene.len() {
        if i % 2 == 0 {
            pixel = frame.size.map(|side| 0.5 + rng.below(side as usize) as f64);
        }
        let depth = f64::from(3.0 + 2.0 * rng.uniform());
        let [x, y] = camera.ray(pixel).unwrap_or_default();
        let mean = camera.to_world([x * depth, y * depth, depth]);
        scene.means[i] = mean.map(|v| v as f32);
        let of_pixel = (0.02 + 0.1 * rng.uniform()) * (depth / camera.fx) as f32;
        scene.log_scales[i] = [of_pixel.ln(); 3];
        scene.opacity_logits[i] = 30.0;
    }
    TestScene {
        name: format!("opaque specks one behind the other (seed {seed})"),
        scene,
        frames: vec![frame],
    }
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
    if kind.is_paired {
        for i in (1..scene.len()).step_by(2) {
            let apart = 4.0 * between(rng, [-18.0, -13.0]).exp2();
            scene.means[i] = scene.means[i - 1].map(|x| x + apart * rng.normal());
            scene.log_scales[i] = scene.log_scales[i - 1];
            scene.rotations[i] = scene.rotations[i - 1];
        }
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
        let frames: Vec<FrameSpec> = (1..8)
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
        assert!(tiles(0) && tiles(1), "of seven seeds");
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
