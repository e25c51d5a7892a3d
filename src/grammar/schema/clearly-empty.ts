// A quick test whether a shape has no values, deep enough for the branches that people write: other types, other constants,
// other required properties. It says yes only where it is sure; the exact answer is in writing/plans.ts.
import { readableShapes } from "./few-values.ts";
import type { Goal } from "./goals.ts";
import { itemGoal } from "./shapes.ts";
import type { Shape } from "./shapes.ts";
import type { Texts } from "./texts.ts";

interface Look {
  readonly texts: Texts;
  shapes(goal: Goal): readonly Shape[];
}

const depthMax = 5;

export function isClearlyEmpty(look: Look, shape: Shape, depth = 0): boolean {
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
