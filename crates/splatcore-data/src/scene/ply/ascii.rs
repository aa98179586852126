//! The data of an ascii PLY: a line per row, values between blanks.

use super::header::{Element, Header, Kind};
use super::layout::{Layout, TRUNCATED, fill_row};
use crate::words::quoted;
use crate::{DataError, Place};
use splatcore_core::Gaussians;
use std::path::Path;

/// Decodes the element `vertex`.
pub fn decode(
    bytes: &[u8],
    header: &Header,
    layout: &Layout,
    path: &Path,
) -> Result<Gaussians, DataError> {
    let mut lines = bytes[header.end..]
        .split(|&b| b == b'\n')
        .enumerate()
        .map(|(i, line)| (header.lines + i + 1, line))
        .filter(|(_, line)| !line.trim_ascii().is_empty());
    let ended = |element: &Element, row: u64| {
        let name = quoted(&element.name);
        let problem = format!(
            "the data ends after row {row} of {} of element {name}",
            element.count
        );
        DataError::new(path, problem, TRUNCATED).at(Place::Byte(bytes.len() as u64))
    };
    for element in &header.elements[..layout.element] {
        // A row without properties has no line.
        let count = if element.properties.is_empty() {
            0
        } else {
            element.count
        };
        for row in 0..count {
            lines.next().ok_or_else(|| ended(element, row))?;
        }
    }
    let vertex = &header.elements[layout.element];
    // A value takes a digit and a blank at least.
    let least = 2 * vertex.properties.len() as u64;
    let left = (bytes.len() - header.end) as u64 + 1;
    if vertex
        .count
        .checked_mul(least)
        .is_none_or(|needed| needed > left)
    {
        let problem = format!(
            "the header declares {} rows of element \"vertex\", {left} bytes of data cannot hold \
             them",
            vertex.count
        );
        return Err(DataError::new(path, problem, TRUNCATED).at(Place::Byte(bytes.len() as u64)));
    }
    let mut gaussians = Gaussians::zeros(vertex.count as usize, layout.sh_degree);
    let mut row = vec![0.0; vertex.properties.len()];
    for i in 0..gaussians.len() {
        let (line, text) = lines.next().ok_or_else(|| ended(vertex, i as u64))?;
        numbers(text, vertex, &mut row)
            .map_err(|problem| DataError::new(path, problem, TRUNCATED).at(Place::Line(line)))?;
        fill_row(&mut gaussians, i, &layout.slots, |slot| row[slot.column]);
    }
    Ok(gaussians)
}

/// Reads a line into one value per property; lists are passed over.
fn numbers(line: &[u8], element: &Element, row: &mut [f32]) -> Result<(), String> {
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    for (column, property) in element.properties.iter().enumerate() {
        let mut number = || {
            let word = words.next().ok_or(format!(
                "the line ends before property {}",
                quoted(&property.name)
            ))?;
            parse(word).ok_or_else(|| {
                let word = quoted(&String::from_utf8_lossy(word));
                format!("{word} is no number (property {})", quoted(&property.name))
            })
        };
        row[column] = number()?;
        if let Kind::List { .. } = property.kind {
            for _ in 0..row[column] as u64 {
                number()?;
            }
        }
    }
    Ok(())
}

fn parse(word: &[u8]) -> Option<f32> {
    // Straight to f32: through f64 a value could be rounded twice.
    match std::str::from_utf8(word).ok()?.parse() {
        Ok(number) => Some(number),
        // As C libraries write it: nan(ind), -nan(snan), 1.#QNAN, 1.#INF. The row is dropped later.
        Err(_)
            if word
                .windows(3)
                .any(|w| w.eq_ignore_ascii_case(b"nan") || w == b"#IN") =>
        {
            Some(f32::NAN)
        }
        Err(_) => None,
    }
}
