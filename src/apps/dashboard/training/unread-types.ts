// Finds the feedback of a project that a reward does not read, for a job that has nothing to train on.
import type { FeedbackTypeStats, RewardTerm } from "../../client/api.ts";

type TypeCount = Pick<FeedbackTypeStats, "feedback_type" | "count">;

/** Returns the types of feedback that no term reads, with the number of records. */
export function unreadTypes(types: readonly TypeCount[], terms: readonly RewardTerm[]): readonly TypeCount[] {
  return types.filter(({ feedback_type: type }) => !terms.some((term) => isRead(type, term)));
}

function isRead(type: string, { kind, name, feedback_type: read }: RewardTerm): boolean {
  if (kind === "reaction") return /\.reaction\.\d+$/.test(type);
  if (kind === "annotation") return type === `annotation.${name}` || type.endsWith(`.annotation.${name}`);
  return (read ?? type) === type;
}

/** Returns the name of an annotation from its type of feedback; null for other types. */
export function annotationName(type: string): string | null {
  return /(?:^|\.)annotation\.(.+)$/.exec(type)?.[1] ?? null;
}
