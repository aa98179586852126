//! The text at the start of a PLY file: which elements follow, with which properties.

use crate::words::quoted;
use crate::{DataError, Place};
use std::path::Path;

/// A header longer than this is not one: INRIA's has 1.5 kB.
pub const LONGEST: usize = 1 << 20;

const BROKEN: &str = "the header is broken: export the file again";

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Ascii,
    Little,
    Big,
}

impl Encoding {
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Ascii => "ascii",
            Encoding::Little => "binary little-endian",
            Encoding::Big => "binary big-endian",
        }
    }
}

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Scalar {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "char" | "int8" => Scalar::I8,
            "uchar" | "uint8" => Scalar::U8,
            "short" | "int16" => Scalar::I16,
            "ushort" | "uint16" => Scalar::U16,
            "int" | "int32" => Scalar::I32,
            "uint" | "uint32" => Scalar::U32,
            "float" | "float32" => Scalar::F32,
            "double" | "float64" => Scalar::F64,
            _ => return None,
        })
    }

    /// The type's name in a header.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::I8 => "char",
            Scalar::U8 => "uchar",
            Scalar::I16 => "short",
            Scalar::U16 => "ushort",
            Scalar::I32 => "int",
            Scalar::U32 => "uint",
            Scalar::F32 => "float",
            Scalar::F64 => "double",
        }
    }

    /// Bytes in a binary file.
    pub fn size(self) -> usize {
        match self {
            Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::F64 => 8,
        }
    }

    fn is_integer(self) -> bool {
        !matches!(self, Scalar::F32 | Scalar::F64)
    }
}

/// What a property holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One value.
    Scalar(Scalar),
    /// A count, then as many items.
    List { count: Scalar, item: Scalar },
}

/// One column of an element.
#[derive(Clone, Debug)]
pub struct Property {
    pub name: String,
    pub kind: Kind,
}

/// One table: `count` rows of the properties in order.
#[derive(Clone, Debug)]
pub struct Element {
    pub name: String,
    pub count: u64,
    pub properties: Vec<Property>,
}

impl Element {
    /// Bytes of a row in a binary file, if it has no lists.
    pub fn stride(&self) -> Option<usize> {
        self.properties.iter().try_fold(0, |sum, p| match p.kind {
            Kind::Scalar(scalar) => Some(sum + scalar.size()),
            Kind::List { .. } => None,
        })
    }

    /// Bytes that a row has at least in a binary file.
    pub fn least_stride(&self) -> usize {
        self.properties
            .iter()
            .map(|p| match p.kind {
                Kind::Scalar(scalar) => scalar.size(),
                Kind::List { count, .. } => count.size(),
            })
            .sum()
    }
}

/// The header and where it ends.
#[derive(Clone, Debug)]
pub struct Header {
    pub encoding: Encoding,
    pub elements: Vec<Element>,
    /// A comment says that the scene was trained with Mip-Splatting's 2D filter.
    pub antialiased: bool,
    /// Where the data starts.
    pub end: usize,
    /// Lines of the header, so that errors in ascii data can give the line in the file.
    pub lines: usize,
}

impl Header {
    /// Whether rows up to those of the element `last` hold lists: they have any length then, and
    /// must be read to find the next.
    pub fn has_lists(&self, last: usize) -> bool {
        let mut elements = self.elements[..=last].iter();
        elements.any(|element| element.stride().is_none())
    }

    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, DataError> {
        let mut encoding = None;
        let mut elements: Vec<Element> = Vec::new();
        let mut antialiased = false;
        let mut end = 0;
        let mut lines = 0;
        loop {
            let at =
                |problem: String| DataError::new(path, problem, BROKEN).at(Place::Line(lines + 1));
            let rest = &bytes[end..bytes.len().min(LONGEST)];
            let Some(length) = rest.iter().position(|&b| b == b'\n') else {
                return Err(at("the PLY header has no end_header line".into()));
            };
            // Comments may be in any encoding; keywords are ASCII.
            let line = String::from_utf8_lossy(&rest[..length]);
            let mut words = line.split_ascii_whitespace();
            let keyword = words.next().unwrap_or("");
            if lines == 0 && keyword != "ply" {
                return Err(at("a PLY file starts with a line \"ply\"".into()));
            }
            match keyword {
                "ply" if lines == 0 => {}
                "comment" => antialiased = says_antialiased(words).unwrap_or(antialiased),
                "" | "obj_info" => {}
                "format" => {
                    encoding = Some(match words.next() {
                        Some("ascii") => Encoding::Ascii,
                        Some("binary_little_endian") => Encoding::Little,
                        Some("binary_big_endian") => Encoding::Big,
                        other => {
                            return Err(at(format!(
                                "unknown PLY format {}",
                                quoted(other.unwrap_or(""))
                            )));
                        }
                    });
                }
                "element" => elements.push(element(words).map_err(at)?),
                "property" => match elements.last_mut() {
                    Some(element) => {
                        let property = property(words).map_err(at)?;
                        element.properties.push(property);
                    }
                    None => return Err(at("a property before any element".into())),
                },
                "end_header" => {
                    let encoding =
                        encoding.ok_or_else(|| at("the header has no format line".into()))?;
                    return Ok(Self {
                        encoding,
                        elements,
                        antialiased,
                        end: end + length + 1,
                        lines: lines + 1,
                    });
                }
                other => return Err(at(format!("unknown header keyword {}", quoted(other)))),
            }
            end += length + 1;
            lines += 1;
        }
    }
}

/// What a comment says of the 2D filter, if it is about that: `SplatRenderMode: mip` as Brush
/// writes it, or `default` or another mode; `antialiased 1` as Postshot does, or 0. Case does not
/// matter, and of several comments the last counts.
fn says_antialiased<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<bool> {
    let is = |word: &str, name: &str| word.eq_ignore_ascii_case(name);
    let (name, value) = (words.next()?, words.next()?);
    match value {
        _ if is(name, "SplatRenderMode:") => Some(is(value, "mip")),
        "0" | "1" if is(name, "antialiased") => Some(value == "1"),
        _ => None,
    }
}

fn element<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Element, String> {
    let (Some(name), Some(count)) = (words.next(), words.next()) else {
        return Err("an element needs a name and a count".into());
    };
    let count = count
        .parse()
        .map_err(|_| format!("element {}: {} is no count", quoted(name), quoted(count)))?;
    Ok(Element {
        name: name.into(),
        count,
        properties: Vec::new(),
    })
}

fn property<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Property, String> {
    let mut next = || {
        words
            .next()
            .ok_or("a property needs a type and a name".to_string())
    };
    let scalar =
        |name: &str| Scalar::named(name).ok_or(format!("unknown property type {}", quoted(name)));
    let first = next()?;
    let kind = match first {
        "list" => {
            let count = scalar(next()?)?;
            if !count.is_integer() {
                return Err("the count of a list must have an integer type".into());
            }
            Kind::List {
                count,
                item: scalar(next()?)?,
            }
        }
        name => Kind::Scalar(scalar(name)?),
    };
    let name = next()?.into();
    Ok(Property { name, kind })
}
