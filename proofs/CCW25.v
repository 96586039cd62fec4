(* Cai, Chakraborty, Wang 2025, Optimal Differentially Private Ranking from Pairwise Comparisons.

   Noisy win counts (Algorithms 2 and 3): exactly which scales of independent Laplace or discrete
   Laplace noise are private, for every number of items, comparisons and people.  The perturbed
   maximum-likelihood estimator (Algorithm 1): its gradient, and Propositions 2.1 and 3.1, for every
   link; its exact loss is in MLE.v.

   Not in it: samplers; that the Laplace density integrates to 1; the change of variables that gives
   the density of the estimate; losses of the released set of k items below those of the counts. *)
Require Import Reals Lra Lia ZArith List Bool Permutation.
From Ranking Require Import Privacy Counts Determinant MLE.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ noisy counts *)

(* CLAIM CCW25-ALG2.  Noise of scale 2/epsilon on the win counts is the least that is private for
   edge neighbours, for every n and epsilon; the k items with the largest noisy counts are, too. *)
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

(* CLAIM CCW25-ALG3.  When L comparisons of one of m + 1 people are replaced, the least private
   scale is c L / epsilon with c = 2, for every n, L, m and epsilon. *)
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

(* CLAIM CCW25-SENS-IND.  One person's L comparisons move each count by at most L, which is
   attained; but all counts together by c L, with c = 2, and that sets the noise.  If each person
   answers each pair once, the least scale is floor(n^2/2)/epsilon; if pairs may be skipped,
   (n(n-1)/2 + floor(n^2/4))/epsilon. *)
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
Definition half_net (x : list game) (i : nat) : R := total (fun g j => arrow g j / 2) x i.

(* CLAIM BOOK-HALF-NET, its privacy.  Half of wins minus losses moves by 2 in l1 when one comparison
   is flipped or exchanged, so that 2/epsilon is the least private scale of Laplace noise on it. *)
Definition half_net_says (c : R) : Prop := forall n epsilon b,
  (2 <= n)%nat -> 0 < epsilon -> 0 < b ->
  sensitivity (l1 n) (edge n) half_net c /\
  (private (edge n) epsilon (fun x => laplace n b (half_net x)) <-> c / epsilon <= b).

Theorem half_net_private : half_net_says 2.
Proof.
  intros n epsilon b H pos bpos. assert (sensitivity (l1 n) (edge n) half_net 2) as E.
  2: { split; [assumption|]. apply noise_exactly; auto using laplace_unit_positive. }
  split.
  - intros x y close. destruct (edge_games n x y close) as [g [h [rest [G [K [px py]]]]]].
    apply Rle_trans with (range_sum n (fun i => / 2 * Rabs (arrow g i) + / 2 * Rabs (arrow h i))).
    + apply range_sum_le. intros i _. unfold half_net.
      rewrite (total_moves _ g h rest) by assumption.
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
  intros c ne H. destruct (H 2%nat 1 1) as [K _]; [lia|lra|lra|].
  destruct (half_net_private 2%nat 1 1) as [E _]; [lia|lra|lra|].
  apply ne. exact (sensitivity_unique _ _ _ _ _ _ K E).
Qed.

(* ------------------------------------------------------------------ the perturbed MLE *)

(* A link with its first derivative f and the curvature c of - log F, and the conditions A0 to A2 of
   the paper as far as privacy needs them: k1 bounds f/(F(1 - F)), and k2 bounds c. *)
Definition conditions (F f c : R -> R) (k1 k2 : R) : Prop := forall a,
  0 < F a < 1 /\ F (- a) = 1 - F a /\ derivable_pt_lim F a (f a) /\ 0 <= f a /\
  derivable_pt_lim (fun b => f b / F b) a (- c a) /\ f a / (F a * (1 - F a)) <= k1 /\
    0 <= c a <= k2.

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

Lemma first_derivative : forall n gamma x theta i, (i < n)%nat ->
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
      apply (derivative_line (fun a => - ln (F a))).
      destruct (link (gap theta g)) as [[P _] [_ [D _]]].
      apply (derivable_pt_lim_opp (fun a => ln (F a))).
      unfold pull, Rdiv. rewrite (Rmult_comm (f _)).
      apply (derivable_pt_lim_comp F ln); [assumption|]. apply derivable_pt_lim_ln. assumption.
    + apply (derivable_pt_lim_scal (fun t => range_sum n (fun j => shift theta i t j ^ 2))).
      apply derivative_sum. intros j. apply (derivative_line (fun a => a ^ 2)).
      replace (2 * theta j) with (INR 2 * theta j ^ 1) by (simpl; ring).
      apply derivable_pt_lim_pow.
  - unfold noise_of, total.
    rewrite (range_sum_ext n _ (fun j => if Nat.eqb i j then 2 * theta j else 0)).
    + rewrite range_sum_pick by assumption.
      rewrite (sum_ext _ (fun g => -1 * (pull (gap theta g) * arrow g i))) by (intros; ring).
      rewrite sum_scale. field.
    + intros. destruct (Nat.eqb i i0); ring.
Qed.

Lemma second_derivative : forall gamma x theta i j,
  derivable_pt_lim (fun t => - noise_of pull gamma x (shift theta j t) i) 0
    (hessian c gamma x theta i j).
Proof.
  intros gamma x theta i j.
  replace (hessian c gamma x theta i j) with (- (sum (fun g => - c (gap theta g) * arrow g j *
    arrow g i) x
    - gamma * (if Nat.eqb j i then 1 else 0))).
  - apply (derivable_pt_lim_opp (fun t => noise_of pull gamma x (shift theta j t) i)).
    apply (derivable_pt_lim_minus (fun t => total (fun g k => pull (gap (shift theta j t) g) *
      arrow g k) x i)
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
    rewrite (sum_ext _ (fun g => -1 * (c (gap theta g) * (arrow g i * arrow g j))))
      by (intros; ring).
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

(* CLAIM CCW25-GRAD.  For every link that satisfies the conditions, n and data: the gradient of R is
   c times noise_of, c = -1, and hessian its second derivatives; without ridge its sum is 0. *)
Definition gradient_says (c : R) : Prop := forall F f curv k1 k2 n gamma x theta,
  conditions F f curv k1 k2 -> let noise := noise_of (fun a => f a / F a) in
  (forall i, (i < n)%nat -> derivable_pt_lim (fun t => objective F n gamma x (shift theta i t)) 0
    (c * noise gamma x theta i)) /\
  (forall i j, derivable_pt_lim (fun t => - noise gamma x (shift theta j t) i) 0
    (hessian curv gamma x theta i j)) /\
  (Forall (valid n) x -> range_sum n (noise 0 x theta) = 0).

Theorem gradient : gradient_says (-1).
Proof.
  intros F f c k1 k2 n gamma x theta link noise. split; [|split].
  - intros i H. replace (-1 * noise gamma x theta i) with (- noise gamma x theta i) by ring.
    exact (first_derivative F f c k1 k2 link n gamma x theta i H).
  - intros. exact (second_derivative F f c k1 k2 link gamma x theta i j).
  - intros V. unfold range_sum, noise, noise_of, total.
    rewrite (sum_ext _ (fun i => sum (fun g => f (gap theta g) / F (gap theta g) * arrow g i) x))
      by (intros; ring).
    rewrite sum_swap, (sum_ext_in _ (fun _ => 0)); [apply sum_zero|]. intros g H.
    rewrite sum_scale. rewrite Forall_forall in V. destruct (V g H) as [W [K _]].
    pose proof (range_sum_pick n (fun _ => 1) _ W) as one.
    pose proof (range_sum_pick n (fun _ => 1) _ K) as two.
    unfold arrow, won, swap, range_sum in *. simpl. rewrite sum_minus, one, two. ring.
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

Theorem gradient_control : forall c, c <> -1 -> ~ gradient_says c.
Proof.
  intros c ne H. destruct (H _ _ _ _ _ 2%nat 1 [(0, 1)%nat] (fun _ => 0) logistic) as [K _].
  destruct (gradient _ _ _ _ _ 2%nat 1 [(0, 1)%nat] (fun _ => 0) logistic) as [G _].
  specialize (K 0%nat ltac:(lia)). specialize (G 0%nat ltac:(lia)).
  pose proof (uniqueness_limite _ _ _ _ K G) as E. revert E.
  unfold noise_of, total, gap, arrow, won, bend, surprise. simpl. rewrite Rminus_0_r, exp_0.
  intros E. field_simplify in E. lra.
Qed.

Lemma mle_density : forall n gamma lambda x theta, mle n gamma lambda x theta
  = density (fun a => bend a / (1 - surprise a)) bend n gamma lambda x theta.
Proof.
  intros. unfold mle, density. do 5 f_equal. apply range_sum_ext. intros. unfold noise_of, total.
  do 2 f_equal. apply sum_ext. intros. unfold bend. pose proof (surprise_bounds (gap theta a)).
  field. lra.
Qed.

Lemma scale_le : forall c a e s, 0 < c -> 0 < a -> 0 < e -> c * a / e <= s ->
  0 < s /\ a / s <= e / c.
Proof.
  intros c a e s cpos apos epos H. assert (0 < c * a / e) as P
    by (apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat|]; assumption).
  split; [lra|]. replace (e / c) with (a * / (c * a / e)) by (field; lra).
  apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; lra.
Qed.

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
  destruct (scale_le 8 k1 epsilon lambda) as [lpos A]; try lra.
  destruct (scale_le 4 k2 epsilon gamma) as [gpos B]; try lra.
  destruct (ln_line (2 * k2 / gamma)) as [_ K]; [left; apply Rdiv_lt_0_compat; lra|].
  apply private_more with (4 * k1 / lambda + ln (1 + 2 * k2 / gamma)).
  - intros. left. apply density_positive; auto. intros. apply (link a).
  - unfold Rdiv in *. lra.
  - intros x y theta close. apply (exchange_private F f c k1 k2); auto. apply edge_games.
    assumption.
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
    pose proof (exp_pos (9 / 100)) as P.
    apply Rmult_le_compat_l with (r := exp (9 / 100)) in K; [|lra].
    rewrite Rinv_r in K; lra. }
  assert (exp (36 / 100) < 148 / 100) as F.
  { replace (36 / 100) with (9 / 100 + 9 / 100 + (9 / 100 + 9 / 100)) by lra. rewrite !exp_plus.
    pose proof (exp_pos (9 / 100)). set (e := exp (9 / 100)) in *.
    assert (e * e <= 12076 / 10000) by nra.
    nra. }
  pose proof (ln_increasing _ _ (exp_pos _) F) as L. rewrite ln_exp in L.
  replace (1 + 2 * (3 / 5) * (1 - 3 / 5) / 1) with (148 / 100) in safe by field. lra.
Qed.

(* For the logistic link an exchange loses 113/128 epsilon, at the printed noise and ridge. *)
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
  assert (0 < INR L * k1 /\ 0 < INR L * k2) as [l1 l2] by (split; apply Rmult_lt_0_compat; auto).
  rewrite Rmult_assoc in A, B.
  destruct (scale_le 8 (INR L * k1) epsilon lambda) as [lpos C]; try lra.
  destruct (scale_le 8 (INR L * k2) epsilon gamma) as [gpos D]; try lra.
  destruct (ln_line (2 * k2 / gamma)) as [_ K]; [left; apply Rdiv_lt_0_compat; lra|].
  apply private_more with (INR L * (4 * k1 / lambda + ln (1 + 2 * k2 / gamma))).
  - intros. left. apply density_positive; auto. intros. apply (link a).
  - apply Rmult_le_compat_l with (r := INR L) in K; [|lra]. unfold Rdiv in *. lra.
  - apply person_private. apply (exchange_private F f c k1 k2); assumption.
Qed.

(* Half of the printed noise is too little at the printed ridge. *)
Theorem p31_control : forall c, c <= 4 -> ~ p31_says c.
Proof.
  intros c small H. assert (forall n, private (edge n) 1 (mle n 2 4)) as safe.
  { intros n. apply as_persons. intros m x y theta close. rewrite !mle_density.
    revert x y theta close.
    apply (H (fun a => 1 - surprise a) bend bend 1 (1 / 4)); simpl INR; try lia; try lra.
    apply logistic. }
  apply (proj1 (exchange_exactly 2 4 1 ltac:(lra) ltac:(lra))) with (u := 9 / 10) in safe; [|lra].
  pose proof (exp_line (- (5 / 100))) as K. rewrite exp_Ropp in K.
  pose proof (exp_pos (5 / 100)) as P.
  apply Rmult_le_compat_l with (r := exp (5 / 100)) in K; [|lra]. rewrite Rinv_r in K by lra.
  pose proof (ln_increasing _ (109 / 100) P ltac:(lra)) as L. rewrite ln_exp in L.
  replace (1 + 2 * (9 / 10) * (1 - 9 / 10) / 2) with (109 / 100) in safe by field. lra.
Qed.
