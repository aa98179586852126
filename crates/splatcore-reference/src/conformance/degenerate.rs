//! Scenes on which renderers fail.

use super::case::{Case, gather, odd_camera, plain_camera, random_colour, random_scene, single};
use super::selection::Weight;
use splatcore_core::Gaussians;
use splatcore_core::random::Rng;

/// Every degenerate case.
pub(super) fn degenerate_cases() -> Vec<Case> {
    let sizes = [[1, 1], [17, 1], [1, 33], [15, 16], [16, 16]];
    let mut cases = vec![empty(), behind_the_near_plane()];
    cases.extend(sizes.map(small_image));
    cases.push(huge());
    // All draw from one generator, in this order.
    let mut rng = Rng::new(77, 91);
    let drawn: [fn(&mut Rng) -> Case; 9] = [
        far_reaching,
        needles,
        points,
        faint,
        opaque,
        ties,
        outside,
        crowd,
        about_the_near_plane,
    ];
    cases.extend(drawn.map(|case| case(&mut rng)));
    cases
}

fn empty() -> Case {
    let mut case = Case::new("empty scene", Gaussians::empty(2), plain_camera(40, 30));
    case.background = [0.2, 0.5, 0.9];
    case
}

fn behind_the_near_plane() -> Case {
    let mut behind = random_scene(1, 40, 1);
    for mean in &mut behind.means {
        mean[2] = -4.0 - mean[2].abs();
    }
    behind.means[0] = [0.0, 0.0, -3.9];
    Case::new("all behind the near plane", behind, plain_camera(40, 30))
}

fn small_image([width, height]: [u32; 2]) -> Case {
    let scene = random_scene(3, 60, 0);
    let name = format!("{width}x{height} image");
    Case::new(&name, scene, plain_camera(width, height))
}

fn huge() -> Case {
    let mut covering = random_scene(4, 30, 0);
    covering.push_from(&single([0.3, -0.2, 2.0], [5.0; 3], 0.7, [0.9, 0.2, 0.1]), 0);
    covering.push_from(
        &single([0.0, 0.0, -3.0], [3.0, 2.0, 2.5], 0.4, [0.1, 0.8, 0.4]),
        0,
    );
    Case::new("covered by huge Gaussians", covering, plain_camera(70, 50))
}

/// More than a hundred tiles for each: backends may treat long lists apart.
fn far_reaching(rng: &mut Rng) -> Case {
    let far_reaching = gather((0..9).map(|i| {
        let mean = [0.2 * rng.normal(), 0.2 * rng.normal(), 0.3 * rng.normal()];
        let scale = if i % 3 == 0 { -3.0 } else { 0.7 };
        single(mean, [scale, scale - 0.4, scale], 0.3, random_colour(rng))
    }));
    Case::new(
        "covering a hundred tiles",
        far_reaching,
        plain_camera(170, 180),
    )
}

fn needles(rng: &mut Rng) -> Case {
    let needles = gather((0..25).map(|_| {
        let mean = [0; 3].map(|_| 0.5 * rng.normal());
        let mut needle = single(mean, [-0.5, -7.0, -7.0], 0.9, random_colour(rng));
        needle.rotations[0] = [0; 4].map(|_| rng.normal());
        needle
    }));
    let mut needles = Case::new("needles", needles, odd_camera(80, 60, 0.4));
    // A needle's covariance has entries of 100 px² and a short axis of 0.55 px, of which f32 leaves
    // 1e-5; its power is a difference of terms a hundred times larger. Measured on the CPU: 9e-6.
    needles.image_tolerance = 1e-4;
    needles.ill_conditioned = true;
    needles
}

fn points(rng: &mut Rng) -> Case {
    let points = gather((0..80).map(|_| {
        let mean = [0; 3].map(|_| rng.normal());
        let opacity = 0.1 + 0.8 * rng.uniform();
        single(mean, [-30.0; 3], opacity, random_colour(rng))
    }));
    let mut points = Case::new("zero scale", points, plain_camera(64, 64));
    // Exponents are steep, so that every blend in halves loses digits of them.
    points.weight = Weight::Blends;
    points
}

fn faint(rng: &mut Rng) -> Case {
    let faint = gather((0..60).map(|i| {
        let near = 1.0 + [0.0, 1e-6, -1e-6, 1e-2, -1e-2, 0.3][i % 6];
        let mean = [
            0.1 * (i % 10) as f32 - 0.45,
            0.15 * (i / 10) as f32 - 0.4,
            0.1 * rng.normal(),
        ];
        single(mean, [-1.0; 3], near / 255.0, random_colour(rng))
    }));
    Case::new("opacity at 1/255", faint, plain_camera(64, 48))
}

fn opaque(rng: &mut Rng) -> Case {
    let opaque = gather((0..60).map(|i| {
        let mean = [0.4 * rng.normal(), 0.4 * rng.normal(), 0.02 * i as f32];
        single(mean, [-0.5; 3], 0.999_99, random_colour(rng))
    }));
    Case::new("opaque stack", opaque, plain_camera(64, 48))
}

/// Whole quarters, so that depths are equal in f32 and f64 alike.
fn ties(rng: &mut Rng) -> Case {
    let ties = gather((0..120).map(|i| {
        let mean = [
            0.5 * rng.normal(),
            0.5 * rng.normal(),
            0.25 * (i % 3) as f32,
        ];
        single(mean, [-1.2; 3], 0.5, random_colour(rng))
    }));
    Case::new("depth ties", ties, plain_camera(64, 48))
}

fn outside(rng: &mut Rng) -> Case {
    let outside = gather((0..60).map(|i| {
        let far = [3.0f32, 30.0, 1e3, 1e5][i % 4];
        let angle = rng.uniform() * std::f32::consts::TAU;
        let mean = [far * angle.cos(), far * angle.sin(), 2.0 * rng.uniform()];
        let size = (0.4 * far).ln();
        single(
            mean,
            [size, size - 1.0, size - 0.5],
            0.8,
            random_colour(rng),
        )
    }));
    Case::new("far outside the frustum", outside, plain_camera(64, 48))
}

fn crowd(rng: &mut Rng) -> Case {
    let crowd = gather((0..3000).map(|_| {
        let mean = [
            0.1 * rng.normal(),
            0.1 * rng.normal(),
            3.0 * rng.uniform() - 1.5,
        ];
        single(mean, [-3.2; 3], 0.02, random_colour(rng))
    }));
    Case::new("thousands in one tile", crowd, plain_camera(48, 48))
}

fn about_the_near_plane(rng: &mut Rng) -> Case {
    let near = gather((0..40).map(|i| {
        let z = -4.0 + 0.2 + [1e-3, -1e-3, 0.05, 0.3, 1.0][i % 5];
        let mean = [0.05 * rng.normal(), 0.05 * rng.normal(), z];
        single(mean, [-4.0; 3], 0.6, random_colour(rng))
    }));
    Case::new("about the near plane", near, plain_camera(64, 48))
}
