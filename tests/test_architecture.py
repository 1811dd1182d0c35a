"""The house keeps its floors: what may import what, held against the code itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import polywire

ROOT = Path(__file__).parent.parent
CORE = ROOT / "core" / "src" / "polywire"
PLUGINS = sorted((ROOT / "plugins").glob("*/src/polywire_*"))

# From the ground up. A module may import what stands on its own floor or below.
FLOORS: list[set[str]] = [
    {"immutable", "fast_dataclass", "memo", "wire_json", "media_types"},
    {"errors", "contents", "tool_calls", "messages", "responses", "tool_specifications", "parameters", "requests"},
    {"events", "survey", "history", "serialization", "profiles"},
    {"handlers", "streams", "models", "function_model", "codec", "embeddings", "media_models", "task_requests"},
    {
        "translation",
        "schemas",
        "markup",
        "framing",
        "auth",
        "watchdog",
        "http_errors",
        "http_delays",
        "http_error_bodies",
    },
    {
        "transport",
        "http_limits",
        "http_driver",
        "http_exchange",
        "http_plan",
        "http_sources",
        "http_model",
        "http_embeddings",
        "http_media",
        "http_tasks",
        "downloads",
        "conversion",
    },
    {"policy", "tools", "structured"},
    {"plugins"},
    {"config"},
    {"cli", "testing", "probe", "recording", "scaffold"},
]
# Convenience on a low floor that reaches up, inside a function: each is written down here.
UPWARD = {
    ("models", "structured"),
    ("models", "function_model"),
    ("tool_specifications", "tools"),
    ("conversion", "plugins"),
}


def room(path: Path) -> str:
    """The room of a file: a module of the house, or the folder it lies in."""
    return path.relative_to(CORE).parts[0].removesuffix(".py")


def floor(name: str) -> int:
    for number, rooms in enumerate(FLOORS):
        if name in rooms:
            return number
    pytest.fail(f"the room {name!r} stands on no floor: give it one in FLOORS")


def imports(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            if node.module == "polywire":
                yield from (f"polywire.{alias.name}" for alias in node.names)


def core_files() -> list[Path]:
    return sorted(path for path in CORE.rglob("*.py") if path != CORE / "__init__.py")


@pytest.mark.parametrize("path", core_files(), ids=lambda path: str(path.relative_to(CORE)))
def test_a_module_imports_only_its_floor_and_below(path: Path) -> None:
    here = room(path)
    for module in imports(path):
        if not module.startswith("polywire."):
            continue
        there = module.split(".")[1]
        if not (CORE / there).exists() and not (CORE / f"{there}.py").exists():
            continue  # a public name, imported from the package itself
        assert floor(there) <= floor(here) or (here, there) in UPWARD, f"{path.name} imports {module}"


@pytest.mark.parametrize(
    ("library", "homes"),
    [
        ("httpx", {"transport.py", "transport"}),
        ("pydantic_settings", {"config"}),
        ("pluggy", {"plugins"}),
        ("tenacity", {"policy"}),
    ],
)
def test_a_library_has_one_home(library: str, homes: set[str]) -> None:
    strangers = [
        str(path.relative_to(CORE))
        for path in core_files()
        if any(module.split(".")[0] == library for module in imports(path))
        and path.relative_to(CORE).parts[0] not in homes
    ]

    assert strangers == []


VENDORS = re.compile(
    r"\b(openai|anthropic|claude|gemini|deepseek|ollama|mistral|groq|qwen|dashscope|openrouter|bedrock|azure)\b",
    re.IGNORECASE,
)


def test_no_decision_in_core_names_a_vendor() -> None:
    """Strings in comparisons and `in` tests are decisions; a word in a docstring or an example is not."""
    found = []
    for path in core_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Compare, ast.If, ast.Match)):
                tests = (
                    [node]
                    if isinstance(node, ast.Compare)
                    else [node.test]
                    if isinstance(node, ast.If)
                    else [case.pattern for case in node.cases]
                )
                for test in tests:
                    for inner in ast.walk(test):
                        if (
                            isinstance(inner, ast.Constant)
                            and isinstance(inner.value, str)
                            and VENDORS.search(inner.value)
                        ):
                            found.append(f"{path.relative_to(CORE)}:{inner.lineno}: {inner.value!r}")  # noqa: PERF401

    assert found == []


@pytest.mark.parametrize("package", PLUGINS, ids=lambda path: path.name)
def test_a_plugin_imports_no_private_module_of_another_and_no_sdk(package: Path) -> None:
    allowed_top = {"polywire", package.name}
    sdks = {"openai", "anthropic", "google", "ollama", "mistralai", "groq", "cohere", "boto3"}
    for path in package.rglob("*.py"):
        for module in imports(path):
            top = module.split(".")[0]
            assert top not in sdks, f"{path.name} imports {module}"
            if top.startswith("polywire_") and top not in allowed_top:
                assert module == top, f"{path.name} imports {module}: only another plugin's public names"


def test_modules_are_small() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for base in (CORE, *PLUGINS)
        for path in base.rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 400
    }

    assert long == {}


def fresh(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_importing_the_package_loads_next_to_nothing() -> None:
    heavy = fresh(
        "import sys, polywire; print([name for name in sys.modules if name.split('.')[0] in"
        " {'httpx', 'pydantic', 'pydantic_settings', 'pluggy', 'tenacity', 'asyncio', 'msgspec'}])"
    )

    assert heavy.strip() == "[]"


def test_importing_the_values_loads_no_http_and_no_validation() -> None:
    heavy = fresh(
        "import sys, polywire.models, polywire.codec; print([name for name in sys.modules if name.split('.')[0] in"
        " {'httpx', 'pydantic', 'pydantic_settings', 'pluggy', 'tenacity', 'asyncio'}])"
    )

    assert heavy.strip() == "[]"


def test_every_public_name_is_there_sorted_and_documented() -> None:
    assert sorted(set(polywire.__all__)) == sorted(polywire.__all__)
    assert set(polywire.__all__) <= set(dir(polywire))
    for name in polywire.__all__:
        value = getattr(polywire, name)
        if isinstance(value, type):
            assert value.__doc__, f"{name} has no docstring"
            assert "Alias for field" not in value.__doc__
        elif callable(value):
            assert value.__doc__, f"{name} has no docstring"
