//! The container: headers and decompression, both bounded by what the header declares.

use super::axes;
use crate::words::one_line;
use crate::{DataError, Place};
use flate2::bufread::GzDecoder;
use ruzstd::decoding::StreamingDecoder;
use std::io::Read;
use std::path::Path;

pub const MAGIC: &[u8; 4] = b"NGSP";
pub const FLAG_ANTIALIASED: u8 = 1;
pub const FLAG_EXTENSIONS: u8 = 2;
const MAX_DEGREE: u8 = 4;

/// Real scenes pack 2 to 7 times smaller. What a header declares beyond this many times the file's
/// size is refused (with [`ALWAYS_ALLOWED`] on top, for scenes of equal Gaussians), so that a small
/// file cannot claim all memory.
const MAX_RATIO: u64 = 100;
/// Bytes that any file may unpack to.
const ALWAYS_ALLOWED: u64 = 64 << 20;
/// Window that every zstd decoder should support, RFC 8878, 3.1.1.1.2.
const ZSTD_WINDOW: u64 = 8 << 20;
/// More bytes than this behind the attributes of versions 1 to 3 are not looked at.
const LONGEST_TAIL: u64 = 1 << 20;

const AGAIN: &str = "the file is cut short or damaged: get it again";

/// Names of the attributes, in the order of the file.
pub const NAMES: [&str; 6] = [
    "positions",
    "alphas",
    "colours",
    "scales",
    "rotations",
    "spherical harmonics",
];

/// What the header says.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    pub version: u32,
    pub count: usize,
    /// Degree in the file, 0 to 4.
    pub sh_degree: u8,
    /// Bits behind the point of a position.
    pub fractional_bits: u8,
    pub antialiased: bool,
    extensions: bool,
}

/// Bytes a Gaussian of each attribute.
pub fn strides(version: u32, sh_degree: u8) -> [usize; 6] {
    let higher = (sh_degree as usize + 1).pow(2) - 1;
    let position = if version == 1 { 6 } else { 9 };
    let rotation = if version <= 2 { 3 } else { 4 };
    [position, 1, 3, 3, rotation, 3 * higher]
}

impl Header {
    /// Bytes a Gaussian of each attribute.
    pub fn strides(&self) -> [usize; 6] {
        strides(self.version, self.sh_degree)
    }

    /// The first 16 bytes, which all versions share.
    fn parse(bytes: &[u8; 16], path: &Path) -> Result<Self, DataError> {
        let error = |byte: u64, problem: String, remedy: &str| {
            DataError::new(path, problem, remedy).at(Place::Byte(byte))
        };
        if !bytes.starts_with(MAGIC) {
            let start = bytes[..4].escape_ascii();
            let problem = format!(
                "the gzip data inside is not SPZ (it starts with \"{start}\", not \"NGSP\")"
            );
            return Err(error(0, problem, "unpack it, or give a .ply or .spz file"));
        }
        let version = u32_at(bytes, 4);
        if !(1..=4).contains(&version) {
            let problem = format!("SPZ version {version} is unknown, versions 1 to 4 are read");
            return Err(error(4, problem, "export it as version 3 or 4"));
        }
        let [sh_degree, fractional_bits, flags] = [bytes[12], bytes[13], bytes[14]];
        if sh_degree > MAX_DEGREE {
            let problem = format!(
                "the header declares spherical harmonics of degree {sh_degree}, the most is 4"
            );
            return Err(error(12, problem, AGAIN));
        }
        if fractional_bits > 24 {
            let problem = format!(
                "the header declares {fractional_bits} fractional bits of 24-bit positions"
            );
            return Err(error(13, problem, AGAIN));
        }
        Ok(Self {
            version,
            count: u32_at(bytes, 8) as usize,
            sh_degree,
            fractional_bits,
            antialiased: flags & FLAG_ANTIALIASED != 0,
            extensions: flags & FLAG_EXTENSIONS != 0,
        })
    }

    /// The unpacked size of all attributes, refused if a file of `packed` bytes cannot sensibly
    /// hold it.
    fn payload(&self, packed: usize, path: &Path) -> Result<u64, DataError> {
        // At most 2³² Gaussians of 95 bytes: no overflow.
        let payload = self.count as u64 * self.strides().iter().sum::<usize>() as u64;
        let most = ALWAYS_ALLOWED + MAX_RATIO * packed as u64;
        if payload > most {
            let problem = format!(
                "the header declares {} Gaussians, {payload} bytes, in a file of {packed}",
                self.count
            );
            return Err(DataError::new(path, problem, AGAIN).at(Place::Byte(8)));
        }
        Ok(payload)
    }
}

/// The attributes as bytes.
pub struct Packed {
    pub header: Header,
    /// The number of the coordinate system that the file names.
    pub system: Option<u32>,
    attributes: [Vec<u8>; 6],
}

impl Packed {
    pub fn positions(&self) -> &[u8] {
        &self.attributes[0]
    }
    pub fn alphas(&self) -> &[u8] {
        &self.attributes[1]
    }
    pub fn colours(&self) -> &[u8] {
        &self.attributes[2]
    }
    pub fn scales(&self) -> &[u8] {
        &self.attributes[3]
    }
    pub fn rotations(&self) -> &[u8] {
        &self.attributes[4]
    }
    pub fn sh(&self) -> &[u8] {
        &self.attributes[5]
    }
}

/// Decompresses a file of any version.
pub fn unpack(bytes: &[u8], notes: &mut Vec<String>, path: &Path) -> Result<Packed, DataError> {
    match bytes.starts_with(MAGIC) {
        true => unpack_4(bytes, notes, path),
        false => unpack_1_to_3(bytes, notes, path),
    }
}

fn unpack_1_to_3(bytes: &[u8], notes: &mut Vec<String>, path: &Path) -> Result<Packed, DataError> {
    let mut stream = GzDecoder::new(bytes);
    let mut start = [0; 16];
    stream
        .read_exact(&mut start)
        .map_err(|e| broken("gzip", "header", &e, path))?;
    let header = Header::parse(&start, path)?;
    if header.version == 4 {
        let problem = "an SPZ header of version 4 inside gzip, where versions 1 to 3 belong";
        return Err(DataError::new(path, problem, AGAIN));
    }
    header.payload(bytes.len(), path)?;
    let mut attributes = <[Vec<u8>; 6]>::default();
    for (i, attribute) in attributes.iter_mut().enumerate() {
        let wanted = (header.count * header.strides()[i]) as u64;
        *attribute =
            read_up_to(&mut stream, wanted).map_err(|e| broken("gzip", NAMES[i], &e, path))?;
        check_length(attribute, wanted, i, path)?;
    }
    // Reading on to the end also checks gzip's own checksum.
    let tail =
        read_up_to(&mut stream, LONGEST_TAIL + 1).map_err(|e| broken("gzip", "end", &e, path))?;
    let mut system = None;
    if header.extensions {
        system = extensions(&tail, notes);
    } else if !tail.is_empty() {
        notes.push("bytes behind the last attribute were ignored".into());
    }
    Ok(Packed {
        header,
        system,
        attributes,
    })
}

fn unpack_4(bytes: &[u8], notes: &mut Vec<String>, path: &Path) -> Result<Packed, DataError> {
    let short = |what: &str| {
        let problem = format!("the file ends inside the {what}");
        DataError::new(path, problem, AGAIN).at(Place::Byte(bytes.len() as u64))
    };
    let start: &[u8; 32] = bytes.first_chunk().ok_or_else(|| short("32-byte header"))?;
    let first: &[u8; 16] = start.first_chunk().ok_or_else(|| short("header"))?;
    let header = Header::parse(first, path)?;
    if header.version != 4 {
        let problem = format!(
            "an SPZ header of version {} that is not inside gzip",
            header.version
        );
        return Err(DataError::new(path, problem, AGAIN).at(Place::Byte(4)));
    }
    header.payload(bytes.len(), path)?;
    let streams = start[15] as usize;
    let contents = u32_at(start, 16) as usize;
    if contents < start.len() {
        let problem =
            format!("the table of contents is declared at byte {contents}, inside the header");
        return Err(DataError::new(path, problem, AGAIN).at(Place::Byte(16)));
    }
    let table = bytes
        .get(contents..contents + 16 * streams)
        .ok_or_else(|| short("table of contents"))?;
    let mut system = None;
    if header.extensions {
        system = extensions(&bytes[start.len()..contents], notes);
    }
    // Empty attributes have no stream.
    let wanted = header
        .strides()
        .map(|stride| (header.count * stride) as u64);
    let needed = wanted.iter().filter(|&&bytes| bytes > 0).count();
    if streams < needed {
        let problem = format!("the header declares {streams} streams, its attributes are {needed}");
        return Err(DataError::new(path, problem, AGAIN).at(Place::Byte(15)));
    }
    let mut entries = table.as_chunks::<16>().0.iter().enumerate();
    let mut at = contents + table.len();
    let mut attributes = <[Vec<u8>; 6]>::default();
    for (i, attribute) in attributes.iter_mut().enumerate() {
        let wanted = wanted[i];
        let Some((entry, sizes)) = (wanted > 0).then(|| entries.next()).flatten() else {
            continue;
        };
        let place = (contents + 16 * entry) as u64;
        let [packed, unpacked] = [u64_at(sizes, 0), u64_at(sizes, 8)];
        if unpacked != wanted {
            let problem = format!(
                "the {} of {} Gaussians are {wanted} bytes, the table of contents says {unpacked}",
                NAMES[i], header.count
            );
            return Err(DataError::new(path, problem, AGAIN).at(Place::Byte(place + 8)));
        }
        let end = usize::try_from(packed)
            .ok()
            .and_then(|packed| at.checked_add(packed));
        let frame = end
            .and_then(|end| bytes.get(at..end))
            .ok_or_else(|| short(NAMES[i]))?;
        *attribute = unpack_zstd(frame, wanted).map_err(|e| broken("zstd", NAMES[i], &e, path))?;
        check_length(attribute, wanted, i, path)?;
        at += frame.len();
    }
    let more = entries.len();
    if more > 0 {
        notes.push(format!(
            "{more} more streams than SPZ version 4 has attributes were ignored"
        ));
    }
    Ok(Packed {
        header,
        system,
        attributes,
    })
}

fn unpack_zstd(frame: &[u8], wanted: u64) -> std::io::Result<Vec<u8>> {
    // A window larger than the content is of no use; the decoder reserves it at once.
    let window = ZSTD_WINDOW.max(wanted.next_power_of_two());
    let mut stream =
        StreamingDecoder::new_with_max_window_size(frame, window).map_err(std::io::Error::other)?;
    let bytes = read_up_to(&mut stream, wanted + 1)?;
    let decoder = &stream.decoder;
    // The decoder sums what was taken out of it: all, unless there is more than wanted.
    let all = decoder.is_finished() && bytes.len() as u64 <= wanted;
    match decoder.get_checksum_from_data() {
        Some(checksum) if all && decoder.get_calculated_checksum() != Some(checksum) => {
            Err(std::io::Error::other("checksum mismatch"))
        }
        _ => Ok(bytes),
    }
}

/// Reads at most so many bytes; memory grows with what comes, not with what was declared.
fn read_up_to(stream: &mut impl Read, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn check_length(attribute: &[u8], wanted: u64, i: usize, path: &Path) -> Result<(), DataError> {
    if attribute.len() as u64 == wanted {
        return Ok(());
    }
    let but = match (attribute.len() as u64) < wanted {
        true => format!("the data ends after {}", attribute.len()),
        false => "there are more".into(),
    };
    let problem = format!("{wanted} bytes were declared, {but}");
    Err(DataError::new(path, problem, AGAIN).at(Place::Part(NAMES[i].into())))
}

/// An error of a decompressor.
fn broken(method: &str, part: &str, error: &std::io::Error, path: &Path) -> DataError {
    let problem = match error.kind() {
        std::io::ErrorKind::UnexpectedEof => format!("the {method} data ends too early"),
        _ => format!("the {method} data is broken ({})", one_line(error)),
    };
    DataError::new(path, problem, AGAIN).at(Place::Part(part.into()))
}

/// Looks through the vendors' records, `u32 type, u32 length, payload` each, for the number of the
/// coordinate system. Others are noted.
fn extensions(mut records: &[u8], notes: &mut Vec<String>) -> Option<u32> {
    let mut system = None;
    let mut others = Vec::new();
    while let Some((head, rest)) = records.split_first_chunk::<8>()
        && let Some((payload, next)) = rest.split_at_checked(u32_at(head, 4) as usize)
        && others.len() < 16
    {
        match (u32_at(head, 0), payload) {
            (axes::EXTENSION, &[_, _, _, _]) => system = Some(u32_at(payload, 0)),
            (other, _) => others.push(format!("{other:#010x}")),
        }
        records = next;
    }
    if !others.is_empty() {
        notes.push(format!("extensions were ignored: {}", others.join(", ")));
    }
    system
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
