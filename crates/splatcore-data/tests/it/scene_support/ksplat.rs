//! A small writer of .ksplat, made from the format's description.

use splatcore_core::random::Rng;

/// A section before it is packed.
pub struct Section {
    pub degree: u16,
    pub capacity: u32,
    pub full: u32,
    pub partial: Vec<u32>,
    pub centres: Vec<[f32; 3]>,
    /// Rows as the file has them.
    pub rows: Vec<Vec<u8>>,
}

/// A file before it is packed.
pub struct Ksplat {
    pub level: u16,
    pub sections: Vec<Section>,
}

/// Bytes of a Gaussian.
pub fn row(level: u16, degree: u16) -> usize {
    let value = if level == 0 { 4 } else { 2 };
    let higher = 3 * ((usize::from(degree) + 1).pow(2) - 1);
    10 * value + 4 + higher * [4, 2, 1][usize::from(level)]
}

impl Ksplat {
    /// A section of each degree up to the given one. All floats and halves are small and positive.
    pub fn random(level: u16, count: usize, degree: u16, seed: u64) -> Self {
        let mut rng = Rng::new(seed, 3);
        let mut value = |bytes: &mut Vec<u8>| match level {
            0 => bytes.extend((rng.uniform() + 0.1).to_le_bytes()),
            _ => bytes.extend((0x2c00 + rng.next_u32() as u16 % 0x1000).to_le_bytes()),
        };
        let mut sections = Vec::new();
        for degree in 0..=degree {
            let rows: Vec<Vec<u8>> = (0..count)
                .map(|i| {
                    let mut bytes = Vec::new();
                    (0..10).for_each(|_| value(&mut bytes));
                    bytes.extend([i as u8, 2, 3, 200]);
                    while bytes.len() < row(level, degree) {
                        match level {
                            2 => bytes.push(bytes.len() as u8),
                            _ => value(&mut bytes),
                        }
                    }
                    bytes
                })
                .collect();
            let buckets = level > 0;
            sections.push(Section {
                degree,
                capacity: 8,
                full: if buckets { count as u32 / 2 / 8 } else { 0 },
                partial: if buckets {
                    vec![1, count as u32]
                } else {
                    Vec::new()
                },
                centres: (0..if buckets { count / 16 + 2 } else { 0 })
                    .map(|i| [i as f32, -1.0, 2.0])
                    .collect(),
                rows,
            });
        }
        Self { level, sections }
    }

    pub fn file(&self) -> Vec<u8> {
        let count: usize = self.sections.iter().map(|s| s.rows.len()).sum();
        let words = |values: &[(usize, u32)], length: usize| {
            let mut bytes = vec![0; length];
            for (word, value) in values {
                bytes[4 * word..4 * word + 4].copy_from_slice(&value.to_le_bytes());
            }
            bytes
        };
        let (number, count) = (self.sections.len() as u32, count as u32);
        let level = u32::from(self.level);
        let mut file = words(
            &[(1, number), (2, number), (3, count), (4, count), (5, level)],
            4096,
        );
        file[1] = 1;
        for s in &self.sections {
            let rows = s.rows.len() as u32;
            let centre = if self.level > 0 { 12 } else { 0 };
            file.extend(words(
                &[
                    (0, rows),
                    (1, rows),
                    (2, s.capacity),
                    (3, s.centres.len() as u32),
                    (4, 5.0f32.to_bits()),
                    (5, centre),
                    (6, if self.level > 0 { 32767 } else { 0 }),
                    (8, s.full),
                    (9, s.partial.len() as u32),
                    (10, u32::from(s.degree)),
                ],
                1024,
            ));
        }
        for s in &self.sections {
            file.extend(s.partial.iter().flat_map(|v| v.to_le_bytes()));
            file.extend(
                s.centres
                    .as_flattened()
                    .iter()
                    .flat_map(|v| v.to_le_bytes()),
            );
            file.extend(s.rows.concat());
        }
        file
    }
}
