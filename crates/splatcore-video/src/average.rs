//! Several samples of a pixel to one: anti-aliasing and motion blur.
//!
//! Colours are averaged as light: sRGB values are made linear, averaged, and made sRGB again, as a
//! lens and a shutter average light before a camera encodes it. Values are clamped to 0 to 1 first,
//! as a picture of one sample is when it is stored.

use splatcore_core::Image;

/// Steps of the table from sRGB to light; between them it is interpolated, within 1e-6.
const STEPS: usize = 4096;

/// The mean of images whose sides are some times those of the result.
#[derive(Clone, Debug)]
pub struct Average {
    size: [u32; 2],
    samples: u32,
    light: Vec<f32>,
    sum: Vec<[f32; 3]>,
    added: u32,
}

impl Average {
    /// Of images of `samples` times `size` pixels a side.
    pub fn new(size: [u32; 2], samples: u32) -> Self {
        Self {
            size,
            samples: samples.max(1),
            light: (0..=STEPS)
                .map(|i| to_light(i as f32 / STEPS as f32))
                .collect(),
            sum: vec![[0.0; 3]; size[0] as usize * size[1] as usize],
            added: 0,
        }
    }

    /// Takes an image.
    ///
    /// # Panics
    /// If its size is another.
    pub fn add(&mut self, image: &Image) {
        let [wide, high] = self.size.map(|side| side * self.samples);
        assert_eq!(
            [image.width, image.height],
            [wide, high],
            "an image has another size"
        );
        let (samples, width) = (self.samples as usize, self.size[0] as usize);
        for (y, row) in image.data.chunks_exact(wide as usize).enumerate() {
            let sums = &mut self.sum[y / samples * width..][..width];
            for (sum, pixels) in sums.iter_mut().zip(row.chunks_exact(samples)) {
                for pixel in pixels {
                    for k in 0..3 {
                        sum[k] += light_of(&self.light, pixel[k]);
                    }
                }
            }
        }
        self.added += 1;
    }

    /// The mean, black if nothing was added. Another one begins.
    pub fn take(&mut self) -> Image {
        let count = (self.samples * self.samples * self.added).max(1) as f32;
        let data = self.sum.iter_mut().map(|sum| {
            let colour = sum.map(|v| to_srgb(v / count));
            *sum = [0.0; 3];
            colour
        });
        let data = data.collect();
        self.added = 0;
        Image {
            width: self.size[0],
            height: self.size[1],
            data,
        }
    }

    /// The mean of planes of one number for each pixel, `samples` times `size` a side, without
    /// another scale.
    pub fn plane(size: [u32; 2], samples: u32, plane: &[f32]) -> Vec<f32> {
        let (samples, width) = (samples as usize, size[0] as usize);
        if samples <= 1 {
            return plane.to_vec();
        }
        let mut means = vec![0.0; width * size[1] as usize];
        for (y, row) in plane.chunks_exact(width * samples).enumerate() {
            let sums = &mut means[y / samples * width..][..width];
            for (sum, values) in sums.iter_mut().zip(row.chunks_exact(samples)) {
                *sum += values.iter().sum::<f32>() / (samples * samples) as f32;
            }
        }
        means
    }
}

fn light_of(table: &[f32], value: f32) -> f32 {
    let place = value.clamp(0.0, 1.0) * STEPS as f32;
    let step = (place as usize).min(STEPS - 1);
    let [a, b] = [table[step], table[step + 1]];
    a + (b - a) * (place - step as f32)
}

/// sRGB's transfer function (IEC 61966-2-1) and its inverse.
fn to_light(v: f32) -> f32 {
    if v <= 0.04045 {
        v / 12.92
    } else {
        ((v + 0.055) / 1.055).powf(2.4)
    }
}

fn to_srgb(v: f32) -> f32 {
    if v <= 0.003_130_8 {
        v * 12.92
    } else {
        1.055 * v.powf(1.0 / 2.4) - 0.055
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half black, half white is 188 of 255 as light, and not 128.
    #[test]
    fn light_is_averaged() {
        let mut average = Average::new([1, 1], 2);
        let mut image = Image::filled(2, 2, [0.0; 3]);
        image.data[1] = [1.0; 3];
        image.data[2] = [1.0, 1.0, 1.5];
        average.add(&image);
        assert_eq!(average.take().to_bytes(), [188; 3]);
        average.add(&Image::filled(2, 2, [0.25, 0.5, 0.75]));
        for (a, b) in average.take().data[0].iter().zip([0.25, 0.5, 0.75]) {
            assert!((a - b).abs() < 1e-5);
        }
    }

    #[test]
    fn every_code_survives() {
        let mut average = Average::new([256, 1], 1);
        let data = (0..256).map(|i| [i as f32 / 255.0; 3]).collect();
        average.add(&Image {
            width: 256,
            height: 1,
            data,
        });
        let codes: Vec<u8> = (0..=255).flat_map(|i| [i; 3]).collect();
        assert_eq!(average.take().to_bytes(), codes);
        assert_eq!(Average::plane([1, 1], 2, &[1.0, 2.0, 3.0, 6.0]), [3.0]);
    }
}
