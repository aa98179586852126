//! The secret that a browser must know.

use constant_time_eq::constant_time_eq;
use std::fmt;

/// 128 random bits. They stand in the fragment of the address, which browsers send to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A new secret.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0u8; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes.iter().map(|b| format!("{b:02x}")).collect()))
    }

    /// Whether somebody knows the secret. Takes as long for a wrong guess as for a right one.
    pub fn matches(&self, guess: &str) -> bool {
        constant_time_eq(self.0.as_bytes(), guess.as_bytes())
    }

    /// The secret as 32 hexadecimal digits, for the address.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Does not show the secret.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_matches() {
        let (a, b) = (Token::new().unwrap(), Token::new().unwrap());
        assert_ne!(a, b);
        assert_eq!(a.reveal().len(), 32);
        assert!(a.matches(a.reveal()));
        for guess in [
            "",
            b.reveal(),
            &a.reveal()[..31],
            &a.reveal().to_uppercase().replace('A', "a"),
        ] {
            assert!(!a.matches(guess) || guess == a.reveal());
        }
        assert!(!a.matches(b.reveal()));
        assert_eq!(format!("{a:?}"), "Token(..)");
    }
}
