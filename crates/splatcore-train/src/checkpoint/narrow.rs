//! Numbers in the fewest bytes that hold them exactly.

use std::io::{self, Write};

/// Numbers that become bytes in one go.
const CHUNK: usize = 1 << 16;
/// Values that a byte can name.
const MAX_VALUES: usize = 256;
/// In place of a code.
const NONE: u16 = u16::MAX;

/// Numbers of at most 256 values, which their high halves tell apart; a byte each.
pub(super) struct Codes<'a> {
    numbers: &'a [f32],
    /// What each code stands for.
    pub(super) values: Vec<f32>,
    /// The code of each high half, or [`NONE`].
    codes: Vec<u16>,
}

impl<'a> Codes<'a> {
    /// None if there are more, or if they and their values take more bytes than halves.
    pub(super) fn of(numbers: &'a [f32]) -> Option<Self> {
        let (mut values, mut codes) = (Vec::new(), vec![NONE; 1 << 16]);
        for &number in numbers {
            let code = &mut codes[high_half(number)];
            if *code == NONE {
                *code = values.len() as u16;
                values.push(number);
            }
            let same = values[*code as usize].to_bits() == number.to_bits();
            if !same || values.len() > MAX_VALUES {
                return None;
            }
        }
        // The values take room too.
        let pays = 8 * values.len() <= numbers.len();
        pays.then_some(Self {
            numbers,
            values,
            codes,
        })
    }
}

fn high_half(number: f32) -> usize {
    (number.to_bits() >> 16) as usize
}

/// Numbers as they are written.
pub(super) enum Narrow<'a> {
    /// The high halves of f32 whose low halves are zero.
    Halves(&'a [f32]),
    /// See [`Codes`].
    Codes(Codes<'a>),
}

impl<'a> Narrow<'a> {
    /// In halves, if those hold them.
    pub(super) fn halves(numbers: &'a [f32]) -> Option<Self> {
        let fit = numbers.iter().all(|number| number.to_bits() as u16 == 0);
        fit.then_some(Self::Halves(numbers))
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Halves(numbers) => 2 * numbers.len(),
            Self::Codes(codes) => codes.numbers.len(),
        }
    }

    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Halves(numbers) => write_chunks(numbers, out, |number, bytes| {
                bytes.extend((high_half(number) as u16).to_le_bytes());
            }),
            Self::Codes(of) => write_chunks(of.numbers, out, |number, bytes| {
                bytes.push(of.codes[high_half(number)] as u8);
            }),
        }
    }
}

fn write_chunks(
    numbers: &[f32],
    out: &mut impl Write,
    encode: impl Fn(f32, &mut Vec<u8>),
) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(2 * CHUNK);
    numbers.chunks(CHUNK).try_for_each(|chunk| {
        bytes.clear();
        chunk.iter().for_each(|&number| encode(number, &mut bytes));
        out.write_all(&bytes)
    })
}
