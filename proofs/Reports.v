(* Theorems of this book: the three rules of privacy, the exact loss of Laplace noise, what an
   observer believes, and two reports of a ranking: pair or parity, and the order of some items.

   Not in it: how coins, noise and questions are drawn, floating-point numbers, privacy profiles,
   mean squares, and how often a guess is right on average (but for the formula 1/2 + TV/2). *)
Require Import Reals Lra Lia List Bool PeanoNat ZArith.
From Ranking Require Import Privacy XSC.
Import ListNotations.
Open Scope R_scope.

Lemma sum_list_prod : forall A B (f : A * B -> R) l k,
  sum f (list_prod l k) = sum (fun a => sum (fun b => f (a, b)) k) l.
Proof.
  intros A B f l k. induction l as [|a l IH]; simpl; [reflexivity|].
  rewrite sum_app, IH, sum_map. reflexivity.
Qed.

(* A law, and for each of its outcomes another. *)
Lemma product_law : forall A B (l : list A) (k : list B) p (q : A -> B -> R),
  finite_law l p -> (forall a, finite_law k (q a)) ->
  finite_law (list_prod l k) (fun both => p (fst both) * q (fst both) (snd both)).
Proof.
  intros A B l k p q [pos total] law. split; [intros; apply Rmult_le_pos; auto; apply law|].
  rewrite sum_list_prod, <- total. apply sum_ext. intros a. simpl. rewrite sum_scale.
  rewrite (proj2 (law a)). ring.
Qed.

(* ------------------------------------------------------------------ the three rules *)

(* CLAIM BOOK-POST-PROCESSING. What is computed from the release of an epsilon-private mechanism,
   also at random, is a law and epsilon-private, for finitely many outcomes; and the weights of an
   event under two neighbours have at most the ratio e^epsilon, however events are weighed: by sums,
   series, or whatever else is monotone and homogeneous. *)
Definition post_processing_says (c : R) : Prop :=
  (forall O (outcomes : list O), weighing (fun f s => sum f outcomes = s)) /\
  (forall O (outcome : nat -> O), weighing (fun f s => infinite_sum (fun k => f (outcome k)) s)) /\
  forall D O (near : D -> D -> Prop) epsilon (p : D -> O -> R),
  (forall x o, 0 <= p x o) -> private near epsilon p ->
  (forall Q outcomes (after : list Q) (kernel : O -> Q -> R),
    (forall x, finite_law outcomes (p x)) -> (forall o, finite_law after (kernel o)) ->
    let q x r := sum (fun o => p x o * kernel o r) outcomes in
    (forall x, finite_law after (q x)) /\ private near (c * epsilon) q) /\
  forall total event, weighing total -> (forall o, 0 <= event o) -> forall x y s t, near x y ->
    total (fun o => p x o * event o) s -> total (fun o => p y o * event o) t ->
    s <= exp (c * epsilon) * t.
Theorem post_processing : post_processing_says 1.
Proof.
  split; [exact finite_weighing|split; [exact countable_weighing|]].
  intros D O near e p pos safe. rewrite Rmult_1_l. split.
  - intros Q outcomes after kernel law klaw q. split; [split|].
    + intros r. apply sum_nonneg. intros o _. apply Rmult_le_pos; [apply pos|apply klaw].
    + unfold q. rewrite sum_swap, <- (proj2 (law x)). apply sum_ext. intros o.
      rewrite sum_scale, (proj2 (klaw o)). ring.
    + intros x y r close. apply (private_events near e p _ (finite_weighing _ outcomes) pos safe
        (fun o => kernel o r) (fun o => proj1 (klaw o) r) x y); auto.
  - intros total event W epos x y s t. apply (private_events near e p total W pos safe event epos).
Qed.

Theorem post_processing_control : forall c, c < 1 -> ~ post_processing_says c.
Proof.
  intros c less [_ [_ H]]. destruct (H bool bool any 1 (answer 1)
    (fun a o => Rlt_le _ _ (answer_positive 1 a o)) (answer_private 1 ltac:(lra))) as [_ K].
  specialize (K _ (fun o => if o then 1 else 0) (finite_weighing _ [true; false])
    ltac:(intros []; lra) true false _ _ I eq_refl eq_refl). simpl in K.
  rewrite !Rmult_0_r, !Rmult_1_r, !Rplus_0_r, (answer_kept_exactly 1 true) in K.
  apply Rmult_le_reg_r in K; [|apply answer_positive]. pose proof (exp_increasing c 1 less). lra.
Qed.

(* CLAIM BOOK-COMPOSITION. The losses of two releases add up, whatever the first one was; two
   randomised responses about one answer attain the sum. *)
Definition composition_says (c : R) : Prop :=
  (forall D O Q (near : D -> D -> Prop) e1 e2 (p : D -> O -> R) (q : O -> D -> Q -> R),
    (forall x o, 0 <= p x o) -> (forall o x r, 0 <= q o x r) ->
    private near e1 p -> (forall o, private near e2 (q o)) ->
    private near (c * (e1 + e2)) (fun x both => p x (fst both) * q (fst both) x (snd both))) /\
  forall e1 e2 a, 0 <= e1 -> 0 <= e2 ->
    let twice a both := answer e1 a (fst both) * answer e2 a (snd both) in
    finite_law (list_prod [true; false] [true; false]) (twice a) /\
    loses (twice a) (twice (negb a)) (c * (e1 + e2)).
Theorem composition : composition_says 1.
Proof.
  split; [intros; rewrite Rmult_1_l; apply private_composition; assumption|].
  intros e1 e2 a p1 p2 twice. rewrite Rmult_1_l. split; [|split].
  - apply (product_law _ _ _ _ (answer e1 a) (fun _ => answer e2 a)); intros; apply answer_law.
  - intros both. apply (private_composition (any (D := bool)) _ e1 e2 (answer e1)
      (fun _ => answer e2)); intros; try (left; apply answer_positive);
      try (apply answer_private; assumption). exact I.
  - exists (a, a). unfold twice. simpl. split; [apply Rmult_lt_0_compat; apply answer_positive|].
    rewrite exp_plus, (answer_kept_exactly e1 a), (answer_kept_exactly e2 a). ring.
Qed.

Theorem composition_control : forall c, c <> 1 -> ~ composition_says c.
Proof.
  intros c other [_ H]. destruct (H 1 1 true ltac:(lra) ltac:(lra)) as [_ K].
  destruct (proj2 composition 1 1 true ltac:(lra) ltac:(lra)) as [_ L].
  pose proof (loses_unique _ _ _ _ _ K L). lra.
Qed.

(* CLAIM BOOK-GROUP. Between data sets that are k steps between neighbours apart, an epsilon-private
   mechanism loses at most k epsilon; randomised response of k people attains it. *)
Definition one_flip (u v : list bool) : Prop := length u = length v /\ differences u v = 1%nat.

Definition group_says (c : R) : Prop :=
  (forall D O (near : D -> D -> Prop) epsilon (p : D -> O -> R) k, private near epsilon p ->
    private (apart near k) (c * (INR k * epsilon)) p) /\
  forall epsilon x, 0 <= epsilon -> private one_flip epsilon (answers epsilon) /\
    apart one_flip (length x) x (map negb x) /\
    loses (answers epsilon x) (answers epsilon (map negb x)) (c * (INR (length x) * epsilon)).

Lemma apart_cons : forall k b u v, apart one_flip k u v -> apart one_flip k (b :: u) (b :: v).
Proof.
  intros k b u v H. induction H as [|k x y z [L N] H IH]; [constructor|].
  apply apart_more with (b :: y); [|assumption]. split; simpl; [congruence|]. destruct b; exact N.
Qed.
Lemma apart_opposite : forall x, apart one_flip (length x) x (map negb x).
Proof.
  induction x as [|a x IH]; [constructor|].
  apply apart_more with (negb a :: x); [|apply apart_cons; assumption]. split; [reflexivity|].
  assert (differences x x = 0%nat) as E by (clear; induction x as [|[] x IH]; simpl; auto).
  simpl. rewrite E. destruct a; reflexivity.
Qed.
Lemma answers_opposite : forall e x, 0 <= e ->
  loses (answers e x) (answers e (map negb x)) (INR (length x) * e).
Proof.
  intros e x pos. rewrite <- (differences_negb x). apply answers_loses; [assumption|].
  rewrite map_length. reflexivity.
Qed.

Theorem group : group_says 1.
Proof.
  split; [intros; rewrite Rmult_1_l; apply private_group; assumption|].
  intros e x pos. rewrite Rmult_1_l. split; [|split].
  - intros u v o [L N]. pose proof (answers_private e pos u v o L) as K.
    rewrite N, Rmult_1_l in K. exact K.
  - apply apart_opposite.
  - apply answers_opposite. assumption.
Qed.

Theorem group_control : forall c, c <> 1 -> ~ group_says c.
Proof.
  intros c other [_ H]. destruct (H 1 [true] ltac:(lra)) as [_ [_ K]].
  pose proof (loses_unique _ _ _ _ _ K (answers_opposite 1 [true] ltac:(lra))). simpl in *. lra.
Qed.

(* ------------------------------------------------------------------ the exact loss of noise *)

(* CLAIM BOOK-LAPLACE-LOSS (its loss). A vector of n entries with independent Laplace or discrete
   Laplace noise of scale b: the loss between u and v is exactly their l1 distance over b.  It is
   lost at u itself (whole if u is) and by all outcomes that lie, in every entry, on the far side of
   u from v.  What makes weights add up to 1, [laplace_unit b] or [discrete_unit b], is any unit. *)
Definition laplace_loss_says (c : R) : Prop := forall unit n b u v, 0 < unit -> 0 < b ->
  let loss := c * (l1 n u v / b) in
  loses (vector_noise unit n b u) (vector_noise unit n b v) loss /\
  vector_noise unit n b u u = exp loss * vector_noise unit n b v u /\
  forall o, (forall i, (i < n)%nat -> 0 <= (o i - u i) * (u i - v i)) ->
    vector_noise unit n b u o = exp loss * vector_noise unit n b v o.

Lemma vector_noise_positive : forall unit n b u x, 0 < unit -> 0 < vector_noise unit n b u x.
Proof. intros. apply Rmult_lt_0_compat; [apply pow_lt; assumption|apply exp_pos]. Qed.

Theorem laplace_loss : laplace_loss_says 1.
Proof.
  intros unit n b u v upos pos. cbv zeta. rewrite Rmult_1_l.
  pose proof (vector_noise_attained unit n b u v pos) as same. split; [split|split; [assumption|]].
  - intros. apply vector_noise_private; assumption.
  - exists u. split; [apply vector_noise_positive|]; assumption.
  - intros o far. unfold vector_noise, gauge_noise. rewrite (Rmult_comm (exp _)), Rmult_assoc.
    rewrite <- exp_plus. do 2 f_equal. replace (l1 n o v) with (l1 n o u + l1 n u v); [field; lra|].
    unfold l1, range_sum. rewrite <- sum_plus. apply sum_ext_in. intros i I. apply in_seq in I.
    specialize (far i ltac:(lia)). unfold Rabs. repeat destruct (Rcase_abs _); nra.
Qed.

Theorem laplace_loss_control : forall c, c <> 1 -> ~ laplace_loss_says c.
Proof.
  intros c other H. destruct (H 1 1%nat 1 (fun _ => 1) (fun _ => 0) ltac:(lra) ltac:(lra)) as [K _].
  destruct (laplace_loss 1 1%nat 1 (fun _ => 1) (fun _ => 0) ltac:(lra) ltac:(lra)) as [L _].
  pose proof (loses_unique _ _ _ _ _ K L) as E. unfold l1, range_sum in E. simpl in E.
  rewrite Rminus_0_r, Rabs_R1 in E. lra.
Qed.

(* ------------------------------------------------------------------ what an observer believes *)

Lemma belief_most : forall p q l, 0 <= p -> 0 <= q -> 0 < p + q -> p <= exp l * q ->
  belief (1 / 2) p q <= exp l / (exp l + 1).
Proof.
  intros p q l P Q some bound. pose proof (exp_pos l). unfold belief.
  apply Rmult_le_reg_r with ((exp l + 1) * (p + q)); [nra|]. field_simplify; nra.
Qed.
Lemma belief_attained : forall p q l, 0 < p -> p = exp l * q ->
  belief (1 / 2) p q = exp l / (exp l + 1).
Proof.
  intros p q l pos ->. pose proof (exp_pos l). assert (0 < q) by nra. unfold belief. field.
  split; nra.
Qed.

(* How often a guess between two data sets is right, at even odds. *)
Definition right_guesses {O} (outcomes : list O) (p q guess : O -> R) : R :=
  1 / 2 * sum (fun o => p o * guess o + q o * (1 - guess o)) outcomes.
Definition variation {O} (outcomes : list O) (p q : O -> R) : R :=
  1 / 2 * sum (fun o => Rabs (p o - q o)) outcomes.

(* Win counts: L wins of item 0 over the items 1, ..., L, or L wins of each of them over it. *)
Definition one_against (L : nat) (wins : bool) (base : nat -> R) (i : nat) : R :=
  base i + (if (i =? 0)%nat then (if wins then INR L else 0)
            else if (i <=? L)%nat then (if wins then 0 else 1) else 0).

Lemma one_against_distance : forall n L base, (L < n)%nat ->
  l1 n (one_against L true base) (one_against L false base) = 2 * INR L.
Proof.
  intros n L base less. unfold l1, range_sum. replace n with (1 + (L + (n - L - 1)))%nat by lia.
  rewrite !seq_app, !sum_app, (sum_ext_in _ (fun _ => 1) (seq (0 + 1) L)),
    (sum_ext_in _ (fun _ => 0) (seq (0 + 1 + L) _)).
  - rewrite sum_zero, sum_const, seq_length. simpl. unfold one_against. simpl.
    rewrite Rabs_right by (pose proof (pos_INR L); lra). ring.
  - intros i H. apply in_seq in H. unfold one_against.
    destruct (Nat.eqb_spec i 0), (Nat.leb_spec i L); try lia. rewrite Rminus_eq_0. apply Rabs_R0.
  - intros i H. apply in_seq in H. unfold one_against.
    destruct (Nat.eqb_spec i 0), (Nat.leb_spec i L); try lia. rewrite Rabs_left; lra.
Qed.

(* CLAIM BOOK-BUNDLE-ODDS. L answers of one person, each protected by epsilon: the belief in the
   likelier of two lists of answers that are L turned answers apart is at most
   e^(L epsilon) / (1 + e^(L epsilon)).  Randomised response attains it between opposite lists, and
   win counts with noise of scale 2 / epsilon, discrete or continuous, attain it for a person whose
   L answers are all about one item. *)
Definition bundle_odds_says (c : R) : Prop := forall L epsilon, 0 < epsilon ->
  let most := exp (c * (INR L * epsilon)) / (exp (c * (INR L * epsilon)) + 1) in
  (forall D O (near : D -> D -> Prop) (p : D -> O -> R), (forall x o, 0 <= p x o) ->
    private near epsilon p -> forall x y o, apart near L x y -> 0 < p x o + p y o ->
    belief (1 / 2) (p x o) (p y o) <= most) /\
  (forall x, length x = L -> apart one_flip L x (map negb x) /\
    belief (1 / 2) (answers epsilon x x) (answers epsilon (map negb x) x) = most) /\
  forall n unit base, (L < n)%nat -> 0 < unit ->
    let counts wins := vector_noise unit n (2 / epsilon) (one_against L wins base) in
    (forall o, belief (1 / 2) (counts true o) (counts false o) <= most) /\
    belief (1 / 2) (counts true (one_against L true base))
      (counts false (one_against L true base)) = most.
Theorem bundle_odds : bundle_odds_says 1.
Proof.
  intros L e pos. cbv zeta. rewrite Rmult_1_l. split; [|split].
  - intros D O near p P safe x y o steps some. apply belief_most; auto.
    apply (private_group near e p L safe x y o steps).
  - intros x <-. split; [apply apart_opposite|].
    apply belief_attained; [apply answers_positive; reflexivity|]. rewrite <- differences_negb.
    apply answers_attained. rewrite map_length. reflexivity.
  - intros n unit base less upos. assert (0 < 2 / e) by (apply Rdiv_lt_0_compat; lra).
    replace (INR L * e) with (l1 n (one_against L true base) (one_against L false base) / (2 / e))
      by (rewrite one_against_distance by assumption; field; lra). split.
    + intros o. pose proof (fun w => vector_noise_positive unit n (2 / e)
        (one_against L w base) o upos) as P. pose proof (P true). pose proof (P false).
      apply belief_most; try lra. apply vector_noise_private; assumption.
    + apply belief_attained; [apply vector_noise_positive; assumption|].
      apply vector_noise_attained. assumption.
Qed.

Theorem bundle_odds_control : forall c, c <> 1 -> ~ bundle_odds_says c.
Proof.
  intros c other H. destruct (H 1%nat 1 ltac:(lra)) as [_ [K _]].
  destruct (bundle_odds 1%nat 1 ltac:(lra)) as [_ [L _]]. destruct (K [true] eq_refl) as [_ K'].
  rewrite (proj2 (L [true] eq_refl)) in K'. apply logistic_injective in K'. simpl in K'. lra.
Qed.

(* CLAIM BOOK-ODDS. One answer is turned, both values are as likely.  After any release of loss at
   most epsilon the belief in the likelier one is at most e^epsilon / (1 + e^epsilon), and the best
   of all guesses is right with probability 1/2 + TV/2.  Randomised response attains the bound with
   every report, so that the guess is right as often; win counts with noise of scale 2 / epsilon,
   discrete or continuous (see [unit]), attain it. *)
Definition odds_says (c : R) : Prop := forall epsilon, 0 < epsilon ->
  let most := exp (c * epsilon) / (exp (c * epsilon) + 1) in
  (forall D O (near : D -> D -> Prop) (p : D -> O -> R), (forall x o, 0 <= p x o) ->
    private near epsilon p -> forall x y o, near x y -> 0 < p x o + p y o ->
    belief (1 / 2) (p x o) (p y o) <= most) /\
  (forall O (outcomes : list O) p q, finite_law outcomes p -> finite_law outcomes q ->
    let best := 1 / 2 + 1 / 2 * variation outcomes p q in
    (forall guess, (forall o, 0 <= guess o <= 1) -> right_guesses outcomes p q guess <= best) /\
    right_guesses outcomes p q (fun o => if Rle_dec (p o) (q o) then 0 else 1) = best) /\
  (forall r, belief (1 / 2) (answer epsilon r r) (answer epsilon (negb r) r) = most) /\
  1 / 2 + 1 / 2 * variation [true; false] (answer epsilon true) (answer epsilon false) = most /\
  forall n unit base, (1 < n)%nat -> 0 < unit ->
    let counts wins := vector_noise unit n (2 / epsilon) (one_against 1 wins base) in
    belief (1 / 2) (counts true (one_against 1 true base))
      (counts false (one_against 1 true base)) = most.
Theorem odds : odds_says 1.
Proof.
  intros e pos. cbv zeta. rewrite Rmult_1_l. pose proof (exp_increasing 0 e pos) as more.
  rewrite exp_0 in more. split; [|split; [|split; [|split]]].
  - intros D O near p P safe x y o close some. apply belief_most; auto.
  - intros O outcomes p q [_ P] [_ Q].
    assert (1 / 2 + 1 / 2 * variation outcomes p q
      = 1 / 2 * sum (fun o => 1 / 2 * (p o + q o + Rabs (p o - q o))) outcomes) as ->.
    { unfold variation. rewrite sum_scale, !sum_plus, P, Q. lra. }
    unfold right_guesses. split.
    + intros guess range. apply Rmult_le_compat_l; [lra|]. apply sum_le. intros o.
      destruct (range o). unfold Rabs. destruct (Rcase_abs _); nra.
    + f_equal. apply sum_ext. intros o. unfold Rabs. destruct (Rle_dec _ _), (Rcase_abs _); lra.
  - intros r. apply belief_attained; [apply answer_positive|apply answer_kept_exactly].
  - unfold variation, answer. simpl. assert (0 < / (exp e + 1)) by (apply Rinv_0_lt_compat; lra).
    rewrite Rabs_right, Rabs_left by (unfold Rdiv; nra). field. lra.
  - intros n unit base two upos. destruct (bundle_odds 1%nat e pos) as [_ [_ counts]].
    simpl INR in counts. rewrite !Rmult_1_l in counts. apply counts; assumption.
Qed.

Theorem odds_control : forall c, c <> 1 -> ~ odds_says c.
Proof.
  intros c other H. destruct (H 1 ltac:(lra)) as [_ [_ [K _]]].
  destruct (odds 1 ltac:(lra)) as [_ [_ [L _]]]. specialize (K true). rewrite (L true) in K.
  apply logistic_injective in K. lra.
Qed.

(* ------------------------------------------------------------------ the order of some items *)

(* The items of a list in the order of a ranking. *)
Fixpoint place (r : nat -> nat) (a : nat) (l : list nat) : list nat :=
  match l with [] => [a] | b :: l' => if (r a <? r b)%nat then a :: l else b :: place r a l' end.
Definition order (r : nat -> nat) (items : list nat) : list nat := fold_right (place r) [] items.

(* Randomised response on v values: the true one has e^epsilon times the chance of any other. *)
Definition one_of (v : nat) (e : R) (x o : list nat) : R :=
  (if list_eq_dec Nat.eq_dec o x then exp e else 1) / (exp e + (INR v - 1)).

Lemma one_of_positive : forall v e x o, (0 < v)%nat -> 0 < one_of v e x o.
Proof.
  intros v e x o some. pose proof (exp_pos e). assert (1 <= INR v) by (apply (le_INR 1); lia).
  apply Rdiv_lt_0_compat; [destruct (list_eq_dec _ o x)|]; lra.
Qed.
Lemma one_of_law : forall e values x, NoDup values -> In x values ->
  finite_law values (one_of (length values) e x).
Proof.
  intros e values x D I. pose proof (exp_pos e). set (v := length values).
  assert (0 < v)%nat as some by (unfold v; destruct values; [contradiction|simpl; lia]).
  assert (1 <= INR v) by (apply (le_INR 1); lia).
  split; [intros; left; apply one_of_positive; assumption|].
  destruct (in_split x values I) as [l [k E]]. rewrite E in D |- *.
  apply NoDup_remove_2 in D.
  assert (forall m, incl m (l ++ k) ->
    sum (one_of v e x) m = INR (length m) * (1 / (exp e + (INR v - 1)))) as S.
  { intros m M. rewrite <- sum_const. apply sum_ext_in. intros o K. unfold one_of.
    destruct (list_eq_dec _ o x) as [->|]; [apply M in K; contradiction|reflexivity]. }
  assert (INR v = INR (length l) + INR (length k) + 1) as count.
  { unfold v. rewrite E, app_length, plus_INR. simpl length. rewrite S_INR. ring. }
  rewrite sum_app. simpl. rewrite !S by auto with datatypes. unfold one_of.
  destruct (list_eq_dec _ x x); [|congruence]. rewrite count in *. field. lra.
Qed.
Lemma one_of_loses : forall v e x y, (0 < v)%nat -> 0 <= e ->
  (forall o, one_of v e x o <= exp e * one_of v e y o) /\
  (x <> y -> one_of v e x x = exp e * one_of v e y x).
Proof.
  intros v e x y some pos. pose proof (exp_at_least_1 e pos).
  assert (1 <= INR v) by (apply (le_INR 1); lia).
  assert (0 < / (exp e + (INR v - 1))) by (apply Rinv_0_lt_compat; lra). unfold one_of, Rdiv. split.
  - intros o. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
    destruct (list_eq_dec _ o x), (list_eq_dec _ o y); nra.
  - intros. destruct (list_eq_dec _ x x), (list_eq_dec _ x y); try congruence. ring.
Qed.

(* CLAIM BOOK-TRIPLE-ORDER (its privacy). The order of k random items, drawn by any law w that does
   not look at the ranking, by randomised response on its k! values, however these are listed: a
   law, epsilon-private, and with a loss of exactly epsilon where two rankings order the items
   differently; for every k and epsilon, and any number of items. *)
Definition some_order (k : nat) (e : R) (w : list nat -> R) (r : nat -> nat)
  (report : list nat * list nat) : R :=
  w (fst report) * one_of (fact k) e (order r (fst report)) (snd report).

Definition triple_order_says (c : R) : Prop := forall k epsilon (w : list nat -> R), 0 <= epsilon ->
  (forall items, 0 <= w items) ->
  (forall items values r, NoDup values -> length values = fact k -> In (order r items) values ->
    finite_law values (one_of (fact k) epsilon (order r items))) /\
  private any (c * epsilon) (some_order k epsilon w) /\
  forall r s items, 0 < w items -> order r items <> order s items ->
    loses (some_order k epsilon w r) (some_order k epsilon w s) (c * epsilon).
Theorem triple_order : triple_order_says 1.
Proof.
  intros k e w pos P. pose proof (lt_O_fact k) as some. rewrite Rmult_1_l.
  assert (private any e (some_order k e w)) as safe.
  { intros r s [items o] _. unfold some_order. simpl. specialize (P items).
    destruct (one_of_loses (fact k) e (order r items) (order s items) some pos) as [B _].
    specialize (B o). nra. }
  split; [intros items values r D <- I; apply one_of_law; assumption|]. split; [assumption|].
  intros r s items chance other. split; [intros; apply safe; exact I|].
  exists (items, order r items). unfold some_order. simpl.
  split; [apply Rmult_lt_0_compat; [assumption|apply one_of_positive; assumption]|].
  rewrite (proj2 (one_of_loses (fact k) e _ (order s items) some pos)) by assumption. ring.
Qed.

Theorem triple_order_control : forall c, c <> 1 -> ~ triple_order_says c.
Proof.
  intros c other H. set (w := fun _ : list nat => 1).
  assert (forall items, 0 <= w items) as P by (intros; unfold w; lra).
  assert (order (fun i => i) [0; 1] <> order (fun i => 1 - i) [0; 1])%nat as D by discriminate.
  destruct (H 2%nat 1 w ltac:(lra) P) as [_ [_ K]].
  destruct (triple_order 2%nat 1 w ltac:(lra) P) as [_ [_ L]].
  pose proof (loses_unique _ _ _ _ _ (K _ _ _ Rlt_0_1 D) (L _ _ _ Rlt_0_1 D)). lra.
Qed.

(* ------------------------------------------------------------------ pair or parity *)

(* The sign of a pair for a ranking; and what is asked: the sign of a pair a < b of items, or the
   parity of a triple a < b < c, which is the sum of its signs in a circle. *)
Definition sgn (b : bool) : R := if b then 1 else -1.
Definition sign (r : nat -> nat) (a b : nat) : R := sgn (before r (a, b)).
Inductive asked := Pair (p : nat * nat) | Triple (p : nat * nat) (c : nat).
Definition asked_sign (r : nat -> nat) (q : asked) : R :=
  match q with
  | Pair (a, b) => sign r a b
  | Triple (a, b) c => sign r a b + sign r b c - sign r a c
  end.
Definition asked_bit (r : nat -> nat) (q : asked) : bool :=
  match q with
  | Pair p => before r p
  | Triple (a, b) c =>
      if xorb (before r (a, b)) (before r (b, c)) then negb (before r (a, c)) else before r (a, b)
  end.

(* With probability [share] a random pair is asked, else a random triple. *)
Fixpoint triples (n : nat) : list asked :=
  match n with O => [] | S m => triples m ++ map (fun p => Triple p m) (pairs m) end.
Definition all_asked (n : nat) : list asked := map Pair (pairs n) ++ triples n.
Definition chance (n : nat) (share : R) (q : asked) : R :=
  match q with
  | Pair _ => share / INR (length (pairs n))
  | Triple _ _ => (1 - share) / INR (length (triples n))
  end.
Definition parity_report (n : nat) (share e : R) (r : nat -> nat) (report : asked * bool) : R :=
  chance n share (fst report) * answer e (asked_bit r (fst report)) (snd report).

Lemma in_triples : forall n q, In q (triples n) ->
  exists a b c, q = Triple (a, b) c /\ (a < b < c)%nat /\ (c < n)%nat.
Proof.
  induction n as [|n IH]; simpl; intros q H; [contradiction|]. apply in_app_or in H as [H|H].
  - destruct (IH q H) as [a [b [c [E L]]]]. exists a, b, c. split; [assumption|lia].
  - apply in_map_iff in H as [[a b] [<- H]]. apply in_pairs in H. exists a, b, n.
    split; [reflexivity|lia].
Qed.
Lemma parity : forall n r q, ranking n r -> In q (all_asked n) ->
  asked_sign r q = sgn (asked_bit r q).
Proof.
  intros n r q [_ one] K. apply in_app_or in K as [K|K].
  - apply in_map_iff in K as [[a b] [<- _]]. reflexivity.
  - apply in_triples in K as [a [b [c [-> [L M]]]]]. assert (r a <> r b /\ r b <> r c /\ r a <> r c)
      by (repeat split; intros E; apply one in E; lia). unfold asked_sign, asked_bit, sign, before.
    simpl. destruct (Nat.ltb_spec (r a) (r b)), (Nat.ltb_spec (r b) (r c)),
      (Nat.ltb_spec (r a) (r c)); simpl; unfold sgn; lra || lia.
Qed.

(* CLAIM BOOK-PAIR-OR-PARITY (its privacy and its bit). Each person of n >= 3 items sends one bit by
   randomised response: with any probability [share] > 0 (so the one of the book) the sign of a
   random pair, else the parity of a random triple.  This is a law; between a ranking and its
   reverse it loses exactly epsilon, and between no rankings more; and what is asked, the sign of a
   pair or the sum of three signs in a circle, is 1 or -1 for every ranking. *)
Definition pair_or_parity_says (c : R) : Prop := forall n share epsilon, (3 <= n)%nat ->
  0 < share <= 1 -> 0 <= epsilon -> let p := parity_report n share epsilon in
  (forall r, finite_law (list_prod (all_asked n) [true; false]) (p r)) /\
  private any (c * epsilon) p /\
  forall r, ranking n r -> loses (p r) (p (reverse n r)) (c * epsilon) /\
    forall q, In q (all_asked n) -> asked_sign r q = sgn (asked_bit r q).
Theorem pair_or_parity : pair_or_parity_says 1.
Proof.
  intros n share e large range pos. cbv zeta. rewrite Rmult_1_l.
  pose proof (pairs_length n) as size. assert (0 < INR (length (pairs n))) by (apply lt_0_INR; nia).
  assert (0 < INR (length (triples n))).
  { apply lt_0_INR. destruct n as [|m]; [lia|]. simpl. rewrite app_length, map_length.
    pose proof (pairs_length m). nia. }
  assert (forall q, 0 <= chance n share q) as nonneg.
  { intros []; simpl; apply Rmult_le_pos; try lra; left; apply Rinv_0_lt_compat; assumption. }
  assert (private any e (parity_report n share e)) as safe.
  { intros r s [q a] _. unfold parity_report. cbn [fst snd]. specialize (nonneg q).
    pose proof (answer_private e pos (asked_bit r q) (asked_bit s q) a I). nra. }
  split; [|split; [assumption|]]; intros r.
  - apply (product_law _ _ _ _ (chance n share) (fun q => answer e (asked_bit r q)));
      [split; [assumption|]|intros; apply answer_law]. unfold all_asked.
    rewrite sum_app, sum_map, (sum_ext_in _ (fun _ => (1 - share) / INR (length (triples n)))
      (triples n)) by (intros q K; apply in_triples in K as [a [b [c [-> _]]]]; reflexivity).
    simpl. rewrite !sum_const. field. lra.
  - intros R. split; [split; [intros; apply safe; exact I|]|intros; apply (parity n); assumption].
    destruct (pairs n) as [|[i j] l] eqn:E; [simpl in *; lia|].
    assert (i < j < n)%nat as K by (apply in_pairs; rewrite E; left; reflexivity).
    exists (Pair (i, j), before r (i, j)). unfold parity_report. simpl. rewrite E.
    rewrite (before_reverse n r i j R) by lia. split.
    + apply Rmult_lt_0_compat; [apply Rdiv_lt_0_compat; lra|apply answer_positive].
    + rewrite (answer_kept_exactly e (before r (i, j))) at 1. ring.
Qed.

Theorem pair_or_parity_control : forall c, c <> 1 -> ~ pair_or_parity_says c.
Proof.
  intros c other H. assert (ranking 3 (fun i => i)) as R by (split; auto).
  destruct (H 3%nat 1 1 ltac:(lia) ltac:(lra) ltac:(lra)) as [_ [_ K]].
  destruct (pair_or_parity 3%nat 1 1 ltac:(lia) ltac:(lra) ltac:(lra)) as [_ [_ L]].
  pose proof (loses_unique _ _ _ _ _ (proj1 (K _ R)) (proj1 (L _ R))). lra.
Qed.
