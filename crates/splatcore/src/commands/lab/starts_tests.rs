//! A start is the method: the same machine code, the same images, and nothing of other files.

use super::code::{Compiler, programs};
use splatcore_core::Backend;
use splatcore_core::Pipeline;
use splatcore_cuda::CudaBackend;
use splatcore_cuda::device::Replacements;
use splatcore_cuda::device::emulated::Emulated;
use splatcore_cuda::ops::SOURCES;
use splatcore_lab::gates::result::{TestScene, hostile, random};
use splatcore_lab::{Texts, starts};
use std::sync::Arc;

/// Names that other kernel files have: whoever reads a start alone may choose them.
const OF_OTHERS: &str = "
__device__ __forceinline__ float warp_sum(float value) { return value; }
__device__ __forceinline__ float touches_subtile(float value) { return value; }
__device__ __forceinline__ float make_geometry(float value) { return value; }
struct RayShape {
    float depth;
};
";

fn pipeline(start: &str) -> Pipeline {
    format!("aabb+{start}").parse().unwrap()
}

/// A start with helpers of these names.
fn with_names_of_others(start: &str) -> Texts {
    let mut texts = starts::texts(start).unwrap();
    for text in texts.values_mut() {
        *text = text.replacen("extern \"C\"", &format!("{OF_OTHERS}\nextern \"C\""), 1);
        assert!(text.contains(OF_OTHERS));
    }
    texts
}

#[test]
fn a_start_has_the_machine_code_of_the_method() {
    for start in starts::names() {
        for capability in [75, 80, 86, 89, 90] {
            let compiled = |changed: &Texts| {
                let compiler = Compiler::default();
                let compiled = compiler.compile(changed, pipeline(start), false, capability, &[]);
                compiled.unwrap_or_else(|error| panic!("{start}, sm_{capability}: {error}"))
            };
            let texts = starts::texts(start).unwrap();
            let (Some(own), Some(built_in)) = (compiled(&texts), compiled(&Texts::new())) else {
                let required = std::env::var("SPLATCORE_TEST_NVRTC");
                assert_ne!(required.as_deref(), Ok("required"), "NVRTC is missing");
                eprintln!("SKIPPED: no NVRTC");
                return;
            };
            assert_eq!(own.code, built_in.code, "{start}, sm_{capability}");
            if capability == 90 {
                let named = compiled(&with_names_of_others(start)).unwrap();
                assert_eq!(named.code, own.code, "{start}");
            }
        }
    }
}

#[test]
fn a_start_takes_the_place_of_one_file_and_includes_none() {
    for start in starts::names() {
        let texts = starts::texts(start).unwrap();
        let programs = programs(pipeline(start), false, 90, &texts, &[]).unwrap();
        let blend = programs
            .iter()
            .find(|program| program.name().starts_with("blend"));
        let files = blend.unwrap().files();
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        assert!(names.iter().eq(texts.keys()), "{names:?}");
    }
}

#[test]
fn a_start_renders_the_images_of_the_method() {
    let Ok(emulated) = Emulated::with_checks(false) else {
        eprintln!("SKIPPED: no C++ compiler for the emulator");
        return;
    };
    let emulated = Arc::new(emulated);
    for start in starts::names() {
        let backend = |texts: Texts| {
            let replacements = Replacements::new(texts, SOURCES).unwrap();
            CudaBackend::on(emulated.clone(), false).with_replacements(replacements)
        };
        let built_in = backend(Texts::new());
        let own = backend(starts::texts(start).unwrap());
        let named = backend(with_names_of_others(start));
        let mut tests = random(7, pipeline(start));
        tests.truncate(3);
        tests.extend(hostile(7, pipeline(start)));
        let images = |backend: &CudaBackend, test: &TestScene| -> [Vec<u32>; 2] {
            let mut renderer = backend.renderer(&test.scene).unwrap();
            let frame = &test.frames[0];
            let rendered = renderer.render(&frame.camera(), &frame.options().unwrap());
            let rendered = rendered.unwrap();
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect();
            [
                bits(rendered.image.data.as_flattened()),
                bits(&rendered.transmittance),
            ]
        };
        for (number, test) in tests.iter().enumerate() {
            let expected = images(&built_in, test);
            assert!(images(&own, test) == expected, "{start}: {}", test.name);
            if number == 0 {
                assert!(images(&named, test) == expected, "{start}: {}", test.name);
            }
        }
    }
}
