//! LPIPS: how different two images look to a network that was trained to tell objects ("The
//! Unreasonable Effectiveness of Deep Features as a Perceptual Metric", Zhang et al. 2018, version
//! 0.1 of their weights).
//!
//! Both images, scaled to [-1, 1] and then standardised channel by channel, pass through the
//! network's convolutions. After five of these the feature vectors of a position are brought to
//! unit length, and the weighted squared difference of the two is averaged over all positions
//! (their equation 1, whose weights w_l enter squared; the file holds the squares):
//!
//! ```text
//! LPIPS = sum over layers l of mean over positions of sum over channels c of
//!         w_lc (x_lc / (|x_l| + 1e-10) - y_lc / (|y_l| + 1e-10))^2
//! ```
//!
//! The weights come from a file that the user names ([`Lpips::read`]).

mod convolution;
mod network;
mod weights;

pub use network::Network;

use convolution::{Convolution, Features, max_pool};
use network::Layer;
use rayon::prelude::*;
use splatcore_core::{BackendError, Image, Photo};

/// What the networks' input has subtracted and is divided by, for channels of [-1, 1]: mean and
/// standard deviation of their training photos.
const SHIFT: [f32; 3] = [-0.030, -0.088, -0.188];
/// See [`SHIFT`].
const SCALE: [f32; 3] = [0.458, 0.448, 0.450];
/// Added to the length of a feature vector before the division.
const EPSILON: f32 = 1e-10;
/// Positions whose differences one task adds up. Fixed, so that sums do not depend on the number
/// of threads.
const POSITIONS: usize = 1024;

/// The metric with the weights of one network.
#[derive(Debug)]
pub struct Lpips {
    network: Network,
    /// In the order of [`Network::layers`].
    convolutions: Vec<Convolution>,
    /// For each compared layer a weight a channel.
    linear: Vec<Vec<f32>>,
}

/// What cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LpipsError {
    /// Nothing of the image is left after the network's strides.
    #[error(
        "LPIPS with {network} needs images of at least {least}x{least} pixels; this one has \
         {width}x{height}"
    )]
    TooSmall {
        /// The network.
        network: Network,
        /// Its smallest side in pixels.
        least: u32,
        /// Of the image.
        width: u32,
        /// Of the image.
        height: u32,
    },
    /// Image and photo have different sizes.
    #[error("the image is {}x{}, the photo {}x{}", image[0], image[1], photo[0], photo[1])]
    Sizes {
        /// Width and height.
        image: [u32; 2],
        /// Width and height.
        photo: [u32; 2],
    },
}

impl LpipsError {
    /// What a backend says of the view that cannot be compared.
    pub fn of_view(&self, name: &str) -> BackendError {
        BackendError::Input(format!("view '{name}': {self}"))
    }
}

impl Lpips {
    /// The network whose weights it has.
    pub fn network(&self) -> Network {
        self.network
    }

    /// LPIPS of an image, clamped to [0, 1], and its photo: 0 if they are equal, rarely above 1.
    /// NaN if a value of the image is. Ignored pixels are black in both; positions that see only
    /// such count as equal. The same on any number of threads.
    ///
    /// Uses rayon's current threads. Holds up to 768 bytes a pixel with vgg, some 50 with alex.
    ///
    /// # Errors
    /// Different sizes, or fewer pixels than the network needs.
    pub fn distance(&self, image: &Image, photo: &Photo) -> Result<f64, LpipsError> {
        let (width, height) = (photo.width, photo.height);
        let pixels = width as usize * height as usize;
        if [image.width, image.height] != [width, height]
            || image.data.len() != pixels
            || photo.rgb.len() != 3 * pixels
        {
            return Err(LpipsError::Sizes {
                image: [image.width, image.height],
                photo: [width, height],
            });
        }
        let least = self.network.smallest_side();
        if width.min(height) < least {
            return Err(LpipsError::TooSmall {
                network: self.network,
                least,
                width,
                height,
            });
        }
        let counts = |i: usize| photo.mask.as_ref().is_none_or(|mask| mask[i] != 0);
        let size = [width as usize, height as usize];
        let counted = |i: usize, colour: [f32; 3]| if counts(i) { colour } else { [0.0; 3] };
        let seen = standardised(
            size,
            image.data.iter().enumerate().map(|(i, c)| counted(i, *c)),
        );
        if seen.values.iter().any(|value| value.is_nan()) {
            return Ok(f64::NAN);
        }
        let wanted = photo.rgb.as_chunks::<3>().0.iter().enumerate();
        let wanted = wanted.map(|(i, c)| counted(i, c.map(|v| f32::from(v) / 255.0)));
        Ok(self.compare([seen, standardised(size, wanted)]))
    }

    /// As [`Lpips::distance`]; 1 if the image is not finite.
    ///
    /// # Errors
    /// As there.
    pub fn score(&self, image: &Image, photo: &Photo) -> Result<f64, LpipsError> {
        let distance = self.distance(image, photo)?;
        Ok(if distance.is_nan() { 1.0 } else { distance })
    }

    /// Both images through the network, layer by layer, so that no more than two layers of each
    /// are held.
    fn compare(&self, mut features: [Features; 2]) -> f64 {
        let mut total = 0.0;
        let (mut convolutions, mut linear) = (self.convolutions.iter(), self.linear.iter());
        for layer in self.network.layers() {
            match layer {
                Layer::Convolution(_) => {
                    let Some(convolution) = convolutions.next() else {
                        break;
                    };
                    features = features.map(|input| convolution.apply(&input));
                }
                Layer::MaxPool(side) => features = features.map(|input| max_pool(&input, *side)),
                Layer::Compared => {
                    let Some(weights) = linear.next() else {
                        break;
                    };
                    total += difference(&features, weights);
                }
            }
        }
        total
    }
}

/// The network's input: colours clamped to [0, 1], scaled to [-1, 1], shifted and scaled.
fn standardised([width, height]: [usize; 2], colours: impl Iterator<Item = [f32; 3]>) -> Features {
    let standard = |c: usize, value: f32| (value.clamp(0.0, 1.0) * 2.0 - 1.0 - SHIFT[c]) / SCALE[c];
    let values = colours.flat_map(|colour| [0, 1, 2].map(|c| standard(c, colour[c])));
    Features {
        width,
        height,
        channels: 3,
        values: values.collect(),
    }
}

/// Mean over the positions of the weighted squared difference of feature vectors of unit length.
fn difference([x, y]: &[Features; 2], weights: &[f32]) -> f64 {
    let channels = weights.len();
    let sums: Vec<f64> = x
        .values
        .par_chunks(POSITIONS * channels)
        .zip(y.values.par_chunks(POSITIONS * channels))
        .map(|(x, y)| {
            let positions = x.chunks_exact(channels).zip(y.chunks_exact(channels));
            positions
                .map(|(x, y)| f64::from(position(x, y, weights)))
                .sum::<f64>()
        })
        .collect();
    sums.iter().sum::<f64>() / (x.width * x.height) as f64
}

/// The weighted squared difference at one position.
fn position(x: &[f32], y: &[f32], weights: &[f32]) -> f32 {
    let inverse = |v: &[f32]| 1.0 / (v.iter().map(|v| v * v).sum::<f32>().sqrt() + EPSILON);
    let (of_x, of_y) = (inverse(x), inverse(y));
    let channels = x.iter().zip(y).zip(weights);
    channels
        .map(|((x, y), weight)| weight * (x * of_x - y * of_y).powi(2))
        .sum()
}

#[cfg(test)]
mod tests;
