(* XSC: Xu, Sun and Cheng (2024), Rate-Optimal Rank Aggregation with Private Pairwise Rankings;
   and BOOK-RR-PERSON, what a person loses who answers every pair.

   Proved: what one report loses and tells, that every private report on one bit can be made from
   randomised response, what users with an epsilon of their own lose, and all pairs of a ranking.
   Not in it: how a coin is flipped, and how reports are used (debiasing, estimation, ranking). *)
Require Import Reals Lra Lia List Bool PeanoNat.
From Ranking Require Import Privacy.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ common: exact loss, belief *)

(* Of two laws p and q the first loses exactly l: no outcome loses more, and some as much. *)
Definition loses {O} (p q : O -> R) (l : R) : Prop :=
  (forall o, p o <= exp l * q o) /\ exists o, 0 < p o /\ p o = exp l * q o.

Lemma loses_unique : forall O (p q : O -> R) k l, loses p q k -> loses p q l -> k = l.
Proof.
  assert (forall O (p q : O -> R) k l, loses p q k -> loses p q l -> k <= l) as H.
  { intros O p q k l [_ [o [pos same]]] [bound _]. specialize (bound o). rewrite same in bound, pos.
    pose proof (exp_pos k). destruct (Rle_or_lt k l) as [|less]; [assumption|].
    apply exp_increasing in less. nra. }
  intros. apply Rle_antisym; eapply H; eassumption.
Qed.

(* What is private loses at most epsilon. *)
Lemma private_loses : forall D O (near : D -> D -> Prop) epsilon (p : D -> O -> R) x y l,
  private near epsilon p -> near x y -> loses (p x) (p y) l -> l <= epsilon.
Proof.
  intros D O near e p x y l safe close [_ [o [pos same]]]. specialize (safe x y o close).
  rewrite same in safe, pos. pose proof (exp_pos l).
  destruct (Rle_or_lt l e) as [|less]; [assumption|]. apply exp_increasing in less. nra.
Qed.

(* Belief in x after an outcome of chance p under x and q under y, if x had the chance w before. *)
Definition belief (w p q : R) : R := w * p / (w * p + (1 - w) * q).

(* Any two data sets: the neighbours of local privacy. *)
Definition any {D} (_ _ : D) : Prop := True.

(* ------------------------------------------------------------------ one report *)

Lemma answer_kept_exactly : forall e a, answer e a a = exp e * answer e (negb a) a.
Proof. intros e a. unfold answer. pose proof (exp_pos e). destruct a; simpl; field; lra. Qed.

Lemma answer_private : forall e, 0 <= e -> private any e (answer e).
Proof.
  intros e pos x y o _. pose proof (answer_kept e pos x o). pose proof (exp_at_least_1 e pos).
  pose proof (answer_positive e y o). destruct (eqb x y) eqn:same.
  - apply eqb_prop in same. subst. nra.
  - replace y with (negb x) by (destruct x, y; simpl in *; congruence). assumption.
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
  intros e pos. rewrite Rmult_1_l. repeat split.
  - intros; left; apply answer_positive.
  - apply (answer_law e a).
  - intros a. unfold answer. destruct a; simpl; f_equal; ring.
  - apply answer_private; assumption.
  - apply answer_loses; assumption.
  - apply answer_loses; assumption.
Qed.

Theorem rr_control : forall c, c <> 1 -> ~ rr_says c.
Proof.
  intros c other H. destruct (H 1 ltac:(lra)) as [_ [_ [_ L]]]. specialize (L true).
  pose proof (loses_unique _ _ _ _ _ L (answer_loses 1 true ltac:(lra))). lra.
Qed.

(* CLAIM XSC-RISK. The flip is less likely than not; a report is true with probability
   e^epsilon / (e^epsilon + 1), which is the belief in it at even odds; and whatever the chance w of
   the answer a before, a report multiplies (if it is a) or divides the odds for a by e^epsilon. *)
Definition risk_says (c : R) : Prop := forall epsilon a, 0 < epsilon ->
  answer epsilon a (negb a) < 1 / 2 /\
  answer epsilon a a = exp (c * epsilon) / (exp (c * epsilon) + 1) /\
  belief (1 / 2) (answer epsilon a a) (answer epsilon (negb a) a)
    = exp (c * epsilon) / (exp (c * epsilon) + 1) /\
  forall w, 0 < w < 1 -> let after r := belief w (answer epsilon a r) (answer epsilon (negb a) r) in
  after a / (1 - after a) = exp (c * epsilon) * (w / (1 - w)) /\
  after (negb a) / (1 - after (negb a)) = w / (1 - w) / exp (c * epsilon).

Theorem risk : risk_says 1.
Proof.
  intros e a pos. rewrite Rmult_1_l. pose proof (exp_increasing 0 e pos) as more.
  rewrite exp_0 in more. assert (forall b, answer e b b = exp e / (exp e + 1)) as kept.
  { intros []; reflexivity. }
  assert (forall b, answer e b (negb b) = 1 / (exp e + 1)) as flipped by (intros []; reflexivity).
  pose proof (flipped (negb a)) as back. rewrite negb_involutive in back. set (E := exp e) in *.
  rewrite (kept a), back, (flipped a). unfold belief. repeat split.
  - apply Rmult_lt_reg_r with (2 * (E + 1)); [lra|]. field_simplify; lra.
  - field. lra.
  - rewrite kept, back. field. assert (w * E > 0) by nra. repeat split; nra.
  - rewrite kept, flipped. field. assert ((1 - w) * E > 0) by nra. repeat split; nra.
Qed.

Lemma logistic_injective : forall x y, exp x / (exp x + 1) = exp y / (exp y + 1) -> x = y.
Proof.
  intros x y H. apply exp_inv. pose proof (exp_pos x). pose proof (exp_pos y).
  apply Rmult_eq_compat_r with (r := (exp x + 1) * (exp y + 1)) in H.
  field_simplify in H; lra.
Qed.

Theorem risk_control : forall c, c <> 1 -> ~ risk_says c.
Proof.
  intros c other H. destruct (H 1 true ltac:(lra)) as [_ [K _]].
  change (answer 1 true true) with (exp 1 / (exp 1 + 1)) in K. apply logistic_injective in K. lra.
Qed.

(* ------------------------------------------------------------------ the optimal channel *)

(* What adds up weights: [total f s] says that f adds up to s.  A finite sum, a series and an
   integral are linear in this sense. *)
Definition linear_total {O} (total : (O -> R) -> R -> Prop) : Prop := forall c d f g s t,
  total f s -> total g t -> total (fun o => c * f o + d * g o) (c * s + d * t).

Definition total_law {O} (total : (O -> R) -> R -> Prop) (p : O -> R) : Prop :=
  (forall o, 0 <= p o) /\ total p 1.

Lemma finite_linear : forall O (l : list O), linear_total (fun f s => sum f l = s).
Proof. intros O l c d f g s t <- <-. rewrite sum_plus, !sum_scale. reflexivity. Qed.

Lemma countable_linear : forall O (outcome : nat -> O),
  linear_total (fun f s => infinite_sum (fun k => f (outcome k)) s).
Proof.
  intros O outcome c d f g s t F G.
  assert (forall b (h : O -> R) u, infinite_sum (fun k => h (outcome k)) u ->
    Un_cv (fun n => b * sum_f_R0 (fun k => h (outcome k)) n) (b * u)) as scaled.
  { intros b h u K. apply (CV_mult (fun _ => b)); [|exact K].
    intros e pos. exists 0%nat. intros. unfold R_dist. rewrite Rminus_eq_0, Rabs_R0. assumption. }
  pose proof (CV_plus _ _ _ _ (scaled c f s F) (scaled d g t G)) as K.
  intros e pos. destruct (K e pos) as [N M]. exists N. intros n large. specialize (M n large).
  replace (sum_f_R0 (fun k => c * f (outcome k) + d * g (outcome k)) n)
    with (c * sum_f_R0 (fun k => f (outcome k)) n + d * sum_f_R0 (fun k => g (outcome k)) n);
    [exact M|].
  clear. induction n as [|n IH]; simpl; [ring|]. rewrite <- IH. ring.
Qed.

(* CLAIM XSC-RR-BEST. Randomised response at epsilon is epsilon-private; every epsilon-private
   report on one bit, with outcomes of any kind and number, is made from its report alone, at
   random (Kairouz, Oh and Viswanath); so no guess of the bit is right more often: with even odds
   twice as often as both answers of randomised response are kept.  At every report it loses all of
   epsilon, one way or the other. *)
Definition best_says (c : R) : Prop := forall epsilon, 0 <= epsilon ->
  private any epsilon (answer (c * epsilon)) /\
  (forall r, answer (c * epsilon) r r = exp epsilon * answer (c * epsilon) (negb r) r) /\
  (forall O (total : (O -> R) -> R -> Prop) (p : bool -> O -> R), linear_total total ->
    (forall a, total_law total (p a)) -> private any epsilon p ->
    exists kernel : bool -> O -> R, (forall b, total_law total (kernel b)) /\
    forall a o, p a o = answer (c * epsilon) a true * kernel true o
                      + answer (c * epsilon) a false * kernel false o) /\
  forall O (outcomes : list O) (p : bool -> O -> R), (forall a, finite_law outcomes (p a)) ->
    private any epsilon p -> forall guess : O -> R, (forall o, 0 <= guess o <= 1) ->
    sum (fun o => p true o * guess o + p false o * (1 - guess o)) outcomes
    <= answer (c * epsilon) true true + answer (c * epsilon) false false.

(* The report b of randomised response is turned into o with the chance
   (e^epsilon p_b(o) - p_(not b)(o)) / (e^epsilon - 1). *)
Lemma made_from_answers : forall epsilon O (total : (O -> R) -> R -> Prop) (p : bool -> O -> R),
  0 <= epsilon -> linear_total total -> (forall a, total_law total (p a)) ->
  private any epsilon p ->
  exists kernel : bool -> O -> R, (forall b, total_law total (kernel b)) /\
  forall a o, p a o = answer epsilon a true * kernel true o
                    + answer epsilon a false * kernel false o.
Proof.
  intros e O total p pos linear law safe. destruct pos as [pos|<-].
  - pose proof (exp_increasing 0 e pos) as more. rewrite exp_0 in more.
    exists (fun b o => exp e / (exp e - 1) * p b o + - / (exp e - 1) * p (negb b) o). split.
    + intros b. split.
      * intros o. replace (exp e / (exp e - 1) * p b o + - / (exp e - 1) * p (negb b) o)
          with ((exp e * p b o - p (negb b) o) / (exp e - 1)) by (field; lra).
        pose proof (safe (negb b) b o I). apply Rmult_le_pos; [lra|].
        left. apply Rinv_0_lt_compat. lra.
      * pose proof (linear (exp e / (exp e - 1)) (- / (exp e - 1)) _ _ _ _ (proj2 (law b))
          (proj2 (law (negb b)))) as K. cbv beta in K.
        replace (exp e / (exp e - 1) * 1 + - / (exp e - 1) * 1) with 1 in K by (field; lra).
        exact K.
    + intros a o. unfold answer. destruct a; simpl; field; lra.
  - exists p. split; [assumption|]. intros a o. pose proof (safe true false o I).
    pose proof (safe false true o I). rewrite exp_0 in *. unfold answer. rewrite exp_0.
    destruct a; simpl; lra.
Qed.

Theorem best : best_says 1.
Proof.
  intros e pos. rewrite Rmult_1_l. repeat split.
  - apply answer_private; assumption.
  - apply answer_kept_exactly.
  - intros. apply made_from_answers; assumption.
  - intros O outcomes p law safe guess range. pose proof (exp_pos e).
    assert (0 < / (exp e + 1)) by (apply Rinv_0_lt_compat; lra).
    apply Rle_trans with (sum (fun o => exp e / (exp e + 1) * (p true o + p false o)) outcomes).
    + apply sum_le. intros o. pose proof (safe true false o I). pose proof (safe false true o I).
      destruct (range o). destruct (law true) as [pt _]. destruct (law false) as [pf _].
      specialize (pt o). specialize (pf o). apply Rmult_le_reg_r with (exp e + 1); [lra|].
      replace (exp e / (exp e + 1) * (p true o + p false o) * (exp e + 1))
        with (exp e * (p true o + p false o)) by (field; lra).
      set (E := exp e) in *. set (t := p true o) in *. set (f := p false o) in *.
      set (g := guess o) in *. assert (0 <= g * (E * f - t)) by nra.
      assert (0 <= (1 - g) * (E * t - f)) by nra. nra.
    + rewrite sum_scale, sum_plus. destruct (law true) as [_ ->]. destruct (law false) as [_ ->].
      unfold answer. simpl. lra.
Qed.

(* With less epsilon not every private report can be made, with more the answers are not private. *)
Theorem best_control : forall c, 0 <= c -> c <> 1 -> ~ best_says c.
Proof.
  intros c pos other H. destruct (H 1 ltac:(lra)) as [safe [_ [make _]]]. rewrite Rmult_1_r in *.
  pose proof (private_loses _ _ _ _ _ true false _ safe I (answer_loses c true pos)).
  destruct (make bool (fun f s => sum f [true; false] = s) (answer 1)) as [kernel [law K]].
  - apply finite_linear.
  - intros a. exact (answer_law 1 a).
  - apply answer_private. lra.
  - assert (private any c (answer 1)) as less.
    { intros x y o _. rewrite (K x), (K y). pose proof (answer_private c pos x y true I).
      pose proof (answer_private c pos x y false I). destruct (law true) as [kt _].
      destruct (law false) as [kf _]. specialize (kt o). specialize (kf o). nra. }
    pose proof (private_loses _ _ _ _ _ true false _ less I (answer_loses 1 true ltac:(lra))). lra.
Qed.

(* Noise does not do it: a Laplace answer that lies between 0 and 1 loses less than epsilon. *)
Lemma laplace_answer_less : forall epsilon o, 0 < epsilon -> 0 < o 0%nat < 1 ->
  forall a b : bool, let bit (x : bool) (_ : nat) := if x then 1 else 0 in
  laplace 1 (1 / epsilon) (bit a) o < exp epsilon * laplace 1 (1 / epsilon) (bit b) o.
Proof.
  intros e o pos range a b bit. unfold laplace, vector_noise, gauge_noise, l1, range_sum. simpl.
  assert (0 < 1 / e) by (apply Rdiv_lt_0_compat; lra).
  pose proof (laplace_unit_positive _ H) as unit. set (u := laplace_unit (1 / e)) in *.
  rewrite Rmult_1_r, <- Rmult_assoc, (Rmult_comm (exp e)), Rmult_assoc.
  apply Rmult_lt_compat_l; [assumption|]. rewrite <- exp_plus. apply exp_increasing.
  assert (forall z, z / (1 / e) = z * e) as -> by (intros; field; lra).
  assert (forall z, z / (1 / e) = z * e) as -> by (intros; field; lra).
  unfold bit. unfold Rabs. repeat destruct (Rcase_abs _); destruct a, b; nra.
Qed.

(* ------------------------------------------------------------------ users of their own epsilon *)

(* Each user has an epsilon, some true answers and as many reports. *)
Fixpoint users (es : list R) (truth sent : list (list bool)) : R :=
  match es, truth, sent with
  | [], [], [] => 1
  | e :: es', u :: truth', r :: sent' => answers e u r * users es' truth' sent'
  | _, _, _ => 0
  end.

(* All reports of users with so many answers each. *)
Fixpoint all_reports (sizes : list nat) : list (list (list bool)) :=
  match sizes with
  | [] => [[]]
  | n :: rest => flat_map (fun r => map (fun s => r :: s) (all_reports rest)) (all_answers n)
  end.

Lemma users_nonneg : forall es x r, 0 <= users es x r.
Proof.
  induction es as [|e es IH]; intros [|u x] [|s r]; simpl; try lra.
  apply Rmult_le_pos; [apply answers_nonneg|apply IH].
Qed.

Lemma users_positive : forall es x, length x = length es -> 0 < users es x x.
Proof.
  induction es as [|e es IH]; intros [|u x] L; simpl in *; try discriminate; [lra|].
  apply Rmult_lt_0_compat; [apply answers_positive; reflexivity|apply IH; lia].
Qed.

Lemma users_law : forall es x, length x = length es ->
  finite_law (all_reports (map (@length bool) x)) (users es x).
Proof.
  intros es x L. split; [apply users_nonneg|]. revert es L.
  induction x as [|u x IH]; intros [|e es] L; simpl in *; try discriminate; [lra|].
  rewrite sum_flat_map. transitivity (sum (answers e u) (all_answers (length u))).
  - apply sum_ext. intros r. rewrite sum_map. simpl. rewrite sum_scale, IH by lia. ring.
  - apply answers_law.
Qed.

(* If one user's answers differ in k places, exactly k times that user's epsilon is lost: the
   others' data, reports and epsilons do not matter. *)
Lemma users_one : forall es1 e es2 x1 u v x2, 0 <= e ->
  length x1 = length es1 -> length x2 = length es2 -> length u = length v ->
  loses (users (es1 ++ e :: es2) (x1 ++ u :: x2)) (users (es1 ++ e :: es2) (x1 ++ v :: x2))
    (INR (differences u v) * e).
Proof.
  intros es1 e es2 x1 u v x2 pos L1 L2 L. split.
  - revert es1 L1. induction x1 as [|w x1 IH]; intros [|d es1] L1 r; try discriminate L1.
    + destruct r as [|s r]; simpl; [lra|]. rewrite <- Rmult_assoc.
      apply Rmult_le_compat_r; [apply users_nonneg|]. apply answers_private; assumption.
    + destruct r as [|s r]; simpl; [lra|]. injection L1 as L1. specialize (IH es1 L1 r).
      pose proof (answers_nonneg d w s). nra.
  - exists (x1 ++ u :: x2). split.
    + apply users_positive. rewrite !app_length. simpl. lia.
    + revert es1 L1. induction x1 as [|w x1 IH]; intros [|d es1] L1; try discriminate L1.
      * simpl. rewrite (answers_attained e u v L). ring.
      * injection L1 as L1. simpl. rewrite (IH es1 L1). ring.
Qed.

Lemma differences_most : forall x r, (differences x r <= length x)%nat.
Proof.
  induction x as [|a x IH]; intros [|b r]; simpl; try lia.
  specialize (IH r). destruct (eqb a b); lia.
Qed.

Lemma differences_self : forall u, differences u u = 0%nat.
Proof. induction u as [|[] u IH]; simpl; auto. Qed.

Lemma differences_app : forall u v s t, length u = length v ->
  differences (u ++ s) (v ++ t) = (differences u v + differences s t)%nat.
Proof.
  induction u as [|a u IH]; intros [|b v] s t L; simpl in *; try discriminate; [reflexivity|].
  rewrite IH by lia. lia.
Qed.

(* CLAIM XSC-USER. For users with any epsilons, answers and numbers of answers: the reports of all
   of them together lose exactly epsilon_u if one comparison of user u changes. *)
Definition user_says (c : R) : Prop := forall es1 e es2 x1 before a after x2, 0 <= e ->
  length x1 = length es1 -> length x2 = length es2 ->
  let es := es1 ++ e :: es2 in
  let x b := x1 ++ (before ++ b :: after) :: x2 in
  finite_law (all_reports (map (@length bool) (x a))) (users es (x a)) /\
  loses (users es (x a)) (users es (x (negb a))) (c * e).

Theorem user : user_says 1.
Proof.
  intros es1 e es2 x1 before a after x2 pos L1 L2 es x. split.
  - apply users_law. unfold es, x. rewrite !app_length. simpl. lia.
  - replace (1 * e)
      with (INR (differences (before ++ a :: after) (before ++ negb a :: after)) * e).
    + apply users_one; auto. rewrite !app_length. reflexivity.
    + rewrite differences_app, differences_self by reflexivity. simpl. rewrite differences_self.
      destruct a; reflexivity.
Qed.

Theorem user_control : forall c, c <> 1 -> ~ user_says c.
Proof.
  intros c other H.
  destruct (H [] 1 [] [] [] true [] [] ltac:(lra) eq_refl eq_refl) as [_ K].
  destruct (user [] 1 [] [] [] true [] [] ltac:(lra) eq_refl eq_refl) as [_ L].
  pose proof (loses_unique _ _ _ _ _ K L). lra.
Qed.

(* ------------------------------------------------------------------ rankings *)

(* A ranking of the items 0, ..., n - 1 gives each a place of its own, 0 to n - 1. *)
Definition ranking (n : nat) (r : nat -> nat) : Prop :=
  (forall i, i < n -> r i < n)%nat /\ (forall i j, i < n -> j < n -> r i = r j -> i = j)%nat.

(* The pairs i < j of items, and their answers: does i stand before j? *)
Fixpoint pairs (n : nat) : list (nat * nat) :=
  match n with O => [] | S m => pairs m ++ map (fun i => (i, m)) (seq 0 m) end.

Definition before (r : nat -> nat) (p : nat * nat) : bool := (r (fst p) <? r (snd p))%nat.
Definition bits (n : nat) (r : nat -> nat) : list bool := map (before r) (pairs n).

(* The Kendall distance: the number of pairs on which two rankings disagree. *)
Definition kendall (n : nat) (r s : nat -> nat) : nat :=
  length (filter (fun p => xorb (before r p) (before s p)) (pairs n)).

Definition reverse (n : nat) (r : nat -> nat) (i : nat) : nat := (n - 1 - r i)%nat.

Lemma in_pairs : forall n i j, In (i, j) (pairs n) -> (i < j < n)%nat.
Proof.
  induction n as [|n IH]; simpl; intros i j H; [contradiction|]. apply in_app_or in H as [H|H].
  - apply IH in H. lia.
  - apply in_map_iff in H as [k [E H]]. injection E as -> <-. apply in_seq in H. lia.
Qed.

Lemma pairs_length : forall n, (2 * length (pairs n) = n * (n - 1))%nat.
Proof.
  induction n as [|n IH]; [reflexivity|]. simpl pairs. rewrite app_length, map_length, seq_length.
  destruct n; simpl in *; lia.
Qed.

Lemma differences_map : forall A (f g : A -> bool) l,
  differences (map f l) (map g l) = length (filter (fun a => xorb (f a) (g a)) l).
Proof.
  intros A f g l. induction l as [|a l IH]; simpl; [reflexivity|]. rewrite IH.
  destruct (f a), (g a); reflexivity.
Qed.

Lemma reverse_ranking : forall n r, ranking n r -> ranking n (reverse n r).
Proof.
  intros n r [small one]. unfold reverse. split; intros; [lia|]. apply one; try assumption.
  pose proof (small i). pose proof (small j). lia.
Qed.

Lemma before_reverse : forall n r i j, ranking n r -> (i < n)%nat -> (j < n)%nat -> i <> j ->
  before (reverse n r) (i, j) = negb (before r (i, j)).
Proof.
  intros n r i j [small one] I J N. unfold before, reverse. simpl.
  assert (r i <> r j) by (intros E; apply N, one; assumption). pose proof (small i I).
  pose proof (small j J).
  destruct (Nat.ltb_spec (r i) (r j)); apply Nat.ltb_lt || apply Nat.ltb_ge; lia.
Qed.

Lemma bits_reverse : forall n r, ranking n r -> bits n (reverse n r) = map negb (bits n r).
Proof.
  intros n r R. unfold bits. rewrite map_map. apply map_ext_in. intros [i j] H.
  apply in_pairs in H. apply before_reverse; auto; lia.
Qed.

Lemma differences_negb : forall x, differences x (map negb x) = length x.
Proof. induction x as [|[] x IH]; simpl; auto. Qed.

Lemma kendall_reverse : forall n r, ranking n r -> kendall n r (reverse n r) = length (pairs n).
Proof.
  intros n r R. unfold kendall. rewrite <- differences_map. fold (bits n r).
  fold (bits n (reverse n r)). rewrite (bits_reverse n r R), differences_negb.
  unfold bits. apply map_length.
Qed.

Lemma filter_length : forall A (f : A -> bool) l, (length (filter f l) <= length l)%nat.
Proof. intros A f l. induction l as [|a l IH]; simpl; [lia|]. destruct (f a); simpl; lia. Qed.

(* How many lists of n answers differ from a given one in k places. *)
Fixpoint choose (n k : nat) : nat :=
  match n, k with
  | _, O => 1
  | O, S _ => 0
  | S m, S j => choose m j + choose m k
  end.

Lemma choose_more : forall n k, (n < k)%nat -> choose n k = 0%nat.
Proof.
  induction n as [|n IH]; intros [|k] H; simpl; try lia. rewrite !IH; lia.
Qed.

(* A sum over all lists of answers whose terms depend on the number of differences from x alone. *)
Lemma sum_by_differences : forall x (f : nat -> R),
  sum (fun r => f (differences x r)) (all_answers (length x))
  = range_sum (S (length x)) (fun k => INR (choose (length x) k) * f k).
Proof.
  induction x as [|a x IH]; intros f; [unfold range_sum; simpl; lra|]. simpl length.
  simpl all_answers. rewrite sum_flat_map.
  rewrite (sum_ext _ (fun r => f (differences x r) + f (S (differences x r)))).
  2:{ intros r. destruct a; simpl; lra. }
  rewrite sum_plus, (IH f), (IH (fun k => f (S k))). clear IH. set (n := length x).
  assert (forall m g, range_sum (S m) g = g 0%nat + range_sum m (fun k => g (S k))) as first.
  { intros m g. unfold range_sum. simpl. rewrite <- seq_shift, sum_map. reflexivity. }
  assert (forall m g, range_sum (S m) g = range_sum m g + g m) as last.
  { intros m g. unfold range_sum. rewrite seq_S, sum_app. simpl. lra. }
  rewrite (first (S n)). simpl choose.
  unfold range_sum at 3. rewrite (sum_ext _ (fun k => INR (choose n k) * f (S k)
    + INR (choose n (S k)) * f (S k))) by (intros; rewrite plus_INR; ring).
  rewrite sum_plus. fold (range_sum (S n) (fun k => INR (choose n k) * f (S k))).
  fold (range_sum (S n) (fun k => INR (choose n (S k)) * f (S k))).
  rewrite (last n (fun k => INR (choose n (S k)) * f (S k))),
    (first n (fun k => INR (choose n k) * f k)).
  rewrite (choose_more n (S n)) by lia. destruct n; simpl; lra.
Qed.

(* The chance of a list of reports, by the number of flips. *)
Lemma answers_by_differences : forall e x r, length r = length x -> answers e x r =
  answer e true true ^ (length x - differences x r) * answer e true false ^ differences x r.
Proof.
  intros e. induction x as [|a x IH]; intros [|b r] L; try discriminate; [simpl; lra|].
  injection L as L. simpl answers. simpl length. simpl differences. rewrite (IH r L).
  pose proof (differences_most x r).
  assert (forall c d, answer e c d = if eqb c d then answer e true true else answer e true false)
    as flip by (intros [] []; reflexivity). rewrite (flip a b). destruct (eqb a b).
  - cbn [Nat.add]. rewrite Nat.sub_succ_l by lia. simpl. ring.
  - cbn [Nat.add]. rewrite Nat.sub_succ. simpl. ring.
Qed.

Lemma all_answers_length : forall n r, In r (all_answers n) -> length r = n.
Proof.
  induction n as [|n IH]; simpl; intros r H; [destruct H as [<-|[]]; reflexivity|].
  apply in_flat_map in H as [s [K [<-|[<-|[]]]]]; simpl; rewrite (IH s K); reflexivity.
Qed.

Lemma differences_opposite : forall x r, length r = length x ->
  differences (map negb x) r = (length x - differences x r)%nat.
Proof.
  induction x as [|a x IH]; intros [|b r] L; try discriminate; [reflexivity|]. injection L as L.
  simpl map. simpl length. simpl differences. rewrite (IH r L). pose proof (differences_most x r).
  destruct a, b; cbn [negb eqb Nat.add]; lia.
Qed.

(* The privacy profile: the delta that a smaller e than the loss leaves, largest over all events. *)
Definition profile {O} (outcomes : list O) (p q : O -> R) (e : R) : R :=
  sum (fun o => Rmax 0 (p o - exp e * q o)) outcomes.

(* CLAIM BOOK-RR-PERSON. All pairs of a ranking of n items, each by randomised response at epsilon:
   the loss between two rankings is exactly epsilon times their Kendall distance, which is at most
   n (n - 1) / 2 and reaches it for a ranking and its reverse; the profile of these two is that of
   L = n (n - 1) / 2 flips, k of which turn out the other way. *)
Definition person_says (c : R) : Prop := forall n epsilon r, 0 <= epsilon -> ranking n r ->
  let p r := answers epsilon (bits n r) in
  let L := length (pairs n) in
  finite_law (all_answers L) (p r) /\
  (forall s, ranking n s -> loses (p r) (p s) (c * epsilon * INR (kendall n r s)) /\
    (2 * kendall n r s <= n * (n - 1))%nat) /\
  ranking n (reverse n r) /\ (2 * kendall n r (reverse n r) = n * (n - 1))%nat /\
  forall e, profile (all_answers L) (p r) (p (reverse n r)) e =
    let keep := exp epsilon / (exp epsilon + 1) in let flip := 1 / (exp epsilon + 1) in
    range_sum (S L) (fun k => INR (choose L k) *
      Rmax 0 (keep ^ (L - k) * flip ^ k - exp e * (keep ^ k * flip ^ (L - k)))).

Theorem person : person_says 1.
Proof.
  intros n e r pos R p L. assert (forall r, length (bits n r) = L) as size.
  { intros. apply map_length. }
  split; [|split; [|split; [|split]]].
  - unfold p. rewrite <- (size r). apply answers_law.
  - intros s S. split.
    + replace (1 * e * INR (kendall n r s)) with (INR (differences (bits n r) (bits n s)) * e)
        by (unfold bits; rewrite differences_map; fold (kendall n r s); ring).
      assert (length (bits n r) = length (bits n s)) as same by (rewrite !size; reflexivity).
      split; [intros; apply answers_private; assumption|]. exists (bits n r).
      split; [apply answers_positive; reflexivity|apply answers_attained; assumption].
    + rewrite <- pairs_length. unfold kendall. pose proof (filter_length _
        (fun q => xorb (before r q) (before s q)) (pairs n)). lia.
  - apply reverse_ranking. assumption.
  - rewrite (kendall_reverse n r R). apply pairs_length.
  - intros d. cbv zeta. set (keep := exp e / (exp e + 1)). set (flip := 1 / (exp e + 1)).
    unfold profile, p. rewrite (bits_reverse n r R), <- (size r).
    rewrite <- (sum_by_differences (bits n r) (fun k => Rmax 0 (keep ^ (length (bits n r) - k)
      * flip ^ k - exp d * (keep ^ k * flip ^ (length (bits n r) - k))))).
    apply sum_ext_in. intros o H. apply all_answers_length in H.
    rewrite (answers_by_differences e (bits n r) o H), (answers_by_differences e (map negb _) o)
      by (rewrite map_length; assumption).
    rewrite map_length, (differences_opposite _ _ H). pose proof (differences_most (bits n r) o).
    change (answer e true true) with keep. change (answer e true false) with flip.
    replace (length (bits n r) - (length (bits n r) - differences (bits n r) o))%nat
      with (differences (bits n r) o) by lia. reflexivity.
Qed.

Theorem person_control : forall c, c <> 1 -> ~ person_says c.
Proof.
  intros c other H. assert (ranking 2 (fun i => i)) as R by (split; auto).
  destruct (H 2%nat 1 (fun i => i) ltac:(lra) R) as [_ [K _]].
  destruct (person 2%nat 1 (fun i => i) ltac:(lra) R) as [_ [L _]].
  destruct (K _ (reverse_ranking _ _ R)) as [K' _].
  destruct (L _ (reverse_ranking _ _ R)) as [L' _].
  pose proof (loses_unique _ _ _ _ _ K' L') as E. rewrite kendall_reverse in E by assumption.
  simpl in E. lra.
Qed.
