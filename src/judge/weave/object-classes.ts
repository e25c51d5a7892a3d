// What a published value says of itself: whether it is an op, and of which class it is, as the clients' classes write both.
import { isExactList, isExactObject, type ExactJson } from "../../base/domain/text/exact-json.ts";
import { isStorable } from "../../base/domain/text/storable.ts";
import type { ObjectKind } from "../../base/domain/traces/published-object.ts";

export interface ObjectClasses {
  /** The class that the value's own class goes back to, such as `AnnotationSpec` or `Model`. */
  readonly base: string | null;
  readonly leaf: string | null;
}

/** The two classes that all of a client's classes go back to. */
const roots: readonly ExactJson[] = ["BaseObject", "Object"];

export function kindOf(value: ExactJson): ObjectKind {
  if (!isExactObject(value) || value["_type"] !== "CustomWeaveType") return "object";
  const { weave_type: type } = value;
  return type !== undefined && isExactObject(type) && type["type"] === "Op" ? "op" : "object";
}

/** The classes that the value names; both null where it names none that goes back to a root. */
export function classesOf(value: ExactJson): ObjectClasses {
  if (!isExactObject(value)) return { base: null, leaf: null };
  const { _bases: bases, _class_name: leaf } = value;
  const isKnown =
    bases !== undefined &&
    isExactList(bases) &&
    bases.at(-1) === "BaseModel" &&
    roots.includes(bases.at(-2) ?? null) &&
    isName(leaf);
  if (!isKnown) return { base: null, leaf: null };
  const base = bases.at(-3);
  return { base: isName(base) ? base : leaf, leaf };
}

function isName(value: ExactJson | undefined): value is string {
  return typeof value === "string" && isStorable(value);
}

/** The value as one of a class that its sender named beside it. */
export function asClass(value: ExactJson, className: string): ExactJson {
  if (!isExactObject(value)) return value;
  return { _type: className, ...value, _class_name: className, _bases: ["BaseObject", "BaseModel"] };
}
