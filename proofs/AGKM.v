(* Alabi, Ghazi, Kumar and Manurangsi, Private rank aggregation in central and local models
   (2022).

   Proved, for all numbers n of items and m of people: Fact 2 with each pair counted once, and
   Theorem 1 (Reduction I) with it; the l1 sensitivity of all fractions, which says exactly which
   Laplace noise keeps epsilon (Corollary 3); the exponential mechanism over all rankings, its
   privacy and its error.

   Not in it: polynomial time, Gaussian noise, approximation schemes, how random numbers are
   drawn. *)
Require Import Reals Lra Lia List Bool.
From Ranking Require Import Privacy Selection.
From Ranking Require XSC.
Import XSC(ranking, pairs, in_pairs).
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ rankings, pairs, tables *)

(* The place of each item; items and places are 0, ..., n - 1. *)
Definition places := nat -> nat.
Definition choose2 (n : nat) : R := INR n * (INR n - 1) / 2.

Definition bit (b : bool) : R := if b then 1 else 0.
Definition before (r : places) (i j : nat) : bool := Nat.ltb (r i) (r j).
Definition kendall (n : nat) (r s : places) : R :=
  sum (fun '(i, j) => if eqb (before r i j) (before s i j) then 0 else 1) (pairs n).

(* w i j is the share for i before j; a ranking pays w j i for putting i before j. *)
Definition table := nat -> nat -> R.
Definition paired (n : nat) (w : table) : Prop := forall i j, (i < n)%nat -> (j < n)%nat ->
  i <> j -> w i j + w j i = 1.
Definition shares (n : nat) (w : table) : Prop := forall i j, (i < n)%nat -> (j < n)%nat ->
  i <> j -> 0 <= w i j <= 1 /\ w i j + w j i = 1.

Lemma shares_paired : forall n w, shares n w -> paired n w.
Proof. intros n w W i j I J D. apply W; assumption. Qed.

Definition score (n : nat) (w : table) (r : places) : R :=
  sum (fun '(i, j) => if before r i j then w j i else w i j) (pairs n).

(* The share of the people who put i before j, and the mean distance to their rankings. *)
Definition fraction (people : list places) : table := fun i j =>
  sum (fun r => bit (before r i j)) people / INR (length people).
Definition mean_kendall (n : nat) (people : list places) (r : places) : R :=
  sum (kendall n r) people / INR (length people).

(* One of m rankings is replaced. *)
Definition replaced (n m : nat) (x y : list places) : Prop := exists a b r s,
  x = a ++ r :: b /\ y = a ++ s :: b /\ length x = m /\
  Forall (ranking n) x /\ Forall (ranking n) y.

Lemma pairs_length : forall n, INR (length (pairs n)) = choose2 n.
Proof.
  unfold choose2. induction n as [|n IH]; [simpl; lra|]. simpl pairs.
  rewrite app_length, map_length, seq_length, plus_INR, IH, S_INR. lra.
Qed.

Lemma pairs_le : forall n f g, (forall i j, (i < j < n)%nat -> f (i, j) <= g (i, j)) ->
  sum f (pairs n) <= sum g (pairs n).
Proof. intros n f g H. apply sum_le_in. intros [i j] K. apply in_pairs in K. auto. Qed.

Lemma pairs_ext : forall n f g, (forall i j, (i < j < n)%nat -> f (i, j) = g (i, j)) ->
  sum f (pairs n) = sum g (pairs n).
Proof. intros n f g H. apply sum_ext_in. intros [i j] K. apply in_pairs in K. auto. Qed.

(* A square of numbers: both sides of its diagonal, and the diagonal. *)
Lemma square_sum : forall n (f : nat -> nat -> R), range_sum n (fun i => range_sum n (f i))
  = sum (fun '(i, j) => f i j + f j i) (pairs n) + range_sum n (fun i => f i i).
Proof.
  unfold range_sum. induction n as [|n IH]; intros f; [simpl; lra|]. rewrite seq_S. simpl pairs.
  rewrite !sum_app, sum_map. simpl. rewrite (sum_ext _ (fun i => sum (f i) (seq 0 n) + f i n))
    by (intros; rewrite sum_app; simpl; lra). rewrite sum_plus, IH, sum_app. simpl.
  rewrite sum_plus. lra.
Qed.

Lemma before_other : forall n r i j, ranking n r -> (i < n)%nat -> (j < n)%nat -> i <> j ->
  before r j i = negb (before r i j).
Proof.
  intros n r i j [_ once] I J D. unfold before.
  assert (r i <> r j) by (intros E; apply D, once; assumption).
  destruct (Nat.ltb_spec (r i) (r j)), (Nat.ltb_spec (r j) (r i)); simpl; lia.
Qed.

(* Which of two places comes first, in each comparison of the goal. *)
Ltac compare_places := unfold before; repeat match goal with
  |- context [Nat.ltb ?a ?b] => destruct (Nat.ltb_spec a b) end; simpl; try lia; try lra.

Lemma people_positive : forall people : list places, people <> [] -> 0 < INR (length people).
Proof. intros [|r people] H; [congruence|apply lt_0_INR; simpl; lia]. Qed.

Section People.
Variables (n : nat) (people : list places).
Hypothesis rank : Forall (ranking n) people.
Hypothesis some : people <> [].

Lemma fraction_shares : shares n (fraction people).
Proof.
  intros i j I J D. pose proof (people_positive people some) as P. unfold fraction.
  assert (forall k l, 0 <= sum (fun r => bit (before r k l)) people / INR (length people)) as N.
  { intros. apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat, P]. apply sum_nonneg. intros r _.
    destruct (before r k l); simpl; lra. }
  pose proof (N i j). pose proof (N j i). rewrite Forall_forall in rank. unfold Rdiv in *.
  enough (sum (fun r => bit (before r i j)) people + sum (fun r => bit (before r j i)) people
    = INR (length people)) as E by (apply (f_equal (Rmult (/ INR (length people)))) in E;
    rewrite Rinv_l in E; lra). rewrite <- sum_plus, <- (Rmult_1_r (INR _)), <- sum_const.
  apply sum_ext_in. intros r K. rewrite (before_other n r i j) by auto.
  destruct (before r i j); simpl; lra.
Qed.

Theorem score_mean : forall s, ranking n s -> score n (fraction people) s = mean_kendall n people s.
Proof.
  intros s S. unfold score, mean_kendall, kendall, fraction. rewrite sum_swap. unfold Rdiv.
  rewrite Rmult_comm, <- sum_scale. apply pairs_ext. intros i j H. rewrite (Rmult_comm (/ _)).
  rewrite Forall_forall in rank. destruct (before s i j); f_equal; apply sum_ext_in; intros r K;
    rewrite ?(before_other n r i j) by (auto; lia); destruct (before r i j); reflexivity.
Qed.

End People.

(* ------------------------------------------------------------------ Fact 2 *)

(* Fact 2.  The error of a score is at most k times the sum of the errors of the pairs i < j,
   for all tables with w_ij + w_ji = 1, in [0, 1] or not: with k = 1, where the paper has k = 2;
   for some it is that sum, with errors of any size, and for shares up to 1, for each n and each
   ranking.  For tables without w_ij + w_ji = 1 the sum over all ordered pairs is a bound. *)
Definition fact_two_says (k : R) : Prop := forall n r,
  (forall w v, paired n w -> paired n v -> Rabs (score n w r - score n v r)
    <= k * sum (fun '(i, j) => Rabs (w i j - v i j)) (pairs n)) /\
  (forall w v, Rabs (score n w r - score n v r)
    <= sum (fun '(i, j) => Rabs (w i j - v i j) + Rabs (w j i - v j i)) (pairs n)) /\
  (forall e, ranking n r -> 0 <= e -> exists w v,
    shares n w /\ paired n v /\ (e <= 1 -> shares n v) /\
    (forall i j, (i < j < n)%nat -> Rabs (w i j - v i j) = e) /\
    Rabs (score n w r - score n v r) = choose2 n * e).

Lemma score_moves : forall n r w v, paired n w -> paired n v ->
  Rabs (score n w r - score n v r) <= sum (fun '(i, j) => Rabs (w i j - v i j)) (pairs n).
Proof.
  intros n r w v W V. unfold score. rewrite <- sum_minus. eapply Rle_trans; [apply sum_abs|].
  apply pairs_le. intros i j H. destruct (before r i j); [|lra].
  pose proof (W i j ltac:(lia) ltac:(lia) ltac:(lia)).
  pose proof (V i j ltac:(lia) ltac:(lia) ltac:(lia)).
  replace (w j i - v j i) with (- (w i j - v i j)) by lra. rewrite Rabs_Ropp. lra.
Qed.

Theorem fact_two : fact_two_says 1.
Proof.
  intros n r. split; [|split].
  - intros w v W V. rewrite Rmult_1_l. apply score_moves; assumption.
  - intros w v. unfold score. rewrite <- sum_minus. eapply Rle_trans; [apply sum_abs|].
    apply pairs_le. intros i j H. pose proof (Rabs_pos (w i j - v i j)).
    pose proof (Rabs_pos (w j i - v j i)). destruct (before r i j); lra.
  - intros e rank He. exists (fun i j => bit (before r i j)).
    exists (fun i j => if before r i j then 1 - e else e). unfold paired. repeat split; intros;
      try (rewrite (before_other n r i j) by assumption); try (destruct (before r i j); simpl; lra).
    + destruct (before r i j); simpl; [|rewrite Rabs_minus_sym]; rewrite Rabs_pos_eq; lra.
    + unfold score. rewrite <- sum_minus, <- pairs_length, <- sum_const, <- (Rabs_Ropp (sum _ _)).
      rewrite (pairs_ext n _ (fun _ => - e)).
      2: { intros i j H. rewrite (before_other n r i j rank) by lia.
        destruct (before r i j); simpl; lra. }
      rewrite !sum_const, Rabs_pos_eq; pose proof (pos_INR (length (pairs n))); nra.
Qed.

Lemma two_items : ranking 2 (fun i => i) /\ ranking 2 (fun i => 1 - i)%nat.
Proof. split; split; intros; lia. Qed.

Theorem fact_two_control : forall k, k < 1 -> ~ fact_two_says k.
Proof.
  intros k H says. destruct (says 2%nat (fun i => i)) as [bound [_ attained]].
  destruct (attained 1 (proj1 two_items) ltac:(lra)) as [w [v [W [V [_ [E F]]]]]].
  specialize (bound w v (shares_paired _ _ W) V).
  rewrite F in bound. simpl in bound. rewrite E in bound by lia.
  unfold choose2 in bound. simpl in bound. lra.
Qed.

(* ------------------------------------------------------------------ Reduction I *)

(* What a mean is used for here.  [fine] are the functions that have one: all, for a finite law;
   those of finite upper integral, for any law. *)
Definition mean {W} (fine : (W -> R) -> Prop) (E : (W -> R) -> R) : Prop :=
  (forall f g, fine g -> (forall a, 0 <= f a <= g a) -> fine f /\ E f <= E g) /\
  (forall f g, fine f -> fine g ->
    fine (fun a => f a + g a) /\ E (fun a => f a + g a) <= E f + E g) /\
  (forall c f, 0 <= c -> fine f -> fine (fun a => c * f a) /\ E (fun a => c * f a) <= c * E f) /\
  (fine (fun _ => 1) /\ E (fun _ => 1) <= 1).

Lemma mean_sum : forall W fine E A (f : A -> W -> R) l e, mean fine E ->
  (forall a, In a l -> fine (f a) /\ E (f a) <= e) ->
  fine (fun w => sum (fun a => f a w) l) /\ E (fun w => sum (fun a => f a w) l)
    <= INR (length l) * e.
Proof.
  intros W fine E A f l e [mono [add [scale one]]]. induction l as [|a l IH]; intros H.
  - destruct one as [F _]. destruct (scale 0 _ (Rle_refl 0) F) as [G K].
    destruct (mono (fun _ => 0) _ G ltac:(intros; lra)). simpl. split; [assumption|lra].
  - destruct (IH ltac:(intros; apply H; right; assumption)) as [F G].
    destruct (H a ltac:(left; reflexivity)) as [P Q]. destruct (add _ _ P F).
    change (length (a :: l)) with (S (length l)). rewrite S_INR. simpl. split; [assumption|lra].
Qed.

Lemma mean_affine : forall W fine E (f g : W -> R) c d most, mean fine E -> 0 <= c -> 0 <= d ->
  fine g -> E g <= most -> (forall a, 0 <= f a <= c + d * g a) -> fine f /\ E f <= c + d * most.
Proof.
  intros W fine E f g c d most [mono [add [scale [F1 one]]]] C D F B H.
  destruct (scale c _ C F1) as [Fc Bc]. destruct (scale d _ D F) as [Fd Bd].
  destruct (add _ _ Fc Fd) as [Fs Bs]. destruct (mono f _ Fs) as [Ff Bf].
  - intros a. specialize (H a). lra.
  - split; [assumption|]. pose proof (Rmult_le_compat_l c _ _ C one).
    pose proof (Rmult_le_compat_l d _ _ D B). lra.
Qed.

(* An algorithm draws a ranking for a table that fits.  Its mean score is at most alpha times the
   best one. *)
Definition approximation (n : nat) (alpha : R) (fits : table -> Prop) (rankings : list places)
  (A : table -> places -> R) : Prop :=
  forall w, fits w -> finite_law rankings (A w) /\ forall best, ranking n best ->
  sum (fun s => A w s * score n w s) rankings <= alpha * score n w best.

(* Theorem 1 (Reduction I).  An algorithm of ratio alpha that runs on noisy entries of mean
   error e each has ratio alpha and additive error k (alpha + 1) n(n-1)/2 e for every n and
   every noise: with k = 1.  What it draws is as private as the noisy entries.  The noisy tables
   have w_ij + w_ji = 1 and fit the algorithm: added Laplace noise, which leaves [0, 1], does if
   the best ranking is found (alpha = 1); if the algorithm wants shares, entries are clipped. *)
Definition reduction_one_says (k : R) : Prop := forall n alpha e (fits : table -> Prop)
  rankings A, 0 <= alpha ->
  (forall w, fits w -> paired n w) -> approximation n alpha fits rankings A ->
  (forall W fine E (noisy : W -> table) w, mean fine E -> shares n w ->
    (forall a, fits (noisy a)) ->
    (forall i j, (i < j < n)%nat -> fine (fun a => Rabs (noisy a i j - w i j)) /\
      E (fun a => Rabs (noisy a i j - w i j)) <= e) ->
    forall best, ranking n best -> E (fun a => sum (fun s => A (noisy a) s * score n w s) rankings)
      <= alpha * score n w best + k * ((alpha + 1) * choose2 n * e)) /\
  (forall D W near epsilon (p : D -> W -> R) total (noisy : W -> table) (draw : D -> places -> R),
    weighing total -> (forall a, fits (noisy a)) -> (forall x a, 0 <= p x a) ->
    (forall x s, total (fun a => p x a * A (noisy a) s) (draw x s)) -> private near epsilon p ->
    private near epsilon draw).

Lemma score_nonneg : forall n w r, shares n w -> 0 <= score n w r.
Proof.
  intros n w r W. rewrite <- (sum_zero (pairs n)). apply pairs_le. intros i j H.
  destruct (W i j), (W j i); try lia. destruct (before r i j); lra.
Qed.

Theorem reduction_one : reduction_one_says 1.
Proof.
  intros n alpha e fits rankings A apos twice approx. split.
  - intros W fine E noisy w M ws ns err best rank. rewrite Rmult_1_l.
    set (f := fun (ij : nat * nat) (a : W) => let '(i, j) := ij in Rabs (noisy a i j - w i j)).
    destruct (mean_sum W fine E _ f (pairs n) e M) as [F B].
    { intros [i j] H. apply err, in_pairs, H. } rewrite pairs_length in B.
    set (errors := fun a => sum (fun ij => f ij a) (pairs n)) in *.
    pose proof (Rmult_le_pos _ _ apos (score_nonneg n w best ws)) as pos.
    replace ((alpha + 1) * choose2 n * e) with ((alpha + 1) * (choose2 n * e)) by ring.
    apply (mean_affine W fine E _ errors _ (alpha + 1) _ M pos ltac:(lra) F B). intros a.
    destruct (approx (noisy a) (ns a)) as [[Apos Aone] ratio]. split.
    + apply sum_nonneg. intros s _. apply Rmult_le_pos; [apply Apos|apply score_nonneg, ws].
    + assert (forall s, - errors a <= score n (noisy a) s - score n w s <= errors a) as fact
        by (intros; assert (Rabs (score n (noisy a) s - score n w s) <= errors a) as G
        by (apply score_moves; auto using shares_paired); unfold Rabs in G;
        destruct (Rcase_abs _); lra).
      specialize (ratio best rank). destruct (fact best) as [_ above].
      apply Rle_trans with (sum (fun s => A (noisy a) s * score n (noisy a) s + errors a
        * A (noisy a) s) rankings).
      * apply sum_le. intros s. specialize (fact s). specialize (Apos s). nra.
      * rewrite sum_plus, sum_scale, Aone. nra.
  - intros D W near epsilon p total noisy draw weighs ns pos adds safe x y s close.
    eapply (private_events near epsilon p total weighs pos safe (fun a => A (noisy a) s)); eauto.
    intros a. apply (approx (noisy a) (ns a)).
Qed.

(* CLAIM AGKM-F2.  Fact 2 and Theorem 1 with each pair counted once (k = 1, where the paper has
   2 and more); a smaller number fails for Fact 2. *)
Definition noisy_scores_says (k : R) : Prop := fact_two_says k /\ reduction_one_says k.

Theorem noisy_scores : noisy_scores_says 1.
Proof. split; [apply fact_two|apply reduction_one]. Qed.

Theorem noisy_scores_control : forall k, k < 1 -> ~ noisy_scores_says k.
Proof. intros k H [says _]. exact (fact_two_control k H says). Qed.

(* ------------------------------------------------------------------ all fractions at once *)

Lemma fractions_move : forall n m x y, replaced n m x y ->
  sum (fun '(i, j) => Rabs (fraction x i j - fraction y i j)) (pairs n) <= choose2 n / INR m.
Proof.
  intros n m x y [a [b [r [s [-> [-> [L _]]]]]]]. unfold Rdiv.
  rewrite <- pairs_length, <- sum_const. apply pairs_le. intros i j _. unfold fraction.
  replace (length (a ++ s :: b)) with m by (rewrite <- L, !app_length; reflexivity).
  assert (0 < / INR m) as P by (apply Rinv_0_lt_compat, lt_0_INR; rewrite <- L, app_length; simpl;
    lia). rewrite L, !sum_app. unfold Rdiv. simpl. match goal with |- Rabs ?e <= _ => replace e
    with ((bit (before r i j) - bit (before s i j)) * / INR m) by ring end.
  destruct (before r i j), (before s i j); simpl; apply Rabs_le; lra.
Qed.

Lemma replaced_some : forall n m x y, replaced n m x y ->
  0 < INR m /\ x <> [] /\ y <> [] /\ Forall (ranking n) x /\ Forall (ranking n) y.
Proof.
  intros n m x y [a [b [r [s [-> [-> [L [X Y]]]]]]]].
  repeat split; auto; try (destruct a; discriminate). apply lt_0_INR. rewrite <- L, app_length.
  simpl. lia.
Qed.

(* All entries above the diagonal, in a row. *)
Definition fractions (n : nat) (people : list places) (k : nat) : R :=
  let '(i, j) := nth k (pairs n) (0%nat, 0%nat) in fraction people i j.
Definition number_of_pairs (n : nat) : nat := length (pairs n).

Lemma sum_nth : forall A (f : A -> R) l d, sum f l = range_sum (length l) (fun k => f (nth k l d)).
Proof.
  intros A f l d. unfold range_sum. induction l as [|a l IH]; [reflexivity|]. simpl.
  rewrite IH, <- seq_shift, sum_map. reflexivity.
Qed.

Lemma fractions_l1 : forall n x y, l1 (number_of_pairs n) (fractions n x) (fractions n y)
  = sum (fun '(i, j) => Rabs (fraction x i j - fraction y i j)) (pairs n).
Proof.
  intros. rewrite (sum_nth _ _ _ (0%nat, 0%nat)). apply sum_ext. intros k. unfold fractions.
  destruct (nth k (pairs n) (0%nat, 0%nat)). reflexivity.
Qed.

Lemma ranking_up : forall n, ranking n (fun i => i).
Proof. intros n. split; intros; lia. Qed.

Lemma ranking_down : forall n, ranking n (fun i => n - 1 - i)%nat.
Proof. intros n. split; intros; lia. Qed.

(* The l1 sensitivity of the fractions, attained by opposite rankings. *)
Theorem fractions_sensitivity : forall n m, (1 <= m)%nat ->
  (forall x y, replaced n m x y ->
    l1 (number_of_pairs n) (fractions n x) (fractions n y) <= choose2 n / INR m) /\
  (exists x y, replaced n m x y /\
    l1 (number_of_pairs n) (fractions n x) (fractions n y) = choose2 n / INR m).
Proof.
  intros n m M. split.
  - intros x y close. rewrite fractions_l1. apply fractions_move, close.
  - pose (up := (fun i => i) : places). pose (down := (fun i => n - 1 - i)%nat : places).
    pose (others := repeat up (m - 1)). assert (Forall (ranking n) others) as O
      by (apply Forall_forall; intros r R; apply repeat_spec in R; subst; apply ranking_up).
    assert (length others = m - 1)%nat as Lo by apply repeat_length. clearbody others.
    assert (replaced n m (up :: others) (down :: others)) as close.
    { exists [], others, up, down. simpl. rewrite Lo.
      repeat split; [lia| |]; constructor; try exact O; [apply ranking_up|apply ranking_down]. }
    exists (up :: others), (down :: others). split; [assumption|]. rewrite fractions_l1.
    destruct (replaced_some _ _ _ _ close) as [P _]. pose proof (Rinv_0_lt_compat _ P) as Q.
    rewrite (pairs_ext n _ (fun _ => / INR m)).
    + rewrite sum_const, pairs_length. reflexivity.
    + intros i j H. unfold fraction, up, down. cbn [length sum].
      replace (S (length others)) with m by lia. compare_places. unfold Rdiv.
      match goal with |- Rabs ?e = _ => replace e with (/ INR m) by ring end. apply Rabs_pos_eq.
      lra.
Qed.

(* CLAIM AGKM-C3C4, the Laplace noise.  Laplace noise of scale b on all fractions above the
   diagonal is epsilon-private, when one of m rankings of n items is replaced, exactly if k
   n(n-1)/2 is at most epsilon b m: with k = 1.  The scale n^2 / (epsilon m) of the paper is
   more than enough. *)
Definition noisy_pairs_says (k : R) : Prop := forall n m epsilon b, (1 <= m)%nat -> 0 < b ->
  (private (replaced n m) epsilon (fun x => laplace (number_of_pairs n) b (fractions n x))
    <-> k * choose2 n <= epsilon * b * INR m).

Theorem noisy_pairs : noisy_pairs_says 1.
Proof.
  intros n m epsilon b M bpos. destruct (fractions_sensitivity n m M) as [most [x [y [close E]]]].
  assert (0 < INR m) as mpos by (apply lt_0_INR; lia). rewrite Rmult_1_l. split.
  - intros safe. pose proof (vector_noise_least _ _ b epsilon _ _ (laplace_unit_positive b bpos)
      bpos (safe x y _ close)) as L. rewrite E in L.
    apply Rmult_le_compat_r with (r := INR m) in L; [|lra].
    replace (choose2 n / INR m * INR m) with (choose2 n) in L by (field; lra). assumption.
  - intros enough u v o near.
    eapply Rle_trans; [apply vector_noise_private; auto using laplace_unit_positive|].
    apply Rmult_le_compat_r.
    { apply Rmult_le_pos; [apply pow_le; left; apply laplace_unit_positive; assumption|]. left.
      apply exp_pos. }
    apply exp_le. replace epsilon with (epsilon / 1) by field.
    apply quotients_le; [assumption|lra|]. rewrite Rmult_1_r. eapply Rle_trans; [apply most, near|].
    apply Rmult_le_reg_r with (INR m); [assumption|]. field_simplify; lra.
Qed.

Theorem noisy_pairs_control : forall k, k <> 1 -> ~ noisy_pairs_says k.
Proof.
  intros k H says. assert (forall b, 0 < b -> k <= b <-> 1 <= b) as same.
  { intros b B. pose proof (says 2%nat 1%nat 1 b ltac:(lia) B) as S.
    rewrite (noisy_pairs 2%nat 1%nat 1 b ltac:(lia) B) in S. unfold choose2 in S. simpl in S.
    destruct S as [S T].
    split; intros L; [pose proof (T ltac:(lra))|pose proof (S ltac:(lra))]; lra. }
  pose proof (Rmax_l k (1 / 2)) as L. pose proof (Rmax_r k (1 / 2)).
  apply H, Rle_antisym; [apply (same 1); lra|]. apply (same (Rmax k (1 / 2))) in L; [|lra].
  unfold Rmax in L. destruct (Rle_dec k (1 / 2)); lra.
Qed.

(* ------------------------------------------------------------------ the exponential mechanism *)

(* All rankings of n items, each once, as lists of places. *)
Fixpoint words (n k : nat) : list (list nat) :=
  match k with
  | 0%nat => [[]]
  | S k' => flat_map (fun l => map (fun a => a :: l) (seq 0 n)) (words n k')
  end.
Definition dec_places : equality_decided (list nat) := list_eq_dec Nat.eq_dec.
Definition rankings (n : nat) : list (list nat) :=
  filter (fun l => if dec_places (nodup Nat.eq_dec l) l then true else false)
    (nodup dec_places (words n n)).
Definition place (l : list nat) : places := fun i => nth i l 0%nat.

Lemma words_in : forall n k l, In l (words n k) <->
  length l = k /\ forall a, In a l -> (a < n)%nat.
Proof.
  intros n k. induction k as [|k IH]; intros l; simpl.
  - split; [intros [<-|[]]; simpl; intuition|]. intros [L _]. destruct l; [auto|discriminate].
  - rewrite in_flat_map. split.
    + intros [r [R H]]. apply in_map_iff in H as [a [<- A]]. apply in_seq in A.
      apply IH in R as [L R]. simpl. split; [lia|]. intros b [<-|B]; [lia|auto].
    + intros [L H]. destruct l as [|a l]; [discriminate|]. simpl in L, H. exists l.
      rewrite IH, in_map_iff. split; [split; [lia|auto]|]. exists a. rewrite in_seq.
      specialize (H a ltac:(auto)). split; [reflexivity|lia].
Qed.

Lemma rankings_in : forall n l, In l (rankings n) <->
  NoDup l /\ length l = n /\ forall a, In a l -> (a < n)%nat.
Proof.
  intros n l. unfold rankings. rewrite filter_In, nodup_In, words_in.
  destruct (dec_places (nodup Nat.eq_dec l) l) as [E|E].
  - pose proof (NoDup_nodup Nat.eq_dec l) as N. rewrite E in N. tauto.
  - split; [intros [_ H]; discriminate|]. intros [N _]. destruct E. apply nodup_fixed_point, N.
Qed.

Lemma places_once : forall n r, ranking n r -> NoDup (map r (seq 0 n)).
Proof.
  intros n r [_ once]. apply (NoDup_nth _ (r 0%nat)). intros i j. rewrite map_length, seq_length.
  intros I J. rewrite !map_nth, !seq_nth by assumption. intros E. apply once in E; lia.
Qed.

Lemma rankings_all : forall n r, ranking n r ->
  exists l, In l (rankings n) /\ forall i, (i < n)%nat -> place l i = r i.
Proof.
  intros n r rank. exists (map r (seq 0 n)). split.
  - apply rankings_in. rewrite map_length, seq_length.
    split; [apply places_once, rank|split; [reflexivity|]]. intros a A.
    apply in_map_iff in A as [i [<- I]]. apply in_seq in I. apply rank. lia.
  - intros i I. unfold place.
    rewrite (nth_indep _ 0%nat (r 0%nat)), map_nth, seq_nth; rewrite ?map_length, ?seq_length; auto.
Qed.

Lemma rankings_sound : forall n l, In l (rankings n) -> ranking n (place l).
Proof.
  intros n l H. apply rankings_in in H. destruct H as [once [L bound]]. split.
  - intros i I. apply bound, nth_In. lia.
  - intros i j I J E. apply (proj1 (NoDup_nth l 0%nat)); try lia; assumption.
Qed.

(* There are n! of them; here n^n is enough. *)
Lemma rankings_count : forall n, 1 <= INR (length (rankings n)) <= INR n ^ n.
Proof.
  intros n. split.
  - destruct (rankings_all n (fun i => i) (ranking_up n)) as [l [L _]]. apply (le_INR 1).
    destruct (rankings n); [contradiction|simpl; lia].
  - assert (forall k, length (words n k) = n ^ k)%nat as W.
    { induction k as [|k IH]; [reflexivity|]. simpl. rewrite <- IH. generalize (words n k) as L.
      induction L as [|l L IHL]; simpl; [lia|]. rewrite app_length, map_length, seq_length. lia. }
    rewrite <- pow_INR, <- W. apply le_INR, NoDup_incl_length.
    + apply NoDup_filter, NoDup_nodup.
    + intros l H. apply filter_In in H. apply (nodup_In dec_places), H.
Qed.

(* Weights exp(-rate S(s)), S the Kemeny score of the people's fractions. *)
Definition drawn (n : nat) (rate : R) (people : list places) : list nat -> R :=
  exponential_mechanism _ dec_places rate (rankings n)
    (fun l => - score n (fraction people) (place l)).

(* CLAIM AGKM-EM.  The exponential mechanism over all rankings, at the rate epsilon / (k D), D =
   n(n-1)/(2 m), is for k = 2 a law, epsilon-private if one of m rankings is replaced, and has a
   mean score of at most that of any ranking plus n^3 log(n) / (epsilon m), for all n, m and
   epsilon > 0.  With a number k below 2 it is not private for all of them. *)
Definition exponential_says (k : R) : Prop := forall n m epsilon, (2 <= n)%nat -> (1 <= m)%nat ->
  0 < epsilon -> let p := drawn n (epsilon / (k * (choose2 n / INR m))) in
  private (replaced n m) epsilon p /\
  forall people, Forall (ranking n) people -> length people = m ->
  finite_law (rankings n) (p people) /\ forall best, ranking n best ->
  sum (fun l => p people l * mean_kendall n people (place l)) (rankings n)
    <= mean_kendall n people best + INR n ^ 3 * ln (INR n) / (epsilon * INR m).

Lemma people_some : forall m (people : list places), (1 <= m)%nat -> length people = m ->
  people <> [].
Proof. intros m people M L ->. simpl in L. lia. Qed.

Theorem exponential : exponential_says 2.
Proof.
  intros n m epsilon N M pos p. assert (0 < INR m) as mpos by (apply lt_0_INR; lia).
  assert (2 <= INR n) as n2 by (apply (le_INR 2) in N; simpl in N; lra).
  assert (0 < choose2 n / INR m) as Dpos by (apply Rdiv_lt_0_compat; [unfold choose2; nra|lra]).
  set (D := choose2 n / INR m) in *. destruct (rate_enough epsilon D ltac:(lra) Dpos) as [_ enough].
  destruct (rankings_count n) as [one most].
  assert (rankings n <> []) as some by (intros E; rewrite E in one; simpl in one; lra).
  assert (0 < epsilon / (2 * D)) as rpos by (apply Rdiv_lt_0_compat; lra). unfold p, drawn. split.
  - apply (exponential_private dec_places (replaced n m)
      (fun x l => - score n (fraction x) (place l)) (rankings n) (2 * D));
      [exact some| |lra|exact enough]. apply sensitivity_gain. intros x y l close.
    destruct (replaced_some _ _ _ _ close) as [_ [X [Y [RX RY]]]].
    apply Rle_trans with (2 := fractions_move _ _ _ _ close). rewrite <- Rabs_Ropp.
    rewrite Ropp_minus_distr. unfold Rminus. rewrite Ropp_involutive, Rplus_comm.
    apply score_moves; apply shares_paired, fraction_shares; assumption.
  - intros people rank L. split; [apply exponential_law; assumption|]. intros best B.
    pose proof (people_some m people M L) as P. destruct (rankings_all n best B) as [l [I E]].
    pose proof (exponential_error _ dec_places _ (rankings n)
      (fun l => - score n (fraction people) (place l)) l rpos I) as err.
    set (q := exponential_mechanism _ _ _ _ _) in *. cbv beta in err.
    rewrite (sum_ext_in _ (fun s => -1 * (q s * mean_kendall n people (place s)))), sum_scale in err
      by (intros s S; rewrite score_mean by auto using rankings_sound; ring).
    replace (score n (fraction people) (place l)) with (mean_kendall n people best) in err
      by (rewrite <- score_mean by assumption; apply pairs_ext; intros i j H; unfold before;
      rewrite !E by lia; reflexivity). enough (ln (INR (length (rankings n))) / (epsilon / (2 * D))
      <= INR n ^ 3 * ln (INR n) / (epsilon * INR m)) by lra.
    assert (ln (INR (length (rankings n))) <= INR n * ln (INR n)) as count.
    { rewrite <- ln_pow by lra.
      destruct most as [K|K]; [left; apply ln_increasing; lra|rewrite K; lra]. }
    assert (0 <= ln (INR n)) by (rewrite <- ln_1; left; apply ln_increasing; lra).
    assert (0 < epsilon * INR m) by (apply Rmult_lt_0_compat; lra). apply quotients_le; [lra..|].
    replace (INR n ^ 3 * ln (INR n) * (epsilon / (2 * D)))
      with (INR n * ln (INR n) * (epsilon * INR m) * (INR n / (INR n - 1)))
      by (unfold D, choose2; field; lra).
    assert (1 / 1 <= INR n / (INR n - 1)) by (apply quotients_le; lra).
    apply Rle_trans with (INR n * ln (INR n) * (epsilon * INR m) * (1 / 1)); [nra|].
    apply Rmult_le_compat_l; [|assumption]. repeat apply Rmult_le_pos; lra.
Qed.

(* Two items and two people, who are of two minds or of one; where 2 epsilon / k is epsilon +
   log 2. *)
Theorem exponential_control : forall k, 0 < k < 2 -> ~ exponential_says k.
Proof.
  intros k Hk says. set (epsilon := ln 2 / (2 / k - 1)).
  assert (0 < 2 / k - 1) as below by (apply Rmult_lt_reg_r with k; [lra|]; field_simplify; lra).
  assert (0 < ln 2) as l2 by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (0 < epsilon) as pos by (apply Rdiv_lt_0_compat; assumption).
  destruct (says 2%nat 2%nat epsilon ltac:(lia) ltac:(lia) pos) as [safe _].
  pose (up := (fun i => i) : places). pose (down := (fun i => 1 - i)%nat : places).
  destruct two_items as [U V]. fold up in U. fold down in V.
  specialize (safe [down; up] [up; up] [1; 0]%nat).
  assert (replaced 2 2 [down; up] [up; up]) as close.
  { exists [], [up], down, up. do 3 (split; [reflexivity|]). auto. } specialize (safe close).
  unfold drawn, exponential_mechanism in safe.
  replace (rankings 2) with [[1; 0]; [0; 1]]%nat in safe by reflexivity.
  destruct (in_dec _ _ _) as [_|out]; [|apply out; left; reflexivity]. cbn [sum] in safe.
  replace (epsilon / (k * (choose2 2 / INR 2))) with (epsilon + ln 2) in safe
    by (unfold epsilon, choose2; simpl; field; lra). assert (forall x,
    score 2 (fraction x) (place [1; 0]%nat) = fraction x 0%nat 1%nat /\ score 2 (fraction x)
    (place [0; 1]%nat) = fraction x 1%nat 0%nat) as S by (intros; unfold score; simpl; lra).
  rewrite !(proj1 (S _)), !(proj2 (S _)) in safe. clear S.
  unfold fraction, before, up, down in safe. simpl in safe.
  replace ((1 + (0 + 0)) / (1 + 1)) with (1 / 2) in safe by field.
  replace ((0 + (1 + 0)) / (1 + 1)) with (1 / 2) in safe by field.
  replace ((epsilon + ln 2) * - ((0 + (0 + 0)) / (1 + 1))) with 0 in safe by field.
  replace ((epsilon + ln 2) * - ((1 + (1 + 0)) / (1 + 1))) with (- (epsilon + ln 2)) in safe
    by field. rewrite exp_0, exp_Ropp, exp_plus, exp_ln in safe by lra.
  pose proof (exp_pos epsilon). pose proof (exp_pos ((epsilon + ln 2) * - (1 / 2))).
  set (h := exp (_ * _)) in *. match type of safe with ?a <= ?b => replace a with (1 / 2) in safe
    by (field; lra); replace b with (exp epsilon / (2 * exp epsilon + 1)) in safe
    by (field; lra) end. apply Rmult_le_compat_r with (r := 2 * exp epsilon + 1) in safe; [|lra].
  unfold Rdiv in safe. rewrite (Rmult_assoc (exp epsilon)), Rinv_l in safe; lra.
Qed.
