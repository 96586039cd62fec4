(* Exact samplers in whole numbers (Canonne, Kamath, Steinke 2020, Algorithms 1 and 2), as dpbook
   has them in mechanisms/noise.py: Bernoulli(exp(-x)), a geometric number, discrete Laplace noise.

   A sampler is a tree of draws, possibly infinite: at each node a uniform whole number below m.
   [within n] is what it yields in at most n draws, and every theorem is about the limit for n to
   infinity: the chance of each outcome, and that the sampler ends with chance 1.

   Not in it: uniform whole numbers from random bits, that several numbers are independent (the code
   draws many at once), whole numbers that overflow, the time it takes; other samplers (ratios above
   1, discrete Gaussian, K-norm noise). *)
Require Import Reals Lra Lia List Bool ZArith.
From Ranking Require Import Privacy.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ limits *)

Lemma cv_ext : forall u v l, (forall n, u n = v n) -> Un_cv u l -> Un_cv v l.
Proof.
  intros u v l E H e pos. destruct (H e pos) as [N K]. exists N. intros. rewrite <- E. auto.
Qed.
Lemma cv_const : forall c, Un_cv (fun _ => c) c.
Proof. intros c e pos. exists 0%nat. intros. rewrite R_dist_eq. assumption. Qed.
Lemma cv_le : forall u v p q, (forall n, u n <= v n) -> Un_cv u p -> Un_cv v q -> p <= q.
Proof. intros u v p q. apply Rle_cv_lim. Qed.
Lemma cv_scale : forall c u l, Un_cv u l -> Un_cv (fun n => c * u n) (c * l).
Proof. intros. apply CV_mult; [apply cv_const|assumption]. Qed.
Lemma cv_squeeze : forall u v l, (forall n, Rabs (u n - l) <= v n) -> Un_cv v 0 -> Un_cv u l.
Proof.
  intros u v l H K e pos. destruct (K e pos) as [N L]. exists N. intros n le. specialize (L n le).
  unfold R_dist in *. specialize (H n). rewrite Rminus_0_r in L. pose proof (Rle_abs (v n)). lra.
Qed.
Lemma cv_pow : forall q, 0 <= q < 1 -> Un_cv (fun n => q ^ n) 0.
Proof.
  intros q H e pos. destruct (pow_lt_1_zero q ltac:(rewrite Rabs_right; lra) e pos) as [N K].
  exists N. intros. unfold R_dist. rewrite Rminus_0_r. auto.
Qed.
Lemma exp_below_1 : forall x, 0 < x -> 0 < exp (- x) < 1.
Proof. intros. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing. lra. Qed.
Lemma exp_pow : forall x n, exp (- x) ^ n = exp (- (INR n * x)).
Proof.
  intros x n. induction n as [|n IH]; [simpl; rewrite Rmult_0_l, Ropp_0, exp_0; reflexivity|].
  rewrite S_INR. simpl. rewrite IH, <- exp_plus. f_equal. ring.
Qed.

(* ------------------------------------------------------------------ trees of draws *)

CoInductive tree (A : Type) : Type :=
  | Return (a : A)
  | Draw (m : nat) (next : nat -> tree A).
Arguments Return {A} a.
Arguments Draw {A} m next.

(* First this tree, then the one that its outcome chooses. *)
CoFixpoint bind {A B} (t : tree A) (f : A -> tree B) : tree B :=
  match t with
  | Return a => f a
  | Draw m next => Draw m (fun i => bind (next i) f)
  end.

(* Round after round, until the body gives an outcome (inr) and not a new state (inl).  A draw of
   one number only, which costs nothing, marks the end of a round. *)
CoFixpoint rounds {S A} (body : S -> tree (S + A)) (t : tree (S + A)) : tree A :=
  match t with
  | Return (inl s) => Draw 1 (fun _ => rounds body (body s))
  | Return (inr a) => Return a
  | Draw m next => Draw m (fun i => rounds body (next i))
  end.
Definition loop {S A} (body : S -> tree (S + A)) (s : S) : tree A := rounds body (body s).

(* The mean of h over the outcomes that are reached in at most n draws, 0 where none is; what the
   tree yields in the end; the chance of an event; and that it ends at all. *)
Definition average (m : nat) (f : nat -> R) : R := range_sum m f / INR m.
Fixpoint within {A} (n : nat) (t : tree A) (h : A -> R) : R :=
  match t with
  | Return a => h a
  | Draw m next => match n with O => 0 | S k => average m (fun i => within k (next i) h) end
  end.
Definition mean {A} (t : tree A) (h : A -> R) (p : R) : Prop := Un_cv (fun n => within n t h) p.
Definition event {A} (b : A -> bool) (a : A) : R := if b a then 1 else 0.
Definition chance {A} (t : tree A) (b : A -> bool) (p : R) : Prop := mean t (event b) p.
Definition ends {A} (t : tree A) : Prop := mean t (fun _ => 1) 1.

Lemma average_ext : forall m f g, (forall i, (i < m)%nat -> f i = g i) -> average m f = average m g.
Proof.
  intros m f g H. unfold average. f_equal. apply sum_ext_in. intros. apply H, range_in.
  assumption.
Qed.
Lemma average_le : forall m f g, (forall i, f i <= g i) -> average m f <= average m g.
Proof.
  intros [|m] f g H; unfold average; [unfold range_sum; simpl; lra|].
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, lt_0_INR; lia|apply sum_le, H].
Qed.
Lemma average_const : forall m c, (0 < m)%nat -> average m (fun _ => c) = c.
Proof.
  intros. unfold average, range_sum. rewrite sum_const, seq_length. field. apply not_0_INR. lia.
Qed.
Lemma average_linear : forall m f g a b,
  average m (fun i => a * f i + b * g i) = a * average m f + b * average m g.
Proof. intros. unfold average, range_sum, Rdiv. rewrite sum_plus, !sum_scale. ring. Qed.

Definition unital {A} (h : A -> R) : Prop := forall a, 0 <= h a <= 1.

Lemma average_unital : forall m f, (forall i, 0 <= f i <= 1) -> 0 <= average m f <= 1.
Proof.
  intros [|m] f H; [unfold average, range_sum; simpl; lra|].
  pose proof (average_le (S m) (fun _ => 0) f). pose proof (average_le (S m) f (fun _ => 1)).
  rewrite average_const in * by lia. split; [apply H0|apply H1]; apply H.
Qed.
Lemma event_unital : forall A (b : A -> bool), unital (event b).
Proof. intros A b a. unfold event. destruct (b a); lra. Qed.

Section Means.
Context {A : Type}.
Implicit Types (t : tree A) (h : A -> R).

Lemma within_unital : forall h, unital h -> forall n t, 0 <= within n t h <= 1.
Proof.
  intros h H. induction n as [|n IH]; intros [a|m next]; simpl; try apply H; [lra|].
  apply average_unital. intros. apply IH.
Qed.
Lemma within_grows : forall h, unital h -> forall t, Un_growing (fun n => within n t h).
Proof.
  intros h H t n. revert t. induction n as [|n IH]; intros [a|m next]; simpl; try lra.
  - apply average_unital. intros. apply (within_unital h H 0).
  - apply average_le. intros. apply IH.
Qed.
Lemma limit_exists : forall h, unital h -> forall t, {p | mean t h p}.
Proof.
  intros h H t. apply growing_cv; [apply within_grows, H|].
  exists 1. intros r [n ->]. apply within_unital, H.
Qed.
Lemma mean_above : forall h t p n, unital h -> mean t h p -> within n t h <= p.
Proof. intros h t p n H K. exact (growing_ineq _ _ (within_grows h H t) K n). Qed.
Lemma mean_unital : forall h t p, unital h -> mean t h p -> 0 <= p <= 1.
Proof.
  intros h t p H K. pose proof (within_unital h H).
  split; [eapply cv_le; [|apply cv_const|exact K]|eapply cv_le; [|exact K|apply cv_const]];
    intros; apply H0.
Qed.
Lemma mean_unique : forall h t p q, mean t h p -> mean t h q -> p = q.
Proof. intros h t p q. apply UL_sequence. Qed.
Lemma mean_return : forall h a p, h a = p -> mean (Return a) h p.
Proof. intros h a p <-. apply cv_ext with (2 := cv_const (h a)). intros []; reflexivity. Qed.
Lemma mean_draw : forall h m next p, (forall i, (i < m)%nat -> mean (next i) h (p i)) ->
  mean (Draw m next) h (average m p).
Proof.
  intros h m next p H. apply (CV_shift _ 1). apply cv_ext with (fun n => / INR m
    * sum (fun i => within n (next i) h) (seq 0 m)).
  - intros n. rewrite Nat.add_1_r. apply Rmult_comm.
  - replace (average m p) with (/ INR m * sum p (seq 0 m)) by apply Rmult_comm. apply cv_scale.
    assert (forall i, In i (seq 0 m) -> mean (next i) h (p i)) as K
      by (intros i I; apply in_seq in I; apply H; lia). clear H.
    induction (seq 0 m) as [|i l IH]; simpl in *; [apply cv_const|].
    apply CV_plus; [apply K|apply IH]; auto.
Qed.
Lemma mean_ext : forall h g t p, (forall a, h a = g a) -> mean t h p -> mean t g p.
Proof.
  intros h g t p E. apply cv_ext. intros n. revert t. induction n as [|n IH]; intros [a|m next];
    simpl; auto. apply average_ext. auto.
Qed.
Lemma mean_linear : forall h g a b t p q, mean t h p -> mean t g q ->
  mean t (fun x => a * h x + b * g x) (a * p + b * q).
Proof.
  intros h g a b t p q H K.
  apply cv_ext with (2 := CV_plus _ _ _ _ (cv_scale a _ _ H) (cv_scale b _ _ K)).
  clear. intros n. revert t. induction n as [|n IH]; intros [x|m next]; simpl; try lra.
  rewrite <- average_linear. apply average_ext. auto.
Qed.

(* The means of a loop in all of its states, also where nothing is known of them yet. *)
Lemma means_exist : forall S h, unital h -> forall t : S -> tree A,
  exists e, (forall s, mean (t s) h (e s)) /\ forall s, 0 <= e s <= 1.
Proof.
  intros S h H t. exists (fun s => proj1_sig (limit_exists h H (t s))).
  split; intros s; destruct (limit_exists h H (t s)) as [p P]; simpl; [|apply mean_unital in P];
    assumption.
Qed.

End Means.

(* THE LAW OF BIND: the second tree is weighed by its means, e. *)
Theorem mean_bind : forall A B (t : tree A) (f : A -> tree B) h e p, unital h ->
  (forall a, mean (f a) h (e a)) -> mean t e p -> mean (bind t f) h p.
Proof.
  intros A B t f h e p H E T. destruct (limit_exists h H (bind t f)) as [q Q]. assert (forall n a,
    within n (bind (Return a) f) h = within n (f a) h) as here by (intros [|n] a; reflexivity).
  enough (p = q) as -> by exact Q. apply Rle_antisym.
  - refine (cv_le _ _ _ _ _ T (cv_const q)). intros n. clear p T. revert t q Q.
    induction n as [|n IH]; intros [a|m next] q Q; simpl.
    1, 3: right; apply (mean_unique h (f a)); [apply E|exact (cv_ext _ _ _ (fun n => here n a) Q)].
    + apply (mean_unital h _ q H Q).
    + destruct (means_exist _ h H (fun i => bind (next i) f)) as (each & K & _).
      assert (q = average m each) as ->.
      { apply (mean_unique h (Draw m (fun i => bind (next i) f))); [|apply mean_draw; auto].
        apply cv_ext with (2 := Q). intros [|k]; reflexivity. }
      apply average_le. intros i. apply (IH _ _ (K i)).
  - refine (cv_le _ _ _ _ _ Q T). intros n. clear Q T. revert t. induction n as [|n IH];
    intros [a|m next]; try (rewrite here; apply (mean_above h (f a) (e a)); auto; fail).
    + simpl. lra.
    + apply average_le. intros. apply IH.
Qed.

(* THE LAW OF LOOP: e is the mean of the loop in each of its states. *)
Theorem mean_loop : forall S A (body : S -> tree (S + A)) h e s p, unital h ->
  (forall s, mean (loop body s) h (e s)) ->
  mean (body s) (fun r => match r with inl s' => e s' | inr a => h a end) p ->
  mean (loop body s) h p.
Proof.
  intros S A body h e s p H E T. pose (f := fun r : S + A => match r with inl s' => Draw 1 (fun _ =>
    loop body s') | inr a => Return a end). assert (mean (bind (body s) f) h p) as K.
  { apply mean_bind with (3 := T); auto. intros [s'|a]; simpl; [|apply mean_return; reflexivity].
    rewrite <- (average_const 1 (e s')) by lia. apply mean_draw. auto. }
  apply cv_ext with (2 := K). intros n. unfold loop. generalize (body s) as t.
  induction n as [|n IH]; intros [[s'|a]|m next]; try reflexivity. simpl. apply average_ext. auto.
Qed.

(* A coin that shows true with chance q, and ends. *)
Definition coin (t : tree bool) (q : R) : Prop :=
  forall h, unital h -> mean t h (q * h true + (1 - q) * h false).

(* ------------------------------------------------------------------ Bernoulli(exp(-x)) *)

(* For x = a / d: a number below d k is drawn, for k = 1, 2, ..., until it is not below a; true if
   that k is odd (`bernoulli_exp`). *)
Definition bernoulli_round (a d k : nat) : tree (nat + bool) :=
  Draw (d * k) (fun u => Return (if (u <? a)%nat then inl (S k) else inr (Nat.odd k))).
Definition bernoulli_exp (a d : nat) : tree bool := loop (bernoulli_round a d) 1%nat.

Section BernoulliExp.
Variables a d : nat.
Hypothesis d_positive : (0 < d)%nat.
Hypothesis at_most_1 : (a <= d)%nat.
Let x := INR a / INR d.

Lemma ratio_nonneg : 0 <= x.
Proof.
  apply Rmult_le_pos; [apply pos_INR|]. left. apply Rinv_0_lt_compat, lt_0_INR, d_positive.
Qed.

(* The draws below a, and the others. *)
Lemma average_cut : forall m u v, (a <= m)%nat -> (0 < m)%nat ->
  average m (fun i => if (i <? a)%nat then u else v) = INR a / INR m * u + (1 - INR a / INR m) * v.
Proof.
  intros m u v le pos. assert (INR m <> 0) as M by (apply not_0_INR; lia). unfold average.
  enough (forall j, range_sum j (fun i => if (i <? a)%nat then u else v)
    = INR (Nat.min j a) * u + INR (j - a) * v) as ->.
  { rewrite Nat.min_r, minus_INR by lia. field. assumption. }
  induction j as [|j IH]; [unfold range_sum; simpl; ring|]. rewrite range_sum_S, IH.
  destruct (Nat.ltb_spec j a).
  - rewrite !Nat.min_l, S_INR by lia. replace (S j - a)%nat with (j - a)%nat by lia. ring.
  - rewrite !Nat.min_r by lia. replace (S j - a)%nat with (S (j - a)) by lia. rewrite S_INR. ring.
Qed.

(* What the loop does at k, with the mean e k. *)
Lemma bernoulli_step : forall h e, unital h ->
  (forall k, mean (loop (bernoulli_round a d) k) h (e k)) ->
  forall k, e (S k) = x / INR (S k) * e (S (S k)) + (1 - x / INR (S k)) * h (Nat.odd (S k)).
Proof.
  intros h e H E k. apply (mean_unique h (loop (bernoulli_round a d) (S k))); [apply E|].
  apply mean_loop with (e := e); [assumption|assumption|].
  replace (x / INR (S k)) with (INR a / INR (d * S k))
    by (unfold x; rewrite mult_INR; field; split; apply not_0_INR; lia).
  rewrite <- average_cut by nia. apply mean_draw. intros u _.
  destruct (u <? a)%nat; apply mean_return; reflexivity.
Qed.

(* exp(-x) is an alternating series; the mean of the loop is the same one, up to each term. *)
Theorem bernoulli_exp_law : coin (bernoulli_exp a d) (exp (- x)).
Proof.
  intros h H. destruct (means_exist _ h H (loop (bernoulli_round a d))) as (e & E & bounds).
  pose (D := h true - h false).
  pose (r := fun k => if Nat.even k then e (S k) - h false else h true - e (S k)).
  assert (forall k, r k = D - x / INR (S k) * r (S k)) as step.
  { intros k. unfold r, D. rewrite (bernoulli_step h e H E k), Nat.odd_succ, Nat.even_succ,
      <- Nat.negb_even. destruct (Nat.even k); simpl; ring. }
  assert (forall k, r 0%nat = D * sum_f_R0 (fun k => / INR (fact k) * (- x) ^ k) k
    + / INR (fact (S k)) * (- x) ^ S k * r (S k)) as partial.
  { induction k as [|k IH]; [rewrite step; simpl; field|]. rewrite tech5, IH, step.
    change (fact (S (S k))) with (S (S k) * fact (S k))%nat. rewrite mult_INR, <- !tech_pow_Rmult.
    field. split; apply not_0_INR; [apply (fact_neq_0 (S k))|lia]. }
  replace (_ + _) with (e 1%nat); [apply E|]. enough (r 0%nat = D * exp (- x)) as K
    by (unfold r, D in K; simpl in K; lra). unfold exp. destruct (exist_exp (- x)) as [l L].
  refine (UL_sequence _ _ _ _ (cv_scale D _ _ L)).
  apply cv_squeeze with (fun k => x ^ S k / INR (fact (S k))).
  2: { apply cv_ext with (2 := CV_shift' _ 1 _ (cv_speed_pow_fact x)). intros.
       rewrite Nat.add_1_r. reflexivity. }
  intros k. rewrite (partial k), <- Rabs_Ropp. set (s := sum_f_R0 _ k). generalize (S k) as j.
  clear - H bounds d_positive. intros j.
  replace (- (D * s - _)) with (/ INR (fact j) * (- x) ^ j * r j) by ring.
  assert (Rabs (r j) <= 1) as R.
  { specialize (bounds (S j)). pose proof (H true). pose proof (H false). unfold r.
    apply Rabs_le. destruct (Nat.even j); lra. }
  pose proof (Rinv_0_lt_compat _ (INR_fact_lt_0 j)). pose proof (pow_le x j ratio_nonneg).
  rewrite !Rabs_mult, <- RPow_abs, Rabs_Ropp, (Rabs_right x), (Rabs_right (/ _))
    by (try apply Rle_ge, ratio_nonneg; lra). unfold Rdiv. rewrite (Rmult_comm (x ^ j)).
  rewrite <- (Rmult_1_r (/ _ * x ^ j)) at 2. apply Rmult_le_compat_l; [nra|exact R].
Qed.

End BernoulliExp.

(* ------------------------------------------------------------------ a geometric number *)

(* The number of successes before the first failure (`geometric_exp`). *)
Definition geometric_round (toss : tree bool) (c : nat) : tree (nat + nat) :=
  bind toss (fun b => Return (if b then inl (S c) else inr c)).
Definition geometric (toss : tree bool) : tree nat := loop (geometric_round toss) 0%nat.

(* At least k successes have the chance q^k; for k = 0 this says that it ends. *)
Theorem geometric_law : forall toss q k, 0 <= q < 1 -> coin toss q ->
  chance (geometric toss) (fun v => (k <=? v)%nat) (q ^ k).
Proof.
  intros toss q k bounds law. set (h := event (fun v => (k <=? v)%nat)).
  pose (H := event_unital _ (fun v => (k <=? v)%nat) : unital h).
  destruct (means_exist _ h H (loop (geometric_round toss))) as (e & E & small).
  assert (forall c, e c = q * e (S c) + (1 - q) * h c) as step.
  { intros c. apply (mean_unique h (loop (geometric_round toss) c)); [apply E|].
    apply mean_loop with (e := e); [assumption|assumption|].
    pose (g := fun b : bool => if b then e (S c) else h c).
    apply mean_bind with (e := g); [intros [s|v]; [apply small|apply H]| |
      apply (law g); intros []; [apply small|apply H]].
    intros []; apply mean_return; reflexivity. }
  assert (forall c, (k <= c)%nat -> e c = 1) as sure.
  { intros c le. enough (1 - e c = 0) by lra.
    refine (UL_sequence (fun _ => 1 - e c) _ _ (cv_const _) _).
    apply cv_squeeze with (2 := cv_pow q bounds). intros n.
    replace (1 - e c - 0) with (q ^ n * (1 - e (c + n)%nat)).
    - pose proof (pow_le q n (proj1 bounds)). specialize (small (c + n)%nat).
      rewrite Rabs_right; nra.
    - induction n as [|n IH]; [rewrite Nat.add_0_r; simpl; ring|].
      rewrite <- IH, (step (c + n)%nat).
      unfold h, event. replace (k <=? c + n)%nat with true by (symmetry; apply Nat.leb_le; lia).
      rewrite Nat.add_succ_r. simpl. ring. }
  enough (forall j, (j <= k)%nat -> e 0%nat = q ^ j * e j) as all.
  { specialize (all k (le_n k)). rewrite (sure k (le_n k)), Rmult_1_r in all.
    rewrite <- all. apply E. }
  induction j as [|j IH]; intros le; [simpl; ring|]. rewrite IH, (step j) by lia. unfold h, event.
  replace (k <=? j)%nat with false by (symmetry; apply Nat.leb_gt; lia). simpl. ring.
Qed.

(* Coins of chance exp(-1), and what they count. *)
Definition waits : tree nat := geometric (bernoulli_exp 1 1).

Lemma waits_law : forall k, mean waits (event (fun v => (k <=? v)%nat)) (exp (-1) ^ k).
Proof.
  intros k. apply geometric_law; [pose proof (exp_below_1 1 Rlt_0_1 : 0 < exp (-1) < 1); lra|].
  replace (-1) with (- (INR 1 / INR 1)) by (simpl; field). apply bernoulli_exp_law; lia.
Qed.

(* ------------------------------------------------------------------ discrete Laplace noise *)

(* A round for the scale t / s (`discrete_laplace_noise`): u below t, kept with chance exp(-u/t), v
   successes of chance exp(-1), and a sign.  Zero would be counted twice: minus zero is redrawn. *)
Definition laplace_rest (t s u : nat) (accepted : bool) : tree (unit + Z) :=
  bind waits (fun v => Draw 2 (fun sign =>
    let magnitude := ((u + t * v) / s)%nat in
    let negative := (sign =? 1)%nat in
    Return (if accepted && negb (negative && (magnitude =? 0)%nat)
            then inr (if negative then - Z.of_nat magnitude else Z.of_nat magnitude)%Z
            else inl tt))).
Definition laplace_round (t s : nat) (_ : unit) : tree (unit + Z) :=
  Draw t (fun u => bind (bernoulli_exp u t) (laplace_rest t s u)).
Definition laplace_draw (t s : nat) : tree Z := loop (laplace_round t s) tt.

Section DiscreteLaplace.
Variables t s : nat.
Hypothesis t_positive : (0 < t)%nat.
Hypothesis s_positive : (0 < s)%nat.

Let w := exp (- / INR t).                  (* one step of u *)
Let E := exp (- (INR s / INR t)).          (* one step of the magnitude *)
Let kept := average t (fun u => w ^ u).    (* the chance that u is accepted *)

Lemma t_real : 0 < INR t. Proof. apply lt_0_INR, t_positive. Qed.
Lemma steps : 0 < w < 1 /\ 0 < E < 1 /\ w ^ t = exp (-1) /\ w ^ s = E.
Proof.
  pose proof t_real. pose proof (lt_0_INR s s_positive). unfold w, E. rewrite !exp_pow.
  split; [|split]; try (apply exp_below_1; (apply Rinv_0_lt_compat || apply Rdiv_lt_0_compat); lra).
  split; f_equal. field. lra.
Qed.

(* The numbers u + t v are at least k = t j + i if v is at least j, or j + 1 for u < i: with chance
   w^k times what k = 0 has. *)
Definition enough_waits (k u : nat) : nat := (if u <? k mod t then S (k / t) else k / t)%nat.

Lemma enough_waits_ok : forall k u v, (u < t)%nat ->
  (k <=? u + t * v)%nat = (enough_waits k u <=? v)%nat.
Proof.
  intros k u v H. unfold enough_waits. pose proof (Nat.div_mod k t ltac:(lia)) as D.
  pose proof (Nat.mod_upper_bound k t ltac:(lia)) as B. set (j := (k / t)%nat) in *.
  set (i := (k mod t)%nat) in *. apply Bool.eq_true_iff_eq. rewrite !Nat.leb_le.
  destruct (Nat.ltb_spec u i); split; nia.
Qed.
Lemma tail_sum : forall k, average t (fun u => w ^ u * exp (-1) ^ enough_waits k u) = kept * w ^ k.
Proof.
  intros k. destruct steps as (W & _ & T & _). pose proof t_real. rewrite <- T.
  unfold kept, average.
  enough (range_sum t (fun u => w ^ u * (w ^ t) ^ enough_waits k u)
    = range_sum t (fun u => w ^ u) * w ^ k) as -> by (unfold Rdiv; ring).
  replace (w ^ k) with (w ^ (t * (k / t) + k mod t))
    by (rewrite <- Nat.div_mod by lia; reflexivity).
  rewrite pow_add, pow_mult. unfold enough_waits.
  pose proof (Nat.mod_upper_bound k t ltac:(lia)) as B. set (j := (k / t)%nat).
  set (i := (k mod t)%nat) in *. apply Rmult_eq_reg_l with (1 - w); [|lra].
  assert (forall n, (1 - w) * range_sum n (fun u => w ^ u) = 1 - w ^ n) as plain.
  { induction n; [unfold range_sum; simpl; ring|]. rewrite range_sum_S, Rmult_plus_distr_l, IHn.
    simpl. ring. }
  assert (forall n, (1 - w)
    * range_sum n (fun u => w ^ u * (w ^ t) ^ (if u <? i then S j else j)%nat)
    = (w ^ t) ^ j * (w ^ t * (1 - w ^ Nat.min n i) + w ^ Nat.min n i - w ^ n)) as cut.
  { induction n as [|n IH]; [unfold range_sum; simpl; ring|].
    rewrite range_sum_S, Rmult_plus_distr_l, IH. destruct (Nat.ltb_spec n i).
    - rewrite !Nat.min_l by lia. simpl. ring.
    - rewrite !Nat.min_r by lia. simpl. ring. }
  rewrite cut, <- Rmult_assoc, plain, Nat.min_r by lia. ring.
Qed.
Lemma single : forall m k, (if (m =? k)%nat then 1 else 0)
  = (if (k <=? m)%nat then 1 else 0) - (if (S k <=? m)%nat then 1 else 0).
Proof.
  intros. destruct (Nat.eqb_spec m k), (Nat.leb_spec k m), (Nat.leb_spec (S k) m); lia || lra.
Qed.

(* The mean c of the whole, if its h weighs the magnitude m by a [m = k] + b [m = 0] + g; each round
   that gives nothing counts c. *)
Lemma laplace_mean : forall h c a k b g, unital h -> mean (laplace_draw t s) h c ->
  (forall m, (h (Z.of_nat m) + (if (m =? 0)%nat then c else h (- Z.of_nat m)%Z)) / 2
    = a * (if (m =? k)%nat then 1 else 0) + b * (if (m =? 0)%nat then 1 else 0) + g) ->
  c = a * (E ^ k * (1 - E)) + b * (1 - E) + g.
Proof.
  intros h c a k b g H M shape. destruct steps as (W & EE & T & P). pose proof t_real as T0.
  assert (0 < kept) as K.
  { unfold kept, average. apply Rdiv_lt_0_compat; [|exact T0]. apply sum_positive.
    - destruct t; [lia|discriminate].
    - intros. apply pow_lt. lra. }
  pose (q := fun m u => exp (-1) ^ enough_waits (s * m) u).
  pose (phi := fun u => a * (q k u - q (S k) u) + b * (q 0%nat u - q 1%nat u) + g).
  pose (next := fun r : unit + Z => match r with inl _ => c | inr z => h z end).
  assert (unital next) as U by (intros [r|z]; [apply (mean_unital _ _ _ H M)|apply H]).
  assert (forall u, (u < t)%nat -> forall accepted : bool,
    mean (laplace_rest t s u accepted) next (if accepted then phi u else c)) as rest.
  { intros u less accepted. pose (m := fun v => ((u + t * v) / s)%nat).
    pose (at_least := fun j v => event (fun v => (enough_waits (s * j) u <=? v)%nat) v).
    apply mean_bind with (e := fun v => if accepted : bool
      then a * (at_least k v - at_least (S k) v)
        + b * (at_least 0%nat v - at_least 1%nat v) + g * 1 else c * 1); [exact U| |].
    - intros v. replace (if accepted then _ else _) with (average 2 (fun sign => next
        (if accepted && negb ((sign =? 1)%nat && (m v =? 0)%nat)
         then inr (if (sign =? 1)%nat then - Z.of_nat (m v) else Z.of_nat (m v))%Z
         else inl tt))).
      { apply mean_draw. intros sign _. apply mean_return. reflexivity. }
      assert (forall j, at_least j v = if (j <=? m v)%nat then 1 else 0) as L.
      { intros j. unfold at_least, event. rewrite <- enough_waits_ok by exact less. unfold m.
        replace (s * j <=? u + t * v)%nat with (j <=? (u + t * v) / s)%nat; [reflexivity|].
        apply Bool.eq_true_iff_eq. rewrite !Nat.leb_le. split; intros.
        - pose proof (Nat.mul_div_le (u + t * v) s ltac:(lia)). nia.
        - apply Nat.div_le_lower_bound; lia. }
      specialize (shape (m v)). rewrite !single, <- !L in shape. destruct accepted; simpl.
      2: { unfold average, range_sum. simpl. lra. }
      transitivity ((h (Z.of_nat (m v))
        + (if (m v =? 0)%nat then c else h (- Z.of_nat (m v))%Z)) / 2).
      { unfold average, range_sum. destruct (m v =? 0)%nat; simpl; lra. }
      rewrite shape. ring.
    - pose proof (waits_law 0) as all. apply mean_ext with (g := fun _ => 1) in all; [|reflexivity].
      simpl in all. destruct accepted.
      + replace (phi u) with (1 * (1 * (a * q k u + - a * q (S k) u)
          + 1 * (b * q 0%nat u + - b * q 1%nat u)) + g * 1) by (unfold phi; ring).
        eapply mean_ext; [|apply mean_linear; [apply mean_linear|exact all];
          apply mean_linear; apply waits_law]. intros v. unfold at_least. cbv beta. ring.
      + pose proof (mean_linear _ _ c 0 _ _ _ all all) as Z. replace (c * 1 + 0 * 1) with c in Z
          by ring. apply mean_ext with (2 := Z). intros. ring. }
  assert (c = average t (fun u => w ^ u * phi u + (1 - w ^ u) * c)) as eq.
  { apply (mean_unique h (laplace_draw t s)); [exact M|].
    apply mean_loop with (e := fun _ => c); [exact H|intros []; exact M|].
    apply mean_draw. intros u less.
    replace (w ^ u) with (exp (- (INR u / INR t))) by (unfold w; rewrite exp_pow; reflexivity).
    apply mean_bind with (e := fun b : bool => if b then phi u else c); [exact U|apply rest, less|].
    apply (bernoulli_exp_law u t ltac:(lia) ltac:(lia) (fun b : bool => if b then phi u else c)).
    intros accepted. apply (mean_unital next _ _ U (rest u less accepted)). }
  pose (Q := fun j => average t (fun u => w ^ u * q j u)).
  assert (forall j, Q j = kept * E ^ j) as tails.
  { intros j. unfold Q, q. rewrite tail_sum, pow_mult, P. reflexivity. }
  assert (average t (fun u => w ^ u * phi u + (1 - w ^ u) * c)
    = a * (Q k - Q (S k)) + b * (Q 0%nat - Q 1%nat) + (g - c) * kept + c) as sums.
  { rewrite (average_ext t _ (fun u => 1 * (1 * (a * (w ^ u * q k u) + - a * (w ^ u * q (S k) u))
      + 1 * (b * (w ^ u * q 0%nat u) + - b * (w ^ u * q 1%nat u)))
      + 1 * ((g - c) * w ^ u + c * 1))) by (intros; unfold phi; ring).
    unfold Q. rewrite !average_linear, average_const by assumption.
    change (average t (pow w)) with kept. ring. }
  rewrite sums, !tails in eq. simpl in eq. apply Rmult_eq_reg_l with kept; [|lra]. lra.
Qed.

(* DISCRETE LAPLACE: each whole number z has the chance (1 - E) / (1 + E) E^|z|, and it ends. *)
Theorem laplace_draw_law : forall z,
  chance (laplace_draw t s) (Z.eqb z) ((1 - E) / (1 + E) * E ^ Z.abs_nat z).
Proof.
  intros z. pose (H := event_unital _ (Z.eqb z)). destruct (limit_exists _ H (laplace_draw t s))
    as [c M]. replace (_ * _) with c; [exact M|]. destruct steps as (_ & EE & _).
  pose proof (laplace_mean _ c (1 / 2) (Z.abs_nat z) (c / 2) 0 H M) as eq.
  apply Rmult_eq_reg_l with (1 + E); [|lra]. replace ((1 + E) * ((1 - E) / (1 + E) * _))
    with ((1 - E) * E ^ Z.abs_nat z) by (field; lra).
  enough (c = 1 / 2 * (E ^ Z.abs_nat z * (1 - E)) + c / 2 * (1 - E) + 0) by lra. apply eq.
  intros m. unfold event. destruct (Nat.eqb_spec m 0) as [->|more].
  - destruct (Z.eqb_spec z (Z.of_nat 0)), (Nat.eqb_spec 0 (Z.abs_nat z)); lia || lra.
  - destruct (Z.eqb_spec z (Z.of_nat m)), (Z.eqb_spec z (- Z.of_nat m)),
      (Nat.eqb_spec m (Z.abs_nat z)); lia || lra.
Qed.

Theorem laplace_draw_ends : ends (laplace_draw t s).
Proof.
  assert (unital (fun _ : Z => 1)) as H by (intros z; lra). destruct (limit_exists _ H
    (laplace_draw t s)) as [c M]. destruct steps as (_ & EE & _).
  pose proof (laplace_mean _ c 0 0 ((c - 1) / 2) 1 H M) as eq.
  replace c with 1 in M at 1; [exact M|]. enough ((c - 1) * (1 + E) = 0) by nra.
  enough (c = 0 * (E ^ 0 * (1 - E)) + (c - 1) / 2 * (1 - E) + 1) by lra. apply eq.
  intros m. destruct (Nat.eqb_spec m 0); lra.
Qed.

End DiscreteLaplace.

(* ------------------------------------------------------------------ the claim *)

Lemma tanh_half : forall x, tanh (x / 2) = (1 - exp (- x)) / (1 + exp (- x)).
Proof.
  intros x. unfold tanh, sinh, cosh. pose proof (exp_pos (x / 2)). pose proof (exp_pos (- (x / 2))).
  replace (- x) with (- (x / 2) + - (x / 2)) by field. rewrite exp_plus, exp_Ropp in *.
  field. split; nra.
Qed.

(* CLAIM BOOK-EXACT-DRAW.  The sampler of scale t / s, followed through all its draws of uniform
   whole numbers, ends with chance 1, and draws z with chance tanh(s/2t) exp(-|z| s/t): for every
   whole number z and all whole numbers s, t from 1.  The constant c is 1. *)
Definition exact_draw_says (c : R) : Prop := forall t s : nat, (0 < t)%nat -> (0 < s)%nat ->
  ends (laplace_draw t s) /\
  forall z, chance (laplace_draw t s) (Z.eqb z)
    (tanh (c * INR s / (2 * INR t)) * exp (- Rabs (IZR z) * (c * INR s / INR t))).

Theorem exact_draw : exact_draw_says 1.
Proof.
  intros t s tpos spos. split; [apply laplace_draw_ends; assumption|]. intros z.
  assert (INR t <> 0) as T by (apply not_0_INR; lia).
  replace (1 * INR s / (2 * INR t)) with (INR s / INR t / 2) by (field; assumption).
  replace (- Rabs (IZR z) * (1 * INR s / INR t)) with (- (INR (Z.abs_nat z) * (INR s / INR t)))
    by (rewrite INR_IZR_INZ, Zabs2Nat.id_abs, abs_IZR; field; assumption).
  rewrite tanh_half, <- exp_pow. apply laplace_draw_law; assumption.
Qed.

(* At another constant it is false: the chances of 0 and of 1 tell the scale. *)
Theorem exact_draw_control : forall c, c <> 1 -> ~ exact_draw_says c.
Proof.
  intros c other H. destruct (H 1 1 ltac:(lia) ltac:(lia))%nat as [_ K].
  destruct (exact_draw 1 1 ltac:(lia) ltac:(lia))%nat as [_ L].
  pose proof (mean_unique _ _ _ _ (K 0%Z) (L 0%Z)) as at0.
  pose proof (mean_unique _ _ _ _ (K 1%Z) (L 1%Z)) as at1.
  simpl in at0, at1. rewrite Rabs_R0, Ropp_0, !Rmult_0_l, exp_0 in at0.
  rewrite !Rmult_1_r in at0. rewrite !Rmult_1_r, at0, Rabs_R1 in at1. apply Rmult_eq_reg_l in at1.
  - apply exp_inv in at1. lra.
  - rewrite tanh_half. pose proof (exp_below_1 1 Rlt_0_1).
    apply Rgt_not_eq, Rdiv_lt_0_compat; lra.
Qed.
