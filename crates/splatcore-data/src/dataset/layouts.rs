//! Which datasets are in a folder, told by the names and first bytes of its files.

use super::format::Format;
use super::{arkit, bundler, colmap, folder, metashape, npy, polycam, realityscan, record3d};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// So much of a file is read to tell its format.
const START: u64 = 4096;

/// A dataset that could be read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub format: Format,
    /// Folder of the dataset, below which the photos are.
    pub root: PathBuf,
    /// The file to read; of COLMAP, Polycam and ARKit's scans the folder of files.
    pub at: PathBuf,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = self.at.strip_prefix(&self.root).unwrap_or(&self.at);
        match below.as_os_str().is_empty() {
            true => write!(f, "{}", self.format),
            false => write!(f, "{} ({})", self.format, below.display()),
        }
    }
}

/// The datasets in a folder, in the order of [`Format::ALL`] (but COLMAP's files directly in the
/// folder, and nerfstudio's copy of them, come after `transforms.json`).
pub(super) fn in_folder(root: &Path) -> Vec<Layout> {
    let mut all = Vec::new();
    let mut add = |format: Format, root: &Path, at: PathBuf| {
        let root = root.to_path_buf();
        all.push(Layout { format, root, at });
    };
    let model = |folder: PathBuf| colmap::format_in(&folder).map(|format| (format, folder));
    let posed = [root.join("sparse/0"), root.join("sparse")];
    if let Some((format, folder)) = posed.into_iter().find_map(model) {
        add(format, root, folder);
    }
    for (name, format) in [
        ("transforms.json", Format::Transforms),
        ("transforms_train.json", Format::TransformsSplit),
    ] {
        let file = root.join(name);
        if file.is_file() {
            add(format, root, file);
        }
    }
    if let Some((format, folder)) = model(root.to_path_buf()) {
        add(format, &colmap::root_of(root), folder);
    }
    if let Some((format, folder)) = model(root.join("colmap/sparse/0")) {
        add(format, root, folder);
    }
    if let Some(keyframes) = polycam::keyframes_in(root) {
        add(Format::Polycam, root, keyframes);
    }
    if record3d::is_in(root) {
        add(Format::Record3d, root, root.join("metadata.json"));
    }
    if arkit::is_in(root) {
        add(Format::Arkit, root, root.to_path_buf());
    }
    let mut first = |format: Format, place: &Path, ending: &str| {
        let file = folder::with_ending(place, ending)
            .into_iter()
            .find(|file| of_start(file) == Some(format));
        let found = file.is_some();
        if let Some(file) = file {
            add(format, root, file);
        }
        found
    };
    first(Format::Metashape, root, "xml");
    first(Format::RealityScan, root, "csv");
    if !first(Format::Bundler, root, "out") {
        first(Format::Bundler, &root.join("bundle"), "out");
    }
    let poses = root.join("poses_bounds.npy");
    if poses.is_file() {
        add(Format::Llff, root, poses);
    }
    all
}

/// Whether a file describes the cameras of a dataset, so that it can be opened in place of a
/// folder: any `.json`, or a file whose first bytes are those of such a format.
pub fn is_file_of_cameras(path: &Path) -> bool {
    path.is_file() && of_file(path).is_some()
}

/// The dataset of which a file is given.
pub(super) fn of_file(file: &Path) -> Option<Layout> {
    let folder = folder::of_file(file);
    let json = file
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    let of_record3d = file.file_name().is_some_and(|name| name == "metadata.json");
    let format = match json {
        true if of_record3d && record3d::is_in(&folder) => Format::Record3d,
        true => Format::Transforms,
        false => of_start(file)?,
    };
    // Bundler writes `bundle/bundle.out` beside the photos' list.
    let bundle = file
        .parent()
        .is_some_and(|parent| parent.ends_with("bundle"));
    let root = match (format == Format::Bundler && bundle, folder.parent()) {
        (true, Some(parent)) if parent.as_os_str().is_empty() => PathBuf::from("."),
        (true, Some(parent)) => parent.to_path_buf(),
        _ => folder,
    };
    Some(Layout {
        format,
        root,
        at: file.to_path_buf(),
    })
}

/// The format of which a file's first bytes speak, of those that are known by their bytes.
pub(super) fn of_start(file: &Path) -> Option<Format> {
    let mut start = Vec::new();
    let opened = std::fs::File::open(file).ok()?;
    opened.take(START).read_to_end(&mut start).ok()?;
    if npy::is_npy(&start) {
        Some(Format::Llff)
    } else if bundler::is_bundle(&start) {
        Some(Format::Bundler)
    } else if metashape::is_metashape(&start) {
        Some(Format::Metashape)
    } else if realityscan::is_csv(&start) {
        Some(Format::RealityScan)
    } else {
        None
    }
}
