// Fields of a feedback record that a query may refer to: its texts, its time of creation, and values in its payload.

/**
 * Text fields, with their names in {@link FeedbackRecord}. `callId` is not stored; `recordText` derives it from the
 * record's reference.
 */
export type TextField =
  | "id"
  | "projectId"
  | "vendorRef"
  | "vendorUserId"
  | "feedbackType"
  | "creator"
  | "annotationRef"
  | "runnableRef"
  | "callRef"
  | "triggerRef"
  | "queueId"
  | "callId";

/** One step of a path into a payload: the name of an object's member, or the index of a list's item. */
export type PathStep = string | number;

export type FeedbackField =
  | { readonly kind: "text"; readonly name: TextField }
  | { readonly kind: "createdAt" }
  /** A value in the payload. An empty path refers to the whole payload. */
  | { readonly kind: "payload"; readonly path: readonly PathStep[] };

/** Maximum index in a path. A payload has at most one mebibyte, so no list in it has more items. */
const indexMax = 1 << 20;

/**
 * Parses a path, whose steps are separated by dots; `\.` is a dot in a name. A step of digits is an index, unless a
 * backslash precedes it (`by_step.\3`). Returns null if an index is larger than any list can have.
 */
export function pathSteps(path: string): readonly PathStep[] | null {
  const parts = path.split(/(?<!\\)\./);
  const steps = parts.map((part): PathStep => {
    if (/^(0|[1-9][0-9]*)$/.test(part)) return Number(part);
    return part.replace(/^\\(?=[0-9]+$)/, "").replaceAll("\\.", ".");
  });
  return steps.some((step) => typeof step === "number" && step > indexMax) ? null : steps;
}

/** Writes a path in the notation that {@link pathSteps} parses. */
export function pathText(steps: readonly PathStep[]): string {
  return steps
    .map((step) => {
      if (typeof step === "number") return String(step);
      return (/^[0-9]+$/.test(step) ? "\\" : "") + step.replaceAll(".", "\\.");
    })
    .join(".");
}
