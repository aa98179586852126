//! A camera with a name, and the size of its image.

use splatcore_core::{Camera, Photo};
use std::str::FromStr;

/// Larger images are refused: a typing error should not ask for terabytes.
pub const MAX_SIDE: u32 = 16_384;

/// A camera and the name of its picture.
pub struct NamedCamera {
    /// As the dataset or the file spells it.
    pub name: String,
    /// At the size to render.
    pub camera: Camera,
    /// What was photographed from there, if a dataset knows; of another size when `--size` was
    /// given.
    pub photo: Option<Photo>,
    /// Its photo was held out of training.
    pub held_out: bool,
}

impl NamedCamera {
    /// A camera without a photo.
    pub fn new(name: String, camera: Camera) -> Self {
        Self {
            name,
            camera,
            photo: None,
            held_out: false,
        }
    }
}

/// The name that was meant: `typed` itself, the only one that begins so, or, of photos in folders,
/// the only one whose file begins so.
pub fn meant<'a>(names: impl Iterator<Item = &'a str> + Clone, typed: &str) -> Option<&'a str> {
    let only = |fits: &dyn Fn(&str) -> bool| {
        let mut all = names.clone().filter(|name| fits(name));
        all.next().filter(|_| all.next().is_none())
    };
    let file = |name: &str| {
        name.rsplit('/')
            .next()
            .is_some_and(|file| file.starts_with(typed))
    };
    let exact = names.clone().find(|name| *name == typed);
    exact
        .or_else(|| only(&|name| name.starts_with(typed)))
        .or_else(|| only(&file))
}

/// An image size, `WxH`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size(pub u32, pub u32);

impl FromStr for Size {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        let sides = s
            .split_once(['x', 'X'])
            .and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
        match sides {
            Some((w, h)) if (1..=MAX_SIDE).contains(&w) && (1..=MAX_SIDE).contains(&h) => {
                Ok(Self(w, h))
            }
            _ => Err(format!(
                "'{s}' is not a size; write WxH in pixels, 1 to {MAX_SIDE} each, for example \
                 1280x720"
            )),
        }
    }
}
