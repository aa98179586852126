//! A scene to check with, and the parts that scenes are made of.

use super::selection::Weight;
use splatcore_core::backend::RenderOptions;
use splatcore_core::gaussians::logit;
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Gaussians, Lens, Pipeline, sh};

/// A scene, a camera, and how close an f32 backend must come.
#[derive(Clone, Debug)]
pub struct Case {
    /// For messages.
    pub name: String,
    /// The Gaussians.
    pub scene: Gaussians,
    /// Where from.
    pub camera: Camera,
    /// Behind the scene.
    pub background: [f32; 3],
    /// Degree asked for (the scene may have more or fewer).
    pub sh_degree: u8,
    /// Largest error of a pixel that is not near a cut-off.
    pub image_tolerance: f64,
    /// Whether ellipses are so thin that f32 loses digits of their shape (see
    /// [`super::gradients`]).
    pub ill_conditioned: bool,
    /// Whether f32 too is held to what roundings can do to the scene, as its images may be off by
    /// more than `image_tolerance`.
    pub bounded: bool,
    /// Rendered with Mip-Splatting's 2D filter.
    pub antialias: bool,
    /// One pixel of so many is compared.
    pub every: usize,
    /// How many pipelines it is worth.
    pub weight: Weight,
}

impl Case {
    /// Options for a pipeline.
    pub fn options(&self, pipeline: Pipeline) -> RenderOptions {
        RenderOptions {
            pipeline,
            sh_degree: self.sh_degree,
            background: self.background,
            antialias: self.antialias,
            ..RenderOptions::default()
        }
    }

    /// The pixels to compare.
    pub fn pixels(&self) -> Vec<[usize; 2]> {
        let (width, height) = (self.camera.width as usize, self.camera.height as usize);
        (0..width * height)
            .step_by(self.every)
            .map(|i| [i % width, i / width])
            .collect()
    }

    /// A scene on black, with all its harmonics.
    pub(super) fn new(name: &str, scene: Gaussians, camera: Camera) -> Self {
        Self {
            name: name.to_string(),
            sh_degree: scene.sh_degree,
            scene,
            camera,
            background: [0.0; 3],
            // f32 puts a centre 1e-5 px off at a hundred pixels, a splat's sigma is at least 0.55
            // px: 2e-5 for one fragment, less for many, whose errors average out. Measured on the
            // CPU: 3e-6 at most.
            image_tolerance: 2e-5,
            ill_conditioned: false,
            bounded: false,
            antialias: false,
            every: 1,
            weight: Weight::Common,
        }
    }
}

/// A camera at z = -4 that looks along +z without any rotation, so that depth is exactly z + 4 in
/// f32 too.
pub fn plain_camera(width: u32, height: u32) -> Camera {
    let focal = 0.9 * width.max(height) as f64;
    Camera {
        translation: [0.0, 0.0, 4.0],
        ..Camera::pinhole(width, height, focal)
    }
}

/// A camera around the origin with nothing symmetric about it.
pub fn odd_camera(width: u32, height: u32, angle: f64) -> Camera {
    let eye = [4.0 * angle.sin(), -0.8 + 0.3 * angle, -4.0 * angle.cos()];
    let camera = Camera::look_at(eye, [0.1, -0.1, 0.0], [0.1, -1.0, 0.05], 0.8, width, height);
    Camera {
        fx: camera.fx * 1.07,
        cx: camera.cx - 1.3,
        cy: camera.cy + 0.7,
        ..camera
    }
}

/// A camera at the same place, of which the lens shows as much as a pinhole does, about.
pub(super) fn through(camera: Camera, lens: Lens) -> Camera {
    // Pixels a scene unit, at the distance of what it looks at.
    let zoom = match lens {
        Lens::Orthographic => 1.0 / camera.translation[2],
        _ => 1.0,
    };
    Camera {
        fx: zoom * camera.fx,
        fy: zoom * camera.fy,
        lens,
        ..camera
    }
}

/// `count` Gaussians about the origin, of all shapes, a few behind the camera or far off axis.
pub fn random_scene(seed: u64, count: usize, sh_degree: u8) -> Gaussians {
    let mut rng = Rng::new(seed, 90);
    let mut scene = Gaussians::zeros(count, sh_degree);
    let size = -2.2 - (count.max(1) as f32 / 300.0).ln() / 3.0;
    for i in 0..count {
        let spread = if i % 16 == 5 { 3.0 } else { 0.8 };
        scene.means[i] = [0; 3].map(|_| spread * rng.normal());
        scene.log_scales[i] = [0; 3].map(|_| size + 0.6 * rng.normal());
        scene.rotations[i] = [0; 4].map(|_| 2.0 * rng.normal());
        scene.opacity_logits[i] = 2.0 * rng.normal();
    }
    let k = sh::coefficients(sh_degree);
    for (j, c) in scene.sh.iter_mut().enumerate() {
        let spread = if j % k == 0 { 1.2 } else { 0.25 };
        *c = [0; 3].map(|_| spread * rng.normal());
    }
    scene
}

/// One Gaussian.
pub(super) fn single(
    mean: [f32; 3],
    log_scales: [f32; 3],
    opacity: f32,
    colour: [f32; 3],
) -> Gaussians {
    Gaussians {
        means: vec![mean],
        log_scales: vec![log_scales],
        rotations: vec![[1.0, 0.0, 0.0, 0.0]],
        opacity_logits: vec![logit(opacity)],
        sh: vec![colour.map(sh::from_colour)],
        sh_degree: 0,
    }
}

/// One scene of many.
pub(super) fn gather(parts: impl IntoIterator<Item = Gaussians>) -> Gaussians {
    let mut all = Gaussians::empty(0);
    for part in parts {
        all.push_from(&part, 0);
    }
    all
}

/// Anything from black to white.
pub(super) fn random_colour(rng: &mut Rng) -> [f32; 3] {
    [0; 3].map(|_| rng.uniform())
}
