"""The TypeScript SDK: its types match the operations, its own tests pass against real servers, and its package works."""

import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from recollect import __version__
from tests.clients import running_server
from tests.conftest import Person
from tests.contract.library_archive import fill

ROOT = Path(__file__).parents[2]
SDK = ROOT / "sdk" / "typescript"
GENERATOR = ROOT / "scripts" / "typescript_types.py"
TESTS = sorted(path.name for path in SDK.glob("test/*.test.mjs"))
BUILT = ("node_modules", "dist", "*.tgz", "package-lock.json")  # by its developers
NPM = ("--no-audit", "--no-fund", "--no-package-lock", "--no-update-notifier")
PATIENCE_S = 300


def run_program(command: list[str], folder: Path, env: dict[str, str] | None = None) -> str:
    """The output of a program, which must succeed. A program that hangs is killed with its children."""
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=folder, env=env, start_new_session=True, **pipes) as process:
        try:
            said, complaint = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode == 0, f"{' '.join(command)}\n{said}\n{complaint}"
    return str(said)


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TypeScript and the types of Node, installed once per virtual environment."""
    missing = [program for program in ("node", "npm") if shutil.which(program) is None]
    if missing:
        pytest.skip(f"the TypeScript SDK needs {' and '.join(missing)}")
    in_venv = sys.prefix != sys.base_prefix
    folder = (Path(sys.prefix) if in_venv else tmp_path_factory.getbasetemp()) / "typescript-sdk"
    folder.mkdir(exist_ok=True)
    wanted, stamp = (SDK / "package.json").read_bytes(), folder / "installed.json"
    if not stamp.exists() or stamp.read_bytes() != wanted:
        shutil.copy(SDK / "package.json", folder)
        run_program(["npm", "install", "--ignore-scripts", *NPM], folder)
        stamp.write_bytes(wanted)
    return folder / "node_modules"


def cloned(folder: Path, modules: Path) -> Path:
    """A clone of the SDK, with its development tools."""
    shutil.copytree(SDK, folder, ignore=shutil.ignore_patterns(*BUILT))
    (folder / "node_modules").symlink_to(modules)
    return folder


@pytest.fixture(scope="session")
def built(modules: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = cloned(tmp_path_factory.mktemp("sdk") / "typescript", modules)
    run_program(["npm", "run", "build"], folder)
    return folder


@pytest.fixture(scope="session")
def tarball(modules: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What would be published, packed from a fresh clone."""
    folder = cloned(tmp_path_factory.mktemp("packed") / "typescript", modules)
    run_program(["npm", "pack", "--foreground-scripts=false", *NPM], folder)
    (packed,) = folder.glob("*.tgz")
    return packed


def servers(person: Person) -> dict[str, str]:
    """The environment of a program that starts Recollect's servers."""
    return {**person.env, "RECOLLECT_COMMAND": json.dumps([sys.executable, "-m", "recollect"])}


# ---- types


def test_the_types_match_the_operations() -> None:
    generated = run_program([sys.executable, str(GENERATOR)], ROOT)
    assert (SDK / "src" / "operations.ts").read_text("utf-8") == generated, "out of date: make sdk"


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, "unknown"),
        ({"type": "integer", "minimum": 0}, "number"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"type": ["array", "null"], "items": {"type": "string"}}, "string[] | null"),
        ({"type": "array", "items": {"type": ["string", "boolean"]}}, "(string | boolean)[]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"type": ["string", "null"], "enum": ["a", None]}, '"a" | null'),
        ({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}, "string | string[]"),
        ({"type": "object"}, "JsonObject"),
        ({"type": "object", "additionalProperties": False}, "Record<string, never>"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "{ [name: string]: string }"),
        (
            {"type": "object", "properties": {"a": {"type": "string"}, "b-c": {"type": "number"}}, "required": ["a", "d"]},
            '{\n  a: string;\n  "b-c"?: number;\n  d: unknown;\n}',
        ),
    ],
    ids=str,
)
def test_a_schema_becomes_its_type(schema: dict[str, Any], expected: str) -> None:
    assert runpy.run_path(str(GENERATOR))["type_of"](schema) == expected


def test_an_unknown_keyword_of_a_schema_is_an_error() -> None:
    with pytest.raises(ValueError, match="oneOf"):
        runpy.run_path(str(GENERATOR))["type_of"]({"oneOf": []})


# ---- the SDK


def test_the_sdk_has_the_servers_version() -> None:
    assert json.loads((SDK / "package.json").read_bytes())["version"] == __version__


@pytest.mark.parametrize("name", TESTS)
def test_the_sdks_own_tests_pass(name: str, built: Path, person: Person) -> None:
    """M1 to M5, M10 to M12, M14 to M18, M21, M23, M40, M41, M43, M45, over each of its transports."""
    if name == "library.test.mjs":
        fill(person)
    output = run_program(["node", "--test", "--test-reporter=tap", f"test/{name}"], built, servers(person))
    tallies = {noun: int(number) for noun, number in re.findall(r"^# (\w+) (\d+)$", output, re.MULTILINE)}
    assert tallies["pass"] == tallies["tests"] > 0, output


def test_the_package_has_only_compiled_files_readme_and_licence(tarball: Path, built: Path) -> None:
    modules = [path.stem for path in SDK.glob("src/*.ts")]
    expected = {f"dist/{name}.{kind}" for name in modules for kind in ("js", "d.ts")}
    expected |= {"package.json", "README.md", "LICENSE"}
    listed = json.loads(run_program(["npm", "pack", "--dry-run", "--json", "--ignore-scripts", *NPM], built))
    assert {file["path"] for file in listed[0]["files"]} == expected
    assert set(run_program(["tar", "-tzf", str(tarball)], built).split()) == {f"package/{path}" for path in expected}


def test_a_program_compiles_against_the_package_and_runs(
    tarball: Path, modules: Path, person: Person, tmp_path: Path
) -> None:
    """With TypeScript's strict rules, and Node's module resolution."""
    consumer = tmp_path / "consumer"
    shutil.copytree(SDK / "test" / "consumer", consumer)
    (consumer / "readme.ts").write_text(examples(), "utf-8")
    run_program(["npm", "install", "--offline", "--no-save", *NPM, str(tarball)], consumer)
    run_program([str(modules / ".bin" / "tsc"), "--typeRoots", str(modules / "@types")], consumer)
    printed = json.loads(run_program(["node", "out/main.js"], consumer, servers(person)))
    assert printed == {
        "text": "hello", "roles": ["user", "assistant"], "hasTokens": True, "maybe": None, "told": "streamed",
        "sameDocument": True, "titles": ["a"], "hasCount": True, "unknown": "INVALID_PARAMS", "isTyped": True, "generation": 0,
    }  # fmt: skip


def test_the_examples_of_the_library_run(tarball: Path, modules: Path, person: Person, tmp_path: Path) -> None:
    """With an archive of six sessions."""
    fill(person)
    consumer = tmp_path / "consumer"
    shutil.copytree(SDK / "test" / "consumer", consumer)
    blocks = [block for block in all_examples() if "client.library." in block]
    assert len(blocks) >= 10
    imports = {line for block in blocks for line in block.splitlines() if line.startswith("import ")}
    bodies = [re.sub(r"^import .*\n", "", block, flags=re.MULTILINE) for block in blocks]
    with running_server(person) as (server, _):
        where = json.dumps({"url": server.url, "token": server.token})
        lines = [
            'import { Client } from "recollect-client";',
            *sorted(imports),
            f"await using client = await Client.http({where});",
            "const overHttp = client;",
            *(f"{{\n{body}}}" for body in bodies),
            'console.log("all examples ran");',
        ]
        (consumer / "main.ts").write_text("\n".join(lines), "utf-8")
        run_program(["npm", "install", "--offline", "--no-save", *NPM, str(tarball)], consumer)
        run_program([str(modules / ".bin" / "tsc"), "--typeRoots", str(modules / "@types")], consumer)
        printed = run_program(["node", "out/main.js"], consumer, servers(person))
    assert printed.endswith("all examples ran\n")
    assert "html" in (consumer / "session.html").read_text("utf-8")


def examples() -> str:
    """All examples of the README, as one program."""
    blocks = all_examples()
    assert len(blocks) >= 7
    return "\n".join(blocks)


def all_examples() -> list[str]:
    return re.findall(r"```ts\n(.*?)```", (SDK / "README.md").read_text("utf-8"), re.DOTALL)
