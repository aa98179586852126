//! Gaussians that stay in a binary PLY until they are asked for.

use super::binary::{RowDecoder, Table, parts};
use super::header::{self, Header};
use super::is_plain;
use super::layout::{Layout, Slot};
use crate::DataError;
use crate::scene::plausible::{Counts, Unsound};
use crate::scene::rows::{Extra, Rows};
use crate::scene::scene_file::OpenScene;
use crate::scene::source::{Bytes, Source};
use rayon::prelude::*;
use splatcore_core::Gaussians;
use std::path::Path;

/// Rows that a thread reads at a time, at most.
const CHUNK: usize = 4096;
/// Rows that are not asked for are read too where so few lie between two that are.
const GAP: usize = 16;

/// Opens a PLY whose rows can be read one by one: binary, without lists, not compressed. Any other
/// source comes back.
///
/// # Errors
/// As [`super::parse`], and if the file cannot be read.
pub fn open(source: Source, path: &Path) -> Result<Result<OpenScene, Source>, DataError> {
    let header = Header::parse(&source.head(header::LONGEST)?, path)?;
    if !is_plain(&header, path)? {
        return Ok(Err(source));
    }
    let layout = Layout::find(&header, path)?;
    let bytes = Bytes::File(&source);
    let table = Table::find(bytes, &header, &layout, path)?;
    let Some(stride) = table.stride else {
        return Ok(Err(source));
    };
    let others = layout.others(&header.elements[layout.element]);
    let mut notes: Vec<String> = table.rest(bytes, &header, &layout).into_iter().collect();
    let bytes = source.len;
    let mut rows = PlyRows {
        source,
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
    let (left_out, unsound, counts) = rows.judge()?;
    rows.unsound = left_out;
    notes.extend(unsound.note());
    notes.extend(counts.notes(rows.unsound.len()));
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
    source: Source,
    table: Table,
    stride: usize,
    layout: Layout,
    extras: Vec<Extra>,
    extra_slots: Vec<Slot>,
    /// Rows of the file that are left out, ascending.
    unsound: Vec<u32>,
}

impl PlyRows {
    /// The bytes of `count` rows of the file from `first` on.
    fn read<'b>(
        &self,
        first: usize,
        count: usize,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], DataError> {
        buffer.resize(count * self.stride, 0);
        let at = self.table.start + first * self.stride;
        self.source.read_at(at as u64, buffer)?;
        Ok(buffer)
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

    /// Calls `each` with the place in `which` and the bytes of every Gaussian there. Neighbours in
    /// the file are read at once.
    fn each_row(
        &self,
        which: &[u32],
        buffer: &mut Vec<u8>,
        mut each: impl FnMut(usize, &[u8]),
    ) -> Result<(), DataError> {
        let mut start = 0;
        while start < which.len() {
            let first = self.row_of(which[start]);
            let (mut end, mut last) = (start + 1, first);
            while let Some(&i) = which.get(end) {
                let row = self.row_of(i);
                if row < last || row - last > GAP || row - first >= CHUNK {
                    break;
                }
                (end, last) = (end + 1, row);
            }
            let bytes = self.read(first, last - first + 1, buffer)?;
            for (at, &i) in which.iter().enumerate().take(end).skip(start) {
                let row = self.row_of(i) - first;
                each(at, &bytes[row * self.stride..(row + 1) * self.stride]);
            }
            start = end;
        }
        Ok(())
    }

    fn decoder(&self) -> RowDecoder<'_> {
        RowDecoder::new(&self.layout, self.table.big)
    }

    /// The rows that are not sound, what is wrong with them, and what the others are like.
    fn judge(&self) -> Result<(Vec<u32>, Unsound, Counts), DataError> {
        let chunks = self.table.count.div_ceil(CHUNK);
        let judged = (0..chunks)
            .into_par_iter()
            .map_init(Vec::new, |buffer, chunk| self.judge_chunk(buffer, chunk));
        let judged = judged.collect::<Result<Vec<_>, _>>()?;
        // In order, so that the rows ascend.
        let nothing = (Vec::new(), Unsound::default(), Counts::default());
        Ok(judged
            .into_iter()
            .fold(nothing, |mut all, (rows, unsound, counts)| {
                all.0.extend(rows);
                (all.0, all.1.join(unsound), all.2.join(counts))
            }))
    }

    fn judge_chunk(
        &self,
        buffer: &mut Vec<u8>,
        chunk: usize,
    ) -> Result<(Vec<u32>, Unsound, Counts), DataError> {
        let first = chunk * CHUNK;
        let count = CHUNK.min(self.table.count - first);
        let mut gaussians = Gaussians::zeros(count, self.layout.sh_degree);
        let bytes = self.read(first, count, buffer)?;
        let decoder = self.decoder();
        parts(&mut gaussians, 0, count).for_each(|mut part| {
            for (i, row) in bytes.chunks_exact(self.stride).enumerate() {
                decoder.decode(row, &mut part, i);
            }
        });
        let mut found = (Vec::new(), Unsound::default(), Counts::default());
        for i in 0..count {
            match gaussians.is_sound(i) {
                true => found.2.add(&gaussians, i),
                false => {
                    found.0.push((first + i) as u32);
                    found.1.add(&gaussians, i);
                }
            }
        }
        Ok(found)
    }
}

impl Rows for PlyRows {
    fn len(&self) -> usize {
        self.table.count - self.unsound.len()
    }

    fn sh_degree(&self) -> u8 {
        self.layout.sh_degree
    }

    fn gather(&self, which: &[u32], to: &mut Gaussians) -> Result<(), DataError> {
        let start = to.len();
        to.resize(start + which.len());
        let decoder = self.decoder();
        let parts = parts(to, start, CHUNK).zip(which.par_chunks(CHUNK));
        parts.try_for_each_init(Vec::new, |buffer, (mut part, which)| {
            self.each_row(which, buffer, |i, row| decoder.decode(row, &mut part, i))
        })
    }

    fn extras(&self) -> &[Extra] {
        &self.extras
    }

    fn gather_extras(&self, which: &[u32], to: &mut Vec<u8>) -> Result<(), DataError> {
        self.each_row(which, &mut Vec::new(), |_, row| {
            for slot in &self.extra_slots {
                let bytes = &row[slot.offset..slot.offset + slot.scalar.size()];
                match self.table.big {
                    true => to.extend(bytes.iter().rev()),
                    false => to.extend(bytes),
                }
            }
        })
    }
}
