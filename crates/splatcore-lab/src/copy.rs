//! Copies of folders.

use std::io::{self, ErrorKind};
use std::path::Path;

/// Copies a file, or a folder with all that it holds; folders that are missing are made. A file
/// that vanishes while its folder is copied is left out.
///
/// # Errors
/// If `from` does not exist, or something cannot be read or written; the message names both paths.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let said = |error: io::Error| {
        let words = format!("{} to {}: {error}", from.display(), to.display());
        io::Error::new(error.kind(), words)
    };
    if !from.is_dir() {
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder).map_err(said)?;
        }
        return std::fs::copy(from, to).map(drop).map_err(said);
    }
    std::fs::create_dir_all(to).map_err(said)?;
    for entry in std::fs::read_dir(from).map_err(said)? {
        let path = entry.map_err(said)?.path();
        let name = path.file_name().unwrap_or_default();
        match copy(&path, &to.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound && !path.exists() => {}
            copied => copied?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_folder_comes_along_with_what_it_holds() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("a/b/c"), "new").unwrap();
        fs::create_dir_all(at("out/b")).unwrap();
        fs::write(at("out/b/c"), "old").unwrap();
        fs::write(at("out/d"), "stays").unwrap();
        copy(&at("a"), &at("out")).unwrap();
        assert_eq!(fs::read_to_string(at("out/b/c")).unwrap(), "new");
        assert_eq!(fs::read_to_string(at("out/d")).unwrap(), "stays");
        copy(&at("a/b/c"), &at("x/y/z")).unwrap();
        assert_eq!(fs::read_to_string(at("x/y/z")).unwrap(), "new");
        let error = copy(&at("nowhere"), &at("out")).unwrap_err();
        assert!(error.to_string().contains("nowhere"), "{error}");
    }
}
