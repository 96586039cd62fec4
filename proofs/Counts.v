(* Win counts: how far they move when one comparison, or all that one person said, is replaced.

   For every number n of items and L of comparisons: the largest change in l1, l2 and l-infinity,
   with data that reach it.  This is claim BOOK-SENS-COUNTS, and what CCW25.v needs for the noise on
   counts.

   Not in it: the l2 norm where pairs may be skipped. *)
Require Import Reals Lra Lia ZArith List Bool Permutation.
From Ranking Require Import Privacy.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ common: sums over ranges *)

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

Lemma range_sum_few : forall k n f, (k <= n)%nat -> (forall i, (k <= i)%nat -> f i = 0) ->
  range_sum n f = range_sum k f.
Proof.
  intros k n f H Z. unfold range_sum. replace n with (k + (n - k))%nat by lia.
  rewrite seq_app, sum_app, (sum_ext_in f (fun _ => 0) (seq (0 + k) (n - k))).
  - rewrite sum_zero. ring.
  - intros i I. apply in_seq in I. apply Z. lia.
Qed.

Lemma range_sum_two : forall n f, (2 <= n)%nat -> (forall i, (2 <= i)%nat -> f i = 0) ->
  range_sum n f = f 0%nat + f 1%nat.
Proof. intros n f H Z. rewrite (range_sum_few 2 n f H Z). unfold range_sum. simpl. ring. Qed.

Lemma sum_pick : forall (f : nat -> R) a l, NoDup l -> In a l ->
  sum (fun i => if Nat.eqb a i then f i else 0) l = f a.
Proof.
  intros f a l D. induction D as [|b l out D IH]; intros H; [contradiction|]. simpl.
  destruct (Nat.eqb_spec a b) as [->|ne].
  - rewrite (sum_ext_in _ (fun _ => 0)); [rewrite sum_zero; lra|].
    intros c K. destruct (Nat.eqb_spec b c); [congruence|reflexivity].
  - rewrite IH; [lra|]. destruct H; [congruence|assumption].
Qed.

Lemma range_sum_pick : forall n f a, (a < n)%nat ->
  range_sum n (fun i => if Nat.eqb a i then f i else 0) = f a.
Proof. intros. apply sum_pick; [apply seq_NoDup|]. apply range_in. assumption. Qed.

Lemma sum_permutation : forall A (f : A -> R) l k, Permutation l k -> sum f l = sum f k.
Proof. intros A f l k H. induction H; simpl; lra. Qed.

(* ------------------------------------------------------------------ sensitivities *)

Definition l2 (n : nat) (u v : nat -> R) : R := sqrt (range_sum n (fun i => (u i - v i) ^ 2)).
Definition linf (n : nat) (u v : nat -> R) : R :=
  fold_right Rmax 0 (map (fun i => Rabs (u i - v i)) (seq 0 n)).

(* The statistic f moves by at most S between neighbours, and some neighbours move it by S. *)
Definition sensitivity {D} (dist : (nat -> R) -> (nat -> R) -> R) (near : D -> D -> Prop)
  (f : D -> nat -> R) (S : R) : Prop :=
  (forall x y, near x y -> dist (f x) (f y) <= S) /\
  (exists x y, near x y /\ dist (f x) (f y) = S).

Lemma sensitivity_unique : forall D dist (near : D -> D -> Prop) f S T,
  sensitivity dist near f S -> sensitivity dist near f T -> S = T.
Proof.
  intros D dist near f S T [below [x [y [close reached]]]] [below' [x' [y' [close' reached']]]].
  specialize (below x' y' close'). specialize (below' x y close). lra.
Qed.

(* Distances see the differences alone. *)
Definition of_difference (n : nat) (dist : (nat -> R) -> (nat -> R) -> R) : Prop :=
  forall u v u' v', (forall i, u i - v i = u' i - v' i) -> dist u v = dist u' v'.

Lemma l1_of_difference : forall n, of_difference n (l1 n).
Proof. intros n u v u' v' H. apply sum_ext. intros. rewrite H. reflexivity. Qed.

Lemma l2_of_difference : forall n, of_difference n (l2 n).
Proof. intros n u v u' v' H. unfold l2. f_equal. apply sum_ext. intros. rewrite H. reflexivity. Qed.

Lemma linf_of_difference : forall n, of_difference n (linf n).
Proof.
  intros n u v u' v' H. unfold linf. f_equal. apply map_ext. intros. rewrite H. reflexivity.
Qed.

Lemma linf_le : forall n u v S, 0 <= S -> (forall i, (i < n)%nat -> Rabs (u i - v i) <= S) ->
  linf n u v <= S.
Proof.
  intros n u v S pos H. unfold linf.
  assert (forall i, In i (seq 0 n) -> Rabs (u i - v i) <= S) as K
    by (intros; apply H, range_in; assumption).
  induction (seq 0 n) as [|a l IH]; simpl; [assumption|].
  apply Rmax_lub; [apply K; left; reflexivity|]. apply IH. intros. apply K. right. assumption.
Qed.

Lemma linf_ge : forall n u v i, (i < n)%nat -> Rabs (u i - v i) <= linf n u v.
Proof.
  intros n u v i H. apply range_in in H. unfold linf.
  induction (seq 0 n) as [|a l IH]; simpl; [contradiction|]. destruct H as [->|H].
  - apply Rmax_l.
  - eapply Rle_trans; [apply IH, H|apply Rmax_r].
Qed.

(* ------------------------------------------------------------------ one person of many *)

Section Persons.
Context {P : Type}.

(* The sum over all people of what each of them adds to entry i. *)
Definition total (f : P -> nat -> R) (x : list P) (i : nat) : R := sum (fun p => f p i) x.

(* What one person said is replaced, beside m others whose data stay; ok says what one may say. *)
Definition replaced (m : nat) (ok : P -> Prop) (x y : list P) : Prop :=
  exists p q rest, ok p /\ ok q /\ Forall ok rest /\ length rest = m /\
    Permutation x (p :: rest) /\ Permutation y (q :: rest).

Lemma total_moves : forall f p q rest (x y : list P) i,
  Permutation x (p :: rest) -> Permutation y (q :: rest) ->
  total f x i - total f y i = f p i - f q i.
Proof.
  intros f p q rest x y i X Y. unfold total.
  rewrite (sum_permutation _ _ x _ X), (sum_permutation _ _ y _ Y). simpl. lra.
Qed.

(* The others cancel. *)
Lemma one_person : forall n dist m (ok : P -> Prop) f S, of_difference n dist ->
  (forall p q, ok p -> ok q -> dist (f p) (f q) <= S) ->
  (exists p q, ok p /\ ok q /\ dist (f p) (f q) = S) ->
  sensitivity dist (replaced m ok) (total f) S.
Proof.
  intros n dist m ok f S diff below [p [q [okp [okq reached]]]]. split.
  - intros x y [a [b [rest [oka [okb [_ [_ [X Y]]]]]]]].
    rewrite (diff _ _ (f a) (f b)) by (intros; apply total_moves with rest; assumption). auto.
  - exists (p :: repeat p m), (q :: repeat p m). split.
    + exists p, q, (repeat p m). repeat split; auto; [|apply repeat_length].
      apply Forall_forall. intros a H. apply repeat_spec in H. subst. assumption.
    + rewrite (diff _ _ (f p) (f q)); [assumption|]. intros.
      apply total_moves with (repeat p m); reflexivity.
Qed.

End Persons.

(* ------------------------------------------------------------------ comparisons *)

(* A comparison of two of the items 0, ..., n - 1: (winner, loser). *)
Definition game : Type := nat * nat.
Definition valid (n : nat) (g : game) : Prop := (fst g < n /\ snd g < n /\ fst g <> snd g)%nat.
Definition swap (g : game) : game := (snd g, fst g).
Definition pair_of (g : game) : nat * nat := (min (fst g) (snd g), max (fst g) (snd g)).

Definition won (g : game) (i : nat) : R := if Nat.eqb (fst g) i then 1 else 0.
Definition wins : list game -> nat -> R := total won.

(* Edge neighbours (CCW25-ADJ-EDGE): every pair is compared at most once; one comparison is turned
   round, or gives way to one of a pair that was not compared. *)
Definition edge_data (n : nat) (x : list game) : Prop :=
  Forall (valid n) x /\ NoDup (map pair_of x).
Definition edge (n : nat) (x y : list game) : Prop :=
  edge_data n x /\ edge_data n y /\ exists g h rest, g <> h /\
    Permutation x (g :: rest) /\ Permutation y (h :: rest).

Lemma edge_games : forall n x y, edge n x y -> exists g h rest, valid n g /\ valid n h /\
  Permutation x (g :: rest) /\ Permutation y (h :: rest).
Proof.
  intros n x y [[X _] [[Y _] [g [h [rest [_ [px py]]]]]]]. exists g, h, rest.
  rewrite Forall_forall in X, Y. split; [|split]; auto; [apply X|apply Y];
    eapply Permutation_in; try (apply Permutation_sym; eassumption); left; reflexivity.
Qed.

Lemma edge_flip : forall n, (2 <= n)%nat -> edge n [(0, 1)%nat] [(1, 0)%nat].
Proof.
  intros n H. repeat split; try (constructor; [|constructor]); try (unfold valid; simpl; lia);
    try tauto. exists (0, 1)%nat, (1, 0)%nat, []. repeat split; auto. congruence.
Qed.

(* It is a flip or an exchange: *)
Lemma edge_kinds : forall n g h, valid n g -> valid n h -> g <> h ->
  h = swap g \/ pair_of g <> pair_of h.
Proof.
  intros n [a b] [c d] [_ [_ G]] [_ [_ H]] ne. unfold swap, pair_of in *. simpl in *.
  destruct (Nat.eq_dec c b) as [->|], (Nat.eq_dec d a) as [->|]; auto; right; intros E;
    injection E as E F; apply ne; f_equal; lia.
Qed.

(* The L comparisons of one person, of any pairs, also of one pair again and again. *)
Definition pile (n L : nat) (l : list game) : Prop := Forall (valid n) l /\ length l = L.

Lemma won_bounds : forall g i, 0 <= won g i <= 1.
Proof. intros. unfold won. destruct (Nat.eqb _ _); lra. Qed.

Lemma total_bounds : forall P f (x : list P) i, (forall p, 0 <= f p i <= 1) ->
  0 <= total f x i <= INR (length x).
Proof.
  intros P f x i H. unfold total. split; [apply sum_nonneg; intros; apply H|].
  rewrite <- (Rmult_1_r (INR (length x))), <- sum_const. apply sum_le. intros. apply H.
Qed.

Lemma wins_bounds : forall l i, 0 <= wins l i <= INR (length l).
Proof. intros. apply total_bounds. intros. apply won_bounds. Qed.

Lemma wins_total : forall n l, Forall (valid n) l -> range_sum n (wins l) = INR (length l).
Proof.
  intros n l H. unfold range_sum, wins, total. rewrite sum_swap.
  rewrite (sum_ext_in _ (fun _ => 1)); [rewrite sum_const; lra|].
  intros g K. rewrite Forall_forall in H. destruct (H g K) as [W _].
  apply (range_sum_pick n (fun _ => 1) (fst g) W).
Qed.

Lemma abs_minus : forall a b, 0 <= a -> 0 <= b -> Rabs (a - b) <= a + b.
Proof. intros. unfold Rabs. destruct (Rcase_abs _); lra. Qed.

Lemma wins_l1 : forall n l k, Forall (valid n) l -> Forall (valid n) k ->
  l1 n (wins l) (wins k) <= INR (length l) + INR (length k).
Proof.
  intros n l k X Y. rewrite <- (wins_total n l X), <- (wins_total n k Y).
  unfold l1, range_sum. rewrite <- sum_plus. apply sum_le. intros i.
  apply abs_minus; apply wins_bounds.
Qed.

Lemma wins_linf : forall l k i, length l = length k ->
  Rabs (wins l i - wins k i) <= INR (length l).
Proof.
  intros l k i E. pose proof (wins_bounds l i). pose proof (wins_bounds k i).
  rewrite <- E in *. unfold Rabs. destruct (Rcase_abs _); lra.
Qed.

(* e_winner - e_loser. *)
Definition arrow (g : game) (i : nat) : R := won g i - won (swap g) i.

Lemma arrow_l1 : forall n g, valid n g -> range_sum n (fun i => Rabs (arrow g i)) <= 2.
Proof.
  intros n g [W [V _]]. apply Rle_trans with (range_sum n (fun i => won g i + won (swap g) i)).
  - apply range_sum_le. intros. apply abs_minus; apply won_bounds.
  - unfold range_sum, won, swap. rewrite sum_plus. simpl.
    pose proof (range_sum_pick n (fun _ => 1) _ W). pose proof (range_sum_pick n (fun _ => 1) _ V).
    unfold range_sum in *. lra.
Qed.

(* Between l1 and l-infinity. *)
Lemma l2_le : forall n u v a b, 0 <= a -> (forall i, (i < n)%nat -> Rabs (u i - v i) <= a) ->
  l1 n u v <= b -> l2 n u v <= sqrt (a * b).
Proof.
  intros n u v a b pos each all. apply sqrt_le_1_alt. apply Rle_trans with (a * l1 n u v).
  - unfold l1, range_sum. rewrite <- sum_scale. apply range_sum_le. intros i H.
    rewrite <- pow2_abs. specialize (each i H). pose proof (Rabs_pos (u i - v i)). simpl. nra.
  - apply Rmult_le_compat_l; assumption.
Qed.

Lemma wins_repeat : forall g L i, wins (repeat g L) i = INR L * won g i.
Proof.
  intros g L i. unfold wins, total. induction L as [|L IH]; [simpl; lra|].
  rewrite S_INR. simpl repeat. simpl sum. rewrite IH. lra.
Qed.

Lemma pile_valid : forall n L a b, (a < n)%nat -> (b < n)%nat -> a <> b ->
  pile n L (repeat (a, b) L).
Proof.
  intros. split; [|apply repeat_length]. apply Forall_forall. intros g K.
  apply repeat_spec in K. subst. unfold valid. simpl. auto.
Qed.

Lemma sqrt_2_square : forall a, 0 <= a -> sqrt (a * (2 * a)) = sqrt 2 * a.
Proof.
  intros. replace (a * (2 * a)) with (2 * (a * a)) by ring.
  rewrite sqrt_mult by nra. rewrite sqrt_square by assumption. reflexivity.
Qed.

(* The first of two items wins all L comparisons, or the second does. *)
Lemma moved : forall n L, (2 <= n)%nat ->
  let u := wins (repeat (0, 1)%nat L) in let v := wins (repeat (1, 0)%nat L) in
  l1 n u v = 2 * INR L /\ l2 n u v = sqrt 2 * INR L /\ linf n u v = INR L.
Proof.
  intros n L H u v. pose proof (pos_INR L).
  assert (u 0%nat - v 0%nat = INR L) as zero
    by (unfold u, v; rewrite !wins_repeat; unfold won; simpl; lra).
  assert (u 1%nat - v 1%nat = - INR L) as one
    by (unfold u, v; rewrite !wins_repeat; unfold won; simpl; lra).
  assert (forall i, (2 <= i)%nat -> u i - v i = 0) as other.
  { intros i K. unfold u, v. rewrite !wins_repeat. unfold won.
    destruct i as [|[|i]]; simpl; try lia. lra. }
  repeat split.
  - unfold l1. rewrite range_sum_two; auto.
    + rewrite zero, one, Rabs_Ropp, Rabs_pos_eq; lra.
    + intros. rewrite other by assumption. apply Rabs_R0.
  - unfold l2. rewrite range_sum_two; auto.
    + rewrite zero, one. rewrite <- sqrt_2_square by assumption. f_equal. ring.
    + intros. rewrite other by assumption. ring.
  - apply Rle_antisym.
    + apply linf_le; [assumption|]. intros i K. unfold u, v.
      rewrite <- (repeat_length (0, 1)%nat L) at 3.
      apply wins_linf. rewrite !repeat_length. reflexivity.
    + rewrite <- (Rabs_pos_eq (INR L)) by assumption. rewrite <- zero. apply linf_ge. lia.
Qed.

(* L comparisons of one person, beside those of m others: 2L, sqrt 2 L in l2, L in one count. *)
Theorem pile_sensitivity : forall n L m, (2 <= n)%nat ->
  sensitivity (l1 n) (replaced m (pile n L)) (total wins) (2 * INR L) /\
  sensitivity (l2 n) (replaced m (pile n L)) (total wins) (sqrt 2 * INR L) /\
  sensitivity (linf n) (replaced m (pile n L)) (total wins) (INR L).
Proof.
  intros n L m H. destruct (moved n L H) as [one [two sup]].
  assert (pile n L (repeat (0, 1)%nat L)) by (apply pile_valid; lia).
  assert (pile n L (repeat (1, 0)%nat L)) by (apply pile_valid; lia).
  assert (forall p q, pile n L p -> pile n L q -> l1 n (wins p) (wins q) <= 2 * INR L) as K.
  { intros p q [P <-] [Q E]. eapply Rle_trans; [apply wins_l1; assumption|]. rewrite E. lra. }
  assert (forall (dist : (nat -> R) -> (nat -> R) -> R) S,
    dist (wins (repeat (0, 1)%nat L)) (wins (repeat (1, 0)%nat L)) = S ->
    exists p q, pile n L p /\ pile n L q /\ dist (wins p) (wins q) = S) as reach
    by (intros; do 2 eexists; eauto).
  split; [|split]; apply (one_person n); auto.
  - apply l1_of_difference.
  - apply l2_of_difference.
  - intros p q P Q. rewrite <- sqrt_2_square by apply pos_INR.
    apply l2_le; [apply pos_INR| |apply K; assumption].
    destruct P as [_ <-], Q as [_ E]. intros. apply wins_linf. auto.
  - apply linf_of_difference.
  - intros p q [_ <-] [_ E]. apply linf_le; [apply pos_INR|]. intros. apply wins_linf. auto.
Qed.

(* One comparison, flipped or exchanged: 2, sqrt 2, and 1 in one count. *)
Theorem edge_sensitivity : forall n, (2 <= n)%nat ->
  sensitivity (l1 n) (edge n) wins 2 /\
  sensitivity (l2 n) (edge n) wins (sqrt 2) /\
  sensitivity (linf n) (edge n) wins 1.
Proof.
  intros n H. destruct (pile_sensitivity n 1 0 H) as [[one _] [[two _] [sup _]]].
  destruct (moved n 1 H) as [one' [two' sup']].
  change (INR 1) with 1 in *. rewrite Rmult_1_r in *.
  assert (forall x y, edge n x y -> exists p q, replaced 0 (pile n 1) [p] [q] /\
    forall i, wins x i - wins y i = total wins [p] i - total wins [q] i) as as_pile.
  { intros x y close. destruct (edge_games n x y close) as [g [h [rest [G [K [X Y]]]]]].
    exists [g], [h]. split.
    - exists [g], [h], []. repeat split; auto.
    - intros i. unfold wins at 1 2. rewrite (total_moves _ g h rest) by assumption.
      unfold wins, total. simpl. lra. }
  split; [|split]; (split; [|do 2 eexists; split; [apply (edge_flip n H)|assumption]]);
    intros x y near; destruct (as_pile x y near) as [p [q [pq move]]].
  - rewrite (l1_of_difference n _ _ _ _ move). auto.
  - rewrite (l2_of_difference n _ _ _ _ move). auto.
  - rewrite (linf_of_difference n _ _ _ _ move). auto.
Qed.

(* ------------------------------------------------------------------ the least noise *)

(* Noise of scale b is private if and only if b is at least (how far the counts move) / epsilon. *)
Lemma noise_exactly : forall D (near : D -> D -> Prop) f unit n S epsilon b,
  sensitivity (l1 n) near f S -> 0 < unit -> 0 < epsilon -> 0 < b ->
  (private near epsilon (fun x => vector_noise unit n b (f x)) <-> S / epsilon <= b).
Proof.
  intros D near f unit n S epsilon b [below [x [y [close reached]]]] upos epos bpos. split.
  - intros safe. pose proof (vector_noise_least _ _ _ _ _ _ _ x y upos bpos close safe) as H.
    rewrite reached in H. apply Rmult_le_reg_r with epsilon; [assumption|].
    replace (S / epsilon * epsilon) with S by (field; lra). lra.
  - intros H u v o uv. eapply Rle_trans; [apply (vector_noise_private unit n b (f u) (f v)); auto|].
    apply Rmult_le_compat_r.
    { unfold vector_noise, gauge_noise.
      apply Rmult_le_pos; [apply pow_le; lra|left; apply exp_pos]. }
    apply exp_le. apply Rmult_le_reg_r with b; [assumption|].
    replace (l1 n (f u) (f v) / b * b) with (l1 n (f u) (f v)) by (field; lra).
    apply Rle_trans with S; [auto|]. apply Rmult_le_compat_l with (r := epsilon) in H; [|lra].
    replace (epsilon * (S / epsilon)) with S in H by (field; lra). assumption.
Qed.

(* s is the least private scale, of Laplace noise on the statistic f, and of discrete Laplace noise
   where f has whole values; and at that scale what is computed from the noisy counts is private:
   [kernel o] is the chance that counts o lead to the event, such as "these are the k items with the
   largest noisy counts". *)
Definition least_scale {D} (n : nat) (near : D -> D -> Prop) (f : D -> nat -> R) (epsilon s : R) :=
  (forall b, 0 < b ->
    (private near epsilon (fun x => laplace n b (f x)) <-> s <= b) /\
    (private near epsilon (fun x => discrete_laplace n b (f x)) <-> s <= b)) /\
  (forall unit, unit = laplace_unit \/ unit = discrete_unit ->
    forall total kernel, weighing total -> (forall o : nat -> R, 0 <= kernel o) ->
    0 < s -> forall x y, near x y ->
    total (fun o => vector_noise (unit s) n s (f x) o * kernel o)
      <= exp epsilon * total (fun o => vector_noise (unit s) n s (f y) o * kernel o)).

Lemma least_scale_exactly : forall D n (near : D -> D -> Prop) f S epsilon, 0 < epsilon ->
  sensitivity (l1 n) near f S -> least_scale n near f epsilon (S / epsilon).
Proof.
  intros D n near f S epsilon pos sens. split.
  - intros b bpos. split; apply noise_exactly; auto using laplace_unit_positive,
      discrete_unit_positive.
  - intros unit kind total kernel W K spos x y close.
    assert (0 < unit (S / epsilon)) as upos
      by (destruct kind; subst; auto using laplace_unit_positive, discrete_unit_positive).
    apply (private_events near epsilon (fun x => vector_noise (unit (S / epsilon)) n (S / epsilon)
      (f x)));
      auto.
    + intros. unfold vector_noise, gauge_noise.
      apply Rmult_le_pos; [apply pow_le; lra|left; apply exp_pos].
    + apply noise_exactly with (S := S); auto. lra.
Qed.

Lemma least_scale_unique : forall D n (near : D -> D -> Prop) f epsilon s t, 0 < s -> 0 < t ->
  least_scale n near f epsilon s -> least_scale n near f epsilon t -> s = t.
Proof.
  intros D n near f epsilon s t spos tpos [H _] [K _].
  destruct (H s spos) as [A _], (K s spos) as [B _], (H t tpos) as [A' _], (K t tpos) as [B' _].
  apply Rle_antisym; [apply A', B'; lra|apply B, A; lra].
Qed.

(* ------------------------------------------------------------------ one answer to each pair *)

(* What a person answered: whether i beats j. *)
Definition sheet : Type := nat -> nat -> bool.
Definition bit (b : bool) : R := if b then 1 else 0.
Definition score (n : nat) (s : sheet) (i : nat) : R := range_sum n (fun j => bit (s i j)).

(* Each pair is answered once, or at most once; or all answers follow from places in a ranking. *)
Definition partial (s : sheet) : Prop :=
  (forall i, s i i = false) /\ (forall i j, s i j = true -> s j i = false).
Definition decided (s : sheet) : Prop :=
  (forall i, s i i = false) /\ (forall i j, i <> j -> s j i = negb (s i j)).
Definition ranking (s : sheet) : Prop := exists place : nat -> Z,
  (forall i j, place i = place j -> i = j) /\ (forall i j, s i j = Z.ltb (place i) (place j)).

Lemma ranking_decided : forall s, ranking s -> decided s.
Proof.
  intros s [place [inj H]]. split; intros.
  - rewrite H. apply Z.ltb_irrefl.
  - rewrite !H. destruct (Z.ltb_spec (place i) (place j)), (Z.ltb_spec (place j) (place i));
      simpl; auto; [lia|]. exfalso. apply H0, inj. lia.
Qed.

Lemma decided_partial : forall s, decided s -> partial s.
Proof.
  intros s [D E]. split; [assumption|]. intros i j H.
  destruct (Nat.eq_dec i j) as [->|ne]; [apply D|]. rewrite E, H by assumption. reflexivity.
Qed.

(* The sign of a number, and how signs add up: k of them are negative. *)
Definition sign (a : R) : R := if Rle_dec 0 a then 1 else -1.

Lemma sign_abs : forall a, Rabs a = sign a * a.
Proof. intros. unfold sign, Rabs. destruct (Rcase_abs a), (Rle_dec 0 a); lra. Qed.

Lemma sign_cases : forall a, sign a = 1 \/ sign a = -1.
Proof. intros. unfold sign. destruct (Rle_dec 0 a); auto. Qed.

Lemma signs_sum : forall (d : nat -> R) n, exists k : nat,
  (k <= n)%nat /\ range_sum n (fun i => sign (d i)) = INR n - 2 * INR k.
Proof.
  intros d. induction n as [|n [k [below IH]]].
  - exists 0%nat. split; [lia|]. unfold range_sum. simpl. lra.
  - rewrite range_sum_S, IH, S_INR. destruct (sign_cases (d n)) as [->| ->].
    + exists k. split; [lia|]. lra.
    + exists (S k). split; [lia|]. rewrite S_INR. lra.
Qed.

Lemma range_sum_product : forall n f g,
  range_sum n (fun i => range_sum n (fun j => f i * g j)) = range_sum n f * range_sum n g.
Proof.
  intros. unfold range_sum.
  rewrite (sum_ext _ (fun i => sum g (seq 0 n) * f i)); [rewrite sum_scale; ring|].
  intros. rewrite sum_scale. ring.
Qed.

(* The sum of |d_i|, where d_i is the sum over j of z_ij: it is enough to bound what the two entries
   of a pair add, given their signs. *)
Lemma abs_by_pairs : forall n (z b : nat -> nat -> R) (d : nat -> R),
  (forall i, d i = range_sum n (z i)) ->
  (forall i j, sign (d i) * z i j + sign (d j) * z j i <= b i j) ->
  2 * range_sum n (fun i => Rabs (d i)) <= range_sum n (fun i => range_sum n (b i)).
Proof.
  intros n z b d D H.
  rewrite (range_sum_ext n _ (fun i => range_sum n (fun j => sign (d i) * z i j))).
  2: { intros. rewrite sign_abs. rewrite D at 2. unfold range_sum. rewrite sum_scale. reflexivity. }
  replace (2 * _) with (range_sum n (fun i => range_sum n (fun j => sign (d i) * z i j))
    + range_sum n (fun i => range_sum n (fun j => sign (d j) * z j i))).
  - unfold range_sum. rewrite <- sum_plus. apply sum_le. intros i. rewrite <- sum_plus.
    apply sum_le. intros j. apply H.
  - unfold range_sum at 3 4. rewrite (sum_swap _ _ (fun i j => sign (d j) * z j i)).
    unfold range_sum. ring.
Qed.

Lemma INR_half : forall a b c : nat, (c <> 0)%nat -> (c * a <= b)%nat -> INR a <= INR (b / c).
Proof. intros. apply le_INR. apply Nat.div_le_lower_bound; assumption. Qed.

(* What k and n - k items with different signs can do. *)
Lemma signs_floor : forall n k q, (k <= n)%nat -> q = INR n - 2 * INR k ->
  (INR n * INR n - q * q) / 2 <= INR (n * n / 2) /\
  (INR n * INR n - q * q) / 4 <= INR (n * n / 4).
Proof.
  intros n k q H ->. destruct (Nat.le_exists_sub k n H) as [j [-> _]].
  assert (4 * (k * j) <= (j + k) * (j + k))%nat
    by (destruct (Nat.le_ge_cases j k) as [L|L]; apply Nat.le_exists_sub in L;
      destruct L as [a [-> _]]; nia).
  pose proof (INR_half (2 * (k * j)) ((j + k) * (j + k)) 2 ltac:(lia) ltac:(lia)) as A.
  pose proof (INR_half (k * j) ((j + k) * (j + k)) 4 ltac:(lia) ltac:(lia)) as B.
  rewrite !mult_INR in A. rewrite !mult_INR in B. rewrite plus_INR.
  change (INR 2) with 2 in A. split; lra.
Qed.

Lemma score_differences : forall n s t i,
  score n s i - score n t i = range_sum n (fun j => bit (s i j) - bit (t i j)).
Proof. intros. unfold score, range_sum. rewrite sum_minus. reflexivity. Qed.

Lemma bit_bounds : forall b, 0 <= bit b <= 1.
Proof. intros []; simpl; lra. Qed.

(* The items whose score falls are k of n; only their pairs with the others count twice. *)
Lemma once_l1 : forall n s t, decided s -> decided t ->
  l1 n (score n s) (score n t) <= INR (n * n / 2).
Proof.
  intros n s t [SD S] [TD T]. set (d := fun i => score n s i - score n t i).
  destruct (signs_sum d n) as [k [below count]].
  destruct (signs_floor n k _ below count) as [floor _].
  assert (2 * l1 n (score n s) (score n t) <= INR n * INR n
    - range_sum n (fun i => sign (d i)) * range_sum n (fun i => sign (d i))); [|lra].
  unfold l1. eapply Rle_trans.
  - apply (abs_by_pairs n (fun i j => bit (s i j) - bit (t i j))
      (fun i j => 1 - sign (d i) * sign (d j)) d).
    + intros. apply score_differences.
    + intros i j. destruct (Nat.eq_dec i j) as [->|ne].
      * rewrite SD, TD. simpl. destruct (sign_cases (d j)) as [->| ->]; lra.
      * rewrite (S i j ne), (T i j ne).
        destruct (sign_cases (d i)) as [->| ->], (sign_cases (d j)) as [->| ->],
          (s i j), (t i j); simpl; lra.
  - rewrite <- range_sum_product. unfold range_sum at 1.
    rewrite (sum_ext _ (fun i => INR n - range_sum n (fun j => sign (d i) * sign (d j)))).
    + rewrite sum_minus, sum_const, seq_length. unfold range_sum. lra.
    + intros. unfold range_sum at 1. rewrite sum_minus, sum_const, seq_length.
      unfold range_sum. lra.
Qed.

Lemma skip_l1 : forall n s t, partial s -> partial t ->
  l1 n (score n s) (score n t) <= INR n * (INR n - 1) / 2 + INR (n * n / 4).
Proof.
  intros n s t [SD S] [TD T]. set (d := fun i => score n s i - score n t i).
  destruct (signs_sum d n) as [k [below count]].
  destruct (signs_floor n k _ below count) as [_ floor].
  set (q := range_sum n (fun i => sign (d i))) in *.
  assert (2 * l1 n (score n s) (score n t) <= 3 / 2 * (INR n * INR n) - / 2 * (q * q) - INR n);
    [|lra].
  unfold l1. eapply Rle_trans.
  - apply (abs_by_pairs n (fun i j => bit (s i j) - bit (t i j)) (fun i j =>
      3 / 2 - / 2 * (sign (d i) * sign (d j)) - (if Nat.eqb i j then 1 else 0)) d).
    + intros. apply score_differences.
    + intros i j. destruct (Nat.eqb_spec i j) as [->|ne].
      * rewrite SD, TD. simpl. destruct (sign_cases (d j)) as [->| ->]; lra.
      * specialize (S i j). specialize (T i j).
        destruct (sign_cases (d i)) as [->| ->], (sign_cases (d j)) as [->| ->],
          (s i j), (t i j); try (rewrite S by reflexivity); try (rewrite T by reflexivity);
          destruct (s j i), (t j i); simpl; lra.
  - unfold q. rewrite <- range_sum_product. unfold range_sum at 1.
    rewrite (sum_ext_in _ (fun i => (3 / 2 * INR n - 1)
      - / 2 * range_sum n (fun j => sign (d i) * sign (d j)))).
    + rewrite sum_minus, sum_const, seq_length, sum_scale. unfold range_sum. lra.
    + intros i H. unfold range_sum at 1. rewrite !sum_minus, sum_const, seq_length, sum_scale.
      apply range_in in H. pose proof (range_sum_pick n (fun _ => 1) i H) as E.
      unfold range_sum in E at 1. rewrite E. unfold range_sum. lra.
Qed.

(* Three items at a time: the sum over i, j, k of z_ij z_ik is a third of that over all orders of i,
   j, k, of which each is at most 1. *)
Lemma once_l2 : forall n s t, decided s -> decided t ->
  l2 n (score n s) (score n t) <= sqrt (INR n * (INR n * INR n - 1) / 3).
Proof.
  intros n s t [SD S] [TD T]. apply sqrt_le_1_alt. set (z := fun i j => bit (s i j) - bit (t i j)).
  assert (forall i, z i i = 0) as zero by (intros; unfold z; rewrite SD, TD; simpl; lra).
  assert (forall i j, z j i = - z i j) as anti.
  { intros i j. destruct (Nat.eq_dec i j) as [->|ne]; [rewrite zero; lra|].
    unfold z. rewrite (S i j ne), (T i j ne). destruct (s i j), (t i j); simpl; lra. }
  assert (forall i j, -1 <= z i j <= 1) as small
    by (intros; unfold z; pose proof (bit_bounds (s i j)); pose proof (bit_bounds (t i j)); lra).
  set (all := fun f : nat -> nat -> nat -> R =>
    range_sum n (fun i => range_sum n (fun j => range_sum n (fun k => f i j k)))).
  assert (range_sum n (fun i => (score n s i - score n t i) ^ 2)
    = all (fun i j k => z i j * z i k)) as ->.
  { apply range_sum_ext. intros i _. rewrite score_differences.
    rewrite range_sum_product. fold z. unfold z. simpl. ring. }
  assert (forall f, all (fun i j k => f j k i) = all f) as turn.
  { intros f. unfold all, range_sum. etransitivity.
    - apply (sum_swap _ _ (fun i j => sum (fun k => f j k i) (seq 0 n))).
    - apply sum_ext. intros j. apply (sum_swap _ _ (fun i k => f j k i)). }
  set (f := fun i j k => z i j * z i k).
  set (b := fun i j k => 1 - if Nat.eqb i j then if Nat.eqb j k then 1 else 0 else 0).
  assert (all (fun i j k => f i j k + f j k i + f k i j) <= all b) as H.
  { unfold all. do 3 (apply sum_le; intros). unfold f, b.
    rewrite (anti a a0), (anti a a1), (anti a0 a1).
    destruct (Nat.eqb_spec a a0) as [->|]; [destruct (Nat.eqb_spec a0 a1) as [->|]|].
    - rewrite zero. lra.
    - rewrite zero. pose proof (small a0 a1). nra.
    - unfold z. destruct (s a a0), (t a a0), (s a a1), (t a a1), (s a0 a1), (t a0 a1);
        simpl; lra. }
  assert (all (fun i j k => f i j k + f j k i + f k i j) = 3 * all f) as E.
  { assert (forall g h, all (fun i j k => g i j k + h i j k) = all g + all h) as plus.
    { intros g h. unfold all, range_sum. rewrite <- sum_plus. apply sum_ext. intros i.
      rewrite <- sum_plus. apply sum_ext. intros j. apply sum_plus. }
    rewrite (plus (fun i j k => f i j k + f j k i)), (plus f).
    pose proof (turn f) as one. pose proof (turn (fun i j k => f j k i)) as two.
    simpl in two. lra. }
  assert (all b = INR n * INR n * INR n - INR n) as F.
  { unfold all, b, range_sum.
    rewrite (sum_ext_in _ (fun i => INR n * INR n - 1)).
    - rewrite sum_const, seq_length. ring.
    - intros i I. rewrite (sum_ext_in _ (fun j => INR n - if Nat.eqb i j then 1 else 0)).
      + rewrite sum_minus, sum_const, seq_length.
        rewrite (sum_pick (fun _ => 1)); [ring|apply seq_NoDup|assumption].
      + intros j J. rewrite sum_minus, sum_const, seq_length. destruct (Nat.eqb i j).
        * rewrite (sum_pick (fun _ => 1)); [ring|apply seq_NoDup|assumption].
        * rewrite sum_zero. ring. }
  rewrite F, E in H. lra.
Qed.

Lemma score_bounds : forall n s i, s i i = false -> (i < n)%nat -> 0 <= score n s i <= INR n - 1.
Proof.
  intros n s i H below. unfold score. split; [apply sum_nonneg; intros; apply bit_bounds|].
  assert (range_sum n (fun j => 1 - if Nat.eqb i j then 1 else 0) = INR n - 1) as <-.
  { unfold range_sum. rewrite sum_minus, sum_const, seq_length.
    pose proof (range_sum_pick n (fun _ => 1) i below) as E. unfold range_sum in E.
    rewrite E. ring. }
  apply range_sum_le. intros j _. destruct (Nat.eqb_spec i j) as [<-|].
  - rewrite H. simpl. lra.
  - pose proof (bit_bounds (s i j)). lra.
Qed.

Lemma scores_linf : forall n s t, (1 <= n)%nat -> partial s -> partial t ->
  linf n (score n s) (score n t) <= INR n - 1.
Proof.
  intros n s t H [S _] [T _]. apply linf_le.
  - apply le_INR in H. simpl in H. lra.
  - intros i below. pose proof (score_bounds n s i (S i) below).
    pose proof (score_bounds n t i (T i) below). unfold Rabs. destruct (Rcase_abs _); lra.
Qed.

(* The rankings 0, 1, 2, ... and its reverse, which reach the bounds. *)
Definition up : sheet := Nat.ltb.
Definition down : sheet := fun i j => Nat.ltb j i.

Lemma up_score : forall n i, (i < n)%nat -> score n up i = INR n - 1 - INR i.
Proof.
  intros n i H. assert (forall m, score m up i = INR (m - S i)) as E.
  { induction m as [|m IH]; [reflexivity|]. unfold score in *. rewrite range_sum_S, IH. unfold up.
    destruct (Nat.ltb_spec i m).
    - replace (S m - S i)%nat with (S (m - S i)) by lia. rewrite S_INR. simpl. lra.
    - replace (S m - S i)%nat with 0%nat by lia. replace (m - S i)%nat with 0%nat by lia.
      simpl. lra. }
  rewrite E, minus_INR, S_INR by lia. lra.
Qed.

Lemma down_score : forall n i, (i < n)%nat -> score n down i = INR i.
Proof.
  intros n i H. assert (forall m, score m down i = INR (min m i)) as E.
  { induction m as [|m IH]; [reflexivity|]. unfold score in *. rewrite range_sum_S, IH. unfold down.
    destruct (Nat.ltb_spec m i).
    - replace (min (S m) i) with (S (min m i)) by lia. rewrite S_INR. simpl. lra.
    - replace (min (S m) i) with (min m i) by lia. simpl. lra. }
  rewrite E. f_equal. lia.
Qed.

(* Sums over -(n - 1), -(n - 3), ..., n - 1, from the outside to the inside. *)
Lemma ladder : forall f n, (forall a, f (- a) = f a) ->
  range_sum (S (S n)) (fun i => f (INR (S (S n)) - 1 - 2 * INR i))
    = range_sum n (fun i => f (INR n - 1 - 2 * INR i)) + 2 * f (INR n + 1).
Proof.
  intros f n even. rewrite range_sum_S, range_sum_first.
  rewrite (range_sum_ext n _ (fun i => f (INR n - 1 - 2 * INR i))).
  2: { intros. f_equal. rewrite !S_INR. lra. }
  rewrite <- (even (INR (S (S n)) - 1 - 2 * INR (S n))).
  replace (- (INR (S (S n)) - 1 - 2 * INR (S n))) with (INR n + 1) by (rewrite !S_INR; lra).
  replace (INR (S (S n)) - 1 - 2 * INR 0) with (INR n + 1) by (rewrite !S_INR; simpl; lra). lra.
Qed.

Lemma two_steps : forall P : nat -> Prop, P 0%nat -> P 1%nat -> (forall n, P n -> P (S (S n))) ->
  forall n, P n.
Proof.
  intros P zero one more. assert (forall n, P n /\ P (S n)) as H.
  { induction n as [|n [A B]]; split; auto. }
  apply H.
Qed.

Lemma ladder_abs : forall n,
  range_sum n (fun i => Rabs (INR n - 1 - 2 * INR i)) = INR (n * n / 2).
Proof.
  apply two_steps.
  - reflexivity.
  - unfold range_sum. simpl. replace (1 - 1 - 2 * 0) with 0 by ring. rewrite Rabs_R0. lra.
  - intros n IH. rewrite (ladder Rabs) by apply Rabs_Ropp. rewrite IH.
    rewrite Rabs_pos_eq by (pose proof (pos_INR n); lra).
    replace (S (S n) * S (S n))%nat with (n * n + (2 * n + 2) * 2)%nat by ring.
    rewrite Nat.div_add by lia. rewrite plus_INR, plus_INR, mult_INR. simpl (INR 2). lra.
Qed.

Lemma ladder_squares : forall n,
  range_sum n (fun i => (INR n - 1 - 2 * INR i) ^ 2) = INR n * (INR n * INR n - 1) / 3.
Proof.
  apply two_steps.
  - unfold range_sum. simpl. lra.
  - unfold range_sum. simpl. lra.
  - intros n IH. rewrite (ladder (fun a => a ^ 2)) by (intros; ring). rewrite IH, !S_INR. field.
Qed.

Lemma reversed : forall n i, (i < n)%nat ->
  score n up i - score n down i = INR n - 1 - 2 * INR i.
Proof. intros. rewrite up_score, down_score by assumption. lra. Qed.

Lemma reversal : forall n, (1 <= n)%nat ->
  l1 n (score n up) (score n down) = INR (n * n / 2) /\
  l2 n (score n up) (score n down) = sqrt (INR n * (INR n * INR n - 1) / 3) /\
  INR n - 1 <= linf n (score n up) (score n down).
Proof.
  intros n H. split; [|split].
  - rewrite <- ladder_abs. apply range_sum_ext. intros. rewrite reversed by assumption. reflexivity.
  - rewrite <- ladder_squares. unfold l2. f_equal. apply range_sum_ext. intros.
    rewrite reversed by assumption. reflexivity.
  - rewrite <- (Rabs_pos_eq (INR n - 1)) by (apply le_INR in H; simpl in H; lra).
    replace (INR n - 1) with (score n up 0%nat - score n down 0%nat)
      by (rewrite reversed by lia; simpl; lra). apply linf_ge. lia.
Qed.

Lemma up_ranking : ranking up.
Proof.
  exists Z.of_nat. split; [apply Nat2Z.inj|]. intros i j. unfold up.
  destruct (Nat.ltb_spec i j), (Z.ltb_spec (Z.of_nat i) (Z.of_nat j)); auto; lia.
Qed.

Lemma down_ranking : ranking down.
Proof.
  exists (fun i => - Z.of_nat i)%Z. split; [intros; lia|]. intros i j. unfold down.
  destruct (Nat.ltb_spec j i), (Z.ltb_spec (- Z.of_nat i) (- Z.of_nat j)); auto; lia.
Qed.

(* All answers of a person are replaced, each pair is answered once or comes from a ranking: the
   floor of n^2/2 in l1, the root of n(n^2 - 1)/3 in l2, n - 1 in one count. *)
Theorem once_sensitivity : forall n m (ok : sheet -> Prop), (1 <= n)%nat ->
  ok = decided \/ ok = ranking ->
  sensitivity (l1 n) (replaced m ok) (total (score n)) (INR (n * n / 2)) /\
  sensitivity (l2 n) (replaced m ok) (total (score n)) (sqrt (INR n * (INR n * INR n - 1) / 3)) /\
  sensitivity (linf n) (replaced m ok) (total (score n)) (INR n - 1).
Proof.
  intros n m ok H kind. destruct (reversal n H) as [one [two sup]].
  assert (forall s, ok s -> decided s) as dec
    by (intros; destruct kind; subst; auto using ranking_decided).
  assert (ok up /\ ok down) as [okup okdown]
    by (destruct kind; subst; auto using ranking_decided, up_ranking, down_ranking).
  split; [|split]; apply (one_person n).
  - apply l1_of_difference.
  - auto using once_l1.
  - exists up, down. auto.
  - apply l2_of_difference.
  - auto using once_l2.
  - exists up, down. auto.
  - apply linf_of_difference.
  - auto using scores_linf, decided_partial.
  - exists up, down. repeat split; auto. apply Rle_antisym; [|assumption].
    auto using scores_linf, decided_partial.
Qed.

(* Pairs may be skipped.  The upper half of the items wins all its pairs, of the lower half nothing
   is said; or the lower half wins all its pairs, from the last item to the first. *)
Definition upper (n : nat) : sheet := fun i j => Nat.ltb i (n / 2) && Nat.ltb i j.
Definition lower (n : nat) : sheet := fun i j => negb (Nat.ltb i (n / 2)) && Nat.ltb j i.

Lemma upper_partial : forall n, partial (upper n).
Proof.
  intros n. split; intros; unfold upper in *; [rewrite Nat.ltb_irrefl; apply andb_false_r|].
  apply andb_true_iff in H. destruct H as [_ H]. apply Nat.ltb_lt in H.
  destruct (Nat.ltb_spec j i); [lia|]. apply andb_false_r.
Qed.

Lemma lower_partial : forall n, partial (lower n).
Proof.
  intros n. split; intros; unfold lower in *; [rewrite Nat.ltb_irrefl; apply andb_false_r|].
  apply andb_true_iff in H. destruct H as [_ H]. apply Nat.ltb_lt in H.
  destruct (Nat.ltb_spec i j); [lia|]. apply andb_false_r.
Qed.

Lemma halves_score : forall n i, (i < n)%nat -> Rabs (score n (upper n) i - score n (lower n) i)
  = / 2 * (INR n - 1) + / 2 * Rabs (INR n - 1 - 2 * INR i).
Proof.
  intros n i H. assert (2 * (n / 2) <= n)%nat as below by (apply Nat.mul_div_le; lia).
  assert (n < 2 * (n / 2) + 2)%nat as above
    by (pose proof (Nat.mul_succ_div_gt n 2 ltac:(lia)); lia).
  pose proof (up_score n i H) as U. pose proof (down_score n i H) as D.
  unfold score, up, down in *. unfold upper, lower.
  apply lt_INR in H as K. pose proof (pos_INR i).
  assert (range_sum n (fun _ => bit false) = 0) as Z by (rewrite range_sum_const; simpl; lra).
  destruct (Nat.ltb_spec i (n / 2)) as [L|L]; simpl negb; simpl andb.
  - rewrite U, Z. assert (2 * i + 1 <= n)%nat as E by lia. apply le_INR in E.
    rewrite plus_INR, mult_INR in E. simpl in E. rewrite !Rabs_pos_eq; lra.
  - rewrite D, Z. assert (n <= 2 * i + 1)%nat as E by lia. apply le_INR in E.
    rewrite plus_INR, mult_INR in E. simpl in E.
    rewrite (Rabs_left1 (0 - INR i)), (Rabs_left1 (_ - 1 - _)); lra.
Qed.

Lemma half_of_half : forall n, INR (n * n / 2) = 2 * INR (n * n / 4).
Proof.
  intros n. rewrite <- (mult_INR 2). f_equal. destruct (Nat.Even_or_Odd n) as [[a ->]|[a ->]].
  - replace (2 * a * (2 * a))%nat with (2 * (a * a) * 2)%nat by ring.
    rewrite Nat.div_mul by lia. replace (2 * (a * a) * 2)%nat with (a * a * 4)%nat by ring.
    rewrite Nat.div_mul by lia. ring.
  - replace ((2 * a + 1) * (2 * a + 1))%nat with (1 + 2 * (a * a + a) * 2)%nat by ring.
    rewrite Nat.div_add by lia.
    replace (1 + 2 * (a * a + a) * 2)%nat with (1 + (a * a + a) * 4)%nat by ring.
    rewrite Nat.div_add by lia. simpl (1 / 2)%nat. simpl (1 / 4)%nat. ring.
Qed.

Theorem skip_sensitivity : forall n m, (1 <= n)%nat ->
  sensitivity (l1 n) (replaced m partial) (total (score n))
    (INR n * (INR n - 1) / 2 + INR (n * n / 4)) /\
  sensitivity (linf n) (replaced m partial) (total (score n)) (INR n - 1).
Proof.
  intros n m H. destruct (reversal n H) as [_ [_ sup]]. split; apply (one_person n).
  - apply l1_of_difference.
  - apply skip_l1.
  - exists (upper n), (lower n). split; [apply upper_partial|]. split; [apply lower_partial|].
    unfold l1. rewrite (range_sum_ext n _ _ (halves_score n)). unfold range_sum.
    rewrite sum_plus, sum_const, seq_length, sum_scale.
    change (sum _ (seq 0 n)) with (range_sum n (fun i => Rabs (INR n - 1 - 2 * INR i))).
    rewrite ladder_abs, half_of_half. lra.
  - apply linf_of_difference.
  - auto using scores_linf.
  - assert (partial up /\ partial down) as [P Q]
      by (split; apply decided_partial, ranking_decided; auto using up_ranking, down_ranking).
    exists up, down. repeat split; try apply P; try apply Q.
    apply Rle_antisym; [|assumption]. auto using scores_linf.
Qed.

(* CLAIM BOOK-SENS-COUNTS.  For every n, every L, and m other people: the largest changes of the win
   counts between neighbours, in l1, l2 and l-infinity, each attained; all times c, which is 1. *)
Definition counts_says (c : R) : Prop := forall n L m : nat,
  ((2 <= n)%nat ->
    (sensitivity (l1 n) (edge n) wins (2 * c) /\
     sensitivity (l2 n) (edge n) wins (sqrt 2 * c) /\
     sensitivity (linf n) (edge n) wins (1 * c)) /\
    (sensitivity (l1 n) (replaced m (pile n L)) (total wins) (2 * INR L * c) /\
     sensitivity (l2 n) (replaced m (pile n L)) (total wins) (sqrt 2 * INR L * c) /\
     sensitivity (linf n) (replaced m (pile n L)) (total wins) (INR L * c))) /\
  ((1 <= n)%nat ->
    (forall ok, ok = decided \/ ok = ranking ->
      sensitivity (l1 n) (replaced m ok) (total (score n)) (INR (n * n / 2) * c) /\
      sensitivity (l2 n) (replaced m ok) (total (score n))
        (sqrt (INR n * (INR n * INR n - 1) / 3) * c) /\
      sensitivity (linf n) (replaced m ok) (total (score n)) ((INR n - 1) * c)) /\
    sensitivity (l1 n) (replaced m partial) (total (score n))
      ((INR n * (INR n - 1) / 2 + INR (n * n / 4)) * c) /\
    sensitivity (linf n) (replaced m partial) (total (score n)) ((INR n - 1) * c)).

Theorem counts : counts_says 1.
Proof.
  intros n L m. rewrite !Rmult_1_r. split; intros H.
  - split; [apply edge_sensitivity|apply pile_sensitivity]; assumption.
  - split; [|apply skip_sensitivity; assumption].
    intros ok kind. apply once_sensitivity; assumption.
Qed.

Theorem counts_control : forall c, c <> 1 -> ~ counts_says c.
Proof.
  intros c ne H. destruct (H 2%nat 0%nat 0%nat) as [[[K _] _] _]; [lia|].
  destruct (edge_sensitivity 2) as [E _]; [lia|].
  pose proof (sensitivity_unique _ _ _ _ _ _ K E). lra.
Qed.
