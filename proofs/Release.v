(* Noise in the shape of the answers, and a whole release of `dpbook rank`.

   K-norm noise (Hardt and Talwar 2010) in whole numbers: the weight of the noise x is
   exp(-epsilon level(x)), where the level is a gauge, perhaps rounded up.  Claim BOOK-KNORM: the
   noise of all five rows of the book's table loses exactly epsilon, for every n and L.  Claim
   BOOK-RELEASE: so does a release that keeps at most L answers of each person, drawn at random.

   Not in it: that the bodies are the convex hulls of the moves, and so the smallest ones; that the
   weights have a finite sum (they are the same for all data sets but for a shift, so that one
   positive factor, [unit], makes them laws); how the noise is drawn. *)
Require Import Reals Lra Lia ZArith List ListDec Bool Permutation FunctionalExtensionality.
From Ranking Require Import Privacy Counts.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ common *)

(* It is private for exactly the epsilons from this one. *)
Definition loses {D O} (near : D -> D -> Prop) (p : D -> O -> R) (loss : R) : Prop :=
  forall e, private near e p <-> loss <= e.

Lemma loses_exactly : forall D O (near : D -> D -> Prop) (p : D -> O -> R) loss,
  (forall x o, 0 <= p x o) -> private near loss p ->
  (exists x y o, near x y /\ 0 < p y o /\ p x o = exp loss * p y o) -> loses near p loss.
Proof.
  intros D O near p loss nonneg safe (x & y & o & close & pos & equal) e. split.
  - intros H. specialize (H x y o close). rewrite equal in H. apply Rmult_le_reg_r in H; [|exact pos].
    apply Rnot_lt_le. intros less. apply exp_increasing in less. lra.
  - intros H. apply private_more with loss; assumption.
Qed.

Lemma sum_same : forall A (f : A -> R) c l, (forall a, In a l -> f a = c) ->
  sum f l = INR (length l) * c.
Proof. intros A f c l H. rewrite <- (sum_const c l). apply sum_ext_in. exact H. Qed.

(* Rounded up. *)
Definition ceiling (r : R) : R := - IZR (Int_part (- r)).

Lemma ceiling_step : forall r s k, r <= s + IZR k -> ceiling r <= ceiling s + IZR k.
Proof.
  intros r s k H. unfold ceiling. destruct (base_Int_part (- r)) as [_ A].
  destruct (base_Int_part (- s)) as [B _]. rewrite <- !opp_IZR, <- plus_IZR. apply IZR_le.
  enough (- Int_part (- r) < - Int_part (- s) + k + 1)%Z by lia. apply lt_IZR.
  rewrite !plus_IZR, !opp_IZR. lra.
Qed.

Lemma ceiling_whole : forall k, ceiling (IZR k) = IZR k.
Proof.
  intros k. apply Rle_antisym.
  - pose proof (ceiling_step (IZR k) 0 k ltac:(lra)) as H. unfold ceiling at 2 in H.
    rewrite Ropp_0, (Int_part_INR 0 : Int_part 0 = 0%Z) in H. lra.
  - unfold ceiling. destruct (base_Int_part (- IZR k)) as [A _]. lra.
Qed.

Definition whole (r : R) : Prop := exists k : Z, r = IZR k.

Lemma whole_part : forall r, whole r -> IZR (Int_part r) = r.
Proof.
  intros r [k ->]. pose proof (ceiling_whole (- k)) as H. unfold ceiling in H.
  rewrite opp_IZR, Ropp_involutive in H. lra.
Qed.

Lemma whole_minus : forall r s, whole r -> whole s -> whole (r - s).
Proof. intros r s [j ->] [k ->]. exists (j - k)%Z. symmetry. apply minus_IZR. Qed.

Lemma whole_sum : forall A (f : A -> R) l, (forall a, whole (f a)) -> whole (sum f l).
Proof.
  intros A f l H. induction l as [|a l [j IH]]; simpl; [exists 0%Z; reflexivity|].
  destruct (H a) as [k ->]. rewrite IH. exists (k + j)%Z. symmetry. apply plus_IZR.
Qed.

Lemma whole_bit : forall b, whole (bit b).
Proof. intros []; [exists 1%Z|exists 0%Z]; reflexivity. Qed.

(* ------------------------------------------------------------------ noise in a shape *)

Section Shaped.
Variable n : nat.                          (* entries *)
Variable unit : R.
Hypothesis unit_positive : 0 < unit.

Definition plus (x v : nat -> R) (i : nat) : R := x i + v i.
Definition move (u v : nat -> R) (i : nat) : R := u i - v i.

(* The outcome is a whole vector; the noise is its move from the centre, whose sum perhaps is 0. *)
Definition weight (g : (nat -> R) -> R) (b : R) (centre : nat -> R) (o : nat -> Z) : R :=
  gauge_noise (fun o c => g (move o c)) unit b centre (fun i => IZR (o i)).
Definition shaped (sum0 : bool) (g : (nat -> R) -> R) (b : R) (centre : nat -> R) (o : nat -> Z)
  : R :=
  if sum0 then
    if Req_EM_T (range_sum n (move (fun i => IZR (o i)) centre)) 0 then weight g b centre o else 0
  else weight g b centre o.

Lemma move_plus : forall o u v, move o v = plus (move o u) (move u v).
Proof. intros. extensionality i. unfold plus, move. ring. Qed.

Lemma weight_positive : forall g b c o, 0 < weight g b c o.
Proof. intros. apply Rmult_lt_0_compat; [assumption|apply exp_pos]. Qed.

Lemma shaped_nonneg : forall sum0 g b c o, 0 <= shaped sum0 g b c o.
Proof.
  intros. unfold shaped. pose proof (weight_positive g b c o).
  destruct sum0; [destruct (Req_EM_T _ _)|]; lra.
Qed.

(* A move by which the gauge of no noise rises by more than d. *)
Theorem shaped_private : forall (sum0 : bool) g b d u v, 0 < b ->
  (sum0 = true -> range_sum n (move u v) = 0) ->
  (forall x, g (plus x (move u v)) <= g x + d) ->
  forall o, shaped sum0 g b u o <= exp (d / b) * shaped sum0 g b v o.
Proof.
  intros sum0 g b d u v pos level rises o.
  assert (weight g b u o <= exp (d / b) * weight g b v o) as H.
  { apply gauge_noise_private; auto. intros o'. rewrite (move_plus o' u v). apply rises. }
  unfold shaped. destruct sum0; [|exact H]. set (r := fun i => IZR (o i)).
  assert (range_sum n (move r v) = range_sum n (move r u)) as ->.
  { rewrite (move_plus r u v). unfold plus, range_sum. rewrite sum_plus.
    specialize (level eq_refl). unfold range_sum in level. lra. }
  destruct (Req_EM_T _ _); [exact H|lra].
Qed.

(* And a move by whole numbers that costs d, seen from where it starts. *)
Theorem shaped_attained : forall (sum0 : bool) g b d u v, g (fun _ => 0) = 0 ->
  (sum0 = true -> range_sum n (move u v) = 0) -> (forall i, whole (u i)) -> g (move u v) = d ->
  exists o, 0 < shaped sum0 g b v o /\ shaped sum0 g b u o = exp (d / b) * shaped sum0 g b v o.
Proof.
  intros sum0 g b d u v zero level integer most. set (o := fun i => Int_part (u i)). exists o.
  assert ((fun i => IZR (o i)) = u) as at_u by (extensionality i; apply whole_part, integer).
  assert (move u u = fun _ => 0) as here by (extensionality i; apply Rminus_eq_0).
  assert (weight g b u o = exp (d / b) * weight g b v o) as equal.
  { unfold weight, gauge_noise. rewrite at_u, here, zero, most. unfold Rdiv.
    rewrite Ropp_0, Rmult_0_l, exp_0, Ropp_mult_distr_l_reverse, exp_Ropp. field.
    apply Rgt_not_eq, exp_pos. }
  pose proof (weight_positive g b v o) as W. unfold shaped. rewrite at_u, here.
  destruct sum0; [|auto]. destruct (Req_EM_T (range_sum n (move u v)) 0) as [_|no].
  - destruct (Req_EM_T _ 0) as [_|no]; [auto|]. destruct no. apply sum_zero.
  - destruct no. apply level. reflexivity.
Qed.

(* The loss is exactly (the most that a move costs) / b, if a move by whole numbers costs that. *)
Theorem shaped_loses : forall D (near : D -> D -> Prop) (f : D -> nat -> R) (sum0 : bool) g b d,
  0 < b -> g (fun _ => 0) = 0 ->
  (forall x y, near x y -> sum0 = true -> range_sum n (move (f x) (f y)) = 0) ->
  (forall x y, near x y -> forall z, g (plus z (move (f x) (f y))) <= g z + d) ->
  (exists x y, near x y /\ (forall i, whole (f x i)) /\ g (move (f x) (f y)) = d) ->
  loses near (fun x => shaped sum0 g b (f x)) (d / b).
Proof.
  intros D near f sum0 g b d pos zero level rises (x & y & close & integer & most).
  apply loses_exactly.
  - intros. apply shaped_nonneg.
  - intros x' y' o H. apply shaped_private; eauto.
  - destruct (shaped_attained sum0 g b d (f x) (f y)) as (o & more & equal); auto.
    exists x, y, o. auto.
Qed.

(* ------------------------------------------------------------------ levels *)

(* Of a set of items: their number, and what x gives them in all. *)
Definition count (S : nat -> bool) : R := range_sum n (fun i => bit (S i)).
Definition part (S : nat -> bool) (x : nat -> R) : R := range_sum n (fun i => bit (S i) * x i).

(* The largest part of a set over the capacity of its number of items, over all sets whose capacity
   is not 0; the parts themselves, or their absolute values. *)
Definition facet (capacity look : R -> R) (S : nat -> bool) (x : nat -> R) : R :=
  if Rlt_dec 0 (capacity (count S)) then look (part S x) / capacity (count S) else 0.
Definition level (capacity look : R -> R) (x : nat -> R) : R :=
  fold_right Rmax 0 (map (fun s => facet capacity look (fun i => nth i s false) x) (all_answers n)).

(* The levels of the book's table. *)
Definition plain (r : R) : R := r.
Definition root : (nat -> R) -> R := level (fun _ => 1) plain.            (* one comparison *)
Definition root_free (L : nat) := level (fun _ => INR L) Rabs.           (* at most L of them *)
Definition zonotope := level (fun k => k * (INR n - k)) plain.           (* every pair once *)
Definition zonotope_free := level (fun k => k * (2 * INR n - k - 1) / 2) Rabs.  (* or skipped *)

Section Level.
Variables capacity look : R -> R.
Hypothesis look_sum : forall a b, look (a + b) <= look a + look b.
Hypothesis look_0 : look 0 = 0.

Lemma level_nonneg : forall x, 0 <= level capacity look x.
Proof.
  intros x. unfold level. induction (all_answers n); simpl; [lra|].
  eapply Rle_trans; [exact IHl|apply Rmax_r].
Qed.

Lemma level_le : forall x m, 0 <= m ->
  (forall S, 0 < capacity (count S) -> look (part S x) <= m * capacity (count S)) ->
  level capacity look x <= m.
Proof.
  intros x m pos H. unfold level. induction (all_answers n) as [|s l IH]; simpl; [assumption|].
  apply Rmax_lub; [|exact IH]. unfold facet. destruct (Rlt_dec _ _) as [cap|]; [|assumption].
  apply Rmult_le_reg_r with (1 := cap). unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
  rewrite Rmult_1_r. apply H. exact cap.
Qed.

Lemma all_answers_all : forall s, In s (all_answers (length s)).
Proof.
  induction s as [|b s IH]; simpl; [left; reflexivity|]. apply in_flat_map. exists s.
  split; [exact IH|]. destruct b; simpl; auto.
Qed.

Lemma level_ge : forall S x, 0 < capacity (count S) ->
  look (part S x) <= level capacity look x * capacity (count S).
Proof.
  intros S x cap. set (s := map S (seq 0 n)).
  assert (forall i, (i < n)%nat -> nth i s false = S i) as same.
  { intros i H. unfold s. rewrite (nth_indep _ _ (S 0%nat)) by (rewrite map_length, seq_length; lia).
    rewrite map_nth, seq_nth by assumption. reflexivity. }
  assert (count (fun i => nth i s false) = count S) as C
    by (apply range_sum_ext; intros; rewrite same; auto).
  assert (part (fun i => nth i s false) x = part S x) as P
    by (apply range_sum_ext; intros; rewrite same; auto).
  assert (In s (all_answers n)) as H.
  { replace n with (length s) by (unfold s; rewrite map_length, seq_length; reflexivity).
    apply all_answers_all. }
  apply Rle_trans with (facet capacity look (fun i => nth i s false) x * capacity (count S)).
  - unfold facet. rewrite C, P. destruct (Rlt_dec _ _); [|contradiction]. right. field. lra.
  - apply Rmult_le_compat_r; [lra|]. unfold level. clear C P same. clearbody s.
    induction (all_answers n) as [|a l IH]; simpl; [contradiction|]. destruct H as [->|H].
    + apply Rmax_l.
    + eapply Rle_trans; [apply IH, H|apply Rmax_r].
Qed.

Lemma part_plus : forall S x v, part S (plus x v) = part S x + part S v.
Proof.
  intros. unfold part, range_sum, plus. rewrite <- sum_plus. apply sum_ext. intros. ring.
Qed.

(* The level of a sum is at most the sum of the levels. *)
Theorem level_triangle : forall x v, level capacity look (plus x v)
  <= level capacity look x + level capacity look v.
Proof.
  intros x v. pose proof (level_nonneg x). pose proof (level_nonneg v).
  apply level_le; [lra|]. intros S cap. rewrite part_plus.
  pose proof (level_ge S x cap). pose proof (level_ge S v cap).
  pose proof (look_sum (part S x) (part S v)). lra.
Qed.

Lemma level_zero : level capacity look (fun _ => 0) = 0.
Proof.
  apply Rle_antisym; [|apply level_nonneg]. apply level_le; [lra|]. intros S cap.
  replace (part S (fun _ => 0)) with 0; [rewrite look_0; lra|]. symmetry. unfold part, range_sum.
  rewrite (sum_ext _ (fun _ => 0)) by (intros; ring). apply sum_zero.
Qed.

End Level.

Lemma plain_sum : forall a b, plain (a + b) <= plain a + plain b.
Proof. intros. unfold plain. lra. Qed.

(* The root level is the sum of the positive entries; of both signs, the larger one, over L. *)
Lemma part_positive : forall S x, part S x <= range_sum n (fun i => Rmax 0 (x i)).
Proof.
  intros. apply sum_le. intros i. pose proof (Rmax_l 0 (x i)). pose proof (Rmax_r 0 (x i)).
  destruct (S i); simpl; lra.
Qed.

Lemma part_of_positive : forall x,
  part (fun i => if Rlt_dec 0 (x i) then true else false) x = range_sum n (fun i => Rmax 0 (x i)).
Proof.
  intros. apply sum_ext. intros i. destruct (Rlt_dec 0 (x i)); simpl.
  - rewrite Rmax_right; lra.
  - rewrite Rmax_left; lra.
Qed.

Lemma part_opp : forall S x, part S (fun i => - x i) = - part S x.
Proof.
  intros. unfold part, range_sum. replace (- sum (fun i => bit (S i) * x i) (seq 0 n))
    with (-1 * sum (fun i => bit (S i) * x i) (seq 0 n)) by ring.
  rewrite <- sum_scale. apply sum_ext. intros. ring.
Qed.

Theorem root_level : forall x, root x = range_sum n (fun i => Rmax 0 (x i)).
Proof.
  intros x. apply Rle_antisym.
  - apply level_le.
    + apply sum_nonneg. intros. apply Rmax_l.
    + intros S _. rewrite Rmult_1_r. apply part_positive.
  - rewrite <- part_of_positive. pose proof (level_ge (fun _ => 1) plain
      (fun i => if Rlt_dec 0 (x i) then true else false) x Rlt_0_1) as H.
    rewrite Rmult_1_r in H. exact H.
Qed.

Theorem root_free_level : forall L x, (0 < L)%nat -> root_free L x
  = Rmax (range_sum n (fun i => Rmax 0 (x i))) (range_sum n (fun i => Rmax 0 (- x i))) / INR L.
Proof.
  intros L x pos. apply lt_0_INR in pos. set (m := Rmax _ _). apply Rle_antisym.
  - apply level_le.
    + apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; assumption].
      apply Rle_trans with (2 := Rmax_l _ _). apply sum_nonneg. intros. apply Rmax_l.
    + intros S _. replace (m / INR L * INR L) with m by (field; lra). apply Rabs_le.
      pose proof (part_positive S x). pose proof (part_positive S (fun i => - x i)) as K.
      rewrite part_opp in K. unfold m. pose proof (Rmax_l (range_sum n (fun i => Rmax 0 (x i)))
        (range_sum n (fun i => Rmax 0 (- x i)))). pose proof (Rmax_r (range_sum n
        (fun i => Rmax 0 (x i))) (range_sum n (fun i => Rmax 0 (- x i)))). lra.
  - apply Rmult_le_reg_r with (1 := pos). replace (m / INR L * INR L) with m by (field; lra).
    apply Rmax_lub.
    + rewrite <- part_of_positive. eapply Rle_trans; [apply Rle_abs|].
      apply (level_ge (fun _ => INR L)). assumption.
    + rewrite <- part_of_positive, part_opp. eapply Rle_trans; [apply Rle_abs|].
      rewrite Rabs_Ropp. apply (level_ge (fun _ => INR L)). assumption.
Qed.

End Shaped.

(* ------------------------------------------------------------------ what a set of items can gain *)

Section Gains.
Variable n : nat.
Implicit Types (S : nat -> bool) (s t : sheet).
Notation count := (count n).
Notation part := (part n).

Lemma count_nat : forall S, exists k, (k <= n)%nat /\ count S = INR k.
Proof.
  intros S. unfold Release.count. induction n as [|m (k & le & IH)].
  - exists 0%nat. split; [lia|reflexivity].
  - rewrite range_sum_S, IH. destruct (S m); simpl bit.
    + exists (Datatypes.S k). split; [lia|]. rewrite S_INR. reflexivity.
    + exists k. split; [lia|]. lra.
Qed.

Lemma part_minus : forall S u v, part S (move u v) = part S u - part S v.
Proof.
  intros. unfold Release.part, range_sum, move. rewrite <- sum_minus. apply sum_ext. intros. ring.
Qed.

(* The first item alone, and all items. *)
Definition first (i : nat) : bool := Nat.eqb 0 i.
Definition everyone (i : nat) : bool := true.

Lemma first_count : (1 <= n)%nat -> count first = 1.
Proof.
  intros H. unfold Release.count, first. rewrite <- (range_sum_pick n (fun _ => 1) 0) by lia.
  apply range_sum_ext. intros. destruct (Nat.eqb 0 i); reflexivity.
Qed.

Lemma first_part : forall x, (1 <= n)%nat -> part first x = x 0%nat.
Proof.
  intros x H. unfold Release.part, first. rewrite <- (range_sum_pick n x 0) by lia.
  apply range_sum_ext. intros. destruct (Nat.eqb 0 i); simpl; lra.
Qed.

Lemma everyone_count : count everyone = INR n.
Proof. unfold Release.count, everyone. rewrite range_sum_const. simpl. lra. Qed.

Lemma everyone_part : forall x, part everyone x = range_sum n x.
Proof. intros. apply range_sum_ext. intros. simpl. lra. Qed.

(* If entry i is the sum over j of z_ij, it is enough to bound what the two entries of a pair add. *)
Lemma part_by_pairs : forall S x (z b : nat -> nat -> R),
  (forall i, (i < n)%nat -> x i = range_sum n (z i)) ->
  (forall i j, (i < n)%nat -> (j < n)%nat -> bit (S i) * z i j + bit (S j) * z j i <= b i j) ->
  2 * part S x <= range_sum n (fun i => range_sum n (b i)).
Proof.
  intros S x z b X B. unfold Release.part.
  rewrite (range_sum_ext n _ (fun i => range_sum n (fun j => bit (S i) * z i j))).
  2: { intros i H. rewrite X by assumption. unfold range_sum. rewrite sum_scale. reflexivity. }
  replace (2 * _) with (range_sum n (fun i => range_sum n (fun j => bit (S i) * z i j))
    + range_sum n (fun i => range_sum n (fun j => bit (S j) * z j i))).
  - unfold range_sum at 1 3. rewrite <- sum_plus. apply range_sum_le. intros i I.
    unfold range_sum. rewrite <- sum_plus. apply range_sum_le. intros j J. apply B; assumption.
  - unfold range_sum at 3 4. rewrite (sum_swap _ _ (fun i j => bit (S j) * z j i)).
    unfold range_sum. ring.
Qed.

(* k items meet the n - k others in k (n - k) pairs, ... *)
Lemma pairs_across : forall S,
  range_sum n (fun i => range_sum n (fun j => bit (S i) + bit (S j) - 2 * (bit (S i) * bit (S j))))
  = 2 * (count S * (INR n - count S)).
Proof.
  intros S. rewrite (range_sum_ext n _ (fun i => (INR n - 2 * count S) * bit (S i) + count S)).
  - unfold range_sum. rewrite sum_plus, sum_scale, sum_const, seq_length.
    fold (range_sum n (fun i => bit (S i))). fold (count S). ring.
  - intros i _. unfold range_sum. rewrite sum_minus, sum_plus, sum_const, seq_length, sum_scale,
      sum_scale. fold (range_sum n (fun i => bit (S i))). fold (count S). ring.
Qed.

(* ... and each other in k (k - 1) / 2 more. *)
Lemma pairs_met : forall S, range_sum n (fun i => range_sum n (fun j =>
    bit (S i) + bit (S j) - bit (S i) * bit (S j) - (if Nat.eqb i j then bit (S i) else 0)))
  = 2 * (count S * (2 * INR n - count S - 1) / 2).
Proof.
  intros S. rewrite (range_sum_ext n _ (fun i => (INR n - count S - 1) * bit (S i) + count S)).
  - unfold range_sum. rewrite sum_plus, sum_scale, sum_const, seq_length.
    fold (range_sum n (fun i => bit (S i))). fold (count S). field.
  - intros i H. unfold range_sum at 1. rewrite sum_minus, sum_minus, sum_plus, sum_const, seq_length,
      sum_scale. fold (range_sum n (fun i => bit (S i))). fold (count S).
    fold (range_sum n (fun j => if Nat.eqb i j then bit (S i) else 0)).
    rewrite (range_sum_pick n (fun _ => bit (S i)) i H). ring.
Qed.

(* Gains of a move between sheets that answer every pair. *)
Lemma sheet_gain : forall S s t, decided s -> decided t ->
  part S (move (score n s) (score n t)) <= count S * (INR n - count S).
Proof.
  intros S s t [S0 S1] [T0 T1]. apply Rmult_le_reg_l with 2; [lra|]. rewrite <- pairs_across.
  apply part_by_pairs with (z := fun i j => bit (s i j) - bit (t i j)).
  - intros i _. apply score_differences.
  - intros i j _ _. destruct (Nat.eq_dec i j) as [<-|ne].
    + rewrite S0, T0. destruct (S i); simpl; lra.
    + rewrite (S1 i j ne), (T1 i j ne). destruct (S i), (S j), (s i j), (t i j); simpl; lra.
Qed.

(* And where pairs may be skipped. *)
Lemma skip_gain : forall S s t, partial s -> partial t ->
  part S (move (score n s) (score n t)) <= count S * (2 * INR n - count S - 1) / 2.
Proof.
  intros S s t [S0 S1] [T0 T1]. apply Rmult_le_reg_l with 2; [lra|]. rewrite <- pairs_met.
  apply part_by_pairs with (z := fun i j => bit (s i j) - bit (t i j)).
  - intros i _. apply score_differences.
  - intros i j _ _. destruct (Nat.eqb_spec i j) as [<-|ne].
    + rewrite S0, T0. destruct (S i); simpl; lra.
    + specialize (S1 i j). specialize (T1 i j). destruct (s i j), (t i j);
        rewrite ?S1, ?T1 by reflexivity; destruct (S i), (S j), (s j i), (t j i); simpl; lra.
Qed.

(* Wins minus losses, of one sheet. *)
Definition net (s : sheet) (i : nat) : R := range_sum n (fun j => bit (s i j) - bit (s j i)).

(* In general: z_ij is what i gains from j, at most 1 of either sign. *)
Lemma net_gain : forall S x (z : nat -> nat -> R),
  (forall i, (i < n)%nat -> x i = range_sum n (z i)) ->
  (forall i j, z j i = - z i j) -> (forall i j, -1 <= z i j <= 1) ->
  - (count S * (INR n - count S)) <= part S x <= count S * (INR n - count S).
Proof.
  intros S x z X flip small.
  assert (forall (y : nat -> R) w, (forall i, (i < n)%nat -> y i = range_sum n (w i)) ->
    (forall i j, w j i = - w i j) -> (forall i j, -1 <= w i j <= 1) ->
    part S y <= count S * (INR n - count S)) as K.
  { intros y w Y f b. apply Rmult_le_reg_l with 2; [lra|]. rewrite <- pairs_across.
    apply part_by_pairs with (z := w); [exact Y|]. intros i j _ _. rewrite (f i j).
    specialize (b i j). destruct (S i), (S j); simpl; lra. }
  split; [|apply (K x z); assumption].
  enough (part S (fun i => - x i) <= count S * (INR n - count S)) by (rewrite part_opp in H; lra).
  apply K with (w := fun i j => - z i j).
  - intros i H. rewrite X by assumption. unfold range_sum.
    rewrite (sum_ext (fun j => - z i j) (fun j => -1 * z i j)) by (intros; ring).
    rewrite sum_scale. ring.
  - intros i j. rewrite (flip i j). ring.
  - intros i j. specialize (small i j). lra.
Qed.

Lemma sheet_net_gain : forall S s,
  - (count S * (INR n - count S)) <= part S (net s) <= count S * (INR n - count S).
Proof.
  intros S s. apply net_gain with (z := fun i j => bit (s i j) - bit (s j i)).
  - reflexivity.
  - intros. ring.
  - intros. pose proof (bit_bounds (s i j)). pose proof (bit_bounds (s j i)). lra.
Qed.

(* Wins of comparisons. *)
Lemma won_part : forall S g, valid n g -> part S (won g) = bit (S (fst g)).
Proof.
  intros S g (V & _). unfold Release.part. rewrite <- (range_sum_pick n (fun i => bit (S i)) (fst g) V).
  apply range_sum_ext. intros i _. unfold won. destruct (Nat.eqb (fst g) i); ring.
Qed.

Lemma wins_part : forall S l, Forall (valid n) l -> 0 <= part S (wins l) <= INR (length l).
Proof.
  intros S l. induction l as [|g l IH]; intros V.
  - replace (part S (wins [])) with 0; [simpl; lra|]. symmetry. unfold Release.part, range_sum.
    rewrite (sum_ext _ (fun _ => 0)); [apply sum_zero|]. intros. unfold wins, total. simpl. ring.
  - inversion V as [|? ? Vg Vl]; subst. specialize (IH Vl).
    replace (part S (wins (g :: l))) with (part S (won g) + part S (wins l))
      by (symmetry; apply part_plus).
    rewrite won_part by assumption. change (length (g :: l)) with (Datatypes.S (length l)).
    rewrite S_INR. pose proof (bit_bounds (S (fst g))). lra.
Qed.

End Gains.

Lemma bounds_cancel : forall n x, (forall S, part n S x <= count n S * (INR n - count n S)) ->
  (forall S, - (count n S * (INR n - count n S)) <= part n S x) -> range_sum n x = 0.
Proof.
  intros n x above below. specialize (above everyone). specialize (below everyone).
  rewrite everyone_part, everyone_count in *. lra.
Qed.

(* ------------------------------------------------------------------ K-norm noise *)

(* Levels, rounded up or not: the loss is (the level of the largest move) / b. *)
Definition rounded (up : bool) (g : (nat -> R) -> R) (x : nat -> R) : R :=
  if up then ceiling (g x) else g x.

Section LevelLoses.
Variables (n : nat) (unit : R) (D : Type) (near : D -> D -> Prop) (f : D -> nat -> R).
Variables (sum0 up : bool) (capacity look : R -> R) (b d : R).
Hypothesis unit_positive : 0 < unit.
Hypothesis look_sum : forall r s, look (r + s) <= look r + look s.
Hypothesis look_0 : look 0 = 0.
Hypothesis b_positive : 0 < b.
Hypothesis d_whole : up = true -> whole d.
Let gauge := rounded up (level n capacity look).

Lemma gauge_rises : forall v, level n capacity look v <= d -> forall x,
  gauge (plus x v) <= gauge x + d.
Proof.
  intros v H x. pose proof (level_triangle n capacity look look_sum x v) as K. unfold gauge, rounded.
  destruct up; [|lra]. destruct (d_whole eq_refl) as [k E]. rewrite E in *. apply ceiling_step. lra.
Qed.

Lemma level_loses :
  (forall x y, near x y -> level n capacity look (move (f x) (f y)) <= d) ->
  (forall x y, near x y -> sum0 = true -> range_sum n (move (f x) (f y)) = 0) ->
  (exists x y, near x y /\ (forall i, whole (f x i))
    /\ d <= level n capacity look (move (f x) (f y))) ->
  loses near (fun x => shaped n unit sum0 gauge b (f x)) (d / b).
Proof.
  intros below zero (x & y & close & integer & most). apply shaped_loses; auto.
  - unfold gauge, rounded. rewrite level_zero by assumption.
    destruct up; [apply (ceiling_whole 0)|reflexivity].
  - intros x' y' H z. apply gauge_rises. auto.
  - exists x, y. split; [assumption|]. split; [assumption|].
    assert (level n capacity look (move (f x) (f y)) = d) as E by (apply Rle_antisym; auto).
    unfold gauge, rounded. rewrite E. destruct up; [|reflexivity].
    destruct (d_whole eq_refl) as [k ->]. apply ceiling_whole.
Qed.

End LevelLoses.

(* At most L comparisons of one person, of any pairs, or of different ones. *)
Definition upto (n L : nat) (once : bool) (l : list game) : Prop :=
  Forall (valid n) l /\ (length l <= L)%nat /\ (once = true -> NoDup (map pair_of l)).

(* One person more or less, beside m others. *)
Definition joined {P} (m : nat) (ok : P -> Prop) (x y : list P) : Prop :=
  exists p rest, ok p /\ Forall ok rest /\ length rest = m /\
    (Permutation x (p :: rest) /\ Permutation y rest \/
     Permutation y (p :: rest) /\ Permutation x rest).

(* Beside m people who all say the same. *)
Lemma all_same : forall P (ok : P -> Prop) r m, ok r -> Forall ok (repeat r m).
Proof. intros P ok r m Hr. apply Forall_forall. intros a H. apply repeat_spec in H. congruence. Qed.

Lemma replaced_beside : forall P (ok : P -> Prop) p q r m, ok p -> ok q -> ok r ->
  replaced m ok (p :: repeat r m) (q :: repeat r m).
Proof.
  intros P ok p q r m Hp Hq Hr. exists p, q, (repeat r m).
  do 2 (split; [assumption|]). split; [apply all_same; assumption|].
  split; [apply repeat_length|split; reflexivity].
Qed.

Lemma joined_beside : forall P (ok : P -> Prop) p r m, ok p -> ok r ->
  joined m ok (p :: repeat r m) (repeat r m).
Proof.
  intros P ok p r m Hp Hr. exists p, (repeat r m). split; [assumption|].
  split; [apply all_same; assumption|]. split; [apply repeat_length|left; split; reflexivity].
Qed.

Lemma wins_whole : forall l i, whole (wins l i).
Proof.
  intros. apply whole_sum. intros g. unfold won. destruct (Nat.eqb _ _).
  - exists 1%Z. reflexivity.
  - exists 0%Z. reflexivity.
Qed.

Lemma score_whole : forall n s i, whole (score n s i).
Proof. intros. apply whole_sum. intros. apply whole_bit. Qed.

Lemma net_whole : forall n s i, whole (net n s i).
Proof. intros. apply whole_sum. intros. apply whole_minus; apply whole_bit. Qed.

Lemma move_total : forall P (f : P -> nat -> R) p q rest x y,
  Permutation x (p :: rest) -> Permutation y (q :: rest) ->
  move (total f x) (total f y) = move (f p) (f q).
Proof. intros. extensionality i. apply total_moves with rest; assumption. Qed.

Lemma move_joined : forall P (f : P -> nat -> R) p rest x y,
  Permutation x (p :: rest) -> Permutation y rest -> move (total f x) (total f y) = f p.
Proof.
  intros P f p rest x y X Y. extensionality i. unfold move, total.
  rewrite (sum_permutation _ _ x _ X), (sum_permutation _ _ y _ Y). simpl. lra.
Qed.

(* Of the first item's level the largest move is seen. *)
Lemma level_first : forall n capacity look x, (1 <= n)%nat -> 0 < capacity 1 ->
  look (x 0%nat) / capacity 1 <= level n capacity look x.
Proof.
  intros n capacity look x H pos. apply Rmult_le_reg_r with (1 := pos).
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  rewrite <- (first_count n H), <- (first_part n x H). apply level_ge.
  rewrite first_count; assumption.
Qed.

(* L wins of the first item: over one other, or over L others. *)
Definition star (repeats : bool) (L : nat) : list game :=
  map (fun j => (0, if repeats then 1 else S j)%nat) (seq 0 L).

Lemma star_upto : forall n L (repeats : bool), (2 <= n)%nat -> (if repeats then True else (L < n)%nat) ->
  upto n L (negb repeats) (star repeats L).
Proof.
  intros n L repeats H few. unfold star. repeat split.
  - apply Forall_forall. intros g K. apply in_map_iff in K as (j & <- & K). apply in_seq in K.
    destruct repeats; unfold valid; simpl; lia.
  - rewrite map_length, seq_length. lia.
  - intros once. destruct repeats; [discriminate|]. rewrite map_map. unfold pair_of. simpl.
    apply FinFun.Injective_map_NoDup; [|apply seq_NoDup]. intros i j E. congruence.
Qed.

Lemma star_wins : forall L repeats, wins (star repeats L) 0%nat = INR L.
Proof.
  intros. unfold wins, total, star. rewrite sum_map, (sum_ext _ (fun _ => 1)) by reflexivity.
  rewrite sum_const, seq_length. ring.
Qed.

Section Units.
Variables (n m : nat) (unit b : R).
Hypothesis two : (2 <= n)%nat.
Hypothesis unit_positive : 0 < unit.
Hypothesis b_positive : 0 < b.

Definition noisy {D} (sum0 up : bool) g (f : D -> nat -> R) (x : D) :=
  shaped n unit sum0 (rounded up g) b (f x).

Lemma one_whole : whole 1. Proof. exists 1%Z. reflexivity. Qed.

Lemma n_large : 0 < INR n - 1.
Proof. pose proof (le_INR _ _ two) as H. simpl in H. lra. Qed.

(* One comparison, flipped or exchanged. *)
Lemma edge_loses : loses (edge n) (noisy true true (root n) wins) (1 / b).
Proof.
  assert (forall x y, edge n x y -> forall S, -1 <= part n S (move (wins x) (wins y)) <= 1
    /\ range_sum n (move (wins x) (wins y)) = 0) as K.
  { intros x y H S. destruct (edge_games n x y H) as (g & h & rest & G & G' & X & Y).
    unfold wins. rewrite (move_total _ won g h rest x y X Y), <- everyone_part, !part_minus.
    rewrite !won_part by assumption. pose proof (bit_bounds (S (fst g))).
    pose proof (bit_bounds (S (fst h))). unfold everyone. simpl. lra. }
  apply level_loses; auto using plain_sum, one_whole.
  - intros x y H. apply level_le; [lra|]. intros S _. unfold plain. destruct (K x y H S). lra.
  - intros x y H _. apply (K x y H everyone).
  - exists [(0, 1)%nat], [(1, 0)%nat]. split; [apply edge_flip; assumption|].
    split; [apply wins_whole|].
    eapply Rle_trans; [|apply level_first; [lia|lra]]. unfold plain, move, wins, total, won.
    simpl. lra.
Qed.

(* Up to L comparisons of one person; the level has steps of 1/L and is not rounded. *)
Lemma upto_loses : forall L repeats, (1 <= L)%nat -> (if repeats : bool then True else (L < n)%nat) ->
  loses (replaced m (upto n L (negb repeats))) (noisy false false (root_free n L) (total wins)) (1 / b).
Proof.
  intros L repeats pos few. apply lt_0_INR in pos.
  apply level_loses; auto using Rabs_triang, Rabs_R0; try discriminate.
  - intros x y (p & q & rest & (P & lp & _) & (Q & lq & _) & _ & _ & X & Y).
    rewrite (move_total _ wins p q rest x y X Y). apply level_le; [lra|]. intros S _.
    rewrite part_minus. pose proof (wins_part n S p P). pose proof (wins_part n S q Q).
    apply le_INR in lp, lq. apply Rabs_le. lra.
  - exists (star repeats L :: repeat [] m), ([] :: repeat [] m).
    assert (upto n L (negb repeats) []) as none
      by (repeat split; [constructor|simpl; lia|intros; constructor]).
    split; [apply replaced_beside; auto using star_upto|split].
    + intros. apply whole_sum. intros. apply wins_whole.
    + eapply Rle_trans; [|apply level_first; [lia|assumption]].
      rewrite (move_total _ wins (star repeats L) [] (repeat [] m)) by reflexivity.
      unfold move. rewrite star_wins. unfold wins, total. simpl. rewrite Rminus_0_r, Rabs_right by lra.
      right. field. lra.
Qed.

(* Every pair once, or a ranking. *)
Lemma sheet_loses : forall ok, ok = decided \/ ok = ranking ->
  loses (replaced m ok) (noisy true true (zonotope n) (total (score n))) (1 / b).
Proof.
  intros ok kind. assert (forall s, ok s -> decided s) as dec
    by (intros; destruct kind; subst; auto using ranking_decided).
  assert (ok up /\ ok down) as [okup okdown]
    by (destruct kind; subst; auto using ranking_decided, up_ranking, down_ranking).
  pose proof n_large as large.
  assert (forall S, 0 <= count n S * (INR n - count n S)) as caps.
  { intros S. destruct (count_nat n S) as (k & le & ->). apply le_INR in le. pose proof (pos_INR k).
    apply Rmult_le_pos; lra. }
  apply level_loses; auto using plain_sum, one_whole.
  - intros x y (p & q & rest & P & Q & _ & _ & X & Y).
    rewrite (move_total _ (score n) p q rest x y X Y). apply level_le; [lra|]. intros S _.
    unfold plain. rewrite Rmult_1_l. apply sheet_gain; auto.
  - intros x y (p & q & rest & P & Q & _ & _ & X & Y) _.
    rewrite (move_total _ (score n) p q rest x y X Y).
    apply bounds_cancel; intros S; [apply sheet_gain; auto|].
    pose proof (sheet_gain n S q p ltac:(auto) ltac:(auto)) as K. rewrite part_minus in *. lra.
  - exists (up :: repeat up m), (down :: repeat up m). split; [apply replaced_beside; assumption|split].
    + intros. apply whole_sum. intros. apply score_whole.
    + eapply Rle_trans; [|apply level_first; [lia|lra]].
      rewrite (move_total _ (score n) up down (repeat up m)) by reflexivity.
      unfold move, plain. rewrite reversed by lia. simpl. right. field. lra.
Qed.

(* A ranking more or less, in wins minus losses. *)
Lemma join_loses :
  loses (joined m ranking) (noisy true true (zonotope n) (total (net n))) (1 / b).
Proof.
  pose proof n_large as large.
  assert (forall x y, joined m ranking x y -> exists s, move (total (net n) x) (total (net n) y) = net n s)
    as moves.
  { intros x y (p & rest & _ & _ & _ & [[X Y]|[X Y]]).
    - exists p. apply move_joined with rest; assumption.
    - exists (fun i j => p j i). extensionality i. pose proof (move_joined _ (net n) p rest y x X Y) as K.
      apply f_equal with (f := fun v => v i) in K. unfold move in *.
      replace (total (net n) x i - total (net n) y i) with (- net n p i) by lra.
      unfold net, range_sum. rewrite (sum_ext (fun j => bit (p j i) - bit (p i j))
        (fun j => -1 * (bit (p i j) - bit (p j i)))) by (intros; ring). rewrite sum_scale. ring. }
  apply level_loses; auto using plain_sum, one_whole.
  - intros x y H. destruct (moves x y H) as [s ->]. apply level_le; [lra|]. intros S _.
    unfold plain. rewrite Rmult_1_l. apply sheet_net_gain.
  - intros x y H _. destruct (moves x y H) as [s ->]. apply bounds_cancel; intros S; apply (sheet_net_gain n S s).
  - exists (up :: repeat up m), (repeat up m). split; [apply joined_beside; apply up_ranking|split].
    + intros. apply whole_sum. intros. apply net_whole.
    + eapply Rle_trans; [|apply level_first; [lia|lra]].
      rewrite (move_joined _ (net n) up (repeat up m)) by reflexivity. unfold plain.
      replace (net n up 0%nat) with (score n up 0%nat - score n down 0%nat).
      * rewrite reversed by lia. simpl. right. field. lra.
      * unfold score, net, range_sum. rewrite <- sum_minus. reflexivity.
Qed.

(* Every pair once, or skipped. *)
Lemma skip_loses :
  loses (replaced m partial) (noisy false true (zonotope_free n) (total (score n))) (1 / b).
Proof.
  pose proof n_large as large.
  assert (partial up /\ partial down) as [okup okdown]
    by (split; apply decided_partial, ranking_decided; auto using up_ranking, down_ranking).
  apply level_loses; auto using Rabs_triang, Rabs_R0, one_whole; try discriminate.
  - intros x y (p & q & rest & P & Q & _ & _ & X & Y).
    rewrite (move_total _ (score n) p q rest x y X Y). apply level_le; [lra|]. intros S _.
    rewrite Rmult_1_l. pose proof (skip_gain n S p q P Q) as A.
    pose proof (skip_gain n S q p Q P) as B. rewrite part_minus in *. apply Rabs_le. lra.
  - exists (up :: repeat up m), (down :: repeat up m). split; [apply replaced_beside; assumption|split].
    + intros. apply whole_sum. intros. apply score_whole.
    + eapply Rle_trans; [|apply level_first; [lia|lra]].
      rewrite (move_total _ (score n) up down (repeat up m)) by reflexivity.
      unfold move. rewrite reversed by lia. rewrite Rabs_right by (simpl; lra).
      simpl. right. field. lra.
Qed.

End Units.

(* CLAIM BOOK-KNORM.  For every n, L, number m of other people and epsilon: win counts, or wins minus
   losses, plus whole noise of weight exp(-c epsilon level), rounded up but for at most L comparisons,
   are private for epsilon, and for no smaller one.  The constant c is 1. *)
Definition knorm_says (c : R) : Prop := forall (n m L : nat) (repeats : bool) (unit epsilon : R),
  (2 <= n)%nat -> (1 <= L)%nat -> (if repeats then True else (L < n)%nat) -> 0 < unit ->
  0 < epsilon -> let b := / (c * epsilon) in
  loses (edge n) (noisy n unit b true true (root n) wins) epsilon /\
  loses (replaced m (upto n L (negb repeats)))
    (noisy n unit b false false (root_free n L) (total wins)) epsilon /\
  (forall ok, ok = decided \/ ok = ranking ->
    loses (replaced m ok) (noisy n unit b true true (zonotope n) (total (score n))) epsilon) /\
  loses (joined m ranking) (noisy n unit b true true (zonotope n) (total (net n))) epsilon /\
  loses (replaced m partial)
    (noisy n unit b false true (zonotope_free n) (total (score n))) epsilon.

Theorem knorm : knorm_says 1.
Proof.
  intros n m L repeats unit e two one few upos epos b.
  assert (0 < b) as pos by (apply Rinv_0_lt_compat; lra).
  assert (1 / b = e) as E by (unfold b; field; lra). rewrite <- E.
  auto 10 using edge_loses, upto_loses, sheet_loses, join_loses, skip_loses.
Qed.

(* With less noise, or with more, the loss is another one. *)
Theorem knorm_control : forall c, 0 < c -> c <> 1 -> ~ knorm_says c.
Proof.
  intros c pos other H.
  destruct (H 2%nat 0%nat 1%nat true 1 1 ltac:(lia) ltac:(lia) I ltac:(lra) ltac:(lra)) as [K _].
  assert (0 < / (c * 1)) as b by (apply Rinv_0_lt_compat; lra).
  pose proof (edge_loses 2 1 (/ (c * 1)) ltac:(lia) ltac:(lra) b) as L.
  cbv zeta in K.
  replace (1 / / (c * 1)) with c in L by (field; lra).
  pose proof (proj1 (K c) (proj2 (L c) (Rle_refl c))).
  pose proof (proj1 (L 1) (proj2 (K 1) (Rle_refl 1))). lra.
Qed.

(* ------------------------------------------------------------------ answers drawn at random *)

(* Of each person p an answer a with chance w is kept, (a, w) in [kept p], whatever others said; f is
   what it adds to the centre of the noise. *)
Section Drawn.
Context {P A O : Type}.
Variable kept : P -> list (A * R).
Variable f : A -> nat -> R.
Variable noise : (nat -> R) -> O -> R.

Fixpoint drawn (x : list P) (centre : nat -> R) (o : O) : R :=
  match x with
  | [] => noise centre o
  | p :: rest => sum (fun aw => snd aw * drawn rest (plus centre (f (fst aw))) o) (kept p)
  end.

Hypothesis noise_nonneg : forall c o, 0 <= noise c o.
Hypothesis chances : forall p aw, In aw (kept p) -> 0 <= snd aw.
Hypothesis chances_total : forall p, sum snd (kept p) = 1.

Lemma plus_swap : forall c u v, plus (plus c u) v = plus (plus c v) u.
Proof. intros. extensionality i. unfold plus. ring. Qed.

Lemma drawn_nonneg : forall x c o, 0 <= drawn x c o.
Proof.
  induction x as [|p x IH]; intros; simpl; [auto|]. apply sum_nonneg. intros aw H.
  apply Rmult_le_pos; [apply (chances p), H|apply IH].
Qed.

(* A move of the centre costs no more after all answers of others than before. *)
Lemma drawn_move : forall u v k o, (forall c, noise (plus c u) o <= k * noise (plus c v) o) ->
  forall x c, drawn x (plus c u) o <= k * drawn x (plus c v) o.
Proof.
  intros u v k o H. induction x as [|p x IH]; intros c; simpl; [apply H|].
  rewrite <- sum_scale. apply sum_le_in. intros aw K.
  rewrite (plus_swap c u), (plus_swap c v), <- Rmult_assoc, (Rmult_comm k), Rmult_assoc.
  apply Rmult_le_compat_l; [apply (chances p), K|apply IH].
Qed.

(* One person's answers, among those of others.  The two data sets are mixtures of different laws:
   both persons draw, independently, and each pair of draws is compared. *)
Theorem drawn_replaced : forall p q k o, 0 <= k ->
  (forall a b, In a (kept p) -> In b (kept q) ->
    forall c, noise (plus c (f (fst a))) o <= k * noise (plus c (f (fst b))) o) ->
  forall before after c, drawn (before ++ p :: after) c o <= k * drawn (before ++ q :: after) c o.
Proof.
  intros p q k o k0 H before after. induction before as [|r before IH]; intros c; simpl.
  - set (F := fun a : A * R => drawn after (plus c (f (fst a))) o).
    set (Y := sum (fun b => snd b * F b) (kept q)).
    assert (forall l v, sum (fun a : A * R => snd a * v) l = v * sum snd l) as factor.
    { intros l v. rewrite <- sum_scale. apply sum_ext. intros. ring. }
    assert (forall a, In a (kept p) -> F a <= k * Y) as each.
    { intros a K. rewrite <- (Rmult_1_r (F a)), <- (chances_total q), <- factor.
      unfold Y. rewrite <- sum_scale. apply sum_le_in. intros b L.
      replace (k * (snd b * F b)) with (snd b * (k * F b)) by ring.
      apply Rmult_le_compat_l; [apply (chances q), L|]. apply drawn_move. apply H; assumption. }
    change (sum (fun a => snd a * F a) (kept p) <= k * Y).
    rewrite <- (Rmult_1_r (k * Y)), <- (chances_total p), <- factor. apply sum_le_in. intros a K.
    apply Rmult_le_compat_l; [apply (chances p), K|apply each, K].
  - rewrite <- sum_scale. apply sum_le_in. intros aw K.
    rewrite <- Rmult_assoc, (Rmult_comm k), Rmult_assoc.
    apply Rmult_le_compat_l; [apply (chances r), K|apply IH].
Qed.

(* Who surely says what adds nothing might as well not be there. *)
Lemma drawn_absent : forall p a, kept p = [(a, 1)] -> (forall i, f a i = 0) ->
  forall before after c o, drawn (before ++ p :: after) c o = drawn (before ++ after) c o.
Proof.
  intros p a K Z before after. induction before as [|r before IH]; intros c o; simpl.
  - rewrite K. simpl. replace (plus c (f a)) with c; [ring|]. extensionality i. unfold plus.
    rewrite Z. ring.
  - apply sum_ext. intros. rewrite IH. reflexivity.
Qed.

End Drawn.

(* ------------------------------------------------------------------ the parts of a release *)

(* Wins minus losses, and the table of who beat whom, row after row. *)
Definition gain (g : game) (i : nat) : R := won g i - won (swap g) i.
Definition net_wins : list game -> nat -> R := total gain.
Definition cell (n : nat) (g : game) (e : nat) : R := if Nat.eqb (n * fst g + snd g) e then 1 else 0.
Definition table (n : nat) : list game -> nat -> R := total (cell n).

Section Net.
Variable n : nat.

Lemma gain_part : forall S g, valid n g -> part n S (gain g) = bit (S (fst g)) - bit (S (snd g)).
Proof.
  intros S g V. change (gain g) with (move (won g) (won (swap g))). rewrite part_minus, !won_part.
  - reflexivity.
  - destruct V as (A & B & C). repeat split; simpl; auto.
  - exact V.
Qed.

Lemma net_part : forall S l, Forall (valid n) l ->
  part n S (net_wins l) = sum (fun g : game => bit (S (fst g)) - bit (S (snd g))) l.
Proof.
  intros S l V. induction V as [|g l Vg Vl IH].
  - unfold part, range_sum. rewrite (sum_ext _ (fun _ => 0)); [apply sum_zero|].
    intros. unfold net_wins, total. simpl. ring.
  - simpl. rewrite <- IH, <- gain_part by assumption. apply part_plus.
Qed.

(* So many answers move it by so much, ... *)
Lemma net_part_length : forall S l, Forall (valid n) l ->
  - INR (length l) <= part n S (net_wins l) <= INR (length l).
Proof.
  intros S l V. rewrite net_part by assumption. rewrite <- (Rmult_1_r (INR (length l))).
  rewrite <- (sum_const 1 l). split.
  - apply Ropp_le_cancel. rewrite Ropp_involutive.
    replace (- sum (fun g : game => bit (S (fst g)) - bit (S (snd g))) l)
      with (-1 * sum (fun g : game => bit (S (fst g)) - bit (S (snd g))) l) by ring.
    rewrite <- sum_scale. apply sum_le. intros g. destruct (S (fst g)), (S (snd g)); simpl; lra.
  - apply sum_le. intros g. destruct (S (fst g)), (S (snd g)); simpl; lra.
Qed.

(* ... and if they are about different pairs, not by more than there are pairs to meet. *)
Definition says (g : game) (i j : nat) : R := bit (Nat.eqb (fst g) i && Nat.eqb (snd g) j).

Lemma says_once : forall l i j, i <> j -> NoDup (map pair_of l) ->
  0 <= sum (fun g => says g i j + says g j i) l <= 1.
Proof.
  intros l i j ne. set (p := (Nat.min i j, Nat.max i j)).
  assert (forall g, (says g i j + says g j i = 0 \/ says g i j + says g j i = 1 /\ pair_of g = p))
    as one.
  { intros [a b]. unfold says, pair_of, p. simpl.
    destruct (Nat.eqb_spec a i), (Nat.eqb_spec b j), (Nat.eqb_spec a j), (Nat.eqb_spec b i); subst;
      simpl; try contradiction; try (left; lra); right; split; try lra; f_equal; lia. }
  enough (NoDup (map pair_of l) -> 0 <= sum (fun g => says g i j + says g j i) l <= 1
    /\ (~ In p (map pair_of l) -> sum (fun g => says g i j + says g j i) l = 0)) as K
    by (intros D; apply K, D).
  induction l as [|g l IH]; intros D; simpl; [lra|]. inversion D as [|? ? out D']; subst.
  destruct (IH D') as [B Z]. destruct (one g) as [E|[E same]]; rewrite E.
  - split; [lra|]. intros H. rewrite Z by tauto. lra.
  - rewrite Z by (rewrite <- same; assumption). split; [lra|]. tauto.
Qed.

Lemma net_part_once : forall S l, Forall (valid n) l -> NoDup (map pair_of l) ->
  - (count n S * (INR n - count n S)) <= part n S (net_wins l) <= count n S * (INR n - count n S).
Proof.
  intros S l V D. apply net_gain with (z := fun i j => sum (fun g => says g i j - says g j i) l).
  - intros i H. unfold range_sum. rewrite sum_swap. apply sum_ext_in. intros g K.
    rewrite Forall_forall in V. destruct (V g K) as (A & B & _). rewrite sum_minus. unfold gain.
    f_equal.
    + rewrite <- (range_sum_pick n (fun _ => won g i) (snd g) B). apply range_sum_ext. intros j _.
      unfold says, won. destruct (Nat.eqb (fst g) i), (Nat.eqb (snd g) j); reflexivity.
    + rewrite <- (range_sum_pick n (fun _ => won (swap g) i) (fst g) A). apply range_sum_ext.
      intros j _. unfold says, won, swap. simpl.
      destruct (Nat.eqb (fst g) j), (Nat.eqb (snd g) i); reflexivity.
  - intros i j. replace (- sum (fun g => says g i j - says g j i) l)
      with (-1 * sum (fun g => says g i j - says g j i) l) by ring.
    rewrite <- sum_scale. apply sum_ext. intros. ring.
  - intros i j. destruct (Nat.eq_dec i j) as [->|ne].
    + rewrite (sum_ext _ (fun _ => 0)) by (intros; ring). rewrite sum_zero. lra.
    + pose proof (says_once l i j ne D) as K. rewrite sum_plus in K. rewrite sum_minus.
      assert (forall a b, 0 <= sum (fun g => says g a b) l) as pos
        by (intros; apply sum_nonneg; intros; apply bit_bounds).
      pose proof (pos i j). pose proof (pos j i). lra.
Qed.

(* The l1 norm is what the positive entries give, and take, in all. *)
Lemma l1_parts : forall u v, exists S,
  l1 n u v = part n S (move u v) - part n (fun i => negb (S i)) (move u v).
Proof.
  intros u v. exists (fun i => if Rlt_dec 0 (u i - v i) then true else false).
  unfold l1, part, range_sum. rewrite <- sum_minus. apply sum_ext. intros i. unfold move.
  destruct (Rlt_dec 0 (u i - v i)); simpl.
  - rewrite Rabs_right by lra. ring.
  - rewrite Rabs_left1 by lra. ring.
Qed.

Lemma l1_above : forall u v (w : nat -> R), (forall i, -1 <= w i <= 1) ->
  range_sum n (fun i => w i * (u i - v i)) <= l1 n u v.
Proof.
  intros u v w H. apply sum_le. intros i. eapply Rle_trans; [apply Rle_abs|].
  rewrite Rabs_mult. rewrite <- (Rmult_1_l (Rabs (u i - v i))) at 2.
  apply Rmult_le_compat_r; [apply Rabs_pos|]. apply Rabs_le, H.
Qed.

End Net.

(* The answers of the worst case: each is given by one of the first h items over one of the others. *)
Lemma NoDup_app' : forall A (l k : list A), NoDup l -> NoDup k ->
  (forall a, In a l -> ~ In a k) -> NoDup (l ++ k).
Proof.
  intros A l k Hl Hk apart. induction Hl as [|a l out Hl IH]; [exact Hk|]. simpl. constructor.
  - intros H. apply in_app_or in H as [H|H]; [contradiction|]. apply (apart a); simpl; auto.
  - apply IH. intros b H. apply apart. simpl. auto.
Qed.

Lemma NoDup_firstn : forall A (l : list A) k, NoDup l -> NoDup (firstn k l).
Proof.
  intros A l k H. rewrite <- (firstn_skipn k l) in H. revert H. generalize (skipn k l).
  induction (firstn k l) as [|a f IH]; intros s H; [constructor|]. inversion H as [|? ? out D]; subst.
  constructor; [|apply (IH s D)]. intros K. apply out, in_or_app. left. exact K.
Qed.

Lemma firstn_incl : forall A (l : list A) k a, In a (firstn k l) -> In a l.
Proof. intros A l k a H. rewrite <- (firstn_skipn k l). apply in_or_app. left. exact H. Qed.

(* All pairs i < j of n items. *)
Fixpoint all_pairs (n : nat) : list game :=
  match n with O => [] | S m => all_pairs m ++ map (fun i => (i, m)) (seq 0 m) end.

Lemma all_pairs_in : forall n g, In g (all_pairs n) <-> (fst g < snd g < n)%nat.
Proof.
  induction n as [|n IH]; intros [a b]; simpl; [lia|]. rewrite in_app_iff, IH, in_map_iff. simpl.
  split.
  - intros [H|(i & E & H)]; [lia|]. apply in_seq in H. injection E as <- <-. lia.
  - intros H. destruct (Nat.eq_dec b n) as [->|ne]; [right|left; lia].
    exists a. split; [reflexivity|]. apply in_seq. lia.
Qed.

Lemma all_pairs_length : forall n, length (all_pairs n) = (n * (n - 1) / 2)%nat.
Proof.
  intros n. assert (2 * length (all_pairs n) = n * (n - 1))%nat as H.
  { induction n as [|n IH]; [reflexivity|]. simpl all_pairs.
    rewrite app_length, map_length, seq_length. nia. }
  rewrite <- H, Nat.mul_comm, Nat.div_mul; lia.
Qed.

Lemma all_pairs_once : forall n, NoDup (all_pairs n).
Proof.
  induction n as [|n IH]; simpl; [constructor|]. apply NoDup_app'; [exact IH| |].
  - apply FinFun.Injective_map_NoDup; [|apply seq_NoDup]. intros i j E. congruence.
  - intros [a b] H K. apply all_pairs_in in H. apply in_map_iff in K as (i & E & _).
    injection E as <- <-. simpl in H. lia.
Qed.

Lemma across_pairs : forall n h, (h <= n)%nat -> exists l : list game, length l = (h * (n - h))%nat
  /\ NoDup l /\ forall g, In g l -> (fst g < h <= snd g)%nat /\ (snd g < n)%nat.
Proof.
  intros n h le. unfold game. exists (list_prod (seq 0 h) (seq h (n - h))).
  split; [rewrite prod_length, !seq_length; reflexivity|]. split.
  - generalize (seq_NoDup h 0). induction (seq 0 h) as [|a l IH]; intros D; simpl; [constructor|].
    inversion D as [|? ? out D']; subst. apply NoDup_app'; [|apply IH, D'|].
    + apply FinFun.Injective_map_NoDup; [|apply seq_NoDup]. intros i j E. congruence.
    + intros [i j] H K. apply in_map_iff in H as (? & E & _). injection E as <- _.
      apply in_prod_iff in K as [K _]. contradiction.
  - intros [a b] H. apply in_prod_iff in H as [H K]. apply in_seq in H, K. simpl. lia.
Qed.

Lemma ordered_pair : forall l : list game, (forall g, In g l -> (fst g < snd g)%nat) ->
  map pair_of l = l.
Proof.
  induction l as [|[a b] l IH]; intros H; [reflexivity|]. simpl. rewrite IH
    by (intros; apply H; right; assumption). specialize (H (a, b) (or_introl eq_refl)).
  unfold pair_of. simpl in *. rewrite Nat.min_l, Nat.max_r by lia. reflexivity.
Qed.

(* k items of n meet the others in at most n^2/4 pairs, rounded down; half of them do. *)
Lemma quarter : forall n k, (k <= n)%nat -> (k * (n - k) <= n * n / 4)%nat.
Proof.
  intros n k le. apply Nat.div_le_lower_bound; [lia|].
  destruct (Nat.le_exists_sub k n le) as [j [-> _]]. replace (j + k - k)%nat with j by lia.
  destruct (Nat.le_ge_cases j k) as [H|H]; apply Nat.le_exists_sub in H as [a [-> _]]; nia.
Qed.

Lemma halves : forall n, (n / 2 * (n - n / 2) = n * n / 4)%nat.
Proof.
  intros n. apply Nat.le_antisymm; [apply quarter, Nat.div_le_upper_bound; lia|].
  enough (n * n / 4 < n / 2 * (n - n / 2) + 1)%nat by lia. apply Nat.div_lt_upper_bound; [lia|].
  pose proof (Nat.div_mod n 2 ltac:(lia)) as E. pose proof (Nat.mod_upper_bound n 2 ltac:(lia)).
  set (h := (n / 2)%nat) in *. set (r := (n mod 2)%nat) in *. clearbody h r. subst n.
  replace (2 * h + r - h)%nat with (h + r)%nat by lia. nia.
Qed.

(* ------------------------------------------------------------------ the release *)

(* A rule that keeps answers at random: of every person at most L, each about another pair if pairs
   count once; and all of them if these are no more. *)
Definition keeping (n L : nat) (once : bool) (kept : list game -> list (list game * R)) : Prop :=
  forall p, (forall aw, In aw (kept p) -> 0 <= snd aw /\ upto n L once (fst aw))
    /\ sum snd (kept p) = 1 /\ (upto n L once p -> kept p = [(p, 1)]).

Lemma none_upto : forall n L once, upto n L once [].
Proof. intros. split; [constructor|]. split; [simpl; lia|constructor]. Qed.

(* One person's answers become any others, fewer or none; or one person joins or leaves. *)
Inductive neighbours {P} (replace : bool) : list P -> list P -> Prop :=
  | other : forall before after p q, replace = true ->
      neighbours replace (before ++ p :: after) (before ++ q :: after)
  | joins : forall before after p, replace = false ->
      neighbours replace (before ++ after) (before ++ p :: after)
  | leaves : forall before after p, replace = false ->
      neighbours replace (before ++ p :: after) (before ++ after).

Definition release {O} (kept : list game -> list (list game * R)) (f : list game -> nat -> R)
  (noise : (nat -> R) -> O -> R) (x : list (list game)) : O -> R :=
  drawn kept f noise x (fun _ => 0).

Section Release.
Variables (n L : nat) (once replace : bool).
Hypothesis two : (2 <= n)%nat.
Hypothesis some : (1 <= L)%nat.

(* What one person's kept answers may turn into. *)
Definition turned (a b : list game) : Prop :=
  upto n L once a /\ upto n L once b /\ (replace = true \/ a = [] \/ b = []).
Definition changes : nat := if replace then 2 else 1.

Lemma turned_sym : forall a b, turned a b -> turned b a.
Proof. unfold turned. tauto. Qed.

(* The bounds b of the claim. *)
Definition across : nat := if once then Nat.min L (n * n / 4) else L.
Definition inside : nat := if once then Nat.min L (n * (n - 1) / 2) else L.
Definition sheets : nat :=
  let up := ((changes * L + (n - 2)) / (n - 1))%nat in if once then Nat.min changes up else up.

Lemma across_positive : (1 <= across)%nat.
Proof.
  unfold across. destruct once; [|exact some]. apply Nat.min_glb; [exact some|].
  apply Nat.div_le_lower_bound; nia.
Qed.

Lemma inside_positive : (1 <= inside)%nat.
Proof.
  unfold inside. destruct once; [|exact some]. apply Nat.min_glb; [exact some|].
  apply Nat.div_le_lower_bound; nia.
Qed.

Lemma changes_positive : (1 <= changes)%nat.
Proof. unfold changes. destruct replace; lia. Qed.

Lemma sheets_positive : (1 <= sheets)%nat.
Proof.
  assert (1 <= (changes * L + (n - 2)) / (n - 1))%nat as H
    by (apply Nat.div_le_lower_bound; pose proof changes_positive; nia).
  unfold sheets. pose proof changes_positive. destruct once; lia.
Qed.

Lemma net_nothing : forall i, net_wins [] i = 0.
Proof. reflexivity. Qed.

Lemma part_nothing : forall S, part n S (net_wins []) = 0.
Proof. intros. rewrite net_part by constructor. reflexivity. Qed.

(* A set of items gains no more than so much, ... *)
Lemma across_part : forall S a, upto n L once a ->
  - INR across <= part n S (net_wins a) <= INR across.
Proof.
  intros S a (V & le & D). apply le_INR in le. pose proof (net_part_length n S a V).
  unfold across. destruct once; [|lra]. pose proof (net_part_once n S a V (D eq_refl)).
  destruct (count_nat n S) as (k & K & E). rewrite E, <- minus_INR, <- mult_INR in * by lia.
  pose proof (le_INR _ _ (quarter n k K)). destruct (Nat.min_dec L (n * n / 4)) as [-> | ->]; lra.
Qed.

Lemma turned_part : forall S a b, turned a b ->
  - INR (changes * across) <= part n S (move (net_wins a) (net_wins b)) <= INR (changes * across).
Proof.
  intros S a b (A & B & R). rewrite part_minus, mult_INR. unfold changes.
  pose proof (across_part S a A). pose proof (across_part S b B). pose proof (pos_INR across).
  destruct R as [R|[->| ->]]; rewrite ?part_nothing; destruct replace; try discriminate; simpl; lra.
Qed.

Lemma turned_root : forall a b, turned a b ->
  level n (fun _ => 1) plain (move (net_wins a) (net_wins b)) <= INR (changes * across).
Proof.
  intros a b T. apply level_le; [apply pos_INR|]. intros S _. unfold plain.
  pose proof (turned_part S a b T). lra.
Qed.

Lemma turned_zero : forall a b, turned a b -> range_sum n (move (net_wins a) (net_wins b)) = 0.
Proof.
  intros a b (A & B & _). rewrite <- everyone_part, part_minus, !net_part by (apply A || apply B).
  assert (forall l, sum (fun g : game => bit (everyone (fst g)) - bit (everyone (snd g))) l = 0)
    as zero by (intros; rewrite (sum_ext _ (fun _ => 0)); [apply sum_zero|]; intros; simpl; ring).
  rewrite !zero. ring.
Qed.

(* ... and no more than so many whole sheets. *)
Lemma turned_zonotope : forall a b, turned a b ->
  zonotope n (move (net_wins a) (net_wins b)) <= INR sheets.
Proof.
  intros a b T. apply level_le; [apply pos_INR|]. intros S cap. unfold plain.
  destruct (count_nat n S) as (k & K & E).
  assert (1 <= k <= n - 1)%nat as inner.
  { rewrite E in cap. split; [destruct k; [simpl in cap; lra|lia]|].
    destruct (Nat.eq_dec k n) as [->|]; [rewrite Rminus_eq_0 in cap; lra|lia]. }
  assert (n - 1 <= k * (n - k))%nat as wide by nia.
  pose proof (Nat.div_mod (changes * L + (n - 2)) (n - 1) ltac:(lia)) as DM.
  pose proof (Nat.mod_upper_bound (changes * L + (n - 2)) (n - 1) ltac:(lia)) as MB.
  assert (part n S (move (net_wins a) (net_wins b)) <= INR (changes * L)) as few.
  { eapply Rle_trans; [apply turned_part, T|]. apply le_INR. apply Nat.mul_le_mono_l.
    unfold across. destruct once; lia. }
  rewrite E, <- minus_INR, <- mult_INR, <- mult_INR by lia.
  unfold sheets. set (up := ((changes * L + (n - 2)) / (n - 1))%nat) in *.
  assert (INR (changes * L) <= INR (up * (k * (n - k)))) as many
    by (apply le_INR, Nat.le_trans with (up * (n - 1))%nat; nia).
  destruct once eqn:only; [|lra]. destruct (Nat.min_dec changes up) as [-> | ->]; [|lra].
  destruct T as ((A & _ & DA) & (B & _ & DB) & R).
  pose proof (net_part_once n S a A (DA only)) as PA.
  pose proof (net_part_once n S b B (DB only)) as PB.
  rewrite part_minus. rewrite E, <- minus_INR, <- mult_INR in * by lia. rewrite mult_INR.
  pose proof (pos_INR (k * (n - k))). unfold changes.
  destruct R as [R|[->| ->]]; rewrite ?part_nothing in *; destruct replace; try discriminate;
    simpl (INR 2); simpl (INR 1); lra.
Qed.

(* In l1 wins and losses count, or the cells of the table. *)
Lemma turned_l1 : forall a b, turned a b ->
  l1 n (net_wins a) (net_wins b) <= 2 * INR (changes * across).
Proof.
  intros a b T. destruct (l1_parts n (net_wins a) (net_wins b)) as [S ->].
  pose proof (turned_part S a b T). pose proof (turned_part (fun i => negb (S i)) a b T). lra.
Qed.

Lemma inside_length : forall a, upto n L once a -> (length a <= inside)%nat.
Proof.
  intros a (V & le & D). unfold inside. destruct once; [|exact le].
  apply Nat.min_glb; [exact le|]. rewrite <- all_pairs_length, <- (map_length pair_of).
  apply NoDup_incl_length; [apply D; reflexivity|]. intros p H. apply in_map_iff in H as (g & <- & H).
  rewrite Forall_forall in V. destruct (V g H) as (A & B & C). apply all_pairs_in.
  unfold pair_of. simpl. lia.
Qed.

Lemma cell_sum : forall (w : nat -> R) a, Forall (valid n) a ->
  range_sum (n * n) (fun i => w i * table n a i) = sum (fun g : game => w (n * fst g + snd g)%nat) a.
Proof.
  intros w a V. unfold table, total.
  rewrite (range_sum_ext _ _ (fun i => sum (fun g => w i * cell n g i) a))
    by (intros; rewrite sum_scale; reflexivity).
  unfold range_sum. rewrite sum_swap. apply sum_ext_in. intros g H. rewrite Forall_forall in V.
  destruct (V g H) as (A & B & _). rewrite <- (range_sum_pick (n * n) w) by nia.
  apply range_sum_ext. intros i _. unfold cell. destruct (Nat.eqb _ i); ring.
Qed.

Lemma table_nonneg : forall a i, 0 <= table n a i.
Proof. intros. apply sum_nonneg. intros g _. unfold cell. destruct (Nat.eqb _ _); lra. Qed.

Lemma turned_table : forall a b, turned a b ->
  l1 (n * n) (table n a) (table n b) <= INR (changes * inside).
Proof.
  intros a b (A & B & R). apply Rle_trans with (INR (length a) + INR (length b)).
  - assert (forall l, Forall (valid n) l -> INR (length l) = range_sum (n * n) (table n l)) as E.
    { intros l V. pose proof (cell_sum (fun _ => 1) l V) as K. cbv beta in K.
      rewrite sum_const, Rmult_1_r in K. etransitivity; [symmetry; exact K|].
      apply sum_ext. intros. ring. }
    rewrite (E a), (E b) by (apply A || apply B). unfold l1, range_sum. rewrite <- sum_plus.
    apply sum_le. intros i. pose proof (table_nonneg a i). pose proof (table_nonneg b i).
    apply Rabs_le. lra.
  - pose proof (inside_length a A) as LA. pose proof (inside_length b B) as LB.
    apply le_INR in LA, LB. rewrite mult_INR. unfold changes. pose proof (pos_INR inside).
    destruct R as [R|[->| ->]]; destruct replace; try discriminate; simpl in *; lra.
Qed.

(* The worst cases: answers across two halves, and the same ones turned round. *)
Lemma swap_upto : forall a, upto n L once a -> upto n L once (map swap a).
Proof.
  intros a (V & le & D). split; [|split].
  - apply Forall_map. eapply Forall_impl; [|exact V]. intros g (A & B & C).
    unfold valid. simpl. auto.
  - rewrite map_length. exact le.
  - intros O. rewrite map_map, (map_ext _ pair_of); [apply D, O|]. intros g. unfold pair_of, swap.
    simpl. f_equal; [apply Nat.min_comm|apply Nat.max_comm].
Qed.

(* [across] answers from the items below h to the others. *)
Lemma across_answers : exists h a, upto n L once a /\ length a = across /\
  forall g, In g a -> (fst g < h <= snd g)%nat.
Proof.
  unfold across. destruct once eqn:only.
  - destruct (across_pairs n (n / 2) ltac:(apply Nat.div_le_upper_bound; lia)) as (l & len & D & H).
    rewrite halves in len. exists (n / 2)%nat, (firstn (Nat.min L (n * n / 4)) l).
    assert (forall g, In g (firstn (Nat.min L (n * n / 4)) l) ->
      (fst g < n / 2 <= snd g)%nat /\ (snd g < n)%nat) as K
      by (intros g G; apply H, (firstn_incl _ l _ g G)).
    split; [|split; [rewrite firstn_length; lia|apply K]]. split; [|split].
    + apply Forall_forall. intros g G. specialize (K g G). unfold valid. lia.
    + rewrite firstn_length. lia.
    + intros _. rewrite ordered_pair; [apply NoDup_firstn, D|]. intros g G. specialize (K g G). lia.
  - exists 1%nat, (repeat (0, 1)%nat L). split; [|split; [apply repeat_length|]].
    + split; [|split; [rewrite repeat_length; lia|discriminate]].
      apply Forall_forall. intros g G. apply repeat_spec in G. subst. unfold valid. simpl. lia.
    + intros g G. apply repeat_spec in G. subst. simpl. lia.
Qed.

(* [inside] answers of the smaller item over the larger one. *)
Lemma inside_answers : exists a, upto n L once a /\ length a = inside /\
  forall g, In g a -> (fst g < snd g)%nat.
Proof.
  unfold inside. destruct once eqn:only.
  - exists (firstn (Nat.min L (n * (n - 1) / 2)) (all_pairs n)).
    assert (forall g, In g (firstn (Nat.min L (n * (n - 1) / 2)) (all_pairs n)) ->
      (fst g < snd g < n)%nat) as K by (intros g G; apply all_pairs_in, (firstn_incl _ _ _ g G)).
    split; [|split; [rewrite firstn_length, all_pairs_length; lia|apply K]]. split; [|split].
    + apply Forall_forall. intros g G. specialize (K g G). unfold valid. lia.
    + rewrite firstn_length. lia.
    + intros _. rewrite ordered_pair; [apply NoDup_firstn, all_pairs_once|].
      intros g G. specialize (K g G). lia.
  - exists (repeat (0, 1)%nat L). split; [|split; [apply repeat_length|]].
    + split; [|split; [rewrite repeat_length; lia|discriminate]].
      apply Forall_forall. intros g G. apply repeat_spec in G. subst. unfold valid. simpl. lia.
    + intros g G. apply repeat_spec in G. subst. simpl. lia.
Qed.

Section Any.
Context {O : Type}.
Variable kept : list game -> list (list game * R).
Hypothesis rule : keeping n L once kept.
Variables (f : list game -> nat -> R) (noise : (nat -> R) -> O -> R) (e : R).
Hypothesis noise_nonneg : forall c o, 0 <= noise c o.
Hypothesis nothing : forall i, f [] i = 0.
Hypothesis safe : forall a b, turned a b ->
  forall c o, noise (plus c (f a)) o <= exp e * noise (plus c (f b)) o.

Lemma release_private : private (neighbours replace) e (release kept f noise).
Proof.
  assert (forall p aw, In aw (kept p) -> 0 <= snd aw) as chances
    by (intros p aw H; apply rule in H; tauto).
  assert (forall p, sum snd (kept p) = 1) as sums by (intros; apply rule).
  assert (kept [] = [([], 1)]) as alone by (apply rule, none_upto).
  pose proof (exp_pos e) as E. intros x y o close. unfold release.
  destruct close as [before after p q R|before after p R|before after p R].
  - apply drawn_replaced; auto; [lra|]. intros a b A B c. apply safe.
    split; [apply (rule p), A|]. split; [apply (rule q), B|]. auto.
  - rewrite <- (drawn_absent kept f noise [] [] alone nothing before after).
    apply drawn_replaced; auto; [lra|]. intros a b A B c. apply safe.
    rewrite alone in A. destruct A as [<-|[]]. split; [apply none_upto|].
    split; [apply (rule p), B|]. auto.
  - rewrite <- (drawn_absent kept f noise [] [] alone nothing before after).
    apply drawn_replaced; auto; [lra|]. intros a b A B c. apply safe.
    rewrite alone in B. destruct B as [<-|[]]. split; [apply (rule p), A|].
    split; [apply none_upto|]. auto.
Qed.

Lemma release_loses :
  (exists a b o, upto n L once a /\ upto n L once b /\ (replace = true \/ b = []) /\
    0 < noise (f b) o /\ noise (f a) o = exp e * noise (f b) o) ->
  loses (neighbours replace) (release kept f noise) e.
Proof.
  intros (a & b & o & A & B & R & pos & equal). apply loses_exactly.
  - intros. apply drawn_nonneg; [assumption|]. intros p aw H. apply rule in H. tauto.
  - apply release_private.
  - assert (forall p, upto n L once p -> release kept f noise [p] o = noise (f p) o) as one.
    { intros p H. unfold release. simpl. destruct (rule p) as (_ & _ & ->); [|exact H]. simpl.
      replace (plus (fun _ => 0) (f p)) with (f p) by (extensionality i; unfold plus; ring). ring. }
    destruct replace.
    + exists [a], [b], o. rewrite !one by assumption.
      split; [apply (other true [] [] a b); reflexivity|auto].
    + destruct R as [R| ->]; [discriminate|]. exists [a], [], o. rewrite one by assumption.
      replace (f []) with (fun _ : nat => 0) in * by (extensionality i; auto).
      split; [apply (leaves false [] [] a); reflexivity|auto].
Qed.

End Any.

(* The four kinds of noise, of any scale b. *)
Section Noises.
Variables (unit b : R) (kept : list game -> list (list game * R)).
Hypothesis unit_positive : 0 < unit.
Hypothesis b_positive : 0 < b.
Hypothesis rule : keeping n L once kept.

Definition reply (a : list game) : list game := if replace then map swap a else [].

Lemma reply_turned : forall a, upto n L once a -> turned a (reply a).
Proof.
  intros a H. unfold turned, reply. destruct replace; auto using swap_upto, none_upto.
Qed.

Lemma reply_far : forall a, upto n L once a ->
  upto n L once a /\ upto n L once (reply a) /\ (replace = true \/ reply a = []).
Proof. intros a H. unfold reply. destruct replace; auto using swap_upto, none_upto. Qed.

Lemma move_shift : forall c u v, move (plus c u) (plus c v) = move u v.
Proof. intros. extensionality i. unfold move, plus. ring. Qed.

Lemma net_whole_wins : forall a i, whole (net_wins a i).
Proof.
  intros. apply whole_sum. intros g. unfold gain, won. apply whole_minus; destruct (Nat.eqb _ _);
    (exists 1%Z; reflexivity) || (exists 0%Z; reflexivity).
Qed.

Lemma net_swap : forall a, net_wins (map swap a) = fun i => - net_wins a i.
Proof.
  intros a. extensionality i. unfold net_wins, total. rewrite sum_map.
  replace (- sum (fun p => gain p i) a) with (-1 * sum (fun p => gain p i) a) by ring.
  rewrite <- sum_scale. apply sum_ext. intros [u v]. unfold gain, swap. simpl. ring.
Qed.

(* What the worst case moves, a set of items and the others. *)
Lemma worst_part : exists S a, upto n L once a /\
  part n S (move (net_wins a) (net_wins (reply a))) = INR (changes * across) /\
  part n (fun i => negb (S i)) (move (net_wins a) (net_wins (reply a))) = - INR (changes * across).
Proof.
  destruct across_answers as (h & a & A & len & H). exists (fun i => Nat.ltb i h), a.
  assert (forall g, In g a -> (fst g <? h)%nat = true /\ (snd g <? h)%nat = false) as sides.
  { intros g G. specialize (H g G). split; [apply Nat.ltb_lt|apply Nat.ltb_ge]; lia. }
  assert (part n (fun i => Nat.ltb i h) (net_wins a) = INR across) as low.
  { rewrite net_part, (sum_same _ _ 1), len by apply A || (intros g G;
      destruct (sides g G) as [-> ->]; simpl; lra). ring. }
  assert (part n (fun i => negb (Nat.ltb i h)) (net_wins a) = - INR across) as high.
  { rewrite net_part, (sum_same _ _ (-1)), len by apply A || (intros g G;
      destruct (sides g G) as [-> ->]; simpl; lra). ring. }
  split; [exact A|]. rewrite !part_minus, mult_INR, low, high. unfold changes, reply.
  destruct replace; rewrite ?part_nothing, ?net_swap, ?part_opp, ?low, ?high; simpl; lra.
Qed.

Lemma root_release :
  loses (neighbours replace) (release kept net_wins (shaped n unit true (root n) b))
    (INR (changes * across) / b).
Proof.
  apply release_loses; [exact rule|intros; apply shaped_nonneg; assumption|apply net_nothing| |].
  - intros x y T c o. apply shaped_private; rewrite ?move_shift; auto using turned_zero.
    intros z. eapply Rle_trans; [apply level_triangle, plain_sum|].
    pose proof (turned_root x y T). unfold root. lra.
  - destruct worst_part as (S & a & A & most & _). destruct (reply_far a A) as (_ & B & R).
    destruct (shaped_attained n unit unit_positive true (root n) b (INR (changes * across))
      (net_wins a) (net_wins (reply a))) as (o & pos & equal).
    + apply level_zero. reflexivity.
    + intros _. apply turned_zero, reply_turned, A.
    + apply net_whole_wins.
    + apply Rle_antisym; [apply turned_root, reply_turned, A|]. rewrite <- most.
      pose proof (level_ge n (fun _ => 1) plain S (move (net_wins a) (net_wins (reply a)))) as K.
      unfold plain in K at 1. unfold root. lra.
    + exists a, (reply a), o. auto.
Qed.

Lemma zonotope_release :
  private (neighbours replace) (INR sheets / b)
    (release kept net_wins (shaped n unit true (rounded true (zonotope n)) b)).
Proof.
  apply release_private; [exact rule|apply net_nothing|].
  intros x y T c o. apply shaped_private; rewrite ?move_shift; auto using turned_zero.
  apply gauge_rises; [apply plain_sum| |apply turned_zonotope, T].
  intros _. exists (Z.of_nat sheets). apply INR_IZR_INZ.
Qed.

(* Discrete Laplace noise on k numbers. *)
Lemma laplace_release : forall k f most, (forall i, f [] i = 0) ->
  (forall x y, turned x y -> l1 k (f x) (f y) <= most) ->
  (exists a, upto n L once a /\ most <= l1 k (f a) (f (reply a))) ->
  loses (neighbours replace) (release kept f (discrete_laplace k b)) (most / b).
Proof.
  intros k f most zero below (a & A & worst). pose proof (discrete_unit_positive b b_positive) as U.
  assert (forall c o, 0 < discrete_laplace k b c o) as pos.
  { intros. apply Rmult_lt_0_compat; [apply pow_lt, U|apply exp_pos]. }
  apply release_loses; [exact rule|intros; left; apply pos|exact zero| |].
  - intros x y T c o. eapply Rle_trans; [apply vector_noise_private; assumption|].
    apply Rmult_le_compat_r; [left; apply pos|]. apply exp_le.
    rewrite (l1_of_difference k _ _ (f x) (f y)) by (intros; unfold plus; ring).
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; assumption|apply below, T].
  - destruct (reply_far a A) as (_ & B & R). exists a, (reply a), (f a).
    assert (l1 k (f a) (f (reply a)) = most) as <-
      by (apply Rle_antisym; [apply below, reply_turned, A|exact worst]).
    split; [exact A|]. split; [exact B|]. split; [exact R|]. split; [apply pos|].
    apply vector_noise_attained. assumption.
Qed.

Lemma net_release :
  loses (neighbours replace) (release kept net_wins (discrete_laplace n b))
    (2 * INR (changes * across) / b).
Proof.
  apply laplace_release; [apply net_nothing|apply turned_l1|].
  destruct worst_part as (S & a & A & most & least). exists a. split; [exact A|].
  eapply Rle_trans; [|apply l1_above with (w := fun i => bit (S i) - bit (negb (S i)))].
  - replace (2 * INR (changes * across)) with (INR (changes * across) - - INR (changes * across))
      by ring. rewrite <- most at 1. rewrite <- least. unfold part, range_sum.
    rewrite <- sum_minus. right. apply sum_ext. intros i. unfold move. ring.
  - intros i. destruct (S i); simpl; lra.
Qed.

Lemma table_release :
  loses (neighbours replace) (release kept (table n) (discrete_laplace (n * n) b))
    (INR (changes * inside) / b).
Proof.
  apply laplace_release; [reflexivity|apply turned_table|].
  destruct inside_answers as (a & A & len & H). exists a. split; [exact A|].
  set (w := fun e => if Nat.ltb (e / n) (e mod n) then 1 else -1).
  assert (forall i j, (j < n)%nat -> w (n * i + j)%nat = if Nat.ltb i j then 1 else -1) as W.
  { intros i j J. unfold w. rewrite (Nat.mul_comm n i), Nat.div_add_l, Nat.div_small by lia.
    rewrite Nat.add_0_r, (Nat.add_comm _ j), Nat.mod_add, Nat.mod_small by lia. reflexivity. }
  eapply Rle_trans; [|apply l1_above with (w := w)].
  - unfold range_sum. rewrite (sum_ext _ (fun e => w e * table n a e - w e * table n (reply a) e))
      by (intros; ring). rewrite sum_minus.
    change (INR (changes * inside) <= range_sum (n * n) (fun e => w e * table n a e)
      - range_sum (n * n) (fun e => w e * table n (reply a) e)).
    destruct (reply_far a A) as ((V & _) & (V' & _) & _).
    rewrite !cell_sum by assumption.
    rewrite Forall_forall in V. rewrite (sum_same _ _ 1 a).
    2: { intros g G. destruct (V g G) as (_ & B & _). rewrite W by exact B.
         replace (fst g <? snd g)%nat with true; [reflexivity|]. symmetry. apply Nat.ltb_lt, H, G. }
    rewrite mult_INR, <- len. unfold changes, reply. destruct replace; [|simpl; lra].
    rewrite sum_map, (sum_same _ _ (-1) a); [simpl; lra|].
    intros g G. destruct (V g G) as (B & _ & _). simpl. rewrite W by exact B.
    replace (snd g <? fst g)%nat with false; [reflexivity|]. symmetry. apply Nat.ltb_ge.
    specialize (H g G). lia.
  - intros e. unfold w. destruct (Nat.ltb _ _); lra.
Qed.

End Noises.

End Release.

(* CLAIM BOOK-RELEASE.  For every n, L and epsilon, every rule that keeps at most L answers of each
   person, and any other people: a release of wins minus losses with K-norm noise of the root level or
   with discrete Laplace noise, and of the table with discrete Laplace noise, of the scales of the
   claim, is private for epsilon and for no smaller one; with the zonotope level, rounded up, it is
   private for epsilon.  All scales times c, which is 1. *)
Definition release_says (c : R) : Prop :=
  forall (n L : nat) (once replace : bool) (unit epsilon : R) kept,
  (2 <= n)%nat -> (1 <= L)%nat -> 0 < unit -> 0 < epsilon -> keeping n L once kept ->
  let near := neighbours replace in
  let r := if replace then 2%nat else 1%nat in
  let wide := if once then Nat.min L (n * n / 4) else L in
  let cells := if once then Nat.min L (n * (n - 1) / 2) else L in
  let up := ((r * L + (n - 2)) / (n - 1))%nat in    (* r L / (n - 1), rounded up *)
  let sheets := if once then Nat.min r up else up in
  let scale s := c * INR s / epsilon in
  loses near (release kept net_wins (shaped n unit true (root n) (scale (r * wide)%nat))) epsilon /\
  private near epsilon
    (release kept net_wins (shaped n unit true (rounded true (zonotope n)) (scale sheets))) /\
  loses near (release kept net_wins (discrete_laplace n (2 * scale (r * wide)%nat))) epsilon /\
  loses near (release kept (table n) (discrete_laplace (n * n) (scale (r * cells)%nat))) epsilon.

Theorem release_private_exactly : release_says 1.
Proof.
  intros n L once replace unit e kept two some upos epos rule near r wide cells up sheets' scale.
  assert (forall s, (1 <= s)%nat -> 0 < scale s /\ INR s / scale s = e) as S.
  { intros s H. apply lt_0_INR in H. unfold scale. rewrite Rmult_1_l.
    split; [apply Rdiv_lt_0_compat; assumption|field; lra]. }
  assert (1 <= r)%nat as rpos by (unfold r; destruct replace; lia).
  pose proof (across_positive n L once two some : 1 <= wide)%nat as wpos.
  pose proof (inside_positive n L once two some : 1 <= cells)%nat as cpos.
  destruct (S (r * wide)%nat ltac:(nia)) as [W W'].
  destruct (S (r * cells)%nat ltac:(nia)) as [C C'].
  destruct (S sheets' (sheets_positive n L once replace two some)) as [U U'].
  split; [|split; [|split]].
  - rewrite <- W'. apply root_release; assumption.
  - rewrite <- U'. apply zonotope_release; assumption.
  - assert (2 * INR (r * wide) / (2 * scale (r * wide)%nat) = e) as E
      by (transitivity (INR (r * wide) / scale (r * wide)%nat); [field; lra|exact W']).
    rewrite <- E. apply net_release; try assumption. lra.
  - rewrite <- C'. apply table_release; assumption.
Qed.

(* Rules exist: for example, whoever gave too much is left out. *)
Lemma upto_dec : forall n L once l, {upto n L once l} + {~ upto n L once l}.
Proof.
  intros n L once l. unfold upto.
  assert (forall g, {valid n g} + {~ valid n g}) as V.
  { intros [a b]. unfold valid. simpl. destruct (lt_dec a n), (lt_dec b n), (Nat.eq_dec a b);
      (left; lia) || (right; lia). }
  assert (forall x y : nat * nat, {x = y} + {x <> y}) as D by (repeat decide equality).
  destruct (Forall_dec _ V l) as [A|A]; [|right; tauto].
  destruct (le_dec (length l) L) as [B|B]; [|right; tauto].
  destruct once; [|left; repeat split; [exact A|exact B|discriminate]].
  destruct (NoDup_dec D (map pair_of l)) as [C|C]; [left; auto|right; tauto].
Qed.

Lemma some_rule : forall n L once, keeping n L once
  (fun p => if upto_dec n L once p then [(p, 1)] else [([], 1)]).
Proof.
  intros n L once p. destruct (upto_dec n L once p) as [A|A]; simpl.
  - split; [intros aw [<-|[]]; simpl; split; [lra|exact A]|]. split; [lra|auto].
  - split; [intros aw [<-|[]]; simpl; split; [lra|apply none_upto]|]. split; [lra|contradiction].
Qed.

(* With less noise, or with more, the loss is another one. *)
Theorem release_control : forall c, 0 < c -> c <> 1 -> ~ release_says c.
Proof.
  intros c pos other H. pose proof (some_rule 2 1 false) as rule.
  destruct (H 2%nat 1%nat false true 1 1 _ ltac:(lia) ltac:(lia) ltac:(lra) ltac:(lra) rule)
    as [K _]. simpl in K. replace (c * (1 + 1) / 1) with (2 * c) in K by field.
  pose proof (root_release 2 1 false true ltac:(lia) ltac:(lia) 1 (2 * c) _ ltac:(lra) ltac:(lra)
    rule) as L. replace (INR (changes true * across 2 1 false) / (2 * c)) with (/ c) in L
    by (simpl; field; lra).
  pose proof (proj1 (K (/ c)) (proj2 (L (/ c)) (Rle_refl _))) as A.
  pose proof (proj1 (L 1) (proj2 (K 1) (Rle_refl _))) as B.
  apply other. assert (/ c = 1) as E by lra.
  rewrite <- (Rinv_involutive c), E, Rinv_1; lra.
Qed.
