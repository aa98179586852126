//! From rows of pipelines and measurements to tables of numbers.

use super::{Outcome, Run, Scene};
use crate::commands::bench::Row;
use serde::Serialize;
use std::ops::Range;

/// How a number is written, and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Frames a second.
    Fps,
    /// Milliseconds.
    Ms,
    /// Times faster.
    Times,
    /// PSNR.
    Decibels,
    /// Millions.
    Millions,
    /// Percent.
    Percent,
}

impl Format {
    /// The number as text.
    pub fn text(self, value: f64) -> String {
        match self {
            Format::Fps => format!("{value:.1}"),
            Format::Ms => format!("{value:.3}"),
            Format::Times => format!("{value:.2}×"),
            Format::Decibels => format!("{value:.2}"),
            Format::Millions => format!("{value:.2}"),
            Format::Percent => format!("{value:.1}"),
        }
    }
}

/// A number that a row has for a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Frames a second, from the time of all stages.
    Fps,
    /// Time of all stages.
    Ms,
    /// By the wall clock from frame to frame.
    FrameMs,
    /// Time of what it is compared with over its own.
    SpeedUp,
    /// Vanilla's time over its own.
    OverVanilla,
    /// Time of `project`.
    ProjectMs,
    /// Time of all that is neither `project` nor `blend`: pairs, sorting, ranges.
    SortMs,
    /// Time of `blend`.
    BlendMs,
    /// As [`Metric::SpeedUp`], of `blend` alone.
    BlendSpeedUp,
    /// `project` in percent of all stages.
    ProjectShare,
    /// See [`Metric::SortMs`].
    SortShare,
    /// `blend`, likewise.
    BlendShare,
    /// Against vanilla's image.
    Psnr,
    /// Against the photos, where there are any.
    PsnrPhotos,
    /// (Tile, Gaussian) pairs.
    Pairs,
    /// Fragments that changed their pixel.
    Blended,
    /// Fragments whose alpha was computed in vain.
    Culled,
    /// Fragments of a pair that nobody looked at.
    Skipped,
    /// Culled in percent of all fragments.
    CulledShare,
}

/// Pixels of a tile.
const TILE_PIXELS: u64 = 256;

impl Metric {
    fn heading(self) -> &'static str {
        match self {
            Metric::Fps => "FPS",
            Metric::Ms => "ms",
            Metric::FrameMs => "clock ms",
            Metric::SpeedUp => "speed-up",
            Metric::OverVanilla => "vs 3DGS",
            Metric::ProjectMs => "preprocess ms",
            Metric::SortMs => "sort ms",
            Metric::BlendMs => "blend ms",
            Metric::BlendSpeedUp => "speed-up",
            Metric::ProjectShare => "preprocess %",
            Metric::SortShare => "sort %",
            Metric::BlendShare => "blend %",
            Metric::Psnr => "dB vs 3DGS",
            Metric::PsnrPhotos => "dB vs photos",
            Metric::Pairs => "pairs M",
            Metric::Blended => "blended M",
            Metric::Culled => "culled M",
            Metric::Skipped => "skipped M",
            Metric::CulledShare => "culled %",
        }
    }

    fn format(self) -> Format {
        match self {
            Metric::Fps => Format::Fps,
            Metric::Ms | Metric::FrameMs | Metric::ProjectMs | Metric::SortMs | Metric::BlendMs => {
                Format::Ms
            }
            Metric::SpeedUp | Metric::OverVanilla | Metric::BlendSpeedUp => Format::Times,
            Metric::Psnr | Metric::PsnrPhotos => Format::Decibels,
            Metric::Pairs | Metric::Blended | Metric::Culled | Metric::Skipped => Format::Millions,
            Metric::ProjectShare | Metric::SortShare | Metric::BlendShare | Metric::CulledShare => {
                Format::Percent
            }
        }
    }

    /// The number, if the row (and for ratios the other one) is there.
    fn of(self, row: &Row, against: Option<&Row>, vanilla: Option<&Row>) -> Option<f64> {
        let blend = row.stage("blend");
        let project = row.stage("project");
        let sort = row.gpu_ms - project - blend;
        let culled = row
            .fragments_evaluated
            .saturating_sub(row.fragments_blended);
        let all = TILE_PIXELS * row.pairs;
        let skipped = all.saturating_sub(row.fragments_evaluated);
        let millions = |count: u64| Some(count as f64 / 1e6);
        match self {
            Metric::Fps => ratio(1e3, row.gpu_ms),
            Metric::Ms => Some(row.gpu_ms),
            Metric::FrameMs => Some(row.frame_ms),
            Metric::SpeedUp => ratio(against?.gpu_ms, row.gpu_ms),
            Metric::OverVanilla => ratio(vanilla?.gpu_ms, row.gpu_ms),
            Metric::ProjectMs => Some(project),
            Metric::SortMs => Some(sort),
            Metric::BlendMs => Some(blend),
            Metric::BlendSpeedUp => ratio(against?.stage("blend"), blend),
            Metric::ProjectShare => ratio(100.0 * project, row.gpu_ms),
            Metric::SortShare => ratio(100.0 * sort, row.gpu_ms),
            Metric::BlendShare => ratio(100.0 * blend, row.gpu_ms),
            Metric::Psnr => Some(row.psnr_vs_reference),
            Metric::PsnrPhotos => row.psnr_vs_photos,
            Metric::Pairs => millions(row.pairs),
            Metric::Blended => millions(row.fragments_blended),
            Metric::Culled => millions(culled),
            Metric::Skipped => millions(skipped),
            Metric::CulledShare => ratio(100.0 * culled as f64, all as f64),
        }
    }
}

/// `None` in place of an infinity, which JSON cannot hold.
fn ratio(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b)
}

/// A run and the one that its speed-up is over.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Itself.
    pub run: Run,
    /// The other.
    pub against: Run,
}

/// One row before it has numbers.
pub struct Line {
    /// As the paper calls it.
    pub label: String,
    /// One for each of the paper's columns.
    pub paper: Vec<Option<f64>>,
    /// What runs, one for each variant that [`Here::variant`] names; none if splatcore cannot run
    /// it.
    pub runs: Vec<Compared>,
    /// All numbers of the row are of this kind, in place of the columns' own: the paper's rows of
    /// speed-ups.
    pub instead: Option<Metric>,
    /// Said in place of numbers.
    pub note: Option<&'static str>,
}

impl Line {
    fn of(label: impl Into<String>, runs: Vec<Compared>) -> Self {
        Self {
            label: label.into(),
            paper: Vec::new(),
            runs,
            instead: None,
            note: None,
        }
    }

    /// A row of one pipeline.
    pub fn new(label: impl Into<String>, run: Run, against: Run) -> Self {
        Self::of(label, vec![Compared { run, against }])
    }

    /// A row that only the paper has, and why.
    pub fn elsewhere(label: impl Into<String>, note: &'static str) -> Self {
        Self {
            note: Some(note),
            ..Self::of(label, Vec::new())
        }
    }

    /// splatcore's own pipeline, the last row of every table; compared with vanilla in each of so
    /// many variants.
    pub fn splatcore(variants: usize) -> Self {
        let one = Compared {
            run: Run::splatcore(1),
            against: Run::vanilla(1),
        };
        let label = format!("splatcore ({})", one.run.pipeline);
        Self::of(label, vec![one; variants])
    }

    /// With one more variant.
    pub fn and(mut self, run: Run, against: Run) -> Self {
        self.runs.push(Compared { run, against });
        self
    }

    /// With the paper's numbers.
    pub fn paper(mut self, values: &[f64]) -> Self {
        self.paper = values.iter().map(|&value| Some(value)).collect();
        self
    }

    /// With the paper's numbers, some of which it does not give.
    pub fn paper_some(mut self, values: &[Option<f64>]) -> Self {
        self.paper = values.to_vec();
        self
    }

    /// A row of ratios below rows of times.
    pub fn ratios(mut self, metric: Metric) -> Self {
        self.instead = Some(metric);
        self
    }
}

/// A column that every scene has.
#[derive(Clone, Copy)]
pub struct Here {
    /// In place of the metric's own heading.
    pub heading: Option<&'static str>,
    /// The number.
    pub metric: Metric,
    /// Which of [`Line::runs`].
    pub variant: usize,
}

impl From<Metric> for Here {
    fn from(metric: Metric) -> Self {
        Self {
            heading: None,
            metric,
            variant: 0,
        }
    }
}

/// A table before it has numbers.
pub struct Spec {
    /// `Table 3`.
    pub name: &'static str,
    /// What it shows.
    pub caption: &'static str,
    /// What to know when reading it.
    pub remarks: Vec<&'static str>,
    /// The paper's columns: a heading for several, their own headings, how numbers are written.
    pub paper: Vec<(&'static str, Vec<(&'static str, Format)>)>,
    /// Columns of each scene.
    pub here: Vec<Here>,
    /// Rows.
    pub lines: Vec<Line>,
    /// Number of the column of each scene that is plotted, and those of the paper beside it.
    pub plot: (usize, Vec<usize>),
}

impl Spec {
    /// All that the table needs.
    pub fn runs(&self) -> Vec<Run> {
        let compared = self.lines.iter().flat_map(|line| &line.runs);
        compared
            .flat_map(|c| [Run::vanilla(c.run.scale), c.against.clone(), c.run.clone()])
            .collect()
    }

    /// With numbers.
    pub fn fill(&self, scenes: &[Scene]) -> Table {
        let mut groups: Vec<Group> = scenes
            .iter()
            .map(|scene| Group {
                title: format!("here: {}", scene.name),
                columns: self.here.iter().map(column_here).collect(),
            })
            .collect();
        for (title, columns) in &self.paper {
            groups.push(Group {
                title: match title.is_empty() {
                    true => "paper".into(),
                    false => format!("paper: {title}"),
                },
                columns: columns
                    .iter()
                    .map(|&(name, format)| Column {
                        name: name.into(),
                        format,
                        from_paper: true,
                    })
                    .collect(),
            });
        }
        let paper_columns: usize = self.paper.iter().map(|(_, columns)| columns.len()).sum();
        let (here, beside) = &self.plot;
        let first_of_paper = scenes.len() * self.here.len();
        let plotted = (0..scenes.len()).map(|scene| scene * self.here.len() + here);
        Table {
            name: self.name,
            caption: self.caption,
            remarks: self.remarks.clone(),
            groups,
            rows: self
                .lines
                .iter()
                .map(|line| self.fill_line(line, scenes, paper_columns))
                .collect(),
            plotted: plotted
                .chain(beside.iter().map(|column| first_of_paper + column))
                .collect(),
        }
    }

    fn fill_line(&self, line: &Line, scenes: &[Scene], paper_columns: usize) -> TableRow {
        let mut cells = Vec::new();
        for scene in scenes {
            for (i, here) in self.here.iter().enumerate() {
                let metric = match line.instead {
                    // The first column holds the ratio; others would repeat it.
                    Some(_) if i > 0 => None,
                    Some(metric) => Some(metric),
                    None => Some(here.metric),
                };
                let compared = line.runs.get(here.variant);
                cells.push(compared.zip(metric).and_then(|(compared, metric)| {
                    let vanilla = Run::vanilla(compared.run.scale);
                    metric.of(
                        scene.row(&compared.run)?,
                        scene.row(&compared.against),
                        scene.row(&vanilla),
                    )
                }));
            }
        }
        let paper = line.paper.iter().copied().chain(std::iter::repeat(None));
        cells.extend(paper.take(paper_columns));
        TableRow {
            label: line.label.clone(),
            pipelines: line.runs.iter().map(|c| c.run.pipeline.clone()).collect(),
            format: line.instead.map(Metric::format),
            note: match line.note {
                Some(note) => Some(note.into()),
                None => missing(line, scenes),
            },
            cells,
        }
    }
}

/// What to say in place of numbers, if a run of the line has none.
fn missing(line: &Line, scenes: &[Scene]) -> Option<String> {
    let runs = || line.runs.iter().map(|compared| &compared.run);
    let outcomes = || {
        scenes
            .iter()
            .flat_map(|scene| runs().map(|run| scene.outcome(run)))
    };
    if outcomes().all(|outcome| matches!(outcome, Some(Outcome::Row(_)))) {
        return None;
    }
    let reasons = outcomes().flatten().filter_map(|outcome| match outcome {
        Outcome::Missing(reason) => Some(reason.as_str()),
        Outcome::Row(_) => None,
    });
    let mut reasons: Vec<&str> = reasons.collect();
    reasons.dedup();
    Some(reasons.join("; "))
}

fn column_here(here: &Here) -> Column {
    Column {
        name: here.heading.unwrap_or(here.metric.heading()).into(),
        format: here.metric.format(),
        from_paper: false,
    }
}

/// A column.
#[derive(Serialize)]
pub struct Column {
    /// Heading.
    pub name: String,
    /// How its numbers are written.
    pub format: Format,
    /// Printed in the paper, not measured here.
    pub from_paper: bool,
}

/// Columns under one heading.
#[derive(Serialize)]
pub struct Group {
    /// Heading: a scene, or what the paper measured on.
    pub title: String,
    /// At least one.
    pub columns: Vec<Column>,
}

/// A row.
#[derive(Serialize)]
pub struct TableRow {
    /// As the paper calls it.
    pub label: String,
    /// What ran.
    pub pipelines: Vec<String>,
    /// All its numbers are written like this, if not as the columns say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// Why numbers are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// One for each column.
    pub cells: Vec<Option<f64>>,
}

/// A table with numbers.
#[derive(Serialize)]
pub struct Table {
    /// `Table 3`.
    pub name: &'static str,
    /// What it shows.
    pub caption: &'static str,
    /// What to know when reading it.
    pub remarks: Vec<&'static str>,
    /// Columns.
    pub groups: Vec<Group>,
    /// Rows.
    pub rows: Vec<TableRow>,
    /// Columns that the page plots.
    #[serde(skip)]
    pub plotted: Vec<usize>,
}

impl Table {
    /// All columns from left to right.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.groups.iter().flat_map(|group| &group.columns)
    }

    /// Groups of columns, each with the numbers of its columns.
    pub fn spans(&self) -> impl Iterator<Item = (&Group, Range<usize>)> {
        let starts = self.groups.iter().scan(0, |at, group| {
            *at += group.columns.len();
            Some(*at - group.columns.len())
        });
        let spans = self.groups.iter().zip(starts);
        spans.map(|(group, start)| (group, start..start + group.columns.len()))
    }

    /// What to say in place of these cells of a row: its note, if they are ours and none has a
    /// number.
    pub fn note_in<'a>(&self, row: &'a TableRow, cells: Range<usize>) -> Option<&'a str> {
        let ours = self
            .columns()
            .nth(cells.start)
            .is_some_and(|column| !column.from_paper);
        let empty = row.cells[cells].iter().all(Option::is_none);
        row.note.as_deref().filter(|_| ours && empty)
    }

    /// A cell as text; empty if there is no number.
    pub fn text(&self, row: &TableRow, cell: usize) -> String {
        let format = row
            .format
            .or_else(|| self.columns().nth(cell).map(|c| c.format));
        match (row.cells[cell], format) {
            (Some(value), Some(format)) => format.text(value),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    fn spec() -> Spec {
        let vanilla = || Run::vanilla(1);
        let matrix = || Run::new("aabb", "tc-gs");
        Spec {
            name: "Table 0",
            caption: "a test",
            remarks: vec![],
            paper: vec![(
                "truck",
                vec![("FPS", Format::Fps), ("speed-up", Format::Times)],
            )],
            here: vec![
                Metric::Ms.into(),
                Metric::SpeedUp.into(),
                Metric::BlendSpeedUp.into(),
            ],
            lines: vec![
                Line::new("3DGS", vanilla(), vanilla()).paper(&[100.0, 1.0]),
                Line::new("+ TC-GS", matrix(), vanilla()).paper_some(&[None, Some(2.0)]),
                Line::new("Speedup", matrix(), vanilla()).ratios(Metric::SpeedUp),
                Line::elsewhere("gsplat", "another renderer").paper(&[300.0]),
                Line::splatcore(1),
            ],
            plot: (1, vec![1]),
        }
    }

    fn scene(matrix: Outcome) -> Scene {
        let mut ours = row(1.0);
        ours.stages = vec![("project", 0.5), ("sort", 0.1), ("blend", 0.4)];
        Scene {
            name: "fox".into(),
            outcomes: vec![
                (Run::vanilla(1), Outcome::Row(Box::new(row(4.0)))),
                (Run::new("aabb", "tc-gs"), matrix),
                (Run::splatcore(1), Outcome::Row(Box::new(ours))),
            ],
        }
    }

    #[test]
    fn ratios_are_over_what_each_row_is_compared_with() {
        let table = spec().fill(&[scene(Outcome::Row(Box::new(row(2.0))))]);
        let cells = |i: usize| table.rows[i].cells.clone();
        let near = |found: Vec<Option<f64>>, expected: [Option<f64>; 5]| {
            assert_eq!(found.len(), 5);
            for (a, b) in found.iter().zip(expected) {
                assert!(
                    a.is_some() == b.is_some()
                        && a.zip(b).is_none_or(|(a, b)| (a - b).abs() < 1e-9),
                    "{found:?} {expected:?}"
                );
            }
        };
        near(
            cells(0),
            [Some(4.0), Some(1.0), Some(1.0), Some(100.0), Some(1.0)],
        );
        near(cells(1), [Some(2.0), Some(2.0), Some(2.0), None, Some(2.0)]);
        near(cells(2), [Some(2.0), None, None, None, None]);
        near(cells(3), [None, None, None, Some(300.0), None]);
        // Blend: 2.4 ms in vanilla, 0.4 in ours.
        near(cells(4), [Some(1.0), Some(4.0), Some(6.0), None, None]);
        assert_eq!(table.text(&table.rows[2], 0), "2.00×");
        assert_eq!(table.text(&table.rows[1], 0), "2.000");
        assert_eq!(table.plotted, [1, 4]);
        assert_eq!(table.rows[3].note.as_deref(), Some("another renderer"));
    }

    #[test]
    fn what_the_backend_lacks_has_a_note_and_no_numbers() {
        let reason = "not available on this backend";
        let table = spec().fill(&[scene(Outcome::Missing(reason.into()))]);
        assert_eq!(table.rows[1].note.as_deref(), Some(reason));
        assert_eq!(table.rows[1].cells, [None, None, None, None, Some(2.0)]);
        assert_eq!(table.rows[0].note, None);
    }

    #[test]
    fn fragments_are_blended_culled_or_skipped() {
        let row = row(2.0);
        let of = |metric: Metric| metric.of(&row, None, None).unwrap();
        let all = 256.0 * 1000.0 / 1e6;
        let sum = of(Metric::Blended) + of(Metric::Culled) + of(Metric::Skipped);
        assert!((sum - all).abs() < 1e-12, "{sum}");
        assert!((of(Metric::Culled) - 0.15).abs() < 1e-12);
        assert!((of(Metric::CulledShare) - 100.0 * 0.15 / all).abs() < 1e-9);
        let shares = of(Metric::ProjectShare) + of(Metric::SortShare) + of(Metric::BlendShare);
        assert!((shares - 100.0).abs() < 1e-9, "{shares}");
        assert_eq!(Metric::SpeedUp.of(&row, None, None), None);
    }

    #[test]
    fn a_time_of_zero_gives_no_infinity() {
        assert_eq!(Metric::Fps.of(&row(0.0), None, None), None);
    }
}
