//! Accessors: columns of numbers in a buffer view.

use super::buffers::Buffers;
use super::document::Document;
use super::wrong::Wrong;

/// The type of a component.
#[derive(Clone, Copy)]
enum Component {
    I8,
    U8,
    I16,
    U16,
    F32,
}

/// Vectors of numbers, one a Gaussian, whose bytes are there.
pub struct Column<'a> {
    bytes: &'a [u8],
    stride: usize,
    component: Component,
    normalized: bool,
    pub count: usize,
}

impl<'a> Column<'a> {
    /// The column of accessor `index`, for the attribute `name`, which has so many components.
    pub fn new(
        document: &Document,
        buffers: &'a Buffers,
        index: u32,
        name: &str,
        width: usize,
    ) -> Result<Self, Wrong> {
        let place = format!("accessor {index} ({name})");
        let Some(accessor) = document.accessors.get(index as usize) else {
            return Err(Wrong::new(place, "is named but does not exist"));
        };
        if KINDS[width] != accessor.kind {
            return Err(Wrong::new(place, format!("is no {}", KINDS[width])));
        }
        let component = component(accessor.component_type).ok_or_else(|| {
            let problem = format!("has components of type {}", accessor.component_type);
            Wrong::new(place.clone(), problem)
        })?;
        if accessor.sparse.is_some() {
            let remedy = "export it again without sparse accessors";
            return Err(Wrong::with(place, "is sparse, which is not read", remedy));
        }
        let Some(view) = accessor.buffer_view else {
            let problem = "has no data: an extension that is not read may hold it";
            let remedy = "export it without compression, or with SPZ";
            return Err(Wrong::with(place, problem, remedy));
        };
        let (bytes, stride) = buffers.view(view)?;
        let size = width * component.size();
        let stride = stride.unwrap_or(size as u64);
        if stride < size as u64 {
            let problem = format!("has a stride of {stride} bytes for vectors of {size}");
            return Err(Wrong::new(place, problem));
        }
        // The last vector needs no stride behind it.
        let held = accessor.count.saturating_sub(1).checked_mul(stride);
        let needed = held.and_then(|held| held.checked_add(size as u64));
        let start = bytes.get(accessor.byte_offset.try_into().unwrap_or(usize::MAX)..);
        match (start, needed) {
            _ if accessor.count == 0 => Err(Wrong::new(place, "counts nothing")),
            (Some(bytes), Some(needed)) if needed <= bytes.len() as u64 => Ok(Self {
                bytes,
                stride: stride as usize,
                component,
                normalized: accessor.normalized,
                count: accessor.count as usize,
            }),
            _ => {
                let (count, found) = (accessor.count, bytes.len());
                let problem = format!("declares {count} vectors in a view of {found} bytes");
                Err(Wrong::new(place, problem))
            }
        }
    }

    /// Component `c` of vector `i`.
    pub fn at(&self, i: usize, c: usize) -> f32 {
        let size = self.component.size();
        let bytes = &self.bytes[i * self.stride + c * size..];
        // Of normalized components, the largest stands for 1; the smallest of signed ones is below
        // -1 and clamped.
        let (value, largest) = match self.component {
            Component::I8 => (f32::from(bytes[0] as i8), 127.0),
            Component::U8 => (f32::from(bytes[0]), 255.0),
            Component::I16 => (f32::from(i16::from_le_bytes([bytes[0], bytes[1]])), 32767.0),
            Component::U16 => (f32::from(u16::from_le_bytes([bytes[0], bytes[1]])), 65535.0),
            Component::F32 => {
                return f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            }
        };
        match self.normalized {
            true => (value / largest).max(-1.0),
            false => value,
        }
    }

    /// Vector `i`, which has at least N components.
    pub fn row<const N: usize>(&self, i: usize) -> [f32; N] {
        std::array::from_fn(|c| self.at(i, c))
    }
}

/// The types of accessors by their number of components.
const KINDS: [&str; 5] = ["", "SCALAR", "VEC2", "VEC3", "VEC4"];

impl Component {
    fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::F32 => 4,
        }
    }
}

fn component(code: u32) -> Option<Component> {
    Some(match code {
        5120 => Component::I8,
        5121 => Component::U8,
        5122 => Component::I16,
        5123 => Component::U16,
        5126 => Component::F32,
        _ => return None,
    })
}
