//! How long the phases take, before they are measured: rough figures of COLMAP without a graphics
//! card on one core. What is measured of one phase corrects those that follow.

use crate::Job;
use crate::groups::Grouped;
use crate::program::{Pairs, Program, VOCABULARY};
use crate::state::State;

/// Pixels on the longer side above which programs scale photos by themselves.
const USUAL_SIZE: f64 = 3200.0;
/// Seconds to find the features of a photo: a part for each photo, and one for each megapixel in
/// which features are searched.
const PER_PHOTO: f64 = 0.2;
const PER_MEGAPIXEL: f64 = 1.2;
/// Features of a megapixel that shows plain walls, of a usual one, and of one full of detail; how
/// many a photo has at most, as the program's limit counts those of several directions once.
pub const FEATURES: [f64; 3] = [4000.0, 9000.0, 12_000.0];
const MAX_FEATURES: f64 = 13_500.0;
/// Seconds to compare two features, and for each pair of photos beside that.
const PER_COMPARISON: f64 = 14e-9;
const PER_PAIR: f64 = 0.18;
/// Seconds of the mapper for a photo, times the logarithm of their number, as it adjusts all of
/// them whenever they are a tenth more; and for a feature of it.
const PER_MAPPED: f64 = 0.4;
const PER_MAPPED_FEATURE: f64 = 5e-5;
/// Seconds that a feature takes to be made part of a vocabulary.
const PER_WORD: f64 = 5e-4;
/// How much faster a graphics card finds and compares features than one core.
const CARD: f64 = 30.0;
/// Photos that sequential matching compares with the next ones, and how often the distance is
/// doubled to compare with farther ones: the program's own settings.
const OVERLAP: usize = 10;

/// What is known of the work.
#[derive(Clone, Debug, PartialEq)]
pub struct Effort {
    /// Photos.
    pub photos: usize,
    /// Megapixels of a photo in which features are searched, on average.
    pub megapixels: f64,
    /// Features of a photo on average, once they are counted.
    pub features: Option<f64>,
    /// Cores that compute.
    pub cores: f64,
    /// A graphics card finds and compares features.
    pub card: bool,
    /// Measured seconds over expected ones, of the last phase that was measured.
    pub slowness: f64,
}

impl Effort {
    /// What is known before the work begins.
    pub(crate) fn of(
        job: &Job,
        grouped: &Grouped,
        program: &Program,
        state: &State,
        photos: usize,
    ) -> Self {
        let (width, height) = grouped.size;
        let limit = job.max_size.map_or(USUAL_SIZE, f64::from);
        let scale = (limit / width.max(height).max(1.0)).min(1.0);
        Self {
            photos,
            megapixels: scale * width * scale * height / 1e6,
            features: state.feature_count,
            cores: std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64),
            card: program.gpu.is_some(),
            slowness: 1.0,
        }
    }

    /// Seconds to find features.
    pub fn extraction(&self) -> f64 {
        self.scaled(self.photos as f64 * (PER_PHOTO + PER_MEGAPIXEL * self.megapixels))
    }

    /// Seconds to compare so many pairs of photos.
    pub fn matching(&self, pairs: usize) -> f64 {
        let pair = PER_PAIR + self.features().powi(2) * PER_COMPARISON;
        self.scaled(pairs as f64 * pair)
    }

    /// Seconds to compare photos in a way that makes so many pairs, with what goes before.
    pub fn comparing(&self, pairs: &Pairs<'_>, count: usize) -> f64 {
        let before = match pairs {
            Pairs::Similar(_) => self.vocabulary(),
            _ => 0.0,
        };
        before + self.matching(count)
    }

    /// Seconds to make a vocabulary of features. More cores do not help.
    pub fn vocabulary(&self) -> f64 {
        let photos = self.photos.min(VOCABULARY) as f64;
        photos * self.features() * PER_WORD * self.slowness
    }

    /// Seconds to find the poses. The card does not help.
    pub fn mapping(&self) -> f64 {
        let photos = self.photos as f64;
        let photo = PER_MAPPED * photos.max(2.0).ln() + self.features() * PER_MAPPED_FEATURE;
        let seconds = photos * photo;
        seconds * self.slowness / self.cores
    }

    fn features(&self) -> f64 {
        self.features
            .unwrap_or((FEATURES[1] * self.megapixels).min(MAX_FEATURES))
    }

    /// The same work, of photos with so many features in a megapixel where none were counted yet.
    pub fn with_features(&self, of_a_megapixel: f64) -> Self {
        let guessed = (of_a_megapixel * self.megapixels).min(MAX_FEATURES);
        Self {
            features: self.features.or(Some(guessed)),
            ..self.clone()
        }
    }

    fn scaled(&self, seconds: f64) -> f64 {
        let faster = if self.card { CARD } else { self.cores };
        seconds * self.slowness / faster
    }
}

/// Pairs of photos that are compared each with each.
pub fn exhaustive_pairs(photos: usize) -> usize {
    photos * photos.saturating_sub(1) / 2
}

/// Pairs of photos that are compared with the next ones: the next ten, and those 16, 32 and so on
/// to 512 photos on.
pub fn sequential_pairs(photos: usize) -> usize {
    let next = 1..=OVERLAP;
    let farther = (4..OVERLAP as u32).map(|power| 1 << power);
    next.chain(farther)
        .map(|on| photos.saturating_sub(on))
        .sum()
}

/// Pairs of photos that are compared each with so many others: some are found from both sides.
pub fn similar_pairs(photos: usize, each: usize) -> usize {
    (photos * each * 3 / 4).min(exhaustive_pairs(photos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_matching_saves_most_of_the_pairs() {
        assert_eq!(exhaustive_pairs(97), 4656);
        // 97 frames, as COLMAP 3.8 counted them.
        let pairs = sequential_pairs(97);
        assert!((1000..1400).contains(&pairs), "{pairs}");
        assert_eq!((exhaustive_pairs(0), sequential_pairs(0)), (0, 0));
    }

    #[test]
    fn the_figures_are_near_what_was_measured() {
        // COLMAP 3.8, seconds: photos of a castle with one core; on two cores the frames of a
        // corridor, sequentially, and photos of a stuffed fox, each with each.
        for (photos, megapixels, features, cores, pairs, measured) in [
            (11, 0.47, 5258.0, 1.0, 55, [9.2, 33.5, 6.6]),
            (
                64,
                0.41,
                1571.0,
                2.0,
                sequential_pairs(64),
                [18.1, 69.2, 76.2],
            ),
            (50, 0.276, 2527.0, 2.0, 1225, [13.9, 168.4, 43.2]),
        ] {
            let effort = Effort {
                photos,
                megapixels,
                features: Some(features),
                cores,
                card: false,
                slowness: 1.0,
            };
            let found = [
                effort.extraction(),
                effort.matching(pairs),
                effort.mapping(),
            ];
            for (found, measured) in found.into_iter().zip(measured) {
                let ratio: f64 = found / measured;
                assert!((0.6..2.2).contains(&ratio), "{found} for {measured}");
            }
            let ratio = found.iter().sum::<f64>() / measured.iter().sum::<f64>();
            assert!((0.75..1.35).contains(&ratio), "{photos} photos: {ratio}");
        }
    }
}
