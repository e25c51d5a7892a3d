// Which branches of a union may share values. Most unions have a tag, a property with other constants in each branch: only
// branches that have a value of it in common are compared. One without the tag is compared with all of its type.
import type { KeywordContext } from "./keywords/keyword.ts";
import { readableShapes, valueNames } from "./few-values.ts";
import { commonShapes } from "./intersect.ts";
import { type ObjectShape, type Shape, itemGoal } from "./shapes.ts";
import type { Goal } from "./goals.ts";
import type { Texts } from "./texts.ts";

/** For every branch the others, in order, with which it seems to share values. */
export function rivalsOf(
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
      // A shape without listed values may share some with any of its type.
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
      const shared = commonShapes(context, forms[other], forms[index]);
      if (shared.every((shape) => isClearlyEmpty(context, shape))) continue;
      rivals[other].push(index);
      rivals[index].push(other);
    }
  }
  return rivals.map((found) => found.sort((one, other) => one - other));
}

/** The listed values of a shape, or of its tag; null where it lists none. */
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

/** The property that holds few values in most objects; null where there is none. */
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
 * Whether a shape has no values, looked at deep enough for the branches that people write. Says yes only where that is sure;
 * the exact answer is in writing/plans.ts.
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
