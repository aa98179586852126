//! Several runs on one page: the settings that differ, final numbers, curves in one chart, pictures
//! side by side.

use super::pictures::ViewPictures;
use super::weak::weak_of;
use super::{Chart, Line, decibels};
use crate::output::{duration, thousands};
use crate::run::Metrics;
use splatcore_papers::page::{document, escape};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A finished run.
pub struct ComparedRun {
    /// As its folder was typed.
    pub name: String,
    /// Its metrics.json.
    pub metrics: Metrics,
    /// Keys and values of its config.toml.
    pub settings: BTreeMap<String, String>,
    /// Pictures of the same views for every run; none without a dataset.
    pub views: Vec<ViewPictures>,
}

/// The page about runs.
pub fn comparison(runs: &[ComparedRun]) -> String {
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    let mut body = String::from("<h2>Results</h2>\n");
    body += &table(&names, &results(runs));
    let charts: String = charts(runs).iter().map(Chart::to_svg).collect();
    if !charts.is_empty() {
        body += &format!("<h2>Training</h2>\n<div class=\"charts\">\n{charts}</div>\n");
    }
    let differing = differing(runs);
    if runs.len() > 1 {
        body += "<h2>Settings that differ</h2>\n";
        body += &match differing.is_empty() {
            true => "<p class=\"note\">None.</p>\n".to_owned(),
            false => table(&names, &differing),
        };
    }
    write_views(runs, &mut body);
    document("splatcore training runs", &body)
}

/// A row for each number, with a cell for each run.
fn results(runs: &[ComparedRun]) -> Vec<(String, Vec<String>)> {
    let row = |name: &str, cell: &dyn Fn(&Metrics) -> String| {
        let cells = runs.iter().map(|run| cell(&run.metrics)).collect();
        (name.to_owned(), cells)
    };
    vec![
        row("PSNR, dB", &|m| decibels(m.psnr)),
        row("SSIM", &|m| format!("{:.4}", m.ssim)),
        row("Measured on", &|m| match m.split.as_str() {
            "test" => format!("{} held-out photos", m.views.len()),
            _ => format!("{} training photos", m.views.len()),
        }),
        row("Weak views", &|m| {
            let scores = m.views.iter();
            let scores = scores.map(|v| (&*v.name, v.psnr.unwrap_or(f64::INFINITY)));
            weak_of(scores).line().unwrap_or_else(|| "none".into())
        }),
        row("Gaussians", &|m| thousands(m.gaussians as u64)),
        row("Steps", &|m| thousands(m.steps.into())),
        row("Time trained", &|m| duration(m.seconds)),
    ]
}

/// The settings that are not the same in all runs.
fn differing(runs: &[ComparedRun]) -> Vec<(String, Vec<String>)> {
    let keys: BTreeMap<&String, ()> = runs
        .iter()
        .flat_map(|run| run.settings.keys())
        .map(|key| (key, ()))
        .collect();
    let row = |key: &String| {
        let value = |run: &ComparedRun| run.settings.get(key).cloned().unwrap_or_default();
        (key.clone(), runs.iter().map(value).collect::<Vec<_>>())
    };
    let rows = keys.into_keys().map(row);
    rows.filter(|(_, values)| values.windows(2).any(|pair| pair[0] != pair[1]))
        .collect()
}

/// Loss, Gaussians and PSNR over the seconds trained, a line for each run.
fn charts(runs: &[ComparedRun]) -> Vec<Chart> {
    let chart = |title: &str, points: &dyn Fn(&Metrics) -> Vec<(f64, f64)>| Chart {
        title: title.into(),
        x_label: "seconds trained".into(),
        lines: runs
            .iter()
            .map(|run| Line {
                name: run.name.clone(),
                points: points(&run.metrics),
            })
            .collect(),
    };
    vec![
        chart("Loss (smoothed)", &|m| {
            m.curve.iter().map(|p| (p.seconds, p.loss)).collect()
        }),
        chart("Gaussians", &|m| {
            m.curve
                .iter()
                .map(|p| (p.seconds, p.gaussians as f64))
                .collect()
        }),
        chart("PSNR of the measured photos, dB", &|m| {
            m.measured
                .iter()
                .map(|p| (m.seconds_at(p.step), p.psnr))
                .collect()
        }),
    ]
}

/// A table with a column for each run.
fn table(names: &[&str], rows: &[(String, Vec<String>)]) -> String {
    let cells = |tag: &str, texts: &mut dyn Iterator<Item = &str>| -> String {
        texts
            .map(|text| format!("<{tag}>{}</{tag}>", escape(text)))
            .collect()
    };
    let head = cells("th", &mut names.iter().copied());
    let mut out = format!("<table class=\"summary\">\n<tr><th></th>{head}</tr>\n");
    for (name, values) in rows {
        let values = cells("td", &mut values.iter().map(String::as_str));
        // Writing to a String cannot fail, so the result is let go.
        let _ = writeln!(out, "<tr><th>{}</th>{values}</tr>", escape(name));
    }
    out + "</table>\n"
}

/// A row for each view: the photo, and every run's render.
fn write_views(runs: &[ComparedRun], out: &mut String) {
    let Some(first) = runs.first().filter(|run| !run.views.is_empty()) else {
        return;
    };
    out.push_str("<h2>Views</h2>\n");
    let figure = |uri: &str, caption: &str| {
        let caption = escape(caption);
        format!(
            "<figure><img src=\"{uri}\" alt=\"{caption}\" loading=\"lazy\">\
             <figcaption>{caption}</figcaption></figure>\n"
        )
    };
    for (i, view) in first.views.iter().enumerate() {
        let name = escape(&view.score.name);
        out.push_str(&format!("<section><h3>{name}</h3>\n<div class=\"row\">\n"));
        out.push_str(&figure(&view.photo, "photo"));
        for run in runs {
            if let Some(view) = run.views.get(i) {
                let caption = format!("{}: {} dB", run.name, decibels(view.score.psnr));
                out.push_str(&figure(&view.render, &caption));
            }
        }
        out.push_str("</div></section>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Measured;
    use splatcore_train::CurvePoint;

    fn run(name: &str, strategy: &str, psnr: f64) -> ComparedRun {
        let point = |step: u32, loss| CurvePoint {
            step,
            loss,
            gaussians: 100,
            seconds: f64::from(step) / 10.0,
        };
        let settings = [("seed", "1"), ("strategy", strategy)];
        ComparedRun {
            name: name.into(),
            metrics: Metrics {
                psnr,
                ssim: 0.5,
                gaussians: 1234,
                split: "test".into(),
                seconds: 20.0,
                steps: 200,
                curve: vec![point(0, 0.5), point(100, 0.2), point(200, 0.1)],
                measured: vec![
                    Measured {
                        step: 50,
                        psnr: 20.0,
                    },
                    Measured { step: 200, psnr },
                ],
                ..Metrics::default()
            },
            settings: settings.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            views: Vec::new(),
        }
    }

    #[test]
    fn what_differs_is_shown_and_what_does_not_is_not() {
        let html = comparison(&[run("a<b>", "\"adc\"", 30.0), run("c", "\"mcmc\"", 31.5)]);
        assert!(
            html.contains("<th>strategy</th><td>&quot;adc&quot;</td><td>&quot;mcmc&quot;</td>")
        );
        assert!(
            !html.contains("<th>seed</th>") && !html.contains("<b>"),
            "{html}"
        );
        assert_contains!(html, "<td>30.00</td><td>31.50</td>");
        assert!(html.contains("<td>1,234</td>"));
        assert_eq!(html.matches("<svg").count(), 3);
        assert_eq!(html.matches("<polyline").count(), 6);
        let same = comparison(&[run("a", "x", 30.0), run("b", "x", 30.0)]);
        assert!(same.contains("<p class=\"note\">None.</p>"));
    }

    #[test]
    fn steps_have_the_seconds_of_the_curve() {
        let metrics = run("a", "x", 30.0).metrics;
        for (step, seconds) in [(0, 0.0), (50, 5.0), (150, 15.0), (200, 20.0), (900, 20.0)] {
            assert!((metrics.seconds_at(step) - seconds).abs() < 1e-9, "{step}");
        }
    }
}
