//! Of which type values are, and where they lie.

use std::fmt;

/// The types of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    F32,
    F64,
    I32,
    I64,
    Bool,
}

impl Element {
    pub fn size(self) -> usize {
        match self {
            Self::F32 | Self::I32 => 4,
            Self::F64 | Self::I64 => 8,
            Self::Bool => 1,
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::F32, Self::F64, Self::I32, Self::I64, Self::Bool]
            .into_iter()
            .find(|element| element.to_string() == name)
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::Bool => "bool",
        })
    }
}

/// Rust's types of values. `bool` is read as `u8`, since any byte may lie there.
pub trait Value: Copy + 'static {
    const ELEMENT: Element;
}

impl Value for f32 {
    const ELEMENT: Element = Element::F32;
}
impl Value for f64 {
    const ELEMENT: Element = Element::F64;
}
impl Value for i32 {
    const ELEMENT: Element = Element::I32;
}
impl Value for i64 {
    const ELEMENT: Element = Element::I64;
}
impl Value for u8 {
    const ELEMENT: Element = Element::Bool;
}

/// Where values lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    Cpu,
    Cuda(u32),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}
