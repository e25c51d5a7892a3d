// What of a feedback record a query may name: its texts, its time, and what is in its payload.

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

/** A step into a payload: the name of a member of an object, or the index of an item of a list. */
export type PathStep = string | number;

export type FeedbackField =
  | { readonly kind: "text"; readonly name: TextField }
  | { readonly kind: "createdAt" }
  /** No steps for the payload as a whole. */
  | { readonly kind: "payload"; readonly path: readonly PathStep[] };

/** A payload of a mebibyte has no more items than this in a list. */
const indexMax = 1 << 20;

/**
 * The steps of a path as it is written: parts between dots, `\.` for a dot in a name. A part of digits alone is an index,
 * and the name of a member where a backslash stands before it (`by_step.\3`). Null where an index is larger than any list.
 */
export function pathSteps(path: string): readonly PathStep[] | null {
  const parts = path.split(/(?<!\\)\./);
  const steps = parts.map((part): PathStep => {
    if (/^(0|[1-9][0-9]*)$/.test(part)) return Number(part);
    return part.replace(/^\\(?=[0-9]+$)/, "").replaceAll("\\.", ".");
  });
  return steps.some((step) => typeof step === "number" && step > indexMax) ? null : steps;
}

/** The path as {@link pathSteps} reads it. */
export function pathText(steps: readonly PathStep[]): string {
  return steps
    .map((step) => {
      if (typeof step === "number") return String(step);
      return (/^[0-9]+$/.test(step) ? "\\" : "") + step.replaceAll(".", "\\.");
    })
    .join(".");
}
