//! What a video says of its camera's turns.

/// How motion is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Gpmf,
    Camm,
}

/// A packet of a stream of motion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// When what it holds begins.
    pub seconds: f64,
    /// Seconds that it lasts.
    pub duration: f64,
    pub bytes: usize,
}

/// What a video says of its camera's turns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gyro {
    /// Seconds, and radians a second about the axes of the sensor, of which nothing is known but
    /// that they are at right angles.
    pub turns: Vec<(f64, [f64; 3])>,
    /// Seconds from the reading of a frame's first line to that of its last.
    pub readout: Option<f64>,
    /// The camera turned its pictures against its own turns.
    pub stabilised: bool,
}

impl Gyro {
    /// Adds a value, unless it is none.
    pub fn add(&mut self, seconds: f64, turn: [f64; 3]) {
        if seconds.is_finite() && turn.iter().all(|v| v.is_finite()) {
            self.turns.push((seconds, turn));
        }
    }
}
