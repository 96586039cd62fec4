(* One outcome out of finitely many, chosen by its score: the exponential mechanism (McSherry
   and Talwar 2007) and permute-and-flip (McKenna and Sheldon 2020), on any finite list of
   outcomes.

   Proved: both are laws; both are epsilon-private at the rate epsilon / (2 H), where 2 H is the
   most that one outcome gains on another between neighbours (Dong, Durfee and Rogers 2020; the
   sensitivity of the scores will do for H); at a larger rate neither is, for all epsilon.  The mean
   score of the exponential mechanism is short of the best by at most (log of the number of
   outcomes) / rate.

   Not in it: how the random numbers are drawn; that permute-and-flip is the largest of scores with
   exponential noise (Ding et al. 2021). *)
Require Import Reals Lra Lia List Permutation.
From Ranking Require Import Privacy.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ the two mechanisms *)

(* A way to choose: at a rate, from a list of outcomes, by scores; the chance of each outcome. *)
Definition equality_decided (O : Type) := forall a b : O, {a = b} + {a <> b}.
Definition selection := forall O, equality_decided O -> R -> list O -> (O -> R) -> O -> R.

Definition exponential_mechanism : selection := fun O dec rate outcomes score o =>
  if in_dec dec o outcomes
  then exp (rate * score o) / sum (fun s => exp (rate * score s)) outcomes else 0.

(* Each entry of a list, with the list of all others. *)
Fixpoint picks {O} (l : list O) : list (O * list O) :=
  match l with
  | [] => []
  | a :: l' => (a, l') :: map (fun '(r, rest) => (r, a :: rest)) (picks l')
  end.

(* Draw one of the k outcomes that are left; end with it with its chance p, or go on without it.
   This is the mean of f at the outcome in which it ends. *)
Fixpoint flips {O} (p f : O -> R) (k : nat) (left : list O) : R :=
  match k with
  | 0%nat => 0
  | S k' => / INR k * sum (fun '(r, rest) => p r * f r + (1 - p r) * flips p f k' rest) (picks left)
  end.

Fixpoint best {O} (score : O -> R) (outcomes : list O) : R :=
  match outcomes with
  | [] => 0
  | a :: [] => score a
  | a :: rest => Rmax (score a) (best score rest)
  end.

Definition permute_and_flip : selection := fun O dec rate outcomes score o =>
  flips (fun r => exp (rate * (score r - best score outcomes)))
    (fun r => if dec r o then 1 else 0) (length outcomes) outcomes.

(* Between neighbours no outcome gains more than this on another. *)
Definition gain_at_most {D O} (near : D -> D -> Prop) (score : D -> O -> R) (outcomes : list O)
  (most : R) : Prop := forall x y a b, near x y -> In a outcomes -> In b outcomes ->
  (score x a - score x b) - (score y a - score y b) <= most.

Lemma quotients_le : forall a b c d, 0 < b -> 0 < d -> a * d <= c * b -> a / b <= c / d.
Proof.
  intros a b c d B D H. apply Rmult_le_reg_r with (b * d); [apply Rmult_lt_0_compat; assumption|].
  field_simplify; lra.
Qed.

(* ------------------------------------------------------------------ integrals of products *)

Section Area.
Context {O : Type}.
Implicit Types (w v : O -> R) (l : list O).

(* The product of all 1 - u w_s, and its integral, times u^k, from 0 to x. *)
Fixpoint passed w l (u : R) : R :=
  match l with [] => 1 | s :: l' => (1 - u * w s) * passed w l' u end.
Fixpoint area w (k : nat) l (x : R) : R :=
  match l with
  | [] => x ^ S k / INR (S k)
  | s :: l' => area w k l' x - w s * area w (S k) l' x
  end.

Lemma area_derivative : forall w l k x, derivable_pt_lim (area w k l) x (x ^ k * passed w l x).
Proof.
  intros w l. induction l as [|s l IH]; intros k x; simpl passed.
  - replace (x ^ k * 1) with (/ INR (S k) * (INR (S k) * x ^ pred (S k)))
      by (simpl pred; field; apply not_0_INR; lia).
    apply (derivable_pt_lim_ext (fun y => / INR (S k) * y ^ S k)); [intros; apply Rmult_comm|].
    apply (derivable_pt_lim_scal (fun y => y ^ S k)), derivable_pt_lim_pow.
  - replace (x ^ k * ((1 - x * w s) * passed w l x)) with (x ^ k * passed w l x - w s
      * (x ^ S k * passed w l x)) by (simpl; ring).
    apply (derivable_pt_lim_minus (area w k l) (fun y => w s * area w (S k) l y)); [apply IH|].
    apply (derivable_pt_lim_scal (area w (S k) l)), IH.
Qed.

Lemma area_0 : forall w l k, area w k l 0 = 0.
Proof.
  intros w l. induction l as [|s l IH]; intros k; cbn [area]; [|rewrite !IH; ring].
  rewrite pow_i by lia. apply Rmult_0_l.
Qed.

Lemma area_scale : forall w a l k x,
  a ^ S k * area (fun s => a * w s) k l x = area w k l (a * x).
Proof.
  intros w a l. induction l as [|s l IH]; intros k x; cbn [area].
  - rewrite Rpow_mult_distr. unfold Rdiv. ring. - rewrite <- !IH. simpl. ring.
Qed.

(* A function with a derivative that is not negative grows. *)
Lemma grows : forall f f' a b, a <= b -> (forall c, a <= c <= b -> derivable_pt_lim f c (f' c)) ->
  (forall c, a <= c <= b -> 0 <= f' c) -> f a <= f b.
Proof.
  intros f f' a b [H| ->] D P; [|lra]. destruct (MVT_cor2 f f' a b H D) as [c [E C]].
  specialize (P c ltac:(lra)). pose proof (Rmult_le_pos (f' c) (b - a) P ltac:(lra)). lra.
Qed.

Lemma passed_le : forall w v l u, 0 <= u -> (forall s, In s l -> v s <= w s /\ u * w s <= 1) ->
  0 <= passed w l u <= passed v l u.
Proof.
  intros w v l u H. induction l as [|s l IH]; intros K; simpl; [lra|].
  destruct (K s ltac:(left; reflexivity)) as [K1 K2].
  specialize (IH ltac:(intros; apply K; right; assumption)).
  assert (u * v s <= u * w s) by (apply Rmult_le_compat_l; assumption).
  split; [apply Rmult_le_pos; lra|apply Rmult_le_compat; lra].
Qed.

(* Larger chances of the others leave less, ... *)
Lemma area_le : forall w v l x, 0 <= x ->
  (forall s, In s l -> 0 <= v s <= w s /\ x * w s <= 1) -> area w 0 l x <= area v 0 l x.
Proof.
  intros w v l x H K. pose proof (grows (fun y => area v 0 l y - area w 0 l y)
    (fun y => y ^ 0 * passed v l y - y ^ 0 * passed w l y) 0 x H) as G. cbv beta in G.
  rewrite !area_0 in G. enough (0 - 0 <= area v 0 l x - area w 0 l x) by lra. apply G; intros c C.
  - apply (derivable_pt_lim_minus (area v 0 l)); apply area_derivative.
  - enough (0 <= passed w l c <= passed v l c) by (simpl; lra). apply passed_le; [lra|]. intros s S.
    destruct (K s S). split; [lra|nra].
Qed.

(* ... and a longer range more. *)
Lemma area_grows : forall w l x y, 0 <= x <= y -> (forall s, In s l -> 0 <= w s /\ y * w s <= 1) ->
  area w 0 l x <= area w 0 l y.
Proof.
  intros w l x y H K. apply (grows _ (fun u => u ^ 0 * passed w l u)); [lra| |]; intros c C.
  - apply area_derivative.
  - enough (0 <= passed w l c <= passed w l c) by (simpl; lra). apply passed_le; [lra|]. intros s S.
    destruct (K s S). split; [lra|nra].
Qed.

Lemma area_nonneg : forall w l x, 0 <= x -> (forall s, In s l -> 0 <= w s /\ x * w s <= 1) ->
  0 <= area w 0 l x.
Proof. intros w l x H K. rewrite <- (area_0 w l 0). apply area_grows; [lra|assumption]. Qed.

(* Chances w and v of the others: where each is at least a / b times as large for w, one that comes
   out with the chance a is chosen at most as often as, with v, one with the chance b. *)
Lemma area_private : forall w v l a b, 0 <= a <= b -> 0 < b ->
  (forall s, In s l -> 0 <= w s <= 1 /\ 0 <= v s <= 1 /\ a * v s <= b * w s) ->
  a * area w 0 l 1 <= b * area v 0 l 1.
Proof.
  intros w v l a b A B H. set (c := a / b). assert (a = b * c) as E by (unfold c; field; lra).
  assert (0 <= c <= 1) as C by (rewrite E in A; nra). pose proof (area_scale v c l 0 1) as S.
  rewrite pow_1, Rmult_1_r in S. rewrite E, Rmult_assoc. apply Rmult_le_compat_l; [lra|].
  apply Rle_trans with (c * area (fun s => c * v s) 0 l 1).
  - apply Rmult_le_compat_l; [lra|]. apply area_le; [lra|]. intros s I.
    destruct (H s I) as [? [? K]]. rewrite E in K. nra.
  - rewrite S. apply area_grows; [lra|]. intros s I. destruct (H s I) as [_ [? _]]. lra.
Qed.

(* ------------------------------------------------------------------ the law of permute-and-flip *)

Lemma picks_sum : forall a l (f : O * list O -> R), sum f (picks (a :: l))
  = f (a, l) + sum (fun '(r, rest) => f (r, a :: rest)) (picks l).
Proof. intros. simpl. rewrite sum_map. f_equal. apply sum_ext. intros [r rest]. reflexivity. Qed.

Lemma picks_in : forall l r rest, In (r, rest) (picks l) -> Permutation l (r :: rest).
Proof.
  induction l as [|a l IH]; simpl; intros r rest H; [contradiction|].
  destruct H as [H|H]; [injection H as -> ->; reflexivity|]. apply in_map_iff in H.
  destruct H as [[r' rest'] [E H]]. injection E as -> <-. rewrite (IH _ _ H). apply perm_swap.
Qed.

Lemma picks_length : forall l r rest, In (r, rest) (picks l) -> length l = S (length rest).
Proof. intros l r rest H. apply picks_in, Permutation_length in H. assumption. Qed.

(* Two draws in the other order. *)
Lemma picks_swap : forall l (g : O -> O -> list O -> R),
  sum (fun '(r, rest) => sum (fun '(o, rest') => g r o rest') (picks rest)) (picks l)
  = sum (fun '(r, rest) => sum (fun '(o, rest') => g o r rest') (picks rest)) (picks l).
Proof.
  induction l as [|a l IH]; intros g; [reflexivity|]. rewrite !picks_sum.
  assert (forall h : O -> O -> list O -> R, sum (fun '(r,
    rest) => sum (fun '(o, rest') => h r o rest') (picks (a :: rest))) (picks l)
    = sum (fun '(r, rest) => h r a rest) (picks l) + sum
    (fun '(r, rest) => sum (fun '(o, rest') => h r o (a :: rest')) (picks rest)) (picks l)) as E.
  { intros h. rewrite <- sum_plus. apply sum_ext. intros [r rest]. rewrite picks_sum. reflexivity. }
  rewrite (E g), (E (fun r o => g o r)), (IH (fun r o rest => g r o (a :: rest))). lra.
Qed.

(* The integrals of all but one, weighed with its chance. *)
Lemma area_weighed : forall p x l k, sum (fun '(o, rest) => p o * area p k rest x) (picks l)
  = match k with 0%nat => 1 | S k' => INR k * area p k' l x end - x ^ k * passed p l x.
Proof.
  intros p x. induction l as [|a l IH]; intros k.
  - destruct k; cbn [picks sum passed area]; [simpl; ring|field; apply not_0_INR; lia].
  - rewrite picks_sum. cbn [area]. rewrite (sum_ext _ (fun d => (let '(o, rest) := d in p o
      * area p k rest x) - p a * (let '(o, rest) := d in p o * area p (S k) rest x)))
      by (intros [o rest]; ring). rewrite sum_minus, sum_scale, !IH. cbn [passed].
    destruct k; cbn [area pow]; rewrite !S_INR; [change (INR 0) with 0|]; ring.
Qed.

(* The chances of going on with one less: so many integrals, less what they have for one more. *)
Lemma area_step : forall p l k, sum (fun '(r, rest) => (1 - p r) * area p k rest 1) (picks l)
  = INR (length l + S k) * area p k l 1
    - match k with 0%nat => 1 | S k' => INR k * area p k' l 1 end.
Proof.
  intros p. induction l as [|a l IH]; intros k.
  - destruct k; cbn [picks sum area length Nat.add]; rewrite ?pow1; field; repeat split;
      apply not_0_INR; lia.
  - rewrite picks_sum. cbn [area]. rewrite (sum_ext _ (fun d => (let '(r, rest) := d in (1 - p r)
      * area p k rest 1) - p a * (let '(r, rest) := d in (1 - p r) * area p (S k) rest 1)))
      by (intros [r rest]; ring). rewrite sum_minus, sum_scale, !IH. cbn [length].
    destruct k; cbn [area]; rewrite !plus_INR, !S_INR; simpl (INR 0); ring.
Qed.

(* The law: o comes out with the chance p_o times the integral of the chance that all pass. *)
Theorem flips_closed : forall p f k l, length l = k ->
  flips p f k l = sum (fun '(o, rest) => p o * f o * area p 0 rest 1) (picks l).
Proof.
  intros p f. induction k as [|k IH]; intros l L; [destruct l; [reflexivity|discriminate]|].
  change (flips p f (S k) l) with (/ INR (S k) * sum (fun '(r, rest) => p r * f r + (1 - p r)
    * flips p f k rest) (picks l)). rewrite (sum_ext_in _
    (fun a : O * list O => (let '(r, rest) := a in p r * f r)
    + (let '(r, rest) := a in sum (fun '(o, rest') => (1 - p r) * (p o * f o * area p 0 rest' 1))
    (picks rest)))).
  2: { intros [r rest] H. apply picks_length in H. rewrite IH, <- sum_scale by lia. f_equal.
    apply sum_ext. intros [o rest']. ring. }
  rewrite sum_plus, (picks_swap l (fun r o rest' => (1 - p r) * (p o * f o * area p 0 rest' 1))),
    <- sum_plus, <- sum_scale. apply sum_ext_in. intros [o rest] H. apply picks_length in H.
  rewrite (sum_ext _ (fun a : O * list O => p o * f o * (let '(r, rest') := a in (1 - p r)
    * area p 0 rest' 1))) by (intros [r rest']; ring). rewrite sum_scale, area_step.
  replace (length rest + 1)%nat with (S k) by lia. field. apply not_0_INR. lia.
Qed.

(* Someone is taken, if someone is taken for sure when drawn. *)
Lemma flips_total : forall p l, (exists o, In o l /\ p o = 1) ->
  sum (fun '(o, rest) => p o * area p 0 rest 1) (picks l) = 1.
Proof.
  intros p l [o [H K]]. rewrite area_weighed. enough (passed p l 1 = 0) as -> by ring.
  induction l as [|a l IH]; simpl in *; [contradiction|].
  destruct H as [-> |H]; [rewrite K|rewrite IH by assumption]; ring.
Qed.

End Area.

(* ------------------------------------------------------------------ laws, privacy, controls *)

Section Best.
Context {O : Type} (score : O -> R).

Lemma best_above : forall l o, In o l -> score o <= best score l.
Proof.
  induction l as [|a [|b l] IH]; intros o H; [contradiction|destruct H as [->|[]]; simpl; lra|].
  change (best score (a :: b :: l)) with (Rmax (score a) (best score (b :: l))).
  destruct H as [->|H]; [apply Rmax_l|]. eapply Rle_trans; [apply IH, H|apply Rmax_r].
Qed.

Lemma best_attained : forall l, l <> [] -> exists o, In o l /\ best score l = score o.
Proof.
  induction l as [|a [|b l] IH]; intros H; [congruence|exists a; simpl; auto|].
  change (best score (a :: b :: l)) with (Rmax (score a) (best score (b :: l))).
  destruct (IH ltac:(discriminate)) as [o [I E]]. unfold Rmax.
  destruct (Rle_dec _ _); [exists o; split; [right|]; assumption|exists a; simpl; auto].
Qed.

End Best.

Section Private.
Context {D O : Type} (dec : equality_decided O) (near : D -> D -> Prop) (score : D -> O -> R).
Variables (outcomes : list O) (most epsilon : R).
Hypothesis some : outcomes <> [].
Hypothesis gain : gain_at_most near score outcomes most.

Lemma weights_positive : forall rate q, 0 < sum (fun s : O => exp (rate * q s)) outcomes.
Proof. intros. apply sum_positive; [assumption|intros; apply exp_pos]. Qed.

Lemma exponential_law : forall rate q,
  finite_law outcomes (exponential_mechanism O dec rate outcomes q).
Proof.
  intros rate q. pose proof (weights_positive rate q). unfold exponential_mechanism. split.
  - intros o. destruct (in_dec dec o outcomes); [|lra]. left.
    apply Rdiv_lt_0_compat; [apply exp_pos|assumption].
  - rewrite (sum_ext_in _ (fun o => / sum (fun s => exp (rate * q s)) outcomes * exp (rate * q o))),
      sum_scale; [apply Rinv_l, Rgt_not_eq; assumption|]. intros o I.
    destruct (in_dec dec o outcomes); [apply Rmult_comm|contradiction].
Qed.

Theorem exponential_private : forall rate, 0 <= rate -> rate * most <= epsilon ->
  private near epsilon (fun x => exponential_mechanism O dec rate outcomes (score x)).
Proof.
  intros rate pos enough x y o close. unfold exponential_mechanism.
  destruct (in_dec dec o outcomes) as [I|]; [|lra]. unfold Rdiv at 2. rewrite <- Rmult_assoc.
  apply quotients_le; try apply weights_positive. rewrite <- !sum_scale. apply sum_le_in.
  intros s S. rewrite <- !exp_plus. apply exp_le.
  pose proof (Rmult_le_compat_l rate _ _ pos (gain x y o s close I S)). lra.
Qed.

(* The chance of an outcome, when it is drawn. *)
Let chance rate q (r : O) := exp (rate * (q r - best q outcomes)).

Lemma chance_bounds : forall rate q s, 0 <= rate -> In s outcomes -> 0 <= chance rate q s <= 1.
Proof.
  intros rate q s pos S. split; [left; apply exp_pos|]. rewrite <- exp_0. apply exp_le.
  pose proof (best_above q outcomes s S). nra.
Qed.

Lemma picks_both : forall (l : list O) r rest, In (r, rest) (picks l) ->
  In r l /\ forall s, In s rest -> In s l.
Proof.
  intros l r rest H. apply picks_in, Permutation_sym in H.
  split; [|intros s S]; (eapply Permutation_in; [apply H|simpl; auto]).
Qed.

Theorem flip_private : forall rate, 0 <= rate -> rate * most <= epsilon ->
  private near epsilon (fun x => permute_and_flip O dec rate outcomes (score x)).
Proof.
  intros rate pos enough x y o close. unfold permute_and_flip.
  rewrite !flips_closed, <- sum_scale by reflexivity. apply sum_le_in. intros [r rest] H.
  destruct (picks_both _ _ _ H) as [R S]. destruct (dec r o); [|lra].
  rewrite !Rmult_1_r, <- Rmult_assoc. destruct (best_attained (score y) outcomes some) as [t [T E]].
  pose proof (Rmult_le_compat_l rate _ _ pos (gain x y r t close R T)).
  pose proof (best_above (score x) outcomes t T). apply area_private.
  - split; [left; apply exp_pos|]. rewrite <- exp_plus. apply exp_le. rewrite E. nra.
  - apply Rmult_lt_0_compat; apply exp_pos.
  - intros s I. split; [|split]; try apply chance_bounds; auto. rewrite <- !exp_plus. apply exp_le.
    pose proof (Rmult_le_compat_l rate _ _ pos (gain x y r s close R (S s I))). lra.
Qed.

Lemma flip_law : forall rate q, NoDup outcomes -> 0 <= rate ->
  finite_law outcomes (permute_and_flip O dec rate outcomes q).
Proof.
  intros rate q once pos. unfold permute_and_flip. fold (chance rate q). split.
  - intros o. rewrite flips_closed by reflexivity. apply sum_nonneg. intros [r rest] H.
    destruct (picks_both _ _ _ H) as [R S]. apply Rmult_le_pos.
    + apply Rmult_le_pos; [left; apply exp_pos|destruct (dec r o); lra].
    + apply area_nonneg; [lra|]. intros s I. destruct (chance_bounds rate q s pos (S s I)). lra.
  - rewrite (sum_ext _ _ _ (fun o => flips_closed _ _ _ _ eq_refl)), sum_swap.
    destruct (best_attained q outcomes some) as [t [T E]].
    eapply eq_trans; [|apply (flips_total (chance rate q) outcomes)].
    2: { exists t. split; [assumption|]. unfold chance.
      rewrite E, Rminus_diag_eq, Rmult_0_r by reflexivity. apply exp_0. }
    apply sum_ext_in. intros [r rest] H. apply picks_both in H. destruct H as [R _].
    rewrite (sum_ext _ (fun o => chance rate q r * area (chance rate q) 0 rest 1
      * (if dec r o then 1 else 0))) by (intros; ring). rewrite sum_scale.
    enough (sum (fun o => if dec r o then 1 else 0) outcomes = 1) as -> by ring. clear - once R.
    induction once as [|a l A N IH]; [contradiction|]. simpl.
    destruct R as [->|R]; [|destruct (dec r a); [congruence|rewrite IH by assumption; lra]].
    destruct (dec r r); [|congruence]. rewrite (sum_ext_in _ (fun _ => 0)), sum_zero; [lra|].
    intros b B. destruct (dec r b); congruence.
Qed.

End Private.

(* If no outcome gains more than 2 H on another between neighbours, permute-and-flip and the
   exponential mechanism at the rate epsilon / (2 H) are laws and epsilon-private, for every
   finite list of outcomes, relation and scores. *)
Definition chosen (m : selection) (k epsilon : R) : Prop :=
  forall D O (dec : equality_decided O) near (score : D -> O -> R) outcomes H,
  outcomes <> [] -> NoDup outcomes -> 0 < H -> gain_at_most near score outcomes (2 * H) ->
  (forall x, finite_law outcomes (m O dec (epsilon / (k * H)) outcomes (score x))) /\
  private near epsilon (fun x => m O dec (epsilon / (k * H)) outcomes (score x)).

(* CLAIM BOOK-HALF-RANGE.  With k in the place of 2 this is so for all epsilon if and only if k is
   at least c = 2, for each of the two mechanisms. *)
Definition half_range_says (c : R) : Prop :=
  forall m, m = permute_and_flip \/ m = exponential_mechanism ->
  forall k, 0 < k -> ((forall epsilon, 0 <= epsilon -> chosen m k epsilon) <-> c <= k).

Lemma rate_at_least : forall k epsilon H, 2 <= k -> 0 <= epsilon -> 0 < H ->
  0 <= epsilon / (k * H) /\ epsilon / (k * H) * (2 * H) <= epsilon.
Proof.
  intros k epsilon H K pos Hpos. assert (0 < k * H) by (apply Rmult_lt_0_compat; lra). split.
  - apply Rmult_le_pos; [assumption|left; apply Rinv_0_lt_compat; assumption].
  - apply Rmult_le_reg_r with k; [lra|].
    replace (epsilon / (k * H) * (2 * H) * k) with (epsilon * 2) by (field; lra). nra.
Qed.
Lemma rate_enough : forall epsilon H, 0 <= epsilon -> 0 < H ->
  0 <= epsilon / (2 * H) /\ epsilon / (2 * H) * (2 * H) <= epsilon.
Proof. intros. apply rate_at_least; lra. Qed.

(* Two outcomes that are level, or of which one is ahead by 2; where 2 epsilon / k is epsilon +
   log 2. *)
Lemma less_fails : forall m, m = permute_and_flip \/ m = exponential_mechanism ->
  forall k, 0 < k < 2 -> exists epsilon, 0 <= epsilon /\ ~ chosen m k epsilon.
Proof.
  intros m kind k K. assert (0 < ln 2) as l2 by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (0 < 2 / k - 1) by (apply Rmult_lt_reg_r with k; [lra|]; field_simplify; lra).
  set (e := ln 2 / (2 / k - 1)). assert (0 < e) as pos by (apply Rdiv_lt_0_compat; assumption).
  exists e. split; [lra|]. intros choice.
  destruct (choice bool bool Bool.bool_dec (fun x y => x = false /\ y = true)
    (fun x o => if x then if o then 0 else -2 else 0) [true; false] 1) as [_ safe].
  - discriminate. - repeat constructor; simpl; intuition discriminate. - lra.
  - intros x y [|] [|] [-> ->] _ _; lra.
  - specialize (safe false true false (conj eq_refl eq_refl)). set (b := e / (k * 1)) in safe.
    assert (exp (b * -2) = / (exp e * 2)) as E.
    { replace (b * -2) with (- (e + ln 2)) by (unfold b, e; field; lra).
      rewrite exp_Ropp, exp_plus, exp_ln by lra. reflexivity. }
    pose proof (exp_pos e). assert (exp e * / (exp e * 2) = 1 / 2) by (field; lra).
    destruct kind as [-> | ->].
    + unfold permute_and_flip in safe. cbn -[INR] in safe. rewrite !Rmax_left in safe by lra.
      rewrite !Rminus_0_r, E, !Rmult_0_r, exp_0 in safe. simpl in safe. lra.
    + cbn in safe. rewrite !Rmult_0_r, exp_0, E in safe. set (t := / (exp e * 2)) in *.
      assert (0 < t) by (apply Rinv_0_lt_compat; lra).
      apply Rmult_le_compat_r with (r := 1 + t) in safe; [|lra].
      replace (exp e * (t / (1 + (t + 0))) * (1 + t)) with (exp e * t) in safe by (field; lra). lra.
Qed.

Theorem half_range : half_range_says 2.
Proof.
  intros m kind k K. split; intros all.
  - apply Rnot_lt_le. intros less. destruct (less_fails m kind k) as [e [pos fails]]; [lra|].
    apply fails, all, pos.
  - intros epsilon pos D O dec near score outcomes H some once Hpos gain.
    destruct (rate_at_least k epsilon H all pos Hpos) as [rate enough].
    destruct kind as [-> | ->]; split; intros; auto using flip_law, exponential_law;
      [apply (flip_private _ _ _ _ (2 * H))|apply (exponential_private _ _ _ _ (2 * H))];
      assumption.
Qed.

(* Of permute-and-flip alone. *)
Theorem half_range_control : forall c, 0 < c -> c <> 2 -> ~ half_range_says c.
Proof.
  intros c pos other H. specialize (H _ (or_introl eq_refl)).
  pose proof (half_range _ (or_introl eq_refl)) as K. apply other, Rle_antisym.
  - apply (H 2 ltac:(lra)), (K 2 ltac:(lra)). lra.
  - apply (K c pos), (H c pos). lra.
Qed.

(* A sensitivity will do for H: scores that move by H at most gain 2 H on each other at most. *)
Lemma sensitivity_gain : forall D O (near : D -> D -> Prop) (score : D -> O -> R) outcomes H,
  (forall x y o, near x y -> Rabs (score x o - score y o) <= H) ->
  gain_at_most near score outcomes (2 * H).
Proof.
  intros D O near score outcomes H moves x y a b close _ _. pose proof (moves x y a close).
  pose proof (moves x y b close) as B. rewrite Rabs_minus_sym in B.
  pose proof (Rle_abs (score x a - score y a)). pose proof (Rle_abs (score y b - score x b)). lra.
Qed.

(* The mean score is short of the best by at most (log of the number of outcomes) / rate. *)
Theorem exponential_error : forall O dec rate (outcomes : list O) q o, 0 < rate -> In o outcomes ->
  q o - sum (fun s => exponential_mechanism O dec rate outcomes q s * q s) outcomes
    <= ln (INR (length outcomes)) / rate.
Proof.
  intros O dec rate outcomes q o pos I. set (p := exponential_mechanism O dec rate outcomes q).
  assert (outcomes <> []) as some by (intros ->; contradiction).
  destruct (exponential_law dec outcomes some rate q) as [_ total]. fold p in total.
  pose proof (weights_positive outcomes some rate q) as Zpos.
  set (Z := sum (fun s => exp (rate * q s)) outcomes) in *. set (N := INR (length outcomes)).
  assert (0 < N) as Npos by (apply lt_0_INR; destruct outcomes; [congruence|simpl; lia]).
  assert (exp (rate * q o) <= Z) as top by (apply (sum_term (fun s => exp (rate * q s)));
    [intros; left; apply exp_pos|assumption]).
  (* p (x - log N) <= p e^x / N - p, where p e^x is the same for all, and at most 1 *)
  assert (sum (fun s => p s * (rate * q o - rate * q s - ln N)) outcomes
    <= sum (fun s => / N - p s) outcomes) as E.
  { apply sum_le_in. intros s S. assert (p s = exp (rate * q s) / Z) as form
      by (unfold p, exponential_mechanism; destruct (in_dec dec s outcomes); tauto).
    pose proof (exp_ineq1_le (rate * q o - rate * q s - ln N)) as G.
    pose proof (exp_pos (rate * q s)) as P. rewrite form.
    apply Rle_trans with (exp (rate * q s) / Z * (exp (rate * q o - rate * q s - ln N) - 1)).
    - apply Rmult_le_compat_l; [left; apply Rdiv_lt_0_compat; assumption|lra].
    - unfold Rminus at 2 3. rewrite !exp_plus, !exp_Ropp, exp_ln by assumption.
      match goal with |- ?e <= _ => replace e with (exp (rate * q o) / Z * / N
        - exp (rate * q s) / Z) by (field; repeat split; lra) end.
      enough (exp (rate * q o) / Z * / N <= 1 * / N) by lra.
      apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, Npos|].
      apply Rmult_le_reg_r with Z; [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  rewrite sum_minus, sum_const, total in E. fold N in E. rewrite Rinv_r in E by lra.
  rewrite (sum_ext _ (fun s => (rate * q o - ln N) * p s - rate * (p s * q s))) in E
    by (intros; ring). rewrite sum_minus, !sum_scale, total in E.
  apply Rmult_le_reg_r with rate; [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.
