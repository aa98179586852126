//! The scene formats: what files are named, what is read and written, what a file keeps.

use crate::DataError;
use std::path::Path;

/// A format of scene files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// INRIA's PLY and its variants.
    Ply,
    /// PlayCanvas's compressed PLY.
    CompressedPly,
    /// PlayCanvas's SOG in one file, a zip archive.
    Sog,
    /// SOG as a folder of images with a meta.json.
    SogFolder,
    /// SOG in chunks with levels of detail, with a lod-meta.json.
    StreamedSog,
    /// Niantic's SPZ.
    Spz,
    /// antimatter15's .splat.
    Splat,
    /// mkkellogg's .ksplat.
    Ksplat,
    /// Binary glTF with the extension KHR_gaussian_splatting.
    Glb,
    /// USD as text, with the schema ParticleField3DGaussianSplat.
    Usda,
    /// The same in a zip archive.
    Usdz,
}

/// How the name of a file of a format ends, the longer endings first.
const ENDINGS: [(&str, Format); 11] = [
    (".compressed.ply", Format::CompressedPly),
    (".ply", Format::Ply),
    (".sog", Format::Sog),
    ("lod-meta.json", Format::StreamedSog),
    ("meta.json", Format::SogFolder),
    (".spz", Format::Spz),
    (".splat", Format::Splat),
    (".ksplat", Format::Ksplat),
    (".glb", Format::Glb),
    (".usda", Format::Usda),
    (".usdz", Format::Usdz),
];

/// The remedy for a name that stands for no format that is written.
const WRITTEN: &str = "end the name in .ply, .compressed.ply, .sog, .spz, .splat, .glb, .usda or \
                       .usdz, or write to FOLDER/meta.json or FOLDER/lod-meta.json";

impl Format {
    /// Degree of the spherical harmonics that a file written in this format holds at most.
    pub fn highest_sh_degree(self) -> u8 {
        match self {
            Format::Ply | Format::Spz | Format::Usda | Format::Usdz => 4,
            Format::Splat => 0,
            Format::Ksplat => 2,
            _ => 3,
        }
    }

    /// Whether a scene that is read back differs from what was written, by rounding.
    pub fn rounds(self) -> bool {
        !matches!(
            self,
            Format::Ply | Format::Glb | Format::Usda | Format::Usdz
        )
    }

    /// The format that a file has by its name, if that tells of one; letter case does not matter.
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_lowercase();
        let found = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
        found.map(|&(_, format)| format)
    }

    /// The format that a file to be written has by its name; letter case does not matter.
    ///
    /// # Errors
    /// If the name stands for no format that is written.
    pub fn of_output(path: &Path) -> Result<Self, DataError> {
        match Self::of_name(path) {
            Some(Format::Ksplat) => {
                let problem = "is a .ksplat file by its name, a format only read";
                Err(DataError::new(path, problem, WRITTEN))
            }
            Some(format) => Ok(format),
            None => {
                let problem = "the name tells of no scene format that is written";
                Err(DataError::new(path, problem, WRITTEN))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_format() {
        for (name, format) in [
            ("a/b.ply", Format::Ply),
            ("b.Compressed.PLY", Format::CompressedPly),
            ("folder/meta.json", Format::SogFolder),
            ("folder/lod-meta.json", Format::StreamedSog),
            ("x.usdz", Format::Usdz),
        ] {
            assert_eq!(Format::of_output(Path::new(name)).unwrap(), format);
        }
        for name in ["scene", "scene.obj", "a.ply/b", "x.ksplat", ""] {
            let message = Format::of_output(Path::new(name)).unwrap_err().to_string();
            assert!(message.contains(".compressed.ply"), "{message}");
        }
    }
}
