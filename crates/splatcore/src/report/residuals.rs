//! How well the finished scene shows the photos trained on, and which of them are out of line.

use super::pictures::ViewPictures;
use super::weak::{Rule, link};
use crate::output::{counted, decibels};
use serde::Serialize;
use splatcore_papers::page::escape;
use std::fmt::Write;

/// Photos of good captures are at most 7 times as far below the median as half of the photos are
/// from it (fox, bonsai, sceaux, statue, corridor, demo), photos of noise and of a single colour at
/// least 13 times (fox, bonsai, demo).
const RULE: Rule = Rule {
    min_gap: 4.0,
    spreads: 9.0,
};
/// Names that a line on the terminal has room for.
const MAX_NAMED: usize = 3;
/// Photos out of line that are listed.
const MAX_LISTED: usize = 20;
/// What a reader can do about them.
const REMEDY: &str = "look whether they are sharp, belong to the capture and have the right pose; \
                      move the files of those that do not elsewhere, which leaves them out, or \
                      mask what is not of the scene";

/// How well the finished scene shows photos that it was trained on.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredResiduals {
    /// Each side of photos and renders was divided by this.
    pub reduced_by: u32,
    /// Of the PSNRs, dB.
    pub median: f64,
    /// The photos that were looked at, those out of line first, the worst before the others.
    pub photos: Vec<ResidualRow>,
}

/// How well the scene shows a photo.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResidualRow {
    /// The photo's name.
    pub name: String,
    /// dB.
    pub psnr: f64,
    /// Far below what the others have.
    pub out_of_line: bool,
}

impl MeasuredResiduals {
    /// Of names and PSNRs.
    pub fn of(reduced_by: u32, found: Vec<(String, f64)>) -> Self {
        let psnrs: Vec<f64> = found.iter().map(|(_, psnr)| *psnr).collect();
        let (median, limit) = RULE.limit(&psnrs);
        let row = |(name, psnr)| ResidualRow {
            name,
            psnr,
            out_of_line: psnr < limit,
        };
        let mut photos: Vec<ResidualRow> = found.into_iter().map(row).collect();
        photos.sort_by(|a, b| a.psnr.total_cmp(&b.psnr));
        Self {
            reduced_by,
            median,
            photos,
        }
    }

    fn wild(&self) -> impl Iterator<Item = &ResidualRow> {
        self.photos.iter().filter(|row| row.out_of_line)
    }

    /// Says on stderr, in one line, which are out of line; nothing if none is.
    pub fn tell(&self) {
        if let Some(line) = self.line() {
            eprintln!("warning: {line}");
        }
    }

    fn line(&self) -> Option<String> {
        let named = self.wild().take(MAX_NAMED);
        let named: Vec<String> = named
            .map(|row| format!("{} ({})", row.name, decibels(row.psnr)))
            .collect();
        let count = self.wild().count();
        let more = if count > MAX_NAMED { ", ..." } else { "" };
        (count > 0).then(|| {
            format!(
                "the scene shows {} of those trained on far worse than the others (median {} dB): \
                 {}{more}: {REMEDY}",
                counted(count, "photo"),
                decibels(self.median),
                named.join(", ")
            )
        })
    }

    /// A list of the photos out of line, with links to the pictures that there are.
    pub fn to_html(&self, pictures: &[ViewPictures]) -> String {
        let count = self.wild().count();
        let note = match count {
            0 => "None is out of line.".into(),
            _ => format!("{count} out of line: {REMEDY}."),
        };
        let looked_at = counted(self.photos.len(), "photo");
        let mut out = format!(
            "<h2>Photos trained on</h2>\n<p class=\"note\">PSNR of {looked_at} on the finished \
             scene, a median of {} dB. {note}</p>\n<ul>\n",
            decibels(self.median)
        );
        for row in self.wild().take(MAX_LISTED) {
            let name = link(&escape(&row.name), &row.name, pictures);
            // Writing to a String cannot fail.
            let _ = writeln!(out, "<li>{name} {} dB</li>", decibels(row.psnr));
        }
        out + "</ul>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(psnrs: &[f64]) -> MeasuredResiduals {
        let name = |(i, &psnr): (usize, &f64)| (format!("<{i}>.jpg"), psnr);
        MeasuredResiduals::of(2, psnrs.iter().enumerate().map(name).collect())
    }

    #[test]
    fn a_photo_that_is_not_of_the_scene_is_named() {
        // fox with a photo of noise and one of a single colour.
        let found = of(&[
            31.0, 32.4, 5.2, 30.1, 33.0, 24.1, 11.6, 31.2, 29.9, 32.0, 30.6,
        ]);
        let wild: Vec<&str> = found.wild().map(|row| &*row.name).collect();
        assert_eq!(wild, ["<2>.jpg", "<6>.jpg"]);
        let line = found.line().unwrap();
        let words = "2 photos of those trained on far worse than the others (median 30.60 dB): ";
        assert_contains!(line, words, "<2>.jpg (5.20), <6>.jpg (11.60): look");
        let html = found.to_html(&[]);
        assert_contains!(html, "<li>&lt;2&gt;.jpg 5.20 dB</li>", "2 out of line");
    }

    #[test]
    fn captures_without_such_a_photo_have_none() {
        // Nearly equal, one hard photo, very different ones, too few.
        for psnrs in [
            &[30.0, 30.1, 29.9, 30.0, 27.0][..],
            &[31.6, 32.8, 30.4, 31.0, 32.5, 26.0],
            &[15.0, 18.0, 22.0, 25.0, 29.0, 33.0],
            &[30.0, 5.0, 30.0],
            &[],
        ] {
            let found = of(psnrs);
            assert_eq!(found.line(), None, "{psnrs:?}");
            assert_contains!(found.to_html(&[]), "None is out of line");
        }
    }
}
