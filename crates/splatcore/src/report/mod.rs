//! `report.html`: one file that shows how a run went, readable offline in any browser. It has no
//! scripts but those of the scene's page ([`crate::sharing`]), which stands in a frame of its own.

mod cameras;
pub mod chart;
mod colours;
mod compare;
mod intrinsics;
mod pictures;
mod poses;
mod residuals;
mod weak;

pub use cameras::{MeasuredCameras, MeasuredMotion};
pub use chart::{Chart, Line};
pub use colours::MeasuredColours;
pub use compare::{ComparedRun, comparison};
pub use intrinsics::{LensRow, MeasuredIntrinsics};
pub use pictures::ViewPictures;
pub use poses::{MeasuredPoses, PoseRow, Reprojection};
pub use residuals::MeasuredResiduals;
pub use weak::{WeakViews, weak_views};

pub use crate::output::decibels;

use splatcore_core::heat::{BRIGHTEST_ERROR, HEAT};
use splatcore_papers::page::{document, escape, summary};
use std::fmt::Write;
use std::path::Path;

/// At most this many views get pictures: a page of hundreds of photos opens slowly.
pub const MAX_VIEWS: usize = 40;

/// The scene of a report.
#[derive(Default)]
pub enum Scene {
    /// Not shown.
    #[default]
    Absent,
    /// Its page, which a frame holds: the page has a policy, keys and styles of its own.
    Page(String),
    /// What to do to see it.
    Hint(String),
}

/// Everything a report shows.
#[derive(Default)]
pub struct Report {
    /// Heading.
    pub title: String,
    /// Names and values of the table at the top.
    pub summary: Vec<(String, String)>,
    /// The scene to look at.
    pub scene: Scene,
    /// Training curves.
    pub charts: Vec<Chart>,
    /// Heading of the pictures, for example "Held-out views".
    pub views_title: String,
    /// Photo, render and error of each view.
    pub views: Vec<ViewPictures>,
    /// Views that are far below the others.
    pub weak: WeakViews,
    /// How well the photos trained on are shown, of a run.
    pub residuals: Option<MeasuredResiduals>,
    /// What became of the poses, if they were refined.
    pub poses: Option<MeasuredPoses>,
    /// What a colour model found, if one was learned.
    pub colours: Option<MeasuredColours>,
    /// What became of the intrinsics, likewise.
    pub intrinsics: Option<MeasuredIntrinsics>,
    /// The run's config as TOML.
    pub config: Option<String>,
}

impl Report {
    /// The whole page.
    pub fn to_html(&self) -> String {
        let mut out = summary(&self.summary);
        out.push_str(&self.weak.to_html(&self.views));
        if let Some(residuals) = &self.residuals {
            out.push_str(&residuals.to_html(&self.views));
        }
        self.write_scene(&mut out);
        let charts: String = self.charts.iter().map(Chart::to_svg).collect();
        if !charts.is_empty() {
            let _ = writeln!(
                out,
                "<h2>Training</h2>\n<div class=\"charts\">\n{charts}</div>"
            );
        }
        self.write_views(&mut out);
        if let Some(colours) = &self.colours {
            out.push_str(&colours.to_html());
        }
        if let Some(intrinsics) = &self.intrinsics {
            out.push_str(&intrinsics::to_html(intrinsics));
        }
        if let Some(poses) = &self.poses {
            out.push_str(&poses::to_html(poses));
        }
        if let Some(config) = &self.config {
            let _ = writeln!(out, "<h2>Config</h2>\n<pre>{}</pre>", escape(config));
        }
        document(&self.title, &out)
    }

    /// Writes the page; the final name never holds half of it. Says which views are weak.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        splatcore_data::file::write_bytes(path, self.to_html().as_bytes())?;
        self.weak.tell(path);
        Ok(())
    }

    fn write_scene(&self, out: &mut String) {
        // Writing to a String cannot fail, so the result is let go.
        let _ = match &self.scene {
            Scene::Absent => return,
            Scene::Page(html) => writeln!(
                out,
                "<h2>Scene</h2>\n<iframe title=\"The scene\" sandbox=\"allow-scripts \
                 allow-downloads\" loading=\"lazy\" \
                 style=\"width:100%;height:75vh;border:0\" srcdoc=\"{}\"></iframe>",
                escape(html)
            ),
            Scene::Hint(text) => {
                writeln!(
                    out,
                    "<h2>Scene</h2>\n<p class=\"note\">{}</p>",
                    escape(text)
                )
            }
        };
    }

    fn write_views(&self, out: &mut String) {
        if self.views.is_empty() {
            return;
        }
        let colours: Vec<String> = HEAT
            .iter()
            .map(|[r, g, b]| format!("rgb({r},{g},{b})"))
            .collect();
        let _ = writeln!(
            out,
            "<h2>{}</h2>\n<p class=\"note\">Photo, render, and error: the mean over red, green and \
             blue of \
             |render - photo|, from 0 <span class=\"scale\" \
             style=\"background:linear-gradient(90deg,{})\"></span> \
             to {BRIGHTEST_ERROR} and more, the same scale for every view.</p>",
            escape(&self.views_title),
            colours.join(",")
        );
        for (i, view) in self.views.iter().enumerate() {
            let score = &view.score;
            let name = escape(&score.name);
            let lpips = score.lpips.map(|lpips| format!(", LPIPS {lpips:.4}"));
            let _ = writeln!(
                out,
                "<section id=\"view-{i}\"><h3>{name} <span class=\"note\">PSNR {} dB, SSIM \
                 {:.4}{}</span></h3>\n\
                 <div class=\"row\">",
                decibels(score.psnr),
                score.ssim,
                lpips.unwrap_or_default()
            );
            for (label, uri) in [
                ("photo", &view.photo),
                ("render", &view.render),
                ("error", &view.error),
            ] {
                let _ = writeln!(
                    out,
                    "<figure><img src=\"{uri}\" alt=\"{label} of {name}\" loading=\"lazy\">\
                     <figcaption>{label}</figcaption></figure>"
                );
            }
            out.push_str("</div></section>\n");
        }
    }
}

/// The indices of the views that get pictures: all, or [`MAX_VIEWS`] evenly spread.
pub fn pictured(count: usize) -> Vec<usize> {
    let shown = count.min(MAX_VIEWS);
    (0..shown).map(|i| i * count / shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::{Camera, Image, Photo, View};
    use splatcore_train::evaluate::ViewScore;

    fn report() -> Report {
        let photo = Photo::opaque(4, 2, (0..24).map(|v| v * 10).collect());
        let view = View {
            name: "<script>.png".into(),
            camera: Camera::look_at([0.0, 0.0, -2.0], [0.0; 3], [0.0, -1.0, 0.0], 1.0, 4, 2),
            photo,
        };
        let score = ViewScore {
            name: view.name.clone(),
            psnr: f64::INFINITY,
            ssim: 1.0,
            psnr_aligned: None,
            lpips: Some(0.25),
            depth: None,
            region: None,
        };
        Report {
            title: "a & b".into(),
            summary: vec![("PSNR".into(), "30 dB".into())],
            charts: vec![Chart {
                title: "Loss".into(),
                x_label: "step".into(),
                lines: vec![Line {
                    name: "loss".into(),
                    points: vec![(1.0, 0.5), (100.0, 0.1)],
                }],
            }],
            views_title: "Held-out views".into(),
            views: vec![ViewPictures::new(&view, &Image::filled(4, 2, [0.5; 3]), &score).unwrap()],
            config: Some("x = \"<>\"".into()),
            ..Report::default()
        }
    }

    #[test]
    fn everything_from_outside_is_escaped() {
        let html = report().to_html();
        assert!(!html.contains("<script"), "{html}");
        assert!(
            html.contains("a &amp; b")
                && html.contains("&lt;script&gt;.png")
                && html.contains("&lt;&gt;")
        );
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        let html = report().to_html();
        assert!(
            !html.contains("http:") && !html.contains("https:") && !html.contains("url("),
            "{html}"
        );
        assert_eq!(html.matches("data:image/jpeg;base64,").count(), 3);
        assert_contains!(html, "SSIM 1.0000, LPIPS 0.2500");
        for tag in [
            "section", "figure", "table", "svg", "div", "h2", "body", "html",
        ] {
            let (open, close) = (
                html.matches(&format!("<{tag}")).count(),
                html.matches(&format!("</{tag}>")).count(),
            );
            assert!(
                open == close && open > 0,
                "{tag}: {open} opened, {close} closed"
            );
        }
    }

    /// The frame's text is an attribute: nothing in it may end that, and the page's own scripts do
    /// not become the report's.
    #[test]
    fn a_scene_stands_in_a_frame() {
        let page = "<!doctype html><script>\"a\" && '</iframe>'</script>";
        let report = Report {
            scene: Scene::Page(page.into()),
            ..report()
        };
        let html = report.to_html();
        assert!(!html.contains("<script"), "{html}");
        let (_, rest) = html.split_once("srcdoc=\"").unwrap();
        let (text, rest) = rest.split_once('"').unwrap();
        assert!(rest.starts_with("></iframe>"));
        let text = text.replace("&lt;", "<").replace("&gt;", ">");
        let text = text
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&amp;", "&");
        assert_eq!(text, page);
        let hint = Report {
            scene: Scene::Hint("see <it>".into()),
            ..Report::default()
        };
        assert!(hint.to_html().contains("see &lt;it&gt;"));
    }

    /// Each weak view leads to its pictures; one without pictures is named all the same.
    #[test]
    fn weak_views_are_linked_to_their_pictures() {
        let scores = [
            ("<script>.png", 9.0),
            ("b", 30.0),
            ("c", 30.0),
            ("d", 30.0),
            ("e", 8.0),
        ];
        let html = Report {
            weak: weak::weak_of(scores.into_iter()),
            ..report()
        };
        let html = html.to_html();
        assert_contains!(html, "<li>e 8.00 dB</li>");
        let link = "<a href=\"#view-0\">&lt;script&gt;.png</a> 9.00 dB";
        assert!(
            html.contains(link) && html.contains("<section id=\"view-0\">"),
            "{html}"
        );
        assert!(!report().to_html().contains("Weak views"));
    }

    #[test]
    fn pictures_are_spread_over_the_views() {
        assert_eq!(pictured(3), [0, 1, 2]);
        let many = pictured(250);
        assert!(
            many.len() == MAX_VIEWS
                && many[0] == 0
                && many[39] > 240
                && many.windows(2).all(|w| w[0] < w[1])
        );
        assert!(pictured(0).is_empty());
    }
}
