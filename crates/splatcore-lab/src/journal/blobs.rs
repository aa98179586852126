//! Bytes by their digest.

use crate::candidate::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// SHA-256 of a blob's bytes, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(pub String);

/// A folder of blobs: `aa/aabb...`, never changed.
#[derive(Clone, Debug)]
pub struct Blobs {
    folder: PathBuf,
}

impl Blobs {
    /// The blobs of a folder, which is made when the first is kept.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        // A digest from a journal may be anything.
        let name: String = digest.0.chars().filter(char::is_ascii_hexdigit).collect();
        let start = name.get(..2).unwrap_or("00").to_owned();
        self.folder.join(start).join(name)
    }

    /// Keeps bytes. They are on disk when this returns.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn keep(&self, bytes: &[u8]) -> io::Result<Digest> {
        let digest = Digest(hex(&Sha256::digest(bytes)));
        let path = self.path(&digest);
        if path.exists() {
            return Ok(digest);
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut scratch = tempfile::NamedTempFile::new_in(folder)?;
        scratch.write_all(bytes)?;
        scratch.as_file().sync_data()?;
        scratch.persist(&path)?;
        Ok(digest)
    }

    /// The bytes of a digest.
    ///
    /// # Errors
    /// If they are not there, or are not those that were kept.
    pub fn get(&self, digest: &Digest) -> io::Result<Vec<u8>> {
        let path = self.path(digest);
        let bytes = fs::read(&path).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?;
        match hex(&Sha256::digest(&bytes)) == digest.0 {
            true => Ok(bytes),
            false => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{} was changed", path.display()),
            )),
        }
    }

    /// As [`Blobs::get`], as text.
    ///
    /// # Errors
    /// As [`Blobs::get`]; if it is not UTF-8.
    pub fn text(&self, digest: &Digest) -> io::Result<String> {
        String::from_utf8(self.get(digest)?)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}
