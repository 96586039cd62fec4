(* Common ground: finite sums, laws, privacy, and the mechanisms that every paper uses.

   A law is a weight function on outcomes: of a finite or a countable set, where the weights sum to
   1, or a density.  Privacy compares weights outcome by outcome; [private_events] says what follows
   for events, and for everything that is computed from an outcome, also at random.

   Not in it: measures (an event is weighed by whatever is monotone and homogeneous: that sums and
   series are is proved, that integrals are is not), samplers, and floating-point numbers. *)
Require Import Reals Lra Lia List Bool Permutation.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ sums over lists and ranges *)

Fixpoint sum {A} (f : A -> R) (l : list A) : R :=
  match l with [] => 0 | a :: rest => f a + sum f rest end.

(* The sum over 0, ..., n - 1. *)
Definition range_sum (n : nat) (f : nat -> R) : R := sum f (seq 0 n).

Section Sums.
Context {A : Type}.
Implicit Types (f g : A -> R) (l : list A).

Lemma sum_ext_in : forall f g l, (forall a, In a l -> f a = g a) -> sum f l = sum g l.
Proof.
  intros f g l. induction l as [|a l IH]; intros H; simpl; [reflexivity|].
  rewrite H by (left; reflexivity). rewrite IH; [reflexivity|]. intros; apply H; right; assumption.
Qed.

Lemma sum_ext : forall f g l, (forall a, f a = g a) -> sum f l = sum g l.
Proof. intros; apply sum_ext_in; auto. Qed.

Lemma sum_plus : forall f g l, sum (fun a => f a + g a) l = sum f l + sum g l.
Proof. intros f g l. induction l; simpl; lra. Qed.

Lemma sum_minus : forall f g l, sum (fun a => f a - g a) l = sum f l - sum g l.
Proof. intros f g l. induction l; simpl; lra. Qed.

Lemma sum_scale : forall c f l, sum (fun a => c * f a) l = c * sum f l.
Proof. intros c f l. induction l; simpl; lra. Qed.

Lemma sum_const : forall c l, sum (fun _ => c) l = INR (length l) * c.
Proof.
  intros c l. induction l as [|a l IH]; [simpl; lra|].
  change (length (a :: l)) with (S (length l)). rewrite S_INR. simpl. lra.
Qed.

Lemma sum_zero : forall l, sum (fun _ => 0) l = 0.
Proof. intros. rewrite sum_const. lra. Qed.

Lemma sum_app : forall f l k, sum f (l ++ k) = sum f l + sum f k.
Proof. intros f l k. induction l; simpl; lra. Qed.

Lemma sum_le_in : forall f g l, (forall a, In a l -> f a <= g a) -> sum f l <= sum g l.
Proof.
  intros f g l. induction l as [|a l IH]; intros H; simpl; [lra|].
  specialize (IH ltac:(intros; apply H; right; assumption)).
  specialize (H a ltac:(left; reflexivity)). lra.
Qed.

Lemma sum_le : forall f g l, (forall a, f a <= g a) -> sum f l <= sum g l.
Proof. intros; apply sum_le_in; auto. Qed.

Lemma sum_nonneg : forall f l, (forall a, In a l -> 0 <= f a) -> 0 <= sum f l.
Proof. intros. rewrite <- (sum_zero l). apply sum_le_in. assumption. Qed.

Lemma sum_positive : forall f l, l <> [] -> (forall a, In a l -> 0 < f a) -> 0 < sum f l.
Proof.
  intros f [|a l] H K; [congruence|]. simpl.
  pose proof (K a ltac:(left; reflexivity)).
  pose proof (sum_nonneg f l ltac:(intros; left; apply K; right; assumption)). lra.
Qed.

Lemma sum_abs : forall f l, Rabs (sum f l) <= sum (fun a => Rabs (f a)) l.
Proof.
  intros f l. induction l as [|a l IH]; simpl; [rewrite Rabs_R0; lra|].
  pose proof (Rabs_triang (f a) (sum f l)). lra.
Qed.

(* One term of a sum of terms that are not negative. *)
Lemma sum_term : forall f l a, (forall b, In b l -> 0 <= f b) -> In a l -> f a <= sum f l.
Proof.
  intros f l a. induction l as [|b l IH]; intros H K; [contradiction|]. simpl.
  assert (forall b, In b l -> 0 <= f b) by (intros; apply H; right; assumption).
  pose proof (H b ltac:(left; reflexivity)). destruct K as [->|K].
  - pose proof (sum_nonneg f l ltac:(assumption)). lra.
  - pose proof (IH ltac:(assumption) K). lra.
Qed.

End Sums.

Lemma sum_map : forall A B (f : B -> R) (g : A -> B) l, sum f (map g l) = sum (fun a => f (g a)) l.
Proof. intros A B f g l. induction l; simpl; congruence. Qed.

Lemma sum_flat_map : forall A B (f : B -> R) (g : A -> list B) l,
  sum f (flat_map g l) = sum (fun a => sum f (g a)) l.
Proof. intros A B f g l. induction l; simpl; rewrite ?sum_app; congruence. Qed.

(* The order of two summations does not matter. *)
Lemma sum_swap : forall A B (f : A -> B -> R) l k,
  sum (fun a => sum (f a) k) l = sum (fun b => sum (fun a => f a b) l) k.
Proof.
  intros A B f l k. induction l as [|a l IH]; simpl.
  - symmetry. apply sum_zero.
  - rewrite IH, <- sum_plus. reflexivity.
Qed.

(* Sums over ranges; and one term picked by its number. *)
Lemma range_in : forall n i, In i (seq 0 n) <-> (i < n)%nat.
Proof. intros. rewrite in_seq. lia. Qed.

Lemma range_sum_S : forall n f, range_sum (S n) f = range_sum n f + f n.
Proof. intros. unfold range_sum. rewrite seq_S, sum_app. simpl. lra. Qed.

Lemma range_sum_first : forall n f, range_sum (S n) f = f 0%nat + range_sum n (fun i => f (S i)).
Proof. intros. unfold range_sum. simpl. rewrite <- seq_shift, sum_map. reflexivity. Qed.

Lemma range_sum_const : forall n c, range_sum n (fun _ => c) = INR n * c.
Proof. intros. unfold range_sum. rewrite sum_const, seq_length. reflexivity. Qed.

Lemma range_sum_ext : forall n f g, (forall i, (i < n)%nat -> f i = g i) ->
  range_sum n f = range_sum n g.
Proof. intros n f g H. apply sum_ext_in. intros. apply H, range_in. assumption. Qed.

Lemma range_sum_le : forall n f g, (forall i, (i < n)%nat -> f i <= g i) ->
  range_sum n f <= range_sum n g.
Proof. intros n f g H. apply sum_le_in. intros. apply H, range_in. assumption. Qed.

Lemma range_sum_pick : forall n f a, (a < n)%nat ->
  range_sum n (fun i => if Nat.eqb a i then f i else 0) = f a.
Proof.
  induction n as [|n IH]; intros f a H; [lia|]. rewrite range_sum_S.
  destruct (Nat.eqb_spec a n) as [->|ne]; [|rewrite IH by lia; lra].
  rewrite (range_sum_ext n _ (fun _ => 0)), range_sum_const; [lra|].
  intros i I. destruct (Nat.eqb_spec n i); [lia|reflexivity].
Qed.

Lemma sum_permutation : forall A (f : A -> R) l k, Permutation l k -> sum f l = sum f k.
Proof. intros A f l k H. induction H; simpl; lra. Qed.

(* ------------------------------------------------------------------ laws and privacy *)

(* A law on the finite list of all outcomes. *)
Definition finite_law {O} (outcomes : list O) (p : O -> R) : Prop :=
  (forall o, 0 <= p o) /\ sum p outcomes = 1.

(* A law on outcomes that are counted by the natural numbers. *)
Definition countable_law {O} (outcome : nat -> O) (p : O -> R) : Prop :=
  (forall o, 0 <= p o) /\ infinite_sum (fun k => p (outcome k)) 1.

(* The mechanism p, which gives a law for every data set, is epsilon-private for neighbours. *)
Definition private {D O} (near : D -> D -> Prop) (epsilon : R) (p : D -> O -> R) : Prop :=
  forall x y o, near x y -> p x o <= exp epsilon * p y o.

(* What weighs functions on outcomes, [total f s] for "f adds up to s": a sum, a series. *)
Definition weighing {O} (total : (O -> R) -> R -> Prop) : Prop := forall c f g s t, 0 <= c ->
  (forall o, 0 <= f o <= c * g o) -> total f s -> total g t -> s <= c * t.

Lemma finite_weighing : forall O (l : list O), weighing (fun f s => sum f l = s).
Proof. intros O l c f g s t pos H <- <-. rewrite <- sum_scale. apply sum_le. apply H. Qed.

Lemma countable_weighing : forall O (outcome : nat -> O),
  weighing (fun f s => infinite_sum (fun k => f (outcome k)) s).
Proof.
  intros O outcome c f g s t pos H F G. apply Rle_cv_lim with
    (Un := sum_f_R0 (fun k => f (outcome k)))
    (Vn := fun n => c * sum_f_R0 (fun k => g (outcome k)) n).
  - intros n. rewrite scal_sum. apply sum_Rle. intros k _. rewrite Rmult_comm. apply H.
  - exact F.
  - apply (CV_mult (fun _ => c)); [|exact G]. intros e more. exists 0%nat. intros.
    unfold R_dist. rewrite Rminus_eq_0, Rabs_R0. assumption.
Qed.

Section Privacy.
Context {D O : Type} (near : D -> D -> Prop).

(* Events, and post-processing: [kernel o] is the chance that outcome o ends in the event, 0 or 1
   for an event of outcomes, anything between where the release is worked on at random. *)
Theorem private_events : forall epsilon (p : D -> O -> R) total, weighing total ->
  (forall x o, 0 <= p x o) -> private near epsilon p ->
  forall (kernel : O -> R), (forall o, 0 <= kernel o) -> forall x y s t, near x y ->
  total (fun o => p x o * kernel o) s -> total (fun o => p y o * kernel o) t ->
  s <= exp epsilon * t.
Proof.
  intros epsilon p total weighs positive safe kernel kernel_pos x y s t close.
  apply weighs; [left; apply exp_pos|]. intros o. split; [apply Rmult_le_pos; auto|].
  rewrite <- Rmult_assoc. apply Rmult_le_compat_r; auto.
Qed.

(* A larger epsilon promises less. *)
Lemma private_more : forall e f (p : D -> O -> R), (forall x o, 0 <= p x o) -> e <= f ->
  private near e p -> private near f p.
Proof.
  intros e f p positive more safe x y o close.
  apply Rle_trans with (exp e * p y o); [auto|]. apply Rmult_le_compat_r; [auto|].
  destruct more as [more|<-]; [left; apply exp_increasing; assumption|lra].
Qed.

(* Composition: the second release is e2-private whatever the first one, o, was. *)
Theorem private_composition : forall Q e1 e2 (p : D -> O -> R) (q : O -> D -> Q -> R),
  (forall x o, 0 <= p x o) -> (forall o x r, 0 <= q o x r) ->
  private near e1 p -> (forall o, private near e2 (q o)) ->
  private near (e1 + e2) (fun x both => p x (fst both) * q (fst both) x (snd both)).
Proof.
  intros Q e1 e2 p q ppos qpos ps qs x y [o r] close. simpl. rewrite exp_plus.
  replace (exp e1 * exp e2 * (p y o * q o y r)) with ((exp e1 * p y o) * (exp e2 * q o y r))
    by ring.
  apply Rmult_le_compat; auto. apply qs. assumption.
Qed.

(* Mixtures: a mechanism that is chosen at random, without a look at the data. *)
Theorem private_mixture : forall C epsilon (choices : list C) (w : C -> R) (p : C -> D -> O -> R),
  (forall c, 0 <= w c) -> (forall c, private near epsilon (p c)) ->
  private near epsilon (fun x o => sum (fun c => w c * p c x o) choices).
Proof.
  intros C epsilon choices w p wpos safe x y o close. rewrite <- sum_scale. apply sum_le. intros c.
  replace (exp epsilon * (w c * p c y o)) with (w c * (exp epsilon * p c y o)) by ring.
  apply Rmult_le_compat_l; auto. apply safe. assumption.
Qed.

(* Data sets that are k steps between neighbours apart. *)
Inductive apart : nat -> D -> D -> Prop :=
  | apart_none : forall x, apart 0 x x
  | apart_more : forall k x y z, near x y -> apart k y z -> apart (S k) x z.

Theorem private_group : forall epsilon (p : D -> O -> R) k, private near epsilon p ->
  private (apart k) (INR k * epsilon) p.
Proof.
  intros epsilon p k safe x z o steps. induction steps as [x|k x y z close steps IH].
  - simpl. rewrite Rmult_0_l, exp_0. lra.
  - rewrite S_INR. replace ((INR k + 1) * epsilon) with (epsilon + INR k * epsilon) by ring.
    rewrite exp_plus, Rmult_assoc. apply Rle_trans with (exp epsilon * p y o); [auto|].
    apply Rmult_le_compat_l; [left; apply exp_pos|assumption].
Qed.

End Privacy.

(* The data are worked on before, without randomness: what is private for the image is private. *)
Lemma private_image : forall D E O (near : D -> D -> Prop) (close : E -> E -> Prop) (f : D -> E)
  epsilon (p : E -> O -> R), (forall x y, near x y -> close (f x) (f y)) ->
  private close epsilon p -> private near epsilon (fun x => p (f x)).
Proof. intros D E O near close f epsilon p H safe x y o n. apply safe. auto. Qed.

(* ------------------------------------------------------------------ randomised response *)

Section RandomizedResponse.
Variable epsilon : R.
Hypothesis epsilon_nonneg : 0 <= epsilon.

(* The chance that the answer b is sent where the true one is a. *)
Definition answer (a b : bool) : R := (if eqb a b then exp epsilon else 1) / (exp epsilon + 1).

(* The same for a list of answers, each with randomness of its own. *)
Fixpoint answers (truth sent : list bool) : R :=
  match truth, sent with
  | [], [] => 1
  | a :: truth', b :: sent' => answer a b * answers truth' sent'
  | _, _ => 0
  end.

(* In how many places two lists of answers differ. *)
Fixpoint differences (u v : list bool) : nat :=
  match u, v with
  | a :: u', b :: v' => ((if eqb a b then 0 else 1) + differences u' v')%nat
  | _, _ => 0%nat
  end.

(* All lists of so many answers. *)
Fixpoint all_answers (n : nat) : list (list bool) :=
  match n with
  | O => [[]]
  | S m => flat_map (fun rest => [true :: rest; false :: rest]) (all_answers m)
  end.

Lemma exp_at_least_1 : 1 <= exp epsilon.
Proof.
  destruct epsilon_nonneg as [H|<-]; [|rewrite exp_0; lra].
  rewrite <- exp_0. left. apply exp_increasing. assumption.
Qed.

Lemma answer_positive : forall a b, 0 < answer a b.
Proof.
  intros. unfold answer. pose proof (exp_pos epsilon).
  apply Rdiv_lt_0_compat; [destruct (eqb a b)|]; lra.
Qed.

Lemma answer_total : forall a, answer a true + answer a false = 1.
Proof. intros a. unfold answer. pose proof (exp_pos epsilon). destruct a; simpl; field; lra. Qed.

Lemma answer_law : forall a, finite_law [true; false] (answer a).
Proof.
  intros a. split; [intros; left; apply answer_positive|]. simpl.
  rewrite <- (answer_total a). lra.
Qed.

Lemma answer_kept : forall a c, answer a c <= exp epsilon * answer (negb a) c.
Proof.
  intros a c. pose proof exp_at_least_1 as H. unfold answer, Rdiv.
  assert (0 < / (exp epsilon + 1)) as K by (apply Rinv_0_lt_compat; lra).
  set (E := exp epsilon) in *. set (i := / (E + 1)) in *. assert (i <= E * i) by nra.
  assert (E * i <= E * (E * i)) by (apply Rmult_le_compat_l; nra).
  destruct a, c; simpl; nra.
Qed.

Lemma answers_positive : forall u r, length u = length r -> 0 < answers u r.
Proof.
  induction u as [|a u IH]; intros [|b r] L; simpl in *; try discriminate; [lra|].
  apply Rmult_lt_0_compat; [apply answer_positive|apply IH; lia].
Qed.

Lemma answers_nonneg : forall u r, 0 <= answers u r.
Proof.
  induction u as [|a u IH]; intros [|b r]; simpl; try lra.
  apply Rmult_le_pos; [left; apply answer_positive|apply IH].
Qed.

Theorem answers_law : forall u, finite_law (all_answers (length u)) (answers u).
Proof.
  intros u. split; [apply answers_nonneg|]. induction u as [|a u IH]; simpl; [lra|].
  rewrite sum_flat_map, (sum_ext _ (fun rest => 1 * answers u rest)); [rewrite sum_scale; lra|].
  intros rest. simpl. rewrite <- (answer_total a). ring.
Qed.

(* A list of answers loses at most epsilon for each place in which the truth differs, ... *)
Theorem answers_private : forall u v r, length u = length v ->
  answers u r <= exp (INR (differences u v) * epsilon) * answers v r.
Proof.
  induction u as [|a u IH]; intros [|b v] [|c r] L; simpl in L; try discriminate; simpl.
  - rewrite Rmult_0_l, exp_0. lra.
  - lra.
  - lra.
  - rewrite plus_INR, Rmult_plus_distr_r, exp_plus.
    replace (exp (INR (if eqb a b then 0 else 1) * epsilon) * exp (INR (differences u v) * epsilon)
      * (answer b c * answers v r)) with ((exp (INR (if eqb a b then 0 else 1) * epsilon)
      * answer b c) * (exp (INR (differences u v) * epsilon) * answers v r)) by ring.
    apply Rmult_le_compat; [left; apply answer_positive|apply answers_nonneg| |apply IH; lia].
    destruct a, b; simpl; rewrite ?Rmult_0_l, ?Rmult_1_l, ?exp_0; try lra;
      [apply (answer_kept true)|apply (answer_kept false)].
Qed.

(* ... and no less: the true answers themselves lose it. *)
Theorem answers_attained : forall u v, length u = length v ->
  answers u u = exp (INR (differences u v) * epsilon) * answers v u.
Proof.
  induction u as [|a u IH]; intros [|b v] L; simpl in L; try discriminate; simpl.
  - rewrite Rmult_0_l, exp_0. lra.
  - rewrite (IH v) by lia. rewrite plus_INR, Rmult_plus_distr_r, exp_plus.
    pose proof (exp_pos epsilon).
    assert (answer a a = exp (INR (if eqb a b then 0 else 1) * epsilon) * answer b a) as ->.
    { unfold answer. destruct a, b; simpl; rewrite ?Rmult_0_l, ?Rmult_1_l, ?exp_0; field; lra. }
    ring.
Qed.

End RandomizedResponse.

(* ------------------------------------------------------------------ noise on vectors *)

Lemma exp_le : forall x y, x <= y -> exp x <= exp y.
Proof. intros x y [H|<-]; [left; apply exp_increasing; assumption|lra]. Qed.

(* The l1 distance of two vectors with n entries. *)
Definition l1 (n : nat) (u v : nat -> R) : R := range_sum n (fun i => Rabs (u i - v i)).

Lemma l1_triangle : forall n u v w, l1 n u w <= l1 n u v + l1 n v w.
Proof.
  intros. unfold l1, range_sum. rewrite <- sum_plus. apply sum_le. intros i.
  replace (u i - w i) with ((u i - v i) + (v i - w i)) by ring. apply Rabs_triang.
Qed.

Lemma l1_sym : forall n u v, l1 n u v = l1 n v u.
Proof. intros. apply sum_ext. intros. apply Rabs_minus_sym. Qed.

Lemma l1_self : forall n u, l1 n u u = 0.
Proof.
  intros. unfold l1, range_sum. rewrite (sum_ext _ (fun _ => 0)); [apply sum_zero|].
  intros. replace (u a - u a) with 0 by ring. apply Rabs_R0.
Qed.

Lemma l1_nonneg : forall n u v, 0 <= l1 n u v.
Proof. intros. apply sum_nonneg. intros. apply Rabs_pos. Qed.

(* Noise whose weight falls with a gauge of the noise: [unit] is what makes the weights sum, or
   integrate, to 1, and the same for all centres.  Outcomes, centres and moves are of any kind. *)
Section GaugeNoise.
Context {V : Type} (gauge : V -> V -> R).  (* of an outcome, seen from a centre *)
Variable unit : R.
Hypothesis unit_positive : 0 < unit.

Definition gauge_noise (b : R) (centre outcome : V) : R := unit * exp (- gauge outcome centre / b).

(* Between centres of which an outcome is at most d further from the one than from the other. *)
Theorem gauge_noise_private : forall b d, 0 < b -> forall u v,
  (forall o, gauge o v <= gauge o u + d) ->
  forall o, gauge_noise b u o <= exp (d / b) * gauge_noise b v o.
Proof.
  intros b d pos u v close o. unfold gauge_noise.
  replace (exp (d / b) * (unit * exp (- gauge o v / b)))
    with (unit * (exp (d / b) * exp (- gauge o v / b))) by ring.
  apply Rmult_le_compat_l; [lra|]. rewrite <- exp_plus. apply exp_le. specialize (close o).
  assert (0 < / b) by (apply Rinv_0_lt_compat; assumption). unfold Rdiv. nra.
Qed.

End GaugeNoise.

(* The weight of the vector x under independent noise around u: Laplace with density
   exp(-|x - u| / b) / (2 b) in each entry; and discrete Laplace, where x is of whole numbers (and u
   should be), with exp(-|x - u| / b) (e^(1/b) - 1) / (e^(1/b) + 1). *)
Definition laplace_unit (b : R) : R := / (2 * b).
Definition discrete_unit (b : R) : R := (exp (1 / b) - 1) / (exp (1 / b) + 1).
Definition vector_noise (unit : R) (n : nat) (b : R) : (nat -> R) -> (nat -> R) -> R :=
  gauge_noise (l1 n) (unit ^ n) b.
Definition laplace (n : nat) (b : R) := vector_noise (laplace_unit b) n b.
Definition reals (z : nat -> Z) (i : nat) : R := IZR (z i).
Definition discrete_laplace (n : nat) (b : R) (u : nat -> R) (z : nat -> Z) : R :=
  vector_noise (discrete_unit b) n b u (reals z).

Lemma laplace_unit_positive : forall b, 0 < b -> 0 < laplace_unit b.
Proof. intros. apply Rinv_0_lt_compat. lra. Qed.

Lemma discrete_unit_positive : forall b, 0 < b -> 0 < discrete_unit b.
Proof.
  intros b H. assert (0 < 1 / b) as K by (apply Rdiv_lt_0_compat; lra).
  pose proof (exp_increasing 0 (1 / b) K) as L. rewrite exp_0 in L.
  apply Rdiv_lt_0_compat; lra.
Qed.

(* The weight of a vector is the product over its entries: they are independent. *)
Lemma vector_noise_product : forall unit n b u x, vector_noise unit n b u x
  = fold_right Rmult 1 (map (fun i => unit * exp (- Rabs (x i - u i) / b)) (seq 0 n)).
Proof.
  intros unit n b u x. unfold vector_noise, gauge_noise, l1, range_sum.
  generalize 0%nat as k. induction n as [|n IH]; intros k; simpl.
  - replace (- 0 / b) with 0 by (unfold Rdiv; ring). rewrite exp_0. ring.
  - rewrite <- IH.
    replace (- (Rabs (x k - u k) + sum (fun i => Rabs (x i - u i)) (seq (S k) n)) / b)
      with (- Rabs (x k - u k) / b + - sum (fun i => Rabs (x i - u i)) (seq (S k) n) / b)
      by (unfold Rdiv; ring). rewrite exp_plus. ring.
Qed.

(* Noise on vectors loses at most the l1 distance over b, ... *)
Theorem vector_noise_private : forall unit n b u v x, 0 < unit -> 0 < b ->
  vector_noise unit n b u x <= exp (l1 n u v / b) * vector_noise unit n b v x.
Proof.
  intros. apply gauge_noise_private; auto; [apply pow_lt; assumption|].
  intros o. rewrite (l1_sym n u v), (l1_sym n v u). apply l1_triangle.
Qed.

(* ... and exactly that at x = u. *)
Theorem vector_noise_attained : forall unit n b u v, 0 < b ->
  vector_noise unit n b u u = exp (l1 n u v / b) * vector_noise unit n b v u.
Proof.
  intros. unfold vector_noise, gauge_noise. rewrite l1_self.
  replace (exp (l1 n u v / b) * (unit ^ n * exp (- l1 n u v / b)))
    with (unit ^ n * (exp (l1 n u v / b) * exp (- l1 n u v / b))) by ring.
  rewrite <- exp_plus. f_equal. f_equal. field. lra.
Qed.

(* Hence noise of a scale below (what the counts can move) / epsilon is not private, where the
   outcome u can come out: *)
Corollary vector_noise_least : forall unit n b epsilon u v, 0 < unit -> 0 < b ->
  vector_noise unit n b u u <= exp epsilon * vector_noise unit n b v u -> l1 n u v <= epsilon * b.
Proof.
  intros unit n b epsilon u v upos bpos safe.
  rewrite (vector_noise_attained unit n b u v bpos) in safe.
  assert (0 < vector_noise unit n b v u) as pos.
  { unfold vector_noise, gauge_noise. apply Rmult_lt_0_compat; [apply pow_lt; auto|apply exp_pos]. }
  apply Rmult_le_reg_r in safe; [|assumption].
  assert (l1 n u v / b <= epsilon) as K.
  { destruct (Rle_or_lt (l1 n u v / b) epsilon) as [H|H]; [assumption|].
    apply exp_increasing in H. lra. }
  apply Rmult_le_compat_r with (r := b) in K; [|lra].
  replace (l1 n u v / b * b) with (l1 n u v) in K by (field; lra). assumption.
Qed.

(* And noise of the scale (the most that the counts can move) / epsilon is private. *)
Corollary vector_noise_enough : forall D (near : D -> D -> Prop) (f : D -> nat -> R) unit n
  sensitivity epsilon, 0 < unit -> 0 < sensitivity -> 0 < epsilon ->
  (forall x y, near x y -> l1 n (f x) (f y) <= sensitivity) ->
  private near epsilon (fun d => vector_noise unit n (sensitivity / epsilon) (f d)).
Proof.
  intros D near f unit n s epsilon upos spos epos H x y o close.
  assert (0 < s / epsilon) as bpos by (apply Rdiv_lt_0_compat; lra).
  eapply Rle_trans; [apply (vector_noise_private unit n _ (f x) (f y) o upos bpos)|].
  apply Rmult_le_compat_r.
  { unfold vector_noise, gauge_noise. apply Rmult_le_pos; [apply pow_le; lra|left; apply exp_pos]. }
  apply exp_le. specialize (H x y close).
  apply Rmult_le_reg_r with (s / epsilon); [assumption|].
  replace (l1 n (f x) (f y) / (s / epsilon) * (s / epsilon)) with (l1 n (f x) (f y))
    by (field; lra).
  replace (epsilon * (s / epsilon)) with s by (field; lra). assumption.
Qed.
