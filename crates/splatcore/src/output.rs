//! Results on stdout, files on disk, errors as one line.

use anyhow::{Context, Result, bail};
use serde::Serialize;
use sha2::{Digest, Sha256};
use splatcore_data::file::write_bytes;
use splatcore_data::lock::FolderLock;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Flags that were typed and make no sense: the program ends with exit code 2, as where clap itself
/// finds out.
#[derive(Debug)]
pub struct WrongUsage(pub String);

impl std::fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

/// The digits of what a hash has been given.
pub fn hex(hash: Sha256) -> String {
    let hash = hash.finalize();
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a line to stdout. A reader that went away (`splatcore info x | head -1`) has what it
/// wanted: the program ends quietly.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => Err(error).context("stdout cannot be written"),
    }
}

/// One JSON object on stdout.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    print(&serde_json::to_string_pretty(value)?)
}

/// A JSON file, complete or not at all.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(write_bytes(path, text.as_bytes())?)
}

/// Makes the folder if need be and finds out now, not after hours of work, whether files can be
/// written there.
pub fn check_writable(folder: &Path) -> Result<()> {
    check_folder(folder, "choose another folder with -o")
}

/// Keeps other splatcore processes out of a folder while the value lives; `what` is done there.
/// Makes the folder if need be.
///
/// # Errors
/// Another process works there, or no file can be written.
pub fn take_folder(folder: &Path, what: &str) -> Result<FolderLock> {
    let lock = FolderLock::take(folder, what);
    // Says more of a folder that cannot be written.
    check_writable(folder)?;
    let lock = lock?;
    if let Some(warning) = lock.warning() {
        eprintln!("warning: {warning}");
    }
    Ok(lock)
}

/// As [`check_writable`], for the folder of a file that will be written later; `flag` names the
/// file.
pub fn check_file_writable(file: &Path, flag: &str) -> Result<()> {
    if file.is_dir() {
        bail!(
            "{}: is a folder; give the name of a file with {flag}",
            file.display()
        );
    }
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    check_folder(folder, &format!("choose another place with {flag}"))
}

fn check_folder(folder: &Path, elsewhere: &str) -> Result<()> {
    let attempt = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        // Without a name where the system can do that: a kill leaves nothing.
        tempfile::tempfile_in(folder)?.write_all(b"writable?")
    };
    let Err(error) = attempt() else {
        return Ok(());
    };
    // The kind has neither a number nor the temporary name that tempfile adds.
    let kind = error.kind();
    let (why, remedy) = match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            (kind.to_string(), "make room on the disk")
        }
        // The folder itself, or one above it.
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            ("a file is in the way".into(), "move that file away")
        }
        _ => (kind.to_string(), "change its permissions"),
    };
    bail!(
        "{}: no file can be written there ({why}); {elsewhere} or {remedy}",
        folder.display()
    )
}

/// Where the picture of a view goes: the view's name, subfolders kept, with the extension `png`.
/// Parts that lead out of the folder (`..`, a leading `/`) are left out. A name already taken keeps
/// its own extension too.
pub fn png_path(
    folder: &Path,
    view: &str,
    taken: &mut std::collections::HashSet<PathBuf>,
) -> PathBuf {
    let mut inside: PathBuf = Path::new(view)
        .components()
        .filter(|part| matches!(part, std::path::Component::Normal(_)))
        .collect();
    if inside.as_os_str().is_empty() {
        inside = "view".into();
    }
    let mut path = folder.join(inside.with_extension("png"));
    let mut number = 1;
    while !taken.insert(path.clone()) {
        let suffix = if number == 1 {
            String::new()
        } else {
            format!(".{number}")
        };
        path = folder.join(format!("{}{suffix}.png", inside.display()));
        number += 1;
    }
    path
}

/// The outcome of a check, for people.
pub fn verdict(passed: bool) -> &'static str {
    if passed { "ok    " } else { "FAILED" }
}

/// An error and its causes on one line, each said once.
pub fn one_line(error: &anyhow::Error) -> String {
    let mut out = String::new();
    for cause in error.chain() {
        let text = cause
            .to_string()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        if out.contains(&text) {
            continue;
        }
        if !out.is_empty() {
            out.push_str(": ");
        }
        out.push_str(&text);
    }
    out
}

/// 1234567 as 1,234,567.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of things: `1 photo`, `1,200 photos`.
pub fn counted(n: usize, one: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {one}{plural}", thousands(n as u64))
}

/// Seconds as `47 s`, `3 min 20 s`, `2 h 05 min`.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "?".into();
    }
    let s = seconds.max(0.0).round() as u64;
    match s {
        0..60 if seconds < 9.95 => format!("{seconds:.1} s"),
        0..60 => format!("{s} s"),
        60..3600 => format!("{} min {:02} s", s / 60, s % 60),
        _ => format!("{} h {:02} min", s / 3600, s % 3600 / 60),
    }
}

/// PSNR with two decimals; equal images have an infinite one.
pub fn decibels(psnr: f64) -> String {
    if psnr.is_finite() {
        format!("{psnr:.2}")
    } else {
        "∞".into()
    }
}

/// Seconds that were estimated: `20 s`, `6 min`, `2.5 h`.
pub fn about(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "?".into(),
        s if s < 10.0 => format!("{:.0} s", s.max(1.0)),
        s if s < 90.0 => format!("{:.0} s", (s / 5.0).round() * 5.0),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Between two estimated numbers of seconds: `20 to 50 s`, `50 s to 3 min`.
pub fn between([low, high]: [f64; 2]) -> String {
    let [low, high] = [low, high].map(about);
    if low == high {
        return low;
    }
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// A word of a command, quoted for a POSIX shell (on Windows for its own) where needed.
pub fn quote(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./+=:,@%\\".contains(c);
    if !text.is_empty() && text.chars().all(plain) && !text.contains('\\') {
        return text.to_owned();
    }
    if cfg!(windows) {
        format!("\"{text}\"")
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn views_stay_inside_the_folder_and_apart() {
        let mut taken = HashSet::new();
        let mut path = |name| png_path(Path::new("out"), name, &mut taken);
        assert_eq!(path("left/a.jpg"), Path::new("out/left/a.png"));
        assert_eq!(path("../../etc/a.jpg"), Path::new("out/etc/a.png"));
        assert_eq!(path("/abs.png"), Path::new("out/abs.png"));
        assert_eq!(path("left/a.webp"), Path::new("out/left/a.webp.png"));
        assert_eq!(path("left/a.webp"), Path::new("out/left/a.webp.2.png"));
        assert_eq!(path(".."), Path::new("out/view.png"));
    }

    #[test]
    fn a_chain_of_causes_is_one_line_without_repetition() {
        let error = anyhow::anyhow!("disk\nfull")
            .context("x.ply: cannot be written")
            .context("saving");
        assert_eq!(
            one_line(&error),
            "saving: x.ply: cannot be written: disk full"
        );
        let error = anyhow::anyhow!("b").context("a: b");
        assert_eq!(one_line(&error), "a: b");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(
            [999, 1000, 1_234_567].map(thousands),
            ["999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [2.34, 47.0, 200.0, 7500.0].map(duration),
            ["2.3 s", "47 s", "3 min 20 s", "2 h 05 min"]
        );
        assert_eq!(
            [0.2, 7.4, 62.0, 200.0, 9000.0].map(about),
            ["1 s", "7 s", "60 s", "3 min", "2.5 h"]
        );
        assert_eq!(
            [[20.0, 50.0], [50.0, 200.0], [120.0, 125.0], [0.1, 0.2]].map(between),
            ["20 to 50 s", "50 s to 3 min", "2 min", "1 s"]
        );
        assert_eq!(
            [0, 1, 1200].map(|n| counted(n, "held-out photo")),
            [
                "0 held-out photos",
                "1 held-out photo",
                "1,200 held-out photos"
            ]
        );
    }
}
