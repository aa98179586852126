//! Streamed SOG: levels of detail in chunks, each an unbundled SOG of its own, with a
//! lod-meta.json that says by a tree of boxes which Gaussians of which chunk lie where.
//!
//! The format is PlayCanvas's, as splat-transform writes it. A level is read as a whole: the parts
//! of all the tree's leaves that belong to it, in the tree's order, and the environment.

mod meta;
mod tree;
mod write;

pub use write::write_streamed;

use super::decode::{ALWAYS_ALLOWED, Decoded, MAX_RATIO, decode};
use super::files::{Files, LOD_META, META};
use crate::DataError;
use crate::scene::scene_file::SceneFile;
use meta::{LodMeta, Part};
use splatcore_core::{Gaussians, sh};
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of a lod-meta.json in an archive: so many for each of the archive's.
const MAX_TEXT: u64 = 20;

/// Reads a level from the files of a folder or an archive; `text` is that of lod-meta.json, if it
/// was read already. `bundle` is the size of the archive, if there is one.
pub(super) fn read(
    text: Option<&[u8]>,
    files: &mut Files,
    bundle: Option<u64>,
    level: u32,
) -> Result<SceneFile, DataError> {
    let content;
    let text = match text {
        Some(text) => text,
        None => {
            let most = super::meta::LONGEST + MAX_TEXT * bundle.unwrap_or(0);
            content = files.read(LOD_META, most)?;
            &content
        }
    };
    let meta = LodMeta::parse(text).map_err(|problem| files.error(LOD_META, problem))?;
    let level = level as usize;
    let Some(parts) = meta.levels.get(level) else {
        let last = meta.levels.len() - 1;
        let problem = format!("has no level {level}, its levels are 0 to {last}");
        let mut error = files.error(LOD_META, problem);
        error.remedy = "choose one of these".into();
        return Err(error);
    };
    let mut join = Join {
        all: Gaussians::empty(0),
        antialiased: false,
        bytes: text.len() as u64,
        notes: Vec::new(),
        bundle,
    };
    let order = join.chunks(&meta, parts, files)?;
    if let Some(name) = &meta.environment {
        let environment = join.open(name, files)?;
        join.append(&environment, 0..environment.len() as u32);
    }
    let counts: Vec<String> = (0..meta.levels.len())
        .map(|level| format!("{level} has {}", meta.count(level)))
        .collect();
    join.notes.push(format!(
        "levels of detail: {} Gaussians; level {level} is read",
        counts.join(", ")
    ));
    let gaussians = match order {
        Some(order) => {
            let parts = order.len() as u32;
            let rest = parts..join.all.len() as u32; // the environment
            join.all
                .in_order(&order.into_iter().chain(rest).collect::<Vec<_>>())
        }
        None => join.all,
    };
    let format = format!("streamed SOG, level {level} of {}", meta.levels.len());
    Ok(SceneFile::checked(
        gaussians,
        format,
        bundle.unwrap_or(join.bytes),
        join.notes,
        join.antialiased,
    ))
}

/// A level while it is put together.
struct Join {
    all: Gaussians,
    antialiased: bool,
    /// Of all files read.
    bytes: u64,
    notes: Vec<String>,
    bundle: Option<u64>,
}

impl Join {
    /// Appends the parts, chunk by chunk, each chunk opened once. Returns the order that makes it
    /// the tree's, if it is another.
    fn chunks(
        &mut self,
        meta: &LodMeta,
        parts: &[Part],
        files: &Files,
    ) -> Result<Option<Vec<u32>>, DataError> {
        let mut of_file: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let mut in_order: Vec<u32> = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            let own = of_file.entry(part.file).or_default();
            if own.is_empty() {
                in_order.push(part.file);
            }
            own.push(i);
        }
        let mut starts = vec![0u32; parts.len()];
        for file in in_order {
            let name = &meta.filenames[file as usize];
            let chunk = self.open(name, files)?;
            for &i in &of_file[&file] {
                let Part { offset, count, .. } = parts[i];
                let end = offset
                    .checked_add(count)
                    .filter(|&end| end as usize <= chunk.len());
                let Some(end) = end else {
                    let problem = format!(
                        "wants Gaussians {offset} and {count} on of {name}, which has {}",
                        chunk.len()
                    );
                    return Err(files.error(LOD_META, problem));
                };
                starts[i] = self.all.len() as u32;
                self.append(&chunk, offset..end);
            }
        }
        if starts.is_sorted() {
            return Ok(None);
        }
        let ranges = parts.iter().zip(starts);
        Ok(Some(
            ranges
                .flat_map(|(part, start)| start..start + part.count)
                .collect(),
        ))
    }

    /// Reads a chunk whole, its unsound Gaussians included: their places count.
    fn open(&mut self, name: &str, files: &Files) -> Result<Gaussians, DataError> {
        let mut chunk = files.below(name);
        // A bundled chunk is no larger than the archive that it lies in.
        let most = super::meta::LONGEST.max(self.bundle.unwrap_or(0));
        let content = chunk.read(file_name(name), most)?;
        let decoded = if content.starts_with(b"PK") {
            let mut bundle = Files::bundle(&content, Path::new(name))?;
            let text = bundle.read(META, super::meta::LONGEST)?;
            decode(&text, &mut bundle, Some(content.len() as u64))
        } else {
            decode(&content, &mut chunk, self.bundle)
        };
        let Decoded {
            gaussians,
            antialiased,
            bytes,
            notes,
            ..
        } = decoded?;
        self.bytes += if self.bundle.is_some() { 0 } else { bytes };
        self.antialiased |= antialiased;
        self.notes
            .extend(notes.iter().map(|note| format!("{name}: {note}")));
        let stored = self.bundle.unwrap_or(self.bytes);
        let degree = gaussians.sh_degree.max(self.all.sh_degree);
        let count = (self.all.len() + gaussians.len()) as u64;
        let floats = count * 4 * (11 + 3 * sh::coefficients(degree)) as u64;
        if floats > ALWAYS_ALLOWED + MAX_RATIO * stored || count > u64::from(u32::MAX) {
            let problem = format!("has {count} Gaussians and more in files of {stored} bytes");
            return Err(files.error(LOD_META, problem));
        }
        Ok(gaussians)
    }

    fn append(&mut self, chunk: &Gaussians, range: std::ops::Range<u32>) {
        let degree = self.all.sh_degree.max(chunk.sh_degree);
        if degree > self.all.sh_degree {
            self.all = self.all.with_sh_degree(degree);
        }
        if degree > chunk.sh_degree {
            let chunk = chunk.with_sh_degree(degree);
            range.for_each(|i| self.all.push_from(&chunk, i as usize));
        } else {
            range.for_each(|i| self.all.push_from(chunk, i as usize));
        }
    }
}

/// The last part of a chunk's name.
fn file_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
