//! The headers, and what they say of the bytes behind them.

use crate::Place;
use splatcore_core::sh;

/// Bytes of the file's header, and of a section's.
const HEADER: usize = 4096;
const SECTION: usize = 1024;
/// Highest degree of spherical harmonics in version 0.1.
const MAX_DEGREE: u16 = 2;
/// Bytes of a bucket's centre.
const CENTRE: u64 = 12;
/// 16-bit positions at a bucket's centre, in files that do not say.
const MIDDLE: u32 = 32767;
/// Half the range of 8-bit harmonics, in files that do not say.
const HARMONICS: f32 = 1.5;

/// What is wrong, and where.
type Wrong = (Place, String);

/// How values are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Floats = 0,
    Halves = 1,
    HalvesAndBytes = 2,
}

impl Level {
    fn of(word: u16) -> Option<Self> {
        [Self::Floats, Self::Halves, Self::HalvesAndBytes]
            .into_iter()
            .find(|&level| level as u16 == word)
    }

    /// Bytes of one value of a position, scale or rotation.
    pub fn value(self) -> usize {
        if self == Self::Floats { 4 } else { 2 }
    }

    /// Bytes of one value of the harmonics above degree 0.
    pub fn harmonic(self) -> usize {
        match self {
            Self::Floats => 4,
            Self::Halves => 2,
            Self::HalvesAndBytes => 1,
        }
    }

    /// Bytes of a Gaussian: ten values, a colour, the harmonics.
    pub fn row(self, degree: u8) -> usize {
        10 * self.value() + 4 + 3 * (sh::coefficients(degree) - 1) * self.harmonic()
    }
}

/// A file whose every section lies within its bytes.
pub struct File<'a> {
    pub level: Level,
    /// What the bytes 0 and 255 of 8-bit harmonics stand for.
    pub harmonics: [f32; 2],
    pub sections: Vec<Section<'a>>,
}

/// Gaussians of one degree. For positions of 16 bits, every Gaussian has a bucket with a centre.
pub struct Section<'a> {
    pub degree: u8,
    pub count: usize,
    /// `count` rows of [`Level::row`] bytes.
    pub rows: &'a [u8],
    pub buckets: Buckets<'a>,
}

/// Where the 16-bit positions of a section are relative to.
pub struct Buckets<'a> {
    /// Three f32 a bucket.
    centres: &'a [u8],
    /// Gaussians in each of the first buckets.
    capacity: usize,
    /// Gaussians in all of these.
    in_full: usize,
    full: usize,
    /// Of each later bucket, where it ends, counted from `in_full`.
    ends: Vec<usize>,
    /// World units of a step, and the number that stands for the centre.
    pub step: f32,
    pub middle: f32,
}

impl Buckets<'_> {
    /// The centre of Gaussian `i`'s bucket; none if no bucket holds it.
    pub fn centre(&self, i: usize) -> Option<[f32; 3]> {
        let bucket = match i.checked_sub(self.in_full) {
            None => i / self.capacity,
            Some(later) => self.full + self.ends.partition_point(|&end| end <= later),
        };
        let bytes = self.centres.as_chunks::<12>().0.get(bucket)?;
        Some(std::array::from_fn(|c| f32_at(bytes, 4 * c)))
    }

    /// Whether each of so many Gaussians has a bucket.
    fn hold(&self, count: usize) -> bool {
        let held = self
            .in_full
            .saturating_add(self.ends.last().copied().unwrap_or(0));
        count <= held && (count == 0 || self.centre(count - 1).is_some())
    }
}

impl<'a> File<'a> {
    /// Finds the sections; nothing is allocated but for what the file holds.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Wrong> {
        let whole = |problem: String| (Place::File, problem);
        if bytes.len() < HEADER {
            let length = bytes.len();
            return Err(whole(format!(
                "has {length} bytes, fewer than the {HEADER} of a .ksplat header"
            )));
        }
        let [major, minor] = [bytes[0], bytes[1]];
        if (major, minor) != (0, 1) {
            return Err(whole(format!(
                "is .ksplat version {major}.{minor}; only 0.1 is read"
            )));
        }
        let level = Level::of(u16_at(bytes, 20)).ok_or_else(|| {
            let level = u16_at(bytes, 20);
            (
                Place::Byte(20),
                format!("the compression level is {level}, not 0, 1 or 2"),
            )
        })?;
        let number = u32_at(bytes, 4);
        let start = HEADER as u64 + u64::from(number) * SECTION as u64;
        if start > bytes.len() as u64 {
            let length = bytes.len();
            return Err((
                Place::Byte(4),
                format!("declares {number} sections in a file of {length} bytes"),
            ));
        }
        let mut file = Self {
            level,
            harmonics: harmonics(bytes),
            sections: Vec::new(),
        };
        let mut at = start;
        let headers = bytes[HEADER..start as usize].chunks_exact(SECTION);
        for (i, header) in headers.enumerate() {
            let in_section = |problem| (Place::Part(format!("section {i}")), problem);
            let section = section(header, level, bytes, &mut at).map_err(in_section)?;
            file.sections.push(section);
        }
        let declared = u64::from(u32_at(bytes, 16));
        let found: u64 = file.sections.iter().map(|s| s.count as u64).sum();
        match declared == found {
            true => Ok(file),
            false => Err((
                Place::Byte(16),
                format!("declares {declared} Gaussians, its sections {found}"),
            )),
        }
    }
}

/// The section of a header; its bytes begin `at`, which moves behind them.
fn section<'a>(
    header: &[u8],
    level: Level,
    bytes: &'a [u8],
    at: &mut u64,
) -> Result<Section<'a>, String> {
    let word = |i: usize| u64::from(u32_at(header, 4 * i));
    let [count, room, capacity, buckets] = [0, 1, 2, 3].map(word);
    let [full, partial] = [8, 9].map(word);
    let centre = u64::from(u16_at(header, 20));
    let degree = u16_at(header, 40);
    if degree > MAX_DEGREE {
        return Err(format!("SH degree {degree} is above {MAX_DEGREE}"));
    }
    let degree = degree as u8;
    if count > room {
        return Err(format!("holds {count} Gaussians in room for {room}"));
    }
    // Products of two words, and sums of a few: they fit.
    let row = level.row(degree) as u64;
    let mut take = |wanted: u64, what: &str| {
        let end = *at + wanted;
        let taken = bytes.get(*at as usize..end as usize).ok_or_else(|| {
            let length = bytes.len();
            format!("its {what} end at byte {end} of a file of {length} bytes")
        })?;
        *at = end;
        Ok::<_, String>(taken)
    };
    let lengths = take(4 * partial, "buckets' lengths")?;
    let centres = take(centre * buckets, "buckets")?;
    let rows = take(row * room, "Gaussians")?;
    let mut end = 0u64;
    let ends = lengths.as_chunks::<4>().0.iter().map(|length| {
        end += u64::from(u32::from_le_bytes(*length));
        end as usize
    });
    let middle = match u32_at(header, 24) {
        0 => MIDDLE,
        middle => middle,
    };
    let buckets = Buckets {
        centres,
        capacity: capacity as usize,
        in_full: (full * capacity) as usize,
        full: full as usize,
        ends: ends.collect(),
        step: f32_at(header, 16) / 2.0 / middle as f32,
        middle: middle as f32,
    };
    if level != Level::Floats {
        if centre != CENTRE && count > 0 {
            return Err(format!("a bucket has {centre} bytes, not {CENTRE}"));
        }
        if !buckets.hold(count as usize) {
            return Err(format!("its buckets do not hold its {count} Gaussians"));
        }
    }
    Ok(Section {
        degree,
        count: count as usize,
        rows: &rows[..(row * count) as usize],
        buckets,
    })
}

/// Whether the bytes can be a .ksplat file, which has no magic number: the version, a known level,
/// and sections that a file of this size can have.
pub fn is_plausible(bytes: &[u8]) -> bool {
    if bytes.len() < HEADER + SECTION || !bytes.starts_with(&[0, 1, 0, 0]) {
        return false;
    }
    let sections = u64::from(u32_at(bytes, 4));
    let end = HEADER as u64 + sections * SECTION as u64;
    sections > 0 && end <= bytes.len() as u64 && Level::of(u16_at(bytes, 20)).is_some()
}

fn harmonics(header: &[u8]) -> [f32; 2] {
    let or = |value: f32, default: f32| if value == 0.0 { default } else { value };
    [
        or(f32_at(header, 36), -HARMONICS),
        or(f32_at(header, 40), HARMONICS),
    ]
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn f32_at(bytes: &[u8], at: usize) -> f32 {
    f32::from_bits(u32_at(bytes, at))
}
