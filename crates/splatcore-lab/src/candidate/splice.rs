//! Replacements of byte ranges: how tunables and transformations change a text.

use super::id::Texts;
use std::ops::Range;

/// Text to put in place of a byte range of a file; an empty range inserts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// The file, by its name.
    pub file: String,
    /// Bytes of the file's text, both ends at character boundaries.
    pub range: Range<usize>,
    /// What takes their place.
    pub text: String,
}

/// `texts` after all splices, which all refer to `texts` as given. None if two of them overlap, two
/// insert at one place, or one lies outside its file.
pub fn splice(texts: &Texts, mut splices: Vec<Splice>) -> Option<Texts> {
    splices.sort_by(|a, b| {
        let key = |s: &Splice| (s.range.start, s.range.end);
        a.file.cmp(&b.file).then(key(a).cmp(&key(b)))
    });
    let clash = splices.windows(2).any(|pair| {
        let (a, b) = (&pair[0].range, &pair[1].range);
        pair[0].file == pair[1].file && (b.start < a.end || a == b)
    });
    if clash {
        return None;
    }
    let mut texts = texts.clone();
    // From the end, so that ranges in front stay where they are.
    for Splice { file, range, text } in splices.into_iter().rev() {
        let target = texts.get_mut(&file)?;
        target.get(range.clone())?;
        target.replace_range(range, &text);
    }
    Some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(range: Range<usize>, text: &str) -> Splice {
        Splice {
            file: "a.cu".into(),
            range,
            text: text.into(),
        }
    }

    #[test]
    fn splices_refer_to_the_text_as_given() {
        let texts = Texts::from([("a.cu".into(), "0123456789".into())]);
        let made = |splices: Vec<Splice>| splice(&texts, splices).map(|t| t["a.cu"].clone());
        let both = vec![at(8..9, ""), at(2..4, "xyz"), at(0..0, "> ")];
        assert_eq!(made(both).unwrap(), "> 01xyz45679");
        assert_eq!(
            made(vec![at(2..4, "x"), at(4..4, "y")]).unwrap(),
            "01xy456789"
        );
        assert_eq!(made(vec![at(2..4, "x"), at(3..5, "y")]), None);
        assert_eq!(made(vec![at(3..3, "x"), at(3..3, "y")]), None);
        assert_eq!(made(vec![at(9..11, "x")]), None);
    }
}
