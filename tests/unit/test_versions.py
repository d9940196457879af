"""The JAX that the result must run on is the one that was asked for, or that the project admits."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from jaxmigrate.errors import UsageError
from jaxmigrate.versions import NEWEST_KNOWN, OLDEST_KNOWN, TargetJax, admitted_by, parse_target

NEWEST = (NEWEST_KNOWN, "newest known")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The top of a checkout, so that nothing further up is read."""
    top = tmp_path / "top"
    (top / ".git").mkdir(parents=True)
    return top


def put(directory: Path, name: str, text: str) -> None:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def pyproject(directory: Path, text: str) -> None:
    put(directory, "pyproject.toml", text)


def admitted(directory: Path) -> tuple[str, str]:
    target = admitted_by(directory)
    return str(target.version), target.source


@pytest.mark.parametrize(
    "text", ["0.4.20", " 0.4.20 ", "v0.4.20", "0.4", "0.1", "0.2.0", "0.10.2", "0.11.0", "1.0"]
)
def test_a_release_is_a_target(text: str) -> None:
    assert parse_target(text) == Version(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "9.x", "latest", ">=0.4", "0.4.*", "-1", "0.4 0.5", "9" * 5000),
        *("0.0.9", "0.5.0rc1", "0.5.0.dev1", "0.4+cuda", "1!0.4"),
    ],
)
def test_anything_else_is_no_target(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_target(text)
    assert str(caught.value) == (
        f"--target-jax: {text!r} is not a JAX version; "
        f"give one such as 0.4.20, from {OLDEST_KNOWN} to {NEWEST_KNOWN}"
    )


def test_a_project_that_says_nothing_gets_the_newest_known(project: Path) -> None:
    pyproject(project, '[project]\ndependencies = ["numpy>=1.20", "jaxtyping>=0.2", "flax"]\n')
    assert admitted(project) == NEWEST
    assert admitted_by(project) == TargetJax(Version(NEWEST_KNOWN), "newest known")


@pytest.mark.parametrize(
    ("requirement", "version", "words"),
    [
        ("jax>=0.4.20", "0.4.20", "jax>=0.4.20"),
        ("jax >= 0.4.20, < 0.5", "0.4.20", "jax>=0.4.20"),
        ("jax[cuda12]>=0.4.20,>=0.4.25", "0.4.25", "jax>=0.4.25"),
        ("JAX==0.4.20", "0.4.20", "jax==0.4.20"),
        ("jax===0.4.20", "0.4.20", "jax===0.4.20"),
        ("jax==0.4.*", "0.4", "jax==0.4.*"),
        ("jax~=0.4.20", "0.4.20", "jax~=0.4.20"),
        ("jax>0.4.20,!=0.4.22", "0.4.20", "jax>0.4.20"),
        ("jax>=0.4.20; python_version >= '3.9'", "0.4.20", "jax>=0.4.20"),
        ("jax>=0.5.0.dev0", "0.5.0", "jax>=0.5.0.dev0"),
        ("jax==0.4.20+cuda12", "0.4.20", "jax==0.4.20+cuda12"),
        ("jax<0.4.26", OLDEST_KNOWN, "jax<0.4.26"),
    ],
)
def test_the_lower_bound_of_a_requirement_is_the_target(
    project: Path, requirement: str, version: str, words: str
) -> None:
    pyproject(project, f'[project]\ndependencies = ["numpy", "{requirement}"]\n')
    assert admitted(project) == (version, f"{words} in pyproject.toml")


@pytest.mark.parametrize(
    "requirement",
    ["jax", "jax[tpu]", "jax<99", "jax!=0.4.20", "jax @ https://x.org/jax-0.4.20.whl"],
)
def test_a_requirement_without_a_lower_bound_admits_the_newest_known(
    project: Path, requirement: str
) -> None:
    pyproject(project, f'[project]\ndependencies = ["{requirement}"]\n')
    assert admitted(project) == NEWEST


def test_of_several_requirements_the_lowest_bound_is_admitted(project: Path) -> None:
    pyproject(
        project,
        """[project]
        dependencies = [
            "jax>=0.4.30; python_version >= '3.12'",
            "jax>=0.4.1; python_version < '3.12'",
            "jax",
        ]""",
    )
    put(project, "setup.cfg", "[options]\ninstall_requires =\n    jax>=0.4.13\n")
    assert admitted(project) == ("0.4.1", "jax>=0.4.1 in pyproject.toml")


@pytest.mark.parametrize(
    "text",
    [
        '[project.optional-dependencies]\na = ["numpy"]\nb = ["jax>=0.4.20"]\n',
        '[dependency-groups]\na = [{include-group = "b"}]\nb = ["jax>=0.4.20"]\n',
        '[tool.poetry.group.dev.dependencies]\njax = ">=0.4.20"\n',
        '[tool.poetry.dev-dependencies]\njax = "0.4.20"\n',
        '[tool.poetry.dependencies]\njax = {version = "^0.4.20", optional = true}\n',
    ],
)
def test_extras_and_groups_count_only_if_the_runtime_has_no_bound(project: Path, text: str) -> None:
    pyproject(project, text)
    assert admitted(project)[0] == "0.4.20"
    pyproject(project, '[project]\ndependencies = ["jax"]\n' + text)
    assert admitted(project)[0] == "0.4.20"
    pyproject(project, '[project]\ndependencies = ["jax>=0.4.30"]\n' + text)
    assert admitted(project)[0] == "0.4.30"


def test_jaxlib_counts_only_if_jax_has_no_bound_anywhere(project: Path) -> None:
    pyproject(project, '[project]\ndependencies = ["jax", "jaxlib>=0.4.7"]\n')
    assert admitted(project) == ("0.4.7", "jaxlib>=0.4.7 in pyproject.toml")
    put(project, "requirements/dev.txt", "jax==0.4.30\n")
    assert admitted(project) == ("0.4.30", "jax==0.4.30 in requirements/dev.txt")


@pytest.mark.parametrize(
    ("value", "version", "words"),
    [
        ('"^0.4.20"', "0.4.20", "jax ^0.4.20"),
        ('"~0.4"', "0.4", "jax ~0.4"),
        ('"~=0.4.20"', "0.4.20", "jax ~=0.4.20"),
        ('"0.4.20"', "0.4.20", "jax 0.4.20"),
        ('"0.4.*"', "0.4", "jax 0.4.*"),
        ('">=0.4.20,<0.5"', "0.4.20", "jax >=0.4.20,<0.5"),
        ('">= 0.4.20 <0.5"', "0.4.20", "jax >= 0.4.20 <0.5"),
        ('"^0.4 || ^0.3.5"', "0.3.5", "jax ^0.3.5"),
        ('{version = "^0.4.20", extras = ["cuda"]}', "0.4.20", "jax ^0.4.20"),
        ('[{version = "^0.4.20", python = "<3.9"}, {version = ">=0.4.1"}]', "0.4.1", "jax >=0.4.1"),
    ],
)
def test_poetry_says_it_in_its_own_way(project: Path, value: str, version: str, words: str) -> None:
    pyproject(project, f'[tool.poetry.dependencies]\npython = "^3.9"\njax = {value}\n')
    assert admitted(project) == (version, f"{words} in pyproject.toml")


@pytest.mark.parametrize("value", ['"*"', '{git = "https://x.org/jax"}', '"^bad"', "3", '"<99"'])
def test_poetry_may_set_no_bound(project: Path, value: str) -> None:
    pyproject(project, f"[tool.poetry.dependencies]\njax = {value}\n")
    assert admitted(project) == NEWEST


def test_setup_cfg_is_read(project: Path) -> None:
    extras = "[options.extras_require]\ncuda =\n    jax[cuda]>=0.4.20\n    %odd\n"
    put(project, "setup.cfg", extras)
    assert admitted(project) == ("0.4.20", "jax>=0.4.20 in setup.cfg")
    put(project, "setup.cfg", "[options]\ninstall_requires =\n  numpy\n  jax>=0.4.1\n" + extras)
    assert admitted(project) == ("0.4.1", "jax>=0.4.1 in setup.cfg")


@pytest.mark.parametrize(
    "text",
    [
        "setup(install_requires=['numpy', 'jax>=0.4.20'])",
        "REQUIRED = ['jax>=0.4.20']\nsetup(install_requires=REQUIRED)",
        "JAX = '0.4.20'\nsetup(install_requires=[f'jax>={JAX}'])",
        "JAX = '0.4.20'\nsetup(install_requires=['jax>=' + JAX])",
        "JAX = '0.4.20'\nsetup(install_requires=['jax>=%s' % JAX])",
        "JAX = '0.4.20'\nsetup(install_requires=['jax>={}'.format(JAX)])",
        "setup(install_requires='''\nnumpy\njax>=0.4.20\n''')",
        "setup(install_requires=['jax>=0.4.20' if cuda() else 'jax>=0.4.30'])",
        "def needed():\n    return ['jax>=0.4.20']\nsetup(install_requires=needed())",
        "setup(install_requires=['jax>=0.4.20'], extras_require={'a': ['jax>=0.4.1']})",
        "A = ['jax>=0.4.1']\nX = {'a': A}\n"
        "setup(install_requires=['jax>=0.4.20'], extras_require=X, tests_require=A)",
        "setup(extras_require={'cuda': ['jax[cuda]>=0.4.20']})",
        "A = A + 'x'\nB = '\\d'\nsetup(install_requires=['jax>=0.4.20' + ''])",
    ],
)
@pytest.mark.filterwarnings("error")
def test_setup_py_is_read(project: Path, text: str) -> None:
    put(project, "setup.py", text)
    assert admitted(project)[0] == "0.4.20"
    assert admitted(project)[1].endswith(" in setup.py")


def test_setup_py_is_never_run(project: Path) -> None:
    mark = project / "ran"
    put(project, "setup.py", f"open({str(mark)!r}, 'w')\nsetup(install_requires=['jax>=0.4.20'])")
    assert admitted(project)[0] == "0.4.20"
    assert not mark.exists()


def test_the_word_jax_in_setup_py_is_no_requirement(project: Path) -> None:
    put(project, "setup.py", "'''Jax'''\nsetup(keywords=['jax'], description='for jax >= 2 men')")
    put(project, "requirements.txt", "jax==0.4.20\n")
    assert admitted(project) == ("0.4.20", "jax==0.4.20 in requirements.txt")


@pytest.mark.parametrize(
    "line",
    [
        "jax==0.4.20",
        "jax == 0.4.20  # for the old cluster",
        "jax==0.4.20 ; python_version < '3.12'",
        "jax==0.4.20 \\\n    --hash=sha256:abc \\\n    --hash=sha256:def",
        "jax[cuda12_pip]==0.4.20",
        "-f https://x.org/jax_releases.html\njax==0.4.20",
        "git+https://x.org/jax.git\nnot a line of jax's\njax==0.4.20",
    ],
)
def test_requirement_files_are_read(project: Path, line: str) -> None:
    put(project, "requirements.txt", f"numpy\n# jax==0.3.1\n{line}\n")
    assert admitted(project) == ("0.4.20", "jax==0.4.20 in requirements.txt")


def test_requirement_files_from_powershell_are_read(project: Path) -> None:
    (project / "requirements.txt").write_bytes("jax==0.4.20\r\n".encode("utf-16"))
    assert admitted(project) == ("0.4.20", "jax==0.4.20 in requirements.txt")


@pytest.mark.parametrize("option", ["-r ", "-r", "--requirement ", "--requirement="])
def test_included_requirement_files_are_read(project: Path, option: str) -> None:
    put(project, "requirements.txt", f"{option}pins/base.in  # see there\n")
    put(project, "pins/base.in", f"jax==0.4.20\n{option}../requirements.txt\n")
    assert admitted(project) == ("0.4.20", "jax==0.4.20 in pins/base.in")


def test_requirement_files_outside_the_directory_are_not_read(project: Path) -> None:
    put(project.parent, "outside.txt", "jax==0.4.1\n")
    put(project, "requirements.txt", "-r ../outside.txt\n-r /no/such.txt\njax==0.4.20\n")
    assert admitted(project)[0] == "0.4.20"


def test_what_the_runtime_includes_goes_before_other_requirement_files(project: Path) -> None:
    put(project, "requirements/base.txt", "jax>=0.4.20\n")
    put(project, "requirements-dev.txt", "jax==0.4.1\n-r requirements/base.txt\n")
    put(project, "requirements.txt", "-r requirements/base.txt\n")
    assert admitted(project)[0] == "0.4.20"


def test_the_nearest_directory_that_declares_jax_wins(project: Path) -> None:
    pyproject(project, '[project]\ndependencies = ["jax>=0.4.1"]\n')
    put(project / "pkg/deep", "setup.py", "")
    assert admitted(project / "pkg/deep") == ("0.4.1", "jax>=0.4.1 in ../../pyproject.toml")
    pyproject(project / "pkg", '[project]\ndependencies = ["jax>=0.4.20"]\n')
    assert admitted(project / "pkg/deep") == ("0.4.20", "jax>=0.4.20 in ../pyproject.toml")
    pyproject(project / "pkg", '[project]\ndependencies = ["jax"]\n')
    assert admitted(project / "pkg/deep") == NEWEST


@pytest.mark.parametrize("worktree", [False, True])
def test_the_search_ends_at_the_top_of_the_checkout(project: Path, worktree: bool) -> None:
    pyproject(project, '[project]\ndependencies = ["jax>=0.4.1"]\n')
    inner = project / "inner"
    inner.mkdir()
    (inner / ".git").touch() if worktree else (inner / ".git").mkdir()
    assert admitted(inner) == NEWEST


@pytest.mark.parametrize(
    "broken",
    [
        "\0",
        "[[[",
        "= = =",
        "\udcff\udcfe",
        "(" * 5000,
        "x = " + "[" * 5000,
        "jax>=",
        "[project]\ndependencies = 3\noptional-dependencies = [1]\n",
        "[project]\ndependencies = {jax = 1}\n[tool]\npoetry = 1\n[options\n",
        "project = []\ntool = 1\ndependency-groups = {a = 1}\n",
        "[options]\n[options]\nx\n",
        "-r requirements.txt\n-r\n-r \0\n",
        f"jax>={'9' * 5000}\n",
    ],
)
def test_broken_metadata_is_passed_over(project: Path, broken: str) -> None:
    data = broken.encode("utf-8", "surrogateescape")
    for name in ("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt"):
        (project / name).write_bytes(data)
    assert admitted(project) == NEWEST
    put(project, "requirements-dev.txt", "jax==0.4.20\n")
    assert admitted(project) == ("0.4.20", "jax==0.4.20 in requirements-dev.txt")


@given(st.text(max_size=60))
def test_no_text_is_too_odd_to_be_refused_in_words(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert parse_target(text) >= Version("0.1")


@pytest.mark.parametrize("name", ["pyproject.toml", "setup.py", "requirements.txt"])
def test_metadata_that_is_no_file_is_passed_over(project: Path, name: str) -> None:
    (project / name).mkdir()
    assert admitted(project) == NEWEST


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_metadata_that_is_a_fifo_is_not_waited_for(project: Path) -> None:
    os.mkfifo(project / "requirements.txt")
    assert admitted(project) == NEWEST


def test_importing_this_loads_neither_packaging_nor_tomllib() -> None:
    code = (
        "import sys, jaxmigrate.versions; "
        "sys.exit(bool({'packaging', 'tomllib', 'libcst', 'rich'} & sys.modules.keys()))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
