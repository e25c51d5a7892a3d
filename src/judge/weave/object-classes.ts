// Reads from a published value its class, and whether it is an op. Clients write both into the value.
import { isExactList, isExactObject, type ExactJson } from "../../base/domain/text/exact-json.ts";
import { isStorable } from "../../base/domain/text/storable.ts";
import type { ObjectKind } from "../../base/domain/traces/published-object.ts";

export interface ObjectClasses {
  /**
   * The class, among the value's class and its ancestors, that derives directly from a root class. Examples are
   * `AnnotationSpec` and `Model`. Null if unknown.
   */
  readonly base: string | null;
  readonly leaf: string | null;
}

/** Names of the root classes, from which all classes of clients derive. */
const roots: readonly ExactJson[] = ["BaseObject", "Object"];

export function kindOf(value: ExactJson): ObjectKind {
  if (!isExactObject(value) || value["_type"] !== "CustomWeaveType") return "object";
  const { weave_type: type } = value;
  return type !== undefined && isExactObject(type) && type["type"] === "Op" ? "op" : "object";
}

/** Returns the classes that a value states; both are null if they do not derive from a root class. */
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

/** Returns the value with a class written into it, for requests that state the class separately from the value. */
export function asClass(value: ExactJson, className: string): ExactJson {
  if (!isExactObject(value)) return value;
  return { _type: className, ...value, _class_name: className, _bases: ["BaseObject", "BaseModel"] };
}
