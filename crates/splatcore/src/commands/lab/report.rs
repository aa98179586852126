//! `splatcore lab report`: a page about an experiment.

use super::accept::diff;
use super::toolbox::Build;
use super::words::said;
use crate::report::chart::{Chart, Line};
use anyhow::{Context, Result};
use splatcore_lab::Texts;
use splatcore_lab::evaluate::Toolbox;
use splatcore_lab::experiment::Folder;
use splatcore_lab::journal::State;
use splatcore_lab::summary::{Row, Summary};
use splatcore_papers::page::escape;
use std::fmt::Write;
use std::path::PathBuf;

/// Write EXP/report.html: best so far, error rate, rejections by gate, every candidate with its
/// parents, and the winner's changes.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the experiment
    folder: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let folder = Folder::open(&args.folder)?;
    let summary = Summary::of(folder.journal.entries());
    let state = State::replay(Texts::new(), folder.journal.entries(), &folder.blobs)?;
    let changed = summary.best().and_then(|best| {
        let judged = state.history.find(&best.id)?;
        Some(diff(
            Build::without_device().ok()?.kernels(),
            &judged.candidate.changed,
        ))
    });
    let file = args.folder.join("report.html");
    let title = args
        .folder
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    std::fs::write(&file, page(&title, &folder, &summary, changed.as_deref()))
        .with_context(|| file.display().to_string())?;
    println!("{}", file.display());
    Ok(())
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
    padding:0 1rem;color:#222}table{border-collapse:collapse;width:100%}td,th{text-align:left;\
    padding:.2rem .6rem;border-bottom:1px solid #ddd;vertical-align:top}pre{background:#f5f5f3;\
    padding:1rem;overflow-x:auto}svg{width:100%;max-width:34rem}.grid{stroke:#ddd}\
    .axis{stroke:#888}.tick{font-size:11px;fill:#555}.line{fill:none;stroke-width:2}\
    .line0,.key0{stroke:#2456a6;color:#2456a6}.label{font-size:12px;fill:#333}";

fn page(title: &str, folder: &Folder, summary: &Summary, changed: Option<&str>) -> String {
    let task = &folder.experiment.task;
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{0}</title>\
         <style>{STYLE}</style>\n<h1>{0}</h1>\n<p>{1} in <code>{2}</code>.</p>\n",
        escape(title),
        escape(&task.files.join(", ")),
        escape(&task.pipeline)
    );
    if let Some(opened) = &summary.opened {
        let _ = writeln!(
            out,
            "<p>{}; splatcore {}; workers confined by {}.</p>",
            escape(&opened.device),
            escape(&opened.version),
            escape(&opened.sandbox)
        );
    }
    let _ = writeln!(
        out,
        "<p>{} candidates, {:.0} device seconds. {}</p>",
        summary.candidates.len(),
        summary.device_seconds,
        match summary.noise {
            Some(noise) => format!(
                "The baseline against itself: {:.4} ({:.4} to {:.4}).",
                noise.ratio, noise.low, noise.high
            ),
            None => "Nothing was timed.".into(),
        }
    );
    let x_label = "candidates";
    out += &chart(
        "Speed-up of the best so far",
        x_label,
        &summary.best_so_far(),
    );
    out += &chart(
        "Share of candidates that a gate stopped",
        x_label,
        &summary.error_rate(),
    );
    out += "<h2>Stopped by</h2>\n<table>";
    for (gate, count) in summary.rejections() {
        let _ = writeln!(out, "<tr><td>{gate}<td>{count}");
    }
    out += "</table>\n<h2>Made by</h2>\n<table><tr><th>way<th>proposed<th>faster<th>stopped\n";
    for (operator, [proposed, faster, rejected]) in summary.operators() {
        let _ = writeln!(
            out,
            "<tr><td>{operator}<td>{proposed}<td>{faster}<td>{rejected}"
        );
    }
    out += "</table>\n<h2>Candidates</h2>\n<table><tr><th>id<th>from<th>what<th>came of it\n";
    summary
        .candidates
        .iter()
        .for_each(|row| out += &candidate(row));
    out += "</table>\n";
    if let Some(changed) = changed {
        let _ = writeln!(
            out,
            "<h2>The best one's changes</h2>\n<pre>{}</pre>",
            escape(changed)
        );
    }
    out
}

fn chart(title: &str, x_label: &str, values: &[f64]) -> String {
    let points = values.iter().enumerate().map(|(n, &y)| ((n + 1) as f64, y));
    let chart = Chart {
        title: title.into(),
        x_label: x_label.into(),
        lines: vec![Line {
            name: title.into(),
            points: points.collect(),
        }],
    };
    chart.to_svg()
}

fn candidate(row: &Row) -> String {
    let parents: Vec<&str> = row.parents.iter().map(|id| id.short()).collect();
    let verdict = row.verdict.as_ref().map_or("in work".into(), said);
    let mut lines = verdict.lines();
    let first = lines.next().unwrap_or_default();
    format!(
        "<tr><td><code>{}</code><td><code>{}</code><td>{}<td>{}\n",
        row.id,
        parents.join(", "),
        escape(&row.about),
        escape(first)
    )
}
