//! Against the definition in f64, with random weights: the networks are written down here once
//! more, in the order of torchvision's `features`.

mod files;
mod twin;

use super::*;
use splatcore_core::random::Rng;
use twin::{Tensors, twin};

/// Weights that keep the size of the features from layer to layer (He et al. 2015).
fn random_tensors(network: Network) -> Tensors {
    let mut rng = Rng::new(3, network as u64);
    let mut uniform = move |from: f64, to: f64, count: usize| -> Vec<f32> {
        let mut one = || f64::from(rng.next_u32()) / 4_294_967_296.0;
        (0..count)
            .map(|_| (from + (to - from) * one()) as f32)
            .collect()
    };
    let mut tensors = Tensors::new();
    for (name, shape) in twin::shapes(network) {
        let count = shape.iter().product();
        let values = match &shape[..] {
            [_] => uniform(-0.1, 0.1, count),
            [1, ..] => uniform(0.0, 1.0, count),
            [_, rest @ ..] => {
                let bound = (6.0 / rest.iter().product::<usize>() as f64).sqrt();
                uniform(-bound, bound, count)
            }
            [] => Vec::new(),
        };
        tensors.insert(name, (shape, values));
    }
    tensors
}

/// An image out of range here and there, and a photo.
fn pair(width: u32, height: u32) -> (Image, Photo) {
    let mut rng = Rng::new(5, 0);
    let pixels = width as usize * height as usize;
    let mut image = Image::filled(width, height, [0.0; 3]);
    for value in image.data.iter_mut().flatten() {
        *value = rng.normal() * 0.4 + 0.5;
    }
    let rgb = (0..3 * pixels).map(|_| (rng.next_u32() >> 24) as u8);
    let photo = Photo::opaque(width, height, rgb.collect());
    (image, photo)
}

fn lpips(network: Network, tensors: &Tensors) -> Lpips {
    let bytes = files::of_f32(network.name(), tensors);
    Lpips::parse(&bytes, "weights".as_ref()).unwrap()
}

/// More positions than a strip at first, and sides that strides do not divide.
#[test]
fn distances_are_those_of_the_definition() {
    for (network, [width, height]) in [
        (Network::Alex, [86, 71]),
        (Network::Vgg, [23, 18]),
        (Network::Alex, [31, 31]),
        (Network::Vgg, [16, 16]),
    ] {
        let tensors = random_tensors(network);
        let metric = lpips(network, &tensors);
        assert_eq!(metric.network(), network);
        let (image, mut photo) = pair(width, height);
        for mask in [None, Some(0u8..5)] {
            photo.mask = mask.map(|values| values.cycle().take(image.data.len()).collect());
            let found = metric.distance(&image, &photo).unwrap();
            let wanted = twin(network, &tensors, &image, &photo);
            // Each layer adds some 1e-7 of rounding; unrelated images are far apart.
            assert!(
                (found / wanted - 1.0).abs() < 3e-6,
                "{network} {width}x{height}: {found}, not {wanted}"
            );
        }
    }
}

#[test]
fn equal_images_are_at_zero_and_unequal_ones_are_not() {
    let metric = lpips(Network::Alex, &random_tensors(Network::Alex));
    let (image, mut photo) = pair(40, 33);
    let same = photo.to_image();
    assert_eq!(metric.distance(&same, &photo).unwrap(), 0.0);
    assert!(metric.distance(&image, &photo).unwrap() > 1e-3);
    // What a mask ignores is not looked at.
    photo.mask = Some((0..40 * 33).map(|i| u8::from(i % 3 != 0)).collect());
    let mut elsewhere = same.clone();
    for colour in elsewhere.data.iter_mut().step_by(3) {
        *colour = [f32::NAN; 3];
    }
    assert_eq!(metric.distance(&elsewhere, &photo).unwrap(), 0.0);
    let mut broken = same;
    broken.data[7][1] = f32::NAN;
    assert!(metric.distance(&broken, &photo).unwrap().is_nan());
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let metric = lpips(Network::Alex, &random_tensors(Network::Alex));
    let (image, photo) = pair(190, 140);
    let [one, three] = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        pool.install(|| metric.distance(&image, &photo).unwrap())
    });
    assert_eq!(one.to_bits(), three.to_bits());
}

#[test]
fn sizes_are_checked() {
    for (network, least) in [(Network::Alex, 31), (Network::Vgg, 16)] {
        let metric = Lpips {
            network,
            convolutions: Vec::new(),
            linear: Vec::new(),
        };
        let (image, photo) = pair(64, least - 1);
        let error = metric.distance(&image, &photo).unwrap_err().to_string();
        let wanted = format!("{network} needs images of at least {least}x{least} pixels");
        assert!(error.contains(&wanted), "{error}");
        let (other, _) = pair(64, least);
        assert_eq!(
            metric.distance(&other, &photo).unwrap_err().to_string(),
            format!("the image is 64x{least}, the photo 64x{}", least - 1)
        );
    }
}
