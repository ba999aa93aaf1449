"""Trackers only listen: a run is the same with and without them."""

import csv
import json


def test_a_tracked_run_is_bit_for_bit_the_same_and_its_table_holds_every_line(sparring, trained, train_words, tmp_path):
    said = sparring(*train_words, "--track", "csv", "tensorboard")
    assert said.code == 0
    run = tmp_path / "runs" / "new"
    assert (run / "metrics.jsonl").read_bytes() == (trained / "metrics.jsonl").read_bytes()
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for kind in ("train", "eval"):
        own = [line for line in lines if line["kind"] == kind]
        with (run / "tracking" / f"{kind}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert own and [row["steps"] for row in rows] == [str(line["steps"]) for line in own]
        assert rows[0] == {key: "" if own[0].get(key) is None else str(own[0][key]) for key in rows[0]}
    assert list((run / "tracking" / "tensorboard" / "seed_0").iterdir())
