//! What trainings of a fixed time came to, beside the published table of it.

use crate::metric::Format;
use crate::table::{Column, Group, Table, TableRow};
use serde::{Deserialize, Serialize};
use splatcore_core::Pipeline;

/// A training that has ended.
#[derive(Clone, Debug, Serialize)]
pub struct Training {
    /// What it learned from.
    pub dataset: String,
    /// With which pipeline.
    pub pipeline: Pipeline,
    /// On held-out photos, in dB.
    pub psnr: f64,
    /// On held-out photos.
    pub ssim: f64,
    /// Gaussians at the end.
    pub gaussians: u64,
    /// Steps taken.
    pub steps: u64,
    /// Seconds trained.
    pub seconds: f64,
    /// Whether it ended because its time was over, not because all steps were taken.
    pub out_of_time: bool,
}

/// Columns and rows of a table of trainings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingSpec {
    /// `Table 3`.
    pub name: String,
    /// What it shows.
    pub caption: String,
    /// What to know when reading it.
    pub remarks: Vec<String>,
    /// Pipelines with their headings.
    pub methods: Vec<(String, String)>,
    /// The paper's columns: a heading for several, and their own.
    pub paper: Vec<(String, Vec<String>)>,
    /// The paper's datasets, with a PSNR for each of its columns.
    pub datasets: Vec<(String, Vec<f64>)>,
}

impl TrainingSpec {
    /// A row for each dataset: the paper's, then others that were trained on.
    pub fn fill(&self, trainings: &[Training]) -> Table {
        let ours = |title: &str, format| Group {
            title: format!("here: {title}"),
            columns: self.columns(self.methods.iter().map(|m| &m.0), format, false),
        };
        let mut groups = vec![
            ours("PSNR", Format::Decibels),
            ours("thousand steps", Format::Tenths),
        ];
        groups.extend(self.paper.iter().map(|(title, columns)| Group {
            title: format!("paper: {title}"),
            columns: self.columns(columns.iter(), Format::Decibels, true),
        }));
        let mut rows: Vec<TableRow> = Vec::new();
        for (dataset, psnr) in &self.datasets {
            rows.push(self.row(dataset, Some(psnr), trainings));
        }
        let mut others: Vec<&str> = Vec::new();
        for training in trainings {
            let known = |name: &str| name.eq_ignore_ascii_case(&training.dataset);
            if !self.datasets.iter().any(|(name, _)| known(name))
                && !others.iter().any(|name| known(name))
            {
                others.push(&training.dataset);
            }
        }
        rows.extend(others.iter().map(|name| self.row(name, None, trainings)));
        Table {
            name: self.name.clone(),
            caption: self.caption.clone(),
            remarks: self.remarks.clone(),
            groups,
            rows,
            plotted: (0..self.methods.len()).collect(),
        }
    }

    fn columns<'a>(
        &self,
        names: impl Iterator<Item = &'a String>,
        format: Format,
        from_paper: bool,
    ) -> Vec<Column> {
        let column = |name: &String| Column {
            name: name.clone(),
            format,
            from_paper,
        };
        names.map(column).collect()
    }

    fn row(&self, dataset: &str, paper: Option<&Vec<f64>>, trainings: &[Training]) -> TableRow {
        let of_dataset: Vec<&Training> = trainings
            .iter()
            .filter(|training| training.dataset.eq_ignore_ascii_case(dataset))
            .collect();
        let of_method = |method: &str| -> Vec<&Training> {
            let pipeline = method.parse::<Pipeline>();
            let same = |training: &&&Training| pipeline == Ok(training.pipeline);
            of_dataset.iter().filter(same).copied().collect()
        };
        let mean = |method: &str, of: &dyn Fn(&Training) -> f64| {
            let found = of_method(method);
            let sum: f64 = found.iter().map(|training| of(training)).sum();
            (!found.is_empty()).then(|| sum / found.len() as f64)
        };
        let methods = || self.methods.iter().map(|(_, pipeline)| pipeline.as_str());
        let mut cells: Vec<Option<f64>> = methods().map(|m| mean(m, &|t| t.psnr)).collect();
        cells.extend(methods().map(|m| mean(m, &|t| t.steps as f64 / 1e3)));
        let paper_columns = self.paper.iter().map(|(_, columns)| columns.len()).sum();
        let paper = paper.into_iter().flatten().map(|&psnr| Some(psnr));
        cells.extend(paper.chain(std::iter::repeat(None)).take(paper_columns));
        TableRow {
            label: dataset.to_owned(),
            pipelines: methods().map(str::to_owned).collect(),
            format: None,
            note: self.note(&of_dataset, |method| of_method(method).is_empty()),
            cells,
        }
    }

    /// What was not run, and how long the others took.
    fn note(&self, trainings: &[&Training], missing: impl Fn(&str) -> bool) -> Option<String> {
        if trainings.is_empty() {
            return Some("not run".into());
        }
        let mut parts = Vec::new();
        let absent = self.methods.iter().filter(|(_, method)| missing(method));
        let absent: Vec<&str> = absent.map(|(heading, _)| heading.as_str()).collect();
        if !absent.is_empty() {
            parts.push(format!("not run: {}", absent.join(", ")));
        }
        let limited = trainings.iter().filter(|training| training.out_of_time);
        if let Some(longest) = limited.map(|t| t.seconds).max_by(f64::total_cmp) {
            parts.push(format!("{longest:.0} s"));
        }
        let ended: Vec<String> = self
            .methods
            .iter()
            .filter_map(|(heading, method)| {
                let of_method = |t: &&&Training| method.parse() == Ok(t.pipeline);
                let ended = trainings.iter().filter(of_method);
                let seconds: Vec<f64> = ended
                    .filter(|t| !t.out_of_time)
                    .map(|t| t.seconds)
                    .collect();
                let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
                (!seconds.is_empty()).then(|| format!("{heading} ({mean:.0} s)"))
            })
            .collect();
        if !ended.is_empty() {
            parts.push(format!("all steps taken: {}", ended.join(", ")));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn training(dataset: &str, pipeline: &str, psnr: f64) -> Training {
        Training {
            dataset: dataset.into(),
            pipeline: pipeline.parse().unwrap(),
            psnr,
            ssim: 0.9,
            gaussians: 1000,
            steps: 2500,
            seconds: 300.2,
            out_of_time: true,
        }
    }

    fn spec() -> TrainingSpec {
        let text = r#"
            name = "Table 0"
            caption = "a test"
            remarks = []
            methods = [
                ["atomic", "aabb+scalar+atomic"],
                ["skip", "exact+scalar+warp-reduce-skip"],
            ]
            paper = [["4090", ["Baseline", "Ours"]]]
            datasets = [["lego", [35.0, 36.0]], ["truck", [24.0, 25.0]]]
        "#;
        toml::from_str(text).unwrap()
    }

    #[test]
    fn rows_are_the_papers_datasets_and_those_that_were_trained_on() {
        let mut ended = training("bonsai", "exact+scalar+warp-reduce-skip", 31.0);
        ended.out_of_time = false;
        ended.seconds = 27.4;
        let trainings = [
            training("bonsai", "vanilla", 28.0),
            training("Lego", "aabb+scalar+atomic", 30.0),
            training("lego", "aabb+scalar", 32.0),
            training("bonsai", "exact+splatcore+splatcore", 33.0),
            ended,
        ];
        let table = spec().fill(&trainings);
        let labels: Vec<&str> = table.rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels, ["lego", "truck", "bonsai"]);
        // The mean of two runs; steps; the paper's.
        let cells = |row: usize| table.rows[row].cells.clone();
        let lego = [31.0, f64::NAN, 2.5, f64::NAN, 35.0, 36.0];
        let lego = lego.map(|value| (!value.is_nan()).then_some(value));
        assert_eq!(cells(0), lego);
        assert_eq!(table.rows[0].note.as_deref(), Some("not run: skip; 300 s"));
        assert_eq!(table.rows[1].note.as_deref(), Some("not run"));
        assert_eq!(
            cells(2),
            [Some(28.0), Some(31.0), Some(2.5), Some(2.5), None, None]
        );
        assert_eq!(
            table.rows[2].note.as_deref(),
            Some("300 s; all steps taken: skip (27 s)")
        );
        assert_eq!(table.columns().count(), 6);
    }
}
