"""Runs the Python examples of documents: the blocks of a document in order, in one namespace.

Usage: check_python_docs.py [--torch] DOCUMENT...    with the tests' folder on the path

The current folder of the examples holds `photos`, a small dataset, and `scene.ply`. Blocks that name
torch run with --torch, all others without.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from conftest import random_arrays, write_photos

import splatcore

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    words = sys.argv[1:]
    torch = "--torch" in words
    documents = [Path(word).resolve() for word in words if word != "--torch"]
    ran = 0
    for document in documents:
        text = document.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            Path("photos").mkdir()
            write_photos(Path("photos"))
            splatcore.Scene(**random_arrays(40, 1, 3)).save("scene.ply")
            names: dict[str, object] = {"np": np}
            for block in BLOCK.finditer(text):
                if ("torch" in block[1]) != torch:
                    continue
                line = text[: block.start(1)].count("\n")
                # Traceback lines are the document's.
                code = compile("\n" * line + block[1], str(document), "exec")
                exec(code, names)
                ran += 1
            os.chdir(document.parent)
    print(f"{ran} examples ran")
    if ran == 0:
        sys.exit("no example was found")


if __name__ == "__main__":
    main()
