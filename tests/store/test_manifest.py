import importlib.metadata
import json
import os
import platform
import subprocess
import sys

import pytest

from sparring.store.manifest import manifest_facts


def git(*arguments: str) -> str:
    name = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    return subprocess.run(["git", *name, *arguments], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):  # set where a hook of git runs the tests
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_the_commit_and_whether_there_are_changes_are_recorded(folder):
    assert (manifest_facts()["commit"], manifest_facts()["uncommitted_changes"]) == (None, None)
    git("init", "-q")
    assert manifest_facts()["commit"] is None  # a repository without a commit
    (folder / "code.py").write_text("a = 1\n")
    git("add", "code.py")
    git("commit", "-q", "-m", "first")
    (folder / "runs").mkdir()
    (folder / "runs" / "untracked.txt").write_text("a run does not make the code another")
    facts = manifest_facts()
    assert facts["commit"] == git("rev-parse", "HEAD")
    assert facts["uncommitted_changes"] is False
    (folder / "code.py").write_text("a = 2\n")
    assert manifest_facts()["uncommitted_changes"] is True


def test_without_git_the_commit_is_unknown(folder, monkeypatch):
    monkeypatch.setenv("PATH", str(folder))
    assert manifest_facts()["commit"] is None


def test_versions_and_cores_are_recorded_and_the_host_is_not():
    facts = manifest_facts()
    assert facts["python"] == ".".join(map(str, sys.version_info[:3]))
    assert facts["packages"]["numpy"] == importlib.metadata.version("numpy")
    assert set(facts["packages"]) == {"sparring", "jax", "jaxlib", "equinox", "optax", "numpy"}
    assert 1 <= facts["cpus_allowed"] <= facts["cpus"] == os.cpu_count()
    assert platform.node() not in json.dumps(facts).split('"')


def test_the_rooms_of_data_never_load_jax():
    modules = ["core.settings", "core.schedules", "core.seeding", "core.spec", "core.records", "statistics.intervals"]
    modules += ["store.run_dir", "store.checkpoints", "store.results", "store.manifest"]
    code = "import sys\n" + "".join(f"import sparring.{module}\n" for module in modules)
    code += "import sparring.store.manifest as manifest; manifest.manifest_facts()\n"
    code += "print(sorted({name.split('.')[0] for name in sys.modules} & {'jax', 'jaxlib', 'equinox', 'optax'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
