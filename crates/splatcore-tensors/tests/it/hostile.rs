//! Arguments that do not fit are errors, numbers that are none give results, nothing panics.

use crate::scene::{Projected, World};
use crate::support::Numbers;
use splatcore_tensors::adam::{Rates, step};
use splatcore_tensors::harmonics::{self, Harmonics};
use splatcore_tensors::projection::{self, CameraModel, RadiusRule};
use splatcore_tensors::quat_scale::{self, QuatScale, Shapes};
use splatcore_tensors::rasterize::{self, Drawn, Lists, Pixels};
use splatcore_tensors::ssim::{self, Images, Padding};

/// Values that break arithmetic.
const ODD: [f64; 8] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN_POSITIVE,
    -1e30,
    0.0,
    1e300,
];

#[test]
fn odd_numbers_give_results_in_every_projection() {
    let models = [
        CameraModel::Pinhole,
        CameraModel::Ortho,
        CameraModel::Fisheye,
    ];
    for (place, &odd) in ODD.iter().enumerate() {
        for model in models {
            let mut world = World::new(70 + place as u64, 8, model);
            world.means[place] = odd;
            world.quats[place + 4] = odd;
            world.scales[place + 9] = odd;
            world.ks[place] = odd;
            world.viewmats[16 + place] = odd;
            for rule in [RadiusRule::Gsplat15, RadiusRule::ThreeSigma] {
                let splats = Projected::of(&world.scene(), None, rule).unwrap();
                let rows = splats.radii.chunks(2).zip(splats.conics.chunks(3));
                for (radii, conic) in rows {
                    let culled = radii == [0, 0];
                    assert!(!culled || conic == [0.0; 3]);
                    assert!(culled || radii.iter().all(|&radius| radius > 0));
                }
                let count = splats.depths.len();
                let mut v_means = vec![0.0; world.means.len()];
                let input = projection::Backward {
                    radii: &splats.radii,
                    conics: &splats.conics,
                    compensations: Some(&splats.compensations),
                    v_means2d: &vec![odd; 2 * count],
                    v_depths: Some(&vec![1.0; count]),
                    v_conics: &vec![1.0; 3 * count],
                    v_compensations: Some(&vec![odd; count]),
                };
                let out = projection::Gradients {
                    v_means: Some(&mut v_means),
                    ..Default::default()
                };
                projection::backward(&world.scene(), &input, out).unwrap();
            }
        }
    }
}

/// Lists of one image of one tile, and an image of 4 x 4 pixels.
fn lists<'a>(means2d: &'a [f64], conics: &'a [f64], opacities: &'a [f64]) -> Lists<'a, f64> {
    Lists {
        images: 1,
        width: 4,
        height: 4,
        tile_size: 16,
        tile_width: 1,
        tile_height: 1,
        means2d,
        conics,
        opacities,
        tile_offsets: &[0],
        flatten_ids: &[0, 1],
        alpha_max: 0.999,
    }
}

fn draw(lists: Lists<'_, f64>, colors: &[f64]) -> splatcore_tensors::Result<Vec<f64>> {
    let area = lists
        .images
        .saturating_mul(lists.width * lists.height)
        .min(1000);
    let (mut image, mut alphas, mut last) = (vec![0.0; area], vec![0.0; area], vec![0; area]);
    let drawn = Drawn {
        lists,
        channels: 1,
        colors,
        backgrounds: None,
        masks: None,
    };
    let pixels = Pixels {
        colors: &mut image,
        alphas: &mut alphas,
        last_ids: &mut last,
    };
    rasterize::forward(&drawn, pixels)?;
    Ok(image)
}

#[test]
fn splats_that_are_no_numbers_are_not_drawn() {
    let mut numbers = Numbers::new(80);
    for odd in ODD {
        for place in 0..6 {
            let mut values = numbers.within(6, 0.2, 0.8);
            values[place] = odd;
            let [x, y, a, b, c, opacity] = [0, 1, 2, 3, 4, 5].map(|i| values[i]);
            let means = [x, y, 2.0, 2.0];
            let conics = [a, b, c, 0.5, 0.0, 0.5];
            let image = draw(lists(&means, &conics, &[opacity, 0.5]), &[1.0, 1.0]).unwrap();
            assert!(
                image.iter().all(|v| (0.0..=1.0).contains(v)),
                "{odd} at {place}"
            );
        }
    }
}

type Change = fn(&mut Lists<'_, f64>);

#[test]
fn lists_that_do_not_fit_are_refused() {
    let (means, conics, opacities) = ([1.0; 4], [0.5; 6], [0.5; 2]);
    let right = lists(&means, &conics, &opacities);
    assert!(draw(right, &[1.0; 2]).is_ok());
    let changes: [(&str, Change); 12] = [
        ("flatten_ids", |lists| lists.flatten_ids = &[0, 2]),
        ("flatten_ids", |lists| lists.flatten_ids = &[-1, 0]),
        ("tile_offsets", |lists| lists.tile_offsets = &[3]),
        ("tile_offsets", |lists| lists.tile_offsets = &[-1]),
        ("tile_offsets", |lists| lists.tile_offsets = &[0, 0]),
        ("tile_size", |lists| lists.tile_size = 0),
        ("tile_offsets", |lists| lists.tile_size = 3),
        ("alpha_max", |lists| lists.alpha_max = f64::NAN),
        ("alpha_max", |lists| lists.alpha_max = 0.0),
        ("conics", |lists| lists.conics = &[0.5; 5]),
        ("means2d", |lists| lists.means2d = &[1.0; 3]),
        ("tile_offsets", |lists| lists.images = usize::MAX),
    ];
    for (argument, change) in changes {
        let mut lists = right;
        change(&mut lists);
        let error = draw(lists, &[1.0; 2]).unwrap_err();
        assert_eq!(error.argument, argument);
        assert!(!error.to_string().contains('\n'));
    }
}

#[test]
fn images_that_no_memory_holds_are_refused_or_nothing() {
    let none = Lists {
        images: 0,
        width: usize::MAX,
        height: usize::MAX,
        tile_size: usize::MAX,
        tile_offsets: &[],
        flatten_ids: &[],
        ..lists(&[], &[], &[])
    };
    for images in [0, 1, usize::MAX] {
        let drawn = Drawn {
            lists: Lists { images, ..none },
            channels: 1,
            colors: &[],
            backgrounds: None,
            masks: None,
        };
        let pixels = Pixels {
            colors: &mut [],
            alphas: &mut [],
            last_ids: &mut [],
        };
        assert_eq!(rasterize::forward(&drawn, pixels).is_ok(), images == 0);
    }
}

#[test]
fn a_tile_larger_than_any_image_is_the_image() {
    let (means, conics, opacities) = ([1.0; 4], [0.5, 0.0, 0.5, 0.5, 0.0, 0.5], [0.5; 2]);
    let usual = draw(lists(&means, &conics, &opacities), &[1.0; 2]).unwrap();
    let tile = Lists {
        tile_size: usize::MAX,
        ..lists(&means, &conics, &opacities)
    };
    assert_eq!(draw(tile, &[1.0; 2]).unwrap(), usual);
}

#[test]
fn nothing_comes_of_nothing() {
    let shapes = QuatScale::<f32> {
        quats: &[],
        scales: &[],
        triu: true,
    };
    quat_scale::forward(&shapes, Some(&mut []), None).unwrap();
    let world = World::new(0, 1, CameraModel::Pinhole);
    let mut scene = world.scene();
    scene.gaussians = 0;
    scene.means = &[];
    scene.shapes = Shapes::Covars(&[]);
    let splats = Projected::of(&scene, Some(&[]), RadiusRule::Gsplat15).unwrap();
    assert!(splats.radii.is_empty());
    let mut v_viewmats = vec![f64::NAN; 64];
    let input = projection::Backward {
        radii: &[],
        conics: &[],
        compensations: None,
        v_means2d: &[],
        v_depths: Some(&[]),
        v_conics: &[],
        v_compensations: None,
    };
    let out = projection::Gradients {
        v_viewmats: Some(&mut v_viewmats),
        ..Default::default()
    };
    projection::backward(&scene, &input, out).unwrap();
    assert!(v_viewmats.iter().all(|&v| v == 0.0));
    // As many batches as memory for each would not hold.
    scene.batches = 1 << 50;
    scene.cameras = 0;
    (scene.viewmats, scene.ks) = (&[], &[]);
    Projected::<f64>::of(&scene, None, RadiusRule::Gsplat15).unwrap();
    projection::backward(&scene, &input, projection::Gradients::default()).unwrap();
    let none = lists(&[], &[], &[]);
    let empty = Lists {
        flatten_ids: &[],
        ..none
    };
    assert_eq!(draw(empty, &[]).unwrap(), [0.0; 16]);
}

#[test]
fn wrong_lengths_are_refused() {
    let world = World::new(0, 3, CameraModel::Pinhole);
    let mut scene = world.scene();
    scene.gaussians = usize::MAX;
    let culled = projection::forward(
        &scene,
        None,
        &projection::Culling {
            near_plane: 0.0,
            far_plane: 1.0,
            radius_clip: 0.0,
            rule: RadiusRule::Gsplat15,
        },
        projection::Splats {
            radii: &mut [],
            means2d: &mut [],
            depths: &mut [],
            conics: &mut [],
            compensations: None,
        },
    );
    assert_eq!(culled.unwrap_err().argument, "means");
    let error = Shapes::given(Some(&[0.0f32][..]), Some(&[0.0][..]), None).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("found covars given, quats given, scales None")
    );
    let coeffs = [0.0f64; 3];
    let mut input = Harmonics {
        degree: 1,
        coefficients: 1,
        channels: 3,
        dirs: &[0.0; 3],
        coeffs: &coeffs,
        masks: None,
    };
    let error = harmonics::forward(&input, false, &mut [0.0; 3]).unwrap_err();
    assert_eq!(error.argument, "coeffs");
    (input.degree, input.coefficients) = (5, 36);
    let error = harmonics::forward(&input, false, &mut [0.0; 3]).unwrap_err();
    assert_eq!(error.argument, "degree");
    let rates = Rates {
        lr: 0.1,
        b1: 0.9,
        b2: 0.9,
        eps: 0.0,
    };
    let error = step(
        2,
        &mut [0.0; 4],
        &[0.0; 3],
        &mut [0.0; 4],
        &mut [0.0; 4],
        None,
        &rates,
    );
    assert_eq!(error.unwrap_err().argument, "grad");
    let images = Images {
        planes: usize::MAX,
        height: 2,
        width: usize::MAX,
        img1: &[0.0f64; 4],
        img2: &[0.0; 4],
        padding: Padding::Same,
    };
    let error = ssim::forward(&images, &mut [], None).unwrap_err();
    assert_eq!(error.argument, "img1");
}
