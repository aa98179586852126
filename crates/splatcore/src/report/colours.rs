//! What a colour model found of the photos, and which of them are out of line.

use super::weak::middle;
use crate::looks::{Looks, Predicted};
use anyhow::Result;
use serde::Serialize;
use splatcore_core::colour::Look;
use splatcore_papers::page::escape;
use std::fmt::Write;

/// A photo is out of line that differs from the middle one by so many times what half of the photos
/// do at most ...
const TIMES: f64 = 5.0;
/// ... and by more than this: stops, and share of a channel.
const LITTLE: [f64; 2] = [0.7, 0.15];
/// What the models' effect is told by.
const GREY: f32 = 0.4;
/// Photos out of line that are listed.
const MAX_LISTED: usize = 20;

/// What a run found of its photos' colours.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredColours {
    /// Name of the colour model.
    pub model: String,
    /// Every photo, those out of line first.
    pub photos: Vec<ColourRow>,
    /// How well looks are predicted from what views show, stops; none if not better than by the
    /// mean look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<Predicted>,
}

/// What a photo makes of a grey of the scene.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColourRow {
    /// The photo's name.
    pub name: String,
    /// By how much it is brighter than the scene, stops.
    pub stops: f64,
    /// The largest share by which a channel differs from green.
    pub tint: f64,
    /// Far from what the others are.
    pub out_of_line: bool,
}

impl MeasuredColours {
    /// Of the looks that a run found.
    pub fn of(looks: &Looks, left_out: Option<Predicted>) -> Result<Self> {
        let rows = looks
            .all()?
            .into_iter()
            .map(|(name, look)| row(name, &look));
        let mut photos: Vec<ColourRow> = rows.collect();
        sort(&mut photos);
        Ok(Self {
            model: looks.model().into(),
            photos,
            left_out,
        })
    }

    fn wild(&self) -> impl Iterator<Item = &ColourRow> {
        self.photos.iter().filter(|row| row.out_of_line)
    }

    /// Says on stderr, in one line, which are out of line; nothing if none is.
    pub fn tell(&self) {
        let named: Vec<String> = self.wild().take(3).map(said).collect();
        let more = match self.wild().count() {
            0 => return,
            n if n > named.len() => format!(" and {} more", n - named.len()),
            _ => String::new(),
        };
        eprintln!(
            "warning: colours out of line with the other photos: {}{more}: look whether they were \
             taken with a flash, edited, or belong to another capture, and leave them out if so",
            named.join(", ")
        );
    }

    /// A list of the photos out of line.
    pub fn to_html(&self) -> String {
        let note = match self.wild().count() {
            0 => "No photo is out of line.",
            _ => {
                "Out of line: look whether these photos were taken with a flash, edited, or belong \
                 to another capture, and leave them out if so."
            }
        };
        let mut out = format!(
            "<h2>Colours</h2>\n<p class=\"note\">What {} found of each photo: {} photos. {note}\
             </p>\n<ul>\n",
            escape(&self.model),
            self.photos.len()
        );
        for row in self.wild().take(MAX_LISTED) {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "<li>{}</li>", escape(&said(row)));
        }
        out + "</ul>\n"
    }
}

/// `a.jpg (+1.25 stops, tint 3 %)`.
fn said(row: &ColourRow) -> String {
    let tint = 100.0 * row.tint;
    format!("{} ({:+.2} stops, tint {tint:.0} %)", row.name, row.stops)
}

fn row(name: &str, look: &Look) -> ColourRow {
    let seen = look.entry().of_colour(look.factors(), [GREY; 3]);
    let [red, green, blue] = seen.map(|value| f64::from(value.max(1e-3) / GREY));
    ColourRow {
        name: name.into(),
        stops: ((red + green + blue) / 3.0).log2(),
        tint: (red / green - 1.0).abs().max((blue / green - 1.0).abs()),
        out_of_line: false,
    }
}

/// Marks photos that are out of line and puts them first.
fn sort(photos: &mut [ColourRow]) {
    let of: [fn(&ColourRow) -> f64; 2] = [|row| row.stops, |row| row.tint];
    let limits = [0, 1].map(|k: usize| {
        let usual = middle(photos.iter().map(of[k]).collect());
        let spread = middle(
            photos
                .iter()
                .map(|row| (of[k](row) - usual).abs())
                .collect(),
        );
        (usual, LITTLE[k].max(TIMES * spread))
    });
    for row in photos.iter_mut() {
        let off = |k: usize| (of[k](row) - limits[k].0).abs() / limits[k].1;
        row.out_of_line = off(0) > 1.0 || off(1) > 1.0;
    }
    photos.sort_by_key(|row| !row.out_of_line);
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::colour::ColourModel;

    fn photo(name: &str, stops: f32) -> ColourRow {
        let model = ColourModel::PpispLinear;
        let mut numbers = model.entry().photo.to_vec();
        numbers[0] = stops;
        row(name, &Look::new(model, &numbers, model.entry().camera))
    }

    #[test]
    fn a_photo_of_another_capture_comes_first() {
        let mut photos: Vec<ColourRow> = (0..9)
            .map(|i| photo(&format!("{i}.png"), 0.05 * i as f32))
            .collect();
        photos.push(photo("<flash>.png", -1.5));
        assert!((photos[9].stops + 1.5).abs() < 1e-6 && photos[9].tint < 1e-6);
        sort(&mut photos);
        let colours = MeasuredColours {
            model: "ppisp".into(),
            photos,
            left_out: None,
        };
        let wild: Vec<&str> = colours.wild().map(|row| row.name.as_str()).collect();
        assert_eq!(wild, ["<flash>.png"]);
        let html = colours.to_html();
        assert_contains!(html, "<li>&lt;flash&gt;.png (-1.50 stops, tint 0 %)");
    }

    /// A capture whose exposures differ much, and one in which they do not.
    #[test]
    fn wide_and_narrow_captures_have_none() {
        for step in [0.4, 0.001] {
            let mut photos: Vec<ColourRow> = (0..9)
                .map(|i| photo("a", step * (i as f32 - 4.0)))
                .collect();
            photos.push(photo("b", step * 6.0));
            sort(&mut photos);
            assert!(photos.iter().all(|row| !row.out_of_line), "{photos:?}");
        }
    }
}
