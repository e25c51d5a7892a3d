// Goals (requirements on a value) that allow only a few scalar values, such as tags described by `const` or `enum`.
// Their intersections are computed value by value, so objects with different tags are known to be disjoint.
import { isExactObject } from "../../../../base/domain/text/exact-json.ts";
import type { ExactJson } from "../../../../base/domain/text/exact-json.ts";
import { ConstraintRefusal } from "../../regex/limits.ts";
import type { SchemaDocument, SchemaPlace } from "./document.ts";
import type { Goal, Goals } from "./goals.ts";
import type { Shape } from "./shapes.ts";

interface Look {
  readonly document: SchemaDocument;
  readonly goals: Goals;
  shapes(goal: Goal): readonly Shape[];
}

/** Maximum number of references followed to find a tag's values. */
const referencesMax = 4;

export class FewValues {
  readonly #look: Look;
  readonly #known = new Map<Goal, readonly Shape[] | null>();

  constructor(look: Look) {
    this.#look = look;
  }

  /** Returns the shapes of a goal that allows only few scalars; null for other goals and goals still being read. */
  of(goal: Goal): readonly Shape[] | null {
    const known = this.#known.get(goal);
    if (known !== undefined) return known;
    const isListed = this.#look.goals
      .literals(goal)
      .some(({ place, isNegated }) => !isNegated && this.#isListed(place));
    const shapes = isListed ? readableShapes(this.#look, goal) : null;
    const few = shapes?.every((shape) => valueNames(shape) !== null) === true ? shapes : null;
    // The result for a goal that is still being read is not cached, because it may be known later.
    if (!isListed || shapes !== null) this.#known.set(goal, few);
    return few;
  }

  #isListed(place: SchemaPlace, references = 0): boolean {
    const { schema } = place;
    if (!isExactObject(schema)) return false;
    if (schema.const !== undefined) return isScalar(schema.const);
    if (Array.isArray(schema.enum)) return schema.enum.every(isScalar);
    if (typeof schema.$ref !== "string" || references === referencesMax) return false;
    const { document } = this.#look;
    const { $ref: reference } = schema;
    const target = unlessRefused(() => document.resolve(place, reference));
    return target !== null && this.#isListed(target, references + 1);
  }
}

/** Returns a unique name for each value that a shape lists; null if the shape lists no values. */
export function valueNames(shape: Shape): readonly string[] | null {
  switch (shape.type) {
    case "null":
      return ["null"];
    case "boolean":
      return shape.values.map(String);
    case "number":
      return shape.values;
    case "string":
      return shape.values === null ? null : shape.values.map((value) => `"${value}`);
    default:
      return null;
  }
}

/** Returns the shapes of a goal; null if the goal is refused or still being read. */
export function readableShapes(
  look: { shapes(goal: Goal): readonly Shape[] },
  goal: Goal,
): readonly Shape[] | null {
  return unlessRefused(() => look.shapes(goal));
}

function unlessRefused<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    // A refused schema is reported when its own compilation reaches it.
    if (error instanceof ConstraintRefusal && error.kind !== "limit") return null;
    throw error;
  }
}

const isScalar = (value: ExactJson): boolean => !Array.isArray(value) && !isExactObject(value);
