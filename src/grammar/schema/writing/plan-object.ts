// An object's shape made ready for rules: the declared names in their order, what other names there may be, and the counts
// that an object must reach.
import type { Expression } from "../../../regex/expressions.ts";
import type { Goal } from "../goals.ts";
import { noValue } from "../goals.ts";
import { limitExceeded } from "../../../regex/limits.ts";
import { clauseCases, presenceOf } from "../presence.ts";
import { Together } from "./together.ts";
import { refused } from "../keywords/keyword.ts";
import type { Meanings } from "../meanings.ts";
import type { Declared, NameRule, Need, ObjectShape } from "../shapes.ts";

export interface ObjectPlan {
  readonly type: "object";
  readonly declared: readonly Declared[];
  /** Other names, behind the declared ones. */
  readonly rules: readonly NameRule[];
  readonly min: number;
  readonly max: number;
  /** One of these must be among the other names; null where none must. */
  readonly wanted: readonly NameRule[] | null;
  /**
   * Null where other names may come twice. Where they may not, since each counts or one of them must keep what its value
   * is: how many names each rule has, as far as they matter. Every name has one text then.
   */
  readonly nameCounts: readonly number[] | null;
  /** Which of the declared names go together. */
  readonly together: Together;
}

/** How far an object is written. */
export interface ObjectProgress {
  /** How many of the declared names are behind. */
  readonly position: number;
  readonly count: number;
  /** Whether one of the wanted names is still to come. */
  readonly wanted: boolean;
  /** The clauses that nothing has fulfilled yet. */
  readonly open: readonly number[];
}

/** Before the first property. */
export const startOf = ({ wanted, together }: ObjectPlan): ObjectProgress => ({
  position: 0,
  count: 0,
  wanted: wanted !== null,
  open: together.all,
});

/** Behind the declared property of the index, with those before it left out. */
export function behindDeclared<T extends ObjectProgress>(
  { together }: ObjectPlan,
  progress: T,
  index: number,
): T {
  const { position, count, open } = progress;
  return {
    ...progress,
    position: index + 1,
    count: count + 1,
    open: together.stillOpen(open, position, index),
  };
}

/** Behind a property with another name, with all further declared ones left out. */
export function behindOther({ declared, together }: ObjectPlan, progress: ObjectProgress): ObjectProgress {
  const { position, count, open } = progress;
  return {
    ...progress,
    position: declared.length,
    count: count + 1,
    open: together.stillOpen(open, position, declared.length),
  };
}

/** One plan for each way to satisfy the needs. */
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
  const { alternatives } = meanings.workshop.limits;
  if (cases.length > alternatives) throw limitExceeded("alternatives", alternatives);
  const ways = cases.flatMap((one) => needsSettled(meanings, one, shape.needs));
  return ways.map(({ settled, wanted }) => {
    const names = undeclared(meanings, settled);
    const plan = {
      type: "object" as const,
      declared: settled.declared,
      rules: narrowed(meanings, settled.rules, names),
      min: settled.min,
      max: settled.max,
      wanted: wanted === null ? null : narrowed(meanings, wanted, names),
      nameCounts: null,
      together: new Together(settled.declared, settled.clauses, meanings.workshop.budget),
    };
    return mustDiffer(plan) ? withDistinctNames(meanings, plan) : plan;
  });
}

/** Whether it matters how many of the properties are there that clauses leave open. */
function isCounted({ declared, rules, min, max }: ObjectShape): boolean {
  const hasRoom = max === Number.POSITIVE_INFINITY || (rules.length === 0 && declared.length <= max);
  return !hasRoom || min > declared.filter(({ isRequired }) => isRequired).length;
}

interface Settled {
  readonly settled: ObjectShape;
  readonly wanted: readonly NameRule[] | null;
}

function needsSettled(meanings: Meanings, shape: ObjectShape, needs: readonly Need[]): readonly Settled[] {
  const { goals, texts } = meanings;
  return needs.reduce<readonly Settled[]>(
    (ways, need) =>
      ways.flatMap(({ settled, wanted }) => {
        const byDeclared = settled.declared.flatMap(({ name, goal }, index): readonly Settled[] => {
          if (!texts.holds(need.names, name)) return [];
          const required = { name, goal: goals.and(goal, need.goal), isRequired: true };
          return [{ settled: { ...settled, declared: settled.declared.with(index, required) }, wanted }];
        });
        const others = settled.rules.map((rule) => ({
          ...rule,
          names: texts.both(rule.names, need.names),
          goal: goals.and(rule.goal, need.goal),
        }));
        const possible = narrowed(meanings, others, undeclared(meanings, settled)).filter(
          ({ goal }) => goal !== noValue,
        );
        if (possible.length === 0) return byDeclared;
        if (wanted !== null)
          throw refused("not", need.pointer, "asks for several names that are not declared");
        return [...byDeclared, { settled, wanted: possible }];
      }),
    [{ settled: shape, wanted: null }],
  );
}

/** Bodies of the names that the shape does not declare. */
function undeclared({ texts }: Meanings, { declared, rules }: ObjectShape): Expression {
  if (declared.length === 0 || rules.length === 0) return texts.anyBody;
  const names = declared.map(({ name }) => texts.everySpelling(name));
  return texts.others(texts.workshop.expressions.or(...names));
}

function narrowed({ texts }: Meanings, rules: readonly NameRule[], names: Expression): readonly NameRule[] {
  return rules
    .map((rule) => ({ ...rule, names: texts.both(rule.names, names) }))
    .filter((rule) => !texts.workshop.automaton.isEmpty(rule.names));
}

/**
 * Whether a name that comes twice would make a difference: it counts once, and of its values readers take the last. A
 * minimum is exact without where one name is enough.
 */
function mustDiffer({ declared, rules, min, wanted }: ObjectPlan): boolean {
  const requiredCount = declared.filter(({ isRequired }) => isRequired).length;
  return wanted !== null || (rules.length > 0 && min > 1 && requiredCount < min - 1);
}

/** The plan without names that come twice. */
export function withDistinctNames(meanings: Meanings, plan: ObjectPlan): ObjectPlan {
  const { texts } = meanings;
  const { automaton } = texts.workshop;
  const rules = narrowed(meanings, plan.rules, texts.shortestBody);
  const countOf = ({ names }: NameRule): number => {
    let count = 0;
    while (count < plan.min && automaton.hasTexts(automaton.start(names), count + 1)) count += 1;
    return count;
  };
  return {
    ...plan,
    rules,
    wanted: plan.wanted && narrowed(meanings, plan.wanted, texts.shortestBody),
    nameCounts: rules.map(countOf),
  };
}

/** Whether an object that has come so far can be completed. */
export function canFinishObject(
  { declared, rules, min, max, wanted, nameCounts, together }: ObjectPlan,
  progress: ObjectProgress,
  isFruitful: (goal: Goal) => boolean,
): boolean {
  const { position, open } = progress;
  const ahead = declared.slice(position);
  if (ahead.some(({ goal, isRequired }) => isRequired && !isFruitful(goal))) return false;
  const mustHave = ahead.filter(({ isRequired }) => isRequired).length + (progress.wanted ? 1 : 0);
  if (progress.count + mustHave > max) return false;
  if (progress.wanted && !(wanted ?? []).some(({ goal }) => isFruitful(goal))) return false;
  const mayHave = ahead.filter(({ goal }) => isFruitful(goal)).length;
  // Names that were written count twice here: had they been too few, none would have been written.
  const others = rules.reduce(
    (count, { goal }, index) =>
      count + (isFruitful(goal) ? (nameCounts?.[index] ?? Number.POSITIVE_INFINITY) : 0),
    0,
  );
  if (progress.count + mayHave + Math.max(others, progress.wanted ? 1 : 0) < min) return false;
  return together.canHold(open, position, (index) =>
    isFruitful(declared[index].goal) ? presenceOf(declared[index]) : false,
  );
}

export function mayCloseObject(
  { declared, min, together }: ObjectPlan,
  { position, count, wanted, open }: ObjectProgress,
): boolean {
  if (count < min || wanted || declared.slice(position).some(({ isRequired }) => isRequired)) return false;
  return together.holdAtEnd(open, position);
}

/** Whether a declared property can come next and the object be completed behind it. */
export function mayDeclare(
  plan: ObjectPlan,
  progress: ObjectProgress,
  isFruitful: (goal: Goal) => boolean,
): boolean {
  for (let at = progress.position; at < plan.declared.length; at++) {
    const { goal, isRequired } = plan.declared[at];
    const after = behindDeclared(plan, progress, at);
    if (isFruitful(goal) && canFinishObject(plan, after, isFruitful)) return true;
    if (isRequired) return false;
  }
  return false;
}
