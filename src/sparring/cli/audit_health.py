"""sparring audit health RUN: is a run healthy: its policy, its critic, its league?"""

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from sparring.cli.audit import finish
from sparring.cli.flags import RunFolder, parse
from sparring.cli.machine import MachineConfig, prepare
from sparring.cli.own_code import CodeConfig, admit

EXAMPLES = ("sparring audit health runs/first",)


@dataclass(frozen=True, kw_only=True)
class AuditHealth:
    """Look for symptoms in what a run left: collapsed entropy, a useless critic, a stale pool, cycles, forgetting."""

    run: RunFolder
    """Folder of a run."""
    expect: Annotated[str, tyro.conf.arg(metavar="VERDICT", help_behavior_hint="")] = ""
    """The verdict that is the good one; else HEALTHY is."""
    out: Annotated[Path | None, tyro.conf.arg(help_behavior_hint="(default: RUN/audits)")] = None
    """Folder for the JSON and the page."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    own: CodeConfig = field(default_factory=CodeConfig)
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> int:
    arguments = parse(AuditHealth, words, command="audit health", examples=EXAMPLES)
    prepare(arguments.machine)
    admit(arguments.own, arguments.run)
    from sparring.audit.health.judge import audit_health

    audit = audit_health(arguments.run, shlex.join(["sparring", "audit", "health", *words]))
    folder = arguments.out or arguments.run / "audits"
    return finish(audit, folder, as_json=arguments.json, expected=arguments.expect)
