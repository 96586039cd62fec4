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
Import XSC(ranking, pairs).
Import ListNotations.
Open Scope R_scope.

(* The mean rank of an item: what the others win against it. *)
Definition mean_rank (n : nat) (w : table) (i : nat) : R :=
  range_sum n (fun j => if Nat.eqb j i then 0 else w j i).

(* s puts the items in an order of x, equal ones in any order. *)
Definition sorts (n : nat) (x : nat -> R) (s : places) : Prop := ranking n s /\
  forall i j, (i < n)%nat -> (j < n)%nat -> (s i < s j)%nat -> x i <= x j.

(* The places are 0, ..., n - 1. *)
Lemma places_sum : forall n p f, ranking n p ->
  range_sum n (fun i => f (p i)) = range_sum n f.
Proof.
  intros n p f rank. unfold range_sum. rewrite <- (sum_map _ _ f p). apply sum_permutation.
  apply NoDup_Permutation_bis; [apply places_once, rank|rewrite map_length; lia|]. intros q Q.
  apply in_map_iff in Q as [j [<- J]]. rewrite in_seq in *. destruct rank as [bound _].
  specialize (bound j ltac:(lia)). lia.
Qed.

(* A place is the number of items before it. *)
Lemma place_sum : forall n p i, ranking n p -> (i < n)%nat ->
  range_sum n (fun j => bit (before p j i)) = INR (p i).
Proof.
  intros n p i rank I. unfold before. rewrite (places_sum n p (fun q => bit (q <? p i)%nat) rank).
  destruct rank as [bound _]. specialize (bound i I).
  transitivity (INR (Nat.min n (p i))); [|f_equal; lia]. generalize (p i) as c. clear. intros c.
  induction n as [|n IH]; [reflexivity|]. rewrite range_sum_S, IH. destruct (Nat.ltb_spec n c).
  - rewrite !Nat.min_l, S_INR by lia. reflexivity. - rewrite !Nat.min_r by lia. simpl. lra.
Qed.

(* Whether the place q is up to y above, or up to y below, the place c: at most y of them are. *)
Definition above (c : nat) (y : R) (q : nat) : R :=
  if Nat.ltb c q then if Rle_dec (INR q - INR c) y then 1 else 0 else 0.
Definition below (c : nat) (y : R) (q : nat) : R :=
  if Nat.ltb q c then if Rle_dec (INR c - INR q) y then 1 else 0 else 0.

Lemma near_sum : forall n c y, 0 <= y ->
  range_sum n (above c y) <= y /\ range_sum n (below c y) <= y.
Proof.
  intros n c y Y. enough (range_sum n (above c y) <= Rmax 0 (Rmin y (INR n - 1 - INR c)) /\
    range_sum n (below c y) <= Rmax 0 (Rmin y (INR n - INR c + y))) as H
    by (unfold Rmax, Rmin in H; repeat destruct (Rle_dec _ _) in H; lra).
  induction n as [|n [IH JH]]; [unfold range_sum; simpl; split; apply Rmax_l|].
  rewrite !range_sum_S, S_INR. unfold above at 2, below at 2.
  destruct (Nat.ltb_spec c n) as [L|L], (Nat.ltb_spec n c) as [K|K]; try lia;
    try (apply le_INR in L; rewrite ?S_INR in L); try (apply le_INR in K; rewrite ?S_INR in K);
    split; [clear JH|clear IH|clear JH|clear IH|clear JH|clear IH]; unfold Rmax, Rmin in *;
    repeat destruct (Rle_dec _ _); lra.
Qed.

(* The distance between the order s of numbers x and a ranking p. *)
Theorem sorted_distance : forall n x s p, sorts n x s -> ranking n p ->
  kendall n s p <= 2 * range_sum n (fun i => Rabs (x i - INR (p i))).
Proof.
  intros n x s p [[_ once] order] P. set (e := fun i => x i - INR (p i)).
  set (up := fun i j => above (p i) (2 * Rmax 0 (e i)) (p j)).
  set (down := fun i j => below (p j) (2 * Rmax 0 (- e j)) (p i)).
  assert (forall i j, 0 <= up i j + down i j /\ ((i < n)%nat -> (j < n)%nat -> (p i < p j)%nat
    -> (s j < s i)%nat -> 1 <= up i j + down i j)) as counted.
  { intros i j. unfold up, down, above, below. pose proof (Rmax_r 0 (e i)).
    pose proof (Rmax_r 0 (- e j)). destruct (Nat.ltb_spec (p i) (p j)); [|split; [lra|lia]].
    split; [|intros I J _ K; pose proof (order j i J I K); unfold e in *];
      repeat destruct (Rle_dec _ _); lra. }
  apply Rle_trans with (range_sum n (fun i => range_sum n (fun j => up i j + down i j))).
  - rewrite square_sum.
    apply Rle_trans with (sum (fun '(i, j) => (up i j + down i j) + (up j i + down j i)) (pairs n)).
    + apply pairs_le. intros i j H. destruct (counted i j) as [A A'], (counted j i) as [B B'].
      assert (s i <> s j) by (intros E; apply once in E; lia).
      assert (p i <> p j) by (intros E; apply P in E; lia). unfold before.
      destruct (Nat.ltb_spec (s i) (s j)), (Nat.ltb_spec (p i) (p j)); simpl; try lra;
        [specialize (B' ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia))|
        specialize (A' ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia))]; lra.
    + pose proof (sum_nonneg (fun i => up i i + down i i) (seq 0 n) ltac:(intros; apply counted)).
      unfold range_sum. lra.
  - rewrite (range_sum_ext n _ (fun i => range_sum n (up i) + range_sum n (down i)))
      by (intros; apply sum_plus). unfold range_sum. rewrite sum_plus.
    rewrite (sum_swap _ _ down), <- sum_plus, <- sum_scale. apply sum_le. intros i.
    pose proof (places_sum n p (above (p i) (2 * Rmax 0 (e i))) P) as A.
    pose proof (places_sum n p (below (p i) (2 * Rmax 0 (- e i))) P) as B.
    pose proof (Rmax_l 0 (e i)). pose proof (Rmax_l 0 (- e i)).
    destruct (near_sum n (p i) (2 * Rmax 0 (e i)) ltac:(lra)) as [A' _].
    destruct (near_sum n (p i) (2 * Rmax 0 (- e i)) ltac:(lra)) as [_ B']. rewrite <- A in A'.
    rewrite <- B in B'. unfold range_sum, up, down, e in *.
    eapply Rle_trans; [apply Rplus_le_compat; eassumption|]. unfold Rmax, Rabs.
    repeat destruct (Rle_dec _ _); destruct (Rcase_abs _); lra.
Qed.

(* The mean ranks are no farther from a ranking than twice its score. *)
Theorem mean_rank_distance : forall n w p, shares n w -> ranking n p ->
  range_sum n (fun i => Rabs (mean_rank n w i - INR (p i))) <= 2 * score n w p.
Proof.
  intros n w p W P.
  set (cost := fun i j => if Nat.eqb j i then 0 else if before p j i then 1 - w j i else w j i).
  apply Rle_trans with (range_sum n (fun i => range_sum n (cost i))).
  - apply range_sum_le. intros i I. rewrite <- (place_sum n p i P I). unfold mean_rank, range_sum.
    rewrite <- sum_minus. eapply Rle_trans; [apply sum_abs|]. apply range_sum_le. intros j J.
    unfold cost. destruct (Nat.eqb_spec j i) as [->|D].
    + unfold before. rewrite Nat.ltb_irrefl. simpl. rewrite Rminus_0_r, Rabs_R0. lra.
    + destruct (W j i J I D). destruct (before p j i); simpl.
      * rewrite Rabs_minus_sym, Rabs_pos_eq; lra. * rewrite Rminus_0_r, Rabs_pos_eq; lra.
  - rewrite square_sum. unfold range_sum.
    rewrite (sum_ext (fun i => cost i i) (fun _ => 0)), sum_zero.
    2: { intros i. unfold cost. rewrite Nat.eqb_refl. reflexivity. } unfold score.
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
  pose proof (mean_rank_distance n w p W P) as B.
  assert (sorts n (fun i => mean_rank n w i + eta i - t) s) as T.
  { split; [assumption|]. intros i j I J L. specialize (order i j I J L). simpl in order. lra. }
  pose proof (sorted_distance n _ s p T P) as C. enough (range_sum
    n (fun i => Rabs (mean_rank n w i + eta i - t - INR (p i)))
    <= range_sum n (fun i => Rabs (mean_rank n w i - INR (p i)))
    + range_sum n (fun i => Rabs (eta i - t))) by lra. unfold range_sum. rewrite <- sum_plus.
  apply sum_le. intros i. replace (mean_rank n w i + eta i - t - INR (p i))
    with ((mean_rank n w i - INR (p i)) + (eta i - t)) by ring. apply Rabs_triang.
Qed.

(* The distances of 0, ..., n - 1 from their middle. *)
Lemma middle_sum : forall n, 2 * range_sum n (fun i => Rabs (INR i - (INR n - 1) / 2))
  = INR (n * n / 2).
Proof.
  enough (forall n, 2 * range_sum n (fun i => Rabs (INR i - (INR n - 1) / 2)) = INR (n * n / 2) /\ 2
    * range_sum (S n) (fun i => Rabs (INR i - (INR (S n) - 1) / 2)) = INR (S n * S n / 2)) as H
    by (intros n; apply H). induction n as [|n [IH JH]].
  - split; unfold range_sum; simpl; [lra|]. replace (0 - (1 - 1) / 2) with 0 by field.
    rewrite Rabs_R0. lra.
  - split; [assumption|]. rewrite range_sum_S, range_sum_first.
    replace (range_sum n (fun i => Rabs (INR (S i) - (INR (S (S n)) - 1) / 2)))
      with (range_sum n (fun i => Rabs (INR i - (INR n - 1) / 2))).
    2: { apply range_sum_ext. intros i _. f_equal. rewrite !S_INR. lra. }
    replace (S (S n) * S (S n))%nat with (n * n + (2 * n + 2) * 2)%nat by lia.
    rewrite Nat.div_add by lia. rewrite plus_INR, <- IH, !plus_INR, mult_INR, !S_INR. simpl.
    pose proof (pos_INR n).
    replace (0 - (INR n + 1 + 1 - 1) / 2) with (- ((INR n + 1) / 2)) by field.
    replace (INR n + 1 - (INR n + 1 + 1 - 1) / 2) with ((INR n + 1) / 2) by field.
    rewrite Rabs_Ropp, Rabs_pos_eq by lra. lra.
Qed.

(* All agree, and the noise ties all mean ranks. *)
Theorem borda_control : forall ratio c, c < 2 -> ~ borda_says ratio c.
Proof.
  intros ratio c H says. pose proof (Rabs_pos c). pose proof (Rle_abs c).
  destruct (archimed_cor1 ((2 - c) / (1 + Rabs c)) ltac:(apply Rdiv_lt_0_compat; lra))
    as [k [big kpos]]. set (n := S (2 * k)). set (w := fun i j => bit (Nat.ltb i j)).
  set (down := fun i => (n - 1 - i)%nat).
  specialize (says n w (fun i => - INR i) (- ((INR n - 1) / 2)) down (fun i => i)).
  assert (score n w (fun i => i) = 0) as A.
  { unfold score. rewrite <- (sum_zero (pairs n)). apply pairs_ext. intros. unfold w.
    compare_places. }
  assert (score n w down = choose2 n) as B.
  { rewrite <- pairs_length, <- (Rmult_1_r (INR _)), <- sum_const. apply pairs_ext. intros.
    unfold w, down. compare_places. }
  rewrite A, B, (range_sum_ext n _ (fun i => Rabs (INR i - (INR n - 1) / 2))) in says
    by (intros; rewrite <- Rabs_Ropp; f_equal; ring). pose proof (middle_sum n) as M.
  replace (n * n / 2)%nat with (2 * (k * (k + 1)))%nat in M
    by (apply (Nat.div_unique _ _ _ 1); lia).
  set (d := range_sum n (fun i => Rabs (INR i - (INR n - 1) / 2))) in *. clearbody d.
  rewrite !mult_INR, plus_INR in M. simpl in M. apply lt_INR in kpos. simpl in kpos.
  apply Rmult_lt_compat_r with (r := INR k * (1 + Rabs c)) in big; [|apply Rmult_lt_0_compat; lra].
  field_simplify in big; [|lra..]. assert (choose2 n <= ratio * 0 + c * d) as L.
  { apply says; [intros i j I J D; unfold w; compare_places|apply ranking_up|].
    split; [apply ranking_down|]. intros i j I J _. enough (forall l, (l < n)%nat -> mean_rank n w l
      = INR l) as E by (rewrite !E; lra || assumption). intros l L.
    rewrite <- (place_sum n (fun i => i) l (ranking_up n) L). apply range_sum_ext. intros h _.
    unfold w. destruct (Nat.eqb_spec h l) as [->|]; compare_places. }
  unfold choose2, n in L. rewrite S_INR, mult_INR in L. simpl in L. nra.
Qed.

(* ------------------------------------------------------------------ one ranking is replaced *)

(* A mean rank is the mean of the ranks. *)
Lemma mean_rank_people : forall n (people : list places) i, Forall (ranking n) people ->
  (i < n)%nat -> mean_rank n (fraction people) i
  = sum (fun r => INR (r i)) people / INR (length people).
Proof.
  intros n people i rank I. unfold mean_rank, fraction, range_sum, Rdiv.
  rewrite (sum_ext _ (fun j => / INR (length people) * sum (fun r => bit (before r j i)) people)).
  - rewrite sum_scale, sum_swap, Rmult_comm. f_equal. apply sum_ext_in. intros r R.
    rewrite Forall_forall in rank. apply place_sum; auto.
  - intros j. destruct (Nat.eqb_spec j i) as [->|]; [|ring].
    rewrite (sum_ext _ (fun _ => 0)), sum_zero; [ring|]. intros r. unfold before.
    rewrite Nat.ltb_irrefl. reflexivity.
Qed.

(* One ranking moves the mean ranks by at most floor(n^2 / 2) / m. *)
Lemma mean_rank_moves : forall n m x y, replaced n m x y ->
  l1 n (mean_rank n (fraction x)) (mean_rank n (fraction y)) <= INR (n * n / 2) / INR m.
Proof.
  intros n m x y close. destruct (replaced_some _ _ _ _ close) as [M [_ [_ [X Y]]]].
  destruct close as [a [b [r [s [E [F [L _]]]]]]].
  assert (length y = m) as K by (rewrite F, <- L, E, !app_length; reflexivity).
  assert (ranking n r /\ ranking n s) as [Rr Rs].
  { rewrite Forall_forall in X, Y. split; [apply X; rewrite E|apply Y; rewrite F]; apply in_elt. }
  unfold Rdiv. rewrite Rmult_comm. set (far := fun k => Rabs (INR k - (INR n - 1) / 2)).
  apply Rle_trans with (/ INR m * (range_sum n (fun i => far (r i))
    + range_sum n (fun i => far (s i)))).
  - unfold range_sum. rewrite <- sum_plus, <- sum_scale. apply range_sum_le. intros i I.
    rewrite !mean_rank_people, L, K by assumption. subst x y. rewrite !sum_app. simpl.
    match goal with |- Rabs ?e <= _ => replace e with (/ INR m
      * ((INR (r i) - (INR n - 1) / 2) + - (INR (s i) - (INR n - 1) / 2))) by (field; lra) end.
    assert (0 < / INR m) by (apply Rinv_0_lt_compat, M). rewrite Rabs_mult, Rabs_pos_eq by lra.
    apply Rmult_le_compat_l; [lra|]. unfold far. rewrite <- (Rabs_Ropp (INR (s i) - _)).
    apply Rabs_triang.
  - rewrite (places_sum n r far Rr), (places_sum n s far Rs), <- middle_sum. right. unfold far.
    ring.
Qed.

(* One ranking replaced.  Independent Laplace noise of scale floor(n^2/2) / (epsilon m) on the
   mean ranks is epsilon-private, and if the mean of each |noise| is that scale, sorting has a
   mean score of at most 5 times the best one plus n^3 / (epsilon m), for all n, m and epsilon. *)
Definition borda_laplace_says : Prop := forall n m epsilon, (2 <= n)%nat -> (1 <= m)%nat ->
  0 < epsilon -> let b := INR (n * n / 2) / INR m / epsilon in
  private (replaced n m) epsilon (fun x => laplace n b (mean_rank n (fraction x))) /\
  forall people W fine E (eta : W -> nat -> R) s, Forall (ranking n) people -> length people = m ->
  mean fine E ->
  (forall i, fine (fun a => Rabs (eta a i)) /\ E (fun a => Rabs (eta a i)) <= b) ->
  (forall a, sorts n (fun i => mean_rank n (fraction people) i + eta a i) (s a)) ->
  forall best, ranking n best -> E (fun a => mean_kendall n people (s a))
    <= 5 * mean_kendall n people best + INR n ^ 3 / (epsilon * INR m).

Lemma half_square : forall n, (2 <= n)%nat -> 0 < INR (n * n / 2) <= INR n * INR n / 2.
Proof.
  intros n N. assert (2 <= n * n / 2)%nat by (apply Nat.div_le_lower_bound; nia).
  split; [apply lt_0_INR; lia|]. pose proof (Nat.mul_div_le (n * n) 2 ltac:(lia)) as U.
  apply le_INR in U. rewrite !mult_INR in U. change (INR 2) with (1 + 1) in U. lra.
Qed.

Theorem borda_laplace : borda_laplace_says.
Proof.
  intros n m epsilon N M pos b. destruct (half_square n N) as [Hpos Hle].
  assert (0 < INR m) as mpos by (apply lt_0_INR; lia).
  assert (0 < INR (n * n / 2) / INR m) as Spos by (apply Rdiv_lt_0_compat; assumption). unfold b.
  split.
  - apply vector_noise_enough; auto using mean_rank_moves.
    apply laplace_unit_positive, Rdiv_lt_0_compat; assumption.
  - intros people W fine E eta s rank L Mean noise order best B.
    pose proof (people_some m people M L) as some.
    pose proof (fraction_shares n people rank some) as ws. destruct (mean_sum W fine E _
      (fun i a => Rabs (eta a i)) (seq 0 n) _ Mean ltac:(intros; apply noise)) as [F G].
    rewrite seq_length in G. pose proof (score_nonneg n (fraction people) best ws) as score_pos.
    rewrite score_mean in score_pos by assumption. eapply Rle_trans;
      [apply (mean_affine W fine E _ _ (5 * mean_kendall n people best) 2 _ Mean ltac:(lra)
      ltac:(lra) F G)|].
    + intros a. rewrite <- (score_mean n people rank (s a)) by apply order.
      split; [apply score_nonneg, ws|]. rewrite <- score_mean by assumption.
      eapply Rle_trans; [apply (borda n (fraction people) (eta a) 0 (s a) best); auto|]. right.
      do 2 f_equal. apply sum_ext. intros i. f_equal. ring.
    + apply Rplus_le_compat_l. replace (2 * (INR n * (INR (n * n / 2) / INR m / epsilon)))
        with (2 * INR n * INR (n * n / 2) * / (epsilon * INR m)) by (field; lra).
      apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, Rmult_lt_0_compat; assumption|].
      pose proof (pos_INR n). apply Rle_trans with (2 * INR n * (INR n * INR n / 2));
        [apply Rmult_le_compat_l; lra|simpl; lra].
Qed.

(* CLAIM BOOK-NOISY-BORDA.  The bound with 5 and c = 2, where no smaller c will do, and the
   Laplace noise for one replaced ranking. *)
Definition noisy_borda_says (c : R) : Prop := borda_says 5 c /\ borda_laplace_says.

Theorem noisy_borda : noisy_borda_says 2.
Proof. split; [apply borda|apply borda_laplace]. Qed.

Theorem noisy_borda_control : forall c, c < 2 -> ~ noisy_borda_says c.
Proof. intros c C [says _]. exact (borda_control 5 c C says). Qed.
