// Goals that only a few scalars reach, as tags are described: with `const` or `enum`. What such a goal and another share
// is found value by value, so that objects whose tags differ are known to share nothing when they are put together.
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

/** How many references are followed to find a tag's values. */
const referencesMax = 4;

export class FewValues {
  readonly #look: Look;
  readonly #known = new Map<Goal, readonly Shape[] | null>();

  constructor(look: Look) {
    this.#look = look;
  }

  /** The shapes of a goal that plainly holds few scalars; null for any other, and while it is being read. */
  of(goal: Goal): readonly Shape[] | null {
    const known = this.#known.get(goal);
    if (known !== undefined) return known;
    const isListed = this.#look.goals
      .literals(goal)
      .some(({ place, isNegated }) => !isNegated && this.#isListed(place));
    const shapes = isListed ? readableShapes(this.#look, goal) : null;
    const few = shapes?.every((shape) => valueNames(shape) !== null) === true ? shapes : null;
    // What is being read now may be known later.
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

/** The names of a shape's values, each other than those of all other values; null where it lists none. */
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

/** The shapes of a goal; null where it is refused, or being read just now. */
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
    // A schema that is being read right now cannot say yet; one that is refused will be when its turn comes.
    if (error instanceof ConstraintRefusal && error.kind !== "limit") return null;
    throw error;
  }
}

const isScalar = (value: ExactJson): boolean => !Array.isArray(value) && !isExactObject(value);
