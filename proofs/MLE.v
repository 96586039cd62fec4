(* The perturbed maximum-likelihood estimator of CCW25, Algorithm 1: how much it loses, exactly.

   For every number of items, noise and ridge, for the logistic link: when an answer is turned round
   (BOOK-MLE-TIGHT), when a comparison gives way to another (the same, as a supremum over n), when
   one person who decides each pair is replaced (BOOK-MLE-ONCE), or L comparisons of a person
   (BOOK-MLE-PERSON, the upper bound).  [exchange_loss] is for every link.

   We start from the density of the estimate.  Not in it: the change of variables that gives that
   density, that a minimiser is found, samplers, and floating-point numbers. *)
Require Import Reals Lra Lia ZArith List Bool Permutation.
From Ranking Require Import Privacy Counts Determinant.
Import ListNotations.
Open Scope R_scope.

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
      + (p * range_sum n (fun i => Rabs (arrow g i))
        + q * range_sum n (fun i => Rabs (arrow h i)))).
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

(* Exchanges of one comparison for another, also for one of a pair that is there already. *)
Definition exchange (n : nat) (x y : list game) : Prop := exists g h rest, valid n g /\ valid n h /\
  Permutation x (g :: rest) /\ Permutation y (h :: rest).

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

(* A release whose density is that of Laplace noise around a statistic, at a point e that theta
   decides, times a Jacobian; neighbours have the same e and Jacobian.  Its loss is that of the
   noise. *)
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
    apply range_sum_ext. intros i _. rewrite (proj2 (same u v theta uv)). reflexivity. }
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

(* Where neighbours have compared the same pairs, the estimate is such a release, of win counts. *)
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

(* CLAIM BOOK-MLE-ONCE.  If each of m + 1 people decides each pair once and one of them is replaced,
   the loss is exactly c floor(n^2/2) / lambda with c = 1, for every n, m, noise and ridge. *)
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
    { assert (forall z i, (i < n)%nat -> wins (flat_map (games_of n) z) i = total (score n) z i) as
        W
        by (intros z i K; unfold wins, total; rewrite sum_flat_map; apply sum_ext; intros;
          apply (wins_games n a i K)).
      intros x y. apply range_sum_ext. intros i K. rewrite !W by assumption. reflexivity. }
    destruct (once_sensitivity n m decided H) as [[below [x [y [close reached]]]] _]; [auto|].
    split; [intros; rewrite E; auto|]. exists x, y. rewrite E. auto.
Qed.

Theorem mle_once_control : forall c, c <> 1 -> ~ mle_once_says c.
Proof.
  intros c ne H. assert (c * INR (2 * 2 / 2) / 1 = 1 * INR (2 * 2 / 2) / 1) as E.
  { apply same_threshold. intros e.
    rewrite <- (H 2%nat 0%nat 1 1 e), <- (mle_once 2%nat 0%nat 1 1 e);
      try lia; try lra. reflexivity. }
  simpl in E. lra.
Qed.

(* ---------------------------------------------------------------- exchanges, exactly *)

(* The bound for one exchange, and the data that come near it.  The comparison (0, 1) is removed,
   whose loser led with surprise u; the complete upset (2, 3) is put in; and m complete upsets each
   pull item 0 down and item 1 up, so that both pulls count in full.  t says how far apart the
   others are. *)
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
  assert (forall a i, In a (seq 4 m) -> (i < 4)%nat ->
    arrow (a, 0%nat) i = if Nat.eqb i 0 then -1 else 0)
    as low.
  { intros a i I K. apply in_seq in I. unfold arrow, won, swap. cbn [fst snd].
    destruct (Nat.eqb_spec a i); [lia|]. rewrite (Nat.eqb_sym i 0). destruct (Nat.eqb 0 i); lra. }
  assert (forall b i, In b (seq (4 + m) m) -> (i < 4)%nat ->
    arrow (1%nat, b) i = if Nat.eqb i 1 then 1 else 0)
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
  assert (bend (gap strengths (0, 1)%nat) = u * (1 - u)) as -> by (unfold bend;
    rewrite lead_surprise; ring).
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
  assert (0 < k) by (unfold k, Rdiv; assert (0 < / gamma) by (apply Rinv_0_lt_compat; assumption);
    nra).
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
  (forall u, 0 < u < 1 -> 2 / lambda + 2 * u / lambda + ln (1 + 2 * u * (1 - u) / gamma) <=
    epsilon) ->
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
  (forall u, 0 < u < 1 -> 2 / lambda + 2 * u / lambda + ln (1 + 2 * u * (1 - u) / gamma) <=
    epsilon).
Proof.
  intros gamma lambda epsilon gpos lpos.
  assert (0 < / gamma) as I by (apply Rinv_0_lt_compat; auto).
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
      set (s := 2 / lambda * d) in *.
      replace (Q * (2 / lambda) * d) with (Q * s) by (unfold s; ring).
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

(* CLAIM BOOK-MLE-TIGHT, with c = 2.  A flip loses c/lambda, exactly, for every n.  Exchanges lose,
   as a supremum over n, c/lambda + the largest of 2u/lambda + log(1 + 2u(1-u)/gamma); which is
   2c/lambda where the ridge is at least the noise. *)
Definition mle_tight_says (c : R) : Prop := forall gamma lambda epsilon, 0 < gamma -> 0 < lambda ->
  (forall n, (2 <= n)%nat -> (private (flip n) epsilon (mle n gamma lambda) <->
    c / lambda <= epsilon)) /\
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

(* CLAIM BOOK-MLE-PERSON, the upper bound.  With a ridge of at least the noise, L comparisons of one
   person lose at most c L / lambda, c = 4, for every n, L and m other people; for L = 1 no smaller
   c will do. *)
Definition mle_person_says (c : R) : Prop := forall n L m gamma lambda, 0 < lambda ->
  lambda <= gamma ->
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
