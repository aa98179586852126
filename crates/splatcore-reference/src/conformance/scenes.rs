//! Scenes to check with: random ones, and those on which renderers fail.

pub use super::case::{Case, odd_camera, plain_camera, random_scene};
use super::degenerate::degenerate_cases;
use super::selection::Weight;
use splatcore_core::random::Rng;
use splatcore_core::{Photo, View};

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
                    mask,
                    ..Photo::opaque(width, height, rgb)
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
    let photo = Photo::opaque(width, height, rgb);
    (image, photo)
}
