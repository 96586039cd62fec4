(* Noise in the shape of the answers, and a whole release of `dpbook rank`.

   K-norm noise (Hardt and Talwar 2010): the noise x, whose sum is 0, has the weight
   exp(-epsilon level(x)), where the level is a gauge, perhaps rounded up.  Outcomes are vectors of
   whole numbers; the counts of the data are among them, and lose most.
   Claim BOOK-KNORM: it loses exactly epsilon, for one comparison, sheets with every pair, rankings.
   Claim BOOK-RELEASE: so does a release that keeps at most L answers of each person, at random.

   Not in it: that the bodies are the convex hulls of the moves, and so the smallest ones; that the
   weights have a finite sum (they are the same for all data sets but for a shift, so that one
   positive factor, [unit], makes them laws); skipped pairs; how the noise is drawn. *)
Require Import Reals Lra Lia ZArith List Bool Permutation FunctionalExtensionality.
From Ranking Require Import Privacy Counts.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ common *)

(* It is private for exactly the epsilons from this one. *)
Definition private_from {D O} (near : D -> D -> Prop) (p : D -> O -> R) (loss : R) : Prop :=
  forall e, private near e p <-> loss <= e.

Lemma loses_exactly : forall D O (near : D -> D -> Prop) (p : D -> O -> R) loss,
  (forall x o, 0 <= p x o) -> private near loss p ->
  (exists x y o, near x y /\ 0 < p y o /\ p x o = exp loss * p y o) -> private_from near p loss.
Proof.
  intros D O near p loss nonneg safe (x & y & o & close & pos & equal) e. split; intros H.
  - specialize (H x y o close). rewrite equal in H. apply Rmult_le_reg_r in H; [|exact pos].
    apply Rnot_lt_le. intros less. apply exp_increasing in less. lra.
  - apply private_more with loss; assumption.
Qed.
Lemma between : forall r m, Rabs r <= m -> - m <= r <= m.
Proof. intros r m. unfold Rabs. destruct (Rcase_abs r); lra. Qed.

(* Rounding up. *)
Definition ceiling (r : R) : R := - IZR (Int_part (- r)).

Lemma ceiling_step : forall r s, r <= s + 1 -> ceiling r <= ceiling s + 1.
Proof.
  intros r s H. unfold ceiling. destruct (base_Int_part (- r)), (base_Int_part (- s)).
  rewrite <- !opp_IZR, <- plus_IZR. apply IZR_le.
  enough (- Int_part (- r) < - Int_part (- s) + 1 + 1)%Z by lia.
  apply lt_IZR. rewrite !plus_IZR, !opp_IZR. lra.
Qed.
Lemma ceiling_whole : forall k, ceiling (IZR k) = IZR k.
Proof.
  intros k. unfold ceiling. rewrite <- opp_IZR. destruct (base_Int_part (IZR (- k))) as [A B].
  rewrite <- opp_IZR. f_equal. apply le_IZR in A. rewrite opp_IZR in B.
  enough (- k < Int_part (IZR (- k)) + 1)%Z by lia. apply lt_IZR. rewrite plus_IZR, opp_IZR. lra.
Qed.

(* ------------------------------------------------------------------ noise in a shape *)

Definition plus (x v : nat -> R) (i : nat) : R := x i + v i.
Definition move (u v : nat -> R) (i : nat) : R := u i - v i.

(* A level: of a sum it is at most the sum of the levels. *)
Definition subadditive (g : (nat -> R) -> R) : Prop :=
  g (fun _ => 0) = 0 /\ forall x v, g (plus x v) <= g x + g v.

Section Shaped.
Variables (n : nat) (unit : R) (g : (nat -> R) -> R) (up : bool) (b : R).
Hypothesis unit_positive : 0 < unit.
Hypothesis b_positive : 0 < b.
Hypothesis g_subadditive : subadditive g.

(* The weight of the outcome o falls with the level of the noise o - centre, rounded up or not; it
   is 0 if the sum of the noise is not 0. *)
Definition cost (x : nat -> R) : R := if up then ceiling (g x) else g x.
Definition shaped (centre : nat -> R) (z : nat -> Z) : R := let o := reals z in
  if Req_EM_T (range_sum n (move o centre)) 0
  then gauge_noise (fun o c => cost (move o c)) unit b centre o else 0.

Lemma shaped_nonneg : forall c o, 0 <= shaped c o.
Proof.
  intros. unfold shaped, gauge_noise. pose proof (exp_pos (- cost (move (reals o) c) / b)).
  destruct (Req_EM_T _ _); nra.
Qed.

(* A move whose sum is 0 and whose level is at most d; at most 1, if levels are rounded. *)
Theorem shaped_private : forall d u v, (up = true -> d = 1) -> range_sum n (move u v) = 0 ->
  g (move u v) <= d -> forall o, shaped u o <= exp (d / b) * shaped v o.
Proof.
  intros d u v one flat most z. destruct g_subadditive as [_ triangle].
  assert (forall x, move x v = plus (move x u) (move u v)) as via
    by (intros; extensionality i; unfold move, plus; ring).
  assert (forall o, range_sum n (move o v) = range_sum n (move o u)) as same.
  { intros o. rewrite (via o). unfold range_sum, plus in *. rewrite sum_plus, flat. ring. }
  unfold shaped. cbv zeta. rewrite same. destruct (Req_EM_T _ _); [|lra].
  apply (gauge_noise_private (fun o c => cost (move o c))); auto. intros x. rewrite (via x).
  unfold cost. pose proof (triangle (move x u) (move u v)). destruct up; [|lra].
  rewrite one in * by reflexivity. apply ceiling_step. lra.
Qed.

(* And a move of level d, seen from where it starts. *)
Theorem shaped_attained : forall d u v z, u = reals z -> (up = true -> d = 1) ->
  range_sum n (move u v) = 0 -> g (move u v) = d ->
  0 < shaped v z /\ shaped u z = exp (d / b) * shaped v z.
Proof.
  intros d u v z E one flat most. destruct g_subadditive as [zero _].
  assert (move u u = fun _ => 0) as here by (extensionality i; apply Rminus_eq_0).
  assert (cost (move u u) = 0 /\ cost (move u v) = d) as [none all].
  { unfold cost. rewrite here, zero, most. destruct up; [rewrite one by reflexivity|auto].
    rewrite (ceiling_whole 0), (ceiling_whole 1). auto. }
  unfold shaped, gauge_noise. cbv zeta. rewrite <- E, flat, none, all, here.
  replace (range_sum n (fun _ => 0)) with 0 by (symmetry; apply sum_zero).
  destruct (Req_EM_T 0 0) as [_|no]; [|contradiction]. pose proof (exp_pos (- d / b)).
  split; [nra|].
  rewrite (Rmult_comm unit (exp (- d / b))), <- Rmult_assoc, <- exp_plus.
  replace (d / b + - d / b) with (- 0 / b) by (field; lra). ring.
Qed.

Theorem shaped_loses : forall D (near : D -> D -> Prop) (f : D -> nat -> R) d,
  whole f -> (up = true -> d = 1) ->
  (forall x y, near x y -> range_sum n (move (f x) (f y)) = 0 /\ g (move (f x) (f y)) <= d) ->
  (exists x y, near x y /\ d <= g (move (f x) (f y))) ->
  private_from near (fun x => shaped (f x)) (d / b).
Proof.
  intros D near f d W one below (x & y & close & most). apply loses_exactly.
  - intros. apply shaped_nonneg.
  - intros x' y' o H. destruct (below x' y' H). apply shaped_private; assumption.
  - destruct (below x y close), (W x) as [z E]. exists x, y, z. split; [exact close|].
    apply shaped_attained; auto using Rle_antisym.
Qed.

End Shaped.

(* ------------------------------------------------------------------ levels *)

Section Levels.
Variable n : nat.
Implicit Types S : nat -> bool.

(* Of a set of items: their number k, the k (n - k) pairs in which they meet others, and what x
   gives them in all. *)
Definition count S : R := range_sum n (fun i => bit (S i)).
Definition met S : R := count S * (INR n - count S).
Definition part S (x : nat -> R) : R := range_sum n (fun i => bit (S i) * x i).

(* One comparison: the sum of the positive entries.  Every pair once: the largest part of a set over
   the pairs in which it meets others; that is the sum of the k largest entries over k (n - k). *)
Definition root (x : nat -> R) : R := range_sum n (fun i => Rmax 0 (x i)).
Definition facet (x : nat -> R) S : R := if Rlt_dec 0 (met S) then part S x / met S else 0.
Definition zonotope (x : nat -> R) : R :=
  fold_right Rmax 0 (map (fun s => facet x (fun i => nth i s false)) (all_answers n)).

Lemma part_plus : forall S x v, part S (plus x v) = part S x + part S v.
Proof. intros. unfold part, range_sum, plus. rewrite <- sum_plus. apply sum_ext. intros. ring. Qed.
Lemma part_move : forall S x v, part S (move x v) = part S x - part S v.
Proof. intros. unfold part, range_sum, move. rewrite <- sum_minus. apply sum_ext. intros. ring. Qed.
Lemma part_0 : forall S, part S (fun _ => 0) = 0.
Proof.
  intros. unfold part, range_sum. rewrite (sum_ext _ (fun _ => 0)) by (intros; ring).
  apply sum_zero.
Qed.
Lemma root_ge : forall S x, part S x <= root x.
Proof.
  intros. apply sum_le. intros i. pose proof (Rmax_l 0 (x i)). pose proof (Rmax_r 0 (x i)).
  destruct (S i); simpl; lra.
Qed.
Lemma root_le : forall x d, (forall S, part S x <= d) -> root x <= d.
Proof.
  intros x d H. eapply Rle_trans;
    [right|apply (H (fun i => if Rlt_dec 0 (x i) then true else false))].
  apply sum_ext. intros i. destruct (Rlt_dec 0 (x i)); simpl;
    [rewrite Rmax_right|rewrite Rmax_left]; lra.
Qed.
Lemma root_subadditive : subadditive root.
Proof.
  split.
  - apply Rle_antisym; [apply root_le; intros; rewrite part_0; lra|].
    apply sum_nonneg. intros. apply Rmax_l.
  - intros. apply root_le. intros S. rewrite part_plus.
    pose proof (root_ge S x). pose proof (root_ge S v). lra.
Qed.
Lemma zonotope_le : forall x d, 0 <= d -> (forall S, 0 < met S -> part S x <= d * met S) ->
  zonotope x <= d.
Proof.
  intros x d pos H. unfold zonotope. induction (all_answers n); simpl; [exact pos|].
  apply Rmax_lub; [|exact IHl]. unfold facet. destruct (Rlt_dec _ _) as [m|]; [|exact pos].
  apply Rmult_le_reg_r with (1 := m). unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
  rewrite Rmult_1_r. apply H, m.
Qed.
Lemma zonotope_ge : forall S x, 0 < met S -> part S x <= zonotope x * met S.
Proof.
  intros S x m. set (s := map S (seq 0 n)).
  assert (forall i, (i < n)%nat -> nth i s false = S i) as same.
  { intros i H. unfold s.
    rewrite (nth_indep _ _ (S 0%nat)) by (rewrite map_length, seq_length; lia).
    rewrite map_nth, seq_nth by assumption. reflexivity. }
  assert (facet x (fun i => nth i s false) = facet x S) as F.
  { assert (count (fun i => nth i s false) = count S) as C by (apply range_sum_ext; intros; rewrite
    same; auto). assert (part (fun i => nth i s false) x = part S x) as P by (apply range_sum_ext;
      intros; rewrite same; auto). unfold facet, met. rewrite C, P. reflexivity. }
  assert (In s (all_answers n)) as H.
  { replace n with (length s) by (unfold s; rewrite map_length, seq_length; reflexivity). clear.
    induction s as [|b s IH]; simpl; [left; reflexivity|]. apply in_flat_map. exists s. split;
    [exact IH|]. destruct b; simpl; auto. }
  apply Rle_trans with (facet x S * met S).
  - unfold facet. destruct (Rlt_dec _ _); [|contradiction]. right. field. lra.
  - apply Rmult_le_compat_r; [lra|]. rewrite <- F. unfold zonotope. clear same F. clearbody s.
    induction (all_answers n) as [|a l IH]; simpl; [contradiction|]. destruct H as [->|H];
    [apply Rmax_l|]. eapply Rle_trans; [apply IH, H|apply Rmax_r].
Qed.
Lemma zonotope_nonneg : forall x, 0 <= zonotope x.
Proof.
  intros x. unfold zonotope. induction (all_answers n); simpl; [lra|].
  eapply Rle_trans; [exact IHl|apply Rmax_r].
Qed.
Lemma zonotope_subadditive : subadditive zonotope.
Proof.
  split.
  - apply Rle_antisym; [|apply zonotope_nonneg]. apply zonotope_le; [lra|]. intros.
    rewrite part_0. lra.
  - intros x v. pose proof (zonotope_nonneg x). pose proof (zonotope_nonneg v).
    apply zonotope_le; [lra|]. intros S m. rewrite part_plus.
    pose proof (zonotope_ge S x m). pose proof (zonotope_ge S v m). lra.
Qed.

(* ------------------------------------------------------------------ what a set of items gains *)

(* If i gains z_ij from j, at most 1, which j loses, a set gains no more than it meets others. *)
Theorem gain : forall S x (z : nat -> nat -> R),
  (forall i, (i < n)%nat -> x i = range_sum n (z i)) ->
  (forall i j, z j i = - z i j) -> (forall i j, Rabs (z i j) <= 1) -> Rabs (part S x) <= met S.
Proof.
  intros S x z X flip small. set (s := fun i => bit (S i)).
  assert (2 * part S x = range_sum n (fun i => range_sum n (fun j => (s i - s j) * z i j))) as E.
  { unfold part. rewrite (range_sum_ext n _ (fun i => range_sum n (fun j => s i * z i j)))
      by (intros; rewrite X by assumption; symmetry; apply sum_scale).
    replace (2 * _) with (range_sum n (fun i => range_sum n (fun j => s i * z i j))
      + range_sum n (fun j => range_sum n (fun i => s i * z i j)))
      by (unfold range_sum; rewrite (sum_swap _ _ (fun j i => s i * z i j)); ring).
    unfold range_sum. rewrite <- sum_plus. apply sum_ext. intros i. rewrite <- sum_plus.
    apply sum_ext. intros j. rewrite (flip i j). ring. }
  assert (2 * met S = range_sum n (fun i =>
    range_sum n (fun j => s i + s j - 2 * (s i * s j)))) as M.
  { rewrite (range_sum_ext n _ (fun i => (INR n - 2 * count S) * s i + count S)).
    - unfold range_sum. rewrite sum_plus, sum_scale, sum_const, seq_length.
      change (sum s (seq 0 n)) with (count S). unfold met. ring.
    - intros i _. unfold range_sum. rewrite sum_minus, sum_plus, sum_const, seq_length, !sum_scale.
      change (sum s (seq 0 n)) with (count S). ring. }
  apply Rmult_le_reg_l with 2; [lra|]. replace (2 * Rabs (part S x)) with (Rabs (2 * part S x))
    by (rewrite Rabs_mult, (Rabs_right 2); lra). rewrite E, M.
  eapply Rle_trans; [apply sum_abs|]. apply sum_le. intros i.
  eapply Rle_trans; [apply sum_abs|]. apply sum_le. intros j. rewrite Rabs_mult.
  specialize (small i j). pose proof (Rabs_pos (s i - s j)) as P.
  assert (Rabs (s i - s j) = s i + s j - 2 * (s i * s j)) as T by (unfold s, Rabs;
    destruct (Rcase_abs _), (S i), (S j); simpl in *; lra). rewrite <- T. nra.
Qed.

(* Then nothing is gained in all. *)
Lemma nothing_gained : forall x, (forall S, Rabs (part S x) <= met S) -> range_sum n x = 0.
Proof.
  intros x H. specialize (H (fun _ => true)). unfold met, count, part in H. simpl in H.
  rewrite range_sum_const, (range_sum_ext n _ x) in H by (intros; ring).
  pose proof (Rabs_pos (range_sum n x)). destruct (Req_dec (range_sum n x) 0) as [|ne]; [auto|].
  apply Rabs_pos_lt in ne. lra.
Qed.

(* The level of the first item's gain. *)
Definition first (i : nat) : bool := Nat.eqb 0 i.

Lemma first_part : forall x, (1 <= n)%nat -> part first x = x 0%nat /\ count first = 1.
Proof.
  intros x H. split.
  - rewrite <- (range_sum_pick n x 0) by lia. apply range_sum_ext. intros. unfold first.
    destruct (Nat.eqb 0 i); simpl; ring.
  - rewrite <- (range_sum_pick n (fun _ => 1) 0) by lia. apply range_sum_ext. intros.
    unfold first. destruct (Nat.eqb 0 i); reflexivity.
Qed.

End Levels.

(* ------------------------------------------------------------------ K-norm noise *)

Section Units.
Variables (n m : nat) (unit b : R).
Hypothesis two : (2 <= n)%nat.
Hypothesis unit_positive : 0 < unit.
Hypothesis b_positive : 0 < b.
Lemma bits : forall a c, Rabs (bit a - bit c) <= 1.
Proof. intros [] []; simpl; unfold Rabs; destruct (Rcase_abs _); lra. Qed.
Lemma same_people : forall P (ok : P -> Prop) r, ok r -> Forall ok (repeat r m).
Proof. intros P ok r H. apply Forall_forall. intros a K. apply repeat_spec in K. congruence. Qed.

(* One comparison, flipped or exchanged. *)
Lemma edge_loses : private_from (edge n) (fun x => shaped n unit (root n) true b (wins x)) (1 / b).
Proof.
  apply shaped_loses; auto using root_subadditive, wins_whole.
  - intros x y H. destruct (edge_games n x y H) as (g & h & rest & (G & _) & (G' & _) & X & Y).
    replace (move (wins x) (wins y)) with (move (won g) (won h))
      by (extensionality i; symmetry; apply total_moves with rest; assumption).
    assert (forall f, (fst f < n)%nat -> forall S, part n S (won f) = bit (S (fst f))) as P.
    { intros f F S. rewrite <- (range_sum_pick n (fun i => bit (S i)) (fst f) F).
      apply range_sum_ext. intros i _. unfold won. destruct (Nat.eqb (fst f) i); ring. }
    split.
    + transitivity (part n (fun _ => true) (move (won g) (won h))).
      * apply range_sum_ext. intros. simpl. ring.
      * rewrite part_move, !P by assumption. simpl. ring.
    + apply root_le. intros S. rewrite part_move, !P by assumption.
      eapply Rle_trans; [apply Rle_abs|apply bits].
  - exists [(0, 1)%nat], [(1, 0)%nat]. split; [apply edge_flip, two|].
    eapply Rle_trans; [|apply (root_ge n first)]. rewrite (proj1 (first_part n _ ltac:(lia))).
    right. unfold move, wins, total, won. simpl. ring.
Qed.

(* The zonotope level where each move is a gain, and some move gives the first item n - 1. *)
Lemma zonotope_loses : forall D (near : D -> D -> Prop) f, whole f ->
  (forall x y, near x y -> forall S, Rabs (part n S (move (f x) (f y))) <= met n S) ->
  (exists x y, near x y /\ move (f x) (f y) 0%nat = INR n - 1) ->
  private_from near (fun x => shaped n unit (zonotope n) true b (f x)) (1 / b).
Proof.
  intros D near f W gains (x & y & close & most). apply le_INR in two as large.
  apply shaped_loses; auto using zonotope_subadditive.
  - intros x' y' H. split; [apply nothing_gained, gains, H|]. apply zonotope_le; [lra|].
    intros S _. rewrite Rmult_1_l. eapply Rle_trans; [apply Rle_abs|apply gains, H].
  - exists x, y. split; [exact close|].
    destruct (first_part n (move (f x) (f y)) ltac:(lia)) as [P C]. simpl in large.
    pose proof (zonotope_ge n first (move (f x) (f y))) as G. unfold met in G.
    rewrite P, C, most in G. nra.
Qed.

(* Every pair once, or a ranking, replaced. *)
Lemma sheet_loses : forall ok, ok = decided \/ ok = ranking ->
  private_from (replaced m ok)
    (fun x => shaped n unit (zonotope n) true b (total (score n) x)) (1 / b).
Proof.
  intros ok kind. assert (forall s, ok s -> decided s) as dec by (intros; destruct kind; subst; auto
    using ranking_decided). assert (ok up /\ ok down) as [okup okdown] by (destruct kind; subst;
    auto using ranking_decided, up_ranking, down_ranking). apply zonotope_loses.
  - apply total_whole, score_whole.
  - intros x y (p & q & rest & P & Q & _ & _ & X & Y) S. apply dec in P as [P0 P1], Q as [Q0 Q1].
    apply gain with (z := fun i j => bit (p i j) - bit (q i j)); [| |intros; apply bits].
    + intros i _. unfold move. rewrite (total_moves (score n) p q rest x y i X Y).
      apply score_differences.
    + intros i j. destruct (Nat.eq_dec i j) as [<-|ne]; [rewrite P0, Q0; simpl; ring|].
      rewrite (P1 i j ne), (Q1 i j ne). destruct (p i j), (q i j); simpl; ring.
  - exists (up :: repeat up m), (down :: repeat up m). split.
    + exists up, down, (repeat up m). auto 7 using same_people, repeat_length.
    + unfold move. rewrite (total_moves (score n) up down (repeat up m)) by reflexivity.
      rewrite reversed by lia. simpl. ring.
Qed.

End Units.

(* CLAIM BOOK-KNORM.  For every n, number m of other people and epsilon: win counts plus noise of
   weight exp(-c epsilon level), the level rounded up, are private for epsilon, and for no smaller
   one: for one comparison, sheets with every pair, and rankings.  The constant c is 1. *)
Definition knorm_says (c : R) : Prop := forall (n m : nat) (unit epsilon : R),
  (2 <= n)%nat -> 0 < unit -> 0 < epsilon ->
  let noisy (level : (nat -> R) -> R) := shaped n unit level true (/ (c * epsilon)) in
  private_from (edge n) (fun x => noisy (root n) (wins x)) epsilon /\
  (forall ok, ok = decided \/ ok = ranking ->
    private_from (replaced m ok) (fun x => noisy (zonotope n) (total (score n) x)) epsilon).

Theorem knorm : knorm_says 1.
Proof.
  intros n m unit e two upos epos noisy.
  assert (0 < / (1 * e)) as pos by (apply Rinv_0_lt_compat; lra).
  assert (1 / (/ (1 * e)) = e) as E by (field; lra). rewrite <- E.
  split; [apply edge_loses|intros ok kind; apply sheet_loses]; auto.
Qed.

(* With less noise, or with more, the loss is another one. *)
Theorem knorm_control : forall c, 0 < c -> c <> 1 -> ~ knorm_says c.
Proof.
  intros c pos other H. destruct (H 2%nat 0%nat 1 1 ltac:(lia) ltac:(lra) ltac:(lra)) as [K _].
  assert (0 < / (c * 1)) as b by (apply Rinv_0_lt_compat; lra).
  pose proof (edge_loses 2 1 (/ (c * 1)) ltac:(lia) ltac:(lra) b) as L. cbv zeta in K.
  replace (1 / / (c * 1)) with c in L by (field; lra).
  pose proof (proj1 (K c) (proj2 (L c) (Rle_refl c))).
  pose proof (proj1 (L 1) (proj2 (K 1) (Rle_refl 1))). lra.
Qed.

(* ------------------------------------------------------------------ answers drawn at random *)

(* Of each person p an answer a with chance w is kept, (a, w) in [kept p], whatever others said; f
   is what it adds to the centre of the noise. *)
Section Drawn.
Context {P A O : Type}.
Variables (kept : P -> list (A * R)) (f : A -> nat -> R) (noise : (nat -> R) -> O -> R).

Fixpoint drawn (x : list P) (centre : nat -> R) (o : O) : R :=
  match x with
  | [] => noise centre o
  | p :: rest => sum (fun aw => snd aw * drawn rest (plus centre (f (fst aw))) o) (kept p)
  end.

Hypothesis chances : forall p, (forall aw, In aw (kept p) -> 0 <= snd aw) /\ sum snd (kept p) = 1.

Lemma mix_le : forall p (g h : A * R -> R) k, (forall aw, In aw (kept p) -> g aw <= k * h aw) ->
  sum (fun aw => snd aw * g aw) (kept p) <= k * sum (fun aw => snd aw * h aw) (kept p).
Proof.
  intros p g h k H. rewrite <- sum_scale. apply sum_le_in. intros aw K.
  replace (k * (snd aw * h aw)) with (snd aw * (k * h aw)) by ring.
  apply Rmult_le_compat_l; [apply (proj1 (chances p)), K|apply H, K].
Qed.

(* A move of the centre costs no more after the answers of others than before. *)
Lemma drawn_move : forall u v k o, (forall c, noise (plus c u) o <= k * noise (plus c v) o) ->
  forall x c, drawn x (plus c u) o <= k * drawn x (plus c v) o.
Proof.
  intros u v k o H. assert (forall c s t, plus (plus c s) t = plus (plus c t) s) as swap
    by (intros; extensionality i; unfold plus; ring).
  induction x as [|p x IH]; intros c; simpl; [apply H|]. apply mix_le. intros aw _.
  rewrite (swap c u), (swap c v). apply IH.
Qed.

(* One person's answers, among those of others.  The two data sets are mixtures of different laws:
   both persons draw, independently, and each pair of draws is compared. *)
Theorem drawn_replaced : forall p q k o, (forall a b, In a (kept p) -> In b (kept q) ->
    forall c, noise (plus c (f (fst a))) o <= k * noise (plus c (f (fst b))) o) ->
  forall before after c, drawn (before ++ p :: after) c o <= k * drawn (before ++ q :: after) c o.
Proof.
  intros p q k o H before after. induction before as [|r before IH]; intros c; simpl.
  2: { apply mix_le. intros. apply IH. }
  set (F := fun a : A * R => drawn after (plus c (f (fst a))) o).
  set (Y := sum (fun b => snd b * F b) (kept q)).
  assert (forall r v, sum (fun a => snd a * v) (kept r) = v) as all.
  { intros r v. rewrite (sum_ext _ (fun a => v * snd a)), sum_scale by (intros; ring).
    rewrite (proj2 (chances r)). ring. }
  change (sum (fun a => snd a * F a) (kept p) <= k * Y). rewrite <- (all p Y). apply mix_le.
  intros a K. rewrite <- (all q (F a)). apply mix_le. intros b B. apply drawn_move. auto.
Qed.

(* Who surely says what adds nothing might as well not be there. *)
Lemma drawn_absent : forall p a, kept p = [(a, 1)] -> (forall i, f a i = 0) ->
  forall before after c o, drawn (before ++ p :: after) c o = drawn (before ++ after) c o.
Proof.
  intros p a K Z before after. induction before as [|r before IH]; intros c o; simpl.
  - rewrite K. simpl. replace (plus c (f a)) with c; [ring|].
    extensionality i. unfold plus. rewrite Z. ring.
  - apply sum_ext. intros. rewrite IH. reflexivity.
Qed.

End Drawn.

(* ------------------------------------------------------------------ the release *)

(* What may be kept of a person: at most L comparisons.  A rule keeps such answers at random, and
   all of them if these are no more. *)
Definition upto (n L : nat) (l : list game) : Prop := Forall (valid n) l /\ (length l <= L)%nat.
Definition keeping (n L : nat) (kept : list game -> list (list game * R)) : Prop :=
  forall p, ((forall aw, In aw (kept p) -> 0 <= snd aw) /\ sum snd (kept p) = 1)
    /\ (forall aw, In aw (kept p) -> upto n L (fst aw)) /\ (upto n L p -> kept p = [(p, 1)]).

Lemma none_upto : forall n L, upto n L [].
Proof. intros. split; [constructor|simpl; lia]. Qed.

(* One person's answers become any others, fewer or none; or one person joins or leaves, which is to
   say nothing before or after (see [drawn_absent]). *)
Definition turned (replace : bool) (a b : list game) : Prop := replace = true \/ a = [] \/ b = [].
Definition neighbours (replace : bool) (x y : list (list game)) : Prop :=
  exists before after p q,
    x = before ++ p :: after /\ y = before ++ q :: after /\ turned replace p q.

(* Wins minus losses, and the release. *)
Definition net_wins : list game -> nat -> R := total (fun g i => won g i - won (swap g) i).
Lemma net_wins_whole : whole net_wins.
Proof.
  apply total_whole. intros g. exists (fun i => (if Nat.eqb (fst g) i then 1 else 0)
    - if Nat.eqb (snd g) i then 1 else 0)%Z. extensionality i. unfold won, reals, swap. simpl.
  destruct (Nat.eqb _ i), (Nat.eqb _ i); simpl; ring.
Qed.
Definition release {O} (kept : list game -> list (list game * R))
  (noise : (nat -> R) -> O -> R) (x : list (list game)) : O -> R :=
  drawn kept net_wins noise x (fun _ => 0).

Section Release.
Variables (n L : nat) (replace : bool).
Hypothesis two : (2 <= n)%nat.
Let reach : R := (if replace then 2 else 1) * INR L.  (* b of the claim *)

Lemma net_part : forall S l, Forall (valid n) l ->
  part n S (net_wins l) = sum (fun g : game => bit (S (fst g)) - bit (S (snd g))) l.
Proof.
  intros S l V. induction V as [|g l (G & G' & _) _ IH]; [apply part_0|]. simpl. rewrite <- IH.
  change (net_wins (g :: l)) with (plus (move (won g) (won (swap g))) (net_wins l)).
  rewrite part_plus, part_move. f_equal. unfold part, won. simpl.
  f_equal; [rewrite <- (range_sum_pick n (fun i => bit (S i)) (fst g) G)|
    rewrite <- (range_sum_pick n (fun i => bit (S i)) (snd g) G')]; apply range_sum_ext; intros;
    destruct (Nat.eqb _ i); ring.
Qed.

(* A set of items gains no more than so much from one person, and from a change. *)
Lemma reach_part : forall S a, upto n L a -> Rabs (part n S (net_wins a)) <= INR L.
Proof.
  intros S a (V & le). apply le_INR in le. apply Rle_trans with (2 := le).
  rewrite net_part by exact V. eapply Rle_trans; [apply sum_abs|].
  rewrite <- (Rmult_1_r (INR _)), <- sum_const. apply sum_le. intros. apply bits.
Qed.
Lemma reach_move : forall a b, upto n L a -> upto n L b -> turned replace a b ->
  root n (move (net_wins a) (net_wins b)) <= reach.
Proof.
  intros a b A B R. apply root_le. intros S. rewrite part_move. unfold reach.
  pose proof (between _ _ (reach_part S a A)). pose proof (between _ _ (reach_part S b B)).
  assert (part n S (net_wins []) = 0) as Z by apply part_0.
  destruct R as [->|[->| ->]]; rewrite ?Z in *; try destruct replace; lra.
Qed.
Lemma move_flat : forall a b, upto n L a -> upto n L b ->
  range_sum n (move (net_wins a) (net_wins b)) = 0.
Proof.
  intros a b (A & _) (B & _).
  transitivity (part n (fun _ => true) (move (net_wins a) (net_wins b))).
  - apply range_sum_ext. intros. simpl. ring.
  - rewrite part_move, !net_part by assumption. simpl.
    rewrite !sum_minus, Rminus_eq_0, Rminus_eq_0. ring.
Qed.

(* The worst case: L times one item over another, and the same answers turned round. *)
Definition reply (a : list game) : list game := if replace then map swap a else [].

Lemma reply_ok : forall a, upto n L a -> upto n L (reply a) /\ turned replace a (reply a).
Proof.
  intros a (V & le). unfold reply, turned. destruct replace; [|auto using none_upto].
  split; [split|auto]; [|rewrite map_length; exact le]. apply Forall_map.
  eapply Forall_impl; [|exact V]. intros g (P & Q & E). repeat split; simpl; auto.
Qed.
Lemma worst_move : let a := repeat (0, 1)%nat L in upto n L a /\
  reach <= root n (move (net_wins a) (net_wins (reply a))).
Proof.
  intros a. assert (upto n L a) as A.
  { split; [|unfold a; rewrite repeat_length; lia]. apply Forall_forall. intros g G.
    apply repeat_spec in G. subst. unfold valid. simpl. lia. }
  split; [exact A|]. apply Rle_trans with (2 := root_ge n first _). right.
  destruct (reply_ok a A) as [B _]. rewrite part_move, !net_part by (apply A || apply B).
  assert (forall h : game -> R, sum h a = INR L * h (0, 1)%nat) as same.
  { intros h. unfold a. clear. induction L as [|k IH]; [simpl; ring|].
    rewrite S_INR. simpl. rewrite IH. ring. }
  unfold reach, reply. destruct replace; rewrite ?sum_map, !same; simpl; ring.
Qed.

(* The release with K-norm noise of the root level, of any scale b. *)
Theorem release_loses : forall unit b kept, 0 < unit -> 0 < b -> keeping n L kept ->
  private_from (neighbours replace) (release kept (shaped n unit (root n) false b))
    (reach / b).
Proof.
  intros unit b kept upos pos rule.
  set (noise := shaped n unit (root n) false b).
  assert (forall c u v, move (plus c u) (plus c v) = move u v) as shift
    by (intros; extensionality i; unfold move, plus; ring).
  assert (forall a, upto n L a -> release kept noise [a] = noise (net_wins a)) as sure.
  { intros a A. extensionality o. unfold release. simpl. destruct (rule a) as (_ & _ & ->);
    [|exact A]. simpl. replace (plus (fun _ => 0) (net_wins a)) with (net_wins a)
      by (extensionality i; unfold plus; ring). ring. }
  apply loses_exactly.
  - intros x o. generalize (fun _ : nat => 0) as c. unfold release.
    enough (forall c, 0 <= drawn kept net_wins noise x c o) by auto.
    induction x as [|p x IH]; intros c; simpl; [apply shaped_nonneg, upos|].
    apply sum_nonneg. intros aw K. apply Rmult_le_pos; [apply (rule p), K|apply IH].
  - intros x y o (before & after & p & q & -> & -> & T). apply drawn_replaced; [apply rule|].
    intros a b' Ka Kb c. destruct (rule p) as (_ & P & Pn). destruct (rule q) as (_ & Q & Qn).
    assert (turned replace (fst a) (fst b')) as T'.
    { destruct T as [T|[->| ->]]; [left; exact T|right; left|right; right];
        [rewrite Pn in Ka by apply none_upto; destruct Ka as [<-|[]]
        |rewrite Qn in Kb by apply none_upto; destruct Kb as [<-|[]]]; reflexivity. }
    apply (shaped_private n unit (root n) false b upos pos (root_subadditive n)); [discriminate| |];
      rewrite shift; [apply move_flat|apply reach_move]; auto.
  - destruct worst_move as (A & most). set (a := repeat _ L) in *. destruct (reply_ok a A) as [B T].
    destruct (net_wins_whole a) as [z E]. exists [a], [reply a], z. rewrite !sure by assumption.
    split; [exists [], [], a, (reply a); auto|].
    apply (shaped_attained n unit (root n) false b upos pos (root_subadditive n));
      [exact E|discriminate| |]; auto using move_flat, Rle_antisym, reach_move.
Qed.

End Release.

(* A rule exists: for example, whoever gave too much is left out. *)
Lemma some_rule : forall n L, exists kept, keeping n L kept.
Proof.
  intros n L. assert (forall l, {upto n L l} + {~ upto n L l}) as dec.
  { intros l. unfold upto. assert (forall g, {valid n g} + {~ valid n g}) as V by (intros [a b];
      unfold valid; simpl; destruct (lt_dec a n), (lt_dec b n), (Nat.eq_dec a b);
      (left; lia) || (right; lia)).
    destruct (Forall_dec _ V l), (le_dec (length l) L); (left; tauto) || (right; tauto). }
  exists (fun p => if dec p then [(p, 1)] else [([], 1)]). intros p.
  destruct (dec p) as [A|A]; simpl; (split; [split; [intros aw [<-|[]]; simpl; lra|lra]|]);
    (split; [intros aw [<-|[]]; simpl; auto using none_upto|tauto]).
Qed.

(* CLAIM BOOK-RELEASE.  For every n, L and epsilon, every rule that keeps at most L answers of each
   person, all of which count, and any other people: wins minus losses with noise of sum 0 and
   weight exp(-epsilon root level / (c b)), where b = r L, and r = 2, or 1 where a person joins or
   leaves, lose exactly epsilon.  The constant c is 1. *)
Definition released_says (c : R) : Prop :=
  forall (n L : nat) (replace : bool) unit epsilon kept,
  (2 <= n)%nat -> (1 <= L)%nat -> 0 < unit -> 0 < epsilon -> keeping n L kept ->
  let r := if replace then 2 else 1 in
  private_from (neighbours replace)
    (release kept (shaped n unit (root n) false (c * (r * INR L) / epsilon))) epsilon.

Theorem released : released_says 1.
Proof.
  intros n L replace unit e kept two some upos epos rule r. apply lt_0_INR in some.
  assert (0 < r * INR L) as pos by (unfold r; destruct replace; lra).
  assert (0 < 1 * (r * INR L) / e) as b by (apply Rdiv_lt_0_compat; lra).
  pose proof (release_loses n L replace two unit _ kept upos b rule) as H.
  cbv zeta in H. change ((if replace then 2 else 1) * INR L) with (r * INR L) in H.
  set (q := r * INR L) in *. replace (q / (1 * q / e)) with e in H by (field; lra). exact H.
Qed.

Theorem released_control : forall c, 0 < c -> c <> 1 -> ~ released_says c.
Proof.
  intros c pos other H. destruct (some_rule 2 1) as [kept rule].
  pose proof (H 2%nat 1%nat false 1 1 kept ltac:(lia) ltac:(lia) ltac:(lra) ltac:(lra) rule) as K.
  pose proof (release_loses 2 1 false ltac:(lia) 1 (c * (1 * 1) / 1) kept ltac:(lra)
    ltac:(lra) rule) as L. simpl in K, L.
  replace (1 * 1 / (c * (1 * 1) / 1)) with (/ c) in L by (field; lra).
  pose proof (proj1 (K _) (proj2 (L _) (Rle_refl _))).
  pose proof (proj1 (L _) (proj2 (K _) (Rle_refl _))).
  apply other. rewrite <- (Rinv_inv c). replace (/ c) with 1 by lra. apply Rinv_1.
Qed.
