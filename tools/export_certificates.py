"""Write certificates for Rocq: `export_certificates.py _build/certificates Exported.v`.

In the words of `proofs/Certificates.v`, whose `check` the kernel computes; where all pairs have one
bound, a power of e^epsilon, and some are sharp, the loss is exactly that.
"""

import json
import re
import sys
from pathlib import Path

HEAD = """From Ranking Require Import Privacy Certificates.
Require Import Reals List ZArith.
Import ListNotations.
Open Scope R_scope.
"""
CHECKED = """
(* {claim}: {mechanism}; {relation}; {size} *)
Definition {name} : certificate := {{| power := {power};
  bounds := {bounds}%Z; order := [{order}]%nat;
  laws := {laws}%Z;
  pairs := [{pairs}]%nat |}}.
Theorem {name}_checked : check {name} = true.
Proof. vm_cast_no_check (eq_refl true). Qed.
"""
EXACTLY = """Theorem {name}_exactly : forall epsilon, 0 < epsilon -> forall e,
  private (listed {name}) e (chance {name} epsilon) <-> INR {times} * epsilon <= e.
Proof. exact (exactly {name} {times} {name}_checked ltac:(vm_cast_no_check (eq_refl true))). Qed.
"""


def exported(one):
    """A definition, and what is proved of it."""
    told = [one["claim"], one["mechanism"], one["relation"], *one["size"]]
    if not all(re.fullmatch(r"[\w, -]+", text) for text in told):
        raise ValueError(f"{told} are not all names")
    name, power, bounds = one["claim"].replace("-", "_"), one["power"], one["bounds"]
    pairs = "; ".join(
        f"({x}, {y}, {b}, {('false', 'true')[sharp]})" for x, y, b, sharp in one["pairs"]
    )
    fields = one | {key: json.dumps(one[key]).replace(",", ";") for key in ("bounds", "laws")}
    fields["size"] = ", ".join(f"{key} = {value}" for key, value in one["size"].items())
    fields["order"] = "; ".join(f"({low}, {high})" for low, high in one["order"])
    text = CHECKED.format(**fields | {"name": name, "pairs": pairs})
    times = len(bounds[0]) // power
    if bounds == [[0] * (times * power) + [1]] and any(sharp for *_, sharp in one["pairs"]):
        text += EXACTLY.format(name=name, times=times)
    return text


def main(folder, out):
    every = [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(folder).glob("*.json"))
    ]
    laws = [one for one in every if one["kind"] == "laws"]
    Path(out).write_text(HEAD + "".join(map(exported, laws)), encoding="utf-8")
    print(f"{len(laws)} certificates written for Rocq")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
