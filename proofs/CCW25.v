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

(* ------------------------------------------------------------------ Part 2: the perturbed MLE *)

(* The gap of strengths by which the winner of a comparison leads, and e_winner - e_loser. *)
Definition gap (theta : nat -> R) (g : game) : R := theta (fst g) - theta (snd g).

Section Estimator.
(* Of the winner's lead: F'/F, and minus its derivative, which is (- log F)''. *)
Variables pull curvature : R -> R.
Variables (n : nat) (gamma lambda : R).

(* The noise w for which theta is the estimate, minus the gradient of R: what the winners are pulled
   up and the losers down, without the ridge; and the Hessian of R. *)
Definition noise_of (x : list game) (theta : nat -> R) (i : nat) : R :=
  total (fun g j => pull (gap theta g) * arrow g j) x i - gamma * theta i.
Definition hessian (x : list game) (theta : nat -> R) (i j : nat) : R :=
  multiple gamma i j + sum (fun g => curvature (gap theta g) * (arrow g i * arrow g j)) x.

Definition size (u : nat -> R) : R := range_sum n (fun i => Rabs (u i)).

(* The density of the estimate: that of the noise, times the Jacobian (CCW25-DENSITY, repaired). *)
Definition density (x : list game) (theta : nat -> R) : R :=
  laplace_unit lambda ^ n * exp (- size (noise_of x theta) / lambda) * det n (hessian x theta).

Hypothesis gamma_positive : 0 < gamma.
Hypothesis lambda_positive : 0 < lambda.
Hypothesis pull_nonneg : forall a, 0 <= pull a.
Hypothesis curvature_nonneg : forall a, 0 <= curvature a.

Lemma noise_cons : forall g x theta i,
  noise_of (g :: x) theta i = noise_of x theta i + pull (gap theta g) * arrow g i.
Proof. intros. unfold noise_of, total. simpl. ring. Qed.

Lemma hessian_cons : forall g x theta i j, hessian (g :: x) theta i j
  = update (hessian x theta) (curvature (gap theta g)) (arrow g) i j.
Proof. intros. unfold hessian, update. simpl. ring. Qed.

Lemma density_order : forall x y theta, Permutation x y -> density x theta = density y theta.
Proof.
  intros x y theta H. unfold density. f_equal; [f_equal; f_equal; f_equal; f_equal|].
  - apply range_sum_ext. intros. unfold noise_of, total. rewrite (sum_permutation _ _ x y H).
    reflexivity.
  - apply det_ext. intros. unfold hessian. rewrite (sum_permutation _ _ x y H). reflexivity.
Qed.

Lemma hessian_above : forall x theta,
  symmetric (hessian x theta) /\ above n gamma (hessian x theta).
Proof.
  intros x theta. induction x as [|g x [S A]].
  - split.
    + intros i j. unfold hessian. simpl. rewrite multiple_symmetric. reflexivity.
    + intros v. rewrite <- multiple_form. right. unfold form. apply range_sum_ext. intros.
      apply range_sum_ext. intros. unfold hessian. simpl. ring.
  - split.
    + intros i j. rewrite !hessian_cons. apply update_symmetric. assumption.
    + intros v. apply Rle_trans with (1 := update_above n gamma (hessian x theta)
        (curvature (gap theta g)) (arrow g) (curvature_nonneg _) A v).
      right. unfold form. apply range_sum_ext. intros. apply range_sum_ext. intros.
      rewrite hessian_cons. reflexivity.
Qed.

Lemma det_hessian : forall g x theta, det n (hessian (g :: x) theta) = det n (hessian x theta)
  * (1 + curvature (gap theta g) * inverse_form n (hessian x theta) (arrow g)).
Proof.
  intros g x theta. destruct (hessian_above x theta) as [S A].
  rewrite <- (det_update n gamma); auto. apply det_ext. intros. apply hessian_cons.
Qed.

Lemma det_hessian_positive : forall x theta, 0 < det n (hessian x theta).
Proof. intros. destruct (hessian_above x theta). apply det_positive with gamma; assumption. Qed.

Lemma arrow_square : forall g, valid n g -> dot n (arrow g) (arrow g) = 2.
Proof.
  intros g [W [L ne]]. unfold dot. rewrite (range_sum_ext n _ (fun i => won g i + won (swap g) i)).
  - unfold range_sum, won, swap. rewrite sum_plus. simpl.
    pose proof (range_sum_pick n (fun _ => 1) _ W). pose proof (range_sum_pick n (fun _ => 1) _ L).
    unfold range_sum in *. lra.
  - intros i _. unfold arrow, won, swap. simpl.
    destruct (Nat.eqb_spec (fst g) i), (Nat.eqb_spec (snd g) i); try lra. congruence.
Qed.

(* One comparison multiplies the determinant by a factor from 1 to 1 + 2 curvature / gamma. *)
Lemma one_more : forall g x theta, valid n g ->
  det n (hessian x theta) <= det n (hessian (g :: x) theta)
    <= det n (hessian x theta) * (1 + 2 * curvature (gap theta g) / gamma).
Proof.
  intros g x theta V. rewrite det_hessian. destruct (hessian_above x theta) as [S A].
  pose proof (det_hessian_positive x theta). pose proof (curvature_nonneg (gap theta g)).
  pose proof (inverse_form_nonneg n gamma _ (arrow g) gamma_positive S A).
  pose proof (inverse_form_le n gamma _ (arrow g) gamma_positive S A) as B.
  rewrite arrow_square in B by assumption.
  set (q := inverse_form _ _ _) in *. set (c := curvature _) in *. set (d := det _ _) in *.
  assert (0 <= c * q) by (apply Rmult_le_pos; assumption).
  assert (c * q <= c * (2 / gamma)) by (apply Rmult_le_compat_l; assumption).
  replace (2 * c / gamma) with (c * (2 / gamma)) by (field; lra). split; nra.
Qed.

Lemma density_positive : forall x theta, 0 < density x theta.
Proof.
  intros. unfold density. repeat apply Rmult_lt_0_compat.
  - apply pow_lt. apply laplace_unit_positive. assumption.
  - apply exp_pos.
  - apply det_hessian_positive.
Qed.

(* When the comparison g gives way to h. *)
Lemma exchange_loss : forall g h rest x y theta, valid n g -> valid n h ->
  Permutation x (g :: rest) -> Permutation y (h :: rest) ->
  density x theta <= exp ((2 * pull (gap theta g) + 2 * pull (gap theta h)) / lambda)
    * (1 + 2 * curvature (gap theta g) / gamma) * density y theta.
Proof.
  intros g h rest x y theta G H X Y.
  rewrite (density_order x _ theta X), (density_order y _ theta Y). unfold density.
  destruct (one_more g rest theta G) as [_ up]. destruct (one_more h rest theta H) as [down _].
  pose proof (det_hessian_positive rest theta). pose proof (curvature_nonneg (gap theta g)).
  assert (0 < / lambda) by (apply Rinv_0_lt_compat; assumption).
  assert (0 < laplace_unit lambda ^ n)
    by (apply pow_lt, laplace_unit_positive; assumption).
  set (p := pull (gap theta g)). set (q := pull (gap theta h)).
  set (f := 1 + 2 * curvature (gap theta g) / gamma) in *.
  assert (1 <= f) by (unfold f, Rdiv; assert (0 < / gamma) by (apply Rinv_0_lt_compat; assumption);
    nra).
  assert (size (noise_of (h :: rest) theta)
    <= size (noise_of (g :: rest) theta) + (2 * p + 2 * q)) as move.
  { apply Rle_trans with (size (noise_of (g :: rest) theta)
      + (p * range_sum n (fun i => Rabs (arrow g i)) + q * range_sum n (fun i => Rabs (arrow h i)))).
    - unfold size, range_sum. rewrite <- !sum_scale, <- !sum_plus. apply sum_le. intros i.
      rewrite !noise_cons. fold p q.
      assert (0 <= p /\ 0 <= q) as [P Q] by (split; apply pull_nonneg).
      pose proof (Rabs_mult p (arrow g i)) as A. pose proof (Rabs_mult q (arrow h i)) as B.
      rewrite (Rabs_pos_eq p P) in A. rewrite (Rabs_pos_eq q Q) in B. rewrite <- A, <- B.
      unfold Rabs. repeat destruct (Rcase_abs _); lra.
    - apply Rplus_le_compat_l. pose proof (arrow_l1 n g G). pose proof (arrow_l1 n h H).
      assert (0 <= p /\ 0 <= q) as [P Q] by (split; apply pull_nonneg).
      apply Rplus_le_compat; rewrite (Rmult_comm 2); apply Rmult_le_compat_l; assumption. }
  set (sg := size (noise_of (g :: rest) theta)) in *.
  set (sh := size (noise_of (h :: rest) theta)) in *.
  assert (exp (- sg / lambda) <= exp ((2 * p + 2 * q) / lambda) * exp (- sh / lambda)) as noise.
  { rewrite <- exp_plus. apply exp_le. unfold Rdiv. nra. }
  assert (det n (hessian (g :: rest) theta) <= f * det n (hessian (h :: rest) theta)) as volume
    by nra.
  replace (exp ((2 * p + 2 * q) / lambda) * f * (laplace_unit lambda ^ n * exp (- sh / lambda)
    * det n (hessian (h :: rest) theta))) with (laplace_unit lambda ^ n
    * ((exp ((2 * p + 2 * q) / lambda) * exp (- sh / lambda))
      * (f * det n (hessian (h :: rest) theta)))) by ring.
  rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|].
  apply Rmult_le_compat; auto; [left; apply exp_pos|left; apply det_hessian_positive].
Qed.

End Estimator.

Lemma exp_line : forall a, 1 + a <= exp a.
Proof.
  intros a. destruct (Req_dec a 0) as [->|ne]; [rewrite exp_0; lra|].
  left. apply exp_ineq1. assumption.
Qed.

(* ---------------------------------------------------------------- any link *)

(* A link with its first derivative f and the curvature c of - log F, and the conditions A0 to A2 of
   the paper as far as privacy needs them: k1 bounds f/(F(1 - F)), and k2 bounds c. *)
Definition conditions (F f c : R -> R) (k1 k2 : R) : Prop := forall a,
  0 < F a < 1 /\ F (- a) = 1 - F a /\ derivable_pt_lim F a (f a) /\ 0 <= f a /\
  derivable_pt_lim (fun b => f b / F b) a (- c a) /\ f a / (F a * (1 - F a)) <= k1 /\ 0 <= c a <= k2.

Section Gradient.
Variables F f c : R -> R.
Variables k1 k2 : R.
Hypothesis link : conditions F f c k1 k2.
Let pull (a : R) := f a / F a.

(* The objective R: the negative log-likelihood, and the ridge. *)
Definition objective (n : nat) (gamma : R) (x : list game) (theta : nat -> R) : R :=
  sum (fun g => - ln (F (gap theta g))) x + gamma / 2 * range_sum n (fun i => theta i ^ 2).

(* theta, with t added to entry i. *)
Definition shift (theta : nat -> R) (i : nat) (t : R) (j : nat) : R :=
  theta j + (if Nat.eqb i j then 1 else 0) * t.

Lemma shift_gap : forall theta i t g, gap (shift theta i t) g = gap theta g + arrow g i * t.
Proof.
  intros. unfold gap, shift, arrow, won, swap. simpl.
  rewrite (Nat.eqb_sym i (fst g)), (Nat.eqb_sym i (snd g)). ring.
Qed.

Lemma derivative_sum : forall A (h : A -> R -> R) (d : A -> R) l a,
  (forall b, derivable_pt_lim (h b) a (d b)) ->
  derivable_pt_lim (fun t => sum (fun b => h b t) l) a (sum d l).
Proof.
  intros A h d l a H. induction l as [|b l IH]; simpl; [apply derivable_pt_lim_const|].
  apply (derivable_pt_lim_plus (h b) (fun t => sum (fun b => h b t) l)); auto.
Qed.

Lemma derivative_line : forall (h : R -> R) b a d, derivable_pt_lim h b d ->
  derivable_pt_lim (fun t => h (b + a * t)) 0 (d * a).
Proof.
  intros h b a d H. apply (derivable_pt_lim_comp (fun t => b + a * t) h).
  - pose proof (derivable_pt_lim_plus (fun _ => b) (fun t => a * t) 0 0 (a * 1)
      (derivable_pt_lim_const b 0) (derivable_pt_lim_scal id a 0 1 (derivable_pt_lim_id 0))) as K.
    rewrite Rplus_0_l, Rmult_1_r in K. exact K.
  - rewrite Rmult_0_r, Rplus_0_r. assumption.
Qed.

Lemma derivative_ext : forall g h a d, (forall t, g t = h t) -> derivable_pt_lim g a d ->
  derivable_pt_lim h a d.
Proof.
  intros g h a d E H e pos. destruct (H e pos) as [delta K]. exists delta. intros.
  rewrite <- !E. auto.
Qed.

(* CLAIM CCW25-GRAD.  For every link that satisfies the conditions, noise_of is minus the gradient of R,
   and hessian the matrix of its second derivatives; without a ridge the gradient sums to 0. *)
Theorem gradient : forall n gamma x theta i, (i < n)%nat ->
  derivable_pt_lim (fun t => objective n gamma x (shift theta i t)) 0
    (- noise_of pull gamma x theta i).
Proof.
  intros n gamma x theta i below.
  replace (- noise_of pull gamma x theta i) with (sum (fun g => - pull (gap theta g) * arrow g i) x
    + gamma / 2 * range_sum n (fun j => 2 * theta j * (if Nat.eqb i j then 1 else 0))).
  - apply (derivable_pt_lim_plus (fun t => sum (fun g => - ln (F (gap (shift theta i t) g))) x)
      (fun t => gamma / 2 * range_sum n (fun j => shift theta i t j ^ 2))).
    + apply derivative_sum. intros g.
      apply derivative_ext with (fun t => - ln (F (gap theta g + arrow g i * t))).
      { intros. rewrite shift_gap. reflexivity. }
      apply (derivative_line (fun a => - ln (F a))). destruct (link (gap theta g)) as [[P _] [_ [D _]]].
      apply (derivable_pt_lim_opp (fun a => ln (F a))).
      unfold pull, Rdiv. rewrite (Rmult_comm (f _)).
      apply (derivable_pt_lim_comp F ln); [assumption|]. apply derivable_pt_lim_ln. assumption.
    + apply (derivable_pt_lim_scal (fun t => range_sum n (fun j => shift theta i t j ^ 2))).
      apply derivative_sum. intros j. apply (derivative_line (fun a => a ^ 2)).
      replace (2 * theta j) with (INR 2 * theta j ^ 1) by (simpl; ring).
      apply derivable_pt_lim_pow.
  - unfold noise_of, total. rewrite (range_sum_ext n _ (fun j => if Nat.eqb i j then 2 * theta j else 0)).
    + rewrite range_sum_pick by assumption.
      rewrite (sum_ext _ (fun g => -1 * (pull (gap theta g) * arrow g i))) by (intros; ring).
      rewrite sum_scale. field.
    + intros. destruct (Nat.eqb i i0); ring.
Qed.

Theorem second_derivatives : forall gamma x theta i j,
  derivable_pt_lim (fun t => - noise_of pull gamma x (shift theta j t) i) 0
    (hessian c gamma x theta i j).
Proof.
  intros gamma x theta i j.
  replace (hessian c gamma x theta i j) with (- (sum (fun g => - c (gap theta g) * arrow g j * arrow g i) x
    - gamma * (if Nat.eqb j i then 1 else 0))).
  - apply (derivable_pt_lim_opp (fun t => noise_of pull gamma x (shift theta j t) i)).
    apply (derivable_pt_lim_minus (fun t => total (fun g k => pull (gap (shift theta j t) g) * arrow g k) x i)
      (fun t => gamma * shift theta j t i)).
    + apply derivative_sum. intros g.
      apply derivative_ext with (fun t => arrow g i * pull (gap theta g + arrow g j * t)).
      { intros. rewrite shift_gap. ring. }
      rewrite (Rmult_comm _ (arrow g i)).
      apply (derivable_pt_lim_scal (fun t => pull (gap theta g + arrow g j * t))).
      apply derivative_line. apply link.
    + apply (derivable_pt_lim_scal (fun t => shift theta j t i)).
      rewrite <- (Rmult_1_l (if Nat.eqb j i then 1 else 0)). apply (derivative_line (fun a => a)).
      apply derivable_pt_lim_id.
  - unfold hessian, multiple. rewrite (Nat.eqb_sym j i).
    rewrite (sum_ext _ (fun g => -1 * (c (gap theta g) * (arrow g i * arrow g j)))) by (intros; ring).
    rewrite sum_scale. destruct (Nat.eqb i j); ring.
Qed.

Lemma pull_bounds : forall a, 0 <= pull a <= k1.
Proof.
  intros a. destruct (link a) as [[P Q] [_ [_ [N [_ [K _]]]]]]. unfold pull. split.
  - apply Rmult_le_pos; [assumption|]. left. apply Rinv_0_lt_compat. assumption.
  - apply Rle_trans with (2 := K). unfold Rdiv. apply Rmult_le_compat_l; [assumption|].
    apply Rinv_le_contravar; [apply Rmult_lt_0_compat; lra|]. nra.
Qed.

End Gradient.

(* Exchanges of one comparison for another, also for one of a pair that is there already. *)
Definition exchange (n : nat) (x y : list game) : Prop := exists g h rest, valid n g /\ valid n h /\
  Permutation x (g :: rest) /\ Permutation y (h :: rest).

Lemma exchange_private : forall F f c k1 k2 n gamma lambda, conditions F f c k1 k2 ->
  0 < gamma -> 0 < lambda ->
  private (exchange n) (4 * k1 / lambda + ln (1 + 2 * k2 / gamma))
    (density (fun a => f a / F a) c n gamma lambda).
Proof.
  intros F f c k1 k2 n gamma lambda link gpos lpos x y theta [g [h [rest [G [H [X Y]]]]]].
  assert (forall a, 0 <= f a / F a <= k1) as P by (apply pull_bounds with c k2; assumption).
  assert (forall a, 0 <= c a <= k2) as C by (intros a; apply (link a)).
  eapply Rle_trans; [apply (exchange_loss (fun a => f a / F a) c n gamma lambda gpos lpos
    (fun a => proj1 (P a)) (fun a => proj1 (C a)) g h rest x y theta G H X Y)|].
  apply Rmult_le_compat_r; [left; apply density_positive; auto; intros; apply C|].
  assert (0 < / gamma) as I by (apply Rinv_0_lt_compat; assumption).
  assert (0 < / lambda) as J by (apply Rinv_0_lt_compat; assumption).
  assert (forall a, a <= k2 -> 1 + 2 * a / gamma <= 1 + 2 * k2 / gamma) as M
    by (intros; unfold Rdiv; nra).
  rewrite exp_plus, exp_ln.
  - apply Rmult_le_compat; [left; apply exp_pos| | |apply M, C].
    + destruct (C (gap theta g)). unfold Rdiv. nra.
    + apply exp_le. pose proof (P (gap theta g)). pose proof (P (gap theta h)). unfold Rdiv. nra.
  - destruct (C (gap theta g)). unfold Rdiv. nra.
Qed.

(* CLAIM CCW25-P2.1.  For every link that satisfies the conditions, every n and epsilon: *)
Definition p21_says (c : R) : Prop := forall F f curv k1 k2 n epsilon gamma lambda,
  conditions F f curv k1 k2 -> 0 < k1 -> 0 < k2 -> 0 < epsilon ->
  c * k1 / epsilon <= lambda -> 4 * k2 / epsilon <= gamma ->
  private (edge n) epsilon (density (fun a => f a / F a) curv n gamma lambda).

Theorem p21 : p21_says 8.
Proof.
  intros F f c k1 k2 n epsilon gamma lambda link p1 p2 epos L G.
  assert (0 < lambda) as lpos by (apply Rlt_le_trans with (2 := L); apply Rdiv_lt_0_compat; lra).
  assert (0 < gamma) as gpos by (apply Rlt_le_trans with (2 := G); apply Rdiv_lt_0_compat; lra).
  intros x y theta close. destruct (edge_games n x y close) as [g [h [rest K]]].
  assert (exchange n x y) as ex by (exists g, h, rest; assumption).
  eapply Rle_trans; [apply (exchange_private F f c k1 k2 n gamma lambda link gpos lpos x y); assumption|].
  apply Rmult_le_compat_r; [left; apply density_positive; auto; intros; apply (link a)|].
  apply exp_le.
  assert (4 * k1 / lambda <= epsilon / 2).
  { apply Rmult_le_reg_r with lambda; [assumption|].
    replace (4 * k1 / lambda * lambda) with (4 * k1) by (field; lra).
    apply Rmult_le_compat_r with (r := epsilon) in L; [|lra].
    replace (8 * k1 / epsilon * epsilon) with (8 * k1) in L by (field; lra). lra. }
  assert (2 * k2 / gamma <= epsilon / 2).
  { apply Rmult_le_reg_r with gamma; [assumption|].
    replace (2 * k2 / gamma * gamma) with (2 * k2) by (field; lra).
    apply Rmult_le_compat_r with (r := epsilon) in G; [|lra].
    replace (4 * k2 / epsilon * epsilon) with (4 * k2) in G by (field; lra). lra. }
  assert (ln (1 + 2 * k2 / gamma) <= 2 * k2 / gamma); [|lra].
  assert (0 < 2 * k2 / gamma) by (apply Rdiv_lt_0_compat; lra).
  pose proof (exp_line (ln (1 + 2 * k2 / gamma))) as E. rewrite exp_ln in E; lra.
Qed.

(* ---------------------------------------------------------------- the logistic link *)

(* The chance 1 - F(a) of the loser, if the winner leads by a; and the curvature F(a) (1 - F(a)). *)
Definition surprise (a : R) : R := / (1 + exp a).
Definition bend (a : R) : R := surprise a * (1 - surprise a).
Definition mle : nat -> R -> R -> list game -> (nat -> R) -> R := density surprise bend.

Lemma surprise_bounds : forall a, 0 < surprise a < 1.
Proof.
  intros a. unfold surprise. pose proof (exp_pos a). split; [apply Rinv_0_lt_compat; lra|].
  rewrite <- Rinv_1 at 2. apply Rinv_lt_contravar; lra.
Qed.

Lemma surprise_opp : forall a, surprise (- a) = 1 - surprise a.
Proof. intros. unfold surprise. rewrite exp_Ropp. pose proof (exp_pos a). field. lra. Qed.

Lemma bend_bounds : forall a, 0 <= bend a <= 1 / 4.
Proof.
  intros a. pose proof (surprise_bounds a). unfold bend. split; [nra|].
  pose proof (Rle_0_sqr (surprise a - 1 / 2)). unfold Rsqr in *. lra.
Qed.

Lemma surprise_derivative : forall a, derivable_pt_lim surprise a (- bend a).
Proof.
  intros a. pose proof (exp_pos a).
  assert (derivable_pt_lim (fun b => 1 + exp b) a (exp a)) as E.
  { pose proof (derivable_pt_lim_plus (fun _ => 1) exp a 0 (exp a)
      (derivable_pt_lim_const 1 a) (derivable_pt_lim_exp a)) as K.
    rewrite Rplus_0_l in K. exact K. }
  pose proof (derivable_pt_lim_div (fun _ => 1) (fun b => 1 + exp b) a 0 (exp a)
    (derivable_pt_lim_const 1 a) E ltac:(lra)) as K.
  replace (- bend a) with ((0 * (1 + exp a) - exp a * 1) / Rsqr (1 + exp a))
    by (unfold bend, surprise, Rsqr; field; lra).
  apply derivative_ext with (2 := K). intros t. unfold div_fct, surprise. apply Rmult_1_l.
Qed.

(* It is one of the links of Proposition 2.1, with constants 1 and 1/4. *)
Lemma logistic : conditions (fun a => 1 - surprise a) bend bend 1 (1 / 4).
Proof.
  intros a. pose proof (surprise_bounds a). pose proof (bend_bounds a). repeat split; try lra.
  - rewrite surprise_opp. ring.
  - pose proof (derivable_pt_lim_minus (fun _ => 1) surprise a 0 _
      (derivable_pt_lim_const 1 a) (surprise_derivative a)) as K.
    rewrite Rminus_0_l, Ropp_involutive in K. exact K.
  - apply derivative_ext with surprise; [|apply surprise_derivative].
    intros t. pose proof (surprise_bounds t). unfold bend. field. lra.
  - right. unfold bend. field. lra.
Qed.

Lemma mle_density : forall n gamma lambda x theta, mle n gamma lambda x theta
  = density (fun a => bend a / (1 - surprise a)) bend n gamma lambda x theta.
Proof.
  intros. unfold mle, density. do 5 f_equal. apply range_sum_ext. intros. unfold noise_of, total.
  do 2 f_equal. apply sum_ext. intros. unfold bend. pose proof (surprise_bounds (gap theta a)).
  field. lra.
Qed.

(* Where neighbours have compared the same pairs, the estimate is a relabelling of noisy counts:
   its noise is the win counts minus what the strengths, the ridge and the pairs alone decide. *)
Definition expected (gamma : R) (x : list game) (theta : nat -> R) (i : nat) : R :=
  gamma * theta i + total (fun g j =>
    (1 - surprise (gap theta g)) * won g j + surprise (gap theta g) * won (swap g) j) x i.

Definition even (phi : game -> R) : Prop := forall g, phi (swap g) = phi g.

Lemma gap_swap : forall theta g, gap theta (swap g) = - gap theta g.
Proof. intros. unfold gap, swap. simpl. ring. Qed.

Lemma swap_swap : forall g, swap (swap g) = g.
Proof. intros []. reflexivity. Qed.

Lemma mle_counts : forall n gamma lambda x theta, mle n gamma lambda x theta
  = laplace n lambda (wins x) (expected gamma x theta) * det n (hessian bend gamma x theta).
Proof.
  intros. unfold mle, density, laplace, vector_noise, gauge_noise. do 4 f_equal.
  apply f_equal. unfold size, l1. apply range_sum_ext. intros i _. rewrite Rabs_minus_sym. f_equal.
  unfold noise_of, expected, wins, total.
  rewrite (sum_ext _ (fun g => won g i - ((1 - surprise (gap theta g)) * won g i
    + surprise (gap theta g) * won (swap g) i))); [rewrite sum_minus; ring|].
  intros. unfold arrow. ring.
Qed.

(* A release whose density is that of Laplace noise around a statistic, at a point e that theta decides,
   times a Jacobian; neighbours have the same e and Jacobian.  Its loss is that of the noise. *)
Section Relabelled.
Context {D : Type} (near : D -> D -> Prop) (stat : D -> nat -> R).
Variables (e : D -> (nat -> R) -> nat -> R) (jacobian : D -> (nat -> R) -> R).
Variables (n : nat) (gamma lambda S : R).
Hypothesis gamma_positive : 0 < gamma.
Hypothesis lambda_positive : 0 < lambda.
Hypothesis jacobian_positive : forall x theta, 0 < jacobian x theta.
Hypothesis same : forall x y theta, near x y ->
  jacobian x theta = jacobian y theta /\ forall i, e x theta i = e y theta i.
Hypothesis bounded : forall x, exists m, forall theta i, (i < n)%nat ->
  - m <= stat x i <= m /\ - m <= e x theta i - gamma * theta i <= m.
Hypothesis moves : sensitivity (l1 n) near stat S.

Theorem relabelled_exactly : forall epsilon, private near epsilon
    (fun x theta => laplace n lambda (stat x) (e x theta) * jacobian x theta) <->
  S / lambda <= epsilon.
Proof.
  intros epsilon. destruct moves as [below [x [y [close reached]]]].
  assert (0 < / lambda) as I by (apply Rinv_0_lt_compat; assumption).
  assert (0 < laplace_unit lambda ^ n) as U by (apply pow_lt, laplace_unit_positive; assumption).
  assert (forall x y theta, near x y -> laplace n lambda (stat y) (e y theta)
    = laplace n lambda (stat y) (e x theta)) as relabel.
  { intros u v theta uv. unfold laplace, vector_noise, gauge_noise. do 4 f_equal.
    apply range_sum_ext. intros i _. destruct (same u v theta uv) as [_ E]. rewrite E. reflexivity. }
  split.
  - intros safe. destruct (bounded x) as [mx Bx], (bounded y) as [my By].
    set (theta := fun i => (mx + mx + my) / gamma * sign (stat x i - stat y i)).
    specialize (safe x y theta close). simpl in safe.
    rewrite (relabel x y theta close), <- (proj1 (same x y theta close)), <- Rmult_assoc in safe.
    apply Rmult_le_reg_r in safe; [|apply jacobian_positive].
    unfold laplace, vector_noise, gauge_noise in safe.
    rewrite <- Rmult_assoc, (Rmult_comm (exp epsilon)), Rmult_assoc in safe.
    apply Rmult_le_reg_l in safe; [|assumption]. rewrite <- exp_plus in safe.
    assert (l1 n (e x theta) (stat y) - l1 n (e x theta) (stat x) = S) as far.
    { rewrite <- reached. unfold l1, range_sum. rewrite <- sum_minus. apply range_sum_ext.
      intros i K. destruct (Bx theta i K) as [A B], (By theta i K) as [C _].
      replace (gamma * theta i) with ((mx + mx + my) * sign (stat x i - stat y i)) in B
        by (unfold theta; field; lra).
      unfold sign in B. unfold Rabs.
      destruct (Rle_dec 0 (stat x i - stat y i)); repeat destruct (Rcase_abs _); lra. }
    destruct (Rle_or_lt (S / lambda) epsilon) as [L|L]; [assumption|]. exfalso.
    apply Rle_not_lt in safe. apply safe. apply exp_increasing. unfold Rdiv in *. nra.
  - intros enough u v theta uv. rewrite (relabel u v theta uv), <- (proj1 (same u v theta uv)).
    rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [left; apply jacobian_positive|].
    eapply Rle_trans; [apply (vector_noise_private _ n lambda _ (stat v));
      auto using laplace_unit_positive|].
    apply Rmult_le_compat_r; [apply Rmult_le_pos; [lra|left; apply exp_pos]|].
    apply exp_le. apply Rle_trans with (2 := enough). apply Rmult_le_compat_r; [lra|]. auto.
Qed.

End Relabelled.

(* Where neighbours have compared the same pairs, the estimate is such a release, of the win counts. *)
Theorem public_exactly : forall D (near : D -> D -> Prop) (games : D -> list game) n gamma lambda S,
  0 < gamma -> 0 < lambda ->
  (forall x y phi, near x y -> even phi -> sum phi (games x) = sum phi (games y)) ->
  sensitivity (l1 n) near (fun x => wins (games x)) S ->
  forall epsilon, private near epsilon (fun x => mle n gamma lambda (games x)) <->
    S / lambda <= epsilon.
Proof.
  intros D near games n gamma lambda S gpos lpos pairs moves epsilon.
  rewrite <- (relabelled_exactly near (fun x => wins (games x)) (fun x => expected gamma (games x))
    (fun x theta => det n (hessian bend gamma (games x) theta)) n gamma lambda S); auto.
  - unfold private. split; intros H x y theta close; specialize (H x y theta close);
      rewrite !mle_counts in *; assumption.
  - intros. apply det_hessian_positive; auto. intros; apply bend_bounds.
  - intros x y theta close. split.
    + apply det_ext. intros. unfold hessian. f_equal. apply pairs; [assumption|].
      intros g. unfold bend, arrow. rewrite gap_swap, surprise_opp, swap_swap. ring.
    + intros i. unfold expected, total. f_equal. apply pairs; [assumption|].
      intros g. rewrite gap_swap, surprise_opp, swap_swap. ring.
  - intros x. exists (INR (length (games x))). intros theta i _.
    pose proof (wins_bounds (games x) i). split; [lra|]. unfold expected.
    match goal with |- _ <= _ + total ?f _ _ - _ <= _ =>
      destruct (total_bounds _ f (games x) i); [|lra] end.
    intros g. pose proof (surprise_bounds (gap theta g)).
    pose proof (won_bounds g i). pose proof (won_bounds (swap g) i). nra.
Qed.

Lemma Rabs_le_inv : forall a b, Rabs a <= b -> - b <= a <= b.
Proof. intros a b. unfold Rabs. destruct (Rcase_abs a); lra. Qed.

Lemma same_threshold : forall a b, (forall e, a <= e <-> b <= e) -> a = b.
Proof. intros a b H. apply Rle_antisym; [apply H|apply H]; lra. Qed.

(* Every comparison keeps its pair, and one is turned round. *)
Definition flip (n : nat) (x y : list game) : Prop := edge n x y /\ exists g rest,
  Permutation x (g :: rest) /\ Permutation y (swap g :: rest).

Lemma flip_exactly : forall n gamma lambda epsilon, (2 <= n)%nat -> 0 < gamma -> 0 < lambda ->
  private (flip n) epsilon (mle n gamma lambda) <-> 2 / lambda <= epsilon.
Proof.
  intros n gamma lambda epsilon H gpos lpos.
  apply (public_exactly _ (flip n) (fun x => x)); auto.
  - intros x y phi [_ [g [rest [X Y]]]] E.
    rewrite (sum_permutation _ _ _ _ X), (sum_permutation _ _ _ _ Y). simpl. rewrite E. reflexivity.
  - destruct (edge_sensitivity n H) as [[below _] _]. split.
    + intros x y [close _]. auto.
    + exists [(0, 1)%nat], [(1, 0)%nat]. split.
      * split; [apply edge_flip; assumption|]. exists (0, 1)%nat, []. split; reflexivity.
      * destruct (moved n 1 H) as [K _]. simpl in K. rewrite K. ring.
Qed.

(* The comparisons on a sheet on which each pair is decided. *)
Definition games_of (n : nat) (s : sheet) : list game :=
  filter (fun g => s (fst g) (snd g)) (list_prod (seq 0 n) (seq 0 n)).

Lemma sum_games : forall n s phi, sum phi (games_of n s)
  = range_sum n (fun i => range_sum n (fun j => bit (s i j) * phi (i, j))).
Proof.
  intros n s phi. unfold games_of, range_sum. generalize (seq 0 n) at 1 4 as l.
  assert (forall k (l : list game), sum phi (filter k l) = sum (fun g => bit (k g) * phi g) l) as F
    by (intros k l; induction l as [|g l IH]; simpl; [reflexivity|];
      destruct (k g); simpl; rewrite IH; ring).
  intros l. rewrite F. clear F. induction l as [|a l IH]; simpl; [reflexivity|].
  rewrite sum_app, sum_map, IH. reflexivity.
Qed.

Lemma wins_games : forall n s i, (i < n)%nat -> wins (games_of n s) i = score n s i.
Proof.
  intros n s i H. unfold wins, total. rewrite sum_games. unfold won. simpl.
  rewrite <- (range_sum_pick n (fun i => score n s i) i H). apply range_sum_ext. intros j _.
  rewrite (Nat.eqb_sym j i). destruct (Nat.eqb_spec i j) as [->|].
  - apply range_sum_ext. intros. ring.
  - unfold range_sum. rewrite (sum_ext _ (fun _ => 0)) by (intros; ring). apply sum_zero.
Qed.

Lemma sum_games_same : forall n s t phi, decided s -> decided t -> even phi ->
  sum phi (games_of n s) = sum phi (games_of n t).
Proof.
  intros n s t phi [SD S] [TD T] E. rewrite !sum_games.
  assert (forall s, range_sum n (fun i => range_sum n (fun j => bit (s i j) * phi (i, j)))
    = / 2 * range_sum n (fun i => range_sum n (fun j => (bit (s i j) + bit (s j i)) * phi (i, j))))
    as twice.
  { intros r. unfold range_sum.
    rewrite (sum_ext (fun i => sum (fun j => (_ + _) * _) _) (fun i =>
      sum (fun j => bit (r i j) * phi (i, j)) (seq 0 n)
        + sum (fun j => bit (r j i) * phi (j, i)) (seq 0 n))).
    - rewrite sum_plus. rewrite (sum_swap _ _ (fun i j => bit (r j i) * phi (j, i))). lra.
    - intros i. rewrite <- sum_plus. apply sum_ext. intros j.
      rewrite <- (E (i, j)). unfold swap. simpl. rewrite <- (E (j, i)). unfold swap. simpl. ring. }
  rewrite (twice s), (twice t). f_equal. apply range_sum_ext. intros i _. apply range_sum_ext.
  intros j _. f_equal. destruct (Nat.eq_dec i j) as [->|ne]; [rewrite SD, TD; reflexivity|].
  rewrite (S i j ne), (T i j ne). destruct (s i j), (t i j); simpl; lra.
Qed.

(* CLAIM BOOK-MLE-ONCE.  If each of m + 1 people decides each pair once and one of them is replaced, the
   loss is exactly c floor(n^2/2) / lambda with c = 1, for every n, m, noise and ridge. *)
Definition mle_once_says (c : R) : Prop := forall n m gamma lambda epsilon,
  (1 <= n)%nat -> 0 < gamma -> 0 < lambda ->
  (private (replaced m decided) epsilon (fun x => mle n gamma lambda (flat_map (games_of n) x))
    <-> c * INR (n * n / 2) / lambda <= epsilon).

Theorem mle_once : mle_once_says 1.
Proof.
  intros n m gamma lambda epsilon H gpos lpos. rewrite Rmult_1_l.
  apply (public_exactly _ (replaced m decided) (flat_map (games_of n))); auto.
  - intros x y phi [p [q [rest [P [Q [_ [_ [X Y]]]]]]]] E. rewrite !sum_flat_map.
    rewrite (sum_permutation _ _ _ _ X), (sum_permutation _ _ _ _ Y). simpl.
    rewrite (sum_games_same n p q phi P Q E). reflexivity.
  - assert (forall x y, l1 n (wins (flat_map (games_of n) x)) (wins (flat_map (games_of n) y))
      = l1 n (total (score n) x) (total (score n) y)) as E.
    { assert (forall z i, (i < n)%nat -> wins (flat_map (games_of n) z) i = total (score n) z i) as W
        by (intros z i K; unfold wins, total; rewrite sum_flat_map; apply sum_ext; intros;
          apply (wins_games n a i K)).
      intros x y. apply range_sum_ext. intros i K. rewrite !W by assumption. reflexivity. }
    destruct (once_sensitivity n m decided H) as [[below [x [y [close reached]]]] _]; [auto|].
    split; [intros; rewrite E; auto|]. exists x, y. rewrite E. auto.
Qed.

Theorem mle_once_control : forall c, c <> 1 -> ~ mle_once_says c.
Proof.
  intros c ne H. assert (c * INR (2 * 2 / 2) / 1 = 1 * INR (2 * 2 / 2) / 1) as E.
  { apply same_threshold. intros e. rewrite <- (H 2%nat 0%nat 1 1 e), <- (mle_once 2%nat 0%nat 1 1 e);
      try lia; try lra. reflexivity. }
  simpl in E. lra.
Qed.

(* ---------------------------------------------------------------- exchanges, exactly *)

(* The bound for one exchange, and the data that come near it.  The comparison (0, 1) is removed, whose
   loser led with surprise u; the complete upset (2, 3) is put in; and m complete upsets each pull item
   0 down and item 1 up, so that both pulls count in full.  t says how far apart the others are. *)
Section Worst.
Variables (m : nat) (u gamma lambda delta : R).
Hypothesis u_inside : 0 < u < 1.
Hypothesis gamma_positive : 0 < gamma.
Hypothesis lambda_positive : 0 < lambda.
Hypothesis delta_small : 0 < delta <= 1 / 2.

Let n := (4 + (m + m))%nat.
Let lead := ln ((1 - u) / u).
Let t := Rabs lead - ln delta.
Hypothesis many : gamma * Rabs lead + 1 <= INR m / 2.

Definition upsets : list game :=
  map (fun a => (a, 0%nat)) (seq 4 m) ++ map (fun b => (1%nat, b)) (seq (4 + m) m).
Definition strengths (i : nat) : R :=
  match i with
  | 0%nat => lead | 1%nat => 0 | 2%nat => - t | 3%nat => t
  | _ => if Nat.ltb i (4 + m) then - t else t
  end.
Let x := (0, 1)%nat :: upsets.
Let y := (2, 3)%nat :: upsets.

Lemma upsets_in : forall g, In g upsets ->
  (exists a, g = (a, 0%nat) /\ (4 <= a < 4 + m)%nat) \/
  (exists b, g = (1%nat, b) /\ (4 + m <= b < 4 + (m + m))%nat).
Proof.
  intros g H. apply in_app_or in H. rewrite !in_map_iff in H.
  destruct H as [[a [<- H]]|[b [<- H]]]; apply in_seq in H; [left; exists a|right; exists b];
    split; auto; lia.
Qed.

Lemma upsets_valid : Forall (valid n) upsets.
Proof.
  apply Forall_forall. intros g H. destruct (upsets_in g H) as [[a [-> K]]|[b [-> K]]];
    unfold valid, n; simpl; lia.
Qed.

Lemma worst_edge : edge n x y.
Proof.
  assert (map snd (map pair_of upsets) = seq 4 (m + m)) as E.
  { unfold upsets. rewrite !map_app, !map_map, seq_app. f_equal.
    - rewrite (map_ext _ (fun a => a)); [apply map_id|]. intros. unfold pair_of. simpl. lia.
    - rewrite (map_ext_in _ (fun a => a)); [apply map_id|]. intros a H. apply in_seq in H.
      unfold pair_of. simpl. destruct a; lia. }
  assert (forall k, (k < 4)%nat -> NoDup (k :: seq 4 (m + m))) as N.
  { intros. constructor; [rewrite in_seq; lia|apply seq_NoDup]. }
  repeat split.
  - constructor; [unfold valid, n; simpl; lia|apply upsets_valid].
  - apply (NoDup_map_inv snd). simpl. rewrite E. apply N. lia.
  - constructor; [unfold valid, n; simpl; lia|apply upsets_valid].
  - apply (NoDup_map_inv snd). simpl. rewrite E. apply N. lia.
  - exists (0, 1)%nat, (2, 3)%nat, upsets. repeat split; auto. congruence.
Qed.

Lemma lead_surprise : surprise (gap strengths (0, 1)%nat) = u.
Proof.
  unfold gap, surprise, strengths. simpl. rewrite Rminus_0_r. unfold lead.
  rewrite exp_ln by (apply Rdiv_lt_0_compat; lra). field. lra.
Qed.

(* Complete upsets: the surprise is almost 1, and the curvature almost 0. *)
Lemma upset : forall a, a <= ln delta -> 1 - delta <= surprise a /\ bend a <= delta.
Proof.
  intros a H. apply exp_le in H. rewrite exp_ln in H by lra. pose proof (surprise_bounds a).
  assert (1 - surprise a <= delta).
  { apply Rle_trans with (2 := H). replace (1 - surprise a) with (exp a * surprise a)
      by (unfold surprise; pose proof (exp_pos a); field; lra). pose proof (exp_pos a). nra. }
  unfold bend. split; [lra|]. nra.
Qed.

Lemma ln_delta : ln delta < 0.
Proof. rewrite <- ln_1. apply ln_increasing; lra. Qed.

Lemma upsets_gap : forall g, In g ((2, 3)%nat :: upsets) -> gap strengths g <= ln delta.
Proof.
  pose proof ln_delta. pose proof (Rabs_pos lead). pose proof (Rle_abs (- lead)) as A.
  rewrite Rabs_Ropp in A. intros g [<-|K]; [unfold gap, strengths, t; simpl; lra|].
  destruct (upsets_in g K) as [[a [-> B]]|[b [-> B]]]; unfold gap; simpl fst; simpl snd.
  - destruct a as [|[|[|[|a]]]]; try lia. unfold strengths.
    destruct (Nat.ltb_spec (S (S (S (S a)))) (4 + m)); [|lia]. unfold t. lra.
  - destruct b as [|[|[|[|b]]]]; try lia. unfold strengths.
    destruct (Nat.ltb_spec (S (S (S (S b)))) (4 + m)); [lia|]. unfold t. lra.
Qed.

(* The noise without the comparison that is exchanged, for the four items that it touches. *)
Lemma upsets_noise : let w := noise_of surprise gamma upsets strengths in
  w 0%nat <= - u /\ u <= w 1%nat /\ 0 <= w 2%nat /\ w 3%nat <= 0.
Proof.
  pose proof ln_delta. pose proof (Rabs_pos lead). pose proof (Rle_abs (- lead)) as A.
  rewrite Rabs_Ropp in A.
  assert (0 <= t) by (unfold t; lra).
  assert (forall i f, (forall a, In a (seq 4 m) -> arrow (a, 0%nat) i = f) ->
    (forall b, In b (seq (4 + m) m) -> arrow (1%nat, b) i = 0) -> f <= 0 ->
    total (fun g j => surprise (gap strengths g) * arrow g j) upsets i <= f * (INR m / 2)) as down.
  { intros i f F Z neg. unfold total, upsets. rewrite sum_app, !sum_map.
    rewrite (sum_ext_in (fun b => _ * arrow (1%nat, b) i) (fun _ => 0)), sum_zero.
    2: { intros b B. rewrite (Z b B). ring. }
    rewrite Rplus_0_r. replace (f * (INR m / 2)) with (sum (fun _ => / 2 * f) (seq 4 m))
      by (rewrite sum_const, seq_length; field).
    apply sum_le_in. intros a I. rewrite (F a I).
    destruct (upset (gap strengths (a, 0%nat))); [|nra]. apply upsets_gap. right.
    apply in_or_app. left. apply in_map_iff. exists a. auto. }
  assert (forall i f, (forall a, In a (seq 4 m) -> arrow (a, 0%nat) i = 0) ->
    (forall b, In b (seq (4 + m) m) -> arrow (1%nat, b) i = f) -> 0 <= f ->
    f * (INR m / 2) <= total (fun g j => surprise (gap strengths g) * arrow g j) upsets i) as up.
  { intros i f Z F pos. unfold total, upsets. rewrite sum_app, !sum_map.
    rewrite (sum_ext_in (fun a => _ * arrow (a, 0%nat) i) (fun _ => 0)), sum_zero.
    2: { intros a B. rewrite (Z a B). ring. }
    rewrite Rplus_0_l. replace (f * (INR m / 2)) with (sum (fun _ => / 2 * f) (seq (4 + m) m))
      by (rewrite sum_const, seq_length; field).
    apply sum_le_in. intros b I. rewrite (F b I). apply Rmult_le_compat_r; [assumption|].
    destruct (upset (gap strengths (1%nat, b))); [|lra]. apply upsets_gap. right.
    apply in_or_app. right. apply in_map_iff. exists b. auto. }
  assert (forall a i, In a (seq 4 m) -> (i < 4)%nat -> arrow (a, 0%nat) i = if Nat.eqb i 0 then -1 else 0)
    as low.
  { intros a i I K. apply in_seq in I. unfold arrow, won, swap. cbn [fst snd].
    destruct (Nat.eqb_spec a i); [lia|]. rewrite (Nat.eqb_sym i 0). destruct (Nat.eqb 0 i); lra. }
  assert (forall b i, In b (seq (4 + m) m) -> (i < 4)%nat -> arrow (1%nat, b) i = if Nat.eqb i 1 then 1 else 0)
    as high.
  { intros b i I K. apply in_seq in I. unfold arrow, won, swap. cbn [fst snd].
    destruct (Nat.eqb_spec b i); [lia|]. rewrite (Nat.eqb_sym i 1). destruct (Nat.eqb 1 i); lra. }
  unfold noise_of. repeat split; simpl strengths.
  - pose proof (down 0%nat (-1) ltac:(intros; apply low; auto; lia)
      ltac:(intros; apply high; auto; lia) ltac:(lra)). nra.
  - pose proof (up 1%nat 1 ltac:(intros; apply low; auto; lia)
      ltac:(intros; apply high; auto; lia) ltac:(lra)). nra.
  - pose proof (up 2%nat 0 ltac:(intros; apply low; auto; lia)
      ltac:(intros; apply high; auto; lia) ltac:(lra)). nra.
  - pose proof (down 3%nat 0 ltac:(intros; apply low; auto; lia)
      ltac:(intros; apply high; auto; lia) ltac:(lra)). nra.
Qed.

Lemma worst_pull : 2 * u + 2 - 2 * delta <=
  size n (noise_of surprise gamma y strengths) - size n (noise_of surprise gamma x strengths).
Proof.
  destruct upsets_noise as [zero [one [two three]]].
  destruct (upset (gap strengths (2, 3)%nat)) as [s _]; [apply upsets_gap; left; reflexivity|].
  pose proof (surprise_bounds (gap strengths (2, 3)%nat)).
  unfold size, range_sum. rewrite <- sum_minus. fold (range_sum n).
  change (sum _ (seq 0 n)) with (range_sum n (fun i => Rabs (noise_of surprise gamma y strengths i)
    - Rabs (noise_of surprise gamma x strengths i))).
  rewrite (range_sum_few 4); [|unfold n; lia|].
  - unfold range_sum. simpl seq. unfold sum. unfold x, y. rewrite !noise_cons, lead_surprise.
    unfold arrow, won, swap. simpl fst. simpl snd. simpl Nat.eqb. cbv iota.
    set (w := noise_of surprise gamma upsets strengths) in *.
    set (s0 := surprise (gap strengths (2, 3)%nat)) in *.
    rewrite (Rabs_left1 (w 0%nat + s0 * _)), (Rabs_left1 (w 0%nat + u * _)) by lra.
    rewrite (Rabs_pos_eq (w 1%nat + s0 * _)), (Rabs_pos_eq (w 1%nat + u * _)) by lra.
    rewrite (Rabs_pos_eq (w 2%nat + s0 * _)), (Rabs_pos_eq (w 2%nat + u * _)) by lra.
    rewrite (Rabs_left1 (w 3%nat + s0 * _)), (Rabs_left1 (w 3%nat + u * _)) by lra. lra.
  - intros i K. unfold x, y. rewrite !noise_cons.
    assert (arrow (0, 1)%nat i = 0 /\ arrow (2, 3)%nat i = 0) as [-> ->].
    { unfold arrow, won. simpl. destruct i as [|[|[|[|i]]]]; try lia. simpl. split; lra. }
    rewrite !Rmult_0_r, !Rplus_0_r. ring.
Qed.

Lemma form_hessian : forall l theta v, form n (hessian bend gamma l theta) v
  = gamma * dot n v v + sum (fun g => bend (gap theta g) * dot n (arrow g) v ^ 2) l.
Proof.
  intros l theta v. induction l as [|g l IH].
  - simpl. rewrite <- multiple_form, Rplus_0_r. apply range_sum_ext. intros. apply range_sum_ext.
    intros. unfold hessian. simpl. ring.
  - transitivity (form n (update (hessian bend gamma l theta) (bend (gap theta g)) (arrow g)) v).
    + apply range_sum_ext. intros. apply range_sum_ext. intros. rewrite hessian_cons. reflexivity.
    + rewrite form_update, IH. simpl. ring.
Qed.

Lemma dot_arrow : forall g v, valid n g -> dot n (arrow g) v = v (fst g) - v (snd g).
Proof.
  intros g v [W [L _]]. rewrite <- (range_sum_pick n v _ W), <- (range_sum_pick n v _ L).
  unfold dot, range_sum. rewrite <- sum_minus. apply sum_ext. intros i.
  unfold arrow, won, swap. simpl. destruct (Nat.eqb (fst g) i), (Nat.eqb (snd g) i); ring.
Qed.

Lemma worst_volume : det n (hessian bend gamma x strengths) * (1 + 2 * delta / gamma) >=
  det n (hessian bend gamma y strengths)
    * (1 + u * (1 - u) * (2 / gamma - 8 * INR m * delta / gamma ^ 2)).
Proof.
  assert (forall a, 0 <= bend a) as B by (intros; apply bend_bounds).
  destruct (hessian_above bend n gamma B upsets strengths) as [S A].
  pose proof (det_hessian_positive bend n gamma gamma_positive B upsets strengths) as P.
  assert (valid n (0, 1)%nat) as V by (unfold valid, n; simpl; lia).
  assert (valid n (2, 3)%nat) as W by (unfold valid, n; simpl; lia).
  destruct (one_more bend n gamma gamma_positive B (2, 3)%nat upsets strengths W) as [_ up].
  destruct (upset (gap strengths (2, 3)%nat)) as [_ flat]; [apply upsets_gap; left; reflexivity|].
  assert (0 < / gamma) as I by (apply Rinv_0_lt_compat; assumption).
  set (v := arrow (0, 1)%nat). set (w := fun i => / gamma * v i).
  pose proof (inverse_form_ge n gamma _ v w gamma_positive S A) as Q.
  assert (dot n v w = 2 / gamma) as one.
  { unfold Rdiv. rewrite <- (arrow_square n _ V), Rmult_comm. fold v. unfold dot, range_sum, w.
    rewrite <- sum_scale. apply sum_ext. intros. ring. }
  assert (dot n w w = 2 / gamma ^ 2) as two.
  { replace (2 / gamma ^ 2) with (/ gamma * (2 / gamma)) by (field; lra). rewrite <- one.
    unfold dot, range_sum, w. rewrite <- sum_scale. apply sum_ext. intros. ring. }
  assert (form n (hessian bend gamma upsets strengths) w
    <= 2 / gamma + INR (m + m) * (delta * (4 * / gamma ^ 2))) as three.
  { rewrite form_hessian, two. replace (gamma * (2 / gamma ^ 2)) with (2 / gamma) by (field; lra).
    apply Rplus_le_compat_l. replace (m + m)%nat with (length upsets)
      by (unfold upsets; rewrite app_length, !map_length, !seq_length; reflexivity).
    rewrite <- sum_const. apply sum_le_in. intros g H.
    destruct (upset (gap strengths g)) as [_ F]; [apply upsets_gap; right; assumption|].
    rewrite dot_arrow by (apply (proj1 (Forall_forall _ _) upsets_valid); assumption).
    apply Rmult_le_compat; auto; [apply pow2_ge_0|].
    replace (w (fst g) - w (snd g)) with ((v (fst g) - v (snd g)) * / gamma) by (unfold w; ring).
    rewrite Rpow_mult_distr, pow_inv. apply Rmult_le_compat_r.
    - left. apply Rinv_0_lt_compat, pow_lt. assumption.
    - assert (forall i, -1 <= v i <= 1) as range
        by (intros i; unfold v, arrow; pose proof (won_bounds (0, 1)%nat i);
          pose proof (won_bounds (swap (0, 1)%nat) i); lra).
      pose proof (range (fst g)). pose proof (range (snd g)). nra. }
  rewrite plus_INR in three.
  assert (2 / gamma - 8 * INR m * delta / gamma ^ 2
    <= inverse_form n (hessian bend gamma upsets strengths) v) as four.
  { apply Rle_trans with (2 := Q). rewrite one.
    replace (8 * INR m * delta / gamma ^ 2) with ((INR m + INR m) * (delta * (4 * / gamma ^ 2)))
      by (field; lra). lra. }
  unfold x at 1. rewrite det_hessian by auto. fold v.
  assert (bend (gap strengths (0, 1)%nat) = u * (1 - u)) as -> by (unfold bend; rewrite lead_surprise; ring).
  fold y in up.
  set (d := det n (hessian bend gamma upsets strengths)) in *.
  set (dy := det n (hessian bend gamma y strengths)) in *.
  set (q := inverse_form n (hessian bend gamma upsets strengths) v) in *.
  assert (0 < dy) as pos by (apply det_hessian_positive; auto).
  assert (dy <= d * (1 + 2 * delta / gamma)).
  { apply Rle_trans with (1 := up). apply Rmult_le_compat_l; [lra|]. unfold Rdiv. nra. }
  assert (0 <= q) by (apply inverse_form_nonneg with gamma; auto).
  assert (0 <= u * (1 - u)) by nra.
  apply Rle_ge. apply Rle_trans with (dy * (1 + u * (1 - u) * q)).
  - apply Rmult_le_compat_l; [lra|]. apply Rplus_le_compat_l. apply Rmult_le_compat_l; assumption.
  - replace (d * (1 + u * (1 - u) * q) * (1 + 2 * delta / gamma))
      with (d * (1 + 2 * delta / gamma) * (1 + u * (1 - u) * q)) by ring.
    apply Rmult_le_compat_r; [|assumption]. assert (0 <= u * (1 - u) * q) by nra. lra.
Qed.

Lemma worst_loss : forall epsilon, private (edge n) epsilon (mle n gamma lambda) ->
  exp ((2 * u + 2 - 2 * delta) / lambda)
    * (1 + u * (1 - u) * (2 / gamma - 8 * INR m * delta / gamma ^ 2))
  <= exp epsilon * (1 + 2 * delta / gamma).
Proof.
  intros epsilon safe. specialize (safe x y strengths worst_edge).
  pose proof worst_pull as P. pose proof worst_volume as V.
  assert (forall z, 0 < det n (hessian bend gamma z strengths)) as J
    by (intros; apply det_hessian_positive; auto; intros; apply bend_bounds).
  pose proof (J x) as Jx. pose proof (J y) as Jy.
  unfold mle, density in safe.
  set (sx := size n (noise_of surprise gamma x strengths)) in *.
  set (sy := size n (noise_of surprise gamma y strengths)) in *.
  set (dx := det n (hessian bend gamma x strengths)) in *.
  set (dy := det n (hessian bend gamma y strengths)) in *.
  set (U := laplace_unit lambda ^ n) in *.
  assert (0 < U) as Up by (apply pow_lt, laplace_unit_positive; assumption).
  set (k := 1 + 2 * delta / gamma) in *.
  assert (0 < k) by (unfold k, Rdiv; assert (0 < / gamma) by (apply Rinv_0_lt_compat; assumption); nra).
  set (f := 1 + u * (1 - u) * (2 / gamma - 8 * INR m * delta / gamma ^ 2)) in *.
  assert (exp (- sx / lambda) * dx <= exp epsilon * (exp (- sy / lambda) * dy)) as S.
  { apply Rmult_le_reg_l with U; [assumption|].
    replace (U * (exp epsilon * (exp (- sy / lambda) * dy)))
      with (exp epsilon * (U * exp (- sy / lambda) * dy)) by ring. lra. }
  assert (exp ((sy - sx) / lambda) * dx <= exp epsilon * dy) as T.
  { apply Rmult_le_reg_l with (exp (- sy / lambda)); [apply exp_pos|].
    replace (exp (- sy / lambda) * (exp ((sy - sx) / lambda) * dx)) with (exp (- sx / lambda) * dx).
    - lra.
    - rewrite <- Rmult_assoc, <- exp_plus. f_equal. f_equal. field. lra. }
  assert (exp ((2 * u + 2 - 2 * delta) / lambda) <= exp ((sy - sx) / lambda)) as E.
  { apply exp_le. assert (0 < / lambda) by (apply Rinv_0_lt_compat; assumption). unfold Rdiv. nra. }
  pose proof (exp_pos ((2 * u + 2 - 2 * delta) / lambda)) as Ep.
  apply Rmult_le_reg_r with dy; [assumption|].
  apply Rle_trans with (exp ((2 * u + 2 - 2 * delta) / lambda) * (dx * k)).
  - rewrite Rmult_assoc. apply Rmult_le_compat_l; lra.
  - apply Rle_trans with (exp ((sy - sx) / lambda) * dx * k); [|nra].
    rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. apply Rmult_le_compat_r; lra.
Qed.

End Worst.

Lemma limit_le : forall a b c, (forall d, 0 < d <= 1 / 2 -> a <= b + c * d) -> a <= b.
Proof.
  intros a b c H. destruct (Rle_or_lt a b) as [|L]; [assumption|]. exfalso.
  assert (0 < Rabs c + 1) as P by (pose proof (Rabs_pos c); lra).
  set (d := Rmin (1 / 2) ((a - b) / (2 * (Rabs c + 1)))).
  assert (0 < d <= 1 / 2) as D.
  { split; [|apply Rmin_l]. apply Rmin_pos; [lra|]. apply Rdiv_lt_0_compat; lra. }
  assert (d * (Rabs c + 1) <= (a - b) / 2) as E.
  { replace ((a - b) / 2) with ((a - b) / (2 * (Rabs c + 1)) * (Rabs c + 1)) by (field; lra).
    apply Rmult_le_compat_r; [lra|apply Rmin_r]. }
  specialize (H d D). pose proof (Rle_abs c). nra.
Qed.

Lemma ln_line : forall a, 0 <= a -> 0 <= ln (1 + a) <= a.
Proof.
  intros a H. split.
  - destruct H as [H|<-]; [|rewrite Rplus_0_r, ln_1; lra].
    left. rewrite <- ln_1. apply ln_increasing; lra.
  - pose proof (exp_line (ln (1 + a))) as E. rewrite exp_ln in E; lra.
Qed.

Lemma nat_above : forall a, 0 <= a -> exists m, a <= INR m.
Proof.
  intros a H. destruct (archimed a) as [K _]. exists (Z.to_nat (Rdefinitions.up a)).
  rewrite INR_IZR_INZ, Z2Nat.id; [lra|]. apply le_IZR. lra.
Qed.

Lemma exchange_enough : forall gamma lambda epsilon, 0 < gamma -> 0 < lambda ->
  (forall u, 0 < u < 1 -> 2 / lambda + 2 * u / lambda + ln (1 + 2 * u * (1 - u) / gamma) <= epsilon) ->
  forall n, private (exchange n) epsilon (mle n gamma lambda).
Proof.
  intros gamma lambda epsilon gpos lpos H n x y theta [g [h [rest [G [K [X Y]]]]]].
  assert (0 < / gamma) as I by (apply Rinv_0_lt_compat; auto).
  assert (0 < / lambda) as J by (apply Rinv_0_lt_compat; auto).
  assert (forall a, 0 <= surprise a) as sp by (intros a; pose proof (surprise_bounds a); lra).
  assert (forall a, 0 <= bend a) as bp by (intros; apply bend_bounds).
  eapply Rle_trans; [apply (exchange_loss surprise bend n gamma lambda gpos lpos sp bp
    g h rest x y theta G K X Y)|].
  apply Rmult_le_compat_r; [left; apply density_positive; auto|].
  pose proof (surprise_bounds (gap theta g)) as U. pose proof (surprise_bounds (gap theta h)).
  specialize (H _ U). unfold bend. set (u := surprise (gap theta g)) in *.
  assert (0 <= 2 * (u * (1 - u)) / gamma) by (apply Rmult_le_pos; nra).
  rewrite <- (exp_ln (1 + 2 * (u * (1 - u)) / gamma)) by lra.
  rewrite <- exp_plus. apply exp_le. apply Rle_trans with (2 := H). rewrite <- Rmult_assoc.
  apply Rplus_le_compat_r. unfold Rdiv. nra.
Qed.

(* Noise lambda and ridge gamma are epsilon-private for edge neighbours, whatever n, exactly if: *)
Lemma exchange_exactly : forall gamma lambda epsilon, 0 < gamma -> 0 < lambda ->
  (forall n, private (edge n) epsilon (mle n gamma lambda)) <->
  (forall u, 0 < u < 1 -> 2 / lambda + 2 * u / lambda + ln (1 + 2 * u * (1 - u) / gamma) <= epsilon).
Proof.
  intros gamma lambda epsilon gpos lpos. assert (0 < / gamma) as I by (apply Rinv_0_lt_compat; auto).
  assert (0 < / lambda) as J by (apply Rinv_0_lt_compat; auto). split.
  - intros safe u U. set (lead := ln ((1 - u) / u)).
    destruct (nat_above (2 * (gamma * Rabs lead + 1))) as [m M].
    { pose proof (Rmult_le_pos gamma _ ltac:(lra) (Rabs_pos lead)). lra. }
    assert (0 < u * (1 - u)) as V by nra. set (Q := 1 + 2 * u * (1 - u) / gamma).
    assert (1 < Q) as Q1 by (unfold Q, Rdiv; nra).
    set (E := exp ((2 * u + 2) / lambda)). assert (0 < E) as Epos by apply exp_pos.
    assert (E * Q <= exp epsilon) as K.
    { apply limit_le with (exp epsilon * (2 / gamma)
        + E * (u * (1 - u) * (8 * INR m / gamma ^ 2) + Q * (2 / lambda))). intros d D.
      pose proof (worst_loss m u gamma lambda d U gpos lpos D ltac:(fold lead; lra) epsilon
        (safe _)) as W.
      assert (E * (1 - 2 * d / lambda) <= exp ((2 * u + 2 - 2 * d) / lambda)) as F.
      { replace ((2 * u + 2 - 2 * d) / lambda) with ((2 * u + 2) / lambda + - (2 * d / lambda))
          by (field; lra). rewrite exp_plus. fold E. apply Rmult_le_compat_l; [lra|].
        pose proof (exp_line (- (2 * d / lambda))). lra. }
      pose proof (exp_pos ((2 * u + 2 - 2 * d) / lambda)) as Fpos.
      set (G := exp ((2 * u + 2 - 2 * d) / lambda)) in *.
      set (k := u * (1 - u) * (8 * INR m / gamma ^ 2)).
      replace (1 + u * (1 - u) * (2 / gamma - 8 * INR m * d / gamma ^ 2)) with (Q - k * d) in W
        by (unfold Q, k; field; lra).
      assert (0 <= k) as kpos.
      { unfold k. apply Rmult_le_pos; [lra|]. apply Rmult_le_pos; [pose proof (pos_INR m); lra|].
        left. apply Rinv_0_lt_compat, pow_lt. assumption. }
      replace (exp epsilon * (1 + 2 * d / gamma)) with (exp epsilon + exp epsilon * (2 / gamma) * d)
        in W by (field; lra).
      assert (E * (Q - k * d - Q * (2 / lambda) * d) <= G * (Q - k * d)); [|lra].
      assert (0 <= 2 / lambda * d) as S by (unfold Rdiv; nra).
      replace (2 * d / lambda) with (2 / lambda * d) in F by (field; lra).
      set (s := 2 / lambda * d) in *. replace (Q * (2 / lambda) * d) with (Q * s) by (unfold s; ring).
      assert (0 <= k * d) as T by nra. set (r := k * d) in *.
      destruct (Rle_or_lt r Q) as [L|L].
      - apply Rle_trans with (E * (1 - s) * (Q - r)); [|apply Rmult_le_compat_r; lra].
        rewrite Rmult_assoc. apply Rmult_le_compat_l; nra.
      - apply Rle_trans with (E * (Q - r)); [apply Rmult_le_compat_l; nra|].
        assert (G <= E) by (apply exp_le; unfold Rdiv; nra). nra. }
    replace (2 / lambda + 2 * u / lambda) with ((2 * u + 2) / lambda) by (field; lra).
    destruct (Rle_or_lt ((2 * u + 2) / lambda + ln Q) epsilon) as [|L]; [assumption|].
    apply exp_increasing in L. rewrite exp_plus, exp_ln in L by lra. fold E in L. lra.
  - intros H n x y theta close. apply (exchange_enough gamma lambda epsilon); auto.
    apply edge_games. assumption.
Qed.

(* CLAIM BOOK-MLE-TIGHT, with c = 2.  A flip loses c/lambda, exactly, for every n.  Exchanges lose, as a
   supremum over n, c/lambda + the largest of 2u/lambda + log(1 + 2u(1-u)/gamma); which is 2c/lambda where
   the ridge is at least the noise. *)
Definition mle_tight_says (c : R) : Prop := forall gamma lambda epsilon, 0 < gamma -> 0 < lambda ->
  (forall n, (2 <= n)%nat -> (private (flip n) epsilon (mle n gamma lambda) <-> c / lambda <= epsilon)) /\
  ((forall n, private (edge n) epsilon (mle n gamma lambda)) <-> (forall u, 0 < u < 1 ->
    c / lambda + 2 * u / lambda + ln (1 + 2 * u * (1 - u) / gamma) <= epsilon)) /\
  (lambda <= gamma ->
    ((forall n, private (edge n) epsilon (mle n gamma lambda)) <-> 2 * c / lambda <= epsilon)).

Theorem mle_tight : mle_tight_says 2.
Proof.
  intros gamma lambda epsilon gpos lpos. split; [|split].
  - intros. apply flip_exactly; assumption.
  - apply exchange_exactly; assumption.
  - intros more. rewrite exchange_exactly by assumption.
    assert (0 < / lambda) as J by (apply Rinv_0_lt_compat; assumption).
    assert (/ gamma <= / lambda) as I by (apply Rinv_le_contravar; assumption).
    assert (0 < / gamma) as P by (apply Rinv_0_lt_compat; lra). split.
    + intros H. apply limit_le with (2 / lambda). intros d D. specialize (H (1 - d) ltac:(lra)).
      destruct (ln_line (2 * (1 - d) * (1 - (1 - d)) / gamma)) as [L _]; [apply Rmult_le_pos; nra|].
      unfold Rdiv in *. lra.
    + intros H u U. apply Rle_trans with (2 := H). assert (0 < u * (1 - u)) by nra.
      destruct (ln_line (2 * u * (1 - u) / gamma)) as [_ L]; [apply Rmult_le_pos; nra|].
      apply Rle_trans with (2 / lambda + 2 * u / lambda + 2 * (u * (1 - u)) / lambda).
      * apply Rplus_le_compat_l. apply Rle_trans with (1 := L). unfold Rdiv. nra.
      * replace (2 * 2 / lambda) with (4 * / lambda) by (unfold Rdiv; ring).
        replace (2 / lambda + 2 * u / lambda + 2 * (u * (1 - u)) / lambda)
          with ((2 + 2 * u + 2 * (u * (1 - u))) * / lambda) by (unfold Rdiv; ring).
        apply Rmult_le_compat_r; [lra|]. pose proof (Rle_0_sqr (1 - u)). unfold Rsqr in *. lra.
Qed.

Theorem mle_tight_control : forall c, c <> 2 -> ~ mle_tight_says c.
Proof.
  intros c ne H. apply ne. assert (c / 1 = 2 / 1); [|lra]. apply same_threshold. intros e.
  destruct (H 1 1 e) as [K _]; try lra. destruct (mle_tight 1 1 e) as [T _]; try lra.
  rewrite <- (K 2%nat), <- (T 2%nat) by lia. reflexivity.
Qed.

(* Five eighths of the printed noise are too little at the printed ridge. *)
Theorem p21_control : forall c, c <= 5 -> ~ p21_says c.
Proof.
  intros c small H. assert (forall n, private (edge n) 1 (mle n 1 5)) as safe.
  { intros n x y theta close. rewrite !mle_density. revert x y theta close.
    apply (H (fun a => 1 - surprise a) bend bend 1 (1 / 4)); try lra. apply logistic. }
  apply (proj1 (exchange_exactly 1 5 1 ltac:(lra) ltac:(lra))) with (u := 3 / 5) in safe; [|lra].
  assert (exp (9 / 100) <= 100 / 91) as E.
  { pose proof (exp_line (- (9 / 100))) as K. rewrite exp_Ropp in K.
    pose proof (exp_pos (9 / 100)) as P. apply Rmult_le_compat_l with (r := exp (9 / 100)) in K; [|lra].
    rewrite Rinv_r in K; lra. }
  assert (exp (36 / 100) < 148 / 100) as F.
  { replace (36 / 100) with (9 / 100 + 9 / 100 + (9 / 100 + 9 / 100)) by lra. rewrite !exp_plus.
    pose proof (exp_pos (9 / 100)). set (e := exp (9 / 100)) in *. assert (e * e <= 12076 / 10000) by nra.
    nra. }
  pose proof (ln_increasing _ _ (exp_pos _) F) as L. rewrite ln_exp in L.
  replace (1 + 2 * (3 / 5) * (1 - 3 / 5) / 1) with (148 / 100) in safe by field. lra.
Qed.

(* With the logistic link an exchange loses 113/128 of epsilon at most at the printed noise and ridge. *)
Corollary p21_logistic : forall n epsilon, 0 < epsilon ->
  private (edge n) (113 / 128 * epsilon) (mle n (1 / epsilon) (8 / epsilon)).
Proof.
  intros n epsilon pos. revert n. apply exchange_exactly; try (apply Rdiv_lt_0_compat; lra).
  intros u U. replace (2 / (8 / epsilon) + 2 * u / (8 / epsilon)) with ((1 + u) / 4 * epsilon)
    by (field; lra).
  replace (2 * u * (1 - u) / (1 / epsilon)) with (2 * (u * (1 - u)) * epsilon) by (field; lra).
  assert (0 < u * (1 - u)) by nra.
  destruct (ln_line (2 * (u * (1 - u)) * epsilon)) as [_ L]; [nra|].
  apply Rle_trans with (((1 + u) / 4 + 2 * (u * (1 - u))) * epsilon); [lra|].
  apply Rmult_le_compat_r; [lra|]. pose proof (Rle_0_sqr (u - 9 / 16)). unfold Rsqr in *. lra.
Qed.

(* ---------------------------------------------------------------- all comparisons of a person *)

Lemma concat_order : forall A (x y : list (list A)), Permutation x y ->
  Permutation (concat x) (concat y).
Proof.
  intros A x y H. induction H; simpl.
  - constructor.
  - apply Permutation_app_head. assumption.
  - rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm.
  - eapply Permutation_trans; eassumption.
Qed.

(* One comparison after the other. *)
Lemma exchanges : forall n l k before rest, Forall (valid n) l -> Forall (valid n) k ->
  length l = length k ->
  apart (exchange n) (length l) (before ++ l ++ rest) (before ++ k ++ rest).
Proof.
  intros n. induction l as [|g l IH]; intros [|h k] before rest X Y E; simpl in E; try discriminate.
  - apply apart_none.
  - inversion_clear X. inversion_clear Y. simpl length.
    apply apart_more with ((before ++ [h]) ++ l ++ rest).
    + exists g, h, (before ++ l ++ rest). repeat split; try apply H; try apply H1.
      * apply Permutation_sym, (Permutation_middle before).
      * rewrite <- app_assoc. apply Permutation_sym, (Permutation_middle before).
    + replace (before ++ (h :: k) ++ rest) with ((before ++ [h]) ++ k ++ rest)
        by (rewrite <- app_assoc; reflexivity).
      apply IH; auto.
Qed.

Lemma person_private : forall pull curvature n gamma lambda epsilon L m,
  private (exchange n) epsilon (density pull curvature n gamma lambda) ->
  private (replaced m (pile n L)) (INR L * epsilon)
    (fun x => density pull curvature n gamma lambda (concat x)).
Proof.
  intros pull curvature n gamma lambda epsilon L m safe x y theta
    [p [q [rest [[P <-] [[Q E] [_ [_ [X Y]]]]]]]].
  rewrite (density_order _ _ _ _ _ _ _ theta (concat_order _ _ _ X)).
  rewrite (density_order _ _ _ _ _ _ _ theta (concat_order _ _ _ Y)).
  apply (private_group _ epsilon _ _ safe). apply (exchanges n p q []); auto.
Qed.

Lemma as_persons : forall n epsilon (p : list game -> (nat -> R) -> R),
  (forall m, private (replaced m (pile n 1)) epsilon (fun x => p (concat x))) ->
  private (edge n) epsilon p.
Proof.
  intros n epsilon p safe x y theta [[X _] [[Y _] [g [h [rest [_ [px py]]]]]]].
  assert (forall l : list game, concat (map (fun g => [g]) l) = l) as C
    by (induction l as [|a l IH]; simpl; congruence).
  rewrite <- (C x), <- (C y). apply (safe (length rest)).
  assert (forall z, Permutation x z -> Forall (pile n 1) (map (fun g => [g]) z)) as V.
  { intros z Z. rewrite Forall_forall in *. intros l. rewrite in_map_iff. intros [a [<- A]].
    split; [|reflexivity]. constructor; [|constructor]. apply X.
    eapply Permutation_in; [apply Permutation_sym|]; eassumption. }
  specialize (V _ px). simpl in V. inversion_clear V.
  exists [g], [h], (map (fun g => [g]) rest). repeat split; auto.
  - apply H.
  - constructor; [|constructor]. rewrite Forall_forall in Y. apply Y.
    eapply Permutation_in; [apply Permutation_sym; eassumption|]. left. reflexivity.
  - apply map_length.
  - apply (Permutation_map (fun g => [g])) in px. assumption.
  - apply (Permutation_map (fun g => [g])) in py. assumption.
Qed.

(* CLAIM CCW25-P3.1.  For every link that satisfies the conditions, every n, L, epsilon and m other
   people: the printed noise (c = 8) and ridge hide all L comparisons of one person. *)
Definition p31_says (c : R) : Prop := forall F f curv k1 k2 n L m epsilon gamma lambda,
  conditions F f curv k1 k2 -> 0 < k1 -> 0 < k2 -> 0 < epsilon -> (1 <= L)%nat ->
  c * INR L * k1 / epsilon <= lambda -> 8 * INR L * k2 / epsilon <= gamma ->
  private (replaced m (pile n L)) epsilon
    (fun x => density (fun a => f a / F a) curv n gamma lambda (concat x)).

Theorem p31 : p31_says 8.
Proof.
  intros F f c k1 k2 n L m epsilon gamma lambda link p1 p2 epos Lpos A B.
  assert (0 < INR L) as l by (apply lt_0_INR; lia).
  assert (0 < INR L * k1) by (apply Rmult_lt_0_compat; assumption).
  assert (0 < INR L * k2) by (apply Rmult_lt_0_compat; assumption).
  assert (0 < lambda) as lpos by (apply Rlt_le_trans with (2 := A); apply Rdiv_lt_0_compat; lra).
  assert (0 < gamma) as gpos by (apply Rlt_le_trans with (2 := B); apply Rdiv_lt_0_compat; lra).
  apply private_more with (INR L * (4 * k1 / lambda + ln (1 + 2 * k2 / gamma))).
  - intros. left. apply density_positive; auto. intros. apply (link a).
  - destruct (ln_line (2 * k2 / gamma)) as [_ K]; [left; apply Rdiv_lt_0_compat; lra|].
    assert (INR L * (4 * k1 / lambda) <= epsilon / 2).
    { apply Rmult_le_reg_r with lambda; [assumption|].
      replace (INR L * (4 * k1 / lambda) * lambda) with (4 * (INR L * k1)) by (field; lra).
      apply Rmult_le_compat_r with (r := epsilon) in A; [|lra].
      replace (8 * INR L * k1 / epsilon * epsilon) with (8 * (INR L * k1)) in A by (field; lra). lra. }
    assert (INR L * (2 * k2 / gamma) <= epsilon / 2); [|nra].
    apply Rmult_le_reg_r with gamma; [assumption|].
    replace (INR L * (2 * k2 / gamma) * gamma) with (2 * (INR L * k2)) by (field; lra).
    apply Rmult_le_compat_r with (r := epsilon) in B; [|lra].
    replace (8 * INR L * k2 / epsilon * epsilon) with (8 * (INR L * k2)) in B by (field; lra). nra.
  - apply person_private. apply (exchange_private F f c k1 k2); assumption.
Qed.

(* Half of the printed noise is too little at the printed ridge. *)
Theorem p31_control : forall c, c <= 4 -> ~ p31_says c.
Proof.
  intros c small H. assert (forall n, private (edge n) 1 (mle n 2 4)) as safe.
  { intros n. apply as_persons. intros m x y theta close. rewrite !mle_density. revert x y theta close.
    apply (H (fun a => 1 - surprise a) bend bend 1 (1 / 4)); simpl INR; try lia; try lra.
    apply logistic. }
  apply (proj1 (exchange_exactly 2 4 1 ltac:(lra) ltac:(lra))) with (u := 9 / 10) in safe; [|lra].
  pose proof (exp_line (- (5 / 100))) as K. rewrite exp_Ropp in K.
  pose proof (exp_pos (5 / 100)) as P.
  apply Rmult_le_compat_l with (r := exp (5 / 100)) in K; [|lra]. rewrite Rinv_r in K by lra.
  pose proof (ln_increasing _ (109 / 100) P ltac:(lra)) as L. rewrite ln_exp in L.
  replace (1 + 2 * (9 / 10) * (1 - 9 / 10) / 2) with (109 / 100) in safe by field. lra.
Qed.

(* CLAIM BOOK-MLE-PERSON, the upper bound.  With a ridge of at least the noise, L comparisons of one person
   lose at most c L / lambda, c = 4, for every n, L and m other people; for L = 1 no smaller c will do. *)
Definition mle_person_says (c : R) : Prop := forall n L m gamma lambda, 0 < lambda -> lambda <= gamma ->
  private (replaced m (pile n L)) (INR L * (c / lambda)) (fun x => mle n gamma lambda (concat x)).

Theorem mle_person : mle_person_says 4.
Proof.
  intros n L m gamma lambda pos more. apply person_private. apply exchange_enough; try lra.
  destruct (mle_tight gamma lambda (4 / lambda)) as [_ [T E]]; try lra.
  apply T. apply E; [assumption|]. right. unfold Rdiv. ring.
Qed.

Theorem mle_person_control : forall c, c < 4 -> ~ mle_person_says c.
Proof.
  intros c small H. assert (forall n, private (edge n) c (mle n 1 1)) as safe.
  { intros n. apply as_persons. intros m. specialize (H n 1%nat m 1 1 ltac:(lra) ltac:(lra)).
    simpl INR in H. unfold Rdiv in H. rewrite Rinv_1, Rmult_1_r, Rmult_1_l in H. exact H. }
  destruct (mle_tight 1 1 c) as [_ [_ T]]; try lra. apply T in safe; lra.
Qed.

(* ---------------------------------------------------------------- features instead of items *)

Section Features.
Variables (d p : nat).        (* properties, and pairs of answers *)
Variable X : nat -> nat -> R. (* property i of pair r: public *)

(* The data y: whether the first of pair r is preferred.  The likelihood knows them through y X. *)
Definition signal (y : nat -> bool) (i : nat) : R := range_sum p (fun r => bit (y r) * X r i).
Definition norm (v : nat -> R) : R := range_sum d (fun i => Rabs (v i)).

(* A sum over the first q pairs, of those that are in K. *)
Definition signed (q : nat) (K : nat -> bool) (c : nat -> R) (i : nat) : R :=
  range_sum q (fun r => c r * (if K r then X r i else 0)).

Lemma norm_triangle : forall a b u v, 0 <= a -> 0 <= b ->
  norm (fun i => a * u i + b * v i) <= a * norm u + b * norm v.
Proof.
  intros a b u v A B. unfold norm, range_sum. rewrite <- !sum_scale, <- sum_plus. apply sum_le.
  intros i. rewrite <- (Rabs_pos_eq a A) at 2. rewrite <- (Rabs_pos_eq b B) at 2.
  rewrite <- !Rabs_mult. apply Rabs_triang.
Qed.

(* A sum with coefficients from -1 to 1 is longest where all are -1 or 1. *)
Lemma signs_longest : forall K (c : nat -> R) q v, (forall r, -1 <= c r <= 1) ->
  exists s : nat -> bool, norm (fun i => v i + signed q K c i)
    <= norm (fun i => v i + signed q K (fun r => if s r then 1 else -1) i).
Proof.
  intros K c q. induction q as [|q IH]; intros v C.
  - exists (fun _ => true). right. reflexivity.
  - set (x := fun i => if K q then X q i else 0).
    destruct (IH (fun i => v i + c q * x i) C) as [s longer].
    set (w := fun i => v i + signed q K (fun r => if s r then 1 else -1) i).
    assert (norm (fun i => w i + c q * x i)
      <= Rmax (norm (fun i => w i + x i)) (norm (fun i => w i + -1 * x i))) as M.
    { apply Rle_trans with (norm (fun i => (1 + c q) / 2 * (w i + x i)
        + (1 - c q) / 2 * (w i + -1 * x i))).
      - right. apply range_sum_ext. intros. f_equal. field.
      - specialize (C q). eapply Rle_trans; [apply norm_triangle; lra|].
        pose proof (Rmax_l (norm (fun i => w i + x i)) (norm (fun i => w i + -1 * x i))).
        pose proof (Rmax_r (norm (fun i => w i + x i)) (norm (fun i => w i + -1 * x i))). nra. }
    assert (forall b : bool, norm (fun i => w i + (if b then 1 else -1) * x i)
      = norm (fun i => v i + signed (S q) K
          (fun r => if (if Nat.eqb r q then b else s r) then 1 else -1) i)) as last.
    { intros b. apply range_sum_ext. intros i _. f_equal. unfold w, signed. rewrite range_sum_S.
      rewrite Nat.eqb_refl, Rplus_assoc. do 2 f_equal. apply range_sum_ext. intros r H.
      destruct (Nat.eqb_spec r q); [lia|reflexivity]. }
    assert (norm (fun i => v i + signed (S q) K c i) <= norm (fun i => w i + c q * x i)) as first.
    { eapply Rle_trans; [|eapply Rle_trans; [apply longer|]]; right; apply range_sum_ext; intros;
        f_equal; unfold signed, w, signed; rewrite ?range_sum_S; unfold x; ring. }
    destruct (Rle_or_lt (norm (fun i => w i + x i)) (norm (fun i => w i + -1 * x i))) as [L|L].
    + exists (fun r => if Nat.eqb r q then false else s r). rewrite <- last.
      rewrite Rmax_right in M by assumption. lra.
    + exists (fun r => if Nat.eqb r q then true else s r). rewrite <- last.
      rewrite Rmax_left in M by lra. eapply Rle_trans; [exact first|]. apply Rle_trans with (1 := M).
      right. apply range_sum_ext. intros. f_equal. ring.
Qed.

(* The people (who K: K are the answers of somebody), and neighbours. *)
Variable who : (nat -> bool) -> Prop.
Definition relabelled (y z : nat -> bool) : Prop :=
  exists K, who K /\ forall r, K r = false -> y r = z r.

(* B is the largest of the norms of all sums of x and - x over the answers of somebody. *)
Definition largest_sum (B : R) : Prop :=
  (forall K (s : nat -> bool), who K -> norm (signed p K (fun r => if s r then 1 else -1)) <= B) /\
  (exists K (s : nat -> bool), who K /\ norm (signed p K (fun r => if s r then 1 else -1)) = B).

Lemma signal_sensitivity : forall B, largest_sum B -> sensitivity (l1 d) relabelled signal B.
Proof.
  intros B [below [K [s [who_K reached]]]]. split.
  - intros y z [J [who_J E]].
    destruct (signs_longest J (fun r => bit (y r) - bit (z r)) p (fun _ => 0)) as [t T].
    { intros r. pose proof (bit_bounds (y r)). pose proof (bit_bounds (z r)). lra. }
    specialize (below J t who_J). eapply Rle_trans; [|eapply Rle_trans; [exact T|]].
    + right. apply range_sum_ext. intros i _. f_equal. rewrite Rplus_0_l.
      unfold signal, signed, range_sum. rewrite <- sum_minus. apply sum_ext. intros r.
      specialize (E r). destruct (J r); [ring|]. rewrite E by reflexivity. ring.
    + apply Rle_trans with (2 := below). right. apply range_sum_ext. intros. f_equal. ring.
  - exists s, (fun r => if K r then negb (s r) else s r). split.
    + exists K. split; [assumption|]. intros r H. rewrite H. reflexivity.
    + rewrite <- reached. apply range_sum_ext. intros i _. f_equal.
      unfold signal, signed, range_sum. rewrite <- sum_minus. apply sum_ext. intros r.
      destruct (K r), (s r); simpl; ring.
Qed.

(* The density of the perturbed fit with ridge gamma and Laplace noise lambda, by the same change of
   variables: the noise is y X - e, and the Hessian does not know y. *)
Definition probability (theta : nat -> R) (r : nat) : R := 1 - surprise (dot d (X r) theta).
Definition fit_point (gamma : R) (theta : nat -> R) (i : nat) : R :=
  gamma * theta i + range_sum p (fun r => probability theta r * X r i).
Fixpoint fit_hessian (gamma : R) (theta : nat -> R) (q : nat) : matrix :=
  match q with
  | O => multiple gamma
  | S r => update (fit_hessian gamma theta r) (bend (dot d (X r) theta)) (X r)
  end.
Definition fit (gamma lambda : R) (y : nat -> bool) (theta : nat -> R) : R :=
  laplace d lambda (signal y) (fit_point gamma theta) * det d (fit_hessian gamma theta p).

Lemma fit_exactly : forall B gamma lambda epsilon, largest_sum B -> 0 < gamma -> 0 < lambda ->
  private relabelled epsilon (fit gamma lambda) <-> B / lambda <= epsilon.
Proof.
  intros B gamma lambda epsilon large gpos lpos.
  apply (relabelled_exactly relabelled signal (fun _ => fit_point gamma)
    (fun _ theta => det d (fit_hessian gamma theta p)) d gamma lambda B); auto.
  - intros _ theta. apply det_positive with gamma; [assumption| |];
      induction p as [|q IH]; simpl; auto using multiple_symmetric, update_symmetric.
    + intros v. rewrite multiple_form. lra.
    + apply update_above; [apply bend_bounds|assumption].
  - intros y. exists (range_sum d (fun i => range_sum p (fun r => Rabs (X r i)))).
    intros theta i H.
    assert (range_sum p (fun r => Rabs (X r i))
      <= range_sum d (fun i => range_sum p (fun r => Rabs (X r i)))) as M.
    { apply (sum_term (fun i => range_sum p (fun r => Rabs (X r i)))); [|apply range_in; assumption].
      intros. apply sum_nonneg. intros. apply Rabs_pos. }
    assert (forall c : nat -> R, (forall r, 0 <= c r <= 1) ->
      Rabs (range_sum p (fun r => c r * X r i)) <= range_sum p (fun r => Rabs (X r i))) as C.
    { intros c small. eapply Rle_trans; [apply sum_abs|]. apply sum_le. intros r.
      rewrite Rabs_mult, (Rabs_pos_eq (c r)) by apply small. pose proof (small r).
      pose proof (Rabs_pos (X r i)). nra. }
    pose proof (C (fun r => bit (y r)) (fun r => bit_bounds (y r))) as one.
    pose proof (C (probability theta)) as two. unfold signal, fit_point.
    assert (forall r, 0 <= probability theta r <= 1) as P
      by (intros; unfold probability; pose proof (surprise_bounds (dot d (X r) theta)); lra).
    specialize (two P). apply Rabs_le_inv in one, two. lra.
  - apply signal_sensitivity. assumption.
Qed.

End Features.

(* CLAIM BOOK-REWARD-NOISE.  With public features x, and B the largest norm of a sum of x and - x over the
   answers of one person (for one answer: of x), c B / epsilon with c = 1 is the least private scale for
   the sum that the likelihood knows; and the perturbed fit loses c B / lambda, with any ridge. *)
Definition reward_says (c : R) : Prop := forall d p X who B, largest_sum d p X who B ->
  (forall epsilon, 0 < epsilon ->
    least_scale d (relabelled who) (signal p X) epsilon (c * B / epsilon)) /\
  (forall gamma lambda epsilon, 0 < gamma -> 0 < lambda ->
    (private (relabelled who) epsilon (fit d p X gamma lambda) <-> c * B / lambda <= epsilon)).

Theorem reward : reward_says 1.
Proof.
  intros d p X who B large. rewrite Rmult_1_l. split; intros.
  - apply least_scale_exactly; [assumption|]. apply signal_sensitivity. assumption.
  - apply fit_exactly; assumption.
Qed.

Theorem reward_control : forall c, c <> 1 -> ~ reward_says c.
Proof.
  intros c ne H. assert (largest_sum 1 1 (fun _ _ => 1) (fun K => K 0%nat = true) 1) as large.
  { assert (forall K (s : nat -> bool), K 0%nat = true ->
      norm 1 (signed (fun _ _ => 1) 1 K (fun r => if s r then 1 else -1)) = 1) as E.
    { intros K s k. unfold norm, signed, range_sum. simpl. rewrite k.
      destruct (s 0%nat); unfold Rabs; destruct (Rcase_abs _); lra. }
    split; [intros; rewrite E; auto; lra|].
    exists (fun _ => true), (fun _ => true). split; [reflexivity|]. apply (E _ (fun _ => true)). reflexivity. }
  destruct (H _ _ _ _ _ large) as [_ K]. destruct (reward _ _ _ _ _ large) as [_ L].
  apply ne. assert (c * 1 / 1 = 1 * 1 / 1); [|lra]. apply same_threshold. intros e.
  rewrite <- (K 1 1 e), <- (L 1 1 e) by lra. reflexivity.
Qed.
