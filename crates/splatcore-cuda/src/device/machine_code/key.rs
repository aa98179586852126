//! [`Key`]: by what code is found.

use crate::device::{Program, options};
use std::fmt;

/// What decides the machine code of a program, but for the compiler and the card: its text and the
/// compiler's options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(pub u128);

impl Key {
    /// Of a program.
    ///
    /// # Errors
    /// If its text asks for options that it must not ask for.
    pub fn of(program: &Program) -> Result<Self, String> {
        let options = options::of(program)?.join(" ");
        Ok(Self::of_parts(&[&program.source(), &options]))
    }

    /// FNV-1a over texts, twice with different starts.
    pub fn of_parts(parts: &[&str]) -> Self {
        let hash = |start: u64| {
            parts.iter().fold(start, |hash, part| {
                part.bytes().chain([0xff]).fold(hash, |h, byte| {
                    (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
                })
            })
        };
        let halves = [0xcbf2_9ce4_8422_2325, 0x9e37_79b9_7f4a_7c15].map(hash);
        Self((u128::from(halves[0]) << 64) | u128::from(halves[1]))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
