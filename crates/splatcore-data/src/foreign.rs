//! Files that are no data at all, but what was left in its place: told by their first bytes.

/// What a file is that should have been a scene or a photo, and what to do about it; nothing if it
/// is none of the usual accidents.
pub(crate) fn accident(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let text = bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(bytes)
        .trim_ascii_start();
    let starts = |with: &[u8]| {
        let start = text.get(..with.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    if starts(b"version https://git-lfs") {
        return Some((
            "is a Git LFS pointer, not the file that it stands for",
            "fetch that with `git lfs pull` in its repository",
        ));
    }
    if starts(b"<!doctype html") || starts(b"<html") {
        return Some((
            "is a web page, perhaps of a download that failed",
            "download the file again",
        ));
    }
    None
}
