//! What became of the intrinsics of the photos' cameras.

use crate::output::decibels;
use serde::Serialize;
use splatcore_core::Camera;
use splatcore_papers::page::escape;
use std::fmt::Write;

/// What a run says of intrinsics that it refined.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredIntrinsics {
    /// Mean PSNR of the measured photos with the dataset's cameras, dB.
    pub psnr_plain: f64,
    /// Each lens that photos were trained on through.
    pub lenses: Vec<LensRow>,
}

/// What became of a lens.
#[derive(Clone, Debug, Serialize)]
pub struct LensRow {
    /// The first photo through it.
    pub photo: String,
    /// Photos trained on through it.
    pub photos: usize,
    /// A limit holds a number, or has held it.
    pub at_limit: bool,
    /// What changed: the name, and the number before and after; lengths in pixels of the photos as
    /// they were trained on.
    pub numbers: Vec<(String, f64, f64)>,
}

impl LensRow {
    /// The numbers of two cameras, where they differ.
    pub fn numbers(before: &Camera, after: &Camera) -> Vec<(String, f64, f64)> {
        let of = |camera: &Camera| {
            let lengths = [
                ("fx", camera.fx),
                ("fy", camera.fy),
                ("cx", camera.cx),
                ("cy", camera.cy),
            ];
            let coefficients = camera.lens.coefficients();
            lengths.into_iter().chain(coefficients).collect::<Vec<_>>()
        };
        let pairs = of(before).into_iter().zip(of(after));
        let changed = pairs.filter(|((_, before), (_, after))| before != after);
        changed
            .map(|((name, before), (_, after))| (name.to_owned(), before, after))
            .collect()
    }
}

/// Lenses that are shown.
const MAX_ROWS: usize = 40;

/// The table.
pub fn to_html(intrinsics: &MeasuredIntrinsics) -> String {
    let mut out = format!(
        "<h2>Intrinsics</h2>\n<p class=\"note\">What was found of each lens that photos share, in \
         pixels of the photos as they were trained on. PSNR with the dataset's cameras: {} \
         dB.</p>\n",
        decibels(intrinsics.psnr_plain)
    );
    if intrinsics.lenses.iter().any(|lens| lens.at_limit) {
        out.push_str(
            "<p class=\"note\">At a limit: the dataset gives these photos another camera's \
             numbers, or the limit is too narrow; raise --intrinsics-limit, or find the poses \
             anew.</p>\n",
        );
    }
    out.push_str(
        "<table>\n<tr><th>first photo</th><th>photos</th><th></th><th>number</th><th>before</th>\
         <th>after</th></tr>\n",
    );
    for lens in intrinsics.lenses.iter().take(MAX_ROWS) {
        for (name, before, after) in &lens.numbers {
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{name}</td><td>{before:.5}</td>\
                 <td>{after:.5}</td></tr>",
                escape(&lens.photo),
                lens.photos,
                if lens.at_limit { "at its limit" } else { "" },
            );
        }
    }
    out.push_str("</table>\n");
    if intrinsics.lenses.len() > MAX_ROWS {
        let _ = writeln!(
            out,
            "<p class=\"note\">{} more are in metrics.json.</p>",
            intrinsics.lenses.len() - MAX_ROWS
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_shown_and_escaped() {
        let before = Camera::look_at([0.0, 0.0, -3.0], [0.0; 3], [0.0, -1.0, 0.0], 0.8, 64, 48);
        let after = Camera {
            fx: 51.5,
            cy: 25.25,
            ..before.clone()
        };
        let numbers = LensRow::numbers(&before, &after);
        assert_eq!(numbers.len(), 2);
        let html = to_html(&MeasuredIntrinsics {
            psnr_plain: 20.0,
            lenses: vec![LensRow {
                photo: "<a>.jpg".into(),
                photos: 7,
                at_limit: true,
                numbers,
            }],
        });
        assert!(html.contains("&lt;a&gt;.jpg</td><td>7</td><td>at its limit</td><td>fx</td>"));
        assert!(html.contains("<td>24.00000</td><td>25.25000</td>") && html.contains("20.00 dB"));
        assert!(html.contains("--intrinsics-limit") && html.matches("<tr>").count() == 3);
    }
}
