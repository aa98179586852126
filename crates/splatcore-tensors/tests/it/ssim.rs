use crate::support::{Numbers, check_gradient, dot};
use splatcore_core::metrics::{SSIM_C1, SSIM_C2, ssim_window};
use splatcore_tensors::ssim::{Images, Padding, backward, forward};

const PLANES: usize = 2;
const HEIGHT: usize = 14;
const WIDTH: usize = 17;
const AREA: usize = HEIGHT * WIDTH;

fn images<'a>(img1: &'a [f64], img2: &'a [f64], padding: Padding) -> Images<'a, f64> {
    Images {
        planes: PLANES,
        height: HEIGHT,
        width: WIDTH,
        img1,
        img2,
        padding,
    }
}

fn map_len(padding: Padding) -> usize {
    match padding {
        Padding::Same => PLANES * AREA,
        Padding::Valid => PLANES * (HEIGHT - 10) * (WIDTH - 10),
    }
}

fn map(img1: &[f64], img2: &[f64], padding: Padding) -> Vec<f64> {
    let mut out = vec![f64::NAN; map_len(padding)];
    forward(&images(img1, img2, padding), &mut out, None).unwrap();
    out
}

fn random() -> [Vec<f64>; 2] {
    let mut numbers = Numbers::new(50);
    [0, 1].map(|_| numbers.within(PLANES * AREA, 0.0, 1.0))
}

/// The similarity of a pixel by its definition, with a window of two dimensions.
fn plain(img1: &[f64], img2: &[f64], plane: usize, y: usize, x: usize) -> f64 {
    let window = ssim_window();
    let mean = |value: fn(f64, f64) -> f64| {
        let mut sum = 0.0;
        for i in 0..11 {
            for j in 0..11 {
                let (row, column) = ((y + i).wrapping_sub(5), (x + j).wrapping_sub(5));
                if row < HEIGHT && column < WIDTH {
                    let at = plane * AREA + row * WIDTH + column;
                    sum += window[i] * window[j] * value(img1[at], img2[at]);
                }
            }
        }
        sum
    };
    let (a, b) = (mean(|a, _| a), mean(|_, b| b));
    let (aa, bb, ab) = (mean(|a, _| a * a), mean(|_, b| b * b), mean(|a, b| a * b));
    (2.0 * a * b + SSIM_C1) * (2.0 * (ab - a * b) + SSIM_C2)
        / ((a * a + b * b + SSIM_C1) * (aa - a * a + bb - b * b + SSIM_C2))
}

#[test]
fn maps_are_those_of_the_definition() {
    let [img1, img2] = random();
    let same = map(&img1, &img2, Padding::Same);
    let valid = map(&img1, &img2, Padding::Valid);
    let mut inner = valid.iter();
    for (at, &found) in same.iter().enumerate() {
        let (plane, y, x) = (at / AREA, at % AREA / WIDTH, at % WIDTH);
        let expected = plain(&img1, &img2, plane, y, x);
        assert!((found - expected).abs() < 1e-12);
        if (5..HEIGHT - 5).contains(&y) && (5..WIDTH - 5).contains(&x) {
            assert_eq!(inner.next(), Some(&found));
        }
    }
    assert_eq!(inner.next(), None);
    let equal = map(&img1, &img1, Padding::Same);
    assert!(equal.iter().all(|v| (v - 1.0).abs() < 1e-9));
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let [img1, img2] = random();
    for padding in [Padding::Same, Padding::Valid] {
        let weights = Numbers::new(51).within(map_len(padding), -1.0, 1.0);
        let given = images(&img1, &img2, padding);
        let mut partials = vec![f64::NAN; 3 * PLANES * AREA];
        let mut out = vec![f64::NAN; map_len(padding)];
        forward(&given, &mut out, Some(&mut partials)).unwrap();
        let mut v_img1 = vec![f64::NAN; PLANES * AREA];
        backward(&given, &partials, &weights, &mut v_img1).unwrap();
        check_gradient("img1", &img1, &v_img1, 1e-7, |img1| {
            dot(&map(img1, &img2, padding), &weights)
        });
    }
}

#[test]
fn images_smaller_than_the_window_have_a_padded_map_alone() {
    let given = |padding| Images {
        planes: 1,
        height: 3,
        width: 2,
        img1: &[0.5f64; 6],
        img2: &[0.25; 6],
        padding,
    };
    let mut out = [f64::NAN; 6];
    forward(&given(Padding::Same), &mut out, None).unwrap();
    assert!(out.iter().all(|v| v.is_finite()));
    assert!(forward(&given(Padding::Valid), &mut [], None).is_err());
}
