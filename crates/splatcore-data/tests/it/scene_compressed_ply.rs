//! PlayCanvas's compressed PLY in.

use crate::scene_support::{
    compressed_ply, decodes_as_a_peer, edited, error_of, is_near_the_model,
};
use splatcore_core::gaussians::sigmoid;
use splatcore_core::sh;
use splatcore_data::scene;
use std::path::Path;

fn error(bytes: &[u8]) -> String {
    error_of("test.ply", bytes)
}

#[test]
fn real_files_decode_as_a_peer_decodes_them() {
    for (name, degree) in [("model", 3), ("model.sh2", 2), ("model.sh0", 0)] {
        decodes_as_a_peer(&format!("{name}.compressed.ply"), "compressed PLY", degree);
    }
}

/// Errors as shared/data's README measured them.
#[test]
fn a_real_file_is_near_the_unrounded_model() {
    is_near_the_model("model.compressed.ply", [5.2e-3, 0.0046, 1e-5], 0.0106);
}

/// One Gaussian, by hand; with and without bounds of colours, in both byte orders.
#[test]
fn words_become_parameters() {
    for (colours, big) in [(true, false), (true, true), (false, false)] {
        let words = [
            2047 << 21 | 1 << 11,
            // The largest is y (2); w, x, z.
            2 << 30 | 1023 << 20 | 512 << 10,
            1024 << 21 | 1023 << 11 | 2047,
            u32::from_be_bytes([255, 51, 0, 102]),
        ];
        let bounds = [
            -1.0, 10.0, -7.0, 3.0, 20.0, 5.0, -9.0, -8.0, -6.0, -3.0, -2.0, -1.0,
        ];
        let colour_bounds = [-1.0, 0.0, 0.5, 3.0, 2.0, 2.5];
        let file = compressed_ply(
            &bounds,
            colours.then_some(&colour_bounds),
            &[words],
            &[],
            big,
        );
        let g = scene::parse(&file, Path::new("one.ply")).unwrap().gaussians;
        let close = |got: &[f32], want: &[f32]| {
            assert_eq!(got.len(), want.len());
            assert!(
                got.iter().zip(want).all(|(a, b)| (a - b).abs() < 2e-6),
                "{got:?} {want:?}"
            );
        };
        close(&g.means[0], &[3.0, 10.0 + 10.0 / 1023.0, -7.0]);
        close(
            &g.log_scales[0],
            &[-9.0 + 6.0 * 1024.0 / 2047.0, -2.0, -1.0],
        );
        let half = 0.5f32.sqrt();
        let [w, x, z] = [half, (512.0 / 1023.0 - 0.5) * 2.0f32.sqrt(), -half];
        close(
            &g.rotations[0],
            &[w, x, (1.0 - w * w - x * x - z * z).max(0.0).sqrt(), z],
        );
        close(&[sigmoid(g.opacity_logits[0])], &[0.4]);
        let rgb = if colours {
            [3.0, 0.4, 0.5]
        } else {
            [1.0, 0.2, 0.0]
        };
        close(&g.sh_of(0)[0].map(sh::to_colour), &rgb);
    }
}

#[test]
fn higher_coefficients_are_channel_major_bytes() {
    let row: Vec<u8> = vec![0, 255, 127, 128, 1, 2, 3, 4, 5];
    let file = compressed_ply(&[0.0; 12], None, &[[0, 0, 0, 0]], &[row], false);
    let g = scene::parse(&file, Path::new("one.ply")).unwrap().gaussians;
    assert_eq!(g.sh_degree, 1);
    let value = |byte: u8| ((f32::from(byte) + 0.5) / 256.0 - 0.5) * 8.0;
    assert_eq!(g.sh_of(0)[1], [-4.0, value(128), value(3)]);
    assert_eq!(g.sh_of(0)[2], [4.0, value(1), value(4)]);
    assert_eq!(g.sh_of(0)[3], [value(127), value(2), value(5)]);
}

#[test]
fn a_chunk_is_256_gaussians() {
    let mut bounds = [0.0f32; 24];
    bounds[12..].copy_from_slice(&[5.0; 12]);
    let file = compressed_ply(&bounds, None, &vec![[0, 0, 0, 0]; 257], &[], false);
    let g = scene::parse(&file, Path::new("two.ply")).unwrap().gaussians;
    assert_eq!(
        (g.len(), g.means[255], g.means[256]),
        (257, [0.0; 3], [5.0; 3])
    );
    // Nothing in it is no error.
    let empty = compressed_ply(&[], None, &[], &[], false);
    assert_eq!(
        scene::parse(&empty, Path::new("none.ply"))
            .unwrap()
            .gaussians
            .len(),
        0
    );
}

#[test]
fn broken_files_are_explained() {
    let sh = vec![vec![7; 24]; 300];
    let file = compressed_ply(
        &[1.0; 24],
        Some(&[0.5; 12]),
        &vec![[1, 2, 3, 4]; 300],
        &sh,
        false,
    );
    assert_eq!(
        scene::parse(&file, Path::new("good.ply"))
            .unwrap()
            .gaussians
            .sh_degree,
        2
    );
    for (from, to, message) in [
        (
            "element chunk 2",
            "element chunk 1",
            "1 chunks of 256 cannot hold 300",
        ),
        (
            "element vertex 300",
            "element vertex 299",
            "300 rows of element \"sh\" for 299",
        ),
        (
            "element vertex 300",
            "element vertex 18446744073709551615",
            "declares 18446744073709551615 rows",
        ),
        (
            "element sh 300",
            "element sh 4000000000",
            "declares 4000000000 rows of element \"sh\" of 24 bytes",
        ),
        (
            "element chunk",
            "element block",
            "without the element \"chunk\"",
        ),
        (
            "uint packed_color",
            "float packed_color",
            "packed_color is F32",
        ),
        (
            "uint packed_scale",
            "uint packed_scala",
            "lacks packed_scale",
        ),
        ("float max_z", "float max_w", "lacks max_z"),
        ("float max_b", "float max_c", "lacks max_b"),
        (
            "uchar f_rest_23",
            "uchar f_rust_23",
            "23 properties f_rest_*",
        ),
        ("uchar f_rest_23", "uchar f_rest_24", "lacks f_rest_23"),
        ("uchar f_rest_0", "list uchar uchar f_rest_0", "holds lists"),
        ("binary_little_endian", "ascii", "cannot be ascii"),
    ] {
        let found = error(&edited(&file, from, to));
        assert!(found.contains(message), "{from} -> {to}: {found}");
    }
    assert!(error(&file[..file.len() - 1]).contains("the data ends after 299"));
    let longer = [&file[..], b"more"].concat();
    assert_eq!(
        scene::parse(&longer, Path::new("long.ply")).unwrap().notes[0],
        "4 bytes after the last element were ignored"
    );
}
