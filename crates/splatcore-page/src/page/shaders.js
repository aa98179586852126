// The shaders. A frame has three passes:
// `project` computes a splat for each Gaussian, a texel each, into two textures of integers;
// `splat` draws the splats as rectangles, back to front, premultiplied;
// `finish` puts background and sky behind them, shows them in a look, and rounds to the screen's 8 bits.
// Images are drawn with y down, as the cameras have it, and turned over by `finish`.
import {
  ALPHA_MAX, ALPHA_MIN, COMPENSATION_MIN, FRUSTUM_CLAMP, LOW_PASS, NEAR_PLANE, SH_C0, SH_C1, SH_C2,
  SH_C3,
} from './constants.js';
import { NONE } from './sorting.js';

const float = (v) => (Number.isInteger(v) ? `${v}.0` : String(v));

const HEAD = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
precision highp usampler2D;
precision highp sampler3D;
`;

// What each degree of harmonics adds to a colour `sum` in a `direction`; H(k) is a coefficient.
const AXES = `float x = direction.x, y = direction.y, z = direction.z;
  float xx = x * x, yy = y * y, zz = z * z;`;
const DEGREES = [
  `sum += ${float(SH_C1)} * (z * H(1) - y * H(0) - x * H(2));`,
  `sum += ${float(SH_C2[0])} * x * y * H(3) + ${float(SH_C2[1])} * y * z * H(4)
    + ${float(SH_C2[2])} * (2.0 * zz - xx - yy) * H(5)
    + ${float(SH_C2[3])} * x * z * H(6) + ${float(SH_C2[4])} * (xx - yy) * H(7);`,
  `sum += ${float(SH_C3[0])} * y * (3.0 * xx - yy) * H(8) + ${float(SH_C3[1])} * x * y * z * H(9)
    + ${float(SH_C3[2])} * y * (4.0 * zz - xx - yy) * H(10)
    + ${float(SH_C3[3])} * z * (2.0 * zz - 3.0 * xx - 3.0 * yy) * H(11)
    + ${float(SH_C3[4])} * x * (4.0 * zz - xx - yy) * H(12)
    + ${float(SH_C3[5])} * z * (xx - yy) * H(13) + ${float(SH_C3[6])} * x * (xx - 3.0 * yy) * H(14);`,
];

// One triangle that covers everything.
export const COVER = `${HEAD}
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0;
  gl_Position = vec4(corner, 0.0, 1.0);
}`;

// EWA splatting (Zwicker et al. 2002) with the constants of the reference; the spherical harmonics
// in INRIA's order and signs; with `antialias` Mip-Splatting's 2D filter (Yu et al. 2024, eq. 10).
// `place`: mean in pixels (2 floats); half lengths of the two axes of the ellipse alpha = 1/255,
// the longer first (2 halves); red, green (2 halves).
// `shape`: a, b, c of log2 alpha = l + a dx^2 + b dx dy + c dy^2 (3 floats); blue, l (2 halves).
export const PROJECT = `${HEAD}
uniform sampler2D means;     // world units
uniform sampler2D rotations; // the three smaller components, and which of w x y z is the largest
uniform sampler2D scales;    // three indices into the codebook
uniform sampler2D colours;   // three indices, opacity
uniform sampler2D labels;    // index into the palette, low byte first
uniform sampler2D palette;   // rows of 64 entries of higher harmonics
uniform sampler2D codebook;  // standard deviation, coefficient of degree 0
uniform mat3 toView;
uniform vec3 translation;
uniform vec3 eye;
uniform vec2 size;
uniform vec2 focal;
uniform vec2 centre;
uniform bool antialias;
uniform int degree;          // shown
uniform int higher;          // harmonics above degree 0 that the palette has
uniform bool showDepth;      // the colour is 1 / depth
uniform int rowLength;       // splats in a row of the output
uniform int firstRow;        // of the chunk
uniform int count;           // Gaussians of the chunk
layout(location = 0) out uvec4 place;
layout(location = 1) out uvec4 shape;

int code(float value) { return int(value * 255.0 + 0.5); }

// The matrix of the rotation, Gaussian's axes to the world.
mat3 rotation(vec4 stored) {
  vec3 small = (stored.rgb * 2.0 - 1.0) * ${float(Math.SQRT1_2)};
  float rest = sqrt(max(0.0, 1.0 - dot(small, small)));
  int largest = code(stored.a) - 252;
  vec4 q = largest == 0 ? vec4(rest, small)
    : largest == 1 ? vec4(small.x, rest, small.yz)
    : largest == 2 ? vec4(small.xy, rest, small.z) : vec4(small, rest);
  q = normalize(q);
  float w = q.x, x = q.y, y = q.z, z = q.w;
  return mat3(
    1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y),
    2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x),
    2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y));
}

vec3 colour(ivec2 at, vec4 stored, vec3 direction) {
  vec3 sum = vec3(0.5);
  for (int c = 0; c < 3; c++) {
    sum[c] += ${float(SH_C0)} * texelFetch(codebook, ivec2(code(stored[c]), 0), 0).g;
  }
  if (degree == 0) return sum;
  vec4 stored_label = texelFetch(labels, at, 0);
  int label = code(stored_label.r) + 256 * code(stored_label.g);
  ivec2 entry = ivec2((label & 63) * higher, label >> 6);
  #define H(k) texelFetch(palette, entry + ivec2(k, 0), 0).rgb
  ${AXES}
  ${DEGREES[0]}
  if (degree == 1) return sum;
  ${DEGREES[1]}
  if (degree == 2) return sum;
  ${DEGREES[2]}
  return sum;
}

void main() {
  place = uvec4(0u);
  shape = uvec4(0u);
  ivec2 target = ivec2(gl_FragCoord.xy);
  int index = (target.y - firstRow) * rowLength + target.x;
  if (index < 0 || index >= count) return;
  int stride = textureSize(means, 0).x;
  ivec2 at = ivec2(index % stride, index / stride);
  vec3 world = texelFetch(means, at, 0).xyz;
  vec3 view = toView * world + translation;
  vec4 stored = texelFetch(colours, at, 0);
  float opacity = stored.a;
  if (!(view.z > ${float(NEAR_PLANE)}) || opacity < ${float(ALPHA_MIN)} * 0.999) return;

  vec3 s;
  vec4 indices = texelFetch(scales, at, 0);
  for (int c = 0; c < 3; c++) s[c] = texelFetch(codebook, ivec2(code(indices[c]), 0), 0).r;
  mat3 axes = rotation(texelFetch(rotations, at, 0));
  vec2 limit = ${float(FRUSTUM_CLAMP)} * 0.5 * size / focal;
  vec2 ray = clamp(view.xy / view.z, -limit, limit);
  vec2 scale = focal / view.z;
  // The rows of the Jacobian times the view's rotation, along the Gaussian's axes.
  mat3 turned = toView * axes;
  vec3 depth = vec3(turned[0].z, turned[1].z, turned[2].z);
  vec3 along = vec3(turned[0].x, turned[1].x, turned[2].x) - ray.x * depth;
  vec3 down = vec3(turned[0].y, turned[1].y, turned[2].y) - ray.y * depth;
  vec3 u = scale.x * along * s;
  vec3 v = scale.y * down * s;
  float xx = dot(u, u), xy = dot(u, v), yy = dot(v, v);
  // det V as a sum of squares: of the entries, f32 leaves nothing for a needle. The cross product
  // of the Jacobian's rows is the ray, turned.
  vec3 normal = scale.x * scale.y * s.yzx * s.zxy * (vec3(ray, 1.0) * turned);
  float thin = dot(normal, normal);
  float determinant = thin + ${float(LOW_PASS)} * (xx + yy) + ${float(LOW_PASS * LOW_PASS)};
  if (antialias) opacity *= sqrt(max(thin / determinant, ${float(COMPENSATION_MIN)}));
  if (opacity < ${float(ALPHA_MIN)}) return;
  xx += ${float(LOW_PASS)};
  yy += ${float(LOW_PASS)};

  float l = log2(opacity);
  float middle = 0.5 * (xx + yy);
  float spread = sqrt(0.25 * (xx - yy) * (xx - yy) + xy * xy);
  float longer = middle + spread;
  // In standard deviations, where alpha is 1/255.
  float reach = sqrt(max(0.0, ${float(2 * Math.LN2)} * (l + ${float(Math.log2(255))})));
  vec2 lengths = reach * sqrt(vec2(longer, determinant / longer)) + 0.1;
  vec2 mean = scale * view.xy + centre;
  if (any(lessThan(mean + lengths.x, vec2(0.0))) || any(greaterThan(mean - lengths.x, size))) {
    return;
  }
  vec3 rgb = showDepth ? vec3(1.0 / view.z)
    : max(vec3(0.0), colour(at, stored, normalize(world - eye)));
  float inverse = ${float(Math.LOG2E)} / determinant;
  place = uvec4(floatBitsToUint(mean), packHalf2x16(min(lengths, 60000.0)), packHalf2x16(rgb.rg));
  shape = uvec4(floatBitsToUint(vec3(-0.5 * yy, xy, -0.5 * xx) * inverse),
    packHalf2x16(vec2(rgb.b, l)));
}`;

export const SPLAT = `${HEAD}
uniform usampler2D order;
uniform usampler2D places;
uniform usampler2D shapes;
uniform vec2 size;
flat out vec2 mean;
flat out vec4 power;
flat out vec3 colour;

void main() {
  uint index = texelFetch(order, ivec2(gl_VertexID >> 2, gl_InstanceID), 0).r;
  gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
  if (index == ${NONE}u) return;
  int width = textureSize(places, 0).x;
  ivec2 at = ivec2(int(index) % width, int(index) / width);
  uvec4 place = texelFetch(places, at, 0);
  vec2 lengths = unpackHalf2x16(place.z);
  if (lengths.x == 0.0) return;
  uvec4 shape = texelFetch(shapes, at, 0);
  vec2 rest = unpackHalf2x16(shape.w);
  mean = uintBitsToFloat(place.xy);
  power = vec4(uintBitsToFloat(shape.xyz), rest.y);
  colour = vec3(unpackHalf2x16(place.w), rest.x);

  // The longer axis is the eigenvector of the smaller eigenvalue of the quadratic form.
  float half_difference = power.z - power.x;
  float spread = sqrt(half_difference * half_difference + power.y * power.y);
  vec2 axis = half_difference > 0.0 ? vec2(power.y, half_difference + spread)
    : vec2(spread - half_difference, power.y);
  axis = spread > 0.0 ? normalize(axis) : vec2(1.0, 0.0);
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1 & 1) * 2.0 - 1.0;
  vec2 pixel = mean + corner.x * lengths.x * axis + corner.y * lengths.y * vec2(-axis.y, axis.x);
  gl_Position = vec4(pixel / size * 2.0 - 1.0, 0.0, 1.0);
}`;

export const BLEND = `${HEAD}
flat in vec2 mean;
flat in vec4 power;
flat in vec3 colour;
out vec4 premultiplied;

void main() {
  vec2 d = gl_FragCoord.xy - mean;
  float l = power.w + (power.x * d.x + power.y * d.y) * d.x + power.z * d.y * d.y;
  float alpha = min(${float(ALPHA_MAX)}, exp2(l));
  if (!(alpha >= ${float(ALPHA_MIN)})) discard;
  premultiplied = vec4(colour * alpha, alpha);
}`;

export const FINISH = `${HEAD}
uniform sampler2D image;
uniform vec2 corner;
uniform vec2 screen;
uniform vec3 background;
uniform bool hasSky;
uniform vec3 sky[16];  // harmonics of the direction of view
uniform mat3 toView;
uniform vec2 size;     // of the camera's image, as the next two
uniform vec2 focal;
uniform vec2 centre;
uniform bool hasLook;
uniform sampler3D colourOf; // what becomes of a colour, in a photo's look
out vec4 pixel;

#define H(k) sky[k + 1]
vec3 behind(vec2 place) {
  if (!hasSky) return background;
  vec3 direction = normalize(vec3((place * size - centre) / focal, 1.0)) * toView;
  vec3 sum = background + 0.5 + ${float(SH_C0)} * sky[0];
  ${AXES}
  ${DEGREES.join('\n  ')}
  return sum;
}

void main() {
  vec2 at = (gl_FragCoord.xy - corner) / screen;
  vec2 place = vec2(at.x, 1.0 - at.y);
  vec4 sum = texture(image, place);
  pixel = vec4(sum.rgb + (1.0 - sum.a) * behind(place), 1.0);
  if (!hasLook) return;
  vec3 side = vec3(textureSize(colourOf, 0));
  pixel.rgb = texture(colourOf, (clamp(pixel.rgb, 0.0, 1.0) * (side - 1.0) + 0.5) / side).rgb;
}`;
