(* The hypercube mechanism of Duchi, Jordan and Wainwright (2014, 2018) for vectors of signs,
   and with it Theorem 8 of Alabi, Ghazi, Kumar and Manurangsi (2022).

   Proved, in every dimension d: with ties split between both halves the mechanism is a law and
   epsilon-private, with another share of the ties it is not; with closed halves, where a tie
   counts in both, it loses log(1 + e^epsilon) exactly in every even dimension (noted by Nguyen
   et al. 2016).  The report is unbiased after division by t C(2h, h) / 4^h, t = (e^epsilon - 1)
   / (e^epsilon + 1), h = floor(d / 2), and the share of m people is estimated with a mean error
   of at most n / (2 t sqrt m) for each pair of n items.  With Reduction I this is Theorem 8.

   Not in it: polynomial time, the order for an epsilon that grows (t stays below 1), how random
   numbers are drawn. *)
Require Import Reals Lra Lia List Bool.
From Ranking Require Import Privacy AGKM.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ sums over the corners *)

(* A corner is a list of d signs.  The sum of F(differences from one corner) over all of them ... *)
Definition cube_sum (d : nat) (F : nat -> R) : R :=
  sum (fun r => F (differences (repeat true d) r)) (all_answers d).

Lemma cube_sum_S : forall d F, cube_sum (S d) F = cube_sum d F + cube_sum d (fun k => F (S k)).
Proof.
  intros. unfold cube_sum. simpl. rewrite sum_flat_map, <- sum_plus. apply sum_ext.
  intros r. simpl. lra.
Qed.

Lemma cube_sum_ext : forall d F G, (forall k, F k = G k) -> cube_sum d F = cube_sum d G.
Proof. intros d F G H. apply sum_ext. intros. apply H. Qed.

Lemma cube_sum_plus : forall d F G, cube_sum d (fun k => F k + G k) = cube_sum d F + cube_sum d G.
Proof. intros. apply sum_plus. Qed.

Lemma cube_sum_scale : forall d c F, cube_sum d (fun k => c * F k) = c * cube_sum d F.
Proof. intros. apply sum_scale. Qed.

(* ... is the same for every corner, also if the sign at place k is weighed with g. *)
Lemma cube_sum_from : forall v F,
  sum (fun r => F (differences v r)) (all_answers (length v)) = cube_sum (length v) F.
Proof.
  induction v as [|a v IH]; intros F; [reflexivity|]. simpl length. rewrite cube_sum_S, <- !IH.
  simpl. rewrite sum_flat_map, <- sum_plus. apply sum_ext. intros r. destruct a; simpl; lra.
Qed.

Lemma cube_sum_sign : forall k v F (g : bool -> R), (k < length v)%nat ->
  sum (fun r => g (nth k r true) * F (differences v r)) (all_answers (length v))
  = cube_sum (pred (length v)) (fun j =>
    g (nth k v true) * F j + g (negb (nth k v true)) * F (S j)).
Proof.
  induction k as [|k IH]; intros [|a v] F g L; simpl in L; try lia; simpl length; simpl pred.
  - rewrite <- cube_sum_from. simpl. rewrite sum_flat_map. apply sum_ext. intros r.
    destruct a; simpl; lra.
  - simpl. rewrite sum_flat_map. destruct (length v) as [|d] eqn:D; [lia|].
    rewrite cube_sum_S, <- !D. change d with (pred (S d)). rewrite <- !D.
    rewrite <- (IH v F g), <- (IH v (fun j => F (S j)) g), <- sum_plus by lia.
    apply sum_ext. intros r. destruct a; simpl; lra.
Qed.

Lemma cube_sum_1 : forall d c, cube_sum d (fun _ => c) = 2 ^ d * c.
Proof.
  induction d as [|d IH]; intros c; [unfold cube_sum; simpl; lra|].
  rewrite cube_sum_S, !IH. simpl. lra.
Qed.

(* How many corners differ in j signs. *)
Fixpoint binomial (n k : nat) : R :=
  match n, k with
  | _, 0%nat => 1
  | 0%nat, S _ => 0
  | S n', S k' => binomial n' k' + binomial n' k
  end.
Definition at_ (j k : nat) : R := if Nat.eqb k j then 1 else 0.

Lemma cube_sum_at : forall d j, cube_sum d (at_ j) = binomial d j.
Proof.
  induction d as [|d IH]; intros j.
  - unfold cube_sum, at_. destruct j; simpl; lra.
  - rewrite cube_sum_S, IH. destruct j as [|j].
    + rewrite (cube_sum_ext _ _ (fun _ => 0)) by reflexivity. rewrite cube_sum_1.
      destruct d; simpl; lra.
    + rewrite (cube_sum_ext _ _ (at_ j)) by reflexivity. rewrite IH. simpl. lra.
Qed.

Lemma binomial_up : forall n k, INR (S k) * binomial (S n) (S k) = INR (S n) * binomial n k.
Proof.
  induction n as [|n IH]; intros k.
  - destruct k; simpl; lra.
  - assert (binomial (S (S n)) (S k) = binomial (S n) k + binomial (S n) (S k)) as ->
      by reflexivity.
    rewrite Rmult_plus_distr_l, IH. destruct k as [|k].
    + destruct n; rewrite ?S_INR; simpl; lra.
    + pose proof (IH k) as A.
      assert (binomial (S n) (S k) = binomial n k + binomial n (S k)) as E by reflexivity.
      rewrite E in *. rewrite !S_INR in *. lra.
Qed.

Lemma binomial_right : forall n k,
  (INR (S n) - INR k) * binomial (S n) k = INR (S n) * binomial n k.
Proof.
  induction n as [|n IH]; intros [|k].
  - simpl. lra.
  - destruct k; simpl; lra.
  - destruct n; simpl; lra.
  - assert (binomial (S (S n)) (S k) = binomial (S n) k + binomial (S n) (S k)) as ->
      by reflexivity.
    pose proof (IH k) as A. pose proof (IH (S k)) as B.
    assert (binomial (S n) (S k) = binomial n k + binomial n (S k)) as E by reflexivity.
    rewrite E in *. rewrite !S_INR in *. lra.
Qed.

Definition central (h : nat) : R := binomial (2 * h) h / 4 ^ h.

Lemma central_S : forall h, central (S h) = central h * (2 * INR h + 1) / (2 * INR h + 2).
Proof.
  intros h. pose proof (binomial_up (2 * h + 1) h) as A. pose proof (binomial_right (2 * h) h) as B.
  replace (S (2 * h)) with (2 * h + 1)%nat in B by lia.
  replace (S (2 * h + 1)) with (2 * S h)%nat in A by lia.
  replace (INR (2 * S h)) with (2 * (INR h + 1)) in A by (rewrite mult_INR, (S_INR h); simpl; lra).
  replace (INR (2 * h + 1)) with (2 * INR h + 1) in B by (rewrite plus_INR, mult_INR; simpl; lra).
  rewrite (S_INR h) in A. pose proof (pos_INR h). pose proof (pow_lt 4 h ltac:(lra)).
  unfold central. simpl pow.
  assert (binomial (2 * h + 1) h = (2 * INR h + 1) * binomial (2 * h) h / (INR h + 1)) as E
    by (apply Rmult_eq_reg_l with (INR h + 1); [|lra]; field_simplify; lra).
  assert (binomial (2 * S h) (S h) = 2 * binomial (2 * h + 1) h) as ->
    by (apply Rmult_eq_reg_l with (INR h + 1); lra).
  rewrite E. field. lra.
Qed.

(* Its square is at least 1 / (4 h). *)
Lemma central_bound : forall h, 0 < central h /\ 1 <= 4 * INR (S h) * central (S h) ^ 2.
Proof.
  induction h as [|h [P IH]].
  - unfold central. simpl. lra.
  - pose proof (pos_INR h). rewrite central_S in *.
    assert (0 < central h * (2 * INR h + 1) / (2 * INR h + 2)) as Q
      by (apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat|]; lra).
    split; [exact Q|]. rewrite (central_S (S h)), central_S.
    set (c := central h * (2 * INR h + 1) / (2 * INR h + 2)) in *. rewrite !S_INR in *.
    set (x := INR h + 1) in *. assert (1 <= x) by (unfold x; lra).
    replace (4 * (x + 1) * (c * (2 * x + 1) / (2 * x + 2)) ^ 2)
      with (4 * x * c ^ 2 * ((2 * x + 1) * (2 * x + 1) / (4 * x * (x + 1)))) by (field; lra).
    apply Rle_trans with (4 * x * c ^ 2 * 1); [lra|]. apply Rmult_le_compat_l; [lra|].
    apply Rmult_le_reg_r with (4 * x * (x + 1)); [nra|].
    replace ((2 * x + 1) * (2 * x + 1) / (4 * x * (x + 1)) * (4 * x * (x + 1)))
      with ((2 * x + 1) * (2 * x + 1)) by (field; lra). nra.
Qed.

(* ------------------------------------------------------------------ the mechanism *)

(* How much of a corner lies in the half around another one, from which it differs in k of d
   signs: all of it, if they agree in most signs; the share [tie], if they agree in exactly half
   of them. *)
Definition share (tie : R) (d k : nat) : R :=
  match Nat.compare (2 * k) d with Lt => 1 | Eq => tie | Gt => 0 end.
Definition half (tie : R) (v r : list bool) : R :=
  if Nat.eqb (length r) (length v) then share tie (length v) (differences v r) else 0.
Definition half_size (tie : R) (d : nat) : R := cube_sum d (share tie d).

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

Lemma half_sum : forall tie v d, length v = d -> sum (half tie v) (all_answers d) = half_size tie d.
Proof.
  intros tie v d <-. unfold half_size. rewrite <- cube_sum_from. apply sum_ext_in. intros r H.
  apply all_answers_length in H. unfold half. rewrite H, Nat.eqb_refl. reflexivity.
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

Lemma half_size_positive : forall tie d, 0 < tie -> 0 < half_size tie d.
Proof.
  intros tie d T. apply Rlt_le_trans with (share tie d 0); [unfold share; destruct d; simpl; lra|].
  unfold half_size. assert (forall k, 0 <= share tie d k) as P
    by (intros; unfold share; destruct (Nat.compare _ _); lra).
  revert P. generalize (share tie d). clear. induction d as [|d IH]; intros F P.
  - unfold cube_sum. simpl. lra.
  - rewrite cube_sum_S. pose proof (IH F P).
    pose proof (sum_nonneg (fun r => F (S (differences (repeat true d) r))) (all_answers d)
      ltac:(intros; apply P)). unfold cube_sum in *. lra.
Qed.

(* Each corner is shared between the two halves. *)
Lemma half_size_split : forall d, half_size (1 / 2) d = 2 ^ d / 2.
Proof.
  intros d. set (v := repeat true d). assert (length v = d) as L by apply repeat_length.
  pose proof (half_sum (1 / 2) v d L) as A.
  pose proof (half_sum (1 / 2) (map negb v) d ltac:(rewrite map_length; exact L)) as B.
  assert (sum (fun r => half (1 / 2) v r + half (1 / 2) (map negb v) r) (all_answers d)
    = cube_sum d (fun _ => 1)) as E.
  { apply sum_ext_in. intros r H. apply all_answers_length in H.
    pose proof (differences_negb v r ltac:(lia)). unfold half, share. rewrite map_length, L, H,
      Nat.eqb_refl. destruct (Nat.compare_spec (2 * differences v r) d),
      (Nat.compare_spec (2 * differences (map negb v) r) d); try lia; lra. }
  rewrite sum_plus, cube_sum_1 in E. lra.
Qed.

Lemma hypercube_law : forall tie epsilon v, 0 < tie ->
  finite_law (all_answers (length v)) (hypercube tie epsilon v).
Proof.
  intros tie epsilon v T. pose proof (exp_pos epsilon) as E.
  pose proof (half_size_positive tie (length v) T) as Z.
  assert (forall u r, 0 <= half tie u r / half_size tie (length v)) as P.
  { intros. apply Rmult_le_pos; [apply half_nonneg; lra|left; apply Rinv_0_lt_compat, Z]. }
  split.
  - intros r. unfold hypercube. apply Rplus_le_le_0_compat; apply Rmult_le_pos; try apply P;
      (apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
  - unfold hypercube, Rdiv. rewrite sum_plus.
    rewrite (sum_ext _ (fun r => exp epsilon * / (1 + exp epsilon) * / half_size tie (length v)
      * half tie v r)), (sum_ext (fun r => 1 * / (1 + exp epsilon) * _) (fun r =>
      1 * / (1 + exp epsilon) * / half_size tie (length v) * half tie (map negb v) r))
      by (intros; ring).
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
  rewrite map_length, L, Nat.eqb_refl. pose proof (differences_negb v r L) as N.
  rewrite Rinv_mult. destruct (Nat.compare_spec (2 * differences v r) (length v)),
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

(* Two corners that agree in half of their signs. *)
Lemma differences_repeat : forall b k u v, (differences (repeat b k ++ u) (repeat b k ++ v)
  = differences u v /\ differences (repeat b k ++ u) (repeat (negb b) k ++ v)
  = k + differences u v)%nat.
Proof. intros b k u v. induction k as [|k [IH JH]]; destruct b; simpl in *; lia. Qed.

(* In every dimension d the mechanism is a law on the 2^d corners and epsilon-private for any
   two corners, if ties count for 1/2 in each half; for no other share of the ties.  With closed
   halves, where they count for 1, it loses log(1 + e^epsilon) exactly in every even dimension. *)
Definition hypercube_private_says (tie : R) : Prop := forall epsilon, 0 <= epsilon ->
  (forall d, (forall v, length v = d -> finite_law (all_answers d) (hypercube tie epsilon v)) /\
    private (corners d) epsilon (hypercube tie epsilon)) /\
  (forall k loss, (1 <= k)%nat -> (private (corners (2 * k)) loss (hypercube 1 epsilon)
    <-> ln (1 + exp epsilon) <= loss)).

Theorem hypercube_private : hypercube_private_says (1 / 2).
Proof.
  intros epsilon pos. pose proof (exp_at_least_1 epsilon pos) as E. split.
  - intros d. split; [intros v <-; apply hypercube_law; lra|]. apply hypercube_loss; lra.
  - intros k loss K. split; intros H.
    + set (v := repeat true k ++ repeat true k). set (r := repeat true k ++ repeat false k).
      set (w := repeat false k ++ repeat true k).
      assert (length v = 2 * k /\ length w = 2 * k /\ length r = 2 * k)%nat as [V [W L]]
        by (unfold v, w, r; rewrite !app_length, !repeat_length; lia).
      specialize (H v w r (conj V W)). rewrite !hypercube_weight, V, W in H by lia.
      unfold weight in H.
      pose proof (half_size_positive 1 (2 * k) ltac:(lra)) as Z.
      set (c := / ((1 + exp epsilon) * half_size 1 (2 * k))) in *.
      assert (0 < c) by (apply Rinv_0_lt_compat, Rmult_lt_0_compat; lra).
      assert (differences v r = k /\ differences w r = 2 * k)%nat as [A B].
      { destruct (differences_repeat true k (repeat true k ++ []) (repeat false k ++ [])) as [D1 _].
        destruct (differences_repeat true k [] []) as [_ D2].
        destruct (differences_repeat false k (repeat true k ++ []) (repeat false k ++ []))
          as [_ D3]. simpl in D2, D3. rewrite !app_nil_r in *. fold v r in D1. fold w r in D3.
        simpl in D1. lia. }
      rewrite A, B in H. destruct (Nat.compare_spec (2 * k) (2 * k)); try lia.
      destruct (Nat.compare_spec (2 * (2 * k)) (2 * k)); try lia.
      assert (1 + exp epsilon <= exp loss) as M.
      { apply Rmult_le_reg_l with c; [assumption|]. lra. }
      rewrite <- (ln_exp loss). destruct M as [M| ->]; [|lra].
      left. apply ln_increasing; lra.
    + apply exp_le in H. rewrite exp_ln in H by lra. apply hypercube_loss; try lra.
      split; [assumption|]. destruct (Rle_or_lt epsilon loss) as [|C]; [assumption|].
      apply exp_increasing in C. lra.
Qed.

Theorem hypercube_private_control : forall tie, 0 < tie -> tie <> 1 / 2 ->
  ~ hypercube_private_says tie.
Proof.
  intros tie T D says. destruct (says 0 (Rle_refl 0)) as [all _]. destruct (all 2%nat) as [_ safe].
  pose proof (safe [true; true] [true; false] [true; false] ltac:(split; reflexivity)) as A.
  pose proof (safe [true; false] [true; true] [true; false] ltac:(split; reflexivity)) as B.
  rewrite !hypercube_weight in A, B by reflexivity. unfold weight in A, B. simpl in A, B.
  rewrite exp_0 in A, B.
  pose proof (half_size_positive tie 2 T) as Z.
  assert (0 < / ((1 + 1) * half_size tie 2)) by (apply Rinv_0_lt_compat; lra).
  apply D. apply Rmult_eq_reg_l with (/ ((1 + 1) * half_size tie 2)); lra.
Qed.

(* ------------------------------------------------------------------ what a report tells *)

Definition sign (b : bool) : R := if b then 1 else -1.
(* The length of a report's coordinates, which makes it unbiased. *)
Definition stretch (d : nat) (epsilon : R) : R :=
  (exp epsilon + 1) / (exp epsilon - 1) / central (Nat.div2 d).

Lemma sign_square : forall b, sign b * sign b = 1.
Proof. intros [|]; simpl; lra. Qed.

Lemma weight_steps : forall d epsilon, cube_sum (pred (S d)) (fun k =>
    weight (1 / 2) epsilon (S d) k - weight (1 / 2) epsilon (S d) (S k))
  = (exp epsilon - 1) / 2 * 2 ^ S d * central (Nat.div2 (S d)).
Proof.
  intros d epsilon. simpl pred. unfold central.
  destruct (Nat.Even_or_Odd d) as [[h ->]|[h ->]].
  - rewrite (cube_sum_ext _ _ (fun k => (exp epsilon - 1) * at_ h k)).
    + rewrite cube_sum_scale, cube_sum_at, Nat.div2_succ_double.
      replace (2 ^ S (2 * h)) with (2 * 4 ^ h); [field; apply pow_nonzero; lra|].
      replace 4 with (2 ^ 2) by ring. rewrite <- pow_mult. reflexivity.
    + intros k. unfold weight, at_.
      destruct (Nat.compare_spec (2 * k) (S (2 * h))), (Nat.compare_spec (2 * S k) (S (2 * h))),
        (Nat.eqb_spec k h); try lia; lra.
  - replace (2 * h + 1)%nat with (S (2 * h)) by lia.
    rewrite (cube_sum_ext _ _ (fun k => (exp epsilon - 1) / 2 * (at_ h k + at_ (S h) k))).
    + rewrite cube_sum_scale, cube_sum_plus, !cube_sum_at.
      replace (Nat.div2 (S (S (2 * h)))) with (S h)
        by (cbn [Nat.div2]; rewrite Nat.div2_double; reflexivity).
      replace (2 * S h)%nat with (S (S (2 * h))) by lia.
      assert (binomial (S (S (2 * h))) (S h)
        = binomial (S (2 * h)) h + binomial (S (2 * h)) (S h)) as -> by reflexivity.
      replace (2 ^ S (S (2 * h))) with (4 ^ S h).
      * field. apply pow_nonzero. lra.
      * replace 4 with (2 ^ 2) by ring. rewrite <- pow_mult. f_equal. lia.
    + intros k. unfold weight, at_. destruct (Nat.compare_spec (2 * k) (S (S (2 * h)))),
        (Nat.compare_spec (2 * S k) (S (S (2 * h)))), (Nat.eqb_spec k h), (Nat.eqb_spec k (S h));
        try lia; lra.
Qed.

(* A sign of the report, times the stretch, has the mean of the person's sign. *)
Lemma report_mean : forall epsilon v k, 0 < epsilon -> (k < length v)%nat ->
  sum (fun r => hypercube (1 / 2) epsilon v r * (stretch (length v) epsilon * sign (nth k r true)))
    (all_answers (length v)) = sign (nth k v true).
Proof.
  intros epsilon v k pos K. set (d := length v). set (E := exp epsilon).
  assert (1 < E) by (unfold E; rewrite <- exp_0; apply exp_increasing, pos).
  set (B := stretch d epsilon). set (c := / ((1 + E) * half_size (1 / 2) d)).
  rewrite (sum_ext_in _ (fun r => B * c * (sign (nth k r true) *
    weight (1 / 2) epsilon d (differences v r)))).
  2: { intros r R. apply all_answers_length in R. rewrite hypercube_weight by exact R.
    fold d E c. ring. }
  rewrite sum_scale. unfold d.
  rewrite (cube_sum_sign k v (weight (1 / 2) epsilon (length v)) sign K). fold d.
  rewrite (cube_sum_ext _ _ (fun j => sign (nth k v true) *
    (weight (1 / 2) epsilon d j - weight (1 / 2) epsilon d (S j))))
    by (intros; destruct (nth k v true); simpl; lra).
  rewrite cube_sum_scale. destruct d as [|d'] eqn:D; [unfold d in D; lia|].
  rewrite weight_steps. unfold B, c, stretch. rewrite half_size_split. fold E.
  destruct (central_bound (Nat.div2 (S d'))) as [P _]. field. repeat split; try lra.
  apply pow_nonzero. lra.
Qed.

(* The reports of several people, each with randomness of its own: the mean of f at their list. *)
Fixpoint expect (epsilon : R) (people : list (list bool)) (f : list (list bool) -> R) : R :=
  match people with
  | [] => f []
  | v :: rest => sum (fun r => hypercube (1 / 2) epsilon v r *
      expect epsilon rest (fun reports => f (r :: reports))) (all_answers (length v))
  end.

Lemma expect_mean : forall epsilon people, mean (fun _ => True) (expect epsilon people).
Proof.
  intros epsilon people. induction people as [|v rest [mono [add [scale [_ one]]]]].
  - repeat split; simpl; intros; try lra. apply H0.
  - assert (0 < 1 / 2) as T by lra.
    destruct (hypercube_law (1 / 2) epsilon v T) as [P total]. repeat split; simpl.
    + apply sum_le. intros r. apply Rmult_le_compat_l; [apply P|]. apply mono; auto.
    + rewrite <- sum_plus. apply sum_le. intros r. rewrite <- Rmult_plus_distr_l.
      apply Rmult_le_compat_l; [apply P|]. apply add; auto.
    + rewrite <- sum_scale. apply sum_le. intros r.
      rewrite <- Rmult_assoc, (Rmult_comm c), Rmult_assoc.
      apply Rmult_le_compat_l; [apply P|]. apply scale; auto.
    + apply Rle_trans with (sum (hypercube (1 / 2) epsilon v) (all_answers (length v))); [|lra].
      apply sum_le. intros r. specialize (P r).
      apply Rle_trans with (hypercube (1 / 2) epsilon v r * 1); [|lra].
      apply Rmult_le_compat_l; assumption.
Qed.

(* How far the sum of the stretched signs at place k is from that of the people's signs. *)
Definition deviation (B : R) (k : nat) (people reports : list (list bool)) : R :=
  sum (fun r => B * sign (nth k r true)) reports - sum (fun v => sign (nth k v true)) people.

Lemma expect_ext : forall epsilon people f g, (forall reports, f reports = g reports) ->
  expect epsilon people f = expect epsilon people g.
Proof.
  intros epsilon people. induction people as [|v rest IH]; intros f g H; simpl; [apply H|].
  apply sum_ext. intros r. f_equal. apply IH. intros. apply H.
Qed.

Lemma deviation_square : forall epsilon d k people c, 0 < epsilon -> (k < d)%nat ->
  Forall (fun v => length v = d) people -> let B := stretch d epsilon in
  expect epsilon people (fun reports => (c + deviation B k people reports) ^ 2)
  = c ^ 2 + INR (length people) * (B ^ 2 - 1).
Proof.
  intros epsilon d k people c pos K F B. revert c. induction F as [|v rest V F IH]; intros c.
  - unfold deviation. simpl. ring.
  - change (length (v :: rest)) with (S (length rest)). rewrite S_INR. cbn [expect].
    set (s := sign (nth k v true)). set (m := INR (length rest)) in *.
    rewrite (sum_ext _ (fun r => (c ^ 2 - 2 * c * s + B ^ 2 + 1 + m * (B ^ 2 - 1)) *
      hypercube (1 / 2) epsilon v r + (2 * c - 2 * s) *
      (hypercube (1 / 2) epsilon v r * (B * sign (nth k r true))))).
    + destruct (hypercube_law (1 / 2) epsilon v ltac:(lra)) as [_ total].
      rewrite sum_plus, !sum_scale, total. unfold B. rewrite <- V, report_mean by (auto; lia).
      fold s. rewrite V. fold B. pose proof (sign_square (nth k v true)) as S. fold s in S.
      replace ((2 * c - 2 * s) * s) with (2 * c * s - 2 * (s * s)) by ring. rewrite S. ring.
    + intros r. rewrite (expect_ext _ _ _ (fun reports =>
        ((c + B * sign (nth k r true) - s) + deviation B k rest reports) ^ 2))
        by (intros; unfold deviation; simpl; fold s; ring).
      rewrite IH. pose proof (sign_square (nth k r true)) as S.
      replace ((c + B * sign (nth k r true) - s) ^ 2) with (c ^ 2 - 2 * c * s + s * s
        + B ^ 2 * (sign (nth k r true) * sign (nth k r true))
        + (2 * c - 2 * s) * (B * sign (nth k r true))) by ring.
      pose proof (sign_square (nth k v true)) as S'. fold s in S'. rewrite S, S'. ring.
Qed.

Lemma deviation_mean : forall epsilon d k people, 0 < epsilon -> (k < d)%nat -> people <> [] ->
  Forall (fun v => length v = d) people -> 0 < stretch d epsilon -> let B := stretch d epsilon in
  expect epsilon people (fun reports => Rabs (deviation B k people reports))
  <= B * sqrt (INR (length people)).
Proof.
  intros epsilon d k people pos K some F Bpos B. fold B in Bpos. set (m := INR (length people)).
  assert (0 < m) as M by (apply lt_0_INR; destruct people; [congruence|simpl; lia]).
  pose proof (sqrt_lt_R0 m M) as R. pose proof (sqrt_sqrt m ltac:(lra)) as Q.
  set (L := B * sqrt m). assert (0 < L) as Lpos by (apply Rmult_lt_0_compat; assumption).
  pose proof (deviation_square epsilon d k people 0 pos K F) as V. cbv zeta in V. fold B m in V.
  assert (0 <= / (2 * L)) by (left; apply Rinv_0_lt_compat; lra).
  eapply Rle_trans; [apply (mean_affine _ _ _ _ (fun reports =>
    (0 + deviation B k people reports) ^ 2) (L / 2) (/ (2 * L)) (L * L)
    (expect_mean epsilon people)); auto; [lra| |]|right; field; lra].
  - rewrite V. unfold L.
    replace (B * sqrt m * (B * sqrt m)) with (B ^ 2 * (sqrt m * sqrt m)) by ring.
    rewrite Q. simpl. lra.
  - intros reports. split; [apply Rabs_pos|]. set (x := deviation B k people reports).
    apply Rmult_le_reg_l with (2 * L); [lra|].
    replace (2 * L * (L / 2 + / (2 * L) * (0 + x) ^ 2)) with (x ^ 2 + L * L) by (field; lra).
    rewrite <- (pow2_abs x). pose proof (Rle_0_sqr (Rabs x - L)) as S. unfold Rsqr in S. simpl. lra.
Qed.

(* ------------------------------------------------------------------ Theorem 8 *)

(* What a person holds: the signs of all pairs; the place of a pair among them. *)
Definition signs (n : nat) (r : places) : list bool :=
  map (fun '(i, j) => before r i j) (pairs n).
Definition position (i j : nat) : nat := (number_of_pairs j + i)%nat.

Lemma position_nth : forall n i j r d, (i < j < n)%nat ->
  (position i j < number_of_pairs n)%nat /\ nth (position i j) (signs n r) d = before r i j.
Proof.
  unfold position, number_of_pairs, signs.
  induction n as [|n IH]; intros i j r d H; [lia|]. simpl pairs.
  rewrite map_app, map_map, !app_length, map_length, seq_length.
  destruct (Nat.eq_dec j n) as [->|D].
  - split; [lia|]. rewrite app_nth2; rewrite map_length; [|lia].
    replace (length (pairs n) + i - length (pairs n))%nat with i by lia.
    rewrite (nth_indep _ d (before r 0 n)) by (rewrite map_length, seq_length; lia).
    rewrite (map_nth (fun a => before r a n)), seq_nth by lia. reflexivity.
  - destruct (IH i j r d ltac:(lia)) as [A B]. split; [lia|].
    rewrite app_nth1 by (rewrite map_length; exact A). exact B.
Qed.

(* The table from m reports that are stretched to B, with entries that are cut off at 0 and 1. *)
Definition cut (x : R) : R := Rmax 0 (Rmin 1 x).
Definition entry (B : R) (m k : nat) (reports : list (list bool)) : R :=
  (1 + sum (fun r => B * sign (nth k r true)) reports / INR m) / 2.
Definition estimate (B : R) (m : nat) (reports : list (list bool)) : table := fun i j =>
  if Nat.ltb i j then cut (entry B m (position i j) reports)
  else 1 - cut (entry B m (position j i) reports).

Lemma cut_bounds : forall x, 0 <= cut x <= 1.
Proof.
  intros. unfold cut, Rmax, Rmin. destruct (Rle_dec 1 x); destruct (Rle_dec 0 _); lra.
Qed.

Lemma cut_near : forall x w, 0 <= w <= 1 -> Rabs (cut x - w) <= Rabs (x - w).
Proof.
  intros x w W. unfold cut, Rmax, Rmin, Rabs.
  destruct (Rle_dec 1 x); destruct (Rle_dec 0 _); repeat destruct (Rcase_abs _); lra.
Qed.

Lemma estimate_shares : forall n B m reports, shares n (estimate B m reports).
Proof.
  intros n B m reports i j I J D. unfold estimate.
  pose proof (cut_bounds (entry B m (position i j) reports)).
  pose proof (cut_bounds (entry B m (position j i) reports)).
  destruct (Nat.ltb_spec i j), (Nat.ltb_spec j i); lia || lra.
Qed.

Lemma entry_deviation : forall n B people reports i j, (i < j < n)%nat -> people <> [] ->
  entry B (length people) (position i j) reports - fraction people i j
  = deviation B (position i j) (map (signs n) people) reports / (2 * INR (length people)).
Proof.
  intros n B people reports i j H some. pose proof (people_positive people some) as M.
  unfold entry, fraction, deviation. rewrite sum_map.
  assert (sum (fun r => sign (nth (position i j) (signs n r) true)) people
    = 2 * sum (fun r => bit (before r i j)) people - INR (length people)) as ->.
  { rewrite <- (Rmult_1_r (INR _)), <- sum_const, <- sum_scale, <- sum_minus. apply sum_ext.
    intros r. destruct (position_nth n i j r true H) as [_ ->].
    destruct (before r i j); simpl; lra. }
  field. lra.
Qed.

Lemma stretch_bound : forall n epsilon, (2 <= n)%nat -> 0 < epsilon ->
  0 < stretch (number_of_pairs n) epsilon
    <= (exp epsilon + 1) / (exp epsilon - 1) * INR n.
Proof.
  intros n epsilon N pos. unfold stretch. set (d := number_of_pairs n). set (h := Nat.div2 d).
  assert (1 < exp epsilon) as E by (rewrite <- exp_0; apply exp_increasing, pos).
  assert (0 < (exp epsilon + 1) / (exp epsilon - 1)) as T by (apply Rdiv_lt_0_compat; lra).
  destruct (central_bound h) as [P _]. split; [apply Rdiv_lt_0_compat; assumption|].
  apply Rmult_le_compat_l; [lra|]. apply (le_INR 2) in N. simpl in N.
  apply Rmult_le_reg_r with (central h); [assumption|]. rewrite Rinv_l by lra.
  destruct h as [|h'] eqn:H; [unfold central; simpl; lra|].
  destruct (central_bound h') as [_ Q].
  assert (4 * INR (S h') <= INR n ^ 2) as L.
  { assert (2 * S h' <= d)%nat as L by (pose proof (Nat.div2_odd d) as O; fold h in O; lia).
    apply le_INR in L. rewrite mult_INR in L. change (INR 2) with (1 + 1) in L.
    unfold d, number_of_pairs in L. rewrite pairs_length in L. unfold choose2 in L.
    replace (INR n ^ 2) with (INR n * INR n) by ring. lra. }
  assert (1 <= (INR n * central (S h')) ^ 2) as C.
  { rewrite Rpow_mult_distr. eapply Rle_trans; [exact Q|]. apply Rmult_le_compat_r; [|exact L].
    apply pow2_ge_0. }
  assert (0 < INR n * central (S h')) by (apply Rmult_lt_0_compat; lra). nra.
Qed.

(* The error. m people with rankings of n items each send one corner, by the hypercube mechanism
   with split ties, at any epsilon > 0.  Stretched by c times [stretch], with c = 1 and no other
   number, a report is unbiased in each sign; each fraction is estimated with a mean error of at
   most n / (2 t sqrt m), t = (e^epsilon - 1) / (e^epsilon + 1); and an algorithm of ratio alpha
   on the estimates has ratio alpha and additive error (alpha + 1) n^3 / (4 t sqrt m). *)
Definition reports_says (c : R) : Prop := forall epsilon, 0 < epsilon ->
  (forall v k, (k < length v)%nat -> sum (fun r => hypercube (1 / 2) epsilon v r *
    (c * stretch (length v) epsilon * sign (nth k r true))) (all_answers (length v))
    = sign (nth k v true)) /\
  (forall n people, (2 <= n)%nat -> people <> [] -> Forall (ranking n) people ->
    let m := length people in
    let noisy := estimate (c * stretch (number_of_pairs n) epsilon) m in
    let e := INR n / (2 * ((exp epsilon - 1) / (exp epsilon + 1)) * sqrt (INR m)) in
    (forall i j, (i < j < n)%nat -> expect epsilon (map (signs n) people)
      (fun reports => Rabs (noisy reports i j - fraction people i j)) <= e) /\
    forall alpha rankings A best, 0 <= alpha -> approximation n alpha rankings A ->
    ranking n best -> expect epsilon (map (signs n) people)
      (fun reports => sum (fun s => A (noisy reports) s * score n (fraction people) s) rankings)
      <= alpha * mean_kendall n people best + (alpha + 1) * (INR n ^ 2 / 2) * e).

Theorem reports : reports_says 1.
Proof.
  intros epsilon pos. split.
  - intros v k K. rewrite <- (report_mean epsilon v k pos K). apply sum_ext. intros r. ring.
  - intros n people N some rank m noisy e.
    assert (1 < exp epsilon) as E by (rewrite <- exp_0; apply exp_increasing, pos).
    pose proof (people_positive people some) as M. fold m in M.
    pose proof (sqrt_lt_R0 _ M) as R. pose proof (sqrt_sqrt (INR m) ltac:(lra)) as Q.
    destruct (stretch_bound n epsilon N pos) as [Bpos Bound].
    unfold noisy. rewrite Rmult_1_l. set (B := stretch (number_of_pairs n) epsilon) in *.
    pose proof (expect_mean epsilon (map (signs n) people)) as Mean.
    assert (forall i j, (i < j < n)%nat -> expect epsilon (map (signs n) people)
      (fun reports => Rabs (estimate B m reports i j - fraction people i j)) <= e) as err.
    { intros i j H. destruct Mean as [mono [_ [scale _]]].
      destruct (position_nth n i j (fun a => a) true H) as [K _].
      assert (0 <= / (2 * INR m)) as P by (left; apply Rinv_0_lt_compat; lra).
      eapply Rle_trans; [apply (mono _ (fun reports => / (2 * INR m) *
        Rabs (deviation B (position i j) (map (signs n) people) reports)) I)|].
      - intros reports. split; [apply Rabs_pos|]. unfold estimate.
        destruct (Nat.ltb_spec i j); [|lia]. eapply Rle_trans; [apply cut_near|].
        + apply (fraction_shares n people rank some i j); lia.
        + unfold m. rewrite (entry_deviation n) by assumption. unfold Rdiv.
          rewrite Rabs_mult, (Rabs_pos_eq (/ _)) by exact P. fold m. lra.
      - eapply Rle_trans; [apply (scale _ _ P I)|].
        apply Rle_trans with (/ (2 * INR m) * (B * sqrt (INR m))).
        + apply Rmult_le_compat_l; [exact P|]. unfold m. rewrite <- (map_length (signs n) people).
          apply (deviation_mean epsilon (number_of_pairs n)); auto.
          * destruct people; [congruence|discriminate].
          * apply Forall_forall. intros v V. apply in_map_iff in V. destruct V as [r [<- _]].
            apply map_length.
        + unfold e. replace (/ (2 * INR m) * (B * sqrt (INR m))) with (B / (2 * sqrt (INR m))).
          2: { rewrite <- Q at 2. field. lra. }
          replace (INR n / (2 * ((exp epsilon - 1) / (exp epsilon + 1)) * sqrt (INR m)))
            with ((exp epsilon + 1) / (exp epsilon - 1) * INR n / (2 * sqrt (INR m)))
            by (field; lra).
          apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|assumption]. }
    split; [exact err|]. intros alpha rankings A best apos approx rb.
    pose proof (fraction_shares n people rank some) as W.
    destruct (reduction_one n alpha e rankings A apos approx) as [bound _].
    specialize (bound _ _ _ (estimate B m) (fraction people) Mean W
      (fun a => estimate_shares n B m a) (fun i j H => conj I (err i j H)) best rb).
    rewrite score_mean in bound by assumption. rewrite Rmult_1_l in bound.
    eapply Rle_trans; [exact bound|]. apply Rplus_le_compat_l.
    rewrite !Rmult_assoc. apply Rmult_le_compat_l; [lra|].
    apply Rmult_le_compat_r.
    + unfold e. pose proof (pos_INR n). apply Rmult_le_pos; [assumption|].
      left. apply Rinv_0_lt_compat. apply Rmult_lt_0_compat; [|assumption].
      apply Rmult_lt_0_compat; [lra|apply Rdiv_lt_0_compat; lra].
    + unfold choose2. pose proof (pos_INR n). simpl. lra.
Qed.

Theorem reports_control : forall c, c <> 1 -> ~ reports_says c.
Proof.
  intros c H says. destruct (says 1 Rlt_0_1) as [mean _].
  specialize (mean [true] 0%nat ltac:(simpl; lia)).
  pose proof (report_mean 1 [true] 0 Rlt_0_1 ltac:(simpl; lia)) as one.
  rewrite (sum_ext _ (fun r => c * (hypercube (1 / 2) 1 [true] r * (stretch (length [true]) 1 *
    sign (nth 0 r true))))) in mean by (intros; ring).
  rewrite sum_scale, one in mean. simpl in mean. lra.
Qed.

(* CLAIM AGKM-T8C9.  Theorem 8: with the hypercube mechanism and ties split, each report is
   epsilon-private in every dimension, and the estimates have the error of the paper for epsilon
   up to a bound.  With another share of the ties it is not private. *)
Definition theorem_eight_says (tie : R) : Prop := hypercube_private_says tie /\ reports_says 1.

Theorem theorem_eight : theorem_eight_says (1 / 2).
Proof. split; [apply hypercube_private|apply reports]. Qed.

Theorem theorem_eight_control : forall tie, 0 < tie -> tie <> 1 / 2 -> ~ theorem_eight_says tie.
Proof. intros tie T D [says _]. exact (hypercube_private_control tie T D says). Qed.
