//! What earlier calls left in a dataset's folder, and whether it fits.

use crate::program::Program;
use crate::state::{Finished, State};
use crate::taken::Taken;
use crate::{Job, PosesError, panoramas};

/// What earlier calls did, and with that what they left of a dataset that begins anew.
pub(crate) fn earlier(job: &Job) -> Result<(State, Option<State>), PosesError> {
    let dataset = &job.dataset;
    if job.overwrite {
        // A file that cannot be understood is as good as none.
        let old = State::read(dataset).unwrap_or(None);
        State::remove(dataset)?;
        // Views of other photos may have the same names.
        panoramas::remove(dataset)?;
        return Ok((State::default(), old));
    }
    let state = State::read(dataset)?.unwrap_or_default();
    let model = ["sparse/0/images.bin", "sparse/0/images.txt"];
    if state.features.is_none() && model.iter().any(|file| dataset.join(file).is_file()) {
        let problem = "already holds a model that this command did not make";
        return Err(occupied(job, problem));
    }
    Ok((state, None))
}

/// The program and what came of it, if an earlier call left nothing to do; `known` photos were
/// there before this one.
///
/// # Errors
/// The poses shall stay as they are, and this job would find others.
pub(crate) fn stays(
    job: &Job,
    state: &State,
    taken: &Taken,
    known: usize,
) -> Result<Option<(String, Finished)>, PosesError> {
    if !taken.model(&job.dataset).join("images.bin").is_file() {
        return Ok(None);
    }
    if let (Some(finished), Some(program)) = (&state.finished, &state.program)
        && finished.asked == job.mapper.name()
    {
        return Ok(Some((program.clone(), finished.clone())));
    }
    if !job.keep {
        return Ok(None);
    }
    let why = match state.photos.len() > known {
        true => "photos were added since its cameras were found",
        false => "its cameras would be found anew, in another way",
    };
    Err(occupied(job, why))
}

/// The program, which must be the one that began.
pub(crate) fn begin(job: &Job, state: &mut State) -> Result<Program, PosesError> {
    let program = Program::find(job)?;
    if let Some(old) = state.program.as_ref().filter(|old| **old != program.name) {
        let what = format!("was begun with {old}, but {} would go on", program.name);
        return Err(occupied(job, &what));
    }
    state.program = Some(program.name.clone());
    state.write(&job.dataset)?;
    Ok(program)
}

pub(crate) fn occupied(job: &Job, problem: &str) -> PosesError {
    PosesError::Occupied {
        dataset: job.dataset.clone(),
        problem: problem.into(),
    }
}
