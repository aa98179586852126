//! lod-meta.json, checked: which parts of which chunks make a level.

use crate::scene::sog::meta::{is_inside, plain};
use crate::words::{one_line, quoted};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};

/// Levels that a scene may have; real ones have 3 to 8.
const MAX_LEVELS: u64 = 64;

/// What lod-meta.json says.
pub struct LodMeta {
    /// Of each level, the finest first, its parts in the order of the tree.
    pub levels: Vec<Vec<Part>>,
    /// The meta.json of each chunk, or a bundled SOG, relative to lod-meta.json.
    pub filenames: Vec<String>,
    /// A scene that belongs to every level.
    pub environment: Option<String>,
}

/// Consecutive Gaussians of a chunk.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Part {
    /// Position in [`LodMeta::filenames`].
    pub file: u32,
    pub offset: u32,
    pub count: u32,
}

#[derive(Deserialize)]
struct Raw {
    #[serde(rename = "lodLevels")]
    levels: u64,
    filenames: Vec<String>,
    environment: Option<String>,
    tree: Node,
}

/// serde_json refuses texts that are nested deeper than 128 levels, so recursion is bounded.
#[derive(Deserialize)]
struct Node {
    #[serde(default)]
    children: Vec<Node>,
    #[serde(default)]
    lods: BTreeMap<String, Part>,
}

impl LodMeta {
    /// Reads the text; an error says which part of it is wrong.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let raw: Raw = serde_json::from_slice(plain(text))
            .map_err(|e| format!("is no streamed SOG ({})", one_line(&e)))?;
        if !(1..=MAX_LEVELS).contains(&raw.levels) {
            return Err(format!(
                "has {} levels, 1 to {MAX_LEVELS} are read",
                raw.levels
            ));
        }
        let mut seen = HashSet::new();
        for name in raw.filenames.iter().chain(&raw.environment) {
            if !is_inside(name) {
                return Err(format!(
                    "names the file {}, which is not below its own folder",
                    quoted(name)
                ));
            }
            if !seen.insert(name.trim_start_matches("./")) {
                return Err(format!("names the file {} twice", quoted(name)));
            }
        }
        let mut levels = vec![Vec::new(); raw.levels as usize];
        raw.tree.collect(&mut levels, raw.filenames.len())?;
        for (level, parts) in levels.iter().enumerate() {
            disjoint(parts)
                .map_err(|file| format!("takes Gaussians of file {file} twice in level {level}"))?;
        }
        Ok(Self {
            levels,
            filenames: raw.filenames,
            environment: raw.environment,
        })
    }

    /// Gaussians of a level, without the environment.
    pub fn count(&self, level: usize) -> u64 {
        self.levels[level]
            .iter()
            .map(|part| u64::from(part.count))
            .sum()
    }
}

impl Node {
    fn collect(&self, levels: &mut [Vec<Part>], files: usize) -> Result<(), String> {
        for (level, &part) in &self.lods {
            let parts = level
                .parse()
                .ok()
                .and_then(|level: usize| levels.get_mut(level));
            let Some(parts) = parts else {
                let level = quoted(level);
                return Err(format!(
                    "has a part of level {level}, which it does not declare"
                ));
            };
            if part.file as usize >= files {
                return Err(format!("has a part of file {} of {files}", part.file));
            }
            // Some writers list empty parts.
            if part.count > 0 {
                parts.push(part);
            }
        }
        self.children
            .iter()
            .try_for_each(|child| child.collect(levels, files))
    }
}

/// The file of which two parts share Gaussians is the error.
fn disjoint(parts: &[Part]) -> Result<(), u32> {
    let mut sorted: Vec<_> = parts.iter().map(|p| (p.file, p.offset, p.count)).collect();
    sorted.sort_unstable();
    for pair in sorted.windows(2) {
        let ((file, offset, count), next) = (pair[0], pair[1]);
        if next.0 == file && u64::from(next.1) < u64::from(offset) + u64::from(count) {
            return Err(file);
        }
    }
    Ok(())
}
