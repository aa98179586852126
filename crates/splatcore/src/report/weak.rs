//! Views that are far below the others: where a scene is worst, or a photo is.

use super::pictures::ViewPictures;
use crate::output::decibels;
use splatcore_papers::page::escape;
use splatcore_train::evaluate::ViewScore;
use std::fmt::Write;
use std::path::Path;

/// Fewer views have no middle to be below of.
const MIN_VIEWS: usize = 4;
/// At most so many are listed, the weakest.
const MAX_LISTED: usize = 10;
/// Names that a line on the terminal has room for.
const MAX_NAMED: usize = 3;
/// 3 dB are as visible as half of the error away.
const RULE: Rule = Rule {
    min_gap: 3.0,
    spreads: 3.0,
};

/// When a view is far below the others.
pub(super) struct Rule {
    /// It is this far below the median, dB.
    pub min_gap: f64,
    /// And this many times as far as half of the views are: where views differ much, more are
    /// normal.
    pub spreads: f64,
}

impl Rule {
    /// The median of PSNRs, and what is far below it: nothing if they are too few.
    pub fn limit(&self, psnrs: &[f64]) -> (f64, f64) {
        let median = middle(psnrs.to_vec());
        let spread = middle(psnrs.iter().map(|psnr| (psnr - median).abs()).collect());
        let limit = median - self.min_gap.max(self.spreads * spread);
        match psnrs.len() < MIN_VIEWS {
            true => (median, f64::NEG_INFINITY),
            false => (median, limit),
        }
    }
}

/// A name as it stands in a page, which leads to the view's pictures if it has some.
pub(super) fn link(escaped: &str, name: &str, pictures: &[ViewPictures]) -> String {
    let at = pictures.iter().position(|p| p.score.name == name);
    at.map_or(escaped.to_owned(), |at| {
        format!("<a href=\"#view-{at}\">{escaped}</a>")
    })
}

/// A view that is far below the median of all.
#[derive(Clone, Debug, PartialEq)]
pub struct WeakView {
    /// Its place among all that were measured.
    pub index: usize,
    /// The photo's name.
    pub name: String,
    /// dB.
    pub psnr: f64,
}

/// The weak views of an evaluation, the weakest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeakViews {
    /// At most ten.
    pub views: Vec<WeakView>,
    /// Of the PSNR of all views, dB.
    pub median: f64,
}

/// Finds the weak ones.
pub fn weak_views(scores: &[ViewScore]) -> WeakViews {
    weak_of(scores.iter().map(|score| (&*score.name, score.psnr)))
}

/// Finds the weak ones among names and PSNRs.
pub fn weak_of<'a>(scores: impl Iterator<Item = (&'a str, f64)>) -> WeakViews {
    let scores: Vec<(&str, f64)> = scores.collect();
    let psnrs: Vec<f64> = scores.iter().map(|(_, psnr)| *psnr).collect();
    let (median, limit) = RULE.limit(&psnrs);
    let found = scores.iter().enumerate();
    let found = found.filter(|(_, (_, psnr))| *psnr < limit);
    let mut views: Vec<WeakView> = found
        .map(|(index, &(name, psnr))| WeakView {
            index,
            name: name.to_owned(),
            psnr,
        })
        .collect();
    views.sort_by(|a, b| a.psnr.total_cmp(&b.psnr));
    views.truncate(MAX_LISTED);
    WeakViews { views, median }
}

/// The lower median; 0 of nothing.
pub(super) fn middle(mut values: Vec<f64>) -> f64 {
    match values.len().checked_sub(1) {
        Some(last) => *values.select_nth_unstable_by(last / 2, f64::total_cmp).1,
        None => 0.0,
    }
}

impl WeakViews {
    /// Where they are among all views.
    pub fn indices(&self) -> impl Iterator<Item = usize> {
        self.views.iter().map(|view| view.index)
    }

    /// Says on stderr, in one line, which they are; nothing if there are none.
    pub fn tell(&self, page: &Path) {
        if let Some(line) = self.line() {
            eprintln!("{line}: see {}", page.display());
        }
    }

    /// `2 views are far below the median of 28.10 dB: a.jpg (14.20), b.jpg (15.00)`.
    pub fn line(&self) -> Option<String> {
        let named = self.views.iter().take(MAX_NAMED);
        let named: Vec<String> = named
            .map(|view| format!("{} ({})", view.name, decibels(view.psnr)))
            .collect();
        let more = if self.views.len() > MAX_NAMED {
            ", ..."
        } else {
            ""
        };
        let (median, names) = (decibels(self.median), named.join(", "));
        match self.views.len() {
            0 => None,
            1 => Some(format!(
                "1 view is far below the median of {median} dB: {names}"
            )),
            n => Some(format!(
                "{n} views are far below the median of {median} dB: {names}{more}"
            )),
        }
    }

    /// A list with links to the views' pictures.
    pub fn to_html(&self, pictures: &[ViewPictures]) -> String {
        if self.views.is_empty() {
            return String::new();
        }
        let mut out = format!(
            "<h2>Weak views</h2>\n<p class=\"note\">Far below the median of {} dB. Look whether \
             the photo is blurred, exposed otherwise or posed wrongly, or shows what few others \
             show.</p>\n<ul>\n",
            decibels(self.median)
        );
        for view in &self.views {
            let (name, psnr) = (escape(&view.name), decibels(view.psnr));
            let name = link(&name, &view.name, pictures);
            // Writing to a String cannot fail, so the result is let go.
            let _ = writeln!(out, "<li>{name} {psnr} dB</li>");
        }
        out + "</ul>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_views_are_far_below_the_median() {
        let psnrs = [28.0, 27.0, 14.0, 29.0, 28.5, 24.5, 11.0, 27.5];
        let names: Vec<String> = (0..8).map(|i| format!("{i}.jpg")).collect();
        let weak = weak_of(names.iter().map(String::as_str).zip(psnrs));
        assert_eq!(weak.indices().collect::<Vec<_>>(), [6, 2]);
        assert_eq!(
            weak.line().unwrap(),
            "2 views are far below the median of 27.00 dB: 6.jpg (11.00), 2.jpg (14.00)"
        );
        // Views that differ much have none, nor have three views.
        let wide = [10.0, 14.0, 18.0, 22.0, 26.0, 30.0, 34.0];
        assert_eq!(
            weak_of(names.iter().map(String::as_str).zip(wide)).line(),
            None
        );
        assert_eq!(
            weak_of([("a", 1.0), ("b", 30.0), ("c", 30.0)].into_iter()).views,
            []
        );
        let equal = [("a", f64::INFINITY); 5];
        assert_eq!(weak_of(equal.into_iter()).views, []);
    }
}
