//! Bundler's list of photos: a line each, the name first; Bundler's own lists go on with a zero and
//! the focal length from EXIF.

use crate::{DataError, Place};
use std::path::Path;

/// The names of a list, in its order. `path` is for messages only.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Vec<String>, DataError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let before = &bytes[..e.valid_up_to()];
        let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
        DataError::new(path, "not UTF-8 text", "write the list again as UTF-8")
            .at(Place::Line(line))
    })?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(|line| name(line).to_owned()).collect())
}

/// The name of a line; it may hold spaces.
fn name(line: &str) -> &str {
    let ends_with_number = |text: &str| -> Option<usize> {
        let (rest, word) = text.rsplit_once(char::is_whitespace)?;
        word.parse::<f64>().ok().map(|_| rest.trim_end().len())
    };
    let before_focal = ends_with_number(line).map(|end| &line[..end]);
    match before_focal.and_then(|rest| rest.rsplit_once(char::is_whitespace)) {
        Some((name, "0")) => name.trim_end(),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_before_what_bundler_adds() {
        let text = "./a.jpg\r\n\nb c.jpg 0 1500.25\nd 2 3.jpg\ne 5 7\n";
        let names = parse(text.as_bytes(), Path::new("list.txt")).unwrap();
        assert_eq!(names, ["./a.jpg", "b c.jpg", "d 2 3.jpg", "e 5 7"]);
        let error = parse(b"a\nb\xff\n", Path::new("list.txt")).unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
