(* Two reports of a ranking of this book: pair or parity, and the order of some items.

   Proved: the privacy of both; of pair or parity also that it estimates all signs without bias,
   and its mean square, for every number of items.  Not in it: how questions and coins are drawn,
   the estimates that are made of an order, and floating-point numbers. *)
Require Import Reals Lra Lia List Bool PeanoNat ZArith.
From Ranking Require Import Privacy XSC YLL Reports.
Import ListNotations.
Open Scope R_scope.
(* ------------------------------------------------------------------ pair or parity *)

(* The sign of a pair: 1 if i stands before j, -1 if after, 0 if they are one item. *)
Definition sign (r : nat -> nat) (i j : nat) : R :=
  if Nat.eq_dec i j then 0 else sgn (before r (i, j)).

(* A question about two items, or about the three pairs of three items.  It looks at a table of
   numbers, such as the signs; the answer is a bit, for a triple its parity. *)
Inductive asked := Pair (a b : nat) | Triple (a b c : nat).

Definition look (v : nat -> nat -> R) (q : asked) : R :=
  match q with Pair a b => v a b | Triple a b c => v a b + v b c + v c a end.

Definition asked_bit (r : nat -> nat) (q : asked) : bool :=
  match q with
  | Pair a b => before r (a, b)
  | Triple a b c => let x := before r (a, b) in let y := before r (b, c) in
                    let z := before r (c, a) in (x && y) || (y && z) || (x && z)
  end.

Definition different (q : asked) : bool :=
  match q with
  | Pair a b => negb (a =? b)
  | Triple a b c => negb (a =? b) && negb (b =? c) && negb (c =? a)
  end.

Definition asked_below (n : nat) (q : asked) : Prop :=
  match q with Pair a b => (a < n /\ b < n)%nat | Triple a b c => (a < n /\ b < n /\ c < n)%nat end.

(* All questions about n items; a pair has the chance share, a triple 1 - share, all pairs the same
   and all triples, in each order, the same. *)
Definition all_asked (n : nat) : list asked := flat_map (fun a => flat_map (fun b =>
  Pair a b :: map (Triple a b) (seq 0 n)) (seq 0 n)) (seq 0 n).

Definition asked_chance (n : nat) (share : R) (q : asked) : R :=
  if different q then match q with
    | Pair _ _ => share / (INR n * (INR n - 1))
    | Triple _ _ _ => (1 - share) / (INR n * (INR n - 1) * (INR n - 2))
    end else 0.

Lemma all_asked_below : forall n q, In q (all_asked n) -> asked_below n q.
Proof.
  intros n q K. apply in_flat_map in K as [a [K1 K]]. apply in_flat_map in K as [b [K2 K]].
  apply in_seq in K1. apply in_seq in K2. destruct K as [<-|K]; [simpl; lia|].
  apply in_map_iff in K as [c [<- K3]]. apply in_seq in K3. simpl. lia.
Qed.

(* The parity of a triple is the sum of its signs in a circle, which is 1 or -1 for every ranking. *)
Lemma parity : forall n r q, ranking n r -> asked_below n q -> different q = true ->
  look (sign r) q = sgn (asked_bit r q).
Proof.
  intros n r [a b|a b c] [small one] B D; unfold sign; simpl in *.
  - destruct (Nat.eq_dec a b); [subst; rewrite Nat.eqb_refl in D; discriminate|reflexivity].
  - destruct (Nat.eqb_spec a b) as [|ab]; [discriminate|].
    destruct (Nat.eqb_spec b c) as [|bc]; [discriminate|].
    destruct (Nat.eqb_spec c a) as [|ca]; [discriminate|].
    destruct (Nat.eq_dec a b), (Nat.eq_dec b c), (Nat.eq_dec c a); try contradiction.
    assert (r a <> r b) by (intros E; apply ab, one; tauto).
    assert (r b <> r c) by (intros E; apply bc, one; tauto).
    assert (r c <> r a) by (intros E; apply ca, one; tauto).
    unfold before. simpl. destruct (Nat.ltb_spec (r a) (r b)), (Nat.ltb_spec (r b) (r c)),
      (Nat.ltb_spec (r c) (r a)); simpl; unfold sgn; try lra; lia.
Qed.

(* Sums over the items, with a picked one. *)
Definition at_ (i j : nat) : R := if Nat.eq_dec i j then 1 else 0.

Section Decode.
Variable n : nat.
Let items := seq 0 n.
Let all (f : nat -> R) := sum f items.

Lemma all_at : forall i f, (i < n)%nat -> all (fun a => at_ a i * f a) = f i.
Proof.
  intros i f I. unfold all, at_. rewrite <- (sum_at _ Nat.eq_dec f items i).
  - apply sum_ext. intros a. destruct (Nat.eq_dec a i); ring.
  - apply seq_NoDup.
  - apply in_seq. lia.
Qed.

Lemma all_one : forall i, (i < n)%nat -> all (fun a => at_ a i) = 1.
Proof. intros i I. rewrite <- (all_at i (fun _ => 1) I). apply sum_ext. intros; ring. Qed.

Lemma all_constant : forall c, all (fun _ => c) = INR n * c.
Proof. intros. unfold all, items. rewrite sum_const, seq_length. reflexivity. Qed.

(* The part of a table that is a difference of scores gets the gain alpha, the rest beta. *)
Variables alpha beta : R.
Definition scores (v : nat -> nat -> R) (i : nat) : R := all (v i).
Definition decode (v : nat -> nat -> R) (i j : nat) : R :=
  alpha * ((scores v i - scores v j) / INR n) + beta * (v i j - (scores v i - scores v j) / INR n).

(* The table that a question looks at: 1 at its pairs, -1 at the pairs turned round. *)
Definition entry (i j a b : nat) : R := at_ a i * at_ b j - at_ a j * at_ b i.

Lemma scores_entry : forall i j a, (i < n)%nat -> (j < n)%nat -> scores (entry i j) a = at_ a i - at_ a j.
Proof.
  intros i j a I J. unfold scores, entry, all. rewrite sum_minus, !sum_scale.
  fold (all (fun b => at_ b j)). fold (all (fun b => at_ b i)). rewrite !all_one by assumption. ring.
Qed.

Hypothesis n_pos : (0 < n)%nat.

(* What the entry i, j of the decoded table of a question is: the question, looking at the decoded
   table of the pair i, j. *)
Definition decoded (i j : nat) (q : asked) : R := decode (fun i' j' => look (entry i' j') q) i j.

Lemma decode_symmetric : forall i j q, (i < n)%nat -> (j < n)%nat -> asked_below n q ->
  decoded i j q = look (decode (entry i j)) q.
Proof.
  assert (forall a i, at_ a i = at_ i a) as sym
    by (intros; unfold at_; destruct (Nat.eq_dec a i), (Nat.eq_dec i a); congruence).
  assert (forall i q, (i < n)%nat -> asked_below n q ->
    scores (fun i' j' => look (entry i' j') q) i
    = look (fun a b => at_ a i - at_ b i) q) as S.
  { intros i q I B. unfold scores, all. assert (forall x y, (x < n)%nat -> (y < n)%nat ->
      sum (fun j => entry i j x y) items = at_ x i - at_ y i) as E.
    { intros x y X Y. transitivity (scores (entry x y) i).
      - unfold scores, all. apply sum_ext. intros j. unfold entry.
        rewrite (sym x i), (sym x j), (sym y i), (sym y j). ring.
      - rewrite scores_entry by assumption. rewrite (sym i x), (sym i y). reflexivity. }
    destruct q as [a b|a b c]; simpl in *; rewrite ?sum_plus, !E by tauto; reflexivity. }
  assert (0 < INR n) by (apply lt_0_INR; assumption).
  intros i j q I J B. unfold decoded, decode. rewrite !S by assumption.
  destruct q as [a b|a b c]; simpl; rewrite !scores_entry by assumption; field; lra.
Qed.

(* The sum over all questions of what two tables show: each with v j i = - v i j. *)
Definition turned (v : nat -> nat -> R) : Prop := forall i j, v j i = - v i j.

Definition inner (v w : nat -> nat -> R) : R := all (fun a => all (fun b => v a b * w a b)).

Lemma all_swap : forall f : nat -> nat -> R,
  all (fun a => all (fun b => f a b)) = all (fun b => all (fun a => f a b)).
Proof. intros. apply sum_swap. Qed.

Lemma scores_turned : forall v a, turned v -> all (fun b => v b a) = - scores v a.
Proof.
  intros v a T. unfold scores. transitivity (all (fun b => -1 * v a b)).
  - apply sum_ext. intros b. rewrite T. ring.
  - unfold all. rewrite sum_scale. ring.
Qed.

(* Over all triples: pairs that agree, and pairs that have an item in common. *)
Lemma triples_inner : forall v w, turned v -> turned w ->
  all (fun a => all (fun b => all (fun c =>
    (v a b + v b c + v c a) * (w a b + w b c + w c a))))
  = 3 * INR n * inner v w - 6 * all (fun a => scores v a * scores w a).
Proof.
  intros v w V W. set (X := all (fun a => scores v a * scores w a)).
  assert (forall f : nat -> nat -> R, all (fun a => all (fun b => all (fun c => f a b)))
    = INR n * all (fun a => all (fun b => f a b))) as free.
  { intros f. unfold all at 4. rewrite <- sum_scale. apply sum_ext. intros a.
    unfold all at 3. rewrite <- sum_scale. apply sum_ext. intros b. apply all_constant. }
  (* a middle item b, with any factors on both sides *)
  assert (forall f g : nat -> nat -> R, all (fun a => all (fun b => all (fun c => f b a * g b c)))
    = all (fun b => all (f b) * all (g b))) as middle.
  { intros f g. rewrite all_swap. apply sum_ext. intros b. unfold all at 3.
    rewrite <- sum_scale_right. apply sum_ext. intros a. unfold all. apply sum_scale. }
  assert (forall f : nat -> nat -> nat -> R, all (fun a => all (fun b => all (fun c => f a b c)))
    = all (fun a => all (fun b => all (fun c => f b c a)))) as rotate.
  { intros f. rewrite (all_swap (fun a b => all (fun c => f b c a))). apply sum_ext. intros a.
    rewrite (all_swap (fun b c => f a b c)). rewrite all_swap. apply sum_ext. intros b.
    apply sum_ext. reflexivity. }
  assert (forall f : nat -> nat -> nat -> R, all (fun a => all (fun b => all (fun c => f a b c)))
    + all (fun a => all (fun b => all (fun c => f b c a)))
    + all (fun a => all (fun b => all (fun c => f c a b)))
    = 3 * all (fun a => all (fun b => all (fun c => f a b c)))) as circle.
  { intros f. rewrite <- (rotate f). pose proof (rotate (fun a b c => f c a b)) as back.
    cbv beta in back. rewrite back. ring. }
  assert (forall u z, turned u -> turned z ->
    all (fun a => all (fun b => all (fun c => u a b * z b c))) = - all (fun a => scores u a * scores z a))
    as cross.
  { intros u z U Z. transitivity (all (fun a => all (fun b => all (fun c => -1 * u b a * z b c)))).
    - do 3 (apply sum_ext; intros). rewrite (U a0 a). ring.
    - rewrite (middle (fun b a => -1 * u b a) z).
      transitivity (all (fun b => -1 * (scores u b * scores z b))).
      + apply sum_ext. intros b. unfold scores, all. rewrite sum_scale. ring.
      + unfold all. rewrite sum_scale. ring. }
  assert (all (fun a => scores w a * scores v a) = X) as X' by (apply sum_ext; intros; ring).
  transitivity (
    (all (fun a => all (fun b => all (fun c => v a b * w a b)))
     + all (fun a => all (fun b => all (fun c => v b c * w b c)))
     + all (fun a => all (fun b => all (fun c => v c a * w c a))))
    + ((all (fun a => all (fun b => all (fun c => v a b * w b c)))
     + all (fun a => all (fun b => all (fun c => v b c * w c a)))
     + all (fun a => all (fun b => all (fun c => v c a * w a b))))
     + (all (fun a => all (fun b => all (fun c => w a b * v b c)))
     + all (fun a => all (fun b => all (fun c => w b c * v c a)))
     + all (fun a => all (fun b => all (fun c => w c a * v a b)))))).
  - unfold all. rewrite <- !sum_plus. apply sum_ext. intros a. rewrite <- !sum_plus.
    apply sum_ext. intros b. rewrite <- !sum_plus. apply sum_ext. intros c. ring.
  - pose proof (circle (fun a b c => v a b * w a b)) as S1.
    pose proof (circle (fun a b c => v a b * w b c)) as S2.
    pose proof (circle (fun a b c => w a b * v b c)) as S3. cbv beta in *. rewrite S1, S2, S3.
    rewrite (free (fun a b => v a b * w a b)), (cross v w V W), (cross w v W V), X'. fold X.
    unfold inner. ring.
Qed.

Lemma decode_entry : forall i j a b, (i < n)%nat -> (j < n)%nat -> decode (entry i j) a b
  = (alpha - beta) / INR n * (at_ a i - at_ a j - (at_ b i - at_ b j)) + beta * entry i j a b.
Proof.
  intros i j a b I J. assert (0 < INR n) by (apply lt_0_INR; assumption).
  unfold decode. rewrite !scores_entry by assumption. field. lra.
Qed.

Lemma decode_turned : forall i j, (i < n)%nat -> (j < n)%nat -> turned (decode (entry i j)).
Proof. intros i j I J a b. rewrite !decode_entry by assumption. unfold entry. ring. Qed.

Lemma scores_decode : forall i j a, (i < n)%nat -> (j < n)%nat ->
  scores (decode (entry i j)) a = alpha * (at_ a i - at_ a j).
Proof.
  intros i j a I J. assert (0 < INR n) by (apply lt_0_INR; assumption). unfold scores.
  transitivity (all (fun b => (alpha - beta) / INR n * (at_ a i - at_ a j)
    + -1 * ((alpha - beta) / INR n) * at_ b i + (alpha - beta) / INR n * at_ b j
    + beta * entry i j a b)).
  - apply sum_ext. intros b. rewrite decode_entry by assumption. ring.
  - unfold all. rewrite !sum_plus, !sum_scale. fold (all (fun b => at_ b i)).
    fold (all (fun b => at_ b j)). rewrite !all_one by assumption.
    change (sum (entry i j a) items) with (scores (entry i j) a).
    rewrite scores_entry by assumption. unfold items. rewrite sum_const, seq_length. field. lra.
Qed.

Lemma inner_decode : forall v i j, turned v -> (i < n)%nat -> (j < n)%nat -> inner v (decode (entry i j))
  = 2 * ((alpha - beta) / INR n) * (scores v i - scores v j) + 2 * beta * v i j.
Proof.
  intros v i j V I J. unfold inner. set (k := (alpha - beta) / INR n).
  transitivity (all (fun a => k * (at_ a i * scores v a) + -1 * k * (at_ a j * scores v a)
    + -1 * k * v a i + k * v a j + (beta * (at_ a i * v a j) + -1 * beta * (at_ a j * v a i)))).
  - apply sum_ext. intros a.
    transitivity (all (fun b => k * (at_ a i - at_ a j) * v a b + -1 * k * (at_ b i * v a b)
      + k * (at_ b j * v a b) + (beta * at_ a i * (at_ b j * v a b)
      + -1 * beta * at_ a j * (at_ b i * v a b)))).
    + apply sum_ext. intros b. rewrite decode_entry by assumption. fold k. unfold entry. ring.
    + unfold all. rewrite !sum_plus, !sum_scale. fold (all (fun b => at_ b i * v a b)).
      fold (all (fun b => at_ b j * v a b)). rewrite !all_at by assumption.
      unfold scores, all. ring.
  - unfold all. rewrite !sum_plus, !sum_scale. fold (all (fun a => at_ a i * scores v a)).
    fold (all (fun a => at_ a j * scores v a)). fold (all (fun a => at_ a i * v a j)).
    fold (all (fun a => at_ a j * v a i)). rewrite !all_at by assumption.
    fold (all (fun a => v a i)). fold (all (fun a => v a j)). rewrite !scores_turned by assumption.
    rewrite (V i j). ring.
Qed.

Lemma asked_sum : forall f, sum f (all_asked n) = all (fun a => all (fun b => f (Pair a b)))
  + all (fun a => all (fun b => all (fun c => f (Triple a b c)))).
Proof.
  intros f. unfold all_asked, all. rewrite <- sum_plus, sum_flat_map. apply sum_ext. intros a.
  rewrite <- sum_plus, sum_flat_map. apply sum_ext. intros b. simpl. rewrite sum_map. reflexivity.
Qed.

(* What all questions together show of the entry i, j of a table, decoded: the entry itself, if the
   gains are the inverses of how much the questions show of the two parts. *)
Hypothesis n_large : (3 <= n)%nat.

Lemma asked_unbiased : forall share v i j, turned v -> (i < n)%nat -> (j < n)%nat ->
  let shown := share / (INR n * (INR n - 1)) in
  let circles := (1 - share) / (INR n * (INR n - 1) * (INR n - 2)) in
  2 * shown * alpha = 1 -> (2 * shown + 6 * INR n * circles) * beta = 1 ->
  sum (fun q => asked_chance n share q * (look v q * decoded i j q)) (all_asked n) = v i j.
Proof.
  intros share v i j V I J shown circles A B. set (w := decode (entry i j)).
  assert (turned w) as W by (apply decode_turned; assumption).
  assert (3 <= INR n) as large by (replace 3 with (INR 3) by (simpl; lra); apply le_INR; assumption).
  assert (forall u a, turned u -> u a a = 0) as diagonal by (intros u a U; pose proof (U a a); lra).
  assert (forall u a b c, turned u -> different (Triple a b c) = false ->
    u a b + u b c + u c a = 0) as degenerate.
  { intros u a b c U D. simpl in D. destruct (Nat.eqb_spec a b) as [->|].
    - rewrite (diagonal u b U), (U b c). ring.
    - destruct (Nat.eqb_spec b c) as [->|].
      + rewrite (diagonal u c U), (U a c). ring.
      + destruct (Nat.eqb_spec c a) as [->|]; [|discriminate]. rewrite (diagonal u a U), (U a b). ring. }
  transitivity (shown * inner v w + circles * all (fun a => all (fun b => all (fun c =>
    (v a b + v b c + v c a) * (w a b + w b c + w c a))))).
  - rewrite (sum_ext_in _ (fun q => asked_chance n share q * (look v q * look w q))).
    + rewrite asked_sum. f_equal.
      * unfold inner, all. rewrite <- sum_scale. apply sum_ext. intros a. rewrite <- sum_scale.
        apply sum_ext. intros b. unfold asked_chance. simpl.
        destruct (Nat.eqb_spec a b) as [->|]; simpl; fold shown; [|reflexivity].
        rewrite (diagonal v b V). ring.
      * unfold all. rewrite <- sum_scale. apply sum_ext. intros a. rewrite <- sum_scale.
        apply sum_ext. intros b. rewrite <- sum_scale. apply sum_ext. intros c.
        unfold asked_chance. destruct (different (Triple a b c)) eqn:D; fold circles; [reflexivity|].
        rewrite (degenerate v a b c V D). ring.
    + intros q K. f_equal. f_equal. apply decode_symmetric; auto using all_asked_below.
  - rewrite triples_inner by assumption. pose proof (inner_decode v i j V I J) as E.
    fold w in E. rewrite E.
    transitivity (shown * (2 * ((alpha - beta) / INR n) * (scores v i - scores v j)
      + 2 * beta * v i j) + circles * (3 * INR n * (2 * ((alpha - beta) / INR n)
      * (scores v i - scores v j) + 2 * beta * v i j) - 6 * (alpha * (scores v i - scores v j)))).
    + do 4 f_equal. transitivity (all (fun a => alpha * (at_ a i * scores v a)
        + -1 * alpha * (at_ a j * scores v a))).
      * apply sum_ext. intros a. unfold w. rewrite scores_decode by assumption. ring.
      * unfold all. rewrite sum_plus, !sum_scale. fold (all (fun a => at_ a i * scores v a)).
        fold (all (fun a => at_ a j * scores v a)). rewrite !all_at by assumption. ring.
    + transitivity ((2 * shown + 6 * INR n * circles) * beta * v i j
        + (2 * shown * alpha - (2 * shown + 6 * INR n * circles) * beta)
          / INR n * (scores v i - scores v j)); [field; lra|]. rewrite A, B. field. lra.
Qed.

(* Its mean square does not depend on the ranking. *)
Lemma asked_square : forall share i j, (i < n)%nat -> (j < n)%nat -> i <> j ->
  let shown := share / (INR n * (INR n - 1)) in
  let circles := (1 - share) / (INR n * (INR n - 1) * (INR n - 2)) in
  2 * shown * alpha = 1 -> (2 * shown + 6 * INR n * circles) * beta = 1 ->
  sum (fun q => asked_chance n share q * (decoded i j q * decoded i j q)) (all_asked n)
  = 2 * alpha / INR n + beta * (1 - 2 / INR n).
Proof.
  intros share i j I J other shown circles A B.
  transitivity (decode (entry i j) i j).
  - rewrite <- (asked_unbiased share (decode (entry i j)) i j) by
      (try assumption; apply decode_turned; assumption).
    apply sum_ext_in. intros q K. rewrite <- decode_symmetric by auto using all_asked_below.
    reflexivity.
  - rewrite decode_entry by assumption. unfold entry, at_. destruct (Nat.eq_dec i i); [|contradiction].
    destruct (Nat.eq_dec j j); [|contradiction]. destruct (Nat.eq_dec i j); [contradiction|].
    destruct (Nat.eq_dec j i); [congruence|]. assert (0 < INR n) by (apply lt_0_INR; assumption).
    field. lra.
Qed.

(* The questions are drawn by a law. *)
Lemma asked_law : forall share, 0 <= share <= 1 -> finite_law (all_asked n) (asked_chance n share).
Proof.
  intros share range.
  assert (3 <= INR n) as large by (replace 3 with (INR 3) by (simpl; lra); apply le_INR; assumption).
  assert (0 < INR n * (INR n - 1)) by nra. assert (0 < INR n * (INR n - 1) * (INR n - 2)) by nra.
  split.
  - intros q. unfold asked_chance. destruct (different q); [|lra].
    destruct q; apply Rmult_le_pos; try lra; left; apply Rinv_0_lt_compat; assumption.
  - assert (forall a b, at_ a b = at_ b a) as sym
      by (intros; unfold at_; destruct (Nat.eq_dec a b), (Nat.eq_dec b a); congruence).
    assert (all (fun _ => all (fun _ => 1)) = INR n * INR n) as square.
    { transitivity (all (fun _ => INR n * 1)); [|rewrite all_constant; ring].
      apply sum_ext. intros. apply all_constant. }
    assert (all (fun a => all (fun b => at_ a b)) = INR n) as same.
    { transitivity (all (fun _ => 1)); [|rewrite all_constant; ring]. apply sum_ext_in. intros a K.
      apply in_seq in K. rewrite <- (all_one a) by lia. apply sum_ext. intros; apply sym. }
    assert (all (fun a => all (fun b => 1 - at_ a b)) = INR n * INR n - INR n) as apart.
    { transitivity (all (fun _ => all (fun _ => 1)) - all (fun a => all (fun b => at_ a b)));
        [|rewrite square, same; reflexivity].
      unfold all. rewrite <- sum_minus. apply sum_ext. intros. apply sum_minus. }
    rewrite asked_sum. set (x := share / (INR n * (INR n - 1))).
    set (y := (1 - share) / (INR n * (INR n - 1) * (INR n - 2))).
    transitivity (x * (INR n * INR n - INR n) + y * (INR n * INR n * INR n - 3 * (INR n * INR n)
      + 2 * INR n)).
    + f_equal.
      * rewrite <- apart. unfold all. rewrite <- sum_scale.
        apply sum_ext. intros a. rewrite <- sum_scale. apply sum_ext. intros b.
        unfold asked_chance, at_. simpl. fold x.
        destruct (Nat.eqb_spec a b), (Nat.eq_dec a b); simpl; try contradiction; ring.
      * transitivity (y * all (fun a => all (fun b => (INR n - 2) * (1 - at_ a b)))).
        -- unfold all at 1 4. rewrite <- sum_scale. apply sum_ext_in. intros a K. apply in_seq in K.
           unfold all at 1 3. rewrite <- sum_scale. apply sum_ext_in. intros b L. apply in_seq in L.
           transitivity (all (fun c => y * (1 - at_ a b) + -1 * y * (1 - at_ a b) * at_ c a
             + -1 * y * (1 - at_ a b) * at_ c b)).
           ++ apply sum_ext. intros c. unfold asked_chance, at_. simpl. fold y.
              destruct (Nat.eqb_spec a b), (Nat.eqb_spec b c), (Nat.eqb_spec c a);
                destruct (Nat.eq_dec a b), (Nat.eq_dec c a), (Nat.eq_dec c b); simpl;
                try lia; try congruence; ring.
           ++ unfold all. rewrite !sum_plus, !sum_scale. fold (all (fun c => at_ c a)).
              fold (all (fun c => at_ c b)). rewrite !all_one by lia. unfold items.
              rewrite sum_const, seq_length. ring.
        -- f_equal. transitivity ((INR n - 2) * (INR n * INR n - INR n)); [|ring].
           rewrite <- apart. unfold all. rewrite <- sum_scale. apply sum_ext. intros a.
           apply sum_scale.
    + unfold x, y. field. lra.
Qed.

End Decode.

(* CLAIM BOOK-PAIR-OR-PARITY. Each person of n >= 3 items sends one bit by randomised response: with
   probability q the sign of a random pair, else the parity of a random triple.  This is
   epsilon-private.  With a gain for the part of the table of signs that is a difference of scores,
   and another for the rest, all N = n (n - 1) / 2 signs are estimated without bias, with a mean
   square that is the same for every entry and every ranking: N coth(epsilon/2)^2, that of one
   random pair, times a ratio below 1. *)
Definition parity_share (n : nat) : R := let s := sqrt (INR n + 1) in
  3 * INR n / (s * (INR n - 2 + 2 * s)).

Definition score_gain (n : nat) : R := INR n * (INR n - 1) / 2 / parity_share n.
Definition circle_gain (n : nat) : R := let N := INR n * (INR n - 1) / 2 in
  let D := (INR n - 1) * (INR n - 2) / 2 in
  1 / (parity_share n / N + 3 * (1 - parity_share n) / D).

Definition parity_report (n : nat) (e : R) (r : nat -> nat) : asked * bool -> R :=
  one_bit (asked_chance n (parity_share n)) (asked_bit r) e.

Definition pair_or_parity_says (k : R) : Prop := forall n epsilon, (3 <= n)%nat -> 0 < epsilon ->
  let N := INR (length (pairs n)) in
  let ratio := k * (((INR n - 2 + 2 * sqrt (INR n + 1)) / INR n) * ((INR n - 2
    + 2 * sqrt (INR n + 1)) / INR n)) in
  let report i j := estimate (decoded n (score_gain n) (circle_gain n) i j) epsilon in
  let over r F := mean (reports (all_asked n)) F (parity_report n epsilon r) in
  0 < parity_share n < 1 /\ ratio < 1 /\
  (forall r, finite_law (reports (all_asked n)) (parity_report n epsilon r)) /\
  private any epsilon (parity_report n epsilon) /\
  (forall r a b c, ranking n r -> (a < n)%nat -> (b < n)%nat -> (c < n)%nat -> a <> b -> b <> c ->
    c <> a -> let v := sign r a b + sign r b c - sign r a c in v = 1 \/ v = -1) /\
  forall r i j, ranking n r -> (i < n)%nat -> (j < n)%nat -> i <> j ->
    over r (report i j) = sign r i j /\
    over r (fun o => report i j o * report i j o)
      = N * (coth_half epsilon * coth_half epsilon) * ratio.

Lemma sign_turned : forall n r i j, ranking n r -> (i < n)%nat -> (j < n)%nat ->
  sign r j i = - sign r i j.
Proof.
  intros n r i j [small one] I J. unfold sign. destruct (Nat.eq_dec i j), (Nat.eq_dec j i);
    try congruence; [lra|]. assert (r i <> r j) by (intros E; apply n0, one; assumption).
  unfold before. simpl. destruct (Nat.ltb_spec (r i) (r j)), (Nat.ltb_spec (r j) (r i)); simpl;
    lra || lia.
Qed.

(* All constants in terms of s, the root of n + 1. *)
Lemma parity_constants : forall n, (3 <= n)%nat -> let s := sqrt (INR n + 1) in
  2 <= s /\ INR n = s * s - 1 /\ parity_share n = 3 * (s + 1) / (s * (s + 3)) /\
  score_gain n = s * circle_gain n /\ circle_gain n = (s * s - 2) * (s + 3) * (s - 1) / 6.
Proof.
  intros n large s.
  assert (3 <= INR n) by (replace 3 with (INR 3) by (simpl; lra); apply le_INR; assumption).
  assert (2 <= s) as S.
  { unfold s. replace 2 with (sqrt (2 * 2)) by (apply sqrt_square; lra). apply sqrt_le_1; lra. }
  assert (INR n = s * s - 1) as E by (unfold s; rewrite sqrt_sqrt; lra).
  assert (parity_share n = 3 * (s + 1) / (s * (s + 3))) as share.
  { unfold parity_share. fold s. rewrite E. field. split; [|split]; nra. }
  assert (circle_gain n = (s * s - 2) * (s + 3) * (s - 1) / 6) as circles.
  { unfold circle_gain. rewrite share, E. field. repeat split; nra. }
  repeat split; try assumption. rewrite circles. unfold score_gain. rewrite share, E. field. nra.
Qed.

Theorem pair_or_parity : pair_or_parity_says (1 / 3).
Proof.
  intros n e large pos N ratio report over.
  destruct (parity_constants n large) as [S [E [share [scores circles]]]].
  unfold ratio. set (s := sqrt (INR n + 1)) in *. clear ratio.
  assert (0 < parity_share n < 1) as range.
  { rewrite share. split; [apply Rdiv_lt_0_compat; nra|].
    apply Rmult_lt_reg_r with (s * (s + 3)); [nra|]. field_simplify; nra. }
  assert ((INR n - 2 + 2 * s) / INR n = (s + 3) / (s + 1)) as form.
  { rewrite E. field. split; nra. }
  assert (N = INR n * (INR n - 1) / 2) as count.
  { unfold N. pose proof (pairs_length n) as L. apply (f_equal INR) in L.
    rewrite !mult_INR, minus_INR in L by lia. simpl INR in L. lra. }
  assert (finite_law (all_asked n) (asked_chance n (parity_share n))) as law
    by (apply asked_law; lra || lia).
  split; [assumption|]. split; [|split; [|split; [|split]]].
  - rewrite form. apply Rmult_lt_reg_r with (3 * (s + 1) * (s + 1)); [nra|].
    replace (1 / 3 * ((s + 3) / (s + 1) * ((s + 3) / (s + 1))) * (3 * (s + 1) * (s + 1)))
      with ((s + 3) * (s + 3)) by (field; lra). nra.
  - intros r. apply one_bit_law. assumption.
  - apply one_bit_private; [lra|]. intros q. apply law.
  - intros r a b c R A B C ab bc ca.
    pose proof (parity n r (Triple a b c) R (conj A (conj B C))) as P. simpl in P.
    rewrite (sign_turned n r a c R A C) in P.
    replace (sign r a b + sign r b c - sign r a c)
      with (sign r a b + sign r b c + - sign r a c) by ring. rewrite P.
    + destruct (before r (a, b) && before r (b, c) || before r (b, c) && before r (c, a)
        || before r (a, b) && before r (c, a)); simpl; auto.
    + destruct (Nat.eqb_spec a b), (Nat.eqb_spec b c), (Nat.eqb_spec c a); simpl; congruence.
  - intros r i j R I J other.
    set (shown := parity_share n / (INR n * (INR n - 1))).
    set (around := (1 - parity_share n) / (INR n * (INR n - 1) * (INR n - 2))).
    assert (2 * shown * score_gain n = 1) as one.
    { unfold shown, score_gain. field. rewrite E. repeat split; nra. }
    assert ((2 * shown + 6 * INR n * around) * circle_gain n = 1) as two.
    { unfold shown, around. rewrite circles, share, E. field. repeat split; nra. }
    split.
    + unfold over, report, parity_report. rewrite estimate_mean by assumption.
      set (v a b := if (a <? n)%nat && (b <? n)%nat then sign r a b else 0).
      transitivity (v i j).
      * rewrite <- (asked_unbiased n (score_gain n) (circle_gain n) ltac:(lia) large
          (parity_share n) v i j); try assumption.
        -- apply sum_ext_in. intros q K. apply all_asked_below in K. unfold asked_chance.
           destruct (different q) eqn:D; [|ring]. f_equal. f_equal. rewrite <- (parity n) by assumption.
           destruct q; simpl in *; unfold v;
             repeat (match goal with |- context [(?x <? n)%nat] =>
               replace (x <? n)%nat with true by (symmetry; apply Nat.ltb_lt; lia) end); reflexivity.
        -- intros a b. unfold v. destruct (Nat.ltb_spec a n), (Nat.ltb_spec b n); simpl; try lra.
           apply (sign_turned n); assumption.
      * unfold v. replace (i <? n)%nat with true by (symmetry; apply Nat.ltb_lt; assumption).
        replace (j <? n)%nat with true by (symmetry; apply Nat.ltb_lt; assumption). reflexivity.
    + unfold over, report, parity_report. rewrite estimate_square.
      rewrite (asked_square n (score_gain n) (circle_gain n) ltac:(lia) large (parity_share n) i j
        I J other one two).
      rewrite form, count, scores, circles, E. field. repeat split; nra.
Qed.

Theorem pair_or_parity_control : forall k, k <> 1 / 3 -> ~ pair_or_parity_says k.
Proof.
  intros k other H. assert (ranking 3 (fun i => i)) as R by (split; auto).
  destruct (H 3%nat 1 ltac:(lia) ltac:(lra)) as [_ [_ [_ [_ [_ K]]]]].
  destruct (pair_or_parity 3%nat 1 ltac:(lia) ltac:(lra)) as [_ [_ [_ [_ [_ L]]]]].
  destruct (K _ 0 1 R)%nat as [_ K']; try lia. destruct (L _ 0 1 R)%nat as [_ L']; try lia.
  rewrite K' in L'. destruct (parity_constants 3 ltac:(lia)) as [S _].
  set (s := sqrt (INR 3 + 1)) in *. pose proof (coth_half_more 1 ltac:(lra)).
  set (x := (INR 3 - 2 + 2 * s) / INR 3) in *. assert (0 < x) as X.
  { unfold x. simpl INR. apply Rdiv_lt_0_compat; lra. }
  assert (0 < INR (length (pairs 3)) * (coth_half 1 * coth_half 1) * (x * x)) as P.
  { simpl INR. assert (0 < coth_half 1 * coth_half 1) by nra. assert (0 < x * x) by nra. nra. }
  apply other. apply Rmult_eq_reg_r with (INR (length (pairs 3)) * (coth_half 1 * coth_half 1)
    * (x * x)); [|lra].
  transitivity (INR (length (pairs 3)) * (coth_half 1 * coth_half 1) * (k * (x * x))); [ring|].
  rewrite L'. ring.
Qed.

(* ------------------------------------------------------------------ the order of some items *)

(* All lists that arise when a is put somewhere in l, and all orders of the items of a list. *)
Fixpoint insertions (a : nat) (l : list nat) : list (list nat) :=
  match l with
  | [] => [[a]]
  | b :: rest => (a :: l) :: map (cons b) (insertions a rest)
  end.

Fixpoint orders (items : list nat) : list (list nat) :=
  match items with [] => [[]] | a :: rest => flat_map (insertions a) (orders rest) end.

(* The items in the order of a ranking. *)
Fixpoint place (r : nat -> nat) (a : nat) (l : list nat) : list nat :=
  match l with [] => [a] | b :: rest => if (r a <? r b)%nat then a :: l else b :: place r a rest end.

Fixpoint order (r : nat -> nat) (items : list nat) : list nat :=
  match items with [] => [] | a :: rest => place r a (order r rest) end.

Lemma order_in : forall r items, In (order r items) (orders items).
Proof.
  intros r items. induction items as [|a items IH]; simpl; [auto|]. apply in_flat_map.
  exists (order r items). split; [assumption|]. generalize (order r items) as l.
  induction l as [|b l IHl]; simpl; [auto|]. destruct (r a <? r b)%nat; [auto|]. right.
  apply in_map. assumption.
Qed.

Lemma insertions_length : forall a l, length (insertions a l) = S (length l).
Proof. intros a l. induction l as [|b l IH]; simpl; [reflexivity|]. rewrite map_length, IH. auto. Qed.

Lemma insertions_in : forall a l m, In m (insertions a l) ->
  length m = S (length l) /\ forall c, In c m -> c = a \/ In c l.
Proof.
  intros a l. induction l as [|b l IH]; simpl; intros m H.
  - destruct H as [<-|[]]. simpl. intuition.
  - destruct H as [<-|H]; [simpl; intuition|]. apply in_map_iff in H as [k [<- H]].
    destruct (IH k H) as [L K]. simpl. split; [lia|]. intros c [->|C]; [auto|].
    destruct (K c C); auto.
Qed.

Lemma orders_in : forall items m, In m (orders items) ->
  length m = length items /\ forall c, In c m -> In c items.
Proof.
  intros items. induction items as [|a items IH]; simpl; intros m H; [destruct H as [<-|[]]; auto|].
  apply in_flat_map in H as [l [H K]]. destruct (IH l H) as [L I].
  destruct (insertions_in a l m K) as [M J]. split; [lia|]. intros c C.
  destruct (J c C); auto.
Qed.

Lemma orders_length : forall items, length (orders items) = fact (length items).
Proof.
  induction items as [|a items IH]; [reflexivity|]. change (fact (length (a :: items)))
    with (S (length items) * fact (length items))%nat. rewrite <- IH. simpl orders.
  assert (forall l, In l (orders items) -> length l = length items) as size
    by (intros l H; apply orders_in; assumption).
  clear IH. induction (orders items) as [|l k IHk]; simpl; [lia|].
  rewrite app_length, insertions_length, (size l) by (simpl; auto).
  rewrite IHk by (intros; apply size; simpl; auto). lia.
Qed.

(* An insertion can be undone, so that all orders are different. *)
Lemma insertions_undo : forall a l m, ~ In a l -> In m (insertions a l) ->
  remove Nat.eq_dec a m = l.
Proof.
  intros a l. induction l as [|b l IH]; intros m out H; simpl in H.
  - destruct H as [<-|[]]. simpl. destruct (Nat.eq_dec a a); congruence.
  - destruct H as [<-|H].
    + simpl. destruct (Nat.eq_dec a a); [|congruence]. destruct (Nat.eq_dec a b) as [->|];
        [exfalso; apply out; simpl; auto|]. f_equal. apply notin_remove. intros K. apply out.
      simpl. auto.
    + apply in_map_iff in H as [k [<- H]]. simpl. destruct (Nat.eq_dec a b) as [->|];
        [exfalso; apply out; simpl; auto|]. f_equal. apply IH; [|assumption]. intros K. apply out.
      simpl. auto.
Qed.

Lemma insertions_NoDup : forall a l, ~ In a l -> NoDup (insertions a l).
Proof.
  intros a l. induction l as [|b l IH]; intros out; simpl; constructor; auto; [constructor| |].
  - intros H. apply in_map_iff in H as [k [E _]]. injection E as E _. apply out. simpl. auto.
  - apply NoDup_map; [congruence|]. apply IH. intros K. apply out. simpl. auto.
Qed.

Lemma orders_NoDup : forall items, NoDup items -> NoDup (orders items).
Proof.
  intros items D. induction D as [|a items out D IH]; simpl; [repeat constructor; auto|].
  assert (forall l, In l (orders items) -> ~ In a l) as fresh
    by (intros l H K; apply out; apply (orders_in items l H); assumption).
  induction IH as [|l k other IHk IHk']; simpl; [constructor|]. apply NoDup_app_disjoint.
  - apply insertions_NoDup, fresh. simpl. auto.
  - apply IHk'. intros. apply fresh. simpl. auto.
  - intros m M K. apply in_flat_map in K as [l' [K L]].
    assert (l = l'); [|subst; contradiction].
    rewrite <- (insertions_undo a l m), <- (insertions_undo a l' m); auto; apply fresh; simpl; auto.
Qed.

(* Randomised response on K values: the true one has e^epsilon times the chance of any other. *)
Definition one_of (K : nat) (e : R) (x o : list nat) : R :=
  (if list_eq_dec Nat.eq_dec o x then exp e else 1) / (exp e + (INR K - 1)).

Lemma one_of_positive : forall K e x o, (0 < K)%nat -> 0 < one_of K e x o.
Proof.
  intros K e x o some. pose proof (exp_pos e). assert (1 <= INR K) by (apply (le_INR 1); lia).
  unfold one_of. apply Rdiv_lt_0_compat; [|lra]. destruct (list_eq_dec Nat.eq_dec o x); lra.
Qed.

Lemma one_of_law : forall e values x, NoDup values -> In x values ->
  finite_law values (one_of (length values) e x).
Proof.
  intros e values x D I. assert (0 < length values)%nat as some by (destruct values; [contradiction|simpl; lia]).
  pose proof (exp_pos e). assert (1 <= INR (length values)) by (apply (le_INR 1); lia). split.
  - intros. left. apply one_of_positive. assumption.
  - unfold one_of, Rdiv. rewrite sum_scale_right.
    rewrite (sum_ext _ (fun o => (if list_eq_dec Nat.eq_dec o x then exp e - 1 else 0) + 1))
      by (intros o; destruct (list_eq_dec Nat.eq_dec o x); ring).
    rewrite sum_plus, (sum_at _ (list_eq_dec Nat.eq_dec) (fun _ => exp e - 1)), sum_const
      by assumption. field. lra.
Qed.

Lemma one_of_private : forall K e, (0 < K)%nat -> 0 <= e -> private any e (one_of K e).
Proof.
  intros K e some pos x y o _. pose proof (exp_at_least_1 e pos).
  assert (1 <= INR K) by (apply (le_INR 1); lia).
  assert (0 < / (exp e + (INR K - 1))) by (apply Rinv_0_lt_compat; lra).
  unfold one_of, Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
  destruct (list_eq_dec Nat.eq_dec o x), (list_eq_dec Nat.eq_dec o y); nra.
Qed.

Lemma one_of_loses : forall K e x y, (0 < K)%nat -> 0 <= e -> x <> y ->
  one_of K e x x = exp e * one_of K e y x.
Proof.
  intros K e x y some pos other. pose proof (exp_pos e).
  assert (1 <= INR K) by (apply (le_INR 1); lia). unfold one_of.
  destruct (list_eq_dec Nat.eq_dec x x), (list_eq_dec Nat.eq_dec x y); try congruence. field. lra.
Qed.

(* CLAIM BOOK-TRIPLE-ORDER (its privacy). k random items of n, drawn by any law that does not look at
   the ranking, and their order by randomised response on its k! values: this is a law and
   epsilon-private for every k, n and epsilon, and loses exactly epsilon where two rankings order
   the items differently. *)
Definition some_order (c e : R) (w : list nat -> R) (k : nat) (r : nat -> nat)
  (report : list nat * list nat) : R :=
  w (fst report) * one_of (fact k) (c * e) (order r (fst report)) (snd report).

Definition triple_order_says (c : R) : Prop := forall k epsilon (w : list nat -> R), 0 <= epsilon ->
  (forall items, 0 <= w items) ->
  (forall items r, NoDup items -> length items = k ->
    finite_law (orders items) (one_of (fact k) (c * epsilon) (order r items))) /\
  private any epsilon (some_order c epsilon w k) /\
  forall r s items, 0 < w items -> order r items <> order s items ->
    loses (some_order c epsilon w k r) (some_order c epsilon w k s) epsilon.

Theorem triple_order : triple_order_says 1.
Proof.
  intros k e w pos P. pose proof (lt_O_fact k) as some. split; [|split].
  - intros items r D L. rewrite <- L, <- orders_length.
    apply one_of_law; [apply orders_NoDup; assumption|apply order_in].
  - intros r s [items o] _. unfold some_order. simpl. rewrite Rmult_1_l.
    pose proof (one_of_private (fact k) e some pos (order r items) (order s items) o I).
    specialize (P items). nra.
  - intros r s items chance other. split.
    + intros [its o]. unfold some_order. simpl. rewrite Rmult_1_l.
      pose proof (one_of_private (fact k) e some pos (order r its) (order s its) o I).
      specialize (P its). nra.
    + exists (items, order r items). unfold some_order. simpl. rewrite Rmult_1_l. split.
      * apply Rmult_lt_0_compat; [assumption|apply one_of_positive; assumption].
      * rewrite (one_of_loses (fact k) e _ (order s items)) by assumption. ring.
Qed.

Theorem triple_order_control : forall c, 0 <= c -> c <> 1 -> ~ triple_order_says c.
Proof.
  intros c pos other H. set (w := fun _ : list nat => 1).
  assert (forall items, 0 <= w items) as P by (intros; unfold w; lra).
  destruct (H 2%nat 1 w ltac:(lra) P) as [_ [_ K]].
  destruct (triple_order 2%nat c w pos P) as [_ [_ L]].
  set (r := fun i : nat => i). set (s := fun i => (1 - i)%nat).
  assert (order r [0; 1] <> order s [0; 1])%nat as D by (simpl; discriminate).
  specialize (K r s _ ltac:(unfold w; lra) D). specialize (L r s _ ltac:(unfold w; lra) D).
  unfold some_order in K, L. rewrite Rmult_1_r in K. rewrite Rmult_1_l in L.
  pose proof (loses_unique _ _ _ _ _ K L). lra.
Qed.
