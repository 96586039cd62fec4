(* Certificates of kind "laws": what one that passes [check] proves, for every epsilon >= 0.

   A certificate gives, for finitely many data sets, the weights of finitely many outcomes as
   polynomials with whole coefficients in t = exp(epsilon / power), and for some pairs of data sets
   a polynomial that bounds the quotient of their chances.  [check] multiplies everything out,
   replaces t by 1 + s, and looks for negative coefficients: where there are none, the polynomial is
   at least 0 for every t >= 1.  (A true inequality may fail this test; then [check] says false.)

   An export of a certificate (constants first, in the order of the file) reads

     From Ranking Require Import Privacy Certificates.
     Definition XSC_RR : certificate := {| power := 1; bounds := [[0; 1]]%Z; order := [];
       laws := [[[0; 1]; [1]]; [[1]; [0; 1]]]%Z; pairs := [(0, 1, 0, true); (1, 0, 0, true)]%nat |}.
     Theorem XSC_RR_checked : check XSC_RR = true.
     Proof. vm_cast_no_check (eq_refl true). Qed.

   Then [sound], [sharp] and [ordered] speak of it.  If all bounds are e^(k epsilon) and some pair
   is sharp, [exactly] says that it is k epsilon-private and no less:

     Theorem XSC_RR_exactly : forall epsilon, 0 < epsilon -> forall e,
       private (listed XSC_RR) e (chance XSC_RR epsilon) <-> INR 1 * epsilon <= e.
     Proof. exact (exactly XSC_RR 1 XSC_RR_checked ltac:(vm_cast_no_check (eq_refl true))). Qed.

   Not in it: that the weights are those of the mechanism which the labels name (the second program
   of the book derives them again), and that the pairs are all neighbours. *)
Require Import Reals Lra Lia List Bool ZArith.
From Ranking Require Import Privacy.
Import ListNotations.

(* ------------------------------------------------------------------ polynomials *)

(* Whole coefficients, the constant first. *)
Definition poly := list Z.

Fixpoint add (p q : poly) : poly :=
  match p, q with
  | [], _ => q
  | _, [] => p
  | a :: p', b :: q' => (a + b)%Z :: add p' q'
  end.

Definition scale (c : Z) (p : poly) : poly := map (Z.mul c) p.

Definition sub (p q : poly) : poly := add p (scale (-1) q).

Fixpoint mul (p q : poly) : poly :=
  match p with
  | [] => []
  | a :: p' =>
      let rest := 0%Z :: mul p' q in if Z.eqb a 0 then rest else add (scale a q) rest
  end.

(* The polynomial in s = t - 1. *)
Fixpoint shift (p : poly) : poly :=
  match p with
  | [] => []
  | a :: p' => let r := shift p' in add [a] (add r (0%Z :: r))
  end.

Definition total (l : list poly) : poly := fold_right add [] l.

(* The monomial t^k. *)
Definition monomial (k : nat) : poly := repeat 0%Z k ++ [1%Z].

Definition no_negative (p : poly) : bool := forallb (Z.leb 0) p.
Definition is_zero (p : poly) : bool := forallb (Z.eqb 0) p.

(* At least 0 for t >= 1; more than 0 for t > 1; more than 0 for t >= 1. *)
Definition nonneg (p : poly) : bool := no_negative (shift p).
Definition grows (p : poly) : bool :=
  let q := shift p in no_negative q && existsb (Z.ltb 0) q.
Definition positive (p : poly) : bool :=
  match shift p with a :: r => Z.ltb 0 a && no_negative r | [] => false end.

(* ------------------------------------------------------------------ certificates *)

Record certificate := {
  power : nat;                              (* t = exp(epsilon / power) *)
  bounds : list poly;
  order : list (nat * nat);                 (* (i, j): bound i is less than bound j for t > 1 *)
  laws : list (list poly);                  (* for each data set, for each outcome a weight *)
  pairs : list (nat * nat * nat * bool)     (* two data sets, the number of a bound, sharp *)
}.

Definition law (c : certificate) (x : nat) : list poly := nth x (laws c) [].
Definition weight (c : certificate) (x o : nat) : poly := nth o (law c x) [].
Definition bound (c : certificate) (b : nat) : poly := nth b (bounds c) [].
Definition outcomes (c : certificate) : nat := length (law c 0).

(* Two totals, which cancel where they are the same. *)
Definition reduced (zp zq : poly) : poly * poly :=
  if is_zero (sub zp zq) then ([1%Z], [1%Z]) else (zp, zq).

(* Bound times the chance q / zq, minus the chance p / zp, times both totals. *)
Definition gap (bound_zp zq p q : poly) : poly := sub (mul bound_zp q) (mul p zq).

(* For each outcome: is the gap at least 0?  And is it 0 where the chance is not? *)
Definition gaps_ok (gaps : list (poly * poly)) : bool := forallb (fun g => nonneg (snd g)) gaps.
Definition tight (g : poly * poly) : bool := if is_zero (snd g) then grows (fst g) else false.

(* The weight and the gap of each outcome, where x is compared with y. *)
Definition gaps (b : poly) (x y : list poly * poly) : list (poly * poly) :=
  let z := reduced (snd x) (snd y) in
  let bz := mul b (fst z) in
  map (fun pq => (fst pq, gap bz (snd z) (fst pq) (snd pq))) (combine (fst x) (fst y)).

Definition pair_ok (b : poly) (x y : list poly * poly) (sharp : bool) : bool :=
  let all := gaps b x y in gaps_ok all && eqb sharp (existsb tight all).

Definition law_ok (n : nat) (l : list poly) : bool :=
  Nat.eqb (length l) n && forallb nonneg l && positive (total l).

Definition check (c : certificate) : bool :=
  let with_totals := map (fun l => (l, total l)) (laws c) in
  let number := length (laws c) in
  Nat.ltb 0 (power c)
  && forallb (law_ok (outcomes c)) (laws c)
  && forallb (fun ij => grows (sub (bound c (snd ij)) (bound c (fst ij)))) (order c)
  && forallb (fun pair => match pair with (x, y, b, s) =>
       Nat.ltb x number && Nat.ltb y number
       && pair_ok (bound c b) (nth x with_totals ([], [])) (nth y with_totals ([], [])) s
     end) (pairs c).

(* The bound b is t^(k power) = e^(k epsilon); and the pairs with such a bound. *)
Definition of_power (c : certificate) (k b : nat) : bool :=
  is_zero (sub (bound c b) (monomial (k * power c))).
Definition pair_of_power (c : certificate) (k x y : nat) : Prop :=
  exists b s, In (x, y, b, s) (pairs c) /\ of_power c k b = true.

(* ------------------------------------------------------------------ the values of polynomials *)

Open Scope R_scope.

Fixpoint eval (p : poly) (t : R) : R :=
  match p with [] => 0 | a :: p' => IZR a + t * eval p' t end.

Lemma eval_add : forall p q t, eval (add p q) t = eval p t + eval q t.
Proof. induction p as [|a p IH]; intros [|b q] t; simpl; rewrite ?plus_IZR, ?IH; lra. Qed.

Lemma eval_scale : forall c p t, eval (scale c p) t = IZR c * eval p t.
Proof. induction p as [|a p IH]; intros t; simpl; [|rewrite mult_IZR, IH]; lra. Qed.

Lemma eval_sub : forall p q t, eval (sub p q) t = eval p t - eval q t.
Proof. intros. unfold sub. rewrite eval_add, eval_scale. simpl. lra. Qed.

Lemma eval_mul : forall p q t, eval (mul p q) t = eval p t * eval q t.
Proof.
  induction p as [|a p IH]; intros q t; simpl; [lra|]. destruct (Z.eqb_spec a 0) as [->|_].
  - simpl. rewrite IH. lra.
  - rewrite eval_add, eval_scale. simpl. rewrite IH. lra.
Qed.

Lemma eval_shift : forall p t, eval (shift p) (t - 1) = eval p t.
Proof.
  induction p as [|a p IH]; intros t; [reflexivity|].
  change (shift (a :: p)) with (add [a] (add (shift p) (0%Z :: shift p))).
  rewrite !eval_add. simpl. rewrite IH. lra.
Qed.

Lemma eval_total : forall l t, eval (total l) t = sum (fun p => eval p t) l.
Proof. induction l as [|p l IH]; intros t; simpl; [|rewrite eval_add, IH]; lra. Qed.

Lemma eval_monomial : forall k t, eval (monomial k) t = t ^ k.
Proof. unfold monomial. induction k as [|k IH]; intros t; simpl in *; [|rewrite IH]; lra. Qed.

Lemma eval_no_negative : forall p s, no_negative p = true -> 0 <= s -> 0 <= eval p s.
Proof.
  induction p as [|a p IH]; intros s H pos; simpl in *; [lra|].
  apply andb_prop in H as [Ha Hp]. apply Z.leb_le, IZR_le in Ha.
  pose proof (Rmult_le_pos s _ pos (IH s Hp pos)). lra.
Qed.

Lemma eval_nonneg : forall p t, nonneg p = true -> 1 <= t -> 0 <= eval p t.
Proof. intros p t H. intros. rewrite <- eval_shift. apply eval_no_negative; [exact H|lra]. Qed.

Lemma eval_positive : forall p t, positive p = true -> 1 <= t -> 0 < eval p t.
Proof.
  intros p t H one. rewrite <- eval_shift. unfold positive in H.
  destruct (shift p) as [|a r]; [discriminate|]. apply andb_prop in H as [Ha Hr].
  apply Z.ltb_lt, IZR_lt in Ha. assert (0 <= t - 1) as s by lra. simpl.
  pose proof (Rmult_le_pos _ _ s (eval_no_negative _ _ Hr s)). lra.
Qed.

Lemma eval_zero : forall p t, is_zero p = true -> eval p t = 0.
Proof.
  induction p as [|a p IH]; intros t H; simpl in *; [lra|]. apply andb_prop in H as [Ha Hp].
  destruct a; try discriminate. rewrite (IH t Hp). lra.
Qed.

Lemma eval_grows : forall p t, grows p = true -> 1 < t -> 0 < eval p t.
Proof.
  intros p t H one. rewrite <- eval_shift. unfold grows in H. assert (0 < t - 1) as pos by lra.
  apply andb_prop in H as [H K]. revert H K. generalize (t - 1), pos. clear.
  induction (shift p) as [|a q IH]; intros s pos H K; simpl in *; [discriminate|].
  apply andb_prop in H as [Ha Hq]. apply Z.leb_le, IZR_le in Ha.
  apply orb_prop in K as [K|K].
  - apply Z.ltb_lt, IZR_lt in K. assert (0 <= s) as s0 by lra.
    pose proof (Rmult_le_pos _ _ s0 (eval_no_negative _ _ Hq s0)). lra.
  - pose proof (Rmult_lt_0_compat _ _ pos (IH s pos Hq K)). lra.
Qed.

(* ------------------------------------------------------------------ what a certificate proves *)

(* The value of t, the chance of outcome o for data set x, and the value of bound b. *)
Definition base (c : certificate) (epsilon : R) : R := exp (epsilon / INR (power c)).
Definition chance (c : certificate) (epsilon : R) (x o : nat) : R :=
  eval (weight c x o) (base c epsilon) / eval (total (law c x)) (base c epsilon).
Definition limit (c : certificate) (epsilon : R) (b : nat) : R := eval (bound c b) (base c epsilon).

Section Soundness.
Variable c : certificate.
Hypothesis checked : check c = true.
Variable epsilon : R.
Hypothesis epsilon_nonneg : 0 <= epsilon.

Let t := base c epsilon.

Lemma checked_parts :
  (0 < power c)%nat /\ Forall (fun l => law_ok (outcomes c) l = true) (laws c)
  /\ (forall i j, In (i, j) (order c) -> grows (sub (bound c j) (bound c i)) = true)
  /\ (forall x y b s, In (x, y, b, s) (pairs c) -> (x < length (laws c))%nat
     /\ (y < length (laws c))%nat
     /\ pair_ok (bound c b) (law c x, total (law c x)) (law c y, total (law c y)) s = true).
Proof.
  pose proof checked as H. unfold check in H. apply andb_prop in H as [H pairs_ok].
  apply andb_prop in H as [H order_ok]. apply andb_prop in H as [power_ok laws_ok].
  split; [|split; [|split]].
  - apply Nat.ltb_lt. assumption.
  - apply Forall_forall, forallb_forall. assumption.
  - intros i j K. rewrite forallb_forall in order_ok. apply (order_ok _ K).
  - intros x y b s H. rewrite forallb_forall in pairs_ok. apply pairs_ok in H as K. simpl in K.
    apply andb_prop in K as [K ok]. apply andb_prop in K as [Kx Ky].
    apply Nat.ltb_lt in Kx, Ky. set (f := fun l => (l, total l)) in ok.
    change ([], []) with (f []) in ok. rewrite !map_nth in ok. auto.
Qed.

Lemma power_positive : 0 < INR (power c).
Proof. apply lt_0_INR. apply checked_parts. Qed.

Lemma base_at_least_1 : 1 <= t.
Proof.
  unfold t, base. rewrite <- exp_0. apply exp_le. unfold Rdiv.
  apply Rmult_le_pos; [assumption|]. left. apply Rinv_0_lt_compat, power_positive.
Qed.

Lemma base_more_than_1 : 0 < epsilon -> 1 < t.
Proof.
  intros pos. unfold t, base. rewrite <- exp_0. apply exp_increasing.
  apply Rdiv_lt_0_compat; [assumption|apply power_positive].
Qed.

(* t^(k power) = e^(k epsilon). *)
Lemma base_power : forall k, t ^ (k * power c) = exp (INR k * epsilon).
Proof.
  intros k. unfold t, base. rewrite <- Rpower_pow by apply exp_pos. unfold Rpower.
  rewrite ln_exp, mult_INR. f_equal. field. pose proof power_positive. lra.
Qed.

Lemma law_checked : forall x, (x < length (laws c))%nat -> length (law c x) = outcomes c
  /\ (forall o, 0 <= eval (weight c x o) t) /\ 0 < eval (total (law c x)) t.
Proof.
  intros x H. destruct checked_parts as (_ & all & _). rewrite Forall_forall in all.
  specialize (all (law c x) (nth_In _ _ H)). unfold law_ok in all.
  apply andb_prop in all as [all pos]. apply andb_prop in all as [len all].
  repeat split; [apply Nat.eqb_eq; assumption| |apply eval_positive; auto using base_at_least_1].
  intros o. unfold weight. rewrite forallb_forall in all.
  destruct (nth_in_or_default o (law c x) []) as [K| ->]; [|simpl; lra].
  apply eval_nonneg; auto using base_at_least_1.
Qed.

(* The chances of every data set are a law. *)
Theorem chance_law : forall x, (x < length (laws c))%nat ->
  finite_law (seq 0 (outcomes c)) (chance c epsilon x).
Proof.
  intros x H. destruct (law_checked x H) as (len & nonneg & pos). split.
  - intros o. unfold chance, Rdiv. apply Rmult_le_pos; [apply nonneg|].
    left. apply Rinv_0_lt_compat. exact pos.
  - unfold chance, Rdiv. fold t.
    rewrite (sum_ext _ (fun o => / eval (total (law c x)) t * eval (weight c x o) t))
      by (intros; ring). rewrite sum_scale.
    enough (sum (fun o => eval (weight c x o) t) (seq 0 (outcomes c))
      = eval (total (law c x)) t) as -> by (field; lra).
    rewrite eval_total, <- len. unfold weight. clear.
    induction (law c x) as [|p l IH]; [reflexivity|].
    change (length (p :: l)) with (S (length l)). simpl. rewrite <- seq_shift, sum_map, IH.
    reflexivity.
Qed.

(* The gap of one outcome, and the list of all. *)
Definition gap_of (b : poly) (x y o : nat) : poly :=
  let z := reduced (total (law c x)) (total (law c y)) in
  gap (mul b (fst z)) (snd z) (weight c x o) (weight c y o).

Lemma gaps_nth : forall b x y o, length (law c x) = length (law c y) ->
  (o < length (law c x))%nat ->
  nth_error (gaps b (law c x, total (law c x)) (law c y, total (law c y))) o
  = Some (weight c x o, gap_of b x y o).
Proof.
  intros b x y o. unfold gaps, gap_of, weight. simpl. set (z := reduced _ _).
  clearbody z. generalize (law c y), (law c x), o. clear.
  intros q p. revert q. induction p as [|a p IH]; intros [|b' q] o len H; simpl in *; try lia.
  destruct o as [|o]; simpl; [reflexivity|]. apply IH; lia.
Qed.

Lemma gap_value : forall x y b o, (x < length (laws c))%nat -> (y < length (laws c))%nat ->
  exists m, 0 < m /\ eval (gap_of (bound c b) x y o) t
    = m * (limit c epsilon b * chance c epsilon y o - chance c epsilon x o).
Proof.
  intros x y b o Hx Hy. destruct (law_checked x Hx) as (_ & _ & px).
  destruct (law_checked y Hy) as (_ & _ & py). unfold gap_of, gap, reduced, limit, chance. fold t.
  destruct (is_zero _) eqn:same.
  - exists (eval (total (law c x)) t). split; [assumption|]. apply eval_zero with (t := t) in same.
    rewrite eval_sub in same. replace (eval (total (law c y)) t) with (eval (total (law c x)) t)
      by lra. rewrite eval_sub, !eval_mul. simpl. field. lra.
  - exists (eval (total (law c x)) t * eval (total (law c y)) t).
    split; [apply Rmult_lt_0_compat; assumption|]. rewrite eval_sub, !eval_mul. simpl. field. lra.
Qed.

(* SOUNDNESS: a certificate that passes [check] bounds every chance, for every epsilon >= 0. *)
Theorem sound : forall x y b s, In (x, y, b, s) (pairs c) ->
  forall o, chance c epsilon x o <= limit c epsilon b * chance c epsilon y o.
Proof.
  intros x y b s H o. destruct checked_parts as (_ & _ & _ & all).
  destruct (all x y b s H) as (Hx & Hy & ok).
  destruct (law_checked x Hx) as (lx & _ & px). destruct (law_checked y Hy) as (ly & _ & py).
  destruct (Nat.lt_ge_cases o (length (law c x))) as [inside|outside].
  - apply andb_prop in ok as [ok _]. unfold gaps_ok in ok. rewrite forallb_forall in ok.
    pose proof (gaps_nth (bound c b) x y o ltac:(congruence) inside) as K.
    apply nth_error_In, ok in K. simpl in K. apply eval_nonneg with (t := t) in K;
      [|apply base_at_least_1]. destruct (gap_value x y b o Hx Hy) as (m & pos & E).
    rewrite E in K. apply Rnot_lt_le. intros less.
    assert (0 < chance c epsilon x o - limit c epsilon b * chance c epsilon y o) as more by lra.
    pose proof (Rmult_lt_0_compat _ _ pos more). lra.
  - assert (weight c x o = [] /\ weight c y o = []) as [ex ey]
      by (split; apply nth_overflow; congruence || lia).
    unfold chance. rewrite ex, ey. simpl. unfold Rdiv. lra.
Qed.

(* SHARPNESS: of a pair that is marked sharp, some outcome meets the bound, and it can occur. *)
Theorem sharp : forall x y b, In (x, y, b, true) (pairs c) ->
  exists o, (o < outcomes c)%nat
    /\ chance c epsilon x o = limit c epsilon b * chance c epsilon y o
    /\ (0 < epsilon -> 0 < chance c epsilon x o).
Proof.
  intros x y b H. destruct checked_parts as (_ & _ & _ & all).
  destruct (all x y b true H) as (Hx & Hy & ok).
  destruct (law_checked x Hx) as (lx & _ & px). destruct (law_checked y Hy) as (ly & _ & py).
  apply andb_prop in ok as [_ ok]. apply eqb_prop in ok. symmetry in ok.
  apply existsb_exists in ok as [[w g] [K sharp]].
  apply In_nth_error in K as [o K]. pose proof K as L.
  assert (o < length (law c x))%nat as inside.
  { assert (nth_error (gaps (bound c b) (law c x, total (law c x)) (law c y, total (law c y))) o
      <> None) as M by congruence. apply nth_error_Some in M. unfold gaps in M.
    rewrite map_length, combine_length in M. simpl in M. lia. }
  rewrite gaps_nth in K by congruence || assumption. injection K as <- <-.
  exists o. split; [lia|]. unfold tight in sharp. simpl in sharp.
  destruct (is_zero _) eqn:zero in sharp; [|discriminate]. split.
  - apply eval_zero with (t := t) in zero. destruct (gap_value x y b o Hx Hy) as (m & pos & E).
    rewrite E in zero. apply Rmult_integral in zero. lra.
  - intros pos. apply Rdiv_lt_0_compat; [|assumption].
    apply eval_grows; [assumption|apply base_more_than_1; assumption].
Qed.

(* ORDER: of two bounds. *)
Theorem ordered : forall i j, In (i, j) (order c) ->
  limit c epsilon i <= limit c epsilon j /\ (0 < epsilon -> limit c epsilon i < limit c epsilon j).
Proof.
  intros i j H. destruct checked_parts as (_ & _ & all & _). apply all in H. split.
  - apply andb_prop in H as [H _]. apply eval_nonneg with (t := t) in H;
      [|apply base_at_least_1]. rewrite eval_sub in H. unfold limit. fold t. lra.
  - intros pos. apply eval_grows with (t := t) in H; [|apply base_more_than_1; assumption].
    rewrite eval_sub in H. unfold limit. fold t. lra.
Qed.

(* The pairs whose bound is t^(k power) = e^(k epsilon). *)
Lemma limit_of_power : forall k b, of_power c k b = true ->
  limit c epsilon b = exp (INR k * epsilon).
Proof.
  intros k b H. apply eval_zero with (t := t) in H.
  rewrite eval_sub, eval_monomial, base_power in H. unfold limit. fold t. lra.
Qed.

(* PRIVACY: for these pairs the mechanism is k epsilon-private; k = 1 is e^epsilon. *)
Theorem power_private : forall k, private (pair_of_power c k) (INR k * epsilon) (chance c epsilon).
Proof.
  intros k x y o (b & s & H & power). rewrite <- (limit_of_power k b power).
  apply sound with s. assumption.
Qed.

(* And for no smaller epsilon if one of them is sharp. *)
Theorem power_least : forall k x y b less, 0 < epsilon ->
  In (x, y, b, true) (pairs c) -> of_power c k b = true ->
  private (pair_of_power c k) less (chance c epsilon) -> INR k * epsilon <= less.
Proof.
  intros k x y b less pos H power safe. destruct (sharp x y b H) as (o & _ & equal & can).
  specialize (can pos). rewrite (limit_of_power k b power) in equal.
  assert (pair_of_power c k x y) as near by (exists b, true; auto).
  specialize (safe x y o near). rewrite equal in safe, can.
  assert (0 < chance c epsilon y o) as other.
  { pose proof (exp_pos (INR k * epsilon)).
    apply Rmult_lt_reg_l with (exp (INR k * epsilon)); lra. }
  apply Rmult_le_reg_r in safe; [|assumption]. apply Rnot_lt_le. intros K.
  apply exp_increasing in K. lra.
Qed.

End Soundness.

(* A certificate all of whose pairs have the bound e^(k epsilon), one of them sharp, is that of a
   mechanism which is k epsilon-private, exactly: both tests are computed as [check] is. *)
Definition all_of_power (c : certificate) (k : nat) : bool :=
  forallb (fun pair => of_power c k (snd (fst pair))) (pairs c) && existsb snd (pairs c).
Definition listed (c : certificate) (x y : nat) : Prop := exists b s, In (x, y, b, s) (pairs c).

Theorem exactly : forall c k, check c = true -> all_of_power c k = true ->
  forall epsilon, 0 < epsilon -> forall e,
  private (listed c) e (chance c epsilon) <-> INR k * epsilon <= e.
Proof.
  intros c k ok all epsilon pos e. apply andb_prop in all as [all some].
  rewrite forallb_forall in all.
  assert (forall x y, listed c x y <-> pair_of_power c k x y) as same.
  { intros x y. split; intros (b & s & H); exists b, s; [|apply H].
    split; [exact H|apply (all _ H)]. }
  apply existsb_exists in some as [[[[x y] b] s] [H K]]. simpl in K. subst s. split.
  - intros safe. apply (power_least c ok epsilon ltac:(lra) k x y b e pos H (all _ H)).
    intros x' y' o near. apply safe, same, near.
  - intros more x' y' o near. apply same in near.
    pose proof (power_private c ok epsilon ltac:(lra) k x' y' o near) as safe.
    apply Rle_trans with (1 := safe). destruct near as (b' & s' & near & _).
    apply Rmult_le_compat_r; [|apply exp_le; assumption].
    destruct (checked_parts c ok) as (_ & _ & _ & inside). apply inside in near.
    apply chance_law; [assumption|lra|apply near].
Qed.

(* ------------------------------------------------------------------ example and controls *)

(* Randomised response of one answer, as it is exported ... *)
Definition example (b : Z) (k : nat) (sharp : bool) : certificate := {|
  power := 1; bounds := [repeat 0 k ++ [b]]%Z; order := [];
  laws := [[[0; 1]; [1]]; [[1]; [0; 1]]]%Z;
  pairs := [(0, 1, 0, sharp); (1, 0, 0, sharp)]%nat |}.

Theorem example_checked : check (example 1 1 true) = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

(* ... is the mechanism of [Privacy]; what [sound] says of it: *)
Definition bit (x : nat) : bool := Nat.eqb x 0.

Lemma example_chance : forall epsilon x o, (x < 2)%nat -> (o < 2)%nat ->
  chance (example 1 1 true) epsilon x o = answer epsilon (bit x) (bit o).
Proof.
  intros e [|[|x]] [|[|o]] Hx Ho; try lia; unfold chance, base, answer, weight, law; simpl;
    unfold Rdiv; rewrite Rinv_1, Rmult_1_r; pose proof (exp_pos e); field; lra.
Qed.

Theorem example_sound : forall epsilon x o, 0 <= epsilon -> (x < 2)%nat -> (o < 2)%nat ->
  answer epsilon (bit x) (bit o) <= exp epsilon * answer epsilon (bit (1 - x)) (bit o).
Proof.
  intros e x o pos Hx Ho. rewrite <- !example_chance by lia.
  assert (limit (example 1 1 true) e 0 = exp e) as <-.
  { rewrite (limit_of_power _ example_checked e 1) by reflexivity. f_equal. simpl. ring. }
  apply (sound _ example_checked e pos x (1 - x) 0 true).
  destruct x as [|[|x]]; simpl; [auto|auto|lia].
Qed.

(* It loses exactly epsilon. *)
Theorem example_exactly : forall epsilon, 0 < epsilon -> forall e,
  private (listed (example 1 1 true)) e (chance (example 1 1 true) epsilon)
  <-> INR 1 * epsilon <= e.
Proof. exact (exactly _ 1 example_checked ltac:(vm_cast_no_check (eq_refl true))). Qed.

(* False certificates are refused: a smaller exponent, a smaller constant, a flag that is wrong. *)
Theorem example_control : check (example 1 0 true) = false /\ check (example 1 0 false) = false
  /\ check (example 0 1 false) = false /\ check (example 1 1 false) = false
  /\ check (example 1 2 true) = false /\ check (example 1 2 false) = true.
Proof. repeat split; reflexivity. Qed.
