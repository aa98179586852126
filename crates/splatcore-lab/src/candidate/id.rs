//! What a candidate consists of, and its identity.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;

/// Texts of kernel files by file name, for example `blend_scalar.cu`.
pub type Texts = BTreeMap<String, String>;

/// SHA-256 of the names and texts that a candidate changes, in hexadecimal. The baseline changes
/// nothing: its identity is [`Id::baseline`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Id(String);

impl Id {
    /// The identity of these texts.
    pub fn of(changed: &Texts) -> Self {
        let mut hasher = Sha256::new();
        for (name, text) in changed {
            // Lengths, so that no text can end where another begins.
            hasher.update((name.len() as u64).to_le_bytes());
            hasher.update(name);
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        }
        Self(hex(&hasher.finalize()))
    }

    /// The identity of the baseline.
    pub fn baseline() -> Self {
        Self::of(&Texts::new())
    }

    /// Ten digits, enough to tell candidates of one experiment apart.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }

    /// All 64 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_decide() {
        let of = |pairs: &[(&str, &str)]| {
            Id::of(&pairs.iter().map(|&(n, t)| (n.into(), t.into())).collect())
        };
        assert_eq!(of(&[("a", "b"), ("c", "d")]), of(&[("c", "d"), ("a", "b")]));
        assert_ne!(of(&[("a", "bc")]), of(&[("ab", "c")]));
        assert_ne!(of(&[("a", "")]), Id::baseline());
        // SHA-256 of nothing.
        assert!(Id::baseline().as_str().starts_with("e3b0c44298fc1c14"));
    }
}
