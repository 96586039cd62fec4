(* Theorems of this book: what privacy composes to and what it lets an observer believe, the exact
   loss of Laplace noise, and three reports of a ranking: one pair, pair or parity, an order.

   Not in it: how coins, noise and questions are drawn, and floating-point numbers. *)
Require Import Reals Lra Lia List Bool PeanoNat ZArith.
From Ranking Require Import Privacy XSC YLL.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ common: more sums *)

Lemma sum_list_prod : forall A B (f : A * B -> R) l k,
  sum f (list_prod l k) = sum (fun a => sum (fun b => f (a, b)) k) l.
Proof.
  intros A B f l k. induction l as [|a l IH]; simpl; [reflexivity|].
  rewrite sum_app, IH, sum_map. reflexivity.
Qed.

Lemma sum_scale_right : forall A (c : R) (f : A -> R) l, sum (fun a => f a * c) l = sum f l * c.
Proof. intros A c f l. induction l as [|a l IH]; simpl; lra. Qed.

(* A product of a law and, for each of its outcomes, another. *)
Lemma product_law : forall A B (l : list A) (k : list B) p (q : A -> B -> R),
  finite_law l p -> (forall a, finite_law k (q a)) ->
  finite_law (list_prod l k) (fun both => p (fst both) * q (fst both) (snd both)).
Proof.
  intros A B l k p q [pos total] law. split.
  - intros [a b]. apply Rmult_le_pos; [apply pos|apply law].
  - rewrite sum_list_prod, <- total. apply sum_ext. intros a. simpl. rewrite sum_scale.
    destruct (law a) as [_ ->]. ring.
Qed.

(* ------------------------------------------------------------------ the three rules *)

(* CLAIM BOOK-POST-PROCESSING. What is computed from the release of an epsilon-private mechanism,
   also at random, is a law and epsilon-private: for finitely many outcomes, and for events of any
   outcomes that a sum, series or integral weighs. *)
Definition post_processing_says (c : R) : Prop :=
  forall D O (near : D -> D -> Prop) epsilon (p : D -> O -> R),
  (forall x o, 0 <= p x o) -> private near epsilon p ->
  (forall Q outcomes (after : list Q) (kernel : O -> Q -> R),
    (forall x, finite_law outcomes (p x)) -> (forall o, finite_law after (kernel o)) ->
    let q x r := sum (fun o => p x o * kernel o r) outcomes in
    (forall x, finite_law after (q x)) /\ private near (c * epsilon) q) /\
  forall total event, weighing total -> (forall o, 0 <= event o) -> forall x y, near x y ->
    total (fun o => p x o * event o) <= exp (c * epsilon) * total (fun o => p y o * event o).

Theorem post_processing : post_processing_says 1.
Proof.
  intros D O near e p pos safe. rewrite Rmult_1_l. split.
  - intros Q outcomes after kernel law klaw q. split.
    + intros x. split.
      * intros r. apply sum_nonneg. intros o _. apply Rmult_le_pos; [apply pos|apply klaw].
      * unfold q. rewrite sum_swap. destruct (law x) as [_ <-]. apply sum_ext. intros o.
        rewrite sum_scale. destruct (klaw o) as [_ ->]. ring.
    + intros x y r close. unfold q. apply (private_events near e p (fun f => sum f outcomes));
        auto using finite_weighing. intros o. apply klaw.
  - intros total event W epos x y close. apply (private_events near e p total); assumption.
Qed.

Theorem post_processing_control : forall c, c < 1 -> ~ post_processing_says c.
Proof.
  intros c less H.
  destruct (H bool bool any 1 (answer 1) (fun a o => Rlt_le _ _ (answer_positive 1 a o))
    (answer_private 1 ltac:(lra))) as [_ K].
  specialize (K (fun f => sum f [true; false]) (fun o => if o then 1 else 0)
    (finite_weighing _ _)). specialize (K ltac:(intros []; lra) true false I). simpl in K.
  rewrite !Rmult_0_r, !Rmult_1_r, !Rplus_0_r, (answer_kept_exactly 1 true) in K.
  pose proof (answer_positive 1 false true) as P. apply Rmult_le_reg_r in K; [|exact P].
  pose proof (exp_increasing c 1 less). lra.
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
  split.
  - intros. rewrite Rmult_1_l. apply private_composition; assumption.
  - intros e1 e2 a p1 p2 twice. rewrite Rmult_1_l. split; [|split].
    + apply (product_law _ _ _ _ (answer e1 a) (fun _ => answer e2 a)); intros; apply answer_law.
    + intros [r s]. unfold twice. simpl. rewrite exp_plus.
      pose proof (answer_private e1 p1 a (negb a) r I).
      pose proof (answer_private e2 p2 a (negb a) s I).
      replace (exp e1 * exp e2 * (answer e1 (negb a) r * answer e2 (negb a) s))
        with (exp e1 * answer e1 (negb a) r * (exp e2 * answer e2 (negb a) s)) by ring.
      apply Rmult_le_compat; auto; left; apply answer_positive.
    + exists (a, a). unfold twice. simpl. split.
      * apply Rmult_lt_0_compat; apply answer_positive.
      * rewrite exp_plus, (answer_kept_exactly e1 a), (answer_kept_exactly e2 a). ring.
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
  forall epsilon k, 0 <= epsilon -> private one_flip epsilon (answers epsilon) /\
    exists x y, length x = k /\ apart one_flip k x y /\
      loses (answers epsilon x) (answers epsilon y) (c * (INR k * epsilon)).

Lemma apart_cons : forall k b u v, apart one_flip k u v -> apart one_flip k (b :: u) (b :: v).
Proof.
  intros k b u v H. induction H as [|k x y z [L N] H IH]; [constructor|].
  apply apart_more with (b :: y); [|assumption]. split; simpl; [congruence|].
  rewrite N. destruct b; reflexivity.
Qed.

(* Answers that are all turned are as many flips apart. *)
Lemma apart_opposite : forall x, apart one_flip (length x) x (map negb x).
Proof.
  induction x as [|a x IH]; [constructor|]. apply apart_more with (negb a :: x).
  - split; [reflexivity|]. simpl. rewrite differences_self. destruct a; reflexivity.
  - apply apart_cons. assumption.
Qed.

Lemma answers_one_flip : forall e, 0 <= e -> private one_flip e (answers e).
Proof.
  intros e pos x y o [L N]. replace e with (INR (differences x y) * e) at 2 by (rewrite N; simpl; ring).
  apply answers_private; assumption.
Qed.

Lemma answers_opposite : forall e x, 0 <= e ->
  loses (answers e x) (answers e (map negb x)) (INR (length x) * e).
Proof.
  intros e x pos. rewrite <- (differences_negb x).
  assert (length x = length (map negb x)) by (rewrite map_length; reflexivity).
  split; [intros; apply answers_private; assumption|]. exists x.
  split; [apply answers_positive; reflexivity|apply answers_attained; assumption].
Qed.

Theorem group : group_says 1.
Proof.
  split.
  - intros. rewrite Rmult_1_l. apply private_group. assumption.
  - intros e k pos. split; [apply answers_one_flip; assumption|].
    exists (repeat true k), (map negb (repeat true k)). rewrite Rmult_1_l.
    pose proof (apart_opposite (repeat true k)) as A.
    pose proof (answers_opposite e (repeat true k) pos) as B. rewrite repeat_length in *. auto.
Qed.

Theorem group_control : forall c, c <> 1 -> ~ group_says c.
Proof.
  assert (forall k c, c < k -> group_says k -> ~ group_says c) as worse.
  { intros k c less [_ H] [G _]. destruct (H 1 1%nat ltac:(lra)) as [safe [x [y [_ [steps L]]]]].
    specialize (G _ _ _ _ _ 1%nat safe).
    pose proof (private_loses _ _ _ _ _ _ _ _ G steps L). simpl in *. lra. }
  intros c other H. destruct (Rtotal_order c 1) as [less|[same|more]].
  - apply (worse 1 c less group H).
  - contradiction.
  - apply (worse c 1 more H group).
Qed.

(* ------------------------------------------------------------------ the exact loss of noise *)

(* CLAIM BOOK-LAPLACE-LOSS. A vector of n entries with independent Laplace or discrete Laplace noise
   of scale b: the loss between u and v is exactly their l1 distance over b, and the outcomes that
   lie, in every entry, on the far side of u from v (a whole orthant) all lose it.  The noise of one
   entry has a law: the chance to exceed any number, and not to exceed it, add up to 1. *)
Definition laplace_loss_says (c : R) : Prop := forall n b, 0 < b ->
  (forall u v, loses (laplace n b u) (laplace n b v) (c * (l1 n u v / b)) /\
    forall o, (forall i, (i < n)%nat -> 0 <= (o i - u i) * (u i - v i)) ->
      laplace n b u o = exp (c * (l1 n u v / b)) * laplace n b v o) /\
  (forall u v : nat -> Z, let whole (x : nat -> Z) i := IZR (x i) in
    loses (fun o => discrete_laplace n b (whole u) (whole o))
      (fun o => discrete_laplace n b (whole v) (whole o)) (c * (l1 n (whole u) (whole v) / b))) /\
  forall u a, exists above below, tail (density b u) a above /\
    tail (fun y => density b u (- y)) (- a) below /\ above + below = 1.

Lemma vector_noise_positive : forall unit n b u x, 0 < unit -> 0 < vector_noise unit n b u x.
Proof. intros. apply Rmult_lt_0_compat; [apply pow_lt; assumption|apply exp_pos]. Qed.

Theorem laplace_loss : laplace_loss_says 1.
Proof.
  intros n b pos. pose proof (laplace_unit_positive b pos) as lpos.
  pose proof (discrete_unit_positive b pos) as dpos. split; [|split].
  - intros u v. rewrite Rmult_1_l. split; [split|].
    + intros o. apply vector_noise_private; assumption.
    + exists u. split; [apply vector_noise_positive; assumption|].
      apply vector_noise_attained. assumption.
    + intros o far. unfold laplace, vector_noise, gauge_noise.
      rewrite (Rmult_comm (exp _)), Rmult_assoc. f_equal. rewrite <- exp_plus. f_equal.
      replace (l1 n o v) with (l1 n o u + l1 n u v); [field; lra|].
      unfold l1, range_sum. rewrite <- sum_plus. apply sum_ext_in. intros i I.
      apply in_seq in I. specialize (far i ltac:(lia)).
      unfold Rabs. repeat destruct (Rcase_abs _); nra.
  - intros u v whole. rewrite Rmult_1_l. split.
    + intros o. apply vector_noise_private; assumption.
    + exists u. split; [apply vector_noise_positive; assumption|].
      apply vector_noise_attained. assumption.
  - intros u a. exists (exceeds b (a - u)), (exceeds b (u - a)).
    split; [apply density_tail; assumption|]. split; [apply density_below; assumption|].
    replace (u - a) with (- (a - u)) by ring. apply exceeds_total.
Qed.

Theorem laplace_loss_control : forall c, c <> 1 -> ~ laplace_loss_says c.
Proof.
  intros c other H. destruct (H 1%nat 1 ltac:(lra)) as [K _].
  destruct (laplace_loss 1%nat 1 ltac:(lra)) as [L _].
  destruct (K (fun _ => 1) (fun _ => 0)) as [K' _]. destruct (L (fun _ => 1) (fun _ => 0)) as [L' _].
  pose proof (loses_unique _ _ _ _ _ K' L') as E. unfold l1, range_sum in E. simpl in E.
  rewrite Rminus_0_r, Rabs_R1 in E. lra.
Qed.

(* ------------------------------------------------------------------ what an observer believes *)

Lemma belief_most : forall p q l, 0 <= p -> 0 <= q -> 0 < p + q -> p <= exp l * q ->
  belief (1 / 2) p q <= exp l / (exp l + 1).
Proof.
  intros p q l P Q some bound. pose proof (exp_pos l). unfold belief.
  apply Rmult_le_reg_r with ((exp l + 1) * (p + q)); [nra|].
  replace (1 / 2 * p / (1 / 2 * p + (1 - 1 / 2) * q) * ((exp l + 1) * (p + q)))
    with (p * (exp l + 1)) by (field; lra).
  replace (exp l / (exp l + 1) * ((exp l + 1) * (p + q))) with (exp l * (p + q)) by (field; lra).
  nra.
Qed.

Lemma belief_attained : forall p q l, 0 < p -> p = exp l * q ->
  belief (1 / 2) p q = exp l / (exp l + 1).
Proof.
  intros p q l pos E. pose proof (exp_pos l). assert (0 < q) by (rewrite E in pos; nra).
  unfold belief. rewrite E. field. split; nra.
Qed.

(* How often a guess between two data sets is right, at even odds, and the most that it can be. *)
Definition right_guesses {O} (outcomes : list O) (p q guess : O -> R) : R :=
  1 / 2 * sum (fun o => p o * guess o + q o * (1 - guess o)) outcomes.
Definition best_guesses {O} (outcomes : list O) (p q : O -> R) : R :=
  1 / 2 * sum (fun o => Rmax (p o) (q o)) outcomes.
Definition variation {O} (outcomes : list O) (p q : O -> R) : R :=
  1 / 2 * sum (fun o => Rabs (p o - q o)) outcomes.

Lemma guesses_most : forall O (outcomes : list O) p q guess, (forall o, 0 <= guess o <= 1) ->
  right_guesses outcomes p q guess <= best_guesses outcomes p q.
Proof.
  intros O outcomes p q g range. apply Rmult_le_compat_l; [lra|]. apply sum_le. intros o.
  destruct (range o). unfold Rmax. destruct (Rle_dec (p o) (q o)); nra.
Qed.

Lemma guesses_attained : forall O (outcomes : list O) p q,
  right_guesses outcomes p q (fun o => if Rle_dec (p o) (q o) then 0 else 1)
  = best_guesses outcomes p q.
Proof.
  intros. unfold right_guesses, best_guesses. f_equal. apply sum_ext. intros o. unfold Rmax.
  destruct (Rle_dec (p o) (q o)); ring.
Qed.

Lemma guesses_variation : forall O (outcomes : list O) p q, sum p outcomes = 1 ->
  sum q outcomes = 1 -> best_guesses outcomes p q = 1 / 2 + 1 / 2 * variation outcomes p q.
Proof.
  intros O outcomes p q P Q. unfold best_guesses, variation.
  rewrite (sum_ext _ (fun o => 1 / 2 * (p o + q o + Rabs (p o - q o)))).
  - rewrite sum_scale, !sum_plus, P, Q. lra.
  - intros o. unfold Rmax, Rabs. destruct (Rle_dec _ _), (Rcase_abs _); lra.
Qed.

(* Sums over all whole numbers, those from a on and those below. *)
Definition two_sided (a : Z) (f : Z -> R) (s : R) : Prop := exists up down,
  infinite_sum (fun k => f (a + Z.of_nat k)%Z) up /\
  infinite_sum (fun k => f (a - 1 - Z.of_nat k)%Z) down /\ s = up + down.

Lemma infinite_sum_ext : forall f g s, (forall k, f k = g k) -> infinite_sum f s ->
  infinite_sum g s.
Proof.
  intros f g s same H e pos. destruct (H e pos) as [N K]. exists N. intros n large.
  rewrite <- (sum_eq f); auto.
Qed.

Lemma infinite_sum_scale : forall c f s, infinite_sum f s -> infinite_sum (fun k => c * f k) (c * s).
Proof.
  intros c f s H. pose proof (countable_linear nat (fun k => k) c 0 f f s s H H) as K.
  replace (c * s + 0 * s) with (c * s) in K by ring. revert K. apply infinite_sum_ext.
  intros; ring.
Qed.

(* One count with discrete Laplace noise. *)
Definition count (b : R) (centre x : Z) : R :=
  discrete_laplace 1 b (fun _ => IZR centre) (fun _ => IZR x).

Lemma count_weight : forall b c x,
  count b c x = discrete_unit b * exp (- IZR (Z.abs (x - c)) / b).
Proof.
  intros. unfold count, discrete_laplace, vector_noise, gauge_noise, l1, range_sum. simpl.
  rewrite Rmult_1_r, Rplus_0_r, <- minus_IZR, abs_IZR. reflexivity.
Qed.

Lemma inverse_small : forall t, 1 < t -> 0 < / t < 1.
Proof.
  intros t more. split; [apply Rinv_0_lt_compat; lra|].
  apply Rmult_lt_reg_r with t; [lra|]. rewrite Rinv_l; lra.
Qed.

(* The chance that the noise is d, d + 1, ...: a geometric series. *)
Lemma count_half : forall b d, 0 < b ->
  infinite_sum (fun k => discrete_unit b * exp (- INR (d + k) / b))
    (exp (- INR d / b) * (exp (1 / b) / (exp (1 / b) + 1))).
Proof.
  intros b d pos. assert (0 < 1 / b) as ipos by (apply Rdiv_lt_0_compat; lra).
  pose proof (exp_increasing 0 (1 / b) ipos) as more. rewrite exp_0 in more.
  pose proof (inverse_small _ more) as small.
  assert (Rabs (/ exp (1 / b)) < 1) as A by (rewrite Rabs_right; lra).
  pose proof (infinite_sum_scale (discrete_unit b * exp (- INR d / b)) _ _ (GP_infinite _ A)) as K.
  replace (exp (- INR d / b) * (exp (1 / b) / (exp (1 / b) + 1)))
    with (discrete_unit b * exp (- INR d / b) * / (1 - / exp (1 / b))).
  - revert K. apply infinite_sum_ext. intros k. rewrite Rmult_assoc. f_equal.
    rewrite plus_INR. replace (- (INR d + INR k) / b) with (- INR d / b + - (INR k * (1 / b)))
      by (field; lra). rewrite exp_plus. f_equal. rewrite Rmult_1_l.
    induction k as [|k IH]; [simpl; rewrite Rmult_0_l, Ropp_0, exp_0; reflexivity|].
    rewrite S_INR. replace (- ((INR k + 1) * (1 / b))) with (- (1 / b) + - (INR k * (1 / b))) by ring.
    rewrite exp_plus, <- IH, exp_Ropp. simpl. reflexivity.
  - unfold discrete_unit. field. lra.
Qed.

(* The weights of a count from a on, and below a. *)
Lemma count_up : forall b c a, 0 < b -> (c <= a)%Z ->
  infinite_sum (fun k => count b c (a + Z.of_nat k))
    (exp (- IZR (a - c) / b) * (exp (1 / b) / (exp (1 / b) + 1))).
Proof.
  intros b c a pos order. pose proof (count_half b (Z.to_nat (a - c)) pos) as K.
  rewrite INR_IZR_INZ, Z2Nat.id in K by lia. revert K. apply infinite_sum_ext. intros k.
  rewrite count_weight, INR_IZR_INZ. do 5 f_equal. lia.
Qed.

Lemma count_down : forall b c a, 0 < b -> (a <= c)%Z ->
  infinite_sum (fun k => count b c (a - Z.of_nat k))
    (exp (- IZR (c - a) / b) * (exp (1 / b) / (exp (1 / b) + 1))).
Proof.
  intros b c a pos order. pose proof (count_half b (Z.to_nat (c - a)) pos) as K.
  rewrite INR_IZR_INZ, Z2Nat.id in K by lia. revert K. apply infinite_sum_ext. intros k.
  rewrite count_weight, INR_IZR_INZ. do 5 f_equal. lia.
Qed.

(* The whole law of a count, cut next to its centre. *)
Lemma count_total : forall b c a, 0 < b -> c = a \/ c = (a + 1)%Z -> exists up down,
  infinite_sum (fun k => count b c (a + 1 + Z.of_nat k)) up /\
  infinite_sum (fun k => count b c (a - Z.of_nat k)) down /\ up + down = 1.
Proof.
  intros b c a pos near. do 2 eexists. split; [apply count_up; [assumption|lia]|].
  split; [apply count_down; [assumption|lia]|].
  assert (exp (- 0 / b) = 1) as zero by (unfold Rdiv; rewrite Ropp_0, Rmult_0_l; apply exp_0).
  assert (exp (- (1) / b) = / exp (1 / b)) as one by (rewrite <- exp_Ropp; f_equal; field; lra).
  pose proof (exp_pos (1 / b)). destruct near as [-> | ->].
  - replace (a + 1 - a)%Z with 1%Z by lia. rewrite Z.sub_diag, zero, one. field. lra.
  - replace (a + 1 - a)%Z with 1%Z by lia. rewrite Z.sub_diag, zero, one. field. lra.
Qed.

(* One answer turned: a win moves from the first count, a + 1, to the second, d. *)
Definition two_counts (b : R) (first second : Z) (x : Z * Z) : R :=
  count b first (fst x) * count b second (snd x).

Lemma count_step : forall b c x, 0 < b ->
  count b (c + 1) x = (if (c <? x)%Z then exp (1 / b) else / exp (1 / b)) * count b c x.
Proof.
  intros b c x pos. rewrite !count_weight. rewrite <- exp_Ropp.
  destruct (Z.ltb_spec c x) as [H|H]; rewrite (Rmult_comm (exp _)), Rmult_assoc, <- exp_plus;
    do 2 f_equal; [replace (Z.abs (x - c)) with (Z.abs (x - (c + 1)) + 1)%Z by lia
                  |replace (Z.abs (x - (c + 1))) with (Z.abs (x - c) + 1)%Z by lia];
    rewrite plus_IZR; field; lra.
Qed.

Lemma step_bounds : forall t w, 1 < t -> 0 < w -> 0 < / t * w /\ / t * w < t * w /\
  t * t * (/ t * w) = t * w /\ t * w <= t * t * (t * w).
Proof.
  intros t w more pos. pose proof (inverse_small t more). assert (1 < t * t) by nra.
  assert (0 < t * w) by nra. repeat split; try nra. field. lra.
Qed.

(* CLAIM BOOK-ODDS. One answer is turned, both values are as likely.  After any release of loss at
   most epsilon the belief in the likelier one is at most e^epsilon / (1 + e^epsilon); the best of
   all guesses is right with probability 1/2 + TV/2.  Randomised response attains the bound with
   every report, and the guess is right as often.  Two win counts with integer noise of scale
   2 / epsilon attain it as well, but the guess is right with e^(epsilon/2) / (1 + e^(epsilon/2)). *)
Definition odds_says (c : R) : Prop := forall epsilon, 0 < epsilon ->
  let most := exp (c * epsilon) / (exp (c * epsilon) + 1) in
  (forall D O (near : D -> D -> Prop) (p : D -> O -> R), (forall x o, 0 <= p x o) ->
    private near epsilon p -> forall x y o, near x y -> 0 < p x o + p y o ->
    belief (1 / 2) (p x o) (p y o) <= most) /\
  (forall O (outcomes : list O) p q, finite_law outcomes p -> finite_law outcomes q ->
    (forall guess, (forall o, 0 <= guess o <= 1) ->
      right_guesses outcomes p q guess <= 1 / 2 + 1 / 2 * variation outcomes p q) /\
    exists guess, (forall o, 0 <= guess o <= 1) /\
      right_guesses outcomes p q guess = 1 / 2 + 1 / 2 * variation outcomes p q) /\
  (forall r, belief (1 / 2) (answer epsilon r r) (answer epsilon (negb r) r) = most) /\
  best_guesses [true; false] (answer epsilon true) (answer epsilon false) = most /\
  forall a d : Z, let p := two_counts (2 / epsilon) (a + 1) d in
    let q := two_counts (2 / epsilon) a (d + 1) in
    (forall x, belief (1 / 2) (p x) (q x) <= most) /\
    belief (1 / 2) (p (a + 1, d)%Z) (q (a + 1, d)%Z) = most /\
    exists by_first, (forall i, two_sided (d + 1) (fun j => Rmax (p (i, j)) (q (i, j))) (by_first i))
      /\ two_sided (a + 1) (fun i => 1 / 2 * by_first i)
        (exp (epsilon / 2) / (exp (epsilon / 2) + 1)).

Theorem odds : odds_says 1.
Proof.
  intros e pos most. unfold most. rewrite Rmult_1_l. clear most.
  assert (0 < exp e) as Epos by apply exp_pos. split; [|split; [|split; [|split]]].
  - intros D O near p P safe x y o close some. apply belief_most; auto.
  - intros O outcomes p q [_ P] [_ Q]. rewrite <- (guesses_variation _ outcomes p q P Q). split.
    + intros. apply guesses_most. assumption.
    + exists (fun o => if Rle_dec (p o) (q o) then 0 else 1).
      split; [intros; destruct (Rle_dec _ _); lra|]. apply guesses_attained.
  - intros r. apply belief_attained; [apply answer_positive|apply answer_kept_exactly].
  - unfold best_guesses, answer. simpl. pose proof (exp_increasing 0 e pos). rewrite exp_0 in *.
    assert (1 / (exp e + 1) < exp e / (exp e + 1)).
    { apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat|]; lra. }
    rewrite Rmax_left, Rmax_right by lra. lra.
  - intros a d. set (p := two_counts (2 / e) (a + 1) d). set (q := two_counts (2 / e) a (d + 1)).
    assert (0 < 2 / e) as bpos by (apply Rdiv_lt_0_compat; lra).
    replace (e / 2) with (1 / (2 / e)) by (field; lra). set (b := 2 / e) in *.
    assert (exp e = exp (1 / b) * exp (1 / b)) as square.
    { rewrite <- exp_plus. f_equal. unfold b. field. lra. }
    set (t := exp (1 / b)) in *. assert (1 < t) as more.
    { pose proof (exp_increasing 0 (1 / b) ltac:(apply Rdiv_lt_0_compat; lra)) as M.
      rewrite exp_0 in M. exact M. }
    pose proof (inverse_small t more) as less.
    assert (forall c x, 0 < count b c x) as P.
    { intros. rewrite count_weight.
      apply Rmult_lt_0_compat; [apply discrete_unit_positive; assumption|apply exp_pos]. }
    assert (forall i j, p (i, j) = (if (a <? i)%Z then t else / t) * (count b a i * count b d j))
      as Pij by (intros; unfold p, two_counts; simpl; rewrite count_step by assumption; fold t; ring).
    assert (forall i j, q (i, j) = (if (d <? j)%Z then t else / t) * (count b a i * count b d j))
      as Qij by (intros; unfold q, two_counts; simpl; rewrite (count_step b d) by assumption;
                 fold t; ring).
    assert (forall i j, 0 < count b a i * count b d j) as both
      by (intros; apply Rmult_lt_0_compat; apply P).
    split; [|split].
    + intros [i j]. rewrite Pij, Qij. destruct (step_bounds t _ more (both i j)) as [? [? [? ?]]].
      apply belief_most; rewrite ?square; destruct (a <? i)%Z, (d <? j)%Z; lra.
    + apply belief_attained; rewrite ?Pij, ?Qij;
        replace (a <? a + 1)%Z with true by (symmetry; apply Z.ltb_lt; lia);
        replace (d <? d)%Z with false by (symmetry; apply Z.ltb_irrefl).
      * apply Rmult_lt_0_compat; [lra|apply both].
      * rewrite square. symmetry. apply step_bounds; [assumption|apply both].
    + exists (fun i => if (a <? i)%Z then count b (a + 1) i else count b a i). split.
      * intros i. set (u := if (a <? i)%Z then count b (a + 1) i else count b a i).
        set (z := if (a <? i)%Z then d else (d + 1)%Z).
        assert (forall j, Rmax (p (i, j)) (q (i, j)) = u * count b z j) as M.
        { intros j. rewrite Pij, Qij. specialize (both i j). unfold u, z. pose proof (P a i).
          pose proof (P d j). destruct (a <? i)%Z eqn:high.
          - rewrite (count_step b a i bpos), high. fold t.
            rewrite Rmax_left by (destruct (d <? j)%Z; nra). ring.
          - rewrite (count_step b d j bpos). fold t.
            rewrite Rmax_right by (destruct (d <? j)%Z; nra). ring. }
        destruct (count_total b z d bpos) as [up [down [U [V total]]]];
          [unfold z; destruct (a <? i)%Z; auto|].
        exists (u * up), (u * down). split; [|split].
        -- apply (infinite_sum_scale u) in U. revert U. apply infinite_sum_ext. intros. symmetry.
           apply M.
        -- apply (infinite_sum_scale u) in V. revert V. apply infinite_sum_ext. intros.
           symmetry. replace (d + 1 - 1 - Z.of_nat k)%Z with (d - Z.of_nat k)%Z by lia. apply M.
        -- rewrite <- Rmult_plus_distr_l, total. ring.
      * exists (1 / 2 * (t / (t + 1))), (1 / 2 * (t / (t + 1))). split; [|split; [|field; lra]].
        -- pose proof (count_up b (a + 1) (a + 1) bpos ltac:(lia)) as U.
           rewrite Z.sub_diag in U. unfold Rdiv at 1 in U. rewrite Ropp_0, Rmult_0_l, exp_0 in U.
           rewrite Rmult_1_l in U. apply (infinite_sum_scale (1 / 2)) in U. revert U.
           apply infinite_sum_ext. intros k.
           replace (a <? a + 1 + Z.of_nat k)%Z with true by (symmetry; apply Z.ltb_lt; lia).
           reflexivity.
        -- pose proof (count_down b a a bpos ltac:(lia)) as U.
           rewrite Z.sub_diag in U. unfold Rdiv at 1 in U. rewrite Ropp_0, Rmult_0_l, exp_0 in U.
           rewrite Rmult_1_l in U. apply (infinite_sum_scale (1 / 2)) in U. revert U.
           apply infinite_sum_ext. intros k.
           replace (a + 1 - 1 - Z.of_nat k)%Z with (a - Z.of_nat k)%Z by lia.
           replace (a <? a - Z.of_nat k)%Z with false by (symmetry; apply Z.ltb_ge; lia).
           reflexivity.
Qed.

Theorem odds_control : forall c, c <> 1 -> ~ odds_says c.
Proof.
  intros c other H. destruct (H 1 ltac:(lra)) as [_ [_ [K _]]].
  destruct (odds 1 ltac:(lra)) as [_ [_ [L _]]]. specialize (K true). specialize (L true).
  rewrite L in K. apply logistic_injective in K. lra.
Qed.

(* CLAIM BOOK-BUNDLE-ODDS. L answers of one person, each protected by epsilon: the belief in the
   likelier of two lists of answers that are L turned answers apart is at most
   e^(L epsilon) / (1 + e^(L epsilon)).  Randomised response attains it between opposite lists, and
   win counts with noise of scale 2 / epsilon, continuous or discrete, attain it for a person whose
   L answers are all about one item.  From the reports the best guess between opposite lists is right
   as often as a majority of L coins that each fall right with e^epsilon / (1 + e^epsilon), where a
   tie counts one half. *)
Definition one_against (L : nat) (wins : bool) (base : nat -> R) (i : nat) : R :=
  base i + (if Nat.eq_dec i 0 then (if wins then INR L else 0)
            else if le_dec i L then (if wins then 0 else 1) else 0).

Definition bundle_says (c : R) : Prop := forall L epsilon, 0 < epsilon ->
  let most := exp (c * (INR L * epsilon)) / (exp (c * (INR L * epsilon)) + 1) in
  (forall D O (near : D -> D -> Prop) (p : D -> O -> R), (forall x o, 0 <= p x o) ->
    private near epsilon p -> forall x y o, apart near L x y -> 0 < p x o + p y o ->
    belief (1 / 2) (p x o) (p y o) <= most) /\
  (forall x, length x = L -> apart one_flip L x (map negb x) /\
    belief (1 / 2) (answers epsilon x x) (answers epsilon (map negb x) x) = most /\
    best_guesses (all_answers L) (answers epsilon x) (answers epsilon (map negb x)) =
    let right := exp epsilon / (exp epsilon + 1) in
    range_sum (S L) (fun wrong => INR (choose L wrong) * (right ^ (L - wrong)
      * (1 - right) ^ wrong * match Nat.compare (wrong + wrong) L with
                              | Lt => 1 | Eq => 1 / 2 | Gt => 0 end))) /\
  forall n unit base, (L < n)%nat -> 0 < unit ->
    let noise wins := vector_noise unit n (2 / epsilon) (one_against L wins base) in
    (forall o, belief (1 / 2) (noise true o) (noise false o) <= most) /\
    belief (1 / 2) (noise true (one_against L true base))
      (noise false (one_against L true base)) = most.

Lemma one_against_distance : forall n L base, (L < n)%nat ->
  l1 n (one_against L true base) (one_against L false base) = 2 * INR L.
Proof.
  intros n L base less. unfold l1, range_sum. replace n with (1 + (L + (n - L - 1)))%nat by lia.
  rewrite seq_app, sum_app, seq_app, sum_app.
  rewrite (sum_ext_in _ (fun _ => 1) (seq (0 + 1) L)).
  2:{ intros i H. apply in_seq in H. unfold one_against. destruct (Nat.eq_dec i 0); [lia|].
      destruct (le_dec i L); [|lia]. replace (base i + 0 - (base i + 1)) with (- (1)) by ring.
      rewrite Rabs_Ropp. apply Rabs_R1. }
  rewrite (sum_ext_in _ (fun _ => 0) (seq (0 + 1 + L) _)).
  2:{ intros i H. apply in_seq in H. unfold one_against. destruct (Nat.eq_dec i 0); [lia|].
      destruct (le_dec i L); [lia|]. rewrite Rminus_eq_0. apply Rabs_R0. }
  rewrite sum_zero, sum_const, seq_length. simpl sum. unfold one_against. simpl.
  replace (base 0%nat + INR L - (base 0%nat + 0)) with (INR L) by ring.
  rewrite Rabs_right by (apply Rle_ge, pos_INR). ring.
Qed.

Theorem bundle : bundle_says 1.
Proof.
  intros L e pos most. unfold most. rewrite Rmult_1_l. clear most. split; [|split].
  - intros D O near p P safe x y o steps some. apply belief_most; auto.
    apply (private_group near e p L safe x y o steps).
  - intros x size. split; [rewrite <- size; apply apart_opposite|]. split.
    + rewrite <- size. apply belief_attained; [apply answers_positive; reflexivity|].
      rewrite <- (differences_negb x). apply answers_attained. rewrite map_length. reflexivity.
    + cbv zeta. pose proof (exp_increasing 0 e pos) as more. rewrite exp_0 in more.
      set (right := exp e / (exp e + 1)).
      assert (answer e true false = 1 - right) as flip
        by (unfold right, answer; simpl; field; lra).
      assert (0 < 1 - right /\ 1 - right < right) as [low high].
      { rewrite <- flip. split; [apply answer_positive|]. unfold right, answer. simpl.
        apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat|]; lra. }
      set (vote k := match Nat.compare (k + k) L with Lt => 1 | Eq => 1 / 2 | Gt => 0 end).
      assert (forall k, (k <= L)%nat -> vote k + vote (L - k)%nat = 1) as votes.
      { intros k most. unfold vote.
        destruct (Nat.compare_spec (k + k) L), (Nat.compare_spec (L - k + (L - k)) L); lra || lia. }
      assert (forall k m, (k <= m)%nat -> (1 - right) ^ m * right ^ k <= right ^ m * (1 - right) ^ k)
        as swap.
      { intros k m order. replace m with (k + (m - k))%nat by lia. rewrite !pow_add.
        assert ((1 - right) ^ (m - k) <= right ^ (m - k)) by (apply pow_incr; lra).
        pose proof (pow_lt right k ltac:(lra)). pose proof (pow_lt (1 - right) k low).
        assert (0 < right ^ k * (1 - right) ^ k) by (apply Rmult_lt_0_compat; assumption). nra. }
      assert (forall y, length y = L ->
        sum (fun r => answers e y r * vote (differences y r)) (all_answers L)
        = range_sum (S L) (fun k => INR (choose L k) * (right ^ (L - k) * (1 - right) ^ k * vote k)))
        as by_differences.
      { intros y ysize. rewrite <- ysize. rewrite <- (sum_by_differences y
          (fun k => right ^ (length y - k) * (1 - right) ^ k * vote k)).
        apply sum_ext_in. intros r H. apply all_answers_length in H.
        rewrite (answers_by_differences e y r H), flip. reflexivity. }
      assert (length (map negb x) = L) as osize by (rewrite map_length; assumption).
      transitivity (1 / 2 * (sum (fun r => answers e x r * vote (differences x r)) (all_answers L)
        + sum (fun r => answers e (map negb x) r * vote (differences (map negb x) r))
            (all_answers L))).
      * unfold best_guesses. f_equal. rewrite <- sum_plus. apply sum_ext_in. intros r H.
        apply all_answers_length in H. rewrite <- size in H.
        rewrite (answers_by_differences e x r H),
          (answers_by_differences e (map negb x) r) by (rewrite map_length; assumption).
        rewrite map_length, (differences_opposite x r H), flip. change (answer e true true) with right.
        pose proof (differences_most x r) as D. rewrite size in *. set (k := differences x r) in *.
        replace (L - (L - k))%nat with k by lia. specialize (votes k D).
        unfold vote in *. destruct (Nat.compare_spec (k + k) L) as [E|E|E].
        -- replace (L - k)%nat with k by lia. rewrite E, Nat.compare_refl, Rmax_left; lra.
        -- rewrite Rmax_left; [|pose proof (swap k (L - k)%nat ltac:(lia)); lra].
           destruct (Nat.compare (L - k + (L - k)) L); lra.
        -- rewrite Rmax_right; [|pose proof (swap (L - k)%nat k ltac:(lia)); lra].
           destruct (Nat.compare (L - k + (L - k)) L); lra.
      * rewrite (by_differences x size), (by_differences (map negb x) osize). unfold vote. lra.
  - intros n unit base less upos.
    set (noise wins := vector_noise unit n (2 / e) (one_against L wins base)).
    assert (0 < 2 / e) as bpos by (apply Rdiv_lt_0_compat; lra).
    assert (l1 n (one_against L true base) (one_against L false base) / (2 / e) = INR L * e)
      as distance by (rewrite one_against_distance by assumption; field; lra).
    assert (forall w o, 0 < noise w o) as P
      by (intros; apply vector_noise_positive; assumption).
    rewrite <- distance. split.
    + intros o. pose proof (P true o). pose proof (P false o). unfold noise in *.
      apply belief_most; try lra.
      apply vector_noise_private; assumption.
    + apply belief_attained; [apply P|]. apply vector_noise_attained. assumption.
Qed.

Theorem bundle_control : forall c, c <> 1 -> ~ bundle_says c.
Proof.
  intros c other H. destruct (H 1%nat 1 ltac:(lra)) as [_ [K _]].
  destruct (bundle 1%nat 1 ltac:(lra)) as [_ [L _]].
  destruct (K [true] eq_refl) as [_ [K' _]]. destruct (L [true] eq_refl) as [_ [L' _]].
  rewrite K' in L'. apply logistic_injective in L'. simpl in L'. lra.
Qed.

(* ------------------------------------------------------------------ means, and surveys of m people *)

Definition mean {O} (outcomes : list O) (f p : O -> R) : R := sum (fun o => p o * f o) outcomes.

Fixpoint joint {O} (ps : list (O -> R)) (os : list O) : R :=
  match ps, os with
  | [], [] => 1
  | p :: ps', o :: os' => p o * joint ps' os'
  | _, _ => 0
  end.

Fixpoint tuples {O} (outcomes : list O) (m : nat) : list (list O) :=
  match m with
  | O => [[]]
  | S k => flat_map (fun os => map (fun o => o :: os) outcomes) (tuples outcomes k)
  end.

Section Survey.
Context {O : Type} (outcomes : list O).

Lemma joint_sum : forall p ps F,
  mean (tuples outcomes (S (length ps))) F (joint (p :: ps))
  = mean (tuples outcomes (length ps))
      (fun os => mean outcomes (fun o => F (o :: os)) p) (joint ps).
Proof.
  intros p ps F. unfold mean. simpl tuples. rewrite sum_flat_map. apply sum_ext. intros os.
  rewrite sum_map, <- sum_scale. apply sum_ext. intros o. simpl. ring.
Qed.

Lemma mean_constant : forall c p, finite_law outcomes p -> mean outcomes (fun _ => c) p = c.
Proof. intros c p [_ total]. unfold mean. rewrite sum_scale_right, total. ring. Qed.

Lemma mean_plus : forall A (l : list A) f g (p : A -> R),
  mean l (fun o => f o + g o) p = mean l f p + mean l g p.
Proof. intros. unfold mean. rewrite <- sum_plus. apply sum_ext. intros; ring. Qed.

Lemma mean_scale : forall A (l : list A) c f (p : A -> R),
  mean l (fun o => c * f o) p = c * mean l f p.
Proof. intros. unfold mean. rewrite <- sum_scale. apply sum_ext. intros; ring. Qed.

(* The people answer independently: variances add up. *)
Lemma joint_law : forall ps, Forall (finite_law outcomes) ps ->
  mean (tuples outcomes (length ps)) (fun _ => 1) (joint ps) = 1.
Proof.
  intros ps laws. induction laws as [|p ps law laws IH]; [unfold mean; simpl; lra|].
  simpl length. rewrite joint_sum. transitivity (mean (tuples outcomes (length ps)) (fun _ => 1)
    (joint ps)); [|exact IH].
  apply sum_ext. intros os. rewrite mean_constant by assumption. reflexivity.
Qed.

Lemma joint_variance : forall f ps, Forall (finite_law outcomes) ps ->
  let centre := sum (mean outcomes f) ps in
  mean (tuples outcomes (length ps)) (fun os => sum f os - centre) (joint ps) = 0 /\
  mean (tuples outcomes (length ps)) (fun os => (sum f os - centre) * (sum f os - centre)) (joint ps)
  = sum (fun p => mean outcomes (fun o => f o * f o) p - mean outcomes f p * mean outcomes f p) ps.
Proof.
  intros f ps laws. induction laws as [|p ps law laws [IH1 IH2]]; [unfold mean; simpl; lra|].
  cbv zeta in *. simpl length. rewrite !joint_sum. pose proof (joint_law ps laws) as one.
  set (T := tuples outcomes (length ps)) in *. set (c := sum (mean outcomes f) ps) in *.
  set (mu := mean outcomes f p). simpl sum. fold c. fold mu. split.
  - rewrite <- IH1. apply sum_ext. intros os. f_equal.
    replace (sum f os - c) with (mu + (sum f os - (mu + c))) by ring. unfold mu at 2.
    rewrite <- (mean_constant (sum f os - (mu + c)) p law), <- mean_plus. apply sum_ext.
    intros; simpl; ring.
  - rewrite <- IH2. set (v := mean outcomes (fun o => f o * f o) p).
    transitivity (mean T (fun os => (v - mu * mu) * 1
      + (sum f os - c) * (sum f os - c)) (joint ps)).
    + apply sum_ext. intros os. f_equal. set (s := sum f os - c).
      transitivity (mean outcomes (fun o => (f o * f o + (2 * (s - mu)) * f o)
        + (s - mu) * (s - mu)) p).
      * apply sum_ext. intros o. simpl. unfold s. ring.
      * rewrite mean_plus, mean_plus, mean_scale, mean_constant by assumption. fold v. fold mu.
        ring.
    + rewrite mean_plus, mean_scale, one. ring.
Qed.

(* The share of m people who say yes, estimated from a report of each of them: the signs v are
   estimated without bias and with the mean square M. *)
Lemma survey : forall f M ps, Forall (finite_law outcomes) ps -> ps <> [] ->
  Forall (fun p => mean outcomes f p * mean outcomes f p = 1) ps ->
  Forall (fun p => mean outcomes (fun o => f o * f o) p = M) ps ->
  let m := INR (length ps) in
  let share := sum (fun p => (mean outcomes f p + 1) / 2) ps / m in
  let estimate os := sum (fun o => (f o + 1) / 2) os / m in
  mean (tuples outcomes (length ps)) (fun os => estimate os - share) (joint ps) = 0 /\
  mean (tuples outcomes (length ps)) (fun os => (estimate os - share) * (estimate os - share))
    (joint ps) = (M - 1) / (4 * m).
Proof.
  intros f M ps laws some signs squares m share estimate.
  assert (0 < m) as pos by (apply lt_0_INR; destruct ps; [congruence|simpl; lia]).
  set (g o := / (2 * m) * (f o + 1)).
  assert (forall p, In p ps -> mean outcomes g p = / (2 * m) * (mean outcomes f p + 1)) as means.
  { intros p I. rewrite Forall_forall in laws. unfold g. rewrite mean_scale, mean_plus.
    rewrite (mean_constant 1) by auto. reflexivity. }
  assert (share = sum (mean outcomes g) ps) as ->.
  { unfold share, Rdiv. rewrite <- sum_scale_right. apply sum_ext_in. intros p I.
    rewrite means by assumption. field. lra. }
  assert (forall os, estimate os = sum g os) as same.
  { intros os. unfold estimate, Rdiv. rewrite <- sum_scale_right. apply sum_ext. intros o.
    unfold g. field. lra. }
  destruct (joint_variance g ps laws) as [unbiased variance]. cbv zeta in *. split.
  - eapply eq_trans; [|exact unbiased]. apply sum_ext. intros os. rewrite same. reflexivity.
  - transitivity (sum (fun _ : O -> R => (M - 1) / (4 * m * m)) ps).
    + transitivity (sum (fun p => mean outcomes (fun o => g o * g o) p
        - mean outcomes g p * mean outcomes g p) ps).
      * rewrite <- variance. apply sum_ext. intros os. rewrite same. reflexivity.
      * apply sum_ext_in.
        intros p I. rewrite means by assumption. rewrite Forall_forall in laws, signs, squares.
        specialize (signs p I). specialize (squares p I).
        replace (mean outcomes (fun o => g o * g o) p) with (/ (2 * m) * / (2 * m)
          * (mean outcomes (fun o => f o * f o) p + 2 * mean outcomes f p + 1)).
        -- rewrite squares. set (u := mean outcomes f p) in *.
           replace ((M - 1) / (4 * m * m)) with ((M - u * u) / (4 * m * m)) by (rewrite signs; reflexivity).
           field. lra.
        -- rewrite <- mean_scale, <- (mean_constant 1 p) at 1 by auto.
           rewrite <- mean_plus, <- mean_plus, <- mean_scale. apply sum_ext. intros o. unfold g. ring.
    + rewrite sum_const. fold m. field. lra.
Qed.

End Survey.

(* ------------------------------------------------------------------ one bit about one question *)

Definition sgn (b : bool) : R := if b then 1 else -1.
Definition coth_half (e : R) : R := (exp e + 1) / (exp e - 1).

Section OneBit.
Context {Q : Type} (questions : list Q) (chance : Q -> R) (bit : Q -> bool) (gain : Q -> R).
Variable e : R.
Hypothesis e_pos : 0 < e.

(* The report: a question, drawn without a look at the data, and the answer to it; and the estimate
   that is made of it, sign times gain. *)
Definition one_bit (report : Q * bool) : R := chance (fst report)
  * answer e (bit (fst report)) (snd report).
Definition estimate (report : Q * bool) : R := coth_half e * sgn (snd report) * gain (fst report).

Definition reports : list (Q * bool) := list_prod questions [true; false].

Lemma one_bit_law : finite_law questions chance -> finite_law reports one_bit.
Proof.
  intros law. apply (product_law _ _ questions [true; false] chance (fun q => answer e (bit q)));
    [assumption|intros; apply answer_law].
Qed.

Lemma answer_mean : forall a c, coth_half e * (answer e a true * c - answer e a false * c)
  = sgn a * c.
Proof.
  intros a c. pose proof (exp_increasing 0 e e_pos) as more. rewrite exp_0 in more.
  unfold coth_half, answer. destruct a; simpl; field; lra.
Qed.

Lemma estimate_mean :
  mean reports estimate one_bit = sum (fun q => chance q * (sgn (bit q) * gain q)) questions.
Proof.
  unfold mean, reports. rewrite sum_list_prod. apply sum_ext. intros q.
  rewrite <- answer_mean. unfold one_bit, estimate. simpl. ring.
Qed.

Lemma estimate_square : mean reports (fun o => estimate o * estimate o) one_bit
  = coth_half e * coth_half e * sum (fun q => chance q * (gain q * gain q)) questions.
Proof.
  unfold mean, reports. rewrite sum_list_prod, <- sum_scale. apply sum_ext. intros q.
  transitivity (coth_half e * coth_half e * (chance q * (gain q * gain q))
    * (answer e (bit q) true + answer e (bit q) false)).
  - unfold one_bit, estimate. simpl. ring.
  - rewrite answer_total. ring.
Qed.

End OneBit.

Lemma one_bit_private : forall D Q (chance : Q -> R) (bit : D -> Q -> bool) e, 0 <= e ->
  (forall q, 0 <= chance q) -> private any e (fun d => one_bit chance (bit d) e).
Proof.
  intros D Q chance bit e pos P x y [q a] _. unfold one_bit. simpl.
  pose proof (answer_private e pos (bit x q) (bit y q) a I). specialize (P q). nra.
Qed.

Lemma one_bit_loses : forall D Q (chance : Q -> R) (bit : D -> Q -> bool) e x y q, 0 <= e ->
  (forall q, 0 <= chance q) -> 0 < chance q -> bit x q <> bit y q ->
  loses (one_bit chance (bit x) e) (one_bit chance (bit y) e) e.
Proof.
  intros D Q chance bit e x y q pos P some other.
  split; [intros; apply one_bit_private; auto; exact I|]. exists (q, bit x q). unfold one_bit. simpl.
  split; [apply Rmult_lt_0_compat; [assumption|apply answer_positive]|].
  rewrite (answer_kept_exactly e (bit x q)).
  replace (bit y q) with (negb (bit x q)) by (destruct (bit x q), (bit y q); simpl; congruence). ring.
Qed.

(* ------------------------------------------------------------------ one random pair *)

Lemma sum_at : forall A (eq : forall a b : A, {a = b} + {a <> b}) (f : A -> R) l a, NoDup l ->
  In a l -> sum (fun b => if eq b a then f b else 0) l = f a.
Proof.
  intros A eq f l a distinct. induction distinct as [|b l out distinct IH]; intros I; [contradiction|].
  simpl. destruct (eq b a) as [->|other].
  - rewrite (sum_ext_in _ (fun _ => 0)); [rewrite sum_zero; ring|]. intros c C.
    destruct (eq c a) as [->|]; [contradiction|reflexivity].
  - destruct I as [E|I]; [contradiction|]. rewrite IH by assumption. ring.
Qed.

Lemma NoDup_app_disjoint : forall A (l k : list A), NoDup l -> NoDup k ->
  (forall a, In a l -> ~ In a k) -> NoDup (l ++ k).
Proof.
  intros A l k L K apart. induction L as [|a l out L IH]; [assumption|]. simpl. constructor.
  - intros I. apply in_app_or in I as [I|I]; [contradiction|]. apply (apart a); simpl; auto.
  - apply IH. intros b B. apply apart. simpl. auto.
Qed.

Lemma NoDup_map : forall A B (f : A -> B) l, (forall a b, f a = f b -> a = b) -> NoDup l ->
  NoDup (map f l).
Proof.
  intros A B f l one L. induction L as [|a l out L IH]; simpl; constructor; auto.
  intros I. apply in_map_iff in I as [b [E I]]. apply one in E. subst. contradiction.
Qed.

Lemma pairs_NoDup : forall n, NoDup (pairs n).
Proof.
  induction n as [|n IH]; [constructor|]. apply NoDup_app_disjoint; [assumption| |].
  - apply NoDup_map; [intros a b E; congruence|apply seq_NoDup].
  - intros [i j] I J. apply in_pairs in I. apply in_map_iff in J as [k [E _]].
    injection E as _ E. lia.
Qed.

Lemma pair_dec : forall a b : nat * nat, {a = b} + {a <> b}.
Proof. decide equality; apply Nat.eq_dec. Qed.

(* CLAIM BOOK-ONE-PAIR. Each of m people sends the sign of one random pair of N = n (n - 1) / 2, by
   randomised response at epsilon.  That is epsilon-private; the share of people who place i before
   j is estimated without bias and with variance (N coth(epsilon/2)^2 - 1) / (4 m). *)
Definition pair_report (n : nat) (e : R) (r : nat -> nat) : (nat * nat) * bool -> R :=
  one_bit (fun _ => / INR (length (pairs n))) (before r) e.

Definition one_pair_says (c : R) : Prop := forall n epsilon, (2 <= n)%nat -> 0 < epsilon ->
  let N := INR (length (pairs n)) in
  (forall r, finite_law (reports (pairs n)) (pair_report n epsilon r)) /\
  private any epsilon (pair_report n epsilon) /\
  forall p rs, In p (pairs n) -> rs <> [] ->
    let m := INR (length rs) in
    let share := sum (fun r => if before r p then 1 else 0) rs / m in
    let guess := estimate (fun q => if pair_dec q p then N else 0) epsilon in
    let shares os := sum (fun o => (guess o + 1) / 2) os / m in
    let over F := mean (tuples (reports (pairs n)) (length rs)) F
      (joint (map (pair_report n epsilon) rs)) in
    over (fun os => shares os - share) = 0 /\
    over (fun os => (shares os - share) * (shares os - share))
      = (c * N * (coth_half epsilon * coth_half epsilon) - 1) / (4 * m).

Theorem one_pair : one_pair_says 1.
Proof.
  intros n e two pos N. assert (0 < N) as Npos.
  { apply lt_0_INR. pose proof (pairs_length n) as L. destruct (length (pairs n)); [|lia].
    destruct n as [|[|n]]; simpl in L; lia. }
  assert (finite_law (pairs n) (fun _ => / N)) as law.
  { split; [intros; left; apply Rinv_0_lt_compat; assumption|]. rewrite sum_const. fold N.
    apply Rinv_r. lra. }
  assert (forall r, finite_law (reports (pairs n)) (pair_report n e r)) as laws
    by (intros; apply one_bit_law; assumption).
  split; [assumption|]. split.
  { apply one_bit_private; [lra|]. intros; left. apply Rinv_0_lt_compat. assumption. }
  intros p rs I some m share guess shares over.
  assert (forall r, mean (reports (pairs n)) guess (pair_report n e r) = sgn (before r p)) as means.
  { intros r. unfold guess, pair_report. rewrite estimate_mean by assumption. fold N.
    rewrite <- (sum_at _ pair_dec (fun q => sgn (before r q)) (pairs n) p (pairs_NoDup n) I).
    apply sum_ext. intros q. destruct (pair_dec q p); field; lra. }
  pose proof (survey (reports (pairs n)) guess (N * (coth_half e * coth_half e))
    (map (pair_report n e) rs)) as S. rewrite map_length in S.
  destruct S as [unbiased variance].
  - apply Forall_forall. intros q J. apply in_map_iff in J as [r [<- _]]. apply laws.
  - destruct rs; [congruence|discriminate].
  - apply Forall_forall. intros q J. apply in_map_iff in J as [r [<- _]]. rewrite means.
    destruct (before r p); simpl; lra.
  - apply Forall_forall. intros q J. apply in_map_iff in J as [r [<- _]]. unfold guess, pair_report.
    rewrite estimate_square. fold N. rewrite (Rmult_comm N). f_equal.
    transitivity (sum (fun q => if pair_dec q p then N else 0) (pairs n)).
    + apply sum_ext. intros q. destruct (pair_dec q p); field; lra.
    + apply (sum_at _ pair_dec (fun _ => N)); [apply pairs_NoDup|assumption].
  - rewrite sum_map in *. fold m in unbiased, variance.
    assert (sum (fun r => (mean (reports (pairs n)) guess (pair_report n e r) + 1) / 2) rs / m = share)
      as E.
    { unfold share. f_equal. apply sum_ext. intros r. rewrite means.
      destruct (before r p); simpl; lra. }
    rewrite E in *. split; [exact unbiased|]. rewrite Rmult_1_l. exact variance.
Qed.

Lemma coth_half_more : forall e, 0 < e -> 1 < coth_half e.
Proof.
  intros e pos. pose proof (exp_increasing 0 e pos) as more. rewrite exp_0 in more. unfold coth_half.
  apply Rmult_lt_reg_r with (exp e - 1); [lra|]. field_simplify; lra.
Qed.

Theorem one_pair_control : forall c, c <> 1 -> ~ one_pair_says c.
Proof.
  intros c other H. destruct (H 2%nat 1 ltac:(lia) ltac:(lra)) as [_ [_ K]].
  destruct (one_pair 2%nat 1 ltac:(lia) ltac:(lra)) as [_ [_ L]].
  destruct (K (0, 1)%nat [fun i => i] ltac:(simpl; auto) ltac:(discriminate)) as [_ K'].
  destruct (L (0, 1)%nat [fun i => i] ltac:(simpl; auto) ltac:(discriminate)) as [_ L'].
  rewrite K' in L'. simpl length in L'. simpl INR in L'.
  pose proof (coth_half_more 1 ltac:(lra)). apply other.
  apply Rmult_eq_reg_r with (coth_half 1 * coth_half 1); nra.
Qed.
