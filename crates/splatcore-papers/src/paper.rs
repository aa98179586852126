//! The papers, each with its tables.

use crate::about::About;
use crate::compression::Compression;
use crate::described::Described;
use crate::models;
use crate::run::Run;
use crate::scene::Scene;
use crate::table::Table;
use crate::training::Training;
use std::str::FromStr;
use std::sync::LazyLock;

/// The papers whose tables there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// TC-GS.
    Tc,
    /// GEMM-GS.
    Gemm,
    /// TensorGS.
    Tensor,
    /// Atomic Aggregation.
    Atomic,
    /// Kernels by language models.
    Llm,
}

impl Paper {
    /// Every paper, in the order of the variants.
    pub const ALL: [Paper; 5] = [
        Paper::Tc,
        Paper::Gemm,
        Paper::Tensor,
        Paper::Atomic,
        Paper::Llm,
    ];

    /// Its name, as typed.
    pub fn name(self) -> &'static str {
        match self {
            Paper::Tc => "tc-gs",
            Paper::Gemm => "gemm-gs",
            Paper::Tensor => "tensor-gs",
            Paper::Atomic => "atomic-aggregation",
            Paper::Llm => "llm",
        }
    }

    /// What it is about, and which of its tables there are.
    pub fn contents(self) -> &'static str {
        &self.described().contents
    }

    /// Name, title, reference.
    pub fn about(self) -> &'static About {
        &self.described().about
    }

    /// Whether it has a table of trainings.
    pub fn trains(self) -> bool {
        self.described().trainings.is_some()
    }

    /// Whether a table of it has LPIPS.
    pub fn has_lpips(self) -> bool {
        self.runs().iter().any(|run| run.also.lpips)
    }

    /// The paper's tables, with a column group for each scene and one for the mean of several;
    /// trainings stand in a table of their own, where the paper has one.
    pub fn tables(self, scenes: &[Scene], trainings: &[Training]) -> Vec<Table> {
        let Described {
            specs,
            trainings: trained,
            ..
        } = self.described();
        let mut tables: Vec<Table> = specs.iter().map(|spec| spec.fill(scenes)).collect();
        tables.extend(trained.iter().map(|spec| spec.fill(trainings)));
        tables.extend(models::table(scenes));
        tables
    }

    /// Everything that the tables need, each once. Vanilla comes first: the others are compared
    /// with it.
    pub fn runs(self) -> Vec<Run> {
        self.merged(vec![Run::vanilla(1)], None)
    }

    /// Everything that the tables need of a model that is compressed so, likewise; nothing if the
    /// paper has no such rows.
    pub fn runs_on(self, compression: Compression) -> Vec<Run> {
        self.merged(Vec::new(), Some(compression))
    }

    fn merged(self, mut runs: Vec<Run>, on: Option<Compression>) -> Vec<Run> {
        for run in self.described().specs.iter().flat_map(|spec| spec.runs(on)) {
            match runs.iter_mut().find(|other| other.same(&run)) {
                Some(other) => other.also = other.also.and(run.also),
                None => runs.push(run),
            }
        }
        runs
    }

    /// What its file says. A file that cannot be read fails every test of the crate.
    pub(crate) fn described(self) -> &'static Described {
        static PAPERS: LazyLock<[Described; 5]> = LazyLock::new(|| {
            Paper::ALL.map(|paper| {
                let read = Described::read(paper.text());
                read.unwrap_or_else(|error| panic!("the tables of {}: {error}", paper.name()))
            })
        });
        &PAPERS[self as usize]
    }

    fn text(self) -> &'static str {
        match self {
            Paper::Tc => include_str!("tables/tc-gs.toml"),
            Paper::Gemm => include_str!("tables/gemm-gs.toml"),
            Paper::Tensor => include_str!("tables/tensor-gs.toml"),
            Paper::Atomic => include_str!("tables/atomic-aggregation.toml"),
            Paper::Llm => include_str!("tables/llm.toml"),
        }
    }
}

impl FromStr for Paper {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Paper::ALL.into_iter().find(|paper| paper.name() == name);
        found.ok_or_else(|| {
            let known = Paper::ALL.map(Paper::name).join(", ");
            format!("unknown paper `{name}`; there are {known}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{compressed_scene, scene};

    #[test]
    fn papers_are_found_by_name() {
        for paper in Paper::ALL {
            assert_eq!(paper.name().parse(), Ok(paper));
        }
        let error = "bitcoin".parse::<Paper>().unwrap_err();
        assert!(
            error.contains("bitcoin") && error.contains("tc-gs"),
            "{error}"
        );
    }

    /// Tables of trainings, and those that only quote the paper, end with what they have.
    #[test]
    fn every_table_ends_with_splatcore_and_fills_every_cell() {
        for paper in Paper::ALL {
            let scenes = [scene(paper, ""), scene(paper, "")];
            for table in paper.tables(&scenes, &[]) {
                let last = table.rows.last().unwrap();
                let measured = table
                    .groups
                    .iter()
                    .any(|g| g.title.starts_with("here: fox"));
                assert!(
                    !measured || last.label.starts_with("splatcore"),
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
            let has = |run: Run| runs.iter().any(|other| other.same(&run));
            assert!(runs[0].same(&Run::vanilla(1)));
            assert!(has(Run::splatcore(1)));
            for (i, run) in runs.iter().enumerate() {
                assert!(!runs[..i].iter().any(|other| other.same(run)), "{run:?}");
            }
            for scale in runs.iter().map(|run| run.scale) {
                assert!(has(Run::vanilla(scale)), "{paper:?} at {scale}");
            }
        }
    }

    #[test]
    fn steps_are_measured_for_the_paper_on_training_alone() {
        for paper in Paper::ALL {
            let backward = paper.runs().iter().any(|run| run.also.backward);
            assert_eq!(backward, paper == Paper::Atomic);
            let ssim = paper.runs().iter().any(|run| run.also.ssim);
            assert_eq!(ssim, paper == Paper::Tc);
            // Where the paper's tables have quality against photos.
            assert_eq!(
                paper.has_lpips(),
                matches!(paper, Paper::Tc | Paper::Tensor)
            );
        }
    }

    #[test]
    fn compressed_models_are_measured_for_gemm_gs_alone() {
        for paper in Paper::ALL {
            for compression in Compression::ALL {
                let runs = paper.runs_on(compression);
                let pipelines: Vec<&str> = runs.iter().map(|run| run.pipeline.as_str()).collect();
                match paper {
                    Paper::Gemm => assert_eq!(pipelines, ["aabb+scalar", "aabb+gemm-gs"]),
                    _ => assert!(pipelines.is_empty()),
                }
            }
        }
    }

    /// Of each row of table 2: times of its own model, compared with the full model's.
    #[test]
    fn rows_of_compressed_models_have_numbers() {
        let both = compressed_scene(&Compression::ALL);
        let one = Scene {
            name: "second".into(),
            ..compressed_scene(&[Compression::C3dgs])
        };
        let tables = Paper::Gemm.tables(&[both, one], &[]);
        let table = |name: &str| tables.iter().find(|table| table.name == name).unwrap();
        let latency = table("Table 2");
        let at = |label: &str| {
            let mut labels = latency.rows.iter().map(|row| row.label.as_str());
            labels.position(|other| other == label).unwrap()
        };
        // ms, ms by the clock, vs 3DGS, dB; vanilla takes 4 ms, 1 ms on a compressed model, and
        // every other pipeline half of that.
        let cells = |row: usize| &latency.rows[row].cells;
        let c3dgs = at("c3dgs, masks only");
        assert_eq!(cells(c3dgs)[..3], [Some(1.0), Some(1.05), Some(4.0)]);
        assert_eq!(cells(c3dgs + 1)[..3], [Some(0.5), Some(0.525), Some(8.0)]);
        assert_eq!(cells(c3dgs + 2)[..2], [Some(2.0), None]);
        assert_eq!(cells(c3dgs)[12], Some(4.3), "the paper's");
        assert_eq!(latency.rows[c3dgs].note, None);
        let light = &latency.rows[at("LightGaussian")];
        assert_eq!(light.note.as_deref(), Some("no compressed model of second"));
        assert!(light.cells[0].is_some() && light.cells[4..12].iter().all(Option::is_none));
        let gains = table("Figure 5").rows.iter();
        let mut gains = gains.filter(|row| row.label.starts_with("c3dgs"));
        assert_eq!(gains.next().unwrap().cells[..2], [Some(2.0), Some(8.0)]);
        assert_eq!(tables.last().unwrap().name, "Models");

        let without = Paper::Gemm.tables(&[scene(Paper::Gemm, "")], &[]);
        let row = &without[0].rows[c3dgs];
        assert_eq!(row.note.as_deref(), Some("no compressed model given"));
    }

    /// A name that is misspelt would be missing on every backend.
    #[test]
    fn every_run_is_a_pipeline() {
        for run in Paper::ALL.into_iter().flat_map(Paper::runs) {
            assert!(run.parse().is_ok(), "{run:?}");
        }
    }
}
