//! CAMM, the camera motion metadata of Android's cameras and of 360-degree cameras ("Camera Motion
//! Metadata Spec", Google): packets of one kind each, little-endian.

use super::values::{Gyro, Packet};

/// Exposure and read-out of a frame, in nanoseconds.
const EXPOSURE: u16 = 1;
/// Radians a second.
const GYRO: u16 = 2;

/// Adds what a packet says.
pub fn read(payload: &[u8], packet: &Packet, gyro: &mut Gyro) {
    let word = |at: usize| payload.get(at..).and_then(|rest| rest.first_chunk::<4>());
    let Some(&[_, _, low, high]) = word(0) else {
        return;
    };
    match u16::from_le_bytes([low, high]) {
        EXPOSURE => {
            let nanoseconds = word(8).map(|&bytes| i32::from_le_bytes(bytes));
            let read = nanoseconds.filter(|&value| value > 0);
            gyro.readout = gyro.readout.or(read.map(|value| 1e-9 * f64::from(value)));
        }
        GYRO => {
            if let [Some(x), Some(y), Some(z)] = [4, 8, 12].map(word) {
                let turn = [x, y, z].map(|&bytes| f64::from(f32::from_le_bytes(bytes)));
                gyro.add(packet.seconds, turn);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_tell_turns_and_the_read_out() {
        let turn = |values: [f32; 3]| {
            let mut bytes = vec![0, 0, 2, 0];
            bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
            bytes
        };
        let mut exposure = vec![0, 0, 1, 0];
        exposure.extend(2_000_000i32.to_le_bytes());
        exposure.extend(16_000_000i32.to_le_bytes());
        let payloads = [
            turn([0.5, -0.25, 2.0]),
            exposure,
            turn([f32::NAN, 0.0, 0.0]),
            vec![0, 0, 2, 0, 1],
            vec![9],
        ];
        let mut gyro = Gyro::default();
        for (i, payload) in payloads.iter().enumerate() {
            let packet = Packet {
                seconds: 0.01 * i as f64,
                duration: 0.01,
                bytes: payload.len(),
            };
            read(payload, &packet, &mut gyro);
        }
        assert_eq!(gyro.turns, [(0.0, [0.5, -0.25, 2.0])]);
        assert_eq!(gyro.readout, Some(0.016));
        assert!(!gyro.stabilised);
    }
}
