//! How much light each photo took, by what its camera noted in EXIF data.

use super::Dataset;
use exif::{Exif, In, Tag, Value};
use rayon::prelude::*;
use std::io::BufReader;
use std::path::Path;

/// Photos of one capture do not differ by more stops from the middle one than this.
const MAX_STOPS: f32 = 12.0;
/// Seconds, f-numbers and ISO speeds that a camera can have.
const TIMES: [f64; 2] = [1e-6, 3600.0];
const F_NUMBERS: [f64; 2] = [0.3, 256.0];
const SPEEDS: [f64; 2] = [1.0, 1e7];

/// What the cameras noted of the photos' exposures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exposures {
    /// Of each photo that was asked for, by how many stops its exposure is larger than that of the
    /// middle one of those that are known: log2 of time times speed over the square of the
    /// f-number. `None` if it has no such data, or data that make no sense.
    pub stops: Vec<Option<f32>>,
    /// Names of the photos whose data make no sense.
    pub nonsense: Vec<String>,
}

/// What a photo says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Noted {
    Nothing,
    /// log2 of seconds times ISO speed over the square of the f-number.
    Stops(f32),
    Nonsense,
}

impl Dataset {
    /// What the cameras noted of the exposures of some entries, in that order. Decodes no pixel.
    ///
    /// # Panics
    /// If an index is not below `entries.len()`.
    pub fn exposures(&self, indices: &[usize]) -> Exposures {
        let image = |&index: &usize| read(&self.entries[index].image);
        let mut noted: Vec<Noted> = indices.par_iter().map(image).collect();
        let known = noted.iter().filter_map(|noted| match noted {
            Noted::Stops(stops) => Some(*stops),
            _ => None,
        });
        let mut known: Vec<f32> = known.collect();
        known.sort_by(f32::total_cmp);
        let middle = known.get(known.len() / 2).copied().unwrap_or_default();
        for noted in &mut noted {
            if let Noted::Stops(stops) = noted {
                *noted = match *stops - middle {
                    stops if stops.abs() <= MAX_STOPS => Noted::Stops(stops),
                    _ => Noted::Nonsense,
                };
            }
        }
        let wrong = indices.iter().zip(&noted);
        let wrong = wrong.filter(|(_, noted)| **noted == Noted::Nonsense);
        Exposures {
            nonsense: wrong
                .map(|(&index, _)| self.entries[index].name.clone())
                .collect(),
            stops: noted
                .into_iter()
                .map(|noted| match noted {
                    Noted::Stops(stops) => Some(stops),
                    _ => None,
                })
                .collect(),
        }
    }
}

/// What a photo says; one that cannot be read says nothing here.
fn read(path: &Path) -> Noted {
    let Ok(file) = std::fs::File::open(path) else {
        return Noted::Nothing;
    };
    match exif::Reader::new().read_from_container(&mut BufReader::new(file)) {
        Ok(exif) => stops(&exif),
        Err(_) => Noted::Nothing,
    }
}

fn stops(exif: &Exif) -> Noted {
    let tags = [
        (Tag::ExposureTime, TIMES),
        (Tag::FNumber, F_NUMBERS),
        (Tag::PhotographicSensitivity, SPEEDS),
    ];
    let mut values = [0.0; 3];
    for (value, (tag, [least, most])) in values.iter_mut().zip(tags) {
        let Some(field) = exif.get_field(tag, In::PRIMARY) else {
            return Noted::Nothing;
        };
        *value = number(&field.value).unwrap_or(f64::NAN);
        if !(least..=most).contains(value) {
            return Noted::Nonsense;
        }
    }
    let [time, f_number, speed] = values;
    Noted::Stops((time * speed / (f_number * f_number)).log2() as f32)
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Rational(values) => values.first().map(|value| value.to_f64()),
        whole => whole.get_uint(0).map(f64::from),
    }
}
