//! The kinds of datasets, as messages, `info` and the book name them.

use serde::Serialize;
use std::fmt;

/// What kind of files a dataset came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// COLMAP, `cameras.bin`, `images.bin`, `points3D.bin`.
    ColmapBinary,
    /// COLMAP, `cameras.txt`, `images.txt`, `points3D.txt`.
    ColmapText,
    /// One `transforms.json` (instant-ngp, nerfstudio).
    Transforms,
    /// `transforms_train.json` and its siblings (Blender).
    TransformsSplit,
    /// A raw export of Polycam: `keyframes/cameras/*.json`.
    Polycam,
    /// An export of Record3D: `metadata.json` and `rgb`.
    Record3d,
    /// A raw scan of 3D Scanner App: `frame_*.json` beside the photos.
    Arkit,
    /// Agisoft Metashape's cameras as XML.
    Metashape,
    /// RealityScan's (RealityCapture's) internal and external camera parameters as CSV.
    #[serde(rename = "realityscan")]
    RealityScan,
    /// Bundler's `bundle.out`, version 0.3.
    Bundler,
    /// LLFF's `poses_bounds.npy`.
    Llff,
}

impl Format {
    /// Every format, in the order in which a folder is searched for them; two that differ only in
    /// their files' encoding are looked for together.
    pub const ALL: [Format; 11] = [
        Format::ColmapBinary,
        Format::ColmapText,
        Format::Transforms,
        Format::TransformsSplit,
        Format::Polycam,
        Format::Record3d,
        Format::Arkit,
        Format::Metashape,
        Format::RealityScan,
        Format::Bundler,
        Format::Llff,
    ];

    /// The short name, as `info` prints it and JSON holds it.
    pub fn name(self) -> &'static str {
        match self {
            Format::ColmapBinary => "colmap-binary",
            Format::ColmapText => "colmap-text",
            Format::Transforms => "transforms",
            Format::TransformsSplit => "transforms-split",
            Format::Polycam => "polycam",
            Format::Record3d => "record3d",
            Format::Arkit => "arkit",
            Format::Metashape => "metashape",
            Format::RealityScan => "realityscan",
            Format::Bundler => "bundler",
            Format::Llff => "llff",
        }
    }

    /// Who writes it.
    pub fn written_by(self) -> &'static str {
        match self {
            Format::ColmapBinary | Format::ColmapText => "COLMAP, GLOMAP",
            Format::Transforms => "nerfstudio, instant-ngp",
            Format::TransformsSplit => "Blender (NeRF synthetic scenes)",
            Format::Polycam => "Polycam, raw data",
            Format::Record3d => "Record3D, RGBD export",
            Format::Arkit => "3D Scanner App, all data",
            Format::Metashape => "Agisoft Metashape",
            Format::RealityScan => "RealityScan, RealityCapture",
            Format::Bundler => "Bundler, and COLMAP, OpenMVG, RealityScan on request",
            Format::Llff => "LLFF",
        }
    }

    /// The files by which it is known.
    pub fn files(self) -> &'static str {
        match self {
            Format::ColmapBinary => "`cameras.bin`, `images.bin`, `points3D.bin`",
            Format::ColmapText => "`cameras.txt`, `images.txt`, `points3D.txt`",
            Format::Transforms => "`transforms.json`",
            Format::TransformsSplit => "`transforms_train.json`, `transforms_test.json`",
            Format::Polycam => "`keyframes/cameras/*.json`",
            Format::Record3d => "`metadata.json`, `rgb`",
            Format::Arkit => "`frame_*.json` with `cameraPoseARFrame`",
            Format::Metashape => "an `.xml`",
            Format::RealityScan => "a `.csv`",
            Format::Bundler => "`bundle.out`, `list.txt`",
            Format::Llff => "`poses_bounds.npy`",
        }
    }

    /// The points that training starts from.
    pub fn points(self) -> &'static str {
        match self {
            Format::ColmapBinary | Format::ColmapText | Format::Bundler => "in the model",
            Format::Transforms => "`ply_file_path`, else `colmap/sparse/0`",
            Format::TransformsSplit => "`ply_file_path`",
            Format::Metashape | Format::RealityScan => "a PLY beside the file",
            Format::Polycam | Format::Record3d | Format::Arkit => "random",
            Format::Llff => "random, between the bounds",
        }
    }

    /// What a reader of the table should know.
    pub fn note(self) -> &'static str {
        match self {
            Format::ColmapBinary | Format::ColmapText => "every camera model",
            Format::Transforms => {
                "camera models: pinholes, OPENCV, OPENCV_FISHEYE, FISHEYE624, FTHETA, \
                 EQUIRECTANGULAR, ORTHOPHOTO; rolling shutters"
            }
            Format::TransformsSplit => "`transforms_val.json` if there is no test file",
            Format::Polycam => {
                "corrected cameras and images are preferred; has depth maps and times"
            }
            Format::Record3d => "has depth maps and times",
            Format::Arkit => "has depth maps and times; frames without a photo are left out",
            Format::Metashape => "sensors of type frame, fisheye and spherical",
            Format::RealityScan => "Brown's lens models; not Division",
            Format::Bundler => "version 0.3; photos in the order of the list",
            Format::Llff => "photos in the order of their names; no lens",
        }
    }

    /// The formats as a table in Markdown, in the order of the search. The book shows it.
    pub fn table() -> String {
        let mut table = String::from(
            "| format | written by | known by | points | notes |\n\
             | --- | --- | --- | --- | --- |\n",
        );
        for format in Format::ALL {
            table += &format!(
                "| {format} | {} | {} | {} | {} |\n",
                format.written_by(),
                format.files(),
                format.points(),
                format.note()
            );
        }
        table
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_holds_the_names() {
        for format in Format::ALL {
            let json = serde_json::to_string(&format).unwrap();
            assert_eq!(json, format!("\"{format}\""));
        }
    }
}
