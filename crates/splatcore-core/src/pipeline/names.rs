//! Names of methods, as the literature and the command line have them.

/// Printed and read by `ALL` and `name()`.
macro_rules! read_and_shown_by_name {
    ($kind:ident, $what:literal) => {
        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
        impl std::str::FromStr for $kind {
            type Err = String;
            fn from_str(s: &str) -> Result<Self, String> {
                $kind::ALL
                    .iter()
                    .copied()
                    .find(|v| v.name() == s)
                    .ok_or_else(|| {
                        let known: Vec<_> = $kind::ALL.iter().map(|v| v.name()).collect();
                        format!(
                            "unknown {} method '{s}'; known: {}",
                            $what,
                            known.join(", ")
                        )
                    })
            }
        }
    };
}
macro_rules! names {
    ($kind:ident, $what:literal, $($variant:ident = $name:literal),+) => {
        impl $kind {
            /// Every variant.
            pub const ALL: &'static [$kind] = &[$($kind::$variant),+];
            /// The name in the literature and on the command line.
            pub fn name(self) -> &'static str {
                match self { $($kind::$variant => $name),+ }
            }
        }
        read_and_shown_by_name!($kind, $what);
    };
}

/// Lets serde keep a type as the text that it prints and parses: `serde(into = "String",
/// try_from = "String")`.
#[macro_export]
macro_rules! kept_as_text {
    ($type:ty, $error:ty) => {
        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.to_string()
            }
        }

        impl TryFrom<String> for $type {
            type Error = $error;
            fn try_from(text: String) -> Result<Self, $error> {
                text.parse()
            }
        }
    };
}
