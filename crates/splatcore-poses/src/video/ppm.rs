//! A stream of PPM pictures (P6, 8 bits), as ffmpeg writes it into a pipe.

use super::limits::MAX_SIDE;
use image::RgbImage;
use std::io::{Error, ErrorKind, Read, Result};

/// The next picture; nothing at the end of the stream.
pub fn next(stream: &mut dyn Read) -> Result<Option<RgbImage>> {
    let Some(magic) = word(stream)? else {
        return Ok(None);
    };
    if magic != "P6" {
        return Err(odd(format!("a picture begins with '{magic}', not 'P6'")));
    }
    let mut number = |what: &str| -> Result<u32> {
        let word = word(stream)?.unwrap_or_default();
        word.parse()
            .map_err(|_| odd(format!("the {what} is '{word}'")))
    };
    let (width, height, most) = (
        number("width")?,
        number("height")?,
        number("largest value")?,
    );
    let sides = 1..=MAX_SIDE;
    if !sides.contains(&width) || !sides.contains(&height) || most != 255 {
        return Err(odd(format!(
            "{width}x{height} pixels with values up to {most}"
        )));
    }
    let bytes = width as usize * height as usize * 3;
    // The vector grows with what comes, not with what the header says.
    let mut data = Vec::new();
    stream.take(bytes as u64).read_to_end(&mut data)?;
    if data.len() < bytes {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(RgbImage::from_raw(width, height, data))
}

/// Bytes up to white space, at most 16, and one byte of white space; nothing at the end.
fn word(stream: &mut dyn Read) -> Result<Option<String>> {
    let mut word = String::new();
    let mut byte = [0];
    loop {
        if stream.read(&mut byte)? == 0 {
            return match word.is_empty() {
                true => Ok(None),
                false => Err(ErrorKind::UnexpectedEof.into()),
            };
        }
        match byte[0] {
            b' ' | b'\n' | b'\r' | b'\t' if word.is_empty() => {}
            b' ' | b'\n' | b'\r' | b'\t' => return Ok(Some(word)),
            c if c.is_ascii_graphic() && word.len() < 16 => word.push(c as char),
            c => return Err(odd(format!("byte {c} in the header of a picture"))),
        }
    }
}

fn odd(what: String) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_come_one_after_the_other() {
        let stream = b"P6\n2 1\n255\n\x0a\x20\x01abcP6 1 1 255 xyz";
        let mut stream = &stream[..];
        let first = next(&mut stream).unwrap().unwrap();
        assert_eq!(
            (first.dimensions(), first.as_raw().as_slice()),
            ((2, 1), &b"\x0a\x20\x01abc"[..])
        );
        assert_eq!(next(&mut stream).unwrap().unwrap().as_raw(), b"xyz");
        assert!(next(&mut stream).unwrap().is_none());
        for bad in [
            "P5 1 1 255 x",
            "P6 0 1 255 x",
            "P6 9 9 255 x",
            "P6 1 1 65535 x",
            "P6 99999 1 255 ",
        ] {
            assert!(next(&mut bad.as_bytes()).is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_end_well(bytes: Vec<u8>, w in 0u32..20000, h in 0u32..20000) {
            let header = format!("P6\n{w} {h}\n255\n");
            let stream = [header.as_bytes(), &bytes].concat();
            let _ = next(&mut stream.as_slice());
            let _ = next(&mut bytes.as_slice());
        }
    }
}
