"""What a name means across the files of a project."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from jaxmigrate.analysis.project import Definition, External, Project, Submodule, Value


def meaning(files: Mapping[str, str], path: str = "main.py") -> set[str]:
    """What the expression of the last statement of `path` may mean, in words."""
    project = Project(files, files.get)
    module = project.module(path)
    assert module is not None
    last: ast.AST = module.tree.body[-1]
    while not isinstance(last, ast.Expr):
        last = last.body[-1]  # type: ignore[attr-defined]
    scope = module.scopes.module
    for outer in module.scopes.enclosing(last):
        if outer in module.scopes.scope_of:
            scope = module.scopes.scope_of[outer]  # type: ignore[index]
            break
    words = set()
    for entity in project.resolve(last.value, scope, module):
        match entity:
            case External(name):
                words.add(name)
            case Definition(home, node, _):
                words.add(f"{home.path}:{node.name}")
            case Value(home, expr, _):
                words.add(f"{home.path}={ast.unparse(expr)}")
            case Submodule(home):
                words.add(f"module {home.path}")
    return words


TREE_MAP = "jax.tree_util.tree_map"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import jax\njax.tree_map", {"jax.tree_map"}),
        ("import jax as j\nj.tree_map", {"jax.tree_map"}),
        ("import jax.tree_util\njax.tree_map", {"jax.tree_map"}),
        ("import jax.tree_util\njax.tree_util.tree_map", {TREE_MAP}),
        ("import jax.tree_util as jtu\njtu.tree_map", {TREE_MAP}),
        ("from jax import tree_util\ntree_util.tree_map", {TREE_MAP}),
        ("from jax import tree_util as t\nt.tree_map", {TREE_MAP}),
        ("from jax.tree_util import tree_map\ntree_map", {TREE_MAP}),
        ("from jax.tree_util import tree_map as m\nm", {TREE_MAP}),
        ("from jax.tree_util import tree_map as m\nn = m\no = n\no", {TREE_MAP}),
        ("import jax\nt = jax.tree_util\nt.tree_map", {TREE_MAP}),
        ("import jax\nm: object = jax.tree_util.tree_map\nm", {TREE_MAP}),
        ("import jax\nm = n = jax.tree_util.tree_map\nn", {TREE_MAP}),
        ("from jax.tree_util import *\ntree_map", {TREE_MAP}),
        ("from jax import *\ntree_map", {"jax.tree_map"}),
        ("from jax import *\nnothing_of_the_kind", set()),
        ("len", {"builtins.len"}),
        ("from jax import *\nlen", {"builtins.len"}),
        ("unheard_of", set()),
        ("jax.tree_map", set()),
        # several bindings
        (
            "try:\n  from jax.tree_util import tree_map\n"
            "except ImportError:\n  from jax import tree_map\ntree_map",
            {TREE_MAP, "jax.tree_map"},
        ),
        ("try:\n  import jax\nexcept ImportError:\n  jax = None\njax.tree_map", {"jax.tree_map"}),
        ("jax = None\nimport jax\njax.tree_map", {"jax.tree_map"}),
        ("jax = None\njax.tree_map", set()),
        (
            "import jax\nif x:\n  import numpy as jax\njax.tree_map",
            {"jax.tree_map", "numpy.tree_map"},
        ),
        ("import jax\njax = wrap(jax)\njax.tree_map", set()),
        ("import jax\nfor jax in x: pass\njax.tree_map", set()),
        ("import jax\ndel jax\njax.tree_map", set()),
        ("import jax\njax += 1\njax.tree_map", set()),
        ("from jax import tree_map\nfrom jax import tree_map\ntree_map", {"jax.tree_map"}),
        # own functions and values
        ("def tree_map(f): pass\ntree_map", {"main.py:tree_map"}),
        ("from jax import *\ndef tree_map(f): pass\ntree_map", {"main.py:tree_map"}),
        ("class C:\n  def f(self): pass\nC.f", {"main.py:f"}),
        ("class C:\n  def f(self): pass\nC.g", set()),
        ("from functools import partial\nm = partial(f, 1)\nm", {"main.py=partial(f, 1)"}),
        ("m = lambda x: x\nm", {"main.py=lambda x: x"}),
        ("a, b = 1, 2\na", set()),
        # cycles within a file
        ("a = b\nb = a\na", set()),
        ("a = a\na", set()),
        ("a = a.b\na", set()),
        # scopes
        ("import jax\ndef f(jax):\n  jax.tree_map", set()),
        ("import jax\ndef f():\n  jax = 1\n  jax.tree_map", set()),
        ("import jax\ndef f():\n  jax.tree_map", {"jax.tree_map"}),
        ("def f():\n  import jax\n  jax.tree_map", {"jax.tree_map"}),
        ("def f():\n  from jax import tree_map as m\n  m", {"jax.tree_map"}),
        ("def f():\n  import jax\njax.tree_map", set()),
        ("def f():\n  global jax\n  import jax\njax.tree_map", {"jax.tree_map"}),
        ("class C:\n  import jax\n  jax.tree_map", {"jax.tree_map"}),
        ("class C:\n  import jax\n  def f(self):\n    jax.tree_map", set()),
        ("import jax\nasync def f():\n  jax.tree_map", {"jax.tree_map"}),
        ("import jax\nwith x as jax:\n  jax.tree_map", set()),
        ("import jax\ntry: pass\nexcept E as jax: pass\njax.tree_map", set()),
        ("import jax\nmatch x:\n  case jax: pass\njax.tree_map", set()),
        ("import jax\n(jax := 1)\njax.tree_map", set()),
        # not a plain chain of names
        ("import jax\nf().tree_map", set()),
        ("import jax\n(jax if x else y).tree_map", set()),
        ("import jax\njax['tree_map']", set()),
    ],
)
def test_a_name_in_one_file(source: str, expected: set[str]) -> None:
    assert meaning({"main.py": source}) == expected


MAPS = "from jax.tree_util import tree_map as tmap\nimport jax\ndef own(f, t): pass\nval = lambda x: x\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from pkg.maps import tmap\ntmap", {TREE_MAP}),
        ("from pkg.maps import tmap as t\nt", {TREE_MAP}),
        ("import pkg.maps\npkg.maps.tmap", {TREE_MAP}),
        ("import pkg.maps as m\nm.tmap", {TREE_MAP}),
        ("from pkg import maps\nmaps.tmap", {TREE_MAP}),
        ("from pkg import maps as m\nm.jax.tree_map", {"jax.tree_map"}),
        ("from pkg.maps import jax\njax.tree_map", {"jax.tree_map"}),
        ("from pkg.maps import own\nown", {"pkg/maps.py:own"}),
        ("from pkg.maps import val\nval", {"pkg/maps.py=lambda x: x"}),
        ("from pkg.maps import *\ntmap", {TREE_MAP}),
        ("from pkg.maps import *\nown", {"pkg/maps.py:own"}),
        ("from pkg.maps import missing\nmissing", set()),
        ("from pkg import tmap\ntmap", {TREE_MAP}),
        ("from pkg import again\nagain", {TREE_MAP}),
        ("import pkg\npkg.tmap", {TREE_MAP}),
        ("import pkg\npkg.maps", {"module pkg/maps.py"}),
        ("from pkg.sub import up\nup", {TREE_MAP}),
        ("from pkg.sub import upper\nupper", {TREE_MAP}),
        ("from pkg.sub.leaf import deep\ndeep", {TREE_MAP}),
        ("from pkg.sub.leaf import package\npackage.tmap", {TREE_MAP}),
        ("from pkg.star import tmap\ntmap", {TREE_MAP}),
        ("from pkg.star2 import tmap\ntmap", {TREE_MAP}),
        ("from pkg.local import get\nget", {"pkg/local.py:get"}),
        ("from pkg.cycle_a import x\nx", set()),
        ("from pkg.broken import x\nx", set()),
        ("from pkg.own_tree import tree_map\ntree_map", {"pkg/own_tree.py:tree_map"}),
        ("from other import tmap\ntmap", {"other.tmap"}),
        ("from .pkg.maps import tmap\ntmap", {TREE_MAP}),
        ("from ..pkg.maps import tmap\ntmap", set()),
    ],
)
def test_a_name_across_files(source: str, expected: set[str]) -> None:
    files = {
        "main.py": source,
        "pkg/__init__.py": "from .maps import tmap\nfrom pkg.maps import tmap as again\n",
        "pkg/maps.py": MAPS,
        "pkg/sub/__init__.py": "from ..maps import tmap as up\nfrom .. import tmap as upper\n",
        "pkg/sub/leaf.py": "from . import up as deep\nfrom ... import pkg as package\n",
        "pkg/star.py": "from .maps import *\n",
        "pkg/star2.py": "from .star import *\n",
        "pkg/local.py": "def get():\n  from .maps import tmap\n  return tmap\n",
        "pkg/cycle_a.py": "from .cycle_b import x\n",
        "pkg/cycle_b.py": "from .cycle_a import x\n",
        "pkg/broken.py": "def f(:\n",
        "pkg/own_tree.py": "def tree_map(f, t): pass\n",
    }
    expected_here = expected
    if source.startswith("from .pkg"):
        files["__init__.py"] = ""
    assert meaning(files) == expected_here


def test_the_first_level_of_a_relative_import_is_the_folder_itself() -> None:
    files = {
        "a/__init__.py": "",
        "a/b/__init__.py": "",
        "a/b/main.py": "from .near import x\nx",
        "a/b/near.py": "import jax as x\n",
    }
    assert meaning(files, "a/b/main.py") == {"jax"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("from . import y as x", {"a/b/__init__.py=1"}),
        ("from .. import y as x", {"a/__init__.py=2"}),
        ("from ..c import y as x", {"a/c.py=3"}),
        ("from ... import y as x", set()),
        ("from .d import y as x", {"a/b/d/__init__.py=4"}),
        ("from .d.e import y as x", {"a/b/d/e.py=5"}),
        ("from . import d as x", {"module a/b/d/__init__.py"}),
    ],
)
def test_relative_imports_at_all_levels(line: str, expected: set[str]) -> None:
    files = {
        "a/__init__.py": "y = f(2)\n".replace("f(2)", "2"),
        "a/b/__init__.py": "y = 1\n",
        "a/c.py": "y = 3\n",
        "a/b/d/__init__.py": "y = 4\n",
        "a/b/d/e.py": "y = 5\n",
        "a/b/main.py": f"{line}\nx",
    }
    assert meaning(files, "a/b/main.py") == expected


def test_relative_imports_in_an_init_start_at_its_own_package() -> None:
    files = {"a/__init__.py": "from .b import x\nx", "a/b.py": "import jax as x\n"}
    assert meaning(files, "a/__init__.py") == {"jax"}


@pytest.mark.parametrize(
    "files",
    [
        {"src/pkg/__init__.py": "", "src/pkg/maps.py": MAPS, "tests/main.py": ""},
        {"src/pkg/maps.py": MAPS, "tests/main.py": ""},
        {"lib/python/pkg/maps.py": MAPS, "tests/main.py": ""},
        {"pkg/maps.py": MAPS, "tests/main.py": ""},
        {"pkg/maps.py": MAPS, "pkg/__init__.py": "", "tests/__init__.py": "", "tests/main.py": ""},
    ],
    ids=["src layout", "src layout, namespace", "deep root", "namespace", "flat"],
)
def test_a_package_is_found_wherever_its_root_lies(files: dict[str, str]) -> None:
    source = "from pkg.maps import tmap\ntmap"
    assert meaning({**files, "tests/main.py": source}, "tests/main.py") == {TREE_MAP}


def test_a_script_finds_the_module_beside_it() -> None:
    files = {
        "one/main.py": "from utils import x\nx",
        "one/utils.py": "import jax as x\n",
        "two/utils.py": "import numpy as x\n",
    }
    assert meaning(files, "one/main.py") == {"jax"}


def test_the_nearer_of_two_modules_of_one_name_is_taken() -> None:
    files = {
        "exp/a/run/main.py": "from utils import x\nx",
        "exp/a/utils.py": "import jax as x\n",
        "exp/b/utils.py": "import numpy as x\n",
    }
    assert meaning(files, "exp/a/run/main.py") == {"jax"}


def test_a_module_within_a_package_is_not_taken_for_a_top_level_one() -> None:
    files = {
        "main.py": "from tree_util import x\nx",
        "pkg/__init__.py": "",
        "pkg/tree_util.py": "import jax as x\n",
    }
    assert meaning(files) == {"tree_util.x"}


@pytest.mark.parametrize("name", ["jax.py", "jax/__init__.py", "pkg/jax.py", "numpy.py"])
def test_an_own_file_called_jax_is_not_taken_for_jax(name: str) -> None:
    files = {"main.py": "import jax\njax.tree_map", name: "def tree_map(): pass\n"}
    assert meaning(files) == {"jax.tree_map"}


def test_a_relative_import_of_an_own_file_called_jax_is_that_file() -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/main.py": "from . import jax\njax.tree_map",
        "pkg/jax.py": "def tree_map(): pass\n",
    }
    assert meaning(files, "pkg/main.py") == {"pkg/jax.py:tree_map"}


def test_a_name_of_an_init_goes_before_a_module_of_the_same_name() -> None:
    files = {
        "main.py": "from pkg import thing\nthing",
        "pkg/__init__.py": "def thing(): pass\n",
        "pkg/thing.py": "",
    }
    assert meaning(files) == {"pkg/__init__.py:thing"}


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ("", {"module pkg/thing.py"}),
        ("def thing(): pass\n", {"pkg/__init__.py:thing"}),
        ("from .thing import thing\n", {"pkg/thing.py:thing"}),
        ("from .thing import *\n", {"pkg/thing.py:thing"}),
        ("from . import thing\n", {"module pkg/thing.py"}),
        ("import pkg.thing\n", {"module pkg/thing.py"}),
        ("from .other import thing\n", {"module pkg/thing.py"}),
        ("from jax import tree_map as thing\n", {"jax.tree_map"}),
        ("from elsewhere import *\n", {"module pkg/thing.py"}),
        ("for thing in things: pass\n", set()),
        ("from . import thing\nx = thing.thing\ndel thing\n", {"module pkg/thing.py"}),
    ],
)
@pytest.mark.parametrize(
    "use", ["from pkg import thing\nthing", "import pkg.thing as t\nt", "import pkg\npkg.thing"]
)
def test_a_module_is_what_its_package_has_no_other_name_for(
    init: str, expected: set[str], use: str
) -> None:
    files = {
        "main.py": use,
        "pkg/__init__.py": init,
        "pkg/thing.py": "def thing(): pass\n",
        "pkg/other.py": "from . import thing\n",
    }
    assert meaning(files) == expected


def test_a_package_within_a_package_is_a_name_of_the_outer_one() -> None:
    files = {
        "main.py": "from a import b\nb",
        "a/__init__.py": "import jax as b\n",
        "a/b/__init__.py": "import numpy as b\n",
    }
    assert meaning(files) == {"jax"}


def test_re_exports_are_followed_through_several_packages() -> None:
    files = {"main.py": "from a import x\nx", "a/__init__.py": "from b import x\n"}
    files |= {
        "b/__init__.py": "from c.d import *\n",
        "c/__init__.py": "",
        "c/d.py": "from e import x\n",
    }
    files |= {"e.py": "try:\n  from jax.tree_util import tree_map as x\nexcept E:\n  x = None\n"}
    assert meaning(files) == {TREE_MAP}


def test_a_star_import_brings_no_underscored_name_unless_it_is_listed() -> None:
    files = {"main.py": "from m import *\n_x", "m.py": "import jax as _x\n"}
    assert meaning(files) == set()


def test_a_star_import_brings_what_all_lists_and_nothing_else() -> None:
    files = {
        "main.py": "from m import *\ny",
        "m.py": "import jax as x, numpy as y\n__all__ = ['x']\n",
    }
    assert meaning(files) == set()


@pytest.mark.parametrize(
    ("listing", "brought"),
    [
        ("__all__ = ['y']", False),
        ("__all__ = ['x', 'y']", True),
        ("__all__ = ('_x',)", False),
        ("__all__ = []\n__all__ += ['x']", True),
        ("__all__ = ['y']\n__all__ += ['z']", False),
        ("__all__ = ['y'] + ['x']", True),
        ("__all__ = __all__ + ['x']", True),
        ("__all__ = []\n__all__.extend(['x'])", True),
        ("__all__ = ['y']\n__all__.append('z')", False),
        ("__all__ = ['y']\n__all__.append('x')", True),
        ("__all__: list[str] = ['y']", False),
        ("__all__ = ['y'] + other.__all__", True),
        ("__all__ = [name for name in dir()]", True),
        ("__all__ = ['y']\n__all__.remove('y')", True),
        ("if a:\n    __all__ = ['y']\nelse:\n    __all__ = ['x']", True),
    ],
)
def test_a_list_of_names_is_read_as_far_as_it_can_be(listing: str, brought: bool) -> None:
    files = {"main.py": "from m import *\nx", "m.py": f"import jax as x\n{listing}\n"}
    assert meaning(files) == ({"jax"} if brought else set())


def test_an_underscored_name_that_is_listed_is_brought() -> None:
    files = {"main.py": "from m import *\n_x", "m.py": "import jax as _x\n__all__ = ['_x']\n"}
    assert meaning(files) == {"jax"}


def test_an_underscored_name_can_be_imported_by_name() -> None:
    files = {"main.py": "from m import _x\n_x", "m.py": "import jax as _x\n__all__ = []\n"}
    assert meaning(files) == {"jax"}


def test_the_later_of_two_star_imports_prevails() -> None:
    files = {
        "main.py": "from m import *\nfrom n import *\nx",
        "m.py": "import jax as x\n",
        "n.py": "import numpy as x\n",
    }
    assert meaning(files) == {"numpy"}


def test_a_star_import_hides_a_builtin() -> None:
    files = {"main.py": "from m import *\nmap", "m.py": "from jax.tree import map\n"}
    assert meaning(files) == {"jax.tree.map"}


def test_a_star_import_of_something_unknown_leaves_builtins_in_doubt_or_alone() -> None:
    assert meaning({"main.py": "from elsewhere import *\nlen"}) in ({"builtins.len"}, set())


def test_a_star_import_inside_a_try_counts() -> None:
    source = "try:\n  from m import *\nexcept ImportError:\n  pass\nx"
    assert meaning({"main.py": source, "m.py": "import jax as x\n"}) == {"jax"}


def test_star_imports_in_a_circle_end() -> None:
    files = {
        "main.py": "from m import *\nx",
        "m.py": "from n import *\n",
        "n.py": "from m import *\n",
    }
    assert meaning(files) == set()


def test_a_module_is_parsed_once_and_only_when_asked_for() -> None:
    asked: list[str] = []

    def load(path: str) -> str:
        asked.append(path)
        return "import jax as x\n" if path == "m.py" else "from m import x\nx\nx"

    project = Project(["main.py", "m.py", "never.py"], load)
    module = project.module("main.py")
    assert module is not None
    for _ in range(2):
        project.lookup("x", module.scopes.module, module)
    assert asked == ["main.py", "m.py"]


def test_a_file_that_cannot_be_read_leaves_its_names_unknown() -> None:
    project = Project(["main.py", "m.py"], {"main.py": "from m import x\nx"}.get)
    module = project.module("main.py")
    assert module is not None
    assert project.lookup("x", module.scopes.module, module) == ()
    assert project.module("elsewhere.py") is None
