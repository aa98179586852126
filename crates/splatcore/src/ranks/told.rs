//! What rank 0 decides for all, as bytes.

use super::frames::Kind;
use splatcore_train::{Decision, End};

/// A decision of rank 0.
pub trait Told: Copy {
    /// The frames that carry it.
    const KIND: Kind;
    /// It as bytes.
    fn bytes(&self) -> Vec<u8>;
    /// From those bytes; what is missing is 0.
    fn of(bytes: &[u8]) -> Self;
}

impl Told for Decision {
    const KIND: Kind = Kind::Decision;

    fn bytes(&self) -> Vec<u8> {
        let Self {
            stop,
            time_is_up,
            look,
            save,
            plan,
            judge,
        } = *self;
        let all = [stop, time_is_up, look, save, plan, judge];
        all.map(u8::from).into()
    }

    fn of(bytes: &[u8]) -> Self {
        let flag = |at: usize| bytes.get(at).is_some_and(|&byte| byte != 0);
        Self {
            stop: flag(0),
            time_is_up: flag(1),
            look: flag(2),
            save: flag(3),
            plan: flag(4),
            judge: flag(5),
        }
    }
}

impl Told for End {
    const KIND: Kind = Kind::End;

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.iterations.to_le_bytes().to_vec();
        bytes.extend(self.reached.iter().flat_map(|psnr| psnr.to_le_bytes()));
        bytes
    }

    fn of(bytes: &[u8]) -> Self {
        let iterations = bytes.first_chunk().copied().unwrap_or_default();
        let psnr = bytes.get(4..).and_then(<[u8]>::first_chunk);
        Self {
            iterations: u32::from_le_bytes(iterations),
            reached: psnr.map(|&psnr| f64::from_le_bytes(psnr)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_what_is_heard() {
        for k in 0..6 {
            let mut bytes = [0; 6];
            bytes[k] = 1;
            assert_eq!(Decision::of(&bytes).bytes(), bytes);
        }
        for reached in [None, Some(31.25)] {
            let end = End {
                iterations: 70_001,
                reached,
            };
            assert_eq!(End::of(&end.bytes()), end);
        }
        assert_eq!(Decision::of(&[]), Decision::default());
        assert_eq!(End::of(&[]), End::default());
    }
}
