(* Certificates of kind "laws": what one that passes [check] proves, for every epsilon >= 0.

   A certificate gives, for finitely many data sets, the weights of finitely many outcomes as
   polynomials with whole coefficients in t = exp(epsilon / power), and for some pairs of data sets
   a polynomial that bounds the quotient of their chances.  [check] multiplies out, replaces t by
   1 + s and looks for negative coefficients: without any, a polynomial is at least 0 for t >= 1.
   (A true inequality may fail this test; then [check] says false.)  An export reads

     Definition XSC_RR : certificate := {| power := 1; bounds := [[0; 1]]%Z; order := [];
       laws := [[[0; 1]; [1]]; [[1]; [0; 1]]]%Z; pairs := [(0, 1, 0, true); (1, 0, 0, true)]%nat |}.
     Theorem XSC_RR_checked : check XSC_RR = true. Proof. vm_cast_no_check (eq_refl true). Qed.

   and then [sound], [sharp], [ordered] and [exactly] speak of it.

   Not in it: that the weights are those of the mechanism which the labels name (the second program
   of the book derives them again), and that the pairs are all neighbours. *)
Require Import Reals Lra Lia List Bool ZArith.
From Ranking Require Import Privacy.
Import ListNotations.

(* ------------------------------------------------------------------ polynomials *)

Definition poly := list Z.  (* the constant first *)

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
  | a :: p' => let rest := 0%Z :: mul p' q in if Z.eqb a 0 then rest else add (scale a q) rest
  end.
Fixpoint shift (p : poly) : poly :=  (* in s = t - 1 *)
  match p with
  | [] => []
  | a :: p' => let r := shift p' in add [a] (add r (0%Z :: r))
  end.
Definition total (l : list poly) : poly := fold_right add [] l.
Definition monomial (k : nat) : poly := repeat 0%Z k ++ [1%Z].

Definition no_negative (p : poly) : bool := forallb (Z.leb 0) p.
Definition is_zero (p : poly) : bool := forallb (Z.eqb 0) p.

(* At least 0 for t >= 1; more than 0 for t > 1; more than 0 for t >= 1. *)
Definition nonneg (p : poly) : bool := no_negative (shift p).
Definition grows (p : poly) : bool := let q := shift p in no_negative q && existsb (Z.ltb 0) q.
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

(* Each outcome's weight p, and the bound times the chance q / zq, minus p / zp, times the totals;
   laws come with their totals. *)
Definition gaps (b : poly) (x y : list poly * poly) : list (poly * poly) :=
  let z := reduced (snd x) (snd y) in
  let bz := mul b (fst z) in
  map (fun pq => (fst pq, sub (mul bz (snd pq)) (mul (fst pq) (snd z)))) (combine (fst x) (fst y)).

(* No gap is negative; and some is 0 where the weight is not, if and only if the pair is sharp. *)
Definition tight (g : poly * poly) : bool := if is_zero (snd g) then grows (fst g) else false.
Definition pair_ok (b : poly) (x y : list poly * poly) (sharp : bool) : bool :=
  let all := gaps b x y in forallb (fun g => nonneg (snd g)) all && eqb sharp (existsb tight all).
Definition law_ok (n : nat) (l : list poly) : bool :=
  Nat.eqb (length l) n && forallb nonneg l && positive (total l).

Definition check (c : certificate) : bool :=
  let with_totals := map (fun l => (l, total l)) (laws c) in
  let number := length (laws c) in
  Nat.ltb 0 (power c) && forallb (law_ok (outcomes c)) (laws c)
  && forallb (fun ij => grows (sub (bound c (snd ij)) (bound c (fst ij)))) (order c)
  && forallb (fun pair => match pair with (x, y, b, s) => Nat.ltb x number && Nat.ltb y number
       && pair_ok (bound c b) (nth x with_totals ([], [])) (nth y with_totals ([], [])) s
     end) (pairs c).

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
  induction p as [|a p IH]; intros q t; simpl; [lra|].
  destruct (Z.eqb_spec a 0) as [->|_]; rewrite ?eval_add, ?eval_scale; simpl; rewrite IH; lra.
Qed.
Lemma eval_shift : forall p t, eval (shift p) (t - 1) = eval p t.
Proof.
  induction p as [|a p IH]; intros t; [reflexivity|].
  change (shift (a :: p)) with (add [a] (add (shift p) (0%Z :: shift p))).
  rewrite !eval_add. simpl. rewrite IH. lra.
Qed.
Lemma eval_monomial : forall k t, eval (monomial k) t = t ^ k.
Proof. unfold monomial. induction k as [|k IH]; intros t; simpl in *; [|rewrite IH]; lra. Qed.
Lemma eval_zero : forall p t, is_zero p = true -> eval p t = 0.
Proof.
  induction p as [|[] p IH]; intros t H; simpl in *; try discriminate; rewrite ?(IH t H); lra.
Qed.
Lemma eval_no_negative : forall p s, no_negative p = true -> 0 <= s -> 0 <= eval p s.
Proof.
  induction p as [|a p IH]; intros s H pos; simpl in *; [lra|].
  apply andb_prop in H as [Ha Hp]. apply Z.leb_le, IZR_le in Ha. specialize (IH s Hp pos). nra.
Qed.
Lemma eval_nonneg : forall p t, nonneg p = true -> 1 <= t -> 0 <= eval p t.
Proof. intros p t H. intros. rewrite <- eval_shift. apply eval_no_negative; [exact H|lra]. Qed.
Lemma eval_positive : forall p t, positive p = true -> 1 <= t -> 0 < eval p t.
Proof.
  intros p t H one. rewrite <- eval_shift. unfold positive in H.
  destruct (shift p) as [|a r]; [discriminate|]. apply andb_prop in H as [Ha Hr].
  apply Z.ltb_lt, IZR_lt in Ha. pose proof (eval_no_negative r (t - 1) Hr). simpl. nra.
Qed.
Lemma eval_grows : forall p t, grows p = true -> 1 < t -> 0 < eval p t.
Proof.
  intros p t H one. rewrite <- eval_shift. apply andb_prop in H as [H K]. revert H K.
  induction (shift p) as [|a q IH]; intros H K; simpl in *; [discriminate|].
  apply andb_prop in H as [Ha Hq]. apply Z.leb_le, IZR_le in Ha.
  pose proof (eval_no_negative q (t - 1) Hq). apply orb_prop in K as [K|K].
  - apply Z.ltb_lt, IZR_lt in K. nra.
  - specialize (IH Hq K). nra.
Qed.

(* ------------------------------------------------------------------ what a certificate proves *)

(* The value of t, the chance of outcome o for data set x, and the value of bound b. *)
Definition base (c : certificate) (epsilon : R) : R := exp (epsilon / INR (power c)).
Definition chance (c : certificate) (epsilon : R) (x o : nat) : R :=
  eval (weight c x o) (base c epsilon) / eval (total (law c x)) (base c epsilon).
Definition limit (c : certificate) (epsilon : R) (b : nat) : R := eval (bound c b) (base c epsilon).

(* The bound of every pair is t^(k power) = e^(k epsilon), and some pair is sharp. *)
Definition all_of_power (c : certificate) (k : nat) : bool := existsb snd (pairs c)
  && forallb (fun p => is_zero (sub (bound c (snd (fst p))) (monomial (k * power c)))) (pairs c).
Definition listed (c : certificate) (x y : nat) : Prop := exists b s, In (x, y, b, s) (pairs c).

Section Soundness.
Variables (c : certificate) (epsilon : R).
Hypothesis checked : check c = true.
Hypothesis epsilon_nonneg : 0 <= epsilon.
Let t := base c epsilon.

Lemma checked_parts : (0 < power c)%nat /\ (forall l, In l (laws c) -> law_ok (outcomes c) l = true)
  /\ (forall i j, In (i, j) (order c) -> grows (sub (bound c j) (bound c i)) = true)
  /\ (forall x y b s, In (x, y, b, s) (pairs c) -> (x < length (laws c))%nat
     /\ (y < length (laws c))%nat
     /\ pair_ok (bound c b) (law c x, total (law c x)) (law c y, total (law c y)) s = true).
Proof.
  unfold check in checked. apply andb_prop in checked as [H P]. apply andb_prop in H as [H O].
  apply andb_prop in H as [N L]. rewrite forallb_forall in L, O, P.
  split; [apply Nat.ltb_lt, N|split; [exact L|split; [intros i j K; apply (O _ K)|]]].
  intros x y b s K. apply P in K. apply andb_prop in K as [K ok].
  apply andb_prop in K as [Kx Ky]. apply Nat.ltb_lt in Kx, Ky.
  set (f := fun l => (l, total l)) in ok. change ([], []) with (f []) in ok.
  rewrite !map_nth in ok.
  split; [exact Kx|split; [exact Ky|exact ok]].
Qed.
Lemma base_bounds : 1 <= t /\ (0 < epsilon -> 1 < t).
Proof.
  assert (0 < / INR (power c)) by (apply Rinv_0_lt_compat, lt_0_INR, checked_parts).
  unfold t, base, Rdiv. rewrite <- exp_0. split; [apply exp_le; nra|].
  intros. apply exp_increasing. nra.
Qed.
Lemma law_checked : forall x, (x < length (laws c))%nat -> length (law c x) = outcomes c
  /\ (forall o, 0 <= eval (weight c x o) t) /\ 0 < eval (total (law c x)) t.
Proof.
  intros x H. destruct checked_parts as (_ & all & _). apply (nth_In _ []), all in H.
  apply andb_prop in H as [H pos]. apply andb_prop in H as [len H].
  rewrite forallb_forall in H. destruct base_bounds as [one _].
  split; [apply Nat.eqb_eq, len|]. split; [|apply eval_positive; assumption]. intros o.
  unfold weight. destruct (nth_in_or_default o (law c x) []) as [K| ->]; [|simpl; lra].
  apply eval_nonneg; auto.
Qed.

(* The gap of each outcome is this positive multiple of what is left of the bound. *)
Lemma gap_value : forall x y b o, (x < length (laws c))%nat -> (y < length (laws c))%nat ->
  (o < outcomes c)%nat -> exists g m, 0 < m
    /\ nth_error (gaps (bound c b) (law c x, total (law c x)) (law c y, total (law c y))) o
       = Some (weight c x o, g)
    /\ eval g t = m * (limit c epsilon b * chance c epsilon y o - chance c epsilon x o).
Proof.
  intros x y b o Hx Hy Ho. destruct (law_checked x Hx) as (lx & _ & px).
  destruct (law_checked y Hy) as (ly & _ & py). unfold gaps. simpl. set (z := reduced _ _).
  exists (sub (mul (mul (bound c b) (fst z)) (weight c y o)) (mul (weight c x o) (snd z))).
  assert (nth_error (combine (law c x) (law c y)) o = Some (weight c x o, weight c y o)) as E.
  { unfold weight. rewrite <- combine_nth by congruence. apply nth_error_nth'.
    rewrite combine_length. lia. }
  rewrite (map_nth_error _ _ _ E), eval_sub, !eval_mul. unfold z, reduced, limit, chance. fold t.
  set (A := eval (total (law c x)) t) in *. set (B := eval (total (law c y)) t) in *.
  destruct (is_zero _) eqn:same; [exists A|exists (A * B)].
  - apply eval_zero with (t := t) in same. rewrite eval_sub in same. fold A B in same.
    replace B with A by lra. repeat split; [assumption|]. simpl. field. lra.
  - repeat split; [nra|]. simpl. fold A B. field. lra.
Qed.

(* SOUNDNESS: a certificate that passes [check] bounds every chance, for every epsilon >= 0. *)
Theorem sound : forall x y b s, In (x, y, b, s) (pairs c) ->
  forall o, chance c epsilon x o <= limit c epsilon b * chance c epsilon y o.
Proof.
  intros x y b s H o. destruct checked_parts as (_ & _ & _ & all).
  destruct (all x y b s H) as (Hx & Hy & ok). apply andb_prop in ok as [ok _].
  destruct (Nat.lt_ge_cases o (outcomes c)) as [inside|outside].
  - destruct (gap_value x y b o Hx Hy inside) as (g & m & pos & K & E).
    rewrite forallb_forall in ok. apply nth_error_In, ok in K.
    pose proof (eval_nonneg g t K (proj1 base_bounds)) as N. rewrite E in N. nra.
  - destruct (law_checked x Hx) as (lx & _), (law_checked y Hy) as (ly & _).
    unfold chance, weight. rewrite !nth_overflow by congruence || lia. simpl. unfold Rdiv. lra.
Qed.

(* SHARPNESS: of a pair that is marked sharp, some outcome meets the bound, and it can occur. *)
Theorem sharp : forall x y b, In (x, y, b, true) (pairs c) -> exists o, (o < outcomes c)%nat
  /\ chance c epsilon x o = limit c epsilon b * chance c epsilon y o
  /\ (0 < epsilon -> 0 < chance c epsilon x o).
Proof.
  intros x y b H. destruct checked_parts as (_ & _ & _ & all).
  destruct (all x y b true H) as (Hx & Hy & ok). apply andb_prop in ok as [_ ok].
  apply eqb_prop, eq_sym, existsb_exists in ok as [[w g] [K ok]].
  apply In_nth_error in K as [o K]. destruct (law_checked x Hx) as (lx & _ & px).
  assert (o < outcomes c)%nat as inside.
  { assert (nth_error (gaps (bound c b) (law c x, total (law c x)) (law c y, total (law c y))) o
      <> None) as M by congruence. apply nth_error_Some in M. unfold gaps in M.
    rewrite map_length, combine_length in M. simpl in M. lia. }
  destruct (gap_value x y b o Hx Hy inside) as (g' & m & pos & K' & E). rewrite K in K'.
  injection K' as -> ->. unfold tight in ok. simpl in ok. exists o. split; [exact inside|].
  destruct (is_zero g') eqn:zero; [|discriminate]. rewrite (eval_zero g' t zero) in E.
  split; [nra|]. intros eps. apply Rdiv_lt_0_compat; [|exact px].
  apply eval_grows; [exact ok|apply base_bounds, eps].
Qed.

(* ORDER: of two bounds. *)
Theorem ordered : forall i j, In (i, j) (order c) ->
  limit c epsilon i <= limit c epsilon j /\ (0 < epsilon -> limit c epsilon i < limit c epsilon j).
Proof.
  intros i j H. destruct checked_parts as (_ & _ & all & _). apply all in H.
  destruct base_bounds as [one more]. pose proof (fun e => eval_grows _ t H (more e)) as G.
  apply andb_prop in H as [H _]. pose proof (eval_nonneg _ t H one) as N.
  rewrite eval_sub in G, N. unfold limit. fold t. split; [lra|]. intros e. specialize (G e). lra.
Qed.

(* EXACTLY: a mechanism with such a certificate is k epsilon-private, and no less. *)
Theorem exactly_listed : forall k, all_of_power c k = true -> 0 < epsilon -> forall e,
  private (listed c) e (chance c epsilon) <-> INR k * epsilon <= e.
Proof.
  intros k H pos e. apply andb_prop in H as [some all]. rewrite forallb_forall in all.
  assert (forall x y b s, In (x, y, b, s) (pairs c) ->
    limit c epsilon b = exp (INR k * epsilon)) as L.
  { intros x y b s H. apply all, (eval_zero _ t) in H. simpl in H.
    rewrite eval_sub, eval_monomial in H. unfold limit. fold t. replace (eval (bound c b) t)
      with (t ^ (k * power c)) by lra. unfold t, base. rewrite <- Rpower_pow by apply exp_pos.
    unfold Rpower. rewrite ln_exp, mult_INR. f_equal. field. apply not_0_INR.
    pose proof (proj1 checked_parts). lia. }
  split.
  - intros safe. apply existsb_exists in some as [[[[x y] b] s] [H E]]. simpl in E. subst s.
    destruct (sharp x y b H) as (o & _ & equal & can). specialize (can pos).
    specialize (safe x y o (ex_intro _ b (ex_intro _ true H))). rewrite (L _ _ _ _ H) in equal.
    pose proof (exp_pos (INR k * epsilon)). apply Rnot_lt_le. intros less.
    apply exp_increasing in less. assert (0 < chance c epsilon y o) by nra. nra.
  - intros more x y o (b & s & H). apply Rle_trans with (1 := sound x y b s H o).
    destruct checked_parts as (_ & _ & _ & parts). destruct (parts x y b s H) as (_ & Hy & _).
    destruct (law_checked y Hy) as (_ & nonneg & total). rewrite (L _ _ _ _ H).
    apply Rmult_le_compat_r; [|apply exp_le, more].
    apply Rmult_le_pos; [apply nonneg|left; apply Rinv_0_lt_compat, total].
Qed.

End Soundness.

Definition exactly c k (ok : check c = true) (same : all_of_power c k = true) epsilon
  (pos : 0 < epsilon) := exactly_listed c epsilon ok (Rlt_le _ _ pos) k same pos.

(* Example: one answer in randomised response; a smaller exponent or constant, and a wrong flag, are
   refused. *)
Definition example (b : Z) (k : nat) (sharp : bool) : certificate := {|
  power := 1; bounds := [repeat 0 k ++ [b]]%Z; order := [];
  laws := [[[0; 1]; [1]]; [[1]; [0; 1]]]%Z;
  pairs := [(0, 1, 0, sharp); (1, 0, 0, sharp)]%nat |}.

Theorem example_checked : check (example 1 1 true) = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

Theorem example_control : forallb (fun c => negb (check c)) [example 1 0 true; example 1 0 false;
  example 0 1 false; example 1 1 false; example 1 2 true] && check (example 1 2 false) = true.
Proof. reflexivity. Qed.
