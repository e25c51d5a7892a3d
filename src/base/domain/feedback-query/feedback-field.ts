// Fields of a feedback record that a query may name: its texts, its time, and values in its payload.

/** Text fields, named as in {@link FeedbackRecord}; `callId` is computed from the record's reference (`recordText`). */
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

/** A step into a payload: a member name of an object, or an index of a list. */
export type PathStep = string | number;

export type FeedbackField =
  | { readonly kind: "text"; readonly name: TextField }
  | { readonly kind: "createdAt" }
  /** An empty path is the whole payload. */
  | { readonly kind: "payload"; readonly path: readonly PathStep[] };

/** Maximum index in a path. A payload has at most one mebibyte, so no list in it has more items. */
const indexMax = 1 << 20;

/**
 * Parses a path, whose parts are separated by dots; `\.` is a dot in a name. A part that consists of digits is an
 * index, unless a backslash precedes it (`by_step.\3`). Returns null if an index is larger than any list can have.
 */
export function pathSteps(path: string): readonly PathStep[] | null {
  const parts = path.split(/(?<!\\)\./);
  const steps = parts.map((part): PathStep => {
    if (/^(0|[1-9][0-9]*)$/.test(part)) return Number(part);
    return part.replace(/^\\(?=[0-9]+$)/, "").replaceAll("\\.", ".");
  });
  return steps.some((step) => typeof step === "number" && step > indexMax) ? null : steps;
}

/** Writes a path so that {@link pathSteps} parses it. */
export function pathText(steps: readonly PathStep[]): string {
  return steps
    .map((step) => {
      if (typeof step === "number") return String(step);
      return (/^[0-9]+$/.test(step) ? "\\" : "") + step.replaceAll(".", "\\.");
    })
    .join(".");
}
