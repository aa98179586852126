//! LPIPS in f64, one sum after the other, from the tensors as files have them.

use super::Network;
use splatcore_core::{Image, Photo};
use std::collections::BTreeMap;

/// Shape and values by name.
pub type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// Each line is a convolution (number, channels in and out, side, stride, padding) and what
/// follows its ReLU: `=` a comparison, `P` a pool of the given side.
const ALEX: &str = "
    0 3 64 11 4 2 =P3
    3 64 192 5 1 2 =P3
    6 192 384 3 1 1 =
    8 384 256 3 1 1 =
    10 256 256 3 1 1 =";
const VGG: &str = "
    0 3 64 3 1 1
    2 64 64 3 1 1 =P2
    5 64 128 3 1 1
    7 128 128 3 1 1 =P2
    10 128 256 3 1 1
    12 256 256 3 1 1
    14 256 256 3 1 1 =P2
    17 256 512 3 1 1
    19 512 512 3 1 1
    21 512 512 3 1 1 =P2
    24 512 512 3 1 1
    26 512 512 3 1 1
    28 512 512 3 1 1 =";

/// Numbers of each convolution and what follows it.
fn lines(network: Network) -> Vec<([usize; 6], &'static str)> {
    let text = match network {
        Network::Alex => ALEX,
        Network::Vgg => VGG,
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let numbers = std::array::from_fn(|i| words[i].parse().unwrap());
            (numbers, words.get(6).copied().unwrap_or(""))
        })
        .collect()
}

/// Names and shapes of a network's tensors.
pub fn shapes(network: Network) -> Vec<(String, Vec<usize>)> {
    let (mut shapes, mut compared) = (Vec::new(), 0);
    for ([index, input, output, side, ..], then) in lines(network) {
        shapes.push((
            format!("features.{index}.weight"),
            vec![output, input, side, side],
        ));
        shapes.push((format!("features.{index}.bias"), vec![output]));
        if then.starts_with('=') {
            let name = format!("lin{compared}.model.1.weight");
            shapes.push((name, vec![1, output, 1, 1]));
            compared += 1;
        }
    }
    shapes
}

/// `[channel][height][width]`.
struct Planes {
    channels: usize,
    height: usize,
    width: usize,
    values: Vec<f64>,
}

impl Planes {
    /// The value there, if it is inside.
    fn at(&self, c: usize, y: isize, x: isize) -> Option<f64> {
        let inside =
            (0..self.height as isize).contains(&y) && (0..self.width as isize).contains(&x);
        inside.then(|| self.values[(c * self.height + y as usize) * self.width + x as usize])
    }

    fn made(
        [channels, height, width]: [usize; 3],
        value: impl Fn(usize, usize, usize) -> f64,
    ) -> Self {
        let mut values = Vec::new();
        for c in 0..channels {
            for y in 0..height {
                values.extend((0..width).map(|x| value(c, y, x)));
            }
        }
        Self {
            channels,
            height,
            width,
            values,
        }
    }
}

fn convolved(
    input: &Planes,
    [_, channels, output, side, stride, padding]: [usize; 6],
    weights: &[f32],
    bias: &[f32],
) -> Planes {
    let size = |n: usize| (n + 2 * padding - side) / stride + 1;
    Planes::made(
        [output, size(input.height), size(input.width)],
        |o, y, x| {
            let mut sum = f64::from(bias[o]);
            for c in 0..channels {
                for v in 0..side {
                    for u in 0..side {
                        let [row, column] = [y * stride + v, x * stride + u];
                        let (row, column) = (row as isize, column as isize);
                        let padding = padding as isize;
                        if let Some(value) = input.at(c, row - padding, column - padding) {
                            sum += value
                                * f64::from(weights[((o * channels + c) * side + v) * side + u]);
                        }
                    }
                }
            }
            sum.max(0.0)
        },
    )
}

fn pooled(input: &Planes, side: usize) -> Planes {
    let size = |n: usize| (n - side) / 2 + 1;
    let shape = [input.channels, size(input.height), size(input.width)];
    Planes::made(shape, |c, y, x| {
        let places = (0..side).flat_map(|v| (0..side).map(move |u| (2 * y + v, 2 * x + u)));
        let values = places.filter_map(|(v, u)| input.at(c, v as isize, u as isize));
        values.fold(f64::NEG_INFINITY, f64::max)
    })
}

fn difference(a: &Planes, b: &Planes, weights: &[f32]) -> f64 {
    let area = a.height * a.width;
    let mut total = 0.0;
    for i in 0..area {
        let length = |p: &Planes| {
            let squares = (0..p.channels).map(|c| p.values[c * area + i].powi(2));
            squares.sum::<f64>().sqrt() + 1e-10
        };
        let (of_a, of_b) = (length(a), length(b));
        for c in 0..a.channels {
            let difference = a.values[c * area + i] / of_a - b.values[c * area + i] / of_b;
            total += f64::from(weights[c]) * difference.powi(2);
        }
    }
    total / area as f64
}

/// LPIPS of an image and a photo.
pub fn twin(network: Network, tensors: &Tensors, image: &Image, photo: &Photo) -> f64 {
    let size = [3, photo.height as usize, photo.width as usize];
    let input = |colour: &dyn Fn(usize, usize) -> f64| {
        Planes::made(size, |c, y, x| {
            let pixel = y * photo.width as usize + x;
            let ignored = photo.mask.as_ref().is_some_and(|mask| mask[pixel] == 0);
            let value = if ignored { 0.0 } else { colour(pixel, c) };
            let shift = [-0.030, -0.088, -0.188];
            let scale = [0.458, 0.448, 0.450];
            (2.0 * value - 1.0 - shift[c]) / scale[c]
        })
    };
    let mut a = input(&|pixel, c| f64::from(image.data[pixel][c]).clamp(0.0, 1.0));
    let mut b = input(&|pixel, c| f64::from(photo.rgb[3 * pixel + c]) / 255.0);
    let (mut total, mut compared) = (0.0, 0);
    for (numbers, then) in lines(network) {
        let tensor = |name: &str| &tensors[&format!("features.{}.{name}", numbers[0])].1;
        let (weights, bias) = (tensor("weight"), tensor("bias"));
        [a, b] = [a, b].map(|planes| convolved(&planes, numbers, weights, bias));
        if then.starts_with('=') {
            let linear = &tensors[&format!("lin{compared}.model.1.weight")].1;
            total += difference(&a, &b, linear);
            compared += 1;
        }
        if let Some((_, side)) = then.split_once('P') {
            let side = side.parse().unwrap();
            [a, b] = [a, b].map(|planes| pooled(&planes, side));
        }
    }
    total
}
