//! The gyroscope of a video: what the camera wrote of its turns into the file.
//!
//! | question | file |
//! | --- | --- |
//! | which bytes are its, and when were they written | `track.rs` |
//! | what do GoPro's bytes say | `gpmf.rs` |
//! | what do the bytes of CAMM say | `camm.rs` |
//! | how do its axes and its clock lie to those of the photos | `align.rs` |

mod align;
mod camm;
mod gpmf;
mod track;

pub use align::{Aligned, Misfit, align};
pub use track::{Kind, Packet, Source};

/// What a video says of its camera's turns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gyro {
    /// Seconds, ascending, and radians a second about the axes of the sensor, of which nothing is
    /// known but that they are at right angles.
    pub turns: Vec<(f64, [f64; 3])>,
    /// Seconds from the reading of a frame's first line to that of its last.
    pub readout: Option<f64>,
    /// The camera turned its pictures against its own turns.
    pub stabilised: bool,
}

impl Gyro {
    /// Of a track's packets.
    pub fn of(kind: Kind, packets: &[Packet], bytes: &[u8]) -> Self {
        let mut gyro = Self::default();
        let mut rest = bytes;
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
        let finite =
            |turn: &(f64, [f64; 3])| turn.0.is_finite() && turn.1.iter().all(|v| v.is_finite());
        gyro.turns.retain(finite);
        gyro.turns.sort_by(|a, b| a.0.total_cmp(&b.0));
        gyro
    }
}
