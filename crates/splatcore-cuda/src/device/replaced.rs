//! Kernel files of a user's that take the place of built-in ones.

use std::path::{Path, PathBuf};

/// The variable that names a folder with kernel files to use in place of the built-in ones, file by
/// file, so that a changed constant needs no new build.
pub const KERNELS_VARIABLE: &str = "SPLATCORE_KERNELS";

/// The folder, if the variable is set.
pub fn folder() -> Option<PathBuf> {
    std::env::var_os(KERNELS_VARIABLE).map(PathBuf::from)
}

/// The files of a folder that take the place of built-in ones: name and text, by name. A file that
/// nobody would read is an error, since its author would measure the built-in one instead.
///
/// # Errors
/// If the folder or a file cannot be read as text, or a file is called like none of `known`.
pub fn files(folder: &Path, known: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
    let unreadable = |path: &Path, error: std::io::Error| {
        format!(
            "{KERNELS_VARIABLE}: {} cannot be read ({error})",
            path.display()
        )
    };
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, error))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unreadable(folder, error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !known.iter().any(|(known, _)| *known == name) {
            return Err(format!(
                "{KERNELS_VARIABLE}: {} takes the place of no kernel file: none is called {name}; \
                 rename it or take it out of the folder",
                path.display()
            ));
        }
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        found.push((name.into_owned(), text));
    }
    found.sort();
    Ok(found)
}

/// What to say of these files: each with a digest of its text (64-bit FNV-1a).
pub fn described(files: &[(String, String)]) -> String {
    let one = |(name, text): &(String, String)| {
        let digest = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |digest, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{name} ({digest:016x})")
    };
    files.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [(&str, &str); 2] = [("blend.cuh", "a"), ("blend_seele.cu", "b")];

    fn said(folder: &Path) -> String {
        files(folder, &KNOWN).unwrap_err()
    }

    #[test]
    fn files_are_found_by_name_with_what_they_hold() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(files(folder.path(), &KNOWN).unwrap(), []);
        std::fs::write(folder.path().join("blend_seele.cu"), "changed").unwrap();
        std::fs::write(folder.path().join("blend.cuh"), "").unwrap();
        let found = files(folder.path(), &KNOWN).unwrap();
        let wanted = [("blend.cuh", ""), ("blend_seele.cu", "changed")];
        assert_eq!(found, wanted.map(|(n, t)| (n.to_owned(), t.to_owned())));
        let said = described(&found);
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
        assert!(
            message.contains("none is called blend_seel.cu"),
            "{message}"
        );
        let message = said(&folder.path().join("nowhere"));
        assert!(message.contains("nowhere cannot be read"), "{message}");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("blend.cuh"), [0xff, 0xfe]).unwrap();
        let message = said(folder.path());
        assert!(message.contains("blend.cuh cannot be read"), "{message}");
    }
}
