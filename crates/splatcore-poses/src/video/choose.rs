//! Which frames to take.

use super::measure::Measured;

/// Frames whose blocks differ less than this on average, in grey values of 255, show the same from
/// the same place. Rounding and a sensor's noise give some 0.4.
const STILL: f64 = 0.75;

/// Frames that were chosen.
#[derive(Debug, PartialEq)]
pub struct Chosen {
    /// Their indices, ascending.
    pub frames: Vec<usize>,
    /// How many were left out because the camera stood still.
    pub still: usize,
}

/// The sharpest frame of each of `wanted` windows of equal length, without those that show what the
/// one before shows. Of equally sharp ones the first.
pub fn choose(frames: &[Measured], wanted: usize) -> Chosen {
    let count = wanted.clamp(1, frames.len().max(1));
    let mut chosen = Chosen {
        frames: Vec::new(),
        still: 0,
    };
    for window in 0..count {
        let (start, end) = (
            window * frames.len() / count,
            (window + 1) * frames.len() / count,
        );
        let sharpest = (start..end).reduce(|best, i| {
            if frames[i].sharpness > frames[best].sharpness {
                i
            } else {
                best
            }
        });
        let Some(sharpest) = sharpest else {
            continue;
        };
        let last = chosen.frames.last();
        if last.is_some_and(|&last| frames[last].difference(&frames[sharpest]) < STILL) {
            chosen.still += 1;
        } else {
            chosen.frames.push(sharpest);
        }
    }
    chosen
}

impl Chosen {
    /// For people.
    pub fn described(&self, found: usize, rate: Option<f64>) -> String {
        let rounded = |rate: f64| (100.0 * rate).round() / 100.0;
        let rate = rate.map_or(String::new(), |rate| {
            format!(" at {} a second", rounded(rate))
        });
        let still = match self.still {
            0 => String::new(),
            n => format!("; {n} more show what the one before shows"),
        };
        format!(
            "{found} frames{rate}: the sharpest of each of {} windows{still}",
            self.frames.len() + self.still
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::{Luma, shrink};
    use super::*;
    use splatcore_core::random::Rng;

    /// A texture seen from `at`, blurred over `blur` pixels, with noise.
    fn frame(at: f64, blur: usize, rng: &mut Rng) -> Measured {
        let (w, h) = (320, 180);
        let texture = |x: f64, y: f64| {
            let wave = |a: f64, b: f64| ((x * a).sin() * (y * b).cos() + 1.0) * 55.0;
            wave(0.9, 0.7) + wave(0.031, 0.023)
        };
        let mut data = Vec::new();
        for y in 0..h {
            for x in 0..w {
                let sum: f64 = (0..blur)
                    .map(|k| texture(at + (x + k) as f64, y as f64))
                    .sum();
                data.push((sum / blur as f64 + 2.0 * rng.normal() as f64).clamp(0.0, 255.0) as u8);
            }
        }
        let small = shrink(w, h, &data);
        Measured::of(&Luma {
            width: small.width,
            height: small.height,
            data: small.data,
        })
    }

    #[test]
    fn blurred_frames_are_not_chosen() {
        let mut rng = Rng::new(1, 1);
        // Of every six frames two are sharp.
        let blur = |i: usize| {
            if i % 6 == 2 || i % 6 == 5 {
                1
            } else {
                4 + i % 3
            }
        };
        let frames: Vec<_> = (0..60)
            .map(|i| frame(9.0 * i as f64, blur(i), &mut rng))
            .collect();
        let chosen = choose(&frames, 10);
        assert_eq!((chosen.frames.len(), chosen.still), (10, 0));
        for (window, i) in chosen.frames.iter().enumerate() {
            assert_eq!(blur(*i), 1, "frame {i}");
            assert_eq!(i / 6, window);
        }
    }

    #[test]
    fn a_camera_that_stands_still_gives_one_frame() {
        let mut rng = Rng::new(2, 1);
        let place = |i: usize| {
            if i < 40 {
                5.0
            } else {
                5.0 + 9.0 * (i - 39) as f64
            }
        };
        let frames: Vec<_> = (0..80).map(|i| frame(place(i), 1, &mut rng)).collect();
        let chosen = choose(&frames, 8);
        assert_eq!(chosen.still, 3, "{chosen:?}");
        assert!(chosen.frames[0] < 10 && chosen.frames[1] >= 40);
        assert_eq!(chosen.frames.len(), 5);
    }

    #[test]
    fn windows_cover_any_number_of_frames() {
        let frame = |i: usize| Measured {
            sharpness: i as f32,
            thumb: vec![(i * 9 % 256) as u8; 4],
        };
        let frames: Vec<_> = (0..7).map(frame).collect();
        assert_eq!(choose(&frames, 3).frames, [1, 3, 6]);
        assert_eq!(choose(&frames, 100).frames, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(choose(&frames, 0).frames, [6]);
        assert_eq!(
            choose(&[], 5),
            Chosen {
                frames: vec![],
                still: 0
            }
        );
        let nan = vec![
            Measured {
                sharpness: f32::NAN,
                thumb: vec![]
            };
            3
        ];
        assert_eq!(choose(&nan, 1).frames, [0]);
    }
}
