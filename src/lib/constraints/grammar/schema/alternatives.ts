// Simplifies the shapes of a union; a shape describes values of one type. Merges strings described by patterns, and
// removes duplicates and objects that are known to be included in another shape. The result allows exactly the same
// values.
import { anyValue, noValue } from "./goals.ts";
import type { FewValues } from "./few-values.ts";
import type { Goal, Goals } from "./goals.ts";
import { clauseImplies, presenceOf, mergeByPresence } from "./presence.ts";
import type { Clause, Declared, ObjectShape, Shape, StringShape } from "./shapes.ts";
import type { Texts } from "./texts.ts";

/** Context for computing with shapes. */
export interface Algebra {
  readonly goals: Goals;
  readonly texts: Texts;
  readonly fewValues: FewValues;
  shapes(goal: Goal): readonly Shape[];
}

/** Unions of at most this size are not simplified further. */
const fewShapes = 6;
/** From unions of at most this size, only duplicates are removed. In larger ones, all objects are compared too. */
const manyShapes = 64;
/** Cost in steps of serializing a shape and looking it up. */
const stepsPerName = 4;
/** Base-2 logarithm of the number of comparisons per step. Most comparisons end at the first difference. */
const comparisonsPerStepLog2 = 4;

/** Returns shapes for the same values, without the shapes that are known to be redundant. */
export function simplifyUnion(algebra: Algebra, shapes: readonly Shape[]): readonly Shape[] {
  const united = mergeByPresence(algebra.texts, withOneString(algebra, shapes));
  if (united.length <= fewShapes) return united;
  algebra.texts.compilation.budget.spend(united.length * stepsPerName);
  const different = [...new Map(united.map((shape) => [JSON.stringify(shape), shape])).values()];
  return different.length <= manyShapes ? different : withoutSubsumed(algebra, different);
}

const isOpenString = (shape: Shape): shape is StringShape => shape.type === "string" && shape.values === null;

/**
 * Merges into one shape, at the position of the first, those strings that are described by expressions. Strings with a
 * list of values stay as they are.
 */
function withOneString({ texts }: Algebra, shapes: readonly Shape[]): readonly Shape[] {
  const strings = shapes.filter(isOpenString);
  if (strings.length < 2) return shapes;
  const body = texts.either(strings.map((shape) => shape.body));
  const first = shapes.indexOf(strings[0]);
  return shapes.flatMap((shape, index) => {
    if (index === first) return { ...strings[0], body };
    return isOpenString(shape) ? [] : shape;
  });
}

/** Removes objects that are known to be included in another shape. Of equal shapes, keeps the first. */
function withoutSubsumed(algebra: Algebra, shapes: readonly Shape[]): readonly Shape[] {
  const { budget } = algebra.texts.compilation;
  const objects = shapes.filter((shape) => shape.type === "object");
  const open = objects.filter((shape) => isOpen(algebra, shape));
  const byRequired = groupBy(open, (shape) => requiredNames(algebra, shape)[0] ?? "");
  const isHeld = (shape: ObjectShape): boolean =>
    ["", ...requiredNames(algebra, shape)].some((name) => {
      const others = byRequired.get(name) ?? [];
      budget.spend((others.length >>> comparisonsPerStepLog2) + 1);
      return others.some(
        (other) =>
          other !== shape &&
          subsumes(algebra, other, shape) &&
          (shapes.indexOf(other) < shapes.indexOf(shape) || !subsumes(algebra, shape, other)),
      );
    });
  return shapes.filter((shape) => shape.type !== "object" || !isHeld(shape));
}

/** Groups the members by key, keeping their order. */
export function groupBy<K, T>(members: readonly T[], keyOf: (member: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const member of members) {
    const key = keyOf(member);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [member]);
    else group.push(member);
  }
  return groups;
}

/**
 * Returns lookup keys for the shape's required properties: one for each schema that a property must satisfy, and one
 * for the property with any value. Any shape that includes this one has one of these keys, or requires no property.
 */
function requiredNames({ goals }: Algebra, { declared }: ObjectShape): readonly string[] {
  return declared
    .filter(({ isRequired }) => isRequired)
    .flatMap(({ name, goal }) => [
      ...goals.literals(goal).map(({ place, isNegated }) => `${place.index} ${isNegated} ${name}`),
      `* ${name}`,
    ]);
}

function isOpen({ texts }: Algebra, { rules: [rule, ...more] }: ObjectShape): boolean {
  return more.length === 0 && rule?.names === texts.anyBody && rule.goal === anyValue;
}

/** True if `shape` is known to include each object of `other`. */
function subsumes(algebra: Algebra, shape: ObjectShape, other: ObjectShape): boolean {
  if (
    !isOpen(algebra, shape) ||
    shape.min > other.min ||
    shape.max < other.max ||
    shape.evaluated !== other.evaluated
  )
    return false;
  if (!shape.needs.every((need) => other.needs.includes(need))) return false;
  if (!shape.clauses.every((clause) => isFulfilled(clause, other))) return false;
  return shape.declared.every((declared) => isAsked(algebra, declared, other));
}

/** True if the clause (a condition on the presence of properties) is known to hold for each object of the shape. */
function isFulfilled(clause: Clause, { declared, clauses }: ObjectShape): boolean {
  if (clauses.some((known) => clauseImplies(known, clause))) return true;
  return clause.some(({ name, isThere }) =>
    declared.some((property) => property.name === name && presenceOf(property) === isThere),
  );
}

/** True if each object of the shape is known to satisfy the declaration. */
function isAsked({ goals }: Algebra, { name, goal, isRequired }: Declared, shape: ObjectShape): boolean {
  const declared = shape.declared.find((candidate) => candidate.name === name);
  if (declared === undefined) return !isRequired && (goal === anyValue || shape.rules.length === 0);
  if (isRequired && !declared.isRequired) return false;
  return declared.goal === noValue || goals.implies(declared.goal, goal);
}
