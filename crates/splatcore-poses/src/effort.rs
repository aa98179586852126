//! How long the phases take, before they are measured: rough figures of COLMAP without a graphics
//! card on one core. What is measured of one phase corrects those that follow.

use crate::Job;
use crate::groups::Grouped;
use crate::program::Program;
use crate::state::State;

/// Pixels on the longer side above which programs scale photos by themselves.
const USUAL_SIZE: f64 = 3200.0;
/// Seconds to find the features of a photo: a part for each photo, and one for each megapixel in
/// which features are searched.
const PER_PHOTO: f64 = 0.1;
const PER_MEGAPIXEL: f64 = 1.2;
/// Features that a photo of a megapixel has, and the program's limit.
const FEATURES: f64 = 12_000.0;
const MAX_FEATURES: f64 = 8192.0;
/// Seconds to compare two features, and for each pair of photos beside that.
const PER_COMPARISON: f64 = 28e-9;
const PER_PAIR: f64 = 0.08;
/// Seconds of the mapper for a photo, and for a feature of it.
const PER_MAPPED: f64 = 0.35;
const PER_MAPPED_FEATURE: f64 = 1e-4;
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

    /// Seconds to find the poses. The card does not help.
    pub fn mapping(&self) -> f64 {
        let photo = PER_MAPPED + self.features() * PER_MAPPED_FEATURE;
        let seconds = self.photos as f64 * photo;
        seconds * self.slowness / self.cores
    }

    fn features(&self) -> f64 {
        self.features
            .unwrap_or((FEATURES * self.megapixels).min(MAX_FEATURES))
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
        // 11 photos of 0.47 megapixels, 5258 features each: 10, 34 and 7 seconds of one core.
        let effort = Effort {
            photos: 11,
            megapixels: 0.47,
            features: Some(5258.0),
            cores: 1.0,
            card: false,
            slowness: 1.0,
        };
        for (found, measured) in [
            (effort.extraction(), 9.2),
            (effort.matching(55), 33.5),
            (effort.mapping(), 6.6),
        ] {
            let ratio: f64 = found / measured;
            assert!((0.5..2.0).contains(&ratio), "{found} for {measured}");
        }
    }
}
