//! Three-way merge by lines: the changes of two texts against a third, if they do not overlap.

use super::id::Texts;
use std::ops::Range;

/// Lines of the baseline that a text replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hunk<'a> {
    /// Lines of the baseline; empty for an insertion in front of its start.
    old: Range<usize>,
    new: Vec<&'a str>,
}

/// Why two candidates cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: both change line {line}")]
pub struct Overlap {
    /// The file.
    pub file: String,
    /// The line of the baseline, from 1.
    pub line: usize,
}

/// `baseline` with the changes of both `a` and `b`. A file that one of them lacks is unchanged
/// there; a file that the baseline lacks counts as empty.
///
/// # Errors
/// If both change the same lines, insert at the same place, or one inserts where the other
/// replaces, and not to the same text.
pub fn merge(baseline: &Texts, a: &Texts, b: &Texts) -> Result<Texts, Overlap> {
    let mut merged = baseline.clone();
    for file in a.keys().chain(b.keys()) {
        let old = baseline.get(file).map_or("", String::as_str);
        let of = |texts: &Texts| texts.get(file).map_or(old, String::as_str).to_owned();
        let text = merge_text(old, &of(a), &of(b)).map_err(|line| Overlap {
            file: file.clone(),
            line: line + 1,
        })?;
        merged.insert(file.clone(), text);
    }
    Ok(merged)
}

fn merge_text(old: &str, a: &str, b: &str) -> Result<String, usize> {
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let mut hunks = hunks(&lines, a);
    for hunk in self::hunks(&lines, b) {
        if !hunks.contains(&hunk) {
            hunks.push(hunk);
        }
    }
    hunks.sort_by_key(|hunk| (hunk.old.start, hunk.old.end));
    for pair in hunks.windows(2) {
        let (first, second) = (&pair[0].old, &pair[1].old);
        let touches = second.start == first.end && (first.is_empty() || second.is_empty());
        // An insertion in front of a replaced line sorts first: their order is unclear too.
        if second.start < first.end || first.start == second.start || touches {
            return Err(second.start);
        }
    }
    let mut text = String::with_capacity(old.len());
    let mut at = 0;
    for hunk in hunks {
        text.extend(lines[at..hunk.old.start].iter().copied());
        text.extend(hunk.new);
        at = hunk.old.end;
    }
    text.extend(lines[at..].iter().copied());
    Ok(text)
}

/// What differs between the lines of a baseline and a text, by a longest common subsequence.
fn hunks<'a>(old: &[&str], text: &'a str) -> Vec<Hunk<'a>> {
    let new: Vec<&str> = text.split_inclusive('\n').collect();
    let front = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let back = old[front..].iter().rev().zip(new[front..].iter().rev());
    let back = back.take_while(|(a, b)| a == b).count();
    let (a, b) = (&old[front..old.len() - back], &new[front..new.len() - back]);
    // length[i][j]: the longest common subsequence of a[i..] and b[j..].
    let mut length = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            length[i][j] = match a[i] == b[j] {
                true => length[i + 1][j + 1] + 1,
                false => length[i + 1][j].max(length[i][j + 1]),
            };
        }
    }
    let mut hunks: Vec<Hunk<'a>> = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let (start, from) = (i, j);
        while i < a.len() || j < b.len() {
            if i < a.len() && j < b.len() && a[i] == b[j] {
                break;
            }
            // Old lines first, so that a replaced line is one hunk.
            let drop = i < a.len() && (j == b.len() || length[i + 1][j] >= length[i][j + 1]);
            (i, j) = if drop { (i + 1, j) } else { (i, j + 1) };
        }
        hunks.push(Hunk {
            old: front + start..front + i,
            new: b[from..j].to_vec(),
        });
    }
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    const OLD: &str = "a\nb\nc\nd\ne\n";

    fn merged(a: &str, b: &str) -> Result<String, usize> {
        merge_text(OLD, a, b)
    }

    #[test]
    fn changes_of_different_lines_are_united() {
        assert_eq!(
            merged("A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n").unwrap(),
            "A\nb\nc\nd\nE\n"
        );
        // Lines side by side: two tunables, say.
        assert_eq!(
            merged("a\nB\nc\nd\ne\n", "a\nb\nC\nd\ne\n").unwrap(),
            "a\nB\nC\nd\ne\n"
        );
        assert_eq!(
            merged("a\nc\nd\ne\n", "a\nb\nc\nx\nd\ne\nf").unwrap(),
            "a\nc\nx\nd\ne\nf"
        );
        // The same change twice is one change.
        assert_eq!(
            merged("a\nB\nc\nd\ne\n", "a\nB\nc\nd\nE\n").unwrap(),
            "a\nB\nc\nd\nE\n"
        );
    }

    #[test]
    fn overlaps_are_refused() {
        assert_eq!(merged("a\nX\nc\nd\ne\n", "a\nY\nc\nd\ne\n"), Err(1));
        assert_eq!(
            merged("a\nX\nd\ne\n", "a\nb\nc\nY\ne\n").unwrap(),
            "a\nX\nY\ne\n"
        );
        assert_eq!(merged("a\nX\nd\ne\n", "a\nb\nY\nd\ne\n"), Err(2));
        assert_eq!(merged("a\nx\nb\nc\nd\ne\n", "a\ny\nb\nc\nd\ne\n"), Err(1));
        assert_eq!(merged("a\nx\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\n"), Err(1));
        let texts = |text: &str| Texts::from([("a.cu".into(), text.into())]);
        let error = merge(&texts(OLD), &texts("X\n"), &texts("Y\n")).unwrap_err();
        assert_eq!(error.to_string(), "a.cu: both change line 1");
    }

    fn change(rng: &mut Rng, lines: &[String], from: usize, to: usize) -> Vec<String> {
        let mut changed = lines.to_vec();
        for at in (from..to).rev() {
            match rng.below(4) {
                0 => changed[at] = format!("x{}\n", rng.below(3)),
                1 => drop(changed.remove(at)),
                2 => changed.insert(at, "new\n".into()),
                _ => {}
            }
        }
        changed
    }

    #[test]
    fn a_merge_with_the_baseline_or_itself_changes_nothing() {
        for seed in 0..300 {
            let mut rng = Rng::new(seed, 0);
            let old: Vec<String> = (0..12).map(|_| format!("{}\n", rng.below(5))).collect();
            let a = change(&mut rng, &old, 0, 5).concat();
            let b = change(&mut rng, &old, 7, 12).concat();
            let old = old.concat();
            assert_eq!(merge_text(&old, &a, &old).unwrap(), a, "{old}");
            assert_eq!(merge_text(&old, &old, &b).unwrap(), b, "{old}");
            assert_eq!(merge_text(&old, &a, &a).unwrap(), a, "{old}");
            let one = merge_text(&old, &a, &b);
            assert_eq!(one, merge_text(&old, &b, &a), "{old}");
        }
    }
}
