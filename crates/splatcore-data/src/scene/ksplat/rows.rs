//! From rows to parameters.

use super::sections::{File, Level, Section};
use crate::scene::opacity::logit_of_byte;
use half::f16;
use rayon::prelude::*;
use splatcore_core::{Gaussians, sh};

/// Fills Gaussians, as many as all sections hold, of the highest degree of any section.
pub fn decode(file: &File, gaussians: &mut Gaussians) {
    let coefficients = gaussians.coefficients();
    let mut start = 0;
    for section in &file.sections {
        let range = start..start + section.count;
        let harmonics = range.start * coefficients..range.end * coefficients;
        let rows = section
            .rows
            .par_chunks_exact(file.level.row(section.degree));
        (
            rows,
            &mut gaussians.means[range.clone()],
            &mut gaussians.log_scales[range.clone()],
            &mut gaussians.rotations[range.clone()],
            &mut gaussians.opacity_logits[range.clone()],
            gaussians.sh[harmonics].par_chunks_exact_mut(coefficients),
        )
            .into_par_iter()
            .enumerate()
            .for_each(|(i, (row, mean, log_scales, rotation, logit, sh))| {
                let row = Row { file, row };
                *mean = row.mean(section, i);
                // Below 0 the log is NaN, and the row is dropped later.
                *log_scales = std::array::from_fn(|c| match row.value(3 + c) {
                    0.0 => f32::MIN_POSITIVE.ln(),
                    scale => scale.ln(),
                });
                *rotation = std::array::from_fn(|c| row.value(6 + c));
                let [r, g, b, alpha] = row.colour();
                *logit = logit_of_byte(alpha);
                sh[0] = [r, g, b].map(|v| ((f64::from(v) / 255.0 - 0.5) / sh::C0) as f32);
                row.harmonics(section.degree, &mut sh[1..]);
            });
        start = range.end;
    }
}

/// One Gaussian's bytes.
struct Row<'a> {
    file: &'a File<'a>,
    row: &'a [u8],
}

impl Row<'_> {
    /// The i-th of the ten values that are floats or halves.
    fn value(&self, i: usize) -> f32 {
        match self.file.level {
            Level::Floats => float(self.row, 4 * i),
            _ => f16::from_bits(word(self.row, 2 * i)).into(),
        }
    }

    fn mean(&self, section: &Section, i: usize) -> [f32; 3] {
        if self.file.level == Level::Floats {
            return std::array::from_fn(|c| self.value(c));
        }
        let buckets = &section.buckets;
        // Every Gaussian of a section has a centre; NaN would drop one that has none.
        let centre = buckets.centre(i).unwrap_or([f32::NAN; 3]);
        std::array::from_fn(|c| {
            let steps = f32::from(word(self.row, 2 * c)) - buckets.middle;
            steps * buckets.step + centre[c]
        })
    }

    fn colour(&self) -> [u8; 4] {
        let at = 10 * self.file.level.value();
        std::array::from_fn(|c| self.row[at + c])
    }

    /// Fills what follows degree 0; stored degree by degree, in each channel by channel.
    fn harmonics(&self, degree: u8, to: &mut [[f32; 3]]) {
        let start = 10 * self.file.level.value() + 4;
        let mut first = 0;
        for degree in 1..=usize::from(degree) {
            let number = 2 * degree + 1;
            for (k, coefficient) in to[first..first + number].iter_mut().enumerate() {
                *coefficient = std::array::from_fn(|channel| {
                    self.harmonic(start, 3 * first + channel * number + k)
                });
            }
            first += number;
        }
    }

    /// The i-th value of the harmonics that begin at a byte.
    fn harmonic(&self, start: usize, i: usize) -> f32 {
        let at = start + i * self.file.level.harmonic();
        match self.file.level {
            Level::Floats => float(self.row, at),
            Level::Halves => f16::from_bits(word(self.row, at)).into(),
            Level::HalvesAndBytes => {
                let [low, high] = self.file.harmonics;
                f32::from(self.row[at]) / 255.0 * (high - low) + low
            }
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn float(bytes: &[u8], at: usize) -> f32 {
    f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
