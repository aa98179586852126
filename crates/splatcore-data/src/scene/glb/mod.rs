//! Binary glTF with the extension KHR_gaussian_splatting.
//!
//! The format: KhronosGroup/glTF, `extensions/2.0/Khronos/KHR_gaussian_splatting`; the text that is
//! followed here is the release candidate of 2026.
//! Gaussians are the points of a primitive: standard deviations and opacities linear, rotations `x,
//! y, z, w`, harmonics of degree 0 to 3 with PLY's constants and order, y up. Drafts of the
//! extension had other names of attributes (`_ROTATION`) and colours in `COLOR_0`: both are read,
//! and so are primitives whose data is an SPZ file in a buffer view, as the drafts
//! KHR_gaussian_splatting_compression_spz and _spz_2 have it.
//!
//! Reading: `container` finds the chunks, `document` reads the JSON, `buffers` and `accessor` find
//! the numbers, `primitive` makes Gaussians of them, `nodes` walks the scene, `transform` applies
//! the nodes' matrices. `write` writes.

mod accessor;
mod buffers;
mod container;
mod document;
mod nodes;
mod primitive;
mod transform;
mod write;
mod wrong;

pub use write::write;

use super::scene_file::SceneFile;
use crate::{DataError, Place};
use buffers::Buffers;
use document::Document;
use nodes::Matrix;
use splatcore_core::Gaussians;
use std::collections::BTreeMap;
use std::path::Path;
use wrong::{Notes, Wrong};

/// Bytes of floats that any file may unpack to, and how many more for each of its bytes: nodes may
/// show one mesh many times.
const ALWAYS_ALLOWED: u64 = 64 << 20;
const MAX_RATIO: u64 = 100;

/// Reads a scene from the bytes of a .glb file; `path` is for messages only. All splats of the
/// default scene are merged, each with its node's transform, and turned to PLY's axes. Opacities of
/// 0 and 1 become logits of ∓[`super::spz::MAX_LOGIT`]; a standard deviation of 0, whose log is
/// infinite, the smallest normal f32.
///
/// # Errors
/// If the file is no binary glTF 2, holds no splats, needs what is not read (other files, sparse or
/// compressed accessors, other kernels, shear), or declares what it does not hold.
pub fn parse(bytes: &[u8], path: &Path) -> Result<SceneFile, DataError> {
    read(bytes, path).map_err(|wrong| {
        let error = DataError::new(path, wrong.problem, wrong.remedy);
        match wrong.place.is_empty() {
            true => error,
            false => error.at(Place::Part(wrong.place)),
        }
    })
}

fn read(bytes: &[u8], path: &Path) -> Result<SceneFile, Wrong> {
    let (json, binary) = container::chunks(bytes)?;
    let document = Document::parse(json)?;
    let buffers = Buffers::new(&document, binary)?;
    let mut shown: BTreeMap<u32, Vec<Matrix>> = BTreeMap::new();
    let mut notes = Notes::default();
    for (mesh, matrix) in nodes::shown_meshes(&document)? {
        shown.entry(mesh).or_default().push(matrix);
    }

    let mut parts = Parts {
        allowed: ALWAYS_ALLOWED + MAX_RATIO * bytes.len() as u64,
        found: Vec::new(),
    };
    let mut antialiased = false;
    for (&mesh, matrices) in &shown {
        let primitives = document.meshes.get(mesh as usize).map(|m| &m.primitives);
        let primitives = primitives
            .ok_or_else(|| Wrong::new(format!("mesh {mesh}"), "is named but does not exist"))?;
        for (i, primitive) in primitives.iter().enumerate() {
            let place = format!("mesh {mesh}, primitive {i}");
            let source = primitive::Source::find(primitive, &place, &mut notes)?;
            let Some(source) = source else {
                notes.add("meshes and points beside the splats are left out");
                continue;
            };
            parts.check(source.bytes(&document), matrices.len(), &place)?;
            let local = source.decode(&document, &buffers, path, &place, &mut notes)?;
            antialiased |= local.antialiased;
            parts.add(local, matrices, &place, &mut notes)?;
        }
    }
    if parts.found.is_empty() {
        let problem = "is glTF whose scene shows no Gaussian splats";
        let remedy = "give a .glb with the extension KHR_gaussian_splatting, or another scene file";
        return Err(Wrong::with("", problem, remedy));
    }
    Ok(SceneFile::checked(
        parts.merged(),
        "glTF, KHR_gaussian_splatting".into(),
        bytes.len() as u64,
        notes.lines,
        antialiased,
    ))
}

/// The Gaussians of primitives, each as often as nodes show it, in PLY space.
struct Parts {
    /// Bytes of floats that may still be made.
    allowed: u64,
    found: Vec<Gaussians>,
}

impl Parts {
    /// Whether Gaussians of so many bytes may be made so many times.
    fn check(&self, bytes: u64, times: usize, place: &str) -> Result<(), Wrong> {
        match bytes.saturating_mul(times as u64) <= self.allowed {
            true => Ok(()),
            false => Err(Wrong::new(
                place,
                format!("unpacks to far more than the file holds, shown {times} times"),
            )),
        }
    }

    fn add(
        &mut self,
        local: primitive::Local,
        matrices: &[Matrix],
        place: &str,
        notes: &mut Notes,
    ) -> Result<(), Wrong> {
        let size = primitive::float_bytes(local.gaussians.len(), local.gaussians.sh_degree);
        self.check(size, matrices.len(), place)?;
        self.allowed -= size * matrices.len() as u64;
        let Some((last, others)) = matrices.split_last() else {
            return Ok(());
        };
        for matrix in others {
            let mut copy = local.gaussians.clone();
            transform::to_ply(&mut copy, local.axes, matrix, place, notes)?;
            self.found.push(copy);
        }
        let mut gaussians = local.gaussians;
        transform::to_ply(&mut gaussians, local.axes, last, place, notes)?;
        self.found.push(gaussians);
        Ok(())
    }

    /// All in one, of the highest degree.
    fn merged(mut self) -> Gaussians {
        if self.found.len() == 1 {
            return self.found.swap_remove(0);
        }
        let degree = self.found.iter().map(|part| part.sh_degree).max();
        let mut all = Gaussians::empty(degree.unwrap_or(0));
        for part in self.found {
            let part = match part.sh_degree == all.sh_degree {
                true => part,
                false => part.with_sh_degree(all.sh_degree),
            };
            all.means.extend(part.means);
            all.log_scales.extend(part.log_scales);
            all.rotations.extend(part.rotations);
            all.opacity_logits.extend(part.opacity_logits);
            all.sh.extend(part.sh);
        }
        all
    }
}
