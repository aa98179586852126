"""Compares .glb, .usda and .usdz files that splatcore wrote with the PLY that they were made from,
read by other programs: the JSON by the extension's rules and schema, USD by usd-core.

Usage: check_formats_glb_usd.py MODEL.ply FILE...

Needs numpy, jsonschema and usd-core (26.3 or newer). Prints a line for each file and exits with 1
if one is wrong.
"""

import json
import re
import struct
import sys

import numpy as np

# The primitive's extension object, from schema/mesh.primitive.KHR_gaussian_splatting.schema.json.
SCHEMA = {
    "type": "object",
    "required": ["kernel", "colorSpace"],
    "properties": {
        "kernel": {"enum": ["ellipse"]},
        "colorSpace": {"enum": ["srgb_rec709_display", "lin_rec709_display"]},
        "projection": {"enum": ["perspective"]},
        "sortingMethod": {"enum": ["cameraDistance"]},
    },
    "additionalProperties": False,
}


def read_ply(path):
    """The columns of a binary PLY of floats, by name."""
    with open(path, "rb") as file:
        data = file.read()
    end = data.index(b"end_header\n") + len(b"end_header\n")
    header = data[:end].decode()
    names = re.findall(r"property float (\S+)", header)
    rows = np.frombuffer(data[end:], "<f4").reshape(-1, len(names))
    return {name: rows[:, i].astype(np.float64) for i, name in enumerate(names)}


def wanted(ply):
    """What a file with y up must hold: a half turn about z of the PLY, and the values linear."""
    stack = lambda *names: np.stack([ply[name] for name in names], 1)
    w, x, y, z = stack("rot_0", "rot_1", "rot_2", "rot_3").T
    rotation = np.stack([-z, -y, x, w], 1)
    rotation /= np.linalg.norm(rotation, axis=1, keepdims=True)
    higher = sum(name.startswith("f_rest_") for name in ply) // 3
    sh = [stack("f_dc_0", "f_dc_1", "f_dc_2")]
    for k in range(higher):
        sh.append(stack(*(f"f_rest_{channel * higher + k}" for channel in range(3))))
    for k, coefficient in enumerate(sh):
        degree = int(np.sqrt(k))
        # A half turn about z negates the functions of odd order.
        if (k - degree * degree - degree) % 2:
            coefficient *= -1
    return {
        "position": stack("x", "y", "z") * [-1, -1, 1],
        "rotation": rotation,
        "scale": np.exp(stack("scale_0", "scale_1", "scale_2")),
        "opacity": 1 / (1 + np.exp(-ply["opacity"])),
        "sh": np.stack(sh, 1),
    }


def compare(got, want):
    """The largest error of each value: absolute, of scales relative."""
    errors = {}
    for name, values in want.items():
        difference = np.abs(np.asarray(got[name], np.float64) - values)
        if name == "scale":
            difference /= values
        errors[name] = float(difference.max())
    # Positions and harmonics only change their sign; the rest is rounded to f32 once.
    bounds = {"position": 0, "rotation": 1e-7, "scale": 1e-7, "opacity": 1e-7, "sh": 0}
    bad = [name for name, error in errors.items() if error > bounds[name]]
    return errors, [f"{name} is off by {errors[name]:.1e}" for name in bad]


def read_glb(path):
    """The columns of the one primitive, and what is wrong with the JSON."""
    import jsonschema

    data = open(path, "rb").read()
    length = struct.unpack("<I", data[12:16])[0]
    document = json.loads(data[20 : 20 + length])
    buffer = data[28 + length :]
    primitive = document["meshes"][0]["primitives"][0]
    problems = []
    try:
        jsonschema.validate(primitive["extensions"]["KHR_gaussian_splatting"], SCHEMA)
    except jsonschema.ValidationError as error:
        problems.append(f"schema: {error.message}")
    if primitive["mode"] != 0 or "KHR_gaussian_splatting" not in document["extensionsUsed"]:
        problems.append("mode or extensionsUsed")

    def column(name):
        accessor = document["accessors"][primitive["attributes"][name]]
        view = document["bufferViews"][accessor["bufferView"]]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        values = np.frombuffer(
            buffer, "<f4", accessor["count"] * width, view.get("byteOffset", 0)
        )
        return values.reshape(-1, width)

    own = lambda name: column(f"KHR_gaussian_splatting:{name}")
    degrees = max(
        int(name.split("_DEGREE_")[1].split("_")[0])
        for name in primitive["attributes"]
        if "_DEGREE_" in name
    )
    harmonics = [
        own(f"SH_DEGREE_{degree}_COEF_{n}")
        for degree in range(degrees + 1)
        for n in range(2 * degree + 1)
    ]
    return {
        "position": column("POSITION"),
        "rotation": np.roll(own("ROTATION"), 1, 1),
        "scale": own("SCALE"),
        "opacity": own("OPACITY")[:, 0],
        "sh": np.stack(harmonics, 1),
    }, problems


def read_usd(path):
    """The arrays of the default prim, and what OpenUSD finds wrong with the stage."""
    from pxr import Usd, UsdGeom, UsdValidation, UsdVol

    stage = Usd.Stage.Open(path)
    prim = stage.GetDefaultPrim()
    splats = UsdVol.ParticleField3DGaussianSplat(prim)
    problems = [] if splats else [f"the default prim is a {prim.GetTypeName()}"]
    # As usdchecker does; packages have validators of their own among these.
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    errors = UsdValidation.ValidationContext(validators).Validate(stage)
    problems += [f"{error.GetName()}: {error.GetMessage()}" for error in errors]
    if UsdGeom.GetStageUpAxis(stage) != "Y" or UsdGeom.GetStageMetersPerUnit(stage) != 1:
        problems.append("up axis or unit")
    known = prim.GetPrimDefinition().GetPropertyNames()
    authored = [attribute.GetName() for attribute in prim.GetAuthoredAttributes()]
    problems += [f"{name} is not in the schema" for name in authored if name not in known]
    degree = splats.GetRadianceSphericalHarmonicsDegreeAttr().Get()
    coefficients = np.array(splats.GetRadianceSphericalHarmonicsCoefficientsAttr().Get())
    quaternions = splats.GetOrientationsAttr().Get()
    position = np.array(splats.GetPositionsAttr().Get())
    scale = np.array(splats.GetScalesAttr().Get())
    least, greatest = np.array(splats.GetExtentAttr().Get())
    reach = 3 * scale.max(1, keepdims=True)
    if (position - reach < least - 1e-3).any() or (position + reach > greatest + 1e-3).any():
        problems.append("the extent does not hold the Gaussians")
    return {
        "position": position,
        "rotation": np.array([[q.GetReal(), *q.GetImaginary()] for q in quaternions]),
        "scale": scale,
        "opacity": np.array(splats.GetOpacitiesAttr().Get()),
        "sh": coefficients.reshape(-1, (degree + 1) ** 2, 3),
    }, problems


def main():
    model, *files = sys.argv[1:]
    want = wanted(read_ply(model))
    failed = False
    for path in files:
        got, problems = (read_glb if path.endswith(".glb") else read_usd)(path)
        errors, wrong = compare(got, want)
        problems += wrong
        failed |= bool(problems)
        measured = ", ".join(f"{name} {error:.1e}" for name, error in errors.items())
        verdict = "; ".join(problems) or "right"
        print(f"{path.rsplit('/', 1)[-1]}: {len(got['opacity'])} Gaussians, {measured}: {verdict}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
