// Check certificates again, in a browser or with node, against the format in proofs/FORMAT.md:
//     node tools/verify_certificate.mjs _build/claims.json _build/certificates
// The methods are not those of verify_certificate.py: real roots are counted to decide a sign, and
// numbers lie between multiples of 2^-320.

const FOR_ALL = "all-epsilon"; // the evidence whose claims need a proof for every epsilon
const [LONGEST, LARGEST, MOST, FILE] = [400, 10n ** 200n, 2000, 1e6];
const LAWS = "bounds claim datasets kind laws mechanism order outcomes pairs power relation size";

class Refused extends Error {}
const need = (holds, words) => { if (!holds) throw new Refused(words); };
const keysAre = (one, keys) => need(Object.keys(one).sort().join(" ") === keys, "other keys");
const isText = (one, form) => typeof one === "string" && form.test(one);

// ---- JSON with whole numbers of any length; of another number, `fraction` says what it is

export function read(text, fraction) {
  const token = /"((?:[^"\\]|\\.)*)"(\s*:)?|-?(?:\d[\w.+-]*|Infinity|NaN)/g;
  let keys = 0;
  const marked = text.replace(token, (number, string, colon) => {
    keys += colon ? 1 : 0;
    return string === undefined ? `"#${number}"` : `"$${string}"${colon ?? ""}`;
  });
  const value = JSON.parse(marked, (_, one) => {
    if (isText(one, /^#-?(0|[1-9]\d*)$/)) return BigInt(one.slice(1));
    if (isText(one, /^[#$]/)) return one[0] === "#" ? fraction(one.slice(1)) : one.slice(1);
    if (Object(one) !== one || Array.isArray(one)) return one;
    const entries = Object.entries(one);
    keys -= entries.length;
    return Object.fromEntries(entries.map(([key, inside]) => [key.slice(1), inside]));
  });
  need(keys === 0, "a key stands twice");
  return value;
}

function canonical(value) {
  if (typeof value === "string") return JSON.stringify(value);
  if (Object(value) !== value) return String(value);
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  return `{${Object.keys(value).sort().map(key => `${canonical(key)}:${canonical(value[key])}`)}}`;
}

export async function digest(value) {
  const bytes = new TextEncoder().encode(canonical(value));
  const found = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(found, byte => byte.toString(16).padStart(2, "0")).join("");
}

// ---- polynomials in t: coefficients, that of 1 first, without a zero at the end

const abs = a => (a < 0n ? -a : a);
const sum = numbers => numbers.reduce((a, b) => a + b, 0n);
const trimmed = p => p.slice(0, p.findLastIndex(Boolean) + 1);
const minus = (p, q) => plus(p, q.map(c => -c));
const derivative = p => p.slice(1).map((c, k) => c * BigInt(k + 1));

function plus(p, q) {
  const longer = p.length > q.length ? p : q;
  return trimmed(longer.map((_, k) => (p[k] ?? 0n) + (q[k] ?? 0n)));
}

function times(p, q) {
  const found = Array(p.length + q.length).fill(0n);
  p.forEach((a, i) => q.forEach((b, k) => { found[i + k] += a * b; }));
  return trimmed(found);
}

function rest(p, q) { // of a division, times |top of q| once for each step of it
  const [top, size] = [q.at(-1), abs(q.at(-1))];
  for (let from = p.length - q.length; from >= 0; from--) {
    const factor = top < 0n ? -p[q.length - 1 + from] : p[q.length - 1 + from];
    p = p.map((c, k) => c * size - factor * (q[k - from] ?? 0n));
  }
  return trimmed(p);
}

// Has the sign of p where t is a little more than 1.
const besideOne = p => sum(p) || besideOne(derivative(p));

// Sturm: how many roots lie beyond 1, and how many of those have an odd multiplicity.  A root is
// one of the last in the chain, too, the greatest common divisor, with a multiplicity one less.
function roots(p) {
  const chain = [p, derivative(p)];
  let [g, h] = [1n, 1n];
  while (chain.at(-1).length) { // subresultants: what g h^k divides, so that numbers stay short
    const [a, b] = chain.slice(-2);
    const k = BigInt(a.length - b.length);
    chain.push(rest(a, b).map(c => -c / (g * h ** k)));
    g = abs(b.at(-1));
    h = g ** k / h ** (k - 1n);
  }
  chain.pop();
  const changes = values => values.filter((c, k) => k && (c < 0n) !== (values[k - 1] < 0n)).length;
  const all = changes(chain.map(besideOne)) - changes(chain.map(q => q.at(-1)));
  return [all, chain.length < 2 ? 0 : all - roots(chain.at(-1))[1]];
}

// On t > 1: -1 if p is negative somewhere, 1 if it is positive everywhere, else 0.
export function sign(p) {
  const [all, odd] = p.length ? roots(p) : [1, 0];
  return odd || p.at(-1) < 0n ? -1 : all ? 0 : 1;
}

// Whether these are 0, ..., count - 1, in any order.
const areAll = (found, count) =>
  new Set(found).size === count && found.every(at => at >= 0n && at < count);

function checkLaws({ mechanism, relation, size, power, bounds, order, laws, pairs, ...labels }) {
  const { datasets, outcomes } = labels;
  const named = [mechanism, relation].every(one => isText(one, /^[a-z][a-z0-9 ,-]{0,79}$/i));
  need(named && Object.keys(size).every(one => isText(one, /^[a-z]+$/i)), "a name is no name");
  const polynomials = [...bounds, ...laws.flat()];
  const rows = pairs.every(row => row.length === 4) && order.every(row => row.length === 2);
  need(size instanceof Object && !Array.isArray(size), "is no certificate: of no size");
  need(rows && polynomials.every(Array.isArray), "is no certificate: a list has another length");
  const lists = [Object.values(size), [datasets, outcomes].flat(Infinity), order.flat()];
  const numbers = [power, ...lists, pairs.flat(), polynomials.flat()].flat();
  need(numbers.every(n => typeof n === "bigint" && abs(n) < LARGEST), "a number is none, or huge");
  const short = polynomials.every(p => p.length <= LONGEST + 1) && power > 0n && power <= LONGEST;
  need(short, "the power or a degree is huge");
  need(polynomials.every(p => p.at(-1) !== 0n), "a polynomial ends in 0");
  for (const some of [datasets, outcomes]) {
    need(some.length && some.length <= MOST, "too many labels, or none");
    need(new Set(some.map(canonical)).size === some.length, "a label stands twice");
  }
  need(laws.length === datasets.length, "a law is missing, or one too many");
  need(laws.every(law => law.length === outcomes.length), "a law has other outcomes");
  const totals = laws.map(law => law.reduce(plus, []));
  need(outcomes.every((_, o) => laws.some(law => law[o].length)), "an outcome that no law has");
  need(totals.every(p => sign(p) > 0 && sum(p) > 0n), "a sum of weights may be 0");
  const ways = new Set(pairs.map(([x, y]) => `${x},${y}`));
  need(pairs.every(([x, y]) => ways.has(`${y},${x}`)), "a pair is compared one way only");
  need(ways.size === pairs.length, "a pair is listed twice");
  const compared = areAll(pairs.flatMap(([x, y]) => [x, y]), datasets.length);
  need(compared, "a data set is not compared, or not there");
  const used = areAll([...pairs.map(([, , b]) => b), ...order.flat()], bounds.length);
  need(used, "a bound is not used, or not there");

  // where both ways hold, a weight has the sign of its sum: none is negative
  const [ids, memory] = [new Map(), new Map()];
  const id = p => ids.set(`${p}`, ids.get(`${p}`) ?? ids.size).get(`${p}`);
  const [weight, total] = [laws.map(law => law.map(id)), totals.map(id)];
  const compare = (x, y, b, o) => {
    const key = `${[weight[x][o], total[x], weight[y][o], total[y], b]}`;
    if (!memory.has(key)) {
      const [left, right] = [times(laws[x][o], totals[y]), times(laws[y][o], totals[x])];
      const gap = minus(times(bounds[b], right), left);
      const [met, same] = [!gap.length && left.length > 0, `${left}` === `${right}`];
      memory.set(key, { holds: sign(gap) >= 0, met, same });
    }
    return memory.get(key);
  };
  let equalities = 0;
  for (const [x, y, b, sharp] of pairs) {
    const found = laws[x].map((_, o) => compare(x, y, b, o));
    need(!found.every(one => one.same), "a law is compared with its equal");
    need(found.every(one => one.holds), `the inequality may fail: pair ${x}, ${y}`);
    const met = found.filter(one => one.met).length;
    need(sharp === (met ? 1n : 0n), `sharp is not what it says: pair ${x}, ${y}`);
    equalities += met;
  }
  need(order.every(([i, j]) => sign(minus(bounds[j], bounds[i])) > 0), "the order may fail");
  return { inequalities: pairs.length * outcomes.length, equalities };
}

// ---- numbers: an interval is a list of its ends, whole multiples of 1 / ONE

const [ONE, TEN] = [1n << 320n, 10n ** 200n];
const floor = (a, b) => a / b - (a % b < 0n ? 1n : 0n); // b > 0
const ceil = (a, b) => -floor(-a, b);

function around(quotients) {
  const [low, high] = [quotients.map(q => floor(...q)), quotients.map(q => ceil(...q))];
  return [low.reduce((a, b) => (a < b ? a : b)), high.reduce((a, b) => (a > b ? a : b))];
}

const RULES = {
  add: ([a, b], [c, d]) => [a + c, b + d],
  subtract: ([a, b], [c, d]) => [a - d, b - c],
  multiply: (one, two) => around(one.flatMap(a => two.map(b => [a * b, ONE]))),
  divide: (one, two) => {
    need(two[0] > 0n || two[1] < 0n, "a divisor may be 0");
    return around(one.flatMap(a => two.map(b => [b < 0n ? -a * ONE : a * ONE, abs(b)])));
  },
  exp: ([a, b]) => [exponential(a)[0], exponential(b)[1]],
  ln: ([a, b]) => [logarithm(a)[0], logarithm(b)[1]],
};

function exponential(x) { // the series at x / 2^k, squared k times
  const k = Math.max(x.toString(2).length - 319, 0);
  if (k > 20) throw new RangeError("an exponent is huge");
  const small = around([[x, 1n << BigInt(k)]]);
  let [term, found] = [[ONE, ONE], [ONE, ONE]];
  for (let n = 1n; n <= 80n; n++) {
    term = around(RULES.multiply(term, small).map(end => [end, n]));
    found = RULES.add(found, term);
  }
  found = RULES.add(found, [-1n, 1n]); // the rest of the series is below 2^-400
  for (let n = 0; n < k; n++) found = RULES.multiply(found, found);
  return found;
}

function logarithm(x) { // found by Newton's steps, and seen: e^low <= x <= e^high
  const start = BigInt(Math.round((Math.log(Number(x)) - 320 * Math.LN2) * 2 ** 40)) << 280n;
  const nearer = (y, [near] = exponential(y)) => y + 2n * ONE * (x - near) / (x + near);
  const [low, high] = [-1n, 1n].map(k => nearer(nearer(start)) + k * (ONE >> 150n));
  if (exponential(low)[1] <= x && x <= exponential(high)[0]) return [low, high];
  throw new RangeError("a logarithm is not found");
}

function enclosed(steps, ends) {
  const found = [];
  for (const [step, ...at] of steps) {
    const whole = Object.hasOwn(ends, step) || isText(step, /^-?[0-9]{1,6}$/);
    need(at.length || whole, "a constant is not a small whole number");
    const known = !at.length || (Object.hasOwn(RULES, step) && RULES[step].length === at.length);
    need(known, "an unknown step");
    const value = () => ends[step] ?? [BigInt(step) * ONE, BigInt(step) * ONE];
    found.push(at.length ? RULES[step](...at.map(k => found[k])) : value());
  }
  return found;
}

function decimal(text) { // times TEN
  const [, whole, digits = "", ten = 0] = /^(-?\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text);
  return BigInt(whole + digits) * 10n ** BigInt(200 + Number(ten) - digits.length);
}

function checkBall(number, bounds, one) {
  keysAre(one, "centre precision radius root steps");
  const { centre, radius, precision, root, steps } = one;
  const form = /^-?[0-9]{1,20}(\.[0-9]{1,20})?(E[+-]?[0-9]{1,2})?$/;
  need(isText(centre, form) && isText(radius, form), "the ball is no number");
  const right = typeof precision === "bigint" && precision >= 20n && precision <= 100n;
  need(right, "the precision is out of bounds");
  need(steps.length <= MOST, "there are too many steps");
  const earlier = (at, k) => typeof at === "bigint" && at >= 0n && at < k;
  need(steps.every(([, ...at], k) => at.every(one => earlier(one, k))), "a step is not there");
  const [middle, half] = [centre, radius].map(decimal);
  const [low, high] = [middle - half, middle + half];
  need(half * 10n ** 9n <= abs(middle), "the ball is too wide");
  need(`${bounds.map(decimal)}` === `${[low, high]}`, "the card shows other bounds");
  const told = typeof number === "bigint" ? `${number}` : number?.text;
  const inside = told && low <= decimal(told) && decimal(told) <= high;
  need(inside, "the number is not in the ball");
  const ends = { low: around([[low * ONE, TEN]]), high: around([[high * ONE, TEN]]) };
  if (!root) {
    const [from, to] = enclosed(steps, {}).at(-1);
    need(from * TEN >= low * ONE && to * TEN <= high * ONE, "the ball is wrong");
    return;
  }
  // each step gets the number of its equals, also where other names stand for the ends
  const ids = new Map();
  const numbered = ends => steps.reduce((all, [step, ...at]) => {
    const key = `${[ends[step] ?? step, ...at.map(k => all[k])]}`;
    return [...all, ids.set(key, ids.get(key) ?? ids.size).get(key)];
  }, []);
  const [last, f, other] = steps.at(-1);
  const [plain, exchanged, lowAlone] =
    [{}, { low: "high", high: "low" }, { high: "none" }].map(numbered);
  const ofLow = plain[f] === lowAlone[f] && plain[f] !== exchanged[f];
  need(last === "multiply" && ofLow, "no f(low) f(high)");
  need(exchanged[f] === plain[other], "the two ends are of different functions");
  const [, below] = enclosed(steps, ends).at(-1);
  need(below < 0n, "the ball is wrong, or no change of sign is seen");
  const between = [ends.low[0], ends.high[1]];
  enclosed(steps, { low: between, high: between });
}

function checkBalls({ report, bounds }, { numbers }) {
  const [names, shown] = [numbers, bounds].map(all => Object.keys(all).sort());
  need(names.length && `${names}` === `${shown}`, "the card bounds other numbers");
  for (const name of names) {
    try {
      checkBall(report[name], bounds[name], numbers[name]);
    } catch (error) {
      error.message = `${name}: ${error.message}`;
      throw error;
    }
  }
  return { numbers: names.length, steps: names.flatMap(name => numbers[name].steps).length };
}

// ---- certificates and their records

export const readRecords = text => read(text, number => ({ text: number }));

// Of which claims a certificate is asked for.
export const asked = records => records.filter(
  one => "certificate" in one || (one.evidence === FOR_ALL && one.applies)).map(one => one.id);

// The certificate and what was compared, or the words of the refusal as an error.
export async function verify(records, name, text) {
  try {
    const mine = records.filter(one => one.id === name);
    need(mine.length === 1, `is recorded ${mine.length} times`);
    const [record] = mine;
    if (!("certificate" in record))
      throw new Refused(`is of evidence ${FOR_ALL} and has no certificate`);
    need(new TextEncoder().encode(text).length <= FILE, "the certificate is too long");
    const one = read(text, number => { throw new Refused(`${number} is not a whole number`); });
    need(record.certificate === await digest(one), "not the certificate that the record names");
    need(one.claim === name, "another claim");
    const kind = record.evidence === FOR_ALL ? "laws" : "balls";
    const proves = `does not prove what the evidence ${record.evidence} says`;
    need(one.kind === kind, `the kind '${one.kind}' ${proves}`);
    keysAre(one, kind === "laws" ? LAWS : "claim kind numbers");
    return { ...one, found: kind === "laws" ? checkLaws(one) : checkBalls(record, one) };
  } catch (error) {
    throw error instanceof Refused ? error : new Refused(`is no certificate (${error.message})`);
  }
}

async function main(claims, folder) {
  const { readdirSync, readFileSync } = await import("node:fs");
  const records = readRecords(readFileSync(claims, "utf8"));
  const files = readdirSync(folder).filter(file => file.endsWith(".json"));
  const names = new Set([...files.map(file => file.slice(0, -5)), ...asked(records)]);
  const bad = [];
  for (const name of [...names].sort()) {
    const there = files.includes(`${name}.json`);
    const text = there ? readFileSync(`${folder}/${name}.json`, "utf8") : "";
    await verify(records, name, text).catch(error => bad.push(`${name}: ${error.message}`));
  }
  console.log(bad.join("\n") || `${names.size} certificates checked again`);
  process.exitCode = bad.length || !names.size ? 1 : 0;
}

if (globalThis.process?.argv[1]?.endsWith("verify_certificate.mjs"))
  await main(...process.argv.slice(2));
