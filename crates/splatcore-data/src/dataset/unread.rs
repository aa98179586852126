//! Photos in formats that have no decoder here: what they are, and how to convert them.
//!
//! HEIC needs a decoder of HEVC, which is patented; AVIF's and JPEG XL's are large.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Endings of cameras' raw files. Many begin as TIFF does, and would show their thumbnail.
const RAW: [&str; 10] = [
    "dng", "nef", "cr2", "cr3", "arw", "raf", "orf", "rw2", "pef", "srw",
];

/// What the photo is and what to do, if its bytes or its ending are those of such a format.
pub(super) fn format(bytes: &[u8], path: &Path) -> Option<(&'static str, &'static str)> {
    if bytes.starts_with(b"\xff\x0a") || bytes.starts_with(b"\0\0\0\x0cJXL \r\n\x87\n") {
        return Some((
            "is a JPEG XL image, a format not read",
            "convert the photos first, for example with `djxl IN.jxl OUT.png`",
        ));
    }
    // ISO base media: a box `ftyp` of brands, the major one first.
    if bytes.get(4..8) == Some(b"ftyp") {
        let length = bytes.first_chunk().map_or(0, |b| u32::from_be_bytes(*b)) as usize;
        let end = length.clamp(8, 128).min(bytes.len());
        let has = |brands: &[&[u8]]| bytes[8..end].chunks(4).any(|brand| brands.contains(&brand));
        if has(&[b"avif", b"avis"]) {
            return Some((
                "is an AVIF image, a format not read",
                "convert the photos first, for example with `avifdec IN.avif OUT.png`",
            ));
        }
        if has(&[
            b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1",
        ]) {
            return Some((
                "is a HEIC (HEIF) image, a format not read",
                "convert the photos first, for example with `heif-convert IN.heic OUT.jpg` or on a \
                 Mac `sips -s format jpeg IN.heic --out OUT.jpg`; an iPhone takes JPEG with \
                 Settings, Camera, Formats, Most Compatible",
            ));
        }
    }
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    RAW.contains(&ending.as_str()).then_some((
        "is a camera's raw file, a format not read",
        "develop the photos first, without lens correction if they were posed without, to JPEG, \
         PNG or 16-bit TIFF",
    ))
}

/// What a photo's file is and what to do, if it is of a format that splatcore does not read.
pub fn unread_format(path: &Path) -> Option<(&'static str, &'static str)> {
    let mut start = Vec::new();
    let file = File::open(path).ok()?;
    file.take(128).read_to_end(&mut start).ok()?;
    format(&start, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_without_a_decoder_are_named() {
        let says = |bytes: &[u8], name: &str| format(bytes, Path::new(name)).map(|(what, _)| what);
        let heic = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic";
        assert!(says(heic, "a.jpg").unwrap().contains("HEIC"));
        // The major brand of many is mif1, and AVIF's own follows.
        let avif = b"\0\0\0\x18ftypmif1\0\0\0\0mif1avif";
        assert!(says(avif, "a.png").unwrap().contains("AVIF"));
        assert!(says(b"\xff\x0a\x01", "a").unwrap().contains("JPEG XL"));
        assert!(
            says(b"\0\0\0\x0cJXL \r\n\x87\n", "a")
                .unwrap()
                .contains("JPEG XL")
        );
        assert!(says(b"II*\0", "a.NEF").unwrap().contains("raw"));
        for other in [
            &b"II*\0"[..],
            b"\xff\xd8\xff",
            b"",
            b"\0\0\0\x18ftyp",
            b"ftypftyp",
        ] {
            assert_eq!(says(other, "a.jpg"), None);
        }
        let video = b"\0\0\0\x18ftypisom\0\0\0\0mp42isom";
        assert_eq!(says(video, "a.jpg"), None);
    }
}
