// Prepares an object's shape for rules: the declared names in order, the other possible names, and the required
// counts.
import type { Expression } from "../../../regex/expressions.ts";
import type { Goal } from "../goals.ts";
import { noValue } from "../goals.ts";
import { limitExceeded } from "../../../regex/limits.ts";
import { clauseCases, presenceOf } from "../presence.ts";
import { PropertyClauses } from "./property-clauses.ts";
import { refused } from "../keywords/keyword.ts";
import type { Meanings } from "../meanings.ts";
import type { Declared, NameRule, Need, ObjectShape } from "../shapes.ts";

export interface ObjectPlan {
  readonly type: "object";
  readonly declared: readonly Declared[];
  /** Rules for undeclared names, which come after the declared ones. */
  readonly rules: readonly NameRule[];
  readonly min: number;
  readonly max: number;
  /**
   * Number of needs that undeclared names must satisfy. A need is a requirement for at least one property of a kind.
   * `wanted` lists names that satisfy some of these needs.
   */
  readonly wantCount: number;
  readonly wanted: readonly WantedName[];
  /**
   * Number of names that each rule allows, up to the largest number that makes a difference; null if names may repeat
   * (see `mustDiffer`). If names must not repeat, each name is written in only one way.
   */
  readonly nameCounts: readonly number[] | null;
  /** Dependencies between the declared properties. */
  readonly propertyClauses: PropertyClauses;
}

export interface WantedName extends NameRule {
  /** Indexes of the needs (required kinds of property) that a property with this name satisfies. */
  readonly does: readonly number[];
}

/** Progress of writing an object. */
export interface ObjectProgress {
  /** Number of declared names that have been decided: written or left out. */
  readonly position: number;
  readonly count: number;
  /** Indexes of the needs that undeclared names must still satisfy. */
  readonly wants: readonly number[];
  /** Indexes of the clauses that are not yet satisfied. */
  readonly open: readonly number[];
}

/** Returns the progress before the first property. */
export const startOf = ({ wantCount, propertyClauses }: ObjectPlan): ObjectProgress => ({
  position: 0,
  count: 0,
  wants: Array.from({ length: wantCount }, (_, want) => want),
  open: propertyClauses.all,
});

/**
 * Returns the progress after a declared property. Declared properties before it that have not been written are left
 * out.
 */
export function afterDeclared<T extends ObjectProgress>(
  { propertyClauses }: ObjectPlan,
  progress: T,
  index: number,
): T {
  const { position, count, open } = progress;
  return {
    ...progress,
    position: index + 1,
    count: count + 1,
    open: propertyClauses.stillOpen(open, position, index),
  };
}

/**
 * Returns the progress after an undeclared property. Declared properties come before undeclared ones, so those that
 * have not been written are left out.
 */
export function afterOther(
  { declared, propertyClauses }: ObjectPlan,
  progress: ObjectProgress,
): ObjectProgress {
  const { position, count, open } = progress;
  return {
    ...progress,
    position: declared.length,
    count: count + 1,
    open: propertyClauses.stillOpen(open, position, declared.length),
  };
}

/** Returns plans for writing objects of the shape, one for each way to satisfy the shape's needs. */
export function planObjects(
  meanings: Meanings,
  shape: ObjectShape,
  isClosed: boolean,
): readonly ObjectPlan[] {
  const open =
    isClosed && shape.declared.length > 0 ? shape.rules.filter(({ isPattern }) => isPattern) : shape.rules;
  const rules = open.filter(({ goal }) => goal !== noValue);
  const bare = { ...shape, rules, needs: [] };
  const cases = isCounted(bare) ? clauseCases(meanings.texts, bare) : [bare];
  const { alternatives } = meanings.compilation.limits;
  if (cases.length > alternatives) throw limitExceeded("alternatives", alternatives);
  const ways = cases.flatMap((one) => needsSettled(meanings, one, shape.needs));
  return ways.map(({ settled, open: wants }) => {
    const names = undeclared(meanings, settled);
    const others = narrowed(meanings, settled.rules, names);
    const plan = {
      type: "object" as const,
      declared: settled.declared,
      rules: others,
      min: settled.min,
      max: settled.max,
      wantCount: wants.length,
      wanted: wantedNames(meanings, others, wants),
      nameCounts: null,
      propertyClauses: new PropertyClauses(settled.declared, settled.clauses, meanings.compilation.budget),
    };
    return mustDiffer(plan) ? withDistinctNames(meanings, plan) : plan;
  });
}

/** True if an object can violate `min` or `max` through its number of optional properties. */
function isCounted({ declared, rules, min, max }: ObjectShape): boolean {
  const hasRoom = max === Number.POSITIVE_INFINITY || (rules.length === 0 && declared.length <= max);
  return !hasRoom || min > declared.filter(({ isRequired }) => isRequired).length;
}

interface Settled {
  readonly settled: ObjectShape;
  /** Needs (required kinds of property) that the declared properties leave to undeclared names. */
  readonly open: readonly Need[];
}

function needsSettled(meanings: Meanings, shape: ObjectShape, needs: readonly Need[]): readonly Settled[] {
  const { goals, texts, compilation } = meanings;
  const { alternatives } = compilation.limits;
  return needs.reduce<readonly Settled[]>(
    (ways, need) => {
      const more = ways.flatMap(({ settled, open }) => {
        const byDeclared = settled.declared.flatMap(({ name, goal }, index): readonly Settled[] => {
          if (!texts.holds(need.names, name)) return [];
          const required = { name, goal: goals.and(goal, need.goal), isRequired: true };
          return [{ settled: { ...settled, declared: settled.declared.with(index, required) }, open }];
        });
        const others = narrowed(meanings, settled.rules, undeclared(meanings, settled));
        const isPossible = wantedNames(meanings, others, [need]).length > 0;
        return isPossible ? [...byDeclared, { settled, open: [...open, need] }] : byDeclared;
      });
      if (more.length > alternatives) throw limitExceeded("alternatives", alternatives);
      return more;
    },
    [{ settled: shape, open: [] }],
  );
}

/** Minimum number of parser rules per name. */
const rulesPerName = 6;

/**
 * For each combination of needs (required kinds of property), returns the undeclared names that satisfy it.
 *
 * @throws ConstraintRefusal if there are several needs and one has so few names that they could be used up
 */
function wantedNames(
  meanings: Meanings,
  rules: readonly NameRule[],
  wants: readonly Need[],
): readonly WantedName[] {
  const { goals, texts, compilation } = meanings;
  const { automaton, limits } = compilation;
  const many = Math.floor(limits.states / rulesPerName);
  let found: readonly WantedName[] = rules.map((rule) => ({ ...rule, does: [] }));
  for (const [want, need] of wants.entries()) {
    const doing = found.map((name) => ({
      ...name,
      names: texts.both(name.names, need.names),
      goal: goals.and(name.goal, need.goal),
      does: [...name.does, want],
    }));
    const possible = doing.filter(({ names, goal }) => goal !== noValue && !automaton.isEmpty(names));
    const isScarce = ({ names }: WantedName) => !automaton.hasTexts(automaton.start(names), many);
    if (wants.length > 1 && possible.some(isScarce))
      throw refused("not", need.pointer, "requires several undeclared names, of which there are only few");
    found = [...found, ...possible];
    if (found.length > limits.alternatives) throw limitExceeded("alternatives", limits.alternatives);
  }
  return found.filter(({ does }) => does.length > 0);
}

/** Returns the bodies of the names that the shape does not declare. */
function undeclared({ texts }: Meanings, { declared, rules }: ObjectShape): Expression {
  if (declared.length === 0 || rules.length === 0) return texts.anyBody;
  return texts.besides(declared.map(({ name }) => name));
}

function narrowed<T extends NameRule>(
  { texts }: Meanings,
  rules: readonly T[],
  names: Expression,
): readonly T[] {
  return rules
    .map((rule) => ({ ...rule, names: texts.both(rule.names, names) }))
    .filter((rule) => !texts.compilation.automaton.isEmpty(rule.names));
}

/**
 * True if names must not repeat, because a repeated name counts only once and JSON parsers keep only its last value. A
 * minimum needs no such restriction if one undeclared name is enough to reach it.
 */
function mustDiffer({ declared, rules, min, wantCount }: ObjectPlan): boolean {
  const requiredCount = declared.filter(({ isRequired }) => isRequired).length;
  return wantCount > 0 || (rules.length > 0 && min > 1 && requiredCount < min - 1);
}

/** Returns the plan with the restriction that names do not repeat. */
export function withDistinctNames(meanings: Meanings, plan: ObjectPlan): ObjectPlan {
  const { texts } = meanings;
  const { automaton } = texts.compilation;
  const rules = narrowed(meanings, plan.rules, texts.shortestBody);
  const countOf = ({ names }: NameRule): number => {
    let count = 0;
    while (count < plan.min && automaton.hasTexts(automaton.start(names), count + 1)) count += 1;
    return count;
  };
  return {
    ...plan,
    rules,
    wanted: narrowed(meanings, plan.wanted, texts.shortestBody),
    nameCounts: rules.map(countOf),
  };
}

/** True if an object with this progress can be completed. */
export function canFinishObject(
  plan: ObjectPlan,
  progress: ObjectProgress,
  isSatisfiable: (goal: Goal) => boolean,
): boolean {
  const { declared, rules, min, max, nameCounts, propertyClauses } = plan;
  const { position, open } = progress;
  const ahead = declared.slice(position);
  if (ahead.some(({ goal, isRequired }) => isRequired && !isSatisfiable(goal))) return false;
  const wantedCount = fewestWanted(plan, progress.wants, isSatisfiable);
  if (wantedCount === null) return false;
  const mustHave = ahead.filter(({ isRequired }) => isRequired).length + wantedCount;
  if (progress.count + mustHave > max) return false;
  const mayHave = ahead.filter(({ goal }) => isSatisfiable(goal)).length;
  // The sum also counts names that were already written. This does no harm: if there had been too few names, none of
  // them would have been written.
  const others = rules.reduce(
    (count, { goal }, index) =>
      count + (isSatisfiable(goal) ? (nameCounts?.[index] ?? Number.POSITIVE_INFINITY) : 0),
    0,
  );
  if (progress.count + mayHave + Math.max(others, wantedCount) < min) return false;
  return propertyClauses.canHold(open, position, (index) =>
    isSatisfiable(declared[index].goal) ? presenceOf(declared[index]) : false,
  );
}

/** Returns the smallest number of names that satisfy all needs; null if no names do. */
function fewestWanted(
  { wanted }: ObjectPlan,
  wants: readonly number[],
  isSatisfiable: (goal: Goal) => boolean,
): number | null {
  const possible = wanted.filter(({ goal }) => isSatisfiable(goal));
  if (!wants.every((want) => possible.some(({ does }) => does.includes(want)))) return null;
  let left: readonly (readonly number[])[] = [wants];
  let count = 0;
  for (; !left.some((some) => some.length === 0); count++) {
    const after = left.flatMap((some) => possible.map(({ does }) => without(some, does)));
    left = [...new Map(after.map((some) => [some.join(","), some])).values()];
  }
  return count;
}

export const without = (wants: readonly number[], done: readonly number[]): readonly number[] =>
  wants.filter((want) => !done.includes(want));

export function mayCloseObject(
  { declared, min, propertyClauses }: ObjectPlan,
  { position, count, wants, open }: ObjectProgress,
): boolean {
  if (count < min || wants.length > 0 || declared.slice(position).some(({ isRequired }) => isRequired))
    return false;
  return propertyClauses.holdAtEnd(open, position);
}

/** True if a declared property can come next such that the object can be completed after it. */
export function mayDeclare(
  plan: ObjectPlan,
  progress: ObjectProgress,
  isSatisfiable: (goal: Goal) => boolean,
): boolean {
  for (let at = progress.position; at < plan.declared.length; at++) {
    const { goal, isRequired } = plan.declared[at];
    const after = afterDeclared(plan, progress, at);
    if (isSatisfiable(goal) && canFinishObject(plan, after, isSatisfiable)) return true;
    if (isRequired) return false;
  }
  return false;
}
