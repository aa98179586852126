//! What is known of a photo's depths and normals.

use crate::random::{hash_floats, mix};
use crate::ranked::median;

/// In place of an inverse depth: the pixel shows the sky, so nothing stands in its ray.
pub const SKY: f32 = -1.0;

/// Inverse depths of a photo, in a size of its own: pixel (x, y) of an image of the same view has
/// that of the map's pixel which its centre falls into.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DepthMap {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// `[height * width]`, 1 / z with z along the view axis in world units; 0 where it is unknown,
    /// [`SKY`] where nothing stands.
    pub inverse: Vec<f32>,
    /// `[height * width]`, unit normals of what is shown, camera axes, towards the camera; zero
    /// where they are unknown. Empty if none is known.
    pub normals: Vec<[f32; 3]>,
}

impl DepthMap {
    /// The index of what is known at a pixel of an image of so many pixels.
    pub fn index(&self, [x, y]: [u32; 2], size: [u32; 2]) -> usize {
        let place = |at: u32, of: u32, own: u32| {
            (2 * u64::from(at) + 1) * u64::from(own) / (2 * u64::from(of))
        };
        let row = place(y, size[1], self.height) as usize;
        row * self.width as usize + place(x, size[0], self.width) as usize
    }

    /// The inverse depths at the pixels of an image of this size, row by row.
    pub fn in_size(&self, size: [u32; 2]) -> Vec<f32> {
        let pixels = (0..size[1]).flat_map(|y| (0..size[0]).map(move |x| [x, y]));
        pixels
            .map(|at| self.inverse[self.index(at, size)])
            .collect()
    }

    /// Whether there are as many values as the size says, inverse depths finite, 0, above it, or
    /// [`SKY`], and normals zero or of unit length.
    pub fn is_sound(&self) -> bool {
        let values = self.width as usize * self.height as usize;
        values > 0
            && self.inverse.len() == values
            && self
                .inverse
                .iter()
                .all(|&q| q.is_finite() && (q >= 0.0 || q == SKY))
            && (self.normals.is_empty() || self.normals.len() == values)
            && self.normals.iter().all(is_normal)
    }

    /// How many pixels are known.
    pub fn known(&self) -> usize {
        self.inverse
            .iter()
            .filter(|&&inverse| inverse > 0.0)
            .count()
    }

    /// Whether a pixel shows the sky.
    pub fn has_sky(&self) -> bool {
        self.inverse.contains(&SKY)
    }

    /// The middle of the known depths; `None` if none is known.
    pub fn median(&self) -> Option<f32> {
        let known = self.inverse.iter().filter(|&&q| q > 0.0);
        median(known.map(|&q| q.into())).map(|inverse| 1.0 / inverse as f32)
    }

    /// Bytes of its values.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.inverse[..]) + size_of_val(&self.normals[..])
    }

    /// A hash of size and values.
    pub fn fingerprint(&self) -> u64 {
        let size = mix(u64::from(self.width) << 32 | u64::from(self.height));
        let inverse = hash_floats(&self.inverse);
        let normals = hash_floats(self.normals.as_flattened());
        mix(mix(size ^ inverse) ^ normals)
    }

    /// What is to be known of a map that is not held.
    pub fn facts(&self) -> MapFacts {
        MapFacts {
            known: self.known(),
            median: self.median(),
            has_sky: self.has_sky(),
            has_normals: !self.normals.is_empty(),
            bytes: self.bytes(),
            fingerprint: self.fingerprint(),
        }
    }
}

/// What is known of a [`DepthMap`] without its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapFacts {
    /// [`DepthMap::known`].
    pub known: usize,
    /// [`DepthMap::median`].
    pub median: Option<f32>,
    /// [`DepthMap::has_sky`].
    pub has_sky: bool,
    /// Whether normals of some pixels are known.
    pub has_normals: bool,
    /// [`DepthMap::bytes`].
    pub bytes: usize,
    /// [`DepthMap::fingerprint`].
    pub fingerprint: u64,
}

/// What is known of a photo's depths: the map, or what is known of it if it is not held.
#[derive(Clone, Copy, Debug)]
pub enum Known<'a> {
    /// The map.
    Here(&'a DepthMap),
    /// Its facts.
    Elsewhere(&'a MapFacts),
}

impl Known<'_> {
    /// [`DepthMap::known`].
    pub fn known(self) -> usize {
        match self {
            Self::Here(map) => map.known(),
            Self::Elsewhere(facts) => facts.known,
        }
    }

    /// [`DepthMap::median`].
    pub fn median(self) -> Option<f32> {
        match self {
            Self::Here(map) => map.median(),
            Self::Elsewhere(facts) => facts.median,
        }
    }

    /// [`DepthMap::has_sky`].
    pub fn has_sky(self) -> bool {
        match self {
            Self::Here(map) => map.has_sky(),
            Self::Elsewhere(facts) => facts.has_sky,
        }
    }

    /// Whether normals of some pixels are known.
    pub fn has_normals(self) -> bool {
        match self {
            Self::Here(map) => !map.normals.is_empty(),
            Self::Elsewhere(facts) => facts.has_normals,
        }
    }

    /// [`DepthMap::bytes`].
    pub fn bytes(self) -> usize {
        match self {
            Self::Here(map) => map.bytes(),
            Self::Elsewhere(facts) => facts.bytes,
        }
    }

    /// [`DepthMap::fingerprint`].
    pub fn fingerprint(self) -> u64 {
        match self {
            Self::Here(map) => map.fingerprint(),
            Self::Elsewhere(facts) => facts.fingerprint,
        }
    }

    /// [`DepthMap::facts`].
    pub fn facts(self) -> MapFacts {
        match self {
            Self::Here(map) => map.facts(),
            Self::Elsewhere(facts) => *facts,
        }
    }
}

/// Whether a normal is known, or said to be unknown.
fn is_normal(normal: &[f32; 3]) -> bool {
    let square: f32 = normal.iter().map(|v| v * v).sum();
    *normal == [0.0; 3] || (square - 1.0).abs() < 1e-3
}
