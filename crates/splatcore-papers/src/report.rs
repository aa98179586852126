//! All tables of a paper, as text, as a page and as JSON.

use crate::about::About;
use crate::html::page;
use crate::paper::Paper;
use crate::row::Row;
use crate::run::Run;
use crate::scene::{CompressedModel, Outcome, Scene};
use crate::table::Table;
use crate::text::text;
use crate::training::Training;
use serde::{Serialize, Serializer};

/// What was measured for a paper's tables.
pub struct Measured {
    /// What computed.
    pub device: String,
    /// Name of the backend.
    pub backend: &'static str,
    /// Passes over the cameras behind each time.
    pub passes: u32,
    /// The network that LPIPS is of, if weights were given.
    pub lpips_network: Option<&'static str>,
    /// Names and values for the head of text and page: where, how and of what.
    pub facts: Vec<(String, String)>,
    /// Each scene, with what came of [`Paper::runs`].
    pub scenes: Vec<Scene>,
    /// For papers that train.
    pub trainings: Vec<Training>,
}

/// A paper's tables with numbers. Serializes as `{"paper", "device", "backend", "passes",
/// "scenes": [...], "trainings": [...], "tables": [...]}`.
pub struct Report {
    paper: Paper,
    measured: Measured,
    tables: Vec<Table>,
}

impl Report {
    /// Fills the paper's tables.
    pub fn new(paper: Paper, measured: Measured) -> Self {
        let tables = paper.tables(&measured.scenes, &measured.trainings);
        Self {
            paper,
            measured,
            tables,
        }
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let about = self.paper.about();
        let mut head = vec![
            format!("{}: {}", about.name, about.title),
            format!("{}; measured there on {}", about.reference, about.card),
        ];
        let facts = self.measured.facts.iter();
        head.extend(facts.map(|(name, value)| format!("{name}: {value}")));
        let parts = [head.join("\n")].into_iter();
        let parts: Vec<String> = parts.chain(self.tables.iter().map(text)).collect();
        parts.join("\n\n")
    }

    /// A page with plots, readable without a network.
    pub fn html(&self) -> String {
        page(self.paper.about(), &self.measured.facts, &self.tables)
    }
}

#[derive(Serialize)]
struct ReportJson<'a> {
    paper: &'a About,
    device: &'a str,
    backend: &'a str,
    passes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    lpips_network: Option<&'static str>,
    scenes: Vec<SceneJson<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    trainings: &'a [Training],
    tables: &'a [Table],
}

#[derive(Serialize)]
struct SceneJson<'a> {
    scene: &'a str,
    gaussians: usize,
    size: [u32; 2],
    views: usize,
    rows: Vec<RowJson<'a>>,
    missing: Vec<MissingJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compressed: Vec<CompressedJson<'a>>,
}

#[derive(Serialize)]
struct RowJson<'a> {
    /// Width and height are so many times `size`.
    scale: u32,
    #[serde(flatten)]
    row: &'a Row,
}

#[derive(Serialize)]
struct MissingJson<'a> {
    scale: u32,
    pipeline: &'a str,
    reason: &'a str,
}

/// A compressed model of the scene.
#[derive(Serialize)]
struct CompressedJson<'a> {
    /// Its name as typed.
    compression: &'a str,
    scene: &'a str,
    gaussians: usize,
    rows: Vec<RowJson<'a>>,
    missing: Vec<MissingJson<'a>>,
}

impl<'a> From<&'a CompressedModel> for CompressedJson<'a> {
    fn from(model: &'a CompressedModel) -> Self {
        let (rows, missing) = split(&model.outcomes);
        Self {
            compression: model.compression.name(),
            scene: &model.file,
            gaussians: model.gaussians,
            rows,
            missing,
        }
    }
}

impl<'a> From<&'a Scene> for SceneJson<'a> {
    fn from(scene: &'a Scene) -> Self {
        let (rows, missing) = split(&scene.outcomes);
        Self {
            scene: &scene.file,
            gaussians: scene.gaussians,
            size: scene.size,
            views: scene.views,
            rows,
            missing,
            compressed: scene.compressed.iter().map(Into::into).collect(),
        }
    }
}

/// Runs with numbers, and runs without.
fn split(outcomes: &[(Run, Outcome)]) -> (Vec<RowJson<'_>>, Vec<MissingJson<'_>>) {
    let (mut rows, mut missing) = (Vec::new(), Vec::new());
    for (run, outcome) in outcomes {
        let scale = run.scale;
        match outcome {
            Outcome::Row(row) => rows.push(RowJson { scale, row }),
            Outcome::Missing { full, .. } => missing.push(MissingJson {
                scale,
                pipeline: &run.pipeline,
                reason: full,
            }),
        }
    }
    (rows, missing)
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = ReportJson {
            paper: self.paper.about(),
            device: &self.measured.device,
            backend: self.measured.backend,
            passes: self.measured.passes,
            lpips_network: self.measured.lpips_network,
            scenes: self.measured.scenes.iter().map(SceneJson::from).collect(),
            trainings: &self.measured.trainings,
            tables: &self.tables,
        };
        json.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::Compression;
    use crate::test_data::{compressed_scene, scene};

    fn report(paper: Paper, missing: &str) -> Report {
        let measured = Measured {
            device: "a device".into(),
            backend: "cpu",
            passes: 3,
            lpips_network: None,
            facts: vec![("here".into(), "a & b".into())],
            scenes: vec![scene(paper, missing)],
            trainings: Vec::new(),
        };
        Report::new(paper, measured)
    }

    #[test]
    fn text_begins_with_the_paper_and_the_facts() {
        let text = report(Paper::Tc, "").text();
        let head: Vec<&str> = text.lines().take(5).collect();
        assert!(head[0].starts_with("TC-GS: A Faster"), "{text}");
        assert!(head[1].ends_with("measured there on NVIDIA A800"), "{text}");
        assert_eq!(head[2..4], ["here: a & b", ""]);
        assert!(head[4].starts_with("Table 3: "), "{text}");
    }

    /// The same pipelines as on the full model: in one list they could not be told apart.
    #[test]
    fn compressed_models_have_rows_of_their_own() {
        let json = serde_json::to_value(report(Paper::Gemm, "")).unwrap();
        assert!(json["scenes"][0]["compressed"].is_null());
        let mut report = report(Paper::Gemm, "");
        report.measured.scenes = vec![compressed_scene(&[Compression::LightGaussian])];
        let json = serde_json::to_value(report).unwrap();
        let scene = &json["scenes"][0];
        let rows = scene["rows"].as_array().unwrap();
        assert_eq!(rows.len(), Paper::Gemm.runs().len());
        let model = &scene["compressed"][0];
        assert_eq!(model["compression"], "lightgaussian");
        assert_eq!(model["scene"], "models/fox-lightgaussian.ply");
        assert_eq!(
            (&model["gaussians"], model["rows"].as_array().unwrap().len()),
            (&20.into(), 2)
        );
    }

    #[test]
    fn json_has_every_run_once_in_its_scene() {
        for paper in Paper::ALL {
            let json = serde_json::to_value(report(paper, "+tc-gs")).unwrap();
            assert_eq!(json["paper"]["name"], paper.about().name);
            assert_eq!(
                (&json["backend"], &json["passes"]),
                (&"cpu".into(), &3.into())
            );
            let scene = &json["scenes"][0];
            assert_eq!(scene["scene"], "models/fox.spz");
            let of = |key: &str| scene[key].as_array().unwrap();
            assert_eq!(of("rows").len() + of("missing").len(), paper.runs().len());
            for missing in of("missing") {
                let reason = missing["reason"].as_str().unwrap();
                assert!(
                    reason.contains(missing["pipeline"].as_str().unwrap()),
                    "{missing}"
                );
            }
            for row in of("rows") {
                assert!(row["scale"].is_u64() && row["gpu_ms"].is_f64(), "{row}");
                assert!(row["stages"]["blend"].is_f64(), "{row}");
            }
            assert!(!json["tables"].as_array().unwrap().is_empty());
        }
    }
}
