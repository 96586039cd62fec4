(* Win counts: how far they move when one comparison, or all that one person said, is replaced, for
   every number n of items and L of comparisons, with data that reach it.  Claim BOOK-SENS-COUNTS.

   Not in it: the norms l2 and l-infinity, but for the largest move of one count by a person. *)
Require Import Reals Lra Lia ZArith List Bool Permutation FunctionalExtensionality.
From Ranking Require Import Privacy.
Import ListNotations.
Open Scope R_scope.

(* The statistic f moves by at most S in l1 between neighbours, and some neighbours move it by S. *)
Definition sensitivity {D} (n : nat) (near : D -> D -> Prop) (f : D -> nat -> R) (S : R) : Prop :=
  (forall x y, near x y -> l1 n (f x) (f y) <= S) /\
  (exists x y, near x y /\ l1 n (f x) (f y) = S).

Lemma sensitivity_unique : forall D n (near : D -> D -> Prop) f S T,
  sensitivity n near f S -> sensitivity n near f T -> S = T.
Proof.
  intros D n near f S T [A [x [y [close E]]]] [B [x' [y' [close' F]]]]. specialize (A x' y' close').
  specialize (B x y close). lra. Qed.

Lemma l1_of_difference : forall n u v u' v',
  (forall i, u i - v i = u' i - v' i) -> l1 n u v = l1 n u' v'.
Proof. intros. apply sum_ext. intros. rewrite H. reflexivity. Qed.

(* Statistics of whole numbers. *)
Definition whole {D} (f : D -> nat -> R) : Prop := forall x, exists z, f x = reals z.

(* ------------------------------------------------------------------ one person of many *)

Section Persons.
Context {P : Type}.

(* The sum over all people of what each of them adds to entry i. *)
Definition total (f : P -> nat -> R) (x : list P) (i : nat) : R := sum (fun p => f p i) x.

Lemma total_whole : forall f, whole f -> whole (total f).
Proof.
  intros f H x. induction x as [|p x [z IH]]; [exists (fun _ => 0%Z); reflexivity|].
  destruct (H p) as [k K]. exists (fun i => (k i + z i)%Z). extensionality i. unfold reals.
  rewrite plus_IZR. change (f p i + total f x i = reals k i + reals z i). congruence. Qed.

(* What one person said is replaced, beside m others whose data stay; ok says what one may say. *)
Definition replaced (m : nat) (ok : P -> Prop) (x y : list P) : Prop :=
  exists p q rest, ok p /\ ok q /\ Forall ok rest /\ length rest = m /\
    Permutation x (p :: rest) /\ Permutation y (q :: rest).

Lemma total_moves : forall f p q rest (x y : list P) i,
  Permutation x (p :: rest) -> Permutation y (q :: rest) ->
  total f x i - total f y i = f p i - f q i.
Proof.
  intros f p q rest x y i X Y. unfold total.
  rewrite (sum_permutation _ _ x _ X), (sum_permutation _ _ y _ Y). simpl. lra. Qed.

Lemma total_bounds : forall f (x : list P) i, (forall p, 0 <= f p i <= 1) ->
  0 <= total f x i <= INR (length x).
Proof.
  intros f x i H. unfold total. split; [apply sum_nonneg; intros; apply H|].
  rewrite <- (Rmult_1_r (INR _)), <- sum_const. apply sum_le. intros. apply H. Qed.

(* The others cancel. *)
Lemma one_person : forall n m (ok : P -> Prop) f S,
  (forall p q, ok p -> ok q -> l1 n (f p) (f q) <= S) ->
  (exists p q, ok p /\ ok q /\ l1 n (f p) (f q) = S) ->
  sensitivity n (replaced m ok) (total f) S.
Proof.
  intros n m ok f S below [p [q [okp [okq <-]]]]. split.
  - intros x y [a [b [rest [A [B [_ [_ [X Y]]]]]]]].
    rewrite (l1_of_difference n _ _ (f a) (f b)) by (intros; apply total_moves with rest; auto).
    auto.
  - exists (p :: repeat p m), (q :: repeat p m). split.
    + exists p, q, (repeat p m). repeat split; auto; [|apply repeat_length]. apply Forall_forall.
      intros a H. apply repeat_spec in H. subst. assumption.
    + apply l1_of_difference. intros. apply total_moves with (repeat p m); reflexivity. Qed.

End Persons.

(* ------------------------------------------------------------------ comparisons *)

(* A comparison of two of the items 0, ..., n - 1: (winner, loser). *)
Definition game : Type := nat * nat.
Definition valid (n : nat) (g : game) : Prop := (fst g < n /\ snd g < n /\ fst g <> snd g)%nat.
Definition swap (g : game) : game := (snd g, fst g).
Definition pair_of (g : game) : nat * nat := (min (fst g) (snd g), max (fst g) (snd g)).

Definition won (g : game) (i : nat) : R := if Nat.eqb (fst g) i then 1 else 0.
Definition wins : list game -> nat -> R := total won.

Lemma wins_whole : whole wins.
Proof.
  apply total_whole. intros g. exists (fun i => if Nat.eqb (fst g) i then 1%Z else 0%Z).
  extensionality i. unfold won, reals. destruct (Nat.eqb _ i); reflexivity. Qed.

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
  rewrite Forall_forall in X, Y. split; [|split]; auto; [apply X|apply Y]; eapply Permutation_in;
    try (apply Permutation_sym; eassumption); left; reflexivity. Qed.

Lemma edge_flip : forall n, (2 <= n)%nat -> edge n [(0, 1)%nat] [(1, 0)%nat].
Proof.
  intros n H. repeat split; try (constructor; [|constructor]); try (unfold valid; simpl; lia); try
    tauto. exists (0, 1)%nat, (1, 0)%nat, []. repeat split; auto. congruence. Qed.

(* The L comparisons of one person, of any pairs, also of one pair again and again. *)
Definition pile (n L : nat) (l : list game) : Prop := Forall (valid n) l /\ length l = L.

Lemma won_bounds : forall g i, 0 <= won g i <= 1.
Proof. intros. unfold won. destruct (Nat.eqb _ _); lra. Qed.

Lemma wins_bounds : forall l i, 0 <= wins l i <= INR (length l).
Proof. intros. apply total_bounds. intros. apply won_bounds. Qed.

Lemma wins_total : forall n l, Forall (valid n) l -> range_sum n (wins l) = INR (length l).
Proof.
  intros n l H. unfold range_sum, wins, total. rewrite sum_swap.
  rewrite (sum_ext_in _ (fun _ => 1)); [rewrite sum_const; lra|]. rewrite Forall_forall in H.
  intros g K. destruct (H g K) as [W _]. exact (range_sum_pick n (fun _ => 1) (fst g) W). Qed.

Lemma abs_minus : forall a b, 0 <= a -> 0 <= b -> Rabs (a - b) <= a + b.
Proof. intros. unfold Rabs. destruct (Rcase_abs _); lra. Qed.

Lemma wins_l1 : forall n L l k, pile n L l -> pile n L k -> l1 n (wins l) (wins k) <= 2 * INR L.
Proof.
  intros n L l k [X <-] [Y E]. replace (2 * INR (length l)) with (INR (length l) + INR (length k))
    by (rewrite E; ring). rewrite <- (wins_total n l X), <- (wins_total n k Y).
  unfold l1, range_sum. rewrite <- sum_plus. apply sum_le. intros.
  apply abs_minus; apply wins_bounds. Qed.

Lemma wins_repeat : forall g L i, wins (repeat g L) i = INR L * won g i.
Proof.
  intros g L i. unfold wins, total. induction L as [|L IH]; [simpl; lra|]. rewrite S_INR.
  simpl repeat. simpl sum. rewrite IH. lra. Qed.

Lemma pile_repeat : forall n L a b, (a < n)%nat -> (b < n)%nat -> a <> b ->
  pile n L (repeat (a, b) L).
Proof.
  intros. split; [|apply repeat_length]. apply Forall_forall. intros g K. apply repeat_spec in K.
  subst. unfold valid. simpl. auto. Qed.

(* The first of two items wins all L comparisons, or the second does. *)
Lemma moved : forall n L, (2 <= n)%nat ->
  l1 n (wins (repeat (0, 1)%nat L)) (wins (repeat (1, 0)%nat L)) = 2 * INR L.
Proof.
  intros [|[|n]] L H; try lia. unfold l1.
  rewrite !range_sum_first, (range_sum_ext n _ (fun _ => 0)).
  - rewrite range_sum_const, !wins_repeat. pose proof (pos_INR L). unfold won. simpl.
    rewrite Rabs_pos_eq, Rabs_left1; lra.
  - intros. rewrite !wins_repeat. unfold won. simpl. rewrite Rminus_diag_eq by ring. apply Rabs_R0.
Qed.

(* L comparisons of one person, beside those of m others: 2L in all, at most L in one count. *)
Theorem pile_sensitivity : forall n L m, (2 <= n)%nat ->
  sensitivity n (replaced m (pile n L)) (total wins) (2 * INR L).
Proof.
  intros. apply one_person; [apply wins_l1|]. do 2 eexists.
  split; [|split; [|apply moved; assumption]]; apply pile_repeat; lia. Qed.

Lemma pile_one_count : forall n L m x y i, replaced m (pile n L) x y ->
  Rabs (total wins x i - total wins y i) <= INR L.
Proof.
  intros n L m x y i [p [q [rest [[_ P] [[_ Q] [_ [_ [X Y]]]]]]]].
  rewrite (total_moves wins p q rest) by assumption. pose proof (wins_bounds p i).
  pose proof (wins_bounds q i). rewrite P, Q in *. unfold Rabs. destruct (Rcase_abs _); lra. Qed.

(* One comparison, flipped or exchanged: 2. *)
Theorem edge_sensitivity : forall n, (2 <= n)%nat -> sensitivity n (edge n) wins 2.
Proof.
  intros n H. split.
  - intros x y close. destruct (edge_games n x y close) as [g [h [rest [G [K [X Y]]]]]].
    rewrite (l1_of_difference n _ _ (wins [g]) (wins [h])).
    + replace 2 with (2 * INR 1) by (simpl; ring). apply wins_l1; repeat split; auto.
    + intros i. unfold wins at 1 2. rewrite (total_moves won g h rest) by assumption.
      unfold wins, total. simpl. lra.
  - do 2 eexists. split; [apply edge_flip, H|]. pose proof (moved n 1 H) as M. simpl in M. lra. Qed.

(* ------------------------------------------------------------------ one answer to each pair *)

(* What a person answered: whether i beats j. *)
Definition sheet : Type := nat -> nat -> bool.
Definition bit (b : bool) : R := if b then 1 else 0.
Definition score (n : nat) (s : sheet) (i : nat) : R := range_sum n (fun j => bit (s i j)).

Lemma score_whole : forall n, whole (score n).
Proof.
  intros n s. apply (total_whole (fun j i => bit (s i j))). intros j.
  exists (fun i => if s i j then 1%Z else 0%Z). extensionality i. unfold reals.
  destruct (s i j); reflexivity. Qed.

(* Each pair is answered once, or at most once; or all answers follow from places in a ranking. *)
Definition partial (s : sheet) : Prop :=
  (forall i, s i i = false) /\ (forall i j, s i j = true -> s j i = false).
Definition decided (s : sheet) : Prop :=
  (forall i, s i i = false) /\ (forall i j, i <> j -> s j i = negb (s i j)).
Definition ranking (s : sheet) : Prop := exists place : nat -> Z,
  (forall i j, place i = place j -> i = j) /\ (forall i j, s i j = Z.ltb (place i) (place j)).

Lemma ranking_decided : forall s, ranking s -> decided s.
Proof.
  intros s [place [inj H]]. split; intros; rewrite !H; [apply Z.ltb_irrefl|].
  destruct (Z.ltb_spec (place i) (place j)), (Z.ltb_spec (place j) (place i)); auto; [lia|].
  exfalso. apply H0, inj. lia. Qed.

Lemma decided_partial : forall s, decided s -> partial s.
Proof.
  intros s [D E]. split; [assumption|]. intros i j H.
  destruct (Nat.eq_dec i j) as [->|ne]; [apply D|]. rewrite E, H by assumption. reflexivity. Qed.

Lemma bit_bounds : forall b, 0 <= bit b <= 1.
Proof. intros []; simpl; lra. Qed.

Lemma score_differences : forall n s t i,
  score n s i - score n t i = range_sum n (fun j => bit (s i j) - bit (t i j)).
Proof. intros. unfold score, range_sum. rewrite sum_minus. reflexivity. Qed.

(* The sign of a number, and how signs add up: k of them are negative. *)
Definition sign (a : R) : R := if Rle_dec 0 a then 1 else -1.

Lemma sign_abs : forall a, Rabs a = sign a * a.
Proof. intros. unfold sign, Rabs. destruct (Rcase_abs a), (Rle_dec 0 a); lra. Qed.

Lemma sign_cases : forall a, sign a = 1 \/ sign a = -1.
Proof. intros. unfold sign. destruct (Rle_dec 0 a); auto. Qed.

Lemma signs_sum : forall (d : nat -> R) n, exists k : nat,
  (k <= n)%nat /\ range_sum n (fun i => sign (d i)) = INR n - 2 * INR k.
Proof.
  intros d. induction n as [|n [k [below IH]]]; [exists 0%nat; unfold range_sum; simpl; split;
    [lia|lra]|]. rewrite range_sum_S, IH, S_INR. destruct (sign_cases (d n)) as [->| ->].
  - exists k. split; [lia|lra].
  - exists (S k). rewrite S_INR. split; [lia|lra]. Qed.

(* The scores of k of n items fall.  It is enough to know what the two entries of a pair can add to
   the sum of all moves, given the signs e and f of its items: at most a + b (1 - e f). *)
Lemma by_signs : forall n s t a b, partial s -> partial t ->
  (forall e f i j, i <> j -> e = 1 \/ e = -1 -> f = 1 \/ f = -1 ->
    e * (bit (s i j) - bit (t i j)) + f * (bit (s j i) - bit (t j i)) <= a + b * (1 - e * f)) ->
  exists k, (k <= n)%nat /\ 2 * l1 n (score n s) (score n t)
    <= a * (INR n * (INR n - 1)) + 4 * b * (INR k * (INR n - INR k)).
Proof.
  intros n s t a b [SD _] [TD _] H. set (d := fun i => score n s i - score n t i).
  set (e := fun i => sign (d i)). set (z := fun i j => bit (s i j) - bit (t i j)).
  destruct (signs_sum d n) as [k [below count]]. exists k. split; [assumption|].
  set (all := fun f : nat -> nat -> R => range_sum n (fun i => range_sum n (f i))).
  assert (l1 n (score n s) (score n t) = all (fun i j => e i * z i j)) as E.
  { apply range_sum_ext. intros i _. fold (d i). rewrite sign_abs. unfold d at 2.
    rewrite score_differences. unfold range_sum. rewrite sum_scale. reflexivity. }
  assert (all (fun i j => e i * z i j) = all (fun i j => e j * z j i)) as F by (apply (sum_swap _ _
    (fun i j => e i * z i j))). assert (all (fun i j => e i * z i j + e j * z j i) <= all (fun i j
    => (a + b) - a * (if Nat.eqb i j then 1 else 0) - b * (e i * e j))) as K.
  { apply sum_le. intros i. apply sum_le. intros j. destruct (Nat.eqb_spec i j) as [<-|ne].
    - unfold z. rewrite SD, TD. destruct (sign_cases (d i)) as [G|G]; fold (e i) in G; rewrite G;
        simpl; lra.
    - pose proof (H (e i) (e j) i j ne (sign_cases _) (sign_cases _)). unfold z. lra. }
  assert (all (fun i j => e i * z i j + e j * z j i) = all (fun i j => e i * z i j) + all (fun i j
    => e j * z j i)) as G.
  { unfold all, range_sum. rewrite <- sum_plus. apply sum_ext. intros. apply sum_plus. }
  replace (a * (INR n * (INR n - 1)) + 4 * b * (INR k * (INR n - INR k))) with (range_sum n (fun i
    => (a + b) * INR n - a - b * (range_sum n e * e i))).
  - replace (2 * _) with (all (fun i j => e i * z i j + e j * z j i)) by lra.
    apply Rle_trans with (1 := K). right. apply range_sum_ext. intros i I. unfold range_sum.
    rewrite !sum_minus, sum_const, seq_length, !sum_scale.
    pose proof (range_sum_pick n (fun _ => 1) i I) as O. unfold range_sum in O. rewrite O. ring.
  - unfold range_sum. rewrite sum_minus, sum_const, seq_length, !sum_scale. fold (range_sum n e).
    unfold e in *. rewrite count. ring. Qed.

Lemma product_floor : forall n k, (k <= n)%nat ->
  2 * (INR k * (INR n - INR k)) <= INR (n * n / 2) /\ INR k * (INR n - INR k) <= INR (n * n / 4).
Proof.
  intros n k H. destruct (Nat.le_exists_sub k n H) as [j [-> _]].
  assert (4 * (k * j) <= (j + k) * (j + k))%nat by (destruct (Nat.le_ge_cases j k) as [L|L]; apply
    Nat.le_exists_sub in L; destruct L as [a [-> _]]; nia). rewrite plus_INR.
  replace (INR k * (INR j + INR k - INR k)) with (INR (k * j)) by (rewrite mult_INR; ring).
  split; [replace 2 with (INR 2) by reflexivity; rewrite <- mult_INR|]; apply le_INR; apply
    Nat.div_le_lower_bound; lia. Qed.

Lemma once_l1 : forall n s t, decided s -> decided t ->
  l1 n (score n s) (score n t) <= INR (n * n / 2).
Proof.
  intros n s t S T. destruct (by_signs n s t 0 1) as [k [below B]]; auto using decided_partial.
  - intros e f i j ne E F. rewrite (proj2 S i j ne), (proj2 T i j ne).
    destruct E as [->| ->], F as [->| ->], (s i j), (t i j); simpl; lra.
  - destruct (product_floor n k below). lra. Qed.

Lemma skip_l1 : forall n s t, partial s -> partial t ->
  l1 n (score n s) (score n t) <= INR n * (INR n - 1) / 2 + INR (n * n / 4).
Proof.
  intros n s t S T. destruct (by_signs n s t 1 (1 / 2)) as [k [below B]]; auto.
  - intros e f i j ne E F. pose proof (proj2 S i j) as A. pose proof (proj2 T i j) as B.
    destruct E as [->| ->], F as [->| ->], (s i j), (t i j); try (rewrite A by reflexivity); try
      (rewrite B by reflexivity); destruct (s j i), (t j i); simpl; lra.
  - destruct (product_floor n k below). lra. Qed.

(* The ranking 0, 1, 2, ... and its reverse. *)
Definition up : sheet := Nat.ltb.
Definition down : sheet := fun i j => Nat.ltb j i.

Lemma up_ranking : ranking up.
Proof.
  exists Z.of_nat. split; [apply Nat2Z.inj|]. intros i j. unfold up.
  destruct (Nat.ltb_spec i j), (Z.ltb_spec (Z.of_nat i) (Z.of_nat j)); auto; lia. Qed.

Lemma down_ranking : ranking down.
Proof.
  exists (fun i => - Z.of_nat i)%Z. split; [intros; lia|]. intros i j. unfold down.
  destruct (Nat.ltb_spec j i), (Z.ltb_spec (- Z.of_nat i) (- Z.of_nat j)); auto; lia. Qed.

Lemma up_down_score : forall n i, (i < n)%nat ->
  score n up i = INR n - 1 - INR i /\ score n down i = INR i.
Proof.
  intros n i H. assert (forall m, score m up i = INR (m - S i) /\ score m down i = INR (min m i)) as
    E.
  { induction m as [|m [A B]]; [split; reflexivity|]. unfold score, up, down in *.
    rewrite !range_sum_S, A, B. split.
    - destruct (Nat.ltb_spec i m); simpl bit.
      + replace (S m - S i)%nat with (S (m - S i)) by lia. rewrite S_INR. ring.
      + replace (S m - S i)%nat with 0%nat by lia. replace (m - S i)%nat with 0%nat by lia. simpl.
        ring.
    - destruct (Nat.ltb_spec m i); simpl bit.
      + replace (min (S m) i) with (S (min m i)) by lia. rewrite S_INR. ring.
      + replace (min (S m) i) with (min m i) by lia. ring. }
  destruct (E n) as [-> ->]. rewrite minus_INR, S_INR by lia. split; [ring|f_equal; lia]. Qed.

Lemma reversed : forall n i, (i < n)%nat ->
  score n up i - score n down i = INR n - 1 - 2 * INR i.
Proof. intros n i H. destruct (up_down_score n i H) as [-> ->]. ring. Qed.

(* The sum of |n - 1|, |n - 3|, ..., from the outside to the inside. *)
Lemma ladder : forall n, range_sum n (fun i => Rabs (INR n - 1 - 2 * INR i)) = INR (n * n / 2).
Proof.
  intros n. set (P := fun n => range_sum n (fun i => Rabs (INR n - 1 - 2 * INR i)) = INR (n * n /
    2)). assert (P n /\ P (S n)) as [H _]; [|exact H]. induction n as [|n [IH next]]; unfold P in *.
  - unfold range_sum. simpl. replace (1 - 1 - 2 * 0) with 0 by ring. rewrite Rabs_R0. split; ring.
  - split; [assumption|]. rewrite range_sum_S, range_sum_first. pose proof (pos_INR n).
    rewrite (range_sum_ext n _ (fun i => Rabs (INR n - 1 - 2 * INR i))) by (intros; f_equal; rewrite
      !S_INR; ring). rewrite IH, !S_INR, Rabs_pos_eq, Rabs_left1 by (simpl; lra).
    replace (S (S n) * S (S n))%nat with (n * n + (2 * n + 2) * 2)%nat by ring.
    rewrite Nat.div_add, !plus_INR, mult_INR by lia. simpl. ring. Qed.

(* All answers of a person are replaced, each pair is answered once or comes from a ranking. *)
Theorem once_sensitivity : forall n m (ok : sheet -> Prop), ok = decided \/ ok = ranking ->
  sensitivity n (replaced m ok) (total (score n)) (INR (n * n / 2)).
Proof.
  intros n m ok kind. pose proof up_ranking. pose proof down_ranking. apply one_person.
  - intros. apply once_l1; destruct kind; subst; auto using ranking_decided.
  - exists up, down. split; [|split]; try (destruct kind; subst; auto using ranking_decided; fail).
    rewrite <- ladder. apply range_sum_ext. intros. rewrite reversed by assumption. reflexivity.
Qed.

(* Pairs may be skipped.  The upper half of the items wins all its pairs, and of the lower half
   nothing is said; or the lower half wins all its pairs, from the last item to the first. *)
Definition upper (n : nat) : sheet := fun i j => Nat.ltb i (n / 2) && Nat.ltb i j.
Definition lower (n : nat) : sheet := fun i j => negb (Nat.ltb i (n / 2)) && Nat.ltb j i.

Lemma halves_partial : forall n, partial (upper n) /\ partial (lower n).
Proof.
  intros n. unfold upper, lower. repeat split; intros; rewrite ?Nat.ltb_irrefl, ?andb_false_r; auto;
    apply andb_true_iff in H; destruct H as [_ H]; apply Nat.ltb_lt in H; [destruct (Nat.ltb_spec j
    i)|destruct (Nat.ltb_spec i j)]; try lia; apply andb_false_r. Qed.

Lemma halves_score : forall n i, (i < n)%nat -> Rabs (score n (upper n) i - score n (lower n) i)
  = / 2 * (INR n - 1) + / 2 * Rabs (INR n - 1 - 2 * INR i).
Proof.
  intros n i H. pose proof (Nat.mul_div_le n 2 ltac:(lia)) as below.
  pose proof (Nat.mul_succ_div_gt n 2 ltac:(lia)) as above. destruct (up_down_score n i H) as [U D].
  pose proof (pos_INR i). pose proof (lt_INR _ _ H).
  assert (range_sum n (fun _ => bit false) = 0) as Z by (rewrite range_sum_const; simpl; ring).
  unfold score, up, down in *. unfold upper, lower.
  destruct (Nat.ltb_spec i (n / 2)) as [L|L]; simpl negb; simpl andb; rewrite ?U, ?D, Z.
  - assert (2 * i + 1 <= n)%nat as E by lia. apply le_INR in E. rewrite plus_INR, mult_INR in E.
    simpl in E. rewrite !Rabs_pos_eq; lra.
  - assert (n <= 2 * i + 1)%nat as E by lia. apply le_INR in E. rewrite plus_INR, mult_INR in E.
    simpl in E. rewrite (Rabs_left1 (0 - INR i)), (Rabs_left1 (_ - 1 - _)); lra. Qed.

Lemma half_of_half : forall n, INR (n * n / 2) = 2 * INR (n * n / 4).
Proof.
  intros n. rewrite <- (mult_INR 2). f_equal. destruct (Nat.Even_or_Odd n) as [[a ->]|[a ->]].
  - rewrite <- (Nat.div_unique _ 2 (2 * (a * a)) 0), <- (Nat.div_unique _ 4 (a * a) 0); nia.
  - rewrite <- (Nat.div_unique _ 2 (2 * (a * a + a)) 1), <- (Nat.div_unique _ 4 (a * a + a) 1); nia.
Qed.

Theorem skip_sensitivity : forall n m, sensitivity n (replaced m partial) (total (score n))
  (INR n * (INR n - 1) / 2 + INR (n * n / 4)).
Proof.
  intros n m. destruct (halves_partial n). apply one_person; [apply skip_l1|].
  exists (upper n), (lower n). repeat split; try apply H; try apply H0. unfold l1.
  rewrite (range_sum_ext n _ _ (halves_score n)). unfold range_sum.
  rewrite sum_plus, sum_const, seq_length, sum_scale. fold (range_sum n).
  pose proof (ladder n) as E. unfold range_sum in E. rewrite E, half_of_half. lra. Qed.

(* CLAIM BOOK-SENS-COUNTS, in l1.  For every n, every L, and m other people: the largest change of
   the win counts between neighbours, which is reached; all times c, which is 1. *)
Definition counts_says (c : R) : Prop := forall n L m : nat, (2 <= n)%nat ->
  sensitivity n (edge n) wins (2 * c) /\
  sensitivity n (replaced m (pile n L)) (total wins) (2 * INR L * c) /\
  (forall ok, ok = decided \/ ok = ranking ->
    sensitivity n (replaced m ok) (total (score n)) (INR (n * n / 2) * c)) /\
  sensitivity n (replaced m partial) (total (score n))
    ((INR n * (INR n - 1) / 2 + INR (n * n / 4)) * c).

Theorem counts : counts_says 1.
Proof.
  intros n L m H. rewrite !Rmult_1_r. auto using edge_sensitivity, pile_sensitivity,
    once_sensitivity, skip_sensitivity. Qed.

Theorem counts_control : forall c, c <> 1 -> ~ counts_says c.
Proof.
  intros c ne H. destruct (H 2%nat 0%nat 0%nat) as [K _]; [lia|].
  pose proof (sensitivity_unique _ _ _ _ _ _ K (edge_sensitivity 2 ltac:(lia))). lra. Qed.
