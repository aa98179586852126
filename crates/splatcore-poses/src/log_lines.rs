//! What COLMAP's lines mean. Version 3.8 prints bare lines on stdout; from 3.9 on they go to stderr
//! with a prefix of glog, `I20261124 12:37:28.464716 1397 feature_extraction.cc:270] `.

/// Something that a line tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// So many of so many units of the step are done.
    Done(u64, u64),
    /// Number of photos that the model holds.
    Registered(u64),
    /// Id of the camera that the last photo got.
    Camera(u32),
    /// Features that the last photo has.
    Features(u64),
    /// The stage that the global mapper is in, of [`STAGES`] from 0, and what it does.
    Stage(usize, &'static str),
    /// What the incremental mapper does now.
    Doing(&'static str),
    /// Something went wrong: what.
    Error(String),
}

/// Stages of the global mapper, by words of their lines.
const GLOBAL: [(&str, &str); STAGES] = [
    ("Calibrating view graph", "focal lengths"),
    ("rotation averaging ===", "rotations"),
    ("track establishment ===", "tracks"),
    ("global positioning ===", "positions"),
    ("bundle adjustment ===", "bundle adjustment"),
    ("retriangulation and refinement ===", "refinement"),
];
/// How many stages the global mapper has.
pub const STAGES: usize = 6;

/// What the incremental mapper does beside registering photos, by how its lines begin.
const INCREMENTAL: [(&str, &str); 6] = [
    ("Loading database", "reading matches"),
    (
        "Finding good initial image pair",
        "looking for a pair to begin with",
    ),
    ("Global bundle adjustment", "bundle adjustment"),
    ("Retriangulation", "bundle adjustment"),
    ("Extracting colors", "colours"),
    ("Exporting", "writing"),
];

/// What a line tells, if it tells something.
pub fn event(line: &str) -> Option<Event> {
    let (severity, text) = split(line);
    let text = text.trim();
    if severity == Some('E') || severity == Some('F') {
        return Some(Event::Error(text.to_owned()));
    }
    for start in ["ERROR: ", "ERROR ", "Error: ", "Failed to "] {
        if text.starts_with(start) {
            return Some(Event::Error(text.to_owned()));
        }
    }
    // The last line of a Python traceback.
    if let Some((name, what)) = text.split_once(": ")
        && name.ends_with("Error")
        && !name.contains(char::is_whitespace)
    {
        return Some(Event::Error(what.to_owned()));
    }
    // Lines of glog name the unit that begins, bare ones and those of files the unit that is done.
    let begins = u64::from(severity.is_some());
    for (start, ahead) in [
        ("Processed file [", 0),
        ("Matching image [", begins),
        ("Processing image [", begins),
    ] {
        if let Some(rest) = text.strip_prefix(start) {
            let (number, total) = fraction(rest.split_once(']')?.0)?;
            return Some(Event::Done(number.saturating_sub(ahead), total));
        }
    }
    for start in ["Matching block [", "Processing block ["] {
        if let Some(rest) = text.strip_prefix(start) {
            // Rows and columns of blocks of a square.
            let (row, column) = rest.split_once(']')?.0.split_once(',')?;
            let ((row, rows), (column, columns)) = (fraction(row)?, fraction(column)?);
            let done = row
                .checked_sub(1)?
                .checked_mul(columns)?
                .checked_add(column)?
                .saturating_sub(begins);
            return Some(Event::Done(done, rows.checked_mul(columns)?));
        }
    }
    if let Some(rest) = text.strip_prefix("Registering image #") {
        let count = rest.split_once('(')?.1.split_once(')')?.0;
        return match count.strip_prefix("num_reg_frames=") {
            Some(before) => Some(Event::Registered(
                before.parse::<u64>().ok()?.checked_add(1)?,
            )),
            None => count.parse().ok().map(Event::Registered),
        };
    }
    if let Some(rest) = text.strip_prefix("Camera:") {
        let id = rest.trim_start().strip_prefix('#')?;
        return id.split(' ').next()?.parse().ok().map(Event::Camera);
    }
    if let Some(count) = text.strip_prefix("Features:") {
        return count.trim().parse().ok().map(Event::Features);
    }
    for start in ["Initializing with image", "Registering initial image pair"] {
        if text.starts_with(start) {
            return Some(Event::Registered(2));
        }
    }
    if let Some((_, what)) = INCREMENTAL
        .iter()
        .find(|(start, _)| text.starts_with(start))
    {
        return Some(Event::Doing(what));
    }
    let stage = GLOBAL.iter().position(|(words, _)| text.contains(words))?;
    Some(Event::Stage(stage, GLOBAL[stage].1))
}

/// glog's severity, and the text behind its prefix.
fn split(line: &str) -> (Option<char>, &str) {
    let mut chars = line.chars();
    let severity = chars.next().filter(|c| "IWEF".contains(*c));
    let dated = chars.as_str().starts_with(|c: char| c.is_ascii_digit());
    match (severity, line.split_once("] ")) {
        (Some(severity), Some((prefix, text))) if dated && prefix.contains(':') => {
            (Some(severity), text)
        }
        _ => (None, line),
    }
}

/// `3/11`.
fn fraction(text: &str) -> Option<(u64, u64)> {
    let (done, total) = text.trim().split_once('/')?;
    Some((done.trim().parse().ok()?, total.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_3_8() {
        for (line, wanted) in [
            ("Processed file [3/11]", Event::Done(3, 11)),
            ("  Camera:          #2 - SIMPLE_RADIAL", Event::Camera(2)),
            ("Matching block [2/3, 1/3] in 17.432s", Event::Done(4, 9)),
            ("Matching image [4/40] in 0.120s", Event::Done(4, 40)),
            ("Registering image #5 (3)", Event::Registered(3)),
            (
                "Initializing with image pair #83 and #51",
                Event::Registered(2),
            ),
            ("  Features:        4096", Event::Features(4096)),
            (
                "Finding good initial image pair",
                Event::Doing("looking for a pair to begin with"),
            ),
            (
                "Global bundle adjustment",
                Event::Doing("bundle adjustment"),
            ),
            (
                "ERROR: Failed to read image file format.",
                Event::Error("ERROR: Failed to read image file format.".into()),
            ),
        ] {
            assert_eq!(event(line), Some(wanted), "{line}");
        }
        for line in ["", "Elapsed time: 0.098 [minutes]", "=> Image sees 1 / 2"] {
            assert_eq!(event(line), None, "{line}");
        }
    }

    #[test]
    fn lines_of_4() {
        let prefixed =
            |text: &str| format!("I20261124 12:37:28.464716 139714892920512 a.cc:498] {text}");
        for (text, wanted) in [
            ("Processed file [11/11]", Event::Done(11, 11)),
            ("  Camera:          #1 - OPENCV", Event::Camera(1)),
            ("Processing block [2/3, 1/3]", Event::Done(3, 9)),
            ("Processing image [7/9]", Event::Done(6, 9)),
            (
                "Registering initial image pair #5 and #1",
                Event::Registered(2),
            ),
            (
                "Registering image #10 (num_reg_frames=9)",
                Event::Registered(10),
            ),
            (
                "=== Running global positioning ===",
                Event::Stage(3, "positions"),
            ),
        ] {
            assert_eq!(event(&prefixed(text)), Some(wanted), "{text}");
        }
        let error = "E20261124 12:37:28.464716 1397 sift.cc:1] no features";
        assert_eq!(event(error), Some(Event::Error("no features".into())));
        let python = "ValueError: [base.cc:125] Check failed: a == b";
        assert_eq!(
            event(python),
            Some(Event::Error("[base.cc:125] Check failed: a == b".into()))
        );
        assert_eq!(
            event("I20261124 12:37:28.46 1 database_cache.cc:92]  1 in 0.000s"),
            None
        );
    }

    proptest::proptest! {
        #[test]
        fn no_line_panics(line in ".{0,80}") {
            event(&line);
            event(&format!("Matching block [{line}"));
            event(&format!("Processed file [{line}]"));
            event(&format!("Registering image #{line}"));
        }

        #[test]
        fn no_numbers_overflow(a: u64, b: u64, c: u64, d: u64) {
            event(&format!("Matching block [{a}/{b}, {c}/{d}]"));
            event(&format!("Registering image #1 (num_reg_frames={a})"));
        }
    }
}
