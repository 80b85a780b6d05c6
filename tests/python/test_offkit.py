"""The Python module, installed as a wheel in the environment that runs this, and a wheel of libraries to look into.

KERNELS names that wheel: `lib/a.out` has AMD's code of the kernel `saxpy` for gfx90a and gfx1100, and `lib/b.out` PTX
for sm_80. NO_KERNELS names one without device code, DAMAGED an offload binary that is cut off.
"""

import concurrent.futures
import copy
import inspect
import os
import pickle
import subprocess
import sys
import zipfile

import offkit
import pandas
import pytest

KERNELS = os.environ["KERNELS"]
NO_KERNELS = os.environ["NO_KERNELS"]
DAMAGED = os.environ["DAMAGED"]


def test_walk_goes_through_images():
    images = list(offkit.walk(KERNELS))
    kinds = [(image.arch, image.format) for image in images]
    assert kinds == [("gfx90a", "amdgpu"), ("gfx1100", "amdgpu"), ("sm_80", "ptx")]
    first = images[0]
    assert first.location == f"{KERNELS}!lib/a.out/0"
    assert first.kernels == ("saxpy",)
    assert first.file == KERNELS
    assert first == copy.copy(first) and len({first, copy.copy(first)}) == 1
    with zipfile.ZipFile(KERNELS) as wheel:
        assert first.read() in wheel.read("lib/a.out")
    assert len(first.read()) == first.size


def test_walk_filters():
    assert [image.arch for image in offkit.walk(KERNELS, arch="gfx90a")] == ["gfx90a"]
    assert [image.arch for image in offkit.walk(KERNELS, format="ptx")] == ["sm_80"]
    assert list(offkit.walk(KERNELS, kernel="nothing")) == []
    with pytest.raises(offkit.OffkitError, match="cannot be|invalid value"):
        list(offkit.walk(KERNELS, format="nonsense"))


def test_walk_can_be_left():
    walk = offkit.walk(KERNELS)
    assert next(walk).arch == "gfx90a"
    walk.close()


def test_what_cannot_be_read_is_said_after_what_can():
    images = []
    with pytest.raises(offkit.OffkitError) as raised:
        for image in offkit.walk(DAMAGED, KERNELS):
            images.append(image)
    assert len(images) == 3
    assert raised.value.problems[0]["file"] == DAMAGED
    assert DAMAGED in str(raised.value)
    assert pickle.loads(pickle.dumps(raised.value)).problems == raised.value.problems
    found = offkit.size(KERNELS, DAMAGED)
    assert found.total["images"] == 3
    assert found.problems[0]["file"] == DAMAGED
    checked = offkit.check(KERNELS, DAMAGED, targets="gfx90a")
    assert not checked.passed and checked.problems


def test_a_file_that_is_not_there_is_an_error():
    for call in (lambda: list(offkit.walk("nowhere.whl")), lambda: offkit.size("nowhere.whl")):
        with pytest.raises(offkit.OffkitError, match="cannot read `nowhere.whl`"):
            call()
    with pytest.raises(TypeError):
        offkit.size()


def test_sizes_are_those_of_the_images():
    found = offkit.size(KERNELS)
    images = list(offkit.walk(KERNELS))
    assert found.total["images"] == 3
    assert found.total["unpacked"] == sum(image.size for image in images)
    by_arch = {row["arch"]: row["unpacked"] for row in found.totals}
    assert by_arch == {image.arch: image.size for image in images}
    assert {row["library"] for row in found.libraries} == {"lib/a.out", "lib/b.out"}
    kernels = {(kernel["name"], kernel["arch"]): kernel for kernel in found.kernels}
    assert kernels["saxpy", "gfx90a"]["registers"] > 0
    assert found.files == [{"file": KERNELS, "size": os.path.getsize(KERNELS)}]
    assert len(offkit.size(KERNELS, top=1).kernels) == 1


def test_sizes_by_what_is_asked_for():
    only = offkit.size(KERNELS, by="format", kernels=False)
    assert sorted(row["images"] for row in only.totals) == [1, 2] and all(row["format"] for row in only.totals)
    assert only.kernels == [] and only.families == []
    pairs = offkit.size(KERNELS, by=["arch", "library"], kernels=False)
    assert {(row["arch"], row["library"]) for row in pairs.totals} >= {("sm_80", "lib/b.out")}


def test_nothing_is_an_answer_too():
    found = offkit.size(NO_KERNELS)
    assert found.total["images"] == 0 and found.totals == [] and found.problems == []
    assert list(offkit.walk(NO_KERNELS)) == []


def test_folders_are_looked_into(tmp_path):
    for name in ("a.whl", "b.whl"):
        (tmp_path / name).write_bytes(open(KERNELS, "rb").read())
    assert offkit.size(tmp_path).total["images"] == 6
    assert len(list(offkit.walk(tmp_path))) == 6


def test_checks_give_a_verdict_for_each_device():
    checked = offkit.check(KERNELS, targets=["gfx90a", "h100"], kernels=True)
    rows = {row["target"]: row for row in checked.coverage}
    assert rows["gfx90a"]["verdict"] == "native"
    assert rows["sm_90"]["jit"] == rows["sm_90"]["kernels"] == 1
    assert rows["gfx90a"]["kernel_verdicts"] == [{"kernel": "saxpy", "verdict": "native"}]
    assert checked.passed
    failed = offkit.check(KERNELS, targets="sm_75")
    assert not failed.passed
    assert failed.findings[0]["rule"] == "check.targets"
    assert offkit.check(KERNELS, targets="intel_gpu_pvc").no_code_for == ["intel_gpu_pvc"]
    with pytest.raises(offkit.OffkitError, match="no device to check for"):
        offkit.check(KERNELS)


def test_policies_decide(tmp_path):
    policy = tmp_path / "offkit.toml"
    policy.write_text('[check]\ntargets = ["gfx90a"]\n[size]\nmax = "1K"\n')
    checked = offkit.check(KERNELS, policy=policy)
    assert [finding["rule"] for finding in checked.findings if finding["level"] == "error"] == ["size.max"]


def test_results_are_data_frames():
    frame = offkit.size(KERNELS, by="arch").to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.set_index("arch")["images"].to_dict() == {"gfx90a": 1, "gfx1100": 1, "sm_80": 1}
    assert frame["unpacked"].dtype.kind == "i"
    assert list(offkit.check(KERNELS, targets="gfx90a").to_pandas()["verdict"]) == ["native"]


def test_tables_without_rows_have_the_same_columns():
    for by in ("arch", ["library", "family"]):
        some, none = offkit.size(KERNELS, by=by), offkit.size(NO_KERNELS, by=by)
        for name in ("files", "libraries", "totals", "families", "kernels", "removals", "redundant", "problems"):
            full, empty = getattr(some, name), getattr(none, name)
            if full and not empty:
                assert set(empty.to_pandas().columns) == set(full.to_pandas().columns), name
    some, none = offkit.size(KERNELS, by="arch", kernels=False), offkit.size(NO_KERNELS, by="arch", kernels=False)
    assert set(some.totals.columns) == set(none.totals.columns)


def test_functions_and_results_go_to_other_processes():
    for function in (offkit.walk, offkit.size, offkit.check):
        assert pickle.loads(pickle.dumps(function)) is function
    found = offkit.size(KERNELS)
    back = pickle.loads(pickle.dumps(found))
    assert back == found and back.totals.columns == found.totals.columns
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        assert list(pool.map(offkit.size, [KERNELS, NO_KERNELS]))[0] == found


def test_the_program_is_installed_with_the_module():
    program = os.path.join(os.path.dirname(sys.executable), "offkit")
    for command in ([program], [sys.executable, "-m", "offkit"]):
        said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
        assert said.split() == ["offkit", offkit.__version__]


def test_the_module_is_typed_and_documented():
    folder = os.path.dirname(offkit.__file__)
    assert os.path.exists(os.path.join(folder, "py.typed"))
    for name in offkit.__all__:
        assert inspect.getdoc(getattr(offkit, name)), name
