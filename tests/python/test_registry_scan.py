"""The example `examples/registry-scan`, on a local cluster of two workers. WHEELS names a folder: its packages are
called `code-N.whl`, with code for gfx90a and gfx1100, `plain.whl`, without device code, and `damaged.out`.
"""

import os
import signal
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from dask.distributed import Client, LocalCluster

sys.path.insert(0, str(Path(__file__).parents[2] / "examples/registry-scan"))
import scan  # noqa: E402

WHEELS = Path(os.environ["WHEELS"])
TARGETS = ["gfx90a", "h100"]


@pytest.fixture(autouse=True)
def workers_find_the_example(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", sys.path[0])


def test_a_worker_that_dies_costs_nothing():
    packages = sorted(map(str, WHEELS.glob("*.whl"))) * 4
    rows = scan.no_rows()
    options = dict(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        results = scan.scan(client, packages, TARGETS)
        for number, found in enumerate(results):
            for name in rows:
                rows[name] += found[name]
            if number == 0:
                [victim, _] = client.run(os.getpid).values()
                os.kill(victim, signal.SIGKILL)
    assert rows["problems"] == []
    seen = Counter(row["package"] for row in rows["packages"] if row.get("arch") in ("gfx90a", None))
    assert seen == {os.path.basename(package): 4 for package in packages}


def test_results_are_written_once_and_can_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(scan, "LocalCluster", lambda **options: LocalCluster(n_workers=2, **options))
    monkeypatch.setattr(scan, "BATCH", 3)
    monkeypatch.setattr(sys, "argv", ["scan.py", str(WHEELS), "-o", str(tmp_path), "--targets", ",".join(TARGETS)])
    scan.main()
    packages = parquet.read_table(tmp_path / "packages").to_pylist()
    names = {path.name for path in WHEELS.iterdir()}
    assert {row["package"] for row in packages} == names
    by_name = {(row["package"], row["arch"]): row for row in packages}
    assert by_name["code-0.whl", "gfx90a"]["kernels"] == 1
    assert by_name["plain.whl", None]["images"] == 0
    checks = parquet.read_table(tmp_path / "checks").to_pylist()
    verdicts = {row["target"]: row["verdict"] for row in checks if row["package"] == "code-0.whl"}
    assert verdicts["gfx90a"] == "native"
    problems = parquet.read_table(tmp_path / "problems").to_pylist()
    assert {row["package"] for row in problems} == {"damaged.out"}
    # Nothing is looked into again.
    files = sorted(tmp_path.rglob("*.parquet"))
    scan.main()
    assert sorted(tmp_path.rglob("*")) == sorted({*files, *(file.parent for file in files)})
