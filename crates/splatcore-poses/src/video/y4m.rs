//! Y4M: uncompressed video, as ffmpeg, mpv and many cameras' tools write it. A line of text, then
//! for each frame a line `FRAME` and planes of 8-bit luma and chroma
//! (<https://wiki.multimedia.cx/index.php/YUV4MPEG2>).

use super::limits::MAX_SIDE;
use image::{Rgb, RgbImage};
use std::io::{BufRead, Error, ErrorKind, Read, Result};

/// No line of text is longer.
const LONGEST_LINE: u64 = 1024;

/// How large chroma planes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chroma {
    None,
    /// Half as wide and half as high (rounded up), or the full size.
    Halved {
        x: bool,
        y: bool,
    },
}

/// What the first line says.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Size of the frames, in pixels.
    pub width: u32,
    /// Size of the frames, in pixels.
    pub height: u32,
    /// Frames a second, if it is said.
    pub rate: Option<f64>,
    chroma: Chroma,
    full_range: bool,
}

/// Frames, one after the other.
pub struct Frames<R> {
    reader: R,
    header: Header,
    data: Vec<u8>,
}

impl<R: BufRead> Frames<R> {
    /// Reads the first line.
    ///
    /// # Errors
    /// No Y4M, no size, or samples of another depth than 8 bits.
    pub fn new(mut reader: R) -> Result<Self> {
        let line = line(&mut reader)?.ok_or(ErrorKind::UnexpectedEof)?;
        let header = header(&line)?;
        Ok(Self {
            reader,
            header,
            data: Vec::new(),
        })
    }

    /// What the first line says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Reads the next frame; false at the end. A frame that is cut short is the end.
    ///
    /// # Errors
    /// Something else than a frame, or the file cannot be read.
    pub fn advance(&mut self) -> Result<bool> {
        let Some(text) = line(&mut self.reader)? else {
            return Ok(false);
        };
        if text != "FRAME" && !text.starts_with("FRAME ") {
            return Err(odd("something else than FRAME comes before a frame".into()));
        }
        let bytes = self.header.frame_bytes();
        self.data.clear();
        // The vector grows with what comes, not with what the header says.
        self.reader
            .by_ref()
            .take(bytes)
            .read_to_end(&mut self.data)?;
        Ok(self.data.len() as u64 == bytes)
    }

    /// The luma of the frame that was read last, row by row.
    pub fn luma(&self) -> &[u8] {
        let size = self.header.width as usize * self.header.height as usize;
        self.data.get(..size).unwrap_or_default()
    }

    /// The colours of the frame that was read last. The file does not say which matrix its luma was
    /// made with: BT.709 from 720 rows on, BT.601 below, as players guess. Limited range unless
    /// `XCOLORRANGE=FULL` is said. Chroma is repeated, not interpolated. Nothing before the first
    /// frame.
    pub fn rgb(&self) -> Option<RgbImage> {
        let h = &self.header;
        if self.data.len() as u64 != h.frame_bytes() {
            return None;
        }
        let (luma, chroma) = self.data.split_at(h.width as usize * h.height as usize);
        let (red, blue) = if h.height >= 720 {
            (0.2126, 0.0722)
        } else {
            (0.299, 0.114)
        };
        let (low, luma_scale, chroma_scale) = match h.full_range {
            true => (0.0, 1.0, 1.0),
            false => (16.0, 255.0 / 219.0, 255.0 / 224.0),
        };
        let (plane, row) = match h.chroma {
            Chroma::None => (0, 0),
            Chroma::Halved { .. } => (chroma.len() / 2, h.chroma_size().0 as usize),
        };
        Some(RgbImage::from_fn(h.width, h.height, |x, y| {
            let value = luma[y as usize * h.width as usize + x as usize];
            let y_value = (f64::from(value) - low) * luma_scale;
            let (cb, cr) = match h.chroma {
                Chroma::None => (0.0, 0.0),
                Chroma::Halved {
                    x: half_x,
                    y: half_y,
                } => {
                    let at =
                        (y >> u32::from(half_y)) as usize * row + (x >> u32::from(half_x)) as usize;
                    let centred = |v: u8| (f64::from(v) - 128.0) * chroma_scale;
                    (centred(chroma[at]), centred(chroma[plane + at]))
                }
            };
            let r = y_value + 2.0 * (1.0 - red) * cr;
            let b = y_value + 2.0 * (1.0 - blue) * cb;
            let g = (y_value - red * r - blue * b) / (1.0 - red - blue);
            Rgb([r, g, b].map(|v| (v + 0.5).clamp(0.0, 255.0) as u8))
        }))
    }
}

impl Header {
    /// Width and height of a chroma plane.
    fn chroma_size(&self) -> (u32, u32) {
        match self.chroma {
            Chroma::None => (0, 0),
            Chroma::Halved { x, y } => (
                self.width.div_ceil(1 + u32::from(x)),
                self.height.div_ceil(1 + u32::from(y)),
            ),
        }
    }

    fn frame_bytes(&self) -> u64 {
        let (w, h) = self.chroma_size();
        u64::from(self.width) * u64::from(self.height) + 2 * u64::from(w) * u64::from(h)
    }
}

/// A line without its end; nothing at the end of the file.
fn line(reader: &mut impl BufRead) -> Result<Option<String>> {
    let mut bytes = Vec::new();
    reader.take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.pop() != Some(b'\n') {
        return Err(odd("a line does not end".into()));
    }
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| odd("a line is no text".into()))
}

fn header(line: &str) -> Result<Header> {
    let mut words = line.split(' ');
    if words.next() != Some("YUV4MPEG2") {
        return Err(odd("does not begin with YUV4MPEG2".into()));
    }
    let mut header = Header {
        width: 0,
        height: 0,
        rate: None,
        chroma: Chroma::Halved { x: true, y: true },
        full_range: false,
    };
    for word in words {
        let mut chars = word.chars();
        let (tag, value) = (chars.next(), chars.as_str());
        match tag {
            Some('W') => header.width = value.parse().unwrap_or(0),
            Some('H') => header.height = value.parse().unwrap_or(0),
            Some('F') => header.rate = rate(value),
            Some('C') => header.chroma = chroma(value)?,
            Some('X') if value == "COLORRANGE=FULL" => header.full_range = true,
            _ => {}
        }
    }
    let sides = 1..=MAX_SIDE;
    if !sides.contains(&header.width) || !sides.contains(&header.height) {
        return Err(odd(format!(
            "the frames are {}x{} pixels",
            header.width, header.height
        )));
    }
    Ok(header)
}

/// `30000:1001`.
fn rate(value: &str) -> Option<f64> {
    let (frames, seconds) = value.split_once(':')?;
    let (frames, seconds): (u32, u32) = (frames.parse().ok()?, seconds.parse().ok()?);
    (frames > 0 && seconds > 0).then(|| f64::from(frames) / f64::from(seconds))
}

fn chroma(value: &str) -> Result<Chroma> {
    Ok(match value {
        "mono" => Chroma::None,
        "420" | "420jpeg" | "420mpeg2" | "420paldv" => Chroma::Halved { x: true, y: true },
        "422" => Chroma::Halved { x: true, y: false },
        "444" => Chroma::Halved { x: false, y: false },
        other => {
            return Err(odd(format!(
                "the samples are '{other}', not 420, 422, 444 or mono"
            )));
        }
    })
}

fn odd(what: String) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<Option<RgbImage>>> {
        let mut frames = Frames::new(bytes)?;
        let mut found = Vec::new();
        while frames.advance()? {
            assert_eq!(
                frames.luma().len() as u32,
                frames.header().width * frames.header().height
            );
            found.push(frames.rgb());
        }
        Ok(found)
    }

    #[test]
    fn frames_come_with_their_colours() {
        let mut bytes = b"YUV4MPEG2 W3 H1 F30000:1001 Ip A1:1 C420jpeg\nFRAME\n".to_vec();
        // White, black, grey; the chroma of the first two, then of the last.
        bytes.extend([235, 16, 126, 128, 90, 128, 240]);
        bytes.extend(b"FRAME Xq\n\x10\x10\x10\x80\x80\x80\x80FRAME\n\x10");
        let frames = read(&bytes).unwrap();
        assert_eq!(frames.len(), 2, "the third is cut short");
        let first = frames[0].as_ref().unwrap();
        assert_eq!(first.get_pixel(0, 0).0, [255; 3]);
        assert_eq!(first.get_pixel(1, 0).0, [0; 3]);
        // Y 126, Cb 90, Cr 240 of BT.601, by the matrix of its definition: R = 1.164 * 110 + 1.596
        // * 112, G = 1.164 * 110 - 0.392 * -38 - 0.813 * 112, B = 1.164 * 110 + 2.017 * -38.
        assert_eq!(first.get_pixel(2, 0).0, [255, 52, 51]);
        assert_eq!(frames[1].as_ref().unwrap().as_raw(), &[0; 9]);
        let rate = Frames::new(&bytes[..]).unwrap().header().rate.unwrap();
        assert!((rate - 29.97).abs() < 0.001);
    }

    #[test]
    fn other_samples_and_ranges() {
        let full = b"YUV4MPEG2 W2 H2 Cmono XCOLORRANGE=FULL\nFRAME\n\x00\x7f\xff\x01";
        let frame = read(full).unwrap().remove(0).unwrap();
        assert_eq!(
            frame.as_raw(),
            &[0, 0, 0, 127, 127, 127, 255, 255, 255, 1, 1, 1]
        );
        let wide = b"YUV4MPEG2 W2 H1 C422\nFRAME\n\x10\x10\x80\x80";
        assert_eq!(read(wide).unwrap()[0].as_ref().unwrap().as_raw(), &[0; 6]);
        let all = b"YUV4MPEG2 W2 H1 C444\nFRAME\n\x10\x10\x80\x80\x80\x80";
        assert_eq!(read(all).unwrap().len(), 1);
        for bad in [
            "",
            "YUV4MPEG2 W2 H1",
            "YUV4MPEG2 W2\n",
            "YUV4MPEG2 W2 H1 C420p10\n",
            "YUV4MPEG2 W99999 H2\n",
            "RIFF W2 H2\n",
            "YUV4MPEG2 W1 H1 Cmono\nFROM\n",
        ] {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_end_well(bytes: Vec<u8>, w in 0u32..20000, h in 0u32..20000) {
            let header = format!("YUV4MPEG2 W{w} H{h} F25:1\nFRAME\n");
            let _ = read(&[header.as_bytes(), &bytes].concat());
            let _ = read(&bytes);
            let _ = read(&[b"YUV4MPEG2 ", bytes.as_slice(), b"\nFRAME\n"].concat());
        }
    }
}
