// Grammar of references to the thing that feedback is about, such as `<scheme>:///entity/project/object/name:digest`.
// Hone does not check whether the thing exists, because clients may send feedback on it before the thing itself.
import { percentDecoded } from "../../base/domain/recordings/call-reference.ts";
import { quoted } from "./content-fault.ts";

export type ReferenceKind = "object" | "op" | "call";

/** One step of a path within an object. It leads from the object, or from a part of the object, to an inner part. */
export interface ReferenceEdge {
  readonly edge: "key" | "index" | "attr" | "id";
  /** Percent-decoded key, attribute or id; decimal digits for an `index`. */
  readonly value: string;
}

interface ReferencePlace {
  /** Scheme of the reference without `:///`, or the literal text `<scheme>`. */
  readonly scheme: string;
  readonly entity: string;
  readonly project: string;
  readonly edges: readonly ReferenceEdge[];
}

/** A reference to an object or an op. Its name and digest are percent-decoded. */
export interface NamedReference extends ReferencePlace {
  readonly kind: "object" | "op";
  readonly name: string;
  readonly digest: string;
}

export interface CallReference extends ReferencePlace {
  readonly kind: "call";
  readonly id: string;
}

export type Reference = NamedReference | CallReference;

export type ParsedReference =
  | { readonly isValid: true; readonly reference: Reference }
  | { readonly isValid: false; readonly reason: string };

/** Matches schemes as in RFC 3986, and the placeholder `<scheme>` of the API documentation, which users copy. */
const referencePattern = /^(<scheme>|[A-Za-z][A-Za-z0-9+.-]*):\/\/\/(.+)$/s;

/** Parses a reference of any kind. If it is malformed, `reason` explains the fault. */
export function parseReference(text: string): ParsedReference {
  const match = referencePattern.exec(text);
  if (match === null) return malformed("it does not begin with a scheme and three slashes");
  const [, scheme, path] = match;
  // Ignores one trailing slash, as clients that use this grammar do.
  const parts = (path.endsWith("/") ? path.slice(0, -1) : path).split("/");
  const [entity, project, kind, target, ...tail] = parts;
  if (!entity || !project) return malformed("entity or project is missing");
  if (kind !== "object" && kind !== "op" && kind !== "call") {
    return malformed(`the kind ${quoted(kind ?? "")} is none of object, op, call`);
  }
  if (!target) return malformed(`there is nothing after ${kind}/`);
  const edges = parseEdges(tail);
  if (edges === null) return malformed("what follows is not pairs of key, index, attr or id and a value");
  const place = { scheme, entity, project, edges };
  if (kind === "call") return { isValid: true, reference: { ...place, kind, id: target } };
  const [name, digest, surplus] = target.split(":");
  if (!name || !digest || surplus !== undefined) {
    return malformed(`${quoted(target)} is not of the form name:digest`);
  }
  const decodedName = percentDecoded(name);
  const decodedDigest = percentDecoded(digest);
  if (decodedName === null || decodedDigest === null) {
    return malformed(`${quoted(target)} holds a percent sign that encodes nothing`);
  }
  return { isValid: true, reference: { ...place, kind, name: decodedName, digest: decodedDigest } };
}

function malformed(reason: string): ParsedReference {
  return { isValid: false, reason };
}

function parseEdges(parts: readonly string[]): readonly ReferenceEdge[] | null {
  if (parts.length === 0) return [];
  if (parts.length % 2 !== 0) return null;
  const edges: ReferenceEdge[] = [];
  for (let start = 0; start < parts.length; start += 2) {
    const [edge, encoded] = [parts[start], parts[start + 1]];
    const value = percentDecoded(encoded);
    if (edge !== "key" && edge !== "index" && edge !== "attr" && edge !== "id") return null;
    if (value === null || value === "" || (edge === "index" && !/^-?[0-9]+$/.test(value))) return null;
    edges.push({ edge, value });
  }
  return edges;
}
