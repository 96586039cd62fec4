(* Exact samplers in whole numbers (Canonne, Kamath, Steinke 2020, Algorithms 1 and 2), as dpbook
   has them in mechanisms/noise.py: Bernoulli(exp(-x)), a geometric number, discrete Laplace noise;
   and that the laws of discrete and of continuous Laplace noise have the total 1.

   A sampler is a tree of draws, possibly infinite: at each node a uniform whole number below m.
   [within n] is what it yields in at most n draws, and every theorem is about the limit for n to
   infinity: the chance of each outcome, and that the sampler ends with chance 1.

   Not in it: uniform whole numbers from random bits, that several numbers are independent (the code
   draws many at once), whole numbers that overflow, the time it takes; other samplers (discrete
   Gaussian, K-norm noise). *)
Require Import Reals Lra Lia List Bool ZArith.
From Ranking Require Import Privacy.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ limits and series *)

Lemma cv_const : forall c, Un_cv (fun _ => c) c.
Proof. intros c e pos. exists 0%nat. intros. rewrite R_dist_eq. assumption. Qed.

Lemma cv_ext : forall u v l, (forall n, u n = v n) -> Un_cv u l -> Un_cv v l.
Proof.
  intros u v l E H e pos. destruct (H e pos) as [N K]. exists N. intros. rewrite <- E. auto.
Qed.

Lemma cv_sum : forall A (l : list A) (u : A -> nat -> R) p,
  (forall a, In a l -> Un_cv (u a) (p a)) ->
  Un_cv (fun n => sum (fun a => u a n) l) (sum p l).
Proof.
  intros A l u p. induction l as [|a l IH]; intros H; simpl; [apply cv_const|].
  apply CV_plus; [apply H; left; reflexivity|apply IH; intros; apply H; right; assumption].
Qed.

Lemma cv_le : forall u v p q, (forall n, u n <= v n) -> Un_cv u p -> Un_cv v q -> p <= q.
Proof. intros u v p q. apply Rle_cv_lim. Qed.

Lemma cv_shift : forall u l, Un_cv (fun n => u (S n)) l -> Un_cv u l.
Proof.
  intros u l H. apply (CV_shift u 1). apply cv_ext with (2 := H). intros. f_equal. lia.
Qed.

Lemma cv_later : forall u l, Un_cv u l -> Un_cv (fun n => u (S n)) l.
Proof.
  intros u l H. apply cv_ext with (2 := CV_shift' u 1 l H). intros. f_equal. lia.
Qed.

Lemma cv_squeeze : forall u v l, (forall n, Rabs (u n - l) <= v n) -> Un_cv v 0 -> Un_cv u l.
Proof.
  intros u v l H K e pos. destruct (K e pos) as [N L]. exists N. intros n le. specialize (L n le).
  unfold R_dist in *. specialize (H n). rewrite Rminus_0_r in L. pose proof (Rle_abs (v n)). lra.
Qed.

Lemma range_sum_S : forall n f, range_sum (S n) f = range_sum n f + f n.
Proof. intros. unfold range_sum. rewrite seq_S, sum_app. simpl. lra. Qed.

Lemma series : forall f l, infinite_sum f l <-> Un_cv (fun n => range_sum n f) l.
Proof.
  intros f l. assert (forall n, sum_f_R0 f n = range_sum (S n) f) as E.
  { induction n; [unfold range_sum; simpl; lra|]. rewrite range_sum_S. simpl. rewrite IHn. lra. }
  split; intros H.
  - apply cv_shift. apply cv_ext with (2 := H). assumption.
  - apply cv_later in H. apply cv_ext with (2 := H). intros. symmetry. apply E.
Qed.

Lemma series_ext : forall f g l, (forall k, f k = g k) -> infinite_sum f l -> infinite_sum g l.
Proof.
  intros f g l E H. apply series. apply series in H. apply cv_ext with (2 := H).
  intros. apply sum_ext. assumption.
Qed.

Lemma geometric_series : forall q, 0 <= q < 1 -> infinite_sum (fun k => q ^ k) (/ (1 - q)).
Proof.
  intros q H. apply series. apply cv_ext with (fun n => / (1 - q) * (1 - q ^ n)).
  - induction n as [|n IH]; [unfold range_sum; simpl; lra|]. rewrite range_sum_S, <- IH. simpl.
    field. lra.
  - rewrite <- (Rmult_1_r (/ (1 - q))) at 1. apply CV_mult; [apply cv_const|].
    rewrite <- (Rminus_0_r 1) at 1. apply CV_minus; [apply cv_const|].
    intros e pos. destruct (pow_lt_1_zero q ltac:(rewrite Rabs_right; lra) e pos) as [N K].
    exists N. intros. unfold R_dist. rewrite Rminus_0_r. auto.
Qed.

(* Sums in blocks of t. *)
Lemma range_sum_blocks : forall t n f,
  range_sum (t * n) f = range_sum n (fun v => range_sum t (fun u => f (t * v + u)%nat)).
Proof.
  intros t n f. induction n as [|n IH]; [rewrite Nat.mul_0_r; reflexivity|].
  rewrite range_sum_S, <- IH. rewrite Nat.mul_succ_r. generalize (t * n)%nat as k. clear.
  intros k. induction t as [|t IH]; [rewrite Nat.add_0_r; unfold range_sum; simpl; lra|].
  rewrite Nat.add_succ_r, !range_sum_S, IH. lra.
Qed.

(* A series of terms that are not negative, in blocks. *)
Lemma series_blocks : forall t f l, (0 < t)%nat -> (forall k, 0 <= f k) ->
  infinite_sum f l <-> infinite_sum (fun v => range_sum t (fun u => f (t * v + u)%nat)) l.
Proof.
  intros t f l pos nonneg. rewrite !series.
  assert (forall n m, (n <= m)%nat -> range_sum n f <= range_sum m f) as mono.
  { intros n m. induction 1; [lra|]. rewrite range_sum_S. specialize (nonneg m). lra. }
  split; intros H.
  - intros e epos. destruct (H e epos) as [N K]. exists N. intros n le.
    rewrite <- range_sum_blocks. apply K. nia.
  - assert (forall n, range_sum n f <= l) as below.
    { intros n. apply Rle_trans with (range_sum (t * n) f); [apply mono; nia|].
      rewrite range_sum_blocks. refine (growing_ineq _ _ _ H n). intros k.
      rewrite <- !range_sum_blocks. apply mono. nia. }
    intros e epos. destruct (H e epos) as [N K]. exists (t * N)%nat. intros n le.
    specialize (K N (le_n N)). rewrite <- range_sum_blocks in K. specialize (mono _ _ le).
    specialize (below n). unfold R_dist in *. apply Rabs_def2 in K. apply Rabs_def1; lra.
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

Definition average (m : nat) (f : nat -> R) : R := range_sum m f / INR m.

(* The mean of h over the outcomes that are reached in at most n draws; 0 where none is. *)
Fixpoint within {A} (n : nat) (t : tree A) (h : A -> R) : R :=
  match t with
  | Return a => h a
  | Draw m next => match n with O => 0 | S k => average m (fun i => within k (next i) h) end
  end.

(* What the tree yields in the end. *)
Definition mean {A} (t : tree A) (h : A -> R) (p : R) : Prop := Un_cv (fun n => within n t h) p.

(* The chance of an event, and that it ends at all. *)
Definition chance {A} (t : tree A) (event : A -> bool) (p : R) : Prop :=
  mean t (fun a => if event a then 1 else 0) p.
Definition ends {A} (t : tree A) : Prop := chance t (fun _ => true) 1.

Lemma average_le : forall m f g, (forall i, f i <= g i) -> average m f <= average m g.
Proof.
  intros m f g H. unfold average. destruct m as [|m]; [unfold range_sum; simpl; lra|].
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, lt_0_INR; lia|].
  apply sum_le. assumption.
Qed.

Lemma average_const : forall m c, (0 < m)%nat -> average m (fun _ => c) = c.
Proof.
  intros m c H. unfold average, range_sum. rewrite sum_const, seq_length. field.
  apply not_0_INR. lia.
Qed.

Lemma average_bounds : forall m f, (forall i, 0 <= f i <= 1) -> 0 <= average m f <= 1.
Proof.
  intros [|m] f H; [unfold average, range_sum; simpl; lra|].
  rewrite <- (average_const (S m) 0) at 1 by lia. rewrite <- (average_const (S m) 1) by lia.
  split; apply average_le; apply H.
Qed.

Lemma average_linear : forall m f g a b,
  average m (fun i => a * f i + b * g i) = a * average m f + b * average m g.
Proof.
  intros. unfold average, range_sum, Rdiv. rewrite sum_plus, !sum_scale. ring.
Qed.

Lemma cv_average : forall m (u : nat -> nat -> R) p, (forall i, (i < m)%nat -> Un_cv (u i) (p i)) ->
  Un_cv (fun n => average m (fun i => u i n)) (average m p).
Proof.
  intros m u p H. unfold average, Rdiv. apply CV_mult; [|apply cv_const].
  apply cv_sum. intros i K. apply in_seq in K. apply H. lia.
Qed.

(* What is weighed lies between 0 and 1. *)
Definition unital {A} (h : A -> R) : Prop := forall a, 0 <= h a <= 1.

Section Means.
Context {A : Type}.
Implicit Types (t : tree A) (h : A -> R).

Lemma within_bounds : forall h, unital h -> forall n t, 0 <= within n t h <= 1.
Proof.
  intros h H. induction n as [|n IH]; intros [a|m next]; simpl; try apply H; [lra|].
  apply average_bounds. intros. apply IH.
Qed.

Lemma within_grows : forall h, unital h -> forall t, Un_growing (fun n => within n t h).
Proof.
  intros h H t n. revert t. induction n as [|n IH]; intros [a|m next]; simpl; try lra.
  - apply average_bounds. intros. apply (within_bounds h H 0).
  - apply average_le. intros. apply IH.
Qed.

Lemma limit_exists : forall h, unital h -> forall t, {p | mean t h p}.
Proof.
  intros h H t. apply growing_cv; [apply within_grows; assumption|].
  exists 1. intros r [n ->]. apply within_bounds. assumption.
Qed.

Lemma mean_above : forall h t p n, unital h -> mean t h p -> within n t h <= p.
Proof. intros h t p n H K. refine (growing_ineq _ _ _ K n). apply within_grows. assumption. Qed.

Lemma mean_bounds : forall h t p, unital h -> mean t h p -> 0 <= p <= 1.
Proof.
  intros h t p H K. split.
  - apply Rle_trans with (within 0 t h); [apply within_bounds; assumption|].
    apply mean_above; assumption.
  - refine (cv_le _ _ _ _ _ K (cv_const 1)).
    intros. apply within_bounds. assumption.
Qed.

Lemma mean_unique : forall h t p q, mean t h p -> mean t h q -> p = q.
Proof. intros h t p q. apply UL_sequence. Qed.

Lemma mean_ext : forall h g t p, (forall a, h a = g a) -> mean t h p -> mean t g p.
Proof.
  intros h g t p E. apply cv_ext. intros n. revert t.
  induction n as [|n IH]; intros [a|m next]; simpl; auto.
  unfold average. f_equal. apply sum_ext. intros. apply IH.
Qed.

Lemma mean_return : forall h a p, h a = p -> mean (Return a) h p.
Proof. intros h a p <-. apply cv_ext with (2 := cv_const (h a)). intros []; reflexivity. Qed.

Lemma mean_draw : forall h m next p, (forall i, (i < m)%nat -> mean (next i) h (p i)) ->
  mean (Draw m next) h (average m p).
Proof. intros h m next p H. apply cv_shift. simpl. apply cv_average. assumption. Qed.

Lemma within_linear : forall h g a b n t,
  within n t (fun x => a * h x + b * g x) = a * within n t h + b * within n t g.
Proof.
  intros h g a b. induction n as [|n IH]; intros [x|m next]; simpl; try lra.
  rewrite <- average_linear. unfold average. f_equal. apply sum_ext. intros. apply IH.
Qed.

Lemma mean_linear : forall h g a b t p q, mean t h p -> mean t g q ->
  mean t (fun x => a * h x + b * g x) (a * p + b * q).
Proof.
  intros h g a b t p q H K. apply cv_ext with (fun n => a * within n t h + b * within n t g).
  - intros. symmetry. apply within_linear.
  - apply CV_plus; apply CV_mult; auto using cv_const.
Qed.

Lemma mean_scale : forall h c t p, mean t h p -> mean t (fun x => c * h x) (c * p).
Proof.
  intros h c t p H. replace (c * p) with (c * p + 0 * p) by ring.
  apply mean_ext with (fun x => c * h x + 0 * h x); [intros; ring|]. apply mean_linear; exact H.
Qed.

End Means.

Lemma within_le : forall A (h g : A -> R), (forall a, h a <= g a) ->
  forall n t, within n t h <= within n t g.
Proof.
  intros A h g H. induction n as [|n IH]; intros [a|m next]; simpl; auto; [lra|].
  apply average_le. intros. apply IH.
Qed.

(* THE LAW OF BIND: the second tree is weighed by its means, e. *)
Theorem mean_bind : forall A B (t : tree A) (f : A -> tree B) h e p, unital h ->
  (forall a, mean (f a) h (e a)) -> mean t e p -> mean (bind t f) h p.
Proof.
  intros A B t f h e p H E T.
  assert (unital e) as U by (intros a; apply (mean_bounds h (f a)); auto).
  destruct (limit_exists h H (bind t f)) as [q Q]. enough (p = q) as -> by exact Q.
  apply Rle_antisym.
  - assert (forall n t q, mean (bind t f) h q -> within n t e <= q) as below.
    { clear - H E U. induction n as [|n IH]; intros [a|m next] q Q; simpl.
      - right. apply (mean_unique h (f a)); [apply E|].
        apply cv_ext with (2 := Q). intros [|n]; reflexivity.
      - apply (mean_bounds h _ q H Q).
      - right. apply (mean_unique h (f a)); [apply E|].
        apply cv_ext with (2 := Q). intros [|k]; reflexivity.
      - set (each := fun i => proj1_sig (limit_exists h H (bind (next i) f))).
        assert (forall i, mean (bind (next i) f) h (each i)) as K
          by (intros; unfold each; destruct (limit_exists _ _ _); assumption).
        assert (q = average m each) as ->.
        { apply (mean_unique h (Draw m (fun i => bind (next i) f))).
          - apply cv_ext with (2 := Q). intros [|k]; reflexivity.
          - apply mean_draw. auto. }
        apply average_le. intros i. apply IH, K. }
    apply (cv_le (fun n => within n t e) (fun _ => q)); auto using cv_const.
  - assert (forall n t, within n (bind t f) h <= within n t e) as above.
    { clear - H E. induction n as [|n IH]; intros [a|m next]; simpl.
      - apply (mean_above h (f a) (e a) 0 H (E a)).
      - lra.
      - apply (mean_above h (f a) (e a) (S n) H (E a)).
      - apply average_le. intros. apply IH. }
    apply (cv_le (fun n => within n (bind t f) h) (fun n => within n t e)); auto.
Qed.

(* THE LAW OF LOOP: e is the mean of the loop in each of its states. *)
Theorem mean_loop : forall S A (body : S -> tree (S + A)) h e s p, unital h ->
  (forall s, mean (loop body s) h (e s)) ->
  mean (body s) (fun r => match r with inl s' => e s' | inr a => h a end) p ->
  mean (loop body s) h p.
Proof.
  intros S A body h e s p H E T.
  pose (f := fun r : S + A => match r with
    | inl s' => Draw 1 (fun _ => loop body s') | inr a => Return a end).
  assert (mean (bind (body s) f) h p) as K.
  { apply mean_bind with (3 := T); auto. intros [s'|a]; simpl; [|apply mean_return; reflexivity].
    rewrite <- (average_const 1 (e s')) by lia. apply mean_draw. auto. }
  apply cv_ext with (2 := K). intros n. unfold loop. generalize (body s) as t.
  induction n as [|n IH]; intros [[s'|a]|m next]; try reflexivity.
  simpl. unfold average. f_equal. apply sum_ext. intros. apply IH.
Qed.

(* The means of a loop in all of its states exist, also where nothing is known of them yet. *)
Lemma means_exist {S A} : forall (h : A -> R), unital h -> forall t : S -> tree A,
  exists e : S -> R, forall s, mean (t s) h (e s).
Proof.
  intros h H t. exists (fun s => proj1_sig (limit_exists h H (t s))).
  intros s. destruct (limit_exists h H (t s)). assumption.
Qed.

(* ------------------------------------------------------------------ more on series and averages *)

Lemma series_linear : forall f g a b p q, infinite_sum f p -> infinite_sum g q ->
  infinite_sum (fun k => a * f k + b * g k) (a * p + b * q).
Proof.
  intros f g a b p q F G. rewrite series in *.
  apply cv_ext with (fun n => a * range_sum n f + b * range_sum n g).
  - intros. unfold range_sum. rewrite sum_plus, !sum_scale. reflexivity.
  - apply CV_plus; apply CV_mult; auto using cv_const.
Qed.

Lemma series_scale : forall f a p, infinite_sum f p -> infinite_sum (fun k => a * f k) (a * p).
Proof.
  intros f a p F. replace (a * p) with (a * p + 0 * p) by ring.
  apply series_ext with (2 := series_linear f f a 0 p p F F). intros. ring.
Qed.

Lemma series_range : forall t (f : nat -> nat -> R) p, (forall i, infinite_sum (f i) (p i)) ->
  infinite_sum (fun k => range_sum t (fun i => f i k)) (range_sum t p).
Proof.
  intros t f p H. apply series.
  apply cv_ext with (fun n => range_sum t (fun i => range_sum n (f i))).
  - intros. apply sum_swap.
  - apply (cv_sum _ (seq 0 t) (fun i n => range_sum n (f i))). intros i _. apply series, H.
Qed.

Lemma series_single : forall k (f : nat -> R),
  infinite_sum (fun m => if m =? k then f m else 0) (f k).
Proof.
  intros k f. apply series. intros e pos. exists (S k). intros n le.
  enough (range_sum n (fun m => if m =? k then f m else 0) = f k) as ->
    by (rewrite R_dist_eq; auto).
  replace n with (S k + (n - S k))%nat by lia. generalize (n - S k)%nat as j. clear.
  induction j as [|j IH].
  - rewrite Nat.add_0_r, range_sum_S, Nat.eqb_refl. unfold range_sum.
    rewrite (sum_ext_in _ (fun _ => 0)); [rewrite sum_zero; lra|]. intros m H. apply in_seq in H.
    replace (m =? k)%nat with false by (symmetry; apply Nat.eqb_neq; lia). reflexivity.
  - rewrite Nat.add_succ_r, range_sum_S, IH.
    replace (S k + j =? k)%nat with false by (symmetry; apply Nat.eqb_neq; lia). lra.
Qed.

Lemma average_ext : forall m f g, (forall i, (i < m)%nat -> f i = g i) -> average m f = average m g.
Proof.
  intros m f g H. unfold average. f_equal. apply sum_ext_in. intros i K. apply in_seq in K.
  apply H. lia.
Qed.

(* The draws below a, and the others. *)
Lemma average_cut : forall m a x y, (a <= m)%nat -> (0 < m)%nat ->
  average m (fun u => if (u <? a)%nat then x else y)
  = INR a / INR m * x + (1 - INR a / INR m) * y.
Proof.
  intros m a x y le pos. assert (INR m <> 0) as M by (apply not_0_INR; lia). unfold average.
  enough (range_sum m (fun u => if (u <? a)%nat then x else y) = INR a * x + (INR m - INR a) * y)
    as -> by (field; assumption). clear pos M.
  replace m with (a + (m - a))%nat by lia. generalize (m - a)%nat as j. clear.
  induction j as [|j IH].
  - rewrite Nat.add_0_r. unfold range_sum. rewrite (sum_ext_in _ (fun _ => x)).
    + rewrite sum_const, seq_length. lra.
    + intros u H. apply in_seq in H. replace (u <? a)%nat with true; [reflexivity|].
      symmetry. apply Nat.ltb_lt. lia.
  - rewrite Nat.add_succ_r, range_sum_S, IH, S_INR.
    replace (a + j <? a)%nat with false; [lra|]. symmetry. apply Nat.ltb_ge. lia.
Qed.

(* A tree with the outcomes true and false. *)
Lemma mean_bool : forall (t : tree bool) p h, chance t (fun b => b) p -> ends t ->
  mean t h (p * h true + (1 - p) * h false).
Proof.
  intros t p h P E. replace (p * h true + (1 - p) * h false)
    with ((h true - h false) * p + h false * 1) by ring.
  apply mean_ext with (2 := mean_linear _ _ (h true - h false) (h false) t _ _ P E).
  intros []; ring.
Qed.

Lemma unital_event : forall A (event : A -> bool), unital (fun a => if event a then 1 else 0).
Proof. intros A event a. destruct (event a); lra. Qed.

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

Lemma ratio_bounds : 0 <= x <= 1.
Proof.
  assert (0 < INR d) as D by (apply lt_0_INR; assumption).
  pose proof (pos_INR a). pose proof (le_INR _ _ at_most_1). unfold x. split.
  - apply Rmult_le_pos; [assumption|]. left. apply Rinv_0_lt_compat. assumption.
  - apply Rmult_le_reg_r with (INR d); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(* What the loop does at k, with the mean e k. *)
Lemma bernoulli_step : forall h e, unital h ->
  (forall k, mean (loop (bernoulli_round a d) k) h (e k)) ->
  forall k, e (S k) = x / INR (S k) * e (S (S k)) + (1 - x / INR (S k)) * h (Nat.odd (S k)).
Proof.
  intros h e H E k. apply (mean_unique h (loop (bernoulli_round a d) (S k))); [apply E|].
  apply mean_loop with (e := e); [assumption|assumption|].
  assert (x / INR (S k) = INR a / INR (d * S k)) as ->.
  { unfold x. rewrite mult_INR. field. split; apply not_0_INR; lia. }
  rewrite <- average_cut by nia. apply mean_draw. intros u _.
  destruct (u <? a)%nat; apply mean_return; reflexivity.
Qed.

Lemma fact_step : forall k, INR (fact (S k)) = INR (S k) * INR (fact k).
Proof. intros. change (fact (S k)) with (S k * fact k)%nat. apply mult_INR. Qed.

(* exp(-x) is an alternating series; so is the chance of true, up to the K-th term. *)
Theorem bernoulli_exp_law : chance (bernoulli_exp a d) (fun b => b) (exp (- x)).
Proof.
  pose (h := fun b : bool => if b then 1 else 0). pose (H := unital_event bool (fun b => b)).
  destruct (means_exist h H (loop (bernoulli_round a d))) as [e E].
  assert (forall k, 0 <= e k <= 1) as bounds by (intros; apply (mean_bounds h _ _ H (E k))).
  pose proof (bernoulli_step h e H E) as one.
  pose (r := fun k => if Nat.even k then e (S k) else 1 - e (S k)).
  assert (forall k, r k = 1 - x / INR (S k) * r (S k)) as step.
  { intros k. unfold r. rewrite (one k).
    rewrite Nat.odd_succ, Nat.even_succ, <- Nat.negb_even. destruct (Nat.even k); simpl; ring. }
  assert (forall K, e 1%nat = range_sum K (fun k => / INR (fact k) * (- x) ^ k)
    + / INR (fact K) * (- x) ^ K * r K) as partial.
  { induction K as [|K IH].
    - unfold range_sum, r. simpl. field.
    - rewrite range_sum_S, IH, step, fact_step. simpl pow. field.
      split; apply not_0_INR; [apply fact_neq_0|lia]. }
  enough (e 1%nat = exp (- x)) as <- by (apply E).
  unfold exp. destruct (exist_exp (- x)) as [l L]. simpl. apply series in L.
  apply (UL_sequence (fun K => range_sum K (fun k => / INR (fact k) * (- x) ^ k))); [|exact L].
  apply cv_squeeze with (fun K => x ^ K / INR (fact K)); [|apply cv_speed_pow_fact].
  intros K. rewrite (partial K).
  set (s := range_sum K _). replace (s - (s + / INR (fact K) * (- x) ^ K * r K))
    with (- ((/ INR (fact K) * r K) * (- x) ^ K)) by ring.
  rewrite Rabs_Ropp, Rabs_mult, <- RPow_abs, Rabs_Ropp, (Rabs_right x)
    by (pose proof ratio_bounds; lra).
  pose proof (INR_fact_lt_0 K) as F. apply Rinv_0_lt_compat in F.
  assert (0 <= r K <= 1) as R by (unfold r; specialize (bounds (S K)); destruct (Nat.even K); lra).
  rewrite Rabs_mult, !(Rabs_right) by lra. unfold Rdiv. rewrite (Rmult_comm (x ^ K)).
  apply Rmult_le_compat_r; [apply pow_le, ratio_bounds|]. nra.
Qed.

Theorem bernoulli_exp_ends : ends (bernoulli_exp a d).
Proof.
  pose (h := fun _ : bool => 1). assert (unital h) as H by (intros b; unfold h; lra).
  destruct (means_exist h H (loop (bernoulli_round a d))) as [e E].
  assert (forall k, 0 <= e k <= 1) as bounds by (intros; apply (mean_bounds h _ _ H (E k))).
  pose proof (bernoulli_step h e H E) as one.
  assert (forall K, 1 - e 1%nat = / INR (fact K) * x ^ K * (1 - e (S K))) as partial.
  { induction K as [|K IH].
    - simpl. field.
    - rewrite IH, fact_step, (one K). unfold h. simpl pow. field.
      split; apply not_0_INR; [apply fact_neq_0|lia]. }
  enough (e 1%nat = 1) as G by (specialize (E 1%nat); rewrite G in E; exact E).
  enough (1 - e 1%nat = 0) by lra. apply (UL_sequence (fun _ => 1 - e 1%nat)); [apply cv_const|].
  apply cv_squeeze with (fun K => x ^ K / INR (fact K)); [|apply cv_speed_pow_fact].
  intros K. rewrite (partial K), Rminus_0_r. pose proof (INR_fact_lt_0 K) as F.
  apply Rinv_0_lt_compat in F. pose proof (pow_le x K (proj1 ratio_bounds)) as P.
  specialize (bounds (S K)). pose proof (Rmult_le_pos _ _ (Rlt_le _ _ F) P).
  rewrite Rabs_right by nra. unfold Rdiv. nra.
Qed.

End BernoulliExp.

(* ------------------------------------------------------------------ a geometric number *)

(* The number of successes before the first failure (`geometric_exp`). *)
Definition geometric_round (coin : tree bool) (c : nat) : tree (nat + nat) :=
  bind coin (fun b => Return (if b then inl (S c) else inr c)).
Definition geometric (coin : tree bool) : tree nat := loop (geometric_round coin) 0%nat.

Section Geometric.
Variable coin : tree bool.
Variable q : R.
Hypothesis q_bounds : 0 <= q < 1.
Hypothesis coin_law : chance coin (fun b => b) q.
Hypothesis coin_ends : ends coin.

(* The number v has the chance q^v (1 - q); here for all that is weighed by h. *)
Theorem geometric_law : forall h, unital h ->
  exists p, mean (geometric coin) h p /\ infinite_sum (fun v => q ^ v * (1 - q) * h v) p.
Proof.
  intros h H. destruct (means_exist h H (loop (geometric_round coin))) as [e E].
  assert (forall c, 0 <= e c <= 1) as bounds by (intros; apply (mean_bounds h _ _ H (E c))).
  assert (forall c, e c = q * e (S c) + (1 - q) * h c) as step.
  { intros c. apply (mean_unique h (loop (geometric_round coin) c)); [apply E|].
    apply mean_loop with (e := e); [assumption|assumption|].
    pose (g := fun b : bool => if b then e (S c) else h c).
    apply (mean_bind _ _ coin) with (e := g).
    - intros [s|v]; [apply bounds|apply H].
    - intros []; apply mean_return; reflexivity.
    - apply (mean_bool coin q g coin_law coin_ends). }
  exists (e 0%nat). split; [apply E|]. apply series.
  assert (forall K, e 0%nat = range_sum K (fun v => q ^ v * (1 - q) * h v) + q ^ K * e K)
    as partial.
  { induction K as [|K IH]; [unfold range_sum; simpl; ring|].
    rewrite range_sum_S, IH, (step K). simpl. ring. }
  apply cv_squeeze with (fun K => q ^ K).
  - intros K. rewrite (partial K). set (s := range_sum K _).
    replace (s - (s + q ^ K * e K)) with (- (q ^ K * e K)) by ring.
    pose proof (pow_le q K (proj1 q_bounds)). specialize (bounds K).
    rewrite Rabs_Ropp, Rabs_right by nra. nra.
  - intros r pos. destruct (pow_lt_1_zero q ltac:(rewrite Rabs_right; lra) r pos) as [N K].
    exists N. intros. unfold R_dist. rewrite Rminus_0_r. auto.
Qed.

Theorem geometric_ends : ends (geometric coin).
Proof.
  destruct (geometric_law (fun _ => 1) ltac:(intros a; lra)) as (p & P & S).
  enough (p = 1) as G by (subst p; exact P). apply (uniqueness_sum _ _ _ S).
  pose proof (series_scale _ (1 - q) _ (geometric_series q q_bounds)) as K.
  rewrite Rinv_r in K by lra. apply series_ext with (2 := K). intros. ring.
Qed.

(* At least k successes. *)
Theorem geometric_tail : forall k, chance (geometric coin) (fun v => (k <=? v)%nat) (q ^ k).
Proof.
  intros k. destruct (geometric_law _ (unital_event _ (fun v => (k <=? v)%nat))) as (p & P & S).
  enough (p = q ^ k) as G by (subst p; exact P). apply series in S. apply (UL_sequence _ _ _ S).
  apply cv_ext with (fun K => q ^ Nat.min k K - q ^ K).
  - induction n as [|n IH]; [rewrite Nat.min_r by lia; unfold range_sum; simpl; ring|].
    rewrite range_sum_S, <- IH. destruct (Nat.leb_spec k n) as [le|less].
    + rewrite !Nat.min_l by lia. simpl. ring.
    + rewrite !Nat.min_r by lia. simpl. ring.
  - replace (q ^ k) with (q ^ k - 0) by ring. apply CV_minus.
    + intros r pos. exists k. intros n le. rewrite Nat.min_l by lia. rewrite R_dist_eq. assumption.
    + intros r pos. destruct (pow_lt_1_zero q ltac:(rewrite Rabs_right; lra) r pos) as [N K].
      exists N. intros. unfold R_dist. rewrite Rminus_0_r. auto.
Qed.

End Geometric.

Lemma exp_less_1 : forall x, 0 < x -> 0 <= exp (- x) < 1.
Proof.
  intros x H. split; [left; apply exp_pos|]. rewrite <- exp_0. apply exp_increasing. lra.
Qed.

Lemma exp_pow : forall x n, exp (- x) ^ n = exp (- (INR n * x)).
Proof.
  intros x n. induction n as [|n IH]; [simpl; rewrite Rmult_0_l, Ropp_0, exp_0; reflexivity|].
  rewrite S_INR. simpl. rewrite IH, <- exp_plus. f_equal. ring.
Qed.

(* Coins of chance exp(-1), and what they count. *)
Definition waits : tree nat := geometric (bernoulli_exp 1 1).

Lemma coin_bounds : 0 <= exp (-1) < 1.
Proof. apply (exp_less_1 1). lra. Qed.

Lemma coin_law : chance (bernoulli_exp 1 1) (fun b => b) (exp (-1)).
Proof.
  replace (-1) with (- (INR 1 / INR 1)) by (simpl; field). apply bernoulli_exp_law; lia.
Qed.

Lemma coin_ends : ends (bernoulli_exp 1 1).
Proof. apply bernoulli_exp_ends; lia. Qed.

(* Bernoulli(exp(-a/d)) for every a: all of a / d successes, and once more for the rest
   (`bernoulli_exp_of`). *)
Definition bernoulli_exp_of (a d : nat) : tree bool :=
  bind waits (fun v => bind (bernoulli_exp (a mod d) d) (fun b =>
    Return ((a / d <=? v)%nat && b))).

Theorem bernoulli_exp_of_law : forall a d, (0 < d)%nat ->
  chance (bernoulli_exp_of a d) (fun b => b) (exp (- (INR a / INR d))).
Proof.
  intros a d pos. set (w := (a / d)%nat). set (r := (a mod d)%nat).
  assert (r < d)%nat as less by (apply Nat.mod_upper_bound; lia).
  assert (exp (- (INR a / INR d)) = exp (- (INR r / INR d)) * exp (-1) ^ w) as ->.
  { rewrite (exp_pow 1 w : exp (-1) ^ w = _), <- exp_plus. f_equal.
    rewrite (Nat.div_mod a d) by lia. fold w r.
    rewrite plus_INR, mult_INR. field. apply not_0_INR. lia. }
  pose proof (bernoulli_exp_law r d pos ltac:(lia)) as law.
  pose proof (bernoulli_exp_ends r d pos ltac:(lia)) as stops.
  set (p := exp (- (INR r / INR d))) in *.
  assert (0 <= p <= 1) as P by (apply (mean_bounds _ _ _ (unital_event _ _) law)).
  apply (mean_bind _ _ waits) with (e := fun v => if (w <=? v)%nat then p else 0).
  - apply unital_event.
  - intros v. eapply mean_bind with (e := fun b : bool => if (w <=? v)%nat && b then 1 else 0).
    + apply unital_event.
    + intros b. apply mean_return. reflexivity.
    + destruct (w <=? v)%nat; simpl.
      * exact law.
      * pose proof (mean_scale _ 0 _ _ stops) as K. rewrite Rmult_0_l in K.
        apply mean_ext with (2 := K). intros. ring.
  - pose proof (geometric_tail _ _ coin_bounds coin_law coin_ends w) as tail.
    pose proof (mean_scale _ p _ _ tail) as K. apply mean_ext with (2 := K).
    intros v. destruct (w <=? v)%nat; ring.
Qed.

(* ------------------------------------------------------------------ discrete Laplace noise *)

(* A round for the scale t / s (`discrete_laplace_noise`): u below t, kept with chance exp(-u/t), v
   successes of chance exp(-1), and a sign.  Zero would be counted twice: minus zero is redrawn. *)
Definition laplace_round (t s : nat) (_ : unit) : tree (unit + Z) :=
  Draw t (fun u => bind (bernoulli_exp u t) (fun accepted => bind waits (fun v =>
  Draw 2 (fun sign =>
    let magnitude := ((u + t * v) / s)%nat in
    let negative := (sign =? 1)%nat in
    Return (if accepted && negb (negative && (magnitude =? 0)%nat)
            then inr (if negative then - Z.of_nat magnitude else Z.of_nat magnitude)%Z
            else inl tt))))).
Definition laplace_draw (t s : nat) : tree Z := loop (laplace_round t s) tt.

Section DiscreteLaplace.
Variables t s : nat.
Hypothesis t_positive : (0 < t)%nat.
Hypothesis s_positive : (0 < s)%nat.

Let w := exp (- / INR t).                  (* one step of u *)
Let E := exp (- (INR s / INR t)).          (* one step of the magnitude *)
Let acc := average t (fun u => w ^ u).       (* the chance that u is accepted *)

Lemma t_real : 0 < INR t. Proof. apply lt_0_INR. assumption. Qed.
Lemma s_real : 0 < INR s. Proof. apply lt_0_INR. assumption. Qed.

Lemma w_bounds : 0 <= w < 1.
Proof. apply exp_less_1, Rinv_0_lt_compat, t_real. Qed.

Lemma w_t : w ^ t = exp (-1).
Proof. unfold w. rewrite exp_pow. f_equal. field. pose proof t_real. lra. Qed.

Lemma w_s : w ^ s = E.
Proof. unfold w, E. rewrite exp_pow. reflexivity. Qed.

Lemma E_bounds : 0 < E < 1.
Proof.
  split; [apply exp_pos|]. apply exp_less_1. apply Rdiv_lt_0_compat; [apply s_real|apply t_real].
Qed.

Lemma powers : forall n, (1 - w) * range_sum n (fun u => w ^ u) = 1 - w ^ n.
Proof.
  induction n as [|n IH]; [unfold range_sum; simpl; ring|]. rewrite range_sum_S.
  rewrite Rmult_plus_distr_l, IH. simpl. ring.
Qed.

Lemma acc_positive : 0 < acc.
Proof.
  unfold acc, average. apply Rdiv_lt_0_compat; [|apply t_real].
  apply sum_positive; [destruct t; [lia|discriminate]|]. intros. apply pow_lt, exp_pos.
Qed.

(* Steps of 1 in blocks of t, and in blocks of s: the magnitude m has the weight acc (1 - E) E^m. *)
Lemma magnitude_law : forall (phi : nat -> R) (e : nat -> R), (forall m, 0 <= phi m) ->
  (forall u, infinite_sum
    (fun v => exp (-1) ^ v * (1 - exp (-1)) * phi ((u + t * v) / s)%nat) (e u)) ->
  infinite_sum (fun m => acc * (1 - E) * E ^ m * phi m) (average t (fun u => w ^ u * e u)).
Proof.
  intros phi e pos H. pose proof t_real as T. pose proof w_bounds as W.
  assert (w ^ t < 1) as q1 by (rewrite w_t; apply coin_bounds).
  pose (F := fun y => / INR t * (1 - w ^ t) * w ^ y * phi (y / s)%nat).
  assert (forall y, 0 <= F y) as nonneg.
  { intros y. unfold F. apply Rmult_le_pos; [|apply pos]. apply Rmult_le_pos; [|apply pow_le; lra].
    apply Rmult_le_pos; [left; apply Rinv_0_lt_compat; assumption|lra]. }
  assert (infinite_sum F (average t (fun u => w ^ u * e u))) as total.
  { apply (series_blocks t); [assumption|assumption|].
    replace (average t (fun u => w ^ u * e u)) with (range_sum t (fun u => / INR t * w ^ u * e u)).
    2: { unfold average, range_sum, Rdiv. rewrite Rmult_comm, <- sum_scale. apply sum_ext.
         intros. ring. }
    apply series_ext with (fun v => range_sum t (fun u => / INR t * w ^ u
      * (exp (-1) ^ v * (1 - exp (-1)) * phi ((u + t * v) / s)%nat))).
    - intros v. apply sum_ext. intros u. unfold F. rewrite <- w_t, pow_add, pow_mult, Nat.add_comm.
      ring.
    - apply series_range. intros u. apply series_scale, H. }
  apply (series_blocks s) in total; [|assumption|assumption].
  apply series_ext with (2 := total). intros m. unfold F, range_sum at 1.
  rewrite (sum_ext_in _ (fun r => (/ INR t * (1 - w ^ t) * E ^ m * phi m) * w ^ r) (seq 0 s)).
  - rewrite sum_scale. change (sum (pow w) (seq 0 s)) with (range_sum s (fun r => w ^ r)).
    pose proof (powers s) as P. pose proof (powers t) as Q. rewrite w_s in P.
    unfold acc, average, Rdiv. rewrite <- Q, <- P. ring.
  - intros r K. apply in_seq in K. rewrite pow_add, pow_mult, w_s.
    replace ((s * m + r) / s)%nat with m; [ring|]. apply Nat.div_unique with r; lia.
Qed.

(* What is weighed by the magnitude, if each round that gives nothing counts c. *)
Definition by_magnitude (h : Z -> R) (c : R) (m : nat) : R :=
  (h (Z.of_nat m) + (if (m =? 0)%nat then c else h (- Z.of_nat m)%Z)) / 2.

(* The mean c of the whole: a round is rejected, or its magnitude is weighed. *)
Lemma laplace_mean : forall h, unital h -> exists c, mean (laplace_draw t s) h c
  /\ infinite_sum (fun m => acc * (1 - E) * E ^ m * by_magnitude h c m) (acc * c).
Proof.
  intros h H. destruct (means_exist h H (loop (laplace_round t s))) as [e Eq].
  exists (e tt). set (c := e tt). split; [apply Eq|].
  assert (0 <= c <= 1) as C by (apply (mean_bounds h _ _ H (Eq tt))).
  pose (k := fun r : unit + Z => match r with inl tt => c | inr z => h z end).
  assert (unital k) as K by (intros [[]|z]; [exact C|apply H]).
  pose (phi := by_magnitude h c).
  assert (unital phi) as P.
  { intros m. unfold phi, by_magnitude. pose proof (H (Z.of_nat m)).
    pose proof (H (- Z.of_nat m)%Z). destruct (m =? 0)%nat; lra. }
  assert (forall u, {p | infinite_sum
    (fun v => exp (-1) ^ v * (1 - exp (-1)) * phi ((u + t * v) / s)%nat) p
    /\ mean waits (fun v => phi ((u + t * v) / s)%nat) p}) as G.
  { intros u. assert (unital (fun v => phi ((u + t * v) / s)%nat)) as U by (intros v; apply P).
    destruct (limit_exists _ U waits) as [p M]. exists p. split; [|exact M].
    destruct (geometric_law (bernoulli_exp 1 1) (exp (-1)) coin_bounds coin_law
      coin_ends _ U) as (p' & M' & I). rewrite (mean_unique _ _ _ _ M M'). exact I. }
  pose (g := fun u => proj1_sig (G u)).
  assert (average t (fun u => w ^ u * g u) = acc * c) as <-.
  2: { apply (magnitude_law phi g); [intros; apply P|]. intros u. unfold g.
       destruct (G u) as (p & I & M). exact I. }
  assert (mean (laplace_round t s tt) k (average t (fun u => w ^ u * g u + (1 - w ^ u) * c))) as M.
  { apply mean_draw. intros u less.
    apply (mean_bind _ _ (bernoulli_exp u t)) with (e := fun b : bool => if b then g u else c);
      [assumption| |].
    - intros accepted.
      apply (mean_bind _ _ waits) with (e := fun v => if accepted : bool
        then phi ((u + t * v) / s)%nat else c); [assumption| |].
      + intros v. set (m := ((u + t * v) / s)%nat).
        replace (if accepted then phi m else c) with (average 2 (fun sign => k (
          if accepted && negb ((sign =? 1)%nat && (m =? 0)%nat)
          then inr (if (sign =? 1)%nat then - Z.of_nat m else Z.of_nat m)%Z else inl tt))).
        * apply mean_draw. intros sign _. apply mean_return. reflexivity.
        * unfold average, range_sum, phi, by_magnitude. destruct accepted; simpl;
            destruct (m =? 0)%nat; simpl; lra.
      + destruct accepted.
        * unfold g. destruct (G u) as (p & I & M). exact M.
        * pose proof (mean_scale _ c _ _ (geometric_ends _ _ coin_bounds coin_law
            coin_ends)) as M. rewrite Rmult_1_r in M. apply mean_ext with (2 := M). intros. ring.
    - assert (exp (- (INR u / INR t)) = w ^ u) as <-.
      { unfold w. rewrite exp_pow. reflexivity. }
      apply (mean_bool (bernoulli_exp u t) _ (fun b : bool => if b then g u else c));
        [apply bernoulli_exp_law|apply bernoulli_exp_ends]; lia. }
  assert (c = average t (fun u => w ^ u * g u + (1 - w ^ u) * c)) as step.
  { apply (mean_unique h (laplace_draw t s)); [apply Eq|].
    apply mean_loop with (e := e); [assumption|assumption|].
    apply mean_ext with (2 := M). intros [[]|z]; reflexivity. }
  rewrite (average_ext t _ (fun u => 1 * (w ^ u * g u) + 1 * (1 * c + (- c) * w ^ u))) in step
    by (intros; ring).
  rewrite average_linear, (average_linear t (fun _ => c)), average_const in step by assumption.
  change (average t (pow w)) with acc in step. lra.
Qed.

(* DISCRETE LAPLACE: each whole number z has the chance (1 - E) / (1 + E) E^|z|, ... *)
Theorem laplace_draw_law : forall z,
  chance (laplace_draw t s) (Z.eqb z) ((1 - E) / (1 + E) * E ^ Z.abs_nat z).
Proof.
  intros z. destruct (laplace_mean _ (unital_event _ (Z.eqb z))) as (c & M & I).
  pose proof E_bounds as B. pose proof acc_positive as Spos.
  enough (acc * c = acc * (1 - E) * (E ^ Z.abs_nat z / 2 + c / 2)) as eq.
  { replace ((1 - E) / (1 + E) * E ^ Z.abs_nat z) with c; [exact M|].
    apply Rmult_eq_reg_l with acc; [|lra]. apply Rmult_eq_reg_l with (1 + E); [|lra].
    replace ((1 + E) * (acc * ((1 - E) / (1 + E) * E ^ Z.abs_nat z)))
      with (acc * (1 - E) * E ^ Z.abs_nat z) by (field; lra). nra. }
  apply (uniqueness_sum _ _ _ I).
  pose proof (series_single (Z.abs_nat z) (fun m => acc * (1 - E) * (E ^ m / 2))) as I1.
  pose proof (series_single 0 (fun m => acc * (1 - E) * (c / 2))) as I2.
  pose proof (series_linear _ _ 1 1 _ _ I1 I2) as I3.
  replace (acc * (1 - E) * (E ^ Z.abs_nat z / 2 + c / 2))
    with (1 * (acc * (1 - E) * (E ^ Z.abs_nat z / 2)) + 1 * (acc * (1 - E) * (c / 2))) by ring.
  apply series_ext with (2 := I3). intros m. unfold by_magnitude.
  destruct (Nat.eqb_spec m 0) as [->|more].
  - destruct (Z.eqb_spec z 0) as [->|other].
    + simpl. lra.
    + replace (0 =? Z.abs_nat z)%nat with false by (symmetry; apply Nat.eqb_neq; lia).
      replace (Z.eqb z (Z.of_nat 0)) with false by (symmetry; apply Z.eqb_neq; lia). simpl. lra.
  - destruct (Nat.eqb_spec m (Z.abs_nat z)) as [eq|other].
    + destruct (Z.eqb_spec z (Z.of_nat m)), (Z.eqb_spec z (- Z.of_nat m)); try lia; lra.
    + destruct (Z.eqb_spec z (Z.of_nat m)), (Z.eqb_spec z (- Z.of_nat m)); try lia; lra.
Qed.

(* ... and it ends with chance 1. *)
Theorem laplace_draw_ends : ends (laplace_draw t s).
Proof.
  destruct (laplace_mean (fun _ => 1) ltac:(intros z; lra)) as (c & M & I).
  pose proof E_bounds as B. pose proof acc_positive as Spos.
  enough (c = 1) as G by (subst c; exact M).
  pose proof (series_scale _ (acc * (1 - E)) _ (geometric_series E ltac:(lra))) as I1.
  pose proof (series_single 0 (fun m => acc * (1 - E) * ((c - 1) / 2))) as I2.
  pose proof (series_linear _ _ 1 1 _ _ I1 I2) as I3.
  enough (acc * c = 1 * (acc * (1 - E) * / (1 - E)) + 1 * (acc * (1 - E) * ((c - 1) / 2))) as eq.
  { replace (1 * (acc * (1 - E) * / (1 - E))) with acc in eq by (field; lra).
    apply Rmult_eq_reg_l with (acc * (1 + E)); nra. }
  apply (uniqueness_sum _ _ _ I). apply series_ext with (2 := I3). intros m. unfold by_magnitude.
  destruct (Nat.eqb_spec m 0) as [->|more]; simpl; lra.
Qed.

End DiscreteLaplace.

(* ------------------------------------------------------------------ the laws of noise *)

(* Whole numbers as they are counted: 0, -1, 1, -2, 2, ... *)
Definition zigzag (k : nat) : Z :=
  if Nat.even k then Z.of_nat (Nat.div2 k) else (- Z.of_nat (S (Nat.div2 k)))%Z.

Lemma zigzag_even : forall v, zigzag (2 * v) = Z.of_nat v.
Proof. intros v. unfold zigzag. rewrite Nat.even_mul, Nat.div2_double. reflexivity. Qed.

Lemma zigzag_odd : forall v, zigzag (2 * v + 1) = (- Z.of_nat (S v))%Z.
Proof.
  intros v. unfold zigzag. rewrite Nat.add_1_r, Nat.div2_succ_double, Nat.even_succ, Nat.odd_mul.
  reflexivity.
Qed.

(* Every whole number is counted once. *)
Lemma zigzag_all : forall z, exists k, zigzag k = z /\ forall j, zigzag j = z -> j = k.
Proof.
  assert (forall j z, zigzag j = z -> j = (if Z.leb 0 z then 2 * Z.to_nat z
    else 2 * (Z.to_nat (- z) - 1) + 1)%nat) as only.
  { intros j z. destruct (Nat.Even_or_Odd j) as [[v ->]|[v ->]];
      rewrite ?zigzag_even, ?zigzag_odd; intros <-;
      match goal with |- context [(0 <=? ?y)%Z] => destruct (Z.leb_spec 0 y) end; lia. }
  intros z. exists (if Z.leb 0 z then 2 * Z.to_nat z else 2 * (Z.to_nat (- z) - 1) + 1)%nat.
  split; [|intros j H; apply only; exact H].
  destruct (Z.leb_spec 0 z); rewrite ?zigzag_even, ?zigzag_odd; lia.
Qed.

(* The weight of one whole number, in powers of E = exp(-1/b). *)
Lemma discrete_weight : forall b z, 0 < b ->
  discrete_unit b * exp (- Rabs (IZR z) / b)
  = (1 - exp (- (1 / b))) / (1 + exp (- (1 / b))) * exp (- (1 / b)) ^ Z.abs_nat z.
Proof.
  intros b z pos. rewrite exp_pow, INR_IZR_INZ, Zabs2Nat.id_abs, abs_IZR. f_equal.
  - unfold discrete_unit. rewrite exp_Ropp. pose proof (exp_pos (1 / b)). field. lra.
  - f_equal. field. lra.
Qed.

(* DISCRETE LAPLACE noise of every scale b > 0 is a law: the weights of whole numbers sum to 1. *)
Theorem discrete_laplace_total : forall b, 0 < b ->
  countable_law zigzag (fun z => discrete_unit b * exp (- Rabs (IZR z) / b)).
Proof.
  intros b pos. split.
  { intros z. apply Rmult_le_pos; [left; apply discrete_unit_positive; assumption|].
    left. apply exp_pos. }
  assert (0 < exp (- (1 / b)) < 1) as bounds.
  { split; [apply exp_pos|]. apply exp_less_1, Rdiv_lt_0_compat; lra. }
  apply series_ext with (fun k => (1 - exp (- (1 / b))) / (1 + exp (- (1 / b)))
    * exp (- (1 / b)) ^ Z.abs_nat (zigzag k)).
  { intros. symmetry. apply discrete_weight. assumption. }
  set (E := exp (- (1 / b))) in *.
  assert (0 < (1 - E) / (1 + E)) as upos by (apply Rdiv_lt_0_compat; lra).
  apply (series_blocks 2); [lia| |].
  { intros k. apply Rmult_le_pos; [lra|]. apply pow_le. lra. }
  pose proof (series_scale _ (1 - E) _ (geometric_series E ltac:(lra))) as K.
  rewrite Rinv_r in K by lra. apply series_ext with (2 := K). intros v.
  unfold range_sum. cbn [seq sum]. rewrite Nat.add_0_r, zigzag_even, zigzag_odd.
  replace (Z.abs_nat (Z.of_nat v)) with v by lia.
  replace (Z.abs_nat (- Z.of_nat (S v))) with (S v) by lia. simpl. field. lra.
Qed.

(* LAPLACE noise of scale b: the density has a primitive, which rises from 0 to 1. *)
Definition laplace_primitive (b x : R) : R :=
  if Rle_dec x 0 then exp (x / b) / 2 else 1 - exp (- x / b) / 2.

Theorem laplace_total : forall b, 0 < b ->
  (forall x, derivable_pt_lim (laplace_primitive b) x (laplace_unit b * exp (- Rabs x / b)))
  /\ (forall e, 0 < e -> exists m, forall x, m < x ->
      Rabs (laplace_primitive b (- x) - 0) < e /\ Rabs (laplace_primitive b x - 1) < e).
Proof.
  intros b pos. split.
  - pose (f := fun y => exp (y / b) / 2). pose (g := fun y => 1 - exp (- y / b) / 2).
    assert (forall x, derivable_pt_lim f x (/ (2 * b) * exp (x / b))) as F.
    { intros x. unfold f. replace (/ (2 * b) * exp (x / b)) with (exp (x / b) * (1 / b) / 2)
        by (field; lra).
      apply derivable_pt_lim_div_scal, (derivable_pt_lim_comp (fun y => y / b) exp);
        [|apply derivable_pt_lim_exp]. apply derivable_pt_lim_div_scal, derivable_pt_lim_id. }
    assert (forall x, derivable_pt_lim g x (/ (2 * b) * exp (- x / b))) as G.
    { intros x. unfold g. replace (/ (2 * b) * exp (- x / b))
        with (0 - exp (- x / b) * (- (1) / b) / 2) by (field; lra).
      apply derivable_pt_lim_minus; [apply derivable_pt_lim_const|].
      apply derivable_pt_lim_div_scal, (derivable_pt_lim_comp (fun y => - y / b) exp);
        [|apply derivable_pt_lim_exp].
      apply derivable_pt_lim_div_scal, derivable_pt_lim_opp, derivable_pt_lim_id. }
    intros x. unfold laplace_unit. destruct (Rtotal_order x 0) as [below|[->|above]].
    + rewrite Rabs_left, Ropp_involutive by assumption.
      apply derivable_pt_lim_locally_ext with (f := f) (a := x - 1) (b := 0); [lra| |apply F].
      intros z H. unfold laplace_primitive. destruct (Rle_dec z 0); [reflexivity|lra].
    + intros e epos. destruct (F 0 e epos) as [d1 H1]. destruct (G 0 e epos) as [d2 H2].
      assert (0 < Rmin d1 d2) as dpos by (apply Rmin_pos; apply cond_pos).
      exists (mkposreal _ dpos). simpl. intros h not0 small.
      pose proof (Rmin_l d1 d2). pose proof (Rmin_r d1 d2).
      specialize (H1 h not0 ltac:(lra)). specialize (H2 h not0 ltac:(lra)). unfold f in H1.
      unfold g in H2. unfold laplace_primitive. rewrite Rabs_R0. destruct (Rle_dec 0 0); [|lra].
      rewrite Ropp_0 in *. unfold Rdiv in H1, H2 |- *. rewrite Rmult_0_l, exp_0 in *.
      destruct (Rle_dec (0 + h) 0); [exact H1|].
      replace (1 * / 2) with (1 - 1 * / 2) by lra. exact H2.
    + rewrite Rabs_right by lra.
      apply derivable_pt_lim_locally_ext with (f := g) (a := 0) (b := x + 1); [lra| |apply G].
      intros z H. unfold laplace_primitive. destruct (Rle_dec z 0); [lra|reflexivity].
  - intros e epos. exists (Rmax 0 (- ln e * b)). intros x more.
    pose proof (Rmax_l 0 (- ln e * b)). pose proof (Rmax_r 0 (- ln e * b)).
    assert (exp (- x / b) < e) as small.
    { rewrite <- (exp_ln e epos). apply exp_increasing.
      apply Rmult_lt_reg_r with b; [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    pose proof (exp_pos (- x / b)). unfold laplace_primitive.
    destruct (Rle_dec (- x) 0); [|lra]. destruct (Rle_dec x 0); [lra|].
    split; apply Rabs_def1; lra.
Qed.

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
  replace (- Rabs (IZR z) * (1 * INR s / INR t)) with (- (INR (Z.abs_nat z) * (INR s / INR t))).
  - rewrite tanh_half, <- exp_pow. apply laplace_draw_law; assumption.
  - rewrite INR_IZR_INZ, Zabs2Nat.id_abs, abs_IZR. field. assumption.
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
  - rewrite tanh_half. pose proof (exp_less_1 1).
    assert (0 < (1 - exp (- (1))) / (1 + exp (- (1)))) by (apply Rdiv_lt_0_compat; lra). lra.
Qed.
