//! Photos without a pose, as ranges in order, with what to photograph.

/// So many ranges get a line of their own.
const LISTED: usize = 5;

/// A line for each run of photos without a pose; `registered` says which have one.
pub fn advice(photos: &[String], registered: &[bool]) -> Vec<String> {
    let runs = runs(registered);
    if runs.len() == 1 && runs[0] == (0, photos.len()) {
        return Vec::new();
    }
    let mut lines: Vec<String> = runs
        .iter()
        .take(LISTED)
        .map(|&(start, end)| line(photos, start, end))
        .collect();
    if runs.len() > LISTED {
        let rest: Vec<String> = runs[LISTED..]
            .iter()
            .take(2 * LISTED)
            .map(|&(start, end)| span(photos, start, end))
            .collect();
        let more = if runs.len() > 3 * LISTED { ", ..." } else { "" };
        lines.push(format!("not connected either: {}{more}", rest.join(", ")));
    }
    lines
}

fn line(photos: &[String], start: usize, end: usize) -> String {
    let verb = if end - start > 1 { "are" } else { "is" };
    let before = start.checked_sub(1).map(|i| &photos[i]);
    let first = &photos[start];
    let what = match (before, photos.get(end)) {
        (Some(before), Some(after)) if end - start == 1 => {
            format!("between {before} and {after}")
        }
        (Some(before), Some(after)) => {
            let last = &photos[end - 1];
            format!("between {before} and {first}, and between {last} and {after}")
        }
        (Some(before), None) => format!("between {before} and {first}"),
        (None, Some(after)) => format!("between {} and {after}", photos[end - 1]),
        (None, None) => "around the object".to_owned(),
    };
    format!(
        "{} {verb} not connected: take photos {what}, each overlapping the last by two thirds",
        span(photos, start, end)
    )
}

fn span(photos: &[String], start: usize, end: usize) -> String {
    match end - start {
        1 => photos[start].clone(),
        2 => format!("{} and {}", photos[start], photos[start + 1]),
        _ => format!("{} to {}", photos[start], photos[end - 1]),
    }
}

/// Runs of `false`: start and end.
fn runs(registered: &[bool]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (i, _) in registered.iter().enumerate().filter(|(_, r)| !**r) {
        match runs.last_mut() {
            Some((_, end)) if *end == i => *end += 1,
            _ => runs.push((i, i + 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(missing: &[usize]) -> Vec<String> {
        let photos: Vec<String> = (0..50).map(|i| format!("{i:04}.jpg")).collect();
        let registered: Vec<bool> = (0..50).map(|i| !missing.contains(&i)).collect();
        advice(&photos, &registered)
    }

    #[test]
    fn ranges_say_where_to_stand() {
        let gap: Vec<usize> = (31..=44).collect();
        assert_eq!(
            of(&gap),
            [
                "0031.jpg to 0044.jpg are not connected: take photos between 0030.jpg and \
                 0031.jpg, and between 0044.jpg and 0045.jpg, each overlapping the last by two \
                 thirds"
            ]
        );
        let ends = of(&[0, 1, 20, 49]);
        let starts = [
            "0000.jpg and 0001.jpg are not connected: take photos between 0001.jpg and 0002.jpg,",
            "0020.jpg is not connected: take photos between 0019.jpg and 0021.jpg,",
            "0049.jpg is not connected: take photos between 0048.jpg and 0049.jpg,",
        ];
        assert_eq!(ends.len(), 3);
        for (line, start) in ends.iter().zip(starts) {
            assert!(line.starts_with(start), "{line}");
        }
        let many: Vec<usize> = (0..50).step_by(2).collect();
        let lines = of(&many);
        assert_eq!(lines.len(), 6);
        assert!(
            lines[5].starts_with("not connected either: 0010.jpg, 0012.jpg"),
            "{}",
            lines[5]
        );
        assert!(lines[5].ends_with(", ..."));
        assert!(of(&[]).is_empty());
        assert!(of(&(0..50).collect::<Vec<_>>()).is_empty());
    }
}
