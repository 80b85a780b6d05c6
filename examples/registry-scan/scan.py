#!/usr/bin/env python3
"""Looks into a folder of packages, on a cluster: what device code each has, what it costs, and where it runs.

Writes Parquet: `OUT/packages` has a row for each package, architecture and format, `OUT/checks` one for each package,
library and device, `OUT/problems` one for each place that could not be read. What is written stays: who starts it again
goes on with the packages that are not there yet.

A package whose worker dies is given to another worker, three times as Dask has it; then that is its problem.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import offkit
import pyarrow as pa
import pyarrow.parquet as parquet
from dask.distributed import Client, LocalCluster, as_completed

# Packages whose rows are written together.
BATCH = 100


def schema(texts: str, numbers: str = "") -> pa.Schema:
    columns = [(name, pa.string()) for name in texts.split()]
    return pa.schema(columns + [(name, pa.int64()) for name in numbers.split()])


SCHEMAS = {
    "packages": schema("package arch format", "size images stored unpacked kernels"),
    "checks": schema("package library target verdict least_driver", "kernels native jit without_code"),
    "problems": schema("package location problem"),
}

# What is known of one package, or of several: rows for each table.
Rows = dict[str, list[dict[str, Any]]]


def no_rows() -> Rows:
    return {name: [] for name in SCHEMAS}


def look(path: str, targets: list[str]) -> Rows:
    """Everything about one package. Runs on a worker."""
    package = os.path.basename(path)
    rows = no_rows()
    try:
        found = offkit.size(path, by=["arch", "format"], top=0)
        rows["problems"] = [{"package": package, **problem} for problem in found.problems]
        if targets and found.total["images"]:
            rows["checks"] = [
                {"package": package, "without_code": len(row["holes"]), **row}
                for row in offkit.check(path, targets=targets).coverage
            ]
        # A package without device code has a row, too: it was looked into.
        totals = found.totals or [{"images": 0, "stored": 0, "unpacked": 0, "kernels": 0}]
        size = os.path.getsize(path)
        rows["packages"] = [{"package": package, "size": size, **total} for total in totals]
    except (offkit.OffkitError, OSError) as error:
        rows["problems"].append(problem(path, error))
    return rows


def problem(path: str, error: Exception) -> dict[str, Any]:
    return {"package": os.path.basename(path), "location": path, "problem": str(error)}


def scan(client: Client, paths: Iterable[str], targets: list[str]) -> Iterator[Rows]:
    """Has all packages looked into; hands over what is known of each as soon as it is."""
    # The same package is looked into again if it is asked for again: it may have changed.
    futures = {client.submit(look, path, targets, pure=False): path for path in paths}
    for future in as_completed(list(futures)):
        # Nobody else asks for it: the cluster may forget it.
        path = futures.pop(future)
        try:
            rows = future.result()
        except Exception as error:  # Its workers died, again and again.
            rows = no_rows()
            rows["problems"].append(problem(path, error))
        yield rows


def write(folder: Path, rows: Rows) -> None:
    """Writes the rows of a batch, each table into a file of its own that is whole or not there. That of the packages
    comes last, for it says which are done."""
    for name in ("problems", "checks", "packages"):
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        file = place / f"{len(list(place.glob('*.parquet'))):06}.parquet"
        part = file.with_suffix(".part")
        parquet.write_table(pa.Table.from_pylist(rows[name], schema=SCHEMAS[name]), part)
        part.replace(file)


def done(folder: Path) -> set[str]:
    """The packages that an earlier scan has looked into."""
    if not list((folder / "packages").glob("*.parquet")):
        return set()
    return set(parquet.read_table(folder / "packages", columns=["package"])["package"].to_pylist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder of wheels, or of other packages")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the folder to write Parquet into")
    parser.add_argument("--targets", default="", help="devices to check for, such as sm_80,h100,gfx90a")
    parser.add_argument("--scheduler", help="a Dask scheduler, host:port, whose workers see the folder; else this machine")
    arguments = parser.parse_args()
    known = done(arguments.output)
    files = sorted(path for path in arguments.folder.resolve().iterdir() if path.is_file() and path.name not in known)
    targets = [target for target in arguments.targets.split(",") if target]
    # Each worker runs one program at a time, which uses all cores for one large package as it is.
    cluster = arguments.scheduler or LocalCluster(threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        batch = no_rows()
        for count, rows in enumerate(scan(client, map(str, files), targets), 1):
            for name in SCHEMAS:
                batch[name] += rows[name]
            if count % BATCH == 0 or count == len(files):
                write(arguments.output, batch)
                batch = no_rows()
                print(f"{count} of {len(files)} packages", flush=True)


if __name__ == "__main__":
    main()
