//! meta.json, checked, with the differences of versions 1 and 2 taken out: bytes become values by
//! tables.

use serde::Deserialize;
use splatcore_core::sh;
use std::path::{Component, Path};

use crate::scene::opacity::logit_of_byte;
use crate::words::{one_line, quoted};

/// Real ones have 1 to 16 kB.
pub const LONGEST: u64 = 1 << 20;
/// Entries of a row of the palette's image.
pub const PALETTE_ROW: usize = 64;

/// Positions in [`Meta::files`].
pub const MEANS_LOW: usize = 0;
pub const MEANS_HIGH: usize = 1;
pub const QUATS: usize = 2;
pub const SCALES: usize = 3;
pub const SH0: usize = 4;
pub const CENTROIDS: usize = 5;
pub const LABELS: usize = 6;

/// The value of each byte.
pub type Table = [f32; 256];

/// What meta.json says.
pub struct Meta {
    /// 1 or 2.
    pub version: u8,
    pub count: usize,
    pub antialiased: bool,
    /// Bounds of sign(x) ln(1 + |x|) of the coordinates.
    pub means: [Range; 3],
    /// Log scales.
    pub scales: [Table; 3],
    /// f_dc of red, green, blue, and the opacity's logit.
    pub sh0: [Table; 4],
    pub higher: Option<Higher>,
    /// Names of the images, of which the last two are there if `higher` is.
    pub files: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub min: f64,
    pub max: f64,
}

/// The palette of spherical harmonics above degree 0.
pub struct Higher {
    pub table: Table,
    /// Entries; version 1 has as many as its image holds.
    pub palette: Option<usize>,
    /// Version 1 tells it by the width of its image.
    degree: Option<u8>,
}

impl Higher {
    /// The degree, from the width of the palette's image in pixels.
    pub fn degree(&self, width: usize) -> Result<u8, String> {
        let row = |degree: u8| PALETTE_ROW * (sh::coefficients(degree) - 1);
        match (1..=3).find(|&degree| row(degree) == width) {
            Some(found) if self.degree.is_none_or(|declared| declared == found) => Ok(found),
            _ => {
                let wanted = match self.degree {
                    Some(degree) => row(degree).to_string(),
                    None => "192, 512 or 960".into(),
                };
                Err(format!(
                    "the palette is {width} pixels wide in place of {wanted}"
                ))
            }
        }
    }
}

#[derive(Deserialize)]
struct RawMeta {
    version: Option<u64>,
    count: Option<u64>,
    #[serde(default)]
    antialias: bool,
    means: RawPart,
    scales: RawPart,
    quats: RawPart,
    sh0: RawPart,
    #[serde(rename = "shN")]
    higher: Option<RawPart>,
}

#[derive(Deserialize)]
struct RawPart {
    shape: Option<Vec<u64>>,
    mins: Option<Numbers>,
    maxs: Option<Numbers>,
    codebook: Option<Vec<Option<f64>>>,
    count: Option<u64>,
    bands: Option<u64>,
    files: Vec<String>,
}

/// Version 1 has lists, but for shN, where one number stands for all.
#[derive(Deserialize)]
#[serde(untagged)]
enum Numbers {
    One(f64),
    Many(Vec<f64>),
}

impl Meta {
    /// Reads the text; an error says which part of it is wrong.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let raw: RawMeta = serde_json::from_slice(plain(text))
            .map_err(|e| format!("is no SOG ({})", one_line(&e)))?;
        let version = match raw.version {
            // Some writers gave the old layout its number.
            None | Some(1) => 1,
            Some(2) => 2,
            Some(other) => {
                return Err(format!(
                    "SOG version {other} is unknown, versions 1 and 2 are read"
                ));
            }
        };
        let count = match version {
            1 => raw
                .means
                .shape
                .as_ref()
                .and_then(|shape| shape.first().copied())
                .ok_or("means lacks its shape")?,
            _ => raw.count.ok_or("count is missing")?,
        };
        // Labels and image sizes are 32-bit; this keeps later sums far from overflow.
        let count =
            u32::try_from(count).map_err(|_| format!("declares {count} Gaussians"))? as usize;

        let mut files = Vec::with_capacity(7);
        files.extend(raw.means.names::<2>("means")?);
        files.extend(raw.quats.names::<1>("quats")?);
        files.extend(raw.scales.names::<1>("scales")?);
        files.extend(raw.sh0.names::<1>("sh0")?);
        let higher = match raw.higher.filter(|higher| higher.bands != Some(0)) {
            Some(higher) => {
                files.extend(higher.names::<2>("shN")?);
                Some(higher.higher(version)?)
            }
            None => None,
        };
        let (scales, sh0) = match version {
            1 => (
                raw.scales.ranges("scales")?.map(Range::table),
                raw.sh0.ranges("sh0")?.map(Range::table),
            ),
            _ => {
                let colour = raw.sh0.codebook("sh0")?;
                let opacity = std::array::from_fn(|byte| logit_of_byte(byte as u8));
                (
                    [raw.scales.codebook("scales")?; 3],
                    [colour, colour, colour, opacity],
                )
            }
        };
        Ok(Self {
            version,
            count,
            antialiased: raw.antialias,
            means: raw.means.ranges("means")?,
            scales,
            sh0,
            higher,
            files,
        })
    }
}

impl RawPart {
    /// The names of exactly so many images, each inside the scene's own folder.
    fn names<const N: usize>(&self, part: &str) -> Result<[String; N], String> {
        let names: &[String; N] = self
            .files
            .as_slice()
            .try_into()
            .map_err(|_| format!("{part} names {} files in place of {N}", self.files.len()))?;
        for name in names {
            if !is_inside(name) {
                let name = quoted(name);
                return Err(format!(
                    "{part} names the file {name}, which is not beside meta.json"
                ));
            }
        }
        Ok(names.clone())
    }

    fn ranges<const N: usize>(&self, part: &str) -> Result<[Range; N], String> {
        let list = |numbers: &Option<Numbers>, name: &str| -> Result<[f64; N], String> {
            let found = match numbers {
                Some(Numbers::One(number)) => Some([*number; N]),
                Some(Numbers::Many(list)) => list.as_slice().try_into().ok(),
                None => None,
            };
            found
                .filter(|list| list.iter().all(|v| v.is_finite()))
                .ok_or_else(|| format!("{part} needs {N} numbers as {name}"))
        };
        let (mins, maxs) = (list(&self.mins, "mins")?, list(&self.maxs, "maxs")?);
        Ok(std::array::from_fn(|i| Range {
            min: mins[i],
            max: maxs[i],
        }))
    }

    fn codebook(&self, part: &str) -> Result<Table, String> {
        let broken = || format!("{part} needs a codebook of 256 numbers");
        let list: &[Option<f64>; 256] = self
            .codebook
            .as_deref()
            .and_then(|list| list.try_into().ok())
            .ok_or_else(broken)?;
        let mut table = [0.0f32; 256];
        for (i, (to, from)) in table.iter_mut().zip(list).enumerate() {
            let value = match (from, list[1], list[255]) {
                (Some(value), ..) => *value,
                // An early splat-transform wrote a null first; PlayCanvas's engine extrapolates as
                // here.
                (None, Some(next), Some(last)) if i == 0 => next + (next - last) / 255.0,
                _ => return Err(broken()),
            };
            *to = value as f32;
            if !to.is_finite() {
                return Err(broken());
            }
        }
        Ok(table)
    }

    fn higher(&self, version: u8) -> Result<Higher, String> {
        if version == 1 {
            let [range] = self.ranges("shN")?;
            return Ok(Higher {
                table: range.table(),
                palette: None,
                degree: None,
            });
        }
        let degree = match self.bands {
            Some(bands @ 1..=3) => bands as u8,
            Some(bands) => return Err(format!("shN has {bands} bands, 1 to 3 are read")),
            None => return Err("shN lacks its bands".into()),
        };
        // Labels have 16 bits.
        let palette = match self.count {
            Some(count @ 1..=0x1_0000) => count as usize,
            _ => return Err("shN needs a count of 1 to 65536".into()),
        };
        Ok(Higher {
            table: self.codebook("shN")?,
            palette: Some(palette),
            degree: Some(degree),
        })
    }
}

impl Range {
    fn table(self) -> Table {
        std::array::from_fn(|byte| (self.min + (self.max - self.min) * byte as f64 / 255.0) as f32)
    }
}

/// Whether a name leads to a file in the folder or below, on every system.
pub fn is_inside(name: &str) -> bool {
    let mut components = Path::new(name).components();
    let inside = components.all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    inside && !name.is_empty() && !name.contains(['\\', ':', '\0'])
}

/// Whether the text is a JSON object with these keys, among others.
pub fn has_keys(text: &[u8], keys: &[&str]) -> bool {
    let object: Result<std::collections::HashMap<String, serde::de::IgnoredAny>, _> =
        serde_json::from_slice(plain(text));
    object.is_ok_and(|object| keys.iter().all(|&key| object.contains_key(key)))
}

/// The text without a byte order mark.
pub fn plain(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}
