//! Any other video, by ffmpeg. It turns frames as the file's rotation asks for.

use super::measure::{Measured, SMALL, shrink};
use super::pipe::Pipe;
use super::reader::{Reader, Seen, Survey, Taken};
use super::told::{ffmpeg_of, told_by};
use super::{ppm, y4m};
use crate::child::{self, Call};
use crate::{Job, PosesError};
use splatcore_data::DataError;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program `ffmpeg` and a video.
pub struct Ffmpeg<'a> {
    program: PathBuf,
    path: &'a Path,
    /// The option that keeps ffmpeg from repeating and leaving out frames.
    each_frame: &'static str,
    stop: &'a dyn Fn() -> bool,
}

impl<'a> Ffmpeg<'a> {
    /// The program that the job names, else the one on `PATH`.
    pub fn find(job: &Job, path: &'a Path, stop: &'a dyn Fn() -> bool) -> Result<Self, PosesError> {
        let Some(program) = ffmpeg_of(job) else {
            return Err(DataError::new(
                path,
                "is a video that needs ffmpeg, and there is none on PATH",
                "install it (Debian and Ubuntu: sudo apt install ffmpeg; macOS: brew install \
                 ffmpeg; Windows: winget install ffmpeg), or give a folder of photos",
            )
            .into());
        };
        let call = Call::new(&program).arg("-version");
        let (_, text) = child::output(&call, Duration::from_secs(30))?;
        let Some(version) = text.strip_prefix("ffmpeg version ") else {
            let problem = "is not ffmpeg (`-version` does not say so); name another one".into();
            return Err(PosesError::Program { program, problem });
        };
        let each_frame = if is_older_than_5_1(version) {
            "-vsync"
        } else {
            "-fps_mode"
        };
        Ok(Self {
            program,
            path,
            each_frame,
            stop,
        })
    }

    /// A call that writes frames through a filter to stdout.
    fn call(&self, filter: &str, output: &[&str]) -> Call {
        let mut call = Call::new(&self.program)
            .args(["-nostdin", "-v", "error", "-i"])
            .arg(self.path)
            .args(["-map", "0:V:0", "-an", "-sn", "-dn", "-vf", filter])
            .args([self.each_frame, "passthrough"]);
        call.args.extend(output.iter().map(Into::into));
        call.arg("-")
    }

    /// The error behind a pipe that broke off or ended early: what ffmpeg said, else `otherwise`.
    fn failed(&self, pipe: &mut Pipe<'_>, otherwise: &str) -> PosesError {
        let said = pipe.failure().ok().flatten();
        let said = said.as_deref().unwrap_or(otherwise);
        DataError::new(
            self.path,
            format!("cannot be decoded by ffmpeg ({said})"),
            "check that the file is a video and complete",
        )
        .into()
    }
}

impl Reader for Ffmpeg<'_> {
    fn survey(&self, seen: &mut Seen<'_>) -> Result<Survey, PosesError> {
        let filter = format!(
            "scale='min({SMALL},iw)':'min({SMALL},ih)':force_original_aspect_ratio=decrease:\
             flags=area"
        );
        let call = self.call(&filter, &["-pix_fmt", "gray", "-f", "yuv4mpegpipe"]);
        let mut pipe = Pipe::start(call, self.stop)?;
        let mut survey = Survey {
            frames: Vec::new(),
            rate: None,
            told: told_by(&self.program, self.path),
        };
        if let Err(error) = look(&mut pipe, &mut survey, seen)? {
            return Err(self.failed(&mut pipe, &error.to_string()));
        }
        match pipe.failure()? {
            Some(said) => Err(self.failed(&mut pipe, &said)),
            None => Ok(survey),
        }
    }

    fn take(&self, indices: &[usize], frame: &mut Taken<'_>) -> Result<(), PosesError> {
        let filter = format!("select='{}'", is_one_of(indices));
        let output = ["-pix_fmt", "rgb24", "-c:v", "ppm", "-f", "image2pipe"];
        let mut pipe = Pipe::start(self.call(&filter, &output), self.stop)?;
        // Behind the last of them ffmpeg would go on to the end of the video: it ends with `pipe`.
        for _ in indices {
            match ppm::next(&mut pipe) {
                Ok(Some(image)) => frame(image)?,
                Ok(None) => return Err(self.failed(&mut pipe, "it ends early")),
                Err(error) => return Err(self.failed(&mut pipe, &error.to_string())),
            }
        }
        Ok(())
    }
}

/// Whether ffmpeg's frame number n is one of these ascending ones, by halves: ffmpeg refuses an
/// expression that is a hundred terms deep, as the sum of a hundred is.
fn is_one_of(indices: &[usize]) -> String {
    match indices {
        [] => "0".to_owned(),
        [index] => format!("eq(n,{index})"),
        _ => {
            let (low, high) = indices.split_at(indices.len() / 2);
            let (first, low, high) = (high[0], is_one_of(low), is_one_of(high));
            format!("if(lt(n,{first}),{low},{high})")
        }
    }
}

/// Measures all frames of a stream. The inner error is that of the stream.
fn look(
    pipe: &mut Pipe<'_>,
    survey: &mut Survey,
    seen: &mut Seen<'_>,
) -> Result<std::io::Result<()>, PosesError> {
    let mut source = match y4m::Frames::new(pipe) {
        Ok(source) => source,
        Err(error) => return Ok(Err(error)),
    };
    survey.rate = source.header().rate;
    let [w, h] = [source.header().width, source.header().height].map(|v| v as usize);
    loop {
        match source.advance() {
            Ok(true) => survey
                .frames
                .push(Measured::of(&shrink(w, h, source.luma()))),
            Ok(false) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        }
        seen(survey.frames.len() as u64)?;
    }
}

/// Whether `5.1.9-0+deb12u1 Copyright ...` is older than 5.1; builds from git (`N-...`) are not.
fn is_older_than_5_1(version: &str) -> bool {
    let mut numbers = version
        .trim_start_matches('n')
        .split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next().and_then(|word| word.parse::<u32>().ok());
    match (number(), number()) {
        (Some(major), minor) => (major, minor.unwrap_or(0)) < (5, 1),
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_frames_are_chosen_by_a_flat_expression() {
        assert_eq!(is_one_of(&[3, 7]), "if(lt(n,7),eq(n,3),eq(n,7))");
        let many: Vec<usize> = (0..300).collect();
        let (mut depth, mut deepest) = (0, 0);
        for letter in is_one_of(&many).chars() {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            deepest = deepest.max(depth);
        }
        assert_eq!((depth, deepest), (0, 10));
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        for old in ["4.4.2-0ubuntu0.22.04.1 Copyright", "5.0", "n4.4"] {
            assert!(is_older_than_5_1(old), "{old}");
        }
        for new in [
            "5.1.9-0+deb12u1 Copyright",
            "n7.1",
            "N-118123-g1",
            "10.0",
            "2025-01-01-git",
        ] {
            assert!(!is_older_than_5_1(new), "{new}");
        }
    }
}
