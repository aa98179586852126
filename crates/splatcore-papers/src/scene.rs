//! What was measured of a scene.

use crate::compression::Compression;
use crate::row::Row;
use crate::run::Run;

/// What came of a [`Run`].
pub enum Outcome {
    /// The numbers.
    Row(Box<Row>),
    /// Why there are none.
    Missing {
        /// In a few words, for the row of a table.
        short: String,
        /// In full, for the JSON.
        full: String,
    },
}

/// The measurements of one scene.
pub struct Scene {
    /// Short name, for headings.
    pub name: String,
    /// The scene's file.
    pub file: String,
    /// Number of Gaussians.
    pub gaussians: usize,
    /// Width and height of the images at scale 1, in pixels.
    pub size: [u32; 2],
    /// Number of cameras.
    pub views: usize,
    /// Every run with what came of it.
    pub outcomes: Vec<(Run, Outcome)>,
    /// Compressed models of the same scene, at most one of each kind.
    pub compressed: Vec<CompressedModel>,
}

/// The measurements of a compressed model, from the cameras of its scene.
pub struct CompressedModel {
    /// How it was compressed.
    pub compression: Compression,
    /// The model's file.
    pub file: String,
    /// Number of Gaussians.
    pub gaussians: usize,
    /// What came of [`crate::Paper::runs_on`].
    pub outcomes: Vec<(Run, Outcome)>,
}

impl Scene {
    /// The model that was compressed so, if there is one.
    pub(crate) fn model(&self, compression: Compression) -> Option<&CompressedModel> {
        let mut models = self.compressed.iter();
        models.find(|model| model.compression == compression)
    }

    /// What came of a run on a compressed model, or on the full one; `None` if it was never asked
    /// for.
    pub(crate) fn outcome(&self, run: &Run, on: Option<Compression>) -> Option<&Outcome> {
        let outcomes = match on {
            Some(compression) => &self.model(compression)?.outcomes,
            None => &self.outcomes,
        };
        let found = outcomes.iter().find(|(other, _)| other.same(run));
        found.map(|(_, outcome)| outcome)
    }

    /// The numbers of a run, if it has any; likewise.
    pub(crate) fn row(&self, run: &Run, on: Option<Compression>) -> Option<&Row> {
        match self.outcome(run, on)? {
            Outcome::Row(row) => Some(row),
            Outcome::Missing { .. } => None,
        }
    }
}
