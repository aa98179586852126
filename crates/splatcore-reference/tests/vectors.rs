//! The twin against another program's images.

#[path = "support/vectors.rs"]
mod vectors;

use splatcore_core::pipeline::Pipeline;
use splatcore_reference::twin;
use vectors::{TOLERANCE, camera, largest_difference, options, references};

#[test]
fn twin_reproduces_another_programs_images() {
    for reference in references() {
        let frame = twin::render(&reference.scene, &camera(), &options(Pipeline::AUTO));
        let pixels = frame.image.iter().zip(&frame.transmittance);
        let error =
            largest_difference(&reference, pixels.map(|(c, t)| [c[0], c[1], c[2], 1.0 - t]));
        eprintln!("{}: twin differs by at most {error:.2e}", reference.name);
        assert!(error < TOLERANCE, "{}: {error:e}", reference.name);
    }
}
