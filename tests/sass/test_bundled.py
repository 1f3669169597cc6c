"""Every bundled kernel, as the experiments launch it: each line round-trips, and the analysis holds together."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof import experiment as experiments
from gpuprof.errors import BuildError
from gpuprof.experiment import bundled
from gpuprof.profile.code_facts import facts_of, sass_facts
from gpuprof.sass.analysis import analyse
from gpuprof.sass.parse import parse_disassembly
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.disasm import disassemble_text
from gpuprof.toolchain.model import Build, BuildRequest
from tests.sass.render import render
from tests.sass.sass_tools import tool


def requests() -> dict[str, BuildRequest]:
    """One request for each kernel function that a bundled experiment launches."""
    found: dict[str, BuildRequest] = {}
    folder = bundled.bundled_folder("configs")
    for config in sorted(folder.glob("*.yaml")):
        experiment = experiments.load(config)
        for variant in experiment.variants:
            step = variant.main_step
            if step is not None:
                name = f"{step.source.stem}:{step.kernel.split('<')[0]}"
                arch = experiment.arch or "sm_89"
                request = BuildRequest(step.source, step.kernel, arch, step.defines, variant.flags, variant.include)
                found.setdefault(name, request)
    return found


@pytest.fixture(scope="module")
def builds() -> dict[str, Build]:
    tool("nvcc")
    wanted = requests()
    outcomes = Builder(find_tools()).build_all(list(wanted.values()))
    failed = [outcome for outcome in outcomes if isinstance(outcome, BuildError)]
    assert not failed
    return {name: outcome for name, outcome in zip(wanted, outcomes, strict=True) if isinstance(outcome, Build)}


@pytest.mark.slow
def test_every_line_of_every_bundled_kernel(builds: dict[str, Build]) -> None:
    tools = find_tools()
    assert len(builds) >= 20
    for name, build in builds.items():
        code = parse_disassembly(disassemble_text(tools, Path(build.cubin)))
        for function in code.functions.values():
            assert all(one.understood for one in function.instructions), name
            assert [render(one) for one in function.instructions] == [
                one.text.rstrip() for one in function.instructions
            ], name
        facts = analyse(code.functions[build.symbol], code.arch)
        assert sum(facts.mix.values()) == facts.instructions
        assert sum(facts.kinds.values()) == facts.instructions
        assert facts_of(facts) == sass_facts(code.functions[build.symbol], code.arch, None)
        inside = sum(loop.instructions for loop in facts.loops)
        assert inside <= facts.instructions, name


@pytest.mark.slow
def test_the_facts_of_a_run_are_those_of_the_command(builds: dict[str, Build]) -> None:
    build = builds["micro_gemm_4x4:micro_gemm_4x4"]
    code = parse_disassembly(disassemble_text(find_tools(), Path(build.cubin)))
    facts = sass_facts(code.functions[build.symbol], code.arch, None)
    assert facts.mix["FFMA"] >= 128
    assert facts.ffma_share_hot_loop is not None
    assert 0.5 < facts.ffma_share_hot_loop < 1.0
    assert facts.shared_loads_per_ffma == 16 / 128
    assert facts.loops[0]["math_count"] == 128
    assert facts.ffma_longest_run >= 16
