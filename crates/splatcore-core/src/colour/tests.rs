use super::*;
use crate::Photo;
use crate::image::Image;

/// Colours of an image, 0 and 1 among them.
fn image(width: u32, height: u32) -> Image {
    let value = |k: u32| (k * 89 % 256) as f32 / 255.0;
    let pixels = (0..width * height).map(|i| [0, 1, 2].map(|c| value(3 * i + c)));
    Image {
        width,
        height,
        data: pixels.collect(),
    }
}

/// Numbers in mid-training, none of them at its start.
fn numbers(start: &[f32], seed: usize) -> Vec<f32> {
    let number = |(k, start): (usize, &f32)| start + 0.25 * ((7 * k + seed) as f32).sin();
    start.iter().enumerate().map(number).collect()
}

/// Exactly: before the first step nothing is another colour.
#[test]
fn the_start_changes_nothing() {
    let image = image(31, 17);
    for model in ColourModel::ALL {
        let entry = model.entry();
        let look = Look::new(model, entry.photo, entry.camera);
        assert_eq!(look.image(&image), image, "{model}");
        for colour in [[0.0; 3], [1.0; 3], [0.3, 0.7, 0.1]] {
            assert_eq!(entry.of_colour(look.factors(), colour), colour, "{model}");
        }
    }
}

/// Stops make every colour brighter by their power of two, as long as nothing is cut off.
#[test]
fn stops_brighten() {
    for model in ColourModel::ALL {
        let entry = model.entry();
        for stops in [-1.5f32, 0.0, 0.75] {
            let look = Look::new(model, &entry.exposed(stops), entry.camera);
            let found = entry.of_colour(look.factors(), [0.5, 0.25, 0.1]);
            for (found, was) in found.into_iter().zip([0.5, 0.25, 0.1]) {
                let wanted = was * stops.exp2();
                assert!(
                    (found - wanted).abs() < 1e-5,
                    "{model} {stops}: {found} {wanted}"
                );
            }
        }
        let state = ColourState::exposed(model, &[0.5, -0.5], 3);
        assert!(state.photos.has_shape(2, entry.photo.len()));
        assert_eq!(state.photos.row(1), entry.exposed(-0.5));
        assert_eq!(state.cameras, ColourState::fresh(model, 2, 3).cameras);
    }
}

/// By the equations of the paper, in numpy, with the homography from a singular value
/// decomposition.
#[test]
fn ppisp_is_what_its_equations_say() {
    let photo = [-0.4, 0.5, -0.3, 0.2, 0.6, -0.7, 0.4, 0.3, -0.2];
    let vignette = [
        0.05, -0.02, -0.3, 0.1, -0.05, 0.0, 0.03, -0.2, -0.1, 0.02, -0.04, 0.01, -0.4, 0.2, 0.1,
    ];
    let response = [
        0.3, -0.2, 0.1, 0.2, -0.3, 0.4, -0.2, -0.1, 0.1, 0.1, 0.3, -0.4,
    ];
    let all = [&vignette[..], &response].concat();
    for (model, camera, rgb, place, want) in [
        (
            ColourModel::Ppisp,
            &all[..],
            [0.7, 0.4, 0.2],
            [0.3, -0.2],
            [0.4362203, 0.4209014, 0.0854757],
        ),
        (
            ColourModel::Ppisp,
            &all,
            [0.1, 0.9, 0.6],
            [-0.45, 0.1],
            [0.0309021, 0.7556614, 0.379601],
        ),
        (
            ColourModel::Ppisp,
            &all,
            [0.05, 0.06, 0.9],
            [0.0; 2],
            [0.0264935, 0.0788894, 0.6414406],
        ),
        (
            ColourModel::PpispLinear,
            &vignette,
            [0.7, 0.4, 0.2],
            [0.3, -0.2],
            [0.5206798, 0.2981149, 0.1336601],
        ),
        (
            ColourModel::PpispLinear,
            &vignette,
            [0.1, 0.9, 0.6],
            [-0.45, 0.1],
            [0.0607859, 0.6454345, 0.4407206],
        ),
    ] {
        let row =
            |values: &[f64]| -> Vec<Dual> { values.iter().map(|&v| Dual::constant(v)).collect() };
        let camera: Vec<f64> = camera.to_vec();
        let factors = model.entry().dual_factors(&row(&photo), &row(&camera));
        let seen = model
            .entry()
            .dual_colour(&factors, place, rgb.map(Dual::constant));
        for (seen, want) in seen.iter().zip(want) {
            let value: f64 = want;
            // A constant beside a sum of colours, which the paper has on one side only.
            assert!(
                (seen.value - value).abs() < 3e-6,
                "{model} {rgb:?}: {seen:?} {value}"
            );
        }
    }
}

/// The gradient written by hand against that of the formulas, in every part of the curves.
#[test]
fn gradients_by_hand_are_those_of_the_formulas() {
    let image = image(29, 23);
    let (width, height) = (image.width as usize, image.height as usize);
    let by = |i: usize, c: usize| ((i * 3 + c) as f32 * 1.7).sin() + 0.3;
    for model in ColourModel::ALL {
        let entry = model.entry();
        let (photo, camera) = (numbers(entry.photo, 1), numbers(entry.camera, 2));
        let factors = entry.factors(&photo, &camera);
        let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|&v| v.into()).collect() };
        let fixed = Dual::row(&wide(&factors), usize::MAX);
        let (mut sums, mut want_sums) = (vec![0.0; factors.len()], vec![0.0; factors.len()]);
        for (i, &rgb) in image.data.iter().enumerate() {
            let at = Pixels {
                width,
                height,
                first: i,
            };
            let mut gradient = [0, 1, 2].map(|c| by(i, c));
            let [r, g, b] = &mut gradient;
            let planes = rgb.each_ref().map(std::slice::from_ref);
            let to = [r, g, b].map(std::slice::from_mut);
            entry.backward(&factors, at, planes, to, &mut sums);
            let place = at.place(0, entry.places).map(f64::from);
            let slope = |factors: &[Dual], rgb: &[Dual]| -> f64 {
                let seen = entry.dual_colour(factors, place, [rgb[0], rgb[1], rgb[2]]);
                (0..3).map(|c| seen[c].slope * f64::from(by(i, c))).sum()
            };
            let rgb = wide(&rgb);
            for (c, got) in gradient.iter().enumerate() {
                let want = slope(&fixed, &Dual::row(&rgb, c));
                let off = (f64::from(*got) - want).abs();
                assert!(
                    off < 2e-5 * want.abs().max(1.0),
                    "{model}, {i} {c}: {got} {want}"
                );
            }
            let rgb = Dual::row(&rgb, usize::MAX);
            for k in entry.factors_at(place, [0, 1, 2].map(|c: usize| rgb[c].value)) {
                let mut factors = fixed.clone();
                factors[k].slope = 1.0;
                want_sums[k] += slope(&factors, &rgb);
            }
        }
        for (k, (got, want)) in sums.iter().zip(&want_sums).enumerate() {
            let off = (got - want).abs();
            assert!(
                off < 1e-4 * want.abs().max(0.1),
                "{model}, factor {k}: {got} {want}"
            );
        }
        let numbers = [wide(&photo), wide(&camera)];
        chains_to_numbers(model, &numbers, &want_sums);
    }
}

/// From factors to numbers, against central differences of a sum of products.
fn chains_to_numbers(model: ColourModel, numbers: &[Vec<f64>; 2], want_sums: &[f64]) {
    let entry = model.entry();
    let [photo, camera] = numbers;
    let [of_photo, of_camera] = entry.chain([photo, camera], want_sums);
    let value = |photo: &[f64], camera: &[f64]| -> f64 {
        let row = |values: &[f64]| Dual::row(values, usize::MAX);
        let factors = entry.dual_factors(&row(photo), &row(camera));
        let pairs = factors.iter().zip(want_sums);
        let held = entry.penalty(&row(camera)).value + entry.photo_penalty(photo);
        pairs.map(|(f, sum)| f.value * sum).sum::<f64>() + held
    };
    let h = 1e-6;
    for (table, gradients) in [of_photo, of_camera].iter().enumerate() {
        // All, or some hundred.
        let tested = gradients.iter().enumerate();
        for (k, gradient) in tested.step_by(1 + gradients.len() / 256) {
            let at = |d: f64| {
                let mut both = [photo.clone(), camera.clone()];
                both[table][k] += d;
                value(&both[0], &both[1])
            };
            let slope = (at(h) - at(-h)) / (2.0 * h);
            let off = (slope - gradient).abs();
            assert!(
                off < 1e-5 * slope.abs().max(0.1),
                "{model}, {table} {k}: {slope} {gradient}"
            );
        }
    }
}

/// Numbers far from any photo's still give colours, and gradients that are numbers.
#[test]
fn wild_numbers_stay_finite() {
    let image = image(9, 7);
    for model in ColourModel::ALL {
        let entry = model.entry();
        for size in [1.0, 8.0, 60.0] {
            let wild = |start: &[f32]| -> Vec<f32> {
                let number = |(k, start): (usize, &f32)| start + size * ((5 * k) as f32).cos();
                start.iter().enumerate().map(number).collect()
            };
            let (photo, camera) = (wild(entry.photo), wild(entry.camera));
            let look = Look::new(model, &photo, &camera);
            let seen = look.image(&image);
            assert!(
                seen.data.iter().flatten().all(|v| v.is_finite()),
                "{model} {size}"
            );
            let mut sums = vec![0.0; entry.factor_count];
            for (i, rgb) in image.data.iter().enumerate() {
                let at = Pixels {
                    width: 9,
                    height: 7,
                    first: i,
                };
                let mut by = [1.0, -1.0, 0.5];
                let [r, g, b] = &mut by;
                let planes = rgb.each_ref().map(std::slice::from_ref);
                entry.backward(
                    look.factors(),
                    at,
                    planes,
                    [r, g, b].map(std::slice::from_mut),
                    &mut sums,
                );
                assert!(by.iter().all(|v| v.is_finite()), "{model} {size}: {by:?}");
            }
            assert!(
                sums.iter().all(|sum| sum.is_finite()),
                "{model} {size}: {sums:?}"
            );
        }
    }
}

/// By hand: a grid that is linear along each axis is sliced to the same linear function, of the
/// place in shares of the photo's own sides and of luma.
#[test]
fn a_linear_grid_is_sliced_linearly() {
    let entry = ColourModel::Bilateral.entry();
    let mut grid = entry.photo.to_vec();
    let [wide, high, deep] = VERTICES;
    for (vertex, rows) in grid.chunks_exact_mut(12).enumerate() {
        let (x, y, z) = (vertex / deep % wide, vertex / deep / wide, vertex % deep);
        rows[3] = 0.1 * x as f32 / 15.0 + 0.2 * y as f32 / 15.0 + 0.4 * z as f32 / 7.0;
    }
    assert_eq!(grid.len(), 12 * wide * high * deep);
    let (width, height, rgb) = (40usize, 10usize, [0.2f32, 0.6, 0.9]);
    let luma = 0.299 * 0.2 + 0.587 * 0.6 + 0.114 * 0.9;
    let look = Look::new(ColourModel::Bilateral, &grid, &[]);
    let seen = look.image(&Image::filled(40, 10, rgb));
    for (i, seen) in seen.data.iter().enumerate() {
        let [u, v] = [(i % width, width), (i / width, height)]
            .map(|(at, side)| (at as f32 + 0.5) / side as f32);
        let red = 0.2 + 0.1 * u + 0.2 * v + 0.4 * luma;
        assert!((seen[0] - red).abs() < 1e-6, "{i}: {seen:?} {red}");
        assert_eq!(seen[1..], rgb[1..]);
    }
    // Brighter than white and darker than black are taken for these.
    for (grey, luma) in [(1.5, 1.0), (-0.5, 0.0)] {
        let seen = entry.of_colour(look.factors(), [grey; 3])[0];
        assert!((seen - (grey + 0.15 + 0.4 * luma)).abs() < 1e-6, "{seen}");
    }
}

/// By hand: a grid that rises by one number's step along one axis has the mean of its squares.
#[test]
fn total_variation_is_the_mean_square_of_steps() {
    let entry = ColourModel::Bilateral.entry();
    let start: Vec<f64> = entry.photo.iter().map(|&v| v.into()).collect();
    assert_eq!(entry.photo_penalty(&start), 0.0);
    let mut grid = start;
    let [wide, _, deep] = VERTICES;
    for (vertex, rows) in grid.chunks_exact_mut(12).enumerate() {
        rows.iter_mut()
            .for_each(|n| *n += 0.3 * (vertex / deep % wide) as f64);
    }
    let found = entry.photo_penalty(&grid);
    assert!((found - 10.0 * 0.09).abs() < 1e-9, "{found}");
}

#[test]
fn names_are_those_of_the_table() {
    for (place, model) in ColourModel::ALL.into_iter().enumerate() {
        assert_eq!(model as usize, place);
        assert_eq!(model.to_string().parse(), Ok(model));
    }
    let error = "curves".parse::<ColourModel>().unwrap_err();
    assert!(
        error.contains("'curves'") && error.contains("affine, ppisp"),
        "{error}"
    );
}

#[test]
fn one_lens_at_one_zoom_is_one_camera() {
    let view = |width: u32, field: f64| View {
        name: String::new(),
        camera: Camera::look_at(
            [0.0; 3],
            [0.0, 0.0, 1.0],
            [0.0, -1.0, 0.0],
            field,
            width,
            10,
        ),
        photo: Photo::opaque(width, 10, vec![0; 30 * width as usize]),
    };
    let views = [
        view(20, 0.8),
        view(20, 0.81),
        view(30, 0.8),
        view(20, 1.2),
        view(30, 0.8),
    ];
    assert_eq!(cameras_of(&views), [0, 0, 1, 2, 1]);
    assert_eq!(camera_count(&views), 3);
}
