//! Masks that are of no photo.

use super::below::{Below, files_below};
use super::folder::{ENDINGS, is_photo};
use super::found::Entry;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;

/// A warning if files of the folder `masks` are the mask of no photo: neither of one of `entries`,
/// nor of one of the folder `images` that has no camera.
pub(super) fn warning(root: &Path, images: &Path, entries: &[Entry]) -> Option<String> {
    let masks = root.join("masks");
    if !masks.is_dir() {
        return None;
    }
    let used: HashSet<&Path> = entries.iter().filter_map(|e| e.mask.as_deref()).collect();
    let without_camera = |name: &str| {
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let cases = |ending: &&str| [ending.to_string(), ending.to_uppercase()];
        let endings = ENDINGS[..4].iter().flat_map(cases);
        let names = endings.map(|ending| format!("{stem}.{ending}"));
        let mut names = names.chain([stem.to_owned()]);
        let folders = [
            root.to_path_buf(),
            root.join("images"),
            images.to_path_buf(),
        ];
        names.any(|name| folders.iter().any(|folder| folder.join(&name).is_file()))
    };
    let mut unused = Vec::new();
    files_below(&masks, &[], &mut |of| {
        if let Below::File(name, path) = of
            && is_photo(&path)
            && !used.contains(&*path)
            && (path.extension().is_none_or(|e| e != "png") || !without_camera(&name))
        {
            unused.push(name);
        }
        ControlFlow::Continue(())
    })
    .ok()?;
    unused.sort();
    let first = unused.first()?;
    Some(format!(
        "masks: {} of the files there are the mask of no photo, such as '{first}', and are not \
         used; the mask of a.jpg is a.png or a.jpg.png",
        unused.len()
    ))
}
