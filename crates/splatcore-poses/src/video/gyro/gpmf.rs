//! GPMF, what GoPro's cameras write beside their frames (gopro/gpmf-parser): a tree of keys of four
//! letters with a type, a size of structures and their number, then the data, all big-endian and
//! padded to four bytes. A packet holds some second of every sensor.

use super::values::{Gyro, Packet};

/// Trees in trees: a device, its streams, their values.
const DEEPEST: usize = 4;
/// A picture's turn against its camera, as quaternions whose first number is the cosine of half the
/// angle; beyond a tenth of a degree the camera stabilises.
const STEADY: f64 = 0.001;

/// A key with its data.
struct Item<'a> {
    key: [u8; 4],
    kind: u8,
    /// Bytes of a structure.
    size: usize,
    data: &'a [u8],
}

/// The keys of a level.
struct Items<'a>(&'a [u8]);

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        let (&header, rest) = self.0.split_first_chunk::<8>()?;
        let [a, b, c, d, kind, size, high, low] = header;
        let size = usize::from(size);
        let length = size * usize::from(u16::from_be_bytes([high, low]));
        let data = rest.get(..length)?;
        // The last padding may be missing.
        self.0 = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        let key = [a, b, c, d];
        (key != [0; 4]).then_some(Item {
            key,
            kind,
            size,
            data,
        })
    }
}

impl Item<'_> {
    /// The numbers, if they are of a type that sensors use.
    fn numbers(&self) -> Vec<f64> {
        fn each<const N: usize>(data: &[u8], of: impl Fn([u8; N]) -> f64) -> Vec<f64> {
            data.chunks_exact(N)
                .filter_map(|chunk| chunk.first_chunk().map(|bytes| of(*bytes)))
                .collect()
        }
        match self.kind {
            b's' => each(self.data, |b| f64::from(i16::from_be_bytes(b))),
            b'S' => each(self.data, |b| f64::from(u16::from_be_bytes(b))),
            b'l' => each(self.data, |b| f64::from(i32::from_be_bytes(b))),
            b'L' => each(self.data, |b| f64::from(u32::from_be_bytes(b))),
            b'f' => each(self.data, |b| f64::from(f32::from_be_bytes(b))),
            _ => Vec::new(),
        }
    }

    /// Numbers of a structure.
    fn width(&self) -> usize {
        match self.kind {
            b's' | b'S' => self.size / 2,
            _ => self.size / 4,
        }
    }
}

/// Adds what a packet says.
pub fn read(payload: &[u8], packet: &Packet, gyro: &mut Gyro) {
    level(payload, packet, gyro, DEEPEST);
}

/// Reads a level; what a stream says of its scale stands before its values.
fn level(data: &[u8], packet: &Packet, gyro: &mut Gyro, deeper: usize) {
    let mut scale = vec![1.0];
    for item in Items(data) {
        match &item.key {
            b"SCAL" => scale = item.numbers(),
            b"GYRO" if item.width() == 3 => add(&item, &scale, packet, gyro),
            b"IORI" if item.width() == 4 => {
                let (numbers, unit) = (item.numbers(), scale.first().copied().unwrap_or(1.0));
                let turned = numbers
                    .chunks_exact(4)
                    .any(|q| (q[0] / unit).abs() < 1.0 - STEADY);
                gyro.stabilised |= turned;
            }
            b"SROT" => {
                let read = item
                    .numbers()
                    .first()
                    .map(|milliseconds| 1e-3 * milliseconds);
                gyro.readout = gyro.readout.or(read.filter(|seconds| *seconds > 0.0));
            }
            _ if item.kind == 0 && deeper > 0 => level(item.data, packet, gyro, deeper - 1),
            _ => {}
        }
    }
}

/// Adds the turns of a packet, which are spread evenly over its time.
fn add(item: &Item<'_>, scale: &[f64], packet: &Packet, gyro: &mut Gyro) {
    let numbers = item.numbers();
    let count = numbers.len() / 3;
    for (i, turn) in numbers.chunks_exact(3).enumerate() {
        let scaled = |k: usize| turn[k] / scale.get(k).or(scale.first()).copied().unwrap_or(1.0);
        let share = i as f64 / count as f64;
        let seconds = packet.seconds + share * packet.duration;
        gyro.add(seconds, [0, 1, 2].map(scaled));
    }
}

/// The seconds of the read-out that the header of a GoPro's video says (`SROT` in its box `GPMF`).
pub fn readout_of(header: &[u8]) -> Option<f64> {
    let at = header.windows(8).position(|window| window == b"GPMFDEVC")?;
    let mut gyro = Gyro::default();
    let whole = Packet {
        seconds: 0.0,
        duration: 0.0,
        bytes: 0,
    };
    read(header.get(at + 4..)?, &whole, &mut gyro);
    gyro.readout
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A key with its data.
    fn item(key: &[u8; 4], kind: u8, size: u8, data: &[u8]) -> Vec<u8> {
        let count = if size == 0 {
            0
        } else {
            data.len() / usize::from(size)
        };
        let mut bytes = key.to_vec();
        bytes.extend([kind, size]);
        bytes.extend((count as u16).to_be_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// A packet with a gyroscope's values, in thousandths.
    fn payload(turns: &[[i16; 3]], image: &[i16]) -> Vec<u8> {
        let of =
            |values: &[i16]| -> Vec<u8> { values.iter().flat_map(|v| v.to_be_bytes()).collect() };
        let mut gyro = item(b"SCAL", b's', 2, &of(&[1000]));
        gyro.extend(item(b"GYRO", b's', 6, &of(turns.as_flattened())));
        let mut orientation = item(b"SCAL", b's', 2, &of(&[32767]));
        orientation.extend(item(b"IORI", b's', 8, &of(image)));
        let mut device = item(b"DVNM", b'c', 1, b"Hero");
        for stream in [&gyro, &orientation] {
            device.extend(item(b"STRM", 0, 1, stream));
        }
        item(b"DEVC", 0, 1, &device)
    }

    fn one(payload: &[u8]) -> Gyro {
        let packet = Packet {
            seconds: 2.0,
            duration: 1.0,
            bytes: payload.len(),
        };
        let mut gyro = Gyro::default();
        read(payload, &packet, &mut gyro);
        gyro
    }

    #[test]
    fn packets_tell_turns_over_their_time() {
        let still = [32767, 0, 0, 0];
        let gyro = one(&payload(&[[1000, -500, 250], [0, 0, 2000]], &still));
        assert_eq!(
            gyro.turns,
            [(2.0, [1.0, -0.5, 0.25]), (2.5, [0.0, 0.0, 2.0])]
        );
        assert!(!gyro.stabilised && gyro.readout.is_none());
        let turned = one(&payload(&[[1, 2, 3]], &[32600, 3000, 0, 0]));
        assert!(turned.stabilised);
    }

    #[test]
    fn the_header_tells_the_read_out() {
        let mut device = item(b"MINF", b'c', 1, b"HERO9 Black");
        device.extend(item(b"SROT", b'f', 4, &15.5f32.to_be_bytes()));
        let mut header = b"....udta....GPMF".to_vec();
        header.extend(item(b"DEVC", 0, 1, &device));
        assert_eq!(readout_of(&header), Some(0.0155));
        assert_eq!(readout_of(b"GPMF"), None);
        assert_eq!(readout_of(b"....GPMFDEVC"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            one(&bytes);
            let mut inside = payload(&[[1, 2, 3]], &[0; 4]);
            let at = bytes.len() % inside.len();
            inside.splice(at.., bytes);
            one(&inside);
            readout_of(&inside);
        }
    }
}
