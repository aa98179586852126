//! What programs said: the file `poses.log` of a dataset.

use crate::PosesError;
use crate::child::{self, Call, End};
use crate::track::Track;
use splatcore_data::DataError;
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The log of a dataset, which is added to.
pub struct Log {
    pub path: PathBuf,
    file: BufWriter<File>,
}

/// Hears a line.
type Hear<'a> = dyn FnMut(&mut Track<'_>, &str) -> Result<(), PosesError> + 'a;

impl Log {
    /// The log of a dataset.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn of(dataset: &Path) -> Result<Self, PosesError> {
        let path = dataset.join("poses.log");
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.map_err(|e| DataError::write(&path, &e))?;
        let file = BufWriter::new(file);
        Ok(Self { path, file })
    }

    /// Runs a program until it ends or a stop is asked for. Its lines go to the log and to `hear`.
    pub fn run(
        &mut self,
        call: &Call,
        track: &mut Track<'_>,
        hear: &mut Hear<'_>,
    ) -> Result<End, PosesError> {
        let Self { path, file } = self;
        let failed = |e: std::io::Error| PosesError::from(DataError::write(path, &e));
        writeln!(file, "\n$ {}", call.shown()).map_err(failed)?;
        let track = RefCell::new(track);
        // Asked several times a second, so it is the clock too.
        let stop = || {
            let mut track = track.borrow_mut();
            track.tick();
            track.stop()
        };
        let end = child::run(call, &stop, &mut |line| {
            writeln!(file, "{line}").map_err(failed)?;
            hear(&mut track.borrow_mut(), line)
        });
        file.flush().map_err(failed)?;
        end
    }
}
