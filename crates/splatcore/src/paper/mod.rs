//! The tables of the papers on tensor cores, in their own layout: what was measured here beside
//! what they print.
//!
//! One file a paper holds its numbers, with the table that each came from, and which pipelines its
//! rows are; [`table`] turns that and the measurements into tables, [`text`] and [`html`] write
//! them.

mod gemm_gs;
mod html;
mod table;
mod tc_gs;
mod tensor_gs;
mod text;

pub use html::page;
pub use table::Table;
pub use text::text;

use crate::commands::bench::Row;
use serde::Serialize;
use splatcore_core::pipeline::Pipeline;

/// The papers whose tables there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Paper {
    /// EarlyCull, Frag2Mat and G2L: tables 3 to 6, figure 3
    #[value(name = "tc-gs")]
    Tc,
    /// Batches, mini-batches and asynchronous copies: table 2, figures 3, 5, 6 and 7
    #[value(name = "gemm-gs")]
    Gemm,
    /// Groups of tiles: tables 3, 4 and 6, figures 1, 4 and 5
    #[value(name = "tensor-gs")]
    Tensor,
}

/// What the head of the page says about a paper.
#[derive(Serialize)]
pub struct About {
    /// Short name.
    pub name: &'static str,
    /// Title, without the short name where that comes first.
    pub title: &'static str,
    /// Who and where.
    pub reference: &'static str,
    /// What it was measured on.
    pub card: &'static str,
}

impl Paper {
    /// Every paper.
    #[cfg(test)]
    pub const ALL: [Paper; 3] = [Paper::Tc, Paper::Gemm, Paper::Tensor];

    /// Name, title, reference.
    pub fn about(self) -> &'static About {
        match self {
            Paper::Tc => &tc_gs::ABOUT,
            Paper::Gemm => &gemm_gs::ABOUT,
            Paper::Tensor => &tensor_gs::ABOUT,
        }
    }

    /// The paper's tables, with a column group for each scene.
    pub fn tables(self, scenes: &[Scene]) -> Vec<Table> {
        let specs = self.specs();
        specs.iter().map(|spec| spec.fill(scenes)).collect()
    }

    /// Everything that the tables need, each once. Vanilla comes first: the others are compared
    /// with it.
    pub fn runs(self) -> Vec<Run> {
        let mut runs = vec![Run::vanilla(1)];
        for run in self.specs().iter().flat_map(table::Spec::runs) {
            if !runs.contains(&run) {
                runs.push(run);
            }
        }
        runs
    }

    fn specs(self) -> Vec<table::Spec> {
        match self {
            Paper::Tc => tc_gs::specs(),
            Paper::Gemm => gemm_gs::specs(),
            Paper::Tensor => tensor_gs::specs(),
        }
    }
}

/// One pipeline at one resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Name of the pipeline, `intersect+blend`.
    pub pipeline: String,
    /// Width and height are so many times the camera's.
    pub scale: u32,
}

impl Run {
    /// At the camera's own size.
    pub fn new(intersect: &str, blend: &str) -> Self {
        Self {
            pipeline: format!("{intersect}+{blend}"),
            scale: 1,
        }
    }

    /// The same, larger.
    pub fn at(mut self, scale: u32) -> Self {
        self.scale = scale;
        self
    }

    /// INRIA's 3DGS.
    pub fn vanilla(scale: u32) -> Self {
        Self::new("aabb", "scalar").at(scale)
    }

    /// What splatcore renders with if nothing else is asked for.
    pub fn splatcore(scale: u32) -> Self {
        let Pipeline {
            intersect, blend, ..
        } = Pipeline::AUTO;
        Self::new(intersect.name(), blend.name()).at(scale)
    }

    /// The pipeline, if this build knows the names.
    pub fn parse(&self) -> Result<Pipeline, String> {
        self.pipeline.parse()
    }
}

/// What came of a [`Run`].
pub enum Outcome {
    /// The numbers.
    Row(Box<Row>),
    /// Why there are none.
    Missing(String),
}

/// The measurements of one scene.
pub struct Scene {
    /// Short name, for headings.
    pub name: String,
    /// Every run with what came of it.
    pub outcomes: Vec<(Run, Outcome)>,
}

impl Scene {
    /// What came of a run; `None` if it was never asked for.
    fn outcome(&self, run: &Run) -> Option<&Outcome> {
        let found = self.outcomes.iter().find(|(other, _)| other == run);
        found.map(|(_, outcome)| outcome)
    }

    /// The numbers of a run, if it has any.
    fn row(&self, run: &Run) -> Option<&Row> {
        match self.outcome(run)? {
            Outcome::Row(row) => Some(row),
            Outcome::Missing(_) => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A row in which every number follows from `gpu_ms`.
    pub fn row(gpu_ms: f64) -> Row {
        Row {
            pipeline: Pipeline::VANILLA,
            intersect: "aabb".into(),
            blend: "scalar".into(),
            backward: "atomic".into(),
            gpu_ms,
            frame_ms: 1.05 * gpu_ms,
            backward_ms: None,
            step_ms: None,
            stages: vec![
                ("project", 0.1 * gpu_ms),
                ("intersect", 0.1 * gpu_ms),
                ("sort", 0.2 * gpu_ms),
                ("blend", 0.6 * gpu_ms),
            ],
            step_stages: Vec::new(),
            psnr_vs_reference: 70.0,
            psnr_vs_reference_worst: 70.0,
            psnr_vs_photos: Some(29.5),
            visible: 100,
            pairs: 1000,
            fragments_evaluated: 200_000,
            fragments_blended: 50_000,
            ns_per_blended: 1.0,
            ns_per_blended_backward: None,
        }
    }

    /// Vanilla takes 4 ms, all others 2; those whose name contains `missing` do not exist.
    pub fn scene(paper: Paper, missing: &str) -> Scene {
        let outcome = |run: Run| {
            let outcome = if !missing.is_empty() && run.pipeline.contains(missing) {
                Outcome::Missing("unknown blend method".into())
            } else if run.pipeline == Run::vanilla(1).pipeline {
                Outcome::Row(Box::new(row(4.0)))
            } else {
                Outcome::Row(Box::new(row(2.0)))
            };
            (run, outcome)
        };
        Scene {
            name: "fox".into(),
            outcomes: paper.runs().into_iter().map(outcome).collect(),
        }
    }

    #[test]
    fn every_table_ends_with_splatcore_and_fills_every_cell() {
        for paper in Paper::ALL {
            let scenes = [scene(paper, ""), scene(paper, "")];
            for table in paper.tables(&scenes) {
                let last = table.rows.last().unwrap();
                assert!(
                    last.label.starts_with("splatcore"),
                    "{}: {}",
                    table.name,
                    last.label
                );
                for row in &table.rows {
                    assert_eq!(
                        row.cells.len(),
                        table.columns().count(),
                        "{}: {}",
                        table.name,
                        row.label
                    );
                    let here = table
                        .columns()
                        .zip(&row.cells)
                        .filter(|(c, _)| !c.from_paper);
                    let filled = here.filter(|(_, cell)| cell.is_some()).count();
                    // Rows that cannot be run here say why.
                    assert!(
                        filled > 0 || row.note.is_some(),
                        "{}: {}",
                        table.name,
                        row.label
                    );
                }
            }
        }
    }

    #[test]
    fn every_paper_is_compared_with_vanilla_first() {
        for paper in Paper::ALL {
            let runs = paper.runs();
            assert_eq!(runs[0], Run::vanilla(1));
            assert!(runs.contains(&Run::splatcore(1)));
            for (i, run) in runs.iter().enumerate() {
                assert!(!runs[..i].contains(run), "{run:?} twice");
            }
            for scale in runs.iter().map(|run| run.scale) {
                assert!(runs.contains(&Run::vanilla(scale)), "{paper:?} at {scale}");
            }
        }
    }

    /// A name that is misspelt would be missing on every backend.
    #[test]
    fn every_run_is_a_pipeline() {
        for run in Paper::ALL.into_iter().flat_map(Paper::runs) {
            assert!(run.parse().is_ok(), "{run:?}");
        }
    }
}
