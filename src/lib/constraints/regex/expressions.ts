// Regular expressions over bytes, represented as small integers. Expressions that are equal under the laws applied
// here have the same number (hash-consing), which keeps their derivatives finite: Owens, Reppy, Turon,
// "Regular-expression derivatives re-examined", 2009, section 4.1. Intersection and complement are ordinary operators.
import { unreachable } from "../../../base/domain/assert.ts";
import { limitExceeded } from "./limits.ts";
import type { GrammarLimits, StepBudget } from "./limits.ts";
import { BytePartitions } from "./byte-partition.ts";
import type { BytePartition } from "./byte-partition.ts";
import { byteRange, bytesOf, intersectBytes, hasByte, unionBytes } from "./byte-set.ts";
import type { ByteSet } from "./byte-set.ts";
import {
  commonMultiple,
  completionOf,
  digitOf,
  isAlwaysMultiple,
  isMultiple,
  pointByte,
} from "./multiple.ts";
import type { Multiple } from "./multiple.ts";
import { LayeredMap } from "./layered-map.ts";
import { endsHere, leastLength, nextBytes, textRange, textsAfter } from "./text-list.ts";
import type { TextRange } from "./text-list.ts";
import {
  denotesText,
  maxLengthBound,
  advanceMatch,
  startMatch,
  distinguishingBytes,
} from "./string-exclusion.ts";
import type { StringMatch } from "./string-exclusion.ts";

export type Expression = number;

/** Matches no text. */
export const nothing: Expression = 0;
/** Matches the empty text. */
export const emptyText: Expression = 1;

export type ExpressionNode =
  | { readonly kind: "nothing" | "empty" }
  | { readonly kind: "bytes"; readonly set: ByteSet }
  | { readonly kind: "sequence"; readonly head: Expression; readonly tail: Expression }
  | { readonly kind: "or" | "and"; readonly parts: readonly Expression[] }
  | { readonly kind: "not"; readonly part: Expression }
  | {
      readonly kind: "repeat";
      readonly part: Expression;
      readonly min: number;
      readonly max: number;
    }
  /** The remaining digits of a number that must be a multiple of another. */
  | { readonly kind: "multiple"; readonly multiple: Multiple }
  /** Any text in a list. */
  | { readonly kind: "texts"; readonly list: number; readonly range: TextRange }
  /** The rest of a JSON string's body, excluding continuations that would complete a listed text. */
  | {
      readonly kind: "unlisted";
      readonly body: Expression;
      readonly list: number;
      readonly match: StringMatch;
    };

interface Facts {
  /** True if the expression matches the empty text. */
  readonly isNullable: boolean;
  /**
   * True if the expression contains no intersection or complement. A plain expression other than `nothing` matches
   * some text, so no search is needed.
   */
  readonly isPlain: boolean;
  /** Recursion depth when computing the expression's derivative. */
  readonly depth: number;
  /** Largest repetition count in the expression. */
  readonly countMax: number;
  /** Superset of the bytes that a match can begin with. Checking it first saves computing most derivatives. */
  readonly firsts: ByteSet;
  /** Approximate minimum length of a match in bytes. It is too large if the parts of a conjunction can share bytes. */
  readonly lengthAhead: number;
  /** Upper bound on the length of the shortest match in bytes; infinite if unknown. */
  readonly nearestEnd: number;
  /** Upper bound on the number of bytes that complete a match after any valid prefix; infinite if unknown. */
  readonly farthestEnd: number;
}

/** An intersection of a plain expression with a limit on the number of characters. */
interface Bounded {
  readonly of: Expression;
  /**
   * Repetitions of one character, where all matches of `of` consist of such characters. In the middle of a character,
   * the counter begins with the rest of that character.
   */
  readonly counter: Expression;
}

const farAway = { nearestEnd: Number.POSITIVE_INFINITY, farthestEnd: Number.POSITIVE_INFINITY };

const noBytes = byteRange(1, 0);
const allBytes = byteRange(0, 255);

/**
 * Maximum recursion depth of a derivative, since deeper recursion could overflow the stack. The nesting limit on
 * patterns is far lower.
 */
const depthMax = 1_500;

/**
 * From this number of texts on, a list of texts is stored as a list. Fewer texts become a union of sequences, which
 * shares common endings.
 */
const manyTexts = 32;
/** Sorting texts costs one step per sixteen bytes. */
const sortedBytesPerStepLog2 = 4;

/** Measured memory in bytes of a node (with its facts and key), and of an entry in the derivative cache. */
const [bytesPerNode, bytesPerDerivative] = [500, 60];

/** Greater than the number of expressions under any limit, so two expressions combine into one numeric key. */
const pairFactor = 2 ** 26;

/** The expressions of one constraint, optionally built on a base that many constraints share. */
export class Expressions {
  /** Matches any text. */
  readonly anything: Expression;
  readonly #limits: GrammarLimits;
  readonly #budget: StepBudget;
  readonly #base: Expressions | undefined;
  /** Number of expressions in the base. */
  readonly #baseCount: number;
  /** Expressions added to the base's, numbered from `baseCount`. */
  readonly #nodes: ExpressionNode[] = [];
  readonly #facts: Facts[] = [];
  readonly #partitions: BytePartitions;
  /** Classes of each expression, computed on first use; most are never needed. */
  readonly #classes: (BytePartition | undefined)[] = [];
  readonly #known: LayeredMap<string, Expression>;
  readonly #named: LayeredMap<string, Expression>;
  /** Sequences by head and tail. */
  readonly #sequences: LayeredMap<number, Expression>;
  readonly #ranges: LayeredMap<number, Expression>;
  readonly #derivatives: LayeredMap<number, Expression>;
  /** Serial number of each list of texts. */
  readonly #lists: LayeredMap<string, number>;
  /** Intersections that only bound the length of one of their members. */
  readonly #bounded: LayeredMap<Expression, Bounded>;
  /** Complement of each expression; an expression and its complement have an entry each. */
  readonly #opposites: LayeredMap<Expression, Expression>;

  /** @param base expressions to share under the same numbers; must be {@link complete} */
  constructor(limits: GrammarLimits, budget: StepBudget, base?: Expressions) {
    this.#limits = limits;
    this.#budget = budget;
    const before = <Part>(read: (one: Expressions) => Part): Part | undefined =>
      base === undefined ? undefined : read(base);
    this.#base = base;
    this.#baseCount = base?.count ?? 0;
    this.#partitions = new BytePartitions(before((one) => one.#partitions));
    this.#known = new LayeredMap(before((one) => one.#known));
    this.#named = new LayeredMap(before((one) => one.#named));
    this.#sequences = new LayeredMap(before((one) => one.#sequences));
    this.#ranges = new LayeredMap(before((one) => one.#ranges));
    this.#derivatives = new LayeredMap(before((one) => one.#derivatives));
    this.#lists = new LayeredMap(before((one) => one.#lists));
    this.#bounded = new LayeredMap(before((one) => one.#bounded));
    this.#opposites = new LayeredMap(before((one) => one.#opposites));
    const ofNone = {
      isNullable: true,
      isPlain: true,
      depth: 0,
      countMax: 0,
      firsts: noBytes,
      lengthAhead: 0,
      nearestEnd: 0,
      farthestEnd: 0,
    };
    const never = { lengthAhead: Number.POSITIVE_INFINITY, nearestEnd: Number.POSITIVE_INFINITY };
    this.#add("nothing", { kind: "nothing" }, { ...ofNone, isNullable: false, ...never });
    this.#add("empty", { kind: "empty" }, ofNone);
    this.anything = this.#add(
      "n0",
      { kind: "not", part: nothing },
      { ...ofNone, depth: 1, firsts: allBytes },
    );
  }

  /** Number of expressions, including the base's. */
  get count(): number {
    return this.#baseCount + this.#nodes.length;
  }

  /** Approximate memory in bytes, excluding the base. */
  get byteLength(): number {
    const nodes = this.#nodes.length * bytesPerNode;
    return nodes + this.#derivatives.ownSize * bytesPerDerivative + this.#partitions.byteLength;
  }

  /** Computes all lazily computed facts, so that expressions built on this base never modify it. */
  complete(): void {
    for (let expression = 0; expression < this.count; expression++) this.classes(expression);
  }

  /** Returns the expression cached under a name; calls `make` on first use. */
  named(name: string, make: () => Expression): Expression {
    const known = this.#named.get(name);
    if (known !== undefined) return known;
    const expression = make();
    this.#named.set(name, expression);
    return expression;
  }

  node(expression: Expression): ExpressionNode {
    const own = expression - this.#baseCount;
    // Expressions with numbers below `baseCount` belong to the base.
    return own < 0 && this.#base !== undefined ? this.#base.node(expression) : this.#nodes[own];
  }

  #factsOf(expression: Expression): Facts {
    const own = expression - this.#baseCount;
    return own < 0 && this.#base !== undefined ? this.#base.#factsOf(expression) : this.#facts[own];
  }

  isNullable(expression: Expression): boolean {
    return this.#factsOf(expression).isNullable;
  }

  isPlain(expression: Expression): boolean {
    return this.#factsOf(expression).isPlain;
  }

  /** Returns the partition of bytes into classes that have the same derivative. */
  classes(expression: Expression): BytePartition {
    const own = expression - this.#baseCount;
    if (own < 0 && this.#base !== undefined) return this.#base.classes(expression);
    return (this.#classes[own] ??= this.#newClasses(this.#nodes[own]));
  }

  /** False only if no match begins with the byte. */
  mayBegin(expression: Expression, byte: number): boolean {
    return hasByte(this.#factsOf(expression).firsts, byte);
  }

  /** Approximate number of bytes that a match still needs, summed over the parts of a conjunction. */
  lengthAhead(expression: Expression): number {
    return this.#factsOf(expression).lengthAhead;
  }

  bytes(set: ByteSet): Expression {
    if (set.every((word) => word === 0)) return nothing;
    const key = `b${set.join(",")}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    return this.#add(
      key,
      { kind: "bytes", set },
      {
        isNullable: false,
        isPlain: true,
        depth: 0,
        countMax: 0,
        firsts: set,
        lengthAhead: 1,
        nearestEnd: 1,
        farthestEnd: 1,
      },
    );
  }

  range(low: number, high: number): Expression {
    const key = low * 256 + high;
    const known = this.#ranges.get(key);
    if (known !== undefined) return known;
    const expression = this.bytes(byteRange(low, high));
    this.#ranges.set(key, expression);
    return expression;
  }

  /** Matches exactly these bytes. */
  literal(bytes: Uint8Array): Expression {
    return this.sequence(...Array.from(bytes, (byte) => this.range(byte, byte)));
  }

  /** Matches any of the texts. */
  anyText(texts: readonly string[]): Expression {
    if (texts.length < manyTexts) {
      const encoder = new TextEncoder();
      return this.or(...texts.map((text) => this.literal(encoder.encode(text))));
    }
    return this.listedText(texts);
  }

  /**
   * Like `anyText`, but requires at least one text and always stores a list. Creates further expressions only as
   * derivatives are taken.
   */
  listedText(texts: readonly string[]): Expression {
    this.#budget.spend(texts.reduce((sum, text) => sum + text.length, 0) >>> sortedBytesPerStepLog2);
    const range = textRange(texts);
    return this.#texts(this.#listOf(range), range);
  }

  #listOf({ texts }: TextRange): number {
    // U+0100 cannot occur in a text, because each character of the listed texts stands for one byte.
    const name = texts.join("\u{100}");
    const list = this.#lists.get(name) ?? this.#lists.size;
    this.#lists.set(name, list);
    return list;
  }

  /**
   * Matches the bodies of JSON strings that denote none of the texts, no matter which escapes they use.
   *
   * @param body expression that matches the body of any string
   */
  unlisted(body: Expression, texts: readonly string[]): Expression {
    this.#budget.spend(texts.reduce((sum, text) => sum + text.length, 0) >>> sortedBytesPerStepLog2);
    const match = startMatch(texts);
    return match === null ? body : this.#unlisted(body, this.#listOf(match.range), match);
  }

  #unlisted(body: Expression, list: number, match: StringMatch | null): Expression {
    if (body === nothing || match === null) return body;
    const { range, escape } = match;
    const key = `u${body},${list},${range.from},${range.to},${range.depth},${escape}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const facts = this.#factsOf(body);
    const isLeftOut = facts.isNullable && denotesText(match);
    // A text that is longer than every listed text cannot equal any of them.
    const longer = maxLengthBound(match);
    return this.#add(
      key,
      { kind: "unlisted", body, list, match },
      {
        ...facts,
        isNullable: facts.isNullable && !isLeftOut,
        depth: facts.depth + 1,
        lengthAhead: facts.lengthAhead + (isLeftOut ? 1 : 0),
        nearestEnd: facts.nearestEnd + longer,
        farthestEnd: facts.farthestEnd + longer,
      },
    );
  }

  #texts(list: number, range: TextRange): Expression {
    const isNullable = endsHere(range);
    if (isNullable && range.to - range.from === 1) return emptyText;
    return this.#add(
      `t${list},${range.from},${range.to},${range.depth}`,
      { kind: "texts", list, range },
      {
        isNullable,
        isPlain: true,
        depth: 0,
        countMax: 0,
        firsts: nextBytes(range),
        lengthAhead: leastLength(range),
        ...farAway,
      },
    );
  }

  sequence(...parts: readonly Expression[]): Expression {
    return parts.reduceRight((tail, head) => this.#pair(head, tail), emptyText);
  }

  #pair(head: Expression, tail: Expression): Expression {
    if (head === nothing || tail === nothing) return nothing;
    if (head === emptyText) return tail;
    if (tail === emptyText) return head;
    const node = this.node(head);
    if (node.kind === "sequence") return this.#pair(node.head, this.#pair(node.tail, tail));
    const key = head * pairFactor + tail;
    const known = this.#sequences.get(key);
    if (known !== undefined) return known;
    const [first, second] = [this.#factsOf(head), this.#factsOf(tail)];
    const sequence = this.#append(
      { kind: "sequence", head, tail },
      {
        isNullable: first.isNullable && second.isNullable,
        isPlain: first.isPlain && second.isPlain,
        depth: Math.max(first.depth, first.isNullable ? second.depth : 0) + 1,
        countMax: Math.max(first.countMax, second.countMax),
        firsts: first.isNullable ? unionBytes(first.firsts, second.firsts) : first.firsts,
        lengthAhead: first.lengthAhead + second.lengthAhead,
        nearestEnd: first.nearestEnd + second.nearestEnd,
        farthestEnd: Math.max(first.farthestEnd + second.nearestEnd, second.farthestEnd),
      },
    );
    this.#sequences.set(key, sequence);
    return sequence;
  }

  or(...parts: readonly Expression[]): Expression {
    const members = this.#flat("or", parts);
    members.delete(nothing);
    if (members.has(this.anything)) return this.anything;
    this.#mergeBytes(members, unionBytes);
    if (members.has(emptyText) && [...members].some((part) => part !== emptyText && this.isNullable(part)))
      members.delete(emptyText);
    for (const part of members) {
      const node = this.node(part);
      if (node.kind === "not" && members.has(node.part)) return this.anything;
      // In a union of A and (A and B), the member (A and B) adds nothing.
      if (node.kind === "and" && node.parts.some((inner) => members.has(inner))) members.delete(part);
    }
    return this.#list("or", members, nothing);
  }

  and(...parts: readonly Expression[]): Expression {
    const members = this.#flat("and", parts);
    members.delete(this.anything);
    if (members.has(nothing)) return nothing;
    if (members.has(emptyText))
      return [...members].every((part) => this.isNullable(part)) ? emptyText : nothing;
    this.#mergeBytes(members, intersectBytes);
    this.#mergeMultiples(members);
    for (const part of members) {
      const left = this.#leftBeside(members, part);
      if (left === nothing) return nothing;
      if (left !== part) return this.and(left, ...[...members].filter((other) => other !== part));
    }
    return this.#list("and", members, this.anything);
  }

  /**
   * Restricts an expression's matches to the numbers of characters that the counter allows.
   *
   * @param counter repetitions of one kind of character; all matches of the expression consist of such characters
   */
  bounded(expression: Expression, counter: Expression): Expression {
    const both = this.and(expression, counter);
    this.#bound(both, { of: expression, counter });
    return both;
  }

  #bound(expression: Expression, bounded: Bounded): void {
    // The length of a match is known only for plain expressions; tracking it for others would be expensive.
    if (this.isPlain(bounded.of) && this.node(expression).kind === "and")
      this.#bounded.set(expression, bounded);
  }

  /** Simplifies one member of an intersection using the other members: given A, the member (B or not A) becomes B. */
  #leftBeside(members: ReadonlySet<Expression>, part: Expression): Expression {
    const node = this.node(part);
    if (node.kind === "not") return this.#implies(members, node.part) ? nothing : part;
    if (node.kind !== "or") return part;
    this.#budget.spend(node.parts.length >>> 3);
    if (node.parts.some((option) => members.has(option))) return this.anything;
    const options = node.parts.map((option) => this.#optionBeside(members, option));
    return options.every((option, index) => option === node.parts[index]) ? part : this.or(...options);
  }

  #optionBeside(members: ReadonlySet<Expression>, option: Expression): Expression {
    const node = this.node(option);
    if (node.kind !== "and") return this.#isRuledOut(members, option) ? nothing : option;
    if (node.parts.some((inner) => this.#isRuledOut(members, inner))) return nothing;
    if (!node.parts.some((inner) => members.has(inner))) return option;
    return this.and(...node.parts.filter((inner) => !members.has(inner)));
  }

  /**
   * True if the structure of the expressions shows that the expression has no match in common with the members.
   * Examines only the structure, without a search.
   */
  #isRuledOut(members: ReadonlySet<Expression>, part: Expression): boolean {
    const opposite = this.#opposites.get(part);
    if (opposite !== undefined && members.has(opposite)) return true;
    const node = this.node(part);
    return node.kind === "not" && this.#implies(members, node.part);
  }

  not(part: Expression): Expression {
    const node = this.node(part);
    if (node.kind === "not") return node.part;
    const known = this.#opposites.get(part);
    if (known !== undefined) return known;
    const opposite = this.#opposite(part, node);
    this.#opposites.set(part, opposite);
    return opposite;
  }

  /**
   * Moves complements inwards (De Morgan) to reduce nesting: into intersections, and into unions that are not plain.
   */
  #opposite(part: Expression, node: ExpressionNode): Expression {
    if (node.kind === "and") return this.or(...node.parts.map((inner) => this.not(inner)));
    if (node.kind === "or" && !this.isPlain(part)) {
      const plain = node.parts.filter((inner) => this.isPlain(inner));
      const others = node.parts.filter((inner) => !this.isPlain(inner));
      return this.and(this.not(this.or(...plain)), ...others.map((inner) => this.not(inner)));
    }
    const { isNullable, depth, countMax } = this.#factsOf(part);
    return this.#add(
      `n${part}`,
      { kind: "not", part },
      {
        isNullable: !isNullable,
        isPlain: false,
        depth: depth + 1,
        countMax,
        firsts: allBytes,
        lengthAhead: isNullable ? 1 : 0,
        ...farAway,
      },
    );
  }

  /** @param max may be infinite */
  repeat(part: Expression, min: number, max = Number.POSITIVE_INFINITY): Expression {
    if (max === 0 || part === emptyText) return emptyText;
    if (part === nothing) return min === 0 ? emptyText : nothing;
    if (min === 1 && max === 1) return part;
    const facts = this.#factsOf(part);
    const node = this.node(part);
    if (node.kind === "repeat" && node.min === 0 && node.max === Number.POSITIVE_INFINITY) return part;
    const least = facts.isNullable ? 0 : min;
    const key = `r${part},${least},${max}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const most = max === Number.POSITIVE_INFINITY ? least : max;
    return this.#add(
      key,
      { kind: "repeat", part, min: least, max },
      {
        ...facts,
        isNullable: least === 0,
        depth: facts.depth + 1,
        countMax: Math.max(facts.countMax, most),
        lengthAhead: facts.lengthAhead * least,
        nearestEnd: facts.nearestEnd * least,
        farthestEnd: facts.farthestEnd + facts.nearestEnd * Math.max(0, least - 1),
      },
    );
  }

  optional(part: Expression): Expression {
    return this.or(emptyText, part);
  }

  multiple(multiple: Multiple): Expression {
    const { divisor, scale, remainder, fractionDigits, digitsLeft } = multiple;
    const key = `m${divisor},${scale},${remainder},${fractionDigits},${digitsLeft}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    return this.#add(
      key,
      { kind: "multiple", multiple },
      {
        isNullable: isMultiple(multiple),
        isPlain: true,
        depth: 0,
        countMax: 0,
        firsts: numberBytes,
        lengthAhead: isMultiple(multiple) ? 0 : 1,
        ...farAway,
      },
    );
  }

  /**
   * Returns a simpler expression that texts of at most `length` bytes cannot distinguish from this one: after any such
   * text, either both can continue or neither can. Merges repetition counts that such a text cannot reach. Leaves
   * complements unchanged, and intersections unless they only bound a length.
   */
  saturated(expression: Expression, length: number): Expression {
    if (this.#factsOf(expression).countMax <= length + 1) return expression;
    const node = this.node(expression);
    switch (node.kind) {
      case "sequence":
        return this.#pair(this.saturated(node.head, length), this.saturated(node.tail, length));
      case "or":
        return this.or(...node.parts.map((part) => this.saturated(part, length)));
      case "and": {
        const bounded = this.#bounded.get(expression);
        if (bounded === undefined || !this.#isFarFromBounds(bounded, length)) return expression;
        return this.saturated(bounded.of, length);
      }
      case "repeat": {
        const max = node.max > length + 1 ? Number.POSITIVE_INFINITY : node.max;
        return this.repeat(this.saturated(node.part, length), Math.min(node.min, length + 1), max);
      }
      default:
        return expression;
    }
  }

  /** True if, after any text of this length, the match can still end within the maximum and no minimum remains. */
  #isFarFromBounds({ of, counter }: Bounded, length: number): boolean {
    const { countMax } = this.#factsOf(counter);
    return this.#leastCount(counter) === 0 && countMax > length + this.#factsOf(of).farthestEnd;
  }

  /**
   * Returns the number of characters that a counter still requires. In the middle of a character, the rest of that
   * character is not counted.
   */
  #leastCount(counter: Expression): number {
    const node = this.node(counter);
    switch (node.kind) {
      case "repeat":
        return node.min;
      case "sequence":
        return this.#leastCount(node.tail);
      case "or":
        return Math.max(...node.parts.map((part) => this.#leastCount(part)));
      default:
        return Number.POSITIVE_INFINITY;
    }
  }

  /**
   * Returns the expression without repetition maxima above a number. Texts of at most that many bytes match either
   * both or neither. Leaves complements unchanged.
   */
  unbounded(expression: Expression, above: number): Expression {
    if (this.#factsOf(expression).countMax <= above) return expression;
    const node = this.node(expression);
    switch (node.kind) {
      case "sequence":
        return this.#pair(this.unbounded(node.head, above), this.unbounded(node.tail, above));
      case "or":
        return this.or(...node.parts.map((part) => this.unbounded(part, above)));
      case "and": {
        // Left unchanged: for an intersection that only bounds a length, the distance to the maximum is known exactly.
        if (this.#bounded.get(expression) !== undefined) return expression;
        return this.and(...node.parts.map((part) => this.unbounded(part, above)));
      }
      case "repeat":
        return this.repeat(
          this.unbounded(node.part, above),
          node.min,
          node.max > above ? Number.POSITIVE_INFINITY : node.max,
        );
      default:
        return expression;
    }
  }

  /** Returns Brzozowski's derivative: the expression that the rest of a text must match after this byte. */
  derivative(expression: Expression, byte: number): Expression {
    if (!hasByte(this.#factsOf(expression).firsts, byte)) return nothing;
    const first = this.classes(expression).first[byte];
    const key = expression * 256 + first;
    const known = this.#derivatives.get(key);
    if (known !== undefined) return known;
    this.#budget.spend(1);
    const derivative = this.#derive(this.node(expression), first);
    this.#derivatives.set(key, derivative);
    const bounded = this.#bounded.get(expression);
    if (bounded !== undefined)
      this.#bound(derivative, {
        of: this.derivative(bounded.of, first),
        counter: this.derivative(bounded.counter, first),
      });
    return derivative;
  }

  #newClasses(node: ExpressionNode): BytePartition {
    switch (node.kind) {
      case "nothing":
      case "empty":
        return this.#partitions.whole;
      case "bytes":
        return this.#partitions.of(node.set);
      case "sequence": {
        const classes = this.classes(node.head);
        return this.isNullable(node.head)
          ? this.#partitions.refined(classes, this.classes(node.tail))
          : classes;
      }
      case "or":
      case "and":
        return this.#classesOfAll(node.parts.map((part) => this.classes(part)));
      case "not":
      case "repeat":
        return this.classes(node.part);
      case "texts":
        return this.#partitions.apart(nextBytes(node.range));
      case "unlisted":
        return this.#partitions.refined(
          this.classes(node.body),
          this.#partitions.apart(distinguishingBytes(node.match)),
        );
      case "multiple":
        return this.#classesOfAll(numberCharacters.map((byte) => this.#partitions.of(bytesOf([byte]))));
      default:
        return unreachable(node);
    }
  }

  #classesOfAll(classes: readonly BytePartition[]): BytePartition {
    return classes.reduce((one, other) => this.#partitions.refined(one, other));
  }

  #derive(node: ExpressionNode, byte: number): Expression {
    switch (node.kind) {
      case "nothing":
      case "empty":
        return nothing;
      case "bytes":
        return hasByte(node.set, byte) ? emptyText : nothing;
      case "sequence": {
        const first = this.#pair(this.derivative(node.head, byte), node.tail);
        return this.isNullable(node.head) ? this.or(first, this.derivative(node.tail, byte)) : first;
      }
      case "or":
        return this.or(...node.parts.map((part) => this.derivative(part, byte)));
      case "and":
        return this.and(...node.parts.map((part) => this.derivative(part, byte)));
      case "not":
        return this.not(this.derivative(node.part, byte));
      case "repeat":
        return this.#pair(
          this.derivative(node.part, byte),
          this.repeat(node.part, Math.max(0, node.min - 1), node.max - 1),
        );
      case "texts": {
        const rest = textsAfter(node.range, byte);
        return rest === null ? nothing : this.#texts(node.list, rest);
      }
      case "unlisted": {
        const body = this.derivative(node.body, byte);
        return body === nothing ? nothing : this.#unlisted(body, node.list, advanceMatch(node.match, byte));
      }
      case "multiple": {
        const next = digitOf(node.multiple, byte);
        return next === null ? nothing : this.multiple(next);
      }
      default:
        return unreachable(node);
    }
  }

  /**
   * Returns the members of a union or intersection as one set. Nested unions or intersections of the same kind are
   * replaced by their members.
   */
  #flat(kind: "or" | "and", parts: readonly Expression[]): Set<Expression> {
    const members = new Set<Expression>();
    for (const part of parts) {
      const node = this.node(part);
      if (node.kind === kind) for (const inner of node.parts) members.add(inner);
      else members.add(part);
    }
    return members;
  }

  /** Merges all members that are byte sets into one. */
  #mergeBytes(members: Set<Expression>, merged: (one: ByteSet, other: ByteSet) => ByteSet): void {
    let all: ByteSet | null = null;
    let count = 0;
    for (const part of members) {
      const node = this.node(part);
      if (node.kind !== "bytes") continue;
      all = all === null ? node.set : merged(all, node.set);
      count += 1;
    }
    if (all === null || count < 2) return;
    for (const part of members) if (this.node(part).kind === "bytes") members.delete(part);
    members.add(this.bytes(all));
  }

  /** Merges all members of an intersection that are multiples into one. */
  #mergeMultiples(members: Set<Expression>): void {
    let last: Expression | null = null;
    for (const part of members) {
      const node = this.node(part);
      if (node.kind !== "multiple") continue;
      const before = last === null ? null : this.node(last);
      const both = before?.kind === "multiple" ? commonMultiple(before.multiple, node.multiple) : null;
      if (last !== null && both !== null) {
        members.delete(last);
        members.delete(part);
        // The merged multiple comes at the end of the set, so the loop visits it again and merges it with the remaining
        // multiples.
        members.add(completionOf(both) === null ? nothing : this.multiple(both));
        last = null;
      } else last = part;
    }
  }

  /**
   * True if the structure of the expressions shows that every text that matches all members also matches this
   * expression. Examines only the structure, without a search.
   */
  #implies(members: ReadonlySet<Expression>, other: Expression): boolean {
    if (members.has(other)) return true;
    const wanted = this.node(other);
    if (wanted.kind !== "multiple") return false;
    return [...members].some((part) => {
      const node = this.node(part);
      return node.kind === "multiple" && isAlwaysMultiple(node.multiple, wanted.multiple);
    });
  }

  #list(kind: "or" | "and", members: ReadonlySet<Expression>, ofNone: Expression): Expression {
    const parts = [...members].sort((one, other) => one - other);
    if (parts.length === 0) return ofNone;
    if (parts.length === 1) return parts[0];
    this.#budget.spend(parts.length >>> 2);
    const key = `${kind}${parts.join(",")}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const facts = parts.map((part) => this.#factsOf(part));
    const lengths = facts.map(({ lengthAhead }) => lengthAhead);
    return this.#add(
      key,
      { kind, parts },
      {
        isNullable:
          kind === "or" ? facts.some((one) => one.isNullable) : facts.every((one) => one.isNullable),
        isPlain: kind === "or" && facts.every((one) => one.isPlain),
        depth: Math.max(...facts.map(({ depth }) => depth)) + 1,
        countMax: Math.max(...facts.map(({ countMax }) => countMax)),
        firsts: facts
          .map(({ firsts }) => firsts)
          .reduce((one, other) => (kind === "or" ? unionBytes(one, other) : intersectBytes(one, other))),
        lengthAhead: kind === "or" ? Math.min(...lengths) : lengths.reduce((sum, length) => sum + length, 0),
        ...(kind === "and"
          ? farAway
          : {
              nearestEnd: Math.min(...facts.map(({ nearestEnd }) => nearestEnd)),
              farthestEnd: Math.max(...facts.map(({ farthestEnd }) => farthestEnd)),
            }),
      },
    );
  }

  #add(key: string, node: ExpressionNode, facts: Facts): Expression {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const expression = this.#append(node, facts);
    this.#known.set(key, expression);
    return expression;
  }

  #append(node: ExpressionNode, facts: Facts): Expression {
    if (this.#nodes.length >= this.#limits.states) throw limitExceeded("states", this.#limits.states);
    if (facts.depth > depthMax) throw limitExceeded("nesting", this.#limits.nesting);
    this.#budget.spend(1);
    const expression = this.count;
    this.#nodes.push(node);
    this.#facts.push(facts);
    return expression;
  }
}

const numberCharacters = [...Array.from("0123456789", (digit) => digit.charCodeAt(0)), pointByte];
const numberBytes = bytesOf(numberCharacters);
