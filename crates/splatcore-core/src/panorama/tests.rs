//! Parts and faces against the directions that they show.

use super::*;

fn camera() -> Camera {
    Camera::look_at(
        [1.0, 2.0, 3.0],
        [4.0, 1.0, 0.0],
        [0.2, -1.0, 0.1],
        1.0,
        8,
        8,
    )
}

/// A smooth picture of the whole sphere, by world direction.
fn sky(d: [f64; 3]) -> [f32; 3] {
    let [x, y, z] = d;
    [
        0.5 + 0.4 * x,
        0.5 + 0.3 * y + 0.1 * x * z,
        0.5 + 0.4 * z * y,
    ]
    .map(|v| v as f32)
}

/// The world direction of each pixel of a camera.
fn directions(camera: &Camera) -> Vec<[f64; 3]> {
    let direction = |i: u32| {
        let [x, y] = [i % camera.width, i / camera.width].map(|v| f64::from(v) + 0.5);
        let view = camera.direction([x, y]).unwrap();
        std::array::from_fn(|k| (0..3).map(|i| camera.rotation[i][k] * view[i]).sum())
    };
    (0..camera.width * camera.height).map(direction).collect()
}

fn seen(camera: &Camera) -> Image {
    Image {
        width: camera.width,
        height: camera.height,
        data: directions(camera).into_iter().map(sky).collect(),
    }
}

/// Every pixel shows its own direction, where parts meet and at the poles too: an error of a
/// part's axes would show.
#[test]
fn each_pixel_shows_its_direction() {
    for [width, height] in [[128, 64], [127, 63], [96, 40]] {
        let camera = camera();
        let panorama = Panorama::new(width, height);
        let parts = panorama.cameras(&camera);
        assert!(parts.iter().all(|part| part.defect().is_none()));
        let image = panorama.image(&parts.each_ref().map(seen));
        assert_eq!([image.width, image.height], [width, height]);
        let wanted = directions(&whole(&camera, width, height));
        for (i, (pixel, want)) in image.data.iter().zip(wanted).enumerate() {
            // Bilinear between pixels of 1/20 radian: a second derivative of 1 leaves 3e-4.
            let off = pixel.iter().zip(sky(want)).map(|(a, b)| (a - b).abs());
            assert!(
                off.fold(0.0, f32::max) < 2e-3,
                "pixel {i} of {width}x{height}"
            );
        }
    }
}

/// A sphere around the camera has one distance everywhere, though its depth along an axis
/// changes.
#[test]
fn a_sphere_has_one_distance() {
    let panorama = Panorama::new(64, 32);
    let parts = panorama.cameras(&camera()).map(|part| {
        let axis = part.forward();
        let depth = |d: [f64; 3]| match part.lens {
            Lens::Pinhole => (0..3).map(|k| d[k] * axis[k]).sum::<f64>(),
            _ => 1.0,
        };
        let inverse = |d| (1.0 / (4.0 * depth(d))) as f32;
        directions(&part)
            .into_iter()
            .map(inverse)
            .collect::<Vec<f32>>()
    });
    for value in panorama.inverse_distance(&parts) {
        assert!((value - 0.25).abs() < 1e-3, "{value}");
    }
}

#[test]
fn only_what_sees_all_around_is_a_panorama() {
    let all = whole(&camera(), 200, 100);
    assert!(Panorama::of(&all).is_some() && is_whole(&all.resized(67, 33)));
    let [part, ..] = parts(&all).unwrap();
    for other in [
        part,
        Camera {
            cx: 90.0,
            ..all.clone()
        },
        Camera {
            fx: 30.0,
            ..all.clone()
        },
        all.without_lens(),
    ] {
        assert!(Panorama::of(&other).is_none(), "{other:?}");
    }
}

#[test]
fn a_part_knows_its_photo() {
    for (name, part, want) in [
        ("room/a.jpg", "left", "room/a-left.jpg"),
        ("a.b/photo", "up", "a.b/photo-up"),
        (".hidden", "down", ".hidden-down"),
    ] {
        assert_eq!(part_name(name, part), want);
        assert_eq!(photo_of(want), Some((name.into(), part)));
    }
    assert!(photo_of("room-left/a.jpg").is_none() && photo_of("a.jpg").is_none());
    let all = whole(&camera(), 200, 100);
    let cut = PARTS.into_iter().zip(parts(&all).unwrap());
    for (part, camera) in cut.chain(FACES.into_iter().zip(faces(&all))) {
        let found = uncut(&camera, part);
        let numbers = |c: &Camera| [c.rotation.as_flattened(), &c.translation].concat();
        let pairs = numbers(&found).into_iter().zip(numbers(&all));
        assert!(
            pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 1e-12,
            "{part}"
        );
    }
}

/// Together the faces see every direction, each within its image.
#[test]
fn faces_see_every_direction() {
    let all = whole(&camera(), 64, 32);
    let faces = faces(&all);
    assert_eq!(faces[0].forward(), all.forward());
    for direction in directions(&all) {
        let from = all.position();
        let point = std::array::from_fn(|k| from[k] + 2.0 * direction[k]);
        let seeing = faces.iter().filter(|face| face.sees(point)).count();
        assert!(seeing >= 1, "{direction:?}");
    }
}
