//! Writing SPZ.

use super::axes::{self, System};
use super::container::{FLAG_ANTIALIASED, FLAG_EXTENSIONS, MAGIC, strides};
use super::options::SpzOptions;
use super::quantise::{Clamped, Quantiser, fractional_bits};
use crate::scene::rows::{Rows, in_pieces};
use crate::scene::written::{Progress, WriteOptions, Written, clamped_note, size_of, spool};
use crate::{DataError, file};
use flate2::{Compression, write::GzEncoder};
use rayon::prelude::*;
use std::io::{Result, Seek, Write};
use std::path::Path;
use tempfile::SpooledTempFile;

/// The level of Niantic's library.
const LEVEL: i32 = 12;

/// Writes a scene as SPZ, in its order and with degrees up to 4. Positions are rounded to 1/4096
/// (of scenes that reach beyond 2048 coarser), log scales to 1/16 over [-10, 5.9375], opacities and
/// base colours to bytes, rotations to 0.28 degrees (version 2: some degrees), higher harmonics
/// over [-1, 1] to the bits of the options. The file names its axes by an extension.
///
/// # Errors
/// If an option is out of range or the file cannot be written; then nothing is left under its name
/// but what was there before.
pub fn write(
    path: &Path,
    rows: &dyn Rows,
    options: &WriteOptions,
    progress: Progress,
) -> std::result::Result<Written, DataError> {
    let spz = &options.spz;
    check(spz, path)?;
    let quantiser = Quantiser::new(spz, rows.sh_degree(), fractional_bits(rows)?);
    let head = Head {
        version: spz.version,
        count: rows.len() as u32,
        sh_degree: rows.sh_degree(),
        fractional_bits: quantiser.fractional_bits,
        antialiased: options.antialiased,
        axes: spz.axes.into(),
    };
    let mut clamped = Clamped::default();
    file::write_atomically(path, |writer| {
        let strides = strides(spz.version, head.sh_degree);
        let sizes = strides.map(|stride| (stride * rows.len()) as u64);
        let mut sinks = Vec::with_capacity(sizes.len());
        for size in sizes {
            sinks.push(Sink::new(spz.version, size, path)?);
        }
        fill(&mut sinks, rows, &quantiser, &mut clamped, progress)?;
        let mut streams = Vec::with_capacity(sizes.len());
        for sink in sinks {
            streams.push(sink.finish()?);
        }
        match spz.version {
            4 => head.write_4(writer, &mut streams, &sizes),
            _ => head.write_3(writer, &mut streams, progress),
        }
    })?;
    Ok(Written {
        bytes: size_of(path)?,
        notes: notes(&clamped, quantiser.fractional_bits),
    })
}

fn check(options: &SpzOptions, path: &Path) -> std::result::Result<(), DataError> {
    if !(2..=4).contains(&options.version) {
        let problem = format!("SPZ version {} is not written", options.version);
        return Err(DataError::new(path, problem, "write version 2, 3 or 4"));
    }
    match options.sh_bits.iter().find(|bits| !(1..=8).contains(*bits)) {
        Some(bits) => {
            let problem = format!("SPZ coefficients of {bits} bits");
            Err(DataError::new(path, problem, "give 1 to 8 bits"))
        }
        None => Ok(()),
    }
}

/// Where an attribute's bytes go until the file is put together.
enum Sink {
    /// To be compressed with the others.
    Plain(SpooledTempFile),
    /// Compressed on its own.
    Zstd(Box<zstd::Encoder<'static, SpooledTempFile>>),
}

impl Sink {
    /// For `size` bytes of an attribute of the file `path`.
    fn new(version: u32, size: u64, path: &Path) -> Result<Self> {
        let file = spool(path);
        if version < 4 {
            return Ok(Self::Plain(file));
        }
        let mut encoder = zstd::Encoder::new(file, LEVEL)?;
        // Readers make room by the size in the frame's header.
        encoder.set_pledged_src_size(Some(size))?;
        Ok(Self::Zstd(Box::new(encoder)))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Plain(file) => file.write_all(bytes),
            Self::Zstd(encoder) => encoder.write_all(bytes),
        }
    }

    fn finish(self) -> Result<SpooledTempFile> {
        match self {
            Self::Plain(file) => Ok(file),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

/// Rounds all Gaussians.
fn fill(
    sinks: &mut [Sink],
    rows: &dyn Rows,
    quantiser: &Quantiser,
    clamped: &mut Clamped,
    progress: Progress,
) -> Result<()> {
    let mut bytes = <[Vec<u8>; 6]>::default();
    in_pieces(rows, |start, piece| {
        quantiser.round(piece, &mut bytes, clamped);
        let each = sinks.par_iter_mut().zip(&bytes);
        each.try_for_each(|(sink, bytes)| sink.write(bytes))?;
        progress("writing", (start + piece.len()) as u64, rows.len() as u64);
        Ok(())
    })
}

/// What the header and the extension say.
struct Head {
    version: u32,
    count: u32,
    sh_degree: u8,
    fractional_bits: u8,
    antialiased: bool,
    axes: System,
}

impl Head {
    /// The 16 bytes that all versions share, of which version 4 uses the last.
    fn start(&self, streams: u8) -> Vec<u8> {
        let antialiased = if self.antialiased {
            FLAG_ANTIALIASED
        } else {
            0
        };
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.count.to_le_bytes());
        let flags = antialiased | FLAG_EXTENSIONS;
        bytes.extend([self.sh_degree, self.fractional_bits, flags, streams]);
        bytes
    }

    /// The record that names the axes: type, length, number.
    fn extension(&self) -> [u8; 12] {
        let words = [axes::EXTENSION, 4, self.axes.number()].map(u32::to_le_bytes);
        std::array::from_fn(|i| words.as_flattened()[i])
    }

    /// Header, attributes and extension in one gzip stream.
    fn write_3(
        &self,
        writer: &mut impl Write,
        streams: &mut [SpooledTempFile],
        progress: Progress,
    ) -> Result<()> {
        let mut encoder = GzEncoder::new(writer, Compression::default());
        encoder.write_all(&self.start(0))?;
        let all = streams.len() as u64;
        for (stream, done) in streams.iter_mut().zip(1..) {
            stream.rewind()?;
            std::io::copy(stream, &mut encoder)?;
            progress("compressing", done, all);
        }
        encoder.write_all(&self.extension())?;
        encoder.finish()?;
        Ok(())
    }

    /// Header, extension, table of contents (packed and plain size of each frame), frames. Empty
    /// attributes have none.
    fn write_4(
        &self,
        writer: &mut impl Write,
        streams: &mut [SpooledTempFile],
        sizes: &[u64],
    ) -> Result<()> {
        let used = || (0..streams.len()).filter(|&i| sizes[i] > 0);
        let extension = self.extension();
        let mut head = self.start(used().count() as u8);
        let contents = head.len() + 16 + extension.len();
        head.extend((contents as u32).to_le_bytes());
        head.extend([0; 12]);
        head.extend(extension);
        for i in used().collect::<Vec<_>>() {
            let packed = streams[i].stream_position()?;
            head.extend([packed, sizes[i]].map(u64::to_le_bytes).as_flattened());
        }
        writer.write_all(&head)?;
        for (stream, _) in streams.iter_mut().zip(sizes).filter(|(_, size)| **size > 0) {
            stream.rewind()?;
            std::io::copy(stream, writer)?;
        }
        Ok(())
    }
}

/// What did not fit.
fn notes(clamped: &Clamped, fractional_bits: u8) -> Vec<String> {
    let furthest = (23.0 - f32::from(fractional_bits)).exp2();
    let mean = format!("a mean further than {furthest} along an axis");
    let lost = [
        (clamped.means, mean.as_str()),
        (clamped.scales, "a log scale outside [-10, 5.94]"),
        (clamped.colours, "a base colour outside SPZ's range"),
        (clamped.sh, "a coefficient outside [-1, 1]"),
    ];
    let notes = lost.map(|(count, what)| clamped_note(count, what));
    notes.into_iter().flatten().collect()
}
