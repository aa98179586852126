//! Which photos share a camera.

use crate::photos::Found;
use crate::{Cameras, PosesError};
use exif::{In, Tag, Value};
use splatcore_data::dataset::check_end;
use splatcore_data::{DataError, picture};
use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::Path;

/// A camera needs so many photos for OPENCV, whose eight parameters a few photos leave open.
const ENOUGH_FOR_OPENCV: usize = 20;

/// Photos that share a camera.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What they have in common; equal in the next call.
    pub key: String,
    /// Indices of the photos.
    pub photos: Vec<usize>,
    /// Width and height of the first; of all, unless each has a camera of its own.
    pub size: (u32, u32),
}

/// Photos in groups, and what is known of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grouped {
    pub groups: Vec<Group>,
    /// Each photo has a camera of its own; there is one group of all.
    pub each: bool,
    /// Photos whose EXIF data has a focal length.
    pub with_focal_length: usize,
    /// All photos have one size, and no photo's EXIF data names a camera: they may be frames.
    pub like_frames: bool,
    /// Mean size of a photo in pixels.
    pub size: (f64, f64),
}

impl Grouped {
    /// The lens model to use where none was asked for.
    pub fn camera_model(&self) -> &'static str {
        let fewest = self.groups.iter().map(|group| group.photos.len()).min();
        match self.each || fewest.is_none_or(|fewest| fewest < ENOUGH_FOR_OPENCV) {
            true => "SIMPLE_RADIAL",
            false => "OPENCV",
        }
    }

    /// How many cameras that is, for people.
    pub fn described(&self, photos: usize) -> String {
        match (self.each, self.groups.len()) {
            (true, _) => format!("each of {photos} photos has its own camera"),
            (false, 1) => format!("all {photos} photos share a camera"),
            (false, n) => format!("{photos} photos share {n} cameras"),
        }
    }
}

/// What a photo's header says.
struct Facts {
    size: (u32, u32),
    /// Maker, model and focal length, as EXIF has them.
    taken_with: Option<String>,
    has_focal_length: bool,
}

/// Groups photos by the camera that took them.
///
/// # Errors
/// A photo whose header cannot be read, or photos of several sizes that shall share a camera.
pub fn group(photos: &[Found], cameras: Cameras) -> Result<Grouped, PosesError> {
    let mut facts = Vec::with_capacity(photos.len());
    for photo in photos {
        facts.push(read(&photo.path)?);
    }
    let key_of = |i: usize| -> String {
        let Facts {
            size: (w, h),
            taken_with,
            ..
        } = &facts[i];
        match cameras {
            Cameras::One | Cameras::Each => String::new(),
            Cameras::Folder => photos[i]
                .name
                .rsplit_once('/')
                .map_or(String::new(), |(f, _)| f.into()),
            Cameras::Auto => {
                let camera = taken_with.as_deref().unwrap_or("unknown camera");
                format!("{w}x{h}, {camera}")
            }
        }
    };
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for i in 0..photos.len() {
        groups.entry(key_of(i)).or_default().push(i);
    }
    let few_share = cameras == Cameras::Auto && groups.len() > 1 && groups.len() * 2 > photos.len();
    let each = cameras == Cameras::Each || few_share;
    if each {
        groups = BTreeMap::from([("each".to_owned(), (0..photos.len()).collect())]);
    } else if let Some((i, j)) = unequal(&groups, &facts) {
        let [(w, h), (wide, high)] = [facts[i].size, facts[j].size];
        let problem = format!(
            "is {wide}x{high} pixels, but {} is {w}x{h}, and both shall share a camera",
            photos[i].name
        );
        let remedy = "let cameras be chosen by size and EXIF, or give each photo its own";
        return Err(DataError::new(&photos[j].path, problem, remedy).into());
    }
    let groups = groups
        .into_iter()
        .map(|(key, photos)| Group {
            key,
            size: photos.first().map_or((0, 0), |&i| facts[i].size),
            photos,
        })
        .collect();
    let with_focal_length = facts.iter().filter(|facts| facts.has_focal_length).count();
    let first = facts.first().map(|facts| facts.size);
    let count = facts.len().max(1) as f64;
    let mean =
        |side: fn(&Facts) -> u32| facts.iter().map(|f| f64::from(side(f))).sum::<f64>() / count;
    Ok(Grouped {
        groups,
        each,
        with_focal_length,
        like_frames: facts
            .iter()
            .all(|facts| facts.taken_with.is_none() && Some(facts.size) == first),
        size: (mean(|facts| facts.size.0), mean(|facts| facts.size.1)),
    })
}

/// Two photos of one group with different sizes.
fn unequal(groups: &BTreeMap<String, Vec<usize>>, facts: &[Facts]) -> Option<(usize, usize)> {
    groups.values().find_map(|photos| {
        let first = *photos.first()?;
        let other = photos
            .iter()
            .find(|&&i| facts[i].size != facts[first].size)?;
        Some((first, *other))
    })
}

/// Whether a photo's EXIF data has a focal length.
pub fn has_focal_length(path: &Path) -> bool {
    read(path).is_ok_and(|facts| facts.has_focal_length)
}

fn read(path: &Path) -> Result<Facts, PosesError> {
    let size = picture::size(path)?;
    // COLMAP finds poses of what is left of it; training, hours later, would refuse it.
    check_end(path)?;
    let file = std::fs::File::open(path).map_err(|e| DataError::read(path, &e))?;
    // Photos without EXIF, or with broken EXIF, are as good as others.
    let exif = exif::Reader::new()
        .read_from_container(&mut BufReader::new(file))
        .ok();
    let Some(exif) = exif else {
        return Ok(Facts {
            size,
            taken_with: None,
            has_focal_length: false,
        });
    };
    let text = |tag| match &exif.get_field(tag, In::PRIMARY)?.value {
        Value::Ascii(texts) => {
            let bytes: Vec<u8> = texts
                .iter()
                .flatten()
                .copied()
                .filter(|b| *b != 0)
                .collect();
            let text = String::from_utf8_lossy(&bytes).trim().to_owned();
            (!text.is_empty()).then_some(text)
        }
        _ => None,
    };
    let focal = exif
        .get_field(Tag::FocalLength, In::PRIMARY)
        .and_then(|f| match &f.value {
            Value::Rational(values) => values.first().map(|v| v.to_f64()),
            _ => None,
        });
    let focal = focal.filter(|focal| focal.is_finite() && *focal > 0.0);
    let words: Vec<String> = [text(Tag::Make), text(Tag::Model)]
        .into_iter()
        .chain([focal.map(|focal| format!("{focal:.2} mm"))])
        .flatten()
        .collect();
    Ok(Facts {
        size,
        taken_with: (!words.is_empty()).then(|| words.join(" ")),
        has_focal_length: focal.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::photos;

    /// A grey JPEG, perhaps with EXIF: little-endian TIFF with one directory and a focal length.
    fn photo(folder: &Path, name: &str, size: (u32, u32), model: Option<&str>) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let pixels = vec![0; (size.0 * size.1) as usize];
        let grey = image::ExtendedColorType::L8;
        let mut jpeg = picture::jpeg(&pixels, size.into(), grey, 75).unwrap();
        if let Some(model) = model {
            let text = format!("{model}\0\0\0\0\0");
            let mut tiff = b"II*\0\x08\0\0\0\x02\0".to_vec();
            tiff.extend([0x10, 1, 2, 0, text.len() as u8, 0, 0, 0, 38, 0, 0, 0]);
            tiff.extend([0x69, 0x87, 4, 0, 1, 0, 0, 0, 38 + text.len() as u8, 0, 0, 0]);
            tiff.extend([0; 4]);
            tiff.extend(text.as_bytes());
            let at = tiff.len() as u8 + 18;
            tiff.extend([1, 0, 0x0A, 0x92, 5, 0, 1, 0, 0, 0, at, 0, 0, 0, 0, 0, 0, 0]);
            tiff.extend([42, 0, 0, 0, 10, 0, 0, 0]);
            let mut segment = vec![0xFF, 0xE1];
            segment.extend((tiff.len() as u16 + 8).to_be_bytes());
            segment.extend(b"Exif\0\0");
            segment.extend(tiff);
            jpeg.splice(2..2, segment);
        }
        std::fs::write(path, jpeg).unwrap();
    }

    fn grouped(folder: &Path, cameras: Cameras) -> Result<Grouped, PosesError> {
        let listed = photos::list(folder, &[]).unwrap();
        group(&listed.photos, cameras)
    }

    #[test]
    fn photos_of_one_camera_share_it() {
        let folder = tempfile::tempdir().unwrap();
        for i in 0..20 {
            photo(
                folder.path(),
                &format!("a/{i}.jpg"),
                (32, 24),
                Some("Phone"),
            );
            photo(
                folder.path(),
                &format!("b/{i}.jpg"),
                (24, 32),
                Some("Phone"),
            );
        }
        let found = grouped(folder.path(), Cameras::Auto).unwrap();
        let keys: Vec<&str> = found.groups.iter().map(|g| g.key.as_str()).collect();
        assert_eq!(keys, ["24x32, Phone 4.20 mm", "32x24, Phone 4.20 mm"]);
        assert_eq!((found.each, found.with_focal_length), (false, 40));
        assert_eq!(found.camera_model(), "OPENCV");
        assert_eq!(
            grouped(folder.path(), Cameras::Folder).unwrap().groups[1].key,
            "b"
        );
        assert!(grouped(folder.path(), Cameras::Each).unwrap().each);
        let error = grouped(folder.path(), Cameras::One)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("24x32 pixels, but a/0.jpg is 32x24"),
            "{error}"
        );
        // Another model in the same folder with the same size.
        photo(folder.path(), "a/y.jpg", (32, 24), Some("Camera"));
        photo(folder.path(), "a/x.jpg", (32, 24), None);
        let found = grouped(folder.path(), Cameras::Auto).unwrap();
        assert_eq!(
            (found.groups.len(), found.camera_model()),
            (4, "SIMPLE_RADIAL")
        );
    }

    #[test]
    fn photos_of_all_sizes_have_a_camera_each() {
        let folder = tempfile::tempdir().unwrap();
        for i in 1..6 {
            photo(folder.path(), &format!("{i}.jpg"), (32, 24 + i), None);
        }
        let found = grouped(folder.path(), Cameras::Auto).unwrap();
        assert!(found.each && found.groups[0].photos.len() == 5);
        assert_eq!(found.camera_model(), "SIMPLE_RADIAL");
        let path = folder.path().join("3.jpg");
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 2]).unwrap();
        let error = grouped(folder.path(), Cameras::Auto)
            .unwrap_err()
            .to_string();
        assert!(error.contains("3.jpg: the JPEG is cut short"), "{error}");
        std::fs::write(&path, b"no photo").unwrap();
        let error = grouped(folder.path(), Cameras::Auto)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("3.jpg: is no image that can be read"),
            "{error}"
        );
    }
}
