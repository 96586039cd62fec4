(* Sorting noisy mean ranks (Borda's method), against the best Kemeny score.

   Proved, for every n, every table of shares and every noise: the score of the sorted ranking
   is at most 5 times the best one plus twice the sum of the noise (the ratio 5 is due to
   Coppersmith, Fleischer and Rudra 2006); the number 2 cannot be smaller.  One replaced ranking
   moves the mean ranks by at most floor(n^2 / 2) / m in l1; with Laplace noise of that over
   epsilon, sorting is epsilon-private and its mean score at most 5 times the best one plus n^3
   / (epsilon m).

   The proof needs no footrule: if s sorts numbers x, each pair that s reverses against a
   ranking p is paid for by the distance of x from p at one of its items.

   Not in it: that no ratio below 5 will do, missing answers, Gaussian noise, randomised
   answers, other relations than one replaced ranking, how the noise is drawn, and that the mean
   of |noise| is its scale. *)
Require Import Reals Lra Lia List Bool Permutation.
From Ranking Require Import Privacy Selection AGKM.
Import ListNotations.
Open Scope R_scope.

(* The mean rank of an item: what the others win against it. *)
Definition mean_rank (n : nat) (w : table) (i : nat) : R :=
  range_sum n (fun j => if Nat.eqb j i then 0 else w j i).

(* s puts the items in an order of x, equal ones in any order. *)
Definition sorts (n : nat) (x : nat -> R) (s : places) : Prop := ranking n s /\
  forall i j, (i < n)%nat -> (j < n)%nat -> (s i < s j)%nat -> x i <= x j.

Lemma sum_bits : forall A (f : A -> bool) l, sum (fun a => bit (f a)) l = INR (length (filter f l)).
Proof.
  intros A f l. induction l as [|a l IH]; [reflexivity|]. simpl. destruct (f a); simpl bit; [|lra].
  change (length (a :: filter f l)) with (S (length (filter f l))). rewrite S_INR. lra.
Qed.

Lemma places_once : forall n p l, ranking n p -> NoDup l -> (forall i, In i l -> (i < n)%nat) ->
  NoDup (map p l).
Proof.
  intros n p l [_ once] N. induction N as [|a l A N IH]; intros H; simpl; constructor.
  - intros I. apply in_map_iff in I. destruct I as [b [E B]]. apply A.
    rewrite <- (once b a); auto; apply H; [right; assumption|left; reflexivity].
  - apply IH. intros i I. apply H. right. assumption.
Qed.

(* So many items have their place within so many places from c on. *)
Lemma places_count : forall n p (f : nat -> bool) c k, ranking n p ->
  (forall i, (i < n)%nat -> f i = true -> (c <= p i < c + k)%nat) ->
  (length (filter f (seq 0 n)) <= k)%nat.
Proof.
  intros n p f c k rank H. rewrite <- (seq_length k c), <- (map_length p). assert (forall i, In i
    (filter f (seq 0 n)) -> (i < n)%nat /\ f i = true) as F by (intros i I; apply filter_In in I;
    destruct I as [I J]; apply in_seq in I; split; auto; lia). apply NoDup_incl_length.
  - apply (places_once n); [assumption|apply NoDup_filter, seq_NoDup|intros; apply F; assumption].
  - intros q Q. apply in_map_iff in Q. destruct Q as [i [<- I]]. destruct (F i I) as [I1 I2].
    apply in_seq. apply H; assumption.
Qed.

(* Items whose place is up to y above, or up to y below, the place q: at most y of them. *)
Lemma places_within : forall n p (f : nat -> bool) q y, ranking n p -> 0 <= y ->
  (forall i, (i < n)%nat -> f i = true -> (q < p i)%nat /\ INR (p i) - INR q <= y) \/
  (forall i, (i < n)%nat -> f i = true -> (p i < q)%nat /\ INR q - INR (p i) <= y) ->
  range_sum n (fun i => bit (f i)) <= y.
Proof.
  intros n p f q y rank pos H. unfold range_sum. rewrite sum_bits.
  destruct (Rle_or_lt (INR (length (filter f (seq 0 n)))) y) as [|B]; [assumption|].
  destruct (length (filter f (seq 0 n))) as [|k] eqn:K; [simpl in B; lra|]. exfalso.
  enough (length (filter f (seq 0 n)) <= k)%nat by lia. destruct H as [H|H].
  - apply (places_count n p f (S q)); [assumption|]. intros i I J. destruct (H i I J) as [L M].
    assert (INR (p i) < INR (q + S k)) as U by (rewrite plus_INR; lra). apply INR_lt in U. lia.
  - apply (places_count n p f (q - k)); [assumption|]. intros i I J. destruct (H i I J) as [L M].
    assert (INR q < INR (p i + S k)) as U by (rewrite plus_INR; lra). apply INR_lt in U. lia.
Qed.

(* The distance between the order s of numbers x and a ranking p. *)
Theorem sorted_distance : forall n x s p, sorts n x s -> ranking n p ->
  kendall n s p <= 2 * range_sum n (fun i => Rabs (x i - INR (p i))).
Proof.
  intros n x s p [rank order] P. set (e := fun i => x i - INR (p i)). set (up := fun i j => andb
    (Nat.ltb (p i) (p j)) (if Rle_dec (INR (p j) - INR (p i)) (2 * Rmax 0 (e i)) then true else
    false)). set (down := fun i j => andb (Nat.ltb (p i) (p j)) (if Rle_dec (INR (p j) - INR (p i))
    (2 * Rmax 0 (- e j)) then true else false)). set (both := fun i j => bit (up i j) + bit (down i
    j)).
  (* each reversed pair is counted *)
  assert (forall i j, (i < n)%nat -> (j < n)%nat -> (p i < p j)%nat -> (s j < s i)%nat -> 1 <= both
    i j) as counted. { intros i j I J PP SS. pose proof (order j i J I SS) as X.
    apply lt_INR in PP as Q. unfold both, up, down. destruct (Nat.ltb_spec (p i) (p j)); [|lia].
    simpl. pose proof (Rmax_r 0 (e i)). pose proof (Rmax_r 0 (- e j)).
    destruct (Rle_dec _ _), (Rle_dec _ _); simpl; try lra. unfold e in *. lra. } assert (forall i j,
    0 <= both i j) as nonneg by (intros; unfold both; destruct (up i j), (down i j); simpl; lra).
  apply Rle_trans with (range_sum n (fun i => range_sum n (both i))).
  - rewrite square_sum. apply Rle_trans with (sum (fun '(i, j) => both i j + both j i) (pairs n)).
    + apply pairs_le. intros i j H. pose proof (nonneg i j). pose proof (nonneg j i). unfold before.
      destruct rank as [_ once]. destruct P as [_ once']. assert (s i <> s j) by (intros E; apply
        once in E; lia). assert (p i <> p j) by (intros E; apply once' in E; lia).
      destruct (Nat.ltb_spec (s i) (s j)), (Nat.ltb_spec (p i) (p j)); simpl; try lra.
      * pose proof (counted j i ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia)). lra.
      * pose proof (counted i j ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia)). lra.
    + pose proof (sum_nonneg (fun i => both i i) (seq 0 n) ltac:(intros; apply nonneg)).
      unfold range_sum. lra.
  - unfold both, range_sum. rewrite (sum_ext _ (fun i => sum (fun j => bit (up i j)) (seq 0 n) + sum
      (fun j => bit (down i j)) (seq 0 n))) by (intros; apply sum_plus).
    rewrite sum_plus, (sum_swap _ _ (fun i j => bit (down i j))), <- sum_plus, <- sum_scale.
    apply sum_le. intros i. assert (0 <= 2 * Rmax 0 (e i)) as A by (pose proof (Rmax_l 0 (e i));
      lra). assert (0 <= 2 * Rmax 0 (- e i)) as B by (pose proof (Rmax_l 0 (- e i)); lra).
    apply Rle_trans with (2 * Rmax 0 (e i) + 2 * Rmax 0 (- e i)).
    + apply Rplus_le_compat.
      * apply (places_within n p _ (p i)); [assumption..|]. left. intros j J U. unfold up in U.
        apply andb_prop in U. destruct U as [U V]. apply Nat.ltb_lt in U.
        destruct (Rle_dec _ _); [auto|discriminate].
      * apply (places_within n p _ (p i)); [assumption..|]. right. intros j J U. unfold down in U.
        apply andb_prop in U. destruct U as [U V]. apply Nat.ltb_lt in U.
        destruct (Rle_dec _ _); [auto|discriminate].
    + fold (e i). unfold Rmax, Rabs. destruct (Rle_dec 0 (e i)), (Rle_dec 0 (- e i)), (Rcase_abs (e
        i)); lra.
Qed.

(* The places are 0, ..., n - 1. *)
Lemma places_sum : forall n p f, ranking n p ->
  range_sum n (fun i => f (p i)) = range_sum n f.
Proof.
  intros n p f rank. unfold range_sum. rewrite <- (sum_map _ _ f p). apply sum_permutation.
  apply NoDup_Permutation_bis.
  - apply (places_once n); [assumption|apply seq_NoDup|]. intros j J. apply in_seq in J. lia.
  - rewrite map_length. lia.
  - intros q Q. apply in_map_iff in Q. destruct Q as [j [<- J]]. apply in_seq in J. apply in_seq.
    destruct rank as [bound _]. specialize (bound j ltac:(lia)). lia.
Qed.

(* A place is the number of items before it. *)
Lemma place_sum : forall n p i, ranking n p -> (i < n)%nat ->
  range_sum n (fun j => bit (before p j i)) = INR (p i).
Proof.
  intros n p i rank I. unfold before. rewrite (places_sum n p (fun q => bit (Nat.ltb q (p i)))
    rank). destruct rank as [bound _]. specialize (bound i I). revert bound. generalize (p i) as c.
  clear. intros c C. replace n with (c + (n - c))%nat by lia. unfold range_sum.
  rewrite seq_app, sum_app. rewrite (sum_ext_in _ (fun _ => 1)), (sum_ext_in (fun q => bit (Nat.ltb
    q c)) (fun _ => 0)).
  - rewrite sum_zero, sum_const, seq_length. lra.
  - intros q Q. apply in_seq in Q. destruct (Nat.ltb_spec q c); [lia|reflexivity].
  - intros q Q. apply in_seq in Q. destruct (Nat.ltb_spec q c); [reflexivity|lia].
Qed.

(* The mean ranks are no farther from a ranking than twice its score. *)
Theorem mean_rank_distance : forall n w p, shares n w -> ranking n p ->
  range_sum n (fun i => Rabs (mean_rank n w i - INR (p i))) <= 2 * score n w p.
Proof.
  intros n w p W P. set (cost := fun i j => if Nat.eqb j i then 0 else if before p j i then 1 - w j
    i else w j i). apply Rle_trans with (range_sum n (fun i => range_sum n (cost i))).
  - apply range_sum_le. intros i I. rewrite <- (place_sum n p i P I). unfold mean_rank, range_sum.
    rewrite <- sum_minus. eapply Rle_trans; [apply sum_abs|]. apply range_sum_le. intros j J.
    unfold cost. destruct (Nat.eqb_spec j i) as [->|D].
    + unfold before. rewrite Nat.ltb_irrefl. simpl. rewrite Rminus_0_r, Rabs_R0. lra.
    + destruct (W j i J I D). destruct (before p j i); simpl.
      * rewrite Rabs_minus_sym, Rabs_pos_eq; lra. * rewrite Rminus_0_r, Rabs_pos_eq; lra.
  - rewrite square_sum. unfold range_sum. rewrite (sum_ext (fun i => cost i i) (fun _ => 0)),
      sum_zero. 2: { intros i. unfold cost. rewrite Nat.eqb_refl. reflexivity. } unfold score.
    rewrite <- sum_scale, Rplus_0_r. apply pairs_le. intros i j H. unfold cost.
    destruct (Nat.eqb_spec j i), (Nat.eqb_spec i j); try lia. destruct (W i j), (W j i); try lia.
    rewrite (before_other n p i j P) by lia. destruct (before p i j); simpl; lra.
Qed.

(* A pair on which two rankings agree costs both the same. *)
Lemma score_distance : forall n w s p, shares n w -> score n w s <= score n w p + kendall n s p.
Proof.
  intros n w s p W. unfold score, kendall. rewrite <- sum_plus. apply pairs_le. intros i j H.
  destruct (W i j), (W j i); try lia. destruct (before s i j), (before p i j); simpl; lra.
Qed.

(* For every n, every table with 0 <= w_ij <= 1 and w_ij + w_ji = 1, all numbers eta and t, and
   every ranking s that sorts mean ranks plus eta, the score of s is at most 5 times that of any
   ranking plus c times the sum of |eta_i - t|: with c = 2, and with no smaller number, whatever
   stands in the place of 5. *)
Definition borda_says (ratio c : R) : Prop := forall n w eta t s p, shares n w -> ranking n p ->
  sorts n (fun i => mean_rank n w i + eta i) s ->
  score n w s <= ratio * score n w p + c * range_sum n (fun i => Rabs (eta i - t)).

Theorem borda : borda_says 5 2.
Proof.
  intros n w eta t s p W P [S order]. pose proof (score_distance n w s p W) as A.
  pose proof (mean_rank_distance n w p W P) as B. assert (sorts n (fun i => mean_rank n w i + eta i
    - t) s) as T. { split; [assumption|]. intros i j I J L. specialize (order i j I J L).
    simpl in order. lra. } pose proof (sorted_distance n _ s p T P) as C. enough (range_sum n (fun i
    => Rabs (mean_rank n w i + eta i - t - INR (p i))) <= range_sum n (fun i => Rabs (mean_rank n w
    i - INR (p i))) + range_sum n (fun i => Rabs (eta i - t))) by lra. unfold range_sum.
  rewrite <- sum_plus. apply sum_le. intros i. replace (mean_rank n w i + eta i - t - INR (p i))
    with ((mean_rank n w i - INR (p i)) + (eta i - t)) by ring. apply Rabs_triang.
Qed.

(* The distances of 0, ..., n - 1 from their middle. *)
Lemma middle_sum : forall n, 2 * range_sum n (fun i => Rabs (INR i - (INR n - 1) / 2))
  = INR (n * n / 2).
Proof.
  enough (forall n, 2 * range_sum n (fun i => Rabs (INR i - (INR n - 1) / 2)) = INR (n * n / 2) /\ 2
    * range_sum (S n) (fun i => Rabs (INR i - (INR (S n) - 1) / 2)) = INR (S n * S n / 2)) as H by
    (intros n; apply H). induction n as [|n [IH JH]].
  - split; unfold range_sum; simpl; [lra|]. replace (0 - (1 - 1) / 2) with 0 by field.
    rewrite Rabs_R0. lra.
  - split; [assumption|]. rewrite range_sum_S, range_sum_first. replace (range_sum n (fun i => Rabs
      (INR (S i) - (INR (S (S n)) - 1) / 2))) with (range_sum n (fun i => Rabs (INR i - (INR n - 1)
      / 2))). 2: { apply range_sum_ext. intros i _. f_equal. rewrite !S_INR. lra. }
    replace (S (S n) * S (S n))%nat with (n * n + (2 * n + 2) * 2)%nat by lia.
    rewrite Nat.div_add by lia. rewrite plus_INR, <- IH, !plus_INR, mult_INR, !S_INR. simpl.
    pose proof (pos_INR n). replace (0 - (INR n + 1 + 1 - 1) / 2) with (- ((INR n + 1) / 2)) by
      field. replace (INR n + 1 - (INR n + 1 + 1 - 1) / 2) with ((INR n + 1) / 2) by field.
    rewrite Rabs_Ropp, Rabs_pos_eq by lra. lra.
Qed.

(* All agree, and the noise ties all mean ranks. *)
Theorem borda_control : forall ratio c, c < 2 -> ~ borda_says ratio c.
Proof.
  intros ratio c H says. destruct (nat_above (Rabs c / (2 - c))) as [k big]. set (n := S (2 * k)).
  set (w := fun i j => bit (Nat.ltb i j)). assert (shares n w) as W. { intros i j I J D. unfold w.
    destruct (Nat.ltb_spec i j), (Nat.ltb_spec j i); simpl; lia || lra. }
  assert (forall i, (i < n)%nat -> mean_rank n w i = INR i) as b. { intros i I.
    rewrite <- (place_sum n (fun i => i) i (ranking_up n) I). apply range_sum_ext. intros j J.
    unfold w, before. destruct (Nat.eqb_spec j i) as [->|]; [|reflexivity]. rewrite Nat.ltb_irrefl.
    reflexivity. } set (down := fun i => (n - 1 - i)%nat). assert (sorts n (fun i => mean_rank n w i
    + - INR i) down) as S. { split; [apply ranking_down|]. intros i j I J _.
    rewrite !b by assumption. lra. } specialize (says n w _ (- ((INR n - 1) / 2)) down (fun i => i)
    W (ranking_up n) S). replace (score n w (fun i => i)) with 0 in says. 2: { symmetry.
    unfold score. rewrite (pairs_ext n _ (fun _ => 0)); [apply sum_zero|]. intros i j K.
    unfold before, w. destruct (Nat.ltb_spec i j), (Nat.ltb_spec j i); simpl; lia || lra. }
  replace (score n w down) with (choose2 n) in says. 2: { rewrite <- pairs_length, <- (Rmult_1_r
      (INR _)), <- sum_const. apply pairs_ext. intros i j K. unfold before, w, down.
    destruct (Nat.ltb_spec (n - 1 - i) (n - 1 - j)), (Nat.ltb_spec i j); simpl; lia || lra. }
  rewrite (range_sum_ext n _ (fun i => Rabs (INR i - (INR n - 1) / 2))) in says. 2: { intros i _.
    rewrite <- Rabs_Ropp. f_equal. ring. } pose proof (middle_sum n) as M.
  set (d := range_sum n (fun i => Rabs (INR i - (INR n - 1) / 2))) in *. clearbody d.
  replace (n * n / 2)%nat with (2 * (k * (k + 1)))%nat in M. 2: { unfold n.
    apply (Nat.div_unique _ _ _ 1); lia. } rewrite !mult_INR, plus_INR in M. simpl in M.
  replace (choose2 n) with ((2 * INR k + 1) * INR k) in says. 2: { unfold choose2, n.
    rewrite S_INR, mult_INR. simpl. field. } replace d with (INR k * (INR k + 1)) in says by lra.
  (* k (2 - c) > |c| *)
  apply Rmult_lt_compat_r with (r := 2 - c) in big; [|lra]. replace (Rabs c / (2 - c) * (2 - c))
    with (Rabs c) in big by (field; lra). pose proof (Rle_abs c). pose proof (Rabs_pos c).
  assert (0 < INR k) by nra. nra.
Qed.

(* ------------------------------------------------------------------ one ranking is replaced *)

(* A mean rank is the mean of the ranks. *)
Lemma mean_rank_people : forall n people i, Forall (ranking n) people -> (i < n)%nat ->
  mean_rank n (fraction people) i = sum (fun r => INR (r i)) people / INR (length people).
Proof.
  intros n people i rank I. unfold mean_rank, fraction, range_sum, Rdiv.
  rewrite (sum_ext _ (fun j => / INR (length people) * sum (fun r => bit (before r j i)) people)).
  - rewrite sum_scale, sum_swap, Rmult_comm. f_equal. apply sum_ext_in. intros r R.
    rewrite Forall_forall in rank. apply place_sum; auto.
  - intros j. destruct (Nat.eqb_spec j i) as [->|]; [|ring]. rewrite (sum_ext _ (fun _ => 0)),
      sum_zero; [ring|]. intros r. unfold before. rewrite Nat.ltb_irrefl. reflexivity.
Qed.

(* One ranking moves the mean ranks by at most floor(n^2 / 2) / m, opposite ones by that. *)
Lemma mean_rank_moves : forall n m x y, replaced n m x y ->
  l1 n (mean_rank n (fraction x)) (mean_rank n (fraction y)) <= INR (n * n / 2) / INR m.
Proof.
  intros n m x y close. destruct (replaced_some _ _ _ _ close) as [M [_ [_ [X Y]]]].
  destruct close as [a [b [r [s [E [F [L _]]]]]]]. assert (length y = m) as K by (rewrite F, <- L,
    E, !app_length; reflexivity). assert (ranking n r /\ ranking n s) as [Rr Rs]. {
    rewrite Forall_forall in X, Y. split; [apply X; rewrite E|apply Y; rewrite F]; apply in_elt. }
  unfold Rdiv. rewrite Rmult_comm. set (c := (INR n - 1) / 2). apply Rle_trans with (range_sum n
    (fun i => / INR m * (Rabs (INR (r i) - c) + Rabs (INR (s i) - c)))).
  - apply range_sum_le. intros i I. rewrite !mean_rank_people, L, K by assumption. subst x y.
    rewrite !sum_app. simpl. match goal with |- Rabs ?e <= _ => replace e with (/ INR m * ((INR (r
      i) - c) - (INR (s i) - c))) by (field; lra) end. rewrite Rabs_mult, Rabs_pos_eq by (left;
      apply Rinv_0_lt_compat, M). apply Rmult_le_compat_l; [left; apply Rinv_0_lt_compat, M|].
    unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra.
  - unfold range_sum. rewrite sum_scale, sum_plus. fold (range_sum n (fun i => Rabs (INR (r i) -
      c))). fold (range_sum n (fun i => Rabs (INR (s i) - c))). rewrite (places_sum n r (fun k =>
      Rabs (INR k - c)) Rr), (places_sum n s (fun k => Rabs (INR k - c)) Rs), <- (middle_sum n).
    unfold c. lra.
Qed.

(* One ranking replaced.  Independent Laplace noise of scale k floor(n^2/2) / (epsilon m) on the
   mean ranks is epsilon-private, and if the mean of each |noise| is that scale, sorting has a
   mean score of at most 5 times the best one plus k n^3 / (epsilon m), for all n, m and
   epsilon: with k = 1, and with no smaller one. *)
Definition borda_laplace_says (k : R) : Prop := forall n m epsilon, (2 <= n)%nat -> (1 <= m)%nat ->
  0 < epsilon -> let b := k * (INR (n * n / 2) / INR m / epsilon) in
  private (replaced n m) epsilon (fun x => laplace n b (mean_rank n (fraction x))) /\
  forall people W fine E (eta : W -> nat -> R) s, Forall (ranking n) people -> length people = m ->
  mean fine E ->
  (forall i, fine (fun a => Rabs (eta a i)) /\ E (fun a => Rabs (eta a i)) <= b) ->
  (forall a, sorts n (fun i => mean_rank n (fraction people) i + eta a i) (s a)) ->
  forall best, ranking n best -> E (fun a => mean_kendall n people (s a))
    <= 5 * mean_kendall n people best + k * (INR n ^ 3 / (epsilon * INR m)).

Lemma half_square : forall n, (2 <= n)%nat -> 0 < INR (n * n / 2) <= INR n * INR n / 2.
Proof.
  intros n N. assert (2 <= n * n / 2)%nat by (apply Nat.div_le_lower_bound; nia).
  split; [apply lt_0_INR; lia|]. pose proof (Nat.mul_div_le (n * n) 2 ltac:(lia)) as U.
  apply le_INR in U. rewrite !mult_INR in U. change (INR 2) with (1 + 1) in U. lra.
Qed.

Theorem borda_laplace : borda_laplace_says 1.
Proof.
  intros n m epsilon N M pos b. destruct (half_square n N) as [Hpos Hle].
  assert (0 < INR m) as mpos by (apply lt_0_INR; lia). assert (0 < INR (n * n / 2) / INR m) as Spos
    by (apply Rdiv_lt_0_compat; assumption). unfold b. rewrite Rmult_1_l. split.
  - apply vector_noise_enough; auto using mean_rank_moves. apply laplace_unit_positive,
      Rdiv_lt_0_compat; assumption.
  - intros people W fine E eta s rank L Mean noise order best B. pose proof (people_some m people M
      L) as some. pose proof (fraction_shares n people rank some) as ws. destruct (mean_sum W fine E
      _ (fun i a => Rabs (eta a i)) (seq 0 n) _ Mean ltac:(intros; apply noise)) as [F G].
    rewrite seq_length in G. pose proof (score_nonneg n (fraction people) best ws) as score_pos.
    rewrite score_mean in score_pos by assumption. eapply Rle_trans; [apply (mean_affine W fine E _
      _ (5 * mean_kendall n people best) 2 _ Mean ltac:(lra) ltac:(lra) F G)|].
    + intros a. rewrite <- (score_mean n people rank (s a)) by apply order.
      split; [apply score_nonneg, ws|]. rewrite <- score_mean by assumption.
      eapply Rle_trans; [apply (borda n (fraction people) (eta a) 0 (s a) best); auto|]. right.
      do 2 f_equal. apply sum_ext. intros i. f_equal. ring.
    + apply Rplus_le_compat_l. replace (2 * (INR n * (INR (n * n / 2) / INR m / epsilon))) with (2 *
        INR n * INR (n * n / 2) * / (epsilon * INR m)) by (field; lra). rewrite Rmult_1_l.
      apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, Rmult_lt_0_compat; assumption|].
      pose proof (pos_INR n). apply Rle_trans with (2 * INR n * (INR n * INR n / 2)); [apply
        Rmult_le_compat_l; lra|simpl; lra].
Qed.

Theorem borda_laplace_control : forall k, 0 < k < 1 -> ~ borda_laplace_says k.
Proof.
  intros k K says. destruct (says 2%nat 1%nat 1 ltac:(lia) ltac:(lia) Rlt_0_1) as [safe _].
  destruct two_items as [up down]. simpl in safe. assert (replaced 2 1 [fun i => i] [fun i => 1 -
    i]%nat) as close. { exists [], [], (fun i => i), (fun i => 1 - i)%nat.
    do 3 (split; [reflexivity|]). split; constructor; assumption || constructor. }
  assert (0 < k * ((1 + 1) / 1 / 1)) as B by lra. pose proof (vector_noise_least _ _ _ _ _ _ _ _ _
    (laplace_unit_positive _ B) B close safe) as L. unfold l1, range_sum in L. simpl in L.
  rewrite !mean_rank_people in L by (lia || (constructor; [assumption|constructor])). simpl in L.
  replace ((0 + 0) / 1 - (1 + 0) / 1) with (- (1)) in L by field. replace ((1 + 0) / 1 - (0 + 0) /
    1) with 1 in L by field. rewrite Rabs_Ropp, Rabs_R1 in L. lra.
Qed.

(* CLAIM BOOK-NOISY-BORDA.  The bound with 5 and c = 2, where no smaller c will do, and the
   Laplace noise for one replaced ranking. *)
Definition noisy_borda_says (c : R) : Prop := borda_says 5 c /\ borda_laplace_says 1.

Theorem noisy_borda : noisy_borda_says 2.
Proof. split; [apply borda|apply borda_laplace]. Qed.

Theorem noisy_borda_control : forall c, c < 2 -> ~ noisy_borda_says c.
Proof. intros c C [says _]. exact (borda_control 5 c C says). Qed.
