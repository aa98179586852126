//! Videos through ffmpeg, which reads frames from a pipe.

use crate::VideoError;
use crate::encoder::{Codec, Container, Encoder, Job};
use crate::rate::fraction;
use crate::yuv::{even, padded};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::JoinHandle;

/// Bytes of its messages that are kept.
const MESSAGES: u64 = 64 << 10;

/// The ffmpeg on the PATH.
pub fn find() -> Option<PathBuf> {
    let name = format!("ffmpeg{}", std::env::consts::EXE_SUFFIX);
    let folders = std::env::var_os("PATH")?;
    // An empty entry means the current folder, whose programs nobody asked for.
    std::env::split_paths(&folders)
        .filter(|folder| !folder.as_os_str().is_empty())
        .map(|folder| folder.join(&name))
        .find(|path| path.is_file())
}

/// A video being written.
pub struct Ffmpeg {
    job: Job,
    child: Child,
    input: Option<ChildStdin>,
    messages: Option<JoinHandle<String>>,
}

impl Ffmpeg {
    pub fn start(
        program: &Path,
        codec: Codec,
        container: Container,
        job: Job,
    ) -> Result<Self, VideoError> {
        let mut command = Command::new(program);
        command
            .args(arguments(codec, container, &job))
            .arg(&job.place);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            // Ctrl-C is for the program that renders.
            command.process_group(0);
        }
        let mut child = command.spawn().map_err(|error| {
            let problem = format!("cannot be started ({error})");
            VideoError::new(
                program,
                problem,
                "install ffmpeg, or write another kind of file",
            )
        })?;
        let messages = child.stderr.take().map(|stderr| {
            std::thread::spawn(move || {
                let mut text = Vec::new();
                let mut rest = stderr.take(MESSAGES);
                let _ = rest.read_to_end(&mut text);
                // The rest is read too, so that ffmpeg does not wait.
                let _ = std::io::copy(&mut rest.into_inner(), &mut std::io::sink());
                String::from_utf8_lossy(&text).into_owned()
            })
        });
        let input = child.stdin.take();
        Ok(Self {
            job,
            child,
            input,
            messages,
        })
    }

    /// What ffmpeg said last, after it ended.
    fn ended(&mut self, otherwise: &dyn std::fmt::Display) -> VideoError {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let said = self
            .messages
            .take()
            .and_then(|reader| reader.join().ok())
            .unwrap_or_default();
        // SVT-AV1 introduces itself before it says what is wrong.
        let is_told = |line: &&str| !line.is_empty() && !line.starts_with("Svt[info]");
        let first = said.lines().map(str::trim).find(is_told);
        let why = first.map_or_else(|| otherwise.to_string(), str::to_owned);
        let problem = format!("ffmpeg failed ({why})");
        VideoError::new(
            &self.job.path,
            problem,
            "choose another codec, or write PNG files",
        )
    }
}

/// All but the name of the file.
fn arguments(codec: Codec, container: Container, job: &Job) -> Vec<String> {
    let [width, height] = even(job.size);
    let (rate, unit) = fraction(job.fps);
    let quality = f64::from(job.quality.min(100));
    // x264's and x265's scale ends at 51, that of AV1 and VP9 at 63; lower is better.
    let (encoder, crf, more) = match codec {
        Codec::H264 => ("libx264", 50.0 - 0.4 * quality, ""),
        Codec::H265 => (
            "libx265",
            50.0 - 0.4 * quality,
            "-tag:v hvc1 -x265-params log-level=error",
        ),
        Codec::Av1 | Codec::BuiltIn => ("libsvtav1", 63.0 - 0.5 * quality, ""),
        Codec::Vp9 => ("libvpx-vp9", 63.0 - 0.5 * quality, "-b:v 0 -row-mt 1"),
    };
    let format = match container {
        Container::Mp4 => "mp4",
        Container::Mov => "mov",
        Container::Mkv => "matroska",
        Container::WebM => "webm",
    };
    let front = match container {
        Container::Mp4 | Container::Mov => "-movflags +faststart",
        Container::Mkv | Container::WebM => "",
    };
    let text = format!(
        "-hide_banner -loglevel error -nostats -y \
         -f rawvideo -pixel_format rgb24 -video_size {width}x{height} -framerate {rate}/{unit} \
         -i pipe:0 -an \
         -vf scale=in_range=pc:out_range=tv:out_color_matrix=bt709:flags=accurate_rnd+bicubic,\
         format=yuv420p,setparams=range=tv:color_primaries=bt709:color_trc=iec61966-2-1:\
         colorspace=bt709 \
         -c:v {encoder} -crf {crf:.0} {more} -color_range tv -color_primaries bt709 \
         -color_trc iec61966-2-1 -colorspace bt709 {front} -f {format}"
    );
    text.split_whitespace().map(str::to_owned).collect()
}

impl Encoder for Ffmpeg {
    fn write(&mut self, rgb: &[u8]) -> Result<(), VideoError> {
        self.job.check(rgb)?;
        let size = self.job.size;
        let written = match &mut self.input {
            Some(input) if even(size) == size => input.write_all(rgb),
            Some(input) => input.write_all(&padded(rgb, size)),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        written.map_err(|error| self.ended(&error))
    }

    fn finish(mut self: Box<Self>) -> Result<(), VideoError> {
        drop(self.input.take());
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(self.ended(&status)),
            Err(error) => Err(self.ended(&error)),
        }
    }
}

impl Drop for Ffmpeg {
    fn drop(&mut self) {
        // Not at all if it ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
