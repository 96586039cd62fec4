(* The smallest noise of the perturbed maximum-likelihood estimator (CCW25, Algorithm 1) that serves
   for any number of items, with the logistic link and a ridge of at least the noise: data that lose
   as much as the bound in CCW25.v allows, in the limit.  What is not in it: see there. *)
Require Import Reals Lra Lia ZArith List Bool Permutation.
From Ranking Require Import Privacy Counts Determinant CCW25.
Import ListNotations.
Open Scope R_scope.

(* Edge neighbours: (0, 1) gives way to (2, 3), both complete upsets, as -T is far below T; and
   m other items of the strength of item 0 have beaten it, and m of that of item 1 lost to it, which
   gives the noise the signs for which both pulls count in full. *)
Section Worst.
Variables (m : nat) (gamma lambda T : R).
Hypothesis gamma_positive : 0 < gamma.
Hypothesis lambda_positive : 0 < lambda.
Hypothesis T_positive : 0 < T.
Hypothesis many : 2 * (gamma * T + 1) <= INR m.

Definition helpers : list game :=
  map (fun a => (a, 0%nat)) (seq 4 m) ++ map (fun b => (1%nat, b)) (seq (4 + m) m).
Definition strengths (i : nat) : R :=
  match i with
  | 0%nat | 2%nat => - T
  | 1%nat | 3%nat => T
  | _ => if Nat.ltb i (4 + m) then - T else T
  end.
Let n := (4 + (m + m))%nat.
Let x := (0, 1)%nat :: helpers.
Let y := (2, 3)%nat :: helpers.

Lemma worst_edge : edge n x y.
Proof.
  assert (map snd (map pair_of helpers) = seq 4 (m + m)) as E.
  { unfold helpers. rewrite !map_app, !map_map, seq_app.
    f_equal; rewrite (map_ext_in _ (fun a => a)); try apply map_id; intros a H; apply in_seq in H;
      unfold pair_of; simpl; [lia|]. destruct a; lia. }
  assert (forall g, (pair_of g = (0, 1) \/ pair_of g = (2, 3))%nat -> NoDup (map pair_of (g ::
    helpers))) as N.
  { intros g G. apply (NoDup_map_inv snd). cbn [map]. rewrite E. constructor; [|apply seq_NoDup].
    rewrite in_seq. destruct G as [-> | ->]; simpl; lia. }
  assert (Forall (valid n) helpers) as V.
  { apply Forall_forall. intros g H. apply in_app_or in H. rewrite !in_map_iff in H.
    destruct H as [[a [<- H]]|[a [<- H]]]; apply in_seq in H; unfold valid, n; simpl; lia. }
  repeat split; try (constructor; [unfold valid, n; simpl; lia|exact V]); try (apply N; auto).
  exists (0, 1)%nat, (2, 3)%nat, helpers. repeat split; auto. congruence. Qed.

Lemma helper_noise : forall i, (i < 4)%nat -> noise_of surprise gamma helpers strengths i
  = (if Nat.eqb 1 i then INR m / 2 else 0) - (if Nat.eqb 0 i then INR m / 2 else 0)
    - gamma * strengths i.
Proof.
  intros i I. assert (surprise 0 = / 2) as half by (unfold surprise; rewrite exp_0; f_equal; ring).
  unfold noise_of, total, helpers. f_equal. rewrite sum_app, !sum_map.
  rewrite (sum_ext_in _ (fun _ => - if Nat.eqb 0 i then / 2 else 0) (seq 4 m)).
  2: { intros a A. apply in_seq in A. destruct a as [|[|[|[|a]]]]; try lia. unfold gap, strengths.
    simpl fst. simpl snd. destruct (Nat.ltb_spec (S (S (S (S a)))) (4 + m)); [|lia].
    rewrite Rminus_diag_eq, half by ring. unfold arrow, won, swap. cbn [fst snd].
    destruct (Nat.eqb_spec (S (S (S (S a)))) i); [lia|]. destruct (Nat.eqb 0 i); ring. }
  rewrite (sum_ext_in _ (fun _ => if Nat.eqb 1 i then / 2 else 0) (seq (4 + m) m)).
  2: { intros a A. apply in_seq in A. destruct a as [|[|[|[|a]]]]; try lia. unfold gap, strengths.
    simpl fst. simpl snd. destruct (Nat.ltb_spec (S (S (S (S a)))) (4 + m)); [lia|].
    rewrite Rminus_diag_eq, half by ring. unfold arrow, won, swap. cbn [fst snd].
    destruct (Nat.eqb_spec (S (S (S (S a)))) i); [lia|]. destruct (Nat.eqb 1 i); ring. }
  rewrite !sum_const, !seq_length. destruct (Nat.eqb 1 i), (Nat.eqb 0 i); field. Qed.

Lemma worst_loss : forall epsilon, private (edge n) epsilon (mle n gamma lambda) ->
  exp (4 * surprise (- T - T) / lambda) <= exp epsilon * (1 + 2 * bend (- T - T) / gamma).
Proof.
  intros epsilon safe. specialize (safe x y strengths worst_edge). unfold mle, density in safe.
  assert (forall a, 0 <= bend a) as B by (intros; apply bend_bounds).
  assert (forall g, valid n g -> _) as one by (intros g V; exact (one_more bend n gamma
    gamma_positive B g helpers strengths V)).
  destruct (one (0, 1)%nat) as [low _]; [unfold valid, n; simpl; lia|].
  destruct (one (2, 3)%nat) as [_ high]; [unfold valid, n; simpl; lia|].
  change (gap strengths (2, 3)%nat) with (- T - T) in high. fold x in low. fold y in high.
  pose proof (det_hessian_positive bend n gamma gamma_positive B helpers strengths) as D.
  assert (size n (noise_of surprise gamma y strengths) = size n (noise_of surprise gamma x
    strengths)
    + 4 * surprise (- T - T)) as S.
  { pose proof (surprise_bounds (- T - T)).
    pose proof (Rmult_lt_0_compat _ _ gamma_positive T_positive).
    assert (forall g i, noise_of surprise gamma (g :: helpers) strengths i = noise_of surprise gamma
      helpers strengths i + surprise (gap strengths g) * arrow g i) as C by (intros; unfold
      noise_of, total; simpl; ring). unfold size, n. simpl plus. rewrite !range_sum_first.
    rewrite (range_sum_ext (m + m) (fun i => Rabs (noise_of surprise gamma y _ _)) (fun i => Rabs
      (noise_of surprise gamma x strengths (S (S (S (S i))))))).
    2: { intros. unfold x, y. rewrite !C. unfold arrow, won, swap. simpl. reflexivity. }
    unfold x, y. rewrite !C, !helper_noise by lia. unfold arrow, won, swap, gap. simpl.
    rewrite !(Rabs_left1 (0 - INR m / 2 - _ + _)), !(Rabs_pos_eq (INR m / 2 - 0 - _ + _)) by lra.
    rewrite !(Rabs_pos_eq (0 - 0 - gamma * - T + _)), !(Rabs_left1 (0 - 0 - gamma * T + _)) by lra.
    ring. }
  rewrite S in safe. set (sx := size n _) in *. set (k := 1 + _) in *. set (s := surprise _) in *.
  assert (0 < laplace_unit lambda ^ n) as U by (apply pow_lt, laplace_unit_positive,
    lambda_positive). set (d := det n (hessian bend gamma helpers strengths)) in *.
  set (u := _ ^ n) in *. clearbody u d. pose proof (exp_pos (- sx / lambda)) as P.
  pose proof (exp_pos epsilon) as Q. pose proof (exp_pos (- (sx + 4 * s) / lambda)) as O.
  apply Rmult_le_reg_r with (u * exp (- (sx + 4 * s) / lambda) * d); [repeat apply
    Rmult_lt_0_compat; assumption|]. replace (exp (4 * s / lambda) * (u * exp (- (sx + 4 * s) /
    lambda) * d)) with (u * exp (- sx / lambda) * d).
  - apply Rle_trans with (1 := Rmult_le_compat_l (u * exp (- sx / lambda)) _ _ ltac:(left; apply
      Rmult_lt_0_compat; assumption) low). apply Rle_trans with (1 := safe).
    replace (exp epsilon * k * (u * exp (- (sx + 4 * s) / lambda) * d)) with (exp epsilon * (u * exp
      (- (sx + 4 * s) / lambda) * (d * k))) by ring. apply Rmult_le_compat_l; [lra|].
    apply Rmult_le_compat_l; [nra|]. exact high.
  - replace (- sx / lambda) with (4 * s / lambda + - (sx + 4 * s) / lambda) by (field; lra).
    rewrite exp_plus. ring. Qed.

End Worst.

Lemma limit_le : forall a b c, 0 <= c -> (forall d, 0 < d < 1 -> a <= b + c * d) -> a <= b.
Proof.
  intros a b c pos H. destruct (Rle_or_lt a b) as [|L]; [assumption|]. exfalso.
  set (d := Rmin (1 / 2) ((a - b) / (2 * (c + 1)))).
  assert (d <= (a - b) / (2 * (c + 1))) as E by apply Rmin_r. assert (d <= 1 / 2) by apply Rmin_l.
  assert (0 < d) by (apply Rmin_pos; [lra|apply Rdiv_lt_0_compat; lra]).
  specialize (H d ltac:(lra)). apply Rmult_le_compat_r with (r := 2 * (c + 1)) in E; [|lra].
  unfold Rdiv in E. rewrite Rmult_assoc, Rinv_l in E by lra. nra. Qed.

Lemma exchange_needs : forall gamma lambda epsilon, 0 < gamma -> 0 < lambda ->
  (forall n, private (edge n) epsilon (mle n gamma lambda)) -> 4 / lambda <= epsilon.
Proof.
  intros gamma lambda epsilon gpos lpos safe. pose proof (Rinv_0_lt_compat _ gpos).
  pose proof (Rinv_0_lt_compat _ lpos). apply limit_le with (4 / lambda + 2 / gamma); [unfold Rdiv;
    lra|]. intros d D. set (T := - ln d / 2).
  assert (0 < T) as pos by (pose proof (ln_increasing d 1 ltac:(lra) ltac:(lra)) as L; rewrite ln_1
    in L; unfold T; lra). destruct (archimed (2 * (gamma * T + 1))) as [M _].
  assert (2 * (gamma * T + 1) <= INR (Z.to_nat (Rdefinitions.up (2 * (gamma * T + 1))))) as many.
  { rewrite INR_IZR_INZ, Z2Nat.id; [lra|]. apply le_IZR.
    pose proof (Rmult_lt_0_compat _ _ gpos pos). lra. }
  pose proof (worst_loss _ gamma lambda T gpos lpos pos many epsilon (safe _)) as W.
  pose proof (surprise_bounds (- T - T)) as B. assert (1 - surprise (- T - T) <= d) as S.
  { replace d with (exp (- T - T)) by (replace (- T - T) with (ln d) by (unfold T; field); apply
      exp_ln; lra). unfold surprise in *. pose proof (exp_pos (- T - T)).
    set (e := exp (- T - T)) in *. replace (1 - / (1 + e)) with (e * / (1 + e)) by (field; lra).
    nra. }
  assert (1 + 2 * bend (- T - T) / gamma <= exp (2 * d / gamma)) as C.
  { apply Rle_trans with (2 := exp_line _). assert (bend (- T - T) <= d) by (unfold bend; nra).
    unfold Rdiv. nra. }
  apply Rmult_le_compat_l with (r := exp epsilon) in C; [|left; apply exp_pos].
  rewrite <- exp_plus in C. destruct (Rle_or_lt (4 * surprise (- T - T) / lambda) (epsilon + 2 * d /
    gamma)) as [L|L]; [unfold Rdiv in *; nra|apply exp_increasing in L; lra]. Qed.

(* CLAIM BOOK-MLE-TIGHT, with c = 4.  For every n and ridge a flip loses (c/2)/lambda, exactly, and
   an exchange at most the bound of [mle_tight_says].  With a ridge of at least the noise the loss
   of edge neighbours is c/lambda, exactly, as a supremum over n: c/epsilon is the smallest scale
   for all n. *)
Definition tight_says (c : R) : Prop := mle_tight_says (c / 2) /\
  forall gamma lambda epsilon, 0 < lambda -> lambda <= gamma ->
  ((forall n, private (edge n) epsilon (mle n gamma lambda)) <-> c / lambda <= epsilon).

Theorem tight : tight_says 4.
Proof.
  split; [replace (4 / 2) with 2 by field; apply mle_tight|].
  intros gamma lambda epsilon lpos more. split; [apply exchange_needs; lra|]. intros enough n.
  destruct n as [|[|n]].
  - intros x y theta close. destruct (edge_games _ _ _ close) as [g [_ [_ [[V _] _]]]]. lia.
  - intros x y theta close. destruct (edge_games _ _ _ close) as [g [_ [_ [[V [W U]] _]]]]. lia.
  - destruct (mle_tight (S (S n)) gamma lambda epsilon) as [_ [_ K]]; try lia; try lra.
    apply K; [assumption|]. replace (2 * 2) with 4 by ring. assumption. Qed.

Theorem tight_control : forall c, c <> 4 -> ~ tight_says c.
Proof.
  intros c ne [_ H]. apply ne. assert (c / 1 = 4 / 1); [|lra]. apply same_threshold. intros e.
  destruct tight as [_ T]. rewrite <- (H 1 1 e), <- (T 1 1 e) by lra. reflexivity. Qed.
