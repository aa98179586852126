//! The papers, each with its tables.

use crate::about::About;
use crate::run::Run;
use crate::scene::Scene;
use crate::spec::Spec;
use crate::table::Table;
use crate::{gemm_gs, tc_gs, tensor_gs};
use std::str::FromStr;

/// The papers whose tables there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// TC-GS.
    Tc,
    /// GEMM-GS.
    Gemm,
    /// TensorGS.
    Tensor,
}

impl Paper {
    /// Every paper.
    pub const ALL: [Paper; 3] = [Paper::Tc, Paper::Gemm, Paper::Tensor];

    /// Its name, as typed.
    pub fn name(self) -> &'static str {
        match self {
            Paper::Tc => "tc-gs",
            Paper::Gemm => "gemm-gs",
            Paper::Tensor => "tensor-gs",
        }
    }

    /// What it is about, and which of its tables there are.
    pub fn contents(self) -> &'static str {
        match self {
            Paper::Tc => "EarlyCull, Frag2Mat and G2L: tables 3 to 6, figure 3",
            Paper::Gemm => {
                "Batches, mini-batches and asynchronous copies: table 2, figures 3, 5, 6 and 7"
            }
            Paper::Tensor => "Groups of tiles: tables 3, 4 and 6, figures 1, 4 and 5",
        }
    }

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
        for run in self.specs().iter().flat_map(Spec::runs) {
            if !runs.contains(&run) {
                runs.push(run);
            }
        }
        runs
    }

    fn specs(self) -> Vec<Spec> {
        match self {
            Paper::Tc => tc_gs::specs(),
            Paper::Gemm => gemm_gs::specs(),
            Paper::Tensor => tensor_gs::specs(),
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
    use crate::test_data::scene;

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
