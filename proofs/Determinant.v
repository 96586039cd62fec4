(* Determinants of symmetric matrices above a multiple of the identity, and how they grow when a
   matrix of rank one is added.

   The determinant is the product of the pivots of Gaussian elimination, none of which is 0 here.
   [det_update] is the matrix determinant lemma, [inverse_form] the form of the inverse matrix, and
   [inverse_form_le] and [inverse_form_ge] bound it.

   Not in it: other matrices, and that this is the determinant of Leibniz' formula. *)
Require Import Reals Lra Lia List Bool.
From Ranking Require Import Privacy Counts.
Open Scope R_scope.

Definition matrix : Type := nat -> nat -> R.
Definition symmetric (A : matrix) : Prop := forall i j, A i j = A j i.
Definition dot (n : nat) (x y : nat -> R) : R := range_sum n (fun i => x i * y i).
Definition form (n : nat) (A : matrix) (x : nat -> R) : R :=
  range_sum n (fun i => range_sum n (fun j => A i j * (x i * x j))).

(* A is at least g times the identity. *)
Definition above (n : nat) (g : R) (A : matrix) : Prop := forall x, g * dot n x x <= form n A x.

(* One step of elimination: what is left of A without its first row and column. *)
Definition schur (A : matrix) : matrix :=
  fun i j => A (S i) (S j) - A (S i) 0%nat * A 0%nat (S j) / A 0%nat 0%nat.
Fixpoint det (n : nat) (A : matrix) : R :=
  match n with O => 1 | S m => A 0%nat 0%nat * det m (schur A) end.

(* A + c v v^T, ... *)
Definition update (A : matrix) (c : R) (v : nat -> R) : matrix :=
  fun i j => A i j + c * (v i * v j).
(* ... the same step for the vector v, and v^T A^-1 v. *)
Definition reduce (A : matrix) (v : nat -> R) : nat -> R :=
  fun i => v (S i) - v 0%nat * (A 0%nat (S i) / A 0%nat 0%nat).
Fixpoint inverse_form (n : nat) (A : matrix) (v : nat -> R) : R :=
  match n with
  | O => 0
  | S m => v 0%nat ^ 2 / A 0%nat 0%nat + inverse_form m (schur A) (reduce A v)
  end.

Lemma det_ext : forall n A B, (forall i j, A i j = B i j) -> det n A = det n B.
Proof.
  induction n as [|n IH]; intros A B H; simpl; [reflexivity|].
  rewrite (IH (schur A) (schur B)), H; [reflexivity|]. intros. unfold schur. rewrite !H.
  reflexivity.
Qed.

Lemma schur_symmetric : forall A, symmetric A -> symmetric (schur A).
Proof.
  intros A H i j. unfold schur. rewrite (H (S i) (S j)), (H (S i) 0%nat), (H 0%nat (S j)).
  unfold Rdiv. ring.
Qed.

(* A quadratic form, with the first entry of the vector set apart, ... *)
Lemma form_first : forall n A x, symmetric A -> form (S n) A x = A 0%nat 0%nat * x 0%nat ^ 2
  + 2 * x 0%nat * range_sum n (fun j => A 0%nat (S j) * x (S j))
  + form n (fun i j => A (S i) (S j)) (fun i => x (S i)).
Proof.
  intros n A x H. unfold form. rewrite !range_sum_first.
  rewrite (range_sum_ext n (fun i => range_sum (S n) _)
    (fun i => x 0%nat * (A 0%nat (S i) * x (S i))
    + range_sum n (fun j => A (S i) (S j) * (x (S i) * x (S j))))).
  2: { intros. rewrite range_sum_first, (H (S i) 0%nat). ring. }
  rewrite (range_sum_ext n (fun i => A 0%nat (S i) * _)
    (fun i => x 0%nat * (A 0%nat (S i) * x (S i)))) by (intros; ring).
  unfold range_sum. rewrite sum_plus, !sum_scale. ring.
Qed.

(* ... and completed to a square. *)
Lemma form_square : forall n A x, symmetric A -> A 0%nat 0%nat <> 0 -> form (S n) A x =
  A 0%nat 0%nat * (x 0%nat + range_sum n (fun j => A 0%nat (S j) / A 0%nat 0%nat * x (S j))) ^ 2
  + form n (schur A) (fun i => x (S i)).
Proof.
  intros n A x H ne. rewrite form_first by assumption.
  set (a := A 0%nat 0%nat) in *. set (r := range_sum n (fun j => A 0%nat (S j) * x (S j))).
  assert (range_sum n (fun j => A 0%nat (S j) / a * x (S j)) = r / a) as ->.
  { unfold r, range_sum, Rdiv. rewrite Rmult_comm, <- sum_scale. apply sum_ext. intros. ring. }
  assert (form n (schur A) (fun i => x (S i))
    = form n (fun i j => A (S i) (S j)) (fun i => x (S i)) - r * r / a) as ->; [|field; assumption].
  unfold r, Rdiv. rewrite <- range_sum_product. unfold form, range_sum.
  rewrite Rmult_comm, <- sum_scale, <- sum_minus. apply sum_ext. intros i.
  rewrite <- sum_scale, <- sum_minus. apply sum_ext. intros j.
  unfold schur. fold a. rewrite (H (S i) 0%nat). unfold Rdiv. ring.
Qed.

Lemma dot_first : forall n x y,
  dot (S n) x y = x 0%nat * y 0%nat + dot n (fun i => x (S i)) (fun i => y (S i)).
Proof. intros. apply range_sum_first. Qed.

Lemma dot_nonneg : forall n x, 0 <= dot n x x.
Proof. intros. apply sum_nonneg. intros. apply Rle_0_sqr. Qed.

Lemma above_pivot : forall n g A, symmetric A -> above (S n) g A -> g <= A 0%nat 0%nat.
Proof.
  intros n g A H K. specialize (K (fun i => if Nat.eqb i 0 then 1 else 0)).
  rewrite form_first, dot_first in K by assumption. unfold form, dot in K. simpl in K.
  assert (forall f, (forall i, f i = 0) -> range_sum n f = 0) as zero.
  { intros f E. unfold range_sum. rewrite (sum_ext _ (fun _ => 0)) by assumption. apply sum_zero. }
  rewrite (zero (fun i => 0 * 0)), (zero (fun j => A 0%nat (S j) * 0)),
    (zero (fun i => range_sum n (fun j => A (S i) (S j) * (0 * 0)))) in K; intros; try ring;
      [lra|]. apply zero. intros. ring.
Qed.

Lemma above_schur : forall n g A, 0 < g -> symmetric A -> above (S n) g A -> above n g (schur A).
Proof.
  intros n g A pos H K x. pose proof (above_pivot n g A H K) as pivot.
  set (r := range_sum n (fun j => A 0%nat (S j) / A 0%nat 0%nat * x j)).
  specialize (K (fun i => match i with O => - r | S j => x j end)).
  rewrite form_square in K by (auto; lra). rewrite dot_first in K. fold r in K.
  change (fun i => x i) with x in K. nra.
Qed.

Lemma det_positive : forall n g A, 0 < g -> symmetric A -> above n g A -> 0 < det n A.
Proof.
  induction n as [|n IH]; intros g A pos H K; simpl; [lra|].
  pose proof (above_pivot n g A H K). apply Rmult_lt_0_compat; [lra|].
  apply IH with g; auto using schur_symmetric, above_schur.
Qed.

Lemma schur_update : forall A c v i j, symmetric A -> 0 < A 0%nat 0%nat -> 0 <= c ->
  schur (update A c v) i j = update (schur A)
    (c * A 0%nat 0%nat / (A 0%nat 0%nat + c * (v 0%nat * v 0%nat))) (reduce A v) i j.
Proof.
  intros A c v i j H pos nonneg. unfold schur, update, reduce. rewrite (H (S i) 0%nat).
  pose proof (Rmult_le_pos c _ nonneg (Rle_0_sqr (v 0%nat))) as K. unfold Rsqr in K.
  field. split; lra.
Qed.

Theorem det_update : forall n g A c v, 0 < g -> symmetric A -> above n g A -> 0 <= c ->
  det n (update A c v) = det n A * (1 + c * inverse_form n A v).
Proof.
  induction n as [|n IH]; intros g A c v pos H K nonneg; simpl; [ring|].
  pose proof (above_pivot n g A H K) as pivot.
  assert (0 < A 0%nat 0%nat + c * (v 0%nat * v 0%nat))
    by (pose proof (Rmult_le_pos c _ nonneg (Rle_0_sqr (v 0%nat))); unfold Rsqr in *; lra).
  rewrite (det_ext n _ _ (fun i j => schur_update A c v i j H ltac:(lra) nonneg)).
  rewrite (IH g); auto using schur_symmetric, above_schur.
  - unfold update. field. lra.
  - apply Rmult_le_pos; [apply Rmult_le_pos; lra|left; apply Rinv_0_lt_compat; assumption].
Qed.

(* The form of the inverse is the largest value of 2 v x - x^T A x. *)
Lemma inverse_form_terms : forall n A v x, symmetric A -> A 0%nat 0%nat <> 0 ->
  2 * dot (S n) v x - form (S n) A x =
  (v 0%nat ^ 2 / A 0%nat 0%nat - A 0%nat 0%nat * (x 0%nat
    + range_sum n (fun j => A 0%nat (S j) / A 0%nat 0%nat * x (S j)) - v 0%nat / A 0%nat 0%nat) ^ 2)
  + (2 * dot n (reduce A v) (fun i => x (S i)) - form n (schur A) (fun i => x (S i))).
Proof.
  intros n A v x H ne. rewrite form_square by assumption. rewrite dot_first.
  assert (dot n (reduce A v) (fun i => x (S i)) = dot n (fun i => v (S i)) (fun i => x (S i))
    - v 0%nat * range_sum n (fun j => A 0%nat (S j) / A 0%nat 0%nat * x (S j))) as ->.
  { unfold dot, range_sum. rewrite <- sum_scale, <- sum_minus. apply sum_ext. intros.
    unfold reduce. ring. }
  field. assumption.
Qed.

Lemma inverse_form_ge : forall n g A v x, 0 < g -> symmetric A -> above n g A ->
  2 * dot n v x - form n A x <= inverse_form n A v.
Proof.
  induction n as [|n IH]; intros g A v x pos H K; [unfold dot, form, range_sum; simpl; lra|].
  pose proof (above_pivot n g A H K) as pivot. rewrite inverse_form_terms by (auto; lra). simpl.
  apply Rplus_le_compat; [|apply (IH g); auto using schur_symmetric, above_schur].
  match goal with |- _ - _ * (?s * (?s * 1)) <= _ => pose proof (Rle_0_sqr s) end.
  unfold Rsqr in *. nra.
Qed.

Lemma inverse_form_reached : forall n g A v, 0 < g -> symmetric A -> above n g A ->
  exists x, 2 * dot n v x - form n A x = inverse_form n A v.
Proof.
  induction n as [|n IH]; intros g A v pos H K.
  - exists v. unfold dot, form, range_sum. simpl. lra.
  - pose proof (above_pivot n g A H K) as pivot.
    destruct (IH g (schur A) (reduce A v)) as [x E]; auto using schur_symmetric, above_schur.
    exists (fun i => match i with O => v 0%nat / A 0%nat 0%nat
      - range_sum n (fun j => A 0%nat (S j) / A 0%nat 0%nat * x j) | S j => x j end).
    rewrite inverse_form_terms by (auto; lra). simpl. rewrite <- E.
    change (fun i => x i) with x. ring.
Qed.

Lemma inverse_form_nonneg : forall n g A v, 0 < g -> symmetric A -> above n g A ->
  0 <= inverse_form n A v.
Proof.
  intros n g A v pos H K. pose proof (inverse_form_ge n g A v (fun _ => 0) pos H K) as L.
  unfold dot, form, range_sum in L.
  rewrite (sum_ext _ (fun _ => 0)), (sum_ext (fun i => sum _ _) (fun _ => 0)) in L.
  - rewrite !sum_zero in L. lra.
  - intros. rewrite (sum_ext _ (fun _ => 0)) by (intros; ring). apply sum_zero.
  - intros. ring.
Qed.

Lemma inverse_form_le : forall n g A v, 0 < g -> symmetric A -> above n g A ->
  inverse_form n A v <= dot n v v / g.
Proof.
  intros n g A v pos H K. destruct (inverse_form_reached n g A v pos H K) as [x <-].
  specialize (K x). apply Rle_trans with (2 * dot n v x - g * dot n x x); [lra|].
  unfold dot, range_sum, Rdiv. rewrite (Rmult_comm _ (/ g)), <- !sum_scale, <- sum_minus.
  apply sum_le. intros i. assert (0 < / g) by (apply Rinv_0_lt_compat; assumption).
  replace (/ g * (v i * v i)) with (2 * (v i * x i) - g * (x i * x i) + / g * (v i - g * x i) ^ 2)
    by (field; lra).
  pose proof (Rle_0_sqr (v i - g * x i)). unfold Rsqr in *. simpl. nra.
Qed.

(* Sums of updates of a multiple of the identity. *)
Lemma form_update : forall n A c v x, form n (update A c v) x = form n A x + c * dot n v x ^ 2.
Proof.
  intros. unfold form, update. simpl. unfold dot. rewrite Rmult_1_r, <- range_sum_product.
  unfold range_sum. rewrite <- sum_scale, <- sum_plus. apply sum_ext. intros i.
  rewrite <- sum_scale, <- sum_plus. apply sum_ext. intros j. ring.
Qed.

Lemma update_symmetric : forall A c v, symmetric A -> symmetric (update A c v).
Proof. intros A c v H i j. unfold update. rewrite (H i j). ring. Qed.

Lemma update_above : forall n g A c v, 0 <= c -> above n g A -> above n g (update A c v).
Proof.
  intros n g A c v pos H x. rewrite form_update. specialize (H x).
  pose proof (pow2_ge_0 (dot n v x)). nra.
Qed.

Definition multiple (g : R) : matrix := fun i j => if Nat.eqb i j then g else 0.

Lemma multiple_form : forall n g x, form n (multiple g) x = g * dot n x x.
Proof.
  intros. unfold form, dot, multiple. unfold range_sum at 3. rewrite <- sum_scale.
  apply range_sum_ext. intros i H.
  rewrite <- (range_sum_pick n (fun j => g * (x i * x j)) i H) at 1.
  apply range_sum_ext. intros j _. destruct (Nat.eqb i j); ring.
Qed.

Lemma multiple_symmetric : forall g, symmetric (multiple g).
Proof. intros g i j. unfold multiple. rewrite Nat.eqb_sym. reflexivity. Qed.
