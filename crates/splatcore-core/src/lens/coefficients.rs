//! The coefficients of polynomial lenses as one list: those by which the gradient of a camera's
//! intrinsics is ([`crate::IntrinsicsGradient`]).

use super::polynomial::Polynomial;

/// Numbers of [`Polynomial::coefficients`].
pub const COEFFICIENTS: usize = 25;

/// By which power of a point's distance from the axis each coefficient moves it in the image.
pub const POWERS: [i32; COEFFICIENTS] = [
    3, 5, 7, 9, 11, 13, // radial
    2, 4, 6, 8, 10, 12, // odd
    3, 5, 7, // divisor
    2, 2, // tangential
    4, 6, // growth
    2, 4, 2, 4, // prism
    1, 1, // skew
];

impl Polynomial {
    /// `radial`, `odd`, `divisor`, `tangential`, `growth`, `prism` and `skew`, one after another.
    pub fn coefficients(&self) -> [f64; COEFFICIENTS] {
        let parts: [&[f64]; 7] = [
            &self.radial,
            &self.odd,
            &self.divisor,
            &self.tangential,
            &self.growth,
            &self.prism,
            &self.skew,
        ];
        let mut all = parts.into_iter().flatten().copied();
        std::array::from_fn(|_| all.next().unwrap_or(0.0))
    }

    /// The derivatives of [`Polynomial::bend`] by the coefficients, in that order.
    pub fn by_coefficients(&self, at: [f64; 2]) -> [[f64; 2]; COEFFICIENTS] {
        let s = at[0] * at[0] + at[1] * at[1];
        let factor = self.radial(s).0;
        let (inner, rows) = match self.radial_first {
            true => {
                let inner = at.map(|v| v * factor);
                (inner, self.rest_jacobian(inner, 1.0, 0.0))
            }
            false => (at, [[1.0, self.skew[0]], [self.skew[1], 1.0]]),
        };
        // By the radial factor the point moves along itself.
        let along = rows.map(|row| row[0] * at[0] + row[1] * at[1]);
        let below = self.below(s);
        let mut out = [[0.0; 2]; COEFFICIENTS];
        let mut power = s / below;
        for i in 0..6 {
            out[i] = along.map(|v| v * power);
            out[6 + i] = along.map(|v| v * power / s.max(f64::MIN_POSITIVE).sqrt());
            if i < 3 {
                out[12 + i] = along.map(|v| -v * factor * power);
            }
            power *= s;
        }
        let ([x, y], s) = (inner, inner[0] * inner[0] + inner[1] * inner[1]);
        let more = 1.0 + s * (self.growth[0] + s * self.growth[1]);
        let tangential = [
            [2.0 * x * y, s + 2.0 * y * y],
            [s + 2.0 * x * x, 2.0 * x * y],
        ];
        let grown: [f64; 2] = std::array::from_fn(|i| {
            self.tangential[0] * tangential[0][i] + self.tangential[1] * tangential[1][i]
        });
        let terms = [
            tangential[0].map(|v| more * v),
            tangential[1].map(|v| more * v),
            grown.map(|v| s * v),
            grown.map(|v| s * s * v),
            [s, 0.0],
            [s * s, 0.0],
            [0.0, s],
            [0.0, s * s],
        ];
        for (out, term) in out[15..23].iter_mut().zip(terms) {
            *out = self.sheared(term);
        }
        let [bent_x, bent_y] = Self {
            skew: [0.0; 2],
            ..*self
        }
        .bend(at);
        (out[23], out[24]) = ([bent_y, 0.0], [0.0, bent_x]);
        out
    }
}
