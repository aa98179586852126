//! Saves what is left of a scene as a file beside it.

use super::history::State;
use super::moves::Moves;
use splatcore_core::Gaussians;
use splatcore_data::DataError;
use splatcore_data::scene::edit::{Moved, Similarity};
use splatcore_data::scene::{self, Format, Rows, WriteOptions};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Longest name, bytes.
const LONGEST: usize = 120;

/// What is told of a file that was written, and how its scene was moved; an error is one line.
type Tell = dyn Fn(&Path, &Moves) -> Result<(), String> + Send + Sync;

/// Hears of each file that was written.
#[derive(Clone)]
pub struct AfterSave(pub Arc<Tell>);

impl fmt::Debug for AfterSave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AfterSave")
    }
}

/// Where scenes are saved.
#[derive(Clone, Debug)]
pub struct SavePlace {
    /// The folder; browsers choose a name in it.
    pub folder: PathBuf,
    /// The file that was opened, if it is in the folder.
    pub opened: Option<PathBuf>,
    /// The name that browsers propose.
    pub proposal: String,
    /// Whether the scene is to be rendered with Mip-Splatting's 2D filter.
    pub antialiased: bool,
    /// Hears of what was saved.
    pub after: Option<AfterSave>,
}

/// What was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// The file.
    pub path: PathBuf,
    /// Its name as it was asked for.
    pub name: String,
    /// Gaussians in it.
    pub gaussians: usize,
    /// Its size.
    pub bytes: u64,
    /// What the format could not keep.
    pub notes: Vec<String>,
}

/// Why nothing was written.
#[derive(Clone, Debug, PartialEq)]
pub enum NotSaved {
    /// There is a file of this name, which may be replaced if a person says so.
    Exists {
        /// It is the file that was opened.
        opened: bool,
    },
    /// One line.
    Failed(String),
}

impl SavePlace {
    /// The file of a name that a browser chose.
    ///
    /// # Errors
    /// If the name is not that of a scene file in the folder, or the file exists and `replace` is
    /// false.
    pub fn file(&self, name: &str, replace: bool) -> Result<PathBuf, NotSaved> {
        let path = self.folder.join(checked(name).map_err(NotSaved::Failed)?);
        let failed = |why: String| Err(NotSaved::Failed(why));
        if path.is_dir() {
            return failed(format!("{name} is a folder; choose another name"));
        }
        let folder = path.parent().filter(|folder| *folder != self.folder);
        if let Some(folder) = folder.filter(|folder| folder.symlink_metadata().is_ok()) {
            // Not a link that leads elsewhere, and not a folder of something else.
            let own = folder.symlink_metadata().is_ok_and(|found| found.is_dir());
            if !(own && path.is_file()) {
                let name = folder.file_name().unwrap_or_default().to_string_lossy();
                return failed(format!(
                    "{name} exists and is no folder of such a scene; choose another"
                ));
            }
        }
        match path.symlink_metadata() {
            Ok(_) if !replace => Err(NotSaved::Exists {
                opened: self.is_opened(&path),
            }),
            _ => Ok(path),
        }
    }

    /// A file that there is not yet, for edits that nobody saved.
    pub(super) fn rescue(&self) -> PathBuf {
        let stem = self
            .proposal
            .rsplit_once("-edited")
            .map_or("scene", |(stem, _)| stem);
        let numbers = (2..).map(|number| format!("{stem}-unsaved-{number}.ply"));
        let names = std::iter::once(format!("{stem}-unsaved.ply")).chain(numbers);
        let mut files = names.map(|name| self.folder.join(name));
        let free = files.find(|file| file.symlink_metadata().is_err());
        free.unwrap_or_else(|| self.folder.join("unsaved.ply"))
    }

    fn is_opened(&self, path: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().ok();
        let opened = self.opened.as_deref().and_then(real);
        opened.is_some() && opened == real(path)
    }
}

/// A name that stands for a scene in one file or in a folder of its own, and for nothing elsewhere.
fn checked(name: &str) -> Result<&str, String> {
    let wrong = |why: &str| Err(format!("'{name}' {why}"));
    if name.len() > LONGEST {
        return Err(format!("the name is too long; {LONGEST} bytes at most"));
    }
    let format = Format::of_output(Path::new(name));
    let several = matches!(format, Ok(Format::SogFolder | Format::StreamedSog));
    let plain = match (several, name.split_once('/')) {
        (true, Some((folder, "meta.json" | "lod-meta.json"))) => folder,
        (true, _) => return wrong("is a scene of several files; it needs a folder of its own"),
        (false, _) => name,
    };
    let odd = |c: char| c.is_control() || "/\\:*?\"<>|".contains(c);
    let is_plain = Path::new(plain)
        .file_name()
        .is_some_and(|file| file == plain);
    if !is_plain || plain.contains(odd) || plain.starts_with('.') {
        return wrong("is no plain name of a file; use letters, digits, '-' and '_'");
    }
    match format {
        Ok(_) => Ok(name),
        Err(error) => wrong(&format!("{}; {}", error.problem, error.remedy)),
    }
}

/// Writes what is not deleted, moved, to a file.
///
/// # Errors
/// If nothing is left, or the file cannot be written, in one line.
pub fn write(
    path: &Path,
    scene: &Arc<Gaussians>,
    state: &State,
    (antialiased, after): (bool, Option<&AfterSave>),
) -> Result<Saved, String> {
    let order: Vec<u32> = state
        .deleted
        .inverse()
        .indices()
        .map(|i| i as u32)
        .collect();
    if order.is_empty() {
        return Err("nothing is left to save; undo a deletion".into());
    }
    let gaussians = order.len();
    let kept = Kept {
        scene: Arc::clone(scene),
        order,
    };
    let map = state.moves.similarity();
    let rows: Box<dyn Rows> = match map == Similarity::IDENTITY {
        true => Box::new(kept),
        false => Box::new(Moved::new(Box::new(kept), map)),
    };
    let options = WriteOptions {
        antialiased,
        ..WriteOptions::default()
    };
    let written = scene::write(path, &*rows, &options, &|_, _, _| {});
    let mut written = written.map_err(|error| error.to_string())?;
    let told = after.map(|after| (after.0)(path, &state.moves));
    written.notes.extend(told.and_then(Result::err));
    Ok(Saved {
        path: path.into(),
        name: path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into(),
        gaussians,
        bytes: written.bytes,
        notes: written.notes,
    })
}

/// Some Gaussians of a scene that others hold as well.
struct Kept {
    scene: Arc<Gaussians>,
    order: Vec<u32>,
}

impl Rows for Kept {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn sh_degree(&self) -> u8 {
        self.scene.sh_degree
    }

    fn gather(&self, which: &[u32], to: &mut Gaussians) -> Result<(), DataError> {
        for &i in which {
            to.push_from(&self.scene, self.order[i as usize] as usize);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Mask;

    fn place(folder: &Path) -> SavePlace {
        SavePlace {
            folder: folder.into(),
            opened: Some(folder.join("scene.ply")),
            proposal: "scene-edited.ply".into(),
            antialiased: false,
            after: None,
        }
    }

    fn scene() -> Arc<Gaussians> {
        let mut scene = Gaussians::zeros(10, 1);
        for i in 0..10 {
            scene.means[i] = [i as f32, 0.0, 0.0];
            scene.rotations[i] = [1.0, 0.0, 0.0, 0.0];
        }
        Arc::new(scene)
    }

    #[test]
    fn names_lead_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        for name in [
            "",
            ".",
            "..",
            "../x.ply",
            "a/b.ply",
            "/x.ply",
            "a\\b.ply",
            "c:x.ply",
            ".x.ply",
            "x.ply/",
            "x",
            "x.txt",
            "x.ksplat",
            "meta.json",
            "lod-meta.json",
            "../meta.json",
            "/meta.json",
            ".x/meta.json",
            "a/b/meta.json",
            "a\\b/lod-meta.json",
            "a/META.json",
            "a/meta.json/",
            "x\n.ply",
            "x\0.ply",
        ] {
            let refused = place.file(name, true);
            assert!(
                matches!(refused, Err(NotSaved::Failed(_))),
                "{name:?} {refused:?}"
            );
        }
        let long = format!("{}.ply", "x".repeat(300));
        assert!(place.file(&long, true).is_err());
        for name in [
            "x.ply",
            "My scene (2).compressed.ply",
            "räume.SOG",
            "x.usdz",
            "a room/meta.json",
            "x/lod-meta.json",
        ] {
            assert_eq!(place.file(name, false), Ok(folder.path().join(name)));
        }
    }

    #[test]
    fn what_exists_is_replaced_only_when_asked() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        for (name, opened) in [("scene.ply", true), ("other.ply", false)] {
            std::fs::write(folder.path().join(name), "x").unwrap();
            assert_eq!(place.file(name, false), Err(NotSaved::Exists { opened }));
            assert!(place.file(name, true).is_ok());
        }
        std::fs::create_dir(folder.path().join("f.ply")).unwrap();
        assert!(matches!(
            place.file("f.ply", true),
            Err(NotSaved::Failed(_))
        ));
    }

    /// A scene of several files gets a folder of its own, or replaces such a scene; it goes into no
    /// other folder, and through no link.
    #[test]
    fn scenes_of_several_files_have_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        for name in ["a/meta.json", "b/lod-meta.json"] {
            let file = place.file(name, false).unwrap();
            write(&file, &scene(), &State::new(10), (false, None)).unwrap();
            assert_eq!(scene::read(&file).unwrap().gaussians.len(), 10, "{name}");
            assert_eq!(
                place.file(name, false),
                Err(NotSaved::Exists { opened: false })
            );
            assert_eq!(place.file(name, true), Ok(file));
        }
        std::fs::create_dir(folder.path().join("photos")).unwrap();
        let mut refused = vec!["photos/meta.json", "a/lod-meta.json"];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.path().join("a"), folder.path().join("link"))
                .unwrap();
            refused.push("link/meta.json");
        }
        for name in refused {
            let end = place.file(name, true);
            assert!(matches!(end, Err(NotSaved::Failed(_))), "{name} {end:?}");
        }
    }

    #[test]
    fn what_is_left_is_written_moved() {
        let folder = tempfile::tempdir().unwrap();
        let mut state = State::new(10);
        state.deleted = Mask::of(10, |i| i % 2 == 0);
        state.moves.metric = Some(([[0.0; 3], [0.0, 0.0, 2.0]], 6.0));
        let path = folder.path().join("x.ply");
        let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
        let to = Arc::clone(&heard);
        let after = AfterSave(Arc::new(move |path: &Path, moves: &Moves| {
            to.lock().unwrap().push((path.to_owned(), moves.scale()));
            Err("the disk is full".into())
        }));
        let saved = write(&path, &scene(), &state, (true, Some(&after))).unwrap();
        assert_eq!(saved.gaussians, 5);
        assert_eq!(*heard.lock().unwrap(), [(path.clone(), 3.0)]);
        assert_eq!(saved.notes, ["the disk is full"]);
        let read = scene::read(&path).unwrap();
        assert!(read.antialiased);
        let xs: Vec<f32> = read.gaussians.means.iter().map(|mean| mean[0]).collect();
        assert_eq!(xs, [3.0, 9.0, 15.0, 21.0, 27.0]);
        assert!((read.gaussians.log_scales[0][0] - 3f32.ln()).abs() < 1e-6);
        state.deleted = Mask::none(10).inverse();
        assert!(write(&path, &scene(), &state, (false, Some(&after))).is_err());
        assert_eq!(heard.lock().unwrap().len(), 1);
    }
}
