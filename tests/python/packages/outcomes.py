"""A plugin of pytest: writes what came of each test to the file that OFFKIT_OUTCOMES names, at once, so that nothing is
lost where a process is cut short or crashes."""

import os

FILE = open(os.environ["OFFKIT_OUTCOMES"], "w", buffering=1)


def pytest_collection_finish(session):
    FILE.write(f"collected {len(session.items)}\n")


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        FILE.write(f"{outcome} {report.nodeid}\n")
        if outcome == "failed":
            lines = str(report.longrepr).strip().splitlines()
            FILE.write(f"because {lines[-1] if lines else ''}\n")
