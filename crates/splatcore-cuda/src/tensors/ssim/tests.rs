//! Maps and gradients against the functions of splatcore-tensors in f64.

use super::{Images, Padding, backward, forward};
use crate::tensors::tests::{Numbers, Tensor, assert_close, fixture};
use splatcore_tensors::ssim as plain;

#[test]
fn maps_and_gradients_are_those_of_the_cpu() {
    let Some(on) = fixture() else { return };
    let sizes = [(2, 37, 23), (1, 10, 40), (3, 16, 16), (0, 12, 12)];
    let paddings = [
        (Padding::Same, plain::Padding::Same, 0),
        (Padding::Valid, plain::Padding::Valid, 10),
    ];
    for (planes, height, width) in sizes {
        for (padding, plain_padding, margin) in paddings {
            let mut numbers = Numbers::new(43);
            let values = planes * height * width;
            let map_values = planes * (height - margin) * (width - margin);
            let [img1, img2] = [0, 1].map(|_| numbers.many(values, 0.0, 1.0));
            let v_map = numbers.many(map_values, -1.0, 1.0);
            let images = plain::Images {
                planes,
                height,
                width,
                img1: &img1,
                img2: &img2,
                padding: plain_padding,
            };
            let lengths = [map_values, 3 * values, values];
            let mut expected = lengths.map(|len| vec![f64::NAN; len]);
            let [map, partials, v_img1] = &mut expected;
            plain::forward(&images, map, Some(partials)).unwrap();
            plain::backward(&images, partials, &v_map, v_img1).unwrap();

            let inputs = [&img1, &img2, &v_map].map(|values| on.floats(values));
            let [img1, img2, v_map] = inputs.each_ref().map(Tensor::slice);
            let images = Images {
                planes,
                height,
                width,
                img1,
                img2,
                padding,
            };
            let outs = lengths.map(|len| on.out::<f32>(len));
            let [map, partials, v_img1] = outs.each_ref().map(Tensor::slice);
            let stream = on.stream();
            forward(&stream, &images, map, Some(partials)).unwrap();
            backward(&stream, &images, partials, v_map, v_img1).unwrap();
            for (i, (out, expected)) in outs.iter().zip(&expected).enumerate() {
                let name = format!("output {i} of {height} x {width}, {padding:?}");
                assert_close(&name, &out.written(), expected, 1e-4);
            }
            forward(&stream, &images, map, None).unwrap();
        }
    }
}

#[test]
fn images_smaller_than_the_window_are_refused() {
    let Some(on) = fixture() else { return };
    let tensor = on.floats(&[0.0; 81]);
    let images = Images {
        planes: 1,
        height: 9,
        width: 9,
        img1: tensor.slice(),
        img2: tensor.slice(),
        padding: Padding::Valid,
    };
    let error = forward(&on.stream(), &images, tensor.slice(), None).unwrap_err();
    assert!(error.to_string().contains("9 x 9 pixels"), "{error}");
}
