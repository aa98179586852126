//! What became of the photos' poses, photo by photo.

use crate::output::{counted, decibels};
use serde::Serialize;
use splatcore_papers::page::escape;
use std::fmt::Write;

/// What a run says of poses that it refined.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredPoses {
    /// Which poses the quality above is of: `fitted` (held-out photos, each fitted to the finished
    /// scene), `refined` (training photos) or `plain` (the dataset's).
    pub headline: &'static str,
    /// Mean PSNR of the same photos with the dataset's poses, dB.
    pub psnr_plain: f64,
    /// Mean SSIM with those.
    pub ssim_plain: f64,
    /// Of points of the dataset's model in the training photos, where it has tracks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reprojection: Option<Reprojection>,
    /// Every photo, those out of line first.
    pub photos: Vec<PoseRow>,
}

/// Mean errors of reprojection, in pixels of the images in which the points were found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reprojection {
    /// With the dataset's cameras.
    pub before: f64,
    /// With the refined ones.
    pub after: f64,
}

impl Reprojection {
    /// `0.52 -> 0.48 pixels`.
    pub fn told(&self) -> String {
        format!("{:.2} -> {:.2} pixels", self.before, self.after)
    }
}

impl MeasuredPoses {
    /// Names and values for the table at the top.
    pub fn summary(&self) -> Vec<(String, String)> {
        let plain = format!("{} dB", decibels(self.psnr_plain));
        let mut rows = vec![
            ("PSNR with the dataset's poses".into(), plain),
            ("Poses above".into(), self.headline.into()),
        ];
        let told = self.reprojection.as_ref().map(Reprojection::told);
        rows.extend(told.map(|told| ("Mean error of reprojection".into(), told)));
        rows
    }

    /// A line for each kind of photos out of line, with what to do.
    pub fn out_of_line(&self) -> Vec<String> {
        let line = |(of_kind, what): &Remedy| {
            let rows = self.photos.iter().filter(|row| of_kind(row));
            let names: Vec<&str> = rows.map(|row| &*row.name).collect();
            let more = if names.len() > MAX_NAMED { ", ..." } else { "" };
            let named = names[..names.len().min(MAX_NAMED)].join(", ");
            let count = counted(names.len(), "pose");
            (!names.is_empty()).then(|| format!("{count} ({named}{more}) {what}"))
        };
        REMEDIES.iter().filter_map(line).collect()
    }
}

/// What became of a photo's pose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoseRow {
    /// The photo's name.
    pub name: String,
    /// It was not trained on; its pose was fitted to the finished scene.
    pub held_out: bool,
    /// By how much it has turned.
    pub degrees: f64,
    /// By how much it has moved, as a share of the extent of the cameras.
    pub share: f64,
    /// Far from what the others have changed by, held by a limit, or worse.
    pub out_of_line: bool,
    /// A limit holds it.
    pub at_limit: bool,
    /// The scene shows the photo worse with it than with the dataset's pose.
    pub worse: bool,
    /// With the dataset's pose, of the finished scene, dB.
    pub psnr_before: f64,
    /// With the refined pose, dB.
    pub psnr_after: f64,
}

/// Names that a line on the terminal has room for.
const MAX_NAMED: usize = 3;
/// Rows beyond those out of line.
const MAX_ROWS: usize = 40;

/// What a reader can do about photos of a kind: how a row tells, and a sentence.
type Remedy = (fn(&PoseRow) -> bool, &'static str);
const REMEDIES: [Remedy; 3] = [
    (
        |row| row.at_limit,
        "at a limit: the photo fits nowhere near its pose, or the limits are too narrow for these \
         poses; leave it out, or raise --pose-degrees or --pose-shift",
    ),
    (
        |row| row.worse,
        "worse than with the dataset's pose: the pose has run away, or the photo shows what hardly \
         another shows; leave it out, or lower --pose-travel",
    ),
    (
        |row| row.out_of_line && !row.at_limit && !row.worse,
        "out of line: look whether the photo is sharp and belongs to the capture, and leave it out \
         if not",
    ),
];

/// The table: photos out of line first.
pub fn to_html(poses: &MeasuredPoses) -> String {
    let mut out = String::from(
        "<h2>Poses</h2>\n<p class=\"note\">By how much each photo's pose was changed, in degrees \
         and as a share of the extent of the cameras, and its PSNR on the finished scene with the \
         dataset's pose and with the changed one.",
    );
    if poses.headline == "fitted" {
        out.push_str(
            " The pose of a held-out photo was fitted to the finished scene by the whole photo: of \
             the poses that were tried, from the dataset's on, the one with the lowest loss.",
        );
    }
    let wild = poses.photos.iter().filter(|row| row.out_of_line).count();
    if wild == 0 {
        out.push_str(" None is out of line.");
    }
    out.push_str("</p>\n");
    for (of_kind, what) in REMEDIES {
        let count = poses.photos.iter().filter(|row| of_kind(row)).count();
        if count > 0 {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "<p class=\"note\">{count} {what}.</p>");
        }
    }
    out.push_str(
        "<table>\n<tr><th>photo</th><th></th><th>degrees</th><th>share</th><th>PSNR before</th>\
         <th>PSNR after</th></tr>\n",
    );
    let shown = wild.max(MAX_ROWS).min(poses.photos.len());
    for row in &poses.photos[..shown] {
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{:.3}</td><td>{:.2} %</td><td>{}</td><td>{}</td></tr>",
            escape(&row.name),
            remarks(row),
            row.degrees,
            100.0 * row.share,
            decibels(row.psnr_before),
            decibels(row.psnr_after)
        );
    }
    out.push_str("</table>\n");
    if shown < poses.photos.len() {
        let _ = writeln!(
            out,
            "<p class=\"note\">{} more are in metrics.json.</p>",
            poses.photos.len() - shown
        );
    }
    out
}

fn remarks(row: &PoseRow) -> String {
    let all = [
        (
            row.out_of_line && !row.at_limit && !row.worse,
            "out of line",
        ),
        (row.at_limit, "at its limit"),
        (row.worse, "worse"),
        (row.held_out, "held out"),
    ];
    let those: Vec<&str> = all
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, word)| *word)
        .collect();
    those.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_escaped_and_counted() {
        let row = |name: &str, out_of_line| PoseRow {
            name: name.into(),
            held_out: false,
            degrees: 0.5,
            share: 0.01,
            out_of_line,
            at_limit: false,
            worse: false,
            psnr_before: 20.0,
            psnr_after: 25.5,
        };
        let mut photos = vec![row("<b>.jpg", true)];
        photos.push(PoseRow {
            worse: true,
            ..row("astray.jpg", true)
        });
        photos.extend(["x", "y", "z"].map(|name| row(name, true)));
        photos.extend((0..46).map(|i| row(&format!("{i}.jpg"), false)));
        let poses = MeasuredPoses {
            headline: "fitted",
            psnr_plain: 20.0,
            ssim_plain: 0.5,
            reprojection: Some(Reprojection {
                before: 0.514,
                after: 0.486,
            }),
            photos,
        };
        let told = "0.51 -> 0.49 pixels";
        assert!(poses.summary().iter().any(|(_, value)| value == told));
        // The terminal names what the page names.
        let [worse, far] = poses.out_of_line().try_into().unwrap();
        assert_contains!(worse, "1 pose (astray.jpg) worse than", "--pose-travel");
        assert_contains!(far, "4 poses (<b>.jpg, x, y, ...) out of line: look");
        let html = to_html(&poses);
        assert!(html.contains("&lt;b&gt;.jpg</td><td>out of line</td><td>0.500</td><td>1.00 %"));
        assert_contains!(html, "25.50", "4 out of line");
        assert!(html.contains("1 worse than") && html.contains("astray.jpg</td><td>worse</td>"));
        assert!(html.contains("lowest loss") && !html.contains("at a limit"));
        assert!(
            html.contains("11 more") && html.matches("<tr>").count() == 41,
            "{html}"
        );
    }
}
