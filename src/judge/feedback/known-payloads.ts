// Checks records of those feedback types whose payload has a known format: reactions, notes, annotations and outputs of
// runnables. Records of other types may have any object as payload, and any reference.
import { unreachable } from "../../base/domain/assert.ts";
import type { FeedbackContent } from "../../base/domain/feedback.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import { type ContentFault, fault, missing, quoted } from "./content-fault.ts";
import { normaliseReaction } from "./reaction.ts";
import type { Reference, ReferenceKind } from "./references.ts";

/** Fields for references that only some feedback types accept. */
export type TypedReferenceField = "annotation_ref" | "runnable_ref" | "call_ref" | "trigger_ref";

/** The parsed references of a record; null for a field that is unset or was already reported as faulty. */
export type TypedReferences = { readonly [Field in TypedReferenceField]: Reference | null };

export interface KnownPayloadCheck {
  readonly faults: readonly ContentFault[];
  /** Payload to store: the payload that the caller sent and, for a reaction, its normalized forms. */
  readonly payload: JsonObject;
}

const noteLengthMax = 1024;

type KnownType =
  | { readonly kind: "reaction" }
  | { readonly kind: "note" }
  | { readonly kind: "other" }
  | { readonly kind: "annotation" | "runnable"; readonly name: string };

/**
 * Returns, for each field, the kinds of reference that the API documents for the field in records of this type. For
 * outputs of runnables, also accepts objects, because known clients use them for scores.
 */
export function referenceKinds(feedbackType: string): {
  readonly [Field in TypedReferenceField]: readonly ReferenceKind[];
} {
  const { kind } = knownTypeOf(feedbackType);
  if (kind === "other") {
    const any: readonly ReferenceKind[] = ["object", "op", "call"];
    return { annotation_ref: any, runnable_ref: any, call_ref: any, trigger_ref: any };
  }
  return {
    annotation_ref: ["object"],
    runnable_ref: kind === "runnable" ? ["op", "object"] : ["op"],
    call_ref: ["call"],
    trigger_ref: ["object"],
  };
}

/**
 * Checks a record's payload and references by the rules for its feedback type. In `content`, unset references must be
 * null.
 */
export function checkKnownPayload(content: FeedbackContent, references: TypedReferences): KnownPayloadCheck {
  const { payload } = content;
  const type = knownTypeOf(content.feedbackType);
  switch (type.kind) {
    case "reaction": {
      const { faults, payload: normal } = checkReaction(payload);
      return {
        faults: [...faults, ...refuseReferences(content, allReferenceFields, "a reaction")],
        payload: normal,
      };
    }
    case "note":
      return {
        faults: [...checkNote(payload), ...refuseReferences(content, allReferenceFields, "a note")],
        payload,
      };
    case "annotation":
      return { faults: checkAnnotation(content, type.name, references.annotation_ref), payload };
    case "runnable":
      return { faults: checkRunnable(content, type.name, references.runnable_ref), payload };
    case "other":
      return { faults: [], payload };
    default:
      return unreachable(type);
  }
}

/** Returns the spec's name from the feedback type of an annotation; null for all other feedback types. */
export function annotationNameOf(feedbackType: string): string | null {
  const type = knownTypeOf(feedbackType);
  return type.kind === "annotation" ? type.name : null;
}

function knownTypeOf(feedbackType: string): KnownType {
  const match = /^(?:vendor|wandb)\.(reaction\.1$|note\.1$|annotation|runnable)(.*)$/s.exec(feedbackType);
  if (match === null) return { kind: "other" };
  const [, known, rest] = match;
  if (known === "reaction.1") return { kind: "reaction" };
  if (known === "note.1") return { kind: "note" };
  // If the feedback type has no dot, it has no name after the dot, so there is nothing to compare with the names in
  // references.
  const name = rest.startsWith(".") ? rest.slice(1) : "";
  return { kind: known === "annotation" ? "annotation" : "runnable", name };
}

function checkReaction(payload: JsonObject): KnownPayloadCheck {
  const { emoji } = payload;
  const path = ["payload", "emoji"];
  if (emoji === undefined) return { faults: [missing(path)], payload };
  if (typeof emoji !== "string") {
    return { faults: [fault(path, `emoji is ${typeof emoji}; it must be a string`, "string_type")], payload };
  }
  const normal = normaliseReaction(emoji);
  if ("emojiCount" in normal) {
    const message = `emoji must hold exactly one emoji; it holds ${normal.emojiCount}`;
    return { faults: [fault(path, message)], payload };
  }
  const { alias, detoned, detonedAlias } = normal;
  return { faults: [], payload: { ...payload, alias, detoned, detoned_alias: detonedAlias } };
}

function checkNote(payload: JsonObject): readonly ContentFault[] {
  const { note } = payload;
  const path = ["payload", "note"];
  if (note === undefined) return [missing(path)];
  if (typeof note !== "string") {
    return [fault(path, `note is ${typeof note}; it must be a string`, "string_type")];
  }
  const length = characterCount(note);
  if (length === 0)
    return [fault(path, "note is empty; it must have at least 1 character", "string_too_short")];
  if (length <= noteLengthMax) return [];
  return [fault(path, `note has ${length} characters; the limit is ${noteLengthMax}`, "string_too_long")];
}

function checkAnnotation(
  content: FeedbackContent,
  name: string,
  reference: Reference | null,
): readonly ContentFault[] {
  if (name === "") return [typeWithoutName(content.feedbackType, "annotation")];
  const faults: ContentFault[] = [];
  if (!("value" in content.payload)) faults.push(missing(["payload", "value"]));
  if (content.annotationRef === null) {
    faults.push(missing(["annotation_ref"], "annotation_ref is required for annotation feedback"));
  }
  if (reference === null) return faults;
  faults.push(...checkName("annotation_ref", reference, name));
  if (`${reference.entity}/${reference.project}` !== content.projectId) {
    const message = `annotation_ref is of the project ${quoted(`${reference.entity}/${reference.project}`)}, project_id is ${quoted(content.projectId)}; they must be the same`;
    faults.push(fault(["annotation_ref"], message));
  }
  return faults;
}

function checkRunnable(
  content: FeedbackContent,
  name: string,
  reference: Reference | null,
): readonly ContentFault[] {
  if (name === "") return [typeWithoutName(content.feedbackType, "runnable")];
  const faults = [...refuseReferences(content, ["annotation_ref"], "feedback of a runnable")];
  if (!("output" in content.payload)) faults.push(missing(["payload", "output"]));
  if (content.runnableRef === null) {
    faults.push(missing(["runnable_ref"], "runnable_ref is required for runnable feedback"));
  }
  if (reference === null) return faults;
  faults.push(...checkName("runnable_ref", reference, name));
  if (reference.kind === "op" && content.callRef === null) {
    faults.push(missing(["call_ref"], "call_ref is required for runnable feedback on ops"));
  }
  return faults;
}

function checkName(field: TypedReferenceField, reference: Reference, name: string): readonly ContentFault[] {
  if (reference.kind === "call" || reference.name === name) return [];
  const message = `${field} names ${quoted(reference.name)}; feedback_type asks for ${quoted(name)}`;
  return [fault([field], message)];
}

function typeWithoutName(feedbackType: string, known: string): ContentFault {
  const message = `${quoted(feedbackType)} is no ${known} type; write <maker>.${known}.<name>`;
  return fault(["feedback_type"], message);
}

const allReferenceFields: readonly TypedReferenceField[] = [
  "annotation_ref",
  "runnable_ref",
  "call_ref",
  "trigger_ref",
];

function refuseReferences(
  content: FeedbackContent,
  fields: readonly TypedReferenceField[],
  owner: string,
): readonly ContentFault[] {
  const values = {
    annotation_ref: content.annotationRef,
    runnable_ref: content.runnableRef,
    call_ref: content.callRef,
    trigger_ref: content.triggerRef,
  };
  return fields
    .filter((field) => values[field] !== null)
    .map((field) => fault([field], `${field} is not allowed on ${owner}; leave it out`));
}

/**
 * Returns the number of code points in a text. Most programming languages count characters in this way, whereas
 * JavaScript counts UTF-16 units.
 */
export function characterCount(text: string): number {
  return Array.from(text).length;
}
