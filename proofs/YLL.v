(* YLL: Yan, Li and Liu (2020), Private Rank Aggregation under Local Differential Privacy;
   and BOOK-LAPLACE-BIT, that its two protocols are one.

   Proved: Theorem 1 for every number of items and questions, with randomised response and with
   Laplace reports; and the channel of a Laplace report that is cut at one half, by integration.
   Not in it: how coins and noise are drawn, floating-point numbers, and what KwikSort does next. *)
Require Import Reals Lra Lia List Bool PeanoNat.
From Ranking Require Import Privacy XSC.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ common: tails of densities *)

(* f integrates to v between a and b, and from a to infinity (Riemann integrals and their limit). *)
Definition integral (f : R -> R) (a b v : R) : Prop :=
  exists integrable : Riemann_integrable f a b, RiemannInt integrable = v.

Definition tail (f : R -> R) (a v : R) : Prop := forall e, 0 < e -> exists M, forall T, M <= T ->
  exists w, integral f a T w /\ Rabs (w - v) < e.

Lemma tail_unique : forall f a v w, tail f a v -> tail f a w -> v = w.
Proof.
  intros f a v w V W. destruct (Req_dec v w) as [|other]; [assumption|].
  assert (0 < Rabs (v - w) / 2) as pos.
  { apply Rdiv_lt_0_compat; [apply Rabs_pos_lt|]; lra. }
  destruct (V _ pos) as [M K]. destruct (W _ pos) as [N L].
  destruct (K (Rmax M N) (Rmax_l M N)) as [s [[i <-] S]].
  destruct (L (Rmax M N) (Rmax_r M N)) as [t [[j <-] T]].
  rewrite (RiemannInt_P5 j i) in T. revert S T.
  unfold Rabs. repeat destruct (Rcase_abs _); lra.
Qed.

(* A primitive gives the integral. *)
Lemma integral_primitive : forall F f a b, a <= b -> (forall y, derivable_pt_lim F y (f y)) ->
  continuity f -> integral f a b (F b - F a).
Proof.
  intros F f a b order D C. set (d := (fun y => exist _ (f y) (D y)) : derivable F).
  assert (Riemann_integrable f a b) as I.
  { apply continuity_implies_RiemannInt; [assumption|]. intros. apply C. }
  exists I. exact (@FTC_Riemann (@mkC1 F d C) a b I).
Qed.

Lemma integral_same : forall f g a b v, a <= b -> (forall y, a <= y <= b -> f y = g y) ->
  integral f a b v -> integral g a b v.
Proof.
  intros f g a b v order same [i <-]. assert (Riemann_integrable g a b) as j.
  { apply Riemann_integrable_ext with f; [|assumption]. intros y.
    rewrite Rmin_left, Rmax_right by assumption. apply same. }
  exists j. apply RiemannInt_P18; [assumption|]. intros. symmetry. apply same. lra.
Qed.

Lemma integral_split : forall f a b c v w, integral f a b v -> integral f b c w ->
  integral f a c (v + w).
Proof.
  intros f a b c v w [i <-] [j <-]. exists (RiemannInt_P24 i j). symmetry. apply RiemannInt_P26.
Qed.

Lemma exponential_primitive : forall c k m y,
  derivable_pt_lim (fun z => c * exp (k * z + m)) y (c * k * exp (k * y + m)).
Proof.
  intros c k m y. replace (c * k * exp (k * y + m)) with (c * (exp (k * y + m) * k)) by ring.
  apply (derivable_pt_lim_scal (fun z => exp (k * z + m))).
  apply (derivable_pt_lim_comp (fun z => k * z + m) exp); [|apply derivable_pt_lim_exp].
  pose proof (derivable_pt_lim_plus (fun z => k * z) (fun _ => m) y (k * 1) 0
    (derivable_pt_lim_scal id k y 1 (derivable_pt_lim_id y)) (derivable_pt_lim_const m y)) as K.
  replace (k * 1 + 0) with k in K by ring. exact K.
Qed.

Lemma exponential_integral : forall c k m a b, a <= b ->
  integral (fun y => c * k * exp (k * y + m)) a b (c * exp (k * b + m) - c * exp (k * a + m)).
Proof.
  intros c k m a b order. apply (integral_primitive (fun z => c * exp (k * z + m)));
    [assumption|apply exponential_primitive|].
  intros y. apply derivable_continuous_pt. eexists. apply (exponential_primitive (c * k)).
Qed.

(* ------------------------------------------------------------------ Laplace noise on one number *)

Definition density (b u y : R) : R := laplace_unit b * exp (- Rabs (y - u) / b).

(* It is the noise of the common ground on a vector of one entry. *)
Lemma density_laplace : forall b u y, laplace 1 b (fun _ => u) (fun _ => y) = density b u y.
Proof.
  intros. unfold laplace, vector_noise, gauge_noise, l1, range_sum, density. simpl.
  rewrite Rmult_1_r, Rplus_0_r. reflexivity.
Qed.

(* The chance that the noise is more than t. *)
Definition exceeds (b t : R) : R := if Rle_dec 0 t then exp (- t / b) / 2 else 1 - exp (t / b) / 2.

Lemma density_right : forall b u a c, 0 < b -> u <= a <= c ->
  integral (density b u) a c (exp (- (a - u) / b) / 2 - exp (- (c - u) / b) / 2).
Proof.
  intros b u a c pos order.
  apply integral_same with (fun y => - (1 / 2) * - / b * exp (- / b * y + u / b)); [lra| |].
  - intros y range. unfold density, laplace_unit. rewrite Rabs_right by lra.
    replace (- / b * y + u / b) with (- (y - u) / b) by (field; lra). field. lra.
  - replace (exp (- (a - u) / b) / 2 - exp (- (c - u) / b) / 2) with
      (- (1 / 2) * exp (- / b * c + u / b) - - (1 / 2) * exp (- / b * a + u / b)).
    + apply exponential_integral. lra.
    + replace (- / b * c + u / b) with (- (c - u) / b) by (field; lra).
      replace (- / b * a + u / b) with (- (a - u) / b) by (field; lra). lra.
Qed.

Lemma density_left : forall b u a, 0 < b -> a <= u ->
  integral (density b u) a u (1 / 2 - exp ((a - u) / b) / 2).
Proof.
  intros b u a pos order.
  apply integral_same with (fun y => 1 / 2 * / b * exp (/ b * y + - u / b)); [lra| |].
  - intros y range. unfold density, laplace_unit. rewrite Rabs_left1 by lra.
    replace (/ b * y + - u / b) with (- - (y - u) / b) by (field; lra). field. lra.
  - replace (1 / 2 - exp ((a - u) / b) / 2) with
      (1 / 2 * exp (/ b * u + - u / b) - 1 / 2 * exp (/ b * a + - u / b)).
    + apply exponential_integral. lra.
    + replace (/ b * u + - u / b) with 0 by (field; lra). rewrite exp_0.
      replace (/ b * a + - u / b) with ((a - u) / b) by (field; lra). lra.
Qed.

Theorem density_tail : forall b u a, 0 < b -> tail (density b u) a (exceeds b (a - u)).
Proof.
  intros b u a pos e epos. exists (Rmax (Rmax a u) (u + b / e)). intros T large.
  assert (a <= T /\ u <= T /\ b / e <= T - u) as [aT [uT far]].
  { pose proof (Rmax_l (Rmax a u) (u + b / e)). pose proof (Rmax_r (Rmax a u) (u + b / e)).
    pose proof (Rmax_l a u). pose proof (Rmax_r a u). lra. }
  exists (exceeds b (a - u) - exp (- (T - u) / b) / 2). split.
  - unfold exceeds. destruct (Rle_dec 0 (a - u)) as [right|left].
    + apply density_right; lra.
    + replace (1 - exp ((a - u) / b) / 2 - exp (- (T - u) / b) / 2) with
        (1 / 2 - exp ((a - u) / b) / 2 + (exp (- (u - u) / b) / 2 - exp (- (T - u) / b) / 2)).
      * apply integral_split with u; [apply density_left|apply density_right]; lra.
      * replace (- (u - u) / b) with 0 by (field; lra). rewrite exp_0. lra.
  - replace (exceeds b (a - u) - exp (- (T - u) / b) / 2 - exceeds b (a - u))
      with (- (exp (- (T - u) / b) / 2)) by ring.
    pose proof (exp_pos (- (T - u) / b)). rewrite Rabs_Ropp, Rabs_right by lra.
    set (z := (T - u) / b). assert (1 / e <= z) as Z.
    { unfold z. apply Rmult_le_reg_r with b; [assumption|].
      replace ((T - u) / b * b) with (T - u) by (field; lra). unfold Rdiv in *. lra. }
    assert (0 < 1 / e) by (apply Rdiv_lt_0_compat; lra). pose proof (exp_ineq1 z ltac:(lra)).
    replace (- (T - u) / b) with (- z) by (unfold z; field; lra). rewrite exp_Ropp.
    assert (/ exp z < e); [|lra]. apply Rmult_lt_reg_r with (exp z); [apply exp_pos|].
    rewrite Rinv_l by (pose proof (exp_pos z); lra).
    apply Rmult_le_compat_l with (r := e) in Z; [|lra].
    replace (e * (1 / e)) with 1 in Z by (field; lra). nra.
Qed.

(* The chance that the noisy number is less than a is the tail of its mirror image. *)
Lemma density_below : forall b u a, 0 < b ->
  tail (fun y => density b u (- y)) (- a) (exceeds b (u - a)).
Proof.
  intros b u a pos. replace (u - a) with (- a - - u) by ring.
  intros e epos. destruct (density_tail b (- u) (- a) pos e epos) as [M K]. exists (Rmax M (- a)).
  intros T large. pose proof (Rmax_l M (- a)). pose proof (Rmax_r M (- a)).
  destruct (K T ltac:(lra)) as [w [I small]]. exists w. split; [|assumption].
  apply integral_same with (density b (- u)); [lra| |assumption]. intros y _. unfold density.
  replace (- y - u) with (- (y - - u)) by ring. rewrite Rabs_Ropp. reflexivity.
Qed.

(* Both together: the density is one of a law. *)
Lemma exceeds_total : forall b t, exceeds b t + exceeds b (- t) = 1.
Proof.
  intros b t. unfold exceeds. destruct (Rle_dec 0 t), (Rle_dec 0 (- t)); rewrite ?Ropp_involutive;
    try lra. assert (t = 0) as -> by lra. rewrite Ropp_0. unfold Rdiv.
  rewrite Rmult_0_l, exp_0. lra.
Qed.

(* ------------------------------------------------------------------ a noisy bit, cut at one half *)

(* The report says r with chance v, when a bit a gets Laplace noise of scale 1/x and is cut at 1/2. *)
Definition cut (x : R) (a r : bool) (v : R) : Prop :=
  let noisy := density (1 / x) (if a then 1 else 0) in
  if r then tail noisy (1 / 2) v else tail (fun y => noisy (- y)) (- (1 / 2)) v.

Lemma cut_channel : forall x a r, 0 < x ->
  cut x a r (if eqb a r then 1 - exp (- x / 2) / 2 else exp (- x / 2) / 2).
Proof.
  intros x a r pos. assert (0 < 1 / x) as scale by (apply Rdiv_lt_0_compat; lra).
  assert (exceeds (1 / x) (1 / 2) = exp (- x / 2) / 2) as over.
  { unfold exceeds. destruct (Rle_dec 0 (1 / 2)); [|lra]. do 2 f_equal. field. lra. }
  pose proof (exceeds_total (1 / x) (1 / 2)) as both.
  pose proof (fun u => density_tail (1 / x) u (1 / 2) scale) as up.
  pose proof (fun u => density_below (1 / x) u (1 / 2) scale) as down.
  unfold cut. destruct a, r; simpl eqb; cbv iota zeta.
  - specialize (up 1). replace (1 / 2 - 1) with (- (1 / 2)) in up by lra.
    replace (1 - exp (- x / 2) / 2) with (exceeds (1 / x) (- (1 / 2))) by lra. exact up.
  - specialize (down 1). replace (1 - 1 / 2) with (1 / 2) in down by lra.
    rewrite <- over. exact down.
  - specialize (up 0). replace (1 / 2 - 0) with (1 / 2) in up by lra. rewrite <- over. exact up.
  - specialize (down 0). replace (0 - 1 / 2) with (- (1 / 2)) in down by lra.
    replace (1 - exp (- x / 2) / 2) with (exceeds (1 / x) (- (1 / 2))) by lra. exact down.
Qed.

(* CLAIM YLL-MLAP. A Laplace report, cut at one half, keeps the answer with probability 1 - h,
   h = e^(-x/2) / 2, whatever it is; with F for the chance that the noise is at most t,
   F(1/2) = 1 - h and F(-1/2) = h.  The list in our copy of the paper says 1 - h for the latter. *)
Definition mlap_says (value : R -> R) : Prop := forall x, 0 < x ->
  let h := exp (- x / 2) / 2 in
  let F t v := tail (fun y => density (1 / x) 0 (- y)) (- t) v in
  F (1 / 2) (1 - h) /\ F (- (1 / 2)) (value h) /\
  forall a r, cut x a r (if eqb a r then 1 - h else h).

Theorem mlap : mlap_says (fun h => h).
Proof.
  intros x pos h F. assert (0 < 1 / x) as scale by (apply Rdiv_lt_0_compat; lra).
  split; [|split; [|intros; apply cut_channel; assumption]].
  - exact (cut_channel x false false pos).
  - pose proof (density_below (1 / x) 0 (- (1 / 2)) scale) as K. unfold F, h.
    replace (exp (- x / 2) / 2) with (exceeds (1 / x) (0 - - (1 / 2))); [exact K|].
    unfold exceeds. destruct (Rle_dec 0 (0 - - (1 / 2))); [|lra]. do 2 f_equal. field. lra.
Qed.

Theorem mlap_control : ~ mlap_says (fun h => 1 - h).
Proof.
  intros H. destruct (H 1 ltac:(lra)) as [_ [K _]]. destruct (mlap 1 ltac:(lra)) as [_ [L _]].
  pose proof (tail_unique _ _ _ _ K L) as E. pose proof (exp_increasing (- (1) / 2) 0 ltac:(lra)).
  rewrite exp_0 in *. lra.
Qed.

(* CLAIM BOOK-LAPLACE-BIT. Laplace noise of scale 1/x on a bit, cut at one half, is randomised
   response at epsilon' = ln(2 e^(x/2) - 1), and x/2 < epsilon' < x; with
   x = 2 ln((1 + e^epsilon) / 2) it loses exactly epsilon, whatever the bit is. *)
Definition laplace_bit_says (k : R) : Prop :=
  (forall x, 0 < x -> let e := ln (k * exp (x / 2) - 1) in
    (forall a r, cut x a r (answer e a r)) /\ x / 2 < e < x) /\
  forall epsilon, 0 < epsilon -> let x := 2 * ln ((1 + exp epsilon) / 2) in
    0 < x /\ (forall a r, cut x a r (answer epsilon a r)) /\
    forall a, loses (answer epsilon a) (answer epsilon (negb a)) epsilon.

Lemma half_exponential : forall x, 0 < x -> 1 < exp (x / 2) /\ exp x = exp (x / 2) * exp (x / 2)
  /\ exp (- x / 2) = / exp (x / 2).
Proof.
  intros x pos. split; [|split].
  - rewrite <- exp_0. apply exp_increasing. lra.
  - rewrite <- exp_plus. f_equal. lra.
  - rewrite <- exp_Ropp. f_equal. lra.
Qed.

Lemma cut_answer : forall x, 0 < x -> forall a r, cut x a r (answer (ln (2 * exp (x / 2) - 1)) a r).
Proof.
  intros x pos a r. destruct (half_exponential x pos) as [more [_ half]].
  assert (answer (ln (2 * exp (x / 2) - 1)) a r
    = if eqb a r then 1 - exp (- x / 2) / 2 else exp (- x / 2) / 2) as ->.
  { unfold answer. rewrite half, exp_ln by lra. destruct (eqb a r); field; lra. }
  apply cut_channel. assumption.
Qed.

Theorem laplace_bit : laplace_bit_says 2.
Proof.
  split.
  - intros x pos e. split; [apply cut_answer; assumption|].
    destruct (half_exponential x pos) as [more [square _]].
    split; apply exp_lt_inv; unfold e; rewrite exp_ln by lra; nra.
  - intros e pos x. pose proof (exp_increasing 0 e pos) as more. rewrite exp_0 in more.
    assert (0 < x) as xpos.
    { pose proof (ln_increasing 1 ((1 + exp e) / 2) ltac:(lra) ltac:(lra)) as L.
      rewrite ln_1 in L. unfold x. lra. }
    split; [assumption|]. split; [|intros; apply answer_loses; lra].
    assert (ln (2 * exp (x / 2) - 1) = e) as same.
    { unfold x. replace (2 * ln ((1 + exp e) / 2) / 2) with (ln ((1 + exp e) / 2)) by lra.
      rewrite exp_ln by lra. replace (2 * ((1 + exp e) / 2) - 1) with (exp e) by lra. apply ln_exp. }
    intros a r. rewrite <- same. apply cut_answer. assumption.
Qed.

Theorem laplace_bit_control : forall k, k <> 2 -> ~ laplace_bit_says k.
Proof.
  intros k other [H _]. destruct (H 1 ltac:(lra)) as [K [low _]].
  pose proof (tail_unique _ _ _ _ (K false true) (cut_answer 1 ltac:(lra) false true)) as E.
  destruct (half_exponential 1 ltac:(lra)) as [more _]. unfold answer in E. simpl eqb in E.
  cbv iota in E. rewrite (exp_ln (2 * _ - 1)) in E by lra.
  destruct (Rlt_or_le 0 (k * exp (1 / 2) - 1)) as [pos|neg].
  - rewrite exp_ln in E by assumption. apply Rmult_eq_compat_r with
      (r := (k * exp (1 / 2) - 1 + 1) * (2 * exp (1 / 2) - 1 + 1)) in E.
    field_simplify in E; [|lra..]. apply other. nra.
  - unfold ln in low. destruct (Rlt_dec 0 (k * exp (1 / 2) - 1)); lra.
Qed.

(* ------------------------------------------------------------------ Theorem 1 *)

(* A question is a pair of different items; a protocol draws L of them, by any law that does not
   look at the ranking (it may look at earlier reports): w is the chance of the questions, given
   the reports.  Each answer is sent by randomised response at [each], or with Laplace noise. *)
Definition question (n : nat) (q : nat * nat) : Prop :=
  (fst q < n /\ snd q < n /\ fst q <> snd q)%nat.

Definition truth (r : nat -> nat) (qs : list (nat * nat)) : list bool := map (before r) qs.

Definition flips (each : R) (w : list (nat * nat) -> list bool -> R) (r : nat -> nat)
  (report : list (nat * nat) * list bool) : R :=
  w (fst report) (snd report) * answers each (truth r (fst report)) (snd report).

Definition number (bs : list bool) (k : nat) : R := if nth k bs false then 1 else 0.

Definition noisy (each : R) (w : list (nat * nat) -> (nat -> R) -> R) (r : nat -> nat)
  (report : list (nat * nat) * (nat -> R)) : R := w (fst report) (snd report)
  * laplace (length (fst report)) (1 / each) (number (truth r (fst report))) (snd report).

Lemma number_distance : forall u v, length u = length v ->
  l1 (length u) (number u) (number v) = INR (differences u v).
Proof.
  unfold l1, range_sum. induction u as [|a u IH]; intros [|b v] L; try discriminate; [reflexivity|].
  injection L as L. simpl length. simpl seq. rewrite <- seq_shift. simpl sum. rewrite sum_map.
  rewrite (sum_ext _ (fun i => Rabs (number u i - number v i))) by reflexivity.
  rewrite (IH v L). simpl differences. rewrite plus_INR. f_equal. unfold number. simpl.
  destruct a, b; simpl; unfold Rabs; destruct (Rcase_abs _); lra.
Qed.

Lemma truth_reverse : forall n r qs, ranking n r -> Forall (question n) qs ->
  truth (reverse n r) qs = map negb (truth r qs).
Proof.
  intros n r qs R Q. unfold truth. rewrite map_map. apply map_ext_in. intros [i j] H.
  rewrite Forall_forall in Q. destruct (Q _ H) as [I [J N]]. apply before_reverse; assumption.
Qed.

(* The reports are those of a law if the questions are. *)
Lemma flips_law : forall each (w : list (nat * nat) -> R) questions L r,
  finite_law questions w -> Forall (fun qs => length qs = L) questions ->
  finite_law (list_prod questions (all_answers L)) (flips each (fun qs _ => w qs) r).
Proof.
  intros each w questions L r [pos total] size. split.
  - intros [qs rs]. apply Rmult_le_pos; [apply pos|apply answers_nonneg].
  - rewrite <- total. clear total. induction size as [|qs questions K size IH]; [reflexivity|].
    simpl. rewrite sum_app, IH, sum_map. f_equal. unfold flips. simpl. rewrite sum_scale.
    replace L with (length (truth r qs)) by (unfold truth; rewrite map_length; assumption).
    destruct (answers_law each (truth r qs)) as [_ ->]. ring.
Qed.

(* CLAIM YLL-T1. L questions about n items, each answered at c epsilon / L: the whole report is
   epsilon-private between any two rankings (c = 1), by randomised response and with Laplace noise
   on the 0/1 answers; a ranking and its reverse lose exactly epsilon. *)
Definition t1_says (c : R) : Prop := forall n L epsilon, (0 < L)%nat -> 0 < epsilon ->
  let each := c * epsilon / INR L in
  (forall w, (forall qs rs, 0 <= w qs rs) -> (forall qs rs, length qs <> L -> w qs rs = 0) ->
    private any epsilon (flips each w) /\
    forall r qs, ranking n r -> Forall (question n) qs -> 0 < w qs (truth r qs) ->
      loses (flips each w r) (flips each w (reverse n r)) epsilon) /\
  forall w, (forall qs ys, 0 <= w qs ys) -> (forall qs ys, length qs <> L -> w qs ys = 0) ->
    private any epsilon (noisy each w) /\
    forall r qs, ranking n r -> Forall (question n) qs -> 0 < w qs (number (truth r qs)) ->
      loses (noisy each w r) (noisy each w (reverse n r)) epsilon.

Theorem t1 : t1_says 1.
Proof.
  intros n L e some pos each. pose proof (lt_0_INR L some) as Lpos.
  assert (0 < each) as epos by (apply Rdiv_lt_0_compat; lra).
  assert (INR L * each = e) as all by (unfold each; field; lra).
  assert (forall r s qs, length (truth r qs) = length (truth s qs)) as same
    by (intros; unfold truth; rewrite !map_length; reflexivity).
  assert (forall r s qs, length qs = L -> INR (differences (truth r qs) (truth s qs)) * each <= e)
    as most.
  { intros r s qs size. rewrite <- all. apply Rmult_le_compat_r; [lra|]. apply le_INR.
    pose proof (differences_most (truth r qs) (truth s qs)) as D. unfold truth in D at 3.
    rewrite map_length in D. lia. }
  assert (forall r qs, ranking n r -> Forall (question n) qs -> length qs = L ->
    INR (differences (truth r qs) (truth (reverse n r) qs)) * each = e) as least.
  { intros r qs R Q size. rewrite (truth_reverse n r qs R Q), differences_negb. unfold truth.
    rewrite map_length, size. assumption. }
  assert (forall r s qs, l1 (length qs) (number (truth r qs)) (number (truth s qs)) / (1 / each)
    = INR (differences (truth r qs) (truth s qs)) * each) as distance.
  { intros r s qs. rewrite <- number_distance by apply same.
    replace (length (truth r qs)) with (length qs) by (unfold truth; rewrite map_length; reflexivity).
    field. lra. }
  assert (0 < 1 / each) as bpos by (apply Rdiv_lt_0_compat; lra).
  split; intros w wpos size.
  - assert (private any e (flips each w)) as safe.
    { intros r s [qs rs] _. unfold flips. simpl.
      destruct (Nat.eq_dec (length qs) L) as [sz|sz]; [|rewrite size by assumption; lra].
      rewrite <- Rmult_assoc, (Rmult_comm (exp e)), Rmult_assoc.
      apply Rmult_le_compat_l; [apply wpos|]. eapply Rle_trans;
        [apply answers_private; [lra|apply (same r s)]|].
      apply Rmult_le_compat_r; [apply answers_nonneg|]. apply exp_le, most, sz. }
    split; [assumption|]. intros r qs R Q chance. split; [intros; apply safe; exact I|].
    exists (qs, truth r qs). unfold flips. simpl. split.
    + apply Rmult_lt_0_compat; [assumption|]. apply answers_positive. reflexivity.
    + rewrite (answers_attained each _ _ (same r (reverse n r) qs)), least; auto; [ring|].
      destruct (Nat.eq_dec (length qs) L) as [sz|sz]; [assumption|].
      rewrite size in chance by assumption. lra.
  - assert (forall o p, 0 < laplace o (1 / each) p p) as positive.
    { intros. apply Rmult_lt_0_compat; [|apply exp_pos]. apply pow_lt, laplace_unit_positive, bpos. }
    assert (private any e (noisy each w)) as safe.
    { intros r s [qs ys] _. unfold noisy. simpl.
      destruct (Nat.eq_dec (length qs) L) as [sz|sz]; [|rewrite size by assumption; lra].
      rewrite <- Rmult_assoc, (Rmult_comm (exp e)), Rmult_assoc.
      apply Rmult_le_compat_l; [apply wpos|]. eapply Rle_trans;
        [apply vector_noise_private; [apply laplace_unit_positive|]; assumption|].
      apply Rmult_le_compat_r; [|rewrite (distance r s); apply exp_le, most, sz].
      apply Rmult_le_pos; [|left; apply exp_pos]. left. apply pow_lt, laplace_unit_positive, bpos. }
    split; [assumption|]. intros r qs R Q chance. split; [intros; apply safe; exact I|].
    exists (qs, number (truth r qs)). unfold noisy. simpl. split.
    + apply Rmult_lt_0_compat; [assumption|]. apply positive.
    + unfold laplace. rewrite (vector_noise_attained _ _ _ _ (number (truth (reverse n r) qs)) bpos).
      rewrite distance, least; auto; [ring|].
      destruct (Nat.eq_dec (length qs) L) as [sz|sz]; [assumption|].
      rewrite size in chance by assumption. lra.
Qed.

(* With twice the share, or any other, the loss is another one. *)
Theorem t1_control : forall c, 0 < c -> c <> 1 -> ~ t1_says c.
Proof.
  intros c pos other H. set (w := fun (qs : list (nat * nat)) (_ : list bool) =>
    if Nat.eq_dec (length qs) 1 then 1 else 0).
  assert (forall qs rs, 0 <= w qs rs) as P
    by (intros; unfold w; destruct (Nat.eq_dec _ _); lra).
  assert (forall qs rs, length qs <> 1%nat -> w qs rs = 0) as S
    by (intros; unfold w; destruct (Nat.eq_dec _ _); [contradiction|reflexivity]).
  assert (ranking 2 (fun i => i)) as R by (split; auto).
  assert (Forall (question 2) [(0, 1)]%nat) as Q by (repeat constructor; simpl; lia).
  destruct (H 2%nat 1%nat 1 ltac:(lia) ltac:(lra)) as [K _]. destruct (K w P S) as [_ K'].
  destruct (t1 2%nat 1%nat c ltac:(lia) pos) as [M _]. destruct (M w P S) as [_ M'].
  specialize (K' _ _ R Q ltac:(unfold w; simpl; lra)).
  specialize (M' _ _ R Q ltac:(unfold w; simpl; lra)). simpl INR in *.
  rewrite Rmult_1_l in M'. rewrite Rmult_1_r in K'.
  pose proof (loses_unique _ _ _ _ _ K' M'). lra.
Qed.
