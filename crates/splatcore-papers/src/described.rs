//! A paper as its file describes it, `tables/NAME.toml`.
//!
//! A file holds what the paper prints and which pipelines its rows are, table by table:
//!
//! - `remarks`: what to know when reading the table. `$NAME` is the text of that name in
//!   `[remarks]`.
//! - `here`: the columns that each scene has, a [`Metric`] with the heading in front if it is not
//!   the metric's own. `heading: blend-ms of 2` is of the second of a row's runs.
//! - `paper`: the paper's columns, a list for each group: its heading, then `heading: format` of
//!   each column ([`Format`]).
//! - `plot` and `beside`: the column of each scene that is plotted, and those of the paper.
//! - `mean`: the last of the paper's columns is the mean of the others, which is ours.
//! - `rows`. `runs` says what runs: `PIPELINE over PIPELINE`, where the second is what speed-ups
//!   are over; without it vanilla is. `splatcore` is what splatcore renders with, `itself` the same
//!   pipeline, and ` at 2x` doubles width and height. `{pipeline}` in the label is what runs first.
//!   `paper` has the printed numbers, `nan` for those that are not there. `ratios` is the number
//!   that the row has in the first column in place of the columns' own, `on` the compressed model
//!   that it is measured on, `note` what is said in place of numbers. What a row leaves out it has
//!   from the row of `[row]` that `like` names.

use crate::about::About;
use crate::compression::Compression;
use crate::metric::{Format, Metric};
use crate::run::Run;
use crate::spec::{Compared, Here, Line, Spec};
use crate::training::TrainingSpec;
use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};
use std::collections::HashMap;

/// A paper.
pub struct Described {
    /// What it is about, and which of its tables there are.
    pub contents: String,
    /// Name, title, reference.
    pub about: About,
    /// The tables but for that of trainings.
    pub specs: Vec<Spec>,
    /// The table of trainings, if it has one.
    pub trainings: Option<TrainingSpec>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    contents: String,
    about: About,
    #[serde(default)]
    remarks: HashMap<String, String>,
    row: HashMap<String, Row>,
    #[serde(rename = "table")]
    tables: Vec<Table>,
    trainings: Option<TrainingSpec>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    name: String,
    caption: String,
    #[serde(default)]
    remarks: Vec<String>,
    #[serde(default)]
    here: Vec<String>,
    #[serde(default)]
    paper: Vec<Vec<String>>,
    #[serde(default)]
    plot: usize,
    #[serde(default)]
    beside: Vec<usize>,
    #[serde(default)]
    mean: bool,
    rows: Vec<Row>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Row {
    like: Option<String>,
    label: Option<String>,
    runs: Vec<String>,
    on: Option<Compression>,
    ratios: Option<Metric>,
    note: Option<String>,
    paper: Vec<f64>,
}

impl Described {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn read(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let specs = file.tables.iter().map(|table| {
            let spec = file.spec(table);
            spec.map_err(|error| format!("{}: {error}", table.name))
        });
        Ok(Self {
            specs: specs.collect::<Result<_, _>>()?,
            contents: file.contents,
            about: file.about,
            trainings: file.trainings,
        })
    }
}

impl File {
    fn spec(&self, table: &Table) -> Result<Spec, String> {
        let line = |row: &Row| {
            let mut line = self.line(row)?;
            if table.mean && !row.paper.is_empty() {
                let sum: f64 = row.paper.iter().sum();
                line.paper.push(Some(sum / row.paper.len() as f64));
            }
            Ok(line)
        };
        let remarks = table.remarks.iter().map(|text| self.remark(text));
        let lines: Result<_, String> = table.rows.iter().map(line).collect();
        Ok(Spec {
            name: table.name.clone(),
            caption: table.caption.clone(),
            remarks: remarks.collect::<Result<_, _>>()?,
            paper: table
                .paper
                .iter()
                .map(|texts| group(texts))
                .collect::<Result<_, _>>()?,
            here: table
                .here
                .iter()
                .map(|text| here(text))
                .collect::<Result<_, _>>()?,
            lines: lines?,
            plot: (table.plot, table.beside.clone()),
        })
    }

    fn remark(&self, text: &str) -> Result<String, String> {
        match text.strip_prefix('$') {
            None => Ok(text.to_owned()),
            Some(name) => {
                let shared = self.remarks.get(name).cloned();
                shared.ok_or_else(|| format!("no remark is called {name}"))
            }
        }
    }

    fn line(&self, row: &Row) -> Result<Line, String> {
        let nothing = Row::default();
        let like = match &row.like {
            None => &nothing,
            Some(name) => {
                let shared = self.row.get(name);
                shared.ok_or_else(|| format!("no row is called {name}"))?
            }
        };
        let runs = match row.runs.is_empty() {
            true => &like.runs,
            false => &row.runs,
        };
        let runs: Vec<Compared> = runs
            .iter()
            .map(|text| compared(text))
            .collect::<Result<_, _>>()?;
        let label = row.label.as_ref().or(like.label.as_ref());
        let label = label.ok_or("a row has no label")?;
        let pipeline = runs.first().map_or("", |first| &first.run.pipeline);
        let number = |&value: &f64| (!value.is_nan()).then_some(value);
        Ok(Line {
            label: label.replace("{pipeline}", pipeline),
            paper: row.paper.iter().map(number).collect(),
            on: row.on.or(like.on),
            instead: row.ratios,
            note: row.note.clone().or_else(|| like.note.clone()),
            runs,
        })
    }
}

/// `PIPELINE over PIPELINE`.
fn compared(text: &str) -> Result<Compared, String> {
    let (run_text, against) = text.split_once(" over ").unwrap_or((text, ""));
    let run = run(run_text)?;
    let against = match against {
        "" => Run::vanilla(run.scale),
        "itself" => run.clone(),
        other => self::run(other)?,
    };
    Ok(Compared { run, against })
}

/// `PIPELINE at 2x`.
fn run(text: &str) -> Result<Run, String> {
    let (name, scale) = text.split_once(" at ").unwrap_or((text, "1x"));
    let scale = scale.strip_suffix('x').and_then(|scale| scale.parse().ok());
    let scale = scale.ok_or_else(|| format!("`{text}` has no scale, such as 2x"))?;
    Ok(match name {
        "splatcore" => Run::splatcore(scale),
        name => Run::of(name).at(scale),
    })
}

/// `heading: metric of 2`.
fn here(text: &str) -> Result<Here, String> {
    let (heading, metric) = match text.rsplit_once(": ") {
        Some((heading, metric)) => (Some(heading), metric),
        None => (None, text),
    };
    let (metric, variant) = metric.split_once(" of ").unwrap_or((metric, "1"));
    let metric: Metric = named(metric)?;
    let variant = variant.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    Ok(Here {
        heading: heading.unwrap_or(metric.heading()).to_owned(),
        metric,
        variant: variant.ok_or_else(|| format!("`{text}` has no number of a run"))?,
    })
}

/// A heading, and the columns below it: `heading: format`.
fn group(texts: &[String]) -> Result<(String, Vec<(String, Format)>), String> {
    let (heading, columns) = texts.split_first().ok_or("a group without a heading")?;
    let column = |text: &String| {
        let parts = text.rsplit_once(": ");
        let (name, format) = parts.ok_or_else(|| format!("`{text}` has no format"))?;
        Ok((name.to_owned(), named(format)?))
    };
    let columns: Result<_, String> = columns.iter().map(column).collect();
    Ok((heading.clone(), columns?))
}

/// A metric or a format by its name.
fn named<'a, T: Deserialize<'a>>(name: &'a str) -> Result<T, String> {
    let named = T::deserialize(StrDeserializer::<Error>::new(name));
    named.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_mean_nothing_are_errors() {
        for (old, new, expected) in [
            ("$text", "$nothing", "Figure 9: no remark is called nothing"),
            (
                "like = \"search\"",
                "like = \"none\"",
                "no row is called none",
            ),
            ("blend-ms of 2", "blend-ms of 0", "has no number of a run"),
            (
                "blend-ms of 2",
                "blend-us of 2",
                "unknown variant `blend-us`",
            ),
            ("errors %: percent", "errors %", "has no format"),
            ("aabb+literal\"", "aabb+literal at 2\"", "has no scale"),
            ("beside", "besides", "unknown field"),
            ("label = \"Origin\", ", "", "a row has no label"),
        ] {
            let text = include_str!("tables/llm.toml");
            let error = Described::read(&text.replace(old, new)).err();
            let error = error.unwrap_or_else(|| panic!("{new} is no error"));
            assert!(error.contains(expected), "{new}: {error}");
        }
    }
}
