//! What was measured of a scene.

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
}

impl Scene {
    /// What came of a run; `None` if it was never asked for.
    pub(crate) fn outcome(&self, run: &Run) -> Option<&Outcome> {
        let found = self.outcomes.iter().find(|(other, _)| other.same(run));
        found.map(|(_, outcome)| outcome)
    }

    /// The numbers of a run, if it has any.
    pub(crate) fn row(&self, run: &Run) -> Option<&Row> {
        match self.outcome(run)? {
            Outcome::Row(row) => Some(row),
            Outcome::Missing { .. } => None,
        }
    }
}
