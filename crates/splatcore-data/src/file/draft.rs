//! [`Draft`]: a file that has its name only when it is complete.

use super::leftovers::{self, Held, UNFINISHED};
use crate::DataError;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::{NamedTempFile, TempPath};

/// Symbolic links that are followed one after another, as many as Linux follows.
const MAX_LINKS: usize = 40;
/// While the process may open no further file, a draft is tried again for so long, since other
/// threads close theirs.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// A file beside its final name; nothing is left of it unless it is finished. On Linux it has no
/// name at all until then where the file system can do that, so that not even a process that is
/// killed leaves it behind.
#[derive(Debug)]
pub struct Draft {
    file: File,
    /// None while it has no name.
    name: Option<Name>,
    /// The name that was asked for, for messages.
    path: PathBuf,
    /// The same with links followed.
    target: PathBuf,
}

#[derive(Debug)]
struct Name {
    path: TempPath,
    held: Held,
}

impl Draft {
    /// For a file of this name. Missing parent folders are made. A symbolic link stays, and the
    /// file that it names is written.
    ///
    /// # Errors
    /// What stands under the name is no regular file, or nothing can be written beside it.
    pub fn beside(path: &Path) -> Result<Self, DataError> {
        let (target, folder) = place(path)?;
        #[cfg(target_os = "linux")]
        if let Ok(file) = patiently(|| nameless::open(&folder)) {
            let path = path.to_owned();
            return Ok(Self {
                file,
                name: None,
                path,
                target,
            });
        }
        Self::with_name(path, target, &folder)
    }

    /// [`Draft::beside`] with a hidden name, so that another program can write it.
    ///
    /// # Errors
    /// As [`Draft::beside`].
    pub fn named_beside(path: &Path) -> Result<Self, DataError> {
        let (target, folder) = place(path)?;
        Self::with_name(path, target, &folder)
    }

    fn with_name(path: &Path, target: PathBuf, folder: &Path) -> Result<Self, DataError> {
        let make = || named(folder);
        let made = patiently(|| leftovers::held(make));
        let (file, held) = made.map_err(|error| DataError::write(path, &error))?;
        let (file, name) = file.into_parts();
        Ok(Self {
            file,
            name: Some(Name { path: name, held }),
            path: path.to_owned(),
            target,
        })
    }

    /// To write to.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where it lies now, if it has a name.
    pub fn place(&self) -> Option<&Path> {
        self.name.as_ref().map(|name| &*name.path)
    }

    /// Gives it its name, once its bytes are on the disk. An older file's mode is kept.
    ///
    /// # Errors
    /// If that fails; an older file is then as it was.
    pub fn finish(self) -> Result<(), DataError> {
        let path = self.path.clone();
        self.name_it()
            .map_err(|error| DataError::write(&path, &error))
    }

    fn name_it(self) -> std::io::Result<()> {
        let file = match &self.name {
            // Another program may have put another file in its place.
            Some(name) => File::open(&name.path)?,
            None => self.file,
        };
        file.sync_all()?;
        #[cfg(unix)]
        if let Ok(older) = std::fs::metadata(&self.target) {
            file.set_permissions(older.permissions())?;
        }
        let (place, held) = self.name.map(|name| (name.path, name.held)).unzip();
        let named = leftovers::completing(|| match place {
            Some(place) => Ok(place.persist(&self.target)?),
            #[cfg(target_os = "linux")]
            None => nameless::name_it(&file, &self.target),
            #[cfg(not(target_os = "linux"))]
            None => Ok(()),
        });
        drop(held);
        named
    }
}

/// The file that a name stands for, and its folder, which is there and has no drafts of dead
/// processes.
fn place(path: &Path) -> Result<(PathBuf, PathBuf), DataError> {
    let failed = |error: std::io::Error| DataError::write(path, &error);
    let target = target_of(path).map_err(failed)?;
    let name = path.as_os_str().as_encoded_bytes();
    let problem = match std::fs::metadata(&target) {
        Ok(there) if there.is_dir() => Some("is a folder"),
        Ok(there) if !there.is_file() => Some("is not a regular file"),
        // A slash at the end makes it the name of a folder.
        _ if target.file_name().is_none() || name.ends_with(b"/") => Some("is no name of a file"),
        _ => None,
    };
    if let Some(problem) = problem {
        let problem = format!("cannot be written, it {problem}");
        return Err(DataError::new(path, problem, "give the name of a file"));
    }
    let folder = folder_of(&target);
    std::fs::create_dir_all(&folder).map_err(failed)?;
    leftovers::remove_of_dead(&folder);
    Ok((target, folder))
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Where symbolic links lead, one after another; there need be nothing at the end.
fn target_of(path: &Path) -> std::io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match std::fs::symlink_metadata(&target) {
            Ok(metadata) if metadata.is_symlink() => {
                let next = std::fs::read_link(&target)?;
                // A relative link starts at its own folder; an absolute one replaces all.
                target = match target.parent() {
                    Some(folder) => folder.join(next),
                    None => next,
                };
            }
            _ => return Ok(target),
        }
    }
    Err(std::io::Error::other("too many symbolic links"))
}

fn hidden() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED);
    builder
}

fn named(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = hidden();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Temporary files are private; a result has what the umask leaves of this.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Opens what could not be opened for want of file descriptors again and again, for a minute.
fn patiently<T>(mut open: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    let start = Instant::now();
    loop {
        match open() {
            Err(error) if is_shortage(&error) && start.elapsed() < PATIENCE => {
                std::thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
}

/// The process, or the system, has as many files open as it may.
fn is_shortage(error: &std::io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let errors = [Errno::MFILE, Errno::NFILE].map(|error| Some(error.raw_os_error()));
        errors.contains(&error.raw_os_error())
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// Files that have no name yet.
#[cfg(target_os = "linux")]
mod nameless {
    use crate::file::draft::{folder_of, hidden, named};
    use rustix::fs::{AtFlags, CWD, OFlags, linkat};
    use std::fs::{File, OpenOptions};
    use std::io::{self, ErrorKind, Seek};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::{Path, PathBuf};

    /// Opens a file without a name in a folder.
    pub fn open(folder: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o666);
        options.custom_flags(OFlags::TMPFILE.bits() as i32);
        let file = options.open(folder)?;
        // It gets a name by the one that it has there.
        std::fs::symlink_metadata(in_proc(&file))?;
        Ok(file)
    }

    /// Gives it a name, in place of an older file.
    pub fn name_it(file: &File, target: &Path) -> io::Result<()> {
        match link(file, target) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(_) => return copy(file, target),
        }
        // A link replaces nothing, a renamed file does.
        let beside = hidden().make_in(folder_of(target), |path| link(file, path))?;
        Ok(beside.into_temp_path().persist(target)?)
    }

    fn link(file: &File, path: &Path) -> io::Result<()> {
        linkat(CWD, in_proc(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?;
        Ok(())
    }

    fn in_proc(file: &File) -> PathBuf {
        format!("/proc/self/fd/{}", file.as_raw_fd()).into()
    }

    /// Where the system lets nobody name such a file after all.
    fn copy(mut file: &File, target: &Path) -> io::Result<()> {
        let mut beside = named(&folder_of(target))?;
        file.rewind()?;
        io::copy(&mut file, &mut beside)?;
        beside
            .as_file()
            .set_permissions(file.metadata()?.permissions())?;
        beside.as_file().sync_all()?;
        beside.persist(target)?;
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn links_and_modes_are_kept_with_and_without_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("film"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        symlink("film", &link).unwrap();
        for (draft, text) in [
            (Draft::beside(&link), "new"),
            (Draft::named_beside(&link), "newer"),
        ] {
            let draft = draft.unwrap();
            draft.file().write_all(text.as_bytes()).unwrap();
            draft.finish().unwrap();
            assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
            let mode = std::fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o640);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    /// A program that is given the name may replace the file.
    #[test]
    fn what_another_program_puts_in_its_place_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("film");
        let draft = Draft::named_beside(&path).unwrap();
        let place = draft.place().unwrap().to_owned();
        std::fs::remove_file(&place).unwrap();
        std::fs::write(&place, "theirs").unwrap();
        draft.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs");
    }

    /// Without any descriptor left, a draft waits until there is one.
    #[test]
    fn a_draft_waits_for_a_descriptor() {
        // In a process of its own: others need theirs.
        const CHILD: &str = "SPLATCORE_TEST_DESCRIPTORS";
        if std::env::var_os(CHILD).is_none() {
            let test = "file::draft::tests::a_draft_waits_for_a_descriptor";
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            let output = child
                .args(["--exact", test])
                .env(CHILD, "1")
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(
                output.status.success() && said.contains("1 passed"),
                "{said}"
            );
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result");
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = Some(64);
        setrlimit(Resource::Nofile, limit).unwrap();
        let mut all = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            all.push(file);
        }
        let freed = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            drop(all);
        });
        super::super::write_bytes(&path, b"saved").unwrap();
        freed.join().unwrap();
        let mut text = String::new();
        File::open(&path)
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "saved");
    }
}
