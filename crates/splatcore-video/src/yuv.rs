//! Even sizes, and BT.709's Y'CbCr.

/// The next even size.
pub fn even([width, height]: [u32; 2]) -> [u32; 2] {
    [width.next_multiple_of(2), height.next_multiple_of(2)]
}

/// A frame of an even size: the last column and row are repeated where a side is odd.
pub fn padded(rgb: &[u8], [width, height]: [u32; 2]) -> Vec<u8> {
    let [wide, high] = even([width, height]).map(|side| side as usize);
    let row = 3 * width as usize;
    let mut out = Vec::with_capacity(3 * wide * high);
    for line in rgb.chunks_exact(row) {
        out.extend_from_slice(line);
        if wide > width as usize {
            out.extend_from_slice(&line[row - 3..]);
        }
    }
    if high > height as usize {
        out.extend_from_within(out.len() - 3 * wide..);
    }
    out
}

/// Luma, and both differences at half the size, of a frame of even size: the matrix of ITU-R BT.709
/// in limited range, 8 bits; a difference is that of the mean of four pixels.
#[cfg(feature = "av1")]
pub fn planes(rgb: &[u8], [width, height]: [u32; 2]) -> [Vec<u8>; 3] {
    let (width, height) = (width as usize, height as usize);
    let pixel = |x: usize, y: usize| -> [f32; 3] {
        let at = 3 * (y * width + x);
        [rgb[at], rgb[at + 1], rgb[at + 2]].map(|v| f32::from(v) / 255.0)
    };
    let luma = |[r, g, b]: [f32; 3]| 0.2126 * r + 0.7152 * g + 0.0722 * b;
    let byte = |v: f32| (v + 0.5).clamp(0.0, 255.0) as u8;
    let y_plane =
        (0..width * height).map(|i| byte(16.0 + 219.0 * luma(pixel(i % width, i / width))));
    let y_plane: Vec<u8> = y_plane.collect();
    let (mut u_plane, mut v_plane) = (Vec::new(), Vec::new());
    for y in (0..height).step_by(2) {
        for x in (0..width).step_by(2) {
            let four = [
                pixel(x, y),
                pixel(x + 1, y),
                pixel(x, y + 1),
                pixel(x + 1, y + 1),
            ];
            let mean: [f32; 3] =
                std::array::from_fn(|k| four.iter().map(|p| p[k]).sum::<f32>() / 4.0);
            let y = luma(mean);
            // Half the range of B - Y and of R - Y.
            u_plane.push(byte(128.0 + 224.0 * (mean[2] - y) / 1.8556));
            v_plane.push(byte(128.0 + 224.0 * (mean[0] - y) / 1.5748));
        }
    }
    [y_plane, u_plane, v_plane]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the standard's colour bars at 100 %.
    #[cfg(feature = "av1")]
    #[test]
    fn bars_have_the_standards_values() {
        let bars = [
            ([255, 255, 255], [235, 128, 128]),
            ([255, 0, 0], [63, 102, 240]),
            ([0, 255, 0], [173, 42, 26]),
            ([0, 0, 255], [32, 240, 118]),
            ([0, 0, 0], [16, 128, 128]),
        ];
        for (rgb, wanted) in bars {
            let frame: Vec<u8> = rgb.repeat(4);
            let planes = planes(&frame, [2, 2]);
            assert_eq!(planes.each_ref().map(|plane| plane[0]), wanted, "{rgb:?}");
            assert_eq!(planes.map(|plane| plane.len()), [4, 1, 1]);
        }
    }

    #[test]
    fn odd_sides_get_a_copy() {
        let rgb: Vec<u8> = (0..27).collect();
        let out = padded(&rgb, [3, 3]);
        assert_eq!(out.len(), 4 * 4 * 3);
        assert_eq!(out[9..12], rgb[6..9]);
        assert_eq!(out[36..], out[24..36]);
        assert_eq!(padded(&rgb[..24], [4, 2]), rgb[..24]);
    }
}
