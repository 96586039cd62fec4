import dataclasses, sys
from benchmarks import run, harness, fit
for name, module in run.MODULES.items():
    for number, task in enumerate(module.TASKS):
        if any(w in task.name for w in ("n = 7", "n = 5, k", "1e7 lines", "Table 3: LDP-KwikSort:Lap", "Table 3: DP", "Table 3: Kwik")) or (task.peer == "arena-rank"): continue
        small = dataclasses.replace(task, rounds=1, repeats=tuple(min(r, 3) for r in task.repeats))
        print(harness.line(harness.measure(small, name, number)), flush=True)
