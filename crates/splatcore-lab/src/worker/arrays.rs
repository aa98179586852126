//! Arrays in files between parent and worker: a scene, an image. Little-endian f32 behind a header
//! of counts; the file's length must fit.

use splatcore_core::{Gaussians, Image, sh};
use std::fs;
use std::io;
use std::path::Path;

fn invalid(path: &Path, what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{}: {what}", path.display()),
    )
}

fn push(bytes: &mut Vec<u8>, values: &[f32]) {
    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
}

/// The numbers of a file, and its header's two words.
fn read(path: &Path) -> io::Result<([u32; 2], Vec<f32>)> {
    let bytes = fs::read(path)?;
    let (words, rest) = bytes.as_chunks::<4>();
    match (words, rest) {
        ([a, b, values @ ..], []) => Ok((
            [u32::from_le_bytes(*a), u32::from_le_bytes(*b)],
            values.iter().map(|v| f32::from_le_bytes(*v)).collect(),
        )),
        _ => Err(invalid(path, "not an array file")),
    }
}

/// Writes a scene.
///
/// # Errors
/// If the file cannot be written.
pub fn write_scene(path: &Path, scene: &Gaussians) -> io::Result<()> {
    let mut bytes = Vec::new();
    bytes.extend((scene.len() as u32).to_le_bytes());
    bytes.extend(u32::from(scene.sh_degree).to_le_bytes());
    push(&mut bytes, scene.means.as_flattened());
    push(&mut bytes, scene.log_scales.as_flattened());
    push(&mut bytes, scene.rotations.as_flattened());
    push(&mut bytes, &scene.opacity_logits);
    push(&mut bytes, scene.sh.as_flattened());
    fs::write(path, bytes)
}

/// Reads a scene.
///
/// # Errors
/// If the file cannot be read or is none.
pub fn read_scene(path: &Path) -> io::Result<Gaussians> {
    let ([count, degree], values) = read(path)?;
    let degree = u8::try_from(degree).ok().filter(|&d| d <= sh::MAX_DEGREE);
    let degree = degree.ok_or_else(|| invalid(path, "no such degree"))?;
    // Before anything is allocated: the counts may be anything.
    let a_gaussian = 11 + 3 * sh::coefficients(degree) as u64;
    if values.len() as u64 != u64::from(count) * a_gaussian {
        return Err(invalid(path, "its length does not fit its counts"));
    }
    let mut scene = Gaussians::zeros(count as usize, degree);
    let mut rest = values.as_slice();
    let mut take = |into: &mut [f32]| {
        let (these, others) = rest.split_at(into.len());
        into.copy_from_slice(these);
        rest = others;
    };
    take(scene.means.as_flattened_mut());
    take(scene.log_scales.as_flattened_mut());
    take(scene.rotations.as_flattened_mut());
    take(&mut scene.opacity_logits);
    take(scene.sh.as_flattened_mut());
    Ok(scene)
}

/// Writes an image with a fourth channel of its own size, or without one.
///
/// # Errors
/// If the file cannot be written.
pub fn write_image(path: &Path, image: &Image, fourth: &[f32]) -> io::Result<()> {
    let mut bytes = Vec::new();
    bytes.extend(image.width.to_le_bytes());
    bytes.extend(image.height.to_le_bytes());
    push(&mut bytes, image.data.as_flattened());
    push(&mut bytes, fourth);
    fs::write(path, bytes)
}

/// Reads an image and its fourth channel, empty if it has none.
///
/// # Errors
/// If the file cannot be read or is none.
pub fn read_image(path: &Path) -> io::Result<(Image, Vec<f32>)> {
    let ([width, height], mut values) = read(path)?;
    let pixels = u64::from(width) * u64::from(height);
    let channels = [3, 4].map(|channels| pixels.checked_mul(channels));
    if !channels.contains(&Some(values.len() as u64)) {
        return Err(invalid(path, "its length does not fit its size"));
    }
    let fourth = values.split_off(pixels as usize * 3);
    let data = values.as_chunks::<3>().0.to_vec();
    let image = Image {
        width,
        height,
        data,
    };
    Ok((image, fourth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut scene = Gaussians::zeros(3, 2);
        scene.means[1] = [1.0, f32::NAN, -0.0];
        scene.sh[7] = [4.0, 5.0, 6.0];
        write_scene(&path, &scene).unwrap();
        let back = read_scene(&path).unwrap();
        assert_eq!(back.sh, scene.sh);
        assert_eq!(format!("{:?}", back.means), format!("{:?}", scene.means));
        let image = Image::filled(3, 2, [0.1, 0.2, 0.3]);
        write_image(&path, &image, &[1.0; 6]).unwrap();
        assert_eq!(read_image(&path).unwrap(), (image, vec![1.0; 6]));
        assert!(read_scene(&path).is_err());
        for bytes in [&b""[..], b"abc", &[0; 8], &[255; 12]] {
            std::fs::write(&path, bytes).unwrap();
            let _ = (read_scene(&path), read_image(&path));
        }
    }
}
