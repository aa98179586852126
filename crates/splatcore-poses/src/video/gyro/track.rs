//! A video's stream of motion, by ffmpeg: which one it is, its packets, its bytes.

use super::values::{Gyro, Kind, Packet};
use super::{camm, gpmf};
use crate::PosesError;
use crate::child::{self, Call};
use crate::video::pipe::Pipe;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

/// More bytes of motion than this are not read: some hours.
const MOST: u64 = 1 << 28;
/// A video's header is shorter than this.
const HEADER: u64 = 1 << 28;
/// ffmpeg goes through a video's packets, without decoding, in less than this.
const LIMIT: Duration = Duration::from_secs(600);

/// A video and the ffmpeg that reads it.
pub struct Source<'a> {
    pub ffmpeg: &'a Path,
    pub video: &'a Path,
    pub stop: &'a dyn Fn() -> bool,
}

impl Source<'_> {
    fn call(&self) -> Call {
        Call::new(self.ffmpeg)
            .args(["-nostdin", "-v", "error", "-i"])
            .arg(self.video)
    }

    /// The packets of a stream in the file's order; none if ffmpeg cannot list them.
    pub fn packets(&self, stream: &str) -> Result<Vec<Packet>, PosesError> {
        let call = self
            .call()
            .args(["-map", stream, "-c", "copy", "-copy_unknown", "-copyts"])
            .args(["-f", "framecrc", "-"]);
        let mut listed = Listed::default();
        let start = std::time::Instant::now();
        let stop = || (self.stop)() || start.elapsed() > LIMIT;
        let end = child::run(&call, &stop, &mut |line| {
            listed.line(line);
            Ok(())
        })?;
        let whole = matches!(end, child::End::Exited(status) if status.success());
        Ok(if whole { listed.packets } else { Vec::new() })
    }

    /// What the stream of motion says; nothing if there is none that can be read.
    pub fn gyro(&self, about: &str) -> Result<Option<Gyro>, PosesError> {
        let Some((stream, kind)) = motion_stream(about) else {
            return Ok(None);
        };
        let packets = self.packets(&stream)?;
        let call = self
            .call()
            .args(["-map", &stream, "-c", "copy", "-copy_unknown"])
            .args(["-f", "data", "-"]);
        let mut bytes = Vec::new();
        let pipe = Pipe::start(call, self.stop)?;
        if pipe.take(MOST).read_to_end(&mut bytes).is_err() {
            return Ok(None);
        }
        let mut gyro = read(kind, &packets, &bytes);
        if kind == Kind::Gpmf && gyro.readout.is_none() {
            gyro.readout = header(self.video)
                .ok()
                .flatten()
                .and_then(|h| gpmf::readout_of(&h));
        }
        Ok((!gyro.turns.is_empty()).then_some(gyro))
    }
}

/// What a stream's packets say.
fn read(kind: Kind, packets: &[Packet], bytes: &[u8]) -> Gyro {
    let (mut gyro, mut rest) = (Gyro::default(), bytes);
    for packet in packets {
        let Some((payload, after)) = rest.split_at_checked(packet.bytes) else {
            break;
        };
        rest = after;
        match kind {
            Kind::Gpmf => gpmf::read(payload, packet, &mut gyro),
            Kind::Camm => camm::read(payload, packet, &mut gyro),
        }
    }
    gyro.turns.sort_by(|a, b| a.0.total_cmp(&b.0));
    gyro
}

/// `  Stream #0:3[0x4](eng): Data: bin_data (gpmd / 0x646D7067), 29 kb/s (default)`.
fn motion_stream(about: &str) -> Option<(String, Kind)> {
    about.lines().find_map(|line| {
        let (stream, what) = line
            .trim_start()
            .strip_prefix("Stream #")?
            .split_once(" Data: ")?;
        let kind = match what {
            _ if what.contains("(gpmd") => Kind::Gpmf,
            _ if what.contains("(camm") => Kind::Camm,
            _ => return None,
        };
        let is_other = |c: char| !(c.is_ascii_digit() || c == ':');
        let number = stream.split(is_other).next()?.trim_end_matches(':');
        Some((number.to_owned(), kind))
    })
}

/// Packets as ffmpeg's `framecrc` lists them.
#[derive(Default)]
struct Listed {
    /// Seconds of a tick.
    tick: f64,
    packets: Vec<Packet>,
}

impl Listed {
    /// `#tb 0: 1/15360`, or `0, -1024, 0, 512, 5013, 0x78...`: stream, time of decoding, of
    /// showing, duration, bytes.
    fn line(&mut self, line: &str) {
        if let Some(of) = line.strip_prefix("#tb 0: ") {
            let parts = of.split_once('/');
            let number = |text: &str| text.trim().parse::<f64>().ok();
            if let Some((Some(a), Some(b))) = parts.map(|(a, b)| (number(a), number(b))) {
                self.tick = a / b;
            }
            return;
        }
        let words: Vec<Option<f64>> = line
            .split(',')
            .map(|word| word.trim().parse().ok())
            .collect();
        if let [Some(_), decoded, shown, lasts, Some(bytes), ..] = words[..] {
            // A packet without a time still has its bytes.
            let ticks = shown.or(decoded).unwrap_or(f64::NAN);
            self.packets.push(Packet {
                seconds: ticks * self.tick,
                duration: lasts.unwrap_or(0.0) * self.tick,
                bytes: bytes as usize,
            });
        }
    }
}

/// The box `moov` of an MP4, where there is one.
fn header(video: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let mut file = File::open(video)?;
    let whole = file.metadata()?.len();
    let mut at = 0;
    while at + 16 <= whole {
        file.seek(SeekFrom::Start(at))?;
        let mut head = [0; 16];
        file.read_exact(&mut head)?;
        let [s0, s1, s2, s3, k0, k1, k2, k3, long @ ..] = head;
        let size = match u32::from_be_bytes([s0, s1, s2, s3]) {
            0 => whole - at,
            1 => u64::from_be_bytes(long),
            size => u64::from(size),
        };
        if &[k0, k1, k2, k3] == b"moov" && size <= HEADER {
            file.seek(SeekFrom::Start(at))?;
            let mut bytes = Vec::new();
            file.take(size).read_to_end(&mut bytes)?;
            return Ok(Some(bytes));
        }
        // A box is at least its head; others would be read for ever.
        at = at.saturating_add(size.max(8));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_motion_are_found() {
        let about = "  Stream #0:1[0x2](eng): Audio: aac (mp4a / 0x6134706D), 48000 Hz\n  Stream \
                     #0:2[0x3](eng): Data: none (tmcd / 0x64636D74)\n  Stream #0:3[0x4](eng): \
                     Data: bin_data (gpmd / 0x646D7067), 29 kb/s (default)\n";
        let found = Some(("0:3".to_owned(), Kind::Gpmf));
        assert_eq!(motion_stream(about), found);
        let about = "  Stream #0:1: Data: none (camm / 0x6D6D6163), 37 kb/s";
        assert_eq!(motion_stream(about), Some(("0:1".to_owned(), Kind::Camm)));
        assert_eq!(motion_stream("  Stream #0:0: Video: h264"), None);
    }

    #[test]
    fn listed_packets_have_times() {
        let mut listed = Listed::default();
        for line in [
            "#software: Lavf59.27.100",
            "#tb 0: 1/1000",
            "#media_type 0: data",
            "0,          0,        100,     1001,     5013, 0x6d9b0d8b",
            "0,       1001,        N/A,     1001,     5013, 0x6d9b0d8b",
            "0,       2002,       2102,     1001,       12, 0x6d9b0d8b, F=0x5",
        ] {
            listed.line(line);
        }
        let shown = listed.packets.iter().map(|packet| 1e3 * packet.seconds);
        let shown: Vec<i32> = shown.map(|v| v.round() as i32).collect();
        assert_eq!(shown, [100, 1001, 2102]);
        assert_eq!(listed.packets[2].bytes, 12);
    }

    #[test]
    fn the_header_is_found_behind_the_frames() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut bytes = b"\0\0\0\x0cftypisom".to_vec();
        bytes.extend(b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x14abcd");
        bytes.extend(b"\0\0\0\x0cmoovGPMF");
        bytes.extend([0; 8]);
        std::fs::write(&file, &bytes).unwrap();
        let found = header(file.path()).unwrap().unwrap();
        assert_eq!(found, b"\0\0\0\x0cmoovGPMF");
        for cut in 0..bytes.len() {
            std::fs::write(&file, &bytes[..cut]).unwrap();
            let _ = header(file.path());
        }
    }
}
