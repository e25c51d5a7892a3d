// Validates one feedback record from a caller. Reports every fault, not only the first.
import type { FeedbackContent } from "../../base/domain/feedback.ts";
import type { CheckedFeedback } from "../../base/domain/feedback-query/feedback-batch.ts";
import { parseProjectId } from "../../base/domain/project.ts";
import { isStorable } from "../../base/domain/text/storable.ts";
import { contentHash } from "./content-hash.ts";
import { type ContentFault, fault, missing, quoted } from "./content-fault.ts";
import {
  characterCount,
  checkKnownPayload,
  referenceKinds,
  type TypedReferenceField,
  type TypedReferences,
} from "./known-payloads.ts";
import { parseReference, type Reference, type ReferenceKind } from "./references.ts";

/** A feedback record as a caller sent it. If `id` is null, the server chooses an id. */
export type FeedbackInput = FeedbackContent & { readonly id: string | null };

export interface ContentCheck {
  readonly faults: readonly ContentFault[];
  /**
   * The content that the caller sent, with null for empty references. If two requests have the same id, the second is a
   * retry if its content is equal, and a conflict otherwise.
   */
  readonly content: FeedbackContent;
  /** Payload to store, which may differ from the one that the caller sent. */
  readonly payload: FeedbackContent["payload"];
  /** The payload to store, as JSON text. */
  readonly payloadText: string;
}

/** Maximum size of a payload as compact JSON, in UTF-8 bytes. */
export const payloadBytesMax = 1 << 20;
const idLengthMax = 256;
const feedbackTypeLengthMax = 256;

/** Validates a feedback record. Does not throw. Use `payload` only if there are no faults. */
export function checkContent(input: FeedbackInput): ContentCheck {
  const content = contentOf(input);
  const kinds = referenceKinds(content.feedbackType);
  const faults: ContentFault[] = [
    ...checkProject(content.projectId),
    ...(input.id === null ? [] : checkText("id", input.id, idLengthMax)),
    ...checkText("feedback_type", content.feedbackType, feedbackTypeLengthMax),
  ];
  if (content.vendorRef === "") faults.push(missing(["vendor_ref"]));
  else readReference("vendor_ref", content.vendorRef, ["object", "op", "call"], faults);
  const references: TypedReferences = {
    annotation_ref: readReference("annotation_ref", content.annotationRef, kinds.annotation_ref, faults),
    runnable_ref: readReference("runnable_ref", content.runnableRef, kinds.runnable_ref, faults),
    call_ref: readReference("call_ref", content.callRef, kinds.call_ref, faults),
    trigger_ref: readReference("trigger_ref", content.triggerRef, kinds.trigger_ref, faults),
  };
  const known = checkKnownPayload(content, references);
  // Measures the payload that will be stored, because it also contains normalized forms of a reaction.
  const payloadText = JSON.stringify(known.payload);
  return {
    faults: [...faults, ...known.faults, ...checkSize(payloadText)],
    content,
    payload: known.payload,
    payloadText,
  };
}

/** Converts the result of a check that found no faults to the feedback to store. */
export function checkedFeedback({ content, payload }: ContentCheck): Omit<CheckedFeedback, "id"> {
  return { content: { ...content, payload }, contentHash: contentHash(content) };
}

/** Copies only the content fields of the input, so that the content hash depends on nothing else. */
function contentOf(input: FeedbackInput): FeedbackContent {
  const unlessEmpty = (reference: string | null): string | null => (reference === "" ? null : reference);
  return {
    projectId: input.projectId,
    vendorRef: input.vendorRef,
    feedbackType: input.feedbackType,
    payload: input.payload,
    creator: input.creator,
    annotationRef: unlessEmpty(input.annotationRef),
    runnableRef: unlessEmpty(input.runnableRef),
    callRef: unlessEmpty(input.callRef),
    triggerRef: unlessEmpty(input.triggerRef),
    queueId: input.queueId,
  };
}

function checkProject(projectId: string): readonly ContentFault[] {
  if (parseProjectId(projectId) !== null && isStorable(projectId)) return [];
  const message = `project_id is ${quoted(projectId)}; it must be <entity>/<project>, each of 1 to 128 characters without spaces`;
  return [fault(["project_id"], message)];
}

function checkText(field: string, text: string, lengthMax: number): readonly ContentFault[] {
  if (text === "")
    return [fault([field], `${field} is empty; it must have at least 1 character`, "string_too_short")];
  // A text has at least as many UTF-16 units as characters, so the characters of most texts need not be counted.
  if (text.length > lengthMax && characterCount(text) > lengthMax) {
    const message = `${field} has ${characterCount(text)} characters; the limit is ${lengthMax}`;
    return [fault([field], message, "string_too_long")];
  }
  return isStorable(text) ? [] : [fault([field], `${field} holds a character that is not text`)];
}

function checkSize(payloadText: string): readonly ContentFault[] {
  const bytes = Buffer.byteLength(payloadText);
  if (bytes <= payloadBytesMax) return [];
  const message = `payload is ${bytes} bytes of JSON; the limit is ${payloadBytesMax}`;
  return [fault(["payload"], message, "too_long")];
}

/**
 * Parses a reference. Returns null and adds a fault if the reference is malformed, or if its kind (object, op or call)
 * is not allowed in the field.
 */
function readReference(
  field: TypedReferenceField | "vendor_ref",
  text: string | null,
  kinds: readonly ReferenceKind[],
  faults: ContentFault[],
): Reference | null {
  if (text === null) return null;
  if (!isStorable(text)) {
    faults.push(fault([field], `${field} holds a character that is not text`));
    return null;
  }
  const parsed = parseReference(text);
  if (!parsed.isValid) {
    const message = `${field} is ${quoted(text)}, which is not a reference: ${parsed.reason}`;
    faults.push(fault([field], message));
    return null;
  }
  const { reference } = parsed;
  if (kinds.includes(reference.kind)) return reference;
  faults.push(
    fault([field], `${field} refers to kind ${reference.kind}; it must be of kind ${kinds.join(" or ")}`),
  );
  return null;
}
