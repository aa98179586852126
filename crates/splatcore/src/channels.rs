//! Depth and alpha of rendered views, as files beside the pictures.
//!
//! Of `NAME.png`: `NAME_alpha.png`, 8 bits, is 1 - transmittance; `NAME_depth.npy`, f32 as NumPy
//! reads it, is [`Rendered::depth`]; `NAME_depth.png`, 16 bits, is its inverse to look at, with one
//! scale for all views of the command, so that a sequence does not flicker. The scale is known when
//! the last view is rendered, so these come last, from the .npy files; `depth.json` says what it
//! is. Frames of a film have such files too; their scale is known before.

use crate::output;
use anyhow::{Context, Result, bail};
use image::{EncodableLayout, Luma};
use serde::Serialize;
use splatcore_core::backend::Rendered;
use splatcore_core::ranked::percentile;
use splatcore_data::file::write_bytes;
use splatcore_data::picture;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// This share of a view's pixels is at most as near as what its white stands for; some spot before
/// the lens must not darken all the rest.
const DARKER: f64 = 0.999;

/// What was asked for, and what is left to be written.
pub struct Channels {
    depth: bool,
    alpha: bool,
    /// Depth of each view so far, .npy and .png.
    depths: Vec<[PathBuf; 2]>,
    /// Inverse depth of white.
    white: f32,
}

/// `depth.json`.
#[derive(Serialize)]
struct Scale {
    npy: &'static str,
    png: &'static str,
    /// Nothing if no view shows anything.
    white: Option<f32>,
}

impl Channels {
    /// Nothing written yet.
    pub fn new(depth: bool, alpha: bool) -> Self {
        Self {
            depth,
            alpha,
            depths: Vec::new(),
            white: 0.0,
        }
    }

    /// Writes a view's files beside its picture, but for the .png of depth.
    pub fn write(
        &mut self,
        picture: &Path,
        rendered: &Rendered,
        taken: &mut HashSet<PathBuf>,
    ) -> Result<()> {
        let size = [rendered.image.width, rendered.image.height];
        if self.alpha {
            let alpha: Vec<f32> = rendered
                .transmittance
                .iter()
                .map(|left| 1.0 - left)
                .collect();
            write_alpha(&beside(picture, "_alpha", "png", taken), size, &alpha)?;
        }
        if self.depth {
            let depth = rendered.depth().context("the backend gave no depth")?;
            let [npy, png] = ["npy", "png"].map(|kind| beside(picture, "_depth", kind, taken));
            write_npy(&npy, size, &depth)?;
            self.white = self.white.max(white(&depth));
            self.depths.push([npy, png]);
        }
        Ok(())
    }

    /// Writes what had to wait for the last view.
    pub fn finish(self, folder: &Path) -> Result<()> {
        if !self.depth {
            return Ok(());
        }
        for [npy, png] in &self.depths {
            let (size, depth) = read_npy(npy)?;
            write_depth_png(png, size, &depth, self.white)?;
        }
        write_scale(&folder.join("depth.json"), self.white)
    }
}

/// What the numbers of `NAME_depth.npy` and `NAME_depth.png` are; `white` is the inverse depth of
/// white.
pub fn write_scale(path: &Path, white: f32) -> Result<()> {
    output::write_json(
        path,
        &Scale {
            npy: "depth along the view axis in world units, f32, [height][width]; 0 where nothing \
                  is",
            png: "1 / depth = value / 65535 * white, 16 bits; 0 where nothing is, 65535 also for \
                  what is nearer",
            white: (white > 0.0).then_some(white),
        },
    )
}

/// Inverse depth as grey of 16 bits, 0 where nothing is.
pub fn write_depth_png(path: &Path, size: [u32; 2], depth: &[f32], white: f32) -> Result<()> {
    let scale = 65535.0 / white;
    let grey = |&depth: &f32| match depth > 0.0 {
        true => (scale / depth).clamp(0.0, 65535.0).round() as u16,
        false => 0,
    };
    write_grey::<u16>(path, size, depth.iter().map(grey).collect())
}

/// Alpha, 0 to 1, as grey of 8 bits.
pub fn write_alpha(path: &Path, size: [u32; 2], alpha: &[f32]) -> Result<()> {
    let bytes = alpha
        .iter()
        .map(|v| (v.clamp(0.0, 1.0) * 255.0 + 0.5) as u8);
    write_grey::<u8>(path, size, bytes.collect())
}

/// Inverse depth that few pixels are beyond; 0 if nothing is seen.
pub fn white(depth: &[f32]) -> f32 {
    let seen = depth.iter().filter(|&&z| z > 0.0).map(|z| 1.0 / z);
    percentile(seen.map(f64::from), DARKER).map_or(0.0, |white| white as f32)
}

/// A file beside a picture, of a name that nothing else has.
fn beside(picture: &Path, suffix: &str, kind: &str, taken: &mut HashSet<PathBuf>) -> PathBuf {
    let stem = picture
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut path = picture.with_file_name(format!("{stem}{suffix}.{kind}"));
    let mut number = 2;
    while !taken.insert(path.clone()) {
        path = picture.with_file_name(format!("{stem}{suffix}.{number}.{kind}"));
        number += 1;
    }
    path
}

/// A grey PNG of one channel, complete or not at all.
fn write_grey<T>(path: &Path, size: [u32; 2], values: Vec<T>) -> Result<()>
where
    T: image::Primitive,
    Luma<T>: image::PixelWithColorType<Subpixel = T>,
    [T]: EncodableLayout,
{
    let colour = <Luma<T> as image::PixelWithColorType>::COLOR_TYPE;
    let bytes = picture::png(values.as_bytes(), size, colour)
        .with_context(|| path.display().to_string())?;
    Ok(write_bytes(path, &bytes)?)
}

/// What every .npy file of version 1.0 starts with.
const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// The part before the numbers: the magic, the length of what follows, and that, filled up so that
/// the numbers start at a multiple of 64 bytes.
fn npy_header([width, height]: [u32; 2]) -> Vec<u8> {
    let mut text =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({height}, {width}), }}");
    let before = MAGIC.len() + 2;
    let filled = (before + text.len() + 1).next_multiple_of(64) - before;
    text = format!("{text:<0$}\n", filled - 1);
    let mut header = MAGIC.to_vec();
    header.extend((text.len() as u16).to_le_bytes());
    header.extend(text.as_bytes());
    header
}

/// An array of f32, `[height][width]`, in NumPy's format 1.0, complete or not at all.
pub fn write_npy(path: &Path, size: [u32; 2], values: &[f32]) -> Result<()> {
    let mut bytes = npy_header(size);
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    Ok(write_bytes(path, &bytes)?)
}

/// What [`write_npy`] wrote a moment ago.
fn read_npy(path: &Path) -> Result<([u32; 2], Vec<f32>)> {
    let bytes =
        std::fs::read(path).with_context(|| format!("{}: cannot be read back", path.display()))?;
    match parse_npy(&bytes) {
        Some(parsed) => Ok(parsed),
        None => bail!(
            "{}: is not the file that was written there; another program changed it, render again",
            path.display()
        ),
    }
}

fn parse_npy(bytes: &[u8]) -> Option<([u32; 2], Vec<f32>)> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (text, data) = rest.split_at_checked(u16::from_le_bytes(*length) as usize)?;
    let shape = std::str::from_utf8(text).ok()?.split(['(', ')']).nth(1)?;
    let (height, width) = shape.split_once(',')?;
    let size: [u32; 2] = [width.trim().parse().ok()?, height.trim().parse().ok()?];
    let values: Vec<f32> = data
        .as_chunks()
        .0
        .iter()
        .map(|&four| f32::from_le_bytes(four))
        .collect();
    let whole = bytes.starts_with(&npy_header(size))
        && values.len() as u64 == size[0] as u64 * size[1] as u64;
    whole.then_some((size, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_lie_where_numpy_looks() {
        let values: Vec<f32> = (0..6).map(|i| i as f32 + 0.25).collect();
        let mut bytes = npy_header([3, 2]);
        assert_eq!(bytes.len() % 64, 0);
        let text = String::from_utf8_lossy(&bytes[10..]);
        assert!(text.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  "));
        assert!(text.ends_with(" \n"));
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        assert_eq!(parse_npy(&bytes), Some(([3, 2], values)));
        bytes.pop();
        assert_eq!(parse_npy(&bytes), None);
        assert_eq!(parse_npy(b"\x89PNG"), None);
    }

    #[test]
    fn white_leaves_out_a_few_near_spots_and_nothing_at_all() {
        let mut depth = vec![2.0; 10_000];
        depth[7] = 0.01;
        depth[8] = 0.0;
        assert_eq!(white(&depth), 0.5);
        assert_eq!(white(&[4.0]), 0.25);
        assert_eq!(white(&[0.0; 5]), 0.0);
    }

    #[test]
    fn names_beside_a_picture_stay_apart() {
        let mut taken = HashSet::from(["out/a_depth.png".into()]);
        let mut name = |kind| beside(Path::new("out/a.png"), "_depth", kind, &mut taken);
        assert_eq!(name("npy"), Path::new("out/a_depth.npy"));
        assert_eq!(name("png"), Path::new("out/a_depth.2.png"));
    }
}
