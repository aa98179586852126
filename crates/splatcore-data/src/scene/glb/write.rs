//! Writing glTF.
//!
//! One buffer, a column an attribute, as other writers lay it out and as every reader expects it.
//! The scene is read once, in pieces: each piece's part of a column is written at its place in the
//! file. The JSON, which stands first and holds the bounds of the positions, is written again at
//! the end, padded to the same length.

use crate::scene::linear::{clamped, clamped_note, opacity, scale, unit};
use crate::scene::rows::{Rows, in_pieces};
use crate::scene::written::{Progress, WriteOptions, Written, size_of};
use crate::scene::y_up::to_y_up;
use crate::{DataError, file};
use serde_json::{Value, json};
use splatcore_core::{Gaussians, sh};
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

const PREFIX: &str = "KHR_gaussian_splatting:";
/// Component types.
const UNSIGNED_SHORT: u32 = 5123;
const FLOAT: u32 = 5126;
/// The target of buffer views that hold attributes.
const ARRAY_BUFFER: u32 = 34962;

/// Writes Gaussians as one mesh of points: all attributes f32, `COLOR_0` beside them for programs
/// that do not know the extension. PLY's axes are turned to glTF's, y up.
///
/// # Errors
/// If there are no Gaussians, the file would be larger than 4 GiB, which the format cannot, or it
/// cannot be written; then nothing is left under its name but what was there before.
pub fn write(
    path: &Path,
    rows: &dyn Rows,
    options: &WriteOptions,
    progress: Progress,
) -> Result<Written, DataError> {
    if rows.is_empty() {
        let problem = "would hold no Gaussians, and glTF has no empty meshes";
        return Err(DataError::new(path, problem, "write a .ply"));
    }
    let degree = rows.sh_degree().min(sh::MAX_DEGREE);
    let layout = Layout::new(rows.len() as u64, degree);
    if layout.length() > u64::from(u32::MAX) {
        let length = layout.length();
        let problem = format!("would take {length} bytes, and a .glb holds less than 4 GiB");
        let remedy = "write a .ply, .sog or .spz, or fewer Gaussians or spherical harmonics";
        return Err(DataError::new(path, problem, remedy));
    }
    let mut seen = Seen::default();
    file::write_atomically(path, |writer| {
        layout.write_head(writer, &seen)?;
        in_pieces(rows, |start, piece| {
            layout.write_piece(writer, start as u64, piece, &mut seen)?;
            progress("writing", (start + piece.len()) as u64, rows.len() as u64);
            Ok::<(), io::Error>(())
        })?;
        layout.write_head(writer, &seen)
    })?;
    let mut notes = Vec::new();
    if rows.sh_degree() > degree {
        let had = rows.sh_degree();
        notes.push(format!(
            "spherical harmonics of degree {had} are cut to {degree}"
        ));
    }
    if options.antialiased {
        notes.push("glTF cannot say that the scene wants Mip-Splatting's 2D filter".into());
    }
    notes.extend(clamped_note(seen.clamped));
    Ok(Written {
        bytes: size_of(path)?,
        notes,
    })
}

/// What the pieces told.
#[derive(Default)]
struct Seen {
    /// The least and the greatest position; none before the first.
    bounds: Option<[[f32; 3]; 2]>,
    clamped: usize,
}

/// A column of the buffer.
#[derive(Clone, Copy)]
enum Column {
    Position,
    Colour,
    Rotation,
    Scale,
    Opacity,
    /// A coefficient of the spherical harmonics.
    Harmonic(usize),
}

impl Column {
    /// Its attribute, its type, its components' type, and its bytes a Gaussian.
    fn describe(self) -> (String, &'static str, u32, u64) {
        let own = |name: &str| format!("{PREFIX}{name}");
        match self {
            Self::Position => ("POSITION".into(), "VEC3", FLOAT, 12),
            Self::Colour => ("COLOR_0".into(), "VEC4", UNSIGNED_SHORT, 8),
            Self::Rotation => (own("ROTATION"), "VEC4", FLOAT, 16),
            Self::Scale => (own("SCALE"), "VEC3", FLOAT, 12),
            Self::Opacity => (own("OPACITY"), "SCALAR", FLOAT, 4),
            Self::Harmonic(k) => {
                let degree = k.isqrt();
                let n = k - degree * degree;
                let name = own(&format!("SH_DEGREE_{degree}_COEF_{n}"));
                (name, "VEC3", FLOAT, 12)
            }
        }
    }

    /// Appends one Gaussian's bytes.
    fn append(self, bytes: &mut Vec<u8>, piece: &Gaussians, i: usize) {
        let mut floats = |values: &[f32]| {
            bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        };
        match self {
            Self::Position => floats(&piece.means[i]),
            Self::Rotation => {
                let [w, x, y, z] = unit(piece.rotations[i]);
                floats(&[x, y, z, w]);
            }
            Self::Scale => floats(&piece.log_scales[i].map(scale)),
            Self::Opacity => floats(&[opacity(piece.opacity_logits[i])]),
            Self::Harmonic(k) => floats(&piece.sh_of(i)[k]),
            Self::Colour => {
                let [r, g, b] = piece.sh_of(i)[0].map(|c| linear_light(sh::to_colour(c)));
                let alpha = opacity(piece.opacity_logits[i]);
                let words = [r, g, b, alpha].map(|v| (v * 65535.0).round() as u16);
                bytes.extend(words.iter().flat_map(|v| v.to_le_bytes()));
            }
        }
    }
}

/// Where everything is in the file.
struct Layout {
    count: u64,
    columns: Vec<Column>,
    /// Length of the JSON chunk.
    json: usize,
}

impl Layout {
    fn new(count: u64, sh_degree: u8) -> Self {
        let mut columns = vec![
            Column::Position,
            Column::Colour,
            Column::Rotation,
            Column::Scale,
            Column::Opacity,
        ];
        columns.extend((0..sh::coefficients(sh_degree)).map(Column::Harmonic));
        let mut layout = Self {
            count,
            columns,
            json: 0,
        };
        // Numbers as long as JSON's get.
        let longest = layout.json(&[[f64::MIN_POSITIVE * -1.1; 3]; 2]).len();
        layout.json = (longest + 64).next_multiple_of(4);
        layout
    }

    /// Bytes of the buffer.
    fn buffer(&self) -> u64 {
        let row: u64 = self.columns.iter().map(|column| column.describe().3).sum();
        row * self.count
    }

    /// Bytes before the buffer: the headers of the file and of two chunks, and the JSON.
    fn start(&self) -> u64 {
        12 + 8 + self.json as u64 + 8
    }

    /// Bytes of the file. All columns have multiples of four bytes, so nothing is padded.
    fn length(&self) -> u64 {
        self.start() + self.buffer()
    }

    fn json(&self, [least, greatest]: &[[f64; 3]; 2]) -> String {
        let mut offset = 0;
        let mut views = Vec::new();
        let mut accessors = Vec::new();
        let mut attributes = serde_json::Map::new();
        for (i, column) in self.columns.iter().enumerate() {
            let (name, kind, component, size) = column.describe();
            let length = size * self.count;
            views.push(json!({
                "buffer": 0, "byteOffset": offset, "byteLength": length, "target": ARRAY_BUFFER,
            }));
            offset += length;
            let mut accessor = json!({
                "bufferView": i, "componentType": component, "count": self.count, "type": kind,
            });
            match column {
                Column::Position => {
                    accessor["min"] = json!(least);
                    accessor["max"] = json!(greatest);
                }
                Column::Colour => accessor["normalized"] = Value::Bool(true),
                _ => (),
            }
            accessors.push(accessor);
            attributes.insert(name, i.into());
        }
        let primitive = json!({
            "attributes": attributes,
            "mode": 0,
            "extensions": {
                "KHR_gaussian_splatting": {
                    "kernel": "ellipse",
                    "colorSpace": "srgb_rec709_display",
                    "projection": "perspective",
                    "sortingMethod": "cameraDistance",
                },
            },
        });
        let generator = concat!("splatcore ", env!("CARGO_PKG_VERSION"));
        json!({
            "asset": { "version": "2.0", "generator": generator },
            "extensionsUsed": ["KHR_gaussian_splatting"],
            "scene": 0,
            "scenes": [{ "nodes": [0] }],
            "nodes": [{ "mesh": 0 }],
            "meshes": [{ "primitives": [primitive] }],
            "accessors": accessors,
            "bufferViews": views,
            "buffers": [{ "byteLength": self.buffer() }],
        })
        .to_string()
    }

    /// Writes all that stands before the buffer, at the start of the file.
    fn write_head(&self, writer: &mut BufWriter<&File>, seen: &Seen) -> io::Result<()> {
        let bounds = seen.bounds.unwrap_or_default();
        let mut json = self
            .json(&bounds.map(|corner| corner.map(f64::from)))
            .into_bytes();
        if json.len() > self.json {
            return Err(io::Error::other("its JSON has grown"));
        }
        json.resize(self.json, b' ');
        writer.seek(SeekFrom::Start(0))?;
        writer.write_all(b"glTF")?;
        // The caller has checked that the file's length fits.
        for word in [2, self.length() as u32, self.json as u32] {
            writer.write_all(&word.to_le_bytes())?;
        }
        writer.write_all(b"JSON")?;
        writer.write_all(&json)?;
        writer.write_all(&(self.buffer() as u32).to_le_bytes())?;
        writer.write_all(b"BIN\0")
    }

    /// Writes the columns of the Gaussians from `first` on.
    fn write_piece(
        &self,
        writer: &mut BufWriter<&File>,
        first: u64,
        piece: &Gaussians,
        seen: &mut Seen,
    ) -> io::Result<()> {
        let mut turned = piece.clone();
        to_y_up(&mut turned);
        seen.clamped += clamped(&turned);
        for &mean in &turned.means {
            let [least, greatest] = seen.bounds.unwrap_or([mean; 2]);
            seen.bounds = Some([
                std::array::from_fn(|c| least[c].min(mean[c])),
                std::array::from_fn(|c| greatest[c].max(mean[c])),
            ]);
        }
        let mut bytes = Vec::new();
        let mut start = self.start();
        for column in &self.columns {
            let size = column.describe().3;
            bytes.clear();
            (0..turned.len()).for_each(|i| column.append(&mut bytes, &turned, i));
            writer.seek(SeekFrom::Start(start + first * size))?;
            writer.write_all(&bytes)?;
            start += size * self.count;
        }
        Ok(())
    }
}

/// sRGB in [0, 1] to linear light, which `COLOR_0` holds.
fn linear_light(v: f32) -> f32 {
    let v = v.clamp(0.0, 1.0);
    match v <= 0.04045 {
        true => v / 12.92,
        false => ((v + 0.055) / 1.055).powf(2.4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows that are never asked for.
    struct Many(usize);

    impl Rows for Many {
        fn len(&self) -> usize {
            self.0
        }
        fn sh_degree(&self) -> u8 {
            3
        }
        fn gather(&self, _: &[u32], _: &mut Gaussians) -> Result<(), DataError> {
            panic!("nothing is to be read");
        }
    }

    #[test]
    fn what_the_format_cannot_hold_is_refused_before_anything_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.glb");
        // 244 bytes a Gaussian: the lengths are 32 bits.
        for (count, words) in [(0, "no Gaussians"), (17_602_325, "4 GiB")] {
            let result = write(&path, &Many(count), &WriteOptions::default(), &|_, _, _| ());
            let message = result.unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
            assert!(!path.exists());
        }
    }

    #[test]
    fn the_json_fits_whatever_the_bounds() {
        let layout = Layout::new(u64::from(u32::MAX), 3);
        for value in [
            f32::MIN,
            -1.234_567_9e-5,
            f32::MIN_POSITIVE * -1.234_567,
            -1e-45,
        ] {
            assert!(layout.json(&[[f64::from(value); 3]; 2]).len() <= layout.json);
        }
    }

    #[test]
    fn srgb_becomes_linear_light() {
        // From the definition of sRGB: half of the code values is 21.4 % of the light.
        for (from, to) in [
            (0.0, 0.0),
            (0.04, 0.003_095_975),
            (0.5, 0.214_041_14),
            (2.0, 1.0),
        ] {
            assert!((linear_light(from) - to).abs() < 1e-6);
        }
    }
}
