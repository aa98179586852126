//! From rows of pipelines and measurements to tables of numbers.

use crate::compression::Compression;
use crate::metric::{Format, Metric};
use crate::run::{Also, Run};
use crate::scene::{Outcome, Scene};
use crate::table::{Column, Group, Table, TableRow};

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
    /// The compressed model that runs, if not the full one.
    pub on: Option<Compression>,
    /// All numbers of the row are of this kind, in place of the columns' own: the paper's rows of
    /// speed-ups.
    pub instead: Option<Metric>,
    /// Said in place of numbers.
    pub note: Option<String>,
}

impl Line {
    /// The number in our column `i`.
    fn metric(&self, i: usize, here: &Here) -> Option<Metric> {
        match self.instead {
            // The first column holds the ratio; others would repeat it.
            Some(_) if i > 0 => None,
            Some(metric) => Some(metric),
            None => Some(here.metric),
        }
    }
}

/// A column that every scene has.
pub struct Here {
    /// Its heading.
    pub heading: String,
    /// The number.
    pub metric: Metric,
    /// Which of [`Line::runs`].
    pub variant: usize,
}

/// A table before it has numbers.
pub struct Spec {
    /// `Table 3`.
    pub name: String,
    /// What it shows.
    pub caption: String,
    /// What to know when reading it.
    pub remarks: Vec<String>,
    /// The paper's columns: a heading for several, their own headings, how numbers are written.
    pub paper: Vec<(String, Vec<(String, Format)>)>,
    /// Columns of each scene.
    pub here: Vec<Here>,
    /// Rows.
    pub lines: Vec<Line>,
    /// Number of the column of each scene that is plotted, and those of the paper beside it.
    pub plot: (usize, Vec<usize>),
}

impl Spec {
    /// All that the table needs of the full model, or of a compressed one.
    pub fn runs(&self, on: Option<Compression>) -> Vec<Run> {
        let columns = self.here.iter().map(|here| here.metric);
        let rows = self.lines.iter().filter_map(|line| line.instead);
        let also = columns.chain(rows).map(Metric::needs);
        let also = also.fold(Also::default(), Also::and);
        let lines = self.lines.iter().filter(|line| line.on == on);
        let compared = lines.flat_map(|line| &line.runs);
        compared
            .flat_map(|c| [Run::vanilla(c.run.scale), c.against.clone(), c.run.clone()])
            .map(|run| Run {
                also: run.also.and(also),
                ..run
            })
            .collect()
    }

    /// Headings of our columns: the scenes, and the mean of several.
    fn titles(&self, scenes: &[Scene]) -> Vec<String> {
        if self.here.is_empty() {
            return Vec::new();
        }
        let names = scenes.iter().map(|scene| format!("here: {}", scene.name));
        let mean = format!("here: mean of {} scenes", scenes.len());
        names.chain((scenes.len() > 1).then_some(mean)).collect()
    }

    /// With numbers.
    pub fn fill(&self, scenes: &[Scene]) -> Table {
        let titles = self.titles(scenes);
        let ours = titles.len();
        let mut groups: Vec<Group> = titles
            .into_iter()
            .map(|title| Group {
                title,
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
                    .map(|(name, format)| Column {
                        name: name.clone(),
                        format: *format,
                        from_paper: true,
                    })
                    .collect(),
            });
        }
        let paper_columns: usize = self.paper.iter().map(|(_, columns)| columns.len()).sum();
        let (here, beside) = &self.plot;
        let first_of_paper = ours * self.here.len();
        let plotted = (0..ours).map(|group| group * self.here.len() + here);
        Table {
            name: self.name.clone(),
            caption: self.caption.clone(),
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
                let compared = line.runs.get(here.variant);
                let metric = line.metric(i, here);
                cells.push(compared.zip(metric).and_then(|(compared, metric)| {
                    let vanilla = Run::vanilla(compared.run.scale);
                    metric.of(
                        scene.row(&compared.run, line.on)?,
                        scene.row(&compared.against, line.on),
                        scene.row(&vanilla, None),
                    )
                }));
            }
        }
        if scenes.len() > 1 {
            for (i, here) in self.here.iter().enumerate() {
                let of_scenes = cells.iter().skip(i).step_by(self.here.len());
                // A mean over some of the scenes would not compare with one over all of them.
                let values: Option<Vec<f64>> = of_scenes.take(scenes.len()).copied().collect();
                let metric = line.metric(i, here);
                cells.push(
                    metric
                        .zip(values)
                        .and_then(|(metric, values)| metric.format().mean(&values)),
                );
            }
        }
        let paper = line.paper.iter().copied().chain(std::iter::repeat(None));
        cells.extend(paper.take(paper_columns));
        TableRow {
            label: line.label.clone(),
            pipelines: line.runs.iter().map(|c| c.run.pipeline.clone()).collect(),
            format: line.instead.map(Metric::format),
            note: line.note.clone().or_else(|| missing(line, scenes)),
            cells,
        }
    }
}

/// What to say in place of numbers, if a run of the line has none.
fn missing(line: &Line, scenes: &[Scene]) -> Option<String> {
    let lacks = |scene: &&Scene| line.on.is_some_and(|on| scene.model(on).is_none());
    let lacking: Vec<&str> = scenes
        .iter()
        .filter(lacks)
        .map(|s| s.name.as_str())
        .collect();
    let model = match lacking.len() {
        0 => None,
        all if all == scenes.len() => Some("no compressed model given".to_owned()),
        _ => Some(format!("no compressed model of {}", lacking.join(", "))),
    };
    let runs = || line.runs.iter().map(|compared| &compared.run);
    let outcomes = || {
        scenes
            .iter()
            .flat_map(|scene| runs().map(|run| scene.outcome(run, line.on)))
    };
    if outcomes().all(|outcome| matches!(outcome, Some(Outcome::Row(_)))) {
        return None;
    }
    let reasons = outcomes().flatten().filter_map(|outcome| match outcome {
        Outcome::Missing { short, .. } => Some(short.as_str()),
        Outcome::Row(_) => None,
    });
    let mut reasons: Vec<&str> = model.as_deref().into_iter().chain(reasons).collect();
    reasons.dedup();
    Some(reasons.join("; "))
}

fn column_here(here: &Here) -> Column {
    Column {
        name: here.heading.clone(),
        format: here.metric.format(),
        from_paper: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::described::Described;
    use crate::test_data::row;

    fn spec() -> Spec {
        let text = r#"
            contents = "a test"
            about = { name = "", title = "", reference = "", card = "" }
            [row]
            matrix = { label = "+ TC-GS", runs = ["aabb+tc-gs"] }
            [[table]]
            name = "Table 0"
            caption = "a test"
            here = ["ms", "speed-up", "blend-speed-up"]
            paper = [["truck", "FPS: fps", "speed-up: times"]]
            plot = 1
            beside = [1]
            rows = [
                { label = "3DGS", runs = ["aabb+scalar"], paper = [100.0, 1.0] },
                { like = "matrix", paper = [nan, 2.0] },
                { like = "matrix", label = "Speedup", ratios = "speed-up" },
                { label = "gsplat", note = "another renderer", paper = [300.0] },
                { label = "splatcore ({pipeline})", runs = ["splatcore"] },
            ]
        "#;
        Described::read(text).unwrap().specs.remove(0)
    }

    fn scene(matrix: Outcome) -> Scene {
        let mut ours = row(1.0);
        ours.stages = vec![("project", 0.5), ("sort", 0.1), ("blend", 0.4)];
        Scene {
            name: "fox".into(),
            file: "fox.spz".into(),
            gaussians: 50,
            size: [32, 24],
            views: 2,
            outcomes: vec![
                (Run::vanilla(1), Outcome::Row(Box::new(row(4.0)))),
                (Run::new("aabb", "tc-gs"), matrix),
                (Run::splatcore(1), Outcome::Row(Box::new(ours))),
            ],
            compressed: Vec::new(),
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
        let table = spec().fill(&[scene(Outcome::Missing {
            short: reason.into(),
            full: String::new(),
        })]);
        assert_eq!(table.rows[1].note.as_deref(), Some(reason));
        assert_eq!(table.rows[1].cells, [None, None, None, None, Some(2.0)]);
        assert_eq!(table.rows[0].note, None);
    }

    #[test]
    fn several_scenes_have_means_of_all_or_none() {
        let row = |ms: f64| Outcome::Row(Box::new(row(ms)));
        let missing = || Outcome::Missing {
            short: "out of memory".into(),
            full: String::new(),
        };
        let table = spec().fill(&[scene(row(2.0)), scene(row(0.5))]);
        let titles: Vec<&str> = table.groups.iter().map(|g| g.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "here: fox",
                "here: fox",
                "here: mean of 2 scenes",
                "paper: truck"
            ]
        );
        // 2 and 0.5 ms; 2 and 8 times faster.
        let mean = |row: usize| &table.rows[row].cells[6..9];
        assert_eq!(mean(1)[0], Some(1.25));
        assert!((mean(1)[1].unwrap() - 4.0).abs() < 1e-12);
        // Rows of ratios, rows that only the paper has.
        assert!((mean(2)[0].unwrap() - 4.0).abs() < 1e-12 && mean(2)[1..] == [None, None]);
        assert_eq!(mean(3), [None; 3]);
        assert_eq!(table.rows[1].cells[9..], [None, Some(2.0)]);
        assert_eq!(table.plotted, [1, 4, 7, 10]);
        let table = spec().fill(&[scene(row(2.0)), scene(missing())]);
        assert_eq!(table.rows[1].cells[6..9], [None; 3]);
        assert!(table.rows[0].cells[6].is_some());
    }
}
