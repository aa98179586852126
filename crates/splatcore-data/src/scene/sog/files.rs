//! Where the files of a scene are: in a zip archive or in a folder.

use crate::scene::source::Source;
use crate::words::one_line;
use crate::{DataError, Place};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use zip::ZipArchive;
use zip::result::ZipError;

/// The file that names all others.
pub(in crate::scene) const META: &str = "meta.json";
/// The file that names all chunks of a streamed SOG.
pub(in crate::scene) const LOD_META: &str = "lod-meta.json";

const AGAIN: &str = "the scene is incomplete or damaged: get or export it again";

/// The files of one scene, by the names that meta.json gives them.
pub enum Files<'a> {
    Bundle {
        archive: ZipArchive<Cursor<&'a [u8]>>,
        /// Of every name: some programs zip a folder rather than its files.
        prefix: String,
        path: &'a Path,
        /// Its index is a lod-meta.json.
        streamed: bool,
    },
    Folder {
        /// Of meta.json, which may have another name.
        meta: PathBuf,
        folder: PathBuf,
    },
}

impl<'a> Files<'a> {
    /// The files of a zip archive that holds a meta.json.
    pub fn bundle(bytes: &'a [u8], path: &'a Path) -> Result<Self, DataError> {
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| {
            DataError::new(
                path,
                format!("the zip archive is broken ({})", one_line(&e)),
                AGAIN,
            )
        })?;
        let prefix = |wanted: &str| {
            let names = archive.file_names_raw();
            let prefixes = names.filter_map(|name| name.strip_suffix(wanted.as_bytes()));
            prefixes
                .filter(|prefix| prefix.is_empty() || prefix.ends_with(b"/"))
                .min_by_key(|prefix| prefix.len())
                .and_then(|prefix| String::from_utf8(prefix.to_vec()).ok())
        };
        // "lod-meta.json" does not end with "/meta.json", so one is not taken for the other.
        let (single, streamed) = (prefix(META), prefix(LOD_META));
        // A streamed SOG's chunks have a meta.json each, in folders below.
        let is_streamed = match (&single, &streamed) {
            (Some(single), Some(streamed)) => streamed.len() < single.len(),
            (single, _) => single.is_none(),
        };
        match streamed.filter(|_| is_streamed).or(single) {
            Some(prefix) => Ok(Self::Bundle {
                archive,
                prefix,
                path,
                streamed: is_streamed,
            }),
            None => {
                let problem = "is a zip archive without a meta.json, so no SOG";
                Err(DataError::new(
                    path,
                    problem,
                    "unpack it and give the scene inside",
                ))
            }
        }
    }

    /// The files beside a meta.json.
    pub fn folder(meta: &Path) -> Self {
        let folder = meta.parent().unwrap_or(Path::new("")).to_path_buf();
        let meta = meta.to_path_buf();
        Self::Folder { meta, folder }
    }

    /// Whether these are the files of a streamed SOG in an archive.
    pub fn is_streamed(&self) -> bool {
        matches!(self, Self::Bundle { streamed: true, .. })
    }

    /// The files beside a file in a folder below.
    pub fn below(&self, name: &str) -> Self {
        match self {
            Self::Folder { folder, .. } => Self::folder(&folder.join(name)),
            Self::Bundle {
                archive,
                prefix,
                path,
                ..
            } => {
                let name = name.strip_prefix("./").unwrap_or(name);
                let folder = name.rfind('/').map_or("", |end| &name[..=end]);
                Self::Bundle {
                    archive: archive.clone(),
                    prefix: format!("{prefix}{folder}"),
                    path,
                    streamed: false,
                }
            }
        }
    }

    /// The content of a file, of which a bundle may unpack at most so many bytes.
    pub fn read(&mut self, name: &str, most: u64) -> Result<Vec<u8>, DataError> {
        match self {
            Self::Folder { folder, .. } => Source::open(&folder.join(name))?.read(),
            Self::Bundle {
                archive, prefix, ..
            } => {
                let name_inside = format!("{prefix}{}", name.strip_prefix("./").unwrap_or(name));
                let read = unpack(archive, &name_inside, most);
                read.map_err(|problem| self.error(name, problem))
            }
        }
    }

    /// An error about one of the files.
    pub fn error(&self, name: &str, problem: impl Into<String>) -> DataError {
        match self {
            Self::Bundle { path, prefix, .. } => {
                let name = prefix.chars().chain(name.chars());
                let shown = name.take(96).flat_map(char::escape_debug).collect();
                DataError::new(path, problem, AGAIN).at(Place::Part(shown))
            }
            Self::Folder { meta, .. } if name == META || name == LOD_META => {
                DataError::new(meta, problem, AGAIN)
            }
            Self::Folder { folder, .. } => DataError::new(&folder.join(name), problem, AGAIN),
        }
    }
}

/// Memory grows with what comes, not with what the archive declares.
fn unpack(
    archive: &mut ZipArchive<Cursor<&[u8]>>,
    name: &str,
    most: u64,
) -> Result<Vec<u8>, String> {
    let file = archive.by_name(name).map_err(|e| match e {
        ZipError::FileNotFound => "is missing in the archive".to_string(),
        e => format!("cannot be unpacked ({})", one_line(&e)),
    })?;
    let mut bytes = Vec::new();
    // One byte more than allowed tells of too much, and at the end the checksum is tested.
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| format!("cannot be unpacked ({})", one_line(&e)))?;
    match bytes.len() as u64 <= most {
        true => Ok(bytes),
        false => Err(format!(
            "unpacks to more than the {most} bytes that it may take"
        )),
    }
}
