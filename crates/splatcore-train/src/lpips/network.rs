//! Which layers the networks have.

use Layer::{Compared, Convolution, MaxPool};
use std::fmt;

/// The networks whose weights are published with LPIPS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// AlexNet in the form of Krizhevsky 2014, the authors' choice for comparing images.
    Alex,
    /// VGG with 16 layers (Simonyan and Zisserman 2015), which papers on novel views report.
    Vgg,
}

/// One step from the input to the last features that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// Followed by a ReLU.
    Convolution(Shape),
    /// The largest of squares of this side, every two positions.
    MaxPool(usize),
    /// The features so far are compared.
    Compared,
}

/// A convolution's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Its number in torchvision's `features`, which is part of its tensors' names.
    pub index: usize,
    /// Channels in.
    pub input: usize,
    /// Channels out.
    pub output: usize,
    /// Side of the kernel.
    pub side: usize,
    /// Positions from one output to the next.
    pub stride: usize,
    /// Zeros around the input.
    pub padding: usize,
}

/// A convolution of side 2 `padding` + 1 that keeps the size.
const fn same(index: usize, input: usize, output: usize, padding: usize) -> Layer {
    Convolution(Shape {
        index,
        input,
        output,
        side: 2 * padding + 1,
        stride: 1,
        padding,
    })
}

const FIRST_OF_ALEX: Shape = Shape {
    index: 0,
    input: 3,
    output: 64,
    side: 11,
    stride: 4,
    padding: 2,
};

const ALEX: [Layer; 12] = [
    Convolution(FIRST_OF_ALEX),
    Compared,
    MaxPool(3),
    same(3, 64, 192, 2),
    Compared,
    MaxPool(3),
    same(6, 192, 384, 1),
    Compared,
    same(8, 384, 256, 1),
    Compared,
    same(10, 256, 256, 1),
    Compared,
];

const VGG: [Layer; 22] = [
    same(0, 3, 64, 1),
    same(2, 64, 64, 1),
    Compared,
    MaxPool(2),
    same(5, 64, 128, 1),
    same(7, 128, 128, 1),
    Compared,
    MaxPool(2),
    same(10, 128, 256, 1),
    same(12, 256, 256, 1),
    same(14, 256, 256, 1),
    Compared,
    MaxPool(2),
    same(17, 256, 512, 1),
    same(19, 512, 512, 1),
    same(21, 512, 512, 1),
    Compared,
    MaxPool(2),
    same(24, 512, 512, 1),
    same(26, 512, 512, 1),
    same(28, 512, 512, 1),
    Compared,
];

impl Network {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Alex, Self::Vgg];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alex => "alex",
            Self::Vgg => "vgg",
        }
    }

    /// Its layers, in order.
    pub(super) fn layers(self) -> &'static [Layer] {
        match self {
            Self::Alex => &ALEX,
            Self::Vgg => &VGG,
        }
    }

    /// The least width and height of an image, in pixels, of which each layer has a position.
    pub fn smallest_side(self) -> u32 {
        match self {
            Self::Alex => 31,
            Self::Vgg => 16,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Shape {
    /// Positions along a side of the output, for so many of the input's.
    pub fn positions(&self, input: usize) -> usize {
        match (input + 2 * self.padding).checked_sub(self.side) {
            Some(room) => room / self.stride + 1,
            None => 0,
        }
    }
}
