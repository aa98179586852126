//! The bytes of a scene file, and what messages say of files.

use crate::DataError;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The remedy that ends most errors about a file of the wrong kind.
pub(super) const KNOWN_FORMATS: &str = "give a Gaussian .ply, .spz, .sog, .splat, .ksplat or \
                                        .glb file, or the folder of an unbundled SOG (with \
                                        meta.json)";

/// Whether the text begins with a brace, behind a byte order mark and blanks.
pub(super) fn starts_as_json(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    text.trim_ascii_start().starts_with(b"{")
}

/// A scene file that is open. It is read and never mapped: a file that is cut short while it is
/// mapped ends the program.
pub(crate) struct Source {
    file: File,
    path: PathBuf,
    /// Its bytes when it was opened.
    pub len: u64,
}

impl Source {
    /// Opens a file that is not empty.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let failed = |error: io::Error| DataError::read(path, &error);
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if !metadata.is_file() {
            return Err(DataError::new(path, "is not a regular file", KNOWN_FORMATS));
        }
        if metadata.len() == 0 {
            let remedy = "it may be the rest of a failed copy: get it again";
            return Err(DataError::new(path, "is empty", remedy));
        }
        Ok(Self {
            file: File::open(path).map_err(failed)?,
            path: path.into(),
            len: metadata.len(),
        })
    }

    /// All bytes.
    pub fn read(&self) -> Result<Vec<u8>, DataError> {
        let mut bytes = Vec::new();
        // Where memory does not suffice the error says so.
        bytes
            .try_reserve_exact(usize::try_from(self.len).unwrap_or(usize::MAX))
            .map_err(io::Error::other)
            .and_then(|()| (&self.file).read_to_end(&mut bytes))
            .map_err(|error| DataError::read(&self.path, &error))?;
        Ok(bytes)
    }

    /// At most so many bytes from the start.
    pub fn head(&self, most: usize) -> Result<Vec<u8>, DataError> {
        let mut bytes = vec![0; usize::try_from(self.len).map_or(most, |len| len.min(most))];
        self.read_at(0, &mut bytes)?;
        Ok(bytes)
    }

    /// Fills `bytes` with those from `at` on.
    pub fn read_at(&self, at: u64, bytes: &mut [u8]) -> Result<(), DataError> {
        read_exact_at(&self.file, bytes, at).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => DataError::new(
                &self.path,
                "was cut short while it was read",
                "read it again when it is complete",
            ),
            _ => DataError::read(&self.path, &error),
        })
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                bytes = &mut bytes[read..];
                at += read as u64;
            }
        }
    }
    Ok(())
}

/// The bytes of a file, in memory or in the file.
#[derive(Clone, Copy)]
pub(crate) enum Bytes<'a> {
    Memory(&'a [u8]),
    File(&'a Source),
}

impl<'a> Bytes<'a> {
    pub fn len(self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(source) => source.len,
        }
    }

    /// All, where they are in memory; else none.
    pub fn in_memory(self) -> &'a [u8] {
        match self {
            Self::Memory(bytes) => bytes,
            Self::File(_) => &[],
        }
    }

    /// `length` bytes from `at` on, which callers know to be there, read into the buffer if need
    /// be.
    pub fn part<'b>(
        self,
        at: u64,
        length: usize,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], DataError>
    where
        'a: 'b,
    {
        match self {
            Self::Memory(bytes) => Ok(&bytes[at as usize..at as usize + length]),
            Self::File(source) => {
                buffer.resize(length, 0);
                source.read_at(at, buffer)?;
                Ok(buffer)
            }
        }
    }
}
