//! Convolutions as products of matrices, and pooling.

use super::network::Shape;
use rayon::prelude::*;

/// Output positions that one task computes. Enough that the product spends its time on arithmetic
/// rather than on fetching the weights; fixed, so that sums do not depend on the number of threads.
const STRIP: usize = 256;
/// Positions between two squares of a pool.
const POOL_STRIDE: usize = 2;

/// What a layer gives: `[height][width][channels]`.
#[derive(Clone, Debug)]
pub struct Features {
    pub width: usize,
    pub height: usize,
    pub channels: usize,
    pub values: Vec<f32>,
}

impl Features {
    fn zeros(width: usize, height: usize, channels: usize) -> Self {
        Self {
            width,
            height,
            channels,
            values: vec![0.0; width * height * channels],
        }
    }
}

/// A convolution with bias and ReLU.
#[derive(Debug)]
pub struct Convolution {
    pub shape: Shape,
    /// `[kernel row][kernel column][channel in][channel out]`.
    pub weights: Vec<f32>,
    /// `[channel out]`.
    pub bias: Vec<f32>,
}

impl Convolution {
    /// max(0, bias + input convolved with the weights).
    pub fn apply(&self, input: &Features) -> Features {
        let shape = &self.shape;
        let (width, height) = (shape.positions(input.width), shape.positions(input.height));
        let mut output = Features::zeros(width, height, shape.output);
        output
            .values
            .par_chunks_mut(STRIP * shape.output)
            .enumerate()
            .for_each_init(Vec::new, |patches, (strip, values)| {
                let first = strip * STRIP;
                self.gather(
                    input,
                    width,
                    first..first + values.len() / shape.output,
                    patches,
                );
                for row in values.chunks_exact_mut(shape.output) {
                    row.copy_from_slice(&self.bias);
                }
                self.multiply(patches, values);
                for value in values {
                    *value = value.max(0.0);
                }
            });
        output
    }

    /// Values of the input under the kernel, for one output position.
    fn patch(&self) -> usize {
        self.shape.side * self.shape.side * self.shape.input
    }

    /// What the kernel covers at each of the positions, one row of `patches` each; zeros outside
    /// the input. `width` is that of the output.
    fn gather(
        &self,
        input: &Features,
        width: usize,
        positions: std::ops::Range<usize>,
        patches: &mut Vec<f32>,
    ) {
        let Shape {
            side,
            stride,
            padding,
            input: channels,
            ..
        } = self.shape;
        patches.clear();
        patches.resize(positions.len() * self.patch(), 0.0);
        for (patch, at) in patches.chunks_exact_mut(self.patch()).zip(positions) {
            // Of the input plus its padding.
            let (left, top) = (at % width * stride, at / width * stride);
            // Columns of the kernel that lie inside the input.
            let from = padding.saturating_sub(left);
            let to = side.min((input.width + padding).saturating_sub(left));
            for (row, values) in patch.chunks_exact_mut(side * channels).enumerate() {
                let Some(y) = (top + row)
                    .checked_sub(padding)
                    .filter(|&y| y < input.height)
                else {
                    continue;
                };
                if from < to {
                    let source = (y * input.width + left + from - padding) * channels;
                    let source = &input.values[source..][..(to - from) * channels];
                    values[from * channels..to * channels].copy_from_slice(source);
                }
            }
        }
    }

    /// Adds `patches` times the weights to `output`.
    fn multiply(&self, patches: &[f32], output: &mut [f32]) {
        let (depth, columns) = (self.patch(), self.shape.output);
        let rows = output.len() / columns;
        assert!(
            patches.len() == rows * depth
                && self.weights.len() == depth * columns
                && output.len() == rows * columns
        );
        let (row, column) = (columns as isize, 1);
        // SAFETY: the three matrices are row-major and as long as their numbers of rows and columns
        // say (asserted above), and the output, borrowed mutably, overlaps neither input.
        unsafe {
            matrixmultiply::sgemm(
                rows,
                depth,
                columns,
                1.0,
                patches.as_ptr(),
                depth as isize,
                1,
                self.weights.as_ptr(),
                row,
                column,
                1.0,
                output.as_mut_ptr(),
                row,
                column,
            );
        }
    }
}

/// The largest of each square of `side`, every two positions, without padding.
pub fn max_pool(input: &Features, side: usize) -> Features {
    let positions = |size: usize| match size.checked_sub(side) {
        Some(room) => room / POOL_STRIDE + 1,
        None => 0,
    };
    let (width, channels) = (positions(input.width), input.channels);
    let mut output = Features::zeros(width, positions(input.height), channels);
    let row_length = width * channels;
    if row_length == 0 {
        return output;
    }
    let rows = output.values.par_chunks_exact_mut(row_length);
    rows.enumerate().for_each(|(y, row)| {
        for (x, largest) in row.chunks_exact_mut(channels).enumerate() {
            largest.fill(f32::NEG_INFINITY);
            for (v, u) in (0..side).flat_map(|v| (0..side).map(move |u| (v, u))) {
                let at = (y * POOL_STRIDE + v) * input.width + x * POOL_STRIDE + u;
                let values = &input.values[at * channels..][..channels];
                for (largest, value) in largest.iter_mut().zip(values) {
                    *largest = largest.max(*value);
                }
            }
        }
    });
    output
}
