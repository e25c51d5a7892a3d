// Finds the branches of a union that may share values. Most unions have a tag: a property with different constants in
// each branch. Only branches with a common tag value are compared; a branch without the tag is compared with all
// branches of its type.
import type { KeywordContext } from "./keywords/keyword.ts";
import { readableShapes, valueNames } from "./few-values.ts";
import { intersectShapes } from "./intersect.ts";
import { type ObjectShape, type Shape, itemGoal } from "./shapes.ts";
import type { Goal } from "./goals.ts";
import type { Texts } from "./texts.ts";

/** Returns, for each branch, the indexes of the branches that may share values with it, in ascending order. */
export function overlappingBranches(
  context: KeywordContext,
  forms: readonly (readonly Shape[])[],
): readonly (readonly number[])[] {
  const rivals = forms.map((): number[] => []);
  const tag = commonTag(context, forms.flat());
  const signs = forms.map((form) => form.map((shape) => ({ shape, names: namesOf(context, shape, tag) })));
  const byName = new Map<string, Set<number>>();
  const add = (name: string, index: number) => byName.set(name, (byName.get(name) ?? new Set()).add(index));
  for (const [index, form] of signs.entries()) {
    const before = new Set<number>();
    for (const { shape, names } of form) {
      // A shape without listed values may share values with any shape of its type.
      for (const name of names?.map((own) => `${shape.type} ${own}`) ?? [shape.type])
        for (const other of byName.get(name) ?? []) before.add(other);
      for (const other of byName.get(`unnamed ${shape.type}`) ?? []) before.add(other);
      context.compilation.budget.spend((before.size >>> 2) + 1);
    }
    for (const { shape, names } of form) {
      add(names === null ? `unnamed ${shape.type}` : shape.type, index);
      for (const name of names ?? []) add(`${shape.type} ${name}`, index);
    }
    for (const other of before) {
      const shared = intersectShapes(context, forms[other], forms[index]);
      if (shared.every((shape) => isClearlyEmpty(context, shape))) continue;
      rivals[other].push(index);
      rivals[index].push(other);
    }
  }
  return rivals.map((found) => found.sort((one, other) => one - other));
}

/**
 * Returns the names of a shape's listed values or, for an object with a tag, of the tag's listed values; null if no
 * values are listed.
 */
function namesOf(context: KeywordContext, shape: Shape, tag: string | null): readonly string[] | null {
  return shape.type === "object" && tag !== null ? tagNames(context, shape, tag) : valueNames(shape);
}

function tagNames(
  { fewValues }: KeywordContext,
  { declared }: ObjectShape,
  tag: string,
): readonly string[] | null {
  const found = declared.find(({ name, isRequired }) => isRequired && name === tag);
  const shapes = found === undefined ? null : fewValues.of(found.goal);
  return shapes?.flatMap((shape) => valueNames(shape)?.map((name) => `${shape.type} ${name}`) ?? []) ?? null;
}

/**
 * Returns the name of the tag: the required property with few values that occurs in the most objects. Returns null if
 * no object has such a property.
 */
function commonTag({ fewValues }: KeywordContext, shapes: readonly Shape[]): string | null {
  const counts = new Map<string, number>();
  let best: string | null = null;
  for (const shape of shapes) {
    if (shape.type !== "object") continue;
    for (const { name, goal, isRequired } of shape.declared) {
      if (!isRequired || fewValues.of(goal) === null) continue;
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      if (best === null || count > (counts.get(best) ?? 0)) best = name;
    }
  }
  return best;
}

interface Look {
  readonly texts: Texts;
  shapes(goal: Goal): readonly Shape[];
}

const depthMax = 5;

/**
 * True if the shape certainly has no values. The search is only as deep as realistic branches need; writing/plans.ts
 * computes the exact answer.
 */
function isClearlyEmpty(look: Look, shape: Shape, depth = 0): boolean {
  const { automaton } = look.texts.compilation;
  switch (shape.type) {
    case "number":
      return shape.values === null && automaton.isEmpty(look.texts.number(shape));
    case "string":
      return shape.values === null && automaton.isEmpty(look.texts.string(shape));
    case "array": {
      const needed = Math.min(shape.min, shape.prefix.length + 1);
      return Array.from({ length: needed }, (_, index) => itemGoal(shape, index)).some((goal) =>
        isClearlyEmptyGoal(look, goal, depth + 1),
      );
    }
    case "object":
      return shape.declared.some(
        ({ goal, isRequired }) => isRequired && isClearlyEmptyGoal(look, goal, depth + 1),
      );
    default:
      return false;
  }
}

function isClearlyEmptyGoal(look: Look, goal: Goal, depth: number): boolean {
  if (depth > depthMax) return false;
  return readableShapes(look, goal)?.every((shape) => isClearlyEmpty(look, shape, depth)) ?? false;
}
