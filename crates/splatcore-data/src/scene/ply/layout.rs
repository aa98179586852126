//! Which property of which element is which parameter of a Gaussian.

use super::header::{Element, Header, Kind, Scalar};
use crate::words::quoted;
use crate::{DataError, Place};
use splatcore_core::{Gaussians, sh};
use std::path::Path;

/// What every "the file is too short" error advises.
pub const TRUNCATED: &str = "the file is cut short or its header is wrong: get or export it again";

pub(super) const EXPORT: &str = "give a PLY as a 3D Gaussian splatting trainer writes it";

/// Parameters that are not higher spherical harmonics, in the order of [`Layout::slots`].
const NAMES: [&str; 14] = [
    "x", "y", "z", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3", "opacity",
    "f_dc_0", "f_dc_1", "f_dc_2",
];

/// Where a value is found in a row.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Which property of the element, from 0.
    pub column: usize,
    /// Its byte in a binary row; of use only where the row has no lists.
    pub offset: usize,
    pub scalar: Scalar,
}

/// Where each parameter of a Gaussian is found.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Index of the element `vertex`.
    pub element: usize,
    pub sh_degree: u8,
    /// Mean (3), log scales (3), rotation (4), opacity logit (1), then SH coefficient-major,
    /// red, green, blue in turn: `11 + 3 (sh_degree + 1)²` slots.
    pub slots: Vec<Slot>,
}

impl Layout {
    pub fn find(header: &Header, path: &Path) -> Result<Self, DataError> {
        let wrong = |problem: String| {
            DataError::new(path, problem, EXPORT).at(Place::Part("header".into()))
        };
        let Some(element) = header.elements.iter().position(|e| e.name == "vertex") else {
            return Err(wrong("the PLY has no element \"vertex\"".into()));
        };
        let vertex = &header.elements[element];
        let columns = Columns::of(vertex).map_err(wrong)?;
        let missing: Vec<&str> = NAMES
            .iter()
            .copied()
            .filter(|name| columns.scalar(name).is_none())
            .collect();
        if !missing.is_empty() {
            let what = match missing.len() >= 8 {
                true => "this PLY is a plain point cloud or mesh, not Gaussians",
                false => "not every parameter of a Gaussian is there",
            };
            return Err(wrong(format!(
                "{what}: element vertex lacks {}",
                missing.join(", ")
            )));
        }
        let rest = columns.rest_count();
        let sh_degree = match rest {
            0 => 0,
            9 => 1,
            24 => 2,
            45 => 3,
            72 => 4,
            _ => {
                let problem = format!(
                    "{rest} properties f_rest_*, where 0, 9, 24, 45 or 72 make a degree of 0 to 4"
                );
                return Err(wrong(problem));
            }
        };
        let mut names: Vec<String> = NAMES.iter().map(|&name| name.into()).collect();
        let higher = sh::coefficients(sh_degree) - 1;
        for k in 0..higher {
            // Channel-major in the file: all of red, all of green, all of blue.
            names.extend((0..3).map(|channel| format!("f_rest_{}", channel * higher + k)));
        }
        let slot = |name: String| {
            columns
                .scalar(&name)
                .ok_or_else(|| wrong(format!("of {rest} properties f_rest_*, {name} is missing")))
        };
        Ok(Self {
            element,
            sh_degree,
            slots: names.into_iter().map(slot).collect::<Result<_, _>>()?,
        })
    }
}

impl Layout {
    /// Whether every parameter is an f32.
    pub fn is_f32(&self) -> bool {
        self.slots.iter().all(|slot| slot.scalar == Scalar::F32)
    }

    /// Properties that are no parameters, normals aside (INRIA's trainer writes zeros there).
    pub fn others(&self, vertex: &Element) -> Vec<(String, Slot)> {
        let mut offset = 0;
        let mut others = Vec::new();
        for (column, property) in vertex.properties.iter().enumerate() {
            let Kind::Scalar(scalar) = property.kind else {
                continue;
            };
            let slot = Slot {
                column,
                offset,
                scalar,
            };
            offset += scalar.size();
            let is_parameter = self.slots.iter().any(|slot| slot.column == column);
            if !is_parameter && !["nx", "ny", "nz"].contains(&property.name.as_str()) {
                others.push((property.name.clone(), slot));
            }
        }
        others
    }
}

/// The scalar properties of an element by name.
struct Columns<'a>(std::collections::HashMap<&'a str, Slot>);

impl<'a> Columns<'a> {
    fn of(element: &'a Element) -> Result<Self, String> {
        let mut columns = std::collections::HashMap::new();
        let mut offset = 0;
        for (column, property) in element.properties.iter().enumerate() {
            if let Kind::Scalar(scalar) = property.kind {
                let slot = Slot {
                    column,
                    offset,
                    scalar,
                };
                offset += scalar.size();
                let known =
                    NAMES.contains(&property.name.as_str()) || property.name.starts_with("f_rest_");
                if columns.insert(property.name.as_str(), slot).is_some() && known {
                    return Err(format!(
                        "property {} is declared twice",
                        quoted(&property.name)
                    ));
                }
            }
        }
        Ok(Self(columns))
    }

    fn scalar(&self, name: &str) -> Option<Slot> {
        self.0.get(name).copied()
    }

    fn rest_count(&self) -> usize {
        self.0
            .keys()
            .filter(|name| name.starts_with("f_rest_"))
            .count()
    }
}

/// Fills one Gaussian with what `value` gives for each slot.
#[inline]
pub fn fill(
    slots: &[Slot],
    value: impl Fn(Slot) -> f32,
    mean: &mut [f32; 3],
    log_scales: &mut [f32; 3],
    rotation: &mut [f32; 4],
    opacity_logit: &mut f32,
    sh: &mut [[f32; 3]],
) {
    *mean = std::array::from_fn(|c| value(slots[c]));
    *log_scales = std::array::from_fn(|c| value(slots[3 + c]));
    *rotation = std::array::from_fn(|c| value(slots[6 + c]));
    *opacity_logit = value(slots[10]);
    for (to, from) in sh.iter_mut().zip(slots[11..].as_chunks::<3>().0) {
        *to = from.map(&value);
    }
}

/// [`fill`] for Gaussian `i`.
pub fn fill_row(gaussians: &mut Gaussians, i: usize, slots: &[Slot], value: impl Fn(Slot) -> f32) {
    let k = gaussians.coefficients();
    fill(
        slots,
        value,
        &mut gaussians.means[i],
        &mut gaussians.log_scales[i],
        &mut gaussians.rotations[i],
        &mut gaussians.opacity_logits[i],
        &mut gaussians.sh[i * k..(i + 1) * k],
    );
}
