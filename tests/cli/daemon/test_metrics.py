"""`trimpoint daemon metrics`, and a Prometheus that scrapes the daemon, as people use them."""

import re
import urllib.request

import anyio.to_thread
import pytest

from tests.cli.stage import CliHarness
from tests.deadlines import STEP_S

pytestmark = pytest.mark.codex


async def test_metrics_prints_for_people_as_json_and_for_prometheus(
    stage: CliHarness,
) -> None:
    async with stage.serving():
        await stage.run("probe", "--prompt", "hello")
        await stage.run("clear")
        people, script, prometheus = [
            await stage.run("metrics", *flags) for flags in ([], ["--json"], ["--prometheus"])
        ]
    assert re.search(
        r"^ +1  Operations ended\.  kind clear, outcome ready$", people.out, re.MULTILINE
    )
    assert re.search(
        r"^ +\d\.\d{3}  Duration of .*: seconds, the average of 1\.  kind clear, phase starting$",
        people.out,
        re.MULTILINE,
    )
    assert any(
        family["name"] == "trimpoint_operations_total" for family in script.json()["families"]
    )
    assert 'trimpoint_operations_total{kind="clear",outcome="ready"} 1.0\n' in prometheus.out


async def test_a_prometheus_on_this_machine_can_be_let_in(stage: CliHarness) -> None:
    config = stage.folder / "config.toml"
    config.write_text('[metrics]\nlisten = "127.0.0.1:0"\n')
    async with stage.serving("--config", str(config)) as serve:
        await serve.said("metrics_served", "err")
        [address] = re.findall(r"127\.0\.0\.1:\d+", serve.err)
        text = await anyio.to_thread.run_sync(_fetched, f"http://{address}/metrics")
    assert "\ntrimpoint_clients 0.0\n" in text


def _fetched(url: str) -> str:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(url, timeout=STEP_S) as answer:
        return str(answer.read().decode())
