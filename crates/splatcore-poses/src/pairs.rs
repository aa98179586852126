//! Which photos are compared with which.

use crate::effort;
use crate::groups::Grouped;
use crate::program::Pairs;
use crate::{Job, Matching, natural};

/// So many photos are matched each with each unless asked for otherwise; of what looks like frames
/// of a video, and may go unmatched with photos of the same place taken much later, so many.
const EXHAUSTIVE: usize = 300;
const EXHAUSTIVE_FRAMES: usize = 80;
/// Matching each with each is done in so many rows of blocks, of so many photos.
const ROWS: usize = 8;
const BLOCK: std::ops::RangeInclusive<usize> = 5..=50;
/// What takes longer than this, in seconds, is worth a word about what would be faster.
const LONG: f64 = 60.0;

/// Which pairs to match; `frames` look like those of a video, `video` are.
pub fn choose<'a>(job: &'a Job, names: &[String], frames: bool, video: bool) -> Pairs<'a> {
    let vocabulary = job.vocabulary.as_deref();
    let long = names.len() > EXHAUSTIVE && count_up(names);
    let frames = video || (frames && names.len() >= EXHAUSTIVE_FRAMES);
    let block = names.len().div_ceil(ROWS);
    let exhaustive = Pairs::Exhaustive(block.clamp(*BLOCK.start(), *BLOCK.end()));
    match job.matching {
        Matching::Exhaustive => exhaustive,
        Matching::Sequential => Pairs::Sequential(vocabulary),
        Matching::Auto if frames || long || vocabulary.is_some() => Pairs::Sequential(vocabulary),
        Matching::Auto => exhaustive,
    }
}

fn count_up(names: &[String]) -> bool {
    natural::count_up(names.iter().map(String::as_str))
}

/// Whether photos look like frames that a program took from a video.
pub fn look_like_frames(names: &[String], grouped: &Grouped) -> bool {
    let names = names.iter().map(String::as_str);
    grouped.like_frames && natural::count_up(names.clone()) && natural::equal_steps(names)
}

/// How many pairs that are.
pub fn count(pairs: &Pairs<'_>, photos: usize) -> usize {
    match pairs {
        Pairs::Exhaustive(_) => effort::exhaustive_pairs(photos),
        Pairs::Sequential(_) => effort::sequential_pairs(photos),
    }
}

/// What they are called, also in the state: another name is other work.
pub fn described(pairs: &Pairs<'_>) -> String {
    match pairs {
        Pairs::Exhaustive(_) => "exhaustive".to_owned(),
        Pairs::Sequential(None) => "sequential".to_owned(),
        Pairs::Sequential(Some(file)) => format!("sequential, loops by {}", file.display()),
    }
}

/// What would be faster than matching each photo with each, if the photos' names say that they were
/// taken one after the other. Seconds are those of sequential and of exhaustive matching.
pub fn faster(names: &[String], [sequential, exhaustive]: [f64; 2]) -> Option<String> {
    let worth = exhaustive > LONG && exhaustive > 2.0 * sequential;
    (worth && count_up(names)).then(|| {
        format!(
            "the names count up: if each photo shows much of what the next one shows, sequential \
             matching would take about {} in place of {}",
            about_seconds(sequential),
            about_seconds(exhaustive)
        )
    })
}

/// Seconds for people, roughly.
fn about_seconds(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{} s", (s / 10.0).ceil().max(1.0) * 10.0),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(pattern: &str, count: usize) -> Vec<String> {
        let name = |i: usize| pattern.replace('#', &format!("{i:04}"));
        (0..count).map(name).collect()
    }

    fn chosen(names: &[String], like_frames: bool) -> String {
        let grouped = Grouped {
            like_frames,
            ..Grouped::default()
        };
        let frames = look_like_frames(names, &grouped);
        described(&choose(&Job::default(), names, frames, false))
    }

    #[test]
    fn frames_are_matched_in_order_and_photos_each_with_each() {
        assert_eq!(chosen(&names("f#.jpg", 97), true), "sequential");
        assert_eq!(chosen(&names("f#.jpg", 79), true), "exhaustive");
        assert_eq!(chosen(&names("IMG_#.jpg", 97), false), "exhaustive");
        assert_eq!(chosen(&names("IMG_#.jpg", 301), false), "sequential");
        let mut photos = names("f#.jpg", 97);
        photos.remove(50);
        assert_eq!(chosen(&photos, true), "exhaustive", "a person chose some");
    }

    #[test]
    fn what_is_faster_is_said_where_it_matters() {
        let photos = names("IMG_#.jpg", 97);
        let said = faster(&photos, [80.0, 700.0]).unwrap();
        assert!(said.ends_with("about 80 s in place of 12 min"), "{said}");
        assert_eq!(faster(&photos, [8.0, 50.0]), None);
        assert_eq!(
            faster(&["b.jpg".into(), "a.jpg".into()], [8.0, 500.0]),
            None
        );
    }

    #[test]
    fn blocks_are_small_enough_to_tell_of_them() {
        for (photos, wanted) in [(11, 5), (97, 13), (300, 38), (1000, 50)] {
            let job = Job {
                matching: Matching::Exhaustive,
                ..Job::default()
            };
            let pairs = choose(&job, &names("#", photos), false, false);
            assert!(matches!(pairs, Pairs::Exhaustive(block) if block == wanted));
        }
    }
}
