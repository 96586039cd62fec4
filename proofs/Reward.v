(* Noise for the fit of a reward model: comparisons of answers with public features, of which only
   the outcomes are protected.  Claim BOOK-REWARD-NOISE.

   Not in it: the change of variables that gives the density of the fit, and samplers. *)
Require Import Reals Lra Lia ZArith List Bool Permutation.
From Ranking Require Import Privacy Counts Determinant MLE.
Import ListNotations.
Open Scope R_scope.

Section Features.
Variables (d p : nat).        (* properties, and pairs of answers *)
Variable X : nat -> nat -> R. (* property i of pair r: public *)

(* The data y: whether the first of pair r is preferred.  The likelihood knows them through y X. *)
Definition signal (y : nat -> bool) (i : nat) : R := range_sum p (fun r => bit (y r) * X r i).
Definition norm (v : nat -> R) : R := range_sum d (fun i => Rabs (v i)).

(* A sum over the first q pairs, of those that are in K. *)
Definition signed (q : nat) (K : nat -> bool) (c : nat -> R) (i : nat) : R :=
  range_sum q (fun r => c r * (if K r then X r i else 0)).

Lemma norm_triangle : forall a b u v, 0 <= a -> 0 <= b ->
  norm (fun i => a * u i + b * v i) <= a * norm u + b * norm v.
Proof.
  intros a b u v A B. unfold norm, range_sum. rewrite <- !sum_scale, <- sum_plus. apply sum_le.
  intros i. rewrite <- (Rabs_pos_eq a A) at 2. rewrite <- (Rabs_pos_eq b B) at 2.
  rewrite <- !Rabs_mult. apply Rabs_triang.
Qed.

(* A sum with coefficients from -1 to 1 is longest where all are -1 or 1. *)
Lemma signs_longest : forall K (c : nat -> R) q v, (forall r, -1 <= c r <= 1) ->
  exists s : nat -> bool, norm (fun i => v i + signed q K c i)
    <= norm (fun i => v i + signed q K (fun r => if s r then 1 else -1) i).
Proof.
  intros K c q. induction q as [|q IH]; intros v C.
  - exists (fun _ => true). right. reflexivity.
  - set (x := fun i => if K q then X q i else 0).
    destruct (IH (fun i => v i + c q * x i) C) as [s longer].
    set (w := fun i => v i + signed q K (fun r => if s r then 1 else -1) i).
    assert (norm (fun i => w i + c q * x i)
      <= Rmax (norm (fun i => w i + x i)) (norm (fun i => w i + -1 * x i))) as M.
    { apply Rle_trans with (norm (fun i => (1 + c q) / 2 * (w i + x i)
        + (1 - c q) / 2 * (w i + -1 * x i))).
      - right. apply range_sum_ext. intros. f_equal. field.
      - specialize (C q). eapply Rle_trans; [apply norm_triangle; lra|].
        pose proof (Rmax_l (norm (fun i => w i + x i)) (norm (fun i => w i + -1 * x i))).
        pose proof (Rmax_r (norm (fun i => w i + x i)) (norm (fun i => w i + -1 * x i))). nra. }
    assert (forall b : bool, norm (fun i => w i + (if b then 1 else -1) * x i)
      = norm (fun i => v i + signed (S q) K
          (fun r => if (if Nat.eqb r q then b else s r) then 1 else -1) i)) as last.
    { intros b. apply range_sum_ext. intros i _. f_equal. unfold w, signed. rewrite range_sum_S.
      rewrite Nat.eqb_refl, Rplus_assoc. do 2 f_equal. apply range_sum_ext. intros r H.
      destruct (Nat.eqb_spec r q); [lia|reflexivity]. }
    assert (norm (fun i => v i + signed (S q) K c i) <= norm (fun i => w i + c q * x i)) as first.
    { eapply Rle_trans; [|eapply Rle_trans; [apply longer|]]; right; apply range_sum_ext; intros;
        f_equal; unfold signed, w, signed; rewrite ?range_sum_S; unfold x; ring. }
    destruct (Rle_or_lt (norm (fun i => w i + x i)) (norm (fun i => w i + -1 * x i))) as [L|L].
    + exists (fun r => if Nat.eqb r q then false else s r). rewrite <- last.
      rewrite Rmax_right in M by assumption. lra.
    + exists (fun r => if Nat.eqb r q then true else s r). rewrite <- last.
      rewrite Rmax_left in M by lra. eapply Rle_trans; [exact first|].
      apply Rle_trans with (1 := M).
      right. apply range_sum_ext. intros. f_equal. ring.
Qed.

(* The people (who K: K are the answers of somebody), and neighbours. *)
Variable who : (nat -> bool) -> Prop.
Definition relabelled (y z : nat -> bool) : Prop :=
  exists K, who K /\ forall r, K r = false -> y r = z r.

(* B is the largest of the norms of all sums of x and - x over the answers of somebody. *)
Definition largest_sum (B : R) : Prop :=
  (forall K (s : nat -> bool), who K -> norm (signed p K (fun r => if s r then 1 else -1)) <= B) /\
  (exists K (s : nat -> bool), who K /\ norm (signed p K (fun r => if s r then 1 else -1)) = B).

(* Of somebody with one answer, r, it is the norm of x. *)
Lemma one_answer : forall r (s : nat -> bool), (r < p)%nat ->
  norm (signed p (Nat.eqb r) (fun q => if s q then 1 else -1)) = norm (X r).
Proof.
  intros r s H. apply range_sum_ext. intros i _. unfold signed.
  rewrite (range_sum_ext p _ (fun q => if Nat.eqb r q then (if s q then 1 else -1) * X q i else 0))
    by (intros q _; destruct (Nat.eqb r q); ring).
  rewrite (range_sum_pick p (fun q => (if s q then 1 else -1) * X q i) r H).
  destruct (s r); [f_equal; ring|]. rewrite <- Rabs_Ropp. f_equal. ring.
Qed.

Lemma signal_sensitivity : forall B, largest_sum B -> sensitivity (l1 d) relabelled signal B.
Proof.
  intros B [below [K [s [who_K reached]]]]. split.
  - intros y z [J [who_J E]].
    destruct (signs_longest J (fun r => bit (y r) - bit (z r)) p (fun _ => 0)) as [t T].
    { intros r. pose proof (bit_bounds (y r)). pose proof (bit_bounds (z r)). lra. }
    specialize (below J t who_J). eapply Rle_trans; [|eapply Rle_trans; [exact T|]].
    + right. apply range_sum_ext. intros i _. f_equal. rewrite Rplus_0_l.
      unfold signal, signed, range_sum. rewrite <- sum_minus. apply sum_ext. intros r.
      specialize (E r). destruct (J r); [ring|]. rewrite E by reflexivity. ring.
    + apply Rle_trans with (2 := below). right. apply range_sum_ext. intros. f_equal. ring.
  - exists s, (fun r => if K r then negb (s r) else s r). split.
    + exists K. split; [assumption|]. intros r H. rewrite H. reflexivity.
    + rewrite <- reached. apply range_sum_ext. intros i _. f_equal.
      unfold signal, signed, range_sum. rewrite <- sum_minus. apply sum_ext. intros r.
      destruct (K r), (s r); simpl; ring.
Qed.

(* The density of the perturbed fit with ridge gamma and Laplace noise lambda, by the same change of
   variables: the noise is y X - e, and the Hessian does not know y. *)
Definition probability (theta : nat -> R) (r : nat) : R := 1 - surprise (dot d (X r) theta).
Definition fit_point (gamma : R) (theta : nat -> R) (i : nat) : R :=
  gamma * theta i + range_sum p (fun r => probability theta r * X r i).
Fixpoint fit_hessian (gamma : R) (theta : nat -> R) (q : nat) : matrix :=
  match q with
  | O => multiple gamma
  | S r => update (fit_hessian gamma theta r) (bend (dot d (X r) theta)) (X r)
  end.
Definition fit (gamma lambda : R) (y : nat -> bool) (theta : nat -> R) : R :=
  laplace d lambda (signal y) (fit_point gamma theta) * det d (fit_hessian gamma theta p).

Lemma fit_exactly : forall B gamma lambda epsilon, largest_sum B -> 0 < gamma -> 0 < lambda ->
  private relabelled epsilon (fit gamma lambda) <-> B / lambda <= epsilon.
Proof.
  intros B gamma lambda epsilon large gpos lpos.
  apply (relabelled_exactly relabelled signal (fun _ => fit_point gamma)
    (fun _ theta => det d (fit_hessian gamma theta p)) d gamma lambda B); auto.
  - intros _ theta. apply det_positive with gamma; [assumption| |];
      induction p as [|q IH]; simpl; auto using multiple_symmetric, update_symmetric.
    + intros v. rewrite multiple_form. lra.
    + apply update_above; [apply bend_bounds|assumption].
  - intros y. exists (range_sum d (fun i => range_sum p (fun r => Rabs (X r i)))).
    intros theta i H.
    assert (range_sum p (fun r => Rabs (X r i))
      <= range_sum d (fun i => range_sum p (fun r => Rabs (X r i)))) as M.
    { apply (sum_term (fun i => range_sum p (fun r => Rabs (X r i)))); [|apply range_in;
        assumption].
      intros. apply sum_nonneg. intros. apply Rabs_pos. }
    assert (forall c : nat -> R, (forall r, 0 <= c r <= 1) ->
      Rabs (range_sum p (fun r => c r * X r i)) <= range_sum p (fun r => Rabs (X r i))) as C.
    { intros c small. eapply Rle_trans; [apply sum_abs|]. apply sum_le. intros r.
      rewrite Rabs_mult, (Rabs_pos_eq (c r)) by apply small. pose proof (small r).
      pose proof (Rabs_pos (X r i)). nra. }
    pose proof (C (fun r => bit (y r)) (fun r => bit_bounds (y r))) as one.
    pose proof (C (probability theta)) as two. unfold signal, fit_point.
    assert (forall r, 0 <= probability theta r <= 1) as P
      by (intros; unfold probability; pose proof (surprise_bounds (dot d (X r) theta)); lra).
    specialize (two P). apply Rabs_le_inv in one, two. lra.
  - apply signal_sensitivity. assumption.
Qed.

End Features.

(* CLAIM BOOK-REWARD-NOISE.  With public features x, and B the largest norm of a sum of x and - x
   over the answers of one person (for one answer: of x), c B / epsilon with c = 1 is the least
   private scale for the sum that the likelihood knows; and the perturbed fit loses c B / lambda,
   with any ridge. *)
Definition reward_says (c : R) : Prop := forall d p X who B, largest_sum d p X who B ->
  (forall epsilon, 0 < epsilon ->
    least_scale d (relabelled who) (signal p X) epsilon (c * B / epsilon)) /\
  (forall gamma lambda epsilon, 0 < gamma -> 0 < lambda ->
    (private (relabelled who) epsilon (fit d p X gamma lambda) <-> c * B / lambda <= epsilon)).

Theorem reward : reward_says 1.
Proof.
  intros d p X who B large. rewrite Rmult_1_l. split; intros.
  - apply least_scale_exactly; [assumption|]. apply signal_sensitivity. assumption.
  - apply fit_exactly; assumption.
Qed.

Theorem reward_control : forall c, c <> 1 -> ~ reward_says c.
Proof.
  intros c ne H. assert (largest_sum 1 1 (fun _ _ => 1) (fun K => K 0%nat = true) 1) as large.
  { assert (forall K (s : nat -> bool), K 0%nat = true ->
      norm 1 (signed (fun _ _ => 1) 1 K (fun r => if s r then 1 else -1)) = 1) as E.
    { intros K s k. unfold norm, signed, range_sum. simpl. rewrite k.
      destruct (s 0%nat); unfold Rabs; destruct (Rcase_abs _); lra. }
    split; [intros; rewrite E; auto; lra|].
    exists (fun _ => true), (fun _ => true). split; [reflexivity|]. apply (E _ (fun _ => true)).
    reflexivity. }
  destruct (H _ _ _ _ _ large) as [_ K]. destruct (reward _ _ _ _ _ large) as [_ L].
  apply ne. assert (c * 1 / 1 = 1 * 1 / 1); [|lra]. apply same_threshold. intros e.
  rewrite <- (K 1 1 e), <- (L 1 1 e) by lra. reflexivity.
Qed.
