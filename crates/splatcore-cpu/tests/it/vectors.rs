//! The portable backend against another program's images, by every pipeline that loses nothing.

#[path = "../../../splatcore-reference/tests/support/vectors.rs"]
mod images;

use images::{TOLERANCE, camera, largest_difference, options, references};
use splatcore_core::backend::Backend;
use splatcore_core::pipeline::Pipeline;
use splatcore_cpu::CpuBackend;

#[test]
fn backend_reproduces_another_programs_images() {
    let backend = CpuBackend::new(None);
    for reference in references() {
        // The others cut fragments beyond 3 sigma that these images have.
        for pipeline in Pipeline::all() {
            if !pipeline.intersect.loses_nothing() {
                continue;
            }
            let mut renderer = backend.renderer(&reference.scene).unwrap();
            let frame = renderer.render(&camera(), &options(pipeline)).unwrap();
            let wide = |v: f32| v as f64;
            let pixels = frame.image.data.iter().zip(&frame.transmittance);
            let error = largest_difference(
                &reference,
                pixels.map(|(c, &t)| [wide(c[0]), wide(c[1]), wide(c[2]), 1.0 - wide(t)]),
            );
            eprintln!(
                "{}, {pipeline}: differs by at most {error:.2e}",
                reference.name
            );
            assert!(
                error < TOLERANCE,
                "{}, {pipeline}: {error:e}",
                reference.name
            );
        }
    }
}
