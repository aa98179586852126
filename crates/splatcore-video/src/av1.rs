//! AV1 by rav1e in MP4 by muxide, both built in.

use crate::VideoError;
use crate::encoder::{Encoder, Job};
use crate::rate::fraction;
use crate::yuv::{even, padded, planes};
use muxide::api::{Muxer, MuxerBuilder, VideoCodec};
use rav1e::prelude::{
    ChromaSampling, ColorDescription, ColorPrimaries, Config, Context, EncoderConfig,
    EncoderStatus, FrameType, MatrixCoefficients, PixelRange, Rational, TransferCharacteristics,
};
use std::fs::File;
use std::io::{BufWriter, Write as _};

/// rav1e's fastest preset: without assembly the others take minutes for a second of video.
const SPEED: u8 = 10;
/// Parts of a frame that are coded at the same time.
const TILES: usize = 4;
/// A viewer can jump to every so many frames.
const KEY_FRAMES_APART: u64 = 120;

/// A video being written.
pub struct Av1 {
    job: Job,
    context: Context<u8>,
    muxer: Muxer<BufWriter<File>>,
}

impl Av1 {
    pub fn start(job: Job) -> Result<Self, VideoError> {
        let [width, height] = even(job.size);
        let (rate, unit) = fraction(job.fps);
        let mut config = EncoderConfig::with_speed_preset(SPEED);
        config.width = width as usize;
        config.height = height as usize;
        config.time_base = Rational::new(u64::from(unit), u64::from(rate));
        config.chroma_sampling = ChromaSampling::Cs420;
        config.pixel_range = PixelRange::Limited;
        config.color_description = Some(ColorDescription {
            color_primaries: ColorPrimaries::BT709,
            transfer_characteristics: TransferCharacteristics::SRGB,
            matrix_coefficients: MatrixCoefficients::BT709,
        });
        // 0 is without loss, 255 the coarsest.
        config.quantizer = 255 - 22 * usize::from(job.quality.min(100)) / 10;
        config.tiles = TILES;
        config.set_key_frame_interval(0, KEY_FRAMES_APART);
        let failed = |error: &dyn std::fmt::Display| {
            let problem = format!("AV1 of {width}x{height} cannot be coded ({error})");
            VideoError::new(&job.path, problem, "choose another size or codec")
        };
        let config = Config::new().with_encoder_config(config);
        let context = config.new_context().map_err(|error| failed(&error))?;
        let muxer = MuxerBuilder::new(BufWriter::new(job.create()?))
            .video(
                VideoCodec::Av1,
                width,
                height,
                f64::from(rate) / f64::from(unit),
            )
            .build()
            .map_err(|error| failed(&error))?;
        Ok(Self {
            job,
            context,
            muxer,
        })
    }

    /// Writes what is coded so far.
    fn drain(&mut self) -> Result<(), VideoError> {
        loop {
            match self.context.receive_packet() {
                Ok(packet) => {
                    let (rate, unit) = fraction(self.job.fps);
                    let seconds = packet.input_frameno as f64 * f64::from(unit) / f64::from(rate);
                    let is_key = packet.frame_type == FrameType::KEY;
                    self.muxer
                        .write_video(seconds, &packet.data, is_key)
                        .map_err(|error| VideoError::write(&self.job.path, &error))?;
                }
                Err(EncoderStatus::Encoded) => {}
                Err(EncoderStatus::NeedMoreData | EncoderStatus::LimitReached) => return Ok(()),
                Err(error) => return Err(self.failed(&error)),
            }
        }
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> VideoError {
        let problem = format!("AV1 cannot be coded ({error})");
        VideoError::new(
            &self.job.path,
            problem,
            "install ffmpeg, or write PNG files",
        )
    }
}

impl Encoder for Av1 {
    fn write(&mut self, rgb: &[u8]) -> Result<(), VideoError> {
        self.job.check(rgb)?;
        let size = even(self.job.size);
        let planes = planes(&padded(rgb, self.job.size), size);
        let mut frame = self.context.new_frame();
        for (i, (plane, values)) in frame.planes.iter_mut().zip(&planes).enumerate() {
            let stride = size[0] as usize / if i == 0 { 1 } else { 2 };
            plane.copy_from_raw_u8(values, stride, 1);
        }
        if let Err(error) = self.context.send_frame(frame) {
            return Err(self.failed(&error));
        }
        self.drain()
    }

    fn finish(mut self: Box<Self>) -> Result<(), VideoError> {
        self.context.flush();
        self.drain()?;
        let Self { job, mut muxer, .. } = *self;
        let failed = |error: &dyn std::fmt::Display| VideoError::write(&job.path, error);
        muxer.finish_in_place().map_err(|error| failed(&error))?;
        // A writer that is dropped does not say that the disk is full.
        let mut file = muxer.into_writer();
        file.flush().map_err(|error| failed(&error))
    }
}
