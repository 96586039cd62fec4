(* How `make proofs` asks what a theorem says.  Names are printed with their files. *)
Require Import Reals Lra Lia ZArith List.
Import ListNotations.
Open Scope R_scope.
Set Printing Width 76.

(* Whether P is f at some arguments, without a condition before it. *)
Ltac says f P :=
  tryif constr_eq f P then idtac else lazymatch P with
  | ?g _ => says f g
  | _ => fail "the theorem does not say" f
  end.

(* Whether T, offered as a proof of P, is refused. *)
Ltac refuses T P :=
  tryif (let x := constr:(T : P) in idtac) then fail 99 T "is a proof of" P else idtac.

(* Whether H refutes f somewhere, and T is no proof of it there.  If H is for all of something, it
   is used at a number that meets its conditions: else it might speak of nothing. *)
Ltac falsified T f H :=
  let Q := type of H in
  lazymatch Q with
  | ~ ?P => says f P; refuses T P
  | forall _ : R, _ => first [at_ T f H 0 | at_ T f H 1 | at_ T f H (1 / 2) | at_ T f H 2]
  | forall _ : nat, _ =>
      first [at_ T f H 0%nat | at_ T f H 1%nat | at_ T f H 2%nat | at_ T f H 3%nat]
  | ?A -> _ =>
      let a := constr:(ltac:(first [assumption | lra | lia | auto]) : A) in
      let K := constr:(H a) in falsified T f K
  | _ => fail "the control is no refutation:" Q
  end
with at_ T f H x := let K := constr:(H x) in falsified T f K.
