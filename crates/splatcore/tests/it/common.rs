//! What the command-line tests share: running the program, and small data made on the spot.

use assert_cmd::Command;
use splatcore::core::Gaussians;
use splatcore::core::random::Rng;
use splatcore::data::picture;
use splatcore::data::procedural::{ProceduralOptions, write_dataset};
use splatcore::data::scene::write_ply;
use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The program under test, of which Cargo tells a test where it lies. What it told the compiler
/// holds no longer once the target folder was moved.
pub fn program() -> PathBuf {
    std::env::var_os("CARGO_BIN_EXE_splatcore").map_or_else(
        || {
            let test = std::env::current_exe().unwrap();
            test.with_file_name("..").join("splatcore")
        },
        PathBuf::from,
    )
}

/// Saves an image as PNG or JPEG.
pub fn save(image: impl Into<image::DynamicImage>, path: impl AsRef<Path>) {
    let (image, path) = (image.into(), path.as_ref());
    let (size, kind) = ([image.width(), image.height()], image.color().into());
    let bytes = match path.extension().is_some_and(|ending| ending == "png") {
        true => picture::png(image.as_bytes(), size, kind),
        false => picture::jpeg(image.as_bytes(), size, kind, 75),
    };
    std::fs::write(path, bytes.unwrap()).unwrap();
}

/// Arguments of the program: a line as one types it, without quotes, or one by one.
pub trait Arguments: Debug {
    /// One by one.
    fn list(&self) -> Vec<OsString>;
}

impl Arguments for str {
    fn list(&self) -> Vec<OsString> {
        self.split_whitespace().map(OsString::from).collect()
    }
}

impl Arguments for String {
    fn list(&self) -> Vec<OsString> {
        self.as_str().list()
    }
}

impl<S: AsRef<OsStr> + Debug> Arguments for [S] {
    fn list(&self) -> Vec<OsString> {
        self.iter().map(|arg| arg.as_ref().to_owned()).collect()
    }
}

impl<S: AsRef<OsStr> + Debug, const N: usize> Arguments for [S; N] {
    fn list(&self) -> Vec<OsString> {
        self.as_slice().list()
    }
}

impl<S: AsRef<OsStr> + Debug> Arguments for Vec<S> {
    fn list(&self) -> Vec<OsString> {
        self.as_slice().list()
    }
}

/// The program under test with arguments.
pub fn splatcore(args: &(impl Arguments + ?Sized)) -> Command {
    let mut command = Command::new(program());
    command.args(args.list());
    command
}

/// Runs, must exit 0; returns stdout.
pub fn succeeds(args: &(impl Arguments + ?Sized)) -> String {
    let output = splatcore(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{args:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Runs, must exit 1 with nothing on stdout and one line on stderr; returns that line.
pub fn fails(args: &(impl Arguments + ?Sized)) -> String {
    let output = splatcore(args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{args:?}: {stderr}");
    assert!(
        output.stdout.is_empty(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert!(
        stderr.starts_with("error: ") && stderr.ends_with('\n') && stderr.lines().count() == 1,
        "{args:?}: {stderr}"
    );
    stderr
}

/// Runs, must exit with this code, and print nothing to stdout if that is of wrong usage (2);
/// returns stderr.
pub fn ends(args: &(impl Arguments + ?Sized), code: i32) -> String {
    let output = splatcore(args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
    assert!(code != 2 || output.stdout.is_empty(), "{args:?}: {stderr}");
    stderr
}

/// 10 photos of 64x48, 400 points.
pub fn tiny() -> ProceduralOptions {
    ProceduralOptions {
        width: 64,
        height: 48,
        views: 10,
        samples: 1,
        points: 400,
        ..ProceduralOptions::default()
    }
}

/// A dataset of its own in a folder; returns its path.
pub fn painted(folder: &Path, options: &ProceduralOptions) -> PathBuf {
    let photos = folder.join("photos");
    write_dataset(&photos, options, &|_, _| {}).unwrap();
    photos
}

/// `train` on the tiny dataset must end with this code and say this.
pub fn refuses_to_train(flags: &str, code: i32, wanted: &str) {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let stderr = ends(
        &format!("train {} -o {} {flags}", photos(), text(&run)),
        code,
    );
    assert_contains!(stderr, wanted);
}

/// A tiny dataset, made once for all tests of a file: 10 photos of 64x48, 400 points.
pub fn photos() -> &'static str {
    static FOLDER: OnceLock<(tempfile::TempDir, String)> = OnceLock::new();
    let (_, path) = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let options = ProceduralOptions { seed: 1, ..tiny() };
        write_dataset(folder.path(), &options, &|_, _| {}).unwrap();
        let path = text(folder.path()).to_owned();
        (folder, path)
    });
    path
}

/// A copy of the first photos of the tiny dataset, to be spoilt.
pub fn some_photos(folder: &Path, count: usize) -> Vec<String> {
    let (from, to) = (Path::new(photos()), folder);
    std::fs::create_dir_all(to.join("images")).unwrap();
    std::fs::create_dir_all(to.join("sparse/0")).unwrap();
    for name in ["cameras.txt", "points3D.txt"] {
        std::fs::copy(
            from.join("sparse/0").join(name),
            to.join("sparse/0").join(name),
        )
        .unwrap();
    }
    let images = std::fs::read_to_string(from.join("sparse/0/images.txt")).unwrap();
    let lines: Vec<&str> = images
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    let kept = &lines[..2 * count];
    std::fs::write(to.join("sparse/0/images.txt"), kept.join("\n") + "\n").unwrap();
    let names = kept
        .iter()
        .step_by(2)
        .filter_map(|line| line.split(' ').next_back());
    let names: Vec<String> = names.map(str::to_owned).collect();
    for name in &names {
        let inside = Path::new("images").join(name);
        std::fs::copy(from.join(&inside), to.join(&inside)).unwrap();
    }
    names
}

/// Writes a scene of 50 Gaussians of SH degree 1 and returns its path.
pub fn write_scene(folder: &Path) -> PathBuf {
    let mut rng = Rng::new(3, 0);
    let mut scene = Gaussians::zeros(50, 1);
    for i in 0..scene.len() {
        scene.means[i] = [0; 3].map(|_| rng.normal());
        scene.log_scales[i] = [-1.5; 3];
        scene.rotations[i] = [1.0, 0.0, 0.0, 0.0];
        scene.opacity_logits[i] = 1.0;
        scene.sh[4 * i] = [0; 3].map(|_| rng.normal());
    }
    let path = folder.join("scene.ply");
    write_ply(&path, &scene, false).unwrap();
    path
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A JSON object.
pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Whether a process is writing a file in the folder that is not yet complete: on Linux it has no
/// name.
#[cfg(unix)]
pub fn is_writing(process: u32, folder: &Path) -> bool {
    let open = std::fs::read_dir(format!("/proc/{process}/fd"));
    let mut files = open.into_iter().flatten().flatten();
    let nameless = |file: &Path| {
        let hidden = file.to_string_lossy().ends_with("(deleted)");
        hidden && file.starts_with(folder)
    };
    let mut links = files
        .by_ref()
        .filter_map(|file| std::fs::read_link(file.path()).ok());
    links.any(|file| nameless(&file)) || !unfinished(folder).is_empty()
}

/// Files of the folder that have a name and are not yet complete.
#[cfg(unix)]
pub fn unfinished(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.path());
    names
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| text(Path::new(name)).starts_with(".splatcore-"))
        })
        .collect()
}
