// Parameters of the kernels that all colour models have; in Rust by the same names. Numbers of a
// photo and of a camera: [PHOTO_NUMBERS] and [CAMERA_NUMBERS].

#pragma once
#include "colour_model.cuh"
#include "colour_rows.cuh"

// Parameters of `apply_colour`; in Rust by the same name.
struct ApplyColourParams {
    ReadOnly<float> image;   // [3][height][width]
    ReadOnly<float> photo;   // the photo's numbers
    ReadOnly<float> camera;  // its camera's
    float* seen;             // [3][height][width]
    float* behind;           // 3 numbers
    Rgb background;
    u32 width;   // pixels
    u32 height;  // pixels
    const Counters* counters;
};

// Parameters of `colour_backward`; in Rust by the same name.
struct ColourBackwardParams {
    ReadOnly<float> image;   // [3][height][width]
    ReadOnly<float> photo;   // the photo's numbers
    ReadOnly<float> camera;  // its camera's
    float* gradient;         // [3][height][width], by what was seen in, by the image out
    float* partials;         // [FACTORS][blocks]
    u32 width;               // pixels
    u32 height;              // pixels
    const Counters* counters;
};

// Parameters of `update_colour`; in Rust by the same name.
struct UpdateColourParams {
    ReadOnly<float> gradient;  // [PHOTO_NUMBERS + CAMERA_NUMBERS]
    ColourRows photos;
    ColourRows cameras;
    const Counters* counters;
};
