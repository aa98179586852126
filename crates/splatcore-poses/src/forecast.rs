//! What finding poses will take, before it begins.

use crate::effort::{Effort, FEATURES};
use crate::groups::{self, Grouped};
use crate::pairs::Seconds;
use crate::program::{Pairs, Program};
use crate::state::State;
use crate::video::{self, Told};
use crate::{Cameras, Job, PosesError, pairs, panoramas, photos};
use std::collections::BTreeSet;
use std::path::Path;

/// What a video is taken for where its file does not tell.
const UNKNOWN: Told = Told {
    seconds: 75.0,
    frames: 2250.0,
    size: (1920.0, 1080.0),
};
/// Seconds of one core to look at a frame of a megapixel of a video, and to take it.
const PER_LOOK: f64 = 0.012;
const PER_FRAME: f64 = 0.06;
/// Of what is expected, work takes this share at least and this many times at most, even if the
/// number of features was known.
const SPREAD: [f64; 2] = [0.7, 1.5];

/// What finding poses will take.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// Nothing is left to do: an earlier call had finished.
    pub done: bool,
    /// The program that finds them; empty if nothing is left to do.
    pub program: String,
    /// It computes on a graphics card.
    pub card: bool,
    /// Photos, or frames that will be taken.
    pub photos: usize,
    /// So many there are, or would be taken if no number was asked for.
    pub of: usize,
    /// The largest size of photos in which features are searched, if that is not the program's.
    pub max_size: Option<u32>,
    /// Width and height of most photos, pixels; 0 where nothing is left to do.
    pub size: (f64, f64),
    /// The input is a video.
    pub video: bool,
    /// Estimated seconds.
    pub seconds: f64,
    /// Seconds that it takes at least and at most, most of the time: how much detail the photos
    /// show is not known before features are searched.
    pub range: [f64; 2],
    /// Each photo is compared with so many that look like it, and no others.
    pub similar: Option<usize>,
    /// Estimated seconds if each photo were only compared with those that look like it, where that
    /// is much less.
    pub similar_seconds: Option<f64>,
    /// Estimated seconds if each photo were only compared with the next ones, where that is much
    /// less, and the names of the photos count up.
    pub sequential_seconds: Option<f64>,
}

/// Estimates what [`find_poses`](crate::find_poses) will take for a job. If the job names no
/// largest size, and the program uses no card, features are searched at `without_card`.
///
/// # Errors
/// No program, or photos that cannot be read.
pub fn forecast(job: &Job, without_card: Option<u32>) -> Result<Forecast, PosesError> {
    let earlier = State::read(&job.dataset)
        .unwrap_or(None)
        .unwrap_or_default();
    let (video, has_model) = (job.input.is_file(), has_model(job, &earlier));
    let known = (has_model && !video).then(|| of_folder(job)).transpose()?;
    if has_model && known.as_ref().is_none_or(|now| now.is_of(&earlier, job)) {
        return Ok(nothing_left(earlier));
    }
    let program = Program::find(job)?;
    let card = program.gpu.is_some();
    let job = Job {
        max_size: job.max_size.or(without_card.filter(|_| !card)),
        ..job.clone()
    };
    let told = match video {
        true => video::told(&job).unwrap_or(UNKNOWN),
        false => UNKNOWN,
    };
    let now = match known {
        Some(known) => known,
        None if video => frames(&job, &told),
        None => of_folder(&job)?,
    };
    let (names, chosen) = (&now.names, now.pairs(&job, video));
    pairs::check(&chosen, &program)?;
    let effort = Effort::of(&job, &now.grouped, &program, &earlier, names.len());
    let taking = match video && earlier.video.is_none() {
        true => taking(&told, now.used) / effort.cores,
        false => 0.0,
    };
    let described = pairs::described(&chosen);
    let matched = earlier.matched.as_ref() == Some(&described);
    // What an earlier call has done is not done again.
    let seconds = |pairs: &Pairs<'_>, features| {
        let effort = effort.with_features(features);
        let extraction = match earlier.extracted {
            true => 0.0,
            false => effort.extraction(),
        };
        let matching = match matched {
            true => 0.0,
            false => effort.comparing(pairs, pairs::count(pairs, names.len())),
        };
        taking + extraction + matching + effort.mapping()
    };
    let [few, usual, many] = FEATURES;
    let all = seconds(&chosen, usual);
    let range = [
        SPREAD[0] * seconds(&chosen, few),
        SPREAD[1] * seconds(&chosen, many),
    ];
    // Less is worth a word where all is compared with all, and that is still to be done.
    let open = matches!(chosen, Pairs::Exhaustive(_)) && !matched;
    let ways = Seconds::of(&effort.with_features(usual), program.finds_similar());
    let with = |way: Option<f64>| way.filter(|_| open).map(|way| all - ways.exhaustive + way);
    let similar = match chosen {
        Pairs::Similar(each) => Some(each),
        _ => None,
    };
    Ok(Forecast {
        done: false,
        program: program.name,
        card,
        photos: now.used,
        of: now.of,
        max_size: job.max_size,
        size: now.grouped.size,
        video,
        seconds: all,
        range,
        similar,
        similar_seconds: with(ways.worth_similar()),
        sequential_seconds: with(ways.worth_in_order(names)),
    })
}

/// Whether an earlier call has found poses by the mapper that is asked for.
fn has_model(job: &Job, earlier: &State) -> bool {
    let models = [Path::new(""), Path::new(panoramas::FOLDER)];
    let models = models.map(|folder| job.dataset.join(folder).join("sparse/0/images.bin"));
    let as_asked = (earlier.finished.as_ref()).is_some_and(|of| of.asked == job.mapper.name());
    as_asked && models.iter().any(|model| model.is_file())
}

/// What is compared with what.
struct Compared {
    /// So many photos there are, or frames would be taken if no number was asked for.
    of: usize,
    /// So many are used.
    used: usize,
    /// Names of the photos; none of frames, which have none yet.
    photos: BTreeSet<String>,
    /// The same in their order, or the names of the views of photos of 360 degrees; those of frames
    /// are empty.
    names: Vec<String>,
    grouped: Grouped,
}

impl Compared {
    /// Whether an earlier call has found the poses of these photos in this way.
    fn is_of(&self, earlier: &State, job: &Job) -> bool {
        let pairs = pairs::described(&self.pairs(job, false));
        earlier.photos.keys().eq(&self.photos) && earlier.matched == Some(pairs)
    }

    /// In which pairs.
    fn pairs<'a>(&self, job: &'a Job, video: bool) -> Pairs<'a> {
        let frames = pairs::look_like_frames(&self.names, &self.grouped);
        pairs::choose(job, &self.names, frames, video)
    }
}

/// The photos of a folder.
fn of_folder(job: &Job) -> Result<Compared, PosesError> {
    let found = photos::of(&job.input, std::slice::from_ref(&job.dataset))?.photos;
    let of = found.len();
    let found = photos::every(found, job.every);
    let photos: BTreeSet<String> = found.iter().map(|photo| photo.name.clone()).collect();
    let (used, mut grouped) = (found.len(), groups::group(&found, Cameras::Each)?);
    let names = match panoramas::are_all(&found, job)? {
        true => {
            let side = f64::from(panoramas::side(grouped.size.0 as u32));
            (grouped.size, grouped.like_frames) = ((side, side), false);
            panoramas::view_names(&found)
        }
        false => found.into_iter().map(|photo| photo.name).collect(),
    };
    Ok(Compared {
        of,
        used,
        photos,
        names,
        grouped,
    })
}

/// The frames that will be taken of a video, which have no names yet.
fn frames(job: &Job, told: &Told) -> Compared {
    let of = usual_frames(told);
    let used = job.frames.map_or(of, |frames| frames as usize);
    let whole = job.camera_model.is_none() && panoramas::is_wide(told.size);
    let (views, size) = match whole {
        true => {
            let side = f64::from(panoramas::side(told.size.0 as u32));
            (panoramas::VIEWS, (side, side))
        }
        false => (1, told.size),
    };
    let grouped = Grouped {
        size,
        ..Grouped::default()
    };
    Compared {
        of,
        used,
        photos: BTreeSet::new(),
        names: vec![String::new(); views * used],
        grouped,
    }
}

/// How many frames are taken of a video if no number was asked for.
fn usual_frames(told: &Told) -> usize {
    video::usual_of_seconds(told.seconds).min((told.frames as usize).max(2))
}

/// Where an earlier call has done all.
fn nothing_left(earlier: State) -> Forecast {
    Forecast {
        done: true,
        program: String::new(),
        card: false,
        photos: earlier.photos.len(),
        of: earlier.photos.len(),
        max_size: earlier.features.and_then(|features| features.max_size),
        size: (0.0, 0.0),
        video: earlier.video.is_some(),
        seconds: 0.0,
        range: [0.0; 2],
        similar: None,
        similar_seconds: None,
        sequential_seconds: None,
    }
}

/// Seconds of one core to look at a video and to take so many of its frames.
fn taking(told: &Told, frames: usize) -> f64 {
    let looks = PER_LOOK * told.frames + PER_FRAME * frames as f64;
    looks * told.size.0 * told.size.1 / 1e6
}
