//! Finds photos by what other programs call them: a label without its ending, a path of another
//! machine, another case.

use super::folder::{self, ENDINGS};
use super::options::OpenOptions;
use crate::DataError;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// How many folders deep photos may lie.
const DEEPEST: usize = 4;
/// Folders of a dataset that hold images which are no photos.
const NO_PHOTOS: [&str; 3] = ["masks", "depth", "depths"];

/// The photos below a folder.
pub(super) struct PhotoIndex {
    /// Where the photos are.
    pub folder: PathBuf,
    /// Paths below the folder, with `/`, sorted bytewise.
    files: Vec<String>,
    /// Indices into `files` by file name, and by file name without its ending; lower case.
    by_name: HashMap<String, Vec<usize>>,
    by_stem: HashMap<String, Vec<usize>>,
}

impl PhotoIndex {
    /// Lists the photos of a dataset.
    pub fn new(root: &Path, options: &OpenOptions) -> Result<Self, DataError> {
        Ok(Self::of(folder::photos(root, options)?))
    }

    /// Lists the photos below a folder.
    pub fn of(folder: PathBuf) -> Self {
        let mut files = Vec::new();
        list(&folder, "", DEEPEST, &mut files);
        files.sort();
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        let mut by_stem: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, file) in files.iter().enumerate() {
            let name = last(file).to_lowercase();
            let stem = stem(&name).to_owned();
            by_name.entry(name).or_default().push(index);
            by_stem.entry(stem).or_default().push(index);
        }
        Self {
            folder,
            files,
            by_name,
            by_stem,
        }
    }

    /// The photos directly in the folder, sorted bytewise.
    pub fn flat(&self) -> impl Iterator<Item = &str> {
        let files = self.files.iter().map(String::as_str);
        files.filter(|file| !file.contains('/'))
    }

    /// The photo of a name: as spelled; else the one with that file name, then with that file name
    /// and any ending, then with that file name and another ending. Upper and lower case are the
    /// same. Of several in different folders, the one whose folders agree best; nothing if two
    /// agree equally well. Returns its path below the folder, and the file.
    pub fn find(&self, spelled: &str) -> Option<(String, PathBuf)> {
        let spelled = spelled.trim_start_matches("./");
        if let Some(found) = folder::image(&self.folder, spelled) {
            return Some(found);
        }
        let slashes = spelled.replace('\\', "/");
        let name = last(&slashes).to_lowercase();
        let candidates = self
            .by_name
            .get(&name)
            .or_else(|| self.by_stem.get(&name))
            .or_else(|| self.by_stem.get(stem(&name)))?;
        let agreement = |&index: &usize| {
            let own = self.files[index].rsplit('/').skip(1);
            let wanted = slashes.rsplit('/').skip(1);
            own.zip(wanted).take_while(|(a, b)| a == b).count()
        };
        let best = candidates.iter().map(agreement).max()?;
        let mut agreeing = candidates.iter().filter(|index| agreement(index) == best);
        let (&index, None) = (agreeing.next()?, agreeing.next()) else {
            return None;
        };
        let file = self.files[index].clone();
        let path = self.folder.join(&file);
        Some((file, path))
    }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A file name without its ending, if that is one of a photo.
fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, ending)) if ENDINGS.contains(&ending) => stem,
        _ => name,
    }
}

/// Appends the photos below a folder; what cannot be listed or is no Unicode is left out.
fn list(folder: &Path, prefix: &str, deepest: usize, files: &mut Vec<String>) {
    let Ok(listed) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in listed.flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if name.starts_with('.') {
            continue;
        }
        let path = entry.path();
        if path.is_dir() {
            if deepest > 0 && !NO_PHOTOS.contains(&name.as_str()) {
                list(&path, &format!("{prefix}{name}/"), deepest - 1, files);
            }
            continue;
        }
        let lower = name.to_lowercase();
        if stem(&lower) != lower {
            files.push(format!("{prefix}{name}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn photos_are_found_by_what_others_call_them() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            "images/a/one.JPG",
            "images/b/one.JPG",
            "images/b/two.png",
            "images/DSC.003.tif",
            "images/masks/two.png",
            "images/notes.txt",
        ];
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let index = PhotoIndex::new(folder.path(), &OpenOptions::default()).unwrap();
        let found = |name| index.find(name).map(|(name, _)| name);
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(found("b/two.png"), some("b/two.png"));
        assert_eq!(found("two"), some("b/two.png"));
        assert_eq!(found("TWO.PNG"), some("b/two.png"));
        // Converted since.
        assert_eq!(found("two.heic"), some("b/two.png"));
        assert_eq!(found("DSC.003"), some("DSC.003.tif"));
        // A path of another machine: its last folders decide.
        assert_eq!(found("C:\\photos\\a\\one.jpg"), some("a/one.JPG"));
        assert_eq!(found("/data/b/one.jpg"), some("b/one.JPG"));
        assert_eq!(found("one.jpg"), None, "there are two");
        assert_eq!(found("notes"), None, "no photo");
        assert_eq!(index.flat().collect::<Vec<_>>(), ["DSC.003.tif"]);
    }
}
