(* XSC: Xu, Sun and Cheng (2024), Rate-Optimal Rank Aggregation with Private Pairwise Rankings;
   and BOOK-RR-PERSON, what a person loses who answers every pair.

   Proved: what one report loses and tells, that every private report on one bit can be made from
   randomised response, what people with an epsilon of their own lose, and all pairs of a ranking.
   Not in it: how a coin is flipped, and how reports are used (debiasing, estimation, ranking). *)
Require Import Reals Lra Lia List Bool PeanoNat.
From Ranking Require Import Privacy.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ common: exact loss, belief *)

(* Of two laws p and q the first loses exactly l: no outcome loses more, and some as much. *)
Definition loses {O} (p q : O -> R) (l : R) : Prop :=
  (forall o, p o <= exp l * q o) /\ exists o, 0 < p o /\ p o = exp l * q o.

Lemma loses_most : forall O (p q : O -> R) k l, loses p q k -> (forall o, p o <= exp l * q o) ->
  k <= l.
Proof.
  intros O p q k l [_ [o [pos same]]] bound. specialize (bound o). rewrite same in bound, pos.
  pose proof (exp_pos k). destruct (Rle_or_lt k l) as [|less]; [assumption|].
  apply exp_increasing in less. nra.
Qed.
Lemma loses_unique : forall O (p q : O -> R) k l, loses p q k -> loses p q l -> k = l.
Proof.
  intros O p q k l K L. apply Rle_antisym; eapply loses_most; try eassumption; [apply L|apply K].
Qed.

(* Belief in x after an outcome of chance p under x and q under y, if x had the chance w before. *)
Definition belief (w p q : R) : R := w * p / (w * p + (1 - w) * q).

Lemma logistic_injective : forall x y, exp x / (exp x + 1) = exp y / (exp y + 1) -> x = y.
Proof.
  intros x y H. apply exp_inv. pose proof (exp_pos x). pose proof (exp_pos y).
  apply Rmult_eq_compat_r with (r := (exp x + 1) * (exp y + 1)) in H. field_simplify in H; lra.
Qed.

(* Any two data sets: the neighbours of local privacy. *)
Definition any {D} (_ _ : D) : Prop := True.

(* ------------------------------------------------------------------ one report *)

Lemma answer_kept_exactly : forall e a, answer e a a = exp e * answer e (negb a) a.
Proof. intros e a. unfold answer. pose proof (exp_pos e). destruct a; simpl; field; lra. Qed.
Lemma answer_private : forall e, 0 <= e -> private any e (answer e).
Proof.
  intros e pos x y o _. pose proof (answer_kept e pos x o). pose proof (exp_at_least_1 e pos).
  pose proof (answer_positive e y o). destruct x, y; simpl in *; nra.
Qed.
Lemma answer_loses : forall e a, 0 <= e -> loses (answer e a) (answer e (negb a)) e.
Proof.
  intros e a pos. split; [intros; apply answer_private; [assumption|exact I]|].
  exists a. split; [apply answer_positive|apply answer_kept_exactly].
Qed.

(* CLAIM XSC-RR. Flipped with probability 1 / (1 + e^epsilon), one comparison is epsilon-private,
   and loses no less, whatever it is. *)
Definition rr_says (c : R) : Prop := forall epsilon, 0 <= epsilon ->
  (forall a, finite_law [true; false] (answer epsilon a)) /\
  (forall a, answer epsilon a (negb a) = 1 / (1 + exp epsilon)) /\
  private any (c * epsilon) (answer epsilon) /\
  forall a, loses (answer epsilon a) (answer epsilon (negb a)) (c * epsilon).
Theorem rr : rr_says 1.
Proof.
  intros e pos. rewrite Rmult_1_l. split; [intros; apply answer_law|]. split; [|split].
  - intros a. unfold answer. destruct a; simpl; f_equal; ring.
  - apply answer_private; assumption.
  - intros; apply answer_loses; assumption.
Qed.

Theorem rr_control : forall c, c <> 1 -> ~ rr_says c.
Proof.
  intros c other H. destruct (H 1 ltac:(lra)) as [_ [_ [_ L]]].
  pose proof (loses_unique _ _ _ _ _ (L true) (answer_loses 1 true ltac:(lra))). lra.
Qed.

(* CLAIM XSC-RISK. The flip is less likely than not; a report is true with probability
   e^epsilon / (e^epsilon + 1), which is the belief in it at even odds; and whatever the chance w of
   the answer a before, a report multiplies (if it is a) or divides the odds for a by e^epsilon. *)
Definition risk_says (c : R) : Prop := forall epsilon a, 0 < epsilon ->
  let true_report := exp (c * epsilon) / (exp (c * epsilon) + 1) in
  answer epsilon a (negb a) < 1 / 2 /\ answer epsilon a a = true_report /\
  belief (1 / 2) (answer epsilon a a) (answer epsilon (negb a) a) = true_report /\
  forall w, 0 < w < 1 -> let after r := belief w (answer epsilon a r) (answer epsilon (negb a) r) in
  after a / (1 - after a) = exp (c * epsilon) * (w / (1 - w)) /\
  after (negb a) / (1 - after (negb a)) = w / (1 - w) / exp (c * epsilon).
Theorem risk : risk_says 1.
Proof.
  intros e a pos. rewrite Rmult_1_l. pose proof (exp_increasing 0 e pos) as more.
  rewrite exp_0 in more. unfold belief, answer. set (E := exp e) in *.
  assert (1 / (E + 1) < 1 / 2) by (apply Rmult_lt_reg_r with (2 * (E + 1)); field_simplify; lra).
  destruct a; simpl; repeat split; try assumption; try (field; lra);
    intros; field; repeat split; nra.
Qed.

Theorem risk_control : forall c, c <> 1 -> ~ risk_says c.
Proof.
  intros c other H. destruct (H 1 true ltac:(lra)) as [_ [K _]].
  change (answer 1 true true) with (exp 1 / (exp 1 + 1)) in K. apply logistic_injective in K. lra.
Qed.

(* CLAIM XSC-RR-BEST. Randomised response at epsilon is epsilon-private, and every report loses all
   of epsilon, one way or the other; every epsilon-private report on one bit, with any number of
   outcomes, is made from its report alone, at random (Kairouz, Oh and Viswanath), so that no use of
   it is better than one of randomised response.  For epsilon > 0 the report b is turned into o with
   the chance (e^epsilon p_b(o) - p_(not b)(o)) / (e^epsilon - 1). *)
Definition best_says (c : R) : Prop := forall epsilon, 0 <= epsilon ->
  let rr := answer (c * epsilon) in
  private any epsilon rr /\ (forall r, rr r r = exp epsilon * rr (negb r) r) /\
  forall O (outcomes : list O) (p : bool -> O -> R), (forall a, finite_law outcomes (p a)) ->
    private any epsilon p ->
    exists kernel : bool -> O -> R, (forall b, finite_law outcomes (kernel b)) /\
    (0 < epsilon -> forall b o,
      kernel b o = (exp epsilon * p b o - p (negb b) o) / (exp epsilon - 1)) /\
    forall a o, p a o = rr a true * kernel true o + rr a false * kernel false o.
Theorem best : best_says 1.
Proof.
  intros e nonneg rr. unfold rr. rewrite Rmult_1_l. split; [apply answer_private; assumption|].
  split; [apply answer_kept_exactly|]. intros O outcomes p law safe. destruct nonneg as [pos|<-].
  - pose proof (exp_increasing 0 e pos) as more. rewrite exp_0 in more.
    exists (fun b o => / (exp e - 1) * (exp e * p b o - p (negb b) o)).
    split; [split|split; [intros; apply Rmult_comm|]].
    + intros o. pose proof (safe (negb b) b o I).
      apply Rmult_le_pos; [left; apply Rinv_0_lt_compat|]; lra.
    + rewrite sum_scale, sum_minus, sum_scale, (proj2 (law b)), (proj2 (law (negb b))). field. lra.
    + intros a o. unfold answer. destruct a; simpl; field; lra.
  - exists p. split; [assumption|]. split; [intros; lra|].
    intros a o. pose proof (safe true false o I).
    pose proof (safe false true o I). unfold answer. rewrite exp_0 in *. destruct a; simpl; lra.
Qed.

(* With less epsilon not every private report can be made, with more the answers are not private. *)
Theorem best_control : forall c, 0 <= c -> c <> 1 -> ~ best_says c.
Proof.
  intros c pos other H. destruct (H 1 ltac:(lra)) as [safe [_ make]]. rewrite Rmult_1_r in *.
  pose proof (loses_most _ _ _ _ _ (answer_loses c true pos) (fun o => safe true false o I)).
  destruct (make bool _ (answer 1) (answer_law 1) (answer_private 1 ltac:(lra))) as [k [law [_ K]]].
  assert (1 <= c); [|lra]. apply (loses_most _ _ _ _ _ (answer_loses 1 true ltac:(lra))).
  intros o. rewrite !K. pose proof (answer_private c pos true false true I).
  pose proof (answer_private c pos true false false I). pose proof (proj1 (law true) o).
  pose proof (proj1 (law false) o). simpl. nra.
Qed.

(* ------------------------------------------------------------------ users of their own epsilon *)

(* The comparisons of all users in a row, each reported with the epsilon of its user. *)
Fixpoint own (es : list R) (truth sent : list bool) : R :=
  match es, truth, sent with
  | [], [], [] => 1
  | e :: es', a :: truth', b :: sent' => answer e a b * own es' truth' sent'
  | _, _, _ => 0
  end.

Lemma own_positive : forall es x r, 0 <= own es x r /\ (length x = length es -> 0 < own es x x).
Proof.
  split; revert x r; induction es; intros [|] [|]; simpl; intros; try discriminate; try lra;
    (apply Rmult_le_pos || apply Rmult_lt_0_compat); auto using answer_positive, Rlt_le.
Qed.
Lemma own_law : forall es x, length x = length es -> finite_law (all_answers (length x)) (own es x).
Proof.
  intros es x L. split; [apply own_positive|]. revert x L.
  induction es as [|e es IH]; intros [|a x] L; simpl in *; try discriminate; [lra|].
  rewrite sum_flat_map, <- (IH x) by lia. apply sum_ext. intros r.
  transitivity ((answer e a true + answer e a false) * own es x r); [simpl; ring|].
  rewrite answer_total. ring.
Qed.

(* CLAIM XSC-USER. For any number of comparisons, of users with any epsilons: if one comparison of
   the user with epsilon e changes, all reports together lose exactly e, whatever the others are. *)
Definition user_says (c : R) : Prop := forall es1 e es2 x1 a x2, 0 <= e ->
  length x1 = length es1 -> length x2 = length es2 ->
  let reports b := own (es1 ++ e :: es2) (x1 ++ b :: x2) in
  finite_law (all_answers (length (x1 ++ a :: x2))) (reports a) /\
  loses (reports a) (reports (negb a)) (c * e).
Theorem user : user_says 1.
Proof.
  intros es1 e es2 x1 a x2 pos L1 L2. cbv zeta. rewrite Rmult_1_l.
  assert (length (x1 ++ a :: x2) = length (es1 ++ e :: es2)) by (rewrite !app_length; simpl; lia).
  split; [apply own_law; assumption|]. split.
  - revert es1 L1 H. induction x1 as [|b x1 IH]; intros [|d es1] L1 H [|r o]; simpl in *;
      try discriminate; try lra.
    + pose proof (answer_private e pos a (negb a) r I). destruct (own_positive es2 x2 o). nra.
    + pose proof (answer_positive d b r). specialize (IH es1 ltac:(lia) ltac:(lia) o). nra.
  - exists (x1 ++ a :: x2). split; [apply (own_positive _ _ []); assumption|]. clear H.
    revert es1 L1. induction x1 as [|b x1 IH]; intros [|d es1] L1; simpl in *; try discriminate.
    + rewrite (answer_kept_exactly e a). ring.
    + rewrite (IH es1) by lia. ring.
Qed.

Theorem user_control : forall c, c <> 1 -> ~ user_says c.
Proof.
  intros c other H. destruct (H [] 1 [] [] true [] ltac:(lra) eq_refl eq_refl) as [_ K].
  destruct (user [] 1 [] [] true [] ltac:(lra) eq_refl eq_refl) as [_ L].
  pose proof (loses_unique _ _ _ _ _ K L). lra.
Qed.

(* ------------------------------------------------------------------ rankings *)

(* A ranking of the items 0, ..., n - 1 gives each a place of its own, 0 to n - 1. *)
Definition ranking (n : nat) (r : nat -> nat) : Prop :=
  (forall i, i < n -> r i < n)%nat /\ (forall i j, i < n -> j < n -> r i = r j -> i = j)%nat.
Definition reverse (n : nat) (r : nat -> nat) (i : nat) : nat := (n - 1 - r i)%nat.

(* The pairs i < j of items, and their answers: does i stand before j? *)
Fixpoint pairs (n : nat) : list (nat * nat) :=
  match n with O => [] | S m => pairs m ++ map (fun i => (i, m)) (seq 0 m) end.
Definition before (r : nat -> nat) (p : nat * nat) : bool := (r (fst p) <? r (snd p))%nat.

(* The Kendall distance: the number of pairs on which two rankings disagree. *)
Definition kendall (n : nat) (r s : nat -> nat) : nat :=
  length (filter (fun p => xorb (before r p) (before s p)) (pairs n)).

Lemma in_pairs : forall n i j, In (i, j) (pairs n) -> (i < j < n)%nat.
Proof.
  induction n as [|n IH]; simpl; intros i j H; [contradiction|]. apply in_app_or in H as [H|H].
  - apply IH in H. lia.
  - apply in_map_iff in H as [k [E H]]. apply in_seq in H. injection E. lia.
Qed.
Lemma pairs_length : forall n, (2 * length (pairs n) = n * (n - 1))%nat.
Proof.
  induction n as [|n IH]; simpl pairs; rewrite ?app_length, ?map_length, ?seq_length; simpl; nia.
Qed.

Lemma reverse_ranking : forall n r, ranking n r -> ranking n (reverse n r).
Proof.
  intros n r [small one]. unfold reverse. split; intros; [lia|]. apply one; try assumption.
  pose proof (small i). pose proof (small j). lia.
Qed.
Lemma before_reverse : forall n r i j, ranking n r -> (i < n)%nat -> (j < n)%nat -> i <> j ->
  before (reverse n r) (i, j) = negb (before r (i, j)).
Proof.
  intros n r i j [small one] I J N. unfold before, reverse. simpl. pose proof (small i I).
  pose proof (small j J). assert (r i <> r j) by (intros E; apply N, one; assumption).
  destruct (Nat.ltb_spec (r i) (r j)); apply Nat.ltb_lt || apply Nat.ltb_ge; lia.
Qed.

Lemma differences_map : forall A (f g : A -> bool) l,
  differences (map f l) (map g l) = length (filter (fun a => xorb (f a) (g a)) l).
Proof. intros A f g l. induction l; simpl; [|rewrite IHl; destruct (f a), (g a)]; reflexivity. Qed.
Lemma differences_most : forall x r, (differences x r <= length x)%nat.
Proof.
  induction x as [|a x IH]; intros [|b r]; simpl; try lia.
  specialize (IH r). destruct (eqb a b); lia.
Qed.
Lemma differences_negb : forall x, differences x (map negb x) = length x.
Proof. induction x as [|[] x IH]; simpl; auto. Qed.

Lemma answers_loses : forall e u v, 0 <= e -> length u = length v ->
  loses (answers e u) (answers e v) (INR (differences u v) * e).
Proof.
  intros e u v pos L. split; [intros; apply answers_private; assumption|]. exists u.
  split; [apply answers_positive; reflexivity|apply answers_attained; assumption].
Qed.

(* CLAIM BOOK-RR-PERSON. All pairs of a ranking of n items, each by randomised response at epsilon:
   the loss between two rankings is exactly epsilon times their Kendall distance, which is at most
   n (n - 1) / 2 and reaches it for a ranking and its reverse. *)
Definition person_says (c : R) : Prop := forall n epsilon r, 0 <= epsilon -> ranking n r ->
  let p r := answers epsilon (map (before r) (pairs n)) in
  finite_law (all_answers (length (pairs n))) (p r) /\
  (forall s, ranking n s -> loses (p r) (p s) (c * (INR (kendall n r s) * epsilon)) /\
    (2 * kendall n r s <= n * (n - 1))%nat) /\
  ranking n (reverse n r) /\ (2 * kendall n r (reverse n r) = n * (n - 1))%nat.
Theorem person : person_says 1.
Proof.
  intros n e r pos R p. split; [|split; [|split]].
  - unfold p. rewrite <- (map_length (before r) (pairs n)). apply answers_law.
  - intros s S. rewrite Rmult_1_l, <- pairs_length. unfold kendall. rewrite <- differences_map.
    split; [apply answers_loses; [assumption|]; rewrite !map_length; reflexivity|].
    rewrite <- (map_length (before r) (pairs n)). apply Nat.mul_le_mono_l, differences_most.
  - apply reverse_ranking. assumption.
  - rewrite <- pairs_length. unfold kendall. rewrite <- differences_map.
    rewrite (map_ext_in (before (reverse n r)) (fun q => negb (before r q))).
    + rewrite <- (map_map (before r) negb), differences_negb, map_length. reflexivity.
    + intros [i j] H. apply in_pairs in H. apply before_reverse; auto; lia.
Qed.

Theorem person_control : forall c, c <> 1 -> ~ person_says c.
Proof.
  intros c other H. assert (ranking 2 (fun i => i)) as R by (split; auto).
  pose proof (reverse_ranking _ _ R) as R'. destruct (H 2%nat 1 _ ltac:(lra) R) as [_ [K _]].
  destruct (person 2%nat 1 _ ltac:(lra) R) as [_ [L _]].
  pose proof (loses_unique _ _ _ _ _ (proj1 (K _ R')) (proj1 (L _ R'))) as E. simpl in E. lra.
Qed.
