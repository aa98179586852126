//! Scenes to check with: random ones, and those on which renderers fail.

use super::selection::Weight;
use splatcore_core::backend::RenderOptions;
use splatcore_core::gaussians::logit;
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Gaussians, Photo, Pipeline, View, sh};

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
        width,
        height,
        fx: focal,
        fy: focal,
        cx: width as f64 / 2.0,
        cy: height as f64 / 2.0,
        rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        translation: [0.0, 0.0, 4.0],
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

/// Every case.
pub fn cases() -> Vec<Case> {
    let mut cases = random_cases();
    cases.extend(degenerate_cases());
    let with_filter: Vec<Case> = cases.iter().filter_map(antialiased).collect();
    cases.extend(with_filter);
    cases
}

/// Cases worth rendering with the 2D filter too: every degree, and what is hard on its factor.
fn antialiased(case: &Case) -> Option<Case> {
    let name = case.name.as_str();
    let hard = [
        "needles",
        "zero scale",
        "covered by huge Gaussians",
        "far outside the frustum",
    ];
    let random = ["random 0", "random 1", "random 2", "random 3"];
    let wanted = hard.contains(&name) || random.iter().any(|r| name.starts_with(r));
    wanted.then(|| {
        let mut case = case.clone();
        case.name = format!("{name}, antialiased");
        case.antialias = true;
        if !hard.contains(&name) {
            // Most splats are smaller than the low pass.
            for scales in &mut case.scene.log_scales {
                *scales = scales.map(|s| s - 1.0);
            }
        }
        case
    })
}

fn random_cases() -> Vec<Case> {
    let sizes = [[64, 48], [61, 37], [130, 70], [33, 96], [48, 48], [100, 20]];
    let mut cases = Vec::new();
    for (i, [width, height]) in sizes.into_iter().enumerate() {
        let stored = (i % 4) as u8;
        let scene = random_scene(100 + i as u64, [300, 257, 1200, 31, 500, 8][i], stored);
        let camera = odd_camera(width, height, 0.7 * i as f64);
        let mut case = Case::new(
            &format!("random {i} ({width}x{height}, degree {stored})"),
            scene,
            camera,
        );
        case.background = [[0.0; 3], [1.0; 3], [0.3, 0.6, 0.1]][i % 3];
        if i == 1 {
            case.weight = Weight::Methods;
        }
        cases.push(case);
    }
    // Fewer harmonics than stored, more than stored.
    for (stored, asked) in [(3, 1), (1, 3)] {
        let mut case = Case::new(
            &format!("degree {asked} of {stored}"),
            random_scene(7, 120, stored),
            odd_camera(50, 40, 2.0),
        );
        case.sh_degree = asked;
        cases.push(case);
    }
    cases
}

fn degenerate_cases() -> Vec<Case> {
    let mut rng = Rng::new(77, 91);
    let mut cases = vec![Case::new(
        "empty scene",
        Gaussians::empty(2),
        plain_camera(40, 30),
    )];
    cases[0].background = [0.2, 0.5, 0.9];

    let mut behind = random_scene(1, 40, 1);
    for mean in &mut behind.means {
        mean[2] = -4.0 - mean[2].abs();
    }
    behind.means[0] = [0.0, 0.0, -3.9];
    cases.push(Case::new(
        "all behind the near plane",
        behind,
        plain_camera(40, 30),
    ));

    for [width, height] in [[1, 1], [17, 1], [1, 33], [15, 16], [16, 16]] {
        let scene = random_scene(3, 60, 0);
        cases.push(Case::new(
            &format!("{width}x{height} image"),
            scene,
            plain_camera(width, height),
        ));
    }

    let mut covering = random_scene(4, 30, 0);
    covering.push_from(&single([0.3, -0.2, 2.0], [5.0; 3], 0.7, [0.9, 0.2, 0.1]), 0);
    covering.push_from(
        &single([0.0, 0.0, -3.0], [3.0, 2.0, 2.5], 0.4, [0.1, 0.8, 0.4]),
        0,
    );
    cases.push(Case::new(
        "covered by huge Gaussians",
        covering,
        plain_camera(70, 50),
    ));

    // More than a hundred tiles for each: backends may treat long lists apart.
    let far_reaching = gather((0..9).map(|i| {
        let mean = [0.2 * rng.normal(), 0.2 * rng.normal(), 0.3 * rng.normal()];
        let scale = if i % 3 == 0 { -3.0 } else { 0.7 };
        single(
            mean,
            [scale, scale - 0.4, scale],
            0.3,
            random_colour(&mut rng),
        )
    }));
    cases.push(Case::new(
        "covering a hundred tiles",
        far_reaching,
        plain_camera(170, 180),
    ));

    let needles = gather((0..25).map(|_| {
        let mean = [0; 3].map(|_| 0.5 * rng.normal());
        let mut needle = single(mean, [-0.5, -7.0, -7.0], 0.9, random_colour(&mut rng));
        needle.rotations[0] = [0; 4].map(|_| rng.normal());
        needle
    }));
    let mut needles = Case::new("needles", needles, odd_camera(80, 60, 0.4));
    // A needle's covariance has entries of 100 px² and a short axis of 0.55 px, of which f32 leaves
    // 1e-5; its power is a difference of terms a hundred times larger. Measured on the CPU: 9e-6.
    needles.image_tolerance = 1e-4;
    needles.ill_conditioned = true;
    cases.push(needles);

    let points = gather((0..80).map(|_| {
        let mean = [0; 3].map(|_| rng.normal());
        single(
            mean,
            [-30.0; 3],
            0.1 + 0.8 * rng.uniform(),
            random_colour(&mut rng),
        )
    }));
    cases.push(Case::new("zero scale", points, plain_camera(64, 64)));

    let faint = gather((0..60).map(|i| {
        let near = 1.0 + [0.0, 1e-6, -1e-6, 1e-2, -1e-2, 0.3][i % 6];
        let mean = [
            0.1 * (i % 10) as f32 - 0.45,
            0.15 * (i / 10) as f32 - 0.4,
            0.1 * rng.normal(),
        ];
        single(mean, [-1.0; 3], near / 255.0, random_colour(&mut rng))
    }));
    cases.push(Case::new("opacity at 1/255", faint, plain_camera(64, 48)));

    let opaque = gather((0..60).map(|i| {
        let mean = [0.4 * rng.normal(), 0.4 * rng.normal(), 0.02 * i as f32];
        single(mean, [-0.5; 3], 0.999_99, random_colour(&mut rng))
    }));
    cases.push(Case::new("opaque stack", opaque, plain_camera(64, 48)));

    // Whole quarters, so that depths are equal in f32 and f64 alike.
    let ties = gather((0..120).map(|i| {
        let mean = [
            0.5 * rng.normal(),
            0.5 * rng.normal(),
            0.25 * (i % 3) as f32,
        ];
        single(mean, [-1.2; 3], 0.5, random_colour(&mut rng))
    }));
    cases.push(Case::new("depth ties", ties, plain_camera(64, 48)));

    let outside = gather((0..60).map(|i| {
        let far = [3.0f32, 30.0, 1e3, 1e5][i % 4];
        let angle = rng.uniform() * std::f32::consts::TAU;
        let mean = [far * angle.cos(), far * angle.sin(), 2.0 * rng.uniform()];
        let size = (0.4 * far).ln();
        single(
            mean,
            [size, size - 1.0, size - 0.5],
            0.8,
            random_colour(&mut rng),
        )
    }));
    cases.push(Case::new(
        "far outside the frustum",
        outside,
        plain_camera(64, 48),
    ));

    let crowd = gather((0..3000).map(|_| {
        let mean = [
            0.1 * rng.normal(),
            0.1 * rng.normal(),
            3.0 * rng.uniform() - 1.5,
        ];
        single(mean, [-3.2; 3], 0.02, random_colour(&mut rng))
    }));
    cases.push(Case::new(
        "thousands in one tile",
        crowd,
        plain_camera(48, 48),
    ));

    let near = gather((0..40).map(|i| {
        let z = -4.0 + 0.2 + [1e-3, -1e-3, 0.05, 0.3, 1.0][i % 5];
        let mean = [0.05 * rng.normal(), 0.05 * rng.normal(), z];
        single(mean, [-4.0; 3], 0.6, random_colour(&mut rng))
    }));
    cases.push(Case::new(
        "about the near plane",
        near,
        plain_camera(64, 48),
    ));
    cases
}

/// Photos to learn from: a scene like the one that learns, noise on top so that no pixel equals its
/// photo, the second one with a mask, sizes that differ.
pub fn views() -> Vec<View> {
    let sizes = [[48u32, 36u32], [41, 29], [33, 47]];
    let mut rng = Rng::new(12, 92);
    let cameras = [0.0, 0.8, -0.9];
    (0..3)
        .map(|i| {
            let [width, height] = sizes[i];
            let pixels = (width * height) as usize;
            let rgb = (0..pixels)
                .flat_map(|p| {
                    let (x, y) = (
                        (p as u32 % width) as f32 / width as f32,
                        (p as u32 / width) as f32 / height as f32,
                    );
                    [x, y, (6.0 * x).sin() * 0.5 + 0.5].map(|v| 230.0 * v)
                })
                .map(|v| (v + 25.0 * rng.uniform()) as u8)
                .collect();
            let mask = (i == 1).then(|| (0..pixels).map(|p| (p % 41 > 12) as u8 * 255).collect());
            View {
                name: format!("view{i}.png"),
                camera: odd_camera(width, height, cameras[i]),
                photo: Photo {
                    width,
                    height,
                    rgb,
                    mask,
                    alpha: None,
                },
            }
        })
        .collect()
}

/// As [`views`], transparent in places and so on black.
pub fn transparent_views() -> Vec<View> {
    let mut views = views();
    for view in &mut views {
        let photo = &mut view.photo;
        let alpha: Vec<u8> = (0..photo.rgb.len() / 3)
            .map(|i| (i * 7 % 300).min(255) as u8)
            .collect();
        for (pixel, &alpha) in photo.rgb.chunks_exact_mut(3).zip(&alpha) {
            pixel
                .iter_mut()
                .for_each(|v| *v = (*v as u32 * alpha as u32 / 255) as u8);
        }
        photo.alpha = Some(alpha);
    }
    views
}

/// A photo of flat surfaces, one of them with grain, and an image that is nearly it (`[height *
/// width]` of r, g, b, off by so much): where the terms of the loss's gradient nearly cancel, as
/// late in a training.
pub fn nearly_its_photo(width: u32, height: u32, noise: f32) -> (Vec<[f32; 3]>, Photo) {
    let mut rng = Rng::new(7, noise.to_bits() as u64);
    let n = (width * height) as usize;
    let rgb: Vec<u8> = (0..3 * n)
        .map(|i| match i / 3 % width as usize * 3 / width as usize {
            0 => 200,
            1 => 120 + rng.below(60) as u8,
            _ => 20 + (i % 3) as u8,
        })
        .collect();
    let image = rgb
        .chunks(3)
        .map(|p| std::array::from_fn(|c| p[c] as f32 / 255.0 + noise * rng.normal()))
        .collect();
    let photo = Photo {
        width,
        height,
        rgb,
        mask: None,
        alpha: None,
    };
    (image, photo)
}
