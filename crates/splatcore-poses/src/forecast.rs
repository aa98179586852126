//! What finding poses will take, before it begins.

use crate::effort::{self, Effort};
use crate::groups::{self, Grouped};
use crate::program::{Pairs, Program};
use crate::state::State;
use crate::{Cameras, Job, PosesError, pairs, photos};

/// Frames that a video has, and their size, where nothing is known of it.
const FRAMES: usize = 150;
const FRAME: (f64, f64) = (1920.0, 1080.0);
/// Seconds to look at a video and to take a frame.
const PER_FRAME: f64 = 0.3;

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
    /// The largest size of photos in which features are searched, if that is not the program's.
    pub max_size: Option<u32>,
    /// Estimated seconds. A rough figure: photos differ.
    pub seconds: f64,
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
    let model = job.dataset.join("sparse/0/images.bin");
    if earlier.finished.is_some() && model.is_file() {
        return Ok(Forecast {
            done: true,
            program: String::new(),
            card: false,
            photos: earlier.photos.len(),
            max_size: earlier.features.and_then(|features| features.max_size),
            seconds: 0.0,
            sequential_seconds: None,
        });
    }
    let program = Program::find(job)?;
    let card = program.gpu.is_some();
    let job = Job {
        max_size: job.max_size.or(without_card.filter(|_| !card)),
        ..job.clone()
    };
    let video = job.input.is_file();
    let (names, grouped) = match video {
        true => {
            let frames = job.frames.map_or(FRAMES, |frames| frames as usize);
            let grouped = Grouped {
                size: FRAME,
                ..Grouped::default()
            };
            (vec![String::new(); frames], grouped)
        }
        false => {
            let found = photos::of(&job.input, std::slice::from_ref(&job.dataset))?.photos;
            let grouped = groups::group(&found, Cameras::Each)?;
            (found.into_iter().map(|photo| photo.name).collect(), grouped)
        }
    };
    let frames = pairs::look_like_frames(&names, &grouped);
    let chosen = pairs::choose(&job, &names, frames, video);
    let effort = Effort::of(&job, &grouped, &program, &earlier, names.len());
    let seconds = |pairs| {
        let taking = if video {
            PER_FRAME * names.len() as f64
        } else {
            0.0
        };
        taking + effort.extraction() + effort.matching(pairs) + effort.mapping()
    };
    let all = seconds(pairs::count(&chosen, names.len()));
    let sequential = seconds(effort::sequential_pairs(names.len()));
    let exhaustive = matches!(chosen, Pairs::Exhaustive(_));
    let worth = exhaustive && pairs::faster(&names, [sequential, all]).is_some();
    Ok(Forecast {
        done: false,
        program: program.name,
        card,
        photos: names.len(),
        max_size: job.max_size,
        seconds: all,
        sequential_seconds: worth.then_some(sequential),
    })
}
