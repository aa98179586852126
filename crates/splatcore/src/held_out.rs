//! Whether photos that measure a scene were kept out of its training, as far as its run tells.

use crate::scene_source::SceneSource;
use std::collections::HashSet;

/// Warns if the run of a scene trained on some of the photos that are to measure it, which another
/// `--test-every` than the run's brings about: such numbers are too good.
pub fn check<'a>(source: &SceneSource, measured: impl Iterator<Item = &'a str>) {
    let Ok(Some(cameras)) = source.read_cameras() else {
        return;
    };
    let trained = cameras.iter().filter(|camera| !camera.held_out);
    let trained: HashSet<&str> = trained.map(|camera| &*camera.name).collect();
    let measured: Vec<&str> = measured.collect();
    let mut seen = measured.iter().filter(|name| trained.contains(*name));
    if let Some(first) = seen.next() {
        eprintln!(
            "warning: {}: {} of the {} photos that measure it were trained on, such as {first}: \
             the numbers are too good",
            source.typed().display(),
            1 + seen.count(),
            measured.len()
        );
    }
}
