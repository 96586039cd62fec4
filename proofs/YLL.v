(* YLL: Yan, Li and Liu (2020), Private Rank Aggregation under Local Differential Privacy;
   and BOOK-LAPLACE-BIT, that its two protocols are one.

   Proved: Theorem 1 for every number of items and questions, with randomised response and with
   Laplace reports; and the channel of a Laplace report that is cut at one half, by integration.
   Not in it: how coins and noise are drawn, floating-point numbers, and what KwikSort does next. *)
Require Import Reals Lra Lia List Bool PeanoNat.
From Ranking Require Import Privacy XSC.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ the tails of Laplace noise *)

(* f integrates to v from a to infinity: the limit of its Riemann integrals. *)
Definition tail (f : R -> R) (a v : R) : Prop := forall e, 0 < e -> exists M, forall T, M <= T ->
  exists integrable : Riemann_integrable f a T, Rabs (RiemannInt integrable - v) < e.

(* The density of Laplace noise of scale 1/x. *)
Definition noise (x y : R) : R := laplace 1 (1 / x) (fun _ => 0) (fun _ => y).

Lemma noise_density : forall x y, 0 < x -> noise x y = x / 2 * exp (- x * Rabs y).
Proof.
  intros. unfold noise, laplace, vector_noise, gauge_noise, laplace_unit, l1, range_sum. simpl.
  rewrite Rmult_1_r, Rplus_0_r, Rminus_0_r. f_equal; [|f_equal]; field; lra.
Qed.
Lemma exponential_primitive : forall c x y,
  derivable_pt_lim (fun z => c * exp (- x * z)) y (- x * c * exp (- x * y)).
Proof.
  intros c x y. replace (- x * c * exp (- x * y)) with (c * (exp (- x * y) * (- x * 1))) by ring.
  apply (derivable_pt_lim_scal (fun z => exp (- x * z))).
  apply (derivable_pt_lim_comp (fun z => - x * z) exp); [|apply derivable_pt_lim_exp].
  apply (derivable_pt_lim_scal id), derivable_pt_lim_id.
Qed.

(* By the fundamental theorem of calculus. *)
Lemma exponential_integral : forall c x a b, a <= b ->
  exists i : Riemann_integrable (fun y => - x * c * exp (- x * y)) a b,
  RiemannInt i = c * exp (- x * b) - c * exp (- x * a).
Proof.
  intros c x a b le. set (F z := c * exp (- x * z)).
  set (d := (fun y => exist _ _ (exponential_primitive c x y)) : derivable F).
  assert (continuity (derive F d)) as C.
  { intros y. apply derivable_continuous_pt. eexists. exact (exponential_primitive (- x * c) x y). }
  assert (Riemann_integrable (derive F d) a b) as i
    by (apply continuity_implies_RiemannInt; [assumption|intros; apply C]).
  exists i. exact (@FTC_Riemann (@mkC1 F d C) a b i).
Qed.

(* The noise exceeds c >= 0 with probability e^(-x c) / 2, and lies below - c as often (sign -1);
   the two halves, c = 0, add up to 1. *)
Lemma noise_tail : forall x c sign, 0 < x -> 0 <= c -> sign = 1 \/ sign = -1 ->
  tail (fun y => noise x (sign * y)) c (exp (- x * c) / 2).
Proof.
  intros x c sign pos nonneg S e epos. exists (Rmax c (- ln e / x)). intros T large.
  pose proof (Rmax_l c (- ln e / x)). pose proof (Rmax_r c (- ln e / x)).
  destruct (exponential_integral (- (1 / 2)) x c T ltac:(lra)) as [i I].
  assert (forall y, c <= y -> - x * - (1 / 2) * exp (- x * y) = noise x (sign * y)) as same.
  { intros y far. rewrite noise_density by assumption. replace (Rabs (sign * y)) with y; [lra|].
    destruct S as [-> | ->]; unfold Rabs; destruct (Rcase_abs _); lra. }
  assert (Riemann_integrable (fun y => noise x (sign * y)) c T) as j.
  { eapply Riemann_integrable_ext; [|exact i]. intros y. rewrite Rmin_left by lra.
    intros [far _]. auto. }
  exists j. rewrite <- (RiemannInt_P18 i j), I by (lra || (intros y [far _]; apply same; lra)).
  replace (- (1 / 2) * exp (- x * T) - - (1 / 2) * exp (- x * c) - exp (- x * c) / 2)
    with (- (exp (- x * T) / 2)) by lra. pose proof (exp_pos (- x * T)) as P.
  rewrite Rabs_Ropp, Rabs_right by lra. assert (- ln e / x * x <= T * x) as far by nra.
  replace (- ln e / x * x) with (- ln e) in far by (field; lra).
  pose proof (exp_le (- x * T) (ln e) ltac:(lra)) as small.
  rewrite exp_ln in small by assumption. lra.
Qed.

(* ------------------------------------------------------------------ a noisy bit, cut at 1/2 *)

(* The report of the bit a is wrong with chance h: if the noise carries a, 0 or 1, past 1/2, up or
   down.  All noise, up and down, has the mass 1, so that the report is right with 1 - h. *)
Definition cut (x h : R) (a : bool) : Prop := let towards := if a then -1 else 1 in
  tail (fun y => noise x (towards * y)) (1 / 2) h /\
  tail (fun y => noise x (1 * y)) 0 (1 / 2) /\ tail (fun y => noise x (-1 * y)) 0 (1 / 2).

Lemma cut_tail : forall x a, 0 < x -> cut x (exp (- (x / 2)) / 2) a.
Proof.
  intros x a pos. assert (forall sign, sign = 1 \/ sign = -1 ->
    tail (fun y => noise x (sign * y)) 0 (1 / 2)) as half.
  { intros sign S. pose proof (noise_tail x 0 sign pos (Rle_refl 0) S) as K.
    rewrite Rmult_0_r, exp_0 in K. exact K. }
  split; [|split; apply half; auto]. replace (- (x / 2)) with (- x * (1 / 2)) by lra.
  apply noise_tail; try lra. destruct a; auto.
Qed.

(* CLAIM YLL-MLAP. A Laplace report, cut at one half, keeps the answer with probability 1 - h,
   h = e^(-x/2) / 2, whatever it is.  In the paper's list (first index the report, second the truth)
   p_00 = 1 - h, and the chances of the truth 0 add up to 1 if p_10 = h, but not as in our copy. *)
Definition mlap_says (p_10 : R -> R) : Prop := forall x, 0 < x -> let h := exp (- (x / 2)) / 2 in
  (forall a, cut x h a) /\ (1 - h) + p_10 h = 1.
Theorem mlap : mlap_says (fun h => h).
Proof. intros x pos h. split; [intros; apply cut_tail; assumption|ring]. Qed.

Theorem mlap_control : ~ mlap_says (fun h => 1 - h).
Proof.
  intros H. destruct (H 1 ltac:(lra)) as [_ K].
  pose proof (exp_increasing (- (1 / 2)) 0 ltac:(lra)). rewrite exp_0 in *. lra.
Qed.

(* CLAIM BOOK-LAPLACE-BIT. Laplace noise of scale 1/x on a bit, cut at one half, is the channel of
   randomised response at epsilon' = ln(2 e^(x/2) - 1), and x/2 < epsilon' < x; with
   x = 2 ln((1 + e^epsilon) / 2) it is the one at epsilon, which loses exactly epsilon. *)
Definition laplace_bit_says (k : R) : Prop :=
  (forall x, 0 < x -> let e := ln (k * exp (x / 2) - 1) in x / 2 < e < x /\ forall a,
    cut x (exp (- (x / 2)) / 2) a /\ answer e a (negb a) = exp (- (x / 2)) / 2 /\
    answer e a a = 1 - exp (- (x / 2)) / 2) /\
  forall epsilon, 0 < epsilon -> let x := 2 * ln ((1 + exp epsilon) / 2) in
    0 < x /\ ln (k * exp (x / 2) - 1) = epsilon /\
    forall a, loses (answer epsilon a) (answer epsilon (negb a)) epsilon.
Theorem laplace_bit : laplace_bit_says 2.
Proof.
  split.
  - intros x pos e. pose proof (exp_increasing 0 (x / 2) ltac:(lra)) as more. rewrite exp_0 in more.
    assert (exp x = exp (x / 2) * exp (x / 2)) by (rewrite <- exp_plus; f_equal; lra). split.
    + split; apply exp_lt_inv; unfold e; rewrite exp_ln by lra; nra.
    + intros a. split; [apply cut_tail; assumption|]. unfold answer, e.
      rewrite exp_Ropp, exp_ln by lra. destruct a; simpl; split; field; lra.
  - intros e pos. cbv zeta. pose proof (exp_increasing 0 e pos) as more. rewrite exp_0 in more.
    pose proof (ln_increasing 1 ((1 + exp e) / 2) ltac:(lra) ltac:(lra)) as L. rewrite ln_1 in L.
    split; [lra|]. split; [|intros; apply answer_loses; lra].
    replace (2 * ln ((1 + exp e) / 2) / 2) with (ln ((1 + exp e) / 2)) by lra.
    rewrite exp_ln by lra. replace (2 * ((1 + exp e) / 2) - 1) with (exp e) by lra. apply ln_exp.
Qed.

Theorem laplace_bit_control : forall k, k <> 2 -> ~ laplace_bit_says k.
Proof.
  intros k other [H _]. destruct (H 1 ltac:(lra)) as [[low _] K]. destruct (K true) as [_ [E _]].
  pose proof (exp_pos (1 / 2)). rewrite exp_Ropp in E. unfold answer in E. simpl in E.
  destruct (Rlt_or_le 0 (k * exp (1 / 2) - 1)) as [pos|neg].
  - rewrite exp_ln in E by assumption. apply Rmult_eq_compat_r with
      (r := 2 * exp (1 / 2) * (k * exp (1 / 2) - 1 + 1)) in E. field_simplify in E; nra.
  - unfold ln in low. destruct (Rlt_dec 0 (k * exp (1 / 2) - 1)); lra.
Qed.

(* ------------------------------------------------------------------ Theorem 1 *)

(* A person answers a list qs of questions, pairs of items.  The questions are drawn by any law that
   does not look at the ranking (but may look at earlier reports): w is their chance, given the
   reports.  The answers are sent by a randomiser: randomised response, or Laplace noise on 0/1. *)
Definition truth (r : nat -> nat) (qs : list (nat * nat)) : list bool := map (before r) qs.
Definition protocol {O} (send : list bool -> O -> R) (w : list (nat * nat) -> O -> R)
  (r : nat -> nat) (report : list (nat * nat) * O) : R :=
  w (fst report) (snd report) * send (truth r (fst report)) (snd report).

Definition number (bs : list bool) (k : nat) : R := if nth k bs false then 1 else 0.
Definition noisy (each : R) (bs : list bool) : (nat -> R) -> R :=
  laplace (length bs) (1 / each) (number bs).

Lemma number_distance : forall u v, length u = length v ->
  l1 (length u) (number u) (number v) = INR (differences u v).
Proof.
  unfold l1, range_sum. induction u as [|a u IH]; intros [|b v] L; try discriminate; [reflexivity|].
  injection L as L. simpl length. simpl seq. rewrite <- seq_shift. simpl sum. rewrite sum_map.
  simpl differences. rewrite plus_INR, <- (IH v L). f_equal. unfold number. simpl.
  destruct a, b; simpl; unfold Rabs; destruct (Rcase_abs _); lra.
Qed.

Lemma noisy_loses : forall each u v, 0 < each -> length u = length v ->
  loses (noisy each u) (noisy each v) (INR (differences u v) * each).
Proof.
  intros each u v pos L. assert (0 < 1 / each) as bpos by (apply Rdiv_lt_0_compat; lra).
  pose proof (laplace_unit_positive _ bpos) as unit. unfold noisy. rewrite <- L.
  replace (INR (differences u v) * each) with (l1 (length u) (number u) (number v) / (1 / each))
    by (rewrite number_distance by assumption; field; lra). split.
  - intros o. apply vector_noise_private; assumption.
  - exists (number u). split; [|apply vector_noise_attained; assumption].
    apply Rmult_lt_0_compat; [apply pow_lt; assumption|apply exp_pos].
Qed.

(* The protocol is epsilon-private between any two rankings, and for each list of L questions a
   ranking and its reverse lose exactly epsilon. *)
Definition exactly_safe {O} (n L : nat) (epsilon : R) (send : list bool -> O -> R) : Prop :=
  (forall w, (forall qs o, 0 <= w qs o) -> (forall qs o, length qs <> L -> w qs o = 0) ->
    private any epsilon (protocol send w)) /\
  forall r qs, ranking n r -> length qs = L ->
    (forall i j, In (i, j) qs -> i < n /\ j < n /\ i <> j)%nat ->
    loses (send (truth r qs)) (send (truth (reverse n r) qs)) epsilon.

Lemma shares_add_up : forall O n L each (send : list bool -> O -> R), 0 < each ->
  (forall u o, 0 <= send u o) ->
  (forall u v, length u = length v -> loses (send u) (send v) (INR (differences u v) * each)) ->
  exactly_safe n L (INR L * each) send.
Proof.
  intros O n L each send pos spos bound. set (e := INR L * each).
  assert (forall r qs, length (truth r qs) = length qs) as size by (intros; apply map_length).
  split.
  - intros w wpos none r s [qs o] _. unfold protocol. simpl. specialize (wpos qs o).
    destruct (Nat.eq_dec (length qs) L) as [Q|Q]; [|rewrite none by assumption; lra].
    destruct (bound (truth r qs) (truth s qs)) as [B _]; [rewrite !size; reflexivity|].
    specialize (B o). specialize (spos (truth s qs) o).
    assert (exp (INR (differences (truth r qs) (truth s qs)) * each) <= exp e).
    { apply exp_le, Rmult_le_compat_r; [lra|]. apply le_INR. rewrite <- Q, <- (size r).
      apply differences_most. }
    assert (send (truth r qs) o <= exp e * send (truth s qs) o) by nra. nra.
  - intros r qs R Q questions. assert (truth (reverse n r) qs = map negb (truth r qs)) as ->.
    { unfold truth. rewrite map_map. apply map_ext_in. intros [i j] H.
      destruct (questions i j H) as [? [? ?]]. apply before_reverse; auto. }
    unfold e. rewrite <- Q, <- (size r), <- differences_negb. apply bound. rewrite map_length.
    reflexivity.
Qed.

(* CLAIM YLL-T1. L questions about n items, each answered at c epsilon / L: with c = 1 the whole
   report is [exactly_safe], by randomised response and with Laplace noise on the 0/1 answers. *)
Definition t1_says (c : R) : Prop := forall n L epsilon, (0 < L)%nat -> 0 < epsilon ->
  let each := c * epsilon / INR L in
  exactly_safe n L epsilon (answers each) /\ exactly_safe n L epsilon (noisy each).
Theorem t1 : t1_says 1.
Proof.
  intros n L e some pos. cbv zeta. rewrite Rmult_1_l. pose proof (lt_0_INR L some).
  assert (0 < e / INR L) as each by (apply Rdiv_lt_0_compat; lra).
  replace e with (INR L * (e / INR L)) at 1 3 by (field; lra). split; apply shares_add_up; auto.
  - intros; apply answers_nonneg.
  - intros; apply answers_loses; lra || assumption.
  - intros. apply Rmult_le_pos; [|left; apply exp_pos]. apply pow_le. left.
    apply laplace_unit_positive. apply Rdiv_lt_0_compat; lra.
  - intros; apply noisy_loses; assumption.
Qed.
(* With twice the share, or any other, the loss is another one. *)
Theorem t1_control : forall c, 0 < c -> c <> 1 -> ~ t1_says c.
Proof.
  intros c pos other H. assert (ranking 2 (fun i => i)) as R by (split; auto).
  assert (forall i j, In (i, j) [(0, 1)]%nat -> i < 2 /\ j < 2 /\ i <> j)%nat as Q
    by (intros i j [E|[]]; injection E; lia).
  destruct (H 2%nat 1%nat 1 ltac:(lia) ltac:(lra)) as [[_ K] _].
  destruct (t1 2%nat 1%nat c ltac:(lia) pos) as [[_ M] _].
  specialize (K _ [(0, 1)]%nat R eq_refl Q).
  specialize (M _ [(0, 1)]%nat R eq_refl Q).
  simpl INR in K, M. rewrite Rmult_1_l in M. rewrite Rmult_1_r in K.
  pose proof (loses_unique _ _ _ _ _ K M). lra.
Qed.
