//! The text of a USD layer.

use crate::scene::linear::{clamped, opacity, scale, unit};
use crate::scene::rows::{Rows, in_pieces};
use crate::scene::written::Progress;
use crate::scene::y_up::to_y_up;
use rayon::prelude::*;
use splatcore_core::Gaussians;
use std::fmt::Write as _;
use std::io::{self, Write};

/// What stands before the arrays. A world unit is said to be a metre: scenes have no unit.
const HEAD: &str = concat!(
    "#usda 1.0\n(\n",
    "    customLayerData = {\n",
    "        string generator = \"splatcore ",
    env!("CARGO_PKG_VERSION"),
    "\"\n    }\n",
    "    defaultPrim = \"Splats\"\n",
    "    metersPerUnit = 1\n",
    "    upAxis = \"Y\"\n)\n\n",
    "def ParticleField3DGaussianSplat \"Splats\"\n{\n",
    "    uniform token projectionModeHint = \"perspective\"\n",
    "    uniform token sortingModeHint = \"zDepth\"\n",
);
/// Standard deviations from a mean to where the schema's Gaussians end.
const REACH: f32 = 3.0;
/// Gaussians that one thread formats at a time.
const BATCH: usize = 1 << 10;

/// An array of the prim: its declaration, and one Gaussian's text.
type Array = (&'static str, fn(&mut String, &Gaussians, usize));

const ARRAYS: [Array; 5] = [
    ("point3f[] positions", |text, piece, i| {
        tuple(text, &piece.means[i])
    }),
    ("quatf[] orientations", |text, piece, i| {
        tuple(text, &unit(piece.rotations[i]))
    }),
    ("float3[] scales", |text, piece, i| {
        tuple(text, &piece.log_scales[i].map(scale))
    }),
    ("float[] opacities", |text, piece, i| {
        number(text, opacity(piece.opacity_logits[i]))
    }),
    (
        "float3[] radiance:sphericalHarmonicsCoefficients",
        |text, piece, i| {
            for (k, coefficient) in piece.sh_of(i).iter().enumerate() {
                text.push_str(if k > 0 { ", " } else { "" });
                tuple(text, coefficient);
            }
        },
    ),
];

/// Writes the layer; returns how many scales had to be clamped.
pub fn write(writer: &mut dyn Write, rows: &dyn Rows, progress: Progress) -> io::Result<usize> {
    writer.write_all(HEAD.as_bytes())?;
    let degree = rows.sh_degree();
    writeln!(
        writer,
        "    uniform int radiance:sphericalHarmonicsDegree = {degree}"
    )?;
    let total = (ARRAYS.len() * rows.len()) as u64;
    let mut clamped_scales = 0;
    let mut extent: Option<[[f32; 3]; 2]> = None;
    for (pass, (declaration, element)) in ARRAYS.iter().enumerate() {
        write!(writer, "    {declaration} = [")?;
        in_pieces(rows, |start, piece| {
            let mut turned = piece.clone();
            to_y_up(&mut turned);
            if pass == 0 {
                clamped_scales += clamped(&turned);
                grow(&mut extent, &turned);
            }
            for text in texts(&turned, *element, start == 0) {
                writer.write_all(text.as_bytes())?;
            }
            let done = pass * rows.len() + start + turned.len();
            progress("writing", done as u64, total);
            Ok::<(), io::Error>(())
        })?;
        writeln!(writer, "]")?;
    }
    if let Some([least, greatest]) = extent {
        let mut text = String::from("    float3[] extent = [");
        tuple(&mut text, &least);
        text.push_str(", ");
        tuple(&mut text, &greatest);
        writeln!(writer, "{text}]")?;
    }
    writeln!(writer, "}}")?;
    Ok(clamped_scales)
}

/// A piece's elements, separated by commas, a line each; also before the first, unless the array
/// begins with it.
fn texts(
    piece: &Gaussians,
    element: fn(&mut String, &Gaussians, usize),
    is_first: bool,
) -> Vec<String> {
    let batches = piece.len().div_ceil(BATCH);
    let text = |batch: usize| {
        let range = batch * BATCH..piece.len().min((batch + 1) * BATCH);
        let mut text = String::new();
        for i in range {
            text.push_str(if is_first && i == 0 { "" } else { ",\n" });
            element(&mut text, piece, i);
        }
        text
    };
    (0..batches).into_par_iter().map(text).collect()
}

/// Widens the box to hold a piece, each Gaussian as a ball of its largest standard deviation.
fn grow(extent: &mut Option<[[f32; 3]; 2]>, piece: &Gaussians) {
    for (mean, log_scales) in piece.means.iter().zip(&piece.log_scales) {
        let largest = log_scales.map(scale).into_iter().fold(0.0, f32::max);
        let reach = (REACH * largest).min(f32::MAX);
        let low = mean.map(|v| (v - reach).max(f32::MIN));
        let high = mean.map(|v| (v + reach).min(f32::MAX));
        let [least, greatest] = extent.unwrap_or([low, high]);
        *extent = Some([
            std::array::from_fn(|c| least[c].min(low[c])),
            std::array::from_fn(|c| greatest[c].max(high[c])),
        ]);
    }
}

fn tuple(text: &mut String, values: &[f32]) {
    text.push('(');
    for (i, &value) in values.iter().enumerate() {
        text.push_str(if i > 0 { ", " } else { "" });
        number(text, value);
    }
    text.push(')');
}

/// The shortest text that reads back as the same f32. Programs may read it as an f64 and round
/// that: where it would round twice to a neighbour, the text is the f64's.
fn number(text: &mut String, value: f32) {
    let start = text.len();
    // Writing into a String cannot fail.
    let _ = write!(text, "{value:?}");
    let twice = text[start..].parse::<f64>().map(|v| v as f32);
    if twice != Ok(value) && !value.is_nan() {
        text.truncate(start);
        let _ = write!(text, "{:?}", f64::from(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    #[test]
    fn numbers_read_back_as_written_by_either_width() {
        let mut rng = Rng::new(4, 0);
        let special = [
            0.0,
            -0.0,
            1.0,
            -1e-45,
            f32::MAX,
            f32::MIN_POSITIVE,
            1e16,
            3e-5,
        ];
        let random = (0..100_000).map(|_| f32::from_bits(rng.next_u32()));
        for value in special.into_iter().chain(random).filter(|v| v.is_finite()) {
            let mut text = String::new();
            number(&mut text, value);
            assert_eq!(
                text.parse::<f32>().unwrap().to_bits(),
                value.to_bits(),
                "{text}"
            );
            let twice = text.parse::<f64>().unwrap() as f32;
            assert_eq!(twice.to_bits(), value.to_bits(), "{text}");
        }
    }

    /// Elements are separated across batches and pieces, and nowhere twice.
    #[test]
    fn arrays_have_a_comma_between_elements() {
        let count = 2 * BATCH + 1;
        let mut piece = Gaussians::zeros(count, 0);
        for (i, mean) in piece.means.iter_mut().enumerate() {
            mean[0] = i as f32;
        }
        for is_first in [true, false] {
            let text = texts(&piece, ARRAYS[0].1, is_first).concat();
            let text = if is_first { format!(",\n{text}") } else { text };
            let elements: Vec<&str> = text.split(",\n").collect();
            assert_eq!(elements.len(), count + 1);
            assert_eq!(
                (elements[0], elements[count]),
                ("", &*format!("({:?}, 0.0, 0.0)", (count - 1) as f32))
            );
        }
    }

    #[test]
    fn the_extent_holds_three_standard_deviations() {
        let mut piece = Gaussians::zeros(2, 0);
        piece.means = vec![[1.0, 2.0, 3.0], [-4.0, 0.0, 0.0]];
        piece.log_scales = vec![[0.0, -1.0, -2.0], [-3.0, -4.0, 0.5f32.ln()]];
        let mut extent = None;
        grow(&mut extent, &piece);
        assert_eq!(extent, Some([[-5.5, -1.5, -1.5], [4.0, 5.0, 6.0]]));
    }
}
