(* Cai, Chakraborty, Wang 2025, Optimal Differentially Private Ranking from Pairwise Comparisons.

   Part 1: noisy win counts (Algorithms 2 and 3): which scales of independent Laplace or discrete
   Laplace noise are private, for every number of items, comparisons and people.
   Part 2: the perturbed maximum-likelihood estimator (Algorithm 1): Proposition 2.1 for every link;
   for the logistic link what an answer and a person cost, exactly, and a comparison, at most.

   Not in it: samplers; that the Laplace density integrates to 1; the change of variables that gives
   the density of the estimate, with which Part 2 starts; and that what is larger at a point for
   densities, which are continuous, is larger for a set.  What is computed from the noisy counts or
   the estimate, such as the top k, is private, too, by [private_events]; that it loses less is not
   in it. *)
Require Import Reals Lra Lia ZArith List Bool Permutation.
From Ranking Require Import Privacy Counts Determinant.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ Part 1: noisy counts *)

(* S is what the statistic f moves in l1, and noise on f is epsilon-private if and only if its scale
   is at least S / epsilon: Laplace noise, and discrete Laplace noise, where f has whole values. *)
Definition calibrated {D} (n : nat) (near : D -> D -> Prop) (f : D -> nat -> R) (S : R) : Prop :=
  sensitivity n near f S /\ forall epsilon b, 0 < epsilon -> 0 < b ->
    (private near epsilon (fun x => laplace n b (f x)) <-> S / epsilon <= b) /\
    (private near epsilon (fun x => discrete_laplace n b (f x)) <-> S / epsilon <= b).

Lemma over_le : forall a b c, 0 < b -> (a / b <= c <-> a <= c * b).
Proof.
  intros a b c pos. assert (a / b * b = a) as E by (field; lra). split; intros H.
  - rewrite <- E. apply Rmult_le_compat_r; lra.
  - apply Rmult_le_reg_r with b; lra.
Qed.

Lemma sensitivity_calibrates : forall D n (near : D -> D -> Prop) f S,
  sensitivity n near f S -> calibrated n near f S.
Proof.
  intros D n near f S sens. split; [assumption|]. intros epsilon b epos bpos.
  assert (forall unit, 0 < unit ->
    (private near epsilon (fun x => vector_noise unit n b (f x)) <-> S / epsilon <= b)) as K;
    [|split; apply K; auto using laplace_unit_positive, discrete_unit_positive].
  destruct sens as [below [x [y [close reached]]]]. intros unit upos. rewrite over_le by assumption.
  split.
  - intros safe. pose proof (vector_noise_least _ _ _ _ _ _ _ x y upos bpos close safe). lra.
  - intros H u v o uv. eapply Rle_trans; [apply (vector_noise_private unit n b (f u) (f v)); auto|].
    apply Rmult_le_compat_r; [apply Rmult_le_pos; [apply pow_le; lra|left; apply exp_pos]|].
    apply exp_le, over_le; [assumption|]. apply Rle_trans with S; [auto|lra].
Qed.

Ltac other_constant K E := pose proof (sensitivity_unique _ _ _ _ _ _ (proj1 K) E); simpl in *; lra.

(* CLAIM CCW25-ALG2.  For every n and epsilon: the counts move by c = 2 between edge neighbours, and
   c / epsilon is the least private scale of the noise. *)
Definition alg2_says (c : R) : Prop := forall n, (2 <= n)%nat -> calibrated n (edge n) wins c.

Theorem alg2 : alg2_says 2.
Proof. intros n H. apply sensitivity_calibrates, edge_sensitivity, H. Qed.

Theorem alg2_control : forall c, c <> 2 -> ~ alg2_says c.
Proof. intros c ne H. specialize (H 2%nat ltac:(lia)). other_constant H (edge_sensitivity 2 ltac:(lia)). Qed.

(* CLAIM CCW25-ALG3.  When L comparisons of one of m + 1 people are replaced, the least private scale
   is c L / epsilon with c = 2, for every n, L, m and epsilon. *)
Definition alg3_says (c : R) : Prop := forall n L m, (2 <= n)%nat ->
  calibrated n (replaced m (pile n L)) (total wins) (c * INR L).

Theorem alg3 : alg3_says 2.
Proof. intros n L m H. apply sensitivity_calibrates, pile_sensitivity, H. Qed.

Theorem alg3_control : forall c, c <> 2 -> ~ alg3_says c.
Proof.
  intros c ne H. specialize (H 2%nat 1%nat 0%nat ltac:(lia)).
  other_constant H (pile_sensitivity 2 1 0 ltac:(lia)).
Qed.

(* The printed scale fails for every n, L, number of people and epsilon. *)
Corollary alg3_printed : forall n L m epsilon, (2 <= n)%nat -> (1 <= L)%nat -> 0 < epsilon ->
  ~ private (replaced m (pile n L)) epsilon (fun x => laplace n (INR L / epsilon) (total wins x)).
Proof.
  intros n L m epsilon H K pos. pose proof (lt_0_INR L ltac:(lia)) as P.
  assert (0 < INR L / epsilon) as Q by (apply Rdiv_lt_0_compat; assumption).
  rewrite (proj1 (proj2 (alg3 n L m H) epsilon _ pos Q)). unfold Rdiv in *. lra.
Qed.

(* CLAIM CCW25-SENS-IND.  L comparisons of a person move each count by at most L, which is reached,
   but all counts together by c L, with c = 2, and this sets the noise.  If each person answers each
   pair once, it is floor(n^2/2) instead, and n(n-1)/2 + floor(n^2/4) if pairs may be skipped. *)
Definition sens_ind_says (c : R) : Prop := forall n L m, (2 <= n)%nat ->
  (forall x y i, replaced m (pile n L) x y -> Rabs (total wins x i - total wins y i) <= INR L) /\
  (exists x y i, replaced m (pile n L) x y /\ Rabs (total wins x i - total wins y i) = INR L) /\
  calibrated n (replaced m (pile n L)) (total wins) (c * INR L) /\
  calibrated n (replaced m decided) (total (score n)) (INR (n * n / 2)) /\
  calibrated n (replaced m partial) (total (score n)) (INR n * (INR n - 1) / 2 + INR (n * n / 4)).

Theorem sens_ind : sens_ind_says 2.
Proof.
  intros n L m H. destruct (pile_one_count n L m H). repeat split; auto;
    apply sensitivity_calibrates; auto using pile_sensitivity, once_sensitivity, skip_sensitivity.
Qed.

Theorem sens_ind_control : forall c, c <> 2 -> ~ sens_ind_says c.
Proof.
  intros c ne H. destruct (H 2%nat 1%nat 0%nat ltac:(lia)) as [_ [_ [K _]]].
  other_constant K (pile_sensitivity 2 1 0 ltac:(lia)).
Qed.

(* e_winner - e_loser; and half of wins minus losses. *)
Definition arrow (g : game) (i : nat) : R := won g i - won (swap g) i.
Definition half_net : list game -> nat -> R := total (fun g i => arrow g i / 2).

Lemma arrow_l1 : forall n g, valid n g -> range_sum n (fun i => Rabs (arrow g i)) <= 2.
Proof.
  intros n g [W [V _]]. apply Rle_trans with (range_sum n (fun i => won g i + won (swap g) i)).
  - apply range_sum_le. intros. apply abs_minus; apply won_bounds.
  - pose proof (range_sum_pick n (fun _ => 1) _ W). pose proof (range_sum_pick n (fun _ => 1) _ V).
    unfold range_sum, won, swap in *. rewrite sum_plus. simpl. lra.
Qed.

(* CLAIM BOOK-HALF-NET, its sensitivity.  Half of wins minus losses moves by c = 2 in l1 when one
   comparison is flipped or exchanged, so that c / epsilon is the least scale of Laplace noise. *)
Definition half_net_says (c : R) : Prop := forall n, (2 <= n)%nat ->
  sensitivity n (edge n) half_net c /\ forall epsilon b, 0 < epsilon -> 0 < b ->
    (private (edge n) epsilon (fun x => laplace n b (half_net x)) <-> c / epsilon <= b).

Theorem half_net_private : half_net_says 2.
Proof.
  intros n H. enough (calibrated n (edge n) half_net 2) as [E K]
    by (split; [exact E|intros; apply K; assumption]).
  apply sensitivity_calibrates. split.
  - intros x y close. destruct (edge_games n x y close) as [g [h [rest [G [K [px py]]]]]].
    apply Rle_trans with (range_sum n (fun i => / 2 * Rabs (arrow g i) + / 2 * Rabs (arrow h i))).
    + apply range_sum_le. intros i _. unfold half_net. rewrite (total_moves _ g h rest) by assumption.
      unfold Rabs. repeat destruct (Rcase_abs _); lra.
    + pose proof (arrow_l1 n g G). pose proof (arrow_l1 n h K). unfold range_sum in *.
      rewrite sum_plus, !sum_scale. lra.
  - do 2 eexists. split; [apply edge_flip, H|]. pose proof (moved n 1 H) as M. simpl in M.
    rewrite Rmult_1_r in M. rewrite <- M. apply l1_of_difference. intros i.
    unfold half_net, wins, total, arrow, won, swap. simpl. field.
Qed.

Theorem half_net_control : forall c, c <> 2 -> ~ half_net_says c.
Proof.
  intros c ne H. specialize (H 2%nat ltac:(lia)).
  other_constant H (proj1 (half_net_private 2%nat ltac:(lia))).
Qed.

(* ------------------------------------------------------------------ Part 2: the perturbed MLE *)

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

(* The density of the estimate: that of Laplace(lambda) noise, times the Jacobian (CCW25-DENSITY). *)
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
  - intros. unfold hessian. rewrite (sum_permutation _ _ x y H). reflexivity.
Qed.

Lemma hessian_cons : forall g x theta i j, hessian (g :: x) theta i j
  = update (hessian x theta) (curvature (gap theta g)) (arrow g) i j.
Proof. intros. unfold hessian, update. simpl. ring. Qed.

Lemma above_ext : forall g A B, (forall i j, A i j = B i j) -> above n g A -> above n g B.
Proof.
  intros g A B E [pos [H K]]. split; [assumption|]. split; [intros i j; rewrite <- !E; apply H|].
  intros x. apply Rle_trans with (1 := K x). right. apply range_sum_ext. intros.
  apply range_sum_ext. intros. rewrite E. reflexivity.
Qed.

Lemma hessian_above : forall x theta, above n gamma (hessian x theta).
Proof.
  intros x theta. induction x as [|g x IH].
  - apply above_ext with (multiple gamma); [intros; unfold hessian; simpl; ring|].
    apply multiple_above, gamma_positive.
  - apply above_ext with (2 := update_above n gamma _ _ (arrow g) (curvature_nonneg (gap theta g)) IH).
    intros. symmetry. apply hessian_cons.
Qed.

Lemma det_hessian_positive : forall x theta, 0 < det n (hessian x theta).
Proof. intros. apply det_positive with gamma, hessian_above. Qed.

Lemma density_positive : forall x theta, 0 < density x theta.
Proof.
  intros. repeat apply Rmult_lt_0_compat; [|apply exp_pos|apply det_hessian_positive].
  apply pow_lt, laplace_unit_positive, lambda_positive.
Qed.

(* One comparison multiplies the determinant by a factor from 1 to 1 + 2 curvature / gamma. *)
Lemma one_more : forall g x theta, valid n g ->
  det n (hessian x theta) <= det n (hessian (g :: x) theta)
    <= det n (hessian x theta) * (1 + 2 * curvature (gap theta g) / gamma).
Proof.
  intros g x theta [W [L ne]]. pose proof (hessian_above x theta) as A.
  assert (dot n (arrow g) (arrow g) = 2) as two.
  { unfold dot. rewrite (range_sum_ext n _ (fun i => won g i + won (swap g) i)).
    - pose proof (range_sum_pick n (fun _ => 1) _ W). pose proof (range_sum_pick n (fun _ => 1) _ L).
      unfold range_sum, won, swap in *. rewrite sum_plus. simpl. lra.
    - intros i _. unfold arrow, won, swap. simpl.
      destruct (Nat.eqb_spec (fst g) i), (Nat.eqb_spec (snd g) i); try lra. congruence. }
  rewrite (det_ext n (hessian (g :: x) theta) _ (hessian_cons g x theta)).
  rewrite (det_update n gamma) by auto. pose proof (det_hessian_positive x theta).
  pose proof (curvature_nonneg (gap theta g)). pose proof (inverse_form_nonneg n gamma _ (arrow g) A).
  pose proof (inverse_form_le n gamma _ (arrow g) A) as B. rewrite two in B.
  set (q := inverse_form _ _ _) in *. set (c := curvature _) in *.
  assert (0 <= c * q) by (apply Rmult_le_pos; assumption).
  assert (c * q <= c * (2 / gamma)) by (apply Rmult_le_compat_l; assumption).
  replace (2 * c / gamma) with (c * (2 / gamma)) by (field; lra). split; nra.
Qed.

(* When the comparison g gives way to h. *)
Lemma exchange_loss : forall g h rest x y theta, valid n g -> valid n h ->
  Permutation x (g :: rest) -> Permutation y (h :: rest) ->
  density x theta <= exp ((2 * pull (gap theta g) + 2 * pull (gap theta h)) / lambda)
    * (1 + 2 * curvature (gap theta g) / gamma) * density y theta.
Proof.
  intros g h rest x y theta G H X Y.
  rewrite (density_order x _ theta X), (density_order y _ theta Y). unfold density.
  destruct (one_more g rest theta G) as [_ more]. destruct (one_more h rest theta H) as [less _].
  pose proof (det_hessian_positive rest theta). pose proof (det_hessian_positive (g :: rest) theta).
  pose proof (pull_nonneg (gap theta g)) as P. pose proof (pull_nonneg (gap theta h)) as Q.
  assert (size (noise_of (h :: rest) theta) <= size (noise_of (g :: rest) theta)
    + (2 * pull (gap theta g) + 2 * pull (gap theta h))) as move.
  { apply Rle_trans with (size (noise_of (g :: rest) theta)
      + (pull (gap theta g) * range_sum n (fun i => Rabs (arrow g i))
        + pull (gap theta h) * range_sum n (fun i => Rabs (arrow h i)))).
    - unfold size, range_sum. rewrite <- !sum_scale, <- !sum_plus. apply sum_le. intros i.
      pose proof (Rabs_mult (pull (gap theta g)) (arrow g i)) as A. rewrite (Rabs_pos_eq _ P) in A.
      pose proof (Rabs_mult (pull (gap theta h)) (arrow h i)) as B. rewrite (Rabs_pos_eq _ Q) in B.
      rewrite <- A, <- B. unfold noise_of, total. simpl.
      unfold Rabs. repeat destruct (Rcase_abs _); lra.
    - pose proof (arrow_l1 n g G). pose proof (arrow_l1 n h H). nra. }
  assert (0 < laplace_unit lambda ^ n) by (apply pow_lt, laplace_unit_positive; assumption).
  assert (1 <= 1 + 2 * curvature (gap theta g) / gamma) as F.
  { pose proof (curvature_nonneg (gap theta g)). pose proof (Rinv_0_lt_compat _ gamma_positive).
    unfold Rdiv. nra. }
  set (f := 1 + _) in *. set (p := 2 * _ + 2 * _) in *.
  set (sg := size (noise_of (g :: rest) theta)) in *. set (sh := size (noise_of (h :: rest) theta)) in *.
  pose proof (det_hessian_positive (h :: rest) theta).
  apply Rle_trans with (laplace_unit lambda ^ n * (exp (p / lambda) * exp (- sh / lambda))
    * (f * det n (hessian (h :: rest) theta))); [|right; ring].
  pose proof (exp_pos (- sg / lambda)). apply Rmult_le_compat; [nra|lra| |nra].
  apply Rmult_le_compat_l; [lra|]. rewrite <- exp_plus. apply exp_le.
  pose proof (Rinv_0_lt_compat _ lambda_positive). unfold Rdiv. nra.
Qed.

End Estimator.

Lemma exp_line : forall a, 1 + a <= exp a.
Proof.
  intros a. destruct (Req_dec a 0) as [->|ne]; [rewrite exp_0; lra|]. left. apply exp_ineq1, ne.
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
  intros a. pose proof (surprise_bounds a). unfold bend.
  pose proof (square_nonneg (surprise a - 1 / 2)). split; nra.
Qed.

(* Where neighbours have compared the same pairs, the estimate is a relabelling of noisy counts: its
   noise is the win counts minus what strengths, ridge and pairs alone decide. *)
Definition expected (gamma : R) (x : list game) (theta : nat -> R) (i : nat) : R :=
  gamma * theta i + total (fun g j =>
    (1 - surprise (gap theta g)) * won g j + surprise (gap theta g) * won (swap g) j) x i.
Definition even (phi : game -> R) : Prop := forall g, phi (swap g) = phi g.

Lemma even_terms : forall theta i, even (fun g => (1 - surprise (gap theta g)) * won g i
  + surprise (gap theta g) * won (swap g) i) /\
  forall j, even (fun g => bend (gap theta g) * (arrow g i * arrow g j)).
Proof.
  intros theta i. assert (forall g, gap theta (swap g) = - gap theta g /\ swap (swap g) = g) as E
    by (intros []; unfold gap, swap; simpl; split; [ring|reflexivity]).
  split; [|intros j]; intros g; unfold bend, arrow; destruct (E g) as [-> ->];
    rewrite surprise_opp; ring.
Qed.

Lemma mle_counts : forall n gamma lambda x theta, mle n gamma lambda x theta
  = laplace n lambda (wins x) (expected gamma x theta) * det n (hessian bend gamma x theta).
Proof.
  intros. unfold mle, density, laplace, vector_noise, gauge_noise. do 4 f_equal. apply f_equal.
  apply range_sum_ext. intros i _. rewrite Rabs_minus_sym. f_equal.
  unfold noise_of, expected, wins, total. rewrite (sum_ext _ (fun g => won g i - ((1 -
    surprise (gap theta g)) * won g i + surprise (gap theta g) * won (swap g) i)));
    [rewrite sum_minus; ring|]. intros. unfold arrow. ring.
Qed.

(* Then the loss is that of the noise, exactly: it is reached where the ridge decides the signs. *)
Theorem public_exactly : forall D (near : D -> D -> Prop) (games : D -> list game) n gamma lambda S,
  0 < gamma -> 0 < lambda ->
  (forall x y phi, near x y -> even phi -> sum phi (games x) = sum phi (games y)) ->
  sensitivity n near (fun x => wins (games x)) S ->
  forall epsilon, private near epsilon (fun x => mle n gamma lambda (games x)) <->
    S / lambda <= epsilon.
Proof.
  intros D near games n gamma lambda S gpos lpos pairs [below [x [y [close reached]]]] epsilon.
  assert (forall u v theta, near u v ->
    mle n gamma lambda (games v) theta = laplace n lambda (wins (games v))
      (expected gamma (games u) theta) * det n (hessian bend gamma (games u) theta)) as same.
  { intros u v theta uv. rewrite mle_counts. f_equal.
    - unfold laplace, vector_noise, gauge_noise. do 4 f_equal. apply range_sum_ext. intros i _.
      unfold expected, total. rewrite <- (pairs u v _ uv (proj1 (even_terms theta i))). reflexivity.
    - apply det_ext. intros. unfold hessian.
      rewrite <- (pairs u v _ uv (proj2 (even_terms theta i) j)). reflexivity. }
  assert (forall z theta, 0 < det n (hessian bend gamma z theta)) as J
    by (intros; apply det_hessian_positive; auto; intros; apply bend_bounds).
  split.
  - intros safe. set (m := INR (length (games x))). rewrite over_le by assumption.
    set (theta := fun i => m / gamma * sign (wins (games x) i - wins (games y) i)).
    specialize (safe x y theta close). simpl in safe. rewrite mle_counts, (same x y theta close) in safe.
    rewrite <- Rmult_assoc in safe. apply Rmult_le_reg_r in safe; [|apply J].
    set (e := expected gamma (games x) theta) in *.
    unfold laplace, vector_noise, gauge_noise in safe.
    rewrite <- Rmult_assoc, (Rmult_comm (exp epsilon)), Rmult_assoc, <- exp_plus in safe.
    apply Rmult_le_reg_l in safe; [|apply pow_lt, laplace_unit_positive; assumption].
    assert (l1 n e (wins (games y)) - l1 n e (wins (games x)) = S) as far.
    { rewrite <- reached. unfold l1, range_sum. rewrite <- sum_minus. apply sum_ext. intros i.
      pose proof (wins_bounds (games x) i) as B. fold m in B.
      assert (gamma * theta i <= e i <= gamma * theta i + m) as E.
      { unfold e, expected. destruct (total_bounds (fun g j => (1 - surprise (gap theta g)) * won g j
          + surprise (gap theta g) * won (swap g) j) (games x) i); [|unfold m; lra].
        intros g. pose proof (surprise_bounds (gap theta g)). pose proof (won_bounds g i).
        pose proof (won_bounds (swap g) i). nra. }
      replace (gamma * theta i) with (m * sign (wins (games x) i - wins (games y) i)) in E
        by (unfold theta; field; lra). unfold sign in E. unfold Rabs.
      destruct (Rle_dec 0 (wins (games x) i - wins (games y) i)); repeat destruct (Rcase_abs _); lra. }
    rewrite <- far. destruct (Rle_or_lt (l1 n e (wins (games y)) - l1 n e (wins (games x)))
      (epsilon * lambda)) as [|L]; [assumption|]. exfalso. apply Rle_not_lt in safe. apply safe.
    apply exp_increasing. apply Rmult_lt_reg_r with lambda; [assumption|]. field_simplify; lra.
  - intros enough u v theta uv. rewrite mle_counts, (same u v theta uv), <- Rmult_assoc.
    apply Rmult_le_compat_r; [left; apply J|]. eapply Rle_trans; [apply (vector_noise_private _ n
      lambda _ (wins (games v))); auto using laplace_unit_positive|].
    apply Rmult_le_compat_r; [apply Rmult_le_pos; [apply pow_le; left; apply laplace_unit_positive,
      lpos|left; apply exp_pos]|].
    apply exp_le, over_le; [assumption|]. apply over_le in enough; [|assumption].
    apply Rle_trans with S; auto.
Qed.

Lemma same_threshold : forall a b, (forall e, a <= e <-> b <= e) -> a = b.
Proof. intros a b H. apply Rle_antisym; apply H; lra. Qed.

(* Every comparison keeps its pair, and one is turned round. *)
Definition flip (n : nat) (x y : list game) : Prop := edge n x y /\ exists g rest,
  Permutation x (g :: rest) /\ Permutation y (swap g :: rest).

Lemma flip_exactly : forall n gamma lambda epsilon, (2 <= n)%nat -> 0 < gamma -> 0 < lambda ->
  private (flip n) epsilon (mle n gamma lambda) <-> 2 / lambda <= epsilon.
Proof.
  intros n gamma lambda epsilon H gpos lpos. apply (public_exactly _ (flip n) (fun x => x)); auto.
  - intros x y phi [_ [g [rest [X Y]]]] E.
    rewrite (sum_permutation _ _ _ _ X), (sum_permutation _ _ _ _ Y). simpl. rewrite E. reflexivity.
  - split; [intros x y [close _]; apply (edge_sensitivity n H), close|].
    exists [(0, 1)%nat], [(1, 0)%nat]. pose proof (moved n 1 H) as M. simpl in M. split; [|lra].
    split; [apply edge_flip, H|]. exists (0, 1)%nat, []. split; reflexivity.
Qed.

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
  eapply Rle_trans; [apply (exchange_loss surprise bend n gamma lambda gpos lpos sp bp
    g h rest x y theta G K X Y)|].
  apply Rmult_le_compat_r; [left; apply density_positive; auto|].
  specialize (H _ (surprise_bounds (gap theta g))). apply Rle_trans with (2 := H).
  unfold bend. rewrite <- Rmult_assoc. apply Rmult_le_compat_r.
  - pose proof (bp (gap theta g)). unfold bend in *. pose proof (Rinv_0_lt_compat _ gpos).
    unfold Rdiv. nra.
  - apply exp_le. apply over_le; [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
    pose proof (surprise_bounds (gap theta h)). lra.
Qed.

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
  split; [apply exchange_enough; assumption|]. intros more enough.
  apply exchange_enough; auto. intros u U. apply over_le in enough; [|assumption].
  assert (0 < u * (1 - u)) by nra. pose proof (Rinv_0_lt_compat _ lpos).
  assert (/ gamma <= / lambda) by (apply Rinv_le_contravar; assumption).
  apply Rle_trans with (exp ((2 + 2 * u) / lambda) * exp (2 * (u * (1 - u)) / lambda)).
  - apply Rmult_le_compat_l; [left; apply exp_pos|]. apply Rle_trans with (2 := exp_line _).
    unfold Rdiv. nra.
  - rewrite <- exp_plus. apply exp_le. unfold Rdiv. rewrite <- Rmult_plus_distr_r.
    apply over_le; [assumption|]. pose proof (square_nonneg (1 - u)). lra.
Qed.

Theorem mle_tight_control : forall c, c <> 2 -> ~ mle_tight_says c.
Proof.
  intros c ne H. apply ne. assert (c / 1 = 2 / 1); [|lra]. apply same_threshold. intros e.
  rewrite <- (proj1 (H 2%nat 1 1 e ltac:(lia) ltac:(lra) ltac:(lra))).
  apply (flip_exactly 2 1 1); lia || lra.
Qed.

(* CLAIM CCW25-P2.1.  For every link whose pull F'/F is at most k1 and whose curvature is from 0 to k2,
   as A0 to A2 grant, and for every n and epsilon. *)
Definition p21_says (c : R) : Prop := forall pull curvature k1 k2 n epsilon gamma lambda,
  (forall a, 0 <= pull a <= k1) -> (forall a, 0 <= curvature a <= k2) -> 0 < k1 -> 0 < k2 ->
  0 < epsilon -> c * k1 / epsilon <= lambda -> 4 * k2 / epsilon <= gamma -> 0 < lambda ->
  private (edge n) epsilon (density pull curvature n gamma lambda).

Theorem p21 : p21_says 8.
Proof.
  intros pull curvature k1 k2 n epsilon gamma lambda P C p1 p2 epos L G lpos x y theta close.
  assert (0 < gamma) as gpos by (apply Rlt_le_trans with (2 := G); apply Rdiv_lt_0_compat; lra).
  destruct (edge_games n x y close) as [g [h [rest [V [W [X Y]]]]]].
  eapply Rle_trans; [apply (exchange_loss pull curvature n gamma lambda gpos lpos
    (fun a => proj1 (P a)) (fun a => proj1 (C a)) g h rest x y theta V W X Y)|].
  apply Rmult_le_compat_r; [left; apply density_positive; auto; intros; apply C|].
  replace (exp epsilon) with (exp (epsilon / 2) * exp (epsilon / 2))
    by (rewrite <- exp_plus; f_equal; field).
  apply over_le in L; [|assumption]. apply over_le in G; [|assumption].
  pose proof (P (gap theta g)). pose proof (P (gap theta h)). pose proof (C (gap theta g)).
  apply Rmult_le_compat; [left; apply exp_pos| | |].
  - pose proof (Rinv_0_lt_compat _ gpos). unfold Rdiv. nra.
  - apply exp_le, over_le; [assumption|]. lra.
  - apply Rle_trans with (2 := exp_line _). apply Rplus_le_compat_l, over_le; [assumption|]. lra.
Qed.

(* A quarter of the printed noise is needed in any case, for a flip and the logistic link. *)
Theorem p21_control : forall c, c < 2 -> ~ p21_says c.
Proof.
  intros c small H. assert (2 / Rmax c 1 <= 1) as K.
  { apply (flip_exactly 2 1 (Rmax c 1) 1); try lia; try lra; [pose proof (Rmax_r c 1); lra|].
    intros x y theta [close _]. revert x y theta close. pose proof (Rmax_l c 1). pose proof (Rmax_r c 1).
    apply (H surprise bend 1 (1 / 4)); try lra; [|apply bend_bounds].
    intros a. pose proof (surprise_bounds a). lra. }
  apply over_le in K; [|pose proof (Rmax_r c 1); lra].
  destruct (Rle_or_lt c 1); [rewrite Rmax_right in K|rewrite Rmax_left in K]; lra.
Qed.
