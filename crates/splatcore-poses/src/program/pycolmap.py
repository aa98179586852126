# One step of finding poses with pycolmap. The first argument is a JSON object that says what to do.
# pycolmap itself logs each photo, block of pairs and registration on stderr, as COLMAP does; this
# script adds JSON lines on stdout: {"step": ..., "done": true} at the end, with numbers.
import json
import sys

import pycolmap

job = json.loads(sys.argv[1])


def say(**values):
    print(json.dumps(values), flush=True)


def device():
    return pycolmap.Device.cuda if job["gpu"] else pycolmap.Device.cpu


def extract():
    reader = pycolmap.ImageReaderOptions()
    reader.camera_model = job["camera_model"]
    if job["parameters"] is not None:
        reader.camera_params = job["parameters"]
    if job["camera_id"] is not None:
        reader.existing_camera_id = job["camera_id"]
    with open(job["list"], encoding="utf-8") as lines:
        names = lines.read().splitlines()
    mode = pycolmap.CameraMode.PER_IMAGE if job["camera_each"] else pycolmap.CameraMode.SINGLE
    options = {"camera_mode": mode, "reader_options": reader, "device": device()}
    # Version 3 has options of SIFT where version 4 has options of any features.
    newer = hasattr(pycolmap, "FeatureExtractionOptions")
    features = pycolmap.FeatureExtractionOptions() if newer else pycolmap.SiftExtractionOptions()
    if job["max_size"] is not None:
        features.max_image_size = job["max_size"]
    options["extraction_options" if newer else "sift_options"] = features
    named = "image_names" if "image_names" in pycolmap.extract_features.__doc__ else "image_list"
    options[named] = names
    pycolmap.extract_features(job["database"], job["images"], **options)
    return {"photos": len(names)}


def pair():
    newer = hasattr(pycolmap, "SequentialPairingOptions")
    name = "pairing_options" if newer else "matching_options"
    kind = "Pairing" if newer else "Matching"
    if job["block"] is not None:
        options = getattr(pycolmap, f"Exhaustive{kind}Options")()
        options.block_size = job["block"]
        pycolmap.match_exhaustive(job["database"], device=device(), **{name: options})
        return {}
    options = getattr(pycolmap, f"Sequential{kind}Options")()
    options.loop_detection = job["vocabulary"] is not None
    if options.loop_detection:
        options.vocab_tree_path = job["vocabulary"]
    pycolmap.match_sequential(job["database"], device=device(), **{name: options})
    return {}


def map():
    mapping = pycolmap.global_mapping if job["global"] else pycolmap.incremental_mapping
    models = mapping(job["database"], job["images"], job["models"])
    return {"registered": [model.num_reg_images() for model in models.values()]}


def adjust():
    model = pycolmap.Reconstruction(job["model"])
    pycolmap.bundle_adjustment(model, pycolmap.BundleAdjustmentOptions())
    model.write(job["adjusted"])
    return {}


if job["step"] == "probe":
    say(
        version=pycolmap.__version__,
        cuda=bool(getattr(pycolmap, "has_cuda", False)),
        calibrates=hasattr(pycolmap, "calibrate_view_graph"),
        **{"global": hasattr(pycolmap, "global_mapping")},
    )
elif job["step"] == "calibrate":
    say(step="calibrate", done=bool(pycolmap.calibrate_view_graph(job["database"])))
else:
    steps = {"extract": extract, "pair": pair, "map": map, "adjust": adjust}
    say(step=job["step"], done=True, **steps[job["step"]]())
