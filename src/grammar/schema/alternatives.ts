// The shapes of a union made few: strings that are told by a pattern become one, equal shapes are kept once, and objects
// that another shape surely holds are left out. What is left says exactly the same.
import { limitExceeded } from "../../regex/limits.ts";
import { anyValue, noValue } from "./goals.ts";
import type { Goals } from "./goals.ts";
import type { Declared, ObjectShape, Shape, StringShape } from "./shapes.ts";
import type { Texts } from "./texts.ts";

/** What shapes are computed with. */
export interface Algebra {
  readonly goals: Goals;
  readonly texts: Texts;
}

/** Up to so many, shapes are not compared. */
const fewShapes = 6;
/** Up to so many, shapes are not looked at in pairs. */
const manyShapes = 64;
/** Most comparisons of two shapes end at their first difference. */
const comparisonsPerStepLog2 = 4;

/** @throws ConstraintRefusal where even so they are too many */
export function differentShapes(algebra: Algebra, shapes: readonly Shape[]): readonly Shape[] {
  const united = withOneString(algebra, shapes);
  if (united.length <= fewShapes) return united;
  const { limits, budget } = algebra.texts.workshop;
  budget.spend(united.length * 8);
  const different = [...new Map(united.map((shape) => [JSON.stringify(shape), shape])).values()];
  const needed = different.length <= manyShapes ? different : withoutHeld(algebra, different);
  if (needed.length > limits.alternatives) throw limitExceeded("alternatives", limits.alternatives);
  return needed;
}

const isOpenString = (shape: Shape): shape is StringShape => shape.type === "string" && shape.values === null;

/** Strings that are told by their bodies become one, where the first of them was. */
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

/** Leaves out objects of which another shape holds every one. */
function withoutHeld(algebra: Algebra, shapes: readonly Shape[]): readonly Shape[] {
  const kept: Shape[] = [];
  const objects: ObjectShape[] = [];
  for (const shape of shapes) {
    algebra.texts.workshop.budget.spend(objects.length >>> comparisonsPerStepLog2);
    if (shape.type !== "object") kept.push(shape);
    else if (!objects.some((other) => holds(algebra, other, shape))) {
      const needed = objects.filter((other) => !holds(algebra, shape, other));
      objects.splice(0, objects.length, ...needed, shape);
    }
  }
  return [...kept, ...objects];
}

/** Whether it is plain that every object of the other shape is one of this. */
function holds(algebra: Algebra, shape: ObjectShape, other: ObjectShape): boolean {
  const { texts } = algebra;
  const [rule, ...more] = shape.rules;
  const isOpen = more.length === 0 && rule?.names === texts.anyBody && rule.goal === anyValue;
  if (!isOpen || shape.min > other.min || shape.max < other.max || shape.evaluated !== other.evaluated)
    return false;
  if (!shape.needs.every((need) => other.needs.includes(need))) return false;
  return shape.declared.every((declared) => isAsked(algebra, declared, other));
}

/** Whether it is plain that an object of the shape has the property as declared. */
function isAsked({ goals }: Algebra, { name, goal, isRequired }: Declared, shape: ObjectShape): boolean {
  const declared = shape.declared.find((candidate) => candidate.name === name);
  if (declared === undefined) return !isRequired && (goal === anyValue || shape.rules.length === 0);
  if (isRequired && !declared.isRequired) return false;
  return declared.goal === noValue || goals.implies(declared.goal, goal);
}
