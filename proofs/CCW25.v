(* Cai, Chakraborty, Wang 2025, Optimal Differentially Private Ranking from Pairwise Comparisons.

   Part 1: noisy win counts (Algorithms 2 and 3).  Exactly which scales of independent Laplace or
   discrete Laplace noise are private, for every number of items, comparisons and people.
   Part 2: the perturbed maximum-likelihood estimator (Algorithm 1, Propositions 2.1 and 3.1), for
   every link; and its exact loss for the logistic link.

   Not in it: samplers; that the Laplace density integrates to 1; the change of variables that gives
   the density of the estimate (Part 2 starts from that density); and losses of the released set of k
   items, which by [private_events] are at most those of the counts. *)
Require Import Reals Lra Lia ZArith List Bool Permutation.
From Ranking Require Import Privacy Counts Determinant.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ Part 1: noisy counts *)

(* Noise of scale b is private if and only if b is at least (how far the counts move) / epsilon. *)
Lemma noise_exactly : forall D (near : D -> D -> Prop) f unit n S epsilon b,
  sensitivity (l1 n) near f S -> 0 < unit -> 0 < epsilon -> 0 < b ->
  (private near epsilon (fun x => vector_noise unit n b (f x)) <-> S / epsilon <= b).
Proof.
  intros D near f unit n S epsilon b [below [x [y [close reached]]]] upos epos bpos. split.
  - intros safe. pose proof (vector_noise_least _ _ _ _ _ _ _ x y upos bpos close safe) as H.
    rewrite reached in H. apply Rmult_le_reg_r with epsilon; [assumption|].
    replace (S / epsilon * epsilon) with S by (field; lra). lra.
  - intros H u v o uv. eapply Rle_trans; [apply (vector_noise_private unit n b (f u) (f v)); auto|].
    apply Rmult_le_compat_r.
    { unfold vector_noise, gauge_noise. apply Rmult_le_pos; [apply pow_le; lra|left; apply exp_pos]. }
    apply exp_le. apply Rmult_le_reg_r with b; [assumption|].
    replace (l1 n (f u) (f v) / b * b) with (l1 n (f u) (f v)) by (field; lra).
    apply Rle_trans with S; [auto|]. apply Rmult_le_compat_l with (r := epsilon) in H; [|lra].
    replace (epsilon * (S / epsilon)) with S in H by (field; lra). assumption.
Qed.

(* s is the least private scale, of Laplace and of discrete Laplace noise on the statistic f; and at
   that scale whatever is computed from the noisy counts is private: [kernel o] is the chance that
   counts o lead to the event, such as "these are the k items with the largest noisy counts". *)
Definition least_scale {D} (n : nat) (near : D -> D -> Prop) (f : D -> nat -> R) (epsilon s : R) :=
  (forall b, 0 < b ->
    (private near epsilon (fun x => laplace n b (f x)) <-> s <= b) /\
    (private near epsilon (fun x => discrete_laplace n b (f x)) <-> s <= b)) /\
  (forall unit, unit = laplace_unit \/ unit = discrete_unit ->
    forall total kernel, weighing total -> (forall o : nat -> R, 0 <= kernel o) ->
    0 < s -> forall x y, near x y ->
    total (fun o => vector_noise (unit s) n s (f x) o * kernel o)
      <= exp epsilon * total (fun o => vector_noise (unit s) n s (f y) o * kernel o)).

Lemma least_scale_exactly : forall D n (near : D -> D -> Prop) f S epsilon, 0 < epsilon ->
  sensitivity (l1 n) near f S -> least_scale n near f epsilon (S / epsilon).
Proof.
  intros D n near f S epsilon pos sens. split.
  - intros b bpos. split; apply noise_exactly; auto using laplace_unit_positive,
      discrete_unit_positive.
  - intros unit kind total kernel W K spos x y close.
    assert (0 < unit (S / epsilon)) as upos
      by (destruct kind; subst; auto using laplace_unit_positive, discrete_unit_positive).
    apply (private_events near epsilon (fun x => vector_noise (unit (S / epsilon)) n (S / epsilon) (f x)));
      auto.
    + intros. unfold vector_noise, gauge_noise.
      apply Rmult_le_pos; [apply pow_le; lra|left; apply exp_pos].
    + apply noise_exactly with (S := S); auto. lra.
Qed.

Lemma least_scale_unique : forall D n (near : D -> D -> Prop) f epsilon s t, 0 < s -> 0 < t ->
  least_scale n near f epsilon s -> least_scale n near f epsilon t -> s = t.
Proof.
  intros D n near f epsilon s t spos tpos [H _] [K _].
  destruct (H s spos) as [A _], (K s spos) as [B _], (H t tpos) as [A' _], (K t tpos) as [B' _].
  apply Rle_antisym; [apply A', B'; lra|apply B, A; lra].
Qed.

(* CLAIM CCW25-ALG2.  Noise of scale 2/epsilon on the win counts is the least that is private for edge
   neighbours, for every n and epsilon; the k items with the largest noisy counts then are, too. *)
Definition alg2_says (c : R) : Prop := 0 < c /\ forall n epsilon, (2 <= n)%nat -> 0 < epsilon ->
  sensitivity (l1 n) (edge n) wins c /\ least_scale n (edge n) wins epsilon (c / epsilon).

Theorem alg2 : alg2_says 2.
Proof.
  split; [lra|]. intros n epsilon H pos. destruct (edge_sensitivity n H) as [E _].
  split; [assumption|]. apply least_scale_exactly; assumption.
Qed.

Theorem alg2_control : forall c, c <> 2 -> ~ alg2_says c.
Proof.
  intros c ne [_ H]. destruct (H 2%nat 1) as [K _]; [lia|lra|].
  destruct (edge_sensitivity 2) as [E _]; [lia|].
  apply ne. exact (sensitivity_unique _ _ _ _ _ _ K E).
Qed.

(* CLAIM CCW25-ALG3.  When L comparisons of one of m + 1 people are replaced, the least private scale is
   c L / epsilon with c = 2, for every n, L, m and epsilon. *)
Definition alg3_says (c : R) : Prop := 0 < c /\ forall n L m epsilon,
  (2 <= n)%nat -> (1 <= L)%nat -> 0 < epsilon ->
  least_scale n (replaced m (pile n L)) (total wins) epsilon (c * INR L / epsilon).

Theorem alg3 : alg3_says 2.
Proof.
  split; [lra|]. intros n L m epsilon H K pos. apply least_scale_exactly; [assumption|].
  apply pile_sensitivity. assumption.
Qed.

Theorem alg3_control : forall c, c <> 2 -> ~ alg3_says c.
Proof.
  intros c ne [pos H]. specialize (H 2%nat 1%nat 0%nat 1 ltac:(lia) ltac:(lia) ltac:(lra)).
  destruct alg3 as [_ K]. specialize (K 2%nat 1%nat 0%nat 1 ltac:(lia) ltac:(lia) ltac:(lra)).
  simpl INR in *. unfold Rdiv in *. rewrite Rinv_1, !Rmult_1_r in *.
  apply ne. revert H K. apply least_scale_unique; lra.
Qed.

(* The printed scale fails for every n, L, number of people and epsilon. *)
Corollary alg3_printed : forall n L m epsilon, (2 <= n)%nat -> (1 <= L)%nat -> 0 < epsilon ->
  ~ private (replaced m (pile n L)) epsilon (fun x => laplace n (INR L / epsilon) (total wins x)) /\
  ~ private (replaced m (pile n L)) epsilon
      (fun x => discrete_laplace n (INR L / epsilon) (total wins x)).
Proof.
  intros n L m epsilon H K pos. destruct alg3 as [_ A].
  assert (0 < INR L / epsilon) as P by (apply Rdiv_lt_0_compat; [apply lt_0_INR; lia|assumption]).
  destruct (A n L m epsilon H K pos) as [B _]. destruct (B _ P) as [lap disc].
  rewrite lap, disc. unfold Rdiv in *. rewrite Rmult_assoc. split; lra.
Qed.

(* CLAIM CCW25-SENS-IND.  One person's L comparisons move each count by at most L, which is attained;
   but all counts together by c L, with c = 2, and that sets the noise.  If each person answers each pair once,
   the least scale is floor(n^2/2)/epsilon; if pairs may be skipped, (n(n-1)/2 + floor(n^2/4))/epsilon. *)
Definition sens_ind_says (c : R) : Prop := forall n L m epsilon,
  (2 <= n)%nat -> (1 <= L)%nat -> 0 < epsilon ->
  sensitivity (linf n) (replaced m (pile n L)) (total wins) (INR L) /\
  sensitivity (l1 n) (replaced m (pile n L)) (total wins) (c * INR L) /\
  least_scale n (replaced m (pile n L)) (total wins) epsilon (c * INR L / epsilon) /\
  least_scale n (replaced m decided) (total (score n)) epsilon (INR (n * n / 2) / epsilon) /\
  least_scale n (replaced m partial) (total (score n)) epsilon
    ((INR n * (INR n - 1) / 2 + INR (n * n / 4)) / epsilon).

Theorem sens_ind : sens_ind_says 2.
Proof.
  intros n L m epsilon H K pos. destruct (pile_sensitivity n L m H) as [one [_ sup]].
  repeat (split; [solve [assumption|apply least_scale_exactly; assumption|
    apply least_scale_exactly; [assumption|]; apply once_sensitivity; auto; lia]|]).
  apply least_scale_exactly; [assumption|]. apply skip_sensitivity. lia.
Qed.

(* The printed step from L in one count to L in all: *)
Theorem sens_ind_control : forall c, c <> 2 -> ~ sens_ind_says c.
Proof.
  intros c ne H. destruct (H 2%nat 1%nat 0%nat 1) as [_ [K _]]; try lia; [lra|].
  destruct (pile_sensitivity 2 1 0) as [E _]; [lia|].
  pose proof (sensitivity_unique _ _ _ _ _ _ K E) as F. simpl in F. lra.
Qed.

(* Half of wins minus losses. *)
Definition arrow (g : game) (i : nat) : R := won g i - won (swap g) i.
Definition half_net (x : list game) (i : nat) : R := total (fun g j => arrow g j / 2) x i.

Lemma arrow_l1 : forall n g, valid n g -> range_sum n (fun i => Rabs (arrow g i)) <= 2.
Proof.
  intros n g [W [V _]]. apply Rle_trans with (range_sum n (fun i => won g i + won (swap g) i)).
  - apply range_sum_le. intros. apply abs_minus; apply won_bounds.
  - unfold range_sum, won, swap. rewrite sum_plus. simpl.
    pose proof (range_sum_pick n (fun _ => 1) _ W). pose proof (range_sum_pick n (fun _ => 1) _ V).
    unfold range_sum in *. lra.
Qed.

(* CLAIM BOOK-HALF-NET, its privacy.  Half of wins minus losses moves by 2 in l1 when one comparison is
   flipped or exchanged, so that 2/epsilon is its least private scale. *)
Definition half_net_says (c : R) : Prop := forall n epsilon, (2 <= n)%nat -> 0 < epsilon ->
  sensitivity (l1 n) (edge n) half_net c /\ least_scale n (edge n) half_net epsilon (c / epsilon).

Theorem half_net_private : half_net_says 2.
Proof.
  intros n epsilon H pos. assert (sensitivity (l1 n) (edge n) half_net 2) as E.
  2: { split; [assumption|]. apply least_scale_exactly; assumption. }
  split.
  - intros x y close. destruct (edge_games n x y close) as [g [h [rest [G [K [px py]]]]]].
    apply Rle_trans with (range_sum n (fun i => / 2 * Rabs (arrow g i) + / 2 * Rabs (arrow h i))).
    + apply range_sum_le. intros i _. unfold half_net. rewrite (total_moves _ g h rest) by assumption.
      unfold Rabs. repeat destruct (Rcase_abs _); lra.
    + unfold range_sum. rewrite sum_plus, !sum_scale.
      pose proof (arrow_l1 n g G). pose proof (arrow_l1 n h K). unfold range_sum in *. lra.
  - exists [(0, 1)%nat], [(1, 0)%nat]. split; [apply edge_flip; assumption|].
    unfold l1. rewrite range_sum_two; auto; unfold half_net, total, arrow, won; simpl.
    + unfold Rabs. repeat destruct (Rcase_abs _); lra.
    + intros [|[|i]] K; try lia. simpl. replace (_ - _) with 0 by lra. apply Rabs_R0.
Qed.

Theorem half_net_control : forall c, c <> 2 -> ~ half_net_says c.
Proof.
  intros c ne H. destruct (H 2%nat 1) as [K _]; [lia|lra|].
  destruct (half_net_private 2%nat 1) as [E _]; [lia|lra|].
  apply ne. exact (sensitivity_unique _ _ _ _ _ _ K E).
Qed.
