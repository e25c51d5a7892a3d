// Dependencies between an object's properties, as clauses. A clause requires at least one of several properties to be
// present, or to be absent. Schemas that only constrain which properties are present become one shape with clauses,
// instead of one shape per combination.
import { anyValue, noValue } from "./goals.ts";
import type { Goal } from "./goals.ts";
import type { Clause, Declared, ObjectShape, Shape } from "./shapes.ts";
import { isAnyObject } from "./shapes.ts";
import type { Texts } from "./texts.ts";

/** Maximum number of clauses. More clauses would cost more than the shapes that they replace. */
const clausesMax = 16;

/**
 * Merges into one shape, at the position of the first, those objects that only constrain which properties are present.
 */
export function mergeByPresence(texts: Texts, shapes: readonly Shape[]): readonly Shape[] {
  const cases = new Map<Shape, readonly Clause[]>();
  for (const shape of shapes) {
    const clauses = shape.type === "object" ? asClauses(texts, shape) : null;
    if (clauses !== null) cases.set(shape, clauses);
  }
  if (cases.size < 2) return shapes;
  const [first, ...more] = cases.keys();
  let united: readonly Clause[] | null = cases.get(first) ?? [];
  for (const shape of more) {
    texts.compilation.budget.spend(united.length);
    united = eitherOf(united, cases.get(shape) ?? []);
    if (united === null) return shapes;
  }
  // The merged shapes have no requirements except clauses, so their properties may have any value.
  const declared = new Map(
    united.flat().map(({ name }): [string, Declared] => [name, { name, goal: anyValue, isRequired: false }]),
  );
  const open = { ...(first as ObjectShape), declared: [...declared.values()], clauses: united };
  const one = resolveClauses(open);
  return shapes.flatMap((shape) => {
    if (shape === first) return one ?? [];
    return cases.has(shape) ? [] : shape;
  });
}

/** Returns the shape's requirements as clauses; null if the shape has requirements of another kind. */
function asClauses(texts: Texts, shape: ObjectShape): readonly Clause[] | null {
  if (!isAnyObject({ ...shape, declared: [], clauses: [] }, texts.anyBody)) return null;
  const clauses = [...shape.clauses];
  for (const { name, goal, isRequired } of shape.declared) {
    if (goal !== anyValue && goal !== noValue) return null;
    if (isRequired || goal === noValue) clauses.push([{ name, isThere: isRequired }]);
  }
  return clauses;
}

/**
 * Returns clauses that hold exactly if all clauses of `one` or all clauses of `other` hold; null if there are too
 * many.
 */
function eitherOf(one: readonly Clause[], other: readonly Clause[]): readonly Clause[] | null {
  const found: Clause[] = [];
  for (const clause of one.flatMap((first) => other.flatMap((second) => [joined(first, second)]))) {
    if (clause === null || found.some((known) => clauseImplies(known, clause))) continue;
    found.splice(0, found.length, ...found.filter((known) => !clauseImplies(clause, known)), clause);
    if (found.length > clausesMax) return null;
  }
  return found;
}

/** Returns the disjunction of two clauses; null if the disjunction always holds. */
function joined(one: Clause, other: Clause): Clause | null {
  const byName = new Map(one.map(({ name, isThere }) => [name, isThere]));
  for (const { name, isThere } of other) {
    if (byName.get(name) === !isThere) return null;
    byName.set(name, isThere);
  }
  return [...byName]
    .map(([name, isThere]) => ({ name, isThere }))
    .sort((first, second) => (first.name < second.name ? -1 : 1));
}

/** True if the clause `one` implies the clause `other`. */
export function clauseImplies(one: Clause, other: Clause): boolean {
  return one.every(({ name, isThere }) =>
    other.some((presence) => presence.name === name && presence.isThere === isThere),
  );
}

/**
 * Returns true if the declaration requires the property, false if it forbids the property, and null if it does
 * neither.
 */
export function presenceOf(declared: { readonly goal: Goal; readonly isRequired: boolean }): boolean | null {
  if (declared.isRequired) return true;
  return declared.goal === noValue ? false : null;
}

/**
 * Moves each clause with only one remaining possibility into the shape's properties. Returns null if a clause cannot
 * hold.
 */
export function resolveClauses(shape: ObjectShape): ObjectShape | null {
  if (shape.clauses.length === 0) return shape;
  const declared = new Map(shape.declared.map((one) => [one.name, one]));
  let clauses = shape.clauses;
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    const open: Clause[] = [];
    for (const clause of clauses) {
      const known = clause.map(({ name, isThere }) => {
        const property = declared.get(name);
        const presence = property === undefined ? null : presenceOf(property);
        return presence === null ? null : presence === isThere;
      });
      if (known.includes(true)) continue;
      const left = clause.filter((_, index) => known[index] === null);
      if (left.length === 0) return null;
      const [{ name, isThere }, ...more] = left;
      const property = declared.get(name);
      if (more.length > 0 || property === undefined) open.push(left);
      else {
        declared.set(name, isThere ? { ...property, isRequired: true } : { ...property, goal: noValue });
        isChanged = true;
      }
    }
    clauses = open;
  }
  return { ...shape, declared: [...declared.values()], clauses };
}

/** Splits a shape into disjoint shapes without clauses, one for each way to satisfy the clauses. */
export function clauseCases(texts: Texts, shape: ObjectShape): readonly ObjectShape[] {
  const [clause, ...rest] = shape.clauses;
  if (clause === undefined) return [shape];
  texts.compilation.budget.spend(shape.clauses.length);
  return clause.flatMap((_, index) => {
    // One case for each literal of the clause: the literal at `index` holds, and those before it do not.
    const decided = clause
      .slice(0, index + 1)
      .map(({ name, isThere }, at): Clause => [{ name, isThere: at === index ? isThere : !isThere }]);
    const settled = resolveClauses({ ...shape, clauses: [...decided, ...rest] });
    return settled === null ? [] : clauseCases(texts, settled);
  });
}

/** Returns the clauses of both lists, without clauses of `other` that a clause of `one` implies. */
export const mergeClauses = (one: readonly Clause[], other: readonly Clause[]): readonly Clause[] => [
  ...one,
  ...other.filter((clause) => !one.some((known) => clauseImplies(known, clause))),
];
