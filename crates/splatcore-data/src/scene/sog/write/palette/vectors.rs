//! Vectors of equal length side by side, padded for loops that the compiler vectorises.

/// Lanes of a distance's sums.
const LANES: usize = 8;

/// Rows of `f32`, padded with zeros to a multiple of [`LANES`].
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    stride: usize,
    data: Vec<f32>,
}

impl Vectors {
    /// `count` zero vectors of so many dimensions, at least one.
    pub fn zeros(count: usize, dimensions: usize) -> Self {
        let stride = dimensions.max(1).next_multiple_of(LANES);
        Self {
            stride,
            data: vec![0.0; count * stride],
        }
    }

    /// Zero vectors of the same length.
    pub fn zeros_like(&self, count: usize) -> Self {
        Self::zeros(count, self.stride)
    }

    pub fn len(&self) -> usize {
        self.data.len() / self.stride
    }

    /// Floats a row, padding included.
    pub fn stride(&self) -> usize {
        self.stride
    }

    #[inline]
    pub fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.stride..(i + 1) * self.stride]
    }

    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [f32] {
        &mut self.data[i * self.stride..(i + 1) * self.stride]
    }

    /// Appends a vector; what it lacks is zero.
    pub fn push(&mut self, vector: &[f32]) {
        self.data.extend_from_slice(vector);
        self.data
            .resize(self.data.len().next_multiple_of(self.stride), 0.0);
    }

    /// Each row's weighted mean over the rows that have its label. Rows that no label names stay as
    /// they are. Sums are `f64`, in the order of the rows.
    pub fn become_means(&mut self, sums: &Sums) {
        for i in 0..self.len() {
            let weight = sums.weights[i];
            if weight > 0.0 {
                let sum = &sums.values[i * self.stride..(i + 1) * self.stride];
                for (to, sum) in self.row_mut(i).iter_mut().zip(sum) {
                    *to = (sum / weight) as f32;
                }
            }
        }
    }
}

/// Vectors, and for each how much its error counts, above 0.
pub struct Sample {
    pub vectors: Vectors,
    pub weights: Vec<f32>,
}

impl Sample {
    /// No vector yet, of so many dimensions.
    pub fn new(dimensions: usize) -> Self {
        Self {
            vectors: Vectors::zeros(0, dimensions),
            weights: Vec::new(),
        }
    }

    /// Appends a vector; what it lacks is zero.
    pub fn push(&mut self, vector: &[f32], weight: f32) {
        self.vectors.push(vector);
        self.weights.push(weight);
    }
}

/// Weighted sums of vectors by label.
pub struct Sums {
    /// Of the vectors with each label.
    pub weights: Vec<f64>,
    stride: usize,
    values: Vec<f64>,
}

impl Sums {
    /// No vector yet, for each row of `like` a label.
    pub fn new(like: &Vectors) -> Self {
        Self {
            weights: vec![0.0; like.len()],
            stride: like.stride,
            values: vec![0.0; like.data.len()],
        }
    }

    pub fn add(&mut self, label: usize, vector: &[f32], weight: f32) {
        let weight = f64::from(weight);
        self.weights[label] += weight;
        let sums = &mut self.values[label * self.stride..(label + 1) * self.stride];
        for (sum, &v) in sums.iter_mut().zip(vector) {
            *sum += weight * f64::from(v);
        }
    }
}

/// The square of the distance of two rows of equal stride.
#[inline]
pub fn distance(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for lane in 0..LANES {
            let d = a[lane] - b[lane];
            sums[lane] += d * d;
        }
    }
    added(sums)
}

/// The dot product of two rows of equal stride.
#[inline]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    added(sums)
}

#[inline]
fn added(sums: [f32; LANES]) -> f32 {
    (sums[0] + sums[4] + (sums[1] + sums[5])) + (sums[2] + sums[6] + (sums[3] + sums[7]))
}
