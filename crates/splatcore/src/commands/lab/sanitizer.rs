//! Where compute-sanitizer and other programs of the CUDA toolkit are.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

const NAME: &str = "compute-sanitizer";

/// Why its gates are not run.
pub const MISSING: &str = "compute-sanitizer is not at hand; install the CUDA toolkit, and put \
                           its bin folder into PATH or set CUDA_HOME";

/// The program: in a folder of `PATH`, else below the toolkit that `CUDA_HOME` or `CUDA_PATH`
/// names, else below /usr/local/cuda.
pub fn find() -> Option<PathBuf> {
    find_program(NAME)
}

/// As [`find`], for another program of the toolkit.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let homes = ["CUDA_HOME", "CUDA_PATH"].map(|name| std::env::var_os(name).map(PathBuf::from));
    let homes = homes.into_iter().flatten();
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_in(name, &path, homes.chain(["/usr/local/cuda".into()]))
}

fn find_in(name: &str, path: &OsStr, homes: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let below = homes.flat_map(|home| {
        let tools = home.join("compute-sanitizer");
        [home.join("bin"), tools]
    });
    let folders = std::env::split_paths(path).chain(below);
    let mut programs = folders.map(|folder| folder.join(name));
    programs.find(|program| is_program(program))
}

fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        path.metadata()
            .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    path.is_file()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_path_comes_before_the_toolkit() {
        let root = tempfile::tempdir().unwrap();
        let program = |folder: &str, mode: u32| {
            let folder = root.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            let file = folder.join(NAME);
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            file
        };
        let home = || [root.path().join("cuda")].into_iter();
        let plain = root.path().join("plain");
        assert_eq!(find_in(NAME, plain.as_os_str(), home()), None);
        let below = program("cuda/bin", 0o755);
        // A file that cannot be run is none.
        program("plain", 0o644);
        assert_eq!(find_in(NAME, plain.as_os_str(), home()), Some(below));
        let first = program("plain", 0o755);
        assert_eq!(find_in(NAME, plain.as_os_str(), home()), Some(first));
    }
}
