(* Cai, Chakraborty, Wang 2025, Optimal Differentially Private Ranking from Pairwise Comparisons:
   noisy win counts (Algorithms 2 and 3), and the perturbed maximum-likelihood estimator (Algorithm
   1, Proposition 2.1), for every number of items, comparisons and people.

   Not in it: samplers; that the Laplace density integrates to 1; the change of variables that gives
   the density of the estimate; that what is larger at a point for densities, which are continuous,
   is larger for a set.  What is computed from counts or estimate, such as the top k, is private,
   too ([private_events]), and may lose less. *)
Require Import Reals Lra Lia ZArith List Bool Permutation.
From Ranking Require Import Privacy Counts Determinant.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ Part 1: noisy counts *)

(* S is what the statistic f moves in l1, and noise on f is epsilon-private if and only if its scale
   is at least S / epsilon: Laplace noise, and discrete Laplace noise, whose outcomes are vectors of
   whole numbers, as those of f are: f x itself loses most. *)
Definition calibrated {D} (n : nat) (near : D -> D -> Prop) (f : D -> nat -> R) (S : R) : Prop :=
  sensitivity n near f S /\ whole f /\ forall epsilon b, 0 < epsilon -> 0 < b ->
    (private near epsilon (fun x => laplace n b (f x)) <-> S / epsilon <= b) /\
    (private near epsilon (fun x => discrete_laplace n b (f x)) <-> S / epsilon <= b).

Lemma over_le : forall a b c, 0 < b -> (a / b <= c <-> a <= c * b).
Proof.
  intros a b c pos. assert (a / b * b = a) as E by (field; lra). split; intros H.
  - rewrite <- E. apply Rmult_le_compat_r; lra.
  - apply Rmult_le_reg_r with b; lra. Qed.

Lemma sensitivity_calibrates : forall D n (near : D -> D -> Prop) f S,
  whole f -> sensitivity n near f S -> calibrated n near f S.
Proof.
  intros D n near f S W sens. split; [assumption|]. split; [assumption|].
  intros epsilon b epos bpos.
  assert (forall O (as_reals : O -> nat -> R) unit, (forall x, exists o, f x = as_reals o) ->
    0 < unit -> (private near epsilon (fun x o => vector_noise unit n b (f x) (as_reals o))
      <-> S / epsilon <= b)) as K.
  2: { split; [apply (K _ (fun o => o)); eauto using laplace_unit_positive|].
    apply K; auto using discrete_unit_positive. }
  destruct sens as [below [x [y [close reached]]]]. intros O as_reals unit out upos.
  rewrite over_le by assumption. split.
  - intros safe. destruct (out x) as [o E]. specialize (safe x y o close). cbv beta in safe.
    rewrite <- E in safe. apply vector_noise_least in safe; lra.
  - intros H u v o uv. eapply Rle_trans; [apply (vector_noise_private unit n b (f u) (f v)); auto|].
    apply Rmult_le_compat_r; [apply Rmult_le_pos; [apply pow_le; lra|left; apply exp_pos]|].
    apply exp_le, over_le; [assumption|]. apply Rle_trans with S; [auto|lra]. Qed.

Ltac other_constant K E := pose proof (sensitivity_unique _ _ _ _ _ _ (proj1 K) E); simpl in *; lra.

(* CLAIM CCW25-ALG2.  For every n and epsilon: the counts move by c = 2 between edge neighbours, and
   c / epsilon is the least private scale of the noise. *)
Definition alg2_says (c : R) : Prop := forall n, (2 <= n)%nat -> calibrated n (edge n) wins c.

Theorem alg2 : alg2_says 2.
Proof. intros n H. apply sensitivity_calibrates, edge_sensitivity, H. apply wins_whole. Qed.

Theorem alg2_control : forall c, c <> 2 -> ~ alg2_says c.
Proof. intros c ne H. other_constant (H 2%nat ltac:(lia)) (edge_sensitivity 2 ltac:(lia)). Qed.

(* CLAIM CCW25-ALG3.  When L comparisons of one of m + 1 people are replaced, the least private
   scale is c L / epsilon with c = 2, for every n, L, m and epsilon. *)
Definition alg3_says (c : R) : Prop := forall n L m, (2 <= n)%nat ->
  calibrated n (replaced m (pile n L)) (total wins) (c * INR L).

Theorem alg3 : alg3_says 2.
Proof.
  intros n L m H. apply sensitivity_calibrates, pile_sensitivity, H.
  apply total_whole, wins_whole. Qed.

Theorem alg3_control : forall c, c <> 2 -> ~ alg3_says c.
Proof.
  intros c ne H. specialize (H 2%nat 1%nat 0%nat ltac:(lia)).
  other_constant H (pile_sensitivity 2 1 0 ltac:(lia)). Qed.

(* The printed scale fails for every n, L, number of people and epsilon. *)
Corollary alg3_printed : forall n L m epsilon, (2 <= n)%nat -> (1 <= L)%nat -> 0 < epsilon ->
  ~ private (replaced m (pile n L)) epsilon (fun x => laplace n (INR L / epsilon) (total wins x)).
Proof.
  intros n L m epsilon H K pos. pose proof (lt_0_INR L ltac:(lia)) as P.
  assert (0 < INR L / epsilon) as Q by (apply Rdiv_lt_0_compat; assumption).
  rewrite (proj1 (proj2 (proj2 (alg3 n L m H)) epsilon _ pos Q)). unfold Rdiv in *. lra. Qed.

(* CLAIM CCW25-SENS-IND.  L comparisons of a person move each count by at most L, but all counts
   together by c L, with c = 2, and this sets the noise.  If each person answers each pair once, it
   is floor(n^2/2) instead, and n(n-1)/2 + floor(n^2/4) if pairs may be skipped. *)
Definition sens_ind_says (c : R) : Prop := forall n L m, (2 <= n)%nat ->
  (forall x y i, replaced m (pile n L) x y -> Rabs (total wins x i - total wins y i) <= INR L) /\
  calibrated n (replaced m (pile n L)) (total wins) (c * INR L) /\
  calibrated n (replaced m decided) (total (score n)) (INR (n * n / 2)) /\
  calibrated n (replaced m partial) (total (score n)) (INR n * (INR n - 1) / 2 + INR (n * n / 4)).

Theorem sens_ind : sens_ind_says 2.
Proof.
  intros n L m H. pose proof (pile_one_count n L m).
  split; [assumption|]. refine (conj _ (conj _ _)); apply sensitivity_calibrates; auto using
    pile_sensitivity, once_sensitivity, skip_sensitivity, total_whole, wins_whole, score_whole. Qed.

Theorem sens_ind_control : forall c, c <> 2 -> ~ sens_ind_says c.
Proof.
  intros c ne H. destruct (H 2%nat 1%nat 0%nat ltac:(lia)) as [_ [K _]].
  other_constant K (pile_sensitivity 2 1 0 ltac:(lia)). Qed.

(* ------------------------------------------------------------------ Part 2: the perturbed MLE *)

Definition arrow (g : game) (i : nat) : R := won g i - won (swap g) i. (* e_winner - e_loser *)

Lemma arrow_l1 : forall n g, valid n g -> range_sum n (fun i => Rabs (arrow g i)) <= 2.
Proof.
  intros n g [W [V _]]. apply Rle_trans with (range_sum n (fun i => won g i + won (swap g) i)).
  - apply range_sum_le. intros. apply abs_minus; apply won_bounds.
  - pose proof (range_sum_pick n (fun _ => 1) _ W). pose proof (range_sum_pick n (fun _ => 1) _ V).
    unfold range_sum, won, swap in *. rewrite sum_plus. simpl. lra. Qed.

(* The gap of strengths by which the winner of a comparison leads. *)
Definition gap (theta : nat -> R) (g : game) : R := theta (fst g) - theta (snd g).

Section Estimator.
(* Of the winner's lead: F'/F, and minus its derivative, which is (- log F)''. *)
Variables pull curvature : R -> R.
Variables (n : nat) (gamma lambda : R).

(* Minus the gradient of the objective R, which is the noise whose estimate is theta: winners are
   pulled up, and losers down; and the Hessian of R. *)
Definition noise_of (x : list game) (theta : nat -> R) (i : nat) : R :=
  total (fun g j => pull (gap theta g) * arrow g j) x i - gamma * theta i.
Definition hessian (x : list game) (theta : nat -> R) (i j : nat) : R :=
  multiple gamma i j + sum (fun g => curvature (gap theta g) * (arrow g i * arrow g j)) x.

(* The density of the estimate: that of Laplace(lambda) noise times the Jacobian (CCW25-DENSITY). *)
Definition size (u : nat -> R) : R := range_sum n (fun i => Rabs (u i)).
Definition density (x : list game) (theta : nat -> R) : R :=
  laplace_unit lambda ^ n * exp (- size (noise_of x theta) / lambda) * det n (hessian x theta).

Hypothesis gamma_positive : 0 < gamma.
Hypothesis lambda_positive : 0 < lambda.
Hypothesis pull_nonneg : forall a, 0 <= pull a.
Hypothesis curvature_nonneg : forall a, 0 <= curvature a.

Lemma density_order : forall x y theta, Permutation x y -> density x theta = density y theta.
Proof.
  intros x y theta H. unfold density. rewrite (det_ext n _ (hessian y theta)).
  - do 5 f_equal. apply range_sum_ext. intros. unfold noise_of, total.
    rewrite (sum_permutation _ _ x y H). reflexivity.
  - intros. unfold hessian. rewrite (sum_permutation _ _ x y H). reflexivity. Qed.

Lemma hessian_cons : forall g x theta i j, hessian (g :: x) theta i j
  = update (hessian x theta) (curvature (gap theta g)) (arrow g) i j.
Proof. intros. unfold hessian, update. simpl. ring. Qed.

Lemma above_ext : forall g A B, (forall i j, A i j = B i j) -> above n g A -> above n g B.
Proof.
  intros g A B E [pos [H K]]. split; [assumption|]. split; [intros i j; rewrite <- !E; apply H|].
  intros x. apply Rle_trans with (1 := K x). right. apply range_sum_ext. intros.
  apply range_sum_ext. intros. rewrite E. reflexivity. Qed.

Lemma hessian_above : forall x theta, above n gamma (hessian x theta).
Proof.
  intros x theta. induction x as [|g x IH].
  - apply above_ext with (multiple gamma); [intros; unfold hessian; simpl; ring|].
    apply multiple_above, gamma_positive.
  - apply above_ext with (2 := update_above n gamma _ _ (arrow g) (curvature_nonneg (gap theta g))
      IH). intros. symmetry. apply hessian_cons. Qed.

Lemma det_hessian_positive : forall x theta, 0 < det n (hessian x theta).
Proof. intros. apply det_positive with gamma, hessian_above. Qed.

Lemma density_positive : forall x theta, 0 < density x theta.
Proof.
  intros. repeat apply Rmult_lt_0_compat; [|apply exp_pos|apply det_hessian_positive].
  apply pow_lt, laplace_unit_positive, lambda_positive. Qed.

(* One comparison multiplies the determinant by a factor from 1 to 1 + 2 curvature / gamma. *)
Lemma one_more : forall g x theta, valid n g ->
  det n (hessian x theta) <= det n (hessian (g :: x) theta)
    <= det n (hessian x theta) * (1 + 2 * curvature (gap theta g) / gamma).
Proof.
  intros g x theta [W [L ne]]. pose proof (hessian_above x theta) as A.
  assert (dot n (arrow g) (arrow g) = 2) as two.
  { unfold dot. rewrite (range_sum_ext n _ (fun i => won g i + won (swap g) i)).
    - pose proof (range_sum_pick n (fun _ => 1) _ W).
      pose proof (range_sum_pick n (fun _ => 1) _ L). unfold range_sum, won, swap in *.
      rewrite sum_plus. simpl. lra.
    - intros i _. unfold arrow, won, swap. simpl.
      destruct (Nat.eqb_spec (fst g) i), (Nat.eqb_spec (snd g) i); try lra. congruence. }
  rewrite (det_ext n (hessian (g :: x) theta) _ (hessian_cons g x theta)).
  rewrite (det_update n gamma) by auto. pose proof (det_hessian_positive x theta).
  pose proof (curvature_nonneg (gap theta g)).
  pose proof (inverse_form_nonneg n gamma _ (arrow g) A).
  pose proof (inverse_form_le n gamma _ (arrow g) A) as B. rewrite two in B.
  set (q := inverse_form _ _ _) in *. set (c := curvature _) in *.
  assert (0 <= c * q) by (apply Rmult_le_pos; assumption).
  assert (c * q <= c * (2 / gamma)) by (apply Rmult_le_compat_l; assumption).
  replace (2 * c / gamma) with (c * (2 / gamma)) by (field; lra). split; nra. Qed.

(* When the comparison g gives way to h. *)
Lemma exchange_loss : forall g h rest x y theta, valid n g -> valid n h ->
  Permutation x (g :: rest) -> Permutation y (h :: rest) ->
  density x theta <= exp ((2 * pull (gap theta g) + 2 * pull (gap theta h)) / lambda)
    * (1 + 2 * curvature (gap theta g) / gamma) * density y theta.
Proof.
  intros g h rest x y theta G H X Y. rewrite (density_order x _ theta X), (density_order y _ theta
    Y). unfold density. destruct (one_more g rest theta G) as [_ more].
  destruct (one_more h rest theta H) as [less _]. pose proof (det_hessian_positive rest theta).
  pose proof (det_hessian_positive (g :: rest) theta). pose proof (pull_nonneg (gap theta g)) as P.
  pose proof (pull_nonneg (gap theta h)) as Q.
  assert (size (noise_of (h :: rest) theta) <= size (noise_of (g :: rest) theta)
    + (2 * pull (gap theta g) + 2 * pull (gap theta h))) as move.
  { apply Rle_trans with (size (noise_of (g :: rest) theta)
      + (pull (gap theta g) * range_sum n (fun i => Rabs (arrow g i))
        + pull (gap theta h) * range_sum n (fun i => Rabs (arrow h i)))).
    - unfold size, range_sum. rewrite <- !sum_scale, <- !sum_plus. apply sum_le. intros i.
      pose proof (Rabs_mult (pull (gap theta g)) (arrow g i)) as A. rewrite (Rabs_pos_eq _ P) in A.
      pose proof (Rabs_mult (pull (gap theta h)) (arrow h i)) as B. rewrite (Rabs_pos_eq _ Q) in B.
      rewrite <- A, <- B. unfold noise_of, total. simpl. unfold Rabs.
      repeat destruct (Rcase_abs _); lra.
    - pose proof (arrow_l1 n g G). pose proof (arrow_l1 n h H). nra. }
  assert (0 < laplace_unit lambda ^ n) by (apply pow_lt, laplace_unit_positive; assumption).
  assert (1 <= 1 + 2 * curvature (gap theta g) / gamma) as F.
  { pose proof (curvature_nonneg (gap theta g)). pose proof (Rinv_0_lt_compat _ gamma_positive).
    unfold Rdiv. nra. }
  set (f := 1 + _) in *. set (p := 2 * _ + 2 * _) in *.
  set (sg := size (noise_of (g :: rest) theta)) in *.
  set (sh := size (noise_of (h :: rest) theta)) in *.
  pose proof (det_hessian_positive (h :: rest) theta).
  apply Rle_trans with (laplace_unit lambda ^ n * (exp (p / lambda) * exp (- sh / lambda))
    * (f * det n (hessian (h :: rest) theta))); [|right; ring].
  pose proof (exp_pos (- sg / lambda)). apply Rmult_le_compat; [nra|lra| |nra].
  apply Rmult_le_compat_l; [lra|]. rewrite <- exp_plus. apply exp_le.
  pose proof (Rinv_0_lt_compat _ lambda_positive). unfold Rdiv. nra. Qed.

End Estimator.

Lemma exp_line : forall a, 1 + a <= exp a.
Proof. intros a. destruct (Req_dec a 0) as [->|]; [rewrite exp_0|left; apply exp_ineq1]; lra. Qed.

(* The logistic link: the chance 1 - F(a) of the loser, if the winner leads by a; and the curvature
   F(a) (1 - F(a)). *)
Definition surprise (a : R) : R := / (1 + exp a).
Definition bend (a : R) : R := surprise a * (1 - surprise a).
Definition mle : nat -> R -> R -> list game -> (nat -> R) -> R := density surprise bend.

Lemma surprise_bounds : forall a, 0 < surprise a < 1.
Proof.
  intros a. unfold surprise. pose proof (exp_pos a). split; [apply Rinv_0_lt_compat; lra|].
  rewrite <- Rinv_1 at 2. apply Rinv_lt_contravar; lra. Qed.

Lemma surprise_opp : forall a, surprise (- a) = 1 - surprise a.
Proof. intros. unfold surprise. rewrite exp_Ropp. pose proof (exp_pos a). field. lra. Qed.

Lemma bend_bounds : forall a, 0 <= bend a <= 1 / 4.
Proof.
  intros a. pose proof (surprise_bounds a). unfold bend.
  pose proof (square_nonneg (surprise a - 1 / 2)). split; nra. Qed.

Lemma same_threshold : forall a b, (forall e, a <= e <-> b <= e) -> a = b.
Proof. intros a b H. apply Rle_antisym; apply H; lra. Qed.

(* Every comparison keeps its pair, and one is turned round. *)
Definition flip (n : nat) (x y : list game) : Prop := edge n x y /\ exists g rest,
  Permutation x (g :: rest) /\ Permutation y (swap g :: rest).

(* The Hessian does not see it, and the noise moves by e_winner - e_loser. *)
Lemma flip_moves : forall gamma g rest theta i,
  (forall j, hessian bend gamma (swap g :: rest) theta i j
    = hessian bend gamma (g :: rest) theta i j) /\ noise_of surprise gamma (swap g :: rest) theta i
    = noise_of surprise gamma (g :: rest) theta i - arrow g i.
Proof.
  intros gamma [a b] rest theta i. unfold hessian, noise_of, total, bend, gap, arrow, swap. simpl.
  replace (theta b - theta a) with (- (theta a - theta b)) by ring. rewrite surprise_opp.
  split; intros; ring. Qed.

Lemma flip_loss : forall n gamma lambda epsilon g rest theta, 0 < gamma -> 0 < lambda ->
  mle n gamma lambda (g :: rest) theta <= exp epsilon * mle n gamma lambda (swap g :: rest) theta
  <-> size n (noise_of surprise gamma (swap g :: rest) theta)
    - size n (noise_of surprise gamma (g :: rest) theta) <= epsilon * lambda.
Proof.
  intros n gamma lambda epsilon g rest theta gpos lpos. unfold mle, density.
  rewrite (det_ext n _ _ (fun i => proj1 (flip_moves gamma g rest theta i))).
  assert (0 < laplace_unit lambda ^ n) as U by (apply pow_lt, laplace_unit_positive, lpos).
  assert (0 < det n (hessian bend gamma (g :: rest) theta)) as J by (apply det_hessian_positive;
    auto; intros; apply bend_bounds). set (sx := size n (noise_of surprise gamma (g :: rest)
    theta)). set (sy := size n _). set (u := laplace_unit lambda ^ n) in *. set (d := det _ _) in *.
  replace (exp epsilon * (u * exp (- sy / lambda) * d)) with (u * d * exp (epsilon + - sy / lambda))
    by (rewrite exp_plus; ring). replace (u * exp (- sx / lambda) * d) with (u * d * exp (- sx /
    lambda)) by ring. rewrite <- (over_le (sy - sx) lambda epsilon) by assumption.
  assert (0 < u * d) as P by (apply Rmult_lt_0_compat; assumption). split; intros H.
  - apply Rmult_le_reg_l in H; [|assumption]. unfold Rdiv in *.
    destruct (Rle_or_lt ((sy - sx) * / lambda) epsilon) as [|L]; [assumption|].
    assert (epsilon + - sy * / lambda < - sx * / lambda) as M by lra. apply exp_increasing in M.
    lra.
  - apply Rmult_le_compat_l; [lra|]. apply exp_le. unfold Rdiv in *. lra. Qed.

(* It is exact where the ridge decides the signs. *)
Lemma flip_exactly : forall n gamma lambda epsilon, (2 <= n)%nat -> 0 < gamma -> 0 < lambda ->
  private (flip n) epsilon (mle n gamma lambda) <-> 2 / lambda <= epsilon.
Proof.
  intros n gamma lambda epsilon H gpos lpos. rewrite over_le by assumption. split.
  - intros safe. set (theta := fun i => match i with O => / gamma | 1%nat => - / gamma | _ => 0
      end). specialize (safe [(0, 1)%nat] [(1, 0)%nat] theta). apply (flip_loss n) in safe; auto.
    + apply Rle_trans with (2 := safe). right. unfold size, range_sum. rewrite <- sum_minus.
      destruct n as [|[|n]]; try lia. fold (range_sum (S (S n))).
      change (2 = range_sum (S (S n)) (fun i => Rabs (noise_of surprise gamma [(1, 0)%nat] theta i)
        - Rabs (noise_of surprise gamma [(0, 1)%nat] theta i))).
      assert (forall i, noise_of surprise gamma [(1, 0)%nat] theta i = noise_of surprise gamma [(0,
        1)%nat] theta i - arrow (0, 1)%nat i) as M by (intros i; apply (flip_moves gamma (0, 1)%nat
        [] theta i)). rewrite !range_sum_first, (range_sum_ext n _ (fun _ => 0)), range_sum_const.
      * rewrite !M. clear M. pose proof (surprise_bounds (gap theta (0, 1)%nat)).
        unfold noise_of, total, arrow, won, swap. simpl.
        rewrite !Ropp_mult_distr_r_reverse, !Rinv_r by lra. unfold Rabs.
        repeat destruct (Rcase_abs _); lra.
      * intros i _. rewrite M. unfold arrow, won, swap. simpl. rewrite !Rminus_0_r. ring.
    + split; [apply edge_flip, H|]. exists (0, 1)%nat, []. split; reflexivity.
  - intros enough x y theta [close [g [rest [X Y]]]]. unfold mle.
    rewrite (density_order _ _ _ _ _ _ _ _ X), (density_order _ _ _ _ _ _ _ _ Y).
    apply flip_loss; auto. apply Rle_trans with (2 := enough).
    apply Rle_trans with (range_sum n (fun i => Rabs (arrow g i))).
    + unfold size, range_sum. rewrite <- sum_minus. apply sum_le. intros i.
      rewrite (proj2 (flip_moves gamma g rest theta i)). unfold Rabs.
      repeat destruct (Rcase_abs _); lra.
    + destruct close as [[V _] _]. apply arrow_l1. rewrite Forall_forall in V. apply V.
      eapply Permutation_in; [apply Permutation_sym, X|]. left. reflexivity. Qed.

(* Whatever comparison gives way to whatever other one, u being the surprise of the first. *)
Lemma exchange_enough : forall n gamma lambda epsilon, 0 < gamma -> 0 < lambda ->
  (forall u, 0 < u < 1 ->
    exp ((2 + 2 * u) / lambda) * (1 + 2 * u * (1 - u) / gamma) <= exp epsilon) ->
  private (edge n) epsilon (mle n gamma lambda).
Proof.
  intros n gamma lambda epsilon gpos lpos H x y theta close.
  destruct (edge_games n x y close) as [g [h [rest [G [K [X Y]]]]]].
  assert (forall a, 0 <= surprise a) as sp by (intros a; left; apply surprise_bounds).
  assert (forall a, 0 <= bend a) as bp by (intros; apply bend_bounds).
  eapply Rle_trans; [apply (exchange_loss surprise bend n gamma lambda gpos lpos sp bp g h rest x y
    theta G K X Y)|]. apply Rmult_le_compat_r; [left; apply density_positive; auto|].
  specialize (H _ (surprise_bounds (gap theta g))). apply Rle_trans with (2 := H). unfold bend.
  rewrite <- Rmult_assoc. apply Rmult_le_compat_r.
  - pose proof (bp (gap theta g)). unfold bend in *. pose proof (Rinv_0_lt_compat _ gpos).
    unfold Rdiv. nra.
  - apply exp_le. apply over_le; [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
    pose proof (surprise_bounds (gap theta h)). lra. Qed.

(* CLAIM BOOK-MLE-TIGHT, in part, with c = 2.  A flip loses c/lambda, exactly, for every n; and an
   exchange at most the bound below, which is 2c/lambda where the ridge is at least the noise. *)
Definition mle_tight_says (c : R) : Prop := forall n gamma lambda epsilon,
  (2 <= n)%nat -> 0 < gamma -> 0 < lambda ->
  (private (flip n) epsilon (mle n gamma lambda) <-> c / lambda <= epsilon) /\
  ((forall u, 0 < u < 1 ->
      exp ((c + 2 * u) / lambda) * (1 + 2 * u * (1 - u) / gamma) <= exp epsilon) ->
    private (edge n) epsilon (mle n gamma lambda)) /\
  (lambda <= gamma -> 2 * c / lambda <= epsilon -> private (edge n) epsilon (mle n gamma lambda)).

Theorem mle_tight : mle_tight_says 2.
Proof.
  intros n gamma lambda epsilon H gpos lpos. split; [apply flip_exactly; assumption|].
  split; [apply exchange_enough; assumption|]. intros more enough. apply exchange_enough; auto.
  intros u U. apply over_le in enough; [|assumption]. assert (0 < u * (1 - u)) by nra.
  pose proof (Rinv_0_lt_compat _ lpos). assert (/ gamma <= / lambda) by (apply Rinv_le_contravar;
    assumption). apply Rle_trans with (exp ((2 + 2 * u) / lambda) * exp (2 * (u * (1 - u)) /
    lambda)).
  - apply Rmult_le_compat_l; [left; apply exp_pos|]. apply Rle_trans with (2 := exp_line _).
    unfold Rdiv. nra.
  - rewrite <- exp_plus. apply exp_le. unfold Rdiv. rewrite <- Rmult_plus_distr_r.
    apply over_le; [assumption|]. pose proof (square_nonneg (1 - u)). lra. Qed.

Theorem mle_tight_control : forall c, c <> 2 -> ~ mle_tight_says c.
Proof.
  intros c ne H. apply ne. assert (c / 1 = 2 / 1); [|lra]. apply same_threshold. intros e.
  rewrite <- (proj1 (H 2%nat 1 1 e ltac:(lia) ltac:(lra) ltac:(lra))).
  apply (flip_exactly 2 1 1); lia || lra. Qed.

(* CLAIM CCW25-P2.1.  For every link with F'/F at most k1 and curvature from 0 to k2, as A0 to A2
   grant, and for every n and epsilon: with c = 8 it is private. *)
Definition p21_says (c : R) : Prop := forall pull curvature k1 k2 n epsilon gamma lambda,
  (forall a, 0 <= pull a <= k1) -> (forall a, 0 <= curvature a <= k2) -> 0 < k1 -> 0 < k2 ->
  0 < epsilon -> c * k1 / epsilon <= lambda -> 4 * k2 / epsilon <= gamma -> 0 < lambda ->
  private (edge n) epsilon (density pull curvature n gamma lambda).

Theorem p21 : p21_says 8.
Proof.
  intros pull curvature k1 k2 n epsilon gamma lambda P C p1 p2 epos L G lpos x y theta close.
  assert (0 < gamma) as gpos by (apply Rlt_le_trans with (2 := G); apply Rdiv_lt_0_compat; lra).
  destruct (edge_games n x y close) as [g [h [rest [V [W [X Y]]]]]].
  eapply Rle_trans; [apply (exchange_loss pull curvature n gamma lambda gpos lpos (fun a => proj1 (P
    a)) (fun a => proj1 (C a)) g h rest x y theta V W X Y)|].
  apply Rmult_le_compat_r; [left; apply density_positive; auto; intros; apply C|].
  replace (exp epsilon) with (exp (epsilon / 2) * exp (epsilon / 2)) by (rewrite <- exp_plus;
    f_equal; field). apply over_le in L; [|assumption]. apply over_le in G; [|assumption].
  pose proof (P (gap theta g)). pose proof (P (gap theta h)). pose proof (C (gap theta g)).
  apply Rmult_le_compat; [left; apply exp_pos| | |].
  - pose proof (Rinv_0_lt_compat _ gpos). unfold Rdiv. nra.
  - apply exp_le, over_le; [assumption|]. lra.
  - apply Rle_trans with (2 := exp_line _). apply Rplus_le_compat_l, over_le; [assumption|]. lra.
Qed.

(* Less than a fifth of the printed noise is too little, for a flip and the logistic link. *)
Theorem p21_control : forall c, c <= 3 / 2 -> ~ p21_says c.
Proof.
  intros c small H. assert (2 / (3 / 2) <= 1); [|lra].
  apply (flip_exactly 2 1 (3 / 2) 1); try lia; try lra. intros x y theta [close _].
  revert x y theta close. apply (H surprise bend 1 (1 / 4)); try lra; [|apply bend_bounds].
  intros a. pose proof (surprise_bounds a). lra. Qed.
