(* The hypercube mechanism of Duchi, Jordan and Wainwright (2014, 2018) for vectors of signs, with
   which Theorem 8 of Alabi, Ghazi, Kumar and Manurangsi (2022) asks people about all pairs.

   Proved, in every dimension: with ties split between both halves the mechanism is a law and
   epsilon-private, with another share of the ties not for all epsilon; with closed halves, where
   a tie counts in both, it loses log(1 + e^epsilon) exactly in every even dimension (noted by
   Nguyen et al. 2016).

   Not in it: the error, polynomial time, how random numbers are drawn. *)
Require Import Reals Lra Lia List Bool.
From Ranking Require Import Privacy.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ the mechanism *)

(* A corner is a list of d signs. How much of one lies in the half around another one, from which
   it differs in k signs: all of it, if they agree in most signs; the share [tie], if they agree
   in exactly half of them. *)
Definition share (tie : R) (d k : nat) : R :=
  match Nat.compare (2 * k) d with Lt => 1 | Eq => tie | Gt => 0 end.
Definition half (tie : R) (v r : list bool) : R :=
  if Nat.eqb (length r) (length v) then share tie (length v) (differences v r) else 0.
Definition half_size (tie : R) (d : nat) : R := sum (half tie (repeat true d)) (all_answers d).

(* A uniform corner of the half around v with chance e^epsilon / (1 + e^epsilon), else of the
   half around the opposite corner. *)
Definition hypercube (tie epsilon : R) (v r : list bool) : R :=
  exp epsilon / (1 + exp epsilon) * (half tie v r / half_size tie (length v))
  + 1 / (1 + exp epsilon) * (half tie (map negb v) r / half_size tie (length v)).

Lemma all_answers_length : forall d r, In r (all_answers d) -> length r = d.
Proof.
  induction d as [|d IH]; simpl; intros r H; [destruct H as [<-|[]]; reflexivity|].
  apply in_flat_map in H. destruct H as [s [S [<-|[<-|[]]]]]; simpl; rewrite (IH s S); reflexivity.
Qed.

(* All corners are alike. *)
Lemma corners_alike : forall v F, sum (fun r => F (differences v r)) (all_answers (length v))
  = sum (fun r => F (differences (repeat true (length v)) r)) (all_answers (length v)).
Proof.
  induction v as [|a v IH]; intros F; [reflexivity|]. simpl. rewrite !sum_flat_map.
  rewrite (sum_ext _ (fun r => F (differences v r) + F (S (differences v r))))
    by (intros r; destruct a; simpl; lra). rewrite (sum_ext (fun r => sum _ _)
    (fun r => F (differences (repeat true (length v)) r)
    + F (S (differences (repeat true (length v)) r)))) by (intros r; simpl; lra).
  rewrite !sum_plus, IH, (IH (fun k => F (S k))). reflexivity.
Qed.

Lemma half_sum : forall tie v d, length v = d -> sum (half tie v) (all_answers d) = half_size tie d.
Proof.
  assert (forall tie v, sum (half tie v) (all_answers (length v))
    = sum (fun r => share tie (length v) (differences v r)) (all_answers (length v))) as E.
  { intros. apply sum_ext_in. intros r H. apply all_answers_length in H. unfold half.
    rewrite H, Nat.eqb_refl. reflexivity. }
  intros tie v d <-. unfold half_size. rewrite E, corners_alike. symmetry.
  pose proof (E tie (repeat true (length v))) as T. rewrite repeat_length in T. exact T.
Qed.

Lemma differences_negb : forall v r, length r = length v ->
  (differences (map negb v) r + differences v r = length v)%nat.
Proof.
  induction v as [|a v IH]; intros [|b r] L; simpl in *; try discriminate; [reflexivity|].
  specialize (IH r ltac:(lia)). destruct a, b; simpl; lia.
Qed.

Lemma half_nonneg : forall tie v r, 0 <= tie -> 0 <= half tie v r.
Proof.
  intros. unfold half, share. destruct (Nat.eqb _ _); [|lra]. destruct (Nat.compare _ _); lra.
Qed.

Lemma differences_repeat : forall a b k u v, (differences (repeat a k ++ u) (repeat b k ++ v)
  = (if eqb a b then 0 else k) + differences u v)%nat.
Proof. intros a b k u v. induction k; destruct a, b; simpl in *; lia. Qed.

Lemma half_size_positive : forall tie d, 0 < tie -> 0 < half_size tie d.
Proof.
  intros tie d T. apply Rlt_le_trans with (half tie (repeat true d) (repeat true d)).
  - unfold half, share. rewrite Nat.eqb_refl, repeat_length.
    destruct (Nat.compare_spec (2 * differences (repeat true d) (repeat true d)) d); [lra..|].
    pose proof (differences_repeat true true d [] []) as D. rewrite !app_nil_r in D. simpl in D.
    lia.
  - apply (sum_term (half tie (repeat true d))); [intros; apply half_nonneg; lra|].
    induction d as [|d IH]; simpl; [auto|]. apply in_flat_map. exists (repeat true d). simpl. auto.
Qed.

Lemma hypercube_law : forall tie epsilon v, 0 < tie ->
  finite_law (all_answers (length v)) (hypercube tie epsilon v).
Proof.
  intros tie epsilon v T. pose proof (exp_pos epsilon) as E.
  pose proof (half_size_positive tie (length v) T) as Z.
  assert (forall u r, 0 <= half tie u r / half_size tie (length v)) as P.
  { intros. apply Rmult_le_pos; [apply half_nonneg; lra|left; apply Rinv_0_lt_compat, Z]. } split.
  - intros r. unfold hypercube. apply Rplus_le_le_0_compat; apply Rmult_le_pos; try apply P;
      (apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
  - unfold hypercube, Rdiv. rewrite sum_plus. rewrite (sum_ext _
      (fun r => exp epsilon * / (1 + exp epsilon) * / half_size tie (length v) * half tie v r)),
      (sum_ext (fun r => 1 * / (1 + exp epsilon) * _) (fun r => 1 * / (1 + exp epsilon)
      * / half_size tie (length v) * half tie (map negb v) r)) by (intros; ring).
    rewrite !sum_scale, !half_sum by (rewrite ?map_length; reflexivity). field. lra.
Qed.

(* The weight of a corner, up to what all have in common. *)
Definition weight (tie epsilon : R) (d k : nat) : R := match Nat.compare (2 * k) d with
  Lt => exp epsilon | Eq => tie * (exp epsilon + 1) | Gt => 1 end.

Lemma hypercube_weight : forall tie epsilon v r, length r = length v -> hypercube tie epsilon v r
  = / ((1 + exp epsilon) * half_size tie (length v)) * weight tie epsilon (length v)
    (differences v r).
Proof.
  intros tie epsilon v r L. unfold hypercube, half, share, weight.
  rewrite map_length, L, Nat.eqb_refl. pose proof (differences_negb v r L) as N. rewrite Rinv_mult.
  destruct (Nat.compare_spec (2 * differences v r) (length v)),
    (Nat.compare_spec (2 * differences (map negb v) r) (length v)); try lia; unfold Rdiv; ring.
Qed.

Definition corners (d : nat) (v w : list bool) : Prop := length v = d /\ length w = d.

Lemma hypercube_outside : forall tie epsilon v r, length r <> length v ->
  hypercube tie epsilon v r = 0.
Proof.
  intros tie epsilon v r H. unfold hypercube, half. rewrite map_length.
  destruct (Nat.eqb_spec (length r) (length v)); [contradiction|]. unfold Rdiv. ring.
Qed.

(* The weights are between 1 and e^loss. *)
Lemma hypercube_loss : forall tie epsilon loss d, 0 < tie -> 0 <= epsilon <= loss ->
  1 <= tie * (exp epsilon + 1) <= exp loss -> private (corners d) loss (hypercube tie epsilon).
Proof.
  intros tie epsilon loss d T [pos more] between v w r [V W].
  destruct (Nat.eq_dec (length r) d) as [L|L]; [|rewrite !hypercube_outside by lia; lra].
  rewrite !hypercube_weight, V, W by lia. pose proof (half_size_positive tie d T) as Z.
  pose proof (exp_at_least_1 epsilon pos) as E. pose proof (exp_le _ _ more) as F.
  set (c := / ((1 + exp epsilon) * half_size tie d)).
  assert (0 < c) by (apply Rinv_0_lt_compat, Rmult_lt_0_compat; lra).
  rewrite <- Rmult_assoc, (Rmult_comm _ c), Rmult_assoc. apply Rmult_le_compat_l; [lra|].
  apply Rle_trans with (exp loss * 1); [unfold weight; destruct (Nat.compare _ d); lra|].
  apply Rmult_le_compat_l; [lra|]. unfold weight. destruct (Nat.compare _ d); lra.
Qed.

(* CLAIM AGKM-T8C9, the privacy.  In every dimension d the mechanism is a law on the 2^d corners
   and epsilon-private for any two corners, if ties count for 1/2 in each half.  With any other
   positive share of the ties it is not so, for some epsilon > 0, in dimension 2.  With closed
   halves, where ties count for 1, it loses log(1 + e^epsilon) exactly in every even dimension. *)
Definition theorem_eight_says (tie : R) : Prop :=
  (forall epsilon, 0 <= epsilon ->
    (forall d, (forall v, length v = d -> finite_law (all_answers d) (hypercube tie epsilon v)) /\
      private (corners d) epsilon (hypercube tie epsilon)) /\
    (forall k loss, (1 <= k)%nat -> (private (corners (2 * k)) loss (hypercube 1 epsilon)
      <-> ln (1 + exp epsilon) <= loss))) /\
  (forall other, 0 < other -> other <> tie -> exists epsilon, 0 < epsilon /\
    ~ private (corners 2) epsilon (hypercube other epsilon)).

(* Where e^epsilon is 1 / (2 share), or 2 share, a tie weighs too little against agreement, or too
   much against its opposite. *)
Lemma other_share : forall tie, 0 < tie -> tie <> 1 / 2 -> exists epsilon, 0 < epsilon /\
  ~ private (corners 2) epsilon (hypercube tie epsilon).
Proof.
  intros tie T D. set (E := if Rlt_dec tie (1 / 2) then / (2 * tie) else 2 * tie).
  assert (1 < E /\ (tie * (E + 1) < 1 \/ E < tie * (E + 1))) as [more off].
  { unfold E. destruct (Rlt_dec tie (1 / 2)) as [less|].
    - split; [rewrite <- Rinv_1; apply Rinv_lt_contravar; lra|]. left.
      replace (tie * (/ (2 * tie) + 1)) with (1 / 2 + tie) by (field; lra). lra.
    - split; [lra|]. right. nra. }
  exists (ln E). split; [rewrite <- ln_1; apply ln_increasing; lra|]. intros safe.
  pose proof (safe [true; true] [true; false] [true; true] ltac:(split; reflexivity)) as A.
  pose proof (safe [true; false] [true; true] [false; false] ltac:(split; reflexivity)) as B.
  rewrite !hypercube_weight in A, B by reflexivity. unfold weight in A, B. simpl in A, B.
  rewrite exp_ln in A, B by lra. pose proof (half_size_positive tie 2 T) as Z.
  set (c := / ((1 + E) * half_size tie 2)) in *.
  assert (0 < c) by (apply Rinv_0_lt_compat, Rmult_lt_0_compat; lra).
  assert (0 < E * c) by nra. destruct off; nra.
Qed.

Theorem theorem_eight : theorem_eight_says (1 / 2).
Proof.
  split; [|exact other_share].
  intros epsilon pos. pose proof (exp_at_least_1 epsilon pos) as E. split.
  - intros d. split; [intros v <-; apply hypercube_law; lra|]. apply hypercube_loss; lra.
  - intros k loss K. split; intros H.
    +
      (* a report that agrees with one corner in half of its signs, with the other in none *)
      set (v := repeat true k ++ repeat true k ++ []).
      set (w := repeat false k ++ repeat true k ++ []).
      set (r := repeat true k ++ repeat false k ++ []). assert (length v = 2 * k /\ length w = 2
        * k /\ length r = 2 * k)%nat as [V [W L]] by (unfold v, w, r; rewrite !app_length,
        !repeat_length; simpl; lia). specialize (H v w r (conj V W)).
      rewrite !hypercube_weight, V, W in H by lia. unfold weight in H.
      pose proof (half_size_positive 1 (2 * k) ltac:(lra)) as Z.
      set (c := / ((1 + exp epsilon) * half_size 1 (2 * k))) in *.
      assert (0 < c) by (apply Rinv_0_lt_compat, Rmult_lt_0_compat; lra).
      assert (differences v r = k /\ differences w r = 2 * k)%nat as [A B]
        by (unfold v, w, r; rewrite !differences_repeat; simpl; lia). rewrite A, B in H.
      destruct (Nat.compare_spec (2 * k) (2 * k)); try lia.
      destruct (Nat.compare_spec (2 * (2 * k)) (2 * k)); try lia.
      assert (1 + exp epsilon <= exp loss) as M.
      { apply Rmult_le_reg_l with c; [assumption|]. lra. } rewrite <- (ln_exp loss).
      destruct M as [M| ->]; [|lra]. left. apply ln_increasing; lra.
    + apply exp_le in H. rewrite exp_ln in H by lra. apply hypercube_loss; try lra.
      split; [assumption|]. destruct (Rle_or_lt epsilon loss) as [|C]; [assumption|].
      apply exp_increasing in C. lra.
Qed.

Theorem theorem_eight_control : forall tie, 0 < tie -> tie <> 1 / 2 ->
  ~ theorem_eight_says tie.
Proof.
  intros tie T D [_ fails]. destruct (fails (1 / 2) ltac:(lra) ltac:(lra)) as [e [pos not]].
  apply not, (proj1 theorem_eight e ltac:(lra)).
Qed.
