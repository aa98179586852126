//! JPEG pictures in a stream: files of Motion JPEG are such pictures, one after the other, perhaps
//! with a container's bytes between them (AVI).

use std::io::{BufRead, Error, ErrorKind, Result};

/// No picture is longer.
const LONGEST: usize = 64 << 20;

/// Finds the pictures of a stream.
pub struct JpegFrames<R> {
    reader: R,
}

impl<R: BufRead> JpegFrames<R> {
    /// Begins at the reader's place.
    pub fn new(reader: R) -> Self {
        Self { reader }
    }

    /// The next picture, from its start marker to its end marker; nothing at the end of the stream,
    /// inside a picture too.
    ///
    /// # Errors
    /// The stream cannot be read, or a picture has no end within 64 MiB.
    pub fn next_frame(&mut self) -> Result<Option<Vec<u8>>> {
        let mut picture = Vec::new();
        match self.find_start().and_then(|()| self.copy(&mut picture)) {
            Ok(()) => Ok(Some(picture)),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn byte(&mut self) -> Result<u8> {
        let buffer = self.reader.fill_buf()?;
        let byte = *buffer.first().ok_or(ErrorKind::UnexpectedEof)?;
        self.reader.consume(1);
        Ok(byte)
    }

    /// Goes behind the next FF D8 FF.
    fn find_start(&mut self) -> Result<()> {
        let mut last = [0; 2];
        loop {
            let byte = self.byte()?;
            if (last, byte) == ([0xFF, 0xD8], 0xFF) {
                return Ok(());
            }
            last = [last[1], byte];
        }
    }

    /// Copies a picture whose first three bytes were read.
    fn copy(&mut self, picture: &mut Vec<u8>) -> Result<()> {
        picture.extend([0xFF, 0xD8]);
        // The third byte begins the next marker.
        let mut marker = self.marker()?;
        loop {
            picture.extend([0xFF, marker]);
            match marker {
                0xD9 => return Ok(()),
                // Markers without a length.
                0x01 | 0xD0..=0xD7 => marker = self.next_marker()?,
                0xDA => {
                    self.segment(picture)?;
                    marker = self.scan(picture)?;
                }
                _ => {
                    self.segment(picture)?;
                    marker = self.next_marker()?;
                }
            }
        }
    }

    /// A marker's number, behind its FF; further FFs are fill.
    fn marker(&mut self) -> Result<u8> {
        loop {
            let byte = self.byte()?;
            if byte != 0xFF {
                return Ok(byte);
            }
        }
    }

    /// The next marker between segments.
    fn next_marker(&mut self) -> Result<u8> {
        while self.byte()? != 0xFF {}
        self.marker()
    }

    /// Copies a segment: its length, two bytes, counts itself.
    fn segment(&mut self, picture: &mut Vec<u8>) -> Result<()> {
        let length = [self.byte()?, self.byte()?];
        picture.extend(length);
        let mut left = usize::from(u16::from_be_bytes(length)).saturating_sub(2);
        while left > 0 {
            let buffer = self.reader.fill_buf()?;
            let count = buffer.len().min(left);
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            picture.extend(&buffer[..count]);
            self.reader.consume(count);
            left -= count;
        }
        within(picture)
    }

    /// Copies coded data up to the next marker that ends it; returns that marker.
    fn scan(&mut self, picture: &mut Vec<u8>) -> Result<u8> {
        loop {
            let byte = self.byte()?;
            if byte != 0xFF {
                picture.push(byte);
                if picture.len().is_multiple_of(1 << 16) {
                    within(picture)?;
                }
                continue;
            }
            match self.marker()? {
                // A byte FF of the data, and restart markers.
                marker @ (0 | 0xD0..=0xD7) => picture.extend([0xFF, marker]),
                marker => return Ok(marker),
            }
            within(picture)?;
        }
    }
}

fn within(picture: &[u8]) -> Result<()> {
    match picture.len() <= LONGEST {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::InvalidData,
            "a picture has no end within 64 MiB",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jpeg(grey: u8) -> Vec<u8> {
        let pixel = |x, y| image::Rgb([grey, (x * 6) as u8, (x * y) as u8]);
        let image = image::RgbImage::from_fn(40, 30, pixel);
        let rgb = image::ExtendedColorType::Rgb8;
        splatcore_data::picture::jpeg(&image, [40, 30], rgb, 75).unwrap()
    }

    fn all(bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        // A small buffer, so that pictures are longer.
        let mut frames = JpegFrames::new(std::io::BufReader::with_capacity(7, bytes));
        std::iter::from_fn(|| frames.next_frame().transpose()).collect()
    }

    #[test]
    fn pictures_are_found_whole_between_other_bytes() {
        let mut first = jpeg(10);
        // A segment with a small picture of its own inside, as EXIF has it.
        let inner = jpeg(200);
        let mut segment = vec![0xFF, 0xE1];
        segment.extend((inner.len() as u16 + 2).to_be_bytes());
        segment.extend(&inner);
        first.splice(2..2, segment);
        let second = jpeg(90);
        let stream = [
            b"RIFF\xff\xd8 00dc",
            &first[..],
            b"\0idx1\xff",
            &second,
            &second[..99],
        ]
        .concat();
        let found = all(&stream).unwrap();
        assert_eq!(found.len(), 2);
        assert!(found[0] == first && found[1] == second);
        for picture in found {
            assert_eq!(image::load_from_memory(&picture).unwrap().width(), 40);
        }
        assert!(all(b"").unwrap().is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_end_well(bytes: Vec<u8>, cut in 0usize..2000, at in 0usize..2000, to: u8) {
            let _ = all(&bytes);
            let _ = all(&[b"\xff\xd8\xff", bytes.as_slice()].concat());
            let mut spoilt = [jpeg(1), jpeg(2)].concat();
            let at = at % spoilt.len();
            spoilt[at] = to;
            for picture in all(&spoilt[cut.min(spoilt.len())..]).unwrap() {
                assert!(picture.starts_with(b"\xff\xd8\xff") && picture.ends_with(b"\xff\xd9"));
            }
        }
    }
}
