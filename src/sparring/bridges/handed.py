"""Opponents as a loop outside holds them: made from weights once, and known again when their results are told."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from sparring.bridges.weights import Weights, entries, handed_out, is_tensor, unwrapped
from sparring.core.errors import ConfigError
from sparring.league.blocks import Draw
from sparring.league.player import Player


class Handed:
    def __init__(self, policy_class: Callable[[], Any] | None, device: Any, leavers: int) -> None:
        """`leavers`: how many of those that have left the pool are known still; their games may go on for a while."""
        self._policy_class, self._device, self._leavers = policy_class, device, leavers
        self._made: dict[Player, Any] = {}
        self._drawn: dict[int, tuple[Any, Draw]] = {}

    def opponent(self, player: Player, weights: Weights, current: Any) -> Any:
        """The one policy of a player. Without a class to make it, it is of the kind of the current one."""
        if player not in self._made:
            self._made[player] = self._make(weights, current)
        return self._made[player]

    def remember(self, opponent: Any, draw: Draw) -> None:
        """How it was drawn last."""
        self._drawn.pop(id(opponent), None)
        self._drawn[id(opponent)] = opponent, draw
        here = {id(made) for made in self._made.values()}
        gone = [key for key, (_, known) in self._drawn.items() if known.player.kind != "bot" and key not in here]
        for key in gone[: max(0, len(gone) - self._leavers)]:
            del self._drawn[key]

    def draw_of(self, opponent: Any) -> Draw | None:
        """How an opponent, or the player of this name, was drawn last; None: it never was."""
        if isinstance(opponent, str):
            return next((draw for _, draw in reversed(self._drawn.values()) if draw.player.name == opponent), None)
        return self._drawn[id(opponent)][1] if id(opponent) in self._drawn else None

    def moved(self, player: Player, weights: Weights) -> None:
        """Who holds this player holds it with its new weights."""
        if player in self._made:
            self._fill(self._made[player], weights)

    def left(self, player: Player) -> None:
        self._made.pop(player, None)

    def _make(self, weights: Weights, current: Any) -> Any:
        if self._policy_class is not None:
            made = self._policy_class()
        elif callable(getattr(current, "load_state_dict", None)):
            made = deepcopy(unwrapped(current))
        else:
            tensors = current is not None and any(map(is_tensor, entries(current).values()))
            return handed_out(weights, tensors=tensors, device=self._place(current))
        place = self._place(current)
        made = made if place is None else made.to(place)
        try:
            self._fill(made, weights)
        except RuntimeError as error:
            raise ConfigError(
                f"policy_class must make the network of the policies that are passed, found another: {error} "
                "Pass a function without arguments that makes the same."
            ) from error
        return made.eval().requires_grad_(False)

    def _place(self, current: Any) -> Any:
        """The device for opponents: the one that was named, or that of the policy."""
        if self._device is not None or current is None:
            return self._device
        return next((value.device for value in entries(current).values() if is_tensor(value)), None)

    def _fill(self, made: Any, weights: Weights) -> None:
        if callable(getattr(made, "load_state_dict", None)):
            made.load_state_dict(handed_out(weights, tensors=True))
        else:
            known = next((value for value in made.values() if is_tensor(value)), None)
            made.update(handed_out(weights, tensors=known is not None, device=getattr(known, "device", None)))
