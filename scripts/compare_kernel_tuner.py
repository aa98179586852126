"""Runs Kernel Tuner's strategies on cache files; called by compare-kernel-tuner, which says how."""
import contextlib
import io
import json
import multiprocessing
import os
import random
import sys
import warnings

import numpy
from constraint import FunctionConstraint
from kernel_tuner import tune_kernel
from kernel_tuner.util import read_cache

DEFAULT = """random_sample greedy_ils genetic_algorithm diff_evo dual_annealing bayes_opt
simulated_annealing adaptive_tabu_greywolf hybrid_vndx"""
ALL = DEFAULT + """ pso mls minimize basinhopping greedy_mls ordered_greedy_mls firefly_algorithm skopt
pyatf_strategies"""
# A strategy that ends before its evaluations are used starts again, at most so often.
RESTARTS = 8


def run(cache, strategy, seed, tries):
    """Times in the order of the first visits, None for points without one."""
    data = read_cache(cache, open_cache=False)
    names = data["tune_params_keys"]
    # Points without a time are points too, which the searches do not know beforehand.
    points = {tuple(entry[name] for name in names) for entry in data["cache"].values()}
    tries = min(tries, len(points))
    random.seed(seed)
    numpy.random.seed(seed)
    size = data["problem_size"]
    seen = {}
    for _ in range(RESTARTS):
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results, _ = tune_kernel(
                data["kernel_name"], "", tuple(size) if isinstance(size, list) else size, [],
                {name: data["tune_params"][name] for name in names},
                restrictions=[FunctionConstraint(lambda *point: point in points)],
                strategy=strategy, strategy_options={"max_fevals": tries},
                objective="time", cache=cache, simulation_mode=True, verbose=False, quiet=True)
        for result in results:
            point = tuple(result[name] for name in names)
            time = result.get("time")
            if point in points and point not in seen:
                valid = "__error__" not in result and isinstance(time, (int, float))
                seen[point] = float(time) if valid else None
        if len(seen) >= tries:
            break
    return list(seen.values())[:tries]


def job(arguments):
    try:
        return arguments, run(*arguments), None
    except Exception as error:  # a strategy that breaks is reported and left out
        return arguments, None, f"{type(error).__name__}: {error}"


def main(out, caches):
    seeds = int(os.environ.get("SEEDS", 30))
    tries = int(os.environ.get("TRIES", 200))
    names = os.environ.get("STRATEGIES", DEFAULT)
    names = (ALL if names == "all" else names).split()
    written = {"program": "kernel_tuner 1.5.0", "runs": {}}
    if os.path.exists(out):
        with open(out, encoding="utf-8") as file:
            written = json.load(file)
    kernels = {}
    for cache in caches:
        with open(cache, encoding="utf-8") as file:
            kernels[cache] = json.load(file)["kernel_name"]
    done = lambda cache, name: len(written["runs"].get(kernels[cache], {}).get(name, [])) >= seeds
    jobs = [(cache, name, seed, tries) for name in names for cache in caches
            if not done(cache, name) for seed in range(seeds)]
    runs, broken = {}, {}
    with multiprocessing.Pool(int(os.environ.get("JOBS", 1))) as pool:
        for (cache, name, seed, _), times, error in pool.imap(job, jobs):
            key = (kernels[cache], name)
            if error:
                broken[key] = error
                continue
            runs.setdefault(key, []).append(times)
            if len(runs[key]) == seeds:
                written["runs"].setdefault(key[0], {})[name] = runs[key]
                with open(out + ".new", "w", encoding="utf-8") as file:
                    json.dump(written, file)
                os.replace(out + ".new", out)
                print(f"{key[0]} {name}: {seeds} runs", file=sys.stderr)
    for (kernel, name), error in broken.items():
        print(f"{kernel} {name}: left out: {error}", file=sys.stderr)


main(sys.argv[1], sys.argv[2:])
