"""`jaxmigrate trace`: where it writes, what it says, how it exits."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxmigrate.evidence.hits import Installed
from jaxmigrate.versions import NEWEST_KNOWN
from tests.environments import Unavailable, jax_python
from tests.trace.traced import FILE, arguments, trace

HIT = "import jax\njax.tree.map(lambda a, b: a, {'b': None, 'w': 1}, {'b': 2.5, 'w': 3})\n"
GUARDED = (
    "import jax\njax.tree.map(lambda a, b: a, {'b': None}, {'b': 2}, is_leaf=lambda x: x is None)\n"
)
TESTS = """\
import jax, pytest
import model

@pytest.mark.parametrize("opposite", [1, "x (call)"])
def test_hit(opposite):
    model.update({"b": None}, {"b": opposite})

def test_no_hit():
    model.update({"b": 1}, {"b": 2})
"""
MODEL = "import jax\ndef update(p, g):\n    return jax.tree.map(lambda p, g: p, p, g)\n"


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python of an environment with the newest JAX."""
    try:
        return jax_python(NEWEST_KNOWN)
    except Unavailable as error:
        pytest.skip(error.reason)


def write(folder: Path, source: str, name: str = "program.py") -> Path:
    """A file in a folder, made with its own folder."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")
    return file


def installed(folder: Path, name: str, version: str, files: dict[str, str]) -> Path:
    """A folder of packages with one distribution in it, as pip leaves it."""
    packages = folder / "site-packages"
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    for path, source in files.items():
        write(packages, source, path)
    write(
        packages,
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nText",
        f"{info}/METADATA",
    )
    write(packages, "".join(f"{path},sha256=x,1\n" for path in files), f"{info}/RECORD")
    return packages


def test_the_calls_are_listed_on_standard_error(python: Path, tmp_path: Path) -> None:
    write(tmp_path, HIT + "print('out')\n")
    answer = trace([python, "program.py"], tmp_path)
    assert answer.out == "out\n"
    assert answer.err == (
        "program.py:2:1 none-prefix (once): jax.tree.map in <module>: None at ['b'] met a float\n"
        "    jax.tree.map(lambda a, b: a, {'b': None, 'w': 1}, {'b': 2.5, 'w': 3})\n\n"
        "1 call of the project met a None in the first of several trees (JAX 0.10.2).\n"
        "The trace is saved in jaxmigrate-trace.jsonl.\n"
        "Migrate with: jaxmigrate run --evidence jaxmigrate-trace.jsonl\n"
    ).replace("0.10.2", NEWEST_KNOWN)


def test_colour_is_as_asked(python: Path, tmp_path: Path) -> None:
    write(tmp_path, HIT)
    assert "\x1b[" in trace([python, "program.py"], tmp_path, "--color").err
    plain = trace([python, "program.py"], tmp_path, "--no-color", environ={"FORCE_COLOR": "1"})
    assert "\x1b[" not in plain.err


def test_the_header_tells_of_the_command(python: Path, tmp_path: Path) -> None:
    write(tmp_path, HIT + "raise SystemExit(3)\n")
    assert trace([python, "program.py"], tmp_path).code == 3
    header = json.loads((tmp_path / FILE).read_text().splitlines()[0])
    assert header["jaxmigrate_trace"] == 1
    assert header["command"] == [str(python), "program.py"]
    assert header["exit_code"] == 3


def test_another_file_may_be_named(python: Path, tmp_path: Path) -> None:
    write(tmp_path, HIT)
    write(tmp_path, "old", "a b/träce.jsonl")
    answer = trace(
        [python, "program.py"], tmp_path, "-o", "a b/träce.jsonl", file="a b/träce.jsonl"
    )
    assert answer.lines == [2]
    assert "jaxmigrate run --evidence 'a b/träce.jsonl'" in answer.err
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize(
    ("name", "why"), [("none/x.jsonl", "no such file or directory"), (".", "is a directory")]
)
def test_a_file_that_cannot_be_written_stops_before_the_command(
    tmp_path: Path, name: str, why: str
) -> None:
    answer = trace(["touch", "ran"], tmp_path, "-o", name)
    assert answer.code == 2
    assert f"{name}: the trace cannot be written: {why}; name another file with -o" in answer.err
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder that nobody can write to, not even root."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    folder.chmod(0o555)
    if not os.access(folder, os.W_OK):
        yield folder
    elif Path("/sys").is_dir():
        yield Path("/sys")
    else:
        pytest.skip("every folder can be written to")
    folder.chmod(0o755)


def test_a_folder_that_cannot_be_written_to(python: Path, tmp_path: Path, read_only: Path) -> None:
    program = write(tmp_path, HIT)
    answer = trace([python, program], read_only)
    assert answer.code == 2
    assert f"{FILE}: the trace cannot be written: " in answer.err
    place = str(tmp_path / "t")
    assert trace([python, program], read_only, "-o", place, file=place).lines == [2]


def test_no_command_is_a_usage_error(tmp_path: Path) -> None:
    answer = trace([], tmp_path)
    assert answer.code == 2
    assert "COMMAND" in answer.err


def test_options_of_the_command_are_its_own(tmp_path: Path) -> None:
    answer = trace(["echo", "-o", "x", "--check", "--", "y"], tmp_path)
    assert answer.out == "-o x --check -- y\n"


@pytest.mark.parametrize(
    ("source", "code"), [(HIT, 1), (GUARDED, 0), (HIT + "raise SystemExit(7)\n", 7)]
)
def test_check_exits_with_1_if_a_call_is_left(
    python: Path, tmp_path: Path, source: str, code: int
) -> None:
    write(tmp_path, source)
    assert trace([python, "program.py"], tmp_path, "--check").code == code


def test_check_does_not_mind_packages(python: Path, tmp_path: Path) -> None:
    packages = installed(tmp_path / "env", "some-lib", "1.2", {"lib/of.py": MODEL})
    write(tmp_path / "project", "from lib.of import update\nupdate([None], [1])\n")
    answer = trace(
        [python, "program.py"],
        tmp_path / "project",
        "--check",
        environ={"PYTHONPATH": str(packages)},
    )
    assert answer.code == 0
    assert [hit.package for hit in answer.hits] == [Installed("some-lib", "1.2")]
    assert "\nWithout the trace this run fails in some-lib.\n" in answer.err


@pytest.mark.parametrize(
    ("source", "words"),
    [("print()\n", "no Python process of the command imported JAX"), (None, "-E and -S ignore")],
)
def test_check_is_no_proof_if_nothing_was_recorded(
    python: Path, tmp_path: Path, source: str | None, words: str
) -> None:
    flags = [] if source else ["-I"]
    write(tmp_path, source or HIT.splitlines()[0])
    answer = trace([python, *flags, "program.py"], tmp_path, "--check")
    assert answer.code == 2
    assert words in answer.err
    assert f"The trace in {FILE} names no call.\n" in answer.err


def test_a_trace_is_kept_where_nothing_is_recorded(python: Path, tmp_path: Path) -> None:
    write(tmp_path, HIT)
    trace([python, "program.py"], tmp_path)
    before = (tmp_path / FILE).read_bytes()
    answer = trace([python, "-c", "print()"], tmp_path)
    assert f"{FILE} is left as it was.\n" in answer.err
    assert (tmp_path / FILE).read_bytes() == before
    write(tmp_path, GUARDED)
    answer = trace([python, "program.py"], tmp_path)
    assert f"The trace in {FILE} names no call.\n" in answer.err
    assert answer.hits == ()


def test_the_codemod_that_mends_a_call_is_named(python: Path, tmp_path: Path) -> None:
    source = (
        "import jax\n"
        "jax.tree.structure([None]).flatten_up_to([1])\n"
        "try:\n    jax.tree.broadcast([None], [1])\nexcept ValueError:\n    pass\n"
    )
    write(tmp_path, source)
    err = trace([python, "program.py"], tmp_path).err
    assert "program.py:2:1 none-flatten (once): PyTreeDef.flatten_up_to in <module>" in err
    assert "program.py:4:5 no codemod (once): jax.tree.broadcast in <module>" in err


def test_strict_fails_where_jax_does_and_notes_it(python: Path, tmp_path: Path) -> None:
    write(tmp_path, HIT + HIT.replace("jax.tree.map", "later"))
    answer = trace([python, "program.py"], tmp_path, "--strict")
    assert answer.code == 1
    assert "ValueError: pytree structure error" in answer.err
    assert answer.lines == [2]


def test_packages_come_last_with_what_to_do(python: Path, tmp_path: Path) -> None:
    packages = installed(tmp_path / "env", "some-lib", "1.2", {"lib/of.py": MODEL})
    write(tmp_path / "project", f"from lib.of import update\nupdate([None], [1])\n{HIT}")
    answer = trace(
        [python, "program.py"], tmp_path / "project", environ={"PYTHONPATH": str(packages)}
    )
    first, second = [line for line in answer.err.splitlines() if "none-prefix" in line]
    assert first.startswith("program.py:4:1 ")
    assert second == (
        "some-lib 1.2, lib/of.py:3:12 none-prefix (once): jax.tree.map in update:"
        " None at [0] met an int; upgrade, or guard it upstream"
    )
    assert "1 call of the project and 1 call of installed packages met a None" in answer.err


@pytest.mark.parametrize(
    ("version", "advice"),
    [
        ("0.2.2", "upgrade to 0.2.4 or guard it upstream"),
        ("0.2.4", "upgrade, or guard it upstream"),
    ],
)
def test_an_upgrade_is_named_where_one_is_known(
    python: Path, tmp_path: Path, version: str, advice: str
) -> None:
    source = MODEL.replace("update", "apply_updates")
    packages = installed(tmp_path / "env", "optax", version, {"optax/_src/update.py": source})
    program = "from optax._src.update import apply_updates\napply_updates([None], [1])\n"
    write(tmp_path / "project", program)
    answer = trace(
        [python, "program.py"], tmp_path / "project", environ={"PYTHONPATH": str(packages)}
    )
    assert answer.err.splitlines()[0].startswith(f"optax {version}, optax/_src/update.py:3:12 ")
    assert answer.err.splitlines()[0].endswith(f"; {advice}")


def test_an_environment_inside_the_project_is_not_the_project(python: Path, tmp_path: Path) -> None:
    packages = installed(tmp_path / ".venv" / "lib", "lib", "3", {"lib.py": MODEL})
    write(tmp_path, "from lib import update\nupdate([None], [1])\n")
    (hit,) = trace([python, "program.py"], tmp_path, environ={"PYTHONPATH": str(packages)}).hits
    assert hit.package == Installed("lib", "3")


def test_a_cell_of_a_notebook_is_the_projects(python: Path, tmp_path: Path) -> None:
    write(tmp_path, f"exec(compile({HIT!r}, '/tmp/ipykernel_7/12.py', 'exec'), {{}})\n")
    (hit,) = trace([python, "program.py"], tmp_path).hits
    assert (hit.path, hit.line, hit.package) == ("/tmp/ipykernel_7/12.py", 2, None)


def test_a_file_that_is_neither_the_projects_nor_installed_counts(
    python: Path, tmp_path: Path
) -> None:
    file = write(tmp_path, MODEL, "elsewhere/pkg/of.py")
    write(tmp_path / "project", "from pkg.of import update\nupdate([None], [1])\n")
    environ = {"PYTHONPATH": str(tmp_path / "elsewhere")}
    answer = trace([python, "program.py"], tmp_path / "project", "--check", environ=environ)
    assert answer.code == 1
    assert [(hit.path, hit.package) for hit in answer.hits] == [(str(file), None)]
    assert "met an int; a file outside this project: run jaxmigrate there\n" in answer.err
    assert "1 call of files outside the project met a None" in answer.err
    assert "upgrade" not in answer.err
    assert "Migrate with" not in answer.err


def test_a_module_in_an_environment_counts_as_installed(python: Path, tmp_path: Path) -> None:
    write(tmp_path, MODEL, "env/lib/of.py")
    write(tmp_path, "", "env/pyvenv.cfg")
    write(tmp_path / "project", "from of import update\nupdate([None], [1])\n")
    environ = {"PYTHONPATH": str(tmp_path / "env" / "lib")}
    (hit,) = trace([python, "program.py"], tmp_path / "project", environ=environ).hits
    assert hit.package == Installed("of", "")


def test_the_project_is_the_checkout_that_the_folder_is_in(python: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    write(tmp_path, MODEL, "lib/of.py")
    write(tmp_path, f"from of import update\nupdate([None], [1])\n{HIT}", "app/program.py")
    environ = {"PYTHONPATH": str(tmp_path / "lib")}
    answer = trace([python, "program.py"], tmp_path / "app", "--check", environ=environ)
    assert answer.code == 1
    assert [(hit.path, hit.package) for hit in answer.hits] == [
        ("../lib/of.py", None),
        ("program.py", None),
    ]
    assert "2 calls of the project met a None" in answer.err
    assert f"Migrate with: jaxmigrate run .. --evidence {FILE}\n" in answer.err


def test_the_evidence_of_a_checkout_is_found_from_the_folder_it_was_made_in(
    python: Path, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    file = write(tmp_path, MODEL, "lib/of.py")
    write(tmp_path, MODEL, "app/of.py")
    write(tmp_path, "from of import update\nupdate([None], [1])\n", "app/main.py")
    environ = {"PYTHONSAFEPATH": "1", "PYTHONPATH": str(tmp_path / "lib")}
    answer = trace([python, "main.py"], tmp_path / "app", environ=environ)
    assert [hit.path for hit in answer.hits] == ["../lib/of.py"]
    run = [*arguments([])[:-2], "run", "..", "--evidence", FILE, "--write", "--allow-dirty"]
    subprocess.run(run, cwd=tmp_path / "app", check=True, capture_output=True)
    assert "is_leaf" in file.read_text()
    assert (tmp_path / "app" / "of.py").read_text() == MODEL


def test_sources_installed_as_editable_elsewhere_are_of_their_distribution(
    python: Path, tmp_path: Path
) -> None:
    packages = installed(tmp_path / "env", "my-lib", "0.1", {})
    source = tmp_path / "my source"
    write(source, MODEL, "src/lib.py")
    url = json.dumps({"url": source.as_uri(), "dir_info": {"editable": True}})
    write(packages, url, "my_lib-0.1.dist-info/direct_url.json")
    write(tmp_path / "project", "from lib import update\nupdate([None], [1])\n")
    environ = {"PYTHONPATH": os.pathsep.join([str(packages), str(source / "src")])}
    answer = trace([python, "program.py"], tmp_path / "project", environ=environ)
    assert [hit.package for hit in answer.hits] == [Installed("my-lib", "0.1", str(source))]
    words = f"; an editable install of my-lib at {source}: run jaxmigrate there\n"
    assert words in answer.err
    assert "upgrade" not in answer.err


def test_paths_with_blanks_and_other_letters(python: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mein Projekt é 日本"
    write(folder, MODEL, "sub ö/modèle.py")
    write(
        folder,
        "import sys\nsys.path.insert(0, 'sub ö')\n__import__('modèle').update([None], [1])\n",
    )
    (hit,) = trace([python, "program.py"], folder).hits
    assert (hit.path, hit.line, hit.function) == ("sub ö/modèle.py", 3, "update")


def test_a_program_may_go_elsewhere(python: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path, f"import os, sys\nsys.path.append(None)\nos.chdir('elsewhere')\n{HIT}")
    (hit,) = trace([python, "program.py"], tmp_path).hits
    assert (hit.path, hit.line, hit.text) == ("program.py", 5, HIT.splitlines()[1])


def test_a_linked_project_is_the_project(python: Path, tmp_path: Path) -> None:
    write(tmp_path / "real", HIT)
    (tmp_path / "link").symlink_to("real")
    (hit,) = trace([python, tmp_path / "real" / "program.py"], tmp_path / "link").hits
    assert (hit.path, hit.package) == ("program.py", None)


@pytest.mark.parametrize("way", [["-c", HIT], ["-"], ["-m", "pkg"], ["."]])
def test_every_way_to_start_python(python: Path, tmp_path: Path, way: list[str]) -> None:
    write(tmp_path, HIT, "pkg/__main__.py")
    write(tmp_path, HIT, "__main__.py")
    command = [str(python), *way]
    if way == ["-"]:
        command = ["sh", "-c", f"{python} - < __main__.py"]
    (hit,) = trace(command, tmp_path).hits
    assert (hit.line, hit.package) == (2, None)
    assert hit.path in ("<string>", "<stdin>", "pkg/__main__.py", "__main__.py")


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "xdist"])
@pytest.mark.parametrize("how", ["pytest", "python -m pytest"])
def test_a_run_of_pytest(python: Path, tmp_path: Path, how: str, workers: list[str]) -> None:
    write(tmp_path, TESTS, "tests/test_model.py")
    write(tmp_path, MODEL, "model.py")
    write(tmp_path, "[pytest]\npythonpath = .\nfilterwarnings = error\n", "pytest.ini")
    command = [python.parent / "pytest"] if how == "pytest" else [python, "-m", "pytest"]
    answer = trace([*command, "-q", "-p", "no:cacheprovider", *workers], tmp_path)
    assert answer.code == 0, answer.out + answer.err
    assert "3 passed" in answer.out
    (hit,) = answer.hits
    assert (hit.path, hit.line, hit.count) == ("model.py", 3, 2)
    assert hit.tests == (
        "tests/test_model.py::test_hit[1]",
        "tests/test_model.py::test_hit[x (call)]",
    )
    assert "in tests/test_model.py::test_hit[1] and 1 other test" in answer.err


def test_a_call_in_an_assertion_that_pytest_rewrote(python: Path, tmp_path: Path) -> None:
    source = "import jax\ndef test():\n    assert [None] == jax.tree.map(max, [None], [1])\n"
    write(tmp_path, source, "test_it.py")
    (hit,) = trace([python, "-m", "pytest", "-q", "-p", "no:cacheprovider"], tmp_path).hits
    assert (hit.line, hit.column, hit.end_column) == (3, 22, 52)


def test_a_failing_run_of_pytest_keeps_its_exit_code(python: Path, tmp_path: Path) -> None:
    write(tmp_path, "def test_fails():\n    assert 0\n", "test_it.py")
    answer = trace([python, "-m", "pytest", "-q", "-p", "no:cacheprovider"], tmp_path, "--check")
    assert answer.code == 1
    assert re.search(r"1 failed", answer.out)
