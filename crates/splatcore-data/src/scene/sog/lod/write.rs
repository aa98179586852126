//! Streamed SOG out.

use super::meta::LodMeta;
use super::tree::{self, Inside, Limits, Node};
use crate::DataError;
use crate::scene::decimate;
use crate::scene::morton::morton_order;
use crate::scene::rows::{Rows, whole};
use crate::scene::sog::files::{LOD_META, META};
use crate::scene::sog::write::{Encoded, Folder, Sound, encode_ordered, names};
use crate::scene::written::{Progress, WriteOptions, Written};
use serde::Serialize;
use splatcore_core::Gaussians;
use std::collections::BTreeMap;
use std::path::Path;

/// Levels that are written at most.
const MAX_LEVELS: u32 = 16;

/// Writes a streamed SOG; `path` is that of its lod-meta.json. Level 0 holds all Gaussians, each
/// further level half of them by [`decimate`](crate::scene::decimate()). A tree of boxes covers all
/// levels: a box is halved at the median while it has more than a chunk's Gaussians or is larger
/// than its extent, down to 256 Gaussians. The leaves of a level, in the tree's order, fill chunks,
/// each an unbundled SOG. All Gaussians are held in memory, and the levels beside them. Unsound
/// ones are left out.
///
/// # Errors
/// If a file cannot be written. An older scene in the folder is unreadable if writing fails between
/// its removal and the renaming of the new files; what else lies there stays.
pub fn write_streamed(
    path: &Path,
    rows: &dyn Rows,
    options: &WriteOptions,
    progress: Progress,
) -> Result<Written, DataError> {
    let mut notes = Sound::new(rows).notes(); // of the degree only: nothing was gathered yet
    let mut finest = whole(rows)?;
    finest = finest.with_sh_degree(Sound::new(rows).sh_degree());
    let dropped = finest.drop_unsound();
    if dropped > 0 {
        notes.push(format!(
            "{dropped} Gaussians with values that are not finite are left out"
        ));
    }
    let levels = levels(finest, options.sog.levels, progress);
    // Weights are of the scene's Gaussians, not of those that levels are made of.
    let unweighted = WriteOptions {
        weights: None,
        ..options.clone()
    };
    let limits = Limits {
        gaussians: options.sog.chunk_gaussians.max(1) as usize,
        extent: options.sog.chunk_extent,
    };
    let root = tree::build(tree::items(&levels), limits);
    let ranks: Vec<Vec<u32>> = levels.iter().map(ranks).collect::<Result<_, _>>()?;
    let mut chunks = Chunks {
        of_level: levels.iter().map(|_| vec![Vec::new()]).collect(),
        most: limits.gaussians,
    };
    let tree = chunks.fill(&root, &ranks);
    let (filenames, firsts) = chunks.names();
    let folder = Folder::beside(path)?;
    let mut bytes = 0;
    for (level, chunks) in chunks.of_level.iter().enumerate() {
        for (number, order) in chunks
            .iter()
            .enumerate()
            .filter(|(_, order)| !order.is_empty())
        {
            let Encoded { files, .. } =
                encode_ordered(path, &levels[level], order, &unweighted, progress)?;
            for (name, content) in files {
                bytes += content.len() as u64;
                folder.add(&format!("{level}_{number}/{name}"), &content)?;
            }
        }
    }
    let meta = LodFile {
        levels: levels.len(),
        environment: None,
        filenames,
        tree: tree.numbered(&firsts),
    };
    let text =
        serde_json::to_vec(&meta).map_err(|e| DataError::write(path, &std::io::Error::other(e)))?;
    folder.add(LOD_META, &text)?;
    folder.publish(&older(path))?;
    Ok(Written {
        bytes: bytes + text.len() as u64,
        notes,
    })
}

/// The files of the scene that the folder holds now.
fn older(path: &Path) -> Vec<String> {
    let meta = std::fs::read(path)
        .ok()
        .and_then(|text| LodMeta::parse(&text).ok());
    let files = meta.map(|meta| meta.filenames).unwrap_or_default();
    let folders = files.iter().filter_map(|name| name.strip_suffix(META));
    folders
        .filter(|folder| folder.ends_with('/'))
        .flat_map(names)
        .collect()
}

/// The levels, as many as there are Gaussians to halve.
fn levels(finest: Gaussians, count: u32, progress: Progress) -> Vec<Gaussians> {
    let count = count.clamp(1, MAX_LEVELS);
    let mut levels = vec![finest];
    while (levels.len() as u32) < count
        && let Some(last) = levels.last().filter(|last| last.len() > 1)
    {
        progress("decimating", levels.len() as u64, u64::from(count));
        levels.push(decimate(last, last.len().div_ceil(2)));
    }
    levels
}

/// The place of each Gaussian in Morton order.
fn ranks(gaussians: &Gaussians) -> Result<Vec<u32>, DataError> {
    let mut ranks = vec![0; gaussians.len()];
    for (rank, i) in morton_order(gaussians)?.into_iter().enumerate() {
        ranks[i as usize] = rank as u32;
    }
    Ok(ranks)
}

/// Of each level its chunks, of each chunk its Gaussians in order.
struct Chunks {
    of_level: Vec<Vec<Vec<u32>>>,
    most: usize,
}

impl Chunks {
    /// Puts the leaves into chunks, in the tree's order.
    fn fill(&mut self, node: &Node, ranks: &[Vec<u32>]) -> LodNode {
        let mut to = LodNode {
            bound: Bound {
                min: node.min,
                max: node.max,
            },
            children: Vec::new(),
            lods: BTreeMap::new(),
        };
        match &node.inside {
            Inside::Halves(halves) => {
                to.children = halves.iter().map(|half| self.fill(half, ranks)).collect();
            }
            Inside::Items(items) => {
                for (level, chunks) in self.of_level.iter_mut().enumerate() {
                    let own = items.iter().filter(|item| item.level as usize == level);
                    let mut own: Vec<u32> = own.map(|item| item.index).collect();
                    if own.is_empty() {
                        continue;
                    }
                    own.sort_unstable_by_key(|&i| ranks[level][i as usize]);
                    let held = chunks.last().map_or(0, Vec::len);
                    if held > 0 && held + own.len() > self.most {
                        chunks.push(Vec::new());
                    }
                    let file = chunks.len() - 1;
                    let part = LodPart {
                        file,
                        offset: chunks[file].len(),
                        count: own.len(),
                    };
                    chunks[file].extend(own);
                    to.lods.insert(level, part);
                }
            }
        }
        to
    }

    /// All chunks' names, and the position of each level's first.
    fn names(&self) -> (Vec<String>, Vec<usize>) {
        let (mut names, mut firsts) = (Vec::new(), Vec::new());
        for (level, chunks) in self.of_level.iter().enumerate() {
            firsts.push(names.len());
            let filled = (0..chunks.len()).filter(|&number| !chunks[number].is_empty());
            names.extend(filled.map(|number| format!("{level}_{number}/{META}")));
        }
        (names, firsts)
    }
}

/// lod-meta.json.
#[derive(Serialize)]
struct LodFile {
    #[serde(rename = "lodLevels")]
    levels: usize,
    environment: Option<String>,
    filenames: Vec<String>,
    tree: LodNode,
}

#[derive(Serialize)]
struct LodNode {
    bound: Bound,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<LodNode>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    lods: BTreeMap<usize, LodPart>,
}

#[derive(Serialize)]
struct Bound {
    min: [f32; 3],
    max: [f32; 3],
}

#[derive(Serialize)]
struct LodPart {
    /// At first within its level.
    file: usize,
    offset: usize,
    count: usize,
}

impl LodNode {
    /// With files numbered over all levels.
    fn numbered(mut self, firsts: &[usize]) -> Self {
        for (level, part) in &mut self.lods {
            part.file += firsts[*level];
        }
        let children = self.children.into_iter();
        self.children = children.map(|child| child.numbered(firsts)).collect();
        self
    }
}
