//! A .usdz package: a zip archive whose files are stored and begin at multiples of 64 bytes.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
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
    let mut archive = ZipWriter::new(Deaf {
        inner: writer,
        at: 0,
        end: 0,
        failed: false,
    });
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

/// Fails once, and from then on takes everything for written: an archive that is dropped writes its
/// end, and would say on stderr that it could not.
struct Deaf<W> {
    inner: W,
    at: u64,
    end: u64,
    failed: bool,
}

impl<W> Deaf<W> {
    /// What came of going to a place, unless it is not to matter any more.
    fn moved<T>(&mut self, result: io::Result<T>, at: impl Fn(&T) -> u64) -> io::Result<T> {
        match &result {
            Ok(done) => self.at = at(done),
            Err(_) => self.failed = true,
        }
        self.end = self.end.max(self.at);
        result
    }
}

impl<W: Write + Seek> Write for Deaf<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match self.failed {
            true => Ok(bytes.len()),
            false => self.inner.write(bytes),
        };
        let before = self.at;
        self.moved(written, |&count| before + count as u64)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = match self.failed {
            true => Ok(()),
            false => self.inner.flush(),
        };
        let before = self.at;
        self.moved(flushed, |()| before)
    }
}

impl<W: Write + Seek> Seek for Deaf<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let found = match to {
            _ if !self.failed => self.inner.seek(to),
            SeekFrom::Start(start) => Ok(start),
            SeekFrom::Current(by) => Ok(self.at.saturating_add_signed(by)),
            SeekFrom::End(by) => Ok(self.end.saturating_add_signed(by)),
        };
        self.moved(found, |&at| at)
    }
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
