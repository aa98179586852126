//! Kernel files of a user's that take the place of built-in ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The variable that names a folder with kernel files to use in place of the built-in ones, file by
/// file, so that a changed constant needs no new build.
pub const KERNELS_VARIABLE: &str = "SPLATCORE_KERNELS";

/// The folder, if the variable is set.
pub fn folder() -> Option<PathBuf> {
    std::env::var_os(KERNELS_VARIABLE).map(PathBuf::from)
}

/// Texts that take the place of kernel files, by the files' names. Copies share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replacements(Option<Arc<BTreeMap<String, String>>>);

impl Replacements {
    /// These texts, by name. A text that nobody would read is an error, since its author would
    /// measure the built-in one instead.
    ///
    /// # Errors
    /// If a file is called like none of `known`, or like another.
    pub fn new(
        files: impl IntoIterator<Item = (String, String)>,
        known: &[(&str, &str)],
    ) -> Result<Self, String> {
        let mut texts = BTreeMap::new();
        for (name, text) in files {
            if !known.iter().any(|(known, _)| *known == name) {
                return Err(unknown(&name));
            }
            if texts.insert(name.clone(), text).is_some() {
                return Err(format!("two texts take the place of {name}; leave one out"));
            }
        }
        Ok(Self((!texts.is_empty()).then(|| Arc::new(texts))))
    }

    /// The files of a folder.
    ///
    /// # Errors
    /// If the folder or a file cannot be read as text, or as [`Replacements::new`].
    pub fn of_folder(folder: &Path, known: &[(&str, &str)]) -> Result<Self, String> {
        Self::new(files(folder, known)?, known)
    }

    /// The files of the folder that [`KERNELS_VARIABLE`] names; none if it is not set.
    ///
    /// # Errors
    /// As [`Replacements::of_folder`], behind the variable's name.
    pub fn of_environment(known: &[(&str, &str)]) -> Result<Self, String> {
        let Some(folder) = folder() else {
            return Ok(Self::default());
        };
        let read = Self::of_folder(&folder, known);
        read.map_err(|error| format!("{KERNELS_VARIABLE}: {error}"))
    }

    /// Whether all files are the built-in ones.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The text of a file: the replacement's, else the built-in one.
    pub fn text<'a>(&'a self, (name, text): (&str, &'a str)) -> &'a str {
        let other = self.0.as_ref().and_then(|texts| texts.get(name));
        other.map_or(text, String::as_str)
    }

    /// Names and texts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let texts = self.0.iter().flat_map(|texts| texts.iter());
        texts.map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// What to say of them: each name with a digest of its text (64-bit FNV-1a).
    pub fn described(&self) -> String {
        let one = |(name, text): (&str, &str)| {
            let digest = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |digest, byte| {
                (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
            format!("{name} ({digest:016x})")
        };
        self.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

fn unknown(name: &str) -> String {
    format!("no kernel file is called {name}; rename it or take it out of the folder")
}

/// The files of a folder that take the place of built-in ones: name and text.
fn files(folder: &Path, known: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
    let unreadable =
        |path: &Path, error: std::io::Error| format!("{} cannot be read ({error})", path.display());
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, error))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unreadable(folder, error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !known.iter().any(|(known, _)| *known == name) {
            return Err(format!(
                "{} takes the place of no kernel file: {}",
                path.display(),
                unknown(&name)
            ));
        }
        if !path.is_file() {
            return Err(format!("{} is no regular file", path.display()));
        }
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        found.push((name.into_owned(), text));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [(&str, &str); 2] = [("blend.cuh", "a"), ("blend_seele.cu", "b")];

    fn said(folder: &Path) -> String {
        Replacements::of_folder(folder, &KNOWN).unwrap_err()
    }

    #[test]
    fn files_are_found_by_name_with_what_they_hold() {
        let folder = tempfile::tempdir().unwrap();
        assert!(
            Replacements::of_folder(folder.path(), &KNOWN)
                .unwrap()
                .is_empty()
        );
        std::fs::write(folder.path().join("blend_seele.cu"), "changed").unwrap();
        std::fs::write(folder.path().join("blend.cuh"), "").unwrap();
        let found = Replacements::of_folder(folder.path(), &KNOWN).unwrap();
        let files: Vec<_> = found.iter().collect();
        assert_eq!(files, [("blend.cuh", ""), ("blend_seele.cu", "changed")]);
        assert_eq!(found.text(KNOWN[1]), "changed");
        assert_eq!(found.text(("other.cu", "own")), "own");
        let said = found.described();
        // FNV-1a of nothing is its offset basis.
        assert!(
            said.starts_with("blend.cuh (cbf29ce484222325), blend_seele.cu ("),
            "{said}"
        );
    }

    #[test]
    fn what_nobody_would_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("blend_seel.cu"), "").unwrap();
        let message = said(folder.path());
        let expected = "no kernel file is called blend_seel.cu";
        assert_contains!(message, expected);
        let message = said(&folder.path().join("nowhere"));
        assert_contains!(message, "nowhere cannot be read");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("blend.cuh"), [0xff, 0xfe]).unwrap();
        let message = said(folder.path());
        assert_contains!(message, "blend.cuh cannot be read");
        let twice = ["1", "2"].map(|text| ("blend.cuh".to_owned(), text.to_owned()));
        let message = Replacements::new(twice, &KNOWN).unwrap_err();
        assert_contains!(message, "two texts");
    }
}
