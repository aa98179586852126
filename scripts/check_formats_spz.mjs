// Decodes an SPZ file by Niantic's library as @adobe/spz, for scripts/check-formats.
// Usage: check_formats_spz.mjs IN.spz OUT.ply, which has PLY's axes
import { readFileSync, writeFileSync } from "node:fs";
import createSpz from "@adobe/spz";

const quiet = { print: () => {}, printErr: () => {} };
const spz = await createSpz(quiet);
const [from, to] = process.argv.slice(2);

const names = (higher) => {
    const numbered = (name, n) => Array.from({ length: n }, (_, i) => `${name}_${i}`);
    return [
        "x", "y", "z", ...numbered("f_dc", 3), ...numbered("f_rest", 3 * higher), "opacity",
        ...numbered("scale", 3), ...numbered("rot", 4),
    ];
};

const cloud = spz.loadSpzFromBuffer(readFileSync(from), { to: spz.CoordinateSystem.RDF });
const { positions, scales, rotations, alphas, colors, sh } = cloud;
const count = cloud.numPoints;
const higher = (cloud.shDegree + 1) ** 2 - 1;
const columns = names(higher);
const values = new Float32Array(count * columns.length);
for (let i = 0, at = 0; i < count; i++) {
    const row = [...positions.subarray(3 * i, 3 * i + 3), ...colors.subarray(3 * i, 3 * i + 3)];
    for (let channel = 0; channel < 3; channel++) {
        for (let k = 0; k < higher; k++) row.push(sh[3 * (i * higher + k) + channel]);
    }
    const [x, y, z, w] = rotations.subarray(4 * i, 4 * i + 4);
    row.push(alphas[i], ...scales.subarray(3 * i, 3 * i + 3), w, x, y, z);
    values.set(row, at);
    at += row.length;
}
const properties = columns.map((name) => `property float ${name}\n`).join("");
const header = `ply\nformat binary_little_endian 1.0\nelement vertex ${count}\n${properties}`;
const head = Buffer.from(`${header}end_header\n`);
writeFileSync(to, Buffer.concat([head, Buffer.from(values.buffer)]));
