//! Named sets of settings: what `preset` puts in place of the defaults. A file and flags override
//! them.
//!
//! The table below is the only place that has their values: what a run is resolved with, the help,
//! and docs/guide/presets.md (printed by `examples/presets_page.rs`) come from it.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::{Deserialize, Serialize};

/// A compromise between time and quality. docs/results/quality.md has what each reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// For a first look.
    Fast,
    /// For most photos.
    Balanced,
    /// For large scenes.
    Quality,
    /// For files that are sent to browsers.
    Small,
}

/// What a preset sets.
pub(super) struct Row {
    pub preset: Preset,
    pub name: &'static str,
    pub iterations: u32,
    /// That of the defaults if not given.
    pub max_gaussians: Option<usize>,
    /// That of the defaults if not given.
    pub sh_degree: Option<u8>,
    /// What it costs, beside the defaults, and what it is for.
    pub cost: &'static str,
}

/// How they differ, for the help.
pub(super) const IN_WORDS: &str = "They are points on one curve of quality against time";

static TABLE: [Row; 4] = [
    Row {
        preset: Preset::Fast,
        name: "fast",
        iterations: 7_000,
        max_gaussians: None,
        sh_degree: None,
        cost: "about a quarter of the defaults' time",
    },
    Row {
        preset: Preset::Balanced,
        name: "balanced",
        iterations: 15_000,
        max_gaussians: None,
        sh_degree: None,
        cost: "less than half the time",
    },
    Row {
        preset: Preset::Quality,
        name: "quality",
        iterations: 30_000,
        max_gaussians: None,
        sh_degree: None,
        cost: "the defaults, by a name",
    },
    Row {
        preset: Preset::Small,
        name: "small",
        iterations: 15_000,
        max_gaussians: Some(100_000),
        sh_degree: Some(2),
        cost: "about a third of the defaults' time; large scenes lose detail; also writes \
               scene.sog of some 3 MB",
    },
];

impl Preset {
    /// All of them, from the fastest to the best, then the one for small files.
    pub const ALL: [Self; 4] = [Self::Fast, Self::Balanced, Self::Quality, Self::Small];

    /// Whether a run also writes its scene as SOG.
    pub fn writes_sog(self) -> bool {
        self == Self::Small
    }

    /// What it sets.
    pub(super) fn row(self) -> &'static Row {
        // In the order of the variants.
        &TABLE[self as usize]
    }
}

impl ValueEnum for Preset {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let row = self.row();
        Some(PossibleValue::new(row.name).help(size(row)))
    }
}

/// Its settings and what it costs, in one line.
pub(super) fn summary(preset: Preset) -> String {
    let row = preset.row();
    format!("{}; {}", size(row), row.cost)
}

fn size(row: &Row) -> String {
    let steps = format!("{} steps", row.iterations);
    match row.max_gaussians {
        Some(number) => format!("{steps}, at most {number} Gaussians"),
        None => steps,
    }
}

/// The help of the setting.
pub(super) fn help() -> String {
    let one = |row: &Row| format!(". {}: {}", row.name, summary(row.preset));
    format!(
        "A named set of settings in place of the defaults; a config file and other flags override \
         it. {IN_WORDS}{}",
        TABLE.iter().map(one).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::presets_page;

    #[test]
    fn the_table_has_the_order_of_the_variants() {
        assert_eq!(TABLE.each_ref().map(|row| row.preset), Preset::ALL);
    }

    #[test]
    fn the_page_is_that_of_the_table() {
        let page = std::fs::read_to_string("../../docs/guide/presets.md").unwrap_or_default();
        assert!(
            page == presets_page(),
            "docs/guide/presets.md is stale; `cargo run -p splatcore-train --example presets_page \
             > docs/guide/presets.md` makes it anew"
        );
    }
}
