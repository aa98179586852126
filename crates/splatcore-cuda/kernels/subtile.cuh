// What the `subtile` and `splatcore` methods share, forward and backward: a warp owns 8x4 pixels of its tile and looks only at the
// splats whose ellipse alpha = 1/255 reaches them (DESIGN section 6, idea 1).

#define SUBTILE_X 8
#define SUBTILE_Y 4

// Where the exponent, less that at the mean, is largest over the rectangle of pixel centres [x0, x0 + across] x [y0, y0 + down], from the mean, and how large. It is concave:
// its largest value is at the mean if that is inside, else on an edge that faces it.
__device__ __forceinline__ float best_in_rectangle(float4 centre, float4 power, float x0, float y0, float across, float down, float& x, float& y) {
    float left = x0 - centre.x, right = left + across, top = y0 - centre.y, bottom = top + down;
    // The point of the rectangle nearest to the mean, axis by axis.
    float near_x = fminf(fmaxf(0.0f, left), right), near_y = fminf(fmaxf(0.0f, top), bottom);
    // Along the edge x = near_x the best y, along y = near_y the best x.
    float along_y = fminf(fmaxf(-0.5f * power.y * near_x * reciprocal_approx(power.z), top), bottom);
    float along_x = fminf(fmaxf(-0.5f * power.y * near_y * reciprocal_approx(power.x), left), right);
    float on_x = fmaf(fmaf(power.x, near_x, power.y * along_y), near_x, power.z * along_y * along_y);
    float on_y = fmaf(fmaf(power.x, along_x, power.y * near_y), along_x, power.z * near_y * near_y);
    x = on_x >= on_y ? near_x : along_x;
    y = on_x >= on_y ? along_y : near_y;
    return fmaxf(on_x, on_y);
}

// Whether the largest alpha over a warp's pixels, the first of which has its centre at (x0, y0), reaches 1/255.
__device__ __forceinline__ bool touches_subtile(float4 centre, float4 power, float x0, float y0) {
    float x, y, best = best_in_rectangle(centre, power, x0, y0, SUBTILE_X - 1, SUBTILE_Y - 1, x, y);
    // The margin covers what rounding can do to the exponents here and in the blend.
    return centre.z + best * (1.0f - 1e-4f) >= -LOG2_255 - 1e-3f;
}
