//! [`Merged`]: several scenes as one.

use super::degree::WithDegree;
use crate::DataError;
use crate::scene::rows::{Extra, Rows};
use splatcore_core::Gaussians;

/// Rows one after the other, all with the highest degree among them. Extra properties are the union
/// of all; a scene without one has zeros there.
pub struct Merged {
    parts: Vec<Part>,
    len: usize,
    degree: u8,
    extras: Vec<Extra>,
}

struct Part {
    rows: Box<dyn Rows>,
    /// Index of its first Gaussian.
    start: usize,
    /// For each property of the whole its bytes in a row of this part, if it has it.
    extras: Vec<Option<std::ops::Range<usize>>>,
    /// Bytes of extra properties in a row of this part.
    extra_bytes: usize,
}

impl Merged {
    /// Joins scenes.
    ///
    /// # Errors
    /// If they are 2³² Gaussians or more.
    pub fn new(scenes: Vec<Box<dyn Rows>>) -> Result<Self, String> {
        let degree = scenes.iter().map(|rows| rows.sh_degree()).max();
        let degree = degree.unwrap_or(0);
        let mut extras: Vec<Extra> = Vec::new();
        for extra in scenes.iter().flat_map(|rows| rows.extras()) {
            // Of two types of one name the first is kept; the other scene has zeros.
            if !extras.iter().any(|known| known.name == extra.name) {
                extras.push(extra.clone());
            }
        }
        let mut parts: Vec<Part> = Vec::with_capacity(scenes.len());
        let mut len = 0;
        for rows in scenes {
            let own = places(rows.extras());
            let extra_bytes = own.last().map_or(0, |(_, range)| range.end);
            let found = extras.iter().map(|extra| {
                let place = own.iter().find(|(known, _)| known == extra);
                place.map(|(_, range)| range.clone())
            });
            let extras = found.collect();
            let start = len;
            len += rows.len();
            let rows = match rows.sh_degree() == degree {
                true => rows,
                false => Box::new(WithDegree::new(rows, degree)),
            };
            parts.push(Part {
                rows,
                start,
                extras,
                extra_bytes,
            });
        }
        if u32::try_from(len).is_err() {
            return Err(format!("{len} Gaussians are more than a scene may have"));
        }
        Ok(Self {
            parts,
            len,
            degree,
            extras,
        })
    }

    /// Calls `each` for the runs of `which` that lie in one part, with indices in that part.
    fn runs(
        &self,
        which: &[u32],
        mut each: impl FnMut(&Part, &[u32]) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        let mut own = Vec::new();
        let mut rest = which;
        while let Some(&first) = rest.first() {
            let at = self.parts.partition_point(|p| p.start <= first as usize) - 1;
            let part = &self.parts[at];
            let range = part.start..part.start + part.rows.len();
            let run = rest.iter().take_while(|&&i| range.contains(&(i as usize)));
            own.clear();
            own.extend(run.map(|&i| i - part.start as u32));
            rest = &rest[own.len()..];
            each(part, &own)?;
        }
        Ok(())
    }
}

/// Where each extra property is in a row.
fn places(extras: &[Extra]) -> Vec<(Extra, std::ops::Range<usize>)> {
    let mut at = 0;
    let place = |extra: &Extra| {
        let range = at..at + extra.scalar.size();
        at = range.end;
        (extra.clone(), range)
    };
    extras.iter().map(place).collect()
}

impl Rows for Merged {
    fn len(&self) -> usize {
        self.len
    }

    fn sh_degree(&self) -> u8 {
        self.degree
    }

    fn gather(&self, which: &[u32], to: &mut Gaussians) -> Result<(), DataError> {
        self.runs(which, |part, own| part.rows.gather(own, to))
    }

    fn extras(&self) -> &[Extra] {
        &self.extras
    }

    fn gather_extras(&self, which: &[u32], to: &mut Vec<u8>) -> Result<(), DataError> {
        let mut values = Vec::new();
        self.runs(which, |part, own| {
            values.clear();
            part.rows.gather_extras(own, &mut values)?;
            for i in 0..own.len() {
                let row = &values[i * part.extra_bytes..(i + 1) * part.extra_bytes];
                for (extra, place) in self.extras.iter().zip(&part.extras) {
                    match place {
                        Some(range) => to.extend(&row[range.clone()]),
                        None => to.resize(to.len() + extra.scalar.size(), 0),
                    }
                }
            }
            Ok(())
        })
    }
}
