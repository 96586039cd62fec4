"""Write certificates for Rocq: `export_certificates.py _build/certificates Exported.v`.

In the words of `proofs/Certificates.v`, whose `check` the kernel computes; where all pairs have one
bound, a power of e^epsilon, and some are sharp, the loss is exactly that.
"""

import json
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
    plain = {key: json.dumps(one[key]).replace(",", ";") for key in ("bounds", "laws")}
    pairs = [f"({x}, {y}, {b}, {['false', 'true'][sharp]})" for x, y, b, sharp in one["pairs"]]
    plain |= {"pairs": "; ".join(pairs), "order": "; ".join(f"({i}, {j})" for i, j in one["order"])}
    power, times = one["power"], (len(one["bounds"][0]) - 1) // one["power"]
    exactly = one["bounds"] == [[0] * times * power + [1]] and any(row[3] for row in one["pairs"])
    text = CHECKED + EXACTLY if exactly else CHECKED
    return text.format(**one | plain, name=one["claim"].replace("-", "_"), times=times)


def main(folder, out):
    texts = (path.read_text(encoding="utf-8") for path in sorted(Path(folder).glob("*.json")))
    laws = [exported(one) for one in map(json.loads, texts) if one["kind"] == "laws"]
    Path(out).write_text(HEAD + "".join(laws), encoding="utf-8")
    print(f"{len(laws)} certificates written for Rocq")


if __name__ == "__main__":
    main(*sys.argv[1:])
