(* Determinants of symmetric matrices above a multiple of the identity, and how they grow when a
   matrix of rank one is added.

   The determinant is the product of the pivots of Gaussian elimination, none of which is 0 here.
   Not in it: other matrices, and that this is the determinant of Leibniz' formula. *)
Require Import Reals Lra Lia List Bool.
From Ranking Require Import Privacy.
Open Scope R_scope.

Definition matrix : Type := nat -> nat -> R.
Definition symmetric (A : matrix) : Prop := forall i j, A i j = A j i.
Definition dot (n : nat) (x y : nat -> R) : R := range_sum n (fun i => x i * y i).
Definition form (n : nat) (A : matrix) (x : nat -> R) : R :=
  range_sum n (fun i => range_sum n (fun j => A i j * (x i * x j))).
Definition tail (x : nat -> R) (i : nat) : R := x (S i).

(* A is symmetric, and at least g > 0 times the identity. *)
Definition above (n : nat) (g : R) (A : matrix) : Prop :=
  0 < g /\ symmetric A /\ forall x, g * dot n x x <= form n A x.

(* One step of elimination, by the multiples m of the first row. *)
Definition first_row (A : matrix) (i : nat) : R := A 0%nat (S i) / A 0%nat 0%nat.
Definition schur (A : matrix) : matrix := fun i j => A (S i) (S j) - A (S i) 0%nat * first_row A j.
Fixpoint det (n : nat) (A : matrix) : R :=
  match n with O => 1 | S m => A 0%nat 0%nat * det m (schur A) end.

(* A + c v v^T; the same step for the vector v; and v^T A^-1 v. *)
Definition update (A : matrix) (c : R) (v : nat -> R) : matrix :=
  fun i j => A i j + c * (v i * v j).
Definition reduce (A : matrix) (v : nat -> R) (i : nat) : R := tail v i - v 0%nat * first_row A i.
Fixpoint inverse_form (n : nat) (A : matrix) (v : nat -> R) : R :=
  match n with
  | O => 0
  | S m => v 0%nat ^ 2 / A 0%nat 0%nat + inverse_form m (schur A) (reduce A v)
  end.

Lemma det_ext : forall n A B, (forall i j, A i j = B i j) -> det n A = det n B.
Proof.
  induction n as [|n IH]; intros A B H; simpl; [reflexivity|].
  rewrite (IH (schur A) (schur B)), H; [reflexivity|]. intros. unfold schur, first_row. rewrite !H.
  reflexivity. Qed.

Lemma range_sum_product : forall n f g,
  range_sum n (fun i => range_sum n (fun j => f i * g j)) = range_sum n f * range_sum n g.
Proof.
  intros. unfold range_sum. rewrite (sum_ext _ (fun i => sum g (seq 0 n) * f i)).
  - rewrite sum_scale. ring.
  - intros. rewrite sum_scale. ring. Qed.

Lemma dot_first : forall n x y, dot (S n) x y = x 0%nat * y 0%nat + dot n (tail x) (tail y).
Proof. intros. apply range_sum_first. Qed.

Lemma square_nonneg : forall a, 0 <= a * a.
Proof. exact Rle_0_sqr. Qed.

(* A quadratic form, completed to a square. *)
Lemma form_square : forall n A x, symmetric A -> A 0%nat 0%nat <> 0 -> form (S n) A x =
  A 0%nat 0%nat * (x 0%nat + dot n (first_row A) (tail x)) ^ 2 + form n (schur A) (tail x).
Proof.
  intros n A x H ne. unfold form. rewrite !range_sum_first. set (a := A 0%nat 0%nat) in *.
  assert (a * (dot n (first_row A) (tail x) * dot n (first_row A) (tail x)) + range_sum n (fun i =>
    range_sum n (fun j => schur A i j * (tail x i * tail x j))) = range_sum n (fun i => range_sum n
    (fun j => A (S i) (S j) * (x (S i) * x (S j))))) as E.
  { unfold dot. rewrite <- range_sum_product. unfold range_sum. rewrite <- sum_scale, <- sum_plus.
    apply sum_ext. intros i. rewrite <- sum_scale, <- sum_plus. apply sum_ext. intros j.
    unfold schur, tail, first_row. rewrite (H (S i) 0%nat). fold a. field. assumption. }
  rewrite (range_sum_ext n (fun i => range_sum (S n) _) (fun i => a * x 0%nat * (first_row A i *
    tail x i) + range_sum n (fun j => A (S i) (S j) * (x (S i) * x (S j))))).
  2: { intros. rewrite range_sum_first, (H (S i) 0%nat). unfold first_row, tail. fold a. field.
    auto. }
  rewrite (range_sum_ext n (fun i => A 0%nat (S i) * _) (fun i => a * x 0%nat * (first_row A i *
    tail x i))) by (intros; unfold first_row, tail; fold a; field; auto). unfold range_sum in *.
  rewrite sum_plus, sum_scale, <- E. unfold dot, range_sum. ring. Qed.

Lemma above_pivot : forall n g A, above (S n) g A -> g <= A 0%nat 0%nat.
Proof.
  intros n g A [_ [H K]]. specialize (K (fun i => if Nat.eqb 0 i then 1 else 0)).
  assert (forall f, range_sum (S n) (fun i => (if Nat.eqb 0 i then 1 else 0) * f i) = f 0%nat) as P.
  { intros f. rewrite <- (range_sum_pick (S n) f 0) by lia. apply range_sum_ext. intros i _.
    destruct (Nat.eqb 0 i); ring. }
  unfold dot, form in K. rewrite (P (fun i => if Nat.eqb 0 i then 1 else 0)) in K.
  rewrite (range_sum_ext _ _ (fun i => (if Nat.eqb 0 i then 1 else 0) * A i 0%nat)), P in K.
  - simpl in K. lra.
  - intros i _. rewrite <- (P (fun j => (if Nat.eqb 0 i then 1 else 0) * A i j)).
    apply range_sum_ext. intros. ring. Qed.

Lemma above_schur : forall n g A, above (S n) g A -> above n g (schur A).
Proof.
  intros n g A P. pose proof (above_pivot n g A P) as pivot. destruct P as [pos [H K]].
  split; [assumption|]. split.
  - intros i j. unfold schur, first_row. rewrite (H (S i) (S j)), (H (S i) 0%nat), (H 0%nat (S j)).
    unfold Rdiv. ring.
  - intros x. specialize (K (fun i => match i with O => - dot n (first_row A) x | S j => x j end)).
    rewrite form_square, dot_first in K by (auto; lra). unfold tail in K.
    change (fun i => x i) with x in K. pose proof (square_nonneg (dot n (first_row A) x)). nra. Qed.

Lemma det_positive : forall n g A, above n g A -> 0 < det n A.
Proof.
  induction n as [|n IH]; intros g A P; simpl; [lra|]. pose proof (above_pivot n g A P).
  destruct P as [pos P]. apply Rmult_lt_0_compat; [lra|]. apply IH with g. apply above_schur.
  split; assumption. Qed.

(* The matrix determinant lemma. *)
Theorem det_update : forall n g A c v, above n g A -> 0 <= c ->
  det n (update A c v) = det n A * (1 + c * inverse_form n A v).
Proof.
  induction n as [|n IH]; intros g A c v P nonneg; simpl; [ring|].
  pose proof (above_pivot n g A P) as pivot. destruct P as [pos [H K]].
  assert (0 < A 0%nat 0%nat + c * (v 0%nat * v 0%nat)) by (pose proof (Rmult_le_pos c _ nonneg
    (square_nonneg (v 0%nat))); lra). rewrite (det_ext n _ (update (schur A) (c * A 0%nat 0%nat / (A
    0%nat 0%nat + c * (v 0%nat * v 0%nat))) (reduce A v))).
  - rewrite (IH g); [unfold update; field; lra|apply above_schur; unfold above; auto|].
    apply Rmult_le_pos; [nra|left; apply Rinv_0_lt_compat; assumption].
  - intros. unfold schur, first_row, update, reduce, first_row, tail. rewrite (H (S i) 0%nat).
    field. lra. Qed.

Lemma inverse_form_nonneg : forall n g A v, above n g A -> 0 <= inverse_form n A v.
Proof.
  induction n as [|n IH]; intros g A v P; simpl; [lra|]. pose proof (above_pivot n g A P).
  pose proof (IH g _ (reduce A v) (above_schur n g A P)). destruct P as [pos _].
  pose proof (square_nonneg (v 0%nat)). apply Rplus_le_le_0_compat; [|assumption].
  apply Rmult_le_pos; [simpl; lra|]. left. apply Rinv_0_lt_compat. lra. Qed.

(* The form of the inverse is a value of 2 v x - x^T A x, hence at most |v|^2 / g. *)
Lemma inverse_form_reached : forall n g A v, above n g A ->
  exists x, 2 * dot n v x - form n A x = inverse_form n A v.
Proof.
  induction n as [|n IH]; intros g A v P; [exists v; unfold dot, form, range_sum; simpl; lra|].
  pose proof (above_pivot n g A P). destruct (IH g (schur A) (reduce A v)) as [x E]; [apply
    above_schur; assumption|]. destruct P as [pos [H1 _]].
  exists (fun i => match i with O => v 0%nat / A 0%nat 0%nat - dot n (first_row A) x | S j => x j
    end). rewrite form_square, dot_first by (auto; lra). simpl. rewrite <- E. unfold tail.
  change (fun i => x i) with x. replace (dot n (reduce A v) x) with (dot n (fun i => v (S i)) x - v
    0%nat * dot n (first_row A) x).
  - field. lra.
  - unfold dot, range_sum. rewrite <- sum_scale, <- sum_minus. apply sum_ext. intros.
    unfold reduce, tail. ring. Qed.

Lemma inverse_form_le : forall n g A v, above n g A -> inverse_form n A v <= dot n v v / g.
Proof.
  intros n g A v P. destruct (inverse_form_reached n g A v P) as [x <-]. destruct P as [pos [_ K]].
  specialize (K x). apply Rle_trans with (2 * dot n v x - g * dot n x x); [lra|].
  unfold dot, range_sum, Rdiv. rewrite (Rmult_comm _ (/ g)), <- !sum_scale, <- sum_minus.
  apply sum_le. intros i. assert (0 < / g) by (apply Rinv_0_lt_compat; assumption).
  replace (/ g * (v i * v i)) with (2 * (v i * x i) - g * (x i * x i)
    + / g * ((v i - g * x i) * (v i - g * x i))) by (field; lra).
  pose proof (square_nonneg (v i - g * x i)). nra. Qed.

(* Sums of updates of a multiple of the identity are above it. *)
Definition multiple (g : R) : matrix := fun i j => if Nat.eqb i j then g else 0.

Lemma multiple_above : forall n g, 0 < g -> above n g (multiple g).
Proof.
  intros n g pos. split; [assumption|]. split.
  - intros i j. unfold multiple. rewrite Nat.eqb_sym. reflexivity.
  - intros x. right. unfold form, dot, multiple. unfold range_sum at 1. rewrite <- sum_scale.
    apply range_sum_ext. intros i H. rewrite <- (range_sum_pick n (fun j => g * (x i * x j)) i H).
    apply range_sum_ext. intros j _. destruct (Nat.eqb i j); ring. Qed.

Lemma update_above : forall n g A c v, 0 <= c -> above n g A -> above n g (update A c v).
Proof.
  intros n g A c v nonneg [pos [H K]]. split; [assumption|]. split.
  - intros i j. unfold update. rewrite (H i j). ring.
  - intros x. apply Rle_trans with (1 := K x).
    replace (form n (update A c v) x) with (form n A x + c * (dot n v x * dot n v x)).
    + pose proof (Rmult_le_pos c _ nonneg (square_nonneg (dot n v x))). lra.
    + unfold form, update, dot. rewrite <- range_sum_product. unfold range_sum.
      rewrite <- sum_scale, <- sum_plus. apply sum_ext. intros i. rewrite <- sum_scale, <- sum_plus.
      apply sum_ext. intros j. ring. Qed.
