//! Which photos are compared with which.

use crate::effort::{self, Effort};
use crate::groups::Grouped;
use crate::program::{Pairs, Program};
use crate::{Job, Matching, PosesError, natural};

/// So many photos are matched each with each unless asked for otherwise; of what looks like frames
/// of a video, and may go unmatched with photos of the same place taken much later, so many.
const EXHAUSTIVE: usize = 300;
const EXHAUSTIVE_FRAMES: usize = 80;
/// So many photos are compared with one that they look like.
const SIMILAR: usize = 12;
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
        Matching::Similar => Pairs::Similar(SIMILAR),
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

/// Refuses what a program cannot do.
pub fn check(pairs: &Pairs<'_>, program: &Program) -> Result<(), PosesError> {
    match pairs {
        Pairs::Similar(_) if !program.finds_similar() => Err(PosesError::Choices(format!(
            "{} does not look for similar photos: install COLMAP 3.8 or later, or match in another \
             way",
            program.name
        ))),
        _ => Ok(()),
    }
}

/// How many pairs that are.
pub fn count(pairs: &Pairs<'_>, photos: usize) -> usize {
    match pairs {
        Pairs::Exhaustive(_) => effort::exhaustive_pairs(photos),
        Pairs::Sequential(_) => effort::sequential_pairs(photos),
        Pairs::Similar(each) => effort::similar_pairs(photos, *each),
    }
}

/// What they are called, also in the state: another name is other work.
pub fn described(pairs: &Pairs<'_>) -> String {
    match pairs {
        Pairs::Exhaustive(_) => "exhaustive".to_owned(),
        Pairs::Similar(_) => "similar".to_owned(),
        Pairs::Sequential(None) => "sequential".to_owned(),
        Pairs::Sequential(Some(file)) => format!("sequential, loops by {}", file.display()),
    }
}

/// Seconds that ways of matching take.
#[derive(Clone, Copy, Debug)]
pub struct Seconds {
    /// Each with each.
    pub exhaustive: f64,
    /// Each with the next ones.
    pub sequential: f64,
    /// Each with those that look like it, where the program can tell.
    pub similar: Option<f64>,
}

impl Seconds {
    /// As they are expected.
    pub fn of(effort: &Effort, finds_similar: bool) -> Self {
        let seconds = |pairs: Pairs<'_>| effort.comparing(&pairs, count(&pairs, effort.photos));
        Self {
            exhaustive: seconds(Pairs::Exhaustive(0)),
            sequential: seconds(Pairs::Sequential(None)),
            similar: finds_similar.then(|| seconds(Pairs::Similar(SIMILAR))),
        }
    }

    /// Of sequential matching, where that is much faster than each with each and the photos' names
    /// say that they were taken one after the other.
    pub fn worth_in_order(&self, names: &[String]) -> Option<f64> {
        let worth = self.is_worth(self.sequential) && count_up(names);
        worth.then_some(self.sequential)
    }

    /// Of matching similar photos, where that is much faster than each with each.
    pub fn worth_similar(&self) -> Option<f64> {
        self.similar.filter(|similar| self.is_worth(*similar))
    }

    fn is_worth(&self, seconds: f64) -> bool {
        self.exhaustive > LONG && self.exhaustive > 2.0 * seconds
    }

    /// What would be faster than matching each photo with each.
    pub fn faster(&self, names: &[String]) -> Option<String> {
        let present = about_seconds(self.exhaustive);
        if let Some(seconds) = self.worth_in_order(names) {
            return Some(format!(
                "the names count up: if each photo shows much of what the next one shows, \
                 sequential matching would take about {} in place of {present}",
                about_seconds(seconds)
            ));
        }
        self.worth_similar().map(|seconds| {
            format!(
                "matching each photo with the {SIMILAR} most similar ones would take about {} in \
                 place of {present}",
                about_seconds(seconds)
            )
        })
    }
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
        let seconds = |sequential, exhaustive, similar| Seconds {
            exhaustive,
            sequential,
            similar,
        };
        let said = seconds(80.0, 700.0, Some(90.0)).faster(&photos).unwrap();
        assert!(said.starts_with("the names count up"), "{said}");
        assert!(said.ends_with("about 80 s in place of 12 min"), "{said}");
        assert_eq!(seconds(8.0, 50.0, Some(9.0)).faster(&photos), None);
        let mixed = ["b.jpg".into(), "a.jpg".into()];
        assert_eq!(seconds(8.0, 500.0, None).faster(&mixed), None);
        let said = seconds(8.0, 500.0, Some(100.0)).faster(&mixed).unwrap();
        assert!(said.contains("the 12 most similar ones"), "{said}");
        assert_eq!(seconds(8.0, 500.0, Some(300.0)).faster(&mixed), None);
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
