//! One experiment: what it changes, what became of every candidate and every advice.

use super::read::Read;
use crate::report::chart::{Chart, Line};
use splatcore_lab::figures::advice;
use splatcore_lab::summary::{Row, Summary};
use splatcore_papers::page::{escape, summary};
use std::fmt::Write;

pub(super) fn section(read: &Read) -> String {
    let found = &read.source.summary;
    let mut out = format!(
        "<h2>{}</h2>\n{}<div class=\"charts\">\n",
        escape(&read.source.name),
        summary(&facts(read))
    );
    let so_far = match found.best() {
        Some(_) => found.best_so_far(),
        None => vec![],
    };
    out += &chart("Speed-up of the best so far", &so_far);
    out += &chart(
        "Share of candidates that a gate stopped",
        &found.error_rate(),
    );
    out += "</div>\n";
    out += &counts(found);
    out += &advice_table(found);
    out += "<h3>Candidates</h3>\n<div class=\"wide\"><table class=\"numbers\">\
            <tr><th>id</th><th>from</th><th>what</th><th>what came of it</th></tr>\n";
    found
        .candidates
        .iter()
        .for_each(|row| out += &candidate(row));
    out += "</table></div>\n";
    if let Some(changed) = &read.changed {
        let _ = writeln!(
            out,
            "<h3>The best one's changes</h3>\n<pre>{}</pre>",
            escape(changed)
        );
    }
    out
}

fn facts(read: &Read) -> Vec<(String, String)> {
    let found = &read.source.summary;
    let task = &read.experiment.task;
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let mut facts = vec![
        fact("files", task.files.join(", ")),
        fact("pipeline", task.pipeline.clone()),
        fact("seed", read.experiment.seed.to_string()),
        fact("candidates", found.candidates.len().to_string()),
        fact("device seconds", format!("{:.0}", found.device_seconds)),
    ];
    if let Some(opened) = &found.opened {
        facts.push(fact("device", opened.device.clone()));
        facts.push(fact("splatcore", opened.version.clone()));
        facts.push(fact("workers confined by", opened.sandbox.clone()));
    }
    for asked in &found.models {
        facts.push(fact(
            &format!("{}, {}", asked.role, asked.named()),
            asked.described(),
        ));
    }
    facts.push(fact(
        "baseline against itself",
        match found.noise {
            Some(noise) => noise.to_string(),
            None => "not measured".into(),
        },
    ));
    facts
}

fn chart(title: &str, values: &[f64]) -> String {
    let points = values.iter().enumerate().map(|(n, &y)| ((n + 1) as f64, y));
    let chart = Chart {
        title: title.into(),
        x_label: "candidates".into(),
        lines: vec![Line {
            name: title.into(),
            points: points.collect(),
        }],
    };
    chart.to_svg()
}

fn counts(found: &Summary) -> String {
    let mut out = String::from("<h3>Stopped by</h3>\n<table class=\"numbers\">\n");
    for (gate, count) in found.rejections() {
        let _ = writeln!(out, "<tr><td>{gate}</td><td>{count}</td></tr>");
    }
    out += "</table>\n<h3>Made by</h3>\n<table class=\"numbers\"><tr><th>way</th><th>proposed</th>\
            <th>faster</th><th>stopped</th></tr>\n";
    for (operator, [proposed, faster, rejected]) in found.operators() {
        let _ = writeln!(
            out,
            "<tr><td>{operator}</td><td>{proposed}</td><td>{faster}</td><td>{rejected}</td></tr>"
        );
    }
    out + "</table>\n"
}

fn advice_table(found: &Summary) -> String {
    let table = advice(found);
    if table.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<h3>Advice against outcome</h3>\n<div class=\"wide\"><table class=\"numbers\"><tr>\
         <th>advice</th><th>what</th><th>predicted gain</th><th>candidates</th><th>faster</th>\
         <th>stopped</th><th>best gain</th></tr>\n",
    );
    for row in table {
        let [all, faster, stopped] = row.counts;
        let best = match row.best {
            Some(time) => format!("{:.1} %", 100.0 * (1.0 - time)),
            None => "not measured".into(),
        };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"note\">{}</td><td>{:.1} %</td><td>{all}</td>\
             <td>{faster}</td><td>{stopped}</td><td>{best}</td></tr>",
            row.number,
            escape(&row.what),
            row.predicted_percent
        );
    }
    out + "</table></div>\n"
}

fn candidate(row: &Row) -> String {
    let parents: Vec<&str> = row.parents.iter().map(|id| id.short()).collect();
    let verdict = match &row.verdict {
        Some(verdict) => verdict.to_string(),
        None => "in work".into(),
    };
    let first = verdict.lines().next().unwrap_or_default();
    format!(
        "<tr><td><code>{}</code></td><td><code>{}</code></td><td class=\"note\">{}</td>\
         <td class=\"note\">{}</td></tr>\n",
        row.id,
        parents.join(", "),
        escape(&row.described()),
        escape(first)
    )
}
