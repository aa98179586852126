//! Gaussians that stay in a binary PLY until they are asked for.

use super::binary::{Table, value};
use super::compressed;
use super::header::{Encoding, Header};
use super::layout::{Layout, Slot, fill_row};
use crate::DataError;
use crate::scene::rows::{Extra, Rows};
use crate::scene::scene_file::OpenScene;
use crate::scene::source::Content;
use rayon::prelude::*;
use splatcore_core::Gaussians;
use std::path::Path;

/// Rows that a thread checks at a time.
const CHUNK: usize = 4096;

/// Opens a PLY whose rows can be read one by one: binary, without lists, not compressed. Of any
/// other the bytes come back.
///
/// # Errors
/// As [`super::parse`].
pub fn open(content: Content, path: &Path) -> Result<Result<OpenScene, Content>, DataError> {
    let header = Header::parse(&content, path)?;
    if compressed::is_compressed(&header) || header.encoding == Encoding::Ascii {
        return Ok(Err(content));
    }
    let layout = Layout::find(&header, path)?;
    let table = Table::find(&content, &header, &layout, path)?;
    let Some(stride) = table.stride else {
        return Ok(Err(content));
    };
    let others = layout.others(&header.elements[layout.element]);
    let notes = table.rest(&content, &header, &layout).into_iter().collect();
    let bytes = content.len() as u64;
    let mut rows = PlyRows {
        content,
        table,
        stride,
        layout,
        extras: Vec::new(),
        extra_slots: Vec::new(),
        unsound: Vec::new(),
    };
    for (name, slot) in others {
        let scalar = slot.scalar;
        rows.extras.push(Extra { name, scalar });
        rows.extra_slots.push(slot);
    }
    rows.unsound = rows.find_unsound();
    Ok(Ok(OpenScene {
        dropped: rows.unsound.len(),
        rows: Box::new(rows),
        format: format!("PLY, {}", header.encoding.name()),
        bytes,
        notes,
        antialiased: header.antialiased,
    }))
}

struct PlyRows {
    content: Content,
    table: Table,
    stride: usize,
    layout: Layout,
    extras: Vec<Extra>,
    extra_slots: Vec<Slot>,
    /// Rows of the file that are left out, ascending.
    unsound: Vec<u32>,
}

impl PlyRows {
    /// The bytes of a row of the file.
    fn row(&self, i: usize) -> &[u8] {
        let start = self.table.start + i * self.stride;
        &self.content[start..start + self.stride]
    }

    /// The row of the file that is Gaussian `i`.
    fn row_of(&self, i: u32) -> usize {
        // The j-th row left out, from 0, precedes Gaussian i if it is at most i + j.
        let (mut low, mut high) = (0, self.unsound.len());
        while low < high {
            let middle = (low + high) / 2;
            match u64::from(self.unsound[middle]) <= u64::from(i) + middle as u64 {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        i as usize + low
    }

    fn read(&self, row: usize, to: &mut Gaussians, i: usize) {
        let (bytes, big) = (self.row(row), self.table.big);
        fill_row(to, i, &self.layout.slots, |slot| {
            value(bytes, slot.offset, slot.scalar, big)
        });
    }

    fn find_unsound(&self) -> Vec<u32> {
        let chunks = self.table.count.div_ceil(CHUNK);
        let found = (0..chunks).into_par_iter().map(|chunk| {
            let mut one = Gaussians::zeros(1, self.layout.sh_degree);
            let rows = chunk * CHUNK..self.table.count.min((chunk + 1) * CHUNK);
            rows.filter(|&row| {
                self.read(row, &mut one, 0);
                !one.is_sound(0)
            })
            .map(|row| row as u32)
            .collect::<Vec<_>>()
        });
        found.collect::<Vec<_>>().concat()
    }
}

impl Rows for PlyRows {
    fn len(&self) -> usize {
        self.table.count - self.unsound.len()
    }

    fn sh_degree(&self) -> u8 {
        self.layout.sh_degree
    }

    fn gather(&self, which: &[u32], to: &mut Gaussians) {
        let start = to.len();
        to.resize(start + which.len());
        for (k, &i) in which.iter().enumerate() {
            self.read(self.row_of(i), to, start + k);
        }
    }

    fn extras(&self) -> &[Extra] {
        &self.extras
    }

    fn gather_extras(&self, which: &[u32], to: &mut Vec<u8>) {
        for &i in which {
            let row = self.row(self.row_of(i));
            for slot in &self.extra_slots {
                let bytes = &row[slot.offset..slot.offset + slot.scalar.size()];
                match self.table.big {
                    true => to.extend(bytes.iter().rev()),
                    false => to.extend(bytes),
                }
            }
        }
    }
}
