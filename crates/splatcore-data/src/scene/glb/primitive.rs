//! One primitive's Gaussians, in its own space.

use super::accessor::Column;
use super::buffers::Buffers;
use super::document::{Document, Primitive, Splatting};
use super::wrong::{Notes, Wrong};
use crate::scene::opacity::logit_of_alpha;
use crate::scene::spz;
use crate::words::quoted;
use rayon::prelude::*;
use splatcore_core::{Gaussians, sh};
use std::path::Path;

/// The mode of points.
const POINTS: u32 = 0;
/// The extension's prefix of attributes, and that of its drafts.
const PREFIXES: [&str; 2] = ["KHR_gaussian_splatting:", "_"];

/// Axes of Gaussians before their node's transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// glTF's: x left, y up, z forward.
    YUp,
    /// PLY's: x right, y down, z forward.
    Ply,
}

/// A primitive's Gaussians before its node's transform.
pub struct Local {
    pub gaussians: Gaussians,
    pub axes: Axes,
    pub antialiased: bool,
}

/// Bytes of so many Gaussians as floats.
pub fn float_bytes(count: usize, sh_degree: u8) -> u64 {
    4 * count as u64 * (11 + 3 * sh::coefficients(sh_degree)) as u64
}

/// Where a primitive's Gaussians are.
pub enum Source<'a> {
    /// An SPZ file in this buffer view.
    Spz(u32),
    Attributes {
        primitive: &'a Primitive,
        sh_degree: u8,
    },
}

impl<'a> Source<'a> {
    /// Where they are; none if the primitive is no splats.
    pub fn find(
        primitive: &'a Primitive,
        place: &str,
        notes: &mut Notes,
    ) -> Result<Option<Self>, Wrong> {
        let Some(extensions) = primitive.extensions.as_deref() else {
            return Ok(None);
        };
        if let Some(view) = extensions.spz.as_ref().and_then(|spz| spz.buffer_view) {
            return Ok(Some(Self::Spz(view)));
        }
        let Some(splatting) = &extensions.splatting else {
            return Ok(None);
        };
        check_properties(splatting, place, notes)?;
        let spz = splatting
            .extensions
            .iter()
            .find(|(name, _)| name.contains("spz"));
        if let Some(view) = spz.and_then(|(_, inner)| inner.buffer_view) {
            return Ok(Some(Self::Spz(view)));
        }
        if primitive.mode != Some(POINTS) || primitive.indices.is_some() {
            let problem = "splats must be points without indices";
            return Err(Wrong::new(place, problem));
        }
        let has = |name: &str| find(primitive, name).is_some();
        let complete = |degree: u8| (0..=2 * degree).all(|n| has(&coefficient(degree, n)));
        let higher = (1..=sh::MAX_DEGREE).take_while(|&degree| complete(degree));
        let sh_degree = higher.count() as u8;
        let begun = (sh_degree + 1..=sh::MAX_STORED_DEGREE)
            .any(|degree| (0..=2 * degree).any(|n| has(&coefficient(degree, n))));
        if begun {
            notes.add(format!(
                "spherical harmonics above degree {sh_degree} are incomplete and are left out"
            ));
        }
        Ok(Some(Self::Attributes {
            primitive,
            sh_degree,
        }))
    }

    /// Bytes that its floats will take, as far as the JSON says.
    pub fn bytes(&self, document: &Document) -> u64 {
        match self {
            Self::Spz(_) => 0,
            Self::Attributes {
                primitive,
                sh_degree,
            } => {
                let accessor = find(primitive, "POSITION");
                let accessor = accessor.and_then(|i| document.accessors.get(i as usize));
                let count = accessor.map_or(0, |accessor| accessor.count);
                count.saturating_mul(float_bytes(1, *sh_degree))
            }
        }
    }

    /// The Gaussians.
    pub fn decode(
        &self,
        document: &Document,
        buffers: &Buffers,
        path: &Path,
        place: &str,
        notes: &mut Notes,
    ) -> Result<Local, Wrong> {
        match self {
            Self::Attributes {
                primitive,
                sh_degree,
            } => {
                let columns = Columns::new(document, buffers, primitive, *sh_degree, place)?;
                if columns.degree_0.is_none() || columns.opacity.is_none() {
                    notes
                        .add("colours or opacities come from COLOR_0, as in a draft of the format");
                }
                Ok(Local {
                    gaussians: columns.decode(*sh_degree, place)?,
                    axes: Axes::YUp,
                    antialiased: false,
                })
            }
            Self::Spz(view) => {
                let (bytes, _) = buffers.view(*view)?;
                let scene = spz::parse(bytes, path).map_err(|error| {
                    Wrong::new(place, format!("its SPZ data: {}", error.problem))
                })?;
                notes.add("splats are SPZ data, read with the axes that the draft extension names");
                scene.notes.into_iter().for_each(|line| notes.add(line));
                if scene.dropped > 0 {
                    notes.add(format!(
                        "{} Gaussians of SPZ data are unsound",
                        scene.dropped
                    ));
                }
                Ok(Local {
                    gaussians: scene.gaussians,
                    axes: Axes::Ply,
                    antialiased: scene.antialiased,
                })
            }
        }
    }
}

/// Notes what renders otherwise here, refuses what is no Gaussian.
fn check_properties(splatting: &Splatting, place: &str, notes: &mut Notes) -> Result<(), Wrong> {
    if let Some(kernel) = &splatting.kernel
        && kernel != "ellipse"
    {
        let problem = format!("its kernel {} is not read", quoted(kernel));
        let remedy = "export it with the kernel \"ellipse\"";
        return Err(Wrong::with(place, problem, remedy));
    }
    // The two names of drafts for the same.
    const SRGB: [&str; 3] = ["srgb_rec709_display", "BT.709", "BT.709-sRGB"];
    if let Some(space) = &splatting.color_space
        && !SRGB.contains(&space.as_str())
    {
        let space = quoted(space);
        notes.add(format!(
            "colours are in the space {space}, and are read as they are"
        ));
    }
    for (what, value, default) in [
        ("projection", &splatting.projection, "perspective"),
        (
            "sorting method",
            &splatting.sorting_method,
            "cameraDistance",
        ),
    ] {
        if let Some(value) = value
            && value != default
        {
            notes.add(format!("the {what} {} is ignored", quoted(value)));
        }
    }
    Ok(())
}

/// The attribute of a coefficient, without its prefix.
fn coefficient(degree: u8, n: u8) -> String {
    format!("SH_DEGREE_{degree}_COEF_{n}")
}

/// The accessor of an attribute, under any of its names.
fn find(primitive: &Primitive, name: &str) -> Option<u32> {
    let plain = primitive.attributes.get(name);
    let mut prefixed = PREFIXES.iter().map(|prefix| format!("{prefix}{name}"));
    plain
        .copied()
        .or_else(|| prefixed.find_map(|name| primitive.attributes.get(&name).copied()))
}

/// The attributes of a primitive, all of one length.
struct Columns<'a> {
    position: Column<'a>,
    rotation: Column<'a>,
    scale: Column<'a>,
    opacity: Option<Column<'a>>,
    degree_0: Option<Column<'a>>,
    /// In place of the two before.
    colour: Option<Column<'a>>,
    /// In order, from degree 1.
    higher: Vec<Column<'a>>,
}

impl<'a> Columns<'a> {
    fn new(
        document: &Document,
        buffers: &'a Buffers,
        primitive: &Primitive,
        sh_degree: u8,
        place: &str,
    ) -> Result<Self, Wrong> {
        let optional = |name: &str, width: usize| -> Result<Option<Column<'a>>, Wrong> {
            let index = find(primitive, name);
            let column = index.map(|i| Column::new(document, buffers, i, name, width));
            column.transpose()
        };
        let required = |name: &str, width: usize| {
            optional(name, width)?
                .ok_or_else(|| Wrong::new(place, format!("has no attribute {name}")))
        };
        let mut higher = Vec::new();
        for degree in 1..=sh_degree {
            for n in 0..=2 * degree {
                higher.push(required(&coefficient(degree, n), 3)?);
            }
        }
        let mut columns = Self {
            position: required("POSITION", 3)?,
            rotation: required("ROTATION", 4)?,
            scale: required("SCALE", 3)?,
            opacity: optional("OPACITY", 1)?,
            degree_0: optional(&coefficient(0, 0), 3)?,
            colour: None,
            higher,
        };
        if columns.opacity.is_none() || columns.degree_0.is_none() {
            columns.colour = optional("COLOR_0", 4)?;
            if columns.colour.is_none() {
                let missing = if columns.opacity.is_none() {
                    "OPACITY"
                } else {
                    "SH_DEGREE_0_COEF_0"
                };
                return Err(Wrong::new(place, format!("has no attribute {missing}")));
            }
        }
        columns.check_lengths(place)?;
        Ok(columns)
    }

    fn check_lengths(&self, place: &str) -> Result<(), Wrong> {
        let count = self.position.count;
        let others = [&self.rotation, &self.scale].into_iter();
        let others = others.chain(&self.opacity).chain(&self.degree_0);
        let mut others = others.chain(&self.colour).chain(&self.higher);
        let Some(other) = others.find(|column| column.count != count) else {
            return Ok(());
        };
        let other = other.count;
        let problem = format!("has attributes of {count} and of {other} vectors");
        Err(Wrong::new(place, problem))
    }

    fn decode(&self, sh_degree: u8, place: &str) -> Result<Gaussians, Wrong> {
        let count = self.position.count;
        let negative = (0..count).filter(|&i| self.scale.row::<3>(i).iter().any(|&s| s < 0.0));
        if negative.count() > count / 2 {
            let problem = "its scales are negative: logarithms, as in a draft of 2025";
            let remedy = "export it again with a program that follows the extension of 2026";
            return Err(Wrong::with(place, problem, remedy));
        }
        let mut gaussians = Gaussians::zeros(count, sh_degree);
        let coefficients = gaussians.coefficients();
        (
            &mut gaussians.means,
            &mut gaussians.log_scales,
            &mut gaussians.rotations,
            &mut gaussians.opacity_logits,
            gaussians.sh.par_chunks_exact_mut(coefficients),
        )
            .into_par_iter()
            .enumerate()
            .for_each(|(i, (mean, log_scales, rotation, logit, sh))| {
                *mean = self.position.row(i);
                // Below 0 the log is NaN, and the row is dropped later.
                *log_scales = self.scale.row(i).map(|scale: f32| match scale {
                    0.0 => f32::MIN_POSITIVE.ln(),
                    scale => f64::from(scale).ln() as f32,
                });
                let [x, y, z, w] = self.rotation.row(i);
                *rotation = [w, x, y, z];
                *logit = logit_of_alpha(self.alpha(i));
                sh[0] = self.diffuse(i);
                for (coefficient, column) in sh[1..].iter_mut().zip(&self.higher) {
                    *coefficient = column.row(i);
                }
            });
        Ok(gaussians)
    }

    fn alpha(&self, i: usize) -> f32 {
        match (&self.opacity, &self.colour) {
            (Some(opacity), _) => opacity.at(i, 0),
            (None, Some(colour)) => colour.at(i, 3),
            (None, None) => f32::NAN,
        }
    }

    fn diffuse(&self, i: usize) -> [f32; 3] {
        match (&self.degree_0, &self.colour) {
            (Some(degree_0), _) => degree_0.row(i),
            (None, Some(colour)) => colour.row(i).map(sh::from_colour),
            (None, None) => [f32::NAN; 3],
        }
    }
}
