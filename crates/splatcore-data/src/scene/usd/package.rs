//! A .usdz package: a zip archive whose files are stored and begin at multiples of 64 bytes.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

/// The layer's name; of a package the first layer is the one that is opened.
const LAYER: &str = "scene.usda";
/// Where files in a package may begin.
const ALIGNMENT: u16 = 64;
/// Bytes of an archive of one file beside its content: three headers, two names, the padding.
const OVERHEAD: u64 = 512;

/// Writes a package of one layer, which `write` writes; `too_long` is set if the file would have
/// more than `largest` bytes, and the result is an error then.
pub fn write(
    writer: &mut BufWriter<&File>,
    largest: u64,
    too_long: &mut bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .with_alignment(ALIGNMENT);
    let mut archive = ZipWriter::new(writer);
    archive.start_file(LAYER, options)?;
    let mut limited = Limited {
        inner: &mut archive,
        left: largest.saturating_sub(OVERHEAD),
        too_long,
    };
    write(&mut limited)?;
    archive.finish()?;
    Ok(())
}

/// Fails when more bytes come than are left.
struct Limited<'a, W> {
    inner: &'a mut W,
    left: u64,
    too_long: &'a mut bool,
}

impl<W: Write> Write for Limited<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.left.checked_sub(bytes.len() as u64) {
            Some(left) => {
                let written = self.inner.write(bytes)?;
                self.left = left + (bytes.len() - written) as u64;
                Ok(written)
            }
            None => {
                *self.too_long = true;
                Err(io::ErrorKind::FileTooLarge.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
